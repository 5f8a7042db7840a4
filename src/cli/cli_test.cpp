// The pure parts: exit codes, tables, options, quoting, where daemons are looked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/daemon_owner.h"
#include "cli/endpoint.h"
#include "cli/exit_code.h"
#include "cli/render.h"
#include "cli/render_json.h"
#include "cli/render_summary.h"
#include "cli/render_trace.h"
#include "cli/shell_text.h"
#include "cli/table.h"
#include "cli/trace_options.h"
#include "traces/nothing_ran.h"

namespace dynolog {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

rpc::TraceUpdate ended(const std::string& state) {
  rpc::TraceUpdate update;
  update.pid = 1;
  update.state = state;
  update.ended = true;
  return update;
}

rpc::TraceUpdate delivered(bool checked, bool whole, bool ours) {
  rpc::TraceUpdate update = ended("delivered");
  update.location = "host";
  update.checked = checked;
  update.whole = whole;
  update.ours = ours;
  return update;
}

TraceSummary a_summary(std::uint64_t events, std::uint64_t bytes) {
  TraceSummary summary;
  summary.whole = true;
  summary.events = events;
  summary.bytes = summary.file_bytes = bytes;
  summary.window_start_ns = 1'700'000'000'000'000'000;
  summary.window_end_ns = 1'700'000'000'480'000'000;
  return summary;
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
  const rpc::TraceUpdate good = delivered(true, true, true);
  const rpc::TraceUpdate unchecked = delivered(false, false, false);
  Fetched saved;
  saved.pid = 1;
  saved.state = Fetched::State::saved;
  Fetched lost_on_the_way = saved;
  lost_on_the_way.state = Fetched::State::failed;
  rpc::TraceUpdate only_written = good;
  only_written.state = "written";
  only_written.ended = false;
  const std::vector<Case> cases{
      {"nothing", {}, ExitCode::nothing_matched},
      {"good", {.planned = {possible}, .updates = {good}}, ExitCode::ok},
      {"all good", {.planned = {possible, possible}, .updates = {good, good}}, ExitCode::ok},
      {"not whole", {.updates = {delivered(true, false, true)}}, ExitCode::failed},
      {"not ours", {.updates = {delivered(true, true, false)}}, ExitCode::failed},
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
      {"unchecked will do", {.updates = {unchecked}, .check_wanted = false}, ExitCode::ok},
      {"not whole will not do",
       {.updates = {delivered(true, false, true)}, .check_wanted = false},
       ExitCode::failed},
      {"brought", {.updates = {good}, .fetched = {saved}}, ExitCode::ok},
      {"not brought", {.updates = {good}, .fetched = {lost_on_the_way}}, ExitCode::failed},
      {"not brought in time",
       {.updates = {good}, .fetched = {lost_on_the_way}, .deadline_passed = true},
       ExitCode::deadline},
      {"not in its place", {.updates = {ended("undelivered")}}, ExitCode::failed},
      {"only written", {.updates = {only_written}}, ExitCode::failed},
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
  rank.role = "worker";
  rank.holds_gpu = true;
  rank.gpus = {0, 1};
  rank.torch_version = "2.8.0";
  rank.state = "idle";
  rank.last_poll_age_s = 1.25;
  rank.command = "python train.py";
  rank.at_risk = "its next start may die";
  rpc::ProcessRow launcher;
  launcher.pid = 99;
  launcher.user = "ada";
  launcher.state = "idle";
  launcher.role = "launcher";
  launcher.command = std::string(60, 'x');
  EXPECT_EQ(render_processes({{rank, launcher}}, false, 0),
            " PID  USER  JOB  RANK  GPU  ROLE      TORCH  STATE           LAST-POLL  COMMAND\n"
            "1234  ada   77   0/4   0,1  worker    2.8.0  idle (at risk)  1.2 s      python "
            "train.py\n"
            "  99  ada   -    -     -    launcher  -      idle            0.0 s      " +
                std::string(60, 'x') + "\n\nPid 1234: at risk: its next start may die\n");
  EXPECT_NE(render_processes({{launcher}}, true, 80).find(std::string(60, 'x')), std::string::npos);
}

TEST(Rendering, TheDaemonsOwnCost) {
  rpc::StatusReply status;
  status.cpu_seconds = 1.234;
  status.resident_bytes = 15'000'000;
  status.cost = {.memory_bytes = 9'900'000,
                 .memory_kind = "pss",
                 .window_s = 14,
                 .cpu_share = 0.0005,
                 .wakeups_per_s = 3.14,
                 .open_descriptors = 47,
                 .descriptor_limit = 65'536,
                 .workers = 4,
                 .worker_restarts = 1};
  EXPECT_THAT(render_status(status, "here"),
              HasSubstr("cpu            0.05 % of a core over 14 s, 1.23 s since its start\n"
                        "memory         9.9 MB (PSS), 15.0 MB resident\nwake-ups       3.1/s\n"
                        "descriptors    47 of 65536\nworkers        4, 1 restart\n"));
  status.cost = rpc::OwnCost{};
  status.cost->memory_bytes = 15'000'000;
  status.cost->memory_kind = "rss";
  EXPECT_THAT(render_status(status, "here"),
              HasSubstr("cpu            1.23 s since its start\nmemory         15.0 MB resident\n"
                        "workers        0, 0 restarts\n"));
  status.cost.reset();
  EXPECT_THAT(render_status(status, "here"), Not(HasSubstr("workers")));
}

// As a daemon says it that knows all of it.
rpc::CollectorState a_stage(const std::string& name, const std::string& kind) {
  return {.name = name,
          .kind = kind,
          .last_duration_s = 0,
          .successes = 0,
          .failures = 0,
          .last_error = "",
          .failing = false,
          .unavailable = false,
          .age_s = std::nullopt,
          .total_duration_s = 0,
          .period_s = 0,
          .absent = 0,
          .queue_length = 0,
          .dropped = 0,
          .delivery_failures = 0};
}

std::vector<rpc::CollectorState> some_stages() {
  rpc::CollectorState cpu = a_stage("cpu", "collector");
  cpu.last_duration_s = 0.0002;
  cpu.successes = 9;
  cpu.failures = 1;
  cpu.last_error = "short read";
  cpu.age_s = 0.4;
  cpu.total_duration_s = 0.003;
  rpc::CollectorState dmi = a_stage("dmi", "collector");
  dmi.failures = 2;
  dmi.last_error = "no such directory";
  dmi.failing = dmi.unavailable = true;
  dmi.period_s = 60;
  rpc::CollectorState otlp = a_stage("otlp", "sink");
  otlp.last_duration_s = 0.02;
  otlp.successes = 60;
  otlp.failures = 3;
  otlp.last_error = "connection refused";
  otlp.failing = true;
  otlp.age_s = 125;
  otlp.total_duration_s = 0.63;
  otlp.queue_length = 4;
  otlp.dropped = 2;
  otlp.delivery_failures = 7;
  return {cpu, dmi, otlp};
}

TEST(Rendering, CollectorsAndSinksWithAgeCostAndErrors) {
  rpc::StatusReply status;
  status.collectors = some_stages();
  const std::string text = render_status(status, "here");
  const auto line = [&text](const std::string& name) {
    // The daemon's own cost has lines of such names too, further up.
    const std::size_t at = text.find("\n" + name + " ", text.find("\nCOLLECTOR ") - 1);
    if (at == std::string::npos) return "no line of " + name;
    std::istringstream words(text.substr(at + 1, text.find('\n', at + 1) - at - 1));
    std::string joined;
    for (std::string word; words >> word;) joined += (joined.empty() ? "" : " ") + word;
    return joined;
  };
  EXPECT_EQ(line("COLLECTOR"), "COLLECTOR STATE AGE EVERY MEAN LAST RUNS FAILED ABSENT LAST ERROR");
  EXPECT_EQ(line("cpu"), "cpu ok 0.4 s tick 0.30 ms 0.20 ms 10 1 0 (earlier) short read");
  EXPECT_EQ(line("dmi"), "dmi not here never 60 s 0.00 ms 0.00 ms 2 - 0 no such directory");
  EXPECT_EQ(line("SINK"), "SINK STATE AGE MEAN LAST QUEUED DROPPED UNDELIVERED LAST ERROR");
  EXPECT_EQ(line("otlp"), "otlp failing 2 min 10 ms 20 ms 4 2 7 connection refused");
}

TEST(Rendering, Plan) {
  rpc::PlannedTrace good;
  good.pid = 100;
  good.rank = 1;
  good.world_size = 2;
  good.user = "ada";
  good.job = "7";
  good.gpus = {0, 3};
  good.file = "/tmp/t_100.json";
  good.expected_wait_s = 4;
  good.poll_s = 1;
  good.warmup_s = 1;
  good.window_s = 0.5;
  good.notes = {"written to /tmp"};
  rpc::PlannedTrace bad;
  bad.pid = 101;
  bad.user = "ada";
  bad.problem = "it is stalled";
  rpc::PlannedTrace brought = good;
  brought.pid = 102;
  brought.rank = 2;
  brought.brought = true;
  brought.file = "";
  rpc::PrepareReply plan{
      .session = "s",
      .host = "node7",
      .planned = {good, bad, brought},
      .skipped =
          {{.pid = 99, .rank = 3, .role = "launcher", .command = "torchrun", .reason = "launcher"}},
      .unmatched = {"pid 1: not registered"},
      .coverage = "1 of 2 ranks here",
      .expires_in_s = 60};
  EXPECT_EQ(render_plan(plan, {.brought_to = {{102, "/here/t_102.json"}}}),
            "RANK  PID  USER  JOB  GPU  READY-IN  GOES TO\n"
            "1/2   100  ada   7    0,3  ~4.0 s    /tmp/t_100.json\n"
            "-     101  ada   -    -    -         (cannot be traced)\n"
            "2/2   102  ada   7    0,3  ~4.0 s    /here/t_102.json\n"
            "ready in about 4.0 s: up to 1.0 s until the process asks, 1.0 s of warm-up, 0.5 s of "
            "window; the rest is for the start and the writing\n"
            "rank 1, pid 100; rank 2, pid 102: note: written to /tmp\n"
            "pid 101: cannot be traced: it is stalled\n"
            "skipped rank 3, pid 99 (torchrun): launcher\n"
            "not found: pid 1: not registered\n"
            "1 of 2 ranks here\n");
  plan.planned = {brought};
  EXPECT_NE(render_plan(plan, {}).find("(brought here)"), std::string::npos);
  EXPECT_NE(render_plan(plan, {.waits = false}).find("(kept by the daemon)"), std::string::npos);
  EXPECT_NE(render_plan(plan, {.iterations = 30}).find("1.0 s of warm-up, 30 steps;"),
            std::string::npos);
}

TEST(Rendering, ManyOfOneSentenceAreCounted) {
  rpc::PrepareReply plan;
  for (int i = 0; i < 20; ++i) {
    plan.planned.emplace_back().pid = 100 + i;
    plan.planned.back().problem = "it is stalled";
  }
  EXPECT_NE(render_plan(plan, {}).find("pid 107 and 12 more: cannot be traced: it is stalled\n"),
            std::string::npos);
}

TEST(Rendering, Summary) {
  rpc::PlannedTrace planned;
  planned.pid = 1;
  planned.window_s = 0.5;
  rpc::TraceUpdate good = delivered(true, true, true);
  good.rank = 0;
  good.file = "/tmp/t_1.json";
  good.summary = a_summary(5800, 1'400'000);
  rpc::TraceUpdate lost = ended("lost");
  lost.pid = 2;
  lost.sentence = "the process ended";
  rpc::TraceUpdate cut_off = delivered(true, false, true);
  cut_off.pid = 3;
  cut_off.file = "/tmp/t_3.json";
  cut_off.summary = TraceSummary{};
  cut_off.notes = {"copied to another file system"};
  EXPECT_EQ(render_summary({.planned = {planned}, .updates = {good, lost, cut_off}}, 0),
            "RANK  PID  STATE      EVENTS    SIZE       WINDOW  FILE\n"
            "0       1  delivered    5800  1.4 MB  0.48/0.50 s  /tmp/t_1.json\n"
            "-       2  lost            -       -            -  -\n"
            "-       3  delivered       0     0 B            -  /tmp/t_3.json\n"
            "pid 2: the process ended\n"
            "pid 3: the file is not whole\n"
            "pid 3: note: copied to another file system\n"
            "1 of 3 traces delivered and checked\n");
}

TEST(Rendering, SummaryShowsWhereTheTimeWent) {
  rpc::TraceUpdate one = delivered(true, true, true);
  one.rank = 0;
  one.file = "/t_1.json";
  one.summary = a_summary(10, 2000);
  one.summary->steps = 12;
  one.summary->gpus = {{.device = 0,
                        .window_s = 0.5,
                        .busy_s = 0.4,
                        .communication_s = 0.1,
                        .idle_s = 0.1,
                        .longest_gap_s = 0.0123,
                        .longest_gap_start_ns = 1}};
  one.summary->top_kernels = {{"gemm", 0.2, 40}, {"copy", 0.05, 4}};
  one.summary->top_operators = {{"aten::mm", 1.25, 44}};
  one.summary->truncation = "events seem to be missing";
  one.notes = {"events seem to be missing"};  // once is enough
  rpc::TraceUpdate two = one;
  two.pid = 2;
  two.rank = 1;
  two.file = "/t_2.json";
  two.summary->truncation = "";
  two.notes = {};
  two.summary->top_kernels = {{"gemm", 0.1, 20}, {"nccl", 0.09, 1}};
  two.summary->gpus.push_back({.device = 1, .window_s = 0.5, .idle_s = 0.5, .longest_gap_s = 0.5});
  EXPECT_EQ(
      render_summary({.updates = {one, two}, .iterations = 12}, 0),
      "RANK  PID  STATE      EVENTS    SIZE               WINDOW  GPU-BUSY  COMM  IDLE  LONGEST-GAP"
      "  FILE\n"
      "0       1  delivered      10  2.0 kB  12/12 steps, 0.48 s      80 %  20 %  20 %      12.3 ms"
      "  /t_1.json\n"
      "1       2  delivered      10  2.0 kB  12/12 steps, 0.48 s      40 %  10 %  60 %     500.0 ms"
      "  /t_2.json\n"
      "rank 0, pid 1: note: events seem to be missing\n"
      "\n"
      "most time of their own, summed over 2 traces (of each its own first five):\n"
      "    SELF  COUNT  KERNEL\n"
      "300.0 ms     60  gemm\n"
      " 90.0 ms      1  nccl\n"
      " 50.0 ms      4  copy\n"
      "  SELF  COUNT  OPERATOR\n"
      "2.50 s     88  aten::mm\n"
      "\n"
      "2 of 2 traces delivered and checked\n");
  EXPECT_NE(render_summary({.updates = {one}}, 0).find("most time of their own, in rank 0, pid 1:"),
            std::string::npos);
}

TEST(DaemonOwner, OnlyRootAtAUsersDaemonIsTold) {
  EXPECT_THAT(whom_it_serves(0, 20001, "/tmp/dynolog-20001/dynolog.sock"),
              AllOf(HasSubstr("/tmp/dynolog-20001/dynolog.sock is the own one of uid 20001"),
                    HasSubstr("not root"), HasSubstr("sudo -u '#20001' dyno")));
  EXPECT_EQ(whom_it_serves(0, 0, "/x"), "");
  EXPECT_EQ(whom_it_serves(20001, 20001, "/x"), "");
  EXPECT_EQ(whom_it_serves(20001, 0, "/x"), "");
}

TEST(Rendering, SummaryWarnsOfAndCountsEmptyTraces) {
  rpc::TraceUpdate full = delivered(true, true, true);
  full.summary = a_summary(10, 2000);
  full.summary->categories = {{"cpu_op", 6}, {"metadata", 4}};
  rpc::TraceUpdate empty = full;
  empty.pid = 2;
  empty.summary->categories = {{"metadata", 3}, {"none", 1}};
  const std::string one = render_summary({.updates = {full, empty}}, 0);
  EXPECT_NE(one.find("pid 2: warning: nothing ran in the window: "), std::string::npos) << one;
  EXPECT_EQ(one.find("pid 1: warning"), std::string::npos) << one;
  EXPECT_TRUE(one.ends_with("\n2 of 2 traces delivered and checked; 1 of them is empty\n")) << one;
  rpc::TraceUpdate told = empty;  // once is enough
  told.pid = 3;
  told.notes.emplace_back(kNothingRan);
  const std::string two = render_summary({.updates = {empty, told}}, 0);
  EXPECT_NE(two.find("\npid 2; pid 3: warning: nothing ran"), std::string::npos) << two;
  EXPECT_EQ(two.find("note:"), std::string::npos) << two;
  EXPECT_TRUE(two.ends_with("checked; 2 of them are empty\n")) << two;
  EXPECT_EQ(exit_code({.updates = {empty}}), ExitCode::ok);
}

TEST(Rendering, JsonMarksEmptyTraces) {
  rpc::TraceUpdate empty = delivered(true, true, true);
  empty.summary = a_summary(4, 910);
  const auto says = [&] {
    return trace_json({}, {.updates = {empty}}, ExitCode::ok).find("\"empty\": true") !=
           std::string::npos;
  };
  EXPECT_FALSE(says());
  empty.summary->categories = {{"metadata", 4}};
  EXPECT_TRUE(says());
}

TEST(Rendering, SummarySaysWhoseEyesSawAFile) {
  rpc::TraceUpdate there = delivered(true, true, true);
  there.file = "/t.json";
  there.summary = a_summary(1, 2);
  const auto says = [&](const TraceOutcome& outcome, const char* text) {
    return render_summary(outcome, 0).find(text) != std::string::npos;
  };
  EXPECT_TRUE(says({.updates = {there}, .elsewhere = "node7"}, "  node7:/t.json\n"));
  EXPECT_TRUE(says({.updates = {there}, .out_of_sight = {1}}, "/t.json (as the process sees it)"));
  rpc::TraceUpdate kept = there;
  kept.location = "daemon";
  EXPECT_TRUE(says({.updates = {kept}}, "  (kept by the daemon)\n"));
  kept.location = "caller";
  EXPECT_TRUE(says({.updates = {kept}}, "/t.json (brought there by dyno)"));
  Fetched failed;
  failed.pid = 1;
  failed.state = Fetched::State::failed;
  failed.problem = "no room";
  EXPECT_TRUE(says({.updates = {kept}, .fetched = {failed}}, "not brought: no room"));
  EXPECT_FALSE(says({.updates = {kept}, .fetched = {failed}}, "/t.json"));
  Fetched saved = failed;
  saved.state = Fetched::State::saved;
  saved.stored = 77;
  EXPECT_TRUE(says({.updates = {kept}, .fetched = {saved}}, " 77 B "));
  rpc::TraceUpdate unchecked = delivered(false, false, false);
  unchecked.sentence = "written, but nobody can look";
  EXPECT_TRUE(says({.updates = {unchecked}}, "nobody can look\n0 of 1 traces delivered and"));
  EXPECT_TRUE(says({.updates = {unchecked}, .check_wanted = false}, "\n1 of 1 traces delivered\n"));
}

TEST(Rendering, SummaryNamesWhatCouldNotBeTraced) {
  rpc::PlannedTrace bad;
  bad.pid = 9;
  bad.rank = 3;
  bad.problem = "no such directory";
  EXPECT_EQ(render_summary({.planned = {bad}}, 0),
            "rank 3, pid 9: cannot be traced: no such directory\n"
            "0 of 1 traces delivered and checked\n");
}

TEST(Rendering, NoWordTwice) {
  const auto said = [](const std::string& state, const std::string& sentence) {
    rpc::TraceUpdate update;
    update.pid = 7;
    update.state = state;
    update.sentence = sentence;
    return render_update(update, nullptr);
  };
  EXPECT_EQ(said("tracing", "tracing"), "pid 7: tracing");
  EXPECT_EQ(said("busy", "busy, but no file"), "pid 7: busy, but no file");
  EXPECT_EQ(said("writing", "writingx"), "pid 7: writing: writingx");
  EXPECT_EQ(said("staged", "waits"), "pid 7: staged: waits");
  EXPECT_EQ(said("warming_up", "accepted by the process: warming up"),
            "pid 7: warming_up: accepted by the process");
  rpc::TraceUpdate good = delivered(true, true, true);
  good.summary = a_summary(605, 132'988);
  good.file = "/t.json";
  good.sentence = "delivered: /t.json (605 events, 0.1 MB)";
  EXPECT_EQ(render_update(good, nullptr), "pid 1: delivered: 605 events, 133.0 kB: /t.json");
  good.location = "daemon";
  EXPECT_EQ(render_update(good, nullptr), "pid 1: kept by the daemon: 605 events, 133.0 kB");
  good.location = "";
  good.state = "written";
  EXPECT_EQ(render_update(good, nullptr), "pid 1: written: 605 events, 133.0 kB");
  Fetched fetched;
  fetched.pid = 1;
  fetched.state = Fetched::State::running;
  fetched.have = 12'000'000;
  fetched.total = 40'000'000;
  fetched.seconds = 2;
  EXPECT_EQ(render_update(good, &fetched), "pid 1: fetching: 12.0 MB of 40.0 MB, 6.0 MB/s");
  EXPECT_NE(render_live({.updates = {good}, .fetched = {fetched}}, 24, 80)
                .find("fetching  12.0 MB of 40.0 MB, 6.0 MB/s"),
            std::string::npos);
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
  EXPECT_EQ(*parse_pids("--pids", "12, 34"), (std::vector<std::int64_t>{12, 34}));
  EXPECT_TRUE(parse_pids("--pids", "0")->empty());
  EXPECT_TRUE(parse_pids("--pids", "")->empty());
  for (const char* bad : {"x", "1,", "-1", "1,0", "1.5", "99999999999999999999"}) {
    EXPECT_FALSE(parse_pids("--pids", bad)) << bad;
  }
  EXPECT_EQ(*parse_numbers("--rank", "0,2,4-7"), (std::vector<int>{0, 2, 4, 5, 6, 7}));
  for (const char* bad : {"x", "1,", "-1", "7-4", "0-999999", "1-2-3"}) {
    EXPECT_FALSE(parse_numbers("--rank", bad)) << bad;
  }
  EXPECT_FALSE(parse_numbers("--gpu", "0/1"));
  const auto ranks = parse_ranks("--rank", "0/8, 2,4-6,7/8");
  ASSERT_TRUE(ranks);
  EXPECT_EQ(ranks->ranks, (std::vector<int>{0, 2, 4, 5, 6, 7}));
  EXPECT_EQ(ranks->worlds, (std::vector<int>{8, 0, 0, 0, 0, 8}));
  EXPECT_EQ(parse_ranks("--rank", rank_text(0, 1))->ranks, std::vector<int>{0}) << "as ps shows it";
  EXPECT_TRUE(parse_ranks("--rank", "")->ranks.empty());
  for (const char* bad : {"x", "1,", "8/8", "-1/8", "0-1/8", "1/", "/8", "1/8/8", "1/x"}) {
    EXPECT_FALSE(parse_ranks("--rank", bad)) << bad;
  }
}

TEST(TraceOptions, Request) {
  GputraceOptions options;
  options.job_id = "123_4";
  options.ranks = "3/8,5";
  options.gpus = "0,2-3";
  options.container = "docker-a";
  options.iterations = 3;
  options.make_directories = true;
  options.activity_types = "cpu_op, kernel";
  options.buffer_mb = 512;
  options.pm_sampling_metrics = "a,b";
  options.pm_sampling_device = 1;
  const auto request = prepare_request(options);
  ASSERT_TRUE(request);
  EXPECT_EQ(*request->selection.job, "123_4");
  EXPECT_EQ(request->selection.ranks, (std::vector<int>{3, 5}));
  EXPECT_EQ(request->selection.rank_worlds, (std::vector<int>{8, 0}));
  EXPECT_EQ(request->selection.gpus, (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(request->selection.container, "docker-a");
  EXPECT_EQ(request->trace.iterations, 3);
  EXPECT_TRUE(request->trace.make_directories);
  EXPECT_EQ(request->trace.activity_types, (std::vector<std::string>{"cpu_op", "kernel"}));
  EXPECT_EQ(request->trace.buffer_mb, 512);
  EXPECT_EQ(request->trace.pm_sampling_metrics, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request->trace.pm_sampling_device, 1);
  GputraceOptions plain;
  plain.start_in_s = 2.5;
  const auto all = prepare_request(plain);
  EXPECT_EQ(all->trace.iterations, 0);
  EXPECT_EQ(all->trace.start_in_s, 2.5);
  EXPECT_FALSE(all->selection.job);
  EXPECT_FALSE(all->selection.rank_worlds);
}

TEST(TraceOptions, WhatAnExistingDaemonCannotDo) {
  GputraceOptions options;
  const auto good = [&](const std::string& log_file) {
    auto request = *prepare_request(options);
    request.trace.log_file = log_file;
    return legacy_request(request).has_value();
  };
  EXPECT_TRUE(good("/tmp/t.json"));
  EXPECT_TRUE(good("/tmp/t.json.gz"));
  EXPECT_TRUE(good("/tmp/a{{b}}/t.json"));
  EXPECT_FALSE(good("/tmp/t_{rank}.json"));
  EXPECT_FALSE(good(""));
  options.job_id = "123_4";  // no number
  EXPECT_FALSE(good("/tmp/t.json"));
  options.job_id = "0";
  options.gpus = "1";
  EXPECT_FALSE(good("/tmp/t.json"));
  options.gpus = "";
  options.start_in_s = 1;
  EXPECT_FALSE(good("/tmp/t.json"));
}

TEST(TraceOptions, ExistingTextInIterationAndMemoryMode) {
  GputraceOptions options;
  options.iterations = 5;
  options.iteration_roundup = 100;
  options.profile_memory = true;
  options.warmup_s = 0;
  options.activity_types = "cpu_op,kernel";
  options.buffer_mb = 9;
  options.pm_sampling_metrics = "m,n";
  options.pm_sampling_device = 2;
  auto request = *prepare_request(options);
  request.trace.log_file = "/tmp/{{t}}.json";
  EXPECT_EQ(
      legacy_request(request)->config,
      "ACTIVITIES_LOG_FILE=/tmp/{t}.json\nPROFILE_START_ITERATION=0\n"
      "PROFILE_START_ITERATION_ROUNDUP=100\nACTIVITIES_ITERATIONS=5\n"
      "PROFILE_REPORT_INPUT_SHAPES=false\nPROFILE_PROFILE_MEMORY=true\nPROFILE_MEMORY=true\n"
      "PROFILE_MEMORY_DURATION_MSECS=500\nPROFILE_WITH_STACK=false\nPROFILE_WITH_FLOPS=false\n"
      "PROFILE_WITH_MODULES=false\nACTIVITIES_WARMUP_PERIOD_SECS=0\nACTIVITY_TYPES=cpu_op,kernel\n"
      "ACTIVITIES_MAX_GPU_BUFFER_SIZE_MB=9\nPERFORMANCE_METRICS=m,n\n"
      "CUPTI_PM_SAMPLING_METRICS=m,n\nPERFORMANCE_METRICS_DEVICE_ID=2\n"
      "CUPTI_PM_SAMPLING_DEVICE_ID=2");
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
