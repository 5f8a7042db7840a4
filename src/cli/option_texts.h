// Completion scripts and the manual page, from the options as they are declared.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace dynolog {

[[nodiscard]] std::string bash_completion(const CLI::App& root);
[[nodiscard]] std::string zsh_completion(const CLI::App& root);
[[nodiscard]] std::string fish_completion(const CLI::App& root);
[[nodiscard]] std::string manual_page(const CLI::App& root);

}  // namespace dynolog
