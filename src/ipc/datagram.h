// One received datagram, with what the kernel says about its sender.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/unique_fd.h"
#include "ipc/kineto_wire.h"

namespace dynolog {

struct Datagram {
  std::span<const std::byte> bytes;  // valid until the next receive()
  std::string_view sender;           // raw name; abstract ones begin with NUL; "" when unbound
  std::int32_t pid = 0;              // of the credential, in our pid namespace; 0: not visible
  UniqueFd pidfd;                    // only where the kernel sends one
  int pidfd_error = 0;               // an errno in its place: ESRCH, EMFILE, ...
  std::optional<WallTime> queued;    // the kernel's stamp
  bool oversize = false;
  bool with_descriptors = false;  // rights came along (and were closed), or control was cut
};

struct ReceiveFeatures {
  bool pidfds = false;          // SO_PASSPIDFD, Linux 6.5
  bool rights_refused = false;  // SO_PASSRIGHTS = 0, Linux 6.16
};

// Switches on credentials, pidfds and stamps, and switches off descriptors where `refuse_rights`.
[[nodiscard]] Result<ReceiveFeatures> prepare_to_receive(int socket, bool refuse_rights);

// Tells the kernel to refuse descriptors sent to `socket`: the sender gets EPERM.
bool refuse_descriptors(int socket);

class DatagramReceiver {
 public:
  // `interrupted`: a signal broke a block inside the kernel, and the message is lost.
  enum class Outcome { received, nothing, interrupted, broken };
  [[nodiscard]] Outcome receive(int socket, Datagram& datagram);

 private:
  void read_control(const msghdr& message, Datagram& datagram);

  // Tight on purpose: room for credentials, one pidfd and one stamp.
  static constexpr std::size_t kControl =
      CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(timespec));
  std::array<std::byte, kMaxKinetoDatagram> buffer_{};
  alignas(cmsghdr) std::array<std::byte, kControl> control_{};
  sockaddr_un sender_{};
};

}  // namespace dynolog
