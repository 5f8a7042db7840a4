// A service manager for tests: keeps what it is told.
#pragma once

#include <fcntl.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/service_manager.h"

namespace dynolog::testing {

class FakeServiceManager final : public ServiceManager {
 public:
  bool present() const override { return is_present; }
  Result<std::vector<StoredDescriptor>> take_stored() override {
    return std::vector<StoredDescriptor>{};
  }
  std::optional<Nanoseconds> watchdog() const override { return watchdog_every; }
  void ready(std::string_view status) override { say("ready " + std::string(status)); }
  void reloading(MonotonicTime) override { say("reloading"); }
  void stopping() override { say("stopping"); }
  void alive() override { say("alive"); }
  void show(std::string_view status) override { say("show " + std::string(status)); }
  void store(const std::string& name, int fd) override {
    kept[name] = UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  }
  void forget(const std::string& name) override {
    kept.erase(name);
    forgotten.push_back(name);
  }

  bool is_present = true;
  std::optional<Nanoseconds> watchdog_every;
  std::vector<std::string> said;
  std::map<std::string, UniqueFd> kept;
  std::vector<std::string> forgotten;
  std::function<void()> on_word;  // after each

 private:
  void say(std::string word) {
    said.push_back(std::move(word));
    if (on_word) on_word();
  }
};

}  // namespace dynolog::testing
