// The mounts worker end to end, with real child processes, and its frames.
#include "workers/mounts_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/unique_fd.h"
#include "net/child_process.h"
#include "testing/capturing_log.h"
#include "testing/fake_clock.h"
#include "testing/patience.h"
#include "workers/mounts_frames.h"

namespace dynolog {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MountsWorkerTest : public ::testing::Test {
 protected:
  MountsWorkerTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dynolog-prom-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
  }
  ~MountsWorkerTest() override {
    ::unsetenv("DYNOLOG_TEST_WORKER");
    ::unsetenv("DYNOLOG_TEST_HUNG_MOUNT");
    ::unsetenv("DBUS_SYSTEM_BUS_ADDRESS");
    std::filesystem::remove_all(directory_);
  }

  void start(const char* misbehaviour = nullptr) {
    if (misbehaviour != nullptr) ::setenv("DYNOLOG_TEST_WORKER", misbehaviour, 1);
    worker_ = MountsWorker::make(loop_, clock_, log_, DYNOLOG_WORKER_CHILD);
  }
  Result<std::vector<MountUsage>> file_systems(const NameFilterOptions& points = {}) {
    std::optional<Result<std::vector<MountUsage>>> answer;
    worker_->file_systems(points, {}, [&](Result<std::vector<MountUsage>> given) {
      answer = std::move(given);
      loop_.stop();
    });
    EXPECT_FALSE(answer.has_value());  // never inside the call
    loop_.run();
    return answer.value_or(fail(ErrorKind::failed, "no answer"));
  }
  Result<std::vector<TextFile>> text_files() {
    std::optional<Result<std::vector<TextFile>>> answer;
    worker_->text_files(directory_, [&](Result<std::vector<TextFile>> given) {
      answer = std::move(given);
      loop_.stop();
    });
    loop_.run();
    return answer.value_or(fail(ErrorKind::failed, "no answer"));
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ + "/" + name) << text;
  }
  static const MountUsage* at(const std::vector<MountUsage>& mounts, std::string_view point) {
    const auto found = std::ranges::find_if(
        mounts, [&](const MountUsage& usage) { return usage.mount.mount_point == point; });
    return found == mounts.end() ? nullptr : &*found;
  }

  EventLoop loop_;
  FakeClock clock_;
  CapturingLog log_;
  std::unique_ptr<MountsWorker> worker_;
  std::string directory_;
  LoopGuard guard_{loop_};
};

TEST_F(MountsWorkerTest, MountsOfThisHost) {
  start();
  const auto mounts = file_systems();
  ASSERT_TRUE(mounts) << mounts.error().message;
  const MountUsage* proc = at(*mounts, "/proc");
  ASSERT_NE(proc, nullptr);
  EXPECT_EQ(proc->mount.type, "proc");
  EXPECT_EQ(proc->state, MountState::read);
  const auto chosen = file_systems({.include = "^/proc$", .exclude = ""});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->size(), 1U);
  EXPECT_EQ(worker_->restarts(), 0U);
}

TEST_F(MountsWorkerTest, AMountThatHangsCostsItselfOnly) {
  ::setenv("DYNOLOG_TEST_HUNG_MOUNT", "/proc", 1);
  start();
  for (int i = 0; i < 2; ++i) {
    const auto mounts = file_systems();
    ASSERT_TRUE(mounts) << mounts.error().message;
    EXPECT_EQ(at(*mounts, "/proc")->state, MountState::hangs);
    EXPECT_GT(std::ranges::count(*mounts, MountState::read, &MountUsage::state), 0);
  }
  EXPECT_EQ(worker_->restarts(), 0U) << "the worker itself is well";
}

TEST_F(MountsWorkerTest, FilesOfADirectoryByName) {
  put("b.prom", "b 1\n");
  put("a.prom", "a 1\n");
  put("notes.txt", "no metrics");
  put("large.prom", std::string(kTextFilePartBytes * 3 + 17, 'x'));
  put("too_large.prom", std::string(kMaxTextFileBytes + 1, 'x'));
  put("empty.prom", "");
  ASSERT_EQ(::mkfifo((directory_ + "/fifo.prom").c_str(), 0600), 0);
  start();
  const auto files = text_files();
  ASSERT_TRUE(files) << files.error().message;
  std::vector<std::string> names;
  for (const TextFile& file : *files) {
    names.push_back(std::filesystem::path(file.path).filename());
  }
  ASSERT_THAT(names, ElementsAre("a.prom", "b.prom", "empty.prom", "fifo.prom", "large.prom",
                                 "too_large.prom"));
  EXPECT_EQ((*files)[0].text, "a 1\n");
  EXPECT_GT((*files)[0].modified_s, 1'500'000'000);
  EXPECT_EQ((*files)[4].text.size(), kTextFilePartBytes * 3 + 17);
  EXPECT_THAT((*files)[3].problem, HasSubstr("regular"));
  EXPECT_THAT((*files)[5].problem, HasSubstr("too large"));
  EXPECT_EQ((*files)[5].text, "");
  std::filesystem::remove_all(directory_);
  EXPECT_EQ(text_files().error().kind, ErrorKind::not_found);
}

TEST_F(MountsWorkerTest, BothKindsAndAskedTwice) {
  start();
  int answers = 0;
  const auto count = [&](const auto& given) {
    EXPECT_TRUE(given);
    if (++answers == 4) loop_.stop();
  };
  worker_->file_systems({}, {}, count);
  worker_->text_files(directory_, count);
  worker_->file_systems({}, {}, count);
  worker_->text_files(directory_, count);
  loop_.run();
  EXPECT_EQ(answers, 4);
}

// One that listens and says nothing. The other side is not even greeted.
TEST_F(MountsWorkerTest, ABusThatDoesNotAnswerCostsItselfOnly) {
  const std::string path = directory_ + "/bus";
  const UniqueFd bus(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  ASSERT_EQ(::bind(bus.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(bus.get(), 8), 0);
  ::setenv("DBUS_SYSTEM_BUS_ADDRESS", ("unix:path=" + path).c_str(), 1);
  start();
  for (int i = 0; i < 2; ++i) {
    std::optional<Result<std::vector<UnitState>>> answer;
    worker_->units({"ssh.service"}, [&](Result<std::vector<UnitState>> given) {
      answer = std::move(given);
      loop_.stop();
    });
    loop_.run();
    ASSERT_TRUE(answer);
    ASSERT_FALSE(*answer);
    EXPECT_EQ(answer->error().kind, ErrorKind::timed_out);
    EXPECT_TRUE(file_systems({.include = "^/proc$", .exclude = ""}));
  }
  EXPECT_EQ(worker_->restarts(), 0U);
}

TEST_F(MountsWorkerTest, AWorkerThatDiesOrLiesIsReplaced) {
  for (const char* how : {"exit", "garbage", "wrong-number"}) {
    start(how);
    EXPECT_FALSE(file_systems()) << how;
    EXPECT_EQ(worker_->restarts(), 1U) << how;
  }
  ::unsetenv("DYNOLOG_TEST_WORKER");
  EXPECT_TRUE(file_systems());
}

TEST_F(MountsWorkerTest, WithoutAProgramThereIsAnAnswerToo) {
  worker_ = MountsWorker::make(loop_, clock_, log_, "/nonexistent/dynolog");
  EXPECT_FALSE(file_systems());
  EXPECT_FALSE(text_files());
}

TEST_F(MountsWorkerTest, NothingIsCalledAfterTheEnd) {
  start();
  worker_->file_systems({}, {}, [](const auto&) { FAIL(); });
  worker_.reset();
  loop_.post([this] { loop_.stop(); });
  loop_.run();
}

TEST(MountsFrames, PartsFitAFrameAndAreTheSameAgain) {
  std::vector<MountUsage> mounts;
  for (std::uint64_t i = 0; i < 600; ++i) {
    mounts.push_back({.mount = {.id = 0,
                                .parent = 0,
                                .device = std::string(i * 6, '\x01'),
                                .mount_point = "/m " + std::to_string(i),
                                .type = "nfs4",
                                .read_only = i % 2 == 0},
                      .state = static_cast<MountState>(i % 4),
                      .room = {},
                      .problem = {}});
    mounts.back().room.size = ~i;
  }
  std::vector<MountUsage> again;
  const auto parts = encode_mounts(mounts);
  EXPECT_GT(parts.size(), 1U);
  for (const std::string& part : parts) {
    EXPECT_LT(part.size() + 32, kMaxWorkerFrame);
    const auto decoded = decode_mounts(part);
    ASSERT_TRUE(decoded);
    again.insert(again.end(), decoded->begin(), decoded->end());
  }
  ASSERT_EQ(again.size(), mounts.size());
  EXPECT_EQ(again[599].mount.mount_point, "/m 599");
  EXPECT_EQ(again[596].room.size, ~std::uint64_t{596}) << "all 64 bits";
  EXPECT_EQ(again[597].room.size, 0U) << "it was not read";
  EXPECT_FALSE(decode_mounts("{}"));
  EXPECT_FALSE(decode_mounts(R"({"mounts":[1]})"));
  EXPECT_FALSE(decode_text_file_part("{}"));
  EXPECT_FALSE(decode_mounts_request("[]"));
}

TEST(MountsFrames, UnitsAreTheSameAgainAndFitAFrame) {
  const UnitState longest{.name = std::string(kMaxUnitName, '\\'),
                          .load = "loaded",
                          .state = std::string(64, '"'),
                          .type = "notify"};
  const std::vector<UnitState> units(kMaxUnits, longest);
  const std::string body = encode_units(units);
  EXPECT_LT(body.size() + 32, kMaxWorkerFrame);
  const auto again = decode_units(body);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, units);
  MountsRequest request{.verb = MountsRequest::Verb::units};
  request.units = {"ssh.service", "a\\x2db.mount"};
  EXPECT_EQ(decode_mounts_request(encode(request))->units, request.units);
  request.units.assign(kMaxUnits + 1, "x.service");
  EXPECT_FALSE(decode_mounts_request(encode(request)));
  EXPECT_FALSE(decode_units(R"({"units":[1]})"));
  EXPECT_FALSE(decode_units(R"({"units":[{"name":"x"}]})"));
}

}  // namespace
}  // namespace dynolog
