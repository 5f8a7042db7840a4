// Kineto's configuration: what is built, what is accepted of a caller, where the file will be.
#include "profiling/trace_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profiling/trace_keys.h"

namespace dynolog {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

ProcessFacts process(std::int32_t namespace_pid = 42, bool gpu = false) {
  ProcessFacts facts;
  facts.namespace_pid = namespace_pid;
  facts.holds_gpu = gpu;
  return facts;
}

TorchFacts torch(const std::string& version) {
  TorchFacts facts;
  facts.version = version;
  return facts;
}

TraceOptions options(const std::string& file = "/tmp/x/trace.json") {
  TraceOptions result;
  result.log_file = file;
  return result;
}

TraceRequest built(const TraceOptions& what, const ProcessFacts& facts = process(),
                   const TorchFacts& library = torch("2.13.0+cpu"), std::string_view suffix = "") {
  auto request = build_trace_request(what, facts, library, "77", suffix);
  EXPECT_TRUE(request) << request.error().message;
  return request.value_or(TraceRequest{});
}

std::string refused(const TraceOptions& what, const TorchFacts& library = torch("2.13.0")) {
  const auto request = build_trace_request(what, process(), library, "77", "");
  return request ? "accepted" : request.error().message;
}

TEST(BuildTraceRequest, ADuration) {
  const TraceRequest request = built(options());
  EXPECT_EQ(request.config,
            "ACTIVITIES_LOG_FILE=/tmp/x/trace.json\nACTIVITIES_WARMUP_PERIOD_SECS=0\n"
            "ACTIVITIES_DURATION_MSECS=500\nPROFILE_REPORT_INPUT_SHAPES=false\n"
            "PROFILE_WITH_STACK=false\nPROFILE_WITH_FLOPS=false\nPROFILE_WITH_MODULES=false\n");
  EXPECT_EQ(request.file, "/tmp/x/trace_42.json");
  EXPECT_EQ(request.trace_id, "77");
  EXPECT_EQ(request.start_lead, Nanoseconds(Milliseconds(1200)));
  EXPECT_FALSE(request.asked_start.has_value());
  EXPECT_EQ(request.window, Nanoseconds(Milliseconds(500)));
}

TEST(BuildTraceRequest, TheWarmUpIsWrittenAndAddsToTheLead) {
  const TraceRequest gpu = built(options(), process(42, true));
  EXPECT_THAT(gpu.config, HasSubstr("ACTIVITIES_WARMUP_PERIOD_SECS=1\n"));
  EXPECT_EQ(gpu.start_lead, Nanoseconds(Milliseconds(2200)));
  TraceOptions asked = options();
  asked.warmup_s = 3;
  EXPECT_THAT(built(asked).config, HasSubstr("ACTIVITIES_WARMUP_PERIOD_SECS=3\n"));
  EXPECT_EQ(built(asked).start_lead, Nanoseconds(Milliseconds(4200)));
  asked.warmup_s = 0;
  EXPECT_THAT(built(asked, process(42, true)).config,
              HasSubstr("ACTIVITIES_WARMUP_PERIOD_SECS=0\n"));
}

TEST(BuildTraceRequest, IterationsSendTheDurationToo) {
  TraceOptions what = options();
  what.iterations = 30;
  what.iteration_roundup = 50;
  what.start_time_ms = 1700000000000;  // iterations take precedence
  const TraceRequest request = built(what);
  EXPECT_THAT(request.config, HasSubstr("ACTIVITIES_DURATION_MSECS=500\nPROFILE_START_ITERATION=0\n"
                                        "PROFILE_START_ITERATION_ROUNDUP=50\n"
                                        "ACTIVITIES_ITERATIONS=30\n"));
  EXPECT_EQ(request.config.find("PROFILE_START_TIME"), std::string::npos);
  EXPECT_FALSE(request.start_lead.has_value());
  EXPECT_FALSE(request.asked_start.has_value());
  EXPECT_EQ(request.iterations, 30);
}

TEST(BuildTraceRequest, AnAskedStartIsTheTextsOwn) {
  TraceOptions what = options();
  what.start_time_ms = 1700000000123;
  const TraceRequest request = built(what);
  EXPECT_THAT(request.config, HasSubstr("PROFILE_START_TIME=1700000000123\n"));
  EXPECT_FALSE(request.start_lead.has_value());
  EXPECT_EQ(epoch_milliseconds(request.asked_start.value()), 1700000000123);
}

TEST(BuildTraceRequest, EveryProcessHasAFileOfItsOwn) {
  struct Case {
    const char *given, *suffix, *config, *file;
  };
  const Case cases[] = {
      {"/tmp/a.json", "", "/tmp/a.json", "/tmp/a_42.json"},
      {"/tmp/a.pt.trace.json", "", "/tmp/a.pt.trace.json", "/tmp/a_42.pt.trace.json"},
      {"/tmp/a.json.gz", "", "/tmp/a.json.gz", "/tmp/a_42.json.gz"},
      {"/tmp/a", "", "/tmp/a_42", "/tmp/a_42"},
      {"/tmp/a.json", "h9", "/tmp/a_h9.json", "/tmp/a_h9_42.json"},
      {"/tmp/a", "h9", "/tmp/a_h9_42", "/tmp/a_h9_42"},
  };
  for (const Case& c : cases) {
    const TraceRequest request = built(options(c.given), process(), torch("2.13.0"), c.suffix);
    EXPECT_THAT(request.config, StartsWith("ACTIVITIES_LOG_FILE=" + std::string(c.config) + "\n"));
    EXPECT_EQ(request.file, c.file);
  }
}

TEST(BuildTraceRequest, AMemorySnapshotComesBeforeThePath) {
  TraceOptions what = options();
  what.profile_memory = true;
  ProcessFacts on_gpu = process();
  on_gpu.holds_gpu = true;
  const TraceRequest request = built(what, on_gpu);
  EXPECT_THAT(request.config, StartsWith("PROFILE_MEMORY=true\nPROFILE_MEMORY_DURATION_MSECS=500\n"
                                         "ACTIVITIES_LOG_FILE=/tmp/x/trace_42.pickle\n"));
  EXPECT_THAT(request.config, HasSubstr("PROFILE_PROFILE_MEMORY=true\n"));
  EXPECT_EQ(request.file, "/tmp/x/trace_42.pickle");
  EXPECT_TRUE(request.memory_snapshot);
  const auto without = build_trace_request(what, process(), torch("2.13.0"), "7", "");
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error().message, HasSubstr("needs a process that holds a GPU"));
  const TraceRequest old = built(what, process(), torch("2.7.1"));
  EXPECT_FALSE(old.memory_snapshot);
  EXPECT_EQ(old.config.find("\nPROFILE_MEMORY="), std::string::npos);
  EXPECT_THAT(old.config, StartsWith("ACTIVITIES_LOG_FILE="));
  EXPECT_EQ(old.file, "/tmp/x/trace_42.json");
}

TEST(BuildTraceRequest, FurtherKeys) {
  TraceOptions what = options();
  what.with_stacks = true;
  what.set = {{"ACTIVITY_TYPES", "cpu_op,Kernel"}, {"ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB", "256"}};
  EXPECT_THAT(built(what).config,
              HasSubstr("PROFILE_WITH_STACK=true\nPROFILE_WITH_FLOPS=false\n"
                        "PROFILE_WITH_MODULES=false\nACTIVITY_TYPES=cpu_op,Kernel\n"
                        "ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB=256\n"));
}

TEST(BuildTraceRequest, RefusesWithTheKeysName) {
  struct Case {
    std::pair<std::string, std::string> set;
    const char* message;
  };
  const Case cases[] = {
      {{"ACTIVITY_TYPE", "cpu_op"}, "did you mean ACTIVITY_TYPES?"},
      {{"ACTIVITY_TYPES", "cpu_op,kernels"}, "ACTIVITY_TYPES: unknown activity type \"kernels\""},
      {{"ACTIVITIES_LOG_FILE", "/tmp/y"}, "ACTIVITIES_LOG_FILE is set by --log-file"},
      {{"REQUEST_TRACE_ID", "1"}, "REQUEST_TRACE_ID is set by the session"},
      {{"ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB", "x"}, "ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB: \"x\""},
      {{"ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB", "0"}, "whole number from 1"},
      {{"ACTIVITIES_ENABLED", "maybe"}, "neither true nor false"},
      {{"CUSTOM_CONFIG", "a\nACTIVITIES_LOG_FILE=/etc/x"}, "CUSTOM_CONFIG"},
      {{"CUSTOM_CONFIG", "a\nb"}, "control characters"},
      {{"CUSTOM_CONFIG", "a#b"}, "'#'"},
      {{"CUSTOM_CONFIG", " a"}, "blank"},
      {{"CUPTI_PM_SAMPLING_METRICS", "m"}, "needs torch 2.15 or newer; the process has 2.13.0"},
      {{"ENABLE_SIGUSR2", "true"}, "no such key"},
      {{"A\nB", "1"}, "no such key"},
  };
  for (const Case& c : cases) {
    TraceOptions what = options();
    what.set = {c.set};
    EXPECT_THAT(refused(what), HasSubstr(c.message));
  }
}

TEST(BuildTraceRequest, RefusesValuesOutOfRange) {
  const auto with = [](auto change) {
    TraceOptions what = options();
    change(what);
    return refused(what);
  };
  EXPECT_THAT(with([](TraceOptions& o) { o.duration_ms = 0; }), HasSubstr("--duration-ms 0"));
  EXPECT_THAT(with([](TraceOptions& o) { o.duration_ms = 86400001; }), HasSubstr("--duration-ms"));
  EXPECT_THAT(with([](TraceOptions& o) { o.iterations = -1; }), HasSubstr("--iterations"));
  EXPECT_THAT(with([](TraceOptions& o) { o.iterations = 1LL << 31; }), HasSubstr("--iterations"));
  EXPECT_THAT(with([](TraceOptions& o) { o.start_time_ms = -1; }), HasSubstr("start-time"));
  EXPECT_THAT(with([](TraceOptions& o) { o.warmup_s = -1; }), HasSubstr("--warmup"));
  EXPECT_THAT(with([](TraceOptions& o) {
                o.iterations = 5;
                o.iteration_roundup = 0;
              }),
              HasSubstr("roundup 0"));
}

TEST(CheckTracePath, NamesWhatCannotWork) {
  struct Case {
    std::string path;
    const char* message;
  };
  const Case cases[] = {
      {"", "is empty"},
      {"trace.json", "not absolute"},
      {"/tmp/run=1/x.json", "'='"},
      {"/tmp/a#b.json", "'#'"},
      {"/tmp/a\nb.json", "control characters"},
      {"/tmp/\xff.json", "UTF-8"},
      {"/tmp/\"x\".json", "quote"},
      {"/tmp/it's.json", "quote"},
      {"/tmp/../etc/x.json", "\"..\""},
      {"/tmp/x.json/y.json", "directory's name"},
      {"/tmp/x/", "names a directory"},
      {"/tmp/x.json ", "blank"},
      {"/tmp/" + std::string(201, 'x'), "longer than 200"},
      {"/" + std::string(4000, 'x'), "longer than 4000"},
  };
  for (const Case& c : cases) EXPECT_THAT(refused(options(c.path)), HasSubstr(c.message)) << c.path;
  EXPECT_TRUE(check_trace_path("/data/my run, α/x (1).json"));
}

// The text that the existing client sends, to the byte.
const std::string kDurationText =
    "ACTIVITIES_LOG_FILE=/tmp/t.json\nPROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS=500\n"
    "PROFILE_REPORT_INPUT_SHAPES=false\nPROFILE_WITH_STACK=false\nPROFILE_WITH_FLOPS=false\n"
    "PROFILE_WITH_MODULES=false";
const std::string kIterationText =
    "ACTIVITIES_LOG_FILE=/tmp/t.json\nPROFILE_START_ITERATION=0\n"
    "PROFILE_START_ITERATION_ROUNDUP=1000\nACTIVITIES_ITERATIONS=5\n"
    "PROFILE_REPORT_INPUT_SHAPES=true\nPROFILE_PROFILE_MEMORY=true\nPROFILE_MEMORY=true\n"
    "PROFILE_MEMORY_DURATION_MSECS=500\nPROFILE_WITH_STACK=true\nPROFILE_WITH_FLOPS=true\n"
    "PROFILE_WITH_MODULES=true";

TEST(CheckTraceConfig, TheExistingClientsTextStaysAsItIs) {
  for (const char* version : {"", "2.0.1", "2.7.1", "2.13.0+cpu", "2.14.1"}) {
    const auto request = check_trace_config(kDurationText, process(), torch(version), "5");
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(request->config, kDurationText);
    EXPECT_EQ(request->file, "/tmp/t_42.json");
    EXPECT_EQ(request->warmup, Nanoseconds(std::chrono::seconds(5)));
    EXPECT_EQ(request->window, Nanoseconds(Milliseconds(500)));
    EXPECT_FALSE(request->start_lead.has_value());
    EXPECT_FALSE(request->asked_start.has_value());
    EXPECT_EQ(handed_over_text(*request, WallTime{}), kDurationText + "\nREQUEST_TRACE_ID=5\n");
    EXPECT_EQ(request->default_lead,
              Nanoseconds(std::chrono::seconds(std::string(version) == "2.0.1" ? 10 : 2)));
  }
}

TEST(CheckTraceConfig, TheExistingIterationText) {
  const auto request = check_trace_config(kIterationText, process(), torch("2.13.0"), "5");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->config, kIterationText);
  EXPECT_EQ(request->iterations, 5);
  // PROFILE_MEMORY after the path undoes it.
  EXPECT_TRUE(request->memory_snapshot);
  EXPECT_EQ(request->file, "/tmp/memory_snapshot_42.pickle");
}

TEST(CheckTraceConfig, ReadsWhatItSays) {
  const auto request = check_trace_config(
      "# by hand\n\n  ACTIVITIES_LOG_FILE = /tmp/a.json  \r\nACTIVITIES_WARMUP_PERIOD_SECS=2\n"
      "PROFILE_START_TIME=1700000000000\nACTIVITIES_DURATION_SECS=3\nPROFILE_MEMORY=no\n",
      process(), torch("2.13.0"), "5");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->file, "/tmp/a_42.json");
  EXPECT_EQ(request->warmup, Nanoseconds(std::chrono::seconds(2)));
  EXPECT_EQ(request->window, Nanoseconds(std::chrono::seconds(3)));
  EXPECT_EQ(epoch_milliseconds(request->asked_start.value()), 1700000000000);
  EXPECT_FALSE(request->memory_snapshot);
  const auto unnamed = check_trace_config("ACTIVITIES_DURATION_MSECS=9", process(), {}, "5");
  EXPECT_EQ(unnamed.value().file, "/tmp/libkineto_activities_42.json");
}

TEST(CheckTraceConfig, ThePathStandsWhereItFollowsPROFILE_MEMORY) {
  const auto request = check_trace_config("PROFILE_MEMORY=true\nACTIVITIES_LOG_FILE=/tmp/m.pickle",
                                          process(), torch("2.13.0"), "5");
  EXPECT_EQ(request.value().file, "/tmp/m.pickle");
}

TEST(CheckTraceConfig, RefusesWithLineAndKey) {
  struct Case {
    std::string text;
    const char* version;
    const char* message;
  };
  const Case cases[] = {
      {"", "", "holds no key"},
      {"# nothing\n", "", "holds no key"},
      {"ACTIVITIES_ENABLED=true\nnonsense", "", "line 2: \"nonsense\" is not KEY=VALUE"},
      {"\nACTIVITIES_DURATION_MSEC=5", "", "line 2: ACTIVITIES_DURATION_MSEC: Kineto knows no"},
      {"ACTIVITIES_DURATION_MSECS=-5", "", "line 1: ACTIVITIES_DURATION_MSECS"},
      {"ACTIVITIES_DURATION_MSECS=", "", "ACTIVITIES_DURATION_MSECS"},
      {"ACTIVITIES_DURATION_MSECS=5s", "", "ACTIVITIES_DURATION_MSECS"},
      {"ACTIVITIES_DURATION_MSECS=99999999999999999999", "", "ACTIVITIES_DURATION_MSECS"},
      {"ACTIVITIES_LOG_FILE=/tmp/a=b.json", "", "ACTIVITIES_LOG_FILE"},
      {"ACTIVITIES_LOG_FILE=/tmp/a#b.json", "", "ACTIVITIES_LOG_FILE"},
      {"ACTIVITIES_LOG_FILE=/tmp/../b.json", "", "ACTIVITIES_LOG_FILE"},
      {"ACTIVITIES_LOG_FILE=/tmp/\x1b.json", "", "control characters"},
      {"ACTIVITIES_ENABLED=true\n#\xff", "", "line 2"},
      {"PROFILE_WITH_STACK=true", "2.0.1", "PROFILE_WITH_STACK: needs torch 2.1"},
      {"PROFILE_MEMORY=true", "2.7.1", "PROFILE_MEMORY: needs torch 2.8"},
      {"ACTIVITIES_LOG_URL=x", "", "ACTIVITIES_LOG_URL"},
      {"ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=0", "", "ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS"},
      {std::string(40000, '\n'), "", "8 KiB"},
  };
  for (const Case& c : cases) {
    const auto request = check_trace_config(c.text, process(), torch(c.version), "5");
    ASSERT_FALSE(request) << c.text;
    EXPECT_THAT(request.error().message, HasSubstr(c.message));
    EXPECT_EQ(request.error().kind, ErrorKind::invalid);
  }
}

TEST(CheckTraceConfig, WhatTheLibraryProvesCountsMoreThanItsVersion) {
  TorchFacts library = torch("2.7.1");
  library.knows_memory_snapshot = true;
  EXPECT_TRUE(check_trace_config("PROFILE_MEMORY=true", process(), library, "5"));
}

TEST(HandedOverText, AddsStartAndIdOnLinesOfTheirOwn) {
  TraceRequest request;
  request.config = "A=1";
  request.trace_id = "9";
  request.start_lead = Milliseconds(1200);
  const WallTime now{Milliseconds(1700000000000)};
  EXPECT_EQ(handed_over_text(request, now),
            "A=1\nPROFILE_START_TIME=1700000001200\nREQUEST_TRACE_ID=9\n");
  request.start_lead.reset();
  request.config = "A=1\n";
  EXPECT_EQ(handed_over_text(request, now), "A=1\nREQUEST_TRACE_ID=9\n");
  request.trace_id = "";
  EXPECT_EQ(handed_over_text(request, now), "A=1\n");
}

TEST(KinetoFileName, PutsThePidWhereKinetoDoes) {
  EXPECT_EQ(kineto_file_name("/tmp/a.json", 7), "/tmp/a_7.json");
  EXPECT_EQ(kineto_file_name("/tmp/a.pt.trace.json", 7), "/tmp/a_7.pt.trace.json");
  EXPECT_EQ(kineto_file_name("/tmp/a.json.d/b.pt.trace.json", 7),
            "/tmp/a.json.d/b_7.pt.trace.json");
  EXPECT_EQ(kineto_file_name("/tmp/a.json.d/b.json", 7), "/tmp/a_7.json.d/b.json");
  EXPECT_EQ(kineto_file_name("/tmp/a", 7), "/tmp/a");
}

TEST(WhereWritten, NewerTorchObeysOnlyOneDirectory) {
  TorchFacts library = torch("2.14.1");
  library.knows_ondemand_trace_dir = true;
  ProcessFacts facts = process();
  EXPECT_EQ(where_written("/tmp/d/a.json", facts, library).path, "/tmp/d/a_42.json");
  EXPECT_EQ(where_written("/tmp/d/a.json", facts, library).note, "");
  const WhereWritten home = where_written("/home/a.json", facts, library);
  EXPECT_EQ(home.path, "/tmp/libkineto_activities_42.json");
  EXPECT_THAT(home.note, HasSubstr("only below /tmp/"));
  EXPECT_EQ(where_written("/tmpfs/a.json", facts, library).path,
            "/tmp/libkineto_activities_42.json");
  facts.ondemand_trace_dir = "/home";
  EXPECT_EQ(where_written("/home/a.json", facts, library).path, "/home/a_42.json");
  EXPECT_EQ(where_written("/homes/a.json", facts, library).path,
            "/tmp/libkineto_activities_42.json");
  // The variable replaces /tmp.
  EXPECT_THAT(where_written("/tmp/a.json", facts, library).note, HasSubstr("only below /home/"));
  EXPECT_EQ(where_written("/srv/a.json", facts, torch("2.13.0")).path, "/srv/a_42.json");
}

}  // namespace
}  // namespace dynolog
