// By what a host is told apart from others, whatever it is called: /etc/machine-id.
#pragma once

#include <string>

namespace dynolog {

// What the file holds, 32 hexadecimal digits in small letters; "" when it holds anything else:
// there is none, it is empty, as in an image that many hosts are started from, or "uninitialized",
// as systemd leaves it until it has chosen one.
[[nodiscard]] std::string machine_id(const std::string& file);

}  // namespace dynolog
