// dyno as a whole against a scripted daemon: what it prints, where, and its exit code.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <fstream>
#include <future>

#include "cli/dyno_fixture.h"
#include "rpc/protocol/legacy.h"
#include "testing/source_tree.h"

namespace dynolog {
namespace {

using rpc::encode;
using testing::a_plan;
using testing::answers;
using testing::delivered;
using testing::DynoTest;
using testing::FakeDaemon;
using testing::FakePeer;
using testing::frame;
using ::testing::HasSubstr;
using testing::kUid;
using ::testing::Not;
using testing::Script;
using testing::traces;
using testing::update;
namespace fs = std::filesystem;

TEST_F(DynoTest, NoDaemonSaysWhatWasTriedAndWhatToDo) {
  EXPECT_EQ(dyno({"status"}), 6);
  EXPECT_THAT(err(), HasSubstr(directory_ + "/tmp/dynolog-4242"));
  EXPECT_THAT(err(), HasSubstr(directory_ + "/system/dynolog.sock"));
  EXPECT_THAT(err(), HasSubstr("`dynolog &`"));
  EXPECT_THAT(err(), Not(HasSubstr("systemctl")));  // there is no such service here
  service_installed_ = true;
  EXPECT_EQ(dyno({"status"}), 6);
  EXPECT_THAT(err(), HasSubstr("systemctl status dynolog"));
  EXPECT_EQ(dyno({"--run-dir", "my run", "status"}), 6);
  EXPECT_THAT(err(), HasSubstr("`dynolog --run_dir='" + directory_ + "/my run' &`"));
  EXPECT_EQ(out(), "");
}

TEST_F(DynoTest, RunDirMeansThatDaemonOnly) {
  fs::create_directory(directory_ + "/system");
  const FakeDaemon other(directory_ + "/system/dynolog.sock", {answers({"{}"})});
  EXPECT_EQ(dyno({"--run-dir", directory_ + "/none", "ps"}), 6);
}

TEST_F(DynoTest, OwnDaemonComesBeforeTheSystems) {
  fs::create_directory(directory_ + "/system");
  const FakeDaemon system(
      directory_ + "/system/dynolog.sock",
      {answers({rpc::encode_legacy_version("8.8")}), answers({rpc::encode_legacy_version("8.8")})});
  EXPECT_EQ(dyno({"version"}), 0);
  EXPECT_THAT(out(), HasSubstr("8.8"));

  const std::string own = directory_ + "/tmp/dynolog-" + std::to_string(kUid);
  fs::create_directories(own);
  ::chmod(own.c_str(), 0700);
  const FakeDaemon mine(own + "/dynolog.sock", {answers({rpc::encode_legacy_version("9.9")})});
  EXPECT_EQ(dyno({"version"}, 0), 0);  // root asks the system's and no other
  EXPECT_THAT(out(), HasSubstr("8.8"));
  if (::chown(own.c_str(), kUid, static_cast<gid_t>(-1)) != 0) {
    GTEST_SKIP() << "only root can give a directory to another user";
  }
  EXPECT_EQ(dyno({"version", "--verbose"}), 0);
  EXPECT_THAT(out(), HasSubstr("9.9"));
  EXPECT_THAT(err(), HasSubstr("using the daemon at " + own));
}

TEST_F(DynoTest, AnothersDirectoryIsNotTrusted) {
  const std::string own = directory_ + "/tmp/dynolog-4242";  // belongs to the one who runs this
  fs::create_directories(own);
  ::chmod(own.c_str(), 0755);
  const FakeDaemon daemon(own + "/dynolog.sock", {answers({rpc::encode_legacy_version("9.9")})});
  EXPECT_EQ(dyno({"version"}), 6);
  EXPECT_THAT(err(), HasSubstr("not trusted"));
}

TEST_F(DynoTest, StatusAndJson) {
  rpc::StatusReply status;
  status.version = "1.0.0";
  status.host = "node7\x1b[31m";
  status.features = {{"kineto:abstract", "degraded", "the name is taken"}};
  daemon({answers({encode(status)}), answers({encode(status)})});
  EXPECT_EQ(dyno(here({"status"})), 0);
  EXPECT_THAT(out(), HasSubstr("the name is taken"));
  EXPECT_THAT(out(), HasSubstr(socket_path()));
  EXPECT_THAT(out(), Not(HasSubstr("\x1b")));  // a hostile daemon does not reach the terminal
  EXPECT_EQ(dyno(here({"status", "--json"})), 0);
  EXPECT_THAT(out(), HasSubstr("\"schema\": 1"));
  EXPECT_THAT(out(), Not(HasSubstr("\"mode\"")));  // not known is absent
  EXPECT_EQ(err(), "");
}

// An older daemon, which knows less of itself.
TEST_F(DynoTest, AStatusThatLacksFieldsIsShownAsFarAsItGoes) {
  const std::string older = R"({"schema":1,"version":"0.9","host":"node7","pid":77,"processes":3,)"
                            R"("features":[{"name":"rpc:unix","state":"ok"}],)"
                            R"("collectors":[{"name":"cpu","kind":"collector","successes":5}]})";
  daemon({answers({older}), answers({older}), answers({R"({"schema":1})"}),
          answers({R"({"schema":1,"pid":"77"})"})});
  EXPECT_EQ(dyno(here({"status"})), 0);
  EXPECT_EQ(out(), "dynolog 0.9 on node7, pid 77\nasked at       " + socket_path() +
                       "\nprocesses      3\n\nFEATURE   STATE  WHY\nrpc:unix  ok\n\n"
                       "COLLECTOR  STATE    AGE  EVERY  MEAN  LAST  RUNS  FAILED  ABSENT  "
                       "LAST ERROR\ncpu        -      never      -     -     -     -       -       "
                       "-\n");
  EXPECT_EQ(dyno(here({"status", "--json"})), 0);
  EXPECT_THAT(out(), HasSubstr("\"processes\": 3"));
  for (const char* absent : {"sessions", "uptime_s", "cpu_seconds", "resident_bytes", "cost",
                             "failing", "last_duration_s"}) {
    EXPECT_THAT(out(), Not(HasSubstr(absent)));
  }
  EXPECT_EQ(dyno(here({"status"})), 0);
  EXPECT_EQ(out(), "dynolog\nasked at       " + socket_path() + "\n");
  // What is there, and wrong, is no status.
  EXPECT_EQ(dyno(here({"status"})), 4);
  EXPECT_THAT(err(), HasSubstr("\"pid\" is not a whole number"));
}

TEST_F(DynoTest, LogLevelIsSaidAndSet) {
  std::vector<std::string> requests;
  const auto script = [&requests](rpc::LogLevelReply reply) {
    return [&requests, reply](FakePeer& peer) {
      requests.push_back(peer.request());
      peer.reply(encode(reply));
      peer.until_closed();
    };
  };
  daemon({script({"info", "info"}), script({"debug", "info"}), script({"info", "info"}),
          script({"debug", "info"}), answers({encode(rpc::ErrorReply{"denied", "only root"})})});
  EXPECT_EQ(dyno(here({"log-level"})), 0);
  EXPECT_EQ(out(), "info\n");
  EXPECT_EQ(err(), "");
  EXPECT_EQ(dyno(here({"log-level", "debug"})), 0);
  EXPECT_EQ(out(), "debug\n");
  EXPECT_THAT(err(), HasSubstr("until the next reload, which sets it to info"));
  EXPECT_EQ(dyno(here({"log-level", "info"})), 0);
  EXPECT_EQ(err(), "");
  EXPECT_EQ(dyno(here({"log-level", "--json"})), 0);
  EXPECT_THAT(out(), HasSubstr("\"configured\": \"info\""));
  EXPECT_EQ(dyno(here({"log-level", "debug"})), 7);
  EXPECT_THAT(err(), HasSubstr("only root"));
  EXPECT_EQ(dyno(here({"log-level", "loud"})), 2);
  EXPECT_THAT(err(), HasSubstr("loud"));
  daemon_.reset();
  ASSERT_EQ(requests.size(), 4U);
  EXPECT_EQ(requests[0], rpc::encode_request("logLevel"));
  EXPECT_EQ(requests[1], encode(rpc::SetLogLevelRequest{"debug"}));
  EXPECT_EQ(requests[3], rpc::encode_request("logLevel"));
}

TEST_F(DynoTest, ErrorsOfTheDaemonKeepTheirSentence) {
  daemon({answers({encode(rpc::ErrorReply{"denied", "not your\x1b process"})}),
          answers({encode(rpc::ErrorReply{"not_identified", "who are you"})}),
          answers({encode(rpc::ErrorReply{"bad_request", "no"})}),
          answers({encode(rpc::ErrorReply{"unknown_method", "no"})})});
  EXPECT_EQ(dyno(here({"ps"})), 7);
  EXPECT_THAT(err(), HasSubstr("not your"));
  EXPECT_THAT(err(), Not(HasSubstr("\x1b")));
  EXPECT_EQ(dyno(here({"ps"})), 7);
  EXPECT_EQ(dyno(here({"ps"})), 2);
  EXPECT_EQ(dyno(here({"ps"})), 4);
}

TEST_F(DynoTest, GarbageOversizeSilenceAndHttp) {
  const auto raw = [](std::string bytes) {
    return [bytes](FakePeer& peer) {
      (void)peer.request();
      peer.raw(bytes);
      peer.until_closed();
    };
  };
  daemon({raw("HTTP/1.1 400 Bad Request\r\n\r\n"), raw("\xff\xff\xff\x7f"), raw("\xff\xff\xff\xff"),
          answers({"[[[["}), answers({R"({"schema":1})"}),
          [](FakePeer& peer) { peer.until_closed(); },
          [](FakePeer& peer) { (void)peer.request(); }});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(dyno(here({"ps"})), 4) << i;
    EXPECT_THAT(err(), HasSubstr("does not speak dynolog's protocol")) << i;
  }
  EXPECT_EQ(dyno(here({"ps", "--timeout", "0.05"})), 6);
  EXPECT_THAT(err(), HasSubstr("did not answer within 0.05 s"));
  EXPECT_EQ(dyno(here({"ps"})), 4);
  EXPECT_THAT(err(), HasSubstr("closed the connection without an answer"));
}

TEST_F(DynoTest, EmptyListSaysWhy) {
  daemon({answers({encode(rpc::ListProcessesReply{})})});
  EXPECT_EQ(dyno(here({"ps"})), 0);
  EXPECT_EQ(out(), "");
  EXPECT_THAT(err(), HasSubstr("KINETO_USE_DAEMON=1"));
}

TEST_F(DynoTest, EnvForShells) {
  const std::string reply = encode(rpc::SocketDirectoryReply{"/run/dynolog/u/1000"});
  daemon({answers({reply}), answers({reply}),
          answers({encode(rpc::SocketDirectoryReply{std::string(54, '/') + "x"})}),
          answers({encode(rpc::ErrorReply{"unavailable", "run by a user"})}),
          answers({encode(rpc::SocketDirectoryReply{"/x\n; rm -rf ."})})});
  EXPECT_EQ(dyno(here({"env"})), 0);
  EXPECT_EQ(out(),
            "export KINETO_USE_DAEMON=1\nexport KINETO_IPC_SOCKET_DIR='/run/dynolog/u/1000'\n");
  EXPECT_EQ(dyno(here({"env", "--shell", "fish"})), 0);
  EXPECT_EQ(
      out(),
      "set -gx KINETO_USE_DAEMON '1';\nset -gx KINETO_IPC_SOCKET_DIR '/run/dynolog/u/1000';\n");
  EXPECT_EQ(dyno(here({"env"})), 4);
  EXPECT_EQ(out(), "");
  EXPECT_THAT(err(), HasSubstr("55 bytes"));
  EXPECT_EQ(dyno(here({"env"})), 0);
  EXPECT_EQ(out(),
            "export KINETO_USE_DAEMON=1\n# no socket directory of your own: run by a user\n");
  EXPECT_EQ(dyno(here({"env"})), 4);
  EXPECT_EQ(out(), "");
}

TEST_F(DynoTest, TraceToItsEnd) {
  std::vector<std::string> requests;
  daemon({traces(a_plan(),
                 {frame({update(100, 0, "staged"), update(101, 1, "staged")}, false),
                  frame({update(100, 0, "tracing")}, false),
                  frame({delivered(100, 0), delivered(101, 1)}, true)},
                 &requests)});
  EXPECT_EQ(dyno(here({"gputrace", "--log_file", "x.json", "--pids", "100,101", "--rank", "0-1",
                       "--with-stacks", "--set", "A=b=c", "--deadline", "60"})),
            0);
  EXPECT_THAT(out(), HasSubstr("0/2"));
  EXPECT_THAT(out(), HasSubstr("skipped pid 99 (torchrun): launcher of the job"));
  EXPECT_THAT(out(), HasSubstr("2 of 2 ranks here"));
  EXPECT_THAT(out(), HasSubstr("2 of 2 traces delivered and checked"));
  EXPECT_THAT(out(), HasSubstr("/tmp/x/trace_101.json"));
  EXPECT_THAT(err(), HasSubstr("rank 0, pid 100: tracing now\n"));
  EXPECT_THAT(err(), Not(HasSubstr("\x1b")));
  daemon_.reset();
  ASSERT_EQ(requests.size(), 3U);
  const auto asked = rpc::decode_prepare_request(requests[0]);
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->trace.log_file, directory_ + "/x.json");
  EXPECT_EQ(asked->selection.pids, (std::vector<std::int64_t>{100, 101}));
  EXPECT_EQ(asked->selection.ranks, (std::vector<int>{0, 1}));
  EXPECT_EQ(asked->selection.job, std::nullopt);
  EXPECT_TRUE(asked->trace.with_stacks);
  EXPECT_EQ(asked->trace.set.front().second, "b=c");
  EXPECT_EQ(rpc::decode_commit_request(requests[1])->deadline_s, 60);
  EXPECT_EQ(*rpc::decode_fn(requests[2]), "followTrace");
}

TEST_F(DynoTest, TraceAsJsonKeepsStdoutForTheData) {
  daemon({traces(a_plan(), {frame({delivered(100, 0), update(101, 1, "staged")}, false),
                            frame({delivered(101, 1)}, true)})});
  EXPECT_EQ(dyno(here({"--json", "gputrace", "--log-file", "/tmp/x/trace.json"})), 0);
  EXPECT_EQ(out().substr(0, 17), "{\n  \"schema\": 1,\n");
  EXPECT_THAT(out(), HasSubstr("\"exit_code\": 0"));
  EXPECT_THAT(out(), HasSubstr("\"trace_id\""));
  EXPECT_THAT(err(), HasSubstr("2 of 2 ranks here"));
}

TEST_F(DynoTest, LiveTableMovesTheCursorUp) {
  terminal_ = {24, 60};
  rpc::TraceUpdate wide = update(100, 0, "staged");
  wide.sentence = std::string(200, 'w');
  daemon({traces(a_plan(), {frame({wide, update(101, 1, "staged")}, false),
                            frame({delivered(100, 0), delivered(101, 1)}, true)})});
  EXPECT_EQ(dyno(here({"gputrace", "--log-file", "/tmp/x/trace.json"})), 0);
  EXPECT_THAT(err(), HasSubstr("\x1b[4A"));  // header, two rows, the line below
  std::istringstream lines(err());
  for (std::string line; std::getline(lines, line);) {
    if (line.find("www") != std::string::npos) {
      EXPECT_LE(line.size(), 60U + 3U);  // and the erasing of what is right of it
    }
  }
}

TEST_F(DynoTest, OneOfTwoFailed) {
  rpc::TraceUpdate busy = update(101, 1, "busy");
  busy.ended = true;
  busy.sentence = "its own torch.profiler runs";
  std::promise<std::string> asked;
  daemon({traces(a_plan(), {frame({delivered(100, 0), busy}, true)}), [&](FakePeer& peer) {
            asked.set_value(peer.request());
            rpc::Finding fine;
            fine.check = "clock";
            fine.level = "ok";
            fine.what = "all is well";
            rpc::Finding warning = fine;
            warning.level = "warning";
            warning.check = "endpoint";
            warning.what = "too\x1b old";
            rpc::Finding broken{.check = "profiler",
                                .level = "broken",
                                .pid = 101,
                                .rank = 1,
                                .command = "python",
                                .what = "its own profiler runs",
                                .why = "one at a time",
                                .fix = "wait for its end"};
            peer.reply(encode(rpc::DiagnoseReply{{fine, warning, broken}}));
            peer.until_closed();
          }});
  EXPECT_EQ(dyno(here({"trace", "--log-file", "/tmp/x/trace.json"})), 4);
  EXPECT_THAT(out(), HasSubstr("rank 1, pid 101: its own torch.profiler runs"));
  EXPECT_THAT(out(), HasSubstr("1 of 2 traces delivered and checked"));
  EXPECT_EQ(rpc::decode_diagnose_request(asked.get_future().get())->pids,
            std::vector<std::int64_t>{101});
  const auto broken =
      err().find("rank 1, pid 101: broken: its own profiler runs -> wait for its end\n");
  const auto warning = err().find("warning: too\xEF\xBF\xBD old\n");
  EXPECT_NE(warning, std::string::npos);
  EXPECT_LT(broken, warning);
  EXPECT_THAT(err(), HasSubstr("doctor` says why each matters"));
  EXPECT_THAT(err(), Not(HasSubstr("all is well")));
}

TEST_F(DynoTest, DeadlineIsFive) {
  rpc::TraceUpdate late = update(101, 1, "timed_out");
  late.ended = true;
  const auto late_after = [this](Nanoseconds time, std::vector<std::string> frames) {
    return [this, time, frames = std::move(frames)](FakePeer& peer) {
      (void)peer.request();
      peer.reply(encode(a_plan()));
      (void)peer.request();
      peer.reply(encode(rpc::CommitReply{"abcd", 2}));
      (void)peer.request();
      clock_.advance(time);
      for (const std::string& each : frames) peer.reply(each);
      peer.until_closed();
    };
  };
  const std::vector<std::string> ended{frame({delivered(100, 0), late}, true)};
  const std::vector<std::string> hangs{frame({update(100, 0, "staged")}, false)};
  const auto why = answers({encode(rpc::DiagnoseReply{})});
  daemon({late_after(std::chrono::seconds(61), ended), why,
          late_after(std::chrono::seconds(66), hangs), why, late_after({}, ended)});
  const auto arguments = here({"gputrace", "--log-file", "/tmp/x/trace.json", "--deadline", "60"});
  EXPECT_EQ(dyno(arguments), 5);
  EXPECT_EQ(dyno(arguments), 5);  // a daemon that does not keep the deadline is not waited for
  EXPECT_EQ(dyno(arguments), 4);  // expired before the deadline: it failed
}

TEST_F(DynoTest, NothingMatchedIsThree) {
  rpc::PrepareReply none;
  none.skipped = {{.pid = 99,
                   .rank = {},
                   .role = "launcher",
                   .command = "torchrun",
                   .reason = "launcher of the job"}};
  rpc::Finding finding;
  finding.check = "registered";
  finding.level = "broken";
  finding.pid = 98;
  finding.what = "it has no KINETO_USE_DAEMON";
  finding.fix = "dyno env";
  std::promise<std::string> asked;
  daemon({answers({encode(none)}),
          [&](FakePeer& peer) {
            asked.set_value(peer.request());
            peer.reply(encode(rpc::DiagnoseReply{{finding}}));
          },
          answers({encode(none)}),
          answers({encode(rpc::ErrorReply{"unknown_method", "there is no such function"})})});
  EXPECT_EQ(dyno(here({"gputrace", "--log-file", "/tmp/x/trace.json", "--job-id", "7", "--json"})),
            3);
  EXPECT_THAT(err(), HasSubstr("no process matched"));
  EXPECT_THAT(err(), HasSubstr("launcher of the job"));
  EXPECT_THAT(err(), HasSubstr("pid 98: broken: it has no KINETO_USE_DAEMON -> dyno env\n"));
  EXPECT_THAT(out(), HasSubstr("\"findings\": [\n    {\n      \"check\": \"registered\""));
  EXPECT_EQ(rpc::decode_diagnose_request(asked.get_future().get())->job, "7");
  // An older daemon does not know the question: nothing is said of it.
  EXPECT_EQ(dyno(here({"gputrace", "--log-file", "/tmp/x/trace.json"})), 3);
  EXPECT_THAT(err(), Not(HasSubstr("function")));
  EXPECT_THAT(err(), Not(HasSubstr("doctor")));
}

TEST_F(DynoTest, OnlyWhatCanBeWhyIsToldWhereNothingMatched) {
  const auto finding = [](const char* check, const char* level, std::int64_t pid,
                          const char* what) {
    rpc::Finding made;
    made.check = check;
    made.level = level;
    made.pid = pid;
    made.what = what;
    return made;
  };
  const std::string all = encode(rpc::DiagnoseReply{
      {finding("realtime", "warning", 0, "normal priority"),
       finding("clock", "warning", 0, "not synchronised"),
       finding("base_configuration", "warning", 0, "no /etc/libkineto.conf"),
       finding("rpc", "broken", 0, "port taken"), finding("disk", "broken", 0, "no room"),
       finding("endpoint", "broken", 0, "the name is held"),
       finding("registered", "ok", 100, "registered"),
       finding("profiler", "warning", 100, "another profiler"),
       finding("registered", "warning", 101, "has not called")}});
  std::promise<std::string> asked;
  rpc::PrepareReply unmatched;
  rpc::PrepareReply refused = a_plan();
  refused.session = "";
  for (rpc::PlannedTrace& each : refused.planned) each.problem = "it is busy";
  refused.planned.resize(1);
  daemon({answers({encode(unmatched)}),
          [&](FakePeer& peer) {
            asked.set_value(peer.request());
            peer.reply(all);
          },
          answers({encode(refused)}), answers({all})});
  EXPECT_EQ(dyno(here({"gputrace", "--output", "o", "--user", "ada", "--gpu", "0"})), 3);
  EXPECT_THAT(err(), HasSubstr("broken: the name is held\n"));
  EXPECT_THAT(err(), HasSubstr("pid 101: warning: has not called\n"));
  for (const char* other :
       {"priority", "synchron", "libkineto", "port taken", "room", "profiler"}) {
    EXPECT_THAT(err(), Not(HasSubstr(other)));
  }
  const auto request = rpc::decode_diagnose_request(asked.get_future().get());
  ASSERT_TRUE(request->among.has_value());
  EXPECT_EQ(request->among->user, "ada");
  EXPECT_EQ(request->among->gpus, std::vector<int>{0});

  // It has called in, and its trace came to nothing.
  EXPECT_EQ(dyno(here({"gputrace", "--output", "o", "--pids", "100"})), 4);
  EXPECT_THAT(err(), HasSubstr("broken: no room\n"));
  EXPECT_THAT(err(), HasSubstr("pid 100: warning: another profiler\n"));
  EXPECT_THAT(err(), Not(HasSubstr("held")));
  EXPECT_THAT(err(), Not(HasSubstr("port taken")));
}

TEST_F(DynoTest, WhyNothingCanBeTracedIsSaidOnce) {
  rpc::PrepareReply plan = a_plan();
  plan.session = "";
  for (rpc::PlannedTrace& each : plan.planned) each.problem = "it is stalled";
  const std::string none = encode(rpc::DiagnoseReply{});
  daemon({answers({encode(plan)}), answers({none}), answers({encode(plan)}), answers({none})});
  EXPECT_EQ(dyno(here({"gputrace", "--log-file", "/tmp/x/t.json"})), 4);
  const std::string why = "pid 101: cannot be traced: it is stalled\n";
  EXPECT_THAT(out(), HasSubstr(why));
  EXPECT_EQ(out().find(why), out().rfind(why));
  EXPECT_THAT(out(), HasSubstr("0 of 2 traces delivered"));
  EXPECT_EQ(dyno(here({"gputrace", "--log-file", "/tmp/x/t.json", "--json"})), 4);
  EXPECT_THAT(err(), HasSubstr(why));
}

TEST_F(DynoTest, WithoutAProcessNoDirectoryStays) {
  const std::string none = encode(rpc::PrepareReply{});
  daemon({[&](FakePeer& peer) {
            const auto asked = rpc::decode_prepare_request(peer.request());
            ASSERT_EQ(directories().size(), 1U);
            EXPECT_EQ(asked->trace.log_file, directories().front() + "/trace.json");
            EXPECT_EQ(asked->trace.bring, "needed");
            struct stat info{};
            ASSERT_EQ(::stat(directories().front().c_str(), &info), 0);
            EXPECT_EQ(asked->trace.caller_directory,
                      std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino));
            peer.reply(none);
            peer.until_closed();
          },
          [](FakePeer& peer) { (void)peer.request(); },  // nobody knows why
          answers({none}), [](FakePeer& peer) { (void)peer.request(); },
          answers({encode(a_plan())})});
  EXPECT_EQ(dyno(here({"gputrace"})), 3);
  EXPECT_TRUE(directories().empty());
  working_directory_ = directory_ + "/none";  // nothing can be made there
  EXPECT_EQ(dyno(here({"gputrace"})), 3);
  EXPECT_EQ(dyno(here({"gputrace"})), 2);
  EXPECT_THAT(err(), HasSubstr("name a place with --output DIR or --log-file PATH"));
}

TEST_F(DynoTest, AnEmptyDirectoryIsTakenAwayWhenNothingMayComeAnyMore) {
  rpc::PrepareReply plan = a_plan();
  plan.planned.pop_back();
  const std::string nothing = encode(rpc::DiagnoseReply{});
  const auto ends = [&](const std::string& state, const std::string& sentence, bool may_write) {
    rpc::TraceUpdate end = update(100, 0, state);
    end.ended = true;
    end.sentence = sentence;
    end.may_still_write = may_write;
    return answers({encode(plan), encode(rpc::CommitReply{"abcd", 1}), frame({end}, true)});
  };
  daemon({ends("busy", "busy: its own profiler", false), answers({nothing}),
          ends("timed_out", "the deadline passed before the process asked for it", false),
          answers({nothing}),
          ends("timed_out", "the deadline passed while it was tracing; it may yet write", true),
          answers({nothing})});
  EXPECT_EQ(dyno(here({"gputrace"})), 4);
  EXPECT_TRUE(directories().empty());
  EXPECT_EQ(dyno(here({"gputrace", "--deadline", "1"})), 4);
  EXPECT_TRUE(directories().empty());
  EXPECT_THAT(err(), HasSubstr("--deadline 1 is shorter than the 4.0 s that this takes"));
  EXPECT_EQ(dyno(here({"gputrace"})), 4);
  EXPECT_EQ(directories().size(), 1U);
}

TEST_F(DynoTest, WhatWasNamedAndIsNotThereFails) {
  rpc::PrepareReply plan = a_plan();
  plan.unmatched = {"rank 5: no process here"};
  const std::vector<std::string> end{frame({delivered(101, 1), delivered(100, 0)}, true)};
  daemon({traces(plan, end), traces(plan, end), traces(plan, {})});
  const auto with = [&](const char* more) {
    return here({"gputrace", "--log-file", "/tmp/x/trace.json", more});
  };
  EXPECT_EQ(dyno(with("--wait")), 4);
  EXPECT_THAT(out(), HasSubstr("not found: rank 5: no process here\n"));
  EXPECT_THAT(out(),
              HasSubstr("2 of 2 traces delivered and checked; 1 of those named not found\n"));
  EXPECT_LT(out().rfind("0/2 "), out().rfind("1/2 "));  // by rank, whatever comes first
  EXPECT_EQ(dyno(with("--json")), 4);
  EXPECT_THAT(out(), HasSubstr("\"unmatched\": [\n    \"rank 5: no process here\"\n  ]"));
  EXPECT_THAT(out(), Not(HasSubstr("\"problem\"")));  // not known is absent
  EXPECT_EQ(dyno(with("--no-wait")), 4);
}

TEST_F(DynoTest, IterationsWithADurationSayWhatEachMeans) {
  daemon({traces(a_plan(), {}), traces(a_plan(), {})});
  EXPECT_EQ(dyno(here({"gputrace", "--no-wait", "--log-file", "/x.json", "--iterations", "5"})), 0);
  EXPECT_THAT(err(), Not(HasSubstr("note")));
  EXPECT_EQ(dyno(here({"gputrace", "--no-wait", "--log-file", "/x.json", "--iterations", "5",
                       "--duration-ms", "500"})),
            0);
  EXPECT_THAT(err(), HasSubstr("--duration-ms is then only for a process that makes none"));
}

TEST_F(DynoTest, CommandsAreCutForATerminalOnly) {
  rpc::ProcessRow row;
  row.pid = 5;
  row.command = "/home/ada/.venv/bin/python train.py --model large-enough-to-be-cut";
  const std::string list = encode(rpc::ListProcessesReply{{row}});
  daemon({answers({list}), answers({list})});
  EXPECT_EQ(dyno(here({"ps"})), 0);
  EXPECT_THAT(out(), HasSubstr(row.command));
  out_columns_ = 80;
  EXPECT_EQ(dyno(here({"ps"})), 0);
  EXPECT_THAT(out(), HasSubstr("python train.py --"));
  EXPECT_THAT(out(), Not(HasSubstr("/home")));
  std::istringstream lines(out());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U);
}

TEST_F(DynoTest, AmbiguousPrintsTheList) {
  rpc::ProcessRow row;
  row.pid = 555;
  daemon({answers({encode(rpc::ErrorReply{"ambiguous", "two users: choose or --all"}),
                   encode(rpc::ListProcessesReply{{row}})})});
  EXPECT_EQ(dyno(here({"gputrace", "--log-file", "/tmp/x/trace.json"})), 2);
  EXPECT_THAT(err(), HasSubstr("choose or --all"));
  EXPECT_THAT(err(), HasSubstr("555"));
}

TEST_F(DynoTest, NoWaitLeavesAfterTheCommit) {
  daemon({traces(a_plan(), {})});
  EXPECT_EQ(dyno(here({"gputrace", "--no-wait", "--log-file", "/tmp/x/trace.json"})), 0);
  EXPECT_THAT(out(), HasSubstr("session abcd"));
  EXPECT_THAT(out(), HasSubstr("/tmp/x/trace_100.json"));
}

TEST_F(DynoTest, CommitWithoutAnAnswerMayHaveBegun) {
  const auto before_commit = [&](FakePeer& peer) {
    (void)peer.request();
    peer.reply(encode(a_plan()));
    (void)peer.request();
  };
  std::promise<std::string> cancelled;
  daemon({before_commit,
          [&](FakePeer& peer) {
            before_commit(peer);
            interrupt();
            peer.until_closed();
          },
          [&cancelled](FakePeer& peer) {
            cancelled.set_value(peer.request());
            peer.reply(encode(rpc::CancelReply{2, {}}));
            (void)peer.request();
            rpc::TraceUpdate gone = update(100, 0, "cancelled");
            gone.ended = true;
            peer.reply(frame({gone}, true));
            peer.until_closed();
          }});
  EXPECT_EQ(dyno(here({"gputrace"})), 4);
  EXPECT_THAT(err(), HasSubstr("dyno --run-dir " + directory_ + " gputrace --follow abcd"));
  EXPECT_EQ(directories().size(), 1U) << "the processes may write there";
  EXPECT_EQ(dyno(here({"gputrace"})), 4);
  EXPECT_THAT(cancelled.get_future().get(), HasSubstr("cancelTrace"));
  EXPECT_THAT(err(), HasSubstr("withdrawn from 2 processes"));
  EXPECT_THAT(out(), HasSubstr("cancelled"));
  EXPECT_EQ(directories().size(), 1U) << "nobody has anything to write now";
}

TEST_F(DynoTest, OwnDirectoryIsTheUsersAlone) {
  daemon({[&](FakePeer& peer) {
    const auto asked = rpc::decode_prepare_request(peer.request());
    std::ofstream(asked->trace.log_file) << "{}";
    peer.reply(encode(a_plan()));
    (void)peer.request();
    peer.reply(encode(rpc::CommitReply{"abcd", 2}));
    (void)peer.request();
    peer.reply(frame({delivered(100, 0), delivered(101, 1)}, true));
    peer.until_closed();
  }});
  EXPECT_EQ(dyno(here({"gputrace"})), 0);
  ASSERT_EQ(directories().size(), 1U);
  EXPECT_EQ(fs::status(directories().front()).permissions(), fs::perms::owner_all);
}

TEST_F(DynoTest, CtrlCCancelsAndSaysWhatCouldNotBeRecalled) {
  daemon({[this](FakePeer& peer) {
            (void)peer.request();
            peer.reply(encode(a_plan()));
            (void)peer.request();
            peer.reply(encode(rpc::CommitReply{"abcd", 2}));
            (void)peer.request();
            peer.reply(frame({update(100, 0, "staged"), update(101, 1, "tracing")}, false));
            interrupt();
            peer.until_closed();
          },
          answers({encode(rpc::CancelReply{1, {101}}),
                   frame({update(100, 0, "cancelled"), update(101, 1, "tracing")}, false)})});
  EXPECT_EQ(dyno(here({"gputrace", "--log-file", "/tmp/x/trace.json"})), 4);
  EXPECT_THAT(err(), HasSubstr("pid 100: cancelled"));
  EXPECT_THAT(out(), HasSubstr("0/2   100  cancelled       -     -       -  -\n"));
  // A path that nobody has seen is not printed.
  EXPECT_THAT(out(), HasSubstr("1/2   101  tracing         -     -       -  -\n"));
  EXPECT_THAT(out(), HasSubstr("pid 101: cannot be recalled"));
  EXPECT_THAT(err(), HasSubstr("withdrawn from 1 process before it took the request"));
  EXPECT_THAT(err(), HasSubstr("cannot be recalled"));
  EXPECT_THAT(err(), HasSubstr("pid 101"));
}

TEST_F(DynoTest, CtrlCInFollowOnlyStopsLooking) {
  daemon({[this](FakePeer& peer) {
    (void)peer.request();
    peer.reply(frame({update(100, 0, "tracing")}, false));
    interrupt();
    peer.until_closed();
  }});
  EXPECT_EQ(dyno(here({"gputrace", "--follow", "abcd"})), 4);
  EXPECT_THAT(err(), HasSubstr("the session goes on"));
  EXPECT_THAT(err(), HasSubstr("gputrace --cancel abcd"));
  EXPECT_THAT(err(), Not(HasSubstr("cancelling")));
}

TEST_F(DynoTest, BrokenFollowIsTakenUpAgain) {
  std::promise<std::string> again;
  daemon({[](FakePeer& peer) {
            (void)peer.request();
            peer.reply(encode(a_plan()));
            (void)peer.request();
            peer.reply(encode(rpc::CommitReply{"abcd", 2}));
            (void)peer.request();
            peer.reply(frame({update(100, 0, "staged"), update(101, 1, "staged")}, false));
          },
          [&again](FakePeer& peer) {
            again.set_value(peer.request());
            peer.reply(frame({delivered(100, 0), delivered(101, 1)}, true));
            peer.until_closed();
          }});
  EXPECT_EQ(dyno(here({"gputrace", "--log-file", "/tmp/x/trace.json"})), 0);
  EXPECT_THAT(err(), HasSubstr("following session abcd again"));
  const std::string request = again.get_future().get();
  EXPECT_EQ(*rpc::decode_fn(request), "followTrace");
  EXPECT_EQ(rpc::decode_session_request(request)->session, "abcd");
}

TEST_F(DynoTest, BrokenFollowEndsWhenNobodyComesBack) {
  reconnect_for_ = {};
  daemon({[](FakePeer& peer) {
    (void)peer.request();
    peer.reply(frame({update(100, 0, "staged")}, false));
  }});
  EXPECT_EQ(dyno(here({"gputrace", "--follow", "abcd"})), 4);
}

TEST_F(DynoTest, FollowAndCancelBySession) {
  daemon({answers({frame({delivered(100, 0)}, true)}), answers({encode(rpc::CancelReply{2, {}})}),
          answers({encode(rpc::CancelReply{0, {5}})}), answers({encode(rpc::CancelReply{})}),
          answers({encode(rpc::ErrorReply{"not_found", "no such session"})})});
  EXPECT_EQ(dyno(here({"gputrace", "--follow", "abcd"})), 0);
  EXPECT_THAT(out(), HasSubstr("1 of 1 traces delivered and checked"));
  EXPECT_EQ(dyno(here({"gputrace", "--cancel", "abcd"})), 0);
  EXPECT_THAT(out(), HasSubstr("withdrawn from 2 processes"));
  EXPECT_EQ(dyno(here({"gputrace", "--cancel", "abcd"})), 4);
  EXPECT_THAT(out(), HasSubstr("nothing could be withdrawn; cannot be recalled"));
  EXPECT_EQ(dyno(here({"gputrace", "--cancel", "abcd"})), 4);
  EXPECT_THAT(out(), HasSubstr("nothing is left to cancel"));
  EXPECT_EQ(dyno(here({"gputrace", "--follow", "abcd"})), 3);
  EXPECT_EQ(dyno(here({"gputrace", "--follow", "a", "--cancel", "b"})), 2);
}

// A daemon of the field: closes without a word on what it does not know.
class ExistingDaemonTest : public DynoTest {
 protected:
  std::vector<std::string> over_tcp(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--port", std::to_string(existing_->port())});
#ifdef __SANITIZE_THREAD__
    // glibc resolves names on a thread that the sanitizer is not told of, and dies of that.
    arguments.insert(arguments.begin(), {"--hostname", "127.0.0.1"});
#endif
    return arguments;
  }
  void existing(const std::string& reply, std::string* request = nullptr) {
    existing_ = std::make_unique<FakeDaemon>(
        "", std::vector<Script>{[](FakePeer& peer) { (void)peer.request(); },
                                [reply, request](FakePeer& peer) {
                                  const std::string text = peer.request();
                                  if (request != nullptr) *request = text;
                                  peer.reply(reply);
                                }});
  }
  std::unique_ptr<FakeDaemon> existing_;
};

TEST_F(ExistingDaemonTest, Status) {
  existing(rpc::encode_legacy_status(1));
  EXPECT_EQ(dyno(over_tcp({"status"})), 0);
  EXPECT_EQ(out(), "status 1\n");
  EXPECT_THAT(err(), HasSubstr("existing dynolog daemon"));
}

TEST_F(ExistingDaemonTest, ProcessesCannotBeListed) {
  existing("{}");
  EXPECT_EQ(dyno(over_tcp({"ps"})), 4);
  EXPECT_THAT(err(), HasSubstr("cannot list processes"));
}

TEST_F(ExistingDaemonTest, GputraceInTheKnownForm) {
  std::string request;
  existing(rpc::encode_legacy(rpc::LegacyTraceReply{0, {12, 13}, 0, {}, {12, 13}}), &request);
  EXPECT_EQ(dyno(over_tcp({"gputrace", "--log-file", "/tmp/t.json", "--process-limit", "3"})), 0);
  EXPECT_EQ(out(),
            "Matched 2 processes\nTrace output files will be written to:\n    /tmp/t_12.json\n"
            "    /tmp/t_13.json\n");
  existing_.reset();
  EXPECT_EQ(request,
            "\n{\n    \"fn\": \"setKinetOnDemandRequest\",\n    \"config\": "
            "\"ACTIVITIES_LOG_FILE=/tmp/t.json\\nPROFILE_START_TIME=0\\nACTIVITIES_DURATION_MSECS="
            "500\\nPROFILE_REPORT_INPUT_SHAPES=false\\nPROFILE_WITH_STACK=false\\n"
            "PROFILE_WITH_FLOPS=false\\nPROFILE_WITH_MODULES=false\",\n    \"job_id\": 0,\n    "
            "\"pids\": [0],\n    \"process_limit\": 3\n}");
}

TEST_F(ExistingDaemonTest, GputraceThatMatchesNothing) {
  existing(rpc::encode_legacy(rpc::LegacyTraceReply{}));
  EXPECT_EQ(dyno(over_tcp({"gputrace", "--log-file", "/tmp/t.json"})), 3);
  EXPECT_THAT(out(), HasSubstr("No processes were matched, please check --job-id or --pids flags"));
}

TEST_F(ExistingDaemonTest, WhatTheCallCannotSayIsUsage) {
  existing("{}");
  EXPECT_EQ(dyno(over_tcp({"gputrace", "--log-file", "/tmp/t.json", "--rank", "1"})), 2);
}

TEST_F(ExistingDaemonTest, Pause) {
  existing_ = std::make_unique<FakeDaemon>(
      "", std::vector<Script>{answers({rpc::encode_legacy_bool_status(true)}),
                              answers({rpc::encode_legacy_bool_status(false)})});
  EXPECT_EQ(dyno(over_tcp({"dcgm-pause", "--duration-s", "10"})), 0);
  EXPECT_EQ(out(), "response = {\"status\":true}\n");
  EXPECT_EQ(dyno(over_tcp({"dcgm-resume"})), 4);
}

TEST_F(DynoTest, ADirectoryIsNoNameOfATraceFile) {
  for (const std::string& named : {directory_, std::string(".")}) {
    EXPECT_EQ(dyno(here({"gputrace", "--log-file", named})), 2);
    EXPECT_EQ(err(), fmt::format("dyno: --log-file: {0} is a directory: add the name of a file, "
                                 "such as {0}/trace.json\n",
                                 directory_));
  }
}

TEST_F(DynoTest, ALogFileNeedsTheNameOfAFile) {
  for (const std::vector<std::string>& beside :
       {std::vector<std::string>{}, {"--output", directory_}, {"--mkdir"}}) {
    std::vector<std::string> arguments = here({"gputrace", "--log-file", "dd/"});
    arguments.insert(arguments.end(), beside.begin(), beside.end());
    EXPECT_EQ(dyno(arguments), 2);
    EXPECT_EQ(err(),
              "dyno: --log-file: dd/ has no name of a file at its end: add one, such as "
              "dd/trace.json\n");
  }
}

TEST_F(DynoTest, AnOutputThatReadsLikeAFileIsRefused) {
  const auto refused = [this](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "gputrace");
    EXPECT_EQ(dyno(here(std::move(arguments))), 2);
    return err();
  };
  EXPECT_EQ(refused({"--output", "x.json"}),
            "dyno: --output: it names a directory for the files, and x.json reads like a file: "
            "write --output . --log-file x.json (or x.json/ for a directory of that name)\n");
  EXPECT_THAT(refused({"--output", "a b/{x}.json.gz"}),
              HasSubstr("write --output 'a b' --log-file '{{x}}.json.gz' (or"));
  EXPECT_THAT(refused({"--output", "/t.gz", "--log-file", "rank{rank}.json"}),
              HasSubstr("write --output / --log-file 'rank{rank}.json' (or"));
  EXPECT_EQ(dyno(here({"traces", "fetch", "abcd", "--output", "o/x.json"})), 2);
  EXPECT_THAT(err(), HasSubstr("write --output o (or"));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/x.json"));
  // A directory all the same.
  std::filesystem::create_directory(directory_ + "/there.json");
  for (const char* directory : {"there.json", "new.json/"}) {
    EXPECT_EQ(dyno(here({"gputrace", "--output", directory})), 6) << "there is no daemon";
    EXPECT_THAT(err(), Not(HasSubstr("reads like a file"))) << directory;
  }
}

TEST_F(DynoTest, UsageErrors) {
  EXPECT_EQ(dyno({}), 2);
  EXPECT_EQ(dyno({"gputrac"}), 2);
  EXPECT_THAT(err(), HasSubstr("Did you mean gputrace?"));
  EXPECT_EQ(dyno({"gputrace", "--log-fil", "x"}), 2);
  EXPECT_THAT(err(), HasSubstr("Did you mean --log-file? See dyno gputrace --help"));
  EXPECT_EQ(dyno({"ps", "--log-fil", "x"}), 2);
  EXPECT_THAT(err(), Not(HasSubstr("Did you mean"))) << "ps has no such option";
  EXPECT_EQ(dyno({"dcgm-pause", "--duration-ms", "3"}), 2);
  EXPECT_THAT(err(), HasSubstr("Did you mean --duration-s?")) << "gputrace's is another";
  EXPECT_EQ(dyno({"ps", "--run-dr", "x"}), 2);
  EXPECT_THAT(err(), HasSubstr("Did you mean --run-dir?"));
  EXPECT_EQ(dyno({"--port", "70000", "status"}), 2);
  EXPECT_EQ(dyno({"gputrace", "--duration-ms", "0"}), 2);
  EXPECT_EQ(err(),
            "dyno: --duration-ms: must be a whole number from 1 to 86400000, not \"0\". See dyno "
            "gputrace --help\n");
  EXPECT_EQ(dyno({"gputrace", "--duration-ms", "5s"}), 2);
  EXPECT_THAT(err(), HasSubstr("not \"5s\". See"));
  EXPECT_EQ(dyno(here({"gputrace", "--profile-start-time", "1700000000"})), 2);
  EXPECT_THAT(err(), HasSubstr("in the past: 1970-01-20"));
  for (const char* name : {"--cancel", "--follow", "--cmd", "--pids", "--rank", "--job-id",
                           "--user", "--log-file", "--run-dir", "--output", "--gpu", "--container",
                           "--activity-types", "--cupti-pm-sampling-metrics"}) {
    EXPECT_EQ(dyno({"gputrace", name, ""}), 2) << name;
    EXPECT_THAT(err(), HasSubstr("must not be empty")) << name;
  }
  EXPECT_EQ(dyno({"--host", "node7:1778", "ps"}), 2);
  EXPECT_THAT(err(), HasSubstr("--hostname node7 --port 1778"));
  EXPECT_EQ(dyno({"--timeout", "nan", "status"}), 2);
  EXPECT_THAT(err(), HasSubstr("must be a number from 0.01 to 86400"));
  EXPECT_EQ(dyno({"status", "--timeout", "0"}), 2);
  EXPECT_THAT(err(), HasSubstr("See dyno --help\n"));
  EXPECT_EQ(dyno({"gputrace", "--pids", "1,x"}), 2);
  EXPECT_EQ(dyno({"gputrace", "--set", "novalue"}), 2);
  EXPECT_EQ(dyno({"--hostname", "192.0.2.1", "gputrace", "--log-file", "x.json"}), 2);
  EXPECT_THAT(err(), HasSubstr("an absolute path there; --output DIR brings the files here"));
  EXPECT_EQ(dyno({"gputrace", "--start-in", "3", "--profile-start-time", "4000000000000"}), 2);
  EXPECT_EQ(dyno({"gputrace", "--start-in", "3", "--iterations", "2"}), 2);
  EXPECT_THAT(err(), HasSubstr("exclude each other"));
  EXPECT_EQ(dyno({"gputrace", "--profile-start-time", "4000000000000", "--iterations", "2"}), 2);
  EXPECT_THAT(err(), HasSubstr("--profile-start-time and --iterations exclude each other"));
  EXPECT_EQ(dyno({"gputrace", "--no-wait", "--output", "x"}), 2);
  EXPECT_THAT(err(), HasSubstr("traces fetch SESSION --output DIR"));
  EXPECT_EQ(dyno({"gputrace", "--gpu", "x"}), 2);
  EXPECT_THAT(err(), HasSubstr("--gpu: \"x\" is no number"));
  EXPECT_EQ(dyno({"gputrace", "--activity-types", "cpu_op,,kernel"}), 2);
  EXPECT_EQ(dyno({"gputrace", "--buffer-mb", "0"}), 2);
  EXPECT_EQ(dyno({"gputrace", "--output", "/dev/null/x"}), 2);
  EXPECT_THAT(err(), HasSubstr("--output: making the directory /dev/null"));
  EXPECT_EQ(dyno({"gputrace", "--log-file", "/a{b/t.json"}), 2);
  EXPECT_EQ(dyno({"traces"}), 2);
  EXPECT_EQ(dyno({"traces", "lst"}), 2);
  EXPECT_THAT(err(), HasSubstr("Did you mean list? See dyno traces --help"));
  EXPECT_EQ(dyno({"traces", "fetch"}), 2);
  EXPECT_EQ(dyno({"traces", "show", ""}), 2);
}

TEST_F(DynoTest, GlobalOptionsBeforeAndAfterTheCommand) {
  daemon(
      {answers({encode(rpc::ListProcessesReply{})}), answers({encode(rpc::ListProcessesReply{})})});
  EXPECT_EQ(dyno({"ps", "--run_dir", directory_, "--json"}), 0);
  const std::string after = out();
  EXPECT_EQ(dyno({"--run-dir=" + directory_, "--json", "ps"}), 0);
  EXPECT_EQ(out(), after);
}

TEST_F(DynoTest, EveryCommandTeaches) {
  for (const char* name : {"status", "ps", "gputrace", "traces", "doctor", "env", "version",
                           "dcgm-pause", "dcgm-resume", "completion", "help"}) {
    EXPECT_EQ(dyno({name, "--help"}), 0) << name;
    EXPECT_THAT(out(), HasSubstr("Examples:")) << name;
    const std::string help = out();
    EXPECT_EQ(dyno({"help", name}), 0) << name;
    EXPECT_EQ(out(), help) << name;
  }
  for (const char* name : {"list", "show", "fetch", "cancel", "delete"}) {
    EXPECT_EQ(dyno({"traces", name, "--help"}), 0) << name;
    EXPECT_THAT(out(), HasSubstr("Examples:")) << name;
    const std::string help = out();
    EXPECT_EQ(dyno({"help", "traces", name}), 0) << name;
    EXPECT_EQ(out(), help) << name;
  }
  EXPECT_EQ(dyno({"--help"}), 0);
  EXPECT_THAT(out(), HasSubstr("gputrace, trace"));
  const std::string help = out();
  EXPECT_EQ(dyno({"help"}), 0);
  EXPECT_EQ(out(), help);
  EXPECT_EQ(dyno({"help", "nothing"}), 2);
}

TEST_F(DynoTest, CompletionsKnowCommandsAndOptions) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_EQ(dyno({"completion", shell}), 0);
    for (const char* word : {"gputrace", "trace", "log-file", "no-wait", "wide", "run-dir",
                             "traces", "fetch", "output", "log-level", "warning"}) {
      EXPECT_THAT(out(), HasSubstr(word)) << shell;
    }
  }
}

TEST_F(DynoTest, ManualPageIsNotStale) {
  EXPECT_EQ(dyno({"completion", "man"}), 0);
  std::ifstream file(DYNOLOG_SOURCE_DIR "/docs/man/dyno.1");
  std::stringstream kept;
  kept << file.rdbuf();
  EXPECT_TRUE(kept.str() == out()) << "refresh with: dyno completion man > docs/man/dyno.1";
}

}  // namespace
}  // namespace dynolog
