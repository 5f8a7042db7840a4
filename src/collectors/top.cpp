// Collector `top`. Each process costs a file, and one that runs another one.
#include "collectors/top.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "base/number.h"
#include "base/unique_fd.h"
#include "kernel/process_usage.h"
#include "kernel/sysfs.h"

namespace dynolog {
namespace {

constexpr const MetricDescriptor& kCpuTime = kTopMetrics[0];
constexpr const MetricDescriptor& kResident = kTopMetrics[1];
constexpr const MetricDescriptor& kThreads = kTopMetrics[2];
constexpr const MetricDescriptor& kDiskIo = kTopMetrics[3];
static_assert(kDiskIo.id == "process.disk_io");

// One that was among the first stays for so many looks more: lists that change with each look
// would open and close series all the time.
constexpr int kLooksToStay = 6;

// A kernel thread that slept is not looked at so many times, unless somebody looks himself.
constexpr int kLooksToRest = 5;

struct Seen {
  std::uint32_t pid = 0;
  ProcessUsage usage;
  ProcessIo io;
  double cpu = 0;            // ticks since the look before
  double bytes = 0;          // of IO since then
  int stays = 0;             // looks
  int rested = 0;            // looks
  bool is_compared = false;  // with the look before: `cpu` and `bytes` mean something
  SeriesHandle user, system, resident, threads, read, written;

  [[nodiscard]] bool is_open() const { return user.valid(); }
};

class TopCollector final : public Collector {
 public:
  TopCollector(const SystemRoot& root, const CollectorOptions::Top& options,
               std::function<bool()> somebody_looks, long page_size, long ticks_per_second)
      : processes_(root.proc),
        first_(static_cast<std::size_t>(options.processes)),
        somebody_looks_(std::move(somebody_looks)),
        page_size_(static_cast<double>(page_size)),
        tick_(1.0 / static_cast<double>(ticks_per_second)) {}

  [[nodiscard]] std::string_view name() const override { return "top"; }
  [[nodiscard]] Tier tier() const override { return Tier::medium; }
  [[nodiscard]] bool has_news() const override { return somebody_looks_ && somebody_looks_(); }

  [[nodiscard]] Status collect(Samples& out) override {
    if (first_ == 0) return {};
    if (!processes_.rewind()) return fail_errno(errno, processes_.path());
    now_.clear();
    std::size_t before = 0;
    while (const char* name = processes_.next()) {
      if (*name >= '1' && *name <= '9') look_at(name, before, out);
    }
    while (before < before_.size()) close(before_[before++], out);
    std::swap(before_, now_);
    choose();
    for (Seen& seen : before_) emit(seen, out);
    return {};
  }

 private:
  // A file of the process, up to the buffer's size; "" when it cannot be read.
  std::string_view read(const char* pid, std::string_view file) {
    path_ = pid;
    path_ += file;
    const UniqueFd fd(::openat(processes_.descriptor(), path_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return {};
    const ssize_t got = ::read(fd.get(), buffer_.data(), buffer_.size());
    return {buffer_.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
  }

  // The kernel lists processes by pid: what was seen at the look before is next to its place.
  void look_at(const char* name, std::size_t& before, Samples& out) {
    const auto pid = parse_number<std::uint32_t>(name);
    if (!pid) return;
    while (before < before_.size() && before_[before].pid < *pid) close(before_[before++], out);
    Seen* known = nullptr;
    if (before < before_.size() && before_[before].pid == *pid) known = &before_[before++];
    if (known != nullptr && rests(*known)) {
      now_.push_back(*known);
      ++now_.back().rested;
      return;
    }
    const auto usage = parse_process_usage(read(name, "/stat"));
    if (known != nullptr && (!usage || known->usage.start_ticks != usage->start_ticks)) {
      close(*known, out);  // it has ended, and its pid may have been taken again
      known = nullptr;
    }
    if (!usage) return;
    Seen seen = known != nullptr ? *known : Seen{};
    const bool is_known = known != nullptr;
    const auto ticks = [](const ProcessUsage& of) { return of.user_ticks + of.system_ticks; };
    const bool kernel_thread = usage->virtual_bytes == 0;
    // Nearly all processes sleep: of one that did not run, and is not shown, a second file tells
    // nothing new.
    const bool slept =
        is_known && !seen.is_open() && seen.bytes == 0 && ticks(seen.usage) == ticks(*usage);
    const ProcessIo io = kernel_thread ? ProcessIo{}
                         : slept       ? seen.io
                                       : parse_process_io(read(name, "/io"));
    seen.cpu = is_known ? increase(ticks(seen.usage), ticks(*usage)) : 0;
    seen.bytes = is_known ? increase(total(seen.io), total(io)) : 0;
    seen.is_compared = is_known;
    seen.rested = 0;
    seen.pid = *pid;
    seen.usage = *usage;
    seen.io = io;
    now_.push_back(seen);
  }

  // A host has hundreds of kernel threads that do nothing.
  [[nodiscard]] bool rests(const Seen& seen) const {
    return seen.usage.virtual_bytes == 0 && seen.is_compared && seen.cpu == 0 && !seen.is_open() &&
           seen.rested < kLooksToRest && !has_news();
  }

  static std::uint64_t total(const ProcessIo& io) {
    return io.read_bytes.value_or(0) + io.written_bytes.value_or(0);
  }
  static double increase(std::uint64_t before, std::uint64_t now) {
    return now > before ? static_cast<double>(now - before) : 0;
  }

  // The first by each of the three; who uses nothing is not among them.
  void choose() {
    for (Seen& seen : before_) seen.stays = std::max(0, seen.stays - 1);
    choose_by([](const Seen& seen) { return seen.cpu; });
    choose_by([](const Seen& seen) { return static_cast<double>(seen.usage.resident_pages); });
    choose_by([](const Seen& seen) { return seen.bytes; });
  }
  void choose_by(double (*use)(const Seen&)) {
    order_.clear();
    for (Seen& seen : before_) {
      if (use(seen) > 0) order_.push_back(&seen);
    }
    const std::size_t count = std::min(first_, order_.size());
    const auto end = order_.begin() + static_cast<std::ptrdiff_t>(count);
    std::partial_sort(order_.begin(), end, order_.end(),
                      [use](const Seen* a, const Seen* b) { return use(*a) > use(*b); });
    std::for_each(order_.begin(), end, [](Seen* seen) { seen->stays = kLooksToStay; });
  }

  void emit(Seen& seen, Samples& out) {
    if (seen.stays == 0) {
      close(seen, out);
      return;
    }
    if (!seen.is_open() && !open(seen, out)) return;
    out.set(seen.user, static_cast<double>(seen.usage.user_ticks) * tick_);
    out.set(seen.system, static_cast<double>(seen.usage.system_ticks) * tick_);
    out.set(seen.resident, static_cast<double>(seen.usage.resident_pages) * page_size_);
    out.set(seen.threads, static_cast<double>(seen.usage.threads));
    if (seen.io.read_bytes) out.set(seen.read, static_cast<double>(*seen.io.read_bytes));
    if (seen.io.written_bytes) out.set(seen.written, static_cast<double>(*seen.io.written_bytes));
  }

  // False: it has ended meanwhile.
  bool open(Seen& seen, Samples& out) {
    const std::string pid = fmt::to_string(seen.pid);
    struct stat status{};
    if (::fstatat(processes_.descriptor(), pid.c_str(), &status, 0) != 0) return false;
    const std::string uid = fmt::to_string(status.st_uid);
    const std::string command(process_name(read(pid.c_str(), "/stat")));
    if (command.empty()) return false;
    seen.user = out.open(kCpuTime, {pid, command, uid, "user"});
    seen.system = out.open(kCpuTime, {pid, command, uid, "system"});
    seen.resident = out.open(kResident, {pid, command, uid});
    seen.threads = out.open(kThreads, {pid, command, uid});
    if (seen.io.read_bytes) seen.read = out.open(kDiskIo, {pid, command, uid, "read"});
    if (seen.io.written_bytes) seen.written = out.open(kDiskIo, {pid, command, uid, "write"});
    return true;
  }

  static void close(Seen& seen, Samples& out) {
    for (SeriesHandle* series :
         {&seen.user, &seen.system, &seen.resident, &seen.threads, &seen.read, &seen.written}) {
      out.close(*series);
    }
  }

  KeptDirectory processes_;
  std::size_t first_;
  std::function<bool()> somebody_looks_;
  double page_size_;
  double tick_;               // seconds of a clock tick
  std::vector<Seen> before_;  // by pid
  std::vector<Seen> now_;
  std::vector<Seen*> order_;
  std::string path_;
  std::array<char, 4096> buffer_{};
};

}  // namespace

std::unique_ptr<Collector> make_top_collector(const SystemRoot& root,
                                              const CollectorOptions::Top& options,
                                              std::function<bool()> somebody_looks, long page_size,
                                              long ticks_per_second) {
  return std::make_unique<TopCollector>(root, options, std::move(somebody_looks), page_size,
                                        ticks_per_second);
}

}  // namespace dynolog
