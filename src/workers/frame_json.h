// What the codecs of the workers' frames share: JSON objects decoded as hostile input. For the
// codecs' .cpp files only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"

namespace dynolog {

inline constexpr std::size_t kMaxFrameDepth = 8;
inline constexpr std::size_t kMaxFrameText = 4096;

// Never throws: bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string frame_text(const nlohmann::json& json);

// The body as an object, or an error (invalid): not JSON, not an object, nested too deep.
[[nodiscard]] Result<nlohmann::json> frame_object(std::string_view body);
// The same for a reply, which may be the other side's error: that is then the error.
[[nodiscard]] Result<nlohmann::json> reply_object(std::string_view body);
[[nodiscard]] std::string error_reply(const Error& error);

// The error of a body whose members do not fit.
[[nodiscard]] std::unexpected<Error> frame_misfit();

// Reads members of one object. A missing one, a wrong type or range makes ok() false and gives a
// value of nothing.
class FrameMembers {
 public:
  explicit FrameMembers(const nlohmann::json& object) : object_(object) {}

  template <class T>
  T integer(const char* name) {
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(
          signed_number(name, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    } else {
      return static_cast<T>(unsigned_number(name, std::numeric_limits<T>::max()));
    }
  }
  template <class T>
  std::optional<T> maybe_integer(const char* name) {
    if (!has(name)) return std::nullopt;
    return integer<T>(name);
  }
  // An enumeration whose values are 0 to `last`.
  template <class E>
  E enumeration(const char* name, E last) {
    return static_cast<E>(signed_number(name, 0, static_cast<int>(last)));
  }
  bool boolean(const char* name);
  // Cleaned and cut to kMaxFrameText.
  std::string text(const char* name);
  // As it is, for what is to be used and not shown; a longer one makes ok() false.
  std::string exact_text(const char* name, std::size_t max_bytes);
  // nullptr when it is not there.
  const nlohmann::json* object(const char* name);
  const nlohmann::json* array(const char* name, std::size_t max_size);
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  [[nodiscard]] bool has(const char* name) const;
  std::int64_t signed_number(const char* name, std::int64_t least, std::int64_t most);
  std::uint64_t unsigned_number(const char* name, std::uint64_t most);

  const nlohmann::json& object_;
  bool ok_ = true;
};

}  // namespace dynolog
