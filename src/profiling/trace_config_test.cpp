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

TraceOptions options() {
  TraceOptions result;
  result.log_file = "/tmp/x/trace.json";
  return result;
}

TracePlace place() {
  TracePlace result;
  result.target = "/tmp/x/trace_42.json";
  result.log_file = "/tmp/x/dynolog-0.json";
  result.file = "/tmp/x/dynolog-0_42.json";
  return result;
}

TraceRequest built(const TraceOptions& what, const ProcessFacts& facts = process(),
                   const TorchFacts& library = torch("2.13.0+cpu")) {
  auto request = build_trace_request(what, facts, library, "77", place());
  EXPECT_TRUE(request) << request.error().message;
  return request.value_or(TraceRequest{});
}

std::string refused(const TraceOptions& what, const TorchFacts& library = torch("2.13.0"),
                    bool gpu = false) {
  const auto request = build_trace_request(what, process(42, gpu), library, "77", place());
  if (request) return "accepted";
  EXPECT_EQ(request.error().kind, ErrorKind::invalid);
  return request.error().message;
}

TEST(BuildTraceRequest, ADuration) {
  const TraceRequest request = built(options());
  EXPECT_EQ(request.config,
            "ACTIVITIES_LOG_FILE=/tmp/x/dynolog-0.json\nACTIVITIES_WARMUP_PERIOD_SECS=0\n"
            "ACTIVITIES_DURATION_MSECS=500\nPROFILE_REPORT_INPUT_SHAPES=false\n"
            "PROFILE_WITH_STACK=false\nPROFILE_WITH_FLOPS=false\nPROFILE_WITH_MODULES=false\n");
  EXPECT_EQ(request.place.file, "/tmp/x/dynolog-0_42.json");
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

TEST(BuildTraceRequest, ThePlacesNoteIsSaidFirst) {
  TracePlace moved = place();
  moved.note = "written elsewhere first";
  TraceOptions what = options();
  what.iterations = 3;
  const auto request = build_trace_request(what, process(), torch("2.13.0"), "77", moved);
  ASSERT_EQ(request.value().notes.size(), 3U);
  EXPECT_EQ(request.value().notes.front(), "written elsewhere first");
}

TEST(BuildTraceRequest, AMemorySnapshotComesBeforeThePath) {
  TraceOptions what = options();
  what.profile_memory = true;
  ProcessFacts on_gpu = process();
  on_gpu.holds_gpu = true;
  const TraceRequest request = built(what, on_gpu);
  EXPECT_THAT(request.config, StartsWith("PROFILE_MEMORY=true\nPROFILE_MEMORY_DURATION_MSECS=500\n"
                                         "ACTIVITIES_LOG_FILE=/tmp/x/dynolog-0.json\n"));
  EXPECT_THAT(request.config, HasSubstr("PROFILE_PROFILE_MEMORY=true\n"));
  EXPECT_TRUE(request.memory_snapshot);
  EXPECT_THAT(refused(what), HasSubstr("needs a process that holds a GPU"));
  const TraceRequest old = built(what, process(), torch("2.7.1"));
  EXPECT_FALSE(old.memory_snapshot);
  EXPECT_EQ(old.config.find("\nPROFILE_MEMORY="), std::string::npos);
  EXPECT_THAT(old.config, StartsWith("ACTIVITIES_LOG_FILE="));
}

TEST(BuildTraceRequest, WhatIsRecorded) {
  TraceOptions what = options();
  what.with_stacks = true;
  what.activity_types = {"cpu_op", "kernel"};
  what.buffer_mb = 256;
  what.set = {{"CUSTOM_CONFIG", "x:y"}};
  EXPECT_THAT(built(what).config,
              HasSubstr("PROFILE_WITH_STACK=true\nPROFILE_WITH_FLOPS=false\n"
                        "PROFILE_WITH_MODULES=false\nACTIVITY_TYPES=cpu_op,kernel\n"
                        "ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB=256\nCUSTOM_CONFIG=x:y\n"));
}

TEST(BuildTraceRequest, AnActivityTypeThatThisVersionDoesNotKnow) {
  const auto with = [](const std::string& type, const std::string& version) {
    TraceOptions what = options();
    what.activity_types = {"cpu_op", type};
    return refused(what, torch(version));
  };
  EXPECT_THAT(
      with("kernels", "2.13.0+cpu"),
      StartsWith("--activity-types: unknown activity type \"kernels\"; did you mean kernel?; torch "
                 "2.13.0+cpu knows cpu_op, user_annotation, gpu_user_an"));
  EXPECT_THAT(with("xpu_sync", "2.13.0"), HasSubstr("this version knows no activity type"));
  EXPECT_THAT(with("xpu_sync", "2.13.0"), testing::Not(HasSubstr("hardware_counters")));
  EXPECT_EQ(with("xpu_sync", "2.14.1"), "accepted");
  EXPECT_EQ(with("xpu_sync", ""), "accepted") << "nobody can tell";
  EXPECT_EQ(with("cuda_sync", "2.3.0"), "accepted");
  EXPECT_THAT(with("cuda_sync", "2.0.1"), HasSubstr("knows no"));
  EXPECT_EQ(with("mtia_workloadd", "2.7.1"), "accepted");
  EXPECT_THAT(with("mtia_workloadd", "2.13.0"), HasSubstr("knows no"));
  // Names of Kineto's own code that it does not read.
  EXPECT_THAT(with("concurrent_kernel", ""), HasSubstr("unknown activity type"));
  EXPECT_THAT(with("cpu_op,kernel", ""), HasSubstr("unknown activity type"));
  EXPECT_THAT(with("Kernel", ""), HasSubstr("did you mean kernel?"));
  EXPECT_THAT(with("", ""), HasSubstr("unknown activity type"));
}

// The sampler is silent without a device, and without a kind of events that is off by default.
TEST(BuildTraceRequest, PerformanceMonitorsNeedADeviceAndTheirKindOfEvents) {
  TraceOptions what = options();
  what.pm_sampling_metrics = {"sm__cycles_active.avg", "dram__throughput.avg.pct"};
  const TraceRequest request = built(what, process(42, true), torch("2.15.0"));
  EXPECT_THAT(request.config,
              HasSubstr("PERFORMANCE_METRICS=sm__cycles_active.avg,dram__throughput.avg.pct\n"
                        "PERFORMANCE_METRICS_DEVICE_ID=0\n"
                        "CUPTI_PM_SAMPLING_METRICS=sm__cycles_active.avg,dram__throughput.avg.pct\n"
                        "CUPTI_PM_SAMPLING_DEVICE_ID=0\n"));
  EXPECT_THAT(request.config, HasSubstr("ACTIVITY_TYPES=cpu_op,user_annotation,"));
  EXPECT_THAT(request.config, HasSubstr(",mtia_counters,hardware_counters\n"));
  EXPECT_THAT(request.notes, testing::Contains(HasSubstr("device 0")));
  what.activity_types = {"kernel"};
  what.pm_sampling_device = 3;
  const TraceRequest other = built(what, process(42, true), torch("2.15.0"));
  EXPECT_THAT(other.config, HasSubstr("ACTIVITY_TYPES=kernel,hardware_counters\n"));
  EXPECT_THAT(other.config, HasSubstr("DEVICE_ID=3\n"));

  EXPECT_THAT(refused(what, torch("2.15.0")), HasSubstr("holds a GPU"));
  EXPECT_THAT(refused(what, torch("2.14.1"), true),
              HasSubstr("--cupti-pm-sampling-metrics needs torch 2.15 or newer; the process has"));
  EXPECT_THAT(refused(what, torch(""), true), HasSubstr("is not known"));
  what.pm_sampling_metrics = {"a=b"};
  EXPECT_THAT(refused(what, torch("2.15.0"), true), HasSubstr("\"a=b\": not a metric's name"));
  what.pm_sampling_metrics = {};
  EXPECT_THAT(refused(what, torch("2.15.0"), true),
              HasSubstr("--cupti-pm-sampling-device needs --cupti-pm-sampling-metrics"));
}

TEST(BuildTraceRequest, RefusesWithTheKeysName) {
  struct Case {
    std::pair<std::string, std::string> set;
    const char* message;
  };
  const Case cases[] = {
      {{"ACTIVITY_TYPE", "cpu_op"}, "did you mean ACTIVITY_TYPES?"},
      {{"ACTIVITY_TYPES", "cpu_op"}, "ACTIVITY_TYPES is set by --activity-types"},
      {{"ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB", "9"}, "is set by --buffer-mb"},
      {{"CUPTI_PM_SAMPLING_METRICS", "m"}, "is set by --cupti-pm-sampling-metrics"},
      {{"PERFORMANCE_METRICS", "m"}, "is set by --cupti-pm-sampling-metrics"},
      {{"PERFORMANCE_METRICS_DEVICE_ID", "0"}, "is set by --cupti-pm-sampling-device"},
      {{"ACTIVITIES_LOG_FILE", "/tmp/y"}, "ACTIVITIES_LOG_FILE is set by --log-file"},
      {{"REQUEST_TRACE_ID", "1"}, "REQUEST_TRACE_ID is set by the session"},
      {{"ROCTRACER_MAX_EVENTS", "x"}, "ROCTRACER_MAX_EVENTS: \"x\""},
      {{"ROCTRACER_MAX_EVENTS", "0"}, "whole number from 1"},
      {{"ACTIVITIES_ENABLED", "maybe"}, "neither true nor false"},
      {{"CUSTOM_CONFIG", "a\nACTIVITIES_LOG_FILE=/etc/x"}, "CUSTOM_CONFIG"},
      {{"CUSTOM_CONFIG", "a\nb"}, "control characters"},
      {{"CUSTOM_CONFIG", "a#b"}, "'#'"},
      {{"CUSTOM_CONFIG", " a"}, "blank"},
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
  EXPECT_THAT(with([](TraceOptions& o) {
                o.iterations = 5;
                o.start_time_ms = 1700000000000;
              }),
              HasSubstr("--profile-start-time and --iterations exclude each other"));
  EXPECT_THAT(with([](TraceOptions& o) { o.buffer_mb = 0; }), HasSubstr("--buffer-mb 0: must be"));
  EXPECT_THAT(with([](TraceOptions& o) { o.pm_sampling_device = -1; }),
              HasSubstr("--cupti-pm-sampling-device -1"));
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
  for (const Case& c : cases) {
    const Status status = check_trace_path(c.path);
    ASSERT_FALSE(status) << c.path;
    EXPECT_THAT(status.error().message, HasSubstr(c.message));
  }
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
    EXPECT_EQ(request->place.file, "/tmp/t_42.json");
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
  EXPECT_TRUE(request->place.in_place);
  // PROFILE_MEMORY after the path undoes it.
  EXPECT_TRUE(request->memory_snapshot);
  EXPECT_EQ(request->place.file, "/tmp/memory_snapshot_42.pickle");
}

TEST(CheckTraceConfig, ReadsWhatItSays) {
  const auto request = check_trace_config(
      "# by hand\n\n  ACTIVITIES_LOG_FILE = /tmp/a.json  \r\nACTIVITIES_WARMUP_PERIOD_SECS=2\n"
      "PROFILE_START_TIME=1700000000000\nACTIVITIES_DURATION_SECS=3\nPROFILE_MEMORY=no\n",
      process(), torch("2.13.0"), "5");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->place.file, "/tmp/a_42.json");
  EXPECT_EQ(request->warmup, Nanoseconds(std::chrono::seconds(2)));
  EXPECT_EQ(request->window, Nanoseconds(std::chrono::seconds(3)));
  EXPECT_EQ(epoch_milliseconds(request->asked_start.value()), 1700000000000);
  EXPECT_FALSE(request->memory_snapshot);
  const auto unnamed = check_trace_config("ACTIVITIES_DURATION_MSECS=9", process(), {}, "5");
  EXPECT_EQ(unnamed.value().place.file, "/tmp/libkineto_activities_42.json");
}

TEST(CheckTraceConfig, ThePathStandsWhereItFollowsPROFILE_MEMORY) {
  const auto request = check_trace_config("PROFILE_MEMORY=true\nACTIVITIES_LOG_FILE=/tmp/m.pickle",
                                          process(), torch("2.13.0"), "5");
  EXPECT_EQ(request.value().place.file, "/tmp/m.pickle");
}

TEST(CheckTraceConfig, APlaceThatTheVersionDoesNotObey) {
  const std::string text = "ACTIVITIES_LOG_FILE=/home/t.json";
  const auto place = [&](const char* version) {
    return check_trace_config(text, process(), torch(version), "5").value().place;
  };
  EXPECT_EQ(place("2.13.0").file, "/home/t_42.json");
  EXPECT_EQ(place("2.13.0").target, "/home/t_42.json");
  EXPECT_THAT(place("2.13.0").elsewhere, testing::ElementsAre("/tmp/libkineto_activities_42.json"));
  EXPECT_EQ(place("2.13.0").note, "");
  EXPECT_EQ(place("2.14.1").file, "/tmp/libkineto_activities_42.json");
  EXPECT_EQ(place("2.14.1").log_file, "/home/t.json");
  EXPECT_THAT(place("2.14.1").elsewhere, testing::IsEmpty());
  EXPECT_THAT(place("2.14.1").note, HasSubstr("only below /tmp/"));
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
      {"ACTIVITY_TYPES=cpu_op,kernels", "", "ACTIVITY_TYPES: unknown activity type \"kernels\""},
      {"ACTIVITY_TYPES=xpu_sync", "2.13.0", "ACTIVITY_TYPES: this version knows no"},
      {"CUPTI_PM_SAMPLING_METRICS=m", "2.13.0", "needs torch 2.15 or newer; the process has 2.13"},
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

TEST(WhereWritten, ASnapshotKeepsItsNameAndHasADefaultOfItsOwn) {
  const TorchFacts newer = torch("2.14.1");
  const WhereWritten there = where_written("/tmp/d/a.json", true, process(), newer);
  EXPECT_EQ(there.path, "/tmp/d/a.json");
  EXPECT_THAT(there.elsewhere, testing::ElementsAre("/tmp/memory_snapshot_42.pickle"));
  EXPECT_EQ(there.note, "");
  const WhereWritten home = where_written("/home/a.pickle", true, process(), newer);
  EXPECT_EQ(home.path, "/tmp/memory_snapshot_42.pickle");
  EXPECT_THAT(home.elsewhere, testing::IsEmpty());
  EXPECT_THAT(home.note, HasSubstr("so this one goes to /tmp/memory_snapshot_42.pickle;"));
  EXPECT_EQ(where_written("", true, process(), newer).path, "/tmp/memory_snapshot_42.pickle");
  EXPECT_EQ(where_written("", false, process(), newer).path, "/tmp/libkineto_activities_42.json");
}

TEST(WhereWritten, NewerTorchObeysOnlyOneDirectory) {
  TorchFacts library = torch("2.14.1");
  library.knows_ondemand_trace_dir = true;
  ProcessFacts facts = process();
  EXPECT_EQ(where_written("/tmp/d/a.json", false, facts, library).path, "/tmp/d/a_42.json");
  EXPECT_EQ(where_written("/tmp/d/a.json", false, facts, library).note, "");
  const WhereWritten home = where_written("/home/a.json", false, facts, library);
  EXPECT_EQ(home.path, "/tmp/libkineto_activities_42.json");
  EXPECT_THAT(home.note, HasSubstr("only below /tmp/"));
  EXPECT_EQ(where_written("/tmpfs/a.json", false, facts, library).path,
            "/tmp/libkineto_activities_42.json");
  facts.ondemand_trace_dir = "/home";
  EXPECT_EQ(where_written("/home/a.json", false, facts, library).path, "/home/a_42.json");
  EXPECT_EQ(where_written("/homes/a.json", false, facts, library).path,
            "/tmp/libkineto_activities_42.json");
  // The variable replaces /tmp.
  EXPECT_THAT(where_written("/tmp/a.json", false, facts, library).note,
              HasSubstr("only below /home/"));
  // The version says as much as the library's strings.
  EXPECT_EQ(where_written("/srv/a.json", false, process(), torch("2.14.1")).path,
            "/tmp/libkineto_activities_42.json");
  EXPECT_EQ(where_written("/srv/a.json", false, facts, torch("2.13.0")).path, "/srv/a_42.json");
}

}  // namespace
}  // namespace dynolog
