// One call; whatever goes wrong with it is no news for somebody who has a failure already.
#include "cli/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "rpc/protocol/codec.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxJob = 80;

rpc::Finding missing(std::int64_t pid, std::string what, std::string fix) {
  rpc::Finding finding;
  finding.check = "processes";
  finding.level = "broken";
  finding.pid = pid;
  finding.what = std::move(what);
  finding.why = "it was named, and nothing is known of it";
  finding.fix = std::move(fix);
  return finding;
}

// There is nothing of what was named.
std::vector<rpc::Finding> nothing_there(const rpc::DiagnoseRequest& about) {
  std::vector<rpc::Finding> findings;
  for (const std::int64_t pid : about.pids) {
    findings.push_back(missing(pid, "there is no such process, or it is not yours",
                               "see its pid with `ps`, on the host where it runs"));
  }
  if (about.job && about.pids.empty()) {
    findings.push_back(missing(
        0,
        fmt::format("no process of job {} that you may see looks like PyTorch or holds a GPU here",
                    clean_text(*about.job, kMaxJob)),
        "see with `dyno ps` what the jobs are called here, and whether the job runs on this host"));
  }
  return findings;
}

// Those that have called in, and do so.
std::set<std::int64_t> callers_in(const std::vector<rpc::Finding>& findings) {
  std::set<std::int64_t> pids;
  for (const rpc::Finding& each : findings) {
    if (each.check == "registered" && each.level == "ok") pids.insert(each.pid);
  }
  return pids;
}

// What the host lacks for good (its clock, real-time priority, ...) is no news after a failure that
// has another cause: only what keeps processes from calling in, where one has not, and what keeps
// those that have from writing.
class Explanation {
 public:
  Explanation(const rpc::DiagnoseRequest& about, std::set<std::int64_t> callers)
      : named_(!about.pids.empty()), callers_(std::move(callers)) {
    missing_ = !named_ || std::ranges::any_of(about.pids, [this](std::int64_t pid) {
      return !callers_.contains(pid);
    });
  }

  [[nodiscard]] bool holds(const rpc::Finding& finding) const {
    if (finding.level != "broken" && finding.level != "warning") return false;
    // A process that calls in was there to be matched.
    if (finding.pid != 0) return named_ || !callers_.contains(finding.pid);
    const std::string_view check = finding.check;
    if (check == "disk") return named_ && !callers_.empty();
    return missing_ && (check == "endpoint" || check == "capability" || check == "processes");
  }

 private:
  bool named_;
  std::set<std::int64_t> callers_;
  bool missing_ = false;
};

}  // namespace

std::vector<rpc::Finding> ask_why(Client& client, const rpc::DiagnoseRequest& about) {
  auto reply = client.ask<rpc::DiagnoseReply>(rpc::encode(about), rpc::decode_diagnose_reply);
  if (!reply) {
    const CallFailure& failure = reply.error();
    const bool nothing =
        failure.kind == CallFailureKind::from_daemon && failure.error.kind == ErrorKind::not_found;
    return nothing ? nothing_there(about) : std::vector<rpc::Finding>{};
  }
  std::vector<rpc::Finding> findings = std::move(reply->findings);
  const Explanation explanation(about, callers_in(findings));
  std::erase_if(findings, [&](const rpc::Finding& each) { return !explanation.holds(each); });
  std::ranges::stable_partition(findings, [](const auto& each) { return each.level == "broken"; });
  return findings;
}

std::vector<std::int64_t> in_question(const TraceOutcome& outcome,
                                      const std::vector<std::int64_t>& named) {
  std::set<std::int64_t> pids;
  const bool untold = outcome.deadline_passed && outcome.updates.empty();
  for (const rpc::PlannedTrace& each : outcome.planned) {
    if (!each.problem.empty() || untold) pids.insert(each.pid);
  }
  for (const rpc::TraceUpdate& each : outcome.updates) {
    // Of a file that is there, the trace itself says what is wrong.
    if (each.state != "delivered" && !is_unchecked(each)) pids.insert(each.pid);
  }
  if (outcome.unmatched.empty()) return {pids.begin(), pids.end()};
  for (const std::int64_t pid : named) {
    const bool known = std::ranges::any_of(outcome.planned, [pid](const auto& planned) {
      return planned.pid == pid || planned.namespace_pid == pid;
    });
    if (!known) pids.insert(pid);
  }
  return {pids.begin(), pids.end()};
}

}  // namespace dynolog
