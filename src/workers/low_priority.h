// Work that shall give way to the training: compression.
#pragma once

#include <functional>

namespace dynolog {

// Runs `work` at nice 10 and returns when it is done. On a thread of its own, since a process
// without privileges cannot take its own niceness back; the caller stands still meanwhile.
void run_at_low_priority(const std::function<void()>& work);

}  // namespace dynolog
