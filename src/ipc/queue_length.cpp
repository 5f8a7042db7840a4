// net.unix.max_dgram_qlen, raised and put back.
#include "ipc/queue_length.h"

#include <fcntl.h>

#include <string_view>

#include "base/file.h"
#include "base/number.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace dynolog {
namespace {

constexpr int kWanted = 512;

bool write_value(const std::string& path, std::string_view value) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
  return fd.valid() && write_all(fd.get(), value).has_value();
}

}  // namespace

LongQueues::LongQueues(const SystemRoot& root) : path_(root.proc + "/sys/net/unix/max_dgram_qlen") {
  constexpr std::size_t kMaxBytes = 64;
  auto now = read_file(path_, kMaxBytes);
  if (!now) return;
  const auto length = parse_number<int>(trim(*now));
  if (!length || *length >= kWanted) return;
  if (write_value(path_, std::to_string(kWanted))) before_ = std::move(*now);
}

LongQueues::~LongQueues() {
  if (before_) write_value(path_, *before_);
}

}  // namespace dynolog
