// One connection at a time; each candidate endpoint is tried in turn.
#include "cli/client.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <ostream>

#include "base/text.h"
#include "cli/hint.h"
#include "rpc/protocol/codec.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxSentence = 4096;

std::vector<std::string> how_to_start(const World& world, const GlobalOptions& options) {
  if (options.hostname || options.port) {
    return {
        "Does a daemon run there, is the port right (its --port), and does it listen on that "
        "address (its --rpc_bind)?"};
  }
  if (options.run_dir) {
    const std::filesystem::path directory = *options.run_dir;
    const auto whole = std::filesystem::path(world.working_directory) / directory;
    return {fmt::format("Start one there: `dynolog --run_dir={} &`.",
                        shell_word(whole.lexically_normal().string()))};
  }
  const std::string start = world.service_installed
                                ? "See `systemctl status dynolog`; start it with `systemctl start "
                                  "dynolog`, or one of your own with `dynolog &`."
                                : "Start one: `dynolog &`.";
  return {start, "For a daemon elsewhere: --run-dir DIR, or --hostname HOST."};
}

CallFailure no_daemon(std::vector<std::string> tried, std::vector<std::string> advice) {
  std::string text = "no dynolog daemon answers. Tried:\n";
  for (const std::string& line : tried) text += "  " + line + "\n";
  return {.kind = CallFailureKind::no_daemon,
          .error = {ErrorKind::unavailable, fmt::format("{}{}", text, fmt::join(advice, "\n"))},
          .tried = std::move(tried),
          .advice = std::move(advice)};
}

}  // namespace

Client::Client(const World& world, const GlobalOptions& options)
    : world_(world), options_(options), endpoint_(endpoints(options, world).front()) {}

MonotonicTime Client::timeout() const {
  return world_.clock.monotonic() + Milliseconds(std::llround(options_.timeout_s * 1000));
}

CallResult<void> Client::connect(MonotonicTime deadline) {
  std::vector<std::string> tried;
  for (const Endpoint& endpoint : endpoints(options_, world_)) {
    const Status trusted = endpoint_problem(endpoint, world_.uid);
    if (!trusted) {
      tried.push_back(trusted.error().message);
      continue;
    }
    auto connection = Connection::open(endpoint, world_.clock, deadline, interrupt_fd_);
    if (connection) {
      connection_ = std::move(*connection);
      endpoint_ = endpoint;
      if (options_.verbose) world_.err << "dyno: using the daemon at " << endpoint.text() << "\n";
      return {};
    }
    if (interrupt_fd_ >= 0 &&
        wait_interruptibly(interrupt_fd_, world_.clock, world_.clock.monotonic())) {
      return std::unexpected(failure_of({Received::What::interrupted, ""}));
    }
    tried.push_back(clean_text(endpoint.text() + ": " + connection.error().message, 300));
  }
  return std::unexpected(no_daemon(tried, how_to_start(world_, options_)));
}

CallResult<std::string> Client::call(std::string_view request) {
  const MonotonicTime deadline = timeout();
  if (const auto sent = send(request, deadline); !sent) return std::unexpected(sent.error());
  return receive(deadline);
}

CallResult<void> Client::send(std::string_view request) { return send(request, timeout()); }

CallResult<void> Client::send(std::string_view request, MonotonicTime deadline) {
  if (!connection_) {
    if (auto connected = connect(deadline); !connected) return connected;
  }
  if (const Status sent = connection_->send(request, deadline); !sent) {
    connection_.reset();
    return std::unexpected(CallFailure{CallFailureKind::late, sent.error()});
  }
  return {};
}

CallResult<std::string> Client::next_frame(std::optional<MonotonicTime> deadline) {
  if (!connection_) return std::unexpected(failure_of({Received::What::closed, ""}));
  return receive(deadline);
}

CallResult<std::string> Client::receive(std::optional<MonotonicTime> deadline) {
  Received received = connection_->receive(deadline, interrupt_fd_);
  if (received.what == Received::What::frame) return std::move(received.text);
  return std::unexpected(failure_of(received));
}

CallResult<std::optional<std::string>> Client::try_frame() {
  if (!connection_) return std::unexpected(failure_of({Received::What::closed, ""}));
  Received received = connection_->try_receive();
  if (received.what == Received::What::nothing) return std::nullopt;
  if (received.what == Received::What::frame) return std::move(received.text);
  return std::unexpected(failure_of(received));
}

CallFailure Client::failure_of(const Received& received) {
  if (received.what == Received::What::interrupted) {
    return {CallFailureKind::interrupted, {ErrorKind::failed, "interrupted"}};
  }
  connection_.reset();
  const std::string where = endpoint_.text();
  if (received.what == Received::What::late) {
    return {CallFailureKind::late,
            {ErrorKind::timed_out,
             fmt::format("{} accepted the connection but did not answer within {:g} s (--timeout)",
                         where, options_.timeout_s)}};
  }
  if (received.what == Received::What::garbled) return garbled(received.text);
  return {CallFailureKind::closed,
          {ErrorKind::failed, where + " closed the connection without an answer"}};
}

std::optional<CallFailure> Client::error_reply(std::string_view text) const {
  const auto reply = rpc::decode_error_reply(text);
  if (!reply) return std::nullopt;
  return CallFailure{CallFailureKind::from_daemon,
                     {rpc::kind_of_code(reply->code), clean_text(reply->message, kMaxSentence)}};
}

CallFailure Client::garbled(std::string_view why) const {
  return {
      CallFailureKind::garbled,
      {ErrorKind::failed, fmt::format("what listens at {} does not speak dynolog's protocol: {}",
                                      endpoint_.text(), clean_text(why, kMaxSentence))}};
}

ExitCode report(const World& world, const CallFailure& failure) {
  world.out.flush();
  world.err << "dyno: " << failure.error.message << "\n";
  return exit_code(failure.kind, failure.error.kind);
}

}  // namespace dynolog
