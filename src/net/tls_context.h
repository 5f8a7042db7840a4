// What both sides of TLS have in common: which versions are spoken, whose certificate it is, whom
// it trusts, and how a file that cannot be used is told.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"

namespace boost::asio::ssl {
class context;
}

namespace dynolog {

enum class TlsSide { client, server };

// TLS 1.2 and later. A key with a passphrase is an error, not a question on the terminal.
[[nodiscard]] std::shared_ptr<boost::asio::ssl::context> make_tls_context(TlsSide side);

// A chain of PEM certificates, the own first, and its key.
[[nodiscard]] Status use_certificate(boost::asio::ssl::context& context,
                                     const std::string& certificate, const std::string& key);

// The CAs of a PEM file; "": the system's.
[[nodiscard]] Status trust_authorities(boost::asio::ssl::context& context, const std::string& file);

}  // namespace dynolog
