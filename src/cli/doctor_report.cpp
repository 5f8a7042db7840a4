// Findings as paragraphs. Texts were cleaned when they were decoded.
#include "cli/doctor_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "cli/table.h"

namespace dynolog {
namespace {

constexpr std::array<std::string_view, 4> kLevels = {"broken", "warning", "note", "ok"};
constexpr std::size_t kMostNamed = 8;
constexpr std::size_t kCommandWidth = 60;

std::size_t order_of(const rpc::Finding& finding) {
  return static_cast<std::size_t>(std::ranges::find(kLevels, finding.level) - kLevels.begin());
}

bool says_the_same(const rpc::Finding& one, const rpc::Finding& other) {
  return one.level == other.level && one.check == other.check && one.what == other.what &&
         one.why == other.why && one.fix == other.fix && (one.pid == 0) == (other.pid == 0);
}

std::string process_of(const rpc::Finding& finding) {
  return finding.rank ? fmt::format("{} (rank {})", finding.pid, *finding.rank)
                      : std::to_string(finding.pid);
}

// All that say the same, named together.
struct Paragraph {
  const rpc::Finding* finding;
  std::vector<std::string> processes;
  bool one_command = true;
};

std::vector<Paragraph> paragraphs_of(const std::vector<rpc::Finding>& findings) {
  std::vector<Paragraph> paragraphs;
  for (const rpc::Finding& finding : findings) {
    auto found = std::ranges::find_if(paragraphs, [&](const Paragraph& paragraph) {
      return says_the_same(*paragraph.finding, finding);
    });
    if (found == paragraphs.end()) found = paragraphs.insert(found, {&finding, {}, true});
    found->one_command = found->one_command && found->finding->command == finding.command;
    if (finding.pid != 0) found->processes.push_back(process_of(finding));
  }
  return paragraphs;
}

std::string who(const Paragraph& paragraph) {
  const std::vector<std::string>& processes = paragraph.processes;
  if (processes.empty()) return "";
  const std::size_t named = processes.size() > kMostNamed + 1 ? kMostNamed : processes.size();
  std::string text = fmt::format(
      "pid{} {}", processes.size() == 1 ? "" : "s",
      fmt::join(processes.begin(), processes.begin() + static_cast<std::ptrdiff_t>(named), ", "));
  if (named < processes.size()) text += fmt::format(" and {} more", processes.size() - named);
  const std::string& command = paragraph.finding->command;
  if (paragraph.one_command && !command.empty()) {
    text += fmt::format(", {}", cut(command, kCommandWidth));
  }
  return text + ": ";
}

std::string text_of(const Paragraph& paragraph) {
  const rpc::Finding& finding = *paragraph.finding;
  std::string text = fmt::format("{:<8} {}{}\n", finding.level, who(paragraph), finding.what);
  if (!finding.why.empty()) text += fmt::format("         why: {}\n", finding.why);
  if (!finding.fix.empty()) text += fmt::format("         do:  {}\n", finding.fix);
  return text;
}

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string last_line(const std::vector<Paragraph>& paragraphs) {
  std::array<std::size_t, kLevels.size() + 1> counts{};
  for (const Paragraph& paragraph : paragraphs) ++counts[order_of(*paragraph.finding)];
  if (counts[0] + counts[1] == 0) return "Nothing is broken.\n";
  return fmt::format("{}, {}\n",
                     counts[0] == 0 ? "Nothing is broken"
                                    : counted(counts[0], "thing is broken", "things are broken"),
                     counted(counts[1], "warning", "warnings"));
}

// Of many processes that are well, each one's figures are of no interest: "registered: idle, ..."
// is "registered" then.
std::vector<rpc::Finding> without_figures(std::vector<rpc::Finding> findings) {
  const auto is_well = [](const rpc::Finding& finding) {
    return finding.level == "ok" && finding.pid != 0;
  };
  if (static_cast<std::size_t>(std::ranges::count_if(findings, is_well)) <= kMostNamed) {
    return findings;
  }
  for (rpc::Finding& finding : findings) {
    if (is_well(finding)) finding.what = finding.what.substr(0, finding.what.find(':'));
  }
  return findings;
}

}  // namespace

void sort_findings(std::vector<rpc::Finding>& findings) {
  std::ranges::stable_sort(findings, {}, order_of);
}

ExitCode exit_code(const std::vector<rpc::Finding>& findings) {
  const bool broken = std::ranges::any_of(
      findings, [](const rpc::Finding& finding) { return finding.level == "broken"; });
  return broken ? ExitCode::broken : ExitCode::ok;
}

std::string render_report(const std::vector<rpc::Finding>& findings) {
  const std::vector<rpc::Finding> shown = without_figures(findings);
  const std::vector<Paragraph> paragraphs = paragraphs_of(shown);
  std::string text;
  bool after_problem = false;
  for (const Paragraph& paragraph : paragraphs) {
    const bool problem = paragraph.finding->level != "ok";
    if (after_problem) text += "\n";
    text += text_of(paragraph);
    after_problem = problem;
  }
  return text + "\n" + last_line(paragraphs);
}

}  // namespace dynolog
