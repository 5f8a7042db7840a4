// Drawing. Rows of a panel are text first, so that filtering and sorting see what is shown.
#include "cli/top/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>

#include "base/time_text.h"
#include "cli/table.h"

namespace dynolog::top {
namespace {

constexpr double kWarm = 70;  // percent
constexpr double kHot = 90;

std::string figure(const Figure& value, int digits = 1) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

// "1.5G": at most six characters, in powers of 1,024.
std::string amount(const Figure& value) {
  if (!value) return "-";
  constexpr std::string_view kUnits = " KMGTPE";
  double left = std::abs(*value);
  std::size_t unit = 0;
  while (left >= 999.5 && unit + 1 < kUnits.size()) {
    left /= 1024;
    ++unit;
  }
  std::string text = unit == 0 ? fmt::format("{:.0f}", left)
                               : fmt::format("{:.{}f}{}", left, left < 9.95 ? 1 : 0, kUnits[unit]);
  return *value < 0 ? "-" + text : text;
}

std::string duration(double seconds) {
  const auto minutes = static_cast<std::int64_t>(seconds / 60);
  const std::int64_t days = minutes / (24 * 60);
  const std::int64_t hours = minutes / 60 % 24;
  if (days > 0) return fmt::format("{}d {}h", days, hours);
  return hours > 0 ? fmt::format("{}h {}m", hours, minutes % 60) : fmt::format("{}m", minutes);
}

Style by_load(const Figure& percent) {
  if (!percent) return Style::dim;
  if (*percent >= kHot) return Style::bad;
  return *percent >= kWarm ? Style::warning : Style::good;
}

// One character for a CPU: '.' for idle, then tens of percent, '#' for all of it. It says the same
// without colours.
Span heat(const Figure& percent) {
  if (!percent) return {"?", Style::dim};
  if (*percent < 1) return {".", Style::dim};
  if (*percent >= 99) return {"#", Style::bad};
  const int tens = std::clamp(static_cast<int>(*percent / 10), 0, 9);
  return {std::string(1, static_cast<char>('0' + tens)), by_load(percent)};
}

std::string bar(const Figure& used, const Figure& all, int width) {
  const double share = used && all && *all > 0 ? std::clamp(*used / *all, 0.0, 1.0) : 0;
  const auto full = static_cast<int>(std::lround(share * width));
  return "[" + std::string(static_cast<std::size_t>(full), '|') +
         std::string(static_cast<std::size_t>(width - full), ' ') + "]";
}

class Drawing {
 public:
  Drawing(const Snapshot& snapshot, const View& view, const ScreenSize& size)
      : snapshot_(snapshot), view_(view), size_(size) {}

  std::vector<Line> draw(const std::string& problem) {
    head(problem);
    if (view_.is_help) {
      help();
      return finish();
    }
    if (view_.panel == Panel::all) {
      cpu();
      memory();
    }
    panels();
    return finish();
  }

 private:
  void head(const std::string& problem) {
    Line line{{"dynolog top ", Style::strong}, {snapshot_.host, Style::heading}};
    if (snapshot_.uptime_s) line.push_back({"  up " + duration(*snapshot_.uptime_s)});
    line.push_back({fmt::format("  load {} {} {}", figure(snapshot_.load1), figure(snapshot_.load5),
                                figure(snapshot_.load15))});
    lines_.push_back(std::move(line));
    Line second{{utc_text(snapshot_.time_ms), view_.at_ms ? Style::warning : Style::plain}};
    if (view_.at_ms) second.push_back({"  PAST (n: now)", Style::warning});
    if (view_.is_paused) second.push_back({"  PAUSED", Style::warning});
    second.push_back({fmt::format("  daemon {} % of a CPU, {}", figure(snapshot_.daemon_cpu, 2),
                                  amount(snapshot_.daemon_memory)),
                      Style::dim});
    if (view_.is_typing || !view_.filter.empty()) {
      second.push_back({"  filter /" + view_.filter + (view_.is_typing ? "_" : ""), Style::strong});
    }
    lines_.push_back(std::move(second));
    if (!problem.empty()) lines_.push_back({{problem, Style::bad}});
  }

  void help() {
    for (const char* text :
         {"", "  1 2 3 4, Tab   everything; disks; network; processes",
          "  s              sort by traffic (CPU), by name, by how busy (memory)",
          "  /              show rows only that have a text; Escape ends it",
          "  Space          stand still, and go on",
          "  left, right    10 seconds back and forward; Page up and down: 5 minutes",
          "  n, End         back to now", "  up, down       further rows of a panel that is alone",
          "  q              leave", "",
          "  Each CPU is one character: . idle, 0-9 tens of percent, # all of it, ? not known.",
          "  A - is a figure that the host does not have, or that could not be read.", "",
          "  Any key goes back."}) {
      lines_.push_back({{text}});
    }
  }

  // Of the first mode, and of further ones where the host has them.
  [[nodiscard]] Figure share(std::initializer_list<const char*> modes) const {
    Figure sum;
    for (const char* mode : modes) {
      const auto found = snapshot_.cpu_shares.find(mode);
      const bool is_known = found != snapshot_.cpu_shares.end() && found->second;
      if (is_known) {
        sum = sum.value_or(0) + *found->second;
      } else if (mode == *modes.begin()) {
        return std::nullopt;
      }
    }
    return sum;
  }

  void cpu() {
    Line line{
        {"cpu ", Style::strong},
        {fmt::format("{:>5} %", figure(snapshot_.cpu_percent)), by_load(snapshot_.cpu_percent)},
        {fmt::format("  user {} system {} iowait {} steal {}", figure(share({"user", "nice"})),
                     figure(share({"system", "irq", "softirq"})), figure(share({"iowait"})),
                     figure(share({"steal"})))}};
    if (snapshot_.hottest)
      line.push_back({fmt::format("  hottest {} C", figure(snapshot_.hottest, 0))});
    lines_.push_back(std::move(line));
    lines_.push_back(
        {{fmt::format("pressure: cpu {} %  memory {} %  io {} %", figure(snapshot_.pressure_cpu),
                      figure(snapshot_.pressure_memory), figure(snapshot_.pressure_io)),
          Style::plain}});
    heat_map();
  }

  void heat_map() {
    const std::size_t width = static_cast<std::size_t>(std::max(size_.columns - 10, 16));
    const auto& cpus = snapshot_.cpus;
    for (std::size_t i = 0; i < cpus.size();) {
      Line line{{fmt::format("node {:<3} ", cpus[i].node), Style::dim}};
      const std::int64_t node = cpus[i].node;
      for (std::size_t n = 0; n < width && i < cpus.size() && cpus[i].node == node; ++n, ++i) {
        line.push_back(heat(cpus[i].percent));
      }
      lines_.push_back(std::move(line));
    }
  }

  void memory() {
    const Figure percent = snapshot_.memory_used && snapshot_.memory_limit
                               ? Figure(100 * *snapshot_.memory_used / *snapshot_.memory_limit)
                               : std::nullopt;
    constexpr int kBar = 24;
    lines_.push_back({{"mem ", Style::strong},
                      {bar(snapshot_.memory_used, snapshot_.memory_limit, kBar), by_load(percent)},
                      {fmt::format(" {} of {}, {} %   swap {} of {}", amount(snapshot_.memory_used),
                                   amount(snapshot_.memory_limit), figure(percent),
                                   amount(snapshot_.swap_used), amount(snapshot_.swap_limit))}});
  }

  struct Row {
    std::string name;
    double traffic = 0;
    double busy = 0;
    Line line;
  };

  void panels() {
    const bool all = view_.panel == Panel::all;
    if (all || view_.panel == Panel::disks) panel(disk_rows(), disk_heading(), all ? 6 : 0);
    if (all || view_.panel == Panel::links) panel(link_rows(), link_heading(), all ? 10 : 0);
    if (all || view_.panel == Panel::processes)
      panel(process_rows(), process_heading(), 0, process_age());
  }

  // `most`: rows of a panel among others; 0: as many as there is room for.
  void panel(std::vector<Row> rows, const std::string& heading, std::size_t most,
             const std::string& note = "") {
    std::erase_if(rows, [this](const Row& row) { return !matches(row); });
    std::ranges::stable_sort(rows, [this](const Row& a, const Row& b) { return before(a, b); });
    lines_.push_back({{heading, Style::heading}});
    if (!note.empty()) lines_.push_back({{note, Style::warning}});
    const std::size_t first = view_.panel == Panel::all
                                  ? 0
                                  : std::min(view_.first_row, rows.empty() ? 0 : rows.size() - 1);
    std::size_t shown = 0;
    for (std::size_t i = first; i < rows.size() && (most == 0 || shown < most); ++i, ++shown) {
      lines_.push_back(std::move(rows[i].line));
    }
    if (rows.empty()) lines_.push_back({{"  none", Style::dim}});
    if (first + shown < rows.size()) {
      lines_.push_back({{fmt::format("  ... {} more", rows.size() - first - shown), Style::dim}});
    }
  }

  [[nodiscard]] bool matches(const Row& row) const {
    if (view_.filter.empty()) return true;
    std::string text;
    for (const Span& span : row.line) text += span.text;
    return text.find(view_.filter) != std::string::npos;
  }

  [[nodiscard]] bool before(const Row& a, const Row& b) const {
    if (view_.sort == Sort::traffic && a.traffic != b.traffic) return a.traffic > b.traffic;
    if (view_.sort == Sort::busy && a.busy != b.busy) return a.busy > b.busy;
    return a.name < b.name;
  }

  static std::string disk_heading() {
    return fmt::format("{:<24}{:>9}{:>10}{:>9}{:>8}", "disk", "read/s", "written/s", "busy %",
                       "queue");
  }
  [[nodiscard]] std::vector<Row> disk_rows() const {
    std::vector<Row> rows;
    for (const Disk& disk : snapshot_.disks) {
      rows.push_back({disk.name,
                      disk.read.value_or(0) + disk.written.value_or(0),
                      disk.busy.value_or(0),
                      {{fmt::format("{:<24}{:>9}{:>10}", cut(disk.name, 23), amount(disk.read),
                                    amount(disk.written))},
                       {fmt::format("{:>9}", figure(disk.busy)), by_load(disk.busy)},
                       {fmt::format("{:>8}", figure(disk.in_flight, 0))}}});
    }
    return rows;
  }

  static std::string link_heading() {
    return fmt::format("{:<24}{:>9}{:>10}{:>9}{:>8}", "network", "in/s", "out/s", "faults/s",
                       "link");
  }
  [[nodiscard]] std::vector<Row> link_rows() const {
    std::vector<Row> rows;
    for (const Link& link : snapshot_.links) {
      const bool faulty = link.faults.value_or(0) > 0;
      rows.push_back(
          {link.name,
           link.received.value_or(0) + link.sent.value_or(0),
           link.faults.value_or(0),
           {{fmt::format("{:<24}{:>9}{:>10}", cut(link.name, 23), amount(link.received),
                         amount(link.sent))},
            {fmt::format("{:>9}", figure(link.faults)), faulty ? Style::bad : Style::plain},
            {fmt::format("{:>8}", link.state), Style::warning}}});
    }
    return rows;
  }

  // While somebody looks they are read each second, where that does not take too long.
  [[nodiscard]] std::string process_age() const {
    constexpr double kFewIntervals = 5;
    if (snapshot_.processes_age_s.value_or(0) <= kFewIntervals) return "";
    return fmt::format("  as read {} s ago: some may have ended since",
                       figure(snapshot_.processes_age_s, 0));
  }

  static std::string process_heading() {
    return fmt::format("{:>8} {:<9}{:<11}{:>5} {:<7}{:>7}{:>7} {:<8} {}", "pid", "user", "job",
                       "rank", "gpus", "cpu %", "mem", "state", "command");
  }
  [[nodiscard]] std::vector<Row> process_rows() const {
    std::vector<Row> rows;
    for (const Process& process : snapshot_.processes) {
      const auto or_dash = [](const std::string& text) { return text.empty() ? "-" : text; };
      rows.push_back(
          {fmt::format("{:020}", process.pid),
           process.cpu.value_or(0),
           process.memory.value_or(0),
           {{fmt::format("{:>8} {:<9}{:<11}{:>5} {:<7}{:>7}{:>7} {:<8} {}", process.pid,
                         cut(process.user, 8), cut(or_dash(process.job), 10), or_dash(process.rank),
                         cut(or_dash(process.gpus), 6), figure(process.cpu), amount(process.memory),
                         cut(process.state, 8), process.command)}}});
    }
    return rows;
  }

  // Each line cut to the width, and no more of them than there is room for.
  std::vector<Line> finish() {
    if (size_.rows > 0 && lines_.size() > static_cast<std::size_t>(size_.rows)) {
      lines_.resize(static_cast<std::size_t>(size_.rows));
    }
    for (Line& line : lines_) {
      std::size_t room = static_cast<std::size_t>(std::max(size_.columns, 1));
      for (Span& span : line) {
        if (characters(span.text) > room) span.text = cut(span.text, room);
        room -= characters(span.text);
      }
    }
    return std::move(lines_);
  }

  static std::string utc_text(std::int64_t time_ms) {
    return to_rfc3339(WallTime(std::chrono::milliseconds(time_ms))).substr(0, 19) + "Z";
  }

  const Snapshot& snapshot_;
  const View& view_;
  const ScreenSize& size_;
  std::vector<Line> lines_;
};

}  // namespace

std::vector<Line> draw(const Snapshot& snapshot, const View& view, const ScreenSize& size,
                       const std::string& problem) {
  return Drawing(snapshot, view, size).draw(problem);
}

std::string as_text(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) {
    std::string whole;
    for (const Span& span : line) whole += span.text;
    whole.erase(whole.find_last_not_of(' ') + 1);
    text += whole + "\n";
  }
  return text;
}

}  // namespace dynolog::top
