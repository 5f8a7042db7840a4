// Room in the process's table of descriptors, made while that costs nothing.
#pragma once

namespace dynolog {

// The kernel doubles a process's table of descriptors when it is full, and once there is a second
// thread it waits for all CPUs each time: 5 to 15 ms, and whoever wants a descriptor waits with it.
// Called while there is one thread, this makes room for `count`, or for as many as are permitted.
void make_room_for_descriptors(int count);

// What a daemon may have open before its table grows after all: the collectors' files, the RPC's
// connections, and two descriptors for each of 1,500 processes that poll. 8 bytes each.
inline constexpr int kExpectedDescriptors = 4096;

}  // namespace dynolog
