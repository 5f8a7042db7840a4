// The service manager that started the daemon (systemd, or whoever speaks its protocol): it is told
// how the daemon is, asks for a sign of life, and keeps sockets from one daemon to the next.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/unique_fd.h"

namespace dynolog {

// A descriptor that an earlier daemon left in the manager's keeping.
struct StoredDescriptor {
  std::string name;
  UniqueFd fd;
};

// On one thread. Without a manager every call does nothing.
class ServiceManager {
 public:
  virtual ~ServiceManager() = default;

  // Whether anybody listens.
  [[nodiscard]] virtual bool present() const = 0;
  // Once, before the program opens anything: what is handed over are numbers, which somebody else's
  // descriptor may have otherwise. An error when not all of them are there: then none is taken.
  [[nodiscard]] virtual Result<std::vector<StoredDescriptor>> take_stored() = 0;
  // How often it wants a sign of life; nullopt: it does not.
  [[nodiscard]] virtual std::optional<Nanoseconds> watchdog() const = 0;

  virtual void ready(std::string_view status) = 0;
  virtual void reloading(MonotonicTime now) = 0;  // ready() ends it
  virtual void stopping() = 0;
  virtual void alive() = 0;                        // for the watchdog
  virtual void show(std::string_view status) = 0;  // one line, for `systemctl status`
  // Replaces what is kept under that name. `name` as descriptor_name() makes it.
  virtual void store(const std::string& name, int fd) = 0;
  virtual void forget(const std::string& name) = 0;
};

// What of systemd's variables the environment has; their values are read by libsystemd itself.
struct ServiceEnvironment {
  bool notify_socket = false;  // NOTIFY_SOCKET
  int listen_fds = 0;          // LISTEN_FDS; 0 when unset
};
// libsystemd is loaded when there is anything to do for it, and not before: it would cost each
// worker a megabyte. An error when it cannot be loaded.
[[nodiscard]] Result<std::unique_ptr<ServiceManager>> find_service_manager(
    const ServiceEnvironment& environment);
[[nodiscard]] std::unique_ptr<ServiceManager> no_service_manager();

// "kineto:/run/x" as the manager takes names: no colon, no control or other bytes than ASCII. Of
// different texts different names.
[[nodiscard]] std::string descriptor_name(std::string_view text);

}  // namespace dynolog
