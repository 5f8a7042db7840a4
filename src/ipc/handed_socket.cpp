// Asks the kernel about the descriptor; which file it was bound to only sock_diag(7) says.
#include "ipc/handed_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "base/text.h"

namespace dynolog {
namespace {

// Of our own asking: the kernel answers at once or not at all.
constexpr timeval kPatience{.tv_sec = 1, .tv_usec = 0};

std::optional<int> option_of(int fd, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  if (::getsockopt(fd, SOL_SOCKET, name, &value, &size) != 0) return std::nullopt;
  return value;
}

std::string shown(std::string_view address) {
  if (address.empty()) return "no name";
  if (address.front() != '\0') return clean_text(address, 120);
  return "@" + clean_text(address.substr(1, address.find('\0', 1) - 1), 120);
}

struct Question {
  nlmsghdr header;
  unix_diag_req request;
};

Question question_of(ino_t inode) {
  Question question{};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.request.sdiag_family = AF_UNIX;
  question.request.udiag_states = ~0U;
  question.request.udiag_ino = static_cast<std::uint32_t>(inode);
  question.request.udiag_show = UDIAG_SHOW_VFS;
  question.request.udiag_cookie[0] = ~0U;  // any
  question.request.udiag_cookie[1] = ~0U;
  return question;
}

template <class T>
std::optional<T> take(std::span<const std::byte>& bytes, std::size_t size) {
  if (size < sizeof(T) || bytes.size() < size) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(std::min(bytes.size(), (size + 3U) & ~std::size_t{3}));
  return value;
}

// The attribute of the answer that names the file.
std::optional<unix_diag_vfs> decode_answer(std::span<const std::byte> bytes) {
  const auto header = take<nlmsghdr>(bytes, sizeof(nlmsghdr));
  if (!header || header->nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
  if (!take<unix_diag_msg>(bytes, sizeof(unix_diag_msg))) return std::nullopt;
  while (bytes.size() >= sizeof(rtattr)) {
    rtattr attribute;
    std::memcpy(&attribute, bytes.data(), sizeof attribute);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > bytes.size()) break;
    if (attribute.rta_type == UNIX_DIAG_VFS) {
      bytes = bytes.subspan(sizeof attribute);
      return take<unix_diag_vfs>(bytes, attribute.rta_len - sizeof attribute);
    }
    const std::size_t aligned = (attribute.rta_len + 3U) & ~std::size_t{3};
    bytes = bytes.subspan(std::min(bytes.size(), aligned));
  }
  return std::nullopt;
}

Result<unix_diag_vfs> bound_file_of(ino_t socket_inode) {
  const UniqueFd netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!netlink.valid()) return fail_errno(errno, "asking the kernel about a socket");
  ::setsockopt(netlink.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  const Question question = question_of(socket_inode);
  if (::send(netlink.get(), &question, sizeof question, 0) < 0) {
    return fail_errno(errno, "asking the kernel about a socket");
  }
  std::array<std::byte, 4096> answer{};
  const ssize_t size = ::recv(netlink.get(), answer.data(), answer.size(), 0);
  if (size < 0) return fail_errno(errno, "the kernel's answer about a socket");
  const auto file = decode_answer({answer.data(), static_cast<std::size_t>(size)});
  if (!file) return fail(ErrorKind::unavailable, "the kernel does not say which file it is");
  return *file;
}

}  // namespace

Status check_handed_socket(int fd, std::string_view address) {
  const auto domain = option_of(fd, SO_DOMAIN);
  if (!domain) return fail(ErrorKind::invalid, "it is not a socket");
  if (*domain != AF_UNIX || option_of(fd, SO_TYPE) != SOCK_DGRAM) {
    return fail(ErrorKind::invalid, "it is not a unix datagram socket");
  }
  sockaddr_un name{};
  socklen_t size = sizeof name;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    return fail_errno(errno, "getsockname");
  }
  constexpr std::size_t kBefore = offsetof(sockaddr_un, sun_path);
  std::string_view bound(name.sun_path, size > kBefore ? size - kBefore : 0);
  // Of a path the kernel counts the terminating NUL too.
  if (!bound.empty() && bound.front() != '\0') bound = bound.substr(0, bound.find('\0'));
  if (bound != address) {
    return fail(ErrorKind::invalid,
                fmt::format("it is bound to {} and not to {}", shown(bound), shown(address)));
  }
  sockaddr_un peer{};
  size = sizeof peer;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0) {
    return fail(ErrorKind::invalid, "it is connected to another socket");
  }
  return {};
}

Status check_bound_file(int fd, const struct stat& file) {
  struct stat socket{};
  if (::fstat(fd, &socket) != 0) return fail_errno(errno, "fstat");
  const auto bound = bound_file_of(socket.st_ino);
  if (!bound) return std::unexpected(bound.error());
  // Of the inode the kernel tells 32 bits, of the device its own notation: 12 and 20 bits.
  const std::uint64_t device =
      (std::uint64_t{major(file.st_dev)} << 20U) | std::uint64_t{minor(file.st_dev)};
  if (bound->udiag_vfs_ino != static_cast<std::uint32_t>(file.st_ino) ||
      bound->udiag_vfs_dev != static_cast<std::uint32_t>(device)) {
    return fail(ErrorKind::invalid, "the file of that name is another one by now");
  }
  return {};
}

Status make_private(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
      ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    return fail_errno(errno, "fcntl");
  }
  return {};
}

}  // namespace dynolog
