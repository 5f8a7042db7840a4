// The devices of a directory of sysfs, such as /sys/class/hwmon, from one reading to the next.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "collectors/known_entries.h"
#include "kernel/sysfs.h"

namespace dynolog {

// Devices come and go, and a name may be another device's by the next reading: drivers count from
// zero whenever they are loaded.
template <class Device>
class ClassDevices {
 public:
  explicit ClassDevices(const std::string& path) : directory_(path), files_(path) {}

  // `make(name) -> std::optional<Device>` for one that is new, nullopt leaves it out;
  // `emit(name, Device&)` for each; `close(Device&)` for one that is gone. An error: there is no
  // such directory; every device is closed then.
  template <class Make, class Emit, class Close>
  [[nodiscard]] Status visit(Make&& make, Emit&& emit, Close&& close) {
    const int error = visit_if_there(make, emit, close);
    return error == 0 ? Status{} : fail_errno(error, directory_.path());
  }
  // The same, and what is wrong is an errno: no text is made of a directory that often is not
  // there.
  template <class Make, class Emit, class Close>
  [[nodiscard]] int visit_if_there(Make&& make, Emit&& emit, Close&& close) {
    const bool listed = directory_.rewind();
    const int error = listed ? 0 : errno;
    known_.begin();
    count_ = 0;
    if (listed) visit_all(make, emit, close);
    known_.finish([&](Known& gone) { close(gone.device); });
    // What is empty may have been removed: the next visit opens it anew.
    if (count_ == 0) directory_.close();
    return error;
  }

  // Devices that the last visit emitted.
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] AttributeReader& files() { return files_; }
  [[nodiscard]] const std::string& path() const { return directory_.path(); }

 private:
  struct Known {
    std::uint64_t identity = 0;
    Device device;
  };

  template <class Make, class Emit, class Close>
  void visit_all(Make& make, Emit& emit, Close& close) {
    while (const char* name = directory_.next()) {
      const auto make_known = [&]() -> std::optional<Known> {
        const std::uint64_t identity = files_.identity({name});
        auto made = make(std::string_view(name));
        if (!made) return std::nullopt;
        return Known{identity, std::move(*made)};
      };
      Known* known = known_.next(name, make_known);
      if (known == nullptr) continue;
      if (files_.identity({name}) != known->identity) {
        close(known->device);
        auto made = make_known();
        *known = made ? std::move(*made) : Known{};
      }
      ++count_;
      emit(std::string_view(name), known->device);
    }
  }

  KeptDirectory directory_;
  AttributeReader files_;
  KnownEntries<Known> known_;
  std::size_t count_ = 0;
};

}  // namespace dynolog
