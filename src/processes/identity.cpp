// Tenants from cgroup paths, and who may reach whom.
#include "processes/identity.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "base/ascii.h"
#include "base/number.h"
#include "base/text.h"

namespace dynolog {
namespace {

bool is_hex(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_lower_hex);
}

// systemd writes bytes that a unit's name cannot hold as \xHH.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "\\x" && text.size() >= i + 4) {
      if (const auto byte = parse_number<unsigned char>(text.substr(i + 2, 2), 16)) {
        plain.push_back(static_cast<char>(*byte));
        i += 3;
        continue;
      }
    }
    plain.push_back(text[i]);
  }
  return plain;
}

// "<prefix>ID<suffix>" with an ID, or nothing.
std::optional<std::string_view> between(std::string_view text, std::string_view prefix,
                                        std::string_view suffix) {
  if (text.size() <= prefix.size() + suffix.size()) return std::nullopt;
  if (!text.starts_with(prefix) || !text.ends_with(suffix)) return std::nullopt;
  return text.substr(prefix.size(), text.size() - prefix.size() - suffix.size());
}

constexpr std::size_t kIdLength = 64;  // what Docker, containerd, CRI-O and Podman give

// docker-ID.scope and its like, or the bare id of the cgroupfs driver.
std::optional<std::string> runtime_container(std::string_view segment) {
  // Conmon watches a container from the host.
  if (segment.starts_with("crio-conmon-") || segment.starts_with("libpod-conmon-")) return {};
  constexpr std::array<std::string_view, 6> kPrefixes = {
      "docker-", "cri-containerd-", "crio-", "libpod-payload-", "libpod-", "nerdctl-"};
  for (const std::string_view prefix : kPrefixes) {
    if (const auto id = between(segment, prefix, ".scope")) return std::string(*id);
    const auto id = between(segment, prefix, "");
    if (id && is_hex(*id) && id->size() == kIdLength) return std::string(*id);
  }
  if (segment.size() == kIdLength && is_hex(segment)) return std::string(segment);
  // containerd told to use systemd while the kubelet does not: SLICE:cri-containerd:ID.
  constexpr std::string_view kMixed = ":cri-containerd:";
  const std::size_t mixed = segment.find(kMixed);
  if (mixed != std::string_view::npos && segment.size() > mixed + kMixed.size()) {
    return std::string(segment.substr(mixed + kMixed.size()));
  }
  return {};
}

// systemd-nspawn and LXC; `next` is the segment below.
std::optional<std::string> system_container(std::string_view segment, std::string_view next) {
  // nspawn's own process sits beside its payload and belongs to the host.
  if (next == "supervisor") return {};
  if (const auto name = between(segment, "systemd-nspawn@", ".service")) return unescape(*name);
  if (const auto name = between(segment, "machine-", ".scope")) {
    const std::string plain = unescape(*name);
    if (!plain.starts_with("qemu-")) return plain;  // a virtual machine is a process of the host
    return {};
  }
  if (const auto name = between(segment, "lxc.payload.", "")) return std::string(*name);
  if ((segment == "lxc" || segment == "lxc.payload") && !next.empty()) return std::string(next);
  return {};
}

// The pod of a path below kubepods, for what sits in a pod without being in a container known here.
std::optional<std::string> pod_of_segment(std::string_view segment) {
  if (segment.starts_with("kubepods")) {
    const std::size_t pod = segment.find("-pod");
    if (pod == std::string_view::npos || !segment.ends_with(".slice")) return {};
    return std::string(segment.substr(pod + 1, segment.size() - pod - 1 - 6));
  }
  if (segment.starts_with("pod") && segment.size() > 30) return std::string(segment);
  return {};
}

// Where only root makes cgroups. A user to whom a tree was delegated (user@UID.service) can give a
// cgroup in it any name, somebody else's container's too.
bool is_made_by_root(std::string_view parent) {
  constexpr std::array<std::string_view, 9> kParents = {"",
                                                        "/docker",
                                                        "/system.slice",
                                                        "/system.slice/containerd.service",
                                                        "/machine.slice",
                                                        "/machine",
                                                        "/lxc",
                                                        "/lxc.payload",
                                                        "/libpod_parent"};
  if (std::ranges::find(kParents, parent) != kParents.end()) return true;
  return parent.starts_with("/kubepods/") || parent.starts_with("/kubepods.slice/") ||
         parent == "/kubepods" || parent == "/kubepods.slice";
}

// The id alone where it cannot be copied, else with the place that nobody else can make it in.
std::string with_place(std::string_view id, std::string_view path, std::string_view segment) {
  std::string_view parent = path.substr(0, static_cast<std::size_t>(segment.data() - path.data()));
  while (parent.ends_with('/')) parent.remove_suffix(1);
  if (is_made_by_root(parent)) return std::string(id);
  return std::string(id) + "@" + std::string(parent);
}

// The outermost container counts: whoever is given a cgroup tree may name what lies inside as he
// likes, also like somebody else's container.
std::string container_of_path(std::string_view path) {
  const std::vector<std::string_view> segments = split(path, '/');
  std::string pod;
  bool in_kubepods = false;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::string_view next = i + 1 < segments.size() ? segments[i + 1] : std::string_view{};
    if (const auto id = runtime_container(segments[i])) return with_place(*id, path, segments[i]);
    if (const auto name = system_container(segments[i], next)) {
      return with_place(*name, path, segments[i]);
    }
    in_kubepods = in_kubepods || segments[i].starts_with("kubepods");
    if (!in_kubepods || !pod.empty()) continue;
    if (const auto id = pod_of_segment(segments[i])) pod = with_place(*id, path, segments[i]);
  }
  return pod;
}

}  // namespace

bool may_reach(const Caller& caller, const Tenant& target) {
  if (caller.host_root) return true;
  // Users without a mapping here collapse into one uid: it is nobody's in particular.
  if (caller.tenant.uid == kOverflowUid) return false;
  return caller.tenant == target;
}

std::string container_of(const std::vector<CgroupLine>& cgroup) {
  for (const CgroupLine& line : cgroup) {
    const std::string id = container_of_path(line.path);
    if (!id.empty()) return clean_text(id, kMaxContainerIdentity);
  }
  return {};
}

}  // namespace dynolog
