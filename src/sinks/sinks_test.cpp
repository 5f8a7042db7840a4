// The JSON-lines sink: names and numbers, and a reader that does not read.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "metrics/frame_writer.h"
#include "metrics/interval_names.h"
#include "sinks/all_sinks.h"
#include "sinks/json_lines.h"
#include "sinks/line_writer.h"

namespace dynolog {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

class KeepingWriter final : public LineWriter {
 public:
  explicit KeepingWriter(std::vector<std::string>& lines) : lines_(lines) {}
  void put(std::string line) override { lines_.push_back(std::move(line)); }
  [[nodiscard]] SinkQueue queue() const override { return {}; }
  [[nodiscard]] std::optional<Error> problem() const override { return std::nullopt; }

 private:
  std::vector<std::string>& lines_;
};

// The sink looks at ids and label values only, so that metrics of these ids will do.
constexpr MetricDescriptor kTimeAll{.id = kAllCpus,
                                    .kind = MetricKind::counter,
                                    .help = "t",
                                    .source = "t",
                                    .labels = {LabelKey{"mode", ""}},
                                    .counter = {.backward_slack = 3}};
constexpr MetricDescriptor kGuestAll{.id = kAllGuests,
                                     .kind = MetricKind::counter,
                                     .help = "t",
                                     .source = "t",
                                     .labels = {LabelKey{"mode", ""}}};
constexpr MetricDescriptor kBoot{.id = "host.boot_time", .help = "t", .source = "t"};
constexpr MetricDescriptor kBytes{.id = "nic.rx",
                                  .kind = MetricKind::counter,
                                  .help = "t",
                                  .source = "t",
                                  .labels = {LabelKey{"device", ""}},
                                  .json = {.name = "rx_bytes.{device}"}};
constexpr MetricDescriptor kLoad{
    .id = "load", .help = "t", .source = "t", .json = {.name = "load1"}};

class JsonLinesTest : public testing::Test {
 protected:
  Json tick(const std::vector<double>& modes, double bytes, std::optional<double> load) {
    now_ += seconds(1);
    writer_.begin_tick(WallTime(seconds(1'700'000'000) + Milliseconds(141)) + now_,
                       MonotonicTime(now_));
    writer_.begin_source(0, MonotonicTime(now_));
    if (modes_.empty()) {
      for (const char* mode :
           {"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"}) {
        modes_.push_back(writer_.open(kTimeAll, {mode}));
      }
      guest_ = writer_.open(kGuestAll, {"user"});
      boot_ = writer_.open(kBoot, {});
      bytes_ = writer_.open(kBytes, {"et\"h0"});
      load_ = writer_.open(kLoad, {});
    }
    for (std::size_t i = 0; i < modes_.size(); ++i) writer_.set(modes_[i], modes[i]);
    writer_.set(guest_, modes[0] / 2);
    writer_.set(boot_, 1'699'999'000);
    writer_.set(bytes_, bytes);
    if (load) writer_.set(load_, *load);
    writer_.end_source({});
    EXPECT_TRUE(sink_->consume(writer_.finish_tick()));
    return Json::parse(lines_.back());
  }

  std::vector<std::string> lines_;
  std::unique_ptr<Sink> sink_ =
      make_json_lines_sink(std::make_unique<KeepingWriter>(lines_),
                           {.sink = "json", .interval = seconds(1), .slowest = seconds(1)});
  FrameWriter writer_{1, 100};
  Nanoseconds now_{};
  std::vector<SeriesHandle> modes_;
  SeriesHandle guest_, boot_, bytes_, load_;
};

TEST_F(JsonLinesTest, TheFirstLineHasNoIncreases) {
  const Json line = tick({0, 0, 0, 0, 0, 0, 0, 0}, 100, 0.25);
  EXPECT_EQ(line, Json({{"time", "2023-11-14T22:13:21.141Z"}, {"uptime", 1001}, {"load1", 0.25}}));
}

TEST_F(JsonLinesTest, IncreasesAndSharesUnderTheNamesThatUsersKnow) {
  tick({10, 1, 5, 100, 2, 0, 0, 0}, 100, 0);
  const Json line = tick({10.5, 1, 5.25, 101, 2.25, 0, 0, 0}, 4196, 0.5);
  EXPECT_EQ(line["cpu_u"], 25.0);
  EXPECT_EQ(line["cpu_s"], 12.5);
  EXPECT_EQ(line["cpu_i"], 50.0);
  EXPECT_EQ(line["cpu_util"], 50.0) << "waiting for I/O counts as busy";
  EXPECT_EQ(line["cpu_guest"], 12.5);
  EXPECT_EQ(line["cpu_u_ms"], 500);
  EXPECT_EQ(line["cpu_s_ms"], 250);
  EXPECT_EQ(line["cpu_w_ms"], 250);
  EXPECT_EQ(line["cpu_n_ms"], 0);
  EXPECT_EQ(line["cpu_x_ms"], 0);
  EXPECT_EQ(line["cpu_guest_ms"], 250);
  EXPECT_EQ(line["rx_bytes.et\"h0"], 4096);
  EXPECT_TRUE(line["cpu_u"].is_number());
  EXPECT_FALSE(lines_.back().contains('\n'));
}

TEST_F(JsonLinesTest, AbsentIsAbsent) {
  tick({10, 1, 5, 100, 2, 0, 0, 0}, 100, 0.5);
  const Json line = tick({11, 1, 5, 101, 2, 0, 0, 0}, 50, std::nullopt);
  EXPECT_FALSE(line.contains("load1"));
  EXPECT_FALSE(line.contains("rx_bytes.et\"h0")) << "the counter was reset";
  EXPECT_EQ(line["cpu_u"], 50.0);
}

TEST_F(JsonLinesTest, ASumWithAGapIsNoShare) {
  tick({10, 1, 500, 100, 2, 0, 0, 0}, 100, 0.5);
  const Json line = tick({11, 1, 5, 101, 2, 0, 0, 0}, 100, 0.5);  // system time started anew
  EXPECT_FALSE(line.contains("cpu_u"));
  EXPECT_EQ(line["cpu_u_ms"], 1000);
}

TEST_F(JsonLinesTest, OnlyWhatWasReadAtThisTick) {
  tick({0, 0, 0, 0, 0, 0, 0, 0}, 100, 0.25);
  now_ += seconds(1);
  writer_.begin_tick(WallTime(now_), MonotonicTime(now_));
  EXPECT_TRUE(sink_->consume(writer_.finish_tick()));
  EXPECT_EQ(lines_.back(), R"({"time":"1970-01-01T00:00:02.000Z","interval_s":1})");
}

TEST_F(JsonLinesTest, ALineSpeaksOfAllFramesSinceTheOneBefore) {
  sink_ = make_json_lines_sink(std::make_unique<KeepingWriter>(lines_),
                               {.sink = "json", .interval = seconds(60), .slowest = seconds(1)});
  lines_.clear();
  // 1'700'000'001 s; the next whole minute is at 1'700'000'040.
  tick({0, 0, 0, 0, 0, 0, 0, 0}, 100, 0);
  ASSERT_EQ(lines_.size(), 1U) << "a sign of life";
  for (int i = 1; i <= 38; ++i) tick({0, 0, 0, 1.0 * i, 0, 0, 0, 0}, 100.0 + i, 0);
  ASSERT_EQ(lines_.size(), 1U);
  Json line = tick({13, 0, 0, 39, 0, 0, 0, 0}, 139, 39);
  ASSERT_EQ(lines_.size(), 2U);
  EXPECT_EQ(line["interval_s"], 39);
  EXPECT_EQ(line["rx_bytes.et\"h0"], 39);
  EXPECT_EQ(line["cpu_u"], 25.0);
  EXPECT_EQ(line["load1"], 1);
  EXPECT_EQ(line["uptime"], 1040);
  tick({13, 0, 0, 40, 0, 0, 0, 0}, 149, 7);
  sink_.reset();
  ASSERT_EQ(lines_.size(), 3U) << "what is left at the end";
  line = Json::parse(lines_.back());
  EXPECT_EQ(line["interval_s"], 1);
  EXPECT_EQ(line["rx_bytes.et\"h0"], 10);
  EXPECT_EQ(line["load1"], 7);
}

TEST_F(JsonLinesTest, ADeviceThatWentAndOneThatCameBackAreInTheLine) {
  sink_ = make_json_lines_sink(std::make_unique<KeepingWriter>(lines_),
                               {.sink = "json", .interval = seconds(60), .slowest = seconds(1)});
  tick({0, 0, 0, 0, 0, 0, 0, 0}, 100, 0);
  tick({0, 0, 0, 0, 0, 0, 0, 0}, 130, 0);
  for (int i = 0; i < 2; ++i) {  // gone, and back under its name
    now_ += seconds(1);
    writer_.begin_tick(WallTime(seconds(1'700'000'000)) + now_, MonotonicTime(now_));
    writer_.begin_source(0, MonotonicTime(now_));
    if (i == 0) writer_.close(bytes_);
    if (i == 1) bytes_ = writer_.open(kBytes, {"et\"h0"});
    if (i == 1) writer_.set(bytes_, 5);
    writer_.end_source({});
    EXPECT_TRUE(sink_->consume(writer_.finish_tick()));
  }
  tick({0, 0, 0, 0, 0, 0, 0, 0}, 9, 0);
  sink_.reset();
  EXPECT_EQ(Json::parse(lines_.back())["rx_bytes.et\"h0"], 34);
}

TEST_F(JsonLinesTest, EventsToo) {
  EXPECT_TRUE(sink_->consume(
      Event{WallTime(seconds(1)), "trace.written", "pid 4711", "done \xff", {{"file", "/tmp/x"}}}));
  EXPECT_EQ(Json::parse(lines_.back()), Json({{"time", "1970-01-01T00:00:01.000Z"},
                                              {"event", "trace.written"},
                                              {"subject", "pid 4711"},
                                              {"text", "done \xEF\xBF\xBD"},
                                              {"fields", {{"file", "/tmp/x"}}}}));
}

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;
};

Pipe make_pipe() {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::string read_line(int fd) {
  std::string line;
  char letter = 0;
  while (::read(fd, &letter, 1) == 1 && letter != '\n') line += letter;
  return line;
}

TEST(LineWriter, WritesToAPipeAndLeavesItsFlags) {
  const Pipe pipe = make_pipe();
  const auto writer = LineWriter::to_descriptor(pipe.writer.get(), 1 << 20);
  ASSERT_TRUE(writer);
  (*writer)->put("one");
  (*writer)->put("two");
  EXPECT_EQ(read_line(pipe.reader.get()), "one");
  EXPECT_EQ(read_line(pipe.reader.get()), "two");
  EXPECT_EQ(::fcntl(pipe.writer.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(LineWriter, AReaderThatStallsHurtsNobody) {
  const Pipe pipe = make_pipe();
  auto writer = LineWriter::to_descriptor(pipe.writer.get(), 10'000);
  ASSERT_TRUE(writer);
  const std::string line(999, 'x');
  for (int i = 0; i < 2000; ++i) (*writer)->put(line);
  const SinkQueue queue = (*writer)->queue();
  EXPECT_LE(queue.length, 10U);
  EXPECT_GE(queue.dropped, 1500U) << "2 MB through a pipe of 64 KiB";
  writer->reset();  // hangs, and the test times out, if it waited for the reader
  EXPECT_EQ(read_line(pipe.reader.get()), line) << "whole lines";
}

TEST(LineWriter, AStalledSocketToo) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  auto writer = LineWriter::to_descriptor(ours.get(), 1 << 16);
  ASSERT_TRUE(writer);
  for (int i = 0; i < 2000; ++i) (*writer)->put(std::string(999, 'x'));
  EXPECT_GT((*writer)->queue().dropped, 0U);
  writer->reset();
}

TEST(LineWriter, AReaderThatIsGoneIsAnErrorNotTheEnd) {
  Pipe pipe = make_pipe();
  pipe.reader.reset();
  {
    const auto writer = LineWriter::to_descriptor(pipe.writer.get(), 1 << 16);
    ASSERT_TRUE(writer) << "EPIPE comes with the first line";
    (*writer)->put("one");
    std::optional<Error> error;
    while (!error) error = (*writer)->problem();
    EXPECT_THAT(error->message, testing::HasSubstr("Broken pipe"));
    EXPECT_EQ((*writer)->queue().delivery_failures, 1U);
  }
}

class TemporaryFile {
 public:
  TemporaryFile() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "dynolog-lines-XXXXXX").string();
    UniqueFd(::mkstemp(pattern.data()));
    path_ = pattern;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(LineWriter, AppendsToAFileAndWritesAllAtItsEnd) {
  const TemporaryFile file;
  ASSERT_TRUE(replace_file(file.path(), "before\n", 0644));
  {
    const auto writer = LineWriter::to_file(file.path(), {}, 1 << 20);
    ASSERT_TRUE(writer);
    for (const char* line : {"one", "two", "three"}) (*writer)->put(line);
  }
  EXPECT_EQ(read_file(file.path(), 1 << 20), "before\none\ntwo\nthree\n");
}

TEST(LineWriter, MakesAFileThatIsNotForEverybody) {
  const TemporaryFile file;
  std::filesystem::remove(file.path());
  ASSERT_TRUE(LineWriter::to_file(file.path(), {}, 1 << 20));
  const auto others = std::filesystem::perms::others_all;
  EXPECT_EQ(std::filesystem::status(file.path()).permissions() & others,
            std::filesystem::perms::none)
      << "events name users, processes and files";
}

// What make_sinks() sees, and what it reports.
struct ReportedWorld {
  SystemClock clock;
  std::unique_ptr<Log> log = make_silent_log();
  std::vector<std::string> reports;
  SinkWorld world{.clock = clock,
                  .log = *log,
                  .catalogue = {},
                  .version = "1",
                  .host = "node7",
                  .host_id = "",
                  .executable = "/bin/false",
                  .boot = {},
                  .started = {},
                  .interval = seconds(1),
                  .slowest = seconds(60),
                  .report = [this](const std::string& feature, const std::string& state,
                                   const std::string& reason) {
                    reports.push_back(feature + " " + state + " " + reason);
                  }};
};

TEST(AllSinks, MakesWhatIsAskedFor) {
  ReportedWorld reported;
  EXPECT_TRUE(make_sinks({}, reported.world)->empty());
  const TemporaryFile file;
  SinkOptions options;
  options.json.enabled = true;
  options.json.file = file.path();
  const auto sinks = make_sinks(options, reported.world);
  ASSERT_TRUE(sinks);
  ASSERT_EQ(sinks->size(), 1U);
  EXPECT_EQ(sinks->front()->name(), "json");
  EXPECT_THAT(reported.reports, testing::ElementsAre("json:" + file.path() + " ok "));
}

TEST(AllSinks, AFileThatCannotBeOpenedIsLeftOutAndReported) {
  ReportedWorld reported;
  SinkOptions options;
  options.json.enabled = true;
  options.json.file = "/nonexistent/x";
  const auto sinks = make_sinks(options, reported.world);
  ASSERT_TRUE(sinks);
  EXPECT_TRUE(sinks->empty());
  ASSERT_EQ(reported.reports.size(), 1U);
  EXPECT_THAT(reported.reports[0],
              testing::StartsWith("json:/nonexistent/x degraded /nonexistent: No such file"));
}

TEST(AllSinks, NothingIsSaidOfReceiversThatNobodyHasReached) {
  ReportedWorld reported;
  SinkOptions options;
  options.otlp.enabled = true;
  options.otlp.endpoint = "http://127.0.0.1:9";
  const auto sinks = make_sinks(options, reported.world);
  ASSERT_TRUE(sinks);
  EXPECT_EQ(sinks->size(), 1U);
  EXPECT_TRUE(reported.reports.empty());
}

TEST(AllSinks, APageThatCannotBeServedIsLeftOutAndReported) {
  ReportedWorld reported;
  SinkOptions options;
  options.prometheus.enabled = true;
  options.prometheus.port = 0;
  const auto first = make_sinks(options, reported.world);
  ASSERT_TRUE(first);
  ASSERT_EQ(first->size(), 1U);
  EXPECT_EQ(first->front()->name(), "prometheus");
  ASSERT_EQ(reported.reports.size(), 1U);
  EXPECT_THAT(reported.reports[0], testing::MatchesRegex("prometheus:127\\.0\\.0\\.1:[0-9]+ ok "));
  const std::string taken = reported.reports[0].substr(0, reported.reports[0].find(' '));
  options.prometheus.port = std::stoi(taken.substr(taken.rfind(':') + 1));
  const auto second = make_sinks(options, reported.world);
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->empty());
  EXPECT_THAT(reported.reports.back(),
              testing::StartsWith(taken + " degraded port " + taken.substr(taken.rfind(':') + 1)));
}

}  // namespace
}  // namespace dynolog
