// A few of the client's messages, cleaned.
#include "traces/client_messages.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "traces/trace_summary.h"

namespace dynolog {

void ClientMessages::add(Level level, std::string_view text) {
  if (text.find("stopped by GPU profiler") != std::string_view::npos) stopped_by_gpu_ = true;
  const bool is_error = level == Level::error;
  std::vector<std::string>& kept = is_error ? errors_ : warnings_;
  std::string message = is_error ? "ERROR: " : "WARNING: ";
  message += clean_text(trim(text), kMaxSummarySentence - message.size());
  if (std::find(kept.begin(), kept.end(), message) != kept.end()) return;
  if (kept.size() >= kMaxSummaryWarnings) {
    ++more_;
  } else {
    kept.push_back(std::move(message));
  }
}

std::vector<std::string> ClientMessages::told() const {
  std::vector<std::string> told = errors_;
  told.insert(told.end(), warnings_.begin(), warnings_.end());
  const std::uint64_t all = told.size() + more_;
  if (all > kMaxSummaryWarnings) {
    told.resize(kMaxSummaryWarnings - 1);
    told.push_back(fmt::format("and {} more of the client's own", all - told.size()));
  }
  return told;
}

}  // namespace dynolog
