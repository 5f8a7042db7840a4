// Facts from a made-up /proc, and from the real one about this very process.
#include "workers/process_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/unique_fd.h"
#include "workers/proc_entry.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FakeProcTest : public ::testing::Test {
 protected:
  FakeProcTest() {
    std::string pattern = ::testing::TempDir() + "process_reader_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    root_.proc = path_;
    make(100);
    make(1);
  }
  ~FakeProcTest() override { fs::remove_all(path_); }

  void make(int pid) {
    const fs::path directory = path_ / std::to_string(pid);
    fs::create_directories(directory / "fd");
    fs::create_directories(directory / "ns");
    for (const char* name : {"user", "pid", "mnt"}) {
      fs::create_symlink(name + ":[4026531837]"s, directory / "ns" / name);
    }
    fs::create_symlink("/", directory / "root");
    fs::create_symlink("/work", directory / "cwd");
    write_stat(pid, 1, kStart);
    write(pid, "status",
          "Name:\tpython\nState:\tS (sleeping)\nPid:\t" + std::to_string(pid) +
              "\nPPid:\t1\nUid:\t1000\t1001\t1000\t1000\nGid:\t1\t1\t1\t1\nGroups:\t1 2\n"
              "NSpid:\t" +
              std::to_string(pid) + "\t7\n");
    write(pid, "cgroup", "0::/user.slice/session-1.scope\n");
    write(pid, "cmdline", "python\0train.py\0"s);
    write(pid, "environ",
          "A=1\0KINETO_USE_DAEMON=\0KINETO_CONFIG=/etc/k.conf\0RANK=3\0"
          "KINETO_ONDEMAND_TRACE_DIR=/traces\0KINETO_IPC_SOCKET_DIR=/run/d\0"
          "WORLD_SIZE=8\0KINETO_DAEMON_INIT_DELAY_S=5\0CUDA_VISIBLE_DEVICES=2,3\0"s);
    write(pid, "maps",
          "7f00-7f01 r-xp 00000000 08:01 1   /usr/lib/libc.so.6\n"
          "7f02-7f03 r-xp 00000000 08:01 2   /v/torch/lib/libtorch_cpu.so\n");
  }
  void write_stat(int pid, int parent, std::uint64_t start) {
    write(pid, "stat",
          std::to_string(pid) + " (py (x)) S " + std::to_string(parent) +
              " 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " + std::to_string(start) + " 0 0\n");
  }
  void write(int pid, const std::string& name, const std::string& text) {
    std::ofstream(path_ / std::to_string(pid) / name, std::ios::binary) << text;
  }
  void link(const std::string& name, const std::string& target) {
    fs::remove(path_ / "100" / name);
    fs::create_symlink(target, path_ / "100" / name);
  }
  ProcessFacts facts() {
    const auto read = read_process_facts(root_, {Pid{100}, kStart},
                                         [this](const ProcessFacts& early) { early_ = early; });
    EXPECT_TRUE(read.has_value()) << read.error().message;
    return read.value_or(ProcessFacts{});
  }

  static constexpr std::uint64_t kStart = 5555;
  fs::path path_;
  SystemRoot root_;
  ProcessFacts early_;
};

TEST_F(FakeProcTest, ReadsEverything) {
  const ProcessFacts read = facts();
  EXPECT_EQ(read.uid, Uid{1001});  // the effective one
  EXPECT_EQ(read.namespace_pid, 7);
  EXPECT_EQ(read.container, "");
  EXPECT_EQ(read.command, "python train.py");
  EXPECT_EQ(read.working_directory, "/work");
  EXPECT_EQ(read.job.rank, 3);
  EXPECT_EQ(read.job.world_size, 8);
  EXPECT_FALSE(read.holds_gpu);
  EXPECT_EQ(read.torch_library, "/v/torch/lib/libtorch_cpu.so");
  EXPECT_TRUE(read.uses_daemon);
  EXPECT_EQ(read.kineto_config, "/etc/k.conf");
  EXPECT_EQ(read.ondemand_trace_dir, "/traces");
  EXPECT_EQ(read.ipc_socket_dir, "/run/d");
  EXPECT_EQ(read.kineto_init_delay, "5");
  EXPECT_EQ(read.cuda_visible_devices, "2,3");
  EXPECT_EQ(read.thread_name, "python");
  EXPECT_EQ(read.parent, Pid{1});
  EXPECT_TRUE(read.missing.empty());
  EXPECT_TRUE(read.descriptors_read && read.environment_read && read.mapped_files_read);
  EXPECT_TRUE(read.complete);
  EXPECT_EQ(early_.uid, Uid{1001});
  EXPECT_EQ(early_.namespace_pid, 7);
  EXPECT_EQ(early_.thread_name, "python");
  EXPECT_EQ(early_.parent, Pid{1});
  EXPECT_FALSE(early_.descriptors_read || early_.environment_read || early_.mapped_files_read);
  EXPECT_FALSE(early_.complete);
}

TEST_F(FakeProcTest, ReusedPidIsNotFound) {
  const auto read =
      read_process_facts(root_, {Pid{100}, kStart + 1}, [](const ProcessFacts&) { FAIL(); });
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().kind, ErrorKind::not_found);
  EXPECT_EQ(read_process_facts(root_, {Pid{77}, 1}, [](const ProcessFacts&) {}).error().kind,
            ErrorKind::not_found);
}

TEST_F(FakeProcTest, WhatIsMissingIsSaidAndTheRestGoesOn) {
  fs::remove(path_ / "100/environ");
  fs::remove(path_ / "100/maps");
  fs::remove_all(path_ / "100/fd");
  const ProcessFacts read = facts();
  EXPECT_EQ(read.command, "python train.py");
  EXPECT_FALSE(read.descriptors_read || read.environment_read || read.mapped_files_read);
  EXPECT_FALSE(read.complete);
  EXPECT_EQ(read.missing.size(), 3U);
  EXPECT_THAT(read.missing, Contains(HasSubstr("environment: ")));
  EXPECT_THAT(read.missing, Contains(HasSubstr("mapped files: ")));
}

TEST_F(FakeProcTest, AProcessOfNoKnownContainerIsNotTheHosts) {
  const auto refuses = [&] {
    const auto read = read_process_facts(root_, {Pid{100}, kStart},
                                         [](const ProcessFacts&) { FAIL() << "told early"; });
    const auto holder = read_holder_facts(root_, Pid{100});
    ASSERT_FALSE(read.has_value());
    EXPECT_THAT(read.error().message, HasSubstr("which container it is in"));
    ASSERT_FALSE(holder.has_value());
    EXPECT_THAT(holder.error().message, HasSubstr("which container it is in"));
  };
  write(100, "cgroup", std::string(300'000, 'c'));
  refuses();
  write(100, "cgroup", "");
  refuses();
  fs::remove(path_ / "100/cgroup");
  refuses();
}

TEST_F(FakeProcTest, AncestorsUpToInit) {
  make(90);
  make(80);
  write_stat(100, 90, kStart);
  write_stat(90, 80, kStart - 1);
  write_stat(80, 1, kStart - 1);
  EXPECT_EQ(facts().parent, Pid{90});
  EXPECT_THAT(facts().ancestors, ElementsAre(Pid{80}));
  write_stat(90, 80, kStart + 1);  // its pid was used again
  EXPECT_THAT(facts().ancestors, IsEmpty());
  write_stat(90, 77, kStart - 1);  // 77 has ended
  EXPECT_THAT(facts().ancestors, ElementsAre(Pid{77}));
  write_stat(90, 80, kStart - 1);
  write_stat(80, 90, kStart - 1);  // a ring, as no kernel has it
  EXPECT_EQ(facts().ancestors.size(), kMaxAncestors);
}

TEST_F(FakeProcTest, ThreadNamesAreCleaned) {
  write(100, "status",
        "Name:\tpt\x1b[2J\xff\nState:\tS (sleeping)\nPid:\t100\nPPid:\t1\n"
        "Uid:\t1\t1\t1\t1\nGid:\t1\t1\t1\t1\n");
  EXPECT_EQ(facts().thread_name, "pt\uFFFD[2J\uFFFD");
}

TEST_F(FakeProcTest, GpuDevices) {
  link("fd/3", "/dev/nvidiactl");
  link("fd/4", "/dev/nvidia-uvm");
  link("fd/6", "/dev/nvidia-caps/nvidia-cap1");
  EXPECT_FALSE(facts().holds_gpu);
  for (const char* device : {"/dev/nvidia0", "/dev/nvidia12", "/dev/kfd", "/dev/dri/renderD128"}) {
    link("fd/5", device);
    EXPECT_TRUE(facts().holds_gpu) << device;
  }
  EXPECT_THAT(facts().gpus, IsEmpty()) << "a render node does not tell the device";
  int fd = 7;
  for (const char* device : {"/dev/nvidia12", "/dev/nvidia3", "/dev/nvidia3", "/dev/nvidia0",
                             "/dev/nvidia-1", "/dev/nvidia99999999999"}) {
    link("fd/" + std::to_string(fd++), device);
  }
  EXPECT_THAT(facts().gpus, ElementsAre(0, 3, 12));
}

TEST_F(FakeProcTest, HeldDevicesAreBounded) {
  for (int n = 0; n < 100; ++n) {
    link("fd/" + std::to_string(n), "/dev/nvidia" + std::to_string(n));
  }
  EXPECT_EQ(facts().gpus.size(), kMaxHeldGpus);
  EXPECT_TRUE(facts().holds_gpu);
}

TEST_F(FakeProcTest, PathsAreAsInTheProcessesRoot) {
  link("root", "/srv/jail");
  link("cwd", "/srv/jail/home");
  write(100, "maps",
        "7f02-7f03 r-xp 00000000 08:01 2   /srv/jail/v/torch/lib/libtorch_cpu.so (deleted)\n");
  EXPECT_EQ(facts().working_directory, "/home");
  EXPECT_EQ(facts().torch_library, "/v/torch/lib/libtorch_cpu.so");
}

TEST_F(FakeProcTest, HostileSizesAreBounded) {
  write(100, "cmdline", std::string(1'000'000, 'a'));
  write(100, "environ", std::string(3'000'000, 'b'));
  write(100, "maps", std::string(500'000, 'd') + "\n" + "7f-7f r 0 0 1  /x/libtorch_cpu.so\n");
  const ProcessFacts read = facts();
  EXPECT_LE(read.command.size(), 1024U);
  EXPECT_EQ(read.torch_library, "/x/libtorch_cpu.so");
}

TEST_F(FakeProcTest, NamespacesThatCannotBeReadAreNotTheHosts) {
  fs::remove(path_ / "1/ns/user");
  EXPECT_FALSE(read_holder_facts(root_, Pid{100})->host_namespaces);
}

TEST(RealProc, ThisProcess) {
  const SystemRoot root;
  const Pid self{::getpid()};
  const auto entry = ProcEntry::open(root, self);
  ASSERT_TRUE(entry.has_value());
  const ProcessKey key{self, entry->stat().value().start_ticks};
  const auto facts = read_process_facts(root, key, [](const ProcessFacts&) {});
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->uid, Uid{::geteuid()});
  EXPECT_THAT(facts->command, HasSubstr("workers_test"));
  EXPECT_EQ(facts->working_directory, fs::current_path().string());
  EXPECT_EQ(facts->parent, Pid{::getppid()});
  EXPECT_TRUE(facts->missing.empty());
}

class ChildTest : public ::testing::Test {
 protected:
  // The child names itself, says so and waits for the end of `stay_`.
  void start(const std::string& name) {
    int told[2];
    int stay[2];
    ASSERT_EQ(::pipe2(told, O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(stay, O_CLOEXEC), 0);
    child_ = ::fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      ::prctl(PR_SET_NAME, name.c_str());
      ::close(stay[1]);
      char byte = 'r';
      const bool is_told = ::write(told[1], &byte, 1) == 1;
      const bool waited = ::read(stay[0], &byte, 1) == 0;
      ::_exit(is_told && waited ? 0 : 1);
    }
    ::close(told[1]);
    ::close(stay[0]);
    stay_ = UniqueFd(stay[1]);
    char byte = 0;
    ASSERT_EQ(::read(told[0], &byte, 1), 1);
    ::close(told[0]);
  }
  ~ChildTest() override {
    stay_ = UniqueFd();
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
  }

  pid_t child_ = -1;
  UniqueFd stay_;
};

TEST_F(ChildTest, ThreadNameAndAncestors) {
  start("pt_data_worker");
  const SystemRoot root;
  const auto entry = ProcEntry::open(root, Pid{child_});
  ASSERT_TRUE(entry.has_value());
  const auto facts = read_process_facts(root, {Pid{child_}, entry->stat().value().start_ticks},
                                        [](const ProcessFacts&) {});
  ASSERT_TRUE(facts.has_value()) << facts.error().message;
  EXPECT_EQ(facts->thread_name, "pt_data_worker");
  EXPECT_EQ(facts->parent, Pid{::getpid()});
  if (::getppid() > 1) {
    ASSERT_FALSE(facts->ancestors.empty());
    EXPECT_EQ(facts->ancestors.front(), Pid{::getppid()});
  }
}

}  // namespace
}  // namespace dynolog
