// What the codecs of the procs worker's frames share: a process's facts as a JSON object, lists.
// For their .cpp files only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "processes/process_facts.h"

namespace dynolog {

[[nodiscard]] nlohmann::json facts_json(const ProcessFacts& facts);
// nullopt when a member is missing, or is not what it should be. Never throws.
[[nodiscard]] std::optional<ProcessFacts> facts_from_json(const nlohmann::json& json);

// The elements of an array that was bounded before: nullopt when one is something else.
[[nodiscard]] std::optional<std::vector<std::string>> texts_from(const nlohmann::json& array);
// Device numbers and pids: none of them is negative.
[[nodiscard]] std::optional<std::vector<std::int32_t>> numbers_from(const nlohmann::json& array);

}  // namespace dynolog
