// Deliveries as their owner, and what others do to the names meanwhile.
#include "artifacts/delivery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>

#include <algorithm>

#include "artifacts/copy.h"
#include "artifacts/delivery_test_support.h"

namespace dynolog::delivery_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* kTrace = R"({"traceEvents": [{}, {}], "trace_id": "77"})";
constexpr std::size_t kLarge = kCopyStep + (1U << 20U);  // `meanwhile` is called once

// A large file's text that is compressed in no time: that is done at nice 10, and on a busy machine
// it would take minutes for one that is not.
std::string plain_text(std::size_t bytes) { return std::string(bytes, 'a'); }

class DeliveryTest : public Places {
 protected:
  DeliveryTest() { write(staging_ / "s.json", kTrace); }

  // The delivery as it goes in the worker.
  std::string deliver(const std::string& name = "t.json", bool gzip = false,
                      const std::function<void()>& meanwhile = {},
                      const std::string& side_car = "") {
    return as_owner([&] { return deliver_here(target_, name, gzip, meanwhile, side_car); });
  }
  [[nodiscard]] std::string deliver_here(const fs::path& to, const std::string& name,
                                         bool gzip = false,
                                         const std::function<void()>& meanwhile = {},
                                         const std::string& side_car = "") const {
    const StagedFile staged = stage(staging_, "s.json");
    const TraceDirectory directory = hold(to, name);
    return told(deliver_file(staged, {directory, gzip, side_car}, kOwner, meanwhile));
  }
  [[nodiscard]] std::string delivered(const std::string& name = "t.json") const {
    return "delivered " + (target_ / name).string();
  }
  // Nothing was brought, nothing was lost, nothing is left.
  void expect_untouched(const std::vector<std::string>& in_target = {}) {
    EXPECT_EQ(text_of(staging_ / "s.json"), kTrace);
    EXPECT_EQ(names_in(target_), in_target);
    EXPECT_THAT(names_in(staging_), ElementsAre("s.json"));
  }
};

// --- what it does ---

TEST_F(DeliveryTest, ARenameOnOneFileSystem) {
  fs::permissions(staging_ / "s.json", fs::perms{0640});
  const StagedFile staged = stage(staging_, "s.json");
  const auto id = id_behind(staged.fd.get());
  EXPECT_EQ(deliver(), delivered()) << "and without a note";
  EXPECT_EQ(text_of(target_ / "t.json"), kTrace);
  EXPECT_THAT(names_in(staging_), IsEmpty());
  EXPECT_THAT(names_in(target_), ElementsAre("t.json"));
  EXPECT_EQ(id_under(hold(target_, "").fd.get(), "t.json"), id);
  EXPECT_EQ(fs::status(target_ / "t.json").permissions(), fs::perms{0640});
}

TEST_F(DeliveryTest, IdAndSizeAreTold) {
  const std::string said = as_owner([&]() -> std::string {
    const StagedFile staged = stage(staging_, "s.json");
    const TraceDirectory directory = hold(target_, "t.json");
    const auto done = deliver_file(staged, {directory, false, ""}, kOwner, {});
    if (!done) return done.error().message;
    const bool same = done->file_id == to_string(*id_behind(staged.fd.get()));
    return fmt::format("{} {}", same ? "same" : "other", done->bytes);
  });
  EXPECT_EQ(said, fmt::format("same {}", std::string(kTrace).size()));
}

TEST_F(DeliveryTest, AnEarlierTraceOfTheOwnersIsReplaced) {
  write(target_ / "t.json", "earlier");
  EXPECT_EQ(deliver(), delivered());
  EXPECT_EQ(text_of(target_ / "t.json"), kTrace);
  write(staging_ / "s.json", kTrace);
  write(target_ / "t.json.gz", "earlier");
  EXPECT_EQ(deliver("t.json", true), delivered("t.json.gz"));
  EXPECT_EQ(unfolded(target_ / "t.json.gz"), kTrace);
  EXPECT_THAT(names_in(target_), ElementsAre("t.json", "t.json.gz"));
}

TEST_F(DeliveryTest, WhereItLiesAlready) {
  const std::string said = as_owner([&] { return deliver_here(staging_, "s.json"); });
  EXPECT_EQ(said, "delivered " + (staging_ / "s.json").string());
  EXPECT_EQ(text_of(staging_ / "s.json"), kTrace);
}

TEST_F(DeliveryTest, Gzip) {
  fs::permissions(staging_ / "s.json", fs::perms{0640});
  const auto time = fs::last_write_time(staging_ / "s.json") - std::chrono::hours(30);
  fs::last_write_time(staging_ / "s.json", time);
  EXPECT_EQ(deliver("t.json", true), delivered("t.json.gz"));
  EXPECT_EQ(unfolded(target_ / "t.json.gz"), kTrace);
  EXPECT_THAT(text_of(target_ / "t.json.gz"), StartsWith("\x1f\x8b"));
  EXPECT_THAT(names_in(target_), ElementsAre("t.json.gz"));
  EXPECT_THAT(names_in(staging_), IsEmpty());
  EXPECT_EQ(fs::last_write_time(target_ / "t.json.gz"), time);
  EXPECT_EQ(fs::status(target_ / "t.json.gz").permissions(), fs::perms{0640});
}

TEST_F(DeliveryTest, GzipDoesNotDoubleTheSuffix) {
  EXPECT_EQ(deliver("t.json.gz", true), delivered("t.json.gz"));
  EXPECT_EQ(unfolded(target_ / "t.json.gz"), kTrace);
}

TEST_F(DeliveryTest, GzipInThePlaceOfTheFileItself) {
  write(staging_ / "x.json.gz", kTrace);
  const std::string said = as_owner([&] {
    const StagedFile staged = stage(staging_, "x.json.gz");
    const TraceDirectory directory = hold(staging_, "x.json.gz");
    return told(deliver_file(staged, {directory, true, ""}, kOwner, {}));
  });
  EXPECT_EQ(said, "delivered " + (staging_ / "x.json.gz").string());
  EXPECT_EQ(unfolded(staging_ / "x.json.gz"), kTrace);
}

TEST_F(DeliveryTest, ACopyToAnotherFileSystem) {
  const std::string said = in_child([&] {
    if (!mount_tmpfs(target_, "size=8m,mode=1777")) return kCannotMount;
    become(kOwner);
    ::chmod((staging_ / "s.json").c_str(), 04711);
    const auto time = fs::last_write_time(staging_ / "s.json");
    std::string delivery = deliver_here(target_, "t.json");
    EXPECT_EQ(text_of(target_ / "t.json"), kTrace);
    EXPECT_THAT(names_in(target_), ElementsAre("t.json"));
    EXPECT_THAT(names_in(staging_), IsEmpty());
    EXPECT_EQ(fs::last_write_time(target_ / "t.json"), time);
    EXPECT_EQ(fs::status(target_ / "t.json").permissions(), fs::perms{0711}) << "no set-uid bit";
    return delivery;
  });
  if (said == kCannotMount) GTEST_SKIP() << "mounting is not permitted here";
  EXPECT_THAT(said, AllOf(StartsWith(delivered() + "; note: copied, because "),
                          HasSubstr("Invalid cross-device link")));
}

TEST_F(DeliveryTest, ACopyReplacesTheOwnersEarlierTrace) {
  const std::string said = in_child([&] {
    if (!mount_tmpfs(target_, "size=8m,mode=1777")) return kCannotMount;
    become(kOwner);
    std::ofstream(target_ / "t.json") << "earlier";
    std::string delivery = deliver_here(target_, "t.json");
    EXPECT_EQ(text_of(target_ / "t.json"), kTrace);
    EXPECT_THAT(names_in(target_), ElementsAre("t.json"));
    return delivery;
  });
  if (said == kCannotMount) GTEST_SKIP() << "mounting is not permitted here";
  EXPECT_THAT(said, StartsWith(delivered()));
}

TEST_F(DeliveryTest, TooLongANameIsTold) {
  EXPECT_THAT(deliver(std::string(253, 'n'), true), HasSubstr("too long a name"));
  expect_untouched();
}

// --- what stands at the target ---

TEST_F(DeliveryTest, WhatIsNoFileOfTheOwnersIsNotReplaced) {
  write(path_ / "victim", "precious");
  fs::create_symlink(path_ / "victim", target_ / "t.json");
  EXPECT_THAT(deliver(), HasSubstr("t.json is a symbolic link: remove it, or choose another name; "
                                   "the file is still " +
                                   (staging_ / "s.json").string()));
  EXPECT_THAT(deliver(), StartsWith("denied"));
  EXPECT_TRUE(fs::is_symlink(target_ / "t.json"));
  EXPECT_EQ(text_of(path_ / "victim"), "precious");
  fs::remove(target_ / "t.json");
  fs::create_directory(target_ / "t.json");
  EXPECT_THAT(deliver(), HasSubstr("t.json is a directory: choose another name"));
  fs::remove(target_ / "t.json");
  ASSERT_EQ(::mkfifo((target_ / "t.json").c_str(), 0666), 0);
  EXPECT_THAT(deliver(), HasSubstr("t.json is a FIFO"));
  fs::remove(target_ / "t.json");
  expect_untouched();
}

TEST_F(DeliveryTest, AnothersFileIsNotReplaced) {
  if (!is_root()) GTEST_SKIP() << "only root can make files of another user";
  fs::permissions(target_, fs::perms{0777});
  write(target_ / "t.json", "theirs", Uid{kOwner.value + 1});
  EXPECT_THAT(deliver(), AllOf(StartsWith("denied"), HasSubstr("belongs to uid")));
  EXPECT_THAT(deliver("t.json", true), StartsWith("delivered")) << "another name";
  EXPECT_EQ(text_of(target_ / "t.json"), "theirs");
}

TEST_F(DeliveryTest, ALinkPlantedDuringTheCopyIsNotReplaced) {
  write(path_ / "victim", "precious");
  const std::string text = plain_text(kLarge);
  write(staging_ / "s.json", text);
  const std::string said =
      deliver("t.json", true, [&] { fs::create_symlink(path_ / "victim", target_ / "t.json.gz"); });
  EXPECT_THAT(said, HasSubstr("is a symbolic link"));
  EXPECT_EQ(text_of(path_ / "victim"), "precious");
  EXPECT_THAT(names_in(target_), ElementsAre("t.json.gz"));
  EXPECT_TRUE(text_of(staging_ / "s.json") == text);
}

// --- what stands at the source ---

class ChangedSourceTest : public DeliveryTest {
 protected:
  // Delivers a file to which something happens after the check.
  std::string deliver_after(const std::function<void()>& change, bool gzip = false) {
    return as_owner([&] {
      const StagedFile staged = stage(staging_, "s.json");
      change();
      const TraceDirectory directory = hold(target_, "t.json");
      return told(deliver_file(staged, {directory, gzip, "{}"}, kOwner, {}));
    });
  }
};

TEST_F(ChangedSourceTest, AReplacedFileIsRefused) {
  for (const bool gzip : {false, true}) {
    write(staging_ / "other.json", kTrace);
    const std::string said =
        deliver_after([&] { fs::rename(staging_ / "other.json", staging_ / "s.json"); }, gzip);
    EXPECT_THAT(said, AllOf(StartsWith("denied"), HasSubstr("is not the file that was checked")));
  }
  expect_untouched();
}

TEST_F(ChangedSourceTest, ALinkInItsPlaceIsRefused) {
  write(path_ / "victim", "precious");
  EXPECT_THAT(deliver_after([&] {
                fs::remove(staging_ / "s.json");
                fs::create_symlink(path_ / "victim", staging_ / "s.json");
              }),
              StartsWith("denied"));
  EXPECT_TRUE(fs::is_symlink(staging_ / "s.json"));
  EXPECT_THAT(names_in(target_), IsEmpty());
}

TEST_F(ChangedSourceTest, AFifoInItsPlaceIsRefused) {
  EXPECT_THAT(deliver_after([&] {
                fs::remove(staging_ / "s.json");
                ASSERT_EQ(::mkfifo((staging_ / "s.json").c_str(), 0666), 0);
              }),
              StartsWith("denied"));
  EXPECT_THAT(names_in(target_), IsEmpty());
}

TEST_F(ChangedSourceTest, ASecondNameIsRefused) {
  EXPECT_THAT(
      deliver_after([&] { fs::create_hard_link(staging_ / "s.json", staging_ / "second"); }),
      AllOf(StartsWith("denied"), HasSubstr("with one name any more")));
  EXPECT_THAT(names_in(target_), IsEmpty());
}

TEST_F(ChangedSourceTest, ANewTextIsRefused) {
  EXPECT_THAT(deliver_after([&] { std::ofstream(staging_ / "s.json", std::ios::app) << "more"; }),
              AllOf(StartsWith("denied"), HasSubstr("was changed after it was checked")));
  EXPECT_THAT(names_in(target_), IsEmpty());
}

TEST_F(ChangedSourceTest, ARemovedFileIsTold) {
  EXPECT_THAT(deliver_after([&] { fs::remove(staging_ / "s.json"); }),
              AllOf(StartsWith("not_found"), HasSubstr("was removed after it was checked")));
}

TEST_F(ChangedSourceTest, AnothersFileIsRefused) {
  const StagedFile staged = stage(staging_, "s.json");
  const TraceDirectory directory = hold(target_, "t.json");
  const Uid other{kOwner.value + 1};
  EXPECT_THAT(told(deliver_file(staged, {directory, false, ""}, other, {})), StartsWith("denied"));
  expect_untouched();
}

TEST_F(ChangedSourceTest, WrittenToDuringTheCopy) {
  const fs::path source = staging_ / "s.json";
  write(source, plain_text(kLarge));
  EXPECT_THAT(deliver("t.json", true, [&] { std::ofstream(source, std::ios::app) << "more"; }),
              AllOf(StartsWith("denied"), HasSubstr("was changed while it was copied")));
  write(source, plain_text(3 * kCopyStep));
  EXPECT_THAT(deliver("t.json", true, [&] { ::truncate(source.c_str(), 1); }),
              AllOf(StartsWith("denied"), HasSubstr("was changed while it was copied")));
  EXPECT_THAT(names_in(target_), IsEmpty()) << "no partial copy";
  EXPECT_TRUE(fs::exists(source));
}

TEST_F(ChangedSourceTest, ReplacedDuringTheCopyOneIsDeliveredTheOtherLeftAlone) {
  const std::string text = plain_text(kLarge);
  write(staging_ / "s.json", text);
  write(staging_ / "other.json", "another");
  const std::string said = deliver("t.json", true, [&] {
    fs::rename(staging_ / "s.json", staging_ / "moved");
    fs::rename(staging_ / "other.json", staging_ / "s.json");
  });
  EXPECT_THAT(said, AllOf(StartsWith(delivered("t.json.gz") + "; note: the copy is whole, but"),
                          HasSubstr("is left alone")));
  EXPECT_TRUE(unfolded(target_ / "t.json.gz") == text);
  EXPECT_EQ(text_of(staging_ / "s.json"), "another");
}

// Somebody who may write in the staging directory swaps the name all the time: whenever the answer
// is yes, what lies at the target is what was checked.
TEST_F(ChangedSourceTest, AStormOfRenames) {
  const fs::path source = staging_ / "s.json";
  write(path_ / "evil", "evil");
  const Attacker attacker([&] {
    ::rename(source.c_str(), (staging_ / "aside").c_str());
    static_cast<void>(::link((path_ / "evil").c_str(), source.c_str()));
    ::rename((staging_ / "aside").c_str(), source.c_str());
  });
  const std::string said = as_owner([&] {
    const TraceDirectory directory = hold(target_, "t.json");
    for (int i = 0; i < 300; ++i) {
      std::ofstream(staging_ / "fresh") << kTrace;
      StagedFile staged = stage(staging_, "fresh");
      staged.directory.name = "s.json";
      fs::rename(staging_ / "fresh", source);
      const auto done = deliver_file(staged, {directory, false, ""}, kOwner, {});
      if (done && id_under(directory.fd.get(), "t.json") != id_behind(staged.fd.get())) {
        return std::string("the wrong file was delivered");
      }
    }
    return std::string("never the wrong one");
  });
  EXPECT_EQ(said, "never the wrong one");
}

// --- directories ---

TEST_F(DeliveryTest, ADirectorySwappedAfterTheLookGetsNothing) {
  make(path_ / "elsewhere");
  const std::string said = as_owner([&] {
    const StagedFile staged = stage(staging_, "s.json");
    const TraceDirectory directory = hold(target_, "t.json");
    const UniqueFd root(::open("/", O_PATH | O_CLOEXEC));
    EXPECT_TRUE(lies_at_its_path(root.get(), directory));
    return told(deliver_file(staged, {directory, false, "{}"}, kOwner, {})) +
           (lies_at_its_path(root.get(), directory) ? "" : "; moved");
  });
  EXPECT_EQ(said, delivered());
  // As somebody who may write in its parent does.
  write(staging_ / "s.json", kTrace);
  const StagedFile staged = stage(staging_, "s.json");
  const TraceDirectory directory = hold(target_, "u.json");
  fs::rename(target_, path_ / "held");
  fs::create_symlink(path_ / "elsewhere", target_);
  const UniqueFd root(::open("/", O_PATH | O_CLOEXEC));
  EXPECT_FALSE(lies_at_its_path(root.get(), directory));
  EXPECT_THAT(in_child([&] {
                become(kOwner);
                return told(deliver_file(staged, {directory, false, "{}"}, kOwner, {}));
              }),
              StartsWith("delivered"));
  EXPECT_EQ(text_of(path_ / "held/u.json"), kTrace);
  EXPECT_THAT(names_in(path_ / "elsewhere"), IsEmpty());
}

TEST_F(DeliveryTest, ARemovedDirectoryIsTold) {
  const std::string said = as_owner([&] {
    make(staging_ / "gone");
    const StagedFile staged = stage(staging_, "s.json");
    const TraceDirectory directory = hold(staging_ / "gone", "t.json");
    fs::remove(staging_ / "gone");
    return told(deliver_file(staged, {directory, false, ""}, kOwner, {})) + "\n" +
           told(deliver_file(staged, {directory, true, ""}, kOwner, {}));
  });
  const std::string sentence = fmt::format(
      "not_found: {0}/gone was removed meanwhile; the file is still {0}/s.json: make it again, or "
      "choose another directory",
      staging_.string());
  EXPECT_EQ(said, sentence + "\n" + sentence);
  EXPECT_EQ(text_of(staging_ / "s.json"), kTrace);
}

TEST_F(DeliveryTest, ADirectoryThatIsNotTheOwners) {
  if (!is_root()) GTEST_SKIP() << "root alone can make a directory that the owner may not write to";
  own(target_, Uid{0});
  for (const bool gzip : {false, true}) {
    EXPECT_THAT(deliver("t.json", gzip),
                AllOf(StartsWith("denied: uid 61234 may not put"), HasSubstr("choose another")));
  }
  expect_untouched();
}

TEST_F(DeliveryTest, AReadOnlyFileSystem) {
  const std::string said = in_child([&] {
    if (!mount_tmpfs(target_, "size=1m,mode=1777")) return kCannotMount;
    if (::mount(nullptr, target_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
      return kCannotMount;
    }
    become(kOwner);
    return deliver_here(target_, "t.json") + "\n" + deliver_here(target_, "t.json", true);
  });
  if (said == kCannotMount) GTEST_SKIP() << "mounting is not permitted here";
  const std::string sentence = fmt::format(
      "denied: {} is on a read-only file system; the file is still {}: choose another directory",
      target_.string(), (staging_ / "s.json").string());
  EXPECT_EQ(said, sentence + "\n" + sentence);
  expect_untouched();
}

TEST_F(DeliveryTest, AnImmutableDirectory) {
  const UniqueFd directory(::open(target_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int flags = FS_IMMUTABLE_FL;
  if (::ioctl(directory.get(), FS_IOC_SETFLAGS, &flags) != 0) {
    GTEST_SKIP() << "attributes cannot be set here";
  }
  const std::string said = deliver() + "\n" + deliver("t.json", true);
  flags = 0;
  ASSERT_EQ(::ioctl(directory.get(), FS_IOC_SETFLAGS, &flags), 0);
  EXPECT_THAT(said, AllOf(StartsWith("denied: uid"), HasSubstr("may not put"),
                          HasSubstr("the file is still")));
  expect_untouched();
}

// --- room ---

TEST_F(DeliveryTest, NoRoomIsSeenBeforeTheDiskIsFilled) {
  const std::string noise = random_bytes(2U << 20U);
  write(staging_ / "s.json", noise);
  const std::string said = in_child([&] {
    if (!mount_tmpfs(target_, "size=1m,mode=1777")) return kCannotMount;
    become(kOwner);
    std::string delivery = deliver_here(target_, "t.json");
    EXPECT_THAT(names_in(target_), IsEmpty());
    return delivery;
  });
  if (said == kCannotMount) GTEST_SKIP() << "mounting is not permitted here";
  EXPECT_EQ(said, fmt::format("exhausted: no room: 0 of 2097152 bytes went into {}, where 1048576 "
                              "are free; the file is still {}: make room, or choose another "
                              "directory",
                              target_.string(), (staging_ / "s.json").string()));
  EXPECT_TRUE(text_of(staging_ / "s.json") == noise);
}

TEST_F(DeliveryTest, ADiskThatFillsUpMeanwhile) {
  const std::string noise = random_bytes(2 * kCopyStep);
  write(staging_ / "s.json", noise);
  const std::string said = in_child([&] {
    if (!mount_tmpfs(target_, "size=40m,mode=1777")) return kCannotMount;
    become(kOwner);
    std::string delivery = deliver_here(target_, "t.json", false, [&] {
      std::ofstream(target_ / "others") << std::string(18U << 20U, 'x');
    });
    EXPECT_THAT(names_in(target_), ElementsAre("others"));
    struct statvfs space{};
    EXPECT_EQ(::statvfs(target_.c_str(), &space), 0);
    EXPECT_GT(space.f_bavail * space.f_frsize, 20U << 20U) << "the partial copy is gone";
    return delivery;
  });
  if (said == kCannotMount) GTEST_SKIP() << "mounting is not permitted here";
  EXPECT_THAT(said,
              ::testing::MatchesRegex("exhausted: no room: [0-9]+ of 33554432 bytes went into "
                                      ".*/target; the file is still .*/s.json: make room.*"));
  EXPECT_TRUE(text_of(staging_ / "s.json") == noise);
}

TEST_F(DeliveryTest, ACompressedCopyThatDoesNotFit) {
  const std::string noise = random_bytes(3U << 20U);
  write(staging_ / "s.json", noise);
  const std::string said = in_child([&] {
    if (!mount_tmpfs(target_, "size=1m,mode=1777")) return kCannotMount;
    become(kOwner);
    std::string delivery = deliver_here(target_, "t.json", true);
    EXPECT_THAT(names_in(target_), IsEmpty());
    return delivery;
  });
  if (said == kCannotMount) GTEST_SKIP() << "mounting is not permitted here";
  EXPECT_THAT(said,
              ::testing::MatchesRegex(
                  "exhausted: no room: 1048576 bytes, compressed from [0-9]+ of 3145728, went "
                  "into .*/target; the file is still .*"));
  EXPECT_TRUE(text_of(staging_ / "s.json") == noise);
}

// --- the record beside the trace ---

TEST_F(DeliveryTest, SideCar) {
  fs::permissions(staging_ / "s.json", fs::perms{0640});
  const mode_t before = ::umask(0077);
  EXPECT_EQ(deliver("t.json", false, {}, R"({"schema": 1})"), delivered());
  ::umask(before);
  EXPECT_EQ(text_of(target_ / ".dynolog/t.json.json"), R"({"schema": 1})");
  EXPECT_EQ(fs::status(target_ / ".dynolog").permissions(), fs::perms{0755});
  EXPECT_EQ(fs::status(target_ / ".dynolog/t.json.json").permissions(), fs::perms{0640});
  EXPECT_THAT(names_in(target_), ElementsAre(".dynolog", "t.json"));
  write(staging_ / "s.json", kTrace);
  EXPECT_EQ(deliver("t.json", true, {}, R"({"schema": 2})"), delivered("t.json.gz"));
  write(staging_ / "s.json", kTrace);
  EXPECT_EQ(deliver("t.json", false, {}, R"({"schema": 3})"), delivered());
  EXPECT_EQ(text_of(target_ / ".dynolog/t.json.json"), R"({"schema": 3})");
  EXPECT_EQ(text_of(target_ / ".dynolog/t.json.gz.json"), R"({"schema": 2})");
  EXPECT_THAT(names_in(target_ / ".dynolog"), ElementsAre("t.json.gz.json", "t.json.json"));
}

TEST_F(DeliveryTest, ALinkInThePlaceOfTheSideCarIsNotFollowed) {
  write(path_ / "victim", "precious");
  make(target_ / ".dynolog");
  fs::create_symlink(path_ / "victim", target_ / ".dynolog/t.json.json");
  EXPECT_EQ(deliver("t.json", false, {}, "{}"), delivered());
  EXPECT_EQ(text_of(path_ / "victim"), "precious");
  EXPECT_FALSE(fs::is_symlink(target_ / ".dynolog/t.json.json"));
  EXPECT_EQ(text_of(target_ / ".dynolog/t.json.json"), "{}");
}

TEST_F(DeliveryTest, ALinkInThePlaceOfTheSideCarsDirectoryIsNotFollowed) {
  make(path_ / "victim");
  fs::create_symlink(path_ / "victim", target_ / ".dynolog");
  EXPECT_THAT(deliver("t.json", false, {}, "{}"),
              StartsWith(delivered() + "; note: the record beside the trace was not written: "));
  EXPECT_THAT(names_in(path_ / "victim"), IsEmpty());
  EXPECT_EQ(text_of(target_ / "t.json"), kTrace) << "the trace is there all the same";
}

TEST_F(DeliveryTest, SideCarsDirectoryOfSomebodyElse) {
  if (!is_root()) GTEST_SKIP() << "only root can make files of another user";
  make(target_ / ".dynolog", Uid{kOwner.value + 1});
  fs::permissions(target_ / ".dynolog", fs::perms{0777});
  EXPECT_THAT(deliver("t.json", false, {}, "{}"),
              HasSubstr(".dynolog is there and is not a directory of uid 61234: remove it"));
  EXPECT_THAT(names_in(target_ / ".dynolog"), IsEmpty());
}

TEST_F(DeliveryTest, AFileInThePlaceOfTheSideCarsDirectory) {
  write(target_ / ".dynolog", "");
  EXPECT_THAT(deliver("t.json", false, {}, "{}"), HasSubstr("is not a directory of uid"));
  fs::remove(target_ / ".dynolog");
  make(target_ / ".dynolog");
  make(target_ / ".dynolog/t.json.json");
  write(staging_ / "s.json", kTrace);
  EXPECT_THAT(deliver("t.json", false, {}, "{}"), HasSubstr("note: the record"));
  EXPECT_THAT(names_in(target_ / ".dynolog"), ElementsAre("t.json.json")) << "nothing is left";
}

// --- removing ---

TEST_F(DeliveryTest, RemovesTheStagedFile) {
  EXPECT_EQ(as_owner([&] { return told(remove_staged(stage(staging_, "s.json"))); }), "done");
  EXPECT_THAT(names_in(staging_), IsEmpty());
}

TEST_F(DeliveryTest, RemovesNothingElse) {
  const auto remove_after = [&](const std::function<void()>& change) {
    return as_owner([&] {
      const StagedFile staged = stage(staging_, "s.json");
      change();
      return told(remove_staged(staged));
    });
  };
  EXPECT_THAT(remove_after([&] { std::ofstream(staging_ / "s.json", std::ios::app) << "more"; }),
              HasSubstr("was changed after it was checked"));
  EXPECT_TRUE(fs::exists(staging_ / "s.json"));
  write(staging_ / "other", "another");
  EXPECT_THAT(remove_after([&] { fs::rename(staging_ / "other", staging_ / "s.json"); }),
              HasSubstr("is not the file that was checked"));
  EXPECT_EQ(text_of(staging_ / "s.json"), "another");
  EXPECT_EQ(remove_after([&] { fs::remove(staging_ / "s.json"); }), "done") << "it is gone";
}

}  // namespace
}  // namespace dynolog::delivery_test
