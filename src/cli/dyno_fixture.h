// dyno as a whole against a scripted daemon, for the tests: its world, and what daemons say.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>

#include "cli/app.h"
#include "cli/fake_daemon.h"
#include "cli/pieces.h"
#include "rpc/protocol/codec.h"

namespace dynolog::testing {

inline constexpr std::uint32_t kUid = 4242;

// Real time that a script can put forward.
class ForwardClock final : public Clock {
 public:
  MonotonicTime monotonic() const override { return clock_.monotonic() + Nanoseconds(ahead_); }
  WallTime wall() const override { return clock_.wall(); }
  void advance(Nanoseconds time) { ahead_ += time.count(); }

 private:
  SystemClock clock_;
  std::atomic<std::int64_t> ahead_ = 0;
};

class DynoTest : public ::testing::Test {
 protected:
  DynoTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dyno-test-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    interrupt_read_.reset(ends[0]);
    interrupt_write_.reset(ends[1]);
  }
  ~DynoTest() override { std::filesystem::remove_all(directory_); }

  int dyno(std::vector<std::string> arguments, std::uint32_t uid = kUid) {
    out_.str("");
    err_.str("");
    const World world{
        .out = out_,
        .err = err_,
        .environment = [this](const std::string& name) -> std::optional<std::string> {
          const auto found = environment_.find(name);
          if (found == environment_.end()) return std::nullopt;
          return found->second;
        },
        .uid = uid,
        .working_directory = working_directory_.empty() ? directory_ : working_directory_,
        .system_run_dir = directory_ + "/system",
        .temporary_dir = directory_ + "/tmp",
        .clock = clock_,
        .terminal = terminal_,
        .out_columns = out_columns_,
        .service_installed = service_installed_,
        .take_interrupts = [this] { return interrupt_read_.get(); },
        .reconnect_for = reconnect_for_};
    return static_cast<int>(run_dyno(world, std::move(arguments)));
  }
  std::string socket_path() const { return directory_ + "/dynolog.sock"; }
  // A daemon at --run-dir.
  void daemon(std::vector<Script> scripts) {
    daemon_ = std::make_unique<FakeDaemon>(socket_path(), std::move(scripts));
  }
  std::vector<std::string> here(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"--run-dir", directory_});
    return arguments;
  }
  // The ones that gputrace made for traces.
  std::vector<std::string> directories() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      if (entry.path().filename().string().starts_with("dynolog-2")) found.push_back(entry.path());
    }
    return found;
  }
  void interrupt() { EXPECT_EQ(::write(interrupt_write_.get(), "x", 1), 1); }
  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }

  std::string directory_;
  std::string working_directory_;  // "": directory_
  std::map<std::string, std::string> environment_;
  Terminal terminal_;
  int out_columns_ = 0;
  bool service_installed_ = false;
  Nanoseconds reconnect_for_ = std::chrono::seconds(30);
  ForwardClock clock_;

 private:
  std::ostringstream out_;
  std::ostringstream err_;
  UniqueFd interrupt_read_;
  UniqueFd interrupt_write_;

 protected:
  std::unique_ptr<FakeDaemon> daemon_;  // last: its scripts call interrupt()
};

inline Script answers(std::vector<std::string> replies) {
  return [replies = std::move(replies)](FakePeer& peer) {
    for (const std::string& reply : replies) {
      if (peer.request().empty()) return;
      peer.reply(reply);
    }
    peer.until_closed();
  };
}

inline rpc::PrepareReply a_plan() {
  rpc::PlannedTrace one;
  one.pid = 100;
  one.rank = 0;
  one.world_size = 2;
  one.user = "ada";
  one.job = "7";
  one.file = "/tmp/x/trace_100.json";
  one.expected_wait_s = 4;
  rpc::PlannedTrace two = one;
  two.pid = 101;
  two.rank = 1;
  two.file = "/tmp/x/trace_101.json";
  return {.session = "abcd",
          .host = "node7",
          .planned = {one, two},
          .skipped = {{.pid = 99,
                       .rank = {},
                       .role = "launcher",
                       .command = "torchrun",
                       .reason = "launcher of the job"}},
          .unmatched = {},
          .coverage = "2 of 2 ranks here",
          .expires_in_s = 60};
}

inline rpc::TraceUpdate update(std::int64_t pid, int rank, const std::string& state) {
  rpc::TraceUpdate made;
  made.pid = pid;
  made.rank = rank;
  made.state = state;
  made.sentence = state + " now";
  return made;
}

inline rpc::TraceUpdate written(std::int64_t pid, int rank) {
  rpc::TraceUpdate made = update(pid, rank, "written");
  made.sentence = "written: 5800 events, 1.4 MB";
  made.trace_id = "77";
  made.file = "/tmp/x/dynolog-0123.json";
  made.checked = made.whole = made.ours = true;
  made.summary.emplace();
  made.summary->whole = true;
  made.summary->trace_id = "77";
  made.summary->events = 5800;
  made.summary->bytes = made.summary->file_bytes = 1'400'000;
  return made;
}

inline rpc::TraceUpdate delivered(std::int64_t pid, int rank) {
  rpc::TraceUpdate made = written(pid, rank);
  made.state = "delivered";
  made.sentence = "";
  made.location = "host";
  made.file = "/tmp/x/trace_" + std::to_string(pid) + ".json";
  made.ended = true;
  return made;
}

// Written, and dyno is to fetch it.
inline rpc::TraceUpdate fetchable(std::int64_t pid, int rank) {
  rpc::TraceUpdate made = written(pid, rank);
  made.fetchable = true;
  return made;
}

inline std::string frame(std::vector<rpc::TraceUpdate> updates, bool done) {
  return rpc::encode(rpc::FollowFrame{"abcd", std::move(updates), done, "node7"});
}

// prepare and commit, then the follow frames.
inline Script traces(rpc::PrepareReply plan, std::vector<std::string> frames,
                     std::vector<std::string>* requests = nullptr) {
  return [=](FakePeer& peer) {
    const auto take = [&] {
      std::string text = peer.request();
      if (requests != nullptr) requests->push_back(text);
    };
    take();
    peer.reply(rpc::encode(plan));
    take();
    peer.reply(rpc::encode(rpc::CommitReply{"abcd", plan.planned.size()}));
    take();
    for (const std::string& each : frames) peer.reply(each);
    peer.until_closed();
  };
}

// Files that a daemon has to be fetched. Look at what it was asked when the daemon is gone.
struct FakeFiles {
  std::map<std::int64_t, std::string> files = {};  // by pid
  std::size_t piece_bytes = 400;
  std::string side_car = R"({"rank": 0})";
  // Called before each piece is sent; false: the connection is closed instead.
  std::function<bool(FakePeer& peer, rpc::FetchReply& piece)> before = {};
  std::vector<rpc::FetchRequest> asked = {};
  std::vector<rpc::ReleaseRequest> released = {};
  std::mutex one_at_a_time = {};

  // One connection, one after the other. This object must outlive the daemon.
  Script script() {
    return [this](FakePeer& peer) {
      const std::lock_guard turn(one_at_a_time);
      for (std::string text = peer.request(); !text.empty(); text = peer.request()) {
        if (*rpc::decode_fn(text) == "releaseTrace") {
          released.push_back(*rpc::decode_release_request(text));
          peer.reply(rpc::encode(rpc::ReleaseReply{true}));
          continue;
        }
        asked.push_back(*rpc::decode_fetch_request(text));
        const rpc::FetchRequest& request = asked.back();
        rpc::FetchReply piece = piece_of(files[request.pid], request.offset, piece_bytes, side_car);
        if (before && !before(peer, piece)) return;
        peer.reply(rpc::encode(piece));
      }
    };
  }
};

}  // namespace dynolog::testing
