// systemd's protocol through its own library.
#include "net/service_manager.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/number.h"

namespace dynolog {
namespace {

constexpr const char* kLibrary = "libsystemd.so.0";

class NoManager final : public ServiceManager {
 public:
  [[nodiscard]] bool present() const override { return false; }
  [[nodiscard]] Result<std::vector<StoredDescriptor>> take_stored() override {
    return std::vector<StoredDescriptor>{};
  }
  [[nodiscard]] std::optional<Nanoseconds> watchdog() const override { return std::nullopt; }
  void ready(std::string_view) override {}
  void reloading(MonotonicTime) override {}
  void stopping() override {}
  void alive() override {}
  void show(std::string_view) override {}
  void store(const std::string&, int) override {}
  void forget(const std::string&) override {}
};

// What is open of those numbers, and not each number: the variable may say two thousand million.
void close_handed_over(int count) {
  std::vector<int> open;
  std::error_code ignored;
  for (std::filesystem::directory_iterator at("/proc/self/fd", ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const int fd = parse_number<int>(at->path().filename().native()).value_or(-1);
    if (fd >= SD_LISTEN_FDS_START && fd - SD_LISTEN_FDS_START < count) open.push_back(fd);
  }
  for (const int fd : open) ::close(fd);  // one is the listing's own, which is closed already
}

struct LibraryCloser {
  void operator()(void* library) const { ::dlclose(library); }
};
using Library = std::unique_ptr<void, LibraryCloser>;

struct Calls {
  decltype(&::sd_pid_notify_with_fds) notify = nullptr;
  decltype(&::sd_watchdog_enabled) watchdog_enabled = nullptr;
  decltype(&::sd_listen_fds_with_names) listen_fds = nullptr;
};

template <class Call>
bool find(const Library& library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(::dlsym(library.get(), name));
  return call != nullptr;
}

class Systemd final : public ServiceManager {
 public:
  Systemd(Library library, Calls calls, const ServiceEnvironment& environment)
      : library_(std::move(library)),
        calls_(calls),
        present_(environment.notify_socket),
        listen_fds_(environment.listen_fds) {}

  [[nodiscard]] bool present() const override { return present_; }

  [[nodiscard]] Result<std::vector<StoredDescriptor>> take_stored() override {
    char** names = nullptr;
    // Takes the variables out of the environment: no worker is to believe that they mean it.
    const int count = calls_.listen_fds(1, &names);
    if (count < 0) {
      // Those that are there are to hold no name any longer.
      close_handed_over(listen_fds_);
      return fail_errno(-count, "taking the descriptors that were handed over");
    }
    std::vector<StoredDescriptor> stored;
    for (int i = 0; i < count; ++i) {
      const bool named = names != nullptr && names[i] != nullptr;
      stored.push_back({.name = named ? names[i] : "", .fd = UniqueFd(SD_LISTEN_FDS_START + i)});
    }
    for (int i = 0; names != nullptr && names[i] != nullptr; ++i) std::free(names[i]);
    std::free(names);
    return stored;
  }

  [[nodiscard]] std::optional<Nanoseconds> watchdog() const override {
    std::uint64_t microseconds = 0;
    if (calls_.watchdog_enabled(0, &microseconds) <= 0) return std::nullopt;
    return std::chrono::microseconds(microseconds);
  }

  void ready(std::string_view status) override { tell(fmt::format("READY=1\nSTATUS={}", status)); }
  void reloading(MonotonicTime now) override {
    const auto microseconds =
        std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch());
    tell(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", microseconds.count()));
  }
  void stopping() override { tell("STOPPING=1\nSTATUS=ends"); }
  void alive() override { tell("WATCHDOG=1"); }
  void show(std::string_view status) override { tell(fmt::format("STATUS={}", status)); }

  void store(const std::string& name, int fd) override {
    forget(name);
    // FDPOLL=0: the manager is not to drop it because of what it thinks poll(2) says.
    send(fmt::format("FDSTORE=1\nFDPOLL=0\nFDNAME={}", name), &fd, 1);
  }
  void forget(const std::string& name) override {
    tell(fmt::format("FDSTOREREMOVE=1\nFDNAME={}", name));
  }

 private:
  void tell(const std::string& state) { send(state, nullptr, 0); }
  // A manager that is gone is none of the daemon's troubles.
  void send(const std::string& state, const int* fds, unsigned count) {
    if (present_) (void)calls_.notify(0, 0, state.c_str(), fds, count);
  }

  Library library_;
  Calls calls_;
  bool present_;
  int listen_fds_;
};

}  // namespace

std::unique_ptr<ServiceManager> no_service_manager() { return std::make_unique<NoManager>(); }

Result<std::unique_ptr<ServiceManager>> find_service_manager(
    const ServiceEnvironment& environment) {
  if (!environment.notify_socket && environment.listen_fds == 0) return no_service_manager();
  Library library(::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL));
  Calls calls;
  if (!library || !find(library, "sd_pid_notify_with_fds", calls.notify) ||
      !find(library, "sd_watchdog_enabled", calls.watchdog_enabled) ||
      !find(library, "sd_listen_fds_with_names", calls.listen_fds)) {
    const char* why = ::dlerror();
    return fail(ErrorKind::unavailable,
                fmt::format("the service manager cannot be told anything: {}; install libsystemd0, "
                            "or start the daemon with Type=exec and without WatchdogSec=",
                            why == nullptr ? kLibrary : why));
  }
  return std::make_unique<Systemd>(std::move(library), calls, environment);
}

std::string descriptor_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool good = c > ' ' && c < 127 && c != ':' && c != '%';
    name += good ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return name;
}

}  // namespace dynolog
