// The level of the daemon's log: said, and set while it runs.
#pragma once

#include "rpc/methods/method.h"

namespace dynolog::rpc {

void log_level(const Request& request);
void set_log_level(const Request& request);

}  // namespace dynolog::rpc
