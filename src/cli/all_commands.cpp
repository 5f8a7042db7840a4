// The table of commands. To add one: a file in commands/, its line in commands.h, a row here.
#include <array>

#include "cli/command.h"
#include "cli/commands/commands.h"
#include "cli/commands/metrics.h"
#include "cli/commands/top.h"

namespace dynolog {
namespace {

constexpr std::array kCommands{
    CommandEntry{"status", "", "How the daemon is", commands::make_status},
    CommandEntry{"top", "", "The host live on a terminal, or as it was", commands::make_top},
    CommandEntry{"ps", "", "The PyTorch processes that can be traced", commands::make_ps},
    CommandEntry{"gputrace", "trace", "Trace PyTorch processes, and wait for the files",
                 commands::make_gputrace},
    CommandEntry{"traces", "", "Sessions of late: list, show, fetch, cancel, delete",
                 commands::make_traces},
    CommandEntry{"metrics", "", "Figures of the host, from the hours that the daemon keeps",
                 commands::make_metrics},
    CommandEntry{"doctor", "", "Why a process cannot be traced, and what to type",
                 commands::make_doctor},
    CommandEntry{"env", "", "Variables that make a job traceable: eval \"$(dyno env)\"",
                 commands::make_env},
    CommandEntry{"version", "", "Versions of dyno and of the daemon", commands::make_version},
    CommandEntry{"log-level", "", "How much the daemon logs, or from now on",
                 commands::make_log_level},
    CommandEntry{"dcgm-pause", "", "Free the GPU's profiling counters for another tool",
                 commands::make_dcgm_pause},
    CommandEntry{"dcgm-resume", "", "Take them back before the pause is over",
                 commands::make_dcgm_resume},
    CommandEntry{"completion", "", "Completion script for a shell", commands::make_completion},
    CommandEntry{"help", "", "Help on a command", commands::make_help},
};

constexpr bool names_are_unique() {
  for (std::size_t i = 0; i < kCommands.size(); ++i) {
    if (kCommands[i].name.empty() || kCommands[i].name == kCommands[i].alias) return false;
    for (std::size_t j = 0; j < kCommands.size(); ++j) {
      if (i == j) continue;
      if (kCommands[i].name == kCommands[j].name || kCommands[i].name == kCommands[j].alias) {
        return false;
      }
      if (!kCommands[i].alias.empty() && kCommands[i].alias == kCommands[j].alias) return false;
    }
  }
  return true;
}
static_assert(names_are_unique(), "two commands share a name");

}  // namespace

std::span<const CommandEntry> all_commands() { return kCommands; }

}  // namespace dynolog
