// The two texts that go with a delivered trace: the rank that is written into it, and the record
// beside it. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "processes/process_facts.h"
#include "profiling/process_trace.h"
#include "profiling/trace_config.h"

namespace dynolog {

// `{"rank": 3, "world_size": 8}`, for the trace's member "distributedInfo", by which
// HolisticTraceAnalysis tells ranks apart. "" when the rank is not known. What backend the job uses
// is not known here, and is not made up.
[[nodiscard]] std::string distributed_info_text(const ProcessFacts& facts);

// Of a record beside a trace. The text has fewer figures rather than being longer.
inline constexpr std::size_t kMaxTraceRecord = 64U << 10U;

// What the record is made of.
struct TraceRecord {
  std::string file;  // the trace's name in its directory
  std::string host;  // the daemon's
  std::string user;  // of the process, "" when its uid has no name
  SessionId session;
  const ProcessFacts& facts;
  const TorchFacts& torch;
  const TraceRequest& request;
  const FileCheck& check;
  ProcessTrace::Times times;
  std::optional<double> clock_error_us;  // of the host's wall clock; nullopt: not known
  std::vector<std::string> notes;        // on the trace and on its delivery
};

// The side-car's JSON: .dynolog/<file>.json. Times stand twice, as RFC 3339 and as nanoseconds
// since the epoch.
[[nodiscard]] std::string side_car_text(const TraceRecord& record);

}  // namespace dynolog
