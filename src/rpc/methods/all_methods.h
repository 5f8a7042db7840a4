// The table of the RPC's methods.
#pragma once

#include <span>
#include <string_view>

#include "rpc/methods/method.h"

namespace dynolog::rpc {

[[nodiscard]] std::span<const Method> all_methods();
// nullptr when there is none of that name.
[[nodiscard]] const Method* find_method(std::string_view name);

}  // namespace dynolog::rpc
