// Collectors `uname`, `os` and `dmi`.
#include "collectors/host_info.h"

#include <sys/utsname.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/file.h"
#include "kernel/os_release.h"
#include "kernel/sysfs.h"

namespace dynolog {
namespace {

// A constant 1 whose labels may change: then it is another series.
class InfoSeries {
 public:
  explicit InfoSeries(const MetricDescriptor& metric)
      : metric_(metric), labels_(label_count(metric)), views_(labels_.size()) {}

  void set_label(std::size_t index, std::string_view value) {
    if (labels_[index] == value) return;
    labels_[index] = value;
    changed_ = true;
  }
  void emit(Samples& out, double value = 1) {
    if (changed_ || !series_.valid()) {
      out.close(series_);
      std::ranges::copy(labels_, views_.begin());
      series_ = out.open(metric_, views_);
      changed_ = false;
    }
    out.set(series_, value);
  }
  void close(Samples& out) { out.close(series_); }

 private:
  const MetricDescriptor& metric_;
  std::vector<std::string> labels_;
  std::vector<std::string_view> views_;
  SeriesHandle series_;
  bool changed_ = false;
};

// In the labels' order.
constexpr std::array<std::string_view, 6> kUnameFiles = {"domainname", "arch",   "hostname",
                                                         "osrelease",  "ostype", "version"};
constexpr std::size_t kMachine = 1;

class UnameCollector final : public Collector {
 public:
  explicit UnameCollector(const SystemRoot& root) : files_(root.proc + "/sys/kernel") {}

  [[nodiscard]] std::string_view name() const override { return "uname"; }
  [[nodiscard]] Tier tier() const override { return Tier::medium; }

  [[nodiscard]] Status collect(Samples& out) override {
    if (!files_.exists({"osrelease"})) {
      return fail(ErrorKind::unavailable, "/proc/sys/kernel/osrelease is not there: mount /proc");
    }
    for (std::size_t i = 0; i < kUnameFiles.size(); ++i) {
      const auto text = files_.read({kUnameFiles[i]});
      info_.set_label(i, text ? *text : i == kMachine ? machine() : "");
    }
    info_.emit(out);
    return {};
  }

 private:
  // Kernels before 6.1 have no file of it.
  std::string_view machine() {
    return ::uname(&name_) == 0 ? std::string_view(name_.machine) : std::string_view();
  }

  AttributeReader files_;
  utsname name_{};
  InfoSeries info_{kUnameMetrics[0]};
};

// In the labels' order.
constexpr std::array<std::string_view, 12> kOsKeys = {
    "BUILD_ID",    "ID",      "ID_LIKE",    "IMAGE_ID", "IMAGE_VERSION",    "NAME",
    "PRETTY_NAME", "VARIANT", "VARIANT_ID", "VERSION",  "VERSION_CODENAME", "VERSION_ID"};

class OsCollector final : public Collector {
 public:
  explicit OsCollector(const SystemRoot& root) : files_(root.etc) {}

  [[nodiscard]] std::string_view name() const override { return "os"; }
  [[nodiscard]] Tier tier() const override { return Tier::slow; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto text = files_.read({"os-release"});
    if (!text) return fail(ErrorKind::unavailable, "/etc/os-release cannot be read");
    if (text_ != *text) {
      text_ = *text;
      for (std::size_t i = 0; i < kOsKeys.size(); ++i) {
        info_.set_label(i, os_release_value(text_, kOsKeys[i]));
      }
      version_.set_label(0, os_release_value(text_, "ID"));
      version_.set_label(1, os_release_value(text_, "ID_LIKE"));
      version_.set_label(2, os_release_value(text_, "NAME"));
      number_ = os_version_number(os_release_value(text_, "VERSION_ID"));
    }
    info_.emit(out);
    if (number_) {
      version_.emit(out, *number_);
    } else {
      version_.close(out);
    }
    return {};
  }

 private:
  AttributeReader files_;
  std::string text_;
  std::optional<double> number_;
  InfoSeries info_{kOsMetrics[0]};
  InfoSeries version_{kOsMetrics[1]};
};

class DmiCollector final : public Collector {
 public:
  explicit DmiCollector(const SystemRoot& root) : files_(root.sys + "/class/dmi/id") {}

  [[nodiscard]] std::string_view name() const override { return "dmi"; }
  [[nodiscard]] Tier tier() const override { return Tier::slow; }

  // Serial numbers are root's to read: their labels are empty for others.
  [[nodiscard]] Status collect(Samples& out) override {
    if (!files_.exists({"uevent"}) && !files_.exists({"sys_vendor"})) {
      return fail(ErrorKind::unavailable, "/sys/class/dmi/id is not there: no DMI on this machine");
    }
    for (std::size_t i = 0; i < host_info_metrics::kDmiLabels.size(); ++i) {
      const std::string_view label = host_info_metrics::kDmiLabels[i].key;
      info_.set_label(i,
                      files_.read({label == "system_vendor" ? "sys_vendor" : label}).value_or(""));
    }
    info_.emit(out);
    return {};
  }

 private:
  AttributeReader files_;
  InfoSeries info_{kDmiMetrics[0]};
};

}  // namespace

std::unique_ptr<Collector> make_uname_collector(const SystemRoot& root) {
  return std::make_unique<UnameCollector>(root);
}

std::unique_ptr<Collector> make_os_collector(const SystemRoot& root) {
  return std::make_unique<OsCollector>(root);
}

std::unique_ptr<Collector> make_dmi_collector(const SystemRoot& root) {
  return std::make_unique<DmiCollector>(root);
}

}  // namespace dynolog
