// The watchdog lies in net: the RPC's sockets need it as well.
#pragma once

#include "net/receive_watchdog.h"  // IWYU pragma: export
