// Requests read back with protozero: names, attributes, kinds, and start times over a counter's
// life. tests/e2e/test_otlp.py reads them with OpenTelemetry's own decoder.
#include "sinks/otlp_encoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include <protozero/pbf_reader.hpp>

#include "metrics/frame_writer.h"

namespace dynolog {
namespace {

using protozero::pbf_reader;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::Pair;

using Attributes = std::map<std::string, std::string>;

struct ReadPoint {
  std::uint64_t start = 0;
  std::uint64_t time = 0;
  double value = 0;
  Attributes attributes;
};
struct ReadMetric {
  std::string unit;
  std::string description;
  bool is_sum = false;
  bool is_monotonic = false;
  std::vector<ReadPoint> points;
};
struct ReadRequest {
  Attributes resource;
  std::string scope;
  std::map<std::string, ReadMetric> metrics;
};

void read_attribute(pbf_reader pair, Attributes& attributes) {
  std::string key;
  std::string value;
  while (pair.next()) {
    if (pair.tag() == 1) {
      key = pair.get_string();
    } else {
      pbf_reader any = pair.get_message();
      while (any.next()) {
        value = any.tag() == 3 ? "int " + std::to_string(any.get_int64()) : any.get_string();
      }
    }
  }
  EXPECT_TRUE(attributes.emplace(key, value).second) << key << " twice";
}

ReadPoint read_point(pbf_reader from) {
  ReadPoint point;
  while (from.next()) {
    switch (from.tag()) {
      case 2:
        point.start = from.get_fixed64();
        break;
      case 3:
        point.time = from.get_fixed64();
        break;
      case 4:
        point.value = from.get_double();
        break;
      case 7:
        read_attribute(from.get_message(), point.attributes);
        break;
      default:
        ADD_FAILURE() << "field " << from.tag();
        from.skip();
    }
  }
  return point;
}

void read_metric(pbf_reader from, ReadRequest& request) {
  std::string name;
  ReadMetric metric;
  while (from.next()) {
    if (from.tag() == 1) {
      name = from.get_string();
    } else if (from.tag() == 2) {
      metric.description = from.get_string();
    } else if (from.tag() == 3) {
      metric.unit = from.get_string();
    } else {
      metric.is_sum = from.tag() == 7;
      pbf_reader data = from.get_message();
      while (data.next()) {
        if (data.tag() == 1) {
          metric.points.push_back(read_point(data.get_message()));
        } else if (data.tag() == 2) {
          EXPECT_EQ(data.get_enum(), 2) << "cumulative";
        } else {
          metric.is_monotonic = data.get_bool();
        }
      }
    }
  }
  EXPECT_TRUE(request.metrics.emplace(name, metric).second) << name << " twice";
}

ReadRequest read(const OtlpBatch& batch) {
  ReadRequest request;
  std::size_t points = 0;
  pbf_reader outer(batch.bytes);
  EXPECT_TRUE(outer.next(1));
  pbf_reader of_resource = outer.get_message();
  while (of_resource.next()) {
    const bool is_resource = of_resource.tag() == 1;
    pbf_reader inner = of_resource.get_message();
    if (is_resource) {
      while (inner.next()) read_attribute(inner.get_message(), request.resource);
      continue;
    }
    while (inner.next()) {
      if (inner.tag() == 1) {
        pbf_reader scope = inner.get_message();
        while (scope.next()) request.scope += scope.get_string() + " ";
      } else {
        read_metric(inner.get_message(), request);
      }
    }
  }
  EXPECT_FALSE(outer.next());
  for (const auto& [name, metric] : request.metrics) points += metric.points.size();
  EXPECT_EQ(points, batch.points);
  return request;
}

constexpr MetricDescriptor kReads{
    .id = "d.r",
    .kind = MetricKind::counter,
    .unit = Unit::operations,
    .help = "Reads",
    .source = "t",
    .labels = {LabelKey{"device", "system.device"}},
    .counter = {.backward_slack = 3},
    .otlp = {
        .name = "system.disk.operations", .fixed_key = "disk.io.direction", .fixed_value = "read"}};
constexpr MetricDescriptor kWrites{.id = "d.w",
                                   .kind = MetricKind::counter,
                                   .unit = Unit::operations,
                                   .help = "Writes",
                                   .source = "t",
                                   .labels = {LabelKey{"device", "system.device"}},
                                   .otlp = {.name = "system.disk.operations",
                                            .fixed_key = "disk.io.direction",
                                            .fixed_value = "write"}};
constexpr MetricDescriptor kFrequency{.id = "f",
                                      .unit = Unit::hertz,
                                      .help = "Frequency",
                                      .source = "t",
                                      .labels = {LabelKey{"cpu", "cpu.logical_number"}},
                                      .otlp = {.name = "system.cpu.frequency"}};
constexpr MetricDescriptor kMemory{.id = "m",
                                   .unit = Unit::bytes,
                                   .help = "Memory",
                                   .source = "t",
                                   .otlp = {.name = "system.memory.limit"}};
constexpr MetricDescriptor kOwn{.id = "o",
                                .kind = MetricKind::counter,
                                .help = "Own",
                                .source = "t",
                                .labels = {LabelKey{"what", ""}},
                                .counter = {.of_daemon = true},
                                .otlp = {.name = "dynolog.{what}.count"}};
constexpr MetricDescriptor kSilent{.id = "s", .help = "No name", .source = "t"};

constexpr std::uint64_t kSecond = 1'000'000'000;

class OtlpEncodingTest : public testing::Test {
 protected:
  // A tick in which source 0 is read.
  void begin() {
    ++second_;
    writer_.begin_tick(WallTime(seconds(1000 + second_)), MonotonicTime(seconds(second_)));
    writer_.begin_source(0, MonotonicTime(seconds(second_)));
  }
  std::vector<OtlpBatch> end() {
    writer_.end_source({});
    const Frame& frame = writer_.finish_tick();
    means_.add(frame);
    auto batches = encoder_.encode(frame, means_);
    means_.restart();
    return batches;
  }
  ReadRequest one() {
    const auto batches = end();
    EXPECT_EQ(batches.size(), 1U);
    return batches.empty() ? ReadRequest{} : read(batches.front());
  }
  // One value of one counter at the next second.
  ReadPoint count(double value) {
    begin();
    if (!reads_.valid()) reads_ = writer_.open(kReads, {"sda"});
    writer_.set(reads_, value);
    return one().metrics.at("system.disk.operations").points.at(0);
  }

  OtlpEncoder encoder_{{.resource = {{"service.name", "dynolog"}, {"host.name", "n\"7"}},
                        .version = "1.2",
                        .boot = WallTime(seconds(500)),
                        .started = WallTime(seconds(900))},
                       4096};
  FrameWriter writer_{2, 100'000};
  IntervalValues means_{std::chrono::hours(1), IntervalValues::Of::gauges};
  SeriesHandle reads_;
  int second_ = 0;
};

TEST_F(OtlpEncodingTest, NamesAttributesUnitsAndKinds) {
  begin();
  writer_.set(writer_.open(kReads, {"sda"}), 10);
  writer_.set(writer_.open(kReads, {"sdb"}), 11);
  writer_.set(writer_.open(kWrites, {"sda"}), 12);
  writer_.set(writer_.open(kFrequency, {"3"}), 2.5e9);
  writer_.set(writer_.open(kMemory, {}), 1 << 30);
  writer_.set(writer_.open(kOwn, {"rpc"}), 7);
  writer_.set(writer_.open(kSilent, {}), 1);
  static_cast<void>(writer_.open(kOwn, {"absent"}));
  const ReadRequest request = one();
  EXPECT_EQ(request.resource, (Attributes{{"service.name", "dynolog"}, {"host.name", "n\"7"}}));
  EXPECT_EQ(request.scope, "dynolog 1.2 ");
  ASSERT_EQ(request.metrics.size(), 4U);

  const ReadMetric& disk = request.metrics.at("system.disk.operations");
  EXPECT_TRUE(disk.is_sum && disk.is_monotonic);
  EXPECT_EQ(disk.unit, "{operation}");
  ASSERT_EQ(disk.points.size(), 3U) << "two of our metrics are one of theirs";
  EXPECT_THAT(disk.points[2].attributes,
              ElementsAre(Pair("disk.io.direction", "write"), Pair("system.device", "sda")));
  EXPECT_EQ(disk.points[2].value, 12);
  EXPECT_EQ(disk.points[2].start, 500 * kSecond) << "the kernel's: since the boot";
  EXPECT_EQ(disk.points[2].time, 1001 * kSecond);

  const ReadMetric& frequency = request.metrics.at("system.cpu.frequency");
  EXPECT_FALSE(frequency.is_sum);
  EXPECT_EQ(frequency.unit, "Hz");
  EXPECT_EQ(frequency.description, "Frequency");
  EXPECT_EQ(frequency.points.at(0).start, 0U);
  EXPECT_THAT(frequency.points.at(0).attributes, ElementsAre(Pair("cpu.logical_number", "int 3")));

  const ReadMetric& memory = request.metrics.at("system.memory.limit");
  EXPECT_TRUE(memory.is_sum && !memory.is_monotonic) << "an up-down counter by convention";
  EXPECT_EQ(memory.unit, "By");

  const ReadMetric& own = request.metrics.at("dynolog.rpc.count");
  EXPECT_EQ(own.unit, "1");
  EXPECT_EQ(own.points.at(0).start, 900 * kSecond) << "since the daemon's start";
  EXPECT_TRUE(own.points.at(0).attributes.empty()) << "folded into the name";
}

TEST_F(OtlpEncodingTest, ACounterThatWasResetHasANewStart) {
  EXPECT_EQ(count(10).start, 500 * kSecond);
  EXPECT_EQ(count(20).start, 500 * kSecond);
  const ReadPoint noise = count(18);
  EXPECT_EQ(noise.value, 20) << "within the kernel's noise it does not go down";
  EXPECT_EQ(noise.start, 500 * kSecond);
  const ReadPoint reset = count(5);
  EXPECT_EQ(reset.value, 5);
  EXPECT_EQ(reset.start, 1003 * kSecond) << "after the last point before";
  EXPECT_EQ(count(6).start, 1003 * kSecond);
}

TEST_F(OtlpEncodingTest, ADeviceThatComesBackGoesOnOrBeginsAnew) {
  for (const double back : {5.0, 30.0}) {
    SCOPED_TRACE(back);
    const std::uint64_t start = count(20).start;
    begin();
    writer_.close(reads_);
    EXPECT_TRUE(end().empty()) << "nothing to say, nothing to send";
    const std::uint64_t newest = (1000 + static_cast<std::uint64_t>(second_) - 1) * kSecond;
    const ReadPoint point = count(back);
    EXPECT_EQ(point.start, back < 20 ? newest : start);
  }
}

TEST_F(OtlpEncodingTest, OnlyWhatWasReadAnewIsSent) {
  begin();
  writer_.set(writer_.open(kFrequency, {"0"}), 1);
  writer_.end_source({});
  writer_.begin_source(1, MonotonicTime(seconds(second_) - std::chrono::milliseconds(250)));
  const SeriesHandle slow = writer_.open(kMemory, {});
  writer_.set(slow, 5);
  const ReadRequest request = one();
  EXPECT_EQ(request.metrics.at("system.memory.limit").points.at(0).time,
            1001 * kSecond - kSecond / 4)
      << "when it was read";
  EXPECT_EQ(request.metrics.size(), 2U);
  begin();
  EXPECT_TRUE(end().empty()) << "source 0 has no value now, and 1 was not read";
}

TEST_F(OtlpEncodingTest, GaugesAreAveragedSinceTheLastRequest) {
  SeriesHandle handle;
  for (const double value : {2.0, 4.0, 9.0}) {
    begin();
    if (!handle.valid()) handle = writer_.open(kFrequency, {"0"});
    writer_.set(handle, value);
    if (value < 9) {
      writer_.end_source({});
      means_.add(writer_.finish_tick());
    }
  }
  EXPECT_EQ(one().metrics.at("system.cpu.frequency").points.at(0).value, 5);
}

TEST_F(OtlpEncodingTest, ManyPointsAreSeveralRequests) {
  begin();
  for (int i = 0; i < 500; ++i) {
    writer_.set(writer_.open(kReads, {"disk" + std::to_string(i)}), i);
    writer_.set(writer_.open(kFrequency, {std::to_string(i)}), i);
  }
  const auto batches = end();
  EXPECT_GT(batches.size(), 5U);
  std::size_t points = 0;
  for (const OtlpBatch& batch : batches) {
    EXPECT_LT(batch.bytes.size(), 4096U + 1024U);
    const ReadRequest request = read(batch);
    EXPECT_EQ(request.resource.size(), 2U) << "each stands alone";
    EXPECT_EQ(request.scope, "dynolog 1.2 ");
    points += batch.points;
  }
  EXPECT_EQ(points, 1000U);
}

}  // namespace
}  // namespace dynolog
