// The holder of a name is found, seldom and in little time.
#include "ipc/socket_holder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "testing/fake_clock.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using testing::HasSubstr;

// Each look at it takes as long as a test says.
class SlowClock final : public Clock {
 public:
  [[nodiscard]] MonotonicTime monotonic() const override {
    clock_.advance(step_);
    return clock_.monotonic();
  }
  [[nodiscard]] WallTime wall() const override { return clock_.wall(); }
  void pass(Nanoseconds by) { clock_.advance(by); }
  void set_step(Nanoseconds step) { step_ = step; }

 private:
  mutable FakeClock clock_;
  Nanoseconds step_{};
};

class NameHolderTest : public testing::Test {
 protected:
  NameHolderTest() {
    char name[] = "/tmp/dynolog-holder-XXXXXX";
    root_.proc = ::mkdtemp(name);
    fs::create_directories(root_.proc + "/net");
    bind(77);
  }
  ~NameHolderTest() override {
    std::error_code ignored;
    fs::remove_all(root_.proc, ignored);
  }
  // The name is that of this inode alone.
  void bind(int inode) {
    const std::string table =
        "Num       RefCount Protocol Flags    Type St Inode Path\n"
        "ffff0: 00000002 00000000 00000000 0002 01 11 @dynolog\n"
        "ffff3: 00000002 00000000 00000000 0002 01 12 @x 11 @dynolog@\n"
        "ffff1: 00000002 00000000 00000000 0002 01 " +
        std::to_string(inode) + " @dynolog@\n";
    ASSERT_TRUE(replace_file(root_.proc + "/net/unix", table, 0644));
  }
  void add_process(int pid, const std::string& comm, int inode) {
    const fs::path process = fs::path(root_.proc) / std::to_string(pid);
    fs::create_directories(process / "fd");
    fs::create_symlink("/dev/null", process / "fd" / "0");
    fs::create_symlink("socket:[" + std::to_string(inode) + "]", process / "fd" / "3");
    ASSERT_TRUE(replace_file((process / "comm").string(), comm + "\n", 0644));
  }
  [[nodiscard]] std::string find() {
    using namespace std::string_view_literals;
    return holder_.find(root_, "\0dynolog\0"sv);
  }

  SystemRoot root_;
  SlowClock clock_;
  NameHolder holder_{clock_};
};

TEST_F(NameHolderTest, NamesTheProcess) {
  add_process(10, "trainer", 11);
  add_process(20, "dynolog", 77);
  EXPECT_EQ(find(), "process 20 (dynolog)");
}

TEST_F(NameHolderTest, IsNotToldWhoItIsByAnothersName) {
  bind(77);
  add_process(10, "innocent", 11);  // whose inode stands in the name of a socket of somebody else's
  add_process(20, "dynolog", 77);
  EXPECT_EQ(find(), "process 20 (dynolog)");
}

TEST_F(NameHolderTest, SaysThatItCannotBeSeen) {
  add_process(10, "trainer", 11);
  EXPECT_EQ(find(), "a process that cannot be seen from here");
}

TEST_F(NameHolderTest, LooksOnceInFiveSeconds) {
  add_process(20, "dynolog", 77);
  EXPECT_THAT(find(), HasSubstr("process 20"));
  // Somebody binds it anew again and again, so that we look again and again.
  bind(78);
  add_process(30, "hostile", 78);
  clock_.pass(NameHolder::kBetween - Nanoseconds(1));
  EXPECT_THAT(find(), HasSubstr("process 20"));
  clock_.pass(Nanoseconds(1));
  EXPECT_THAT(find(), HasSubstr("process 30"));
}

TEST_F(NameHolderTest, StopsWhenItsTimeIsOverAndGoesOnFromThere) {
  add_process(10, "hostile", 11);
  const fs::path many = fs::path(root_.proc) / "10" / "fd";
  for (int i = 100; i < 500; ++i) fs::create_symlink("/dev/null", many / std::to_string(i));
  add_process(20, "dynolog", 77);
  const Nanoseconds step = NameHolder::kBudget / 12;
  clock_.set_step(step);
  std::string said;
  int calls = 0;
  for (; calls < 4 && !said.starts_with("process"); ++calls) {
    clock_.pass(NameHolder::kBetween);
    const MonotonicTime before = clock_.monotonic();
    said = find();
    EXPECT_LE(clock_.monotonic() - before,
              (calls == 0 ? NameHolder::kFirstBudget : NameHolder::kBudget) + 3 * step);
  }
  EXPECT_EQ(said, "process 20 (dynolog)");
}

TEST_F(NameHolderTest, GivesUpOnATableThatIsTooLong) {
  add_process(20, "dynolog", 77);
  clock_.set_step(NameHolder::kFirstBudget);
  EXPECT_EQ(find(), "a process that cannot be seen from here");
}

}  // namespace
}  // namespace dynolog
