// Where Kineto writes: its own names, and which paths it obeys. Pure.
#pragma once

#include <string>
#include <string_view>

#include "processes/process_facts.h"

namespace dynolog {

// What a client writes that was told no path, or one that it does not obey.
[[nodiscard]] std::string default_trace_file(const ProcessFacts& facts);
[[nodiscard]] std::string default_snapshot_file(const ProcessFacts& facts);

// From PyTorch 2.14 on on-demand files are written only below one directory.
[[nodiscard]] bool restricts_directory(const TorchFacts& torch);
// That directory, with a '/' at its end.
[[nodiscard]] std::string allowed_directory(const ProcessFacts& facts);
[[nodiscard]] bool obeys_path(std::string_view path, const ProcessFacts& facts,
                              const TorchFacts& torch);

// PROFILE_MEMORY: 2.8 on.
[[nodiscard]] bool knows_snapshot(const TorchFacts& torch);

// "PyTorch 2.14.1", or "this PyTorch" where the version is not known.
[[nodiscard]] std::string torch_name(const TorchFacts& torch);

}  // namespace dynolog
