// Contexts of Asio's.
#include "net/tls_context.h"

#include <fmt/format.h>

#include <boost/asio/ssl.hpp>

namespace dynolog {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

std::unexpected<Error> file_error(const std::string& file, const error_code& error) {
  return fail(ErrorKind::invalid, fmt::format("{}: {}", file, error.message()));
}

}  // namespace

std::shared_ptr<ssl::context> make_tls_context(TlsSide side) {
  auto context = std::make_shared<ssl::context>(side == TlsSide::client ? ssl::context::tls_client
                                                                        : ssl::context::tls_server);
  error_code ignored;
  context->set_options(ssl::context::default_workarounds | ssl::context::no_tlsv1 |
                           ssl::context::no_tlsv1_1 | ssl::context::no_compression,
                       ignored);
  context->set_password_callback(
      [](std::size_t, ssl::context::password_purpose) { return std::string(); }, ignored);
  return context;
}

Status use_certificate(ssl::context& context, const std::string& certificate,
                       const std::string& key) {
  error_code error;
  context.use_certificate_chain_file(certificate, error);
  if (error) return file_error(certificate, error);
  context.use_private_key_file(key, ssl::context::pem, error);
  if (error) return file_error(key, error);
  return {};
}

Status trust_authorities(ssl::context& context, const std::string& file) {
  error_code error;
  if (file.empty()) {
    context.set_default_verify_paths(error);
  } else {
    context.load_verify_file(file, error);
  }
  if (error) return file_error(file.empty() ? "the system's CA certificates" : file, error);
  return {};
}

}  // namespace dynolog
