// Why processes can or cannot be traced.
#pragma once

#include "rpc/methods/method.h"

namespace dynolog::rpc {

void diagnose(const Request& request);

}  // namespace dynolog::rpc
