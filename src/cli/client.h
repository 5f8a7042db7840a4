// Asking a daemon: finds it, holds the connection, tells the ways apart in which a call can fail.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/clean.h"
#include "cli/connection.h"
#include "cli/endpoint.h"
#include "cli/exit_code.h"
#include "cli/global_options.h"
#include "cli/world.h"

namespace dynolog {

struct CallFailure {
  CallFailureKind kind = CallFailureKind::no_daemon;
  Error error;  // the message is fit for a terminal
  // With no_daemon, what the message is made of: each that was tried with the reason that it did
  // not answer, and what to do, a sentence each.
  std::vector<std::string> tried = {};
  std::vector<std::string> advice = {};
};
template <class T>
using CallResult = std::expected<T, CallFailure>;

class Client {
 public:
  Client(const World& world, const GlobalOptions& options);

  // The whole reply within --timeout. Connects when there is no connection.
  [[nodiscard]] CallResult<std::string> call(std::string_view request);
  // The next frame of a reply that has several; no deadline unless one is given.
  [[nodiscard]] CallResult<std::string> next_frame(std::optional<MonotonicTime> deadline);

  // call(), decoded and cleaned; an error reply is a failure from_daemon.
  template <class T>
  [[nodiscard]] CallResult<T> ask(std::string_view request, Result<T> (*decode)(std::string_view)) {
    return decoded(call(request), decode);
  }
  template <class T>
  [[nodiscard]] CallResult<T> decoded(CallResult<std::string> text,
                                      Result<T> (*decode)(std::string_view)) const {
    if (!text) return std::unexpected(std::move(text.error()));
    if (auto failure = error_reply(*text)) return std::unexpected(std::move(*failure));
    auto value = decode(*text);
    if (!value) return std::unexpected(garbled(value.error().message));
    if constexpr (requires { clean(*value); }) clean(*value);
    return std::move(*value);
  }

  // The parts of call(), for who has more than this to wait for. Connecting and sending take at
  // most --timeout. try_frame() gives nullopt when no frame is whole yet.
  [[nodiscard]] CallResult<void> send(std::string_view request);
  [[nodiscard]] CallResult<std::optional<std::string>> try_frame();
  [[nodiscard]] int fd() const { return connection_ ? connection_->fd() : -1; }

  // The existing calls close after their reply; so does a daemon that ends.
  void disconnect() { connection_.reset(); }
  void interrupted_by(int fd) { interrupt_fd_ = fd; }

  // Of the connection held, or the first to be tried.
  [[nodiscard]] const Endpoint& endpoint() const { return endpoint_; }
  [[nodiscard]] const World& world() const { return world_; }
  [[nodiscard]] const GlobalOptions& options() const { return options_; }
  // True when what answers may be an existing dynolog daemon: it closes without a word.
  [[nodiscard]] bool may_be_existing_daemon(const CallFailure& failure) const {
    return failure.kind == CallFailureKind::closed && endpoint_.is_tcp();
  }

 private:
  [[nodiscard]] CallResult<void> connect(MonotonicTime deadline);
  [[nodiscard]] CallResult<void> send(std::string_view request, MonotonicTime deadline);
  [[nodiscard]] CallResult<std::string> receive(std::optional<MonotonicTime> deadline);
  [[nodiscard]] CallFailure failure_of(const Received& received);
  [[nodiscard]] std::optional<CallFailure> error_reply(std::string_view text) const;
  [[nodiscard]] CallFailure garbled(std::string_view why) const;
  [[nodiscard]] MonotonicTime timeout() const;

  const World& world_;
  const GlobalOptions& options_;
  Endpoint endpoint_;
  std::unique_ptr<Connection> connection_;
  int interrupt_fd_ = -1;
};

// Says on stderr what went wrong and what to do; gives the exit code.
ExitCode report(const World& world, const CallFailure& failure);

}  // namespace dynolog
