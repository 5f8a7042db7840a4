// Telling PyTorch's version and Kineto's abilities from files.
#include "workers/torch_probe.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/unique_fd.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

TEST(TorchVersion, OutOfText) {
  EXPECT_EQ(torch_version_in("from typing import Optional\n\n__all__ = ['__version__', 'debug']\n"
                             "__version__ = '2.13.0+cpu'\ndebug = False\n"),
            "2.13.0+cpu");
  EXPECT_EQ(torch_version_in("__version__=\"2.7.1\""), "2.7.1");
  EXPECT_EQ(torch_version_in("__version__ = 2"), "");
  EXPECT_EQ(torch_version_in("__version__ = 'cut"), "");
  EXPECT_EQ(torch_version_in(""), "");
  EXPECT_LE(torch_version_in("__version__ = '" + std::string(10'000, '9') + "'").size(), 64U);
}

TEST(PollInterval, OutOfConfiguration) {
  constexpr auto kKey = "ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS";
  EXPECT_EQ(poll_interval_in(kKey + "=1\n"s), 1);
  EXPECT_EQ(poll_interval_in("# x\n  "s + kKey + " = 3 # comment\n"), 3);
  EXPECT_EQ(poll_interval_in("#"s + kKey + "=1\n"), 0);
  EXPECT_EQ(poll_interval_in(kKey + "=-4\n"s), 0);
  EXPECT_EQ(poll_interval_in(kKey + "=99999999999\n"s), 0);
  EXPECT_EQ(poll_interval_in("ACTIVITIES_DURATION_MSECS=1\n"), 0);
}

class TorchProbeTest : public ::testing::Test {
 protected:
  TorchProbeTest() {
    std::string pattern = ::testing::TempDir() + "torch_probe_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    fs::create_directories(path_ / "p/torch/lib");
    fs::create_directories(path_ / "etc");
    root_.reset(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    write("p/torch/version.py", "__version__ = '2.14.1'\n");
  }
  ~TorchProbeTest() override { fs::remove_all(path_); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  TorchFacts probe(const std::string& library_bytes, const std::string& config = "") {
    write("p/torch/lib/libtorch_cpu.so", library_bytes);
    auto facts = probe_torch(root_.get(), "/p/torch/lib/libtorch_cpu.so", config);
    EXPECT_TRUE(facts.has_value());
    return facts.value_or(TorchFacts{});
  }

  fs::path path_;
  UniqueFd root_;
};

TEST_F(TorchProbeTest, NamesAreFoundWhole) {
  const TorchFacts facts = probe(
      "xKINETO_ONDEMAND_TRACE_DIR\0REQUEST_TRACE_ID\0PROFILE_MEMORY_DURATION_MSECS\0"
      "PROFILE_WITH_MODULES\0PROFILE_WITH_STACK\0"s);
  EXPECT_EQ(facts.version, "2.14.1");
  EXPECT_TRUE(facts.knows_ondemand_trace_dir);
  EXPECT_TRUE(facts.knows_trace_id);
  EXPECT_TRUE(facts.knows_memory_snapshot);
  EXPECT_TRUE(facts.knows_modules_and_stacks);
}

TEST_F(TorchProbeTest, LongerNamesAndCutOnesDoNotCount) {
  const TorchFacts facts = probe("REQUEST_TRACE_ID=\0PROFILE_PROFILE_MEMORY\0PROFILE_WITH_STACK"s);
  EXPECT_FALSE(facts.knows_trace_id);
  EXPECT_FALSE(facts.knows_memory_snapshot);
  EXPECT_FALSE(facts.knows_modules_and_stacks);
}

TEST_F(TorchProbeTest, NamesAcrossBlocksAreFound) {
  // Whatever block size is used: the name ends at each place around a mebibyte.
  const std::string name = "REQUEST_TRACE_ID\0"s;
  for (std::size_t before = (1U << 20U) - name.size() - 2; before <= (1U << 20U) + 2; ++before) {
    ASSERT_TRUE(probe(std::string(before, 'x') + name + "yy").knows_trace_id) << before;
  }
}

TEST_F(TorchProbeTest, BaseConfiguration) {
  EXPECT_FALSE(probe("").has_base_configuration);
  write("etc/libkineto.conf", "");
  EXPECT_FALSE(probe("").has_base_configuration);
  write("etc/libkineto.conf", "ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1\n");
  EXPECT_TRUE(probe("").has_base_configuration);
  EXPECT_EQ(probe("").poll_interval_s, 1);
  EXPECT_FALSE(probe("", "/etc/other.conf").has_base_configuration);  // KINETO_CONFIG names another
  write("etc/other.conf", "A=1\n");
  EXPECT_TRUE(probe("", "/etc/other.conf").has_base_configuration);
}

TEST_F(TorchProbeTest, LibraryIdFollowsTheFile) {
  write("p/torch/lib/libtorch_cpu.so", "a");
  const auto first = torch_library_id(root_.get(), "/p/torch/lib/libtorch_cpu.so");
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(torch_library_id(root_.get(), "/p/torch/lib/libtorch_cpu.so").value(), *first);
  write("p/torch/lib/libtorch_cpu.so", "ab");
  EXPECT_NE(torch_library_id(root_.get(), "/p/torch/lib/libtorch_cpu.so").value(), *first);
  EXPECT_FALSE(torch_library_id(root_.get(), "/none").has_value());
}

TEST_F(TorchProbeTest, MissingLibraryIsAnError) {
  EXPECT_FALSE(probe_torch(root_.get(), "/p/torch/lib/none.so", "").has_value());
  EXPECT_TRUE(probe_torch(root_.get(), "", "").has_value());
}

}  // namespace
}  // namespace dynolog
