// The messages' own JSON, put together for one command.
#include "cli/render_json.h"

#include <cstddef>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/render_summary.h"
#include "rpc/protocol/codec.h"
#include "traces/nothing_ran.h"

namespace dynolog {
namespace {

using nlohmann::ordered_json;

std::string indented(const ordered_json& value) {
  return value.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

void leave_out_unknown(ordered_json& value) {
  if (value.is_object()) {
    for (auto at = value.begin(); at != value.end();) {
      if (at->is_string() && at->get_ref<const std::string&>().empty()) {
        at = value.erase(at);
      } else {
        ++at;
      }
    }
  }
  if (!value.is_structured()) return;
  for (ordered_json& each : value) leave_out_unknown(each);
}

const char* to_string(Fetched::State state) {
  switch (state) {
    case Fetched::State::waiting:
      return "waiting";
    case Fetched::State::running:
      return "running";
    case Fetched::State::saved:
      return "saved";
    case Fetched::State::failed:
      break;
  }
  return "failed";
}

ordered_json json_of(const Fetched& fetched) {
  return {{"state", to_string(fetched.state)},
          {"path", fetched.path},
          {"bytes", fetched.have},
          {"total_bytes", fetched.total},
          {"stored_bytes", fetched.stored},
          {"seconds", fetched.seconds},
          {"problem", fetched.problem},
          {"notes", fetched.notes}};
}

ordered_json json_of(const std::vector<NameTime>& names) {
  ordered_json list = ordered_json::array();
  for (const NameTime& each : names) {
    list.push_back({{"name", each.name}, {"self_s", each.self_s}, {"count", each.count}});
  }
  return list;
}

ordered_json processes_of(const TraceOutcome& outcome) {
  auto frame = ordered_json::parse(rpc::encode(
      rpc::FollowFrame{.session = "", .updates = outcome.updates, .done = true}))["updates"];
  for (std::size_t i = 0; i < frame.size(); ++i) {
    const rpc::TraceUpdate& update = outcome.updates[i];
    const Fetched* fetched = fetched_of(outcome, update.pid);
    if (fetched != nullptr) frame[i]["fetch"] = json_of(*fetched);
    if (outcome.out_of_sight.contains(update.pid)) frame[i]["out_of_sight"] = true;
    if (update.summary && nothing_ran(*update.summary)) frame[i]["empty"] = true;
  }
  return frame;
}

}  // namespace

std::string trace_json(const rpc::PrepareReply& plan, const TraceOutcome& outcome, ExitCode code) {
  const auto planned = ordered_json::parse(rpc::encode(plan));
  const Hottest hot = hottest(outcome);
  ordered_json out;
  out["schema"] = rpc::kSchema;
  out["session"] = plan.session;
  out["host"] = outcome.host;
  out["exit_code"] = static_cast<int>(code);
  out["interrupted"] = outcome.interrupted;
  out["coverage"] = plan.coverage;
  out["planned"] = planned["planned"];
  out["skipped"] = planned["skipped"];
  out["unmatched"] = outcome.unmatched;
  out["processes"] = processes_of(outcome);
  out["top_kernels"] = json_of(hot.kernels);
  out["top_operators"] = json_of(hot.operators);
  out["findings"] =
      ordered_json::parse(rpc::encode(rpc::DiagnoseReply{outcome.findings}))["findings"];
  leave_out_unknown(out);
  return indented(out);
}

std::string pretty_json(const std::string& text) {
  ordered_json value = ordered_json::parse(text);
  leave_out_unknown(value);
  return indented(value);
}

}  // namespace dynolog
