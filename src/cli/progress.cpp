// Lines never exceed the terminal's width, so that moving the cursor up by their number is right.
#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string_view>

#include "cli/render_trace.h"

namespace dynolog {
namespace {

constexpr Nanoseconds kRedraw = Milliseconds(250);
constexpr Nanoseconds kNextLine = std::chrono::seconds(10);

}  // namespace

void Progress::show(const TraceOutcome& outcome, const std::vector<rpc::TraceUpdate>& changed) {
  world_.out.flush();
  if (is_terminal()) return draw(outcome);
  for (const rpc::TraceUpdate& update : changed) {
    world_.err << render_update(update, fetched_of(outcome, update.pid)) << "\n";
  }
  world_.err.flush();
}

void Progress::show_fetching(const TraceOutcome& outcome) {
  const MonotonicTime now = world_.clock.monotonic();
  // Without a terminal a file that comes at once needs no line.
  if (!shown_at_ && !is_terminal()) shown_at_ = now;
  if (shown_at_ && now < *shown_at_ + (is_terminal() ? kRedraw : kNextLine)) return;
  shown_at_ = now;
  world_.out.flush();
  if (is_terminal()) return draw(outcome);
  for (const rpc::TraceUpdate& update : outcome.updates) {
    const Fetched* fetched = fetched_of(outcome, update.pid);
    if (fetched == nullptr || fetched->state != Fetched::State::running) continue;
    world_.err << render_update(update, fetched) << "\n";
  }
  world_.err.flush();
}

void Progress::draw(const TraceOutcome& outcome) {
  const auto rows = static_cast<std::size_t>(world_.terminal.rows);
  const auto columns = static_cast<std::size_t>(std::max(world_.terminal.columns, 20));
  const std::string table = render_live(outcome, rows - std::min<std::size_t>(rows, 2), columns);
  if (drawn_ > 0) world_.err << fmt::format("\x1b[{}A", drawn_);
  // Line by line: some terminals keep a copy of a screen that is erased from its first line on.
  std::string_view rest = table;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    world_.err << rest.substr(0, end) << "\x1b[K\n";
    rest.remove_prefix(end + 1);
  }
  world_.err << "\x1b[J" << std::flush;
  drawn_ = static_cast<std::size_t>(std::ranges::count(table, '\n'));
}

void Progress::say(const std::string& line) {
  world_.out.flush();
  world_.err << "dyno: " << line << "\n" << std::flush;
  drawn_ = 0;
}

}  // namespace dynolog
