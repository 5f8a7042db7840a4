// Verdicts on the daemon and its host, each with the facts that bring it about.
#include "daemon/host_diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace dynolog {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kAllCapabilities = 0x1ffffffffffULL;

HostFacts good() {
  HostFacts facts;
  facts.status.version = "0.7.0";
  facts.status.host = "node7";
  facts.status.pid = 42;
  facts.status.mode = "system";
  facts.status.run_dir = "/run/dynolog";
  facts.status.features = {{"kineto:abstract", "ok", ""},
                           {"kineto:realtime", "ok", ""},
                           {"kineto:user directories", "ok", ""},
                           {"rpc:unix", "ok", ""},
                           {"rpc:tcp:127.0.0.1:1778", "ok", ""}};
  facts.system_mode = true;
  facts.capabilities = kAllCapabilities;
  facts.queue_length = 10;
  facts.may_raise_queue_length = true;
  facts.look = HostLook{};
  facts.look->spaces = {{"/run/dynolog", 1ULL << 30U, "", ""}, {"/tmp", 1ULL << 40U, "", ""}};
  facts.clock = ClockSync{.synchronised = true, .largest_error = Milliseconds(2)};
  facts.base_configuration = "ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1\n";
  facts.may_name_holder = true;
  return facts;
}

std::string shown(const std::vector<Verdict>& verdicts) {
  std::string text;
  for (const Verdict& verdict : verdicts) {
    text += verdict.check + " " + std::string(to_string(verdict.level)) + ": " + verdict.what +
            " | " + verdict.why + " | " + verdict.fix + "\n";
  }
  return text;
}

void set_feature(HostFacts& facts, const std::string& name, const std::string& state,
                 const std::string& reason) {
  for (auto& feature : facts.status.features) {
    if (feature.name == name) {
      feature = {name, state, reason};
      return;
    }
  }
  facts.status.features.push_back({name, state, reason});
}

TEST(HostDiagnosisTest, AGoodHostGetsOneLineForEachArea) {
  const auto verdicts = diagnose_host(good());
  std::vector<std::string> checks;
  for (const Verdict& verdict : verdicts) {
    EXPECT_EQ(verdict.level, Level::ok) << shown({verdict});
    EXPECT_EQ(verdict.why + verdict.fix, "") << shown({verdict});
    checks.push_back(verdict.check);
  }
  EXPECT_THAT(checks, ::testing::ElementsAre("daemon", "rpc", "endpoint", "realtime", "queue",
                                             "capability", "disk", "clock", "base_configuration"));
}

struct Case {
  std::string name;
  std::function<void(HostFacts&)> make;
  std::string check;
  Level level = Level::warning;
  std::string said;
};

void PrintTo(const Case& each, std::ostream* out) { *out << each.name; }

using F = HostFacts;

std::vector<Case> daemon_cases() {
  return {
      {"name_held",
       [](F& f) { set_feature(f, "kineto:abstract", "degraded", "@dynolog is held by process 7"); },
       "endpoint", Level::broken, "held by process 7"},
      {"name_not_served",
       [](F& f) { set_feature(f, "kineto:abstract", "off", "by --noenable_ipc_monitor"); },
       "endpoint", Level::note, "dyno env"},
      {"directory_unusable",
       [](F& f) { set_feature(f, "kineto:/shared", "degraded", "/shared: no such directory"); },
       "endpoint", Level::broken, "in /shared"},
      {"port_taken", [](F& f) { set_feature(f, "rpc:tcp:127.0.0.1:1778", "degraded", "in use"); },
       "rpc", Level::broken, "tcp:127.0.0.1:1778"},
      {"no_realtime", [](F& f) { set_feature(f, "kineto:realtime", "degraded", "not permitted"); },
       "realtime", Level::warning, "CAP_SYS_NICE"},
      {"no_trace_store", [](F& f) { set_feature(f, "trace-store", "degraded", "disk full"); },
       "feature", Level::warning, "trace-store is degraded: disk full"},
      {"switched_off", [](F& f) { set_feature(f, "history", "off", "by --nouse_history"); },
       "feature", Level::note, "start the daemon without --nouse_history"},
      {"short_queue", [](F& f) { f.may_raise_queue_length = false; }, "queue", Level::note,
       "max_dgram_qlen=512"},
      {"no_ptrace", [](F& f) { *f.capabilities &= ~(1ULL << 19U); }, "capability", Level::warning,
       "lacks CAP_SYS_PTRACE"},
      {"no_setuid", [](F& f) { *f.capabilities &= ~(1ULL << 7U); }, "capability", Level::warning,
       "lacks CAP_SETUID"},
      {"user_mode",
       [](F& f) {
         f.system_mode = false;
         f.capabilities = 0;
       },
       "daemon", Level::note, "its own user only"},
      {"nobody_served",
       [](F& f) { f.status.features = {{"kineto:abstract", "off", "by --noenable_ipc_monitor"}}; },
       "endpoint", Level::warning, "dyno env"}};
}

std::vector<Case> host_cases() {
  return {
      {"tmp_almost_full", [](F& f) { f.look->spaces[1].free_bytes = 100 << 20; }, "disk",
       Level::warning, "/tmp has 100 MB"},
      {"tmp_full", [](F& f) { f.look->spaces[1].free_bytes = 0; }, "disk", Level::broken,
       "df /tmp"},
      {"run_directory_full", [](F& f) { f.look->spaces[0].free_bytes = 1000; }, "disk",
       Level::broken, "/run/dynolog has 0 MB"},
      {"not_measured", [](F& f) { f.look->spaces[1].problem = "Permission denied"; }, "disk",
       Level::warning, "Permission denied"},
      {"file_system_hangs",
       [](F& f) {
         f.look.reset();
         f.look_problem = "the worker did not answer in time";
       },
       "disk", Level::warning, "did not answer"},
      {"clock_free", [](F& f) { f.clock->synchronised = false; }, "clock", Level::warning,
       "chronyd"},
      {"clock_far_off", [](F& f) { f.clock->largest_error = Milliseconds(450); }, "clock",
       Level::warning, "450 ms"},
      {"clock_unknown", [](F& f) { f.clock.reset(); }, "clock", Level::note, "timedatectl"},
      {"nvidia_refused",
       [](F& f) {
         f.look->nvidia_driver = true;
         f.look->nvidia_problem = "/dev/nvidiactl: Operation not permitted";
       },
       "gpu_driver", Level::warning, "Operation not permitted"},
      {"nvidia_fine", [](F& f) { f.look->nvidia_driver = true; }, "gpu_driver", Level::ok, ""},
      {"no_base_configuration", [](F& f) { f.base_configuration.reset(); }, "base_configuration",
       Level::warning, "tee /etc/libkineto.conf"},
      {"empty_base_configuration", [](F& f) { f.base_configuration = ""; }, "base_configuration",
       Level::warning, "is empty"},
      {"nsys", [](F& f) { f.tools = {{Pid{77}, Uid{1000}, "nsys"}}; }, "profiler", Level::note,
       "nsys runs (pid 77)"},
      {"dcgm", [](F& f) { f.dcgm_runs = true; }, "profiler", Level::note, "dcgmi profile --pause"},
      {"dcgm_exporter", [](F& f) { f.tools = {{Pid{77}, Uid{0}, "dcgm-exporter"}}; }, "profiler",
       Level::note, "DCGM runs on this host"},
      {"refused_processes", [](F& f) { f.refused = 2; }, "processes", Level::warning,
       "may not look into 2 processes"},
      {"hung_processes", [](F& f) { f.hung = 2; }, "processes", Level::warning,
       "2 processes cannot be read"},
      {"unfinished", [](F& f) { f.incomplete = "there are more than 4096 processes"; }, "processes",
       Level::warning, "4096"},
      {"invisible_callers", [](F& f) { f.status.counters = {{"kineto_no_credentials", 12}}; },
       "processes", Level::warning, "hostPID: true"}};
}

class HostCase : public ::testing::TestWithParam<Case> {};

TEST_P(HostCase, IsTold) {
  HostFacts facts = good();
  GetParam().make(facts);
  const auto verdicts = diagnose_host(facts);
  bool found = false;
  for (const Verdict& verdict : verdicts) {
    const bool is_it = verdict.check == GetParam().check && verdict.level == GetParam().level;
    if (is_it) found = found || shown({verdict}).contains(GetParam().said);
    if (verdict.level >= Level::warning) {
      EXPECT_EQ(verdict.check, GetParam().check) << shown(verdicts);
      EXPECT_NE(verdict.why, "");
      EXPECT_NE(verdict.fix, "");
    }
  }
  EXPECT_TRUE(found) << shown(verdicts);
}

INSTANTIATE_TEST_SUITE_P(OfTheDaemon, HostCase, ::testing::ValuesIn(daemon_cases()),
                         [](const auto& each) { return each.param.name; });
INSTANTIATE_TEST_SUITE_P(OfTheHost, HostCase, ::testing::ValuesIn(host_cases()),
                         [](const auto& each) { return each.param.name; });

TEST(HostDiagnosisTest, AnotherUsersProcessIsNotNamedToOrdinaryUsers) {
  HostFacts facts = good();
  facts.may_name_holder = false;
  set_feature(facts, "kineto:abstract", "degraded",
              "the abstract socket @dynolog is held by process 7 (python)");
  EXPECT_THAT(shown(diagnose_host(facts)), Not(HasSubstr("process 7")));
  EXPECT_THAT(shown(diagnose_host(facts)), HasSubstr("another process holds it"));
  EXPECT_THAT(shown(diagnose_host(facts)), HasSubstr("`ss -xap | grep @dynolog` names to root"));
  facts.may_name_holder = true;
  EXPECT_THAT(shown(diagnose_host(facts)), HasSubstr("process 7 (python)"));
  EXPECT_THAT(shown(diagnose_host(facts)), Not(HasSubstr("ss -xap")));
  set_feature(facts, "kineto:abstract", "degraded",
              "the abstract socket @dynolog is held by a process that cannot be seen from here");
  EXPECT_THAT(shown(diagnose_host(facts)), HasSubstr("`ss -xap | grep @dynolog` names to root"));
}

TEST(HostDiagnosisTest, DcgmIsToldOnceAndWithoutItsPid) {
  HostFacts facts = good();
  facts.tools = {{Pid{9977}, Uid{0}, "nv-hostengine"}, {Pid{78}, Uid{0}, "dcgm-exporter"}};
  facts.dcgm_runs = true;
  const std::string text = shown(diagnose_host(facts));
  EXPECT_EQ(text.find("DCGM runs"), text.rfind("DCGM runs"));
  EXPECT_THAT(text, Not(HasSubstr("9977")));
}

TEST(EffectiveCapabilitiesTest, AreReadFromTheStatus) {
  EXPECT_EQ(effective_capabilities("Name:\tx\nCapPrm:\t00ff\nCapEff:\t00000000000000a1\n"), 0xa1U);
  for (const char* text : {"", "CapEff:", "CapEff:\tzz\n", "CapPrm:\t00ff\n"}) {
    EXPECT_EQ(effective_capabilities(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace dynolog
