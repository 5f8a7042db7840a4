// One thread, nicer than the rest of its process, and joined at once.
#include "workers/low_priority.h"

#include <sys/resource.h>

#include <system_error>
#include <thread>

namespace dynolog {
namespace {

constexpr int kNice = 10;

}  // namespace

void run_at_low_priority(const std::function<void()>& work) {
  std::thread thread;
  try {
    thread = std::thread([&work] {
      ::setpriority(PRIO_PROCESS, 0, kNice);  // 0: this thread; refused when it is nicer already
      work();
    });
  } catch (const std::system_error&) {
    work();  // the user has no thread to spare: better at once than not at all
    return;
  }
  thread.join();
}

}  // namespace dynolog
