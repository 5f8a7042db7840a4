// A caller's configuration text and the journal: whatever comes in, an answer comes out; and what
// is accepted stays as it was sent and keeps its promises.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "profiling/session.h"
#include "profiling/trace_config.h"

namespace {

using namespace dynolog;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_config(std::string_view text, const char* version, bool newest) {
  ProcessFacts facts;
  facts.namespace_pid = 42;
  TorchFacts torch;
  torch.version = version;
  torch.knows_ondemand_trace_dir = newest;
  const auto request = check_trace_config(text, facts, torch, "7");
  if (!request) return;
  require(request->config == text);
  require(request->place.file.starts_with('/'));
  require(request->place.file.find("..") == std::string::npos);
  require(!newest || request->place.file.starts_with("/tmp/"));
  require(request->window.count() > 0 && request->warmup.count() >= 0);
  require(handed_over_text(*request, WallTime{}).ends_with("\nREQUEST_TRACE_ID=7\n"));
}

// What is handed over for a path of the user's means the file that is waited for, whoever writes
// it.
void check_path(std::string_view text, const char* version, bool itself) {
  ProcessFacts facts;
  facts.namespace_pid = 42;
  TorchFacts torch;
  torch.version = version;
  TraceOptions options;
  options.log_file = std::string(text);
  const PlaceNames names{.host = "h", .time = "t", .unique = "0011", .unique_suffix = "s"};
  const auto place = itself ? place_trace_itself(options, facts, torch, names)
                            : place_trace(options, facts, torch, names);
  if (!place) return;
  require(text.empty() == place->target.empty());
  require(!itself || place->target == place->file);
  const auto request = build_trace_request(options, facts, torch, "7", *place);
  require(request.has_value());
  const auto again = check_trace_config(request->config, facts, torch, "7");
  require(again.has_value() && again->place.file == place->file);
  require(again->place.elsewhere == place->elsewhere);
}

void check_journal(std::string_view text) {
  const MonotonicTime now{std::chrono::seconds(1000)};
  const WallTime wall{std::chrono::seconds(1700000000)};
  auto sessions = parse_journal(text, now, wall);
  if (!sessions) return;
  for (Session& session : *sessions) {
    for (auto& [pid, trace] : session.traces) {
      int steps = 0;
      for (auto due = trace.next_due(); due; due = trace.next_due()) {
        trace.on_time(*due);
        require(++steps < 16);
      }
      require(is_end(trace.state()));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_config(text, "", false);
  check_config(text, "2.14.1", true);
  for (const char* const version : {"", "2.13.0", "2.14.1"}) {
    check_path(text, version, false);
    check_path(text, version, true);
  }
  check_journal(text);
  return 0;
}
