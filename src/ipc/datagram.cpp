// recvmsg and its control messages. Whatever descriptor arrives is owned or closed here.
#include "ipc/datagram.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace dynolog {
namespace {

// Newer than the C library of the base line.
constexpr int kSoPassPidfd = 76;
constexpr int kSoPassRights = 83;
constexpr int kScmPidfd = 0x04;

bool set_flag(int socket, int option, int value) {
  return ::setsockopt(socket, SOL_SOCKET, option, &value, sizeof value) == 0;
}

template <class T>
T control_value(const cmsghdr& control) {
  T value{};
  std::memcpy(&value, CMSG_DATA(&control), sizeof value);
  return value;
}

void close_rights(cmsghdr& control) {
  const std::size_t count = (control.cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (std::size_t i = 0; i < count; ++i) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(&control) + i * sizeof(int), sizeof fd);
    if (fd >= 0) ::close(fd);
  }
}

}  // namespace

bool refuse_descriptors(int socket) { return set_flag(socket, kSoPassRights, 0); }

Result<ReceiveFeatures> prepare_to_receive(int socket, bool refuse_rights) {
  if (!set_flag(socket, SO_PASSCRED, 1)) return fail_errno(errno, "SO_PASSCRED");
  if (!set_flag(socket, SO_TIMESTAMPNS, 1)) return fail_errno(errno, "SO_TIMESTAMPNS");
  return ReceiveFeatures{.pidfds = set_flag(socket, kSoPassPidfd, 1),
                         .rights_refused = refuse_rights && refuse_descriptors(socket)};
}

void DatagramReceiver::read_control(const msghdr& message, Datagram& datagram) {
  // CMSG_NXTHDR wants a mutable header though it changes nothing.
  msghdr walk = message;
  for (cmsghdr* control = CMSG_FIRSTHDR(&walk); control != nullptr;
       control = CMSG_NXTHDR(&walk, control)) {
    if (control->cmsg_level != SOL_SOCKET) continue;
    if (control->cmsg_type == SCM_CREDENTIALS) {
      datagram.pid = control_value<ucred>(*control).pid;
    } else if (control->cmsg_type == kScmPidfd) {
      const int fd = control_value<int>(*control);
      datagram.pidfd.reset(fd >= 0 ? fd : -1);
      datagram.pidfd_error = fd >= 0 ? 0 : -fd;
    } else if (control->cmsg_type == SCM_TIMESTAMPNS) {
      const auto stamp = control_value<timespec>(*control);
      datagram.queued = WallTime(std::chrono::seconds(stamp.tv_sec) + Nanoseconds(stamp.tv_nsec));
    } else if (control->cmsg_type == SCM_RIGHTS) {
      close_rights(*control);
      datagram.with_descriptors = true;
    }
  }
}

DatagramReceiver::Outcome DatagramReceiver::receive(int socket, Datagram& datagram) {
  datagram = Datagram{};
  iovec part{.iov_base = buffer_.data(), .iov_len = buffer_.size()};
  msghdr message{};
  message.msg_name = &sender_;
  message.msg_namelen = sizeof sender_;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control_.data();
  message.msg_controllen = control_.size();
  const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) {
    if (errno == EAGAIN) return Outcome::nothing;
    return errno == EINTR ? Outcome::interrupted : Outcome::broken;
  }
  read_control(message, datagram);
  if ((message.msg_flags & MSG_CTRUNC) != 0) datagram.with_descriptors = true;
  datagram.oversize = (message.msg_flags & MSG_TRUNC) != 0;
  datagram.bytes = std::span(buffer_).first(static_cast<std::size_t>(got));
  if (message.msg_namelen > offsetof(sockaddr_un, sun_path)) {
    // A path of 108 characters is reported as longer than its buffer.
    const std::size_t length =
        std::min(message.msg_namelen - offsetof(sockaddr_un, sun_path), sizeof sender_.sun_path);
    datagram.sender = std::string_view(sender_.sun_path, length);
    // A path's length counts its end.
    if (sender_.sun_path[0] != '\0') {
      datagram.sender = datagram.sender.substr(0, datagram.sender.find('\0'));
    }
  }
  return Outcome::received;
}

}  // namespace dynolog
