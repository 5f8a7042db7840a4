// What /proc/<pid>/mountstats says of one mount.
#include "kernel/nfs_stats.h"

namespace dynolog {
namespace {

constexpr std::string_view kDevice = "device ";

// device server:/x mounted on /mnt with fstype nfs4 statvers=1.1
bool parse_first_line(std::string_view line, NfsMount& mount) {
  if (take_word(line) != "device") return false;
  mount.device = take_word(line);
  if (take_word(line) != "mounted" || take_word(line) != "on") return false;
  mount.mount_point = take_word(line);
  if (take_word(line) != "with" || take_word(line) != "fstype") return false;
  mount.type = take_word(line);
  return mount.type == "nfs" || mount.type == "nfs4";
}

std::string_view option_value(std::string_view options, std::string_view key) {
  while (!options.empty()) {
    const std::size_t comma = options.find(',');
    const std::string_view option = options.substr(0, comma);
    if (option.starts_with(key)) return option.substr(key.size());
    options.remove_prefix(comma == std::string_view::npos ? options.size() : comma + 1);
  }
  return {};
}

void parse_line(std::string_view line, NfsMount& mount) {
  const std::string_view name = take_word(line);
  if (name == "opts:") {
    mount.address = option_value(take_word(line), "addr=");
  } else if (name == "age:") {
    mount.age_s = take_count(line);
  } else if (name == "events:") {
    mount.events = take_numbers<kNfsEvents>(line);
  } else if (name == "bytes:") {
    mount.bytes = take_numbers<kNfsBytes>(line);
  } else if (name == "xprt:" && mount.transport_count < kMaxNfsTransports) {
    NfsTransport& transport = mount.transports[mount.transport_count++];
    transport.protocol = take_word(line);
    transport.numbers = take_numbers<20>(line);
  }
}

}  // namespace

std::string_view take_mount_part(std::string_view& text) {
  const std::size_t next = text.find("\ndevice ");
  const std::size_t size = next == std::string_view::npos ? text.size() : next + 1;
  const std::string_view part = text.substr(0, size);
  text.remove_prefix(size);
  return part;
}

std::optional<NfsMount> parse_nfs_mount(std::string_view part) {
  NfsMount mount;
  std::string_view line;
  if (!part.starts_with(kDevice) || !take_line(part, line) || !parse_first_line(line, mount)) {
    return std::nullopt;
  }
  while (take_line(part, line)) {
    std::string_view rest = line;
    if (take_word(rest) == "per-op") {
      mount.operations = part;
      break;
    }
    parse_line(line, mount);
  }
  if (mount.bytes.count == 0) return std::nullopt;
  return mount;
}

}  // namespace dynolog
