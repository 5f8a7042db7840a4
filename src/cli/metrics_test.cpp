// dyno metrics against a scripted daemon, and how figures look.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

#include "cli/dyno_fixture.h"
#include "cli/metric_text.h"
#include "cli/render_metrics.h"
#include "rpc/protocol/codec.h"
#include "rpc/protocol/metrics_codec.h"

namespace dynolog {
namespace {

using testing::answers;
using testing::DynoTest;
using testing::FakePeer;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kBegin = 1'800'000'000'000;

rpc::QueryMetricsReply two_series() {
  rpc::QueryMetricsReply reply{
      .host = "node7", .begin_ms = kBegin, .step_ms = 10'000, .results = {}};
  reply.results.push_back(
      {.selector = "net.received_bytes",
       .metric = "net.received_bytes",
       .unit = "bytes/s",
       .help = "Bytes received",
       .series = {{.labels = {{{"device", "eth0"}}}, .values = {1024, {}, 3072}},
                  {.labels = {{{"device", "a,\"b\""}}}, .values = {{}, {}, {}}}}});
  return reply;
}

using MetricsTest = DynoTest;

TEST_F(MetricsTest, QueryShowsNewestLeastMeanAndGreatest) {
  std::string asked;
  daemon({[&asked](FakePeer& peer) {
    asked = peer.request();
    peer.reply(rpc::encode(two_series()));
  }});
  EXPECT_EQ(dyno(here({"metrics", "query", "net.received_bytes{device=eth0}", "disk.reads",
                       "--last", "10m", "--step", "10s", "--max", "--sum", "--by", "device,kind"})),
            0);
  EXPECT_THAT(out(), HasSubstr("node7: 30 s from 2027-01-15T08:00:00.000Z, in steps of 10 s"));
  EXPECT_THAT(out(), HasSubstr("net.received_bytes: Bytes received"));
  EXPECT_THAT(out(),
              ::testing::ContainsRegex("device=\"eth0\" +3 KiB/s +1 KiB/s +2 KiB/s +3 KiB/s"));
  EXPECT_THAT(out(), Not(HasSubstr("COURSE"))) << "there is no terminal to draw on";
  const auto request = rpc::decode_query_metrics_request(asked);
  ASSERT_TRUE(request) << asked;
  ASSERT_EQ(request->expressions.size(), 2U);
  EXPECT_EQ(request->expressions[0].selector, "net.received_bytes{device=eth0}");
  EXPECT_EQ(request->expressions[1].fold, "max");
  EXPECT_EQ(request->expressions[1].join, "sum");
  EXPECT_THAT(request->expressions[1].by, ::testing::ElementsAre("device", "kind"));
  EXPECT_EQ(request->last_ms, 600'000);
  EXPECT_EQ(request->step_ms, 10'000);
  EXPECT_FALSE(request->begin_ms);
}

TEST_F(MetricsTest, JsonAndCsvHaveEveryValue) {
  daemon({answers({rpc::encode(two_series())}), answers({rpc::encode(two_series())})});
  EXPECT_EQ(dyno(here({"metrics", "query", "net.received_bytes", "--json"})), 0);
  const auto json = nlohmann::json::parse(out());
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["results"][0]["series"][0]["labels"]["device"], "eth0");
  EXPECT_EQ(json["results"][0]["series"][0]["values"], (nlohmann::json{1024.0, nullptr, 3072.0}));
  EXPECT_EQ(dyno(here({"metrics", "query", "net.received_bytes", "--csv"})), 0);
  EXPECT_EQ(out(),
            "time,\"net.received_bytes{device=\"\"eth0\"\"}\","
            "\"net.received_bytes{device=\"\"a,\"\"b\"\"\"\"}\"\n"
            "2027-01-15T08:00:00.000Z,1024,\n"
            "2027-01-15T08:00:10.000Z,,\n"
            "2027-01-15T08:00:20.000Z,3072,\n");
}

TEST_F(MetricsTest, NoValuesAndNoSuchMetricAreThree) {
  auto empty = two_series();
  empty.results[0].series.erase(empty.results[0].series.begin());
  daemon({answers({rpc::encode(empty)}),
          answers({rpc::encode(rpc::ErrorReply{"not_found", "there is no metric 'x'"})})});
  EXPECT_EQ(dyno(here({"metrics", "query", "net.received_bytes"})), 3);
  EXPECT_THAT(err(), HasSubstr("no values in that time"));
  EXPECT_EQ(dyno(here({"metrics", "query", "x"})), 3);
  EXPECT_THAT(err(), HasSubstr("there is no metric 'x'"));
}

TEST_F(MetricsTest, OneOfSeveralThatIsNotThereHidesNothing) {
  auto reply = two_series();
  reply.results.emplace_back().selector = "net\x1b.gone";
  auto none = reply;
  none.results.erase(none.results.begin());
  std::string asked;
  daemon({[&](FakePeer& peer) {
            asked = peer.request();
            peer.reply(rpc::encode(reply));
          },
          [&](FakePeer& peer) {
            (void)peer.request();
            peer.reply(rpc::encode(none));
            asked = peer.request();
            peer.reply(rpc::encode(rpc::ErrorReply{"not_found", "there is no metric 'x'"}));
          }});
  EXPECT_EQ(dyno(here({"metrics", "query", "net.received_bytes", "net.gone"})), 3);
  EXPECT_TRUE(rpc::decode_query_metrics_request(asked)->absent_ok);
  EXPECT_THAT(out(), HasSubstr("eth0"));
  EXPECT_THAT(err(), HasSubstr("nothing is kept of net\xEF\xBF\xBD.gone; `dyno metrics list`"));
  EXPECT_EQ(dyno(here({"metrics", "query", "x", "y"})), 3);
  EXPECT_FALSE(rpc::decode_query_metrics_request(asked)->absent_ok);
  EXPECT_THAT(err(), HasSubstr("there is no metric 'x'"));
}

TEST_F(MetricsTest, WhatExcludesEachOtherIsRefusedBeforeAnybodyIsAsked) {
  EXPECT_EQ(dyno(here({"metrics", "query", "m", "--csv", "--json"})), 2);
  EXPECT_THAT(err(), HasSubstr("--csv and --json exclude each other"));
  EXPECT_EQ(dyno(here({"metrics", "list", "--csv", "--json"})), 2);
  EXPECT_EQ(dyno(here({"metrics", "query", "cpu.time", "--by", "mode"})), 2);
  EXPECT_THAT(err(), HasSubstr("--sum, --mean, --least, --greatest or --count"));
}

TEST_F(MetricsTest, TheListOfSubcommandsHasWholeSentences) {
  EXPECT_EQ(dyno({"metrics", "--help"}), 0);
  EXPECT_THAT(out(), HasSubstr("Shows the course of metrics.\n"));
}

TEST_F(MetricsTest, TopSaysSinceWhenThereIsAnything) {
  rpc::ListMetricsReply kept;
  kept.host = "node7";
  kept.raw_since_ms = kBegin;
  rpc::QueryMetricsReply empty{.host = "node7", .begin_ms = 0, .step_ms = 1000, .results = {}};
  daemon({[&](FakePeer& peer) {
    (void)peer.request();
    peer.reply(rpc::encode(empty));
    (void)peer.request();
    peer.reply(rpc::encode(kept));
  }});
  EXPECT_EQ(dyno(here({"top", "--at", "2027-01-15T07:00:00Z"})), 3);
  EXPECT_THAT(err(), HasSubstr("nothing is kept before 2027-01-15T08:00:00.000Z"));
  EXPECT_EQ(out(), "");
}

TEST_F(MetricsTest, TimesBeforeNowMayBeTyped) {
  std::string asked;
  daemon({[&asked](FakePeer& peer) {
    asked = peer.request();
    peer.reply(rpc::encode(two_series()));
  }});
  EXPECT_EQ(dyno(here({"metrics", "query", "m", "--from", "-2h", "--to", "-1h"})), 0) << err();
  const auto request = rpc::decode_query_metrics_request(asked);
  ASSERT_TRUE(request) << asked;
  ASSERT_TRUE(request->begin_ms && request->end_ms);
  EXPECT_EQ(*request->end_ms - *request->begin_ms, 3'600'000);
}

TEST_F(MetricsTest, WrongTimesAreRefusedBeforeAnybodyIsAsked) {
  EXPECT_EQ(dyno(here({"metrics", "query", "m", "--last", "soon"})), 2);
  EXPECT_THAT(err(), HasSubstr("10m"));
  EXPECT_EQ(dyno(here({"metrics", "query", "m", "--from", "yesterday"})), 2);
  EXPECT_EQ(dyno(here({"metrics", "query", "m", "--last", "1m", "--from", "-1h"})), 2);
  EXPECT_EQ(dyno(here({"metrics", "query", "m", "--sum", "--mean"})), 2);
  EXPECT_EQ(dyno(here({"metrics", "query"})), 2);
}

TEST_F(MetricsTest, ListSaysWhatThereIs) {
  rpc::ListMetricsReply reply{.host = "node7",
                              .on_disk = true,
                              .bytes = 5U << 20U,
                              .raw_since_ms = kBegin,
                              .minutes_since_ms = 0,
                              .metrics = {}};
  reply.metrics.push_back({.name = "cpu.time\x1b[31m",
                           .kind = "counter",
                           .unit = "seconds",
                           .help = "Time",
                           .prometheus = "node_cpu_seconds_total",
                           .otlp = "",
                           .series_count = 2,
                           .series = {{.labels = {{{"cpu", "0"}}}, .last_seen_ms = 0}}});
  daemon({answers({rpc::encode(reply)})});
  EXPECT_EQ(dyno(here({"metrics", "list", "cpu", "--series"})), 0);
  EXPECT_THAT(out(), ::testing::ContainsRegex("counter +seconds +2 +Time"));
  EXPECT_THAT(out(), HasSubstr("  cpu=\"0\""));
  EXPECT_THAT(out(), HasSubstr("5 MiB on disk of history; every reading since 2027-01-15T08:00"));
  EXPECT_THAT(out(), Not(HasSubstr("\x1b")));
}

TEST(MetricText, UnitsAreReadable) {
  EXPECT_EQ(readable(0, "bytes"), "0 B");
  EXPECT_EQ(readable(1536, "bytes"), "1.5 KiB");
  EXPECT_EQ(readable(3.2e9, "bytes/s"), "2.98 GiB/s");
  EXPECT_EQ(readable(12.345, "percent"), "12.3 %");
  EXPECT_EQ(readable(0.000123, "seconds"), "123 us");
  EXPECT_EQ(readable(90, "seconds"), "90 s");
  EXPECT_EQ(readable(7200, "seconds"), "2 h");
  EXPECT_EQ(readable(12'345, ""), "12.3 k");
  EXPECT_EQ(readable(2.4e9, "hertz"), "2.4 GHz");
  EXPECT_EQ(readable(-2048, "bytes"), "-2 KiB");
  EXPECT_EQ(readable(1500, "packets/s"), "1.5 k/s");
}

TEST(MetricText, TheCourseIsAsHighAsTheValues) {
  using Values = std::vector<std::optional<double>>;
  EXPECT_EQ(sparkline(Values{0, 50, 100}, 10, true), "\u2581\u2585\u2588");
  EXPECT_EQ(sparkline(Values{0, 50, 100}, 10, false), "_=#");
  EXPECT_EQ(sparkline(Values{5, {}, 5}, 10, false), "_ _");
  EXPECT_EQ(sparkline(Values{0, 0, 100, 100}, 2, false), "_#");
  EXPECT_EQ(sparkline(Values{{}, {}}, 10, false), "");
  EXPECT_EQ(sparkline({}, 10, false), "");
}

TEST(MetricText, LengthsOfTime) {
  EXPECT_EQ(parse_length("90s"), 90'000);
  EXPECT_EQ(parse_length("90"), 90'000);
  EXPECT_EQ(parse_length("1h30m"), 5'400'000);
  EXPECT_EQ(parse_length("1.5d"), 129'600'000);
  EXPECT_EQ(parse_length("250ms"), 250);
  for (const char* wrong : {"", "m", "1x", "-5s", "1 h", "10m!", "9999999999999w", "1e9"}) {
    EXPECT_FALSE(parse_length(wrong)) << wrong;
  }
}

TEST(MetricText, PointsOfTime) {
  const WallTime now{std::chrono::seconds(1'800'000'000)};
  EXPECT_EQ(parse_time("now", now), 1'800'000'000'000);
  EXPECT_EQ(parse_time("-2h", now), 1'799'992'800'000);
  EXPECT_EQ(parse_time("2027-01-15T08:00:00Z", now), 1'800'000'000'000);
  EXPECT_EQ(parse_time("2027-01-15 08:00", now), 1'800'000'000'000);
  EXPECT_EQ(parse_time("2027-01-15", now), 1'799'971'200'000);
  for (const char* wrong : {"", "2027", "2027-13-01", "2027-02-30", "2027-01-15T25:00",
                            "2027-01-15T08:00:00+01:00", "yesterday", "-"}) {
    EXPECT_FALSE(parse_time(wrong, now)) << wrong;
  }
}

TEST(MetricText, OnATerminalTheCourseFillsTheLine) {
  const std::string text = render_metrics(two_series(), {.columns = 100, .utf8 = true});
  EXPECT_THAT(text, HasSubstr("COURSE"));
  EXPECT_THAT(text, HasSubstr("\u2581 \u2588"));
  EXPECT_THAT(render_metrics(two_series(), {.columns = 40, .utf8 = true}),
              Not(HasSubstr("COURSE")));
}

}  // namespace
}  // namespace dynolog
