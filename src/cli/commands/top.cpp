// dyno top: a host as it is now, or was, on a terminal.
#include "cli/commands/top.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ostream>

#include <CLI/App.hpp>

#include "base/time_text.h"
#include "cli/clean_metrics.h"
#include "cli/client.h"
#include "cli/metric_text.h"
#include "cli/render_json.h"
#include "cli/render_metrics.h"
#include "cli/top/screen.h"
#include "cli/top/snapshot.h"
#include "cli/top/terminal.h"
#include "cli/top/view.h"
#include "rpc/protocol/codec.h"
#include "rpc/protocol/metrics_codec.h"

namespace dynolog::commands {
namespace {

constexpr const char* kDescription =
    "Shows a host as it is: CPUs, memory, pressure, disks, network, PyTorch processes, and what "
    "the\n"
    "daemon itself costs. The figures are the daemon's own readings, so the past can be looked at\n"
    "in the same way: with the arrow keys, or --at. `?` lists the keys. Where the output is no\n"
    "terminal, one snapshot is printed.";
constexpr const char* kExamples = R"(
Examples:
  dyno top                           this host; q leaves
  dyno --hostname node7 top          another host
  dyno top --at -2h                  as it was two hours ago; then left and right go on from there
  dyno top --once > now.txt          one snapshot as text
  dyno top --json | jq '.results[] | select(.metric == "cpu.utilization")'

Exit codes: 0; 2 what was asked is not possible; 3 nothing is kept of that time; 4 no history is
kept; 6 no daemon. Global options: dyno --help)";

constexpr int kPlainColumns = 100;

std::int64_t milliseconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

class TopCommand final : public Command {
 public:
  explicit TopCommand(CLI::App& app) {
    app.add_option("--at", at_, "A moment of the past: -2h, or 2026-11-30T14:00:00Z")
        ->type_name("TIME");
    app.add_option("--interval", interval_s_, "Seconds between two looks (default 1)")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.2, 3600.0));
    app.add_flag("--once", once_, "Print one snapshot, on a terminal too");
  }

  ExitCode run(const World& world, const GlobalOptions& global) override {
    if (!at_.empty()) {
      const auto at = parse_time(at_, world.clock.wall());
      if (!at) {
        world.err << "dyno: --at must be a time, like -2h (before now) or 2026-11-30T14:00:00Z\n";
        return ExitCode::usage;
      }
      view_.at_ms = at;
    }
    Client client(world, global);
    if (global.json) return print_json(client);
    if (auto failure = look(client)) return failed(client, std::move(*failure));
    if (!nothing_.empty()) return say_nothing(world);
    if (once_ || world.out_columns == 0) {
      world.out << top::as_text(top::draw(snapshot_, view_, {0, kPlainColumns}, ""));
      return ExitCode::ok;
    }
    return watch(client);
  }

 private:
  static ExitCode failed(const Client& client, CallFailure failure) {
    if (client.may_be_existing_daemon(failure)) {
      failure.error.message += "; an existing dynolog daemon keeps no metrics";
    }
    return report(client.world(), failure);
  }

  ExitCode print_json(Client& client) {
    const World& world = client.world();
    const auto reply = ask(client);
    if (!reply) return failed(client, reply.error());
    world.out << pretty_json(rpc::encode(*reply));
    note_nothing(client, *reply);
    return nothing_.empty() ? ExitCode::ok : say_nothing(world);
  }

  [[nodiscard]] ExitCode say_nothing(const World& world) const {
    world.err << "dyno: " << nothing_ << "\n";
    return ExitCode::nothing_matched;
  }

  // A moment of the past without any value: why.
  void note_nothing(Client& client, const rpc::QueryMetricsReply& reply) {
    nothing_.clear();
    if (!view_.at_ms || has_values(reply)) return;
    nothing_ =
        "nothing was recorded at that time; `dyno metrics list` says since when there are "
        "values";
    const auto kept = client.ask<rpc::ListMetricsReply>(rpc::encode(rpc::ListMetricsRequest{}),
                                                        rpc::decode_list_metrics_reply);
    if (!kept) return;
    std::int64_t since = kept->raw_since_ms;
    if (since == 0) since = kept->minutes_since_ms;
    if (kept->minutes_since_ms > 0) since = std::min(since, kept->minutes_since_ms);
    if (since <= *view_.at_ms) return;
    nothing_ = fmt::format("nothing is kept before {}",
                           to_rfc3339(WallTime(std::chrono::milliseconds(since))));
  }

  [[nodiscard]] CallResult<rpc::QueryMetricsReply> ask(Client& client) const {
    return client.ask<rpc::QueryMetricsReply>(rpc::encode(top::snapshot_request(view_.at_ms)),
                                              rpc::decode_query_metrics_reply);
  }

  // Takes a new snapshot; keeps the last one when that fails.
  std::optional<CallFailure> look(Client& client) {
    auto reply = ask(client);
    if (!reply) return std::move(reply.error());
    now_ms_ = milliseconds(client.world().clock.wall());
    snapshot_ = top::read_snapshot(*reply, view_.at_ms, now_ms_);
    note_nothing(client, *reply);
    if (view_.at_ms) return std::nullopt;  // who is traced is known of now only
    const auto processes = client.ask<rpc::ListProcessesReply>(rpc::encode_request("listProcesses"),
                                                               rpc::decode_list_processes_reply);
    if (processes) top::add_processes(snapshot_, *processes);
    return std::nullopt;
  }

  ExitCode watch(Client& client) {
    const World& world = client.world();
    const int interrupts = world.take_interrupts();
    auto terminal = top::Terminal::open();
    if (!terminal) {
      world.err << "dyno: " << terminal.error().message << "\n";
      return ExitCode::failed;
    }
    std::string problem;
    const auto interval =
        std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(interval_s_));
    MonotonicTime next = world.clock.monotonic() + interval;
    while (!view_.is_over) {
      (*terminal)->show(top::draw(snapshot_, view_, (*terminal)->size(), problem));
      if (wait(world, interrupts, next)) break;
      bool moved = false;
      top::Pressed pressed;
      while ((*terminal)->next(pressed)) {
        if (!pressed.resized && press(view_, pressed.key, pressed.letter, now_ms_)) moved = true;
      }
      const bool is_time = world.clock.monotonic() >= next;
      if (is_time) next = world.clock.monotonic() + interval;
      if (!moved && (!is_time || view_.is_paused || view_.at_ms)) continue;
      const auto failure = look(client);
      problem = failure ? failure->error.message : nothing_;
      if (failure) client.disconnect();
    }
    return ExitCode::ok;
  }

  // Until a key, the next look, or an interrupt, for which it is true.
  static bool wait(const World& world, int interrupts, MonotonicTime until) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - world.clock.monotonic());
    std::array<pollfd, 2> watched = {pollfd{STDIN_FILENO, POLLIN, 0},
                                     pollfd{interrupts, POLLIN, 0}};
    (void)::poll(watched.data(), watched.size(),
                 static_cast<int>(std::clamp<std::int64_t>(left.count() + 1, 0, 3'600'000)));
    const bool is_gone = (watched[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
    return is_gone || watched[1].revents != 0;
  }

  std::string at_;
  double interval_s_ = 1;
  bool once_ = false;
  top::View view_;
  top::Snapshot snapshot_;
  std::int64_t now_ms_ = 0;
  std::string nothing_;  // why there is no value at all; "": there are some
};

}  // namespace

std::unique_ptr<Command> make_top(CLI::App& app) {
  app.description(kDescription);
  app.footer(kExamples);
  return std::make_unique<TopCommand>(app);
}

}  // namespace dynolog::commands
