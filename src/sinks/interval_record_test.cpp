// Per-interval values of a frame: shares within each NUMA node.
#include "sinks/interval_record.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "metrics/frame_writer.h"
#include "metrics/interval_names.h"

namespace dynolog {
namespace {

using std::chrono::seconds;

constexpr MetricDescriptor kNodeTime{.id = kNodeCpus,
                                     .kind = MetricKind::counter,
                                     .help = "t",
                                     .source = "t",
                                     .labels = {LabelKey{"node", ""}, LabelKey{"mode", ""}}};

TEST(IntervalRecord, SharesAreOfTheirOwnNode) {
  FrameWriter writer(1, 100);
  IntervalRecord record(seconds(10));
  std::map<std::string, SeriesHandle> handles;
  const auto tick = [&](int second, const std::map<std::string, double>& times) {
    writer.begin_tick(WallTime(seconds(second)), MonotonicTime(seconds(second)));
    writer.begin_source(0, MonotonicTime(seconds(second)));
    for (const auto& [key, time] : times) {
      SeriesHandle& handle = handles[key];
      if (!handle.valid()) handle = writer.open(kNodeTime, {key.substr(0, 1), key.substr(2)});
      writer.set(handle, time);
    }
    writer.end_source({});
    std::map<std::string, double> values;
    record.add(writer.finish_tick());
    for (const NamedValue& value : record.take()) {
      values[std::string(value.name)] = value.value;
    }
    return values;
  };
  EXPECT_TRUE(tick(1, {{"0 user", 10}, {"0 idle", 5}, {"1 user", 0}, {"1 idle", 0}}).empty());
  const auto values = tick(2, {{"0 user", 11}, {"0 idle", 8}, {"1 user", 2}, {"1 idle", 2}});
  EXPECT_EQ(values.at("cpu_u_node0"), 25);
  EXPECT_EQ(values.at("cpu_i_node0"), 75);
  EXPECT_EQ(values.at("cpu_u_node1"), 50);
  EXPECT_FALSE(values.contains("cpu_s_node0")) << "no such series";
}

}  // namespace
}  // namespace dynolog
