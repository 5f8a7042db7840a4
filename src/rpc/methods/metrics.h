// The metrics that the daemon keeps: queried and listed.
#pragma once

#include "rpc/methods/method.h"

namespace dynolog::rpc {

void query_metrics(const Request& request);
void list_metrics(const Request& request);

}  // namespace dynolog::rpc
