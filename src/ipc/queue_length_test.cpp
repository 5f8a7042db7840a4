// The host's setting is raised while sockets are made, and put back.
#include "ipc/queue_length.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;

class QueueLengthTest : public testing::Test {
 protected:
  QueueLengthTest() {
    char name[] = "/tmp/dynolog-qlen-XXXXXX";
    root_.proc = ::mkdtemp(name);
    fs::create_directories(root_.proc + "/sys/net/unix");
  }
  ~QueueLengthTest() override {
    std::error_code ignored;
    fs::remove_all(root_.proc, ignored);
  }
  [[nodiscard]] std::string file() const { return root_.proc + "/sys/net/unix/max_dgram_qlen"; }
  void write(std::string_view value) { ASSERT_TRUE(replace_file(file(), value, 0644)); }
  // The kernel takes a write as a whole; a file of ours keeps what stood behind it.
  [[nodiscard]] int value() const {
    const auto text = read_file(file(), 64);
    return text ? std::atoi(text->c_str()) : -1;
  }

  SystemRoot root_;
};

TEST_F(QueueLengthTest, IsRaisedAndPutBack) {
  write("10\n");
  {
    const LongQueues longer(root_);
    EXPECT_EQ(value(), 512);
  }
  EXPECT_EQ(value(), 10);
}

TEST_F(QueueLengthTest, LongerOneIsLeftAlone) {
  write("4096\n");
  {
    const LongQueues longer(root_);
    EXPECT_EQ(value(), 4096);
    // Somebody sets another meanwhile: that is not ours to undo.
    write("2048\n");
  }
  EXPECT_EQ(value(), 2048);
}

TEST_F(QueueLengthTest, UnreadableOneIsLeftAlone) {
  write("plenty\n");
  {
    const LongQueues longer(root_);
  }
  const auto text = read_file(file(), 64);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "plenty\n");
}

TEST_F(QueueLengthTest, MissingOneIsNotMade) {
  {
    const LongQueues longer(root_);
  }
  EXPECT_FALSE(fs::exists(file()));
}

}  // namespace
}  // namespace dynolog
