// The --json side of render.h.
#include <nlohmann/json.hpp>

#include "cli/render.h"
#include "rpc/protocol/codec.h"

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

}  // namespace

std::string trace_json(const rpc::PrepareReply& plan, const TraceOutcome& outcome, ExitCode code) {
  const auto planned = ordered_json::parse(rpc::encode(plan));
  const auto frame = ordered_json::parse(rpc::encode(
      rpc::FollowFrame{.session = plan.session, .updates = outcome.updates, .done = true}));
  ordered_json out;
  out["schema"] = rpc::kSchema;
  out["session"] = plan.session;
  out["exit_code"] = static_cast<int>(code);
  out["interrupted"] = outcome.interrupted;
  out["coverage"] = plan.coverage;
  out["planned"] = planned["planned"];
  out["skipped"] = planned["skipped"];
  out["unmatched"] = outcome.unmatched;
  out["processes"] = frame["updates"];
  leave_out_unknown(out);
  return indented(out);
}

std::string pretty_json(const std::string& text) {
  ordered_json value = ordered_json::parse(text);
  leave_out_unknown(value);
  return indented(value);
}

}  // namespace dynolog
