// One tick: tiers, slow sources, failures, and what the framework measures.
#include "metrics/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "metrics/naming.h"
#include "testing/capturing_log.h"
#include "testing/fake_clock.h"

namespace dynolog {
namespace {

using std::chrono::seconds;

constexpr MetricDescriptor kGauge{.id = "test.gauge", .help = "A gauge", .source = "test"};

class ScriptedCollector final : public Collector {
 public:
  ScriptedCollector(Tier tier, std::function<Status(Samples&)> run)
      : tier_(tier), run_(std::move(run)) {}
  [[nodiscard]] std::string_view name() const override { return "scripted"; }
  [[nodiscard]] Tier tier() const override { return tier_; }
  [[nodiscard]] Status collect(Samples& out) override { return run_(out); }

 private:
  Tier tier_;
  std::function<Status(Samples&)> run_;
};

class CapturingSink final : public Sink {
 public:
  struct Seen {
    std::map<std::string, double> values;  // "id value,value"
    std::vector<std::string> events;
    Status status;
  };
  explicit CapturingSink(Seen& seen) : seen_(seen) {}
  [[nodiscard]] std::string_view name() const override { return "capturing"; }
  [[nodiscard]] Status consume(const Frame& frame) override {
    seen_.values.clear();
    for (Slot slot = 0; slot < frame.table()->size(); ++slot) {
      const Series* series = frame.table()->at(slot);
      if (series == nullptr || !frame.value(slot)) continue;
      std::string key(series->descriptor->id);
      for (const auto& value : series->label_values) key += " " + value;
      seen_.values[key] = *frame.value(slot);
    }
    return seen_.status;
  }
  [[nodiscard]] Status consume(const Event& event) override {
    seen_.events.push_back(event.kind);
    return seen_.status;
  }
  [[nodiscard]] SinkQueue queue() const override { return {3, 7, 0}; }

 private:
  Seen& seen_;
};

class SamplerTest : public testing::Test {
 protected:
  Sampler& start(Tier tier, std::function<Status(Samples&)> run) {
    std::vector<std::unique_ptr<Collector>> collectors;
    collectors.push_back(std::make_unique<ScriptedCollector>(tier, std::move(run)));
    std::vector<std::unique_ptr<Sink>> sinks;
    sinks.push_back(std::make_unique<CapturingSink>(seen_));
    sampler_ =
        std::make_unique<Sampler>(options_, std::move(collectors), std::move(sinks), clock_, log_);
    return *sampler_;
  }
  void tick() {
    sampler_->tick(0, 0);
    clock_.advance(seconds(1));
  }

  FakeClock clock_{MonotonicTime(seconds(50)), WallTime(seconds(1'700'000'000))};
  CapturingLog log_;
  PipelineOptions options_;
  CapturingSink::Seen seen_;
  std::unique_ptr<Sampler> sampler_;
};

TEST(IsDue, FollowsWallTime) {
  const auto at = [](int s) { return WallTime(seconds(s)); };
  EXPECT_TRUE(is_due(seconds(10), std::nullopt, at(1003)));
  EXPECT_FALSE(is_due(seconds(10), at(1003), at(1009)));
  EXPECT_TRUE(is_due(seconds(10), at(1003), at(1010)));
  EXPECT_TRUE(is_due(seconds(10), at(1003), at(905))) << "the clock was set back";
  EXPECT_TRUE(is_due(seconds(0), at(1003), at(1003)));
}

TEST_F(SamplerTest, TiersAreReadAtTheirPeriods) {
  for (const auto& [tier, runs] : {std::pair{Tier::fast, 61}, {Tier::medium, 7}, {Tier::slow, 2}}) {
    int count = 0;
    start(tier, [&](Samples&) -> Status {
      ++count;
      return {};
    });
    clock_.set_wall(WallTime(seconds(1'699'999'980)));  // a multiple of 60
    for (int i = 0; i <= 60; ++i) tick();
    EXPECT_EQ(count, runs) << to_string(tier);
  }
}

// One that a worker reads for: it has news when the test says so.
class AskingCollector final : public Collector {
 public:
  explicit AskingCollector(bool& news, int& runs) : news_(news), runs_(runs) {}
  [[nodiscard]] std::string_view name() const override { return "asking"; }
  [[nodiscard]] Tier tier() const override { return Tier::slow; }
  [[nodiscard]] bool has_news() const override { return news_; }
  [[nodiscard]] Status collect(Samples&) override {
    ++runs_;
    news_ = false;
    return {};
  }

 private:
  bool& news_;
  int& runs_;
};

TEST_F(SamplerTest, NewsAreTakenAtTheNextTickWhateverTheTier) {
  bool news = false;
  int runs = 0;
  std::vector<std::unique_ptr<Collector>> collectors;
  collectors.push_back(std::make_unique<AskingCollector>(news, runs));
  Sampler sampler(options_, std::move(collectors), {}, clock_, log_);
  clock_.set_wall(WallTime(seconds(1'699'999'980)));  // a multiple of 60
  for (int i = 0; i < 5; ++i, clock_.advance(seconds(1))) sampler.tick(0, 0);
  EXPECT_EQ(runs, 1);
  news = true;
  for (int i = 0; i < 5; ++i, clock_.advance(seconds(1))) sampler.tick(0, 0);
  EXPECT_EQ(runs, 2);
  clock_.set_wall(WallTime(seconds(1'700'000'040)));
  sampler.tick(0, 0);
  EXPECT_EQ(runs, 3) << "its own turn stays";
}

// One that reads, though not all of it is sound.
class ComplainingCollector final : public Collector {
 public:
  explicit ComplainingCollector(const std::string& problem) : problem_(problem) {}
  [[nodiscard]] std::string_view name() const override { return "complaining"; }
  [[nodiscard]] Tier tier() const override { return Tier::fast; }
  [[nodiscard]] std::string_view problem() const override { return problem_; }
  [[nodiscard]] Status collect(Samples&) override { return {}; }

 private:
  const std::string& problem_;
};

TEST_F(SamplerTest, WhatACollectorTellsOfReachesTheSinks) {
  bool happens = true;
  start(Tier::fast, [&](Samples& out) -> Status {
    if (std::exchange(happens, false)) out.tell({.time = out.wall(), .kind = "test.event"});
    return {};
  });
  for (int i = 0; i < 3; ++i) tick();
  EXPECT_THAT(seen_.events, testing::ElementsAre("test.event"));
}

TEST_F(SamplerTest, AProblemIsSaidOnceAndIsNoFailure) {
  std::string problem;
  std::vector<std::unique_ptr<Collector>> collectors;
  collectors.push_back(std::make_unique<ComplainingCollector>(problem));
  Sampler sampler(options_, std::move(collectors), {}, clock_, log_);
  sampler.tick(0, 0);
  EXPECT_TRUE(log_.lines().empty());
  problem = "b.prom: line 2";
  for (int i = 0; i < 3; ++i) sampler.tick(0, 0);
  EXPECT_EQ(log_.count("collector complaining: b.prom: line 2"), 1U);
  EXPECT_EQ(sampler.states()[0].problem, problem);
  EXPECT_EQ(sampler.states()[0].failures, 0U);
  problem = "";
  sampler.tick(0, 0);
  EXPECT_EQ(log_.lines().size(), 2U);
  EXPECT_EQ(sampler.states()[0].problem, "");
}

TEST_F(SamplerTest, ASlowSourceDropsATierAndSaysSoOnce) {
  int count = 0;
  start(Tier::fast, [&](Samples&) -> Status {
    ++count;
    clock_.advance(Milliseconds(6));
    return {};
  });
  for (int i = 0; i < 60; ++i) tick();
  EXPECT_LT(count, 12);
  EXPECT_EQ(log_.count("collector scripted takes 6.0 ms: from now on it is read every 10 s"), 1U);
  EXPECT_EQ(sampler_->states()[0].period, least_period(Tier::slow))
      << "and another, as it stays slow";
  EXPECT_EQ(log_.count("every 60 s"), 1U);
}

TEST_F(SamplerTest, AnIntervalOfTheUsersIsKept) {
  options_.collector_periods["scripted"] = seconds(5);
  int count = 0;
  start(Tier::slow, [&](Samples&) -> Status {
    ++count;
    clock_.advance(Milliseconds(6));
    return {};
  });
  clock_.set_wall(WallTime(seconds(1'699'999'980)));
  for (int i = 0; i < 60; ++i) tick();
  EXPECT_GE(count, 12) << "though it is slow";
  EXPECT_LE(count, 13);
  EXPECT_TRUE(log_.lines().empty());
}

TEST_F(SamplerTest, ASourceThatIsNotHereIsLookedForOnceAMinute) {
  int count = 0;
  bool is_here = false;
  start(Tier::fast, [&](Samples&) -> Status {
    ++count;
    if (is_here) return {};
    return fail(ErrorKind::not_found, "no such file");
  });
  clock_.set_wall(WallTime(seconds(1'699'999'980)));
  for (int i = 0; i <= 120; ++i) tick();
  EXPECT_EQ(count, 3);
  is_here = true;
  for (int i = 0; i < 70; ++i) tick();
  EXPECT_GT(count, 10) << "from then on it is read each second";
  EXPECT_EQ(log_.count("works again"), 1U);
}

TEST_F(SamplerTest, OneSlowRunChangesNothing) {
  int count = 0;
  start(Tier::fast, [&](Samples&) -> Status {
    if (++count % 3 == 0) clock_.advance(Milliseconds(50));
    return {};
  });
  for (int i = 0; i < 30; ++i) tick();
  EXPECT_EQ(count, 30);
  EXPECT_TRUE(log_.lines().empty());
}

TEST_F(SamplerTest, AFailureIsSaidOnceAndCountedAlways) {
  bool broken = false;
  SeriesHandle series;
  start(Tier::fast, [&](Samples& out) -> Status {
    if (!series.valid()) series = out.open(kGauge, {});
    if (broken) return fail(ErrorKind::failed, "it broke");
    out.set(series, 1);
    return {};
  });
  tick();
  EXPECT_EQ(seen_.values.at("test.gauge"), 1);
  broken = true;
  for (int i = 0; i < 3; ++i) tick();
  EXPECT_FALSE(seen_.values.contains("test.gauge")) << "absent, not the old value and not 0";
  EXPECT_EQ(log_.count("collector scripted failed: it broke"), 1U);
  broken = false;
  tick();
  EXPECT_EQ(log_.count("collector scripted works again"), 1U);
  const StageState state = sampler_->states()[0];
  EXPECT_EQ(state.successes, 2U);
  EXPECT_EQ(state.failures, 3U);
  EXPECT_FALSE(state.failing);
  EXPECT_EQ(state.last_error, "it broke");
  EXPECT_EQ(state.absences[static_cast<std::size_t>(AbsentReason::unreadable)], 3U);
}

TEST_F(SamplerTest, WhatIsNotAvailableIsNoWarning) {
  start(Tier::fast, [](Samples&) -> Status { return fail(ErrorKind::unavailable, "no PMU"); });
  tick();
  ASSERT_EQ(log_.lines().size(), 1U);
  EXPECT_EQ(log_.lines()[0].level, LogLevel::info);
  EXPECT_EQ(log_.lines()[0].text, "collector scripted is not available here: no PMU");
}

TEST_F(SamplerTest, WhatAnEarlierPipelineSaidIsSaidAgainWhenItChangedOnly) {
  std::optional<std::string> reason = "no PMU";
  const auto run = [&] {
    start(Tier::fast, [&](Samples&) -> Status {
      if (!reason) return {};
      return fail(ErrorKind::unavailable, *reason);
    });
    clock_.set_wall(WallTime(seconds(1'699'999'980)));
    for (int i = 0; i <= 60; ++i) tick();
  };
  options_.known_missing = {{"scripted", "no PMU"}};
  run();
  EXPECT_TRUE(log_.lines().empty());
  reason = "not permitted";
  run();
  ASSERT_EQ(log_.lines().size(), 1U);
  EXPECT_EQ(log_.lines()[0].text, "collector scripted is not available here: not permitted");
  reason.reset();
  run();
  ASSERT_EQ(log_.lines().size(), 2U);
  EXPECT_EQ(log_.lines()[1].text, "collector scripted works again");
}

TEST_F(SamplerTest, TheFrameworksFiguresAreInTheFrame) {
  start(Tier::fast, [&](Samples& out) -> Status {
    clock_.advance(Milliseconds(2));
    out.absent({}, AbsentReason::stale);
    return {};
  });
  for (int i = 0; i <= 10; ++i) tick();
  EXPECT_DOUBLE_EQ(seen_.values.at("collector.duration scripted"), 0.002);
  EXPECT_EQ(seen_.values.at("collector.success scripted"), 1);
  EXPECT_EQ(seen_.values.at("collector.runs scripted success"), 11);
  EXPECT_EQ(seen_.values.at("collector.values_rejected scripted stale"), 11);
  EXPECT_EQ(seen_.values.at("sink.frames capturing success"), 10) << "before this frame";
  EXPECT_EQ(seen_.values.at("sink.queue_length capturing"), 3);
  EXPECT_EQ(seen_.values.at("sink.dropped capturing"), 7);
}

TEST_F(SamplerTest, ASinkThatFailsIsMeasured) {
  start(Tier::fast, [](Samples&) -> Status { return {}; });
  seen_.status = fail(ErrorKind::failed, "disk full");
  tick();
  sampler_->deliver(Event{.kind = "test.event"});
  const StageState state = sampler_->states()[1];
  EXPECT_EQ(state.kind, "sink");
  EXPECT_EQ(state.failures, 1U);
  EXPECT_EQ(state.events_failed, 1U);
  EXPECT_EQ(state.last_error, "disk full");
  EXPECT_THAT(seen_.events, testing::ElementsAre("test.event"));
}

}  // namespace
}  // namespace dynolog
