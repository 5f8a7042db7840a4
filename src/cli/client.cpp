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

std::string how_to_start(const World& world, const GlobalOptions& options) {
  if (options.hostname || options.port) {
    return "Does a daemon run there, is the port right (its --port), and does it listen on that "
           "address (its --rpc_bind)?";
  }
  if (options.run_dir) {
    const std::filesystem::path directory = *options.run_dir;
    const auto whole = std::filesystem::path(world.working_directory) / directory;
    return fmt::format("Start one there: `dynolog --run_dir={} &`.",
                       shell_word(whole.lexically_normal().string()));
  }
  const std::string start = world.service_installed
                                ? "See `systemctl status dynolog`; start it with `systemctl start "
                                  "dynolog`, or one of your own with `dynolog &`."
                                : "Start one: `dynolog &`.";
  return start + "\nFor a daemon elsewhere: --run-dir DIR, or --hostname HOST.";
}

CallFailure no_daemon(const std::vector<std::string>& tried, const std::string& advice) {
  std::string text = "no dynolog daemon answers. Tried:\n";
  for (const std::string& line : tried) text += "  " + line + "\n";
  return {CallFailureKind::no_daemon, {ErrorKind::unavailable, text + advice}};
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
    auto connection = Connection::open(endpoint, world_.clock, deadline);
    if (connection) {
      connection_ = std::move(*connection);
      endpoint_ = endpoint;
      if (options_.verbose) world_.err << "dyno: using the daemon at " << endpoint.text() << "\n";
      return {};
    }
    tried.push_back(clean_text(endpoint.text() + ": " + connection.error().message, 300));
  }
  return std::unexpected(no_daemon(tried, how_to_start(world_, options_)));
}

CallResult<std::string> Client::call(std::string_view request) {
  const MonotonicTime deadline = timeout();
  if (!connection_) {
    if (const auto connected = connect(deadline); !connected) {
      return std::unexpected(connected.error());
    }
  }
  if (const Status sent = connection_->send(request, deadline); !sent) {
    connection_.reset();
    return std::unexpected(CallFailure{CallFailureKind::late, sent.error()});
  }
  return receive(deadline);
}

CallResult<std::string> Client::next_frame(std::optional<MonotonicTime> deadline) {
  if (!connection_) {
    return std::unexpected(
        CallFailure{CallFailureKind::closed, {ErrorKind::failed, "no connection"}});
  }
  return receive(deadline);
}

CallResult<std::string> Client::receive(std::optional<MonotonicTime> deadline) {
  Received received = connection_->receive(deadline, interrupt_fd_);
  if (received.what == Received::What::frame) return std::move(received.text);
  const std::string where = endpoint_.text();
  switch (received.what) {
    case Received::What::interrupted:
      return std::unexpected(
          CallFailure{CallFailureKind::interrupted, {ErrorKind::failed, "interrupted"}});
    case Received::What::late:
      connection_.reset();
      return std::unexpected(CallFailure{
          CallFailureKind::late,
          {ErrorKind::timed_out,
           fmt::format("{} accepted the connection but did not answer within {:g} s (--timeout)",
                       where, options_.timeout_s)}});
    case Received::What::garbled:
      connection_.reset();
      return std::unexpected(garbled(received.text));
    default:
      connection_.reset();
      return std::unexpected(
          CallFailure{CallFailureKind::closed,
                      {ErrorKind::failed, where + " closed the connection without an answer"}});
  }
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
