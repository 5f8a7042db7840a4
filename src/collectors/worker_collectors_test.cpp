// Collectors that a worker reads for: asking, taking what has come, and what is told meanwhile.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/collector_fixture.h"
#include "collectors/filesystem.h"
#include "collectors/systemd.h"
#include "collectors/textfile.h"

namespace dynolog {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

MountUsage usage(std::string point, std::string device, MountState state, std::uint64_t size) {
  return {.mount = {.id = 0,
                    .parent = 0,
                    .device = std::move(device),
                    .mount_point = std::move(point),
                    .type = "nfs4",
                    .read_only = false},
          .state = state,
          .room = {.size = size, .free = 50, .available = 40, .files = 7, .files_free = 3},
          .problem = {}};
}

class FilesystemTest : public ::testing::Test {
 protected:
  std::shared_ptr<FakeAsked<std::vector<MountUsage>>> worker_ =
      std::make_shared<FakeAsked<std::vector<MountUsage>>>();
  std::unique_ptr<Collector> made_ = make_filesystem_collector(worker_);
  Collector* collector_ = made_.get();
  Ticks ticks_{std::move(made_)};
};

TEST_F(FilesystemTest, AsksAndTakesTheAnswerLater) {
  EXPECT_FALSE(collector_->has_news());
  EXPECT_THAT(ticks_.tick(), IsEmpty());
  EXPECT_TRUE(ticks_.status()) << "it has only just been asked for";
  EXPECT_EQ(worker_->asked, 1);
  worker_->answer(std::vector{usage("/home", "srv:/x", MountState::read, 100)});
  EXPECT_TRUE(collector_->has_news());
  const auto values = ticks_.tick();
  EXPECT_EQ(values.at("filesystem.size srv:/x nfs4 /home"), 100);
  EXPECT_EQ(values.at("filesystem.available srv:/x nfs4 /home"), 40);
  EXPECT_EQ(values.at("filesystem.files_free srv:/x nfs4 /home"), 3);
  EXPECT_EQ(values.at("filesystem.device_error srv:/x nfs4 /home"), 0);
  EXPECT_EQ(values.at("filesystem.readonly srv:/x nfs4 /home"), 0);
  EXPECT_EQ(worker_->asked, 1) << "what has just come is not asked for again";
  EXPECT_FALSE(collector_->has_news());
  EXPECT_EQ(ticks_.tick(), values) << "until the next answer the last one counts";
  EXPECT_EQ(worker_->asked, 2);
}

TEST_F(FilesystemTest, AHungMountIsAnAbsentValueWithAReason) {
  worker_->answer(
      std::vector{usage("/a", "a", MountState::read, 1), usage("/b", "b", MountState::read, 1)});
  EXPECT_THAT(ticks_.tick(), SizeIs(14));
  worker_->answer(
      std::vector{usage("/a", "a", MountState::hangs, 1), usage("/b", "b", MountState::failed, 1)});
  const auto values = ticks_.tick();
  EXPECT_THAT(values, SizeIs(4));
  EXPECT_EQ(values.at("filesystem.device_error a nfs4 /a"), 1);
  EXPECT_EQ(values.at("filesystem.readonly b nfs4 /b"), 0);
  const AbsentCounts& absences = ticks_.writer().absences(0);
  EXPECT_EQ(absences[static_cast<std::size_t>(AbsentReason::stale)], 5U);
  EXPECT_EQ(absences[static_cast<std::size_t>(AbsentReason::unreadable)], 5U);
  EXPECT_TRUE(ticks_.status());
}

TEST_F(FilesystemTest, MountsComeGoAndAreReplaced) {
  worker_->answer(std::vector{usage("/a b\\c", "x", MountState::read, 1)});
  EXPECT_EQ(ticks_.tick().at("filesystem.size x nfs4 /a b\\c"), 1);
  worker_->answer(std::vector{usage("/a b\\c", "y", MountState::read, 2)});
  const auto values = ticks_.tick();
  EXPECT_EQ(values.at("filesystem.size y nfs4 /a b\\c"), 2);
  EXPECT_FALSE(values.contains("filesystem.size x nfs4 /a b\\c"));
  std::vector<MountUsage> many;
  for (int i = 0; i < 700; ++i) {
    many.push_back(usage(fmt::format("/pods/{}", i), "t", MountState::read, 5));
  }
  worker_->answer(many);
  EXPECT_THAT(ticks_.tick(), SizeIs(7 * 700));
  worker_->answer(std::vector<MountUsage>{});
  EXPECT_THAT(ticks_.tick(), IsEmpty());
}

TEST_F(FilesystemTest, AWorkerThatDoesNotAnswerMakesItStale) {
  worker_->answer(std::vector{usage("/a", "a", MountState::read, 1)});
  EXPECT_THAT(ticks_.tick(), Not(IsEmpty()));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(ticks_.tick(), Not(IsEmpty()));
  EXPECT_THAT(ticks_.tick(), IsEmpty());
  EXPECT_EQ(ticks_.status().error().kind, ErrorKind::timed_out);
  worker_->answer(fail(ErrorKind::failed, "no /proc"));
  EXPECT_THAT(ticks_.tick(), IsEmpty());
  EXPECT_EQ(ticks_.status().error().message, "no /proc");
}

TEST(Filesystem, WithoutAWorkerItIsNotAvailable) {
  Ticks ticks(make_filesystem_collector(nullptr));
  EXPECT_THAT(ticks.tick(), IsEmpty());
  EXPECT_EQ(ticks.status().error().kind, ErrorKind::unavailable);
}

TextFile file(std::string path, std::string text) {
  return {.path = std::move(path), .modified_s = 12, .text = std::move(text), .problem = {}};
}

class TextfileTest : public ::testing::Test {
 protected:
  std::map<std::string, double> tick(std::vector<TextFile> files) {
    worker_->answer(std::move(files));
    return ticks_.tick();
  }
  std::string problem() const {
    EXPECT_TRUE(ticks_.status()) << "as with node_exporter, no failure of the collector";
    return std::string(ticks_.collector().problem());
  }

  std::shared_ptr<FakeAsked<std::vector<TextFile>>> worker_ =
      std::make_shared<FakeAsked<std::vector<TextFile>>>();
  Ticks ticks_{make_textfile_collector(worker_)};
};

TEST_F(TextfileTest, SeriesOfFiles) {
  const auto values = tick({file("/d/a.prom", "reboot_needed 1\njobs{q=\"a\"} 5\njobs 6\n"),
                            file("/d/b.prom", "jobs{q=\"b\",x=\"y\"} 7\n")});
  EXPECT_EQ(values.at("reboot_needed"), 1);
  EXPECT_EQ(values.at("jobs a "), 5) << "each has all labels of the family";
  EXPECT_EQ(values.at("jobs  "), 6);
  EXPECT_EQ(values.at("jobs b y"), 7);
  EXPECT_EQ(values.at("textfile.mtime /d/a.prom"), 12);
  EXPECT_EQ(values.at("textfile.scrape_error"), 0);
  EXPECT_EQ(problem(), "");
  // Other labels are other series; what stays keeps its own.
  const auto later = tick({file("/d/a.prom", "reboot_needed 0\njobs{q=\"a\"} 9\n")});
  EXPECT_EQ(later.at("jobs a"), 9);
  EXPECT_FALSE(later.contains("jobs a "));
  EXPECT_THAT(later, SizeIs(4));
  EXPECT_EQ(ticks_.tick(), later) << "unchanged files are told again";
}

TEST_F(TextfileTest, AFileThatIsWrongCostsItselfOnly) {
  const auto values =
      tick({file("/d/a.prom", "good 1\n"),
            file("/d/b.prom", "x 1\nbad\n"),
            {.path = "/d/c.prom", .modified_s = 0, .text = {}, .problem = "/d/c.prom: no"}});
  EXPECT_EQ(values.at("good"), 1);
  EXPECT_FALSE(values.contains("x"));
  EXPECT_FALSE(values.contains("textfile.mtime /d/b.prom"));
  EXPECT_EQ(values.at("textfile.scrape_error"), 1);
  EXPECT_THAT(problem(), HasSubstr("/d/b.prom: line 2"));
  EXPECT_THAT(problem(), HasSubstr("1 more"));
  EXPECT_EQ(tick({file("/d/b.prom", "x 1\n")}).at("textfile.scrape_error"), 0);
  EXPECT_EQ(problem(), "");
}

TEST_F(TextfileTest, AllFilesTogetherAreBounded) {
  // Each name another: what names cost may not grow with their square either.
  const auto names = [](char prefix, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += fmt::format("{}{} 1\n", prefix, i);
    return text;
  };
  const auto values = tick({file("/d/a", names('a', 9'000)), file("/d/b", names('b', 9'000)),
                            file("/d/c", names('c', 9'000)), file("/d/d", names('d', 2'000))});
  EXPECT_TRUE(values.contains("b8999"));
  EXPECT_FALSE(values.contains("c0"));
  EXPECT_TRUE(values.contains("d1999"));
  EXPECT_EQ(values.at("textfile.scrape_error"), 1);
  EXPECT_EQ(problem(), "/d/c: left out: with it there were over 20000 values in all files");
}

TEST_F(TextfileTest, FilesThatDoNotAgree) {
  tick({file("a", "# TYPE x gauge\nx 1\n"), file("b", "# TYPE x counter\nx{l=\"\"} 2\n")});
  EXPECT_THAT(problem(), HasSubstr("x is a counter, and a gauge in another file"));
  tick({file("a", "# HELP x One\nx 1\n"), file("b", "# HELP x Two\nx{l=\"1\"} 2\n")});
  EXPECT_THAT(problem(), HasSubstr("another help text"));
  const auto values = tick({file("a", "x 1\n"), file("b", "x 2\n")});
  EXPECT_THAT(problem(), HasSubstr("twice"));
  EXPECT_EQ(values.at("x"), 1) << "the first one counts";
}

TEST_F(TextfileTest, WithoutADirectoryThereIsNoError) {
  Ticks ticks(make_textfile_collector(nullptr));
  EXPECT_EQ(ticks.tick().at("textfile.scrape_error"), 0);
}

TEST_F(TextfileTest, ADirectoryThatIsGone) {
  EXPECT_EQ(tick({file("/d/a.prom", "x 1\n")}).at("x"), 1);
  worker_->answer(fail(ErrorKind::not_found, "/d: No such file or directory"));
  const auto values = ticks_.tick();
  EXPECT_EQ(values.at("textfile.scrape_error"), 1);
  EXPECT_FALSE(values.contains("x"));
  EXPECT_EQ(problem(), "/d: No such file or directory");
  EXPECT_EQ(tick({file("/d/a.prom", "x 1\n")}).at("x"), 1);
  EXPECT_EQ(problem(), "");
}

TEST_F(TextfileTest, AWorkerThatDoesNotAnswerIsAFailure) {
  tick({});
  for (int i = 0; i < 4; ++i) ticks_.tick();
  EXPECT_EQ(ticks_.status().error().kind, ErrorKind::timed_out);
}

class SystemdTest : public ::testing::Test {
 protected:
  std::map<std::string, double> tick(std::vector<UnitState> units) {
    worker_->answer(std::move(units));
    return ticks_.tick();
  }

  std::shared_ptr<FakeAsked<std::vector<UnitState>>> worker_ =
      std::make_shared<FakeAsked<std::vector<UnitState>>>();
  Ticks ticks_{make_systemd_collector(worker_)};
};

TEST_F(SystemdTest, AUnitIsInOneOfFiveStates) {
  const auto values = tick({{"ssh.service", "loaded", "active", "notify"},
                            {"a.mount", "loaded", "failed", ""},
                            {"x.service", "loaded", "reloading", "simple"}});
  EXPECT_THAT(values, SizeIs(15));
  EXPECT_EQ(values.at("systemd.unit_state ssh.service active notify"), 1);
  EXPECT_EQ(values.at("systemd.unit_state ssh.service failed notify"), 0);
  EXPECT_EQ(values.at("systemd.unit_state a.mount failed "), 1);
  EXPECT_EQ(values.at("systemd.unit_state x.service active simple"), 0) << "as node_exporter says";
  EXPECT_EQ(ticks_.collector().problem(), "");
}

TEST_F(SystemdTest, AUnitThatIsNotLoadedIsAProblem) {
  EXPECT_THAT(tick({{"ssh.service", "loaded", "active", "notify"}}), SizeIs(5));
  EXPECT_THAT(
      tick({{"ssh.service", "not-found", "inactive", ""}, {"b.service", "masked", "inactive", ""}}),
      IsEmpty());
  EXPECT_TRUE(ticks_.status());
  EXPECT_EQ(ticks_.collector().problem(), "ssh.service is not-found, b.service is masked");
  EXPECT_THAT(tick({{"ssh.service", "loaded", "failed", "notify"}}), SizeIs(5));
  EXPECT_EQ(ticks_.collector().problem(), "");
}

TEST(Systemd, WithoutNamesItIsOff) {
  Ticks ticks(make_systemd_collector(nullptr));
  EXPECT_THAT(ticks.tick(), IsEmpty());
  EXPECT_EQ(ticks.status().error().kind, ErrorKind::unavailable);
}

}  // namespace
}  // namespace dynolog
