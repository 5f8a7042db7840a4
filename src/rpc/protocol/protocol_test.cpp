// The codec: every struct there and back, hostile texts refused with a sentence, existing shapes.
#include <gtest/gtest.h>

#include <string>

#include "rpc/protocol/codec.h"
#include "rpc/protocol/legacy.h"
#include "rpc/protocol/metrics_codec.h"

namespace dynolog::rpc {
namespace {

StatusReply a_status() {
  StatusReply status;
  status.version = "1.0.0";
  status.host = "node7";
  status.pid = 4711;
  status.mode = "system";
  status.run_dir = "/run/dynolog";
  status.uptime_s = 12.5;
  status.features = {{"kineto:abstract", "degraded", "the name is taken by pid 12 (other)"}};
  status.processes = 8;
  status.sessions = 1;
  status.collectors = {{.name = "cpu",
                        .kind = "collector",
                        .last_duration_s = 0.00025,
                        .successes = 60,
                        .failures = 1,
                        .last_error = "reading /proc/stat",
                        .failing = true,
                        .unavailable = true,
                        .age_s = 1.5,
                        .total_duration_s = 0.5,
                        .period_s = 10,
                        .absent = 2,
                        .queue_length = 3,
                        .dropped = 4,
                        .delivery_failures = 5}};
  status.cpu_seconds = 0.75;
  status.resident_bytes = 9'000'000'000ULL;
  status.cost = {.memory_bytes = 12,
                 .memory_kind = "pss",
                 .window_s = 13.5,
                 .cpu_share = 0.25,
                 .wakeups_per_s = 3.5,
                 .open_descriptors = 40,
                 .descriptor_limit = 1024,
                 .workers = 2,
                 .worker_restarts = 1};
  status.counters = {{"late_polls", 3}, {"rejected", 18'446'744'073'709'551'615ULL}};
  return status;
}

ProcessRow a_process() {
  ProcessRow row;
  row.pid = 12345;
  row.namespace_pid = 7;
  row.uid = 1000;
  row.user = "ada";
  row.command = "python train.py";
  row.container = "docker-abc";
  row.started_ms = 1'700'000'000'000;
  row.scheduler = "slurm";
  row.job = "123_4";
  row.step = "0";
  row.rank = 0;
  row.local_rank = 0;
  row.world_size = 4;
  row.rank_source = "environment";
  row.role = "worker";
  row.holds_gpu = true;
  row.gpus = {0, 7};
  row.torch_version = "2.13.0+cpu";
  row.state = "idle";
  row.last_poll_age_s = 0.5;
  row.poll_period_s = 1.0;
  row.endpoint = "abstract";
  row.at_risk = "its next start may die";
  row.missing = {"environment: Permission denied"};
  return row;
}

PrepareRequest a_prepare() {
  PrepareRequest request;
  request.selection.job = "123";
  request.selection.pids = {1, -2};
  request.selection.ranks = {0, 3};
  request.selection.rank_worlds = std::vector<int>{0, 8};
  request.selection.user = "ada";
  request.selection.command = "train";
  request.selection.gpus = {0, 5};
  request.selection.container = "docker-a1";
  request.selection.all = true;
  request.selection.process_limit = 3;
  request.trace.log_file = "/tmp/x/{rank}/trace.json";
  request.trace.bring = "other_view";
  request.trace.caller_directory = "2049:77";
  request.trace.make_directories = true;
  request.trace.gzip = true;
  request.trace.iterations = 10;
  request.trace.iteration_roundup = 100;
  request.trace.start_time_ms = 1'700'000'000'000;
  request.trace.start_in_s = 7.5;
  request.trace.warmup_s = 2;
  request.trace.activity_types = {"cpu_op", "kernel"};
  request.trace.buffer_mb = 512;
  request.trace.pm_sampling_metrics = {"sm__cycles_active.avg", "dram__bytes_read.sum"};
  request.trace.pm_sampling_device = 3;
  request.trace.record_shapes = true;
  request.trace.with_modules = true;
  request.trace.set = {{"VERBOSE_LOG_LEVEL", "1"}, {"ACTIVITY_TYPES", "cpu_op,kernel"}};
  return request;
}

PrepareReply a_plan() {
  PlannedTrace planned;
  planned.pid = 12345;
  planned.namespace_pid = 7;
  planned.rank = 2;
  planned.local_rank = 1;
  planned.world_size = 4;
  planned.user = "ada";
  planned.command = "python train.py";
  planned.job = "123";
  planned.torch_version = "2.13.0";
  planned.gpus = {2, 3};
  planned.brought = true;
  planned.file = "/tmp/x/trace_7.json";
  planned.expected_wait_s = 4.25;
  planned.poll_s = 1.5;
  planned.warmup_s = 1.25;
  planned.window_s = 0.5;
  planned.notes = {"one", "two"};
  planned.problem = "stalled";
  return {.session = "00ff00ff00ff00ff",
          .host = "node7",
          .planned = {planned},
          .skipped = {{.pid = 99,
                       .rank = 3,
                       .role = "launcher",
                       .command = "torchrun",
                       .reason = "it starts the workers"}},
          .unmatched = {"rank 5: none"},
          .coverage = "1 of 4 ranks here",
          .expires_in_s = 60};
}

TraceSummary a_summary() {
  TraceSummary summary;
  summary.whole = summary.compressed = summary.has_distributed_info = true;
  summary.bytes = 1'400'000;
  summary.file_bytes = 90'000;
  summary.closing_brace = 1'399'999;
  summary.trace_id = "18446744073709551615";
  summary.host_name = "node7";
  summary.distributed_rank = 2;
  summary.events = 5800;
  summary.categories = {{"kernel", 700}, {"cpu_op", 650}};
  summary.kernels = 700;
  summary.steps = 12;
  summary.warnings = {"a buffer was dropped"};
  summary.truncation = "the last kernel ends 90 ms before the window";
  summary.first_ns = 1'700'000'000'000'000'001;
  summary.last_ns = 1'700'000'000'500'000'002;
  summary.window_start_ns = 1'700'000'000'000'000'003;
  summary.window_end_ns = 1'700'000'000'500'000'004;
  summary.gpus = {{.device = 2,
                   .window_s = 0.5,
                   .busy_s = 0.375,
                   .communication_s = 0.125,
                   .idle_s = 0.0625,
                   .longest_gap_s = 0.03125,
                   .longest_gap_start_ns = 1'700'000'000'100'000'000}};
  summary.top_kernels = {{"gemm", 0.25, 40}};
  summary.top_operators = {{"aten::mm", 0.75, 44}};
  summary.approximate = true;
  summary.approximation = "more names than fit";
  return summary;
}

FollowFrame a_frame() {
  TraceUpdate update;
  update.pid = 12345;
  update.namespace_pid = 7;
  update.rank = 2;
  update.local_rank = 1;
  update.job = "4711";
  update.state = "delivered";
  update.sentence = "the trace is whole";
  update.file = "/tmp/x/trace_7.json";
  update.file_id = "2049:78";
  update.location = "host";
  update.trace_id = "18446744073709551615";
  update.ended = update.fetchable = true;
  update.checked = update.whole = update.ours = true;
  update.problem = "none";
  update.notes = {"copied to another file system"};
  update.summary = a_summary();
  update.may_still_write = true;
  return {"00ff00ff00ff00ff", {update}, true, "node7"};
}

FetchReply a_piece() {
  return {.offset = 4'194'304,
          .plain_bytes = 100'000,
          .total_bytes = 18'446'744'073'709'551'615ULL,
          .crc32 = 4'294'967'295U,
          .stamp = "2049:78:1:2",
          .data = "H4sI",
          .last = true,
          .side_car = R"({"rank": 2})"};
}

ListTracesReply a_list_of_traces() {
  return {.sessions = {{.session = "00ff",
                        .user = "ada",
                        .created_ms = 1'700'000'000'000,
                        .ended = true,
                        .traces = {a_frame().updates.front(), TraceUpdate{}},
                        .commands = {"python train.py", "python"},
                        .kept_bytes = 12,
                        .kept_until_ms = 1'700'000'600'000}},
          .kept_bytes = 13,
          .quota_bytes = 14,
          .keep_s = 86'400.5,
          .host = "node7"};
}

DiagnoseReply a_diagnosis() {
  return {{{.check = "registered",
            .level = "broken",
            .pid = 12,
            .rank = 3,
            .command = "python",
            .what = "it has never called",
            .why = "it cannot be traced",
            .fix = "export KINETO_USE_DAEMON=1"},
           Finding{}}};
}

// Encoded, decoded and encoded again is the same text; so no field is lost or mixed up (each has a
// value of its own above, and the texts are compared in full).
TEST(Codec, RepliesGoThereAndBack) {
  EXPECT_EQ(encode(*decode_status_reply(encode(a_status()))), encode(a_status()));
  const ListProcessesReply list{{a_process(), ProcessRow{}}};
  EXPECT_EQ(encode(*decode_list_processes_reply(encode(list))), encode(list));
  EXPECT_EQ(encode(*decode_prepare_reply(encode(a_plan()))), encode(a_plan()));
  const CommitReply commit{"ab", 3};
  EXPECT_EQ(encode(*decode_commit_reply(encode(commit))), encode(commit));
  EXPECT_EQ(encode(*decode_follow_frame(encode(a_frame()))), encode(a_frame()));
  const CancelReply cancel{2, {5, 6}};
  EXPECT_EQ(encode(*decode_cancel_reply(encode(cancel))), encode(cancel));
  EXPECT_EQ(encode(*decode_fetch_reply(encode(a_piece()))), encode(a_piece()));
  EXPECT_TRUE(decode_release_reply(encode(ReleaseReply{true}))->removed);
  const std::string traces = encode(a_list_of_traces());
  EXPECT_EQ(encode(*decode_list_traces_reply(traces)), traces);
  EXPECT_EQ(decode_delete_trace_reply(encode(DeleteTraceReply{77}))->freed_bytes, 77U);
  EXPECT_EQ(encode(*decode_diagnose_reply(encode(a_diagnosis()))), encode(a_diagnosis()));
  const SocketDirectoryReply directory{"/run/dynolog/u/1000"};
  EXPECT_EQ(decode_socket_directory_reply(encode(directory))->directory, directory.directory);
  const LogLevelReply level{"debug", "info"};
  EXPECT_EQ(encode(*decode_log_level_reply(encode(level))), encode(level));
}

TEST(Codec, RequestsGoThereAndBack) {
  EXPECT_EQ(encode(*decode_prepare_request(encode(a_prepare()))), encode(a_prepare()));
  const CommitRequest commit{"ab", 1.5, false};
  EXPECT_EQ(encode(*decode_commit_request(encode(commit))), encode(commit));
  const FetchRequest fetch{"ab", 7, 18'446'744'073'709'551'615ULL};
  EXPECT_EQ(encode(*decode_fetch_request(encode(fetch))), encode(fetch));
  const ReleaseRequest release{"ab", 7, "/home/ada/trace_7.json"};
  EXPECT_EQ(encode(*decode_release_request(encode(release))), encode(release));
  const SetLogLevelRequest level{"warning"};
  EXPECT_EQ(encode(*decode_set_log_level_request(encode(level))), encode(level));
  DiagnoseRequest diagnose{{1, 2}, "123", true};
  EXPECT_EQ(encode(*decode_diagnose_request(encode(diagnose))), encode(diagnose));
  diagnose.among.emplace().user = "ada";
  EXPECT_EQ(decode_diagnose_request(encode(diagnose))->among->user, "ada");
  const auto older = decode_diagnose_request(R"({"fn":"diagnose","pids":[1],"iterations":false})");
  ASSERT_TRUE(older.has_value()) << "a dyno from before asks so";
  EXPECT_FALSE(older->among.has_value());
  const std::string follow = encode_request("followTrace", SessionRequest{"ab"});
  EXPECT_EQ(decode_session_request(follow)->session, "ab");
  EXPECT_EQ(*decode_fn(follow), "followTrace");
  EXPECT_EQ(*decode_fn(encode(a_prepare())), "prepareTrace");
  EXPECT_EQ(*decode_fn(encode(FetchRequest{})), "fetchTrace");
  EXPECT_EQ(*decode_fn(encode(ReleaseRequest{})), "releaseTrace");
  EXPECT_EQ(*decode_fn(encode(DiagnoseRequest{})), "diagnose");
  EXPECT_EQ(*decode_fn(encode_request("daemonStatus")), "daemonStatus");
  EXPECT_EQ(*decode_fn(encode(SetLogLevelRequest{})), "setLogLevel");
}

TEST(Codec, WhatStandsOnTheWire) {
  EXPECT_EQ(encode_request("daemonStatus"), R"({"fn":"daemonStatus"})");
  EXPECT_EQ(encode(CommitRequest{"ab", 0}),
            R"({"fn":"commitTrace","session":"ab","deadline_s":0.0,"attended":true})");
  EXPECT_EQ(encode(CancelReply{1, {7}}), R"({"schema":1,"withdrawn":1,"beyond_recall":[7]})");
  EXPECT_EQ(encode(ErrorReply{"denied", "no"}), R"({"error":{"code":"denied","message":"no"}})");
  // What is not known is not there, rather than null or 0.
  const std::string row = encode(ListProcessesReply{{ProcessRow{}}});
  EXPECT_EQ(row.find("\"rank\""), std::string::npos);
  EXPECT_EQ(row.find("null"), std::string::npos);
  const std::string update = encode(FollowFrame{"ab", {TraceUpdate{}}, false});
  EXPECT_EQ(update.find("\"summary\""), std::string::npos);
  EXPECT_FALSE(decode_follow_frame(update)->updates.front().summary);
}

// A piece of a file is the longest string of all.
TEST(Codec, TheLargestPieceFits) {
  FetchReply piece = a_piece();
  piece.data.assign(64U << 10U, 'A');
  EXPECT_EQ(decode_fetch_reply(encode(piece))->data, piece.data);
  piece.data += 'A';
  EXPECT_FALSE(decode_fetch_reply(encode(piece)));
}

TEST(Codec, WrongTypesInASummaryAreNamed) {
  std::string frame = encode(a_frame());
  const std::string_view good = "\"busy_s\":0.375";
  frame.replace(frame.find(good), good.size(), "\"busy_s\":\"much\"");
  const auto bad = decode_follow_frame(frame);
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("updates[0].summary.gpus[0].busy_s"), std::string::npos)
      << bad.error().message;
}

TEST(Codec, BadUtf8IsReplacedNotThrown) {
  const std::string text = encode(SocketDirectoryReply{"/tmp/\xff"});
  EXPECT_EQ(decode_socket_directory_reply(text)->directory, "/tmp/\xEF\xBF\xBD");
}

TEST(Codec, MetricsHaveLabelsAsObjectsAndAbsentValuesAsNull) {
  QueryMetricsReply reply{.host = "h", .begin_ms = 5, .step_ms = 1000, .results = {}};
  reply.results.push_back({.selector = "m",
                           .metric = "m",
                           .unit = "",
                           .help = "",
                           .series = {{.labels = {{{"a", "1"}, {"b", "x\ny"}}},
                                       .values = {1.5, std::nullopt, 1e300}}}});
  EXPECT_EQ(encode(reply).find("newest_ms"), std::string::npos) << "only where it was asked for";
  reply.results[0].series[0].newest_ms = 1005;
  const std::string text = encode(reply);
  const std::string shown =
      R"("labels":{"a":"1","b":"x\ny"},"values":[1.5,null,1e+300],"newest_ms":1005)";
  EXPECT_NE(text.find(shown), std::string::npos) << text;
  const auto back = decode_query_metrics_reply(text);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(encode(*back), text);
  QueryMetricsRequest request;
  request.expressions.push_back({.selector = "m", .by = {"a"}});
  request.last_ms = 5;
  const auto again = decode_query_metrics_request(encode(request));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->last_ms, 5);
  EXPECT_FALSE(again->begin_ms);
  EXPECT_EQ(again->expressions.at(0).by, std::vector<std::string>{"a"});
}

TEST(Codec, UnknownFieldsArePassedOver) {
  const auto reply = decode_cancel_reply(
      R"({"schema":1,"withdrawn":1,"beyond_recall":[],"later":{"more":[1,2]}})");
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->withdrawn, 1U);
}

// Whoever asks an older daemon how it is wants to see what it says.
TEST(Codec, OfAStatusNothingHasToBeThere) {
  const auto none = decode_status_reply(R"({"schema":1})");
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_FALSE(none->pid || none->processes || none->cost);
  EXPECT_EQ(encode(*none),
            R"({"schema":1,"version":"","host":"","mode":"","run_dir":"","features":[],)"
            R"("collectors":[],"counters":{}})");
  const auto some = decode_status_reply(R"({"schema":1,"collectors":[{"name":"cpu"}]})");
  ASSERT_TRUE(some) << some.error().message;
  EXPECT_FALSE(some->collectors.at(0).failing);
  const auto wrong = decode_status_reply(R"({"schema":1,"collectors":[{"failures":"1"}]})");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("collectors[0].failures"), std::string::npos);
  // Of anything else it has.
  EXPECT_FALSE(decode_cancel_reply(R"({"schema":1})"));
}

struct Bad {
  const char* text;
  const char* says;
};
class BadReply : public testing::TestWithParam<Bad> {};
TEST_P(BadReply, IsAnErrorThatNamesTheField) {
  const auto reply = decode_cancel_reply(GetParam().text);
  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().message.find(GetParam().says), std::string::npos)
      << reply.error().message;
}
INSTANTIATE_TEST_SUITE_P(
    All, BadReply,
    testing::Values(
        Bad{R"({"schema":1,"beyond_recall":[]})", "\"withdrawn\" is missing"},
        Bad{R"({"schema":1,"withdrawn":-1,"beyond_recall":[]})", "\"withdrawn\" is not in range"},
        Bad{R"({"schema":1,"withdrawn":1.5,"beyond_recall":[]})", "not a whole number"},
        Bad{R"({"schema":1,"withdrawn":true,"beyond_recall":[]})", "not a whole number"},
        Bad{R"({"schema":1,"withdrawn":1,"beyond_recall":{}})", "\"beyond_recall\" is not a list"},
        Bad{R"({"schema":1,"withdrawn":1,"beyond_recall":[1,"2"]})", "\"beyond_recall[1]\""},
        Bad{R"({"schema":1,"withdrawn":1,"beyond_recall":[18446744073709551615]})", "in range"},
        Bad{R"({"withdrawn":1,"beyond_recall":[]})", "schema"},
        Bad{R"({"schema":2,"withdrawn":1,"beyond_recall":[]})", "schema 2"},
        Bad{R"({"error":5})", "\"error\" is not an object"},
        Bad{R"({"error":{"code":"x"}})", "\"message\" is missing"}));

TEST(Codec, WrongTypesDeepInARequestAreNamed) {
  const auto bad = decode_prepare_request(
      R"({"fn":"prepareTrace","selection":{"pids":[1,[2]],"ranks":[],"all":false,)"
      R"("process_limit":0},"trace":{}})");
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("selection.pids[1]"), std::string::npos);
  const auto not_object = decode_prepare_request(R"({"selection":[],"trace":{}})");
  ASSERT_FALSE(not_object);
  EXPECT_NE(not_object.error().message.find("\"selection\" is not an object"), std::string::npos);
}

TEST(Codec, HostileTextsAreRefused) {
  const std::string deep = R"({"a":)" + std::string(100'000, '[');
  const std::string deep_closed =
      R"({"fn":"x","a":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  std::string objects = "{";
  for (int i = 0; i < 100'000; ++i) objects += R"("a":{)";
  for (const std::string& text :
       {deep, deep_closed, objects, std::string(), std::string("   "), std::string("{"),
        std::string("[]"), std::string("{}"), std::string("null"), std::string("GET / HTTP/1.1"),
        std::string(R"({"fn":1e999})"), std::string(R"({"fn":"a","x":1e999})"),
        std::string(R"({"fn":1})"), std::string(R"({"fn":"a","fn":"b"})"),
        std::string("{\"fn\":\"a\"}x"), std::string("{\"fn\":\"\xff\"}"), std::string("\0", 1)}) {
    const auto fn = decode_fn(text);
    ASSERT_FALSE(fn) << text.substr(0, 40);
    EXPECT_EQ(fn.error().kind, ErrorKind::invalid);
    EXPECT_LT(fn.error().message.size(), 400U);
    EXPECT_FALSE(decode_status_reply(text));
    EXPECT_FALSE(decode_legacy_trace_request(text));
  }
}

TEST(Codec, DepthLimitIsExact) {
  const auto nested = [](int lists) {
    return R"({"fn":"x","a":)" + std::string(static_cast<std::size_t>(lists), '[') +
           std::string(static_cast<std::size_t>(lists), ']') + "}";
  };
  EXPECT_TRUE(decode_fn(nested(kMaxJsonDepth - 1)));
  EXPECT_FALSE(decode_fn(nested(kMaxJsonDepth)));
}

TEST(Codec, HugeStringsAndListsAreRefused) {
  EXPECT_FALSE(decode_session_request(R"({"session":")" + std::string(70'000, 'x') + "\"}"));
  std::string pids = R"({"schema":1,"withdrawn":0,"beyond_recall":[0)";
  for (int i = 0; i < 100'001; ++i) pids += ",0";
  EXPECT_FALSE(decode_cancel_reply(pids + "]}"));
  std::string many = R"({"fn":"x","a":[0)";
  for (int i = 0; i < 2'000'001; ++i) many += ",0";
  const auto fn = decode_fn(many + "]}");
  ASSERT_FALSE(fn);
  EXPECT_NE(fn.error().message.find("too many values"), std::string::npos);
}

TEST(Codec, ErrorsKeepKindAndSentence) {
  for (const ErrorKind kind :
       {ErrorKind::unavailable, ErrorKind::failed, ErrorKind::invalid, ErrorKind::denied,
        ErrorKind::not_found, ErrorKind::timed_out, ErrorKind::exhausted, ErrorKind::ambiguous,
        ErrorKind::not_identified}) {
    const ErrorReply wire = to_error_reply({kind, "why"});
    EXPECT_EQ(kind_of_code(wire.code), kind) << wire.code;
    const auto reply = decode_status_reply(encode(wire));
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().kind, kind);
    EXPECT_EQ(reply.error().message, "why");
  }
  EXPECT_EQ(kind_of_code("bad_request"), ErrorKind::invalid);
  EXPECT_EQ(kind_of_code("unknown_method"), ErrorKind::unavailable);
  EXPECT_EQ(kind_of_code("no such code"), ErrorKind::failed);
  EXPECT_EQ(decode_error_reply(encode(ErrorReply{"ambiguous", "m"}))->code, "ambiguous");
  EXPECT_EQ(decode_error_reply(encode(a_status())).error().kind, ErrorKind::not_found);
}

// As the client in the field sends it.
constexpr const char* kFieldRequest =
    "\n{\n    \"fn\": \"setKinetOnDemandRequest\",\n    \"config\": "
    "\"ACTIVITIES_LOG_FILE=/tmp/t.json\\nPROFILE_START_TIME=0\\nACTIVITIES_DURATION_MSECS=500\\n"
    "PROFILE_REPORT_INPUT_SHAPES=false\\nPROFILE_WITH_STACK=false\\nPROFILE_WITH_FLOPS=false\\n"
    "PROFILE_WITH_MODULES=false\",\n    \"job_id\": 0,\n    \"pids\": [0],\n    "
    "\"process_limit\": 3\n}";

TEST(Legacy, RequestOfTheFieldByByte) {
  EXPECT_EQ(*decode_fn(kFieldRequest), "setKinetOnDemandRequest");
  const auto request = decode_legacy_trace_request(kFieldRequest);
  ASSERT_TRUE(request);
  EXPECT_EQ(
      request->config,
      "ACTIVITIES_LOG_FILE=/tmp/t.json\nPROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS=500\n"
      "PROFILE_REPORT_INPUT_SHAPES=false\nPROFILE_WITH_STACK=false\nPROFILE_WITH_FLOPS=false\n"
      "PROFILE_WITH_MODULES=false");
  EXPECT_EQ(request->job_id, 0);
  EXPECT_EQ(request->pids, std::vector<std::int64_t>{0});
  EXPECT_EQ(request->process_limit, 3);
  EXPECT_EQ(encode_legacy(*request), kFieldRequest);
}

TEST(Legacy, DefaultsAndErrors) {
  const auto request = decode_legacy_trace_request(R"({"config":"","pids":[]})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->job_id, 0);
  EXPECT_EQ(request->process_limit, 1000);
  EXPECT_EQ(decode_legacy_trace_request(R"({"config":"","pids":[],"job_id":9223372036854775807})")
                ->job_id,
            9223372036854775807);
  const auto kind = [](const char* text) { return decode_legacy_trace_request(text).error().kind; };
  EXPECT_EQ(kind(R"({"pids":[0]})"), ErrorKind::not_found);
  EXPECT_EQ(kind(R"({"config":"a"})"), ErrorKind::not_found);
  EXPECT_EQ(kind(R"({"config":5})"), ErrorKind::not_found);
  EXPECT_EQ(kind(R"({"config":5,"pids":[0]})"), ErrorKind::invalid);
  EXPECT_EQ(kind(R"({"config":"a","pids":0})"), ErrorKind::invalid);
  EXPECT_EQ(kind(R"({"config":"a","pids":["0"]})"), ErrorKind::invalid);
  EXPECT_EQ(kind(R"({"config":"a","pids":[0],"job_id":"7"})"), ErrorKind::invalid);
  EXPECT_EQ(kind(R"({"config":"a","pids":[0],"process_limit":1.5})"), ErrorKind::invalid);
  EXPECT_EQ(kind(R"({"config":"a","pids":[18446744073709551615]})"), ErrorKind::invalid);
}

TEST(Legacy, RepliesToTheLetter) {
  EXPECT_EQ(
      encode_legacy(LegacyTraceReply{0, {12, 13}, 1, {}, {12, 13, 14}}),
      R"({"activityProfilersBusy":0,"activityProfilersTriggered":[12,13],)"
      R"("eventProfilersBusy":1,"eventProfilersTriggered":[],"processesMatched":[12,13,14]})");
  EXPECT_EQ(encode_legacy_status(1), R"({"status":1})");
  EXPECT_EQ(encode_legacy_version("0.6.0"), R"({"version":"0.6.0"})");
  EXPECT_EQ(encode_legacy_failed(""), R"({"status":"failed"})");
  EXPECT_EQ(encode_legacy_failed("a \"b\""), R"({"status":"failed with exception = a \"b\""})");
  EXPECT_EQ(encode_legacy_bool_status(false), R"({"status":false})");
}

TEST(Legacy, RepliesReadBack) {
  const auto reply =
      decode_legacy_trace_reply(encode_legacy(LegacyTraceReply{2, {1}, 0, {}, {1, 3}}));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->activity_profilers_busy, 2);
  EXPECT_EQ(reply->activity_profilers_triggered, std::vector<std::int64_t>{1});
  EXPECT_EQ(reply->processes_matched, (std::vector<std::int64_t>{1, 3}));
  EXPECT_NE(decode_legacy_trace_reply(encode_legacy_failed("")).error().message.find("failed"),
            std::string::npos);
  EXPECT_EQ(*decode_legacy_status(R"({"status":1})"), 1);
  EXPECT_EQ(*decode_legacy_version(R"({"version":"0.6.0"})"), "0.6.0");
}

TEST(Legacy, Pause) {
  EXPECT_TRUE(*decode_legacy_bool_status(encode_legacy_bool_status(true)));
  EXPECT_FALSE(*decode_legacy_bool_status(encode_legacy_bool_status(false)));
  EXPECT_FALSE(decode_legacy_bool_status(encode_legacy_failed("")));
  EXPECT_EQ(*decode_legacy_pause_seconds(encode_legacy_pause(300)), 300);
  EXPECT_EQ(decode_legacy_pause_seconds(R"({"fn":"dcgmProfPause"})").error().kind,
            ErrorKind::not_found);
  EXPECT_EQ(decode_legacy_pause_seconds(R"({"duration_s":"x"})").error().kind, ErrorKind::invalid);
}

}  // namespace
}  // namespace dynolog::rpc
