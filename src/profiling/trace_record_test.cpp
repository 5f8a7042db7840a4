// The record beside a trace, and the rank inside it.
#include "profiling/trace_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/version.h"
#include "traces/trace_summary_json.h"

namespace dynolog {
namespace {

using nlohmann::json;
using testing::EndsWith;

ProcessFacts process() {
  ProcessFacts facts;
  facts.key = {Pid{4711}, 99};
  facts.uid = Uid{1000};
  facts.namespace_pid = 42;
  facts.command = "python train.py --lr 0.1";
  facts.job.scheduler = "slurm";
  facts.job.job = JobId{"123"};
  facts.job.rank = 3;
  facts.job.local_rank = 1;
  facts.job.world_size = 8;
  facts.gpus = {1};
  return facts;
}

// Holds what a TraceRecord only points at.
struct Parts {
  ProcessFacts facts = process();
  TorchFacts torch;
  TraceRequest request;
  FileCheck check;
  std::vector<std::string> notes = {"a note", "ü"};

  Parts() {
    torch.version = "2.13.0+cpu";
    request.trace_id = "18446744073709551615";
    request.config =
        "ACTIVITIES_LOG_FILE=/tmp/dynolog-0.json\n# by hand\n  A = 1 \nA=2\nnonsense\n"
        "ACTIVITY_TYPES=cpu_op,kernel\n";
    check.checked = check.whole = check.ours = true;
    check.summary.events = 5800;
    check.summary.window_start_ns = 1700000001200300400;
    check.summary.window_end_ns = 1700000001700300400;
  }
  [[nodiscard]] TraceRecord record() const {
    const WallTime base{std::chrono::seconds(1700000000)};
    return {.file = "t_42.json",
            .host = "node1",
            .user = "ada",
            .session = SessionId{"00ff"},
            .facts = facts,
            .torch = torch,
            .request = request,
            .check = check,
            .times = {.handed_over = base,
                      .start = base + Milliseconds(1200),
                      .written = base + Milliseconds(3400)},
            .clock_error_us = 12.5,
            .notes = notes};
  }
};

TEST(DistributedInfo, SaysOnlyWhatIsKnown) {
  ProcessFacts facts = process();
  EXPECT_EQ(distributed_info_text(facts), R"({"rank": 3, "world_size": 8})");
  facts.job.world_size.reset();
  EXPECT_EQ(distributed_info_text(facts), R"({"rank": 3})");
  facts.job.rank.reset();
  EXPECT_EQ(distributed_info_text(facts), "");
}

TEST(SideCar, SaysWhoseTraceItIsAndHowItCameToBe) {
  const Parts parts;
  const std::string text = side_car_text(parts.record());
  EXPECT_THAT(text, EndsWith("}\n"));
  const json got = json::parse(text);
  EXPECT_EQ(got["schema"], 1);
  EXPECT_EQ(got["dynolog"], kVersion);
  EXPECT_EQ(got["file"], "t_42.json");
  EXPECT_EQ(got["trace_id"], "18446744073709551615");
  EXPECT_EQ(got["session"], "00ff");
  EXPECT_EQ(got["host"], "node1");
  EXPECT_EQ(got["memory_snapshot"], false);
  EXPECT_EQ(got["job"], json::parse(R"({"scheduler": "slurm", "job": "123", "step": "", "rank": 3,
                                        "local_rank": 1, "world_size": 8})"));
  EXPECT_EQ(got["process"],
            json::parse(R"({"pid": 4711, "namespace_pid": 42, "uid": 1000, "user": "ada",
                            "container": "", "command": "python train.py --lr 0.1", "gpus": [1],
                            "torch_version": "2.13.0+cpu"})"));
  EXPECT_EQ(got["options"], json::parse(R"({"ACTIVITIES_LOG_FILE": "/tmp/dynolog-0.json", "A": "2",
                                            "ACTIVITY_TYPES": "cpu_op,kernel"})"));
  EXPECT_EQ(got["verdict"],
            json::parse(R"({"checked": true, "whole": true, "ours": true, "problem": ""})"));
  EXPECT_EQ(got["notes"], json::parse(R"(["a note", "ü"])"));
  EXPECT_TRUE(decode_trace_summary(got["summary"].dump()).value() == parts.check.summary);
}

TEST(SideCar, TimesStandTwice) {
  const json times = json::parse(side_car_text(Parts().record()))["times"];
  EXPECT_EQ(times["handed_over"]["time"], "2023-11-14T22:13:20.000Z");
  EXPECT_EQ(times["handed_over"]["ns"], 1700000000000000000);
  EXPECT_EQ(times["start_asked"]["ns"], 1700000001200000000);
  EXPECT_EQ(times["window_start"]["ns"], 1700000001200300400);
  EXPECT_EQ(times["window_end"]["time"], "2023-11-14T22:13:21.700Z");
  EXPECT_EQ(times["written"]["ns"], 1700000003400000000);
  EXPECT_EQ(times["clock_error_us"], 12.5);
}

TEST(SideCar, WhatIsNotKnownIsNull) {
  Parts parts;
  parts.facts.job = {};
  parts.check = {};
  parts.check.problem = "nobody could read it";
  TraceRecord record = parts.record();
  record.times = {};
  record.clock_error_us.reset();
  const json got = json::parse(side_car_text(record));
  EXPECT_TRUE(got["job"]["rank"].is_null());
  EXPECT_TRUE(got["times"]["handed_over"].is_null());
  EXPECT_TRUE(got["times"]["start_asked"].is_null());
  EXPECT_TRUE(got["times"]["window_start"].is_null());
  EXPECT_TRUE(got["times"]["clock_error_us"].is_null());
  EXPECT_FALSE(got.contains("summary"));
  EXPECT_EQ(got["verdict"]["problem"], "nobody could read it");
}

TEST(SideCar, StaysSmallWhateverGoesIn) {
  Parts parts;
  parts.notes.assign(500, std::string(5000, '"'));
  parts.facts.command.assign(100000, '\\');
  parts.check.summary.top_kernels.assign(5, {.name = std::string(256, '"')});
  parts.check.summary.warnings.assign(8, std::string(512, '\\'));
  parts.request.config = "CUSTOM_CONFIG=" + std::string(7000, '"') + "\n";
  const std::string text = side_car_text(parts.record());
  EXPECT_LE(text.size(), kMaxTraceRecord);
  EXPECT_TRUE(json::parse(text).contains("verdict"));
  parts.request.config = "CUSTOM_CONFIG=" + std::string(60000, '"') + "\n";
  const std::string longer = side_car_text(parts.record());
  EXPECT_LE(longer.size(), kMaxTraceRecord);
  EXPECT_FALSE(json::parse(longer).contains("options"));
  EXPECT_TRUE(json::parse(longer).contains("summary"));
}

TEST(SideCar, BytesThatAreNotTextDoNotStopIt) {
  Parts parts;
  parts.notes = {"\xff\n"};
  TraceRecord record = parts.record();
  record.user = "\xff";
  record.file = "a\"b\xff.json";
  EXPECT_FALSE(json::parse(side_car_text(record), nullptr, false).is_discarded());
}

}  // namespace
}  // namespace dynolog
