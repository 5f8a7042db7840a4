// The abstract endpoint: works without set-up, protects nobody from other local users.
#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/text.h"
#include "ipc/datagram.h"
#include "ipc/handed_socket.h"
#include "ipc/kineto_endpoint.h"
#include "ipc/socket_holder.h"
#include "ipc/unix_address.h"

namespace dynolog {
namespace {

class AbstractEndpoint final : public KinetoEndpoint {
 public:
  AbstractEndpoint(std::string name, const Clock& clock)
      : name_('\0' + std::move(name)), holder_(clock) {}

  [[nodiscard]] Status open(const SystemRoot& root) override;
  [[nodiscard]] Status adopt(UniqueFd socket, const SystemRoot& root) override;
  void close() override { fd_.reset(); }
  void leave() override { fd_.reset(); }
  [[nodiscard]] int fd() const override { return fd_.get(); }
  [[nodiscard]] const std::string& label() const override { return label_; }
  [[nodiscard]] bool intact() const override { return true; }
  [[nodiscard]] bool of_one_user() const override { return false; }
  [[nodiscard]] Result<ReplySocket> connect_reply(std::string_view sender, Uid owner,
                                                  const SystemRoot& root) override;
  void collect(const ReplySocket&, const SystemRoot&) override {}

 private:
  std::string name_;
  std::string label_ = "abstract";
  UniqueFd fd_;
  NameHolder holder_;
};

Status AbstractEndpoint::open(const SystemRoot& root) {
  const auto address = unix_address(name_);
  if (!address) return fail(ErrorKind::invalid, "the abstract name is too long for a socket");
  auto fd = make_datagram_socket();
  if (!fd) return std::unexpected(std::move(fd.error()));
  if (::bind(fd->get(), address->get(), address->length) != 0) {
    if (errno != EADDRINUSE) return fail_errno(errno, "binding the abstract socket");
    return fail(ErrorKind::unavailable,
                fmt::format("the abstract socket @{} is held by {}",
                            clean_text(name_.substr(1, name_.find('\0', 1) - 1), 64),
                            holder_.find(root, name_)));
  }
  fd_ = std::move(*fd);
  return {};
}

Status AbstractEndpoint::adopt(UniqueFd socket, const SystemRoot&) {
  if (auto good = check_handed_socket(socket.get(), name_); !good) return good;
  if (auto made = make_private(socket.get()); !made) return made;
  fd_ = std::move(socket);
  return {};
}

Result<ReplySocket> AbstractEndpoint::connect_reply(std::string_view sender, Uid,
                                                    const SystemRoot&) {
  // Only an autobound or abstract sender accepts an abstract answer; others would end themselves.
  if (sender.empty() || sender.front() != '\0') {
    return fail(ErrorKind::denied, "the sender has no abstract name");
  }
  const auto peer = unix_address(sender);
  if (!peer) return fail(ErrorKind::denied, "the sender's name is too long");
  auto fd = make_reply_socket();
  if (!fd) return std::unexpected(std::move(fd.error()));
  // No name given: the kernel chooses an abstract one.
  sockaddr_un own{};
  own.sun_family = AF_UNIX;
  if (::bind(fd->get(), reinterpret_cast<const sockaddr*>(&own), sizeof own.sun_family) != 0) {
    return fail_errno(errno, "binding a reply socket");
  }
  if (::connect(fd->get(), peer->get(), peer->length) != 0) {
    if (errno == ECONNREFUSED) return fail(ErrorKind::not_found, "the sender's socket is gone");
    return fail_errno(errno, "connecting a reply socket");
  }
  return ReplySocket{.fd = std::move(*fd), .sender = std::string(sender)};
}

}  // namespace

std::unique_ptr<KinetoEndpoint> make_abstract_endpoint(std::string name, const Clock& clock) {
  return std::make_unique<AbstractEndpoint>(std::move(name), clock);
}

Result<UniqueFd> make_datagram_socket() {
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return fail_errno(errno, "making a socket");
  return fd;
}

Result<UniqueFd> make_reply_socket() {
  auto fd = make_datagram_socket();
  if (!fd) return fd;
  // What a client might queue here, descriptors included, would be closed by our close().
  if (::shutdown(fd->get(), SHUT_RD) != 0) return fail_errno(errno, "shutting a reply socket");
  refuse_descriptors(fd->get());
  return fd;
}

}  // namespace dynolog
