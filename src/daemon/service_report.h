// What the service manager hears of the daemon: that it is ready, how it is in one line, and that
// it lives.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "net/event_loop.h"
#include "net/service_manager.h"

namespace dynolog {

// On the loop's thread only. Without a manager it does nothing and wakes nobody.
class ServiceReport {
 public:
  // A thread beside the loop. `alive`: whether it has come round since it was asked last.
  struct Thread {
    std::string name;
    std::function<bool()> alive;
  };
  struct World {
    EventLoop& loop;
    const Clock& clock;
    Log& log;
    ServiceManager& manager;
    std::function<std::string()> line;  // how the daemon is; a line
    std::vector<Thread> threads;
  };
  explicit ServiceReport(World world);

  // All listens; or a reload has ended.
  void ready();
  void reloading();
  void stopping();
  // The line may be another by now. Told within a second, and only when it is.
  void changed();

 private:
  void tell();
  // A sign of life at each half of what the manager wants, as long as every thread gives one.
  void give_sign();

  World world_;
  std::string told_;
  std::string hung_;  // the thread that did not come round, once it was said
  bool stopping_ = false;
  Timer soon_;
  Timer sign_;
};

}  // namespace dynolog
