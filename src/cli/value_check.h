// What a value on the command line must be, refused in one short sentence.
#pragma once

#include <cstdint>

namespace CLI {
class Validator;
}

namespace dynolog {

[[nodiscard]] CLI::Validator whole_number(std::int64_t least, std::int64_t most);
[[nodiscard]] CLI::Validator number(double least, double most);
// "" is a variable that a script did not set: it must not mean "all".
[[nodiscard]] CLI::Validator not_empty();
// A name or an address, without a port.
[[nodiscard]] CLI::Validator host_only();

}  // namespace dynolog
