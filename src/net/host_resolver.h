// A host's name to its addresses. The system's resolver can hang for half a minute, and loads
// libraries of the site's choice: it works in a child process, which is given up when it is late.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "net/event_loop.h"

namespace dynolog {

inline constexpr std::size_t kMaxHostName = 253;
inline constexpr std::size_t kMaxHostAddresses = 16;

// All on the loop's thread.
class HostResolver {
 public:
  // Numeric addresses, at least one, in the order that they should be tried.
  using Done = std::function<void(Result<std::vector<std::string>>)>;

  // `executable` is started as "EXECUTABLE --worker=resolve".
  [[nodiscard]] static std::unique_ptr<HostResolver> make(EventLoop& loop, Log& log,
                                                          std::string executable);
  // Gives up what is under way.
  virtual ~HostResolver() = default;

  // Addresses and "localhost" are answered at once, before this returns; another call gives up the
  // one before. `done` may destroy the resolver.
  virtual void resolve(const std::string& host, std::chrono::milliseconds patience, Done done) = 0;
};

// The child's part: answers each name that comes over the channel, until the daemon closes it.
[[nodiscard]] int run_resolve_worker(int channel);

// What the child answered: an address a line, or "!" and a sentence. Foreign bytes.
[[nodiscard]] Result<std::vector<std::string>> decode_resolved(std::string_view frame);

}  // namespace dynolog
