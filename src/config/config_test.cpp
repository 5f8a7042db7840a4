// Unit tests of the options: spellings, precedence, files, errors, and what is printed back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "config/layers.h"
#include "config/option_table.h"
#include "config/options.h"
#include "config/texts.h"
#include "testing/source_tree.h"

namespace dynolog {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Arguments = std::vector<std::string>;
using Action = CommandLine::Action;

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() {
    char pattern[] = "/tmp/dynolog-config-XXXXXX";
    directory_ = ::mkdtemp(pattern);
    standard_ = {.config = path("standard.toml"),
                 .flagfile = path("standard.gflags"),
                 .run_dir = "/run/dynolog",
                 .system_mode = false};
  }
  ~ConfigTest() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  Result<CommandLine> parse(const Arguments& arguments) const {
    return parse_command_line(arguments, standard_);
  }
  Options options(const Arguments& arguments) const {
    auto line = parse(arguments);
    if (!line) {
      ADD_FAILURE() << line.error().message;
      return {};
    }
    return line->options;
  }
  std::string error(const Arguments& arguments) const {
    auto line = parse(arguments);
    if (line) {
      ADD_FAILURE() << "accepted: " << ::testing::PrintToString(arguments);
      return {};
    }
    EXPECT_EQ(line.error().kind, ErrorKind::invalid);
    return line.error().message;
  }

  std::string directory_;
  StandardFiles standard_;
};

TEST_F(ConfigTest, NothingGivenIsTheDefaults) {
  const auto line = parse({});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->action, Action::run);
  EXPECT_EQ(line->options.rpc.port, 1778);
  EXPECT_EQ(line->options.kineto.abstract_endpoint, std::nullopt);
  EXPECT_THAT(line->warnings, IsEmpty());
}

TEST_F(ConfigTest, TakesEverySpellingOfGflags) {
  for (const Arguments& arguments :
       {Arguments{"--port=9"}, Arguments{"--port", "9"}, Arguments{"-port=9"},
        Arguments{"-port", "9"}, Arguments{"--PORT=9"}}) {
    EXPECT_EQ(options(arguments).rpc.port, 9) << ::testing::PrintToString(arguments);
  }
  for (const Arguments& arguments :
       {Arguments{"--use_JSON"}, Arguments{"-use_JSON"}, Arguments{"--use-json"},
        Arguments{"--use_JSON=true"}, Arguments{"--use_JSON=1"}, Arguments{"--use_JSON=Yes"}}) {
    EXPECT_TRUE(options(arguments).metrics.json.enabled) << ::testing::PrintToString(arguments);
  }
  for (const Arguments& arguments :
       {Arguments{"--use_JSON", "--nouse_JSON"}, Arguments{"--use_JSON", "--no-use-json"},
        Arguments{"--use_JSON", "--use_JSON=f"}}) {
    EXPECT_FALSE(options(arguments).metrics.json.enabled) << ::testing::PrintToString(arguments);
  }
  EXPECT_EQ(options({"--port", "-1"}).rpc.port, -1);
}

TEST_F(ConfigTest, TriStateOfTheAbstractEndpoint) {
  EXPECT_EQ(options({"--enable_ipc_monitor"}).kineto.abstract_endpoint, true);
  EXPECT_EQ(options({"--noenable_ipc_monitor"}).kineto.abstract_endpoint, false);
}

TEST_F(ConfigTest, ListsRepeatAndSplitAtCommas) {
  EXPECT_THAT(
      options({"--kineto_socket_dir=/a,/b", "--kineto_socket_dir", "/c", "--kineto_socket_dir=/a"})
          .kineto.socket_dirs,
      ElementsAre("/a", "/b", "/c"));
  EXPECT_THAT(options({"--kineto_socket_dir=/a", "--kineto_socket_dir="}).kineto.socket_dirs,
              IsEmpty());
  EXPECT_THAT(options({"--kineto_socket_dir=", "--kineto_socket_dir=/a"}).kineto.socket_dirs,
              ElementsAre("/a"));
  EXPECT_THAT(error({"--kineto_socket_dir=/a,,/b"}), HasSubstr("has an empty item"));
}

TEST_F(ConfigTest, TheLaterOfPortAndNoTcpWins) {
  EXPECT_EQ(options({"--no_tcp"}).rpc.port, -1);
  EXPECT_EQ(options({"--no-tcp", "--port=5"}).rpc.port, 5);
  EXPECT_EQ(options({"--port=5", "--no-tcp"}).rpc.port, -1);
}

TEST_F(ConfigTest, UnknownOptionsAreRefusedWithTheNearest) {
  EXPECT_EQ(error({"--prot=5"}), "unknown option --prot; did you mean --port?");
  EXPECT_EQ(error({"--run-dri=/x"}), "unknown option --run-dri; did you mean --run_dir?");
  EXPECT_EQ(error({"--zzzzzzzzz"}), "unknown option --zzzzzzzzz; --help lists them all");
  EXPECT_THAT(error({"--noport"}), HasSubstr("unknown option --noport"));
}

TEST_F(ConfigTest, BadValuesNameOptionValueAndWhatIsAllowed) {
  EXPECT_EQ(error({"--port=70000"}), "--port=70000: must be a whole number from -1 to 65535");
  EXPECT_EQ(error({"--port=1778x"}), "--port=1778x: must be a whole number from -1 to 65535");
  EXPECT_EQ(error({"--port="}), "--port=: must be a whole number from -1 to 65535");
  EXPECT_EQ(error({"--use_JSON=maybe"}), "--use_JSON=maybe: must be true or false");
  EXPECT_EQ(error({"--log_level=loud"}), "--log_level=loud: must be debug, info, warning or error");
  EXPECT_EQ(error({"--rpc_auth=munge"}), "--rpc_auth=munge: must be loopback or none");
  EXPECT_THAT(error({"--rpc_bind=example.org"}), HasSubstr("must be an IPv4 or IPv6 address"));
  EXPECT_THAT(error({"--kineto_socket_dir=relative"}), HasSubstr("must be absolute paths"));
  EXPECT_THAT(error({"--kineto_socket_dir=/" + std::string(54, 'x')}), HasSubstr("54 bytes"));
  EXPECT_THAT(error({"--run_dir=/" + std::string(80, 'x')}), HasSubstr("80 bytes"));
  EXPECT_EQ(error({"--kernel_monitor_reporting_interval_s=0"}),
            "--kernel_monitor_reporting_interval_s=0: must be a whole number from 1 to 86400");
}

TEST_F(ConfigTest, MissingValuesAndStrayWordsAreExplained) {
  EXPECT_EQ(error({"--port"}), "--port needs a value");
  EXPECT_EQ(error({"--run_dir", "--use_JSON"}), "--run_dir needs a value");
  EXPECT_EQ(error({"--use_JSON", "false"}), "unexpected argument false; write --use_JSON=false");
  EXPECT_EQ(error({"start"}), "unexpected argument start; options begin with --");
  EXPECT_EQ(error({"-"}), "unexpected argument -; options begin with --");
  EXPECT_EQ(error({"--"}), "unexpected argument --; options begin with --");
  EXPECT_EQ(error({"--nouse_JSON=1"}), "--nouse_JSON takes no value");
}

TEST_F(ConfigTest, HostileTextIsShownHarmless) {
  EXPECT_EQ(error({"--\x1b[31mx"}), "unknown option --\uFFFD[31mx; --help lists them all");
  EXPECT_THAT(error({"--run_dir=a\nb"}), HasSubstr("must be UTF-8 without control characters"));
  EXPECT_THAT(error({"--json_file=\xff"}), HasSubstr("must be UTF-8"));
  EXPECT_LT(error({"--" + std::string(100'000, 'x')}).size(), 300U);
  EXPECT_LT(error({"--port=" + std::string(100'000, '9')}).size(), 300U);
  EXPECT_THAT(error({"--json_file=" + std::string(5000, 'x')}), HasSubstr("4096 bytes"));
}

TEST_F(ConfigTest, ListeningBeyondLoopbackNeedsAuthNone) {
  EXPECT_THAT(error({"--rpc_bind=0.0.0.0"}),
              AllOf(StartsWith("--rpc_bind=0.0.0.0 listens beyond loopback"),
                    HasSubstr("--rpc_auth=none")));
  EXPECT_THAT(error({"--rpc_bind=::"}), HasSubstr("beyond loopback"));
  EXPECT_THAT(error({"--rpc_bind=::ffff:10.0.0.1"}), HasSubstr("beyond loopback"));
  EXPECT_EQ(options({"--rpc_bind=0.0.0.0", "--rpc_auth=none"}).rpc.bind, "0.0.0.0");
  EXPECT_EQ(options({"--rpc_bind=127.3.2.1"}).rpc.bind, "127.3.2.1");
  EXPECT_EQ(options({"--rpc_bind=::1"}).rpc.bind, "::1");
  EXPECT_EQ(options({"--rpc_bind=::ffff:127.0.0.1"}).rpc.bind, "::ffff:127.0.0.1");
  EXPECT_EQ(options({"--rpc_bind=localhost"}).rpc.bind, "");
}

TEST_F(ConfigTest, FlagsOfLaterFeaturesAreAcceptedWithOneSentenceEach) {
  const auto line = parse({"--enable_perf_monitor", "--perf_monitor_reporting_interval_s", "60",
                           "--enable_gpu_monitor", "--dcgm_fields=100,155"});
  ASSERT_TRUE(line);
  EXPECT_THAT(line->warnings,
              ::testing::UnorderedElementsAre(
                  "--enable_perf_monitor, --perf_monitor_reporting_interval_s accepted, no effect: "
                  "this version has no CPU counters",
                  "--dcgm_fields, --enable_gpu_monitor accepted, no effect: this version has no "
                  "GPU monitoring"));
}

TEST_F(ConfigTest, TheRelay) {
  const auto relay = [this](const std::vector<std::string>& arguments) {
    return options(arguments).metrics.relay;
  };
  EXPECT_FALSE(relay({}).enabled);
  EXPECT_EQ(relay({"--use_fbrelay"}).address, "127.0.0.1");
  EXPECT_EQ(relay({"--use_fbrelay"}).port, 10'000);
  EXPECT_EQ(relay({"--fbrelay_address=fd00::1", "--fbrelay_port", "5170"}).port, 5170);
  EXPECT_EQ(relay({"--fbrelay_address=/run/relay.sock"}).address, "/run/relay.sock");
  EXPECT_EQ(relay({"--fbrelay_interval_s=5"}).interval, std::chrono::seconds(5));
  EXPECT_THAT(error({"--fbrelay_address="}), HasSubstr("must be a host's name or address"));
  EXPECT_THAT(error({"--fbrelay_port=0"}), HasSubstr("1 to 65535"));
  EXPECT_THAT(error({"--fbrelay_interval_s=0"}), HasSubstr("1 to 86400"));
}

TEST_F(ConfigTest, Otlp) {
  const auto otlp = [this](const std::vector<std::string>& arguments) {
    return options(arguments).metrics.otlp;
  };
  EXPECT_FALSE(otlp({}).enabled);
  EXPECT_EQ(otlp({}).endpoint, "http://localhost:4318");
  EXPECT_EQ(otlp({}).interval, std::chrono::seconds(15));
  using Pair = std::pair<std::string, std::string>;
  EXPECT_THAT(otlp({"--otlp_headers=a=b,X-Key=p%2Cq%25=="}).headers,
              ElementsAre(Pair("a", "b"), Pair("X-Key", "p,q%==")));
  EXPECT_THAT(otlp({"--otlp_resource_attributes=deployment.environment=prod"}).resource_attributes,
              ElementsAre(Pair("deployment.environment", "prod")));
  EXPECT_FALSE(otlp({"--otlp_compression=none"}).compress);
  EXPECT_EQ(otlp({"--otlp_timeout_ms=7"}).timeout, std::chrono::milliseconds(7));
  EXPECT_THAT(error({"--otlp_endpoint=node7:4318"}), HasSubstr("http:// or https://"));
  EXPECT_THAT(error({"--otlp_endpoint=http://u:p@node7"}), HasSubstr("into a header"));
  EXPECT_THAT(error({"--otlp_headers=a"}), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(error({"--otlp_headers=a b=c"}), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(error({"--otlp_headers=a=b%0D%0AHost: x"}), HasSubstr("control characters"));
  EXPECT_THAT(error({"--otlp_headers=Content-Length=1"}), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(error({"--otlp_compression=zstd"}), HasSubstr("gzip or none"));
  EXPECT_THAT(error({"--otlp_ssl_client_key_path=/k"}), HasSubstr("belong together"));
  EXPECT_THAT(
      parse({"--use_otlp", "--otlp_endpoint=http://far:4318", "--otlp_headers=a=b"})->warnings,
      ElementsAre(HasSubstr("in clear text")));
  EXPECT_THAT(parse({"--use_otlp", "--otlp_headers=a=b"})->warnings, ElementsAre());
  EXPECT_THAT(parse({"--use_otlp", "--otlp_ssl_ca_cert_path=/c"})->warnings,
              ElementsAre(HasSubstr("is not https://")));
}

TEST_F(ConfigTest, OpenTelemetrysEnvironment) {
  StandardFiles standard;
  const auto otlp = [&](const std::vector<std::string>& arguments) {
    const auto line = parse_command_line(arguments, standard);
    EXPECT_TRUE(line) << line.error().message;
    return line ? line->options.metrics.otlp : OtlpSinkOptions{};
  };
  using Pair = std::pair<std::string, std::string>;
  standard.environment = {{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://all:1/base/"},
                          {"OTEL_EXPORTER_OTLP_HEADERS", "key=a%20b, other=c"},
                          {"OTEL_EXPORTER_OTLP_TIMEOUT", "1234"},
                          {"OTEL_EXPORTER_OTLP_COMPRESSION", "none"},
                          {"OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca"},
                          {"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/c"},
                          {"OTEL_EXPORTER_OTLP_CLIENT_KEY", "/k"},
                          {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"},
                          {"OTEL_METRIC_EXPORT_INTERVAL", "2500"},
                          {"OTEL_SERVICE_NAME", "cluster-hosts"},
                          {"OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=prod,host.name=n"},
                          {"OTEL_TRACES_SAMPLER", "always_on"}};
  OtlpSinkOptions read = otlp({"--use_otlp"});
  EXPECT_EQ(read.endpoint, "https://all:1/base/v1/metrics");
  EXPECT_THAT(read.headers, ElementsAre(Pair("key", "a b"), Pair("other", "c")));
  EXPECT_EQ(read.timeout, std::chrono::milliseconds(1234));
  EXPECT_FALSE(read.compress);
  EXPECT_EQ(read.tls_ca + read.tls_certificate + read.tls_key, "/ca/c/k");
  EXPECT_EQ(read.interval, std::chrono::seconds(3));
  EXPECT_EQ(read.service_name, "cluster-hosts");
  EXPECT_EQ(read.resource_attributes.size(), 2U);

  EXPECT_EQ(otlp({}).endpoint, OtlpSinkOptions{}.endpoint) << "nobody asked for OTLP";
  EXPECT_EQ(otlp({"--use_otlp", "--otlp_timeout_ms=5"}).timeout, std::chrono::milliseconds(5));

  standard.environment["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"] = "http://own:2/m";
  standard.environment["OTEL_EXPORTER_OTLP_METRICS_HEADERS"] = "only=this";
  read = otlp({"--use_otlp"});
  EXPECT_EQ(read.endpoint, "http://own:2/m") << "as it is";
  EXPECT_THAT(read.headers, ElementsAre(Pair("only", "this")));

  const auto failure = [&] {
    const auto line = parse_command_line({"--use_otlp"}, standard);
    return line ? "" : line.error().message;
  };
  standard.environment["OTEL_EXPORTER_OTLP_METRICS_TIMEOUT"] = "soon";
  EXPECT_THAT(failure(), StartsWith("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT = soon: must be a whole"));
  standard.environment["OTEL_EXPORTER_OTLP_METRICS_TIMEOUT"] = "";
  standard.environment["OTEL_EXPORTER_OTLP_PROTOCOL"] = "grpc";
  EXPECT_THAT(failure(), HasSubstr("OTEL_EXPORTER_OTLP_PROTOCOL=grpc: only http/protobuf"));
  standard.environment["OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"] = "http/protobuf";
  EXPECT_EQ(failure(), "");
  standard.environment["OTEL_METRIC_EXPORT_INTERVAL"] = "0";
  EXPECT_THAT(failure(), HasSubstr("OTEL_METRIC_EXPORT_INTERVAL=0"));

  standard.environment["OTEL_SDK_DISABLED"] = "True";
  const auto disabled = parse_command_line({"--use_otlp"}, standard);
  ASSERT_TRUE(disabled);
  EXPECT_FALSE(disabled->options.metrics.otlp.enabled);
  EXPECT_THAT(disabled->warnings, ElementsAre(HasSubstr("OTEL_SDK_DISABLED")));
}

TEST_F(ConfigTest, ThePageOfMetrics) {
  const auto page = [this](const std::vector<std::string>& arguments) {
    return options(arguments).metrics.prometheus;
  };
  EXPECT_TRUE(page({}).enabled);
  EXPECT_EQ(page({}).port, 1779);
  EXPECT_FALSE(page({"--nouse_prometheus"}).enabled);
  EXPECT_EQ(page({"--use_prometheus", "--prometheus_port", "8080"}).port, 8080);
  EXPECT_EQ(page({"--prometheus_address=0.0.0.0"}).address, "0.0.0.0");
  EXPECT_EQ(page({"--prometheus_address=localhost"}).address, "");
  const auto families = page({"--prometheus_families=node,own"}).families;
  EXPECT_TRUE(families.node && !families.dcgm && families.own);
  EXPECT_THAT(error({"--prometheus_families=nodes"}), HasSubstr("must be of node, dcgm and own"));
  EXPECT_THAT(error({"--prometheus_families="}), HasSubstr("must name at least one"));
  EXPECT_THAT(error({"--prometheus_address=example.org"}), HasSubstr("must be an IPv4 or IPv6"));
  EXPECT_THAT(error({"--prometheus_tls_cert=/c"}), HasSubstr("belong together"));
  EXPECT_THAT(error({"--prometheus_tls_client_ca=/c"}), HasSubstr("needs --prometheus_tls_cert"));
  EXPECT_EQ(page({"--prometheus_tls_cert=/c", "--prometheus_tls_key=/k"}).tls_key, "/k");
}

TEST_F(ConfigTest, SecretsInClearTextArePointedOut) {
  const auto warnings = [this](std::vector<std::string> arguments) {
    arguments.emplace_back("--prometheus_token_file=/t");
    return parse(arguments)->warnings;
  };
  EXPECT_THAT(warnings({"--prometheus_address=::"}), ElementsAre(HasSubstr("in clear text")));
  EXPECT_THAT(warnings({}), ElementsAre());
  EXPECT_THAT(warnings({"--prometheus_families=dcgm"}), ElementsAre(HasSubstr("page empty")));
  EXPECT_THAT(warnings({"--prometheus_families=dcgm,own"}), ElementsAre());
  EXPECT_THAT(
      warnings({"--prometheus_address=::", "--prometheus_tls_cert=/c", "--prometheus_tls_key=/k"}),
      ElementsAre());
}

TEST_F(ConfigTest, EveryFlagOfTheFieldIsKnown) {
  const std::string_view names =
      "port use_JSON use_prometheus prometheus_address prometheus_port use_otlp otlp_endpoint "
      "otlp_service_name otlp_headers otlp_timeout_ms otlp_max_queue_size otlp_ssl_ca_cert_path "
      "otlp_ssl_client_cert_path otlp_ssl_client_key_path use_fbrelay fbrelay_address fbrelay_port "
      "use_ODS use_scuba kernel_monitor_reporting_interval_s perf_monitor_reporting_interval_s "
      "dcgm_reporting_interval_s enable_ipc_monitor enable_gpu_monitor enable_perf_monitor "
      "dcgm_lib_path dcgm_fields filter_nic_interfaces allow_interface_prefixes flagfile";
  std::istringstream stream{std::string(names)};
  for (std::string name; stream >> name;) EXPECT_TRUE(find_option(name)) << name;
}

TEST_F(ConfigTest, StoresInsideMetaAreRefused) {
  EXPECT_EQ(error({"--use_ODS"}), "--use_ODS: this version has no ODS, a store inside Meta");
  EXPECT_EQ(error({"--use_scuba=true"}),
            "--use_scuba: this version has no Scuba, a store inside Meta");
  EXPECT_TRUE(parse({"--use_ODS=false", "--nouse_scuba"}));
}

TEST_F(ConfigTest, JsonFileAloneIsPointedOut) {
  const auto line = parse({"--json_file=/tmp/x"});
  ASSERT_TRUE(line);
  EXPECT_THAT(line->warnings, ElementsAre("--json_file has no effect without --use_JSON"));
}

TEST_F(ConfigTest, PrefixesCountWithTheirFlagOnly) {
  const auto alone = parse({"--allow_interface_prefixes=ib,eth"});
  ASSERT_TRUE(alone);
  EXPECT_THAT(
      alone->warnings,
      ElementsAre("--allow_interface_prefixes has no effect without --filter_nic_interfaces"));
  const auto both = parse({"--filter_nic_interfaces", "--allow_interface_prefixes=ib,eth"});
  ASSERT_TRUE(both);
  EXPECT_TRUE(both->warnings.empty());
  EXPECT_THAT(both->options.metrics.collectors.net.prefixes, ElementsAre("ib", "eth"));
  EXPECT_TRUE(parse({"--filter_nic_interfaces"})->warnings.empty());
}

TEST_F(ConfigTest, AListOfCpusIsChecked) {
  EXPECT_EQ(options({"--cpu_list=0-3,8"}).cpu_list, "0-3,8");
  EXPECT_EQ(options({"--cpu_list="}).cpu_list, "");
  EXPECT_THAT(error({"--cpu_list=3-1"}), HasSubstr("such as 0-3,8; '3-1' is none"));
}

TEST_F(ConfigTest, ForgottenQuotesArePointedOut) {
  const std::pair<const char*, const char*> cases[] = {
      {"run_dir = /run/x", "run_dir = /run/x: put the text in quotes: run_dir = \"/run/x\""},
      {"rpc_bind=0.0.0.0  # all",
       "rpc_bind = 0.0.0.0: put the text in quotes: rpc_bind = \"0.0.0.0\""},
      {"log-level = debug", "log_level = debug: put the text in quotes: log_level = \"debug\""},
      {"disabled_collectors = cpu, load",
       "disabled_collectors = cpu, load: put each text in quotes: disabled_collectors = [\"cpu\", "
       "\"load\"]"},
      {"use_JSON = True", "use_JSON = True: must be true or false"}};
  for (const auto& [line, says] : cases) {
    const std::string toml = file("d.toml", std::string("port = 1\n") + line + "\n# end\n");
    EXPECT_EQ(error({"--config=" + toml}), toml + ":2: " + says);
    const std::string last = file("e.toml", std::string("port = 1\n") + line);
    EXPECT_EQ(error({"--config=" + last}), last + ":2: " + says) << "without a line's end";
  }
  // Of other mistakes the library knows more.
  for (const char* other : {"run_dir = \"/run/x", "port = 1\nport = 2", "nonsense = /x"}) {
    EXPECT_THAT(error({"--config=" + file("d.toml", other)}), Not(HasSubstr("quotes: "))) << other;
  }
}

TEST_F(ConfigTest, WhereAnOptionStandsIsKeptForLaterChecks) {
  const std::string toml = file("d.toml", "port = 1\ncpu_list = \"0-3\"\nlog_level = \"debug\"\n");
  const std::string flags = file("d.gflags", "# flags\n--disabled_collectors=cpu,load\n");
  const auto line = parse({"--config=" + toml, "--flagfile=" + flags, "--log_level=error"});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->as_given("cpu_list"), toml + ":2: cpu_list = 0-3");
  EXPECT_EQ(line->as_given("disabled_collectors"), flags + ":2: --disabled_collectors=cpu,load");
  EXPECT_EQ(line->as_given("log_level"), "--log_level=error") << "the one that counts";
  EXPECT_EQ(line->as_given("run_dir"), "--run_dir") << "not given";
}

TEST_F(ConfigTest, FlagfilesHaveCommentsBlanksAndNestedFiles) {
  const std::string inner = file("inner", "-log_level=debug\r\n");
  const std::string outer = file("outer",
                                 "# comment\n\n  --port=5\n--use_JSON\n--json_file /tmp/a=b\n"
                                 "--flagfile=" +
                                     inner + "\n--kineto_socket_dir=/a\n--kineto_socket_dir=/b");
  const Options read = options({"--flagfile=" + outer});
  EXPECT_EQ(read.rpc.port, 5);
  EXPECT_TRUE(read.metrics.json.enabled);
  EXPECT_EQ(read.metrics.json.file, "/tmp/a=b");
  EXPECT_EQ(read.log_level, LogLevel::debug);
  EXPECT_THAT(read.kineto.socket_dirs, ElementsAre("/a", "/b"));
}

TEST_F(ConfigTest, FlagfileErrorsNameFileAndLine) {
  const std::string bad_value = file("bad", "# one\n--port=x\n");
  EXPECT_EQ(error({"--flagfile", bad_value}),
            bad_value + ":2: --port=x: must be a whole number from -1 to 65535");
  const std::string unknown = file("unknown", "--prot=5\n");
  EXPECT_EQ(error({"--flagfile", unknown}),
            unknown + ":1: unknown option --prot; did you mean --port?");
  const std::string word = file("word", "port 5\n");
  EXPECT_THAT(error({"--flagfile", word}), HasSubstr(":1: port 5 is no flag"));
  const std::string action = file("action", "--print_config\n");
  EXPECT_THAT(error({"--flagfile", action}), HasSubstr("is for the command line only"));
  EXPECT_THAT(error({"--flagfile", path("absent")}), HasSubstr("absent"));
  const std::string circle = file("circle", "--flagfile=" + path("circle") + "\n");
  EXPECT_THAT(error({"--flagfile", circle}), HasSubstr("nested more than 8 deep"));
  const std::string big = file("big", std::string(kMaxConfigFile + 1, '#'));
  EXPECT_EQ(error({"--flagfile", big}), big + ": file is too large: more than 262144 bytes");
  EXPECT_EQ(error({"--config", big}), big + ": file is too large: more than 262144 bytes");
}

TEST_F(ConfigTest, TomlHasTheNamesOfTheFlags) {
  const std::string toml = file("a.toml", R"(# a comment
port = 5
use_JSON = true
json_file = "/tmp/a#b\u0021"
kineto_socket_dir = [
  "/c#d",  # one
  "/e",
]
enable_ipc_monitor = false
dcgm_reporting_interval_s = 5170
)");
  const auto line = parse({"--config", toml});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->options.rpc.port, 5);
  EXPECT_TRUE(line->options.metrics.json.enabled);
  EXPECT_EQ(line->options.metrics.json.file, "/tmp/a#b!");
  EXPECT_THAT(line->options.kineto.socket_dirs, ElementsAre("/c#d", "/e"));
  EXPECT_EQ(line->options.kineto.abstract_endpoint, false);
  EXPECT_THAT(line->warnings,
              ElementsAre(HasSubstr("--dcgm_reporting_interval_s accepted, no effect")));
}

TEST_F(ConfigTest, TomlErrorsNameFileLineAndKey) {
  const auto message = [this](const std::string& text) {
    const std::string name = file("bad.toml", text);
    std::string said = error({"--config=" + name});
    EXPECT_THAT(said, StartsWith(name + ":"));
    return said.substr(std::min(said.size(), name.size()));
  };
  EXPECT_EQ(message("\nport = 70000"), ":2: port = 70000: must be a whole number from -1 to 65535");
  EXPECT_EQ(message("port = \"5\""), ":1: port: must be a whole number, without quotes");
  EXPECT_EQ(message("port = 1.5"), ":1: port: must be a whole number, without quotes");
  EXPECT_EQ(message("use_JSON = 1"), ":1: use_JSON: must be true or false");
  EXPECT_EQ(message("json_file = true"), ":1: json_file: must be a string in quotes");
  EXPECT_EQ(message("kineto_socket_dir = [\"/a\", 1]"),
            ":1: kineto_socket_dir: must be an array of strings in quotes");
  EXPECT_EQ(message("\n\nprot = 5"), ":3: unknown option prot; did you mean port?");
  EXPECT_THAT(message("[rpc]\nport = 5"), HasSubstr("keys are flat"));
  EXPECT_EQ(message("print_config = true"), ":1: print_config is for the command line only");
  EXPECT_EQ(message("use_ODS = true"), ":1: use_ODS: this version has no ODS, a store inside Meta");
  EXPECT_THAT(message("port = 5\nport = 6"), StartsWith(":2: "));
  EXPECT_THAT(message("port = 5\nPort = 6"), HasSubstr("given twice"));
  EXPECT_THAT(message("json_file = \"open"), StartsWith(":1: "));
  EXPECT_EQ(message("port = 5\n" + std::string(100'000, '[')),
            ":2: brackets and dotted keys are nested more than 64 deep; options are flat, as the "
            "flags are");
  EXPECT_THAT(message("x = " + std::string(100'000, '[')), StartsWith(":1: "));
}

TEST_F(ConfigTest, ArgvWinsOverFlagfileWinsOverToml) {
  const std::string toml = file(
      "t", "port = 1\nlog_level = \"debug\"\nrpc_idle_timeout_s = 7\nkineto_socket_dir = [\"/t\"]");
  const std::string flags = file("f", "--port=2\n--log_level=warning\n--kineto_socket_dir=/f");
  const Options read = options({"--port=3", "--config=" + toml, "--flagfile=" + flags});
  EXPECT_EQ(read.rpc.port, 3);
  EXPECT_EQ(read.log_level, LogLevel::warning);
  EXPECT_EQ(read.rpc.idle_timeout_s, 7);
  EXPECT_THAT(read.kineto.socket_dirs, ElementsAre("/f")) << "a list is replaced, not joined";
  // A value that loses is not looked at: a broken file can be overruled, not a broken spelling.
  const std::string bad = file("b", "port = 99999");
  EXPECT_EQ(options({"--config=" + bad, "--port=4"}).rpc.port, 4);
}

TEST_F(ConfigTest, AFlagfileMayNameTheTomlFile) {
  const std::string toml = file("t", "port = 1");
  const std::string flags = file("f", "--config=" + toml);
  EXPECT_EQ(options({"--flagfile=" + flags}).rpc.port, 1);
}

// The system's daemon without root names the standard ones: only root's finds them by itself.
TEST_F(ConfigTest, AFlagfileWithADashBeforeItMayBeMissing) {
  EXPECT_EQ(options({"--flagfile=-" + path("absent")}).rpc.port, 1778);
  EXPECT_EQ(options({"--flagfile=-" + file("there", "--port=2")}).rpc.port, 2);
  EXPECT_THAT(error({"--flagfile=-" + file("bad", "--prot=2")}), HasSubstr("unknown option"));
  EXPECT_EQ(options({"--flagfile=-" + path("absent") + "," + path("there")}).rpc.port, 2);
}

TEST_F(ConfigTest, StandardFilesAreForTheSystemsDaemonOnly) {
  file("standard.toml", "port = 1\nlog_level = \"debug\"");
  file("standard.gflags", "--port=2");
  EXPECT_EQ(options({}).rpc.port, 1778) << "a user's daemon";
  standard_.system_mode = true;
  EXPECT_EQ(options({}).rpc.port, 2);
  EXPECT_EQ(options({}).log_level, LogLevel::debug);
  EXPECT_EQ(options({"--run_dir=/run/dynolog"}).rpc.port, 2);
  EXPECT_EQ(options({"--flagfile=", "--config="}).rpc.port, 1778) << "switched off";
  EXPECT_EQ(options({"--run_dir=/tmp/other"}).rpc.port, 1778) << "one beside the system's";
  EXPECT_EQ(options({"--flagfile=" + file("mine", "")}).rpc.port, 1) << "replaces the standard one";
  EXPECT_EQ(options({"--config=" + file("mine.toml", "")}).log_level, LogLevel::info);
}

TEST_F(ConfigTest, AbsentStandardFilesAreNoError) {
  standard_.system_mode = true;
  EXPECT_EQ(options({}).rpc.port, 1778);
}

TEST_F(ConfigTest, ActionsAreToldApart) {
  EXPECT_EQ(parse({"--check_config"})->action, Action::check_config);
  EXPECT_EQ(parse({"--print-config"})->action, Action::print_config);
  EXPECT_EQ(parse({"--version", "--print_config"})->action, Action::version);
  EXPECT_EQ(parse({"-h"})->action, Action::help);
  EXPECT_EQ(parse({"--worker=procs"})->worker, "procs");
  EXPECT_EQ(parse({"--worker", "files"})->action, Action::worker);
  const auto list = parse({"--list_metrics", "--json"});
  EXPECT_EQ(list->action, Action::list_metrics);
  EXPECT_TRUE(list->json);
  EXPECT_THAT(error({"--json"}), HasSubstr("--json goes with --list_metrics"));
  EXPECT_THAT(error({"--list_metrics", "--check_config"}), HasSubstr("choose one"));
  EXPECT_EQ(error({"--worker=root"}), "--worker=root: must be procs, files, mounts or resolve");
  EXPECT_THAT(error({"--check_config", "--port=x"}), HasSubstr("--port=x"));
}

TEST_F(ConfigTest, PrintedConfigReadsBackTheSame) {
  for (const Arguments& arguments :
       {Arguments{}, Arguments{"--run_dir=/tmp/a \"b\" \\c",
                               "--state_dir=/t/\u00e4",
                               "--worker_memory_mb=0",
                               "--port=-1",
                               "--rpc_bind=10.0.0.1",
                               "--rpc_auth=none",
                               "--enable_ipc_monitor=no",
                               "--kineto_socket_dir=/a,/b",
                               "--nokineto_user_directories",
                               "--nokineto_realtime",
                               "--trace_staged_timeout_s=9",
                               "--trace_write_timeout_s=8",
                               "--trace_fetch_timeout_s=7",
                               "--trace_store_mb=0",
                               "--trace_store_hours=5",
                               "--norpc_loopback_identity",
                               "--norpc_loopback_root",
                               "--rpc_max_connections=7",
                               "--rpc_max_connections_per_uid=6",
                               "--rpc_idle_timeout_s=6",
                               "--kernel_monitor_reporting_interval_s=5",
                               "--disabled_collectors=cpu",
                               "--collector_interval=diskstats=5,netdev=2",
                               "--disk_exclude=^(loop|ram)\\d+$",
                               "--vmstat_fields=^oom_kill$",
                               "--interrupts_per_cpu",
                               "--use_JSON",
                               "--json_file=/x",
                               "--json_interval_s=7",
                               "--json_file_max_bytes=0",
                               "--json_file_keep=9",
                               "--use_fbrelay",
                               "--fbrelay_address=@relay",
                               "--fbrelay_port=5",
                               "--fbrelay_interval_s=6",
                               "--use_otlp",
                               "--otlp_endpoint=https://[::1]:4/x?y=1",
                               "--otlp_interval_s=7",
                               "--otlp_headers=a=b%2Cc%25%20\"d,e==",
                               "--otlp_service_name=s",
                               "--otlp_resource_attributes=k=v",
                               "--otlp_compression=none",
                               "--otlp_timeout_ms=8",
                               "--otlp_max_queue_size=9",
                               "--otlp_max_queue_bytes=10",
                               "--otlp_ssl_ca_cert_path=/ca",
                               "--otlp_ssl_client_cert_path=/c",
                               "--otlp_ssl_client_key_path=/k",
                               "--log_level=error"}}) {
    const std::string printed = print_config(options(arguments));
    const std::string copy = print_config(options({"--config=" + file("copy.toml", printed)}));
    EXPECT_EQ(copy, printed);
  }
}

// Each row of the table must fill a member that print_config shows: a row that fills a neighbour's
// member, or none, changes the wrong line or no line.
TEST_F(ConfigTest, EachRowChangesItsOwnLineOnly) {
  const auto other_value = [](const OptionRow& row) -> Values {
    const std::string shown = row.show(Options{});
    if (row.kind == ValueKind::flag) return {shown == "true" ? "false" : "true"};
    if (row.kind == ValueKind::integer) return {"3"};
    if (row.name == "rpc_auth") return {"none"};
    if (row.name == "cpu_list") return {"0-3,8"};
    if (row.name == "collector_interval") return {"cpu=3"};
    if (row.name == "log_level") return {"error"};
    if (row.name == "rpc_bind" || row.name == "prometheus_address") return {"127.0.0.2"};
    if (row.name == "prometheus_families") return {"own"};
    if (row.name == "otlp_endpoint") return {"https://other"};
    if (row.name == "otlp_compression") return {"none"};
    if (row.name == "otlp_headers" || row.name == "otlp_resource_attributes") return {"a=b"};
    if (row.name == "cgroup_slices") return {"machine.slice"};
    if (row.name == "systemd_units") return {"ssh.service"};
    if (row.name == "job_labels") return {"user"};
    return {"/other"};
  };
  for (const OptionRow& row : option_rows()) {
    if (row.assign == nullptr) continue;
    Options changed;
    ASSERT_TRUE(row.assign(changed, other_value(row))) << row.name;
    for (const OptionRow& other : option_rows()) {
      if (other.show == nullptr) continue;
      EXPECT_EQ(other.show(changed) != other.show(Options{}), other.name == row.name)
          << row.name << " and " << other.name;
    }
  }
}

TEST_F(ConfigTest, HelpNamesEveryOptionWithinTheWidth) {
  const std::string help = parse({"--help"})->text;
  for (const OptionRow& row : option_rows()) {
    EXPECT_THAT(help, HasSubstr("--" + std::string(row.name))) << row.name;
  }
  EXPECT_THAT(help, HasSubstr("Examples:"));
  std::istringstream stream(help);
  for (std::string line; std::getline(stream, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST_F(ConfigTest, ControlGroupsAndLabelsOfJobs) {
  const CollectorOptions collectors =
      options({"--cgroup_slices=system.slice/sshd.service", "--job_labels=user",
               "--textfile_directory=/texts", "--top_processes=0"})
          .metrics.collectors;
  EXPECT_THAT(collectors.cgroups.slices, testing::ElementsAre("system.slice/sshd.service"));
  EXPECT_TRUE(collectors.jobs.user_label);
  EXPECT_EQ(collectors.textfile.directory, "/texts");
  EXPECT_EQ(collectors.top.processes, 0);
  EXPECT_FALSE(options({}).metrics.collectors.jobs.user_label);
  for (const char* slice : {"/system.slice", "../x", "a/../../x"}) {
    EXPECT_THAT(error({std::string("--cgroup_slices=") + slice}), HasSubstr("cgroup_slices"));
  }
  EXPECT_THAT(error({"--job_labels=pid"}), HasSubstr("must be user"));
  EXPECT_THAT(error({"--filesystem_types_exclude=("}), HasSubstr("no regular expression"));
}

TEST_F(ConfigTest, UnitsAreNamedWithTheirKind) {
  EXPECT_THAT(
      options({"--systemd_units=ssh.service,a\\x2db@1.mount"}).metrics.collectors.systemd.units,
      testing::ElementsAre("ssh.service", "a\\x2db@1.mount"));
  for (const char* unit : {"ssh", ".service", "ssh.", "s*.service", "a b.service", "a/b.mount"}) {
    EXPECT_THAT(error({std::string("--systemd_units=") + unit}), HasSubstr("as in ssh.service"))
        << unit;
  }
}

TEST_F(ConfigTest, CollectorsAreFilteredAndReadAtOtherIntervals) {
  const CollectorOptions collectors =
      options({"--disk_exclude=^(loop|ram)\\d+$", "--netstat_fields=^Tcp_", "--interrupts_per_cpu",
               "--collector_interval=diskstats=5,cpu=2"})
          .metrics.collectors;
  EXPECT_EQ(collectors.disk.devices.exclude, "^(loop|ram)\\d+$");
  EXPECT_EQ(collectors.netstat.fields, "^Tcp_");
  EXPECT_TRUE(collectors.interrupts.per_cpu);
  EXPECT_EQ(collectors.intervals.size(), 2U);
  EXPECT_EQ(collectors.intervals.at("diskstats"), std::chrono::seconds(5));
  EXPECT_THAT(error({"--net_exclude=("}),
              AllOf(HasSubstr("net_exclude"), HasSubstr("no regular expression")));
  for (const char* bad : {"cpu", "cpu=0", "=5", "cpu=often", "cpu=86401"}) {
    EXPECT_THAT(error({std::string("--collector_interval=") + bad}), HasSubstr("NAME=SECONDS"))
        << bad;
  }
}

// ./scripts/refresh-goldens writes what this compares.
TEST_F(ConfigTest, TheDocumentedOptionsAreTheRealOnes) {
  const std::string page = std::string(DYNOLOG_SOURCE_DIR) + "/docs/configuration.md";
  const auto text = read_file(page, 1U << 20U);
  ASSERT_TRUE(text) << text.error().message;
  const std::string begin = "<!-- options: begin -->\n";
  const std::string end = "<!-- options: end -->";
  const std::size_t from = text->find(begin);
  const std::size_t to = text->find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  const std::size_t start = from + begin.size();
  if (std::getenv("DYNOLOG_REFRESH_GOLDENS") != nullptr) {
    const std::string fresh = text->substr(0, start) + options_markdown() + "\n" + text->substr(to);
    ASSERT_TRUE(replace_file(page, fresh, 0644));
    return;
  }
  EXPECT_EQ(text->substr(start, to - start), options_markdown() + "\n")
      << "stale: run ./scripts/refresh-goldens";
}

}  // namespace
}  // namespace dynolog
