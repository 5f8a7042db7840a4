// The client's side of the wire, written from the protocol and not with the daemon's codec, so that
// a mistake there is seen here.
#include "testing/kineto_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/random.h"

namespace dynolog {
namespace {

constexpr std::array kProfiles = {
    KinetoClientProfile{.version = "2.0", .waits = 5, .idle = 3, .busy = 1, .endpoints = 1},
    KinetoClientProfile{.version = "2.3", .waits = 5, .idle = 3, .busy = 1, .endpoints = 1},
    KinetoClientProfile{.version = "2.7", .waits = 5, .idle = 3, .busy = 1, .endpoints = 2},
    KinetoClientProfile{.version = "2.13", .waits = 9, .idle = 3, .busy = 1, .endpoints = 1},
    KinetoClientProfile{.version = "2.14", .waits = 9, .idle = 2, .busy = 0, .endpoints = 1},
};
constexpr std::size_t kHeader = 40;
constexpr std::size_t kTypeOffset = 8;
constexpr std::size_t kTypeSize = 32;
constexpr mode_t kEverybody = 0666;

template <class T>
void append(std::string& bytes, T value) {
  std::array<char, sizeof(T)> raw{};
  std::memcpy(raw.data(), &value, sizeof value);
  bytes.append(raw.data(), raw.size());
}

std::string datagram_of(std::string_view type, std::string_view body) {
  std::string bytes;
  append(bytes, static_cast<std::uint64_t>(body.size()));
  bytes += type;
  bytes.resize(kHeader, '\0');
  bytes += body;
  return bytes;
}

struct Address {
  sockaddr_un value{};
  socklen_t length = 0;
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&value); }
};

Address address_of(std::string_view name) {
  Address address;
  address.value.sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof address.value.sun_path);
  std::copy_n(name.data(), length, address.value.sun_path);
  const bool path = !name.empty() && name.front() != '\0';
  address.length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length + (path ? 1 : 0));
  return address;
}

Result<UniqueFd> bound_socket(const std::string& name) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return fail_errno(errno, "socket");
  Address address = address_of(name);
  if (::bind(fd.get(), address.get(), address.length) != 0) return fail_errno(errno, "bind");
  if (name.front() != '\0' && ::chmod(name.c_str(), kEverybody) != 0) {
    return fail_errno(errno, "chmod");
  }
  return fd;
}

}  // namespace

std::optional<KinetoClientProfile> kineto_client_profile(std::string_view version) {
  const auto* at = std::ranges::find(kProfiles, version, &KinetoClientProfile::version);
  if (at == kProfiles.end()) return std::nullopt;
  return *at;
}

std::string kineto_poll_datagram(std::int32_t type, std::int64_t job,
                                 const std::vector<std::int32_t>& pids) {
  std::string body;
  append(body, type);
  append(body, static_cast<std::int32_t>(pids.size()));
  append(body, job);
  for (const std::int32_t pid : pids) append(body, pid);
  return datagram_of("req", body);
}

std::string kineto_context_datagram(std::int32_t gpu, std::int32_t pid, std::int64_t job) {
  std::string body;
  append(body, gpu);
  append(body, pid);
  append(body, job);
  return datagram_of("ctxt", body);
}

Result<KinetoTestClient> KinetoTestClient::open(KinetoClientOptions options) {
  KinetoTestClient client(std::move(options));
  if (client.options_.pids.empty()) client.options_.pids = {::getpid(), ::getppid()};
  client.daemon_ = client.options_.directory.empty() ? '\0' + client.options_.abstract_name
                                                     : client.options_.directory + "/dynolog";
  if (auto opened = client.reopen(); !opened) return std::unexpected(std::move(opened.error()));
  return client;
}

Status KinetoTestClient::reopen() {
  const auto fresh_name = [this] {
    const std::string base = "dynoconfigclient" + random_hex64() + random_hex64();
    // The real one's abstract name ends with a NUL, as the daemon's does.
    return options_.directory.empty() ? '\0' + base + '\0' : options_.directory + '/' + base;
  };
  if (options_.profile.endpoints > 1) {
    auto second = bound_socket(fresh_name());
    if (!second) return std::unexpected(std::move(second.error()));
    second_ = std::move(*second);
  }
  const std::string name = fresh_name();
  auto fd = bound_socket(name);
  if (!fd) return std::unexpected(std::move(fd.error()));
  fd_ = std::move(*fd);
  name_ = name;
  return {};
}

std::string KinetoTestClient::poll_datagram() const {
  return kineto_poll_datagram(busy_ ? options_.profile.busy : options_.profile.idle, options_.job,
                              options_.pids);
}

int KinetoTestClient::send_message(std::string_view datagram, const void* control,
                                   std::size_t control_size) {
  Address address = address_of(daemon_);
  iovec part{.iov_base = const_cast<char*>(datagram.data()), .iov_len = datagram.size()};
  msghdr message{};
  message.msg_name = address.get();
  message.msg_namelen = address.length;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (control_size > 0) {
    message.msg_control = const_cast<void*>(control);
    message.msg_controllen = control_size;
  }
  return ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL) < 0 ? errno : 0;
}

int KinetoTestClient::send_raw(std::string_view datagram, const std::vector<int>& descriptors) {
  if (descriptors.empty()) return send_message(datagram, nullptr, 0);
  std::vector<char> control(CMSG_SPACE(descriptors.size() * sizeof(int)));
  auto* header = reinterpret_cast<cmsghdr*>(control.data());
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
  std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size() * sizeof(int));
  return send_message(datagram, control.data(), control.size());
}

int KinetoTestClient::send_with_credential(std::string_view datagram, std::int32_t pid,
                                           std::uint32_t uid) {
  const ucred credential{.pid = pid, .uid = uid, .gid = ::getgid()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof credential)> control{};
  auto* header = reinterpret_cast<cmsghdr*>(control.data());
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_CREDENTIALS;
  header->cmsg_len = CMSG_LEN(sizeof credential);
  std::memcpy(CMSG_DATA(header), &credential, sizeof credential);
  return send_message(datagram, control.data(), control.size());
}

Status KinetoTestClient::send_poll() {
  if (second_.valid()) {
    // Both of the racing endpoints ask; nobody reads the answer to the one that is dropped.
    std::swap(fd_, second_);
    (void)send_raw(poll_datagram());
    std::swap(fd_, second_);
    second_.reset();
  }
  const int error = send_raw(poll_datagram());
  if (error != 0) return fail_errno(error, "sending a poll");
  return {};
}

Status KinetoTestClient::send_doubled_poll() {
  if (auto sent = send_poll(); !sent) return sent;
  return send_poll();
}

Result<std::optional<KinetoClientReply>> KinetoTestClient::poll() {
  // A full queue or nobody there: ten more tries, at intervals that double.
  constexpr int kTries = 10;
  int interval_ms = 10;
  auto sent = send_poll();
  for (int tries = 0; !sent && tries < kTries; ++tries) {
    ::poll(nullptr, 0, interval_ms);
    interval_ms *= 2;
    ++retries_;
    sent = send_poll();
  }
  if (!sent) return std::unexpected(std::move(sent.error()));
  return wait(patience());
}

std::optional<KinetoClientReply> KinetoTestClient::wait(Milliseconds limit) {
  pollfd entry{.fd = fd_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&entry, 1, static_cast<int>(limit.count())) <= 0) return std::nullopt;
  std::vector<char> buffer(256U << 10U);
  sockaddr_un sender{};
  socklen_t length = sizeof sender;
  const ssize_t got = ::recvfrom(fd_.get(), buffer.data(), buffer.size(), 0,
                                 reinterpret_cast<sockaddr*>(&sender), &length);
  if (got < 0) return std::nullopt;
  KinetoClientReply reply;
  if (length > offsetof(sockaddr_un, sun_path)) {
    reply.sender.assign(sender.sun_path, length - offsetof(sockaddr_un, sun_path));
    if (reply.sender.front() != '\0') reply.sender = reply.sender.c_str();
  }
  reply.would_terminate = why_terminate(reply.sender);
  const auto bytes = static_cast<std::size_t>(got);
  if (bytes < kHeader) return reply;
  std::uint64_t size = 0;
  std::memcpy(&size, buffer.data(), sizeof size);
  reply.type.assign(buffer.data() + kTypeOffset, ::strnlen(buffer.data() + kTypeOffset, kTypeSize));
  reply.config.assign(buffer.data() + kHeader, std::min<std::size_t>(size, bytes - kHeader));
  return reply;
}

std::string KinetoTestClient::why_terminate(std::string_view sender) const {
  if (sender.empty()) return "the reply came from an unbound socket";
  if (options_.directory.empty()) {
    return sender.front() == '\0' ? "" : "the reply came from a path, not from an abstract name";
  }
  if (sender.starts_with(options_.directory + '/')) return "";
  return "the reply came from outside the directory";
}

}  // namespace dynolog
