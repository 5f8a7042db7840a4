// The Prometheus sink as its clients see it.
#include "sinks/prometheus.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/base64.h"
#include "base/file.h"
#include "base/unique_fd.h"
#include "metrics/frame_writer.h"
#include "testing/fake_clock.h"

namespace dynolog {
namespace {

using std::chrono::seconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::array kLoad = {MetricDescriptor{
    .id = "load", .help = "Load", .source = "t", .prometheus = {.name = "node_load1"}}};
constexpr std::array kForks = {MetricDescriptor{.id = "forks",
                                                .kind = MetricKind::counter,
                                                .help = "Forks",
                                                .source = "t",
                                                .prometheus = {.name = "node_forks_total"}}};
constexpr std::array kSections = {CatalogueSection{"load", Tier::fast, kLoad},
                                  CatalogueSection{"forks", Tier::fast, kForks}};

class PrometheusSinkTest : public testing::Test {
 protected:
  void serve(PrometheusSinkOptions options = {}) {
    options.port = 0;
    auto sink = make_prometheus_sink(options, kSections, clock_,
                                     {.version = "1.2.3", .interval = interval_});
    ASSERT_TRUE(sink) << sink.error().message;
    sink_ = std::move(*sink);
  }

  [[nodiscard]] Status tick(double load) {
    clock_.advance(seconds(1));
    writer_.begin_tick(clock_.wall(), clock_.monotonic());
    writer_.begin_source(0, clock_.monotonic());
    if (!load_.valid()) load_ = writer_.open(kLoad[0], {});
    if (!forks_.valid()) forks_ = writer_.open(kForks[0], {});
    writer_.set(load_, load);
    writer_.set(forks_, 7);
    writer_.end_source({});
    return sink_->consume(writer_.finish_tick());
  }

  [[nodiscard]] std::string get(const std::string& target, const std::string& fields = "") const {
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(sink_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const std::string request =
        "GET " + target + " HTTP/1.1\r\nConnection: close\r\n" + fields + "\r\n";
    EXPECT_TRUE(write_all(socket.get(), request));
    return read_all(socket.get(), 1U << 20U).value_or("");
  }

  [[nodiscard]] std::string status_of(const std::string& target,
                                      const std::string& fields = "") const {
    return get(target, fields).substr(9, 3);
  }

  Nanoseconds interval_ = seconds(1);
  FakeClock clock_;
  FrameWriter writer_{1, 100};
  SeriesHandle load_, forks_;
  std::unique_ptr<PrometheusSink> sink_;
};

TEST_F(PrometheusSinkTest, ServesTheNewestFrame) {
  serve();
  EXPECT_EQ(status_of("/metrics"), "503") << "no frame yet";
  EXPECT_EQ(status_of("/readyz"), "503");
  EXPECT_EQ(status_of("/healthz"), "200");
  ASSERT_TRUE(tick(0.5));
  EXPECT_EQ(status_of("/readyz"), "200");
  EXPECT_THAT(get("/metrics"), EndsWith("\nnode_load1 0.5\n"));
  ASSERT_TRUE(tick(0.75));
  const std::string page = get("/metrics");
  EXPECT_THAT(page, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(page, EndsWith("\r\n\r\n# HELP node_forks_total Forks\n# TYPE node_forks_total "
                             "counter\nnode_forks_total 7\n# HELP node_load1 Load\n# TYPE "
                             "node_load1 gauge\nnode_load1 0.75\n"));
}

TEST_F(PrometheusSinkTest, StaleFiguresAreNoFigures) {
  serve();
  ASSERT_TRUE(tick(1));
  ASSERT_TRUE(tick(1));
  clock_.advance(seconds(10));
  EXPECT_EQ(status_of("/metrics"), "200");
  clock_.advance(seconds(1));
  EXPECT_EQ(status_of("/metrics"), "503");
  EXPECT_EQ(status_of("/readyz"), "503");
  ASSERT_TRUE(tick(1));
  EXPECT_EQ(status_of("/metrics"), "200");
}

TEST_F(PrometheusSinkTest, RareReadingsStayFreshForLonger) {
  interval_ = seconds(60);
  serve();
  ASSERT_TRUE(tick(1));
  clock_.advance(seconds(300));
  EXPECT_EQ(status_of("/metrics"), "200");
  clock_.advance(seconds(1));
  EXPECT_EQ(status_of("/metrics"), "503");
}

TEST_F(PrometheusSinkTest, NegotiatesTheFormat) {
  serve();
  ASSERT_TRUE(tick(1));
  const auto is_open_metrics = [this](const std::string& accept) {
    const std::string page = get("/metrics", "Accept: " + accept + "\r\n");
    const bool open = page.ends_with("# EOF\n");
    EXPECT_EQ(page.contains("Content-Type: application/openmetrics-text; version=1.0.0; "
                            "charset=utf-8\r\n"),
              open);
    EXPECT_EQ(page.contains("# TYPE node_forks counter\n"), open);
    EXPECT_THAT(page, HasSubstr("\nnode_forks_total 7\n"));
    return open;
  };
  EXPECT_TRUE(is_open_metrics(
      "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
      "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"));
  EXPECT_TRUE(is_open_metrics("application/openmetrics-text"));
  EXPECT_FALSE(is_open_metrics("application/openmetrics-text;version=2.0.0"));
  EXPECT_FALSE(is_open_metrics("application/openmetrics-text;version=1.0.0;q=0"));
  EXPECT_FALSE(is_open_metrics("text/plain, application/openmetrics-text;version=1.0.0;q=0.9"));
  EXPECT_FALSE(is_open_metrics("*/*"));
}

TEST_F(PrometheusSinkTest, ServesSomeCollectors) {
  serve();
  ASSERT_TRUE(tick(1));
  EXPECT_THAT(get("/metrics?collect[]=load"), EndsWith("\r\n\r\n# HELP node_load1 Load\n# TYPE "
                                                       "node_load1 gauge\nnode_load1 1\n"));
  EXPECT_THAT(get("/metrics?collect[]=load&collect%5b%5d=forks"), HasSubstr("node_forks_total"));
  const std::string unknown = get("/metrics?collect[]=lo%0Aad");
  EXPECT_THAT(unknown, StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(unknown, EndsWith("ad'; there are: load, forks\n"));
  EXPECT_EQ(status_of("/metrics?collect[]=%"), "400");
}

TEST_F(PrometheusSinkTest, LeavesSomeCollectorsOut) {
  serve();
  ASSERT_TRUE(tick(1));
  EXPECT_THAT(get("/metrics?exclude[]=forks"), EndsWith("\r\n\r\n# HELP node_load1 Load\n# TYPE "
                                                        "node_load1 gauge\nnode_load1 1\n"));
  EXPECT_THAT(get("/metrics?exclude[]=zfs&exclude%5b%5d=load"),
              EndsWith("counter\nnode_forks_total 7\n"))
      << "as node_exporter, which takes names that it has no collector of";
  EXPECT_EQ(status_of("/metrics?exclude[]=%"), "400");
  const std::string both = get("/metrics?collect[]=load&exclude[]=forks");
  EXPECT_THAT(both, StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(both, EndsWith("collect[] and exclude[] exclude each other: give one\n"));
}

TEST_F(PrometheusSinkTest, OtherPaths) {
  serve();
  const std::string index = get("/");
  EXPECT_THAT(index, HasSubstr("Content-Type: text/html"));
  EXPECT_THAT(index, HasSubstr("dynolog 1.2.3"));
  EXPECT_EQ(status_of("/metric"), "404");
  EXPECT_EQ(status_of("/../etc/passwd"), "404");
}

TEST_F(PrometheusSinkTest, SaysWhenThePageIsFull) {
  serve({.max_series = 1});
  ASSERT_TRUE(tick(1));
  EXPECT_THAT(get("/metrics"), EndsWith("\nnode_forks_total 7\n"));
  const Status full = tick(1);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().kind, ErrorKind::exhausted);
  EXPECT_EQ(full.error().message, "1 series have no line on the page, which holds 1");
}

class SecretFiles {
 public:
  SecretFiles() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "dynolog-secret-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
  }
  SecretFiles(const SecretFiles&) = delete;
  SecretFiles& operator=(const SecretFiles&) = delete;
  ~SecretFiles() { std::filesystem::remove_all(directory_); }
  [[nodiscard]] std::string write(const std::string& name, std::string_view text) const {
    EXPECT_TRUE(replace_file(directory_ + "/" + name, text, 0600));
    return directory_ + "/" + name;
  }

 private:
  std::string directory_;
};

TEST_F(PrometheusSinkTest, AsksForAPasswordOrAToken) {
  const SecretFiles files;
  serve({.basic_auth_file = files.write("basic", "prom:secret\n"),
         .token_file = files.write("token", "abc\n")});
  ASSERT_TRUE(tick(1));
  const std::string refused = get("/metrics");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 401 Unauthorized\r\n"));
  EXPECT_THAT(refused, HasSubstr("WWW-Authenticate: Basic realm=\"dynolog\""));
  EXPECT_EQ(status_of("/"), "401");
  EXPECT_EQ(status_of("/healthz"), "200") << "probes have no secrets";
  const std::string basic = "Authorization: Basic " + to_base64("prom:secret") + "\r\n";
  EXPECT_EQ(status_of("/metrics", basic), "200");
  EXPECT_EQ(status_of("/metrics", "Authorization: Bearer abc\r\n"), "200");
  EXPECT_EQ(status_of("/metrics", "Authorization: Bearer abd\r\n"), "401");
  const std::string token = files.write("token", "new\n");
  EXPECT_EQ(status_of("/metrics", "Authorization: Bearer abc\r\n"), "401") << "renewed";
  EXPECT_EQ(status_of("/metrics", "Authorization: Bearer new\r\n"), "200");
  std::filesystem::remove(token);
  EXPECT_EQ(status_of("/metrics", basic), "503") << "nobody, rather than everybody";
}

TEST(PrometheusSink, ASecretThatCannotBeReadIsAnErrorAtTheStart) {
  const SecretFiles files;
  FakeClock clock;
  const auto start = [&](const PrometheusSinkOptions& options) {
    PrometheusSinkOptions any = options;
    any.port = 0;
    const auto sink =
        make_prometheus_sink(any, kSections, clock, {.version = "1", .interval = seconds(1)});
    return sink ? std::string() : sink.error().message;
  };
  EXPECT_THAT(start({.token_file = "/nonexistent"}), HasSubstr("/nonexistent"));
  EXPECT_THAT(start({.token_file = files.write("empty", "\nx\n")}), HasSubstr("first line"));
  EXPECT_THAT(start({.basic_auth_file = files.write("one", "word\n")}), HasSubstr("user:password"));
}

}  // namespace
}  // namespace dynolog
