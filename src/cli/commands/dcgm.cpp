// dyno dcgm-pause and dcgm-resume: the existing calls; the daemon's answer is passed on.
#include <fmt/format.h>

#include <ostream>

#include <CLI/App.hpp>

#include "cli/client.h"
#include "cli/commands/commands.h"
#include "cli/render_json.h"
#include "cli/value_check.h"
#include "rpc/protocol/codec.h"
#include "rpc/protocol/legacy.h"

namespace dynolog::commands {
namespace {

constexpr const char* kPause =
    "Asks the daemon to let go of the GPU's profiling counters for a time, so that another tool\n"
    "(Nsight, a profiler in the job) can have them. It takes them back by itself afterwards.";
constexpr const char* kPauseExamples = R"(
Examples:
  dyno dcgm-pause                        for five minutes
  dyno dcgm-pause --duration-s 3600      for an hour
  dyno --hostname node7 dcgm-pause

Exit codes: 0 paused, 4 not (no GPU is watched), 6 no daemon, 7 refused.)";
constexpr const char* kResume =
    "Asks the daemon to take the GPU's profiling counters back before a pause is over.";
constexpr const char* kResumeExamples = R"(
Examples:
  dyno dcgm-resume
  dyno --hostname node7 dcgm-resume
  dyno dcgm-resume --json

Exit codes: 0 resumed, 4 not (no GPU is watched), 6 no daemon, 7 refused.)";

ExitCode pass_on(const World& world, const GlobalOptions& global, const std::string& request) {
  Client client(world, global);
  const auto status = client.ask<bool>(request, rpc::decode_legacy_bool_status);
  if (!status) return report(world, status.error());
  world.out << (global.json
                    ? pretty_json(fmt::format(R"({{"schema":1,"status":{}}})", *status))
                    : fmt::format("response = {}\n", rpc::encode_legacy_bool_status(*status)));
  if (!*status) world.err << "dyno: not done: the daemon watches no GPU counters\n";
  return *status ? ExitCode::ok : ExitCode::failed;
}

class PauseCommand final : public Command {
 public:
  explicit PauseCommand(CLI::App& app) {
    app.add_option("--duration-s", seconds_, "For how many seconds")
        ->check(whole_number(1, 2'147'483'647))
        ->capture_default_str();
  }
  ExitCode run(const World& world, const GlobalOptions& global) override {
    return pass_on(world, global, rpc::encode_legacy_pause(seconds_));
  }

 private:
  std::int64_t seconds_ = 300;
};

class ResumeCommand final : public Command {
 public:
  ExitCode run(const World& world, const GlobalOptions& global) override {
    return pass_on(world, global, rpc::encode_request("dcgmProfResume"));
  }
};

}  // namespace

std::unique_ptr<Command> make_dcgm_pause(CLI::App& app) {
  app.description(kPause);
  app.footer(kPauseExamples);
  return std::make_unique<PauseCommand>(app);
}

std::unique_ptr<Command> make_dcgm_resume(CLI::App& app) {
  app.description(kResume);
  app.footer(kResumeExamples);
  return std::make_unique<ResumeCommand>();
}

}  // namespace dynolog::commands
