// Copies and compressed copies: whole, told in numbers when not, and without standing deaf.
#include "artifacts/copy.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <optional>
#include <thread>

#include "artifacts/delivery_test_support.h"
#include "base/text.h"

namespace dynolog::delivery_test {
namespace {

using End = CopyResult::End;

class CopyTest : public Places {
 protected:
  UniqueFd source(const std::string& text) {
    write(path_ / "source", text);
    return UniqueFd(::open((path_ / "source").c_str(), O_RDONLY | O_CLOEXEC));
  }
  UniqueFd target() {
    fs::remove(path_ / "copy");
    return UniqueFd(
        ::open((path_ / "copy").c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
  }
};

TEST_F(CopyTest, WholeFiles) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{300'000}}) {
    const std::string text = random_bytes(size);
    const auto copied = copy_bytes(source(text).get(), target().get(), size, {});
    EXPECT_EQ(copied.end, End::whole);
    EXPECT_EQ(copied.read, size);
    EXPECT_EQ(copied.written, size);
    EXPECT_TRUE(text_of(path_ / "copy") == text);
    const auto compressed = compress_bytes(source(text).get(), target().get(), size, {});
    EXPECT_EQ(compressed.end, End::whole);
    EXPECT_EQ(compressed.read, size);
    EXPECT_EQ(compressed.written, fs::file_size(path_ / "copy"));
    EXPECT_TRUE(unfolded(path_ / "copy") == text);
  }
}

TEST_F(CopyTest, WhereTheKernelCannotCopyByItself) {
  const std::string text = random_bytes(700'001);
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const UniqueFd readable(pipe[0]);
  UniqueFd writable(pipe[1]);
  std::string got;
  std::jthread reader([&] { got = read_all(readable.get(), text.size()).value_or(""); });
  const auto copied = copy_bytes(source(text).get(), writable.get(), text.size(), {});
  writable.reset();
  reader.join();
  EXPECT_EQ(copied.end, End::whole);
  EXPECT_EQ(copied.written, text.size());
  EXPECT_TRUE(got == text);
}

TEST_F(CopyTest, OnlyTheBytesThatWereAskedFor) {
  ASSERT_EQ(copy_bytes(source("0123456789").get(), target().get(), 4, {}).end, End::whole);
  EXPECT_EQ(text_of(path_ / "copy"), "0123");
}

TEST_F(CopyTest, AFullDevice) {
  for (const auto copy : {copy_bytes, compress_bytes}) {
    const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    const auto copied = copy(source("text").get(), full.get(), 4, {});
    EXPECT_EQ(copied.end, End::write_failed);
    EXPECT_EQ(copied.error, ENOSPC);
    EXPECT_EQ(copied.written, 0U);
  }
}

TEST_F(CopyTest, AShorterSource) {
  for (const auto copy : {copy_bytes, compress_bytes}) {
    const auto copied = copy(source("text").get(), target().get(), 5, {});
    EXPECT_EQ(copied.end, End::cut_short);
    EXPECT_EQ(copied.read, 4U);
  }
}

TEST_F(CopyTest, AnUnreadableSource) {
  for (const auto copy : {copy_bytes, compress_bytes}) {
    const UniqueFd write_only(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    const auto copied = copy(write_only.get(), target().get(), 5, {});
    EXPECT_EQ(copied.end, End::read_failed);
    EXPECT_EQ(copied.error, EBADF);
  }
}

TEST_F(CopyTest, ACopyTellsOfEachStepFromTheCallingThread) {
  const UniqueFd zeros(::memfd_create("zeros", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(zeros.get(), 3 * kCopyStep + 1), 0);
  int steps = 0;
  const auto copied = copy_bytes(zeros.get(), target().get(), 3 * kCopyStep + 1, [&] {
    ++steps;
    EXPECT_EQ(::gettid(), ::getpid());
  });
  EXPECT_EQ(copied.end, End::whole);
  EXPECT_EQ(steps, 3);
}

// The greatest niceness of this process's other threads; sanitizers have one too.
std::optional<int> niceness_of_other_threads() {
  std::optional<int> niceness;
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    const pid_t tid = std::stoi(task.path().filename());
    if (tid == ::getpid()) continue;
    niceness =
        std::max(niceness, std::optional(::getpriority(PRIO_PROCESS, static_cast<id_t>(tid))));
  }
  return niceness;
}

// The compressing thread cannot end before this one has read what it writes: so it is there when
// the first step is told.
TEST_F(CopyTest, CompressionGivesWayAndTheCallerDoesNot) {
  const std::string said = in_child([&]() -> std::string {
    const std::string text = std::string(kCopyStep, '0') + random_bytes(1U << 20U);
    std::array<int, 2> pipe{};
    EXPECT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    const int before = ::getpriority(PRIO_PROCESS, 0);
    std::jthread reader;
    std::optional<int> niceness;
    const UniqueFd from = source(text);
    const auto copied = compress_bytes(from.get(), pipe[1], text.size(), [&] {
      EXPECT_EQ(::gettid(), ::getpid());
      if (reader.joinable()) return;
      niceness = niceness_of_other_threads();
      reader = std::jthread([&] { static_cast<void>(read_all(pipe[0], 2U << 20U)); });
    });
    ::close(pipe[1]);
    EXPECT_EQ(copied.end, End::whole);
    EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), before);
    return niceness ? std::to_string(*niceness) : "no thread";
  });
  EXPECT_EQ(said, std::to_string(std::max(10, ::getpriority(PRIO_PROCESS, 0))));
}

TEST_F(CopyTest, WithoutAThreadToSpareItIsCompressedAllTheSame) {
  if (!is_root()) GTEST_SKIP() << "the limit counts all processes of a user: it takes a new user";
  const std::string text = random_bytes(100'000);
  const UniqueFd from = source(text);
  const UniqueFd to = target();
  const std::string said = in_child([&] {
    // Root is exempt from the limit, and this user has no other process.
    const rlimit none{1, 1};
    EXPECT_EQ(::setrlimit(RLIMIT_NPROC, &none), 0);
    become(Uid{61239});
    bool refused = false;
    try {
      std::jthread([] {}).join();
    } catch (const std::system_error&) {
      refused = true;
    }
    const auto copied = compress_bytes(from.get(), to.get(), text.size(), {});
    return fmt::format("{} {}", refused, copied.end == End::whole);
  });
  EXPECT_EQ(said, "true true");
  EXPECT_TRUE(unfolded(path_ / "copy") == text);
}

}  // namespace
}  // namespace dynolog::delivery_test
