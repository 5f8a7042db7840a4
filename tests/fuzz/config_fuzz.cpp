// The configuration's readers on arbitrary bytes: each gives options or a sentence, and options
// that are printed read back the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "config/layers.h"
#include "config/options.h"

namespace {

using dynolog::Layer;
using dynolog::Result;

void check(const Result<Layer>& layer) {
  if (!layer) {
    // Whatever the file held, the sentence is one bounded line that a terminal can show.
    const std::string& said = layer.error().message;
    if (said.empty() || dynolog::clean_text(said, 2000) != said) std::abort();
    return;
  }
  const auto applied = dynolog::apply_layers({*layer});
  if (!applied) {
    if (dynolog::clean_text(applied.error().message, 8000) != applied.error().message) std::abort();
    return;
  }
  const std::string printed = dynolog::print_config(applied->options);
  const auto again = dynolog::read_toml(printed, "printed");
  if (!again) std::abort();
  const auto same = dynolog::apply_layers({*again});
  if (!same || dynolog::print_config(same->options) != printed) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(dynolog::read_toml(text, "fuzz.toml"));
  check(dynolog::read_flagfile(text, "fuzz.gflags"));
  std::vector<std::string> arguments;
  for (const std::string_view line : dynolog::split(text, '\n')) arguments.emplace_back(line);
  check(dynolog::read_arguments(arguments, ""));
  std::map<std::string, std::string> variables;
  for (const std::string& line : arguments) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) variables[line.substr(0, equals)] = line.substr(equals + 1);
  }
  check(dynolog::read_environment(variables));
  return 0;
}
