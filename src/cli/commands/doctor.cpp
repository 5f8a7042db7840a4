// dyno doctor: why something cannot be traced, and what to type.
#include <ostream>
#include <string>
#include <utility>

#include <CLI/App.hpp>

#include "base/system_root.h"
#include "cli/client.h"
#include "cli/commands/commands.h"
#include "cli/daemon_owner.h"
#include "cli/doctor_report.h"
#include "cli/installation_check.h"
#include "cli/render_json.h"
#include "cli/trace_options.h"
#include "cli/value_check.h"
#include "rpc/protocol/codec.h"

namespace dynolog::commands {
namespace {

constexpr const char* kDescription =
    "Says of each process that looks like PyTorch or holds a GPU whether it can be traced, or why\n"
    "not, and what is wrong with the daemon and the host: what was found, why it matters, what to\n"
    "type. Your own processes, or everybody's for root. With --pid or --job also what is merely\n"
    "good to know of them. Without a daemon it looks at the installation.";
constexpr const char* kExamples = R"(
Examples:
  dyno doctor                     all of your processes, the daemon, the host
  dyno doctor --pid 4711          why this one is not in `dyno ps`
  dyno doctor --job 12345
  dyno doctor --json | jq -r '.findings[] | select(.level == "broken") | .fix'

Exit codes: 0 nothing is broken (there may be warnings), 1 something is, also that no daemon
answers; 2 usage; 3 no such process or job of yours; 7 refused. Global options: dyno --help)";

class DoctorCommand final : public Command {
 public:
  explicit DoctorCommand(CLI::App& app) {
    app.add_option("--pid,--pids", pids_, "Only these: 12,34")->check(not_empty());
    app.add_option("--job,--job-id", job_, "Only this job: JOB of dyno ps")->check(not_empty());
  }

  ExitCode run(const World& world, const GlobalOptions& global) override {
    auto pids = parse_pids("--pid", pids_);
    if (!pids) {
      world.err << "dyno: " << pids.error().message << "\n";
      return ExitCode::usage;
    }
    rpc::DiagnoseRequest request;
    request.pids = std::move(*pids);
    if (!job_.empty()) request.job = job_;
    Client client(world, global);
    auto reply = client.ask<rpc::DiagnoseReply>(rpc::encode(request), rpc::decode_diagnose_reply);
    say_whom_it_serves(client);
    if (reply) return show(world, global, std::move(*reply));
    CallFailure& failure = reply.error();
    if (failure.kind == CallFailureKind::no_daemon && !global.hostname) {
      return without_daemon(world, global, failure);
    }
    if (client.may_be_existing_daemon(failure)) {
      failure.error.message += "; an existing dynolog daemon cannot say what is wrong";
    }
    return report(world, failure);
  }

 private:
  static ExitCode show(const World& world, const GlobalOptions& global, rpc::DiagnoseReply reply) {
    sort_findings(reply.findings);
    world.out << (global.json ? pretty_json(rpc::encode(reply)) : render_report(reply.findings));
    return exit_code(reply.findings);
  }

  static ExitCode without_daemon(const World& world, const GlobalOptions& global,
                                 const CallFailure& failure) {
    world.err << "dyno: no daemon answers: what follows is about the installation; what is wrong "
                 "with processes needs a daemon that knows them\n";
    return show(world, global,
                {diagnose_installation(look_at_installation(world, SystemRoot{}, failure))});
  }

  std::string pids_;
  std::string job_;
};

}  // namespace

std::unique_ptr<Command> make_doctor(CLI::App& app) {
  app.description(kDescription);
  app.footer(kExamples);
  return std::make_unique<DoctorCommand>(app);
}

}  // namespace dynolog::commands
