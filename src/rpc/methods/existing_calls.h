// The five calls of existing dynolog clients; shapes in protocol/legacy.h.
#pragma once

#include "rpc/methods/method.h"

namespace dynolog::rpc {

void get_status(const Request& request);
void get_version(const Request& request);
void set_kinet_on_demand_request(const Request& request);
void dcgm_prof_pause(const Request& request);
void dcgm_prof_resume(const Request& request);

}  // namespace dynolog::rpc
