// SIOCETHTOOL.
#include "kernel/ethtool.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>

#include "base/ascii.h"
#include "base/unique_fd.h"

namespace dynolog {
namespace {

// Large adapters have some 5,000, most of them by queue.
constexpr std::uint32_t kMostStatistics = 32'768;
// The kernel writes as many as the driver has at that instant, however few were asked for. So that
// is asked first, and there is room to spare.
constexpr std::size_t kSpare = 1024;

// A driver fills the field and need not end it.
template <std::size_t N>
std::string field(const char (&bytes)[N]) {
  return {bytes, ::strnlen(bytes, N)};
}

class KernelEthtool final : public Ethtool {
 public:
  [[nodiscard]] std::expected<EthtoolDriver, int> driver(std::string_view device) override {
    ethtool_drvinfo info{};
    info.cmd = ETHTOOL_GDRVINFO;
    if (const int error = ask(device, &info); error != 0) return std::unexpected(error);
    return EthtoolDriver{.driver = field(info.driver),
                         .version = field(info.version),
                         .firmware = field(info.fw_version),
                         .bus = field(info.bus_info),
                         .rom = field(info.erom_version),
                         .statistics = std::min(info.n_stats, kMostStatistics)};
  }

  [[nodiscard]] Result<std::vector<std::string>> names(std::string_view device,
                                                       std::uint32_t count) override {
    buffer_.assign(sizeof(ethtool_gstrings) + (std::size_t{count} + kSpare) * ETH_GSTRING_LEN,
                   std::byte{0});
    ethtool_gstrings request{};
    request.cmd = ETHTOOL_GSTRINGS;
    request.string_set = ETH_SS_STATS;
    request.len = count;
    std::memcpy(buffer_.data(), &request, sizeof(request));
    if (const int error = ask(device, buffer_.data()); error != 0) {
      return fail_errno(error, "ETHTOOL_GSTRINGS");
    }
    std::memcpy(&request, buffer_.data(), sizeof(request));
    if (request.len != count) return fail(ErrorKind::failed, "the driver changed its statistics");
    const auto* const text = reinterpret_cast<const char*>(buffer_.data() + sizeof(request));
    return ethtool_names({text, std::size_t{count} * ETH_GSTRING_LEN});
  }

  [[nodiscard]] bool values(std::string_view device, std::span<std::uint64_t> values) override {
    ethtool_drvinfo info{};
    info.cmd = ETHTOOL_GDRVINFO;
    if (ask(device, &info) != 0 || info.n_stats != values.size()) return false;
    const std::size_t size =
        sizeof(ethtool_stats) + (values.size() + kSpare) * sizeof(std::uint64_t);
    if (buffer_.size() < size) buffer_.resize(size);
    ethtool_stats request{};
    request.cmd = ETHTOOL_GSTATS;
    request.n_stats = static_cast<std::uint32_t>(values.size());
    std::memcpy(buffer_.data(), &request, sizeof(request));
    if (ask(device, buffer_.data()) != 0) return false;
    std::memcpy(&request, buffer_.data(), sizeof(request));
    if (request.n_stats != values.size()) return false;
    std::memcpy(values.data(), buffer_.data() + sizeof(request), values.size_bytes());
    return true;
  }

 private:
  // 0, or an errno. `command` is one of ethtool's structures.
  int ask(std::string_view device, void* command) {
    if (!socket_.valid()) {
      socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      if (!socket_.valid()) return errno;
    }
    ifreq request{};
    if (device.size() >= sizeof(request.ifr_name)) return ENODEV;
    std::ranges::copy(device, std::begin(request.ifr_name));
    request.ifr_data = static_cast<char*>(command);
    return ::ioctl(socket_.get(), SIOCETHTOOL, &request) == 0 ? 0 : errno;
  }

  UniqueFd socket_;
  std::vector<std::byte> buffer_;
};

// The whole words "rx" and "tx" between underscores, spelled out. Not of two in a row, as in
// node_exporter, whose expression takes the underscore between them once.
std::string spelled_out(std::string_view name) {
  std::string text;
  bool was_spelled = false;
  while (true) {
    const std::size_t end = std::min(name.find('_'), name.size());
    const std::string_view word = name.substr(0, end);
    was_spelled = !was_spelled && (word == "rx" || word == "tx");
    text += !was_spelled ? word : word == "rx" ? "received" : "transmitted";
    if (end == name.size()) return text;
    text += '_';
    name.remove_prefix(end + 1);
  }
}

}  // namespace

std::unique_ptr<Ethtool> make_ethtool() { return std::make_unique<KernelEthtool>(); }

std::vector<std::string> ethtool_names(std::span<const char> bytes) {
  std::vector<std::string> names;
  for (; bytes.size() >= ETH_GSTRING_LEN; bytes = bytes.subspan(ETH_GSTRING_LEN)) {
    names.emplace_back(bytes.data(), ::strnlen(bytes.data(), ETH_GSTRING_LEN));
  }
  return names;
}

std::string ethtool_metric_name(std::string_view statistic) {
  // What is neither letter, digit nor underscore becomes one underscore, with those beside it.
  std::string name;
  bool replacing = false;
  for (const char letter : statistic) {
    if (letter == '_' && replacing) continue;
    if (is_alnum(letter) || letter == '_') {
      replacing = false;
      name += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
      continue;
    }
    while (name.ends_with('_')) name.pop_back();
    name += '_';
    replacing = true;
  }
  const std::size_t first = name.find_first_not_of('_');
  return first == std::string::npos ? "" : spelled_out(std::string_view(name).substr(first));
}

}  // namespace dynolog
