// The pure parts: exit codes, tables, options, quoting, where daemons are looked for.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/endpoint.h"
#include "cli/exit_code.h"
#include "cli/render.h"
#include "cli/shell_text.h"
#include "cli/table.h"
#include "cli/trace_options.h"

namespace dynolog {
namespace {

rpc::TraceUpdate ended(const std::string& state) {
  rpc::TraceUpdate update;
  update.pid = 1;
  update.state = state;
  update.ended = true;
  return update;
}

rpc::TraceUpdate written(bool checked, bool whole, bool ours) {
  rpc::TraceUpdate update = ended("written");
  update.checked = checked;
  update.whole = whole;
  update.ours = ours;
  return update;
}

struct Case {
  const char* name;
  TraceOutcome outcome;
  ExitCode code;
};

TEST(ExitCodes, OfATrace) {
  rpc::PlannedTrace possible;
  rpc::PlannedTrace impossible;
  impossible.problem = "stalled";
  const rpc::TraceUpdate good = written(true, true, true);
  const rpc::TraceUpdate unchecked = written(false, false, false);
  const std::vector<Case> cases{
      {"nothing", {}, ExitCode::nothing_matched},
      {"good", {.planned = {possible}, .updates = {good}}, ExitCode::ok},
      {"all good", {.planned = {possible, possible}, .updates = {good, good}}, ExitCode::ok},
      {"not whole", {.updates = {written(true, false, true)}}, ExitCode::failed},
      {"not ours", {.updates = {written(true, true, false)}}, ExitCode::failed},
      {"unchecked", {.updates = {good, unchecked}}, ExitCode::unchecked},
      {"unchecked and failed", {.updates = {unchecked, ended("lost")}}, ExitCode::failed},
      {"none could", {.planned = {impossible}}, ExitCode::failed},
      {"one could not", {.planned = {impossible, possible}, .updates = {good}}, ExitCode::failed},
      {"expired", {.updates = {ended("timed_out")}}, ExitCode::failed},
      {"late",
       {.updates = {good, ended("timed_out")}, .deadline_passed = true},
       ExitCode::deadline},
      {"late, unchecked",
       {.updates = {unchecked, ended("timed_out")}, .deadline_passed = true},
       ExitCode::deadline},
      {"late and failed",
       {.updates = {ended("rejected"), ended("timed_out")}, .deadline_passed = true},
       ExitCode::failed},
      {"good in time", {.updates = {good}, .deadline_passed = true}, ExitCode::ok},
      {"not all there", {.updates = {good}, .unmatched = {"rank 5"}}, ExitCode::failed},
      {"interrupted", {.updates = {good}, .interrupted = true}, ExitCode::failed},
  };
  for (const Case& each : cases) EXPECT_EQ(exit_code(each.outcome), each.code) << each.name;
  for (const char* state : {"rejected", "busy", "cancelled", "lost"}) {
    EXPECT_EQ(exit_code({.updates = {good, ended(state)}}), ExitCode::failed) << state;
  }
}

TEST(ExitCodes, OfACall) {
  using enum CallFailureKind;
  EXPECT_EQ(exit_code(no_daemon, ErrorKind::failed), ExitCode::no_daemon);
  EXPECT_EQ(exit_code(late, ErrorKind::timed_out), ExitCode::no_daemon);
  EXPECT_EQ(exit_code(closed, ErrorKind::denied), ExitCode::failed);
  EXPECT_EQ(exit_code(garbled, ErrorKind::invalid), ExitCode::failed);
  EXPECT_EQ(exit_code(interrupted, ErrorKind::failed), ExitCode::failed);
  EXPECT_EQ(exit_code(from_daemon, ErrorKind::invalid), ExitCode::usage);
  EXPECT_EQ(exit_code(from_daemon, ErrorKind::ambiguous), ExitCode::usage);
  EXPECT_EQ(exit_code(from_daemon, ErrorKind::denied), ExitCode::refused);
  EXPECT_EQ(exit_code(from_daemon, ErrorKind::not_identified), ExitCode::refused);
  EXPECT_EQ(exit_code(from_daemon, ErrorKind::not_found), ExitCode::nothing_matched);
  EXPECT_EQ(exit_code(from_daemon, ErrorKind::exhausted), ExitCode::failed);
}

TEST(Tables, AlignByCharactersAndCut) {
  Table table({{"A"}, {"N", Table::Align::right}, {"LAST"}});
  table.add({"\xC3\xA9t\xC3\xA9", "7", "x"});
  table.add({"b", "1234", "a long one"});
  EXPECT_EQ(table.text(0), "A       N  LAST\n\xC3\xA9t\xC3\xA9     7  x\nb    1234  a long one\n");
  EXPECT_EQ(table.text(12), "A       N...\n\xC3\xA9t\xC3\xA9     7  x\nb    1234...\n");
  EXPECT_EQ(cut("\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", 4), "\xC3\xA9...");
  EXPECT_EQ(cut("abc", 2), "..");
}

TEST(Rendering, Figures) {
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1'400'000), "1.4 MB");
  EXPECT_EQ(bytes_text(999'999), "1.0 MB");
  EXPECT_EQ(duration_text(0.44), "0.4 s");
  EXPECT_EQ(duration_text(61), "61 s");
  EXPECT_EQ(duration_text(7500), "2 h 05 min");
  EXPECT_EQ(duration_text(200'000), "2 d 07 h");
  EXPECT_EQ(rank_text(0, 4), "0/4");
  EXPECT_EQ(rank_text(3, {}), "3");
  EXPECT_EQ(rank_text({}, 4), "-");
}

TEST(Rendering, ProcessList) {
  rpc::ProcessRow rank;
  rank.pid = 1234;
  rank.user = "ada";
  rank.scheduler = "slurm";
  rank.job = "77";
  rank.step = "0";
  rank.rank = 0;
  rank.world_size = 4;
  rank.holds_gpu = true;
  rank.torch_version = "2.8.0";
  rank.state = "idle";
  rank.last_poll_age_s = 1.25;
  rank.command = "python train.py";
  rank.at_risk = "its next start may die";
  rpc::ProcessRow launcher;
  launcher.pid = 99;
  launcher.user = "ada";
  launcher.state = "idle";
  launcher.launcher = true;
  launcher.command = std::string(60, 'x');
  EXPECT_EQ(render_processes({{rank, launcher}}, false, 0),
            " PID  USER  JOB  RANK  GPU  TORCH  STATE            LAST-POLL  COMMAND\n"
            "1234  ada   77   0/4   yes  2.8.0  idle (at risk)   1.2 s      python train.py\n"
            "  99  ada   -    -     -    -      idle (launcher)  0.0 s      " +
                std::string(60, 'x') + "\n\nPid 1234: at risk: its next start may die\n");
  EXPECT_NE(render_processes({{launcher}}, true, 80).find(std::string(60, 'x')), std::string::npos);
}

TEST(Rendering, Plan) {
  rpc::PlannedTrace good;
  good.pid = 100;
  good.rank = 1;
  good.world_size = 2;
  good.user = "ada";
  good.job = "7";
  good.file = "/tmp/t_100.json";
  good.expected_wait_s = 4;
  good.notes = {"written to /tmp"};
  rpc::PlannedTrace bad;
  bad.pid = 101;
  bad.user = "ada";
  bad.problem = "it is stalled";
  EXPECT_EQ(render_plan({.session = "s",
                         .planned = {good, bad},
                         .skipped = {{99, "torchrun", "launcher"}},
                         .unmatched = {"pid 1: not registered"},
                         .coverage = "1 of 2 ranks here",
                         .expires_in_s = 60},
                        0),
            "RANK  PID  USER  JOB  READY-IN  FILE\n"
            "1/2   100  ada   7    ~4.0 s    /tmp/t_100.json\n"
            "-     101  ada   -    -         (cannot be traced)\n"
            "pid 101: cannot be traced: it is stalled\n"
            "rank 1, pid 100: note: written to /tmp\n"
            "skipped pid 99 (torchrun): launcher\n"
            "not found: pid 1: not registered\n"
            "1 of 2 ranks here\n");
}

TEST(Rendering, Summary) {
  rpc::TraceUpdate good = written(true, true, true);
  good.rank = 0;
  good.file = "/tmp/t_1.json";
  good.events = 5800;
  good.bytes = 1'400'000;
  rpc::TraceUpdate lost = ended("lost");
  lost.pid = 2;
  lost.sentence = "the process ended";
  rpc::TraceUpdate cut_off = written(true, false, true);
  cut_off.pid = 3;
  cut_off.file = "/tmp/t_3.json";
  EXPECT_EQ(render_summary({.updates = {good, lost, cut_off}}),
            "RANK  PID  STATE    EVENTS    SIZE  FILE\n"
            "0       1  written    5800  1.4 MB  /tmp/t_1.json\n"
            "-       2  lost          -       -  -\n"
            "-       3  written       0     0 B  /tmp/t_3.json\n"
            "pid 2: the process ended\n"
            "pid 3: the file is not whole\n"
            "1 of 3 traces written and checked\n");
}

TEST(Rendering, SummaryNamesWhatCouldNotBeTraced) {
  rpc::PlannedTrace bad;
  bad.pid = 9;
  bad.rank = 3;
  bad.problem = "no such directory";
  EXPECT_EQ(render_summary({.planned = {bad}}),
            "rank 3, pid 9: cannot be traced: no such directory\n"
            "0 of 1 traces written and checked\n");
}

TEST(Rendering, NoWordTwice) {
  const auto said = [](const std::string& state, const std::string& sentence) {
    rpc::TraceUpdate update;
    update.pid = 7;
    update.state = state;
    update.sentence = sentence;
    return render_update(update);
  };
  EXPECT_EQ(said("tracing", "tracing"), "pid 7: tracing");
  EXPECT_EQ(said("busy", "busy, but no file"), "pid 7: busy, but no file");
  EXPECT_EQ(said("writing", "writingx"), "pid 7: writing: writingx");
  EXPECT_EQ(said("staged", "waits"), "pid 7: staged: waits");
  EXPECT_EQ(said("warming_up", "accepted by the process: warming up"),
            "pid 7: warming_up: accepted by the process");
  rpc::TraceUpdate good = written(true, true, true);
  good.events = 605;
  good.bytes = 132'988;
  good.file = "/t.json";
  good.sentence = "written: 605 events, 0.1 MB";
  EXPECT_EQ(render_update(good), "pid 1: written: 605 events, 133.0 kB: /t.json");
}

TEST(Rendering, LiveTableKeepsToTheScreen) {
  std::vector<rpc::TraceUpdate> updates;
  for (int i = 0; i < 50; ++i) {
    updates.push_back(i < 40 ? ended("written") : rpc::TraceUpdate{});
    updates.back().pid = i;
    if (i >= 40) updates.back().state = "tracing";
  }
  const std::string table = render_live({.updates = updates}, 12, 30);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 12);
  EXPECT_EQ(table.find("written"), std::string::npos);  // the ended ones gave way
  EXPECT_NE(table.find("40 of 50 at an end"), std::string::npos);
}

TEST(TraceOptions, Lists) {
  EXPECT_EQ(*parse_pids("12, 34"), (std::vector<std::int64_t>{12, 34}));
  EXPECT_TRUE(parse_pids("0")->empty());
  EXPECT_TRUE(parse_pids("")->empty());
  for (const char* bad : {"x", "1,", "-1", "1,0", "1.5", "99999999999999999999"}) {
    EXPECT_FALSE(parse_pids(bad)) << bad;
  }
  EXPECT_EQ(*parse_ranks("0,2,4-7"), (std::vector<int>{0, 2, 4, 5, 6, 7}));
  for (const char* bad : {"x", "1,", "-1", "7-4", "0-999999", "1-2-3"}) {
    EXPECT_FALSE(parse_ranks(bad)) << bad;
  }
}

TEST(TraceOptions, Request) {
  GputraceOptions options;
  options.log_file = "./out/t.json";
  options.job_id = "123_4";
  options.iterations = 3;
  const auto request = prepare_request(options, "/home/ada");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->trace.log_file, "/home/ada/out/t.json");
  EXPECT_EQ(*request->selection.job, "123_4");
  EXPECT_EQ(request->trace.iterations, 3);
  EXPECT_EQ(prepare_request(options, "/")->trace.log_file, "/out/t.json");
  EXPECT_FALSE(legacy_request(*request));  // no number
  GputraceOptions plain;
  const auto all = prepare_request(plain, "/home/ada");
  EXPECT_EQ(all->trace.iterations, 0);
  EXPECT_FALSE(all->selection.job);
  EXPECT_EQ(all->trace.log_file, "");
}

TEST(TraceOptions, ExistingTextInIterationAndMemoryMode) {
  GputraceOptions options;
  options.log_file = "/tmp/t.json";
  options.iterations = 5;
  options.iteration_roundup = 100;
  options.profile_memory = true;
  options.warmup_s = 0;
  EXPECT_EQ(
      legacy_request(*prepare_request(options, "/"))->config,
      "ACTIVITIES_LOG_FILE=/tmp/t.json\nPROFILE_START_ITERATION=0\n"
      "PROFILE_START_ITERATION_ROUNDUP=100\nACTIVITIES_ITERATIONS=5\n"
      "PROFILE_REPORT_INPUT_SHAPES=false\nPROFILE_PROFILE_MEMORY=true\nPROFILE_MEMORY=true\n"
      "PROFILE_MEMORY_DURATION_MSECS=500\nPROFILE_WITH_STACK=false\nPROFILE_WITH_FLOPS=false\n"
      "PROFILE_WITH_MODULES=false\nACTIVITIES_WARMUP_PERIOD_SECS=0");
  EXPECT_EQ(legacy_file_name("/a.json/t.pt.json", 7), "/a_7.json/t.pt_7.json");
}

TEST(Shells, Quoting) {
  EXPECT_EQ(shell_quoted("it's", Shell::posix), "'it'\\''s'");
  EXPECT_EQ(shell_quoted("it's \\ $x", Shell::fish), "'it\\'s \\\\ $x'");
  EXPECT_EQ(shell_quoted("a!b'c", Shell::csh), "'a\\!b'\\''c'");
  EXPECT_EQ(shell_export("A", "1", Shell::posix), "export A=1\n");
  EXPECT_EQ(shell_export("A", "/x y", Shell::posix), "export A='/x y'\n");
  EXPECT_EQ(shell_export("A", "", Shell::posix), "export A=''\n");
  EXPECT_EQ(shell_export("A", "/x", Shell::csh), "setenv A '/x';\n");
}

TEST(Shells, SocketDirectory) {
  EXPECT_TRUE(check_socket_directory("/" + std::string(53, 'x')));
  EXPECT_FALSE(check_socket_directory("/" + std::string(54, 'x')));
  EXPECT_FALSE(check_socket_directory("run"));
  EXPECT_FALSE(check_socket_directory(""));
  EXPECT_FALSE(check_socket_directory("/a\nb"));
}

class EndpointTest : public ::testing::Test {
 protected:
  std::vector<std::string> texts(const GlobalOptions& options, std::uint32_t uid) {
    const World world{out_,   out_,   [this](const std::string&) { return runtime_; },
                      uid,    "/",    "/run/dynolog",
                      "/tmp", clock_, {},
                      0,      false,  [] { return -1; },
                      {}};
    std::vector<std::string> found;
    for (const Endpoint& endpoint : endpoints(options, world)) found.push_back(endpoint.text());
    return found;
  }
  std::optional<std::string> runtime_ = "/run/user/7";
  SystemClock clock_;
  std::ostringstream out_;
};

TEST_F(EndpointTest, OwnThenSystem) {
  using List = std::vector<std::string>;
  EXPECT_EQ(texts({}, 7), (List{"/run/user/7/dynolog/dynolog.sock", "/tmp/dynolog-7/dynolog.sock",
                                "/run/dynolog/dynolog.sock"}));
  EXPECT_EQ(texts({}, 0), List{"/run/dynolog/dynolog.sock"});
  runtime_.reset();
  EXPECT_EQ(texts({}, 7), (List{"/tmp/dynolog-7/dynolog.sock", "/run/dynolog/dynolog.sock"}));
  EXPECT_EQ(texts({.run_dir = "/x"}, 7), List{"/x/dynolog.sock"});
  EXPECT_EQ(texts({.port = 99}, 7), List{"localhost:99"});
  EXPECT_EQ(texts({.hostname = "node7"}, 7), List{"node7:1778"});
  EXPECT_EQ(texts({.hostname = "::1"}, 7), List{"[::1]:1778"});
}

}  // namespace
}  // namespace dynolog
