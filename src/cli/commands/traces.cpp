// dyno traces: the sessions of late, and what the daemon keeps of them.
#include <string>

#include <CLI/App.hpp>

#include "cli/commands/commands.h"
#include "cli/kept_traces.h"
#include "cli/trace_run.h"
#include "cli/value_check.h"

namespace dynolog::commands {
namespace {

constexpr const char* kDescription =
    "Shows the trace sessions of late, your own or everybody's for root, and brings or removes "
    "what\n"
    "the daemon keeps of them. It keeps a trace that nobody waited for when it was to be brought "
    "to\n"
    "the caller, compressed, within a quota for each user and for some time.";
constexpr const char* kExamples = R"(
Examples:
  dyno traces list                          sessions, newest first, and what is kept
  dyno traces show SESSION                  each of its traces, and where the files are
  dyno traces fetch SESSION --output DIR    bring what is kept
  dyno traces list --json | jq -r '.sessions[] | select(.kept_bytes > 0) | .session'

Exit codes: 0; 3 no such session; 4 failed; 6 no daemon; 7 refused. Global options: dyno --help)";
constexpr const char* kListExamples = R"(
Examples:
  dyno traces list
  dyno traces list --json | jq -r '.sessions[0].session'       the newest

AGE and FOR-ANOTHER are times from now; KEPT is what lies with the daemon, compressed.
Exit codes: 0, also for an empty list; 6 no daemon; 7 refused.)";
constexpr const char* kShowExamples = R"(
Examples:
  dyno traces show 00ff00ff00ff00ff
  dyno traces show 00ff00ff00ff00ff --json | jq '.sessions[0].traces[].summary.gpus'

Exit codes: 0; 3 no such session of yours; 6 no daemon; 7 refused.)";
constexpr const char* kFetchExamples = R"(
Examples:
  dyno traces fetch 00ff00ff00ff00ff                 to ./dynolog-<UTC time>/trace_<pid>.json
  dyno traces fetch 00ff00ff00ff00ff --output traces --gzip

What was brought is removed from the daemon. What could not be brought stays there.
Exit codes: 0 all of it is here, and was checked; 3 no such session, or nothing is kept of it;
4 some or all failed (also after Ctrl-C); 6 no daemon; 7 refused; 8 here, but nobody could check
it.)";
constexpr const char* kCancelExamples = R"(
Examples:
  dyno traces cancel 00ff00ff00ff00ff          the same as gputrace --cancel

Exit codes: 0 all was withdrawn; 3 no such session; 4 not all of it; 6 no daemon; 7 refused.)";
constexpr const char* kDeleteExamples = R"(
Examples:
  dyno traces delete 00ff00ff00ff00ff

Files that were delivered stay where they are.
Exit codes: 0; 3 no such session; 4 it is still under way; 6 no daemon; 7 refused.)";

class TracesCommand final : public Command {
 public:
  explicit TracesCommand(CLI::App& app) {
    app.require_subcommand(1);
    list_ = add(app, "list", "Lists the sessions, newest first.", kListExamples);
    show_ = add(app, "show", "Shows each trace of a session.", kShowExamples);
    fetch_ = add(app, "fetch", "Brings what the daemon keeps of a session.", kFetchExamples);
    cancel_ = add(app, "cancel", "Withdraws what no process has taken yet.", kCancelExamples);
    delete_ =
        add(app, "delete", "Forgets an ended session, with what is kept of it.", kDeleteExamples);
    for (CLI::App* each : {show_, fetch_, cancel_, delete_}) {
      each->add_option("session", options_.session, "As `dyno traces list` has it")
          ->required()
          ->check(not_empty());
    }
    fetch_->add_option("--output", options_.output, "DIR on this side; made when missing")
        ->check(not_empty());
    fetch_->add_flag("--gzip", options_.gzip, "Compress: .json.gz");
  }

  ExitCode run(const World& world, const GlobalOptions& global) override {
    if (list_->parsed()) return list_traces(world, global);
    if (show_->parsed()) return show_traces(world, global, options_.session);
    if (fetch_->parsed()) return fetch_traces(world, global, options_);
    if (cancel_->parsed()) return run_cancel(world, global, options_.session);
    return delete_traces(world, global, options_.session);
  }

 private:
  static CLI::App* add(CLI::App& app, const char* name, const char* about, const char* examples) {
    CLI::App* made = app.add_subcommand(name, about);
    made->footer(examples);
    made->fallthrough();
    return made;
  }

  CLI::App* list_ = nullptr;
  CLI::App* show_ = nullptr;
  CLI::App* fetch_ = nullptr;
  CLI::App* cancel_ = nullptr;
  CLI::App* delete_ = nullptr;
  FetchOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_traces(CLI::App& app) {
  app.description(kDescription);
  app.footer(kExamples);
  return std::make_unique<TracesCommand>(app);
}

}  // namespace dynolog::commands
