// Files that are brought to dyno's side: whole, resumed, refused, interrupted; and `dyno traces`.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <future>
#include <sstream>

#include "cli/dyno_fixture.h"

namespace dynolog {
namespace {

using rpc::encode;
using testing::a_plan;
using testing::answers;
using testing::delivered;
using testing::FakeDaemon;
using testing::FakeFiles;
using testing::FakePeer;
using testing::fetchable;
using testing::frame;
using testing::gunzipped;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Script;
using testing::traces;
using testing::update;
namespace fs = std::filesystem;

std::string a_trace(int rank, const std::string& trace_id = "77") {
  std::string text = R"({"traceEvents": [)";
  for (int i = 0; i < 50; ++i) {
    text += fmt::format(R"({}{{"ph": "X", "cat": "cpu_op", "name": "op{}", "ts": {}, "dur": 1}})",
                        i == 0 ? "" : ",", rank, i);
  }
  return text + R"(], "trace_id": ")" + trace_id + R"("})";
}

class FetchTest : public testing::DynoTest {
 protected:
  FetchTest() { output_ = directory_ + "/out"; }
  ~FetchTest() override { daemon_.reset(); }  // before the files that it has

  static rpc::PrepareReply brought_plan(std::size_t processes) {
    rpc::PrepareReply plan = a_plan();
    plan.planned.resize(processes);
    for (rpc::PlannedTrace& each : plan.planned) {
      each.brought = true;
      each.file = "";
    }
    return plan;
  }
  // One process whose file is to be fetched.
  static Script one_to_fetch() {
    return traces(brought_plan(1), {frame({fetchable(100, 0)}, false)});
  }

  std::vector<std::string> to_output(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = here({"gputrace", "--output", output_});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::string content(const std::string& name) const {
    std::ifstream file(output_ + "/" + name, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  // Nothing of it is left, not even a part.
  void expect_nothing_there() const {
    EXPECT_FALSE(fs::exists(output_)) << "what dyno made and left empty goes again";
  }

  std::string output_;
  FakeFiles files_;
};

TEST_F(FetchTest, BringsEachFileWithItsRecord) {
  files_.files = {{100, a_trace(0)}, {101, a_trace(1)}};
  std::vector<std::string> requests;
  daemon(
      {traces(brought_plan(2), {frame({fetchable(100, 0), fetchable(101, 1)}, false)}, &requests),
       files_.script()});
  EXPECT_EQ(dyno(to_output()), 0);
  EXPECT_EQ(content("trace_100.json"), a_trace(0));
  EXPECT_EQ(content("trace_101.json"), a_trace(1));
  EXPECT_EQ(content(".dynolog/trace_100.json.json"),
            "{\n  \"rank\": 0,\n  \"file\": \"trace_100.json\"\n}\n");
  EXPECT_THAT(out(), HasSubstr(output_ + "/trace_101.json\n"));
  EXPECT_THAT(out(), HasSubstr("2 of 2 traces delivered and checked"));
  EXPECT_THAT(err(), HasSubstr("rank 0, pid 100: delivered: 5800 events, "));
  daemon_.reset();
  const auto asked = rpc::decode_prepare_request(requests.at(0));
  EXPECT_EQ(asked->trace.bring, "always");
  EXPECT_EQ(asked->trace.log_file, "");
  EXPECT_TRUE(rpc::decode_commit_request(requests.at(1))->attended);
  ASSERT_EQ(files_.released.size(), 2U);
  EXPECT_EQ(files_.released[0].file, output_ + "/trace_100.json");
  EXPECT_EQ(files_.released[1].pid, 101);
  EXPECT_EQ(files_.asked.front().session, "abcd");
}

TEST_F(FetchTest, JsonTellsWhatWasFetched) {
  files_.files = {{100, a_trace(0)}};
  daemon({one_to_fetch(), files_.script()});
  EXPECT_EQ(dyno(to_output({"--json"})), 0);
  EXPECT_THAT(out(), HasSubstr("\"file\": \"" + output_ + "/trace_100.json\""));
  EXPECT_THAT(out(), HasSubstr("\"location\": \"caller\""));
  EXPECT_THAT(out(), HasSubstr("\"state\": \"saved\""));
  EXPECT_THAT(out(), HasSubstr("\"total_bytes\": " + std::to_string(a_trace(0).size())));
  EXPECT_THAT(out(), HasSubstr("\"summary\": {"));
  EXPECT_THAT(out(), HasSubstr("\"host\": \"node7\""));
}

TEST_F(FetchTest, NamesComeFromTheUsersPatternAlone) {
  rpc::PrepareReply plan = brought_plan(2);
  plan.host = "../../evil";
  plan.planned[0].job = plan.planned[1].job = "../../../tmp/x\n";
  rpc::TraceUpdate hostile = fetchable(100, 0);
  hostile.file = "/etc/passwd";
  files_.files = {{100, a_trace(0)}, {101, a_trace(1)}};
  daemon({traces(plan, {frame({hostile, fetchable(101, 1)}, false)}), files_.script()});
  EXPECT_EQ(dyno(to_output({"--log-file", "ignored/{host}{job}.json"})), 0);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(output_)) {
    if (entry.is_regular_file()) names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("___.._evil___.._.._tmp_x__100.json",
                                                     "___.._evil___.._.._tmp_x__101.json"));
}

TEST_F(FetchTest, GzipMakesOneMember) {
  files_.files = {{100, a_trace(0)}};
  daemon({one_to_fetch(), files_.script()});
  EXPECT_EQ(dyno(to_output({"--gzip"})), 0);
  int members = 0;
  EXPECT_EQ(gunzipped(content("trace_100.json.gz"), &members), a_trace(0));
  EXPECT_EQ(members, 1);
}

TEST_F(FetchTest, GoesOnWhereTheConnectionBroke) {
  files_.files = {{100, a_trace(0)}};
  files_.before = [this](FakePeer& /*peer*/, rpc::FetchReply& /*piece*/) {
    return files_.asked.size() != 3;
  };
  daemon({one_to_fetch(), files_.script(), files_.script()});
  EXPECT_EQ(dyno(to_output()), 0);
  EXPECT_EQ(content("trace_100.json"), a_trace(0));
  daemon_.reset();
  EXPECT_EQ(files_.asked.at(2).offset, 800U);
  EXPECT_EQ(files_.asked.at(3).offset, 800U) << "taken up again where it was";
}

TEST_F(FetchTest, AReleaseWhoseAnswerGotLostIsAskedAgain) {
  files_.files = {{100, a_trace(0)}};
  files_.piece_bytes = 1 << 20;
  daemon({one_to_fetch(),
          [this](FakePeer& peer) {
            const auto request = rpc::decode_fetch_request(peer.request());
            peer.reply(encode(testing::piece_of(files_.files[request->pid], 0, 1 << 20)));
            (void)peer.request();  // released; the answer gets lost
          },
          answers({encode(rpc::ErrorReply{"not_found", "there is no such file"})})});
  EXPECT_EQ(dyno(to_output()), 0);
  EXPECT_THAT(out(), Not(HasSubstr("note")));
}

TEST_F(FetchTest, ABusyDaemonIsAskedAgain) {
  files_.files = {{100, a_trace(0)}};
  daemon({one_to_fetch(), [this](FakePeer& peer) {
            (void)peer.request();
            peer.reply(encode(rpc::ErrorReply{"unavailable", "its worker is being started"}));
            files_.script()(peer);
          }});
  EXPECT_EQ(dyno(to_output()), 0);
}

// A daemon that was restarted looks at the file anew before it gives it out again.
TEST_F(FetchTest, AFileThatIsNotReadyIsWaitedFor) {
  files_.files = {{100, a_trace(0)}};
  rpc::TraceUpdate not_ready = fetchable(100, 0);
  not_ready.fetchable = false;
  reconnect_for_ = std::chrono::seconds(60);
  std::promise<void> refused;
  files_.before = [this](FakePeer& /*peer*/, rpc::FetchReply& /*piece*/) {
    return files_.asked.size() != 2;
  };
  daemon({[&](FakePeer& peer) {
            (void)peer.request();
            peer.reply(encode(brought_plan(1)));
            (void)peer.request();
            peer.reply(encode(rpc::CommitReply{"abcd", 1}));
            (void)peer.request();
            peer.reply(frame({fetchable(100, 0)}, false));
            refused.get_future().wait();
            peer.reply(frame({not_ready}, false));
            peer.reply(frame({fetchable(100, 0)}, false));
            peer.until_closed();
          },
          files_.script(),
          [&](FakePeer& peer) {
            (void)peer.request();
            peer.reply(encode(rpc::ErrorReply{"unavailable", "its file is not ready"}));
            refused.set_value();
            files_.script()(peer);
          }});
  EXPECT_EQ(dyno(to_output()), 0);
  EXPECT_EQ(content("trace_100.json"), a_trace(0));
}

// Whatever is wrong with a piece, nothing stays, and it is said where the file still is.
class BadPiece : public FetchTest,
                 public ::testing::WithParamInterface<
                     std::pair<const char*, void (*)(rpc::FetchReply& piece)>> {};
TEST_P(BadPiece, IsRefused) {
  files_.files = {{100, a_trace(0)}};
  files_.before = [this](FakePeer& /*peer*/, rpc::FetchReply& piece) {
    if (files_.asked.size() >= 2) GetParam().second(piece);
    return true;
  };
  daemon({one_to_fetch(), files_.script()});
  EXPECT_EQ(dyno(to_output()), 4);
  EXPECT_THAT(out(), HasSubstr("rank 0, pid 100: not brought: "));
  EXPECT_THAT(out(), HasSubstr(GetParam().first));
  EXPECT_THAT(out(), HasSubstr("not brought"));
  EXPECT_THAT(out(), Not(HasSubstr("/tmp/x/dynolog-0123.json")));
  EXPECT_THAT(err(), HasSubstr("stays with the daemon: `dyno --run-dir " + directory_ +
                               " traces fetch abcd`"));
  expect_nothing_there();
}
INSTANTIATE_TEST_SUITE_P(
    All, BadPiece,
    ::testing::Values(std::pair(
                          "another checksum", +[](rpc::FetchReply& piece) { piece.crc32 ^= 1U; }),
                      std::pair(
                          "unfolds to more",
                          +[](rpc::FetchReply& piece) {
                            piece.data = to_base64(testing::gzipped(std::string(10'000'000, '0')));
                          }),
                      std::pair(
                          "leaves a gap", +[](rpc::FetchReply& piece) { piece.offset += 1; }),
                      std::pair(
                          "brings nothing new", +[](rpc::FetchReply& piece) {
                            piece = testing::piece_of(a_trace(0), 0, 400);
                          })));

TEST_F(FetchTest, AFileThatChangesIsBegunAnew) {
  files_.files = {{100, a_trace(0)}};
  files_.before = [this](FakePeer& /*peer*/, rpc::FetchReply& piece) {
    if (files_.asked.size() == 2) files_.files[100] = a_trace(9);
    if (files_.asked.size() >= 2) piece.stamp = "another";
    return true;
  };
  daemon({one_to_fetch(), files_.script()});
  EXPECT_EQ(dyno(to_output()), 0);
  EXPECT_EQ(content("trace_100.json"), a_trace(9));
  daemon_.reset();
  EXPECT_EQ(files_.asked.at(2).offset, 0U);
}

TEST_F(FetchTest, AFileThatAlwaysChangesIsGivenUp) {
  files_.files = {{100, a_trace(0)}};
  files_.before = [this](FakePeer& /*peer*/, rpc::FetchReply& piece) {
    piece.stamp = std::to_string(files_.asked.size());
    return true;
  };
  daemon({one_to_fetch(), files_.script()});
  EXPECT_EQ(dyno(to_output()), 4);
  EXPECT_THAT(out(), HasSubstr("is of another file"));
  expect_nothing_there();
}

TEST_F(FetchTest, NoRoomSaysWhatHadCome) {
  files_.files = {{100, a_trace(0)}};
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{.rlim_cur = 1000, .rlim_max = old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  daemon({one_to_fetch(), files_.script()});
  const int code = dyno(to_output());
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(code, 4);
  EXPECT_THAT(out(), HasSubstr("800 B of "));
  EXPECT_THAT(out(), HasSubstr("had come, and were removed again"));
  EXPECT_THAT(err(), HasSubstr("traces fetch abcd"));
  expect_nothing_there();
}

TEST_F(FetchTest, CtrlCInTheMiddleLeavesNothingBehind) {
  files_.files = {{100, a_trace(0)}};
  files_.before = [this](FakePeer& peer, rpc::FetchReply& /*piece*/) {
    if (files_.asked.size() < 3) return true;
    interrupt();
    peer.until_closed();
    return false;
  };
  daemon({one_to_fetch(), files_.script(),
          answers({encode(rpc::CancelReply{}), frame({fetchable(100, 0)}, false)})});
  EXPECT_EQ(dyno(to_output()), 4);
  EXPECT_THAT(err(), HasSubstr("interrupted: cancelling"));
  EXPECT_THAT(out(), HasSubstr("rank 0, pid 100: not brought: interrupted"));
  EXPECT_THAT(err(), HasSubstr("traces fetch abcd"));
  expect_nothing_there();
}

// Frames are taken between pieces, so that a large file does not hide the others.
TEST_F(FetchTest, OthersAreShownWhileAFileComes) {
  files_.files = {{100, a_trace(0)}, {101, a_trace(1)}};
  std::promise<void> begun;
  std::promise<void> told;
  files_.before = [&](FakePeer& /*peer*/, rpc::FetchReply& /*piece*/) {
    if (files_.asked.size() != 1) return true;
    begun.set_value();
    told.get_future().wait();
    return true;
  };
  daemon({[&](FakePeer& peer) {
            (void)peer.request();
            peer.reply(encode(brought_plan(2)));
            (void)peer.request();
            peer.reply(encode(rpc::CommitReply{"abcd", 2}));
            (void)peer.request();
            peer.reply(frame({fetchable(100, 0), update(101, 1, "staged")}, false));
            begun.get_future().wait();
            peer.reply(frame({update(101, 1, "tracing")}, false));
            told.set_value();
            peer.reply(frame({fetchable(101, 1)}, false));
            peer.until_closed();
          },
          files_.script()});
  EXPECT_EQ(dyno(to_output()), 0);
  const auto tracing = err().find("pid 101: tracing now");
  ASSERT_NE(tracing, std::string::npos);
  EXPECT_LT(tracing, err().find("pid 100: delivered"));
  EXPECT_EQ(content("trace_101.json"), a_trace(1));
}

TEST_F(FetchTest, TheDeadlineEndsAFetch) {
  files_.files = {{100, a_trace(0)}};
  files_.before = [this](FakePeer& /*peer*/, rpc::FetchReply& /*piece*/) {
    if (files_.asked.size() == 3) clock_.advance(std::chrono::seconds(70));
    return true;
  };
  daemon({one_to_fetch(), files_.script()});
  EXPECT_EQ(dyno(to_output({"--deadline", "60"})), 5);
  EXPECT_THAT(out(), HasSubstr("not brought: the deadline passed"));
  expect_nothing_there();
}

TEST_F(FetchTest, WhatAnotherDynoTookIsSaid) {
  rpc::TraceUpdate taken = delivered(100, 0);
  taken.location = "caller";
  taken.file = "/elsewhere/t.json";
  std::promise<void> refused;
  daemon({[&](FakePeer& peer) {
            (void)peer.request();
            peer.reply(encode(brought_plan(1)));
            (void)peer.request();
            peer.reply(encode(rpc::CommitReply{"abcd", 1}));
            (void)peer.request();
            peer.reply(frame({fetchable(100, 0)}, false));
            refused.get_future().wait();
            peer.reply(frame({taken}, true));
            peer.until_closed();
          },
          [&](FakePeer& peer) {
            (void)peer.request();
            peer.reply(encode(rpc::ErrorReply{"not_found", "it was fetched already"}));
            refused.set_value();
            peer.until_closed();
          }});
  EXPECT_EQ(dyno(to_output()), 4);
  EXPECT_THAT(out(), HasSubstr("not brought: it was fetched already"));
  daemon_.reset();  // its scripts use what ends here
}

// Another host: an own directory, for anybody's processes.
TEST_F(FetchTest, WithoutAPlaceAnotherHostsFilesComeHere) {
  files_.files = {{100, a_trace(0)}};
  std::vector<std::string> requests;
  const FakeDaemon remote(
      "",
      {traces(brought_plan(1), {frame({fetchable(100, 0)}, false)}, &requests), files_.script()});
  EXPECT_EQ(dyno({"--hostname", "0.0.0.0", "--port", std::to_string(remote.port()), "gputrace"}),
            0);
  EXPECT_EQ(rpc::decode_prepare_request(requests.at(0))->trace.bring, "always");
  ASSERT_EQ(directories().size(), 1U);
  EXPECT_TRUE(fs::exists(directories().front() + "/trace_100.json"));
  EXPECT_THAT(out(), HasSubstr(directories().front() + "/trace_100.json"));
}

TEST_F(FetchTest, APlainPathIsComparedWithTheCallersView) {
  bool attended = true;
  const auto asked = [&](const std::string& log_file) {
    std::vector<std::string> requests;
    daemon({traces(a_plan(), {}, &requests)});
    EXPECT_EQ(dyno(here({"gputrace", "--no-wait", "--log-file", log_file})), 0);
    daemon_.reset();
    fs::remove(socket_path());
    attended = rpc::decode_commit_request(requests.at(1))->attended;
    return rpc::decode_prepare_request(requests.at(0))->trace;
  };
  struct stat info{};
  ASSERT_EQ(::stat(directory_.c_str(), &info), 0);
  const rpc::TraceSpec here_too = asked("t.json");
  EXPECT_EQ(here_too.bring, "other_view");
  EXPECT_EQ(here_too.log_file, directory_ + "/t.json");
  EXPECT_EQ(here_too.caller_directory, fmt::format("{}:{}", info.st_dev, info.st_ino));
  EXPECT_FALSE(attended);
  EXPECT_EQ(asked("/none/such/t.json").caller_directory, "");
  EXPECT_EQ(asked("/tmp/{rank}/t.json").bring, "never");
}

TEST_F(FetchTest, NoWaitLeavesTheFilesWithTheDaemon) {
  daemon({traces(brought_plan(1), {})});
  EXPECT_EQ(dyno(here({"gputrace", "--no-wait"})), 0);
  EXPECT_THAT(out(), HasSubstr("(kept by the daemon)"));
  EXPECT_THAT(out(), HasSubstr("what the daemon keeps of it: dyno --run-dir " + directory_ +
                               " traces fetch abcd"));
}

TEST_F(FetchTest, FollowingTakesTheFilesUp) {
  files_.files = {{100, a_trace(0)}};
  daemon({[](FakePeer& peer) {
            (void)peer.request();
            rpc::TraceUpdate now = fetchable(100, 0);
            now.namespace_pid = 17;
            now.local_rank = 3;
            now.job = "4711";
            peer.reply(frame({now}, false));
            peer.until_closed();
          },
          files_.script()});
  EXPECT_EQ(dyno(here({"gputrace", "--follow", "abcd", "--json", "--output", output_, "--log-file",
                       "{host}_{rank}_{local_rank}_{pid}_{job}.json"})),
            0);
  EXPECT_EQ(content("node7_0_3_17_4711.json"), a_trace(0));
  EXPECT_THAT(out(), HasSubstr("\n  \"host\": \"node7\","));
}

class UncheckedTest : public FetchTest {
 protected:
  // In place, and the daemon could not look.
  Script unchecked() {
    rpc::PrepareReply plan = a_plan();
    plan.planned.resize(1);
    plan.planned[0].file = directory_ + "/t_100.json";
    rpc::TraceUpdate end = update(100, 0, "delivered");
    end.location = "host";
    end.sentence = "written, as far as the process's polls tell, but not checked";
    end.trace_id = "77";
    end.ended = true;
    return traces(plan, {frame({end}, true)});
  }
  std::vector<std::string> asks(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = here({"gputrace", "--log-file", "t.json"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  void put(const std::string& text) const { std::ofstream(directory_ + "/t_100.json") << text; }
};

TEST_F(UncheckedTest, DynoLooksItselfWhereItCan) {
  daemon({unchecked(), unchecked(), unchecked(), unchecked(), unchecked()});
  EXPECT_EQ(dyno(asks()), 8) << "there is no such file here";
  EXPECT_THAT(out(), HasSubstr("but not checked"));
  EXPECT_THAT(out(), Not(HasSubstr("t_100.json\n1 of"))) << "nobody has seen it";
  put(a_trace(0));
  EXPECT_EQ(dyno(asks()), 0);
  EXPECT_THAT(out(), HasSubstr(directory_ + "/t_100.json\n"));
  EXPECT_THAT(out(), HasSubstr("checked by dyno"));
  put(a_trace(0, "78"));
  EXPECT_EQ(dyno(asks()), 4) << "of another trace";
  put(a_trace(0).substr(0, 500));
  EXPECT_EQ(dyno(asks()), 4) << "cut short";
  EXPECT_EQ(dyno(asks({"--no-check"})), 0);
  EXPECT_THAT(out(), HasSubstr("1 of 1 traces delivered\n"));
}

TEST_F(UncheckedTest, AMemorySnapshotIsLookedIntoToo) {
  rpc::PrepareReply plan = a_plan();
  plan.planned.resize(1);
  rpc::TraceUpdate end = update(100, 0, "delivered");
  end.location = "host";
  end.file = directory_ + "/t_100.pickle";
  end.ended = true;
  const Script script = traces(plan, {frame({end}, true)});
  daemon({script, script});
  std::ofstream(end.file) << "\x80\x05some pickle.";
  EXPECT_EQ(dyno(asks({"--profile-memory"})), 0);
  std::ofstream(end.file) << "no pickle, whatever its end.";
  EXPECT_EQ(dyno(asks({"--profile-memory"})), 4);
  EXPECT_THAT(out(), HasSubstr("the file is not a whole pickle"));
}

TEST_F(UncheckedTest, NothingButAFileIsRead) {
  daemon({unchecked(), unchecked()});
  ASSERT_EQ(::mkfifo((directory_ + "/t_100.json").c_str(), 0600), 0);
  EXPECT_EQ(dyno(asks()), 8);
  fs::remove(directory_ + "/t_100.json");
  fs::create_directory(directory_ + "/t_100.json");
  EXPECT_EQ(dyno(asks()), 8);
}

class TracesTest : public FetchTest {
 protected:
  static constexpr const char* kLong =
      "python -m torch.distributed.run --nproc-per-node 8 train.py --config large.yaml";
  static std::string list() {
    rpc::TraceUpdate kept = delivered(100, 0);
    kept.location = "daemon";
    kept.file = "";
    kept.namespace_pid = 17;
    rpc::SessionRow row;
    row.session = "abcd";
    row.user = "ada\x1b";
    row.created_ms = epoch_milliseconds(SystemClock().wall()) - 65'000;
    row.ended = true;
    row.traces = {delivered(101, 1), kept};
    row.commands = {kLong};
    row.kept_bytes = 1'200'000;
    row.kept_until_ms = row.created_ms + 86'400'000;
    rpc::SessionRow empty = row;
    empty.session = "ef01";
    empty.traces = {delivered(101, 1)};
    return encode(rpc::ListTracesReply{.sessions = {row, empty},
                                       .kept_bytes = 1'200'000,
                                       .quota_bytes = 1'000'000'000,
                                       .keep_s = 86'400,
                                       .host = "node7"});
  }
};

TEST_F(TracesTest, ListAndShow) {
  daemon({answers({list()}), answers({list()}), answers({list()}), answers({list()}),
          answers({encode(rpc::ListTracesReply{})})});
  EXPECT_EQ(dyno(here({"traces", "list"})), 0);
  EXPECT_THAT(out(), HasSubstr("abcd     65 s  ada"));
  EXPECT_THAT(out(), HasSubstr("  " + std::string(kLong) + "\n"))
      << "nobody's screen is too narrow";
  EXPECT_THAT(out(), HasSubstr("2 delivered  1.2 MB"));
  EXPECT_THAT(out(), HasSubstr("the daemon keeps 1.2 MB of yours, 1.0 GB at most, each for 24 h"));
  EXPECT_THAT(out(), Not(HasSubstr("\x1b")));
  EXPECT_EQ(dyno(here({"traces", "list", "--json"})), 0);
  EXPECT_THAT(out(), HasSubstr("\"quota_bytes\": 1000000000"));
  out_columns_ = 100;
  EXPECT_EQ(dyno(here({"traces", "show", "abcd"})), 0);
  EXPECT_THAT(out(), Not(HasSubstr(kLong)));
  EXPECT_THAT(out(), HasSubstr("(kept by the daemon)"));
  EXPECT_THAT(out(), HasSubstr("to bring what is kept: dyno --run-dir " + directory_ +
                               " traces fetch abcd\n"));
  EXPECT_THAT(out(), Not(HasSubstr("ef01")));
  EXPECT_EQ(dyno(here({"traces", "show", "nothing"})), 3);
  EXPECT_EQ(dyno(here({"traces", "list"})), 0);
  EXPECT_THAT(err(), HasSubstr("No session of yours"));
}

TEST_F(TracesTest, FetchBringsWhatIsKept) {
  files_.files = {{100, a_trace(0)}};
  daemon({answers({list()}), files_.script(), answers({list()}), answers({list()}),
          answers({list()}), [](FakePeer& peer) {
            (void)peer.request();
            peer.reply(encode(rpc::ErrorReply{"denied", "not yours"}));
          }});
  EXPECT_EQ(dyno(here({"traces", "fetch", "abcd", "--output", output_})), 0);
  EXPECT_EQ(content("trace_17.json"), a_trace(0)) << "named by the pid that the job knows";
  EXPECT_THAT(out(), HasSubstr(output_ + "/trace_17.json\n"));
  EXPECT_THAT(out(), HasSubstr("1 of 1 traces delivered and checked"));
  EXPECT_EQ(dyno(here({"traces", "fetch", "ef01"})), 3);
  EXPECT_THAT(err(), HasSubstr("nothing of session ef01 is to be fetched"));
  EXPECT_EQ(dyno(here({"traces", "fetch", "ab"})), 3);
  EXPECT_TRUE(directories().empty());
  EXPECT_EQ(dyno(here({"traces", "fetch", "abcd"})), 4);
  EXPECT_THAT(out(), HasSubstr("not brought: not yours"));
  EXPECT_TRUE(directories().empty());
  daemon_.reset();
  EXPECT_EQ(files_.released.size(), 1U);
}

TEST_F(TracesTest, FetchCanBeInterrupted) {
  files_.files = {{100, a_trace(0)}};
  files_.before = [this](FakePeer& peer, rpc::FetchReply& /*piece*/) {
    if (files_.asked.size() < 2) return true;
    interrupt();
    peer.until_closed();
    return false;
  };
  daemon({answers({list()}), files_.script()});
  EXPECT_EQ(dyno(here({"traces", "fetch", "abcd", "--output", output_, "--json"})), 4);
  EXPECT_THAT(out(), HasSubstr("\n  \"host\": \"node7\","));
  EXPECT_THAT(out(), HasSubstr("\"interrupted\": true"));
  expect_nothing_there();
}

TEST_F(TracesTest, CancelAndDelete) {
  daemon({answers({encode(rpc::CancelReply{2, {}})}),
          answers({encode(rpc::DeleteTraceReply{1'200'000})}),
          answers({encode(rpc::ErrorReply{"not_found", "no such session"})}),
          answers({encode(rpc::ErrorReply{"unknown_method", "no such function"})})});
  EXPECT_EQ(dyno(here({"traces", "cancel", "abcd"})), 0);
  EXPECT_THAT(out(), HasSubstr("withdrawn from 2 processes"));
  EXPECT_EQ(dyno(here({"traces", "delete", "abcd"})), 0);
  EXPECT_THAT(out(), HasSubstr("session abcd is forgotten; 1.2 MB freed"));
  EXPECT_EQ(dyno(here({"traces", "delete", "abcd"})), 3);
  EXPECT_EQ(dyno(here({"traces", "list"})), 4);
}

}  // namespace
}  // namespace dynolog
