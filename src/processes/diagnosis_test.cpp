// Verdicts for processes of every kind, each with the facts that bring it about and those that do
// not.
#include "processes/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/file.h"
#include "processes/torch_version.h"
#include "testing/source_tree.h"

namespace dynolog {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr MonotonicTime kNow{std::chrono::hours(10)};
constexpr auto kHostNetwork = "net:[4026531840]";

ProcessEntry calling(Nanoseconds since_last = Milliseconds(400), bool idle = true) {
  ProcessEntry entry;
  entry.key = {Pid{4711}, 99};
  entry.uid = Uid{1000};
  entry.endpoint = "abstract";
  entry.last_poll = kNow - since_last;
  entry.poll_period = std::chrono::seconds(1);
  entry.last_idle = idle;
  return entry;
}

// A process of which everything is as it should be; it only has not called in.
DiagnosisSubject good() {
  DiagnosisSubject subject;
  subject.facts.key = {Pid{4711}, 99};
  subject.facts.uid = Uid{1000};
  subject.facts.parent = Pid{4000};
  subject.facts.command = "python train.py";
  subject.facts.torch_library = "/venv/torch/lib/libtorch_cpu.so";
  subject.facts.uses_daemon = true;
  subject.facts.descriptors_read = subject.facts.environment_read = true;
  subject.facts.mapped_files_read = subject.facts.complete = true;
  subject.signs.state = 'S';
  subject.signs.network_namespace = kHostNetwork;
  subject.signs.executable = "/usr/bin/python3.11";
  subject.signs.torch_address = "7f0000000000";
  subject.signs.environment_variables = 30;
  subject.signs.use_daemon = "1";
  subject.torch = TorchFacts{};
  subject.torch->version = "2.13.0+cpu";
  subject.torch->has_base_configuration = true;
  subject.age = std::chrono::minutes(5);
  return subject;
}

DiagnosisGround ground() {
  DiagnosisGround ground;
  ground.now = kNow;
  ground.network_namespace = kHostNetwork;
  ground.wants_abstract = ground.serves_abstract = true;
  ground.directories = {{"/run/dynolog/u/1000", "8:1"}, {"/shared", "8:2"}};
  ground.has_base_configuration = true;
  return ground;
}

std::string shown(const std::vector<Verdict>& verdicts) {
  std::string text;
  for (const Verdict& verdict : verdicts) {
    text += verdict.check + " " + std::string(to_string(verdict.level)) + ": " + verdict.what +
            " | " + verdict.why + " | " + verdict.fix + "\n";
  }
  return text;
}

const Verdict* find(const std::vector<Verdict>& verdicts, const std::string& check, Level level) {
  for (const Verdict& verdict : verdicts) {
    if (verdict.check == check && verdict.level == level) return &verdict;
  }
  return nullptr;
}

struct Case {
  std::string name;
  std::function<void(DiagnosisSubject&, DiagnosisGround&)> make;
  std::string check;
  Level level = Level::broken;
  std::string said;  // stands in what, why or fix
};

void PrintTo(const Case& each, std::ostream* out) { *out << each.name; }

void set_version(DiagnosisSubject& subject, const char* version, bool gpu_build) {
  subject.torch->version = version;
  subject.signs.maps_gpu_torch = gpu_build;
}

using S = DiagnosisSubject;
using G = DiagnosisGround;

// What the job was started with.
std::vector<Case> version_cases() {
  return {
      {"variable_missing", [](S& s, G&) { s.facts.uses_daemon = false; }, "environment",
       Level::broken, "dyno env"},
      {"environment_not_readable",
       [](S& s, G&) {
         s.facts.uses_daemon = false;
         s.facts.environment_read = s.facts.complete = false;
       },
       "environment", Level::warning, "cannot be read"},
      {"environment_overwritten_by_a_title",
       [](S& s, G&) {
         s.facts.uses_daemon = false;
         s.signs.environment_variables = 0;
       },
       "environment", Level::warning, "title"},
      {"torch_1_13", [](S& s, G&) { set_version(s, "1.13.1", true); }, "version", Level::broken,
       "too old"},
      {"cpu_build_of_2_2", [](S& s, G&) { set_version(s, "2.2.0+cpu", false); }, "version",
       Level::broken, "without CUDA"},
      {"no_cuda_context_yet", [](S& s, G&) { set_version(s, "2.5.1", true); }, "version",
       Level::broken, "first CUDA context"},
      {"cuda_build_of_2_6",
       [](S& s, G&) {
         set_version(s, "2.6.0a0+ecf3bae40a.nv25.01", true);
         s.facts.holds_gpu = true;
       },
       "version", Level::broken, "kineto/issues/1032"},
      {"cuda_build_of_2_3",
       [](S& s, G&) {
         set_version(s, "2.3.1+cu121", true);
         s.facts.holds_gpu = true;
       },
       "version", Level::warning, "pytorch/issues/131020"},
      {"container_of_25_01", [](S& s, G&) { set_version(s, "2.6.0a0+ecf3bae40a.nv25.01", true); },
       "version", Level::warning, "container 25.01"},
      {"init_delay_on_2_4",
       [](S& s, G&) {
         set_version(s, "2.4.0+cpu", false);
         s.facts.kineto_init_delay = "5";
       },
       "environment", Level::broken, "KINETO_DAEMON_INIT_DELAY_S=5"},
      {"no_base_configuration_on_2_8",
       [](S& s, G&) {
         set_version(s, "2.8.0", true);
         s.torch->has_base_configuration = false;
       },
       "base_configuration", Level::warning, "/etc/libkineto.conf"}};
}

// Where it calls.
std::vector<Case> reach_cases() {
  return {
      {"other_network_namespace", [](S& s, G&) { s.signs.network_namespace = "net:[4026532999]"; },
       "network", Level::broken, "KINETO_IPC_SOCKET_DIR"},
      {"abstract_name_held_by_another",
       [](S&, G& g) {
         g.serves_abstract = false;
         g.abstract_problem = "the abstract socket @dynolog is held by process 7 (python)";
       },
       "network", Level::broken, "held by process 7"},
      {"directory_of_55_bytes",
       [](S& s, G&) { s.facts.ipc_socket_dir = "/" + std::string(54, 'd'); }, "socket_dir",
       Level::broken, "has 55 bytes"},
      {"directory_not_served", [](S& s, G&) { s.facts.ipc_socket_dir = "/elsewhere"; },
       "socket_dir", Level::broken, "--kineto_socket_dir=/elsewhere"},
      {"directory_under_another_path",
       [](S& s, G&) {
         s.facts.ipc_socket_dir = "/mnt/sockets";
         s.socket_directory = {.looked = true, .usable = true, .problem = "", .id = "8:2"};
       },
       "socket_dir", Level::broken, "KINETO_IPC_SOCKET_DIR=/shared"},
      {"another_directory_at_the_path",
       [](S& s, G&) {
         s.facts.ipc_socket_dir = "/shared";
         s.socket_directory = {.looked = true, .usable = true, .problem = "", .id = "9:9"};
       },
       "socket_dir", Level::broken, "not the directory of the host"},
      {"directory_not_writable",
       [](S& s, G&) {
         s.facts.ipc_socket_dir = "/shared";
         s.socket_directory = {
             .looked = true, .usable = false, .problem = "not writable for user bob", .id = "8:2"};
       },
       "socket_dir", Level::broken, "not writable for user bob"}};
}

// What it is.
std::vector<Case> state_cases() {
  return {
      {"stopped", [](S& s, G&) { s.signs.state = 'T'; }, "state", Level::broken, "kill -CONT 4711"},
      {"held_by_a_debugger", [](S& s, G&) { s.signs.state = 't'; }, "state", Level::broken,
       "debugger"},
      {"frozen", [](S& s, G&) { s.signs.frozen = true; }, "state", Level::broken, "cgroup"},
      {"in_the_kernel", [](S& s, G&) { s.signs.state = 'D'; }, "state", Level::warning, "state D"},
      {"ended",
       [](S& s, G&) {
         s.signs.state = 'Z';
         s.facts.torch_library.clear();  // what has ended maps nothing
       },
       "state", Level::broken, "ended"},
      {"forked", [](S& s, G&) { s.forked_from = Pid{4000}; }, "forked", Level::warning, "spawn"},
      {"forked_and_named",
       [](S& s, G&) {
         s.forked_from = Pid{4000};
         s.named = true;
       },
       "forked", Level::broken, "forked from process 4000"},
      {"young", [](S& s, G&) { s.age = std::chrono::seconds(3); }, "registered", Level::note,
       "started 3 s ago"},
      {"unexplained", [](S&, G&) {}, "registered", Level::broken, "KINETO_LOG_LEVEL=0"},
      {"gpu_without_torch",
       [](S& s, G&) {
         s.facts.torch_library.clear();
         s.facts.holds_gpu = true;
       },
       "registered", Level::note, "no libtorch_cpu.so"},
      {"mapped_files_not_readable",
       [](S& s, G&) {
         s.facts.torch_library.clear();
         s.facts.mapped_files_read = s.facts.complete = false;
         s.named = true;
       },
       "registered", Level::warning, "the daemon may not look into it"},
      {"no_torch_and_named",
       [](S& s, G&) {
         s.facts.torch_library.clear();
         s.named = true;
       },
       "registered", Level::broken, "no libtorch_cpu.so"},
      {"launcher",
       [](S& s, G&) {
         s.part = {Role::launcher, "launcher of the job"};
         s.facts.uses_daemon = false;
       },
       "role", Level::note, "launcher of the job"},
      {"launcher_named",
       [](S& s, G&) {
         s.part = {Role::launcher, "launcher of the job"};
         s.facts.uses_daemon = false;
         s.named = true;
       },
       "environment", Level::broken, "KINETO_USE_DAEMON"}};
}

std::vector<Case> silent_cases() {
  std::vector<Case> all = version_cases();
  for (const auto& more : {reach_cases(), state_cases()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

class SilentProcess : public ::testing::TestWithParam<Case> {};

TEST_P(SilentProcess, IsToldWhy) {
  DiagnosisSubject subject = good();
  DiagnosisGround here = ground();
  GetParam().make(subject, here);
  const auto verdicts = diagnose(subject, here);
  const Verdict* verdict = find(verdicts, GetParam().check, GetParam().level);
  ASSERT_NE(verdict, nullptr) << shown(verdicts);
  EXPECT_THAT(shown({*verdict}), HasSubstr(GetParam().said));
  for (const Verdict& each : verdicts) {
    EXPECT_NE(each.level, Level::ok);
    EXPECT_FALSE(each.why.empty() || each.fix.empty()) << shown({each});
  }
}

// The facts of one case bring about no verdict of a neighbour: besides this one there is at most
// what "unexplained" would say.
TEST_P(SilentProcess, IsToldNothingElseIsBroken) {
  DiagnosisSubject subject = good();
  DiagnosisGround here = ground();
  GetParam().make(subject, here);
  const auto verdicts = diagnose(subject, here);
  std::vector<std::string> broken;
  for (const Verdict& verdict : verdicts) {
    if (verdict.level == Level::broken && verdict.check != "registered") {
      broken.push_back(verdict.check);
    }
  }
  for (const std::string& check : broken) EXPECT_EQ(check, GetParam().check) << shown(verdicts);
  EXPECT_LE(broken.size(), 1U) << shown(verdicts);
}

INSTANTIATE_TEST_SUITE_P(Cases, SilentProcess, ::testing::ValuesIn(silent_cases()),
                         [](const auto& each) { return each.param.name; });

TEST(DiagnosisTest, EachCauseThatCanBeProvedIsTold) {
  DiagnosisSubject subject = good();
  subject.facts.uses_daemon = false;
  subject.signs.network_namespace = "net:[4026532999]";
  const auto verdicts = diagnose(subject, ground());
  EXPECT_NE(find(verdicts, "environment", Level::broken), nullptr);
  EXPECT_NE(find(verdicts, "network", Level::broken), nullptr);
  EXPECT_EQ(find(verdicts, "registered", Level::broken), nullptr) << "it is explained";
}

TEST(DiagnosisTest, WhatDoesNotKeepAProcessFromCallingIsNotBlamed) {
  DiagnosisSubject subject = good();
  DiagnosisGround here = ground();
  set_version(subject, "2.12.0+cu128", true);
  subject.facts.kineto_init_delay = "5";  // ignored by this version
  subject.facts.ipc_socket_dir = "/run/dynolog/u/1000";
  subject.socket_directory = {.looked = true, .usable = true, .problem = "", .id = "8:1"};
  subject.signs.network_namespace = "net:[4026532999]";  // the directory reaches across
  here.serves_abstract = false;
  const auto verdicts = diagnose(subject, here);
  ASSERT_THAT(verdicts, SizeIs(1)) << shown(verdicts);
  EXPECT_EQ(verdicts.front().check, "registered");
}

TEST(DiagnosisTest, ANameThatIsHeldIsTakenFromItsHolderAndOneThatIsNotWantedIsAskedFor) {
  DiagnosisGround here = ground();
  here.serves_abstract = false;
  here.abstract_problem = "the abstract socket @dynolog is held by process 7 (python)";
  const auto fix = [&here] {
    const auto verdicts = diagnose(good(), here);
    const Verdict* found = find(verdicts, "network", Level::broken);
    return found == nullptr ? std::string("nothing") : found->fix;
  };
  EXPECT_THAT(fix(), HasSubstr("end the other daemon; this one takes the name"));
  EXPECT_THAT(fix(), Not(HasSubstr("--enable_ipc_monitor"))) << "it was started with that";
  EXPECT_THAT(fix(), HasSubstr("`dyno env`"));
  here.abstract_problem.clear();
  EXPECT_THAT(fix(), HasSubstr("end the other daemon, which `ss -xap | grep @dynolog` names"));
  here.wants_abstract = false;
  EXPECT_THAT(fix(), HasSubstr("or this daemon with --enable_ipc_monitor"));
}

TEST(DiagnosisTest, UnknownNetworkNamespacesAreNoDifference) {
  DiagnosisSubject subject = good();
  subject.signs.network_namespace = "";
  EXPECT_EQ(find(diagnose(subject, ground()), "network", Level::broken), nullptr);
}

TEST(DiagnosisTest, AForkedProcessIsNotToldWhatItsParentIsToldToo) {
  DiagnosisSubject subject = good();
  subject.forked_from = Pid{4000};
  subject.signs.network_namespace = "net:[4026532999]";
  EXPECT_THAT(diagnose(subject, ground()), SizeIs(1));
  subject.facts.uses_daemon = false;
  EXPECT_NE(find(diagnose(subject, ground()), "environment", Level::broken), nullptr)
      << "spawn alone would not help it";
}

TEST(DiagnosisTest, ADataLoaderIsNoLoss) {
  DiagnosisSubject subject = good();
  subject.forked_from = Pid{4000};
  subject.part = {Role::data_loader, "data loader of process 4000"};
  const auto verdicts = diagnose(subject, ground());
  ASSERT_THAT(verdicts, SizeIs(1)) << shown(verdicts);
  EXPECT_EQ(verdicts.front().level, Level::note);
  EXPECT_THAT(verdicts.front().what, HasSubstr("data loader of process 4000"));
  EXPECT_THAT(verdicts.front().fix, Not(HasSubstr("--pids"))) << "it could not be traced anyway";
}

// --- processes that have called in ---

struct CallerCase {
  std::string name;
  std::function<void(DiagnosisSubject&, ProcessEntry&)> make;
  std::string check;
  Level level = Level::warning;
  std::string said;
};

void PrintTo(const CallerCase& each, std::ostream* out) { *out << each.name; }

using E = ProcessEntry;

const std::vector<CallerCase>& caller_cases() {
  static const std::vector<CallerCase> kCases = {
      {"idle", [](S&, E&) {}, "registered", Level::ok, "registered: idle, last call 0.4 s ago"},
      {"stalled", [](S&, E& e) { e.last_poll = kNow - std::chrono::seconds(14); }, "registered",
       Level::broken, "14.0 s ago"},
      {"stalled_because_stopped",
       [](S& s, E& e) {
         e.last_poll = kNow - std::chrono::seconds(14);
         s.signs.state = 'T';
       },
       "state", Level::broken, "kill -CONT 4711"},
      {"own_profiler", [](S&, E& e) { e.last_idle = false; }, "busy", Level::warning,
       "torch.profiler"},
      {"slow_calls", [](S&, E& e) { e.poll_period = std::chrono::seconds(5); }, "poll_interval",
       Level::note, "ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1"},
      {"empty_variable", [](S& s, E&) { s.signs.use_daemon = ""; }, "iterations", Level::warning,
       "optimizer steps"},
      {"no_steps_seen",
       [](S& s, E&) {
         set_version(s, "2.9.1", true);
         s.iterations = true;
       },
       "iterations", Level::warning, "dyno gputrace --pids 4711 --duration-ms"},
      {"container_of_25_02", [](S& s, E&) { set_version(s, "2.7.0a0+ecf3bae40a.nv25.02", true); },
       "version", Level::warning, "dynolog/issues/353"},
      {"injected", [](S& s, E&) { s.signs.profiler_library = "libToolsInjection64.so"; },
       "profiler", Level::warning, "libToolsInjection64.so"},
      {"injection_variable", [](S& s, E&) { s.signs.profiler_variable = "CUDA_INJECTION64_PATH"; },
       "profiler", Level::warning, "CUDA_INJECTION64_PATH"},
      {"crash_at_import",
       [](S& s, E&) {
         set_version(s, "2.7.1+cu126", true);
         s.torch->has_base_configuration = false;
       },
       "base_configuration", Level::warning, "issues/163545"},
      {"no_room",
       [](S& s, E&) {
         s.trace_directory = {
             .looked = true, .usable = true, .problem = "", .id = "8:3", .free_bytes = 5 << 20};
       },
       "output_dir", Level::warning, "/tmp has 5 MB"},
      {"directory_refused",
       [](S& s, E&) {
         s.facts.ondemand_trace_dir = "/traces";
         s.torch->knows_ondemand_trace_dir = true;
         s.trace_directory = {
             .looked = true, .usable = false, .problem = "no such directory", .id = ""};
       },
       "output_dir", Level::broken, "KINETO_ONDEMAND_TRACE_DIR=/traces: no such directory"},
      {"data_loader", [](S& s, E&) { s.part = {Role::data_loader, "data loader of process 4000"}; },
       "role", Level::note, "--pids 4711"},
      {"rule_of_2_14",
       [](S& s, E&) {
         s.torch->knows_ondemand_trace_dir = true;
         s.detailed = true;
       },
       "output_dir", Level::note, "below /tmp only"},
      {"silent_kineto", [](S& s, E&) { s.detailed = true; }, "log_level", Level::note,
       "KINETO_LOG_LEVEL=2"},
      {"cupti_that_stays",
       [](S& s, E&) {
         s.detailed = true;
         s.signs.maps_gpu_torch = true;
         s.facts.holds_gpu = true;
         s.signs.teardown_cupti = "0";
       },
       "teardown", Level::note, "TEARDOWN_CUPTI=1"},
  };
  return kCases;
}

class CallingProcess : public ::testing::TestWithParam<CallerCase> {
 protected:
  std::vector<Verdict> verdicts() const {
    DiagnosisSubject subject = good();
    ProcessEntry entry = calling();
    GetParam().make(subject, entry);
    subject.entry = &entry;
    return diagnose(subject, ground());
  }
};

TEST_P(CallingProcess, IsToldHowItIs) {
  const auto all = verdicts();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.front().check, "registered");
  const Verdict* verdict = find(all, GetParam().check, GetParam().level);
  ASSERT_NE(verdict, nullptr) << shown(all);
  EXPECT_THAT(shown({*verdict}), HasSubstr(GetParam().said));
  for (const Verdict& each : all) {
    EXPECT_EQ(each.level == Level::ok, each.why.empty()) << shown({each});
    EXPECT_EQ(each.level == Level::ok, each.fix.empty()) << shown({each});
  }
}

TEST_P(CallingProcess, IsToldNothingElse) {
  for (const Verdict& verdict : verdicts()) {
    const bool is_it = verdict.check == GetParam().check && verdict.level == GetParam().level;
    const bool is_news = verdict.level >= Level::warning && verdict.check != "registered";
    EXPECT_TRUE(is_it || !is_news) << shown(verdicts());
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, CallingProcess, ::testing::ValuesIn(caller_cases()),
                         [](const auto& each) { return each.param.name; });

TEST(DiagnosisTest, AHealthyProcessGetsOneLine) {
  DiagnosisSubject subject = good();
  const ProcessEntry entry = calling();
  subject.entry = &entry;
  const auto verdicts = diagnose(subject, ground());
  ASSERT_THAT(verdicts, SizeIs(1)) << shown(verdicts);
  EXPECT_EQ(verdicts.front().level, Level::ok);
  EXPECT_THAT(verdicts.front().what, HasSubstr("torch 2.13.0+cpu"));
}

TEST(DiagnosisTest, ARegisteredProcessIsNotBlamedForItsEnvironment) {
  DiagnosisSubject subject = good();
  subject.facts.uses_daemon = false;  // os.environ, before `import torch`
  subject.signs.network_namespace = "net:[4026532999]";
  const ProcessEntry entry = calling();
  subject.entry = &entry;
  EXPECT_THAT(diagnose(subject, ground()), SizeIs(1));
}

TEST(DiagnosisTest, FromTwoTwelveOnIterationsBecomeATime) {
  DiagnosisSubject subject = good();
  subject.iterations = true;
  const ProcessEntry entry = calling();
  subject.entry = &entry;
  EXPECT_EQ(find(diagnose(subject, ground()), "iterations", Level::warning), nullptr);
  subject.torch.reset();  // unknown, so it may be an older one
  EXPECT_NE(find(diagnose(subject, ground()), "iterations", Level::warning), nullptr);
  subject.signs.use_daemon = "";
  const auto verdicts = diagnose(subject, ground());
  EXPECT_EQ(std::ranges::count(verdicts, "iterations", &Verdict::check), 1) << shown(verdicts);
}

TEST(DiagnosisTest, AVariableThatTheVersionDoesNotKnowSaysNothingOfItsDirectory) {
  DiagnosisSubject subject = good();
  subject.facts.ondemand_trace_dir = "/traces";
  subject.trace_directory = {.looked = true, .usable = false, .problem = "not there", .id = ""};
  const ProcessEntry entry = calling();
  subject.entry = &entry;
  EXPECT_THAT(diagnose(subject, ground()), SizeIs(1));
}

TEST(DiagnosisTest, AStoppedProcessIsToldOnceHowItGoesOn) {
  DiagnosisSubject subject = good();
  const ProcessEntry entry = calling(std::chrono::seconds(14));
  subject.entry = &entry;
  subject.signs.frozen = true;
  const auto verdicts = diagnose(subject, ground());
  EXPECT_THAT(verdicts.front().fix, HasSubstr("docker unpause"));
  EXPECT_NE(find(verdicts, "state", Level::broken), nullptr);
}

std::string advice_for_another_network(const DiagnosisGround& here) {
  DiagnosisSubject subject = good();
  subject.signs.network_namespace = "net:[4026532999]";
  const auto verdicts = diagnose(subject, here);
  const Verdict* verdict = find(verdicts, "network", Level::broken);
  return verdict == nullptr ? "nothing" : verdict->fix;
}

TEST(DiagnosisTest, AContainerIsToldTheWholeCommandLine) {
  DiagnosisGround here = ground();
  const std::string advice = advice_for_another_network(here);
  EXPECT_THAT(advice,
              StartsWith("docker run -v /shared:/shared "
                         "-v /etc/libkineto.conf:/etc/libkineto.conf:ro -e KINETO_USE_DAEMON=1 "
                         "-e KINETO_IPC_SOCKET_DIR=/shared ...; in a pod: "));
  EXPECT_THAT(advice, HasSubstr("docker run --network=host ..., hostNetwork: true"));
  here.directories.erase("/shared");  // what is left is one user's own
  EXPECT_THAT(advice_for_another_network(here),
              StartsWith("sudo mkdir -p -m 1777 /run/kineto; then start the daemon with "
                         "--kineto_socket_dir=/run/kineto; then: docker run "
                         "-v /run/kineto:/run/kineto "));
  here.has_base_configuration = false;  // of a path that is missing docker makes a directory
  EXPECT_THAT(advice_for_another_network(here),
              StartsWith("echo ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1 | sudo tee "
                         "/etc/libkineto.conf; then: sudo mkdir -p -m 1777 /run/kineto; "));
}

TEST(DiagnosisTest, APodIsToldItsVolumesAndEnvironment) {
  EXPECT_THAT(
      advice_for_another_network(ground()),
      HasSubstr("; in a pod: volumes: [{name: dynolog, hostPath: {path: /shared, type: Directory}}"
                ", {name: libkineto, hostPath: {path: /etc/libkineto.conf, type: File}}] "
                "and in the container volumeMounts: [{name: dynolog, mountPath: /shared}, "
                "{name: libkineto, mountPath: /etc/libkineto.conf, readOnly: true}] "
                "env: [{name: KINETO_USE_DAEMON, value: \"1\"}, "
                "{name: KINETO_IPC_SOCKET_DIR, value: /shared}]; "));
}

TEST(DiagnosisTest, TheManualSaysTheSameOfContainers) {
  const auto page = read_file(DYNOLOG_SOURCE_DIR "/docs/install.md", 1U << 20U);
  ASSERT_TRUE(page);
  DiagnosisGround here = ground();
  here.directories = {{"/run/dynolog/kineto", ""}};
  const std::string advice = advice_for_another_network(here);
  const std::string between = "; in a pod: ";
  const auto docker = advice.substr(0, advice.find(between));
  const auto pod = advice.substr(docker.size() + between.size());
  EXPECT_THAT(*page, HasSubstr("`" + docker + "`"));
  EXPECT_THAT(*page, HasSubstr("`" + pod.substr(0, pod.find(';')) + "`"));
}

TEST(DiagnosisTest, ATraceOfOursIsNotAForeignProfiler) {
  DiagnosisSubject subject = good();
  const ProcessEntry entry = calling(Milliseconds(400), false);
  subject.entry = &entry;
  subject.traced = true;
  const auto verdicts = diagnose(subject, ground());
  ASSERT_THAT(verdicts, SizeIs(1)) << shown(verdicts);
  EXPECT_THAT(verdicts.front().what, HasSubstr("being traced"));
}

// --- forks ---

ScannedProcess scanned(int pid, int parent) {
  ScannedProcess process;
  process.facts.key = {Pid{pid}, 1};
  process.facts.uid = Uid{1000};
  process.facts.parent = Pid{parent};
  process.facts.torch_library = "/t/libtorch_cpu.so";
  process.signs.executable = "/usr/bin/python3";
  process.signs.torch_address = "7f1200000000";
  return process;
}

TEST(ForkedFromTest, TheParentsLayoutOfMemoryGivesAForkAway) {
  const ScannedProcess parent = scanned(10, 1);
  ScannedProcess child = scanned(11, 10);
  EXPECT_EQ(forked_from(child, {&parent, &child}), Pid{10});
  child.signs.torch_address = "7f3400000000";  // executed anew
  EXPECT_EQ(forked_from(child, {&parent, &child}), std::nullopt);
}

TEST(ForkedFromTest, AForkOfAForkIsOneToo) {
  const ScannedProcess trainer = scanned(10, 1);
  ScannedProcess child = scanned(12, 11);  // 11 has ended, or maps no torch
  child.facts.ancestors = {Pid{10}};
  EXPECT_EQ(forked_from(child, {&trainer, &child}), Pid{10});
}

TEST(ForkedFromTest, OnlyWithinATenantAndAProgram) {
  const ScannedProcess parent = scanned(10, 1);
  ScannedProcess child = scanned(11, 10);
  child.facts.uid = Uid{1001};
  EXPECT_EQ(forked_from(child, {&parent}), std::nullopt);
  child = scanned(11, 10);
  child.facts.container = "abc";
  EXPECT_EQ(forked_from(child, {&parent}), std::nullopt);
  child = scanned(11, 10);
  child.signs.executable = "/opt/other/python3";
  EXPECT_EQ(forked_from(child, {&parent}), std::nullopt);
  child = scanned(11, 10);
  child.signs.torch_address.clear();
  EXPECT_EQ(forked_from(child, {&parent}), std::nullopt);
}

TEST(TorchVersionTest, TakesTheFirstTwoNumbers) {
  EXPECT_EQ(torch_version("2.13.0+cpu"), (TorchVersion{2, 13}));
  EXPECT_EQ(torch_version("2.6.0a0+ecf3bae40a.nv25.01"), (TorchVersion{2, 6}));
  EXPECT_LT(*torch_version("2.9.1"), (TorchVersion{2, 12}));
  for (const char* text : {"", "2", "two.0", "2.x", "."}) {
    EXPECT_EQ(torch_version(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace dynolog
