// The search through a made-up /proc, and what it tells of this very process.
#include "workers/process_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "testing/fake_clock.h"
#include "testing/without_capabilities.h"
#include "workers/proc_entry.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kTorchMaps =
    "5500-5501 r--p 00000000 08:01 9   /usr/bin/python3\n"
    "7f02-7f03 r--p 00000000 08:01 2   /v/torch/lib/libtorch_cpu.so\n"
    "7f03-7f04 r-xp 00000000 08:01 2   /v/torch/lib/libtorch_cpu.so\n";

class ProcessScanTest : public ::testing::Test {
 protected:
  ProcessScanTest() {
    std::string pattern = ::testing::TempDir() + "process_scan_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    root_.proc = path_ / "proc";
    root_.sys = path_ / "sys";
    root_.dev = path_ / "dev";
    fs::create_directories(root_.dev);
  }
  ~ProcessScanTest() override { fs::remove_all(path_); }

  void make(int pid, const std::string& maps = "", unsigned uid = 1000) {
    const fs::path directory = fs::path(root_.proc) / std::to_string(pid);
    fs::create_directories(directory / "fd");
    fs::create_directories(directory / "ns");
    fs::create_symlink("net:[40]", directory / "ns/net");
    fs::create_symlink("/", directory / "root");
    fs::create_symlink("/work", directory / "cwd");
    fs::create_symlink("/usr/bin/python3", directory / "exe");
    write(pid, "stat",
          std::to_string(pid) + " (python) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5555 0 0\n");
    set_name(pid, "python", uid);
    write(pid, "cgroup", "0::/job\n");
    write(pid, "cmdline", "python\0train.py\0"s);
    write(pid, "environ", "A=1\0KINETO_USE_DAEMON=\0KINETO_LOG_LEVEL=0\0TEARDOWN_CUPTI=1\0"s);
    write(pid, "maps", maps);
  }
  void set_name(int pid, const std::string& name, unsigned uid) {
    const std::string ids = std::to_string(uid);
    write(pid, "status",
          "Name:\t" + name + "\nState:\tS (sleeping)\nPid:\t" + std::to_string(pid) +
              "\nPPid:\t1\nUid:\t" + ids + "\t" + ids + "\t" + ids + "\t" + ids +
              "\nGid:\t1\t1\t1\t1\n");
  }
  void write(int pid, const std::string& name, const std::string& text) {
    std::ofstream(fs::path(root_.proc) / std::to_string(pid) / name, std::ios::binary) << text;
  }
  void hold(int pid, const std::string& target) {
    fs::create_symlink(target, fs::path(root_.proc) / std::to_string(pid) / "fd/5");
  }
  ScanReply scan(ScanBudget budget = {}) {
    const auto reply = scan_processes(root_, clock_, request_, budget,
                                      [this](Pid pid) { looked_at_.push_back(pid.value); });
    EXPECT_TRUE(reply.has_value());
    return reply.value_or(ScanReply{});
  }
  static std::vector<int> pids(const ScanReply& reply) {
    std::vector<int> found;
    for (const auto& process : reply.processes) found.push_back(process.facts.key.pid.value);
    return found;
  }

  fs::path path_;
  SystemRoot root_;
  FakeClock clock_;
  ProcsRequest request_{.verb = ProcsRequest::Verb::scan, .key = {}, .inode = 0, .uid = Uid{1000}};
  std::vector<int> looked_at_;
};

TEST_F(ProcessScanTest, FindsWhatMapsTorchOrHoldsAGpu) {
  make(10, kTorchMaps);
  make(11);
  for (const auto& [pid, device] : {std::pair{12, "/dev/nvidia3"},
                                    {13, "/dev/kfd"},
                                    {14, "/dev/dri/renderD128"},
                                    {15, "/dev/nvidiactl"}}) {
    make(pid);
    hold(pid, device);
  }
  make(16, "7f00-7f01 r-xp 0 08:01 3 /v/torch/lib/libtorch_python.so\n");
  const ScanReply reply = scan();
  EXPECT_THAT(pids(reply), ElementsAre(16, 14, 13, 12, 10));
  EXPECT_EQ(reply.next, Pid{0});
  EXPECT_EQ(reply.looked_at, 7U);
  EXPECT_THAT(looked_at_, ElementsAre(16, 15, 14, 13, 12, 11, 10));
}

TEST_F(ProcessScanTest, ReadsTheSigns) {
  make(10, kTorchMaps +
               "7f06-7f07 r-xp 00000000 08:01 5   /v/torch/lib/libtorch_cuda.so\n"
               "7f08-7f09 r-xp 00000000 08:01 6   /opt/nsys/libToolsInjection64.so (deleted)\n"s);
  fs::create_directories(root_.sys + "/fs/cgroup/job");
  std::ofstream(root_.sys + "/fs/cgroup/job/cgroup.events") << "populated 1\nfrozen 1\n";
  const ScanReply reply = scan();
  ASSERT_THAT(reply.processes, SizeIs(1));
  const ProcessSigns& signs = reply.processes.front().signs;
  EXPECT_EQ(signs.state, 'S');
  EXPECT_TRUE(signs.frozen);
  EXPECT_EQ(signs.network_namespace, "net:[40]");
  EXPECT_EQ(signs.executable, "/usr/bin/python3");
  EXPECT_EQ(signs.torch_address, "7f02");
  EXPECT_TRUE(signs.maps_gpu_torch);
  EXPECT_EQ(signs.profiler_library, "libToolsInjection64.so");
  EXPECT_EQ(signs.profiler_variable, "");
  EXPECT_EQ(signs.environment_variables, 4U);
  EXPECT_EQ(signs.use_daemon, "");
  EXPECT_EQ(signs.log_level, "0");
  EXPECT_EQ(signs.teardown_cupti, "1");
  EXPECT_EQ(reply.processes.front().facts.command, "python train.py");
}

TEST_F(ProcessScanTest, WithoutSignsThereAreNone) {
  make(10, kTorchMaps);
  write(10, "environ", "python train: step 7\0\0\0"s);
  const ScanReply reply = scan();
  ASSERT_THAT(reply.processes, SizeIs(1));
  const ProcessSigns& signs = reply.processes.front().signs;
  EXPECT_FALSE(signs.frozen);
  EXPECT_FALSE(signs.maps_gpu_torch);
  EXPECT_EQ(signs.profiler_library, "");
  EXPECT_EQ(signs.environment_variables, 0U);
  EXPECT_EQ(signs.use_daemon, std::nullopt);
}

TEST_F(ProcessScanTest, AVariableThatLoadsAProfilerIsNamed) {
  make(10, kTorchMaps);
  write(10, "environ", "NVTX_INJECTION64_PATH=\0ROCP_TOOL_LIBRARIES=/opt/t.so\0"s);
  const ScanReply reply = scan();
  ASSERT_THAT(reply.processes, SizeIs(1));
  EXPECT_EQ(reply.processes.front().signs.profiler_variable, "ROCP_TOOL_LIBRARIES");
}

TEST_F(ProcessScanTest, AFrozenGroupOfTheFirstVersionIsSeen) {
  make(10, kTorchMaps);
  write(10, "cgroup", "3:freezer:/a\n0::/b\n");
  fs::create_directories(root_.sys + "/fs/cgroup/freezer/a");
  std::ofstream(root_.sys + "/fs/cgroup/freezer/a/freezer.state") << "FROZEN\n";
  const ScanReply reply = scan();
  ASSERT_THAT(reply.processes, SizeIs(1));
  EXPECT_TRUE(reply.processes.front().signs.frozen);
}

TEST_F(ProcessScanTest, OnlyTheUsersOwnUnlessEverybodysAreWanted) {
  make(10, kTorchMaps);
  make(11, kTorchMaps, 1001);
  EXPECT_THAT(pids(scan()), ElementsAre(10));
  EXPECT_THAT(looked_at_, ElementsAre(10));
  request_.of_everybody = true;
  EXPECT_THAT(pids(scan()), ElementsAre(11, 10));
}

TEST_F(ProcessScanTest, TheKernelsThreadsAreNotLookedAt) {
  make(10, kTorchMaps);
  fs::remove(fs::path(root_.proc) / "10/exe");
  EXPECT_THAT(pids(scan()), IsEmpty());
  EXPECT_THAT(looked_at_, IsEmpty());
}

TEST_F(ProcessScanTest, WhatMayNotBeReadIsCounted) {
  for (int pid = 10; pid < 14; ++pid) make(pid);
  write(12, "cmdline", "");  // as a thread of the kernel's
  for (const int pid : {11, 12, 13}) {
    fs::permissions(fs::path(root_.proc) / std::to_string(pid) / "maps", fs::perms::none);
  }
  request_.of_everybody = true;
  const WithoutCapabilities as_anybody;
  EXPECT_EQ(scan().refused, 2U);
  request_.pids = {Pid{11}};
  const ScanReply named = scan();
  EXPECT_EQ(named.refused, 0U) << "it is told of by itself";
  ASSERT_THAT(named.processes, SizeIs(1));
  EXPECT_FALSE(named.processes.front().facts.mapped_files_read);
}

TEST_F(ProcessScanTest, WhoIsNamedIsReportedWhateverItIs) {
  make(10);
  make(11, kTorchMaps);
  make(12, "", 1001);
  request_.pids = {Pid{10}, Pid{12}, Pid{10}, Pid{99}};
  EXPECT_THAT(pids(scan()), ElementsAre(10));
}

TEST_F(ProcessScanTest, GoesOnWhereItLeftOff) {
  for (int pid = 10; pid < 14; ++pid) make(pid, kTorchMaps);
  const ScanReply first = scan({.bytes = 1});
  EXPECT_THAT(pids(first), ElementsAre(13));
  EXPECT_EQ(first.next, Pid{13});
  request_.key.pid = Pid{12};
  const ScanReply second = scan({.time = Nanoseconds(0)});
  EXPECT_THAT(pids(second), ElementsAre(11));
  EXPECT_EQ(second.next, Pid{11});
  request_.key.pid = Pid{11};
  const ScanReply last = scan({.bytes = 1});
  EXPECT_THAT(pids(last), ElementsAre(10));
  EXPECT_EQ(last.next, Pid{0}) << "nothing is below the last";
}

TEST_F(ProcessScanTest, NamesProfilingToolsWhoeversTheyAre) {
  make(10, "", 0);
  set_name(10, "nv-hostengine", 0);
  make(11);
  set_name(11, "rocprofv3", 1000);
  make(12);
  set_name(12, "nsyslog", 1000);
  const ScanReply reply = scan();
  ASSERT_THAT(reply.tools, SizeIs(2));
  EXPECT_EQ(reply.tools[0].name, "rocprofv3");
  EXPECT_EQ(reply.tools[1].name, "nv-hostengine");
  EXPECT_EQ(reply.tools[1].uid, kRootUid);
  EXPECT_EQ(reply.tools[1].pid, Pid{10});
}

TEST_F(ProcessScanTest, TheHostsLookMeasuresPathsAndTriesTheDriversDevice) {
  fs::create_directories(root_.proc);
  request_.paths = {path_, path_ / "none"};
  HostLook look = look_at_host(root_, request_);
  ASSERT_THAT(look.spaces, SizeIs(2));
  EXPECT_EQ(look.spaces[0].problem, "");
  EXPECT_THAT(look.spaces[0].id, ::testing::MatchesRegex("[0-9]+:[0-9]+"));
  EXPECT_NE(look.spaces[1].problem, "");
  EXPECT_FALSE(look.nvidia_driver);
  fs::create_directories(root_.proc + "/driver/nvidia");
  std::ofstream(root_.proc + "/driver/nvidia/version") << "550\n";
  look = look_at_host(root_, request_);
  EXPECT_TRUE(look.nvidia_driver);
  EXPECT_NE(look.nvidia_problem, "");
  std::ofstream(root_.dev + "/nvidiactl") << "";
  EXPECT_EQ(look_at_host(root_, request_).nvidia_problem, "");
}

TEST(ProcessScan, TellsOfARealProcess) {
  const SystemRoot root;
  ProcsRequest request;
  request.verb = ProcsRequest::Verb::scan;
  request.of_everybody = true;
  request.pids = {Pid{::getpid()}};
  const auto reply = scan_processes(root, SystemClock(), request, {}, [](Pid) {});
  ASSERT_TRUE(reply.has_value());
  ASSERT_THAT(reply->processes, SizeIs(1));
  const ScannedProcess& self = reply->processes.front();
  EXPECT_EQ(self.facts.torch_library, "");
  EXPECT_EQ(self.signs.state, 'R');
  EXPECT_EQ(self.signs.network_namespace,
            ProcEntry::open(root, Pid{::getpid()})->read_link("ns/net").value_or("?"));
  EXPECT_GT(self.signs.environment_variables, 0U);
}

}  // namespace
}  // namespace dynolog
