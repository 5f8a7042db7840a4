// Collectors `nfs` and `nfsd`: one reader of both files, and what their columns mean.
#include "collectors/nfs.h"

#include <span>
#include <vector>

#include "base/file.h"
#include "kernel/nfs_stats.h"

namespace dynolog {
namespace {

// One number of a line, and the series it is.
struct RpcValue {
  std::string_view line;
  std::size_t column;
  const MetricDescriptor& metric;
  std::string_view label;  // the metric's only one; "": it has none
};

constexpr std::array kClientValues = {
    RpcValue{"net", 1, kNfsMetrics[0], "udp"}, RpcValue{"net", 2, kNfsMetrics[0], "tcp"},
    RpcValue{"net", 3, kNfsMetrics[1], ""},    RpcValue{"rpc", 0, kNfsMetrics[2], ""},
    RpcValue{"rpc", 1, kNfsMetrics[3], ""},    RpcValue{"rpc", 2, kNfsMetrics[4], ""},
};
constexpr std::array kServerValues = {
    RpcValue{"rc", 0, kNfsdMetrics[0], ""},       RpcValue{"rc", 1, kNfsdMetrics[1], ""},
    RpcValue{"rc", 2, kNfsdMetrics[2], ""},       RpcValue{"fh", 0, kNfsdMetrics[3], ""},
    RpcValue{"io", 0, kNfsdMetrics[4], ""},       RpcValue{"io", 1, kNfsdMetrics[5], ""},
    RpcValue{"th", 0, kNfsdMetrics[6], ""},       RpcValue{"ra", 0, kNfsdMetrics[7], ""},
    RpcValue{"ra", 11, kNfsdMetrics[8], ""},      RpcValue{"net", 1, kNfsdMetrics[9], "udp"},
    RpcValue{"net", 2, kNfsdMetrics[9], "tcp"},   RpcValue{"net", 3, kNfsdMetrics[10], ""},
    RpcValue{"rpc", 0, kNfsdMetrics[11], ""},     RpcValue{"rpc", 2, kNfsdMetrics[12], "fmt"},
    RpcValue{"rpc", 3, kNfsdMetrics[12], "auth"}, RpcValue{"rpc", 4, kNfsdMetrics[12], "cInt"},
};
constexpr const MetricDescriptor& kClientRequests = kNfsMetrics[5];
constexpr const MetricDescriptor& kServerRequests = kNfsdMetrics[13];

// The procedures of a line in the kernel's order, named as node_exporter names them; "": it has no
// series of it. What a newer kernel adds behind them has none either.
constexpr std::array<std::string_view, 18> kVersion2 = {
    "Null",   "GetAttr", "SetAttr", "Root", "Lookup",  "ReadLink", "Read",  "WrCache", "Write",
    "Create", "Remove",  "Rename",  "Link", "SymLink", "MkDir",    "RmDir", "ReadDir", "FsStat"};
constexpr std::array<std::string_view, 22> kVersion3 = {
    "Null",    "GetAttr",     "SetAttr", "Lookup", "Access",   "ReadLink", "Read",   "Write",
    "Create",  "MkDir",       "SymLink", "MkNod",  "Remove",   "RmDir",    "Rename", "Link",
    "ReadDir", "ReadDirPlus", "FsStat",  "FsInfo", "PathConf", "Commit"};
constexpr std::array<std::string_view, 59> kClient4 = {"Null",
                                                       "Read",
                                                       "Write",
                                                       "Commit",
                                                       "Open",
                                                       "OpenConfirm",
                                                       "OpenNoattr",
                                                       "OpenDowngrade",
                                                       "Close",
                                                       "Setattr",
                                                       "FsInfo",
                                                       "Renew",
                                                       "SetClientID",
                                                       "SetClientIDConfirm",
                                                       "Lock",
                                                       "Lockt",
                                                       "Locku",
                                                       "Access",
                                                       "Getattr",
                                                       "Lookup",
                                                       "LookupRoot",
                                                       "Remove",
                                                       "Rename",
                                                       "Link",
                                                       "Symlink",
                                                       "Create",
                                                       "Pathconf",
                                                       "StatFs",
                                                       "ReadLink",
                                                       "ReadDir",
                                                       "ServerCaps",
                                                       "DelegReturn",
                                                       "GetACL",
                                                       "SetACL",
                                                       "FsLocations",
                                                       "ReleaseLockowner",
                                                       "Secinfo",
                                                       "FsidPresent",
                                                       "ExchangeID",
                                                       "CreateSession",
                                                       "DestroySession",
                                                       "Sequence",
                                                       "GetLeaseTime",
                                                       "ReclaimComplete",
                                                       "LayoutGet",
                                                       "GetDeviceInfo",
                                                       "LayoutCommit",
                                                       "LayoutReturn",
                                                       "SecinfoNoName",
                                                       "TestStateID",
                                                       "FreeStateID",
                                                       "GetDeviceList",
                                                       "BindConnToSession",
                                                       "DestroyClientID",
                                                       "Seek",
                                                       "Allocate",
                                                       "DeAllocate",
                                                       "LayoutStats",
                                                       "Clone"};
constexpr std::array<std::string_view, 40> kServer4 = {"",
                                                       "",
                                                       "",
                                                       "Access",
                                                       "Close",
                                                       "Commit",
                                                       "Create",
                                                       "DelegPurge",
                                                       "DelegReturn",
                                                       "GetAttr",
                                                       "GetFH",
                                                       "Link",
                                                       "Lock",
                                                       "Lockt",
                                                       "Locku",
                                                       "Lookup",
                                                       "LookupRoot",
                                                       "Nverify",
                                                       "Open",
                                                       "OpenAttr",
                                                       "OpenConfirm",
                                                       "OpenDgrd",
                                                       "PutFH",
                                                       "",
                                                       "",
                                                       "Read",
                                                       "ReadDir",
                                                       "ReadLink",
                                                       "Remove",
                                                       "Rename",
                                                       "Renew",
                                                       "RestoreFH",
                                                       "SaveFH",
                                                       "SecInfo",
                                                       "SetAttr",
                                                       "",
                                                       "",
                                                       "Verify",
                                                       "Write",
                                                       "RelLockOwner"};

struct Procedures {
  std::string_view line;
  std::string_view version;
  std::span<const std::string_view> names;
};
constexpr std::array kClientProcedures = {Procedures{"proc2", "2", kVersion2},
                                          Procedures{"proc3", "3", kVersion3},
                                          Procedures{"proc4", "4", kClient4}};
constexpr std::array kServerProcedures = {Procedures{"proc2", "2", kVersion2},
                                          Procedures{"proc3", "3", kVersion3},
                                          Procedures{"proc4ops", "4", kServer4}};

struct RpcTables {
  std::span<const RpcValue> values;
  std::span<const Procedures> procedures;
  const MetricDescriptor& requests;
  bool null_too;  // the procedure that does nothing
};
constexpr RpcTables kClient{kClientValues, kClientProcedures, kClientRequests, true};
constexpr RpcTables kServer{kServerValues, kServerProcedures, kServerRequests, false};

class RpcStatsCollector final : public Collector {
 public:
  RpcStatsCollector(std::string_view name, Tier tier, std::string path, const RpcTables& tables)
      : name_(name),
        tier_(tier),
        file_(std::move(path)),
        tables_(tables),
        values_(tables.values.size()),
        requests_(tables.procedures.size()) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] Tier tier() const override { return tier_; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto text = file_.read();
    if (!text) return std::unexpected(text.error());
    for_each_rpc_line(*text, [&](std::string_view line, const Numbers<kMaxRpcNumbers>& numbers) {
      emit_values(line, numbers, out);
      emit_requests(line, numbers, out);
    });
    return {};
  }

 private:
  void emit_values(std::string_view line, const Numbers<kMaxRpcNumbers>& numbers, Samples& out) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const RpcValue& value = tables_.values[i];
      const auto number = value.line == line ? numbers.at(value.column) : std::nullopt;
      if (!number) continue;
      if (!values_[i].valid()) {
        values_[i] = value.label.empty() ? out.open(value.metric, {})
                                         : out.open(value.metric, {value.label});
      }
      out.set(values_[i], static_cast<double>(*number));
    }
  }

  // The first number says how many follow.
  void emit_requests(std::string_view line, const Numbers<kMaxRpcNumbers>& numbers, Samples& out) {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const Procedures& procedures = tables_.procedures[i];
      if (procedures.line != line) continue;
      requests_[i].resize(procedures.names.size());
      for (std::size_t j = 0; j < procedures.names.size() && j + 1 < numbers.count; ++j) {
        const std::string_view method = procedures.names[j];
        if (method.empty() || (method == "Null" && !tables_.null_too)) continue;
        SeriesHandle& series = requests_[i][j];
        if (!series.valid()) series = out.open(tables_.requests, {procedures.version, method});
        out.set(series, static_cast<double>(numbers.values[j + 1]));
      }
    }
  }

  std::string_view name_;
  Tier tier_;
  KeptFile file_;
  const RpcTables& tables_;
  std::vector<SeriesHandle> values_;
  std::vector<std::vector<SeriesHandle>> requests_;  // by line and procedure
};

}  // namespace

std::unique_ptr<Collector> make_nfs_collector(const SystemRoot& root) {
  return std::make_unique<RpcStatsCollector>("nfs", Tier::fast, root.proc + "/net/rpc/nfs",
                                             kClient);
}

std::unique_ptr<Collector> make_nfsd_collector(const SystemRoot& root) {
  return std::make_unique<RpcStatsCollector>("nfsd", Tier::medium, root.proc + "/net/rpc/nfsd",
                                             kServer);
}

}  // namespace dynolog
