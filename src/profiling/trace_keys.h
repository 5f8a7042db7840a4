// The keys of Kineto's configuration: types, ranges, and since when each is known.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "processes/process_facts.h"

namespace dynolog {

enum class TraceKeyType { boolean, number, text, path, activity_types };

struct TraceKey {
  std::string_view name;
  TraceKeyType type = TraceKeyType::text;
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::string_view default_value;  // a key that says no more than this needs no particular version
  int since_minor = 0;             // of torch 2; 0: in all of them
  std::string_view option;  // the option of `dyno gputrace` that writes it, "" when none does
};

// nullptr when Kineto does not know it, or only in its own configuration file.
[[nodiscard]] const TraceKey* find_trace_key(std::string_view name);

// A sentence that names the key, with a "did you mean" where one is near.
[[nodiscard]] std::string unknown_trace_key(std::string_view name);

// Type, range and version. `value` is trimmed.
[[nodiscard]] Status check_trace_value(const TraceKey& key, std::string_view value,
                                       const TorchFacts& torch);

// One name of ACTIVITY_TYPES, in lower case: one that this version does not know makes Kineto drop
// the whole request. The error names it, a near one, and those that are known.
[[nodiscard]] Status check_activity_type(std::string_view name, const TorchFacts& torch);
// What the newest version records when a request names none.
[[nodiscard]] std::vector<std::string> default_activity_types();

// As Kineto reads them: y, yes, t, true, 1.
[[nodiscard]] bool is_true(std::string_view value);

// A path that Kineto can be given as a value: nothing that its parser cuts or drops, no "..", and
// no ".json" but in the last part. The error says what is wrong with it.
[[nodiscard]] Status check_trace_path(std::string_view path);

// The minor version of torch 2.N; 0 when it is not known.
[[nodiscard]] int torch_minor(const TorchFacts& torch);

}  // namespace dynolog
