// More members in the place of a trace's closing brace: right, or not at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdlib>

#include "artifacts/delivery.h"
#include "artifacts/delivery_test_support.h"
#include "traces/trace_check.h"

namespace dynolog::delivery_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kTrace = R"({"traceEvents": [{"name": "}"}], "trace_id": "77"})";
constexpr const char* kInfo = R"({"backend": "nccl", "rank": 3, "world_size": 8})";

class DistributedInfoTest : public Places {
 protected:
  DistributedInfoTest() { write(staging_ / "s.json", kTrace); }

  std::string add_after(const std::function<void()>& change, const std::string& object = kInfo) {
    return as_owner([&] {
      StagedFile staged = stage(staging_, "s.json");
      change();
      return told(add_distributed_info(staged, object, kOwner));
    });
  }
  [[nodiscard]] std::string text() const { return text_of(staging_ / "s.json"); }
};

TEST_F(DistributedInfoTest, StandsAtTheEnd) {
  EXPECT_EQ(add_after([] {}), "done");
  EXPECT_EQ(text(), R"({"traceEvents": [{"name": "}"}], "trace_id": "77", "distributedInfo": )"
                    R"({"backend": "nccl", "rank": 3, "world_size": 8}})"
                    "\n");
  const UniqueFd fd(::open((staging_ / "s.json").c_str(), O_RDONLY | O_CLOEXEC));
  const auto summary = summarise_trace(fd.get());
  ASSERT_TRUE(summary.has_value());
  EXPECT_TRUE(summary->whole) << summary->problem;
  EXPECT_EQ(summary->trace_id, "77");
}

TEST_F(DistributedInfoTest, TheFileIsCheckedAsItIsNow) {
  const std::string said = as_owner([&] {
    StagedFile staged = stage(staging_, "s.json");
    const auto id = id_behind(staged.fd.get());
    EXPECT_EQ(told(add_distributed_info(staged, kInfo, kOwner)), "done");
    EXPECT_EQ(id_under(staged.directory.fd.get(), "s.json"), id) << "the same file";
    EXPECT_EQ(text()[*staged.closing_brace], '}');
    EXPECT_EQ(*staged.closing_brace, text().size() - 2);
    const TraceDirectory directory = hold(target_, "t.json");
    return told(deliver_file(staged, {directory, false, ""}, kOwner, {}));
  });
  EXPECT_THAT(said, StartsWith("delivered"));
  EXPECT_THAT(text_of(target_ / "t.json"), HasSubstr("\"rank\": 3"));
}

TEST_F(DistributedInfoTest, WhiteSpaceAfterTheBraceGoes) {
  write(staging_ / "s.json", kTrace + std::string(20'000, '\n'));
  EXPECT_EQ(add_after([] {}), "done");
  EXPECT_THAT(text(), ::testing::EndsWith("8}}\n"));
  EXPECT_LT(text().size(), 200U);
}

TEST_F(DistributedInfoTest, NoCommaInAnEmptyObject) {
  write(staging_ / "s.json", "{ \n }");
  EXPECT_EQ(add_after([] {}, "{}"), "done");
  EXPECT_EQ(text(), "{ \n \"distributedInfo\": {}}\n");
}

TEST_F(DistributedInfoTest, OnlyWholeTracesAndObjects) {
  const StagedFile whole = stage(staging_, "s.json");
  StagedFile unknown = stage(staging_, "s.json");
  unknown.closing_brace.reset();
  EXPECT_THAT(told(add_distributed_info(unknown, kInfo, kOwner)),
              HasSubstr("is not a whole JSON file"));
  EXPECT_THAT(add_after([] {}, "[1]"), StartsWith("invalid"));
  EXPECT_THAT(add_after([] {}, ""), StartsWith("invalid"));
  EXPECT_THAT(add_after([] {}, "{" + std::string(70'000, ' ') + "}"), StartsWith("invalid"));
  StagedFile wrong = stage(staging_, "s.json");
  wrong.closing_brace = 5;
  EXPECT_THAT(told(add_distributed_info(wrong, kInfo, kOwner)), HasSubstr("another end"));
  wrong.closing_brace = 5000;
  EXPECT_THAT(told(add_distributed_info(wrong, kInfo, kOwner)),
              HasSubstr("does not end with its closing brace"));
  EXPECT_EQ(text(), kTrace);
  EXPECT_EQ(stamp_of(whole.fd.get()).value(), whole.stamp) << "never written to";
}

TEST_F(DistributedInfoTest, AnythingElseUnderTheNameIsLeftAlone) {
  write(path_ / "victim", "precious}");
  EXPECT_THAT(add_after([&] {
                fs::rename(staging_ / "s.json", staging_ / "aside");
                fs::create_symlink(path_ / "victim", staging_ / "s.json");
              }),
              StartsWith("denied"));
  EXPECT_EQ(text_of(path_ / "victim"), "precious}");
  EXPECT_EQ(text_of(staging_ / "aside"), kTrace);
  fs::remove(staging_ / "s.json");
  fs::rename(staging_ / "aside", staging_ / "s.json");

  EXPECT_THAT(add_after([&] {
                fs::rename(staging_ / "s.json", staging_ / "aside");
                ASSERT_EQ(::mkfifo((staging_ / "s.json").c_str(), 0666), 0);
              }),
              StartsWith("denied"));
  fs::remove(staging_ / "s.json");
  fs::rename(staging_ / "aside", staging_ / "s.json");

  EXPECT_THAT(add_after([&] { fs::create_hard_link(staging_ / "s.json", staging_ / "second"); }),
              StartsWith("denied"));
  fs::remove(staging_ / "second");
  EXPECT_THAT(add_after([&] { std::ofstream(staging_ / "s.json", std::ios::app) << " "; }),
              HasSubstr("was changed after it was checked"));
  EXPECT_EQ(text(), std::string(kTrace) + " ");
}

TEST_F(DistributedInfoTest, AFileThatCannotBeWrittenTo) {
  fs::permissions(staging_ / "s.json", fs::perms{0444});
  EXPECT_THAT(add_after([] {}), AllOf(StartsWith("denied"), HasSubstr("Permission denied")));
  EXPECT_EQ(text(), kTrace);
}

// A lease would keep an ordinary open() waiting for as long as 45 s.
TEST_F(DistributedInfoTest, ALeaseDoesNotHoldItUp) {
  const std::string said = as_owner([&] {
    StagedFile staged = stage(staging_, "s.json");
    ::signal(SIGIO, SIG_IGN);
    if (::fcntl(staged.fd.get(), F_SETLEASE, F_RDLCK) != 0) return std::string("no leases");
    return told(add_distributed_info(staged, kInfo, kOwner));
  });
  if (said == "no leases") GTEST_SKIP() << "the file system has no leases";
  EXPECT_THAT(said, HasSubstr("Resource temporarily unavailable"));
  EXPECT_EQ(text(), kTrace);
}

TEST_F(DistributedInfoTest, AFileThatCannotGrowIsPutBack) {
  const std::string said = as_owner([&] {
    StagedFile staged = stage(staging_, "s.json");
    ::signal(SIGXFSZ, SIG_IGN);
    const rlim_t size = staged.stamp.bytes + 10;
    const rlimit limit{size, size};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    std::string first = told(add_distributed_info(staged, kInfo, kOwner));
    EXPECT_EQ(text(), kTrace);
    EXPECT_EQ(told(still_as_checked(staged, kOwner)), "done") << "it can be delivered as it is";
    return first;
  });
  EXPECT_THAT(said, AllOf(HasSubstr("File too large"), ::testing::Not(HasSubstr("damaged"))));
  EXPECT_EQ(text(), kTrace);
}

TEST_F(DistributedInfoTest, AFullDiskLeavesTheFileAsItWas) {
  const std::string said = in_child([&] {
    if (!mount_tmpfs(target_, "size=8k,mode=1777")) return kCannotMount;
    become(kOwner);
    const std::string trace = R"({"traceEvents": [")" + std::string(8150, 'x') + R"("], "a": 1})";
    EXPECT_LE(trace.size(), 8192U);
    std::ofstream(target_ / "s.json") << trace;
    StagedFile staged = stage(target_, "s.json");
    std::string first = told(add_distributed_info(staged, kInfo, kOwner));
    EXPECT_TRUE(text_of(target_ / "s.json") == trace);
    return first;
  });
  if (said == kCannotMount) GTEST_SKIP() << "mounting is not permitted here";
  EXPECT_THAT(said, AllOf(StartsWith("exhausted"), HasSubstr("No space left")));
}

}  // namespace
}  // namespace dynolog::delivery_test
