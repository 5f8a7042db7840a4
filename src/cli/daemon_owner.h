// Whom a daemon serves, where that is not what root may expect.
#pragma once

#include <cstdint>
#include <string>

#include "cli/client.h"

namespace dynolog {

// Pure: the sentence for root that asks a user's daemon; "" for everybody else. `where` is how the
// daemon is called.
[[nodiscard]] std::string whom_it_serves(std::uint32_t asking, std::uint32_t daemon,
                                         const std::string& where);

// The same on stderr, of the daemon that has just answered on a unix socket: an answer without
// processes would mislead.
void say_whom_it_serves(const Client& client);

}  // namespace dynolog
