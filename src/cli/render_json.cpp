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
  out["processes"] = frame["updates"];
  return indented(out);
}

std::string pretty_json(const std::string& text) { return indented(ordered_json::parse(text)); }

}  // namespace dynolog
