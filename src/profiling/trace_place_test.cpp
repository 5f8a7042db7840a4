// Where a trace is written and where it is to lie: by the user's path and the version's rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profiling/trace_config.h"
#include "profiling/trace_keys.h"

namespace dynolog {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kOurs = "dynolog-00112233aabbccdd";

ProcessFacts process(std::optional<int> rank = std::nullopt) {
  ProcessFacts facts;
  facts.namespace_pid = 42;
  facts.job.rank = rank;
  facts.job.job = JobId{"7/x"};
  facts.holds_gpu = true;
  return facts;
}

TorchFacts torch(const std::string& version) {
  TorchFacts facts;
  facts.version = version;
  return facts;
}

PlaceNames names(const std::string& suffix = "") {
  return {.host = "node1",
          .time = "20261130-062542Z",
          .unique = "00112233aabbccdd",
          .unique_suffix = suffix};
}

TraceOptions options(const std::string& path) {
  TraceOptions result;
  result.log_file = path;
  return result;
}

TracePlace placed(const std::string& path, const std::string& version,
                  const ProcessFacts& facts = process(), const PlaceNames& called = names()) {
  const auto place = place_trace(options(path), facts, torch(version), called);
  EXPECT_TRUE(place) << place.error().message;
  return place.value_or(TracePlace{});
}

TracePlace itself(const std::string& path, const std::string& version,
                  const ProcessFacts& facts = process()) {
  const auto place = place_trace_itself(options(path), facts, torch(version), names());
  EXPECT_TRUE(place) << place.error().message;
  return place.value_or(TracePlace{});
}

TEST(PlaceTrace, BesideTheTargetWhereKinetoCanWriteThere) {
  for (const char* version : {"", "2.3.1", "2.13.0+cpu"}) {
    const TracePlace place = placed("/home/ada/t.json", version);
    EXPECT_EQ(place.target, "/home/ada/t_42.json");
    EXPECT_EQ(place.log_file, "/home/ada/" + kOurs + ".json");
    EXPECT_EQ(place.file, "/home/ada/" + kOurs + "_42.json");
    // Even a version that is not known may do as the newest does.
    EXPECT_THAT(place.elsewhere, ElementsAre("/tmp/libkineto_activities_42.json"));
    EXPECT_FALSE(place.in_place);
    EXPECT_EQ(place.note, "");
  }
}

TEST(PlaceTrace, WhatWasNamedIsKeptWhereTheTargetIsAnother) {
  EXPECT_EQ(placed("/home/ada/t", "2.13.0").named, "/home/ada/t");
  EXPECT_EQ(placed("/home/{job}", "2.13.0").named, "/home/7_x");
  EXPECT_EQ(placed("/home/t_{pid}.json", "2.13.0").named, "") << "it is the target";
  EXPECT_EQ(itself("/tmp/t", "2.13.0").named, "/tmp/t");
}

TEST(PlaceTrace, TheTargetMayHoldWhateverAFileSystemTakes) {
  const std::string name = "a=b #1 'x' \"ü\" .json.d, %$&.json";
  const TracePlace place = placed("/data/" + name, "2.13.0");
  EXPECT_EQ(place.target, "/data/a=b #1 'x' \"ü\" .json.d, %$&_42.json");
  EXPECT_EQ(place.file, "/data/" + kOurs + "_42.json");
  EXPECT_EQ(place.note, "");
  EXPECT_EQ(placed("/data/a..b.json", "2.14.1").target, "/data/a..b_42.json");
}

TEST(PlaceTrace, ADirectoryThatKinetoCannotBeToldIsMovedTo) {
  struct Case {
    const char *directory, *why;
  };
  const Case cases[] = {{"/data/run=1/", "'='"},        {"/data/a#b/", "'#'"},
                        {"/data/it's/", "quote"},       {"/data/\"x\"/", "quote"},
                        {"/data/x.json/", "\".json\""}, {"/data/a..b/", "\"..\""}};
  for (const Case& c : cases) {
    const TracePlace place = placed(std::string(c.directory) + "t.json", "2.13.0");
    EXPECT_EQ(place.target, std::string(c.directory) + "t_42.json");
    EXPECT_EQ(place.log_file, "/tmp/" + kOurs + ".json");
    EXPECT_EQ(place.file, "/tmp/" + kOurs + "_42.json");
    EXPECT_TRUE(check_trace_path(place.log_file));
    EXPECT_THAT(place.note, HasSubstr(c.why));
    EXPECT_THAT(place.note, HasSubstr("written to /tmp first and moved afterwards"));
    EXPECT_THAT(place.note, testing::Not(HasSubstr("KINETO_ONDEMAND_TRACE_DIR")));
  }
  // Blanks are nothing to Kineto but at the ends of a value.
  EXPECT_EQ(placed("/data/my runs /t.json", "2.13.0").log_file,
            "/data/my runs /" + kOurs + ".json");
}

TEST(PlaceTrace, NewerTorchWritesBelowOneDirectory) {
  const TracePlace below = placed("/tmp/d/t.json", "2.14.1");
  EXPECT_EQ(below.file, "/tmp/d/" + kOurs + "_42.json");
  EXPECT_EQ(below.note, "");
  const TracePlace home = placed("/home/ada/t.json", "2.14.1");
  EXPECT_EQ(home.target, "/home/ada/t_42.json");
  EXPECT_EQ(home.file, "/tmp/" + kOurs + "_42.json");
  EXPECT_THAT(home.elsewhere, ElementsAre("/tmp/libkineto_activities_42.json"));
  EXPECT_EQ(home.note,
            "PyTorch 2.14.1 writes on-demand traces only below /tmp/: this one is written to /tmp "
            "first and moved afterwards; KINETO_ONDEMAND_TRACE_DIR=/home/ada in the job's "
            "environment avoids the copy");
  // The library's own strings count where the version could not be read.
  TorchFacts unread;
  unread.knows_ondemand_trace_dir = true;
  const auto place = place_trace(options("/home/t.json"), process(), unread, names());
  EXPECT_EQ(place.value().file, "/tmp/" + kOurs + "_42.json");
  EXPECT_THAT(place.value().note, HasSubstr("this PyTorch writes"));
}

TEST(PlaceTrace, TheJobsOwnDirectoryForOnDemandTraces) {
  ProcessFacts facts = process();
  facts.ondemand_trace_dir = "/scratch/traces";
  EXPECT_EQ(placed("/scratch/traces/x/t.json", "2.14.1", facts).file,
            "/scratch/traces/x/" + kOurs + "_42.json");
  // It replaces /tmp.
  const TracePlace tmp = placed("/tmp/t.json", "2.14.1", facts);
  EXPECT_EQ(tmp.file, "/scratch/traces/" + kOurs + "_42.json");
  EXPECT_THAT(tmp.note, HasSubstr("only below /scratch/traces/"));
  EXPECT_THAT(tmp.elsewhere, ElementsAre("/tmp/libkineto_activities_42.json"));
  // Older versions know nothing of it: nobody made that directory for them.
  EXPECT_EQ(placed("/d=1/t.json", "2.13.0", facts).file, "/tmp/" + kOurs + "_42.json");
  EXPECT_EQ(placed("/d=1/t.json", "", facts).file, "/scratch/traces/" + kOurs + "_42.json");
}

TEST(PlaceTrace, ADirectoryOfTheJobsThatCannotBeTold) {
  ProcessFacts facts = process();
  facts.ondemand_trace_dir = "/scratch/run=1";
  const TracePlace place = placed("/home/t.json", "2.14.1", facts);
  EXPECT_EQ(place.file, "/tmp/libkineto_activities_42.json") << "no path is obeyed";
  EXPECT_THAT(place.elsewhere, IsEmpty());
  EXPECT_THAT(place.note, HasSubstr("only below /scratch/run=1/"));
}

TEST(PlaceTrace, BroughtToTheCaller) {
  for (const char* version : {"", "2.13.0", "2.14.1"}) {
    const TracePlace place = placed("", version);
    EXPECT_EQ(place.target, "");
    EXPECT_EQ(place.file, "/tmp/" + kOurs + "_42.json");
    EXPECT_EQ(place.note, "");
  }
  ProcessFacts facts = process();
  facts.ondemand_trace_dir = "/scratch/";
  EXPECT_EQ(placed("", "2.14.1", facts).file, "/scratch/" + kOurs + "_42.json");
}

TEST(PlaceTrace, TheTargetsNameIsAPattern) {
  EXPECT_EQ(placed("/d/{host}/{time}/r{rank}.json", "2.13.0", process(3)).target,
            "/d/node1/20261130-062542Z/r3.json");
  EXPECT_EQ(placed("/d/{job}/t.json", "2.13.0", process(3)).target, "/d/7_x/t_42.json");
  EXPECT_EQ(placed("/d/t.json", "2.13.0", process(), names("c1")).target, "/d/t_42_c1.json");
  ProcessFacts no_job = process();
  no_job.job.job = JobId{""};
  EXPECT_EQ(placed("/d/{job}_{pid}.json", "2.13.0", no_job).target, "/d/none_42.json");
}

TEST(PlaceTrace, RefusesWhatIsNoPathForAFile) {
  struct Case {
    std::string path;
    const char* message;
  };
  const Case cases[] = {
      {"t.json", "not absolute"},
      {"/tmp/../etc/t.json", "\"..\""},
      {"/tmp/..", "\"..\""},
      {"/tmp/d/", "names a directory"},
      {"/tmp/d/.", "names a directory"},
      {"/tmp/a\nb.json", "control characters"},
      {std::string("/tmp/a\0b.json", 13), "control characters"},
      {"/tmp/\xff.json", "UTF-8"},
      {"/tmp/" + std::string(250, 'x') + ".json", "longer than 240"},
      {"/" + std::string(3990, 'x') + "/t.json", "4000"},
      {"/tmp/{rnak}.json", "rnak"},
  };
  for (const Case& c : cases) {
    for (const auto place : {place_trace, place_trace_itself}) {
      const auto refused = place(options(c.path), process(), torch("2.13.0"), names());
      ASSERT_FALSE(refused) << c.path;
      EXPECT_THAT(refused.error().message, HasSubstr(c.message));
      EXPECT_EQ(refused.error().kind, ErrorKind::invalid);
    }
  }
}

TEST(PlaceTrace, AMemorySnapshotIsNamedByUs) {
  TraceOptions what = options("/home/ada/t.json");
  what.profile_memory = true;
  const auto place = place_trace(what, process(), torch("2.13.0"), names());
  EXPECT_EQ(place.value().target, "/home/ada/t_42.pickle");
  EXPECT_EQ(place.value().log_file, "/home/ada/" + kOurs + ".pickle");
  EXPECT_EQ(place.value().file, place.value().log_file) << "Kineto adds no pid";
  EXPECT_THAT(place.value().elsewhere, ElementsAre("/tmp/memory_snapshot_42.pickle"));
  EXPECT_EQ(place_trace(what, process(), torch("2.14.1"), names()).value().file,
            "/tmp/" + kOurs + ".pickle");
  // Before 2.8 it is an ordinary trace.
  EXPECT_EQ(place_trace(what, process(), torch("2.7.1"), names()).value().target,
            "/home/ada/t_42.json");
  EXPECT_EQ(place_trace_itself(what, process(), torch("2.13.0"), names()).value().file,
            "/home/ada/t_42.pickle");
}

TEST(PlaceTraceItself, KinetoWritesTheTarget) {
  struct Case {
    const char *given, *log_file, *file;
  };
  const Case cases[] = {
      {"/d/t.json", "/d/t.json", "/d/t_42.json"},
      {"/d/t.pt.trace.json", "/d/t.pt.trace.json", "/d/t_42.pt.trace.json"},
      {"/d/t", "/d/t_42", "/d/t_42"},
      {"/d/t_{pid}.json", "/d/t.json", "/d/t_42.json"},
      // Kineto adds the pid all the same.
      {"/d/r{rank}.json", "/d/r3.json", "/d/r3_42.json"},
  };
  for (const Case& c : cases) {
    const TracePlace place = itself(c.given, "2.13.0", process(3));
    EXPECT_EQ(place.log_file, c.log_file);
    EXPECT_EQ(place.file, c.file);
    EXPECT_EQ(place.target, c.file);
    EXPECT_TRUE(place.in_place);
    EXPECT_THAT(place.elsewhere, ElementsAre("/tmp/libkineto_activities_42.json"));
    EXPECT_EQ(place.note, "");
  }
  EXPECT_THAT(itself("/d/t.json.gz", "2.13.0").note, HasSubstr("does not compress"));
}

TEST(PlaceTraceItself, SaysWhatKinetoWouldMakeOfThePath) {
  struct Case {
    const char *path, *version, *message;
  };
  const Case cases[] = {
      {"/d/a=b.json", "2.13.0", "'=': Kineto drops such a request; nobody but the process"},
      {"/d/a#b.json", "2.13.0", "takes the rest for a comment"},
      {"/x.json/b.json", "2.13.0", "would put the pid there"},
      {"/home/t.json", "2.14.1",
       "PyTorch 2.14.1 writes on-demand traces only below /tmp/: choose a path there, or set "
       "KINETO_ONDEMAND_TRACE_DIR=/home"},
      {"", "2.13.0", "--log-file"},
  };
  for (const Case& c : cases) {
    const auto place = place_trace_itself(options(c.path), process(), torch(c.version), names());
    ASSERT_FALSE(place) << c.path;
    EXPECT_THAT(place.error().message, HasSubstr(c.message));
    EXPECT_EQ(place.error().kind, ErrorKind::invalid);
  }
}

}  // namespace
}  // namespace dynolog
