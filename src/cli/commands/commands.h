// The makers that all_commands.cpp lists; each stands in the file of its name.
#pragma once

#include "cli/command.h"

namespace dynolog::commands {

[[nodiscard]] std::unique_ptr<Command> make_completion(CLI::App& app);
[[nodiscard]] std::unique_ptr<Command> make_dcgm_pause(CLI::App& app);
[[nodiscard]] std::unique_ptr<Command> make_dcgm_resume(CLI::App& app);
[[nodiscard]] std::unique_ptr<Command> make_doctor(CLI::App& app);
[[nodiscard]] std::unique_ptr<Command> make_env(CLI::App& app);
[[nodiscard]] std::unique_ptr<Command> make_gputrace(CLI::App& app);
[[nodiscard]] std::unique_ptr<Command> make_help(CLI::App& app);
[[nodiscard]] std::unique_ptr<Command> make_log_level(CLI::App& app);
[[nodiscard]] std::unique_ptr<Command> make_ps(CLI::App& app);
[[nodiscard]] std::unique_ptr<Command> make_status(CLI::App& app);
[[nodiscard]] std::unique_ptr<Command> make_traces(CLI::App& app);
[[nodiscard]] std::unique_ptr<Command> make_version(CLI::App& app);

}  // namespace dynolog::commands
