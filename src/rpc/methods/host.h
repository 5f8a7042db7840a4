// What the daemon says about itself and about the processes it knows.
#pragma once

#include "rpc/methods/method.h"

namespace dynolog::rpc {

void daemon_status(const Request& request);
void list_processes(const Request& request);
void socket_directory(const Request& request);

}  // namespace dynolog::rpc
