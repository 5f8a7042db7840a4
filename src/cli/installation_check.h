// What can be said about dynolog on this host when no daemon answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/system_root.h"
#include "cli/client.h"
#include "cli/world.h"
#include "rpc/protocol/messages.h"

namespace dynolog {

struct InstallationFacts {
  std::vector<std::string> tried;   // daemons, each with the reason that it did not answer
  std::vector<std::string> advice;  // how to start one, or to name another
  std::string program;              // path of `dynolog`, or ""
  bool service_installed = false;
  std::string abandoned_socket;     // one that lies there without anybody behind it, or ""
  bool abstract_name_held = false;  // somebody serves @dynolog in this network namespace
  std::optional<std::string> base_configuration;  // text of /etc/libkineto.conf
  std::optional<std::string> use_daemon;          // KINETO_USE_DAEMON of the asking shell
};

// Reads no more than a few small files; nothing is started or connected to.
[[nodiscard]] InstallationFacts look_at_installation(const World& world, const SystemRoot& root,
                                                     const CallFailure& no_daemon);

// Pure. The first finding is that no daemon answers, which is broken.
[[nodiscard]] std::vector<rpc::Finding> diagnose_installation(const InstallationFacts& facts);

// Whether a socket with Kineto's abstract name stands in /proc/net/unix's text.
[[nodiscard]] bool holds_abstract_name(std::string_view proc_net_unix);

}  // namespace dynolog
