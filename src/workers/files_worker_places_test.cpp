// Where a files worker looks for a trace: several places, what is ours in them, and what of it is
// taken away.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "workers/files_worker_fixture.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kForeign = R"({"traceEvents": [], "trace_id": "78"})";

class FilesWorkerPlacesTest : public FilesWorkerFixture {
 protected:
  FilesWorkerPlacesTest() {
    elsewhere_ = path_ / "elsewhere";
    fs::create_directory(elsewhere_);
    places_.file = in_traces("t.json");
    places_.elsewhere = {elsewhere_ / "e.json"};
  }
  Result<bool> discard(FilesWorker::Discard when = FilesWorker::Discard::at_once) {
    return ask<bool>([&](auto done) { worker_->discard(process_->pid(), when, std::move(done)); });
  }

  fs::path elsewhere_;
  PlacesAsked places_;
};

TEST_F(FilesWorkerPlacesTest, DirectoriesAreDescribed) {
  serve_one();
  places_.target = path_ / "out/deep/t.json";
  auto prepared = prepare_places(process_->pid(), places_);
  ASSERT_TRUE(prepared.has_value()) << prepared.error().message;
  EXPECT_TRUE(prepared->file.usable);
  EXPECT_GT(prepared->file.free_bytes, 0U);
  EXPECT_FALSE(prepared->target.usable);
  EXPECT_THAT(prepared->target.problem, HasSubstr("no such directory"));
  EXPECT_FALSE(prepared->one_file_system);

  places_.make_directories = true;
  prepared = prepare_places(process_->pid(), places_);
  EXPECT_TRUE(prepared->target.usable) << prepared->target.problem;
  EXPECT_TRUE(prepared->one_file_system);
  EXPECT_NE(prepared->target.directory_id, prepared->file.directory_id);
  EXPECT_TRUE(fs::is_directory(path_ / "out/deep"));
}

// "dd" of an asked "dd", where the file would be "dd_7.json" beside it.
TEST_F(FilesWorkerPlacesTest, ADirectoryThatWasNamedIsNoFile) {
  serve_one();
  fs::create_directory(path_ / "out");
  places_.target = path_ / "out_7.json";
  places_.named = path_ / "out";
  auto prepared = prepare_places(process_->pid(), places_);
  ASSERT_TRUE(prepared.has_value()) << prepared.error().message;
  EXPECT_FALSE(prepared->target.usable);
  EXPECT_FALSE(prepared->target.unknown);
  EXPECT_NE(prepared->target.directory_id, "") << "another view's is told apart by it";
  EXPECT_EQ(prepared->target.problem,
            fmt::format("{0} is a directory: add the name of a file, such as {0}/trace.json",
                        places_.named));
  // Said also where the directory beside it is no place to write to.
  places_.target = "/proc_7.json";
  places_.named = "/proc";
  prepared = prepare_places(process_->pid(), places_);
  EXPECT_THAT(prepared->target.problem, HasSubstr("such as /proc/trace.json"));

  write(path_ / "file", "x");
  places_.target = path_ / "file_7.json";
  places_.named = path_ / "file";
  EXPECT_TRUE(prepare_places(process_->pid(), places_)->target.usable);
  places_.named = path_ / "none";
  EXPECT_TRUE(prepare_places(process_->pid(), places_)->target.usable);
}

// The file's own directory may be the one that is made for the target.
TEST_F(FilesWorkerPlacesTest, TheTargetsDirectoryIsMadeBeforeTheFilesIsLookedAt) {
  serve_one();
  places_.file = path_ / "new/t.json";
  places_.target = path_ / "new/result.json";
  places_.make_directories = true;
  const auto prepared = prepare_places(process_->pid(), places_);
  ASSERT_TRUE(prepared.has_value());
  EXPECT_TRUE(prepared->file.usable) << prepared->file.problem;
  EXPECT_EQ(prepared->file.directory_id, prepared->target.directory_id);
}

TEST_F(FilesWorkerPlacesTest, ARedirectedTraceIsFoundByItsId) {
  serve_one();
  watch_places(places_, "77");
  write(elsewhere_ / "e.json.tmp", kTrace);
  EXPECT_EQ(next_event().what, What::temporary);
  fs::rename(elsewhere_ / "e.json.tmp", elsewhere_ / "e.json");
  const FileEvent written = next_event();
  EXPECT_EQ(written.what, What::written);
  EXPECT_TRUE(written.check.ours);
  EXPECT_EQ(written.check.summary.events, 3U);
  EXPECT_EQ(written.path, elsewhere_ / "e.json");
  EXPECT_EQ(renames_, 1);
}

TEST_F(FilesWorkerPlacesTest, ForeignTracesElsewhereAreNotTaken) {
  serve_one();
  watch_places(places_, "77");
  write_trace_in(elsewhere_, "e.json", kForeign);
  // Carries the id somewhere, but not as its own.
  write_trace_in(elsewhere_, "e.json", R"({"traceEvents": [], "note": "77", "trace_id": "78"})");
  fs::create_symlink(in_traces("t.json"), elsewhere_ / "link");
  fs::rename(elsewhere_ / "link", elsewhere_ / "e.json");
  settle();
  write_trace("t.json", kTrace);
  const FileEvent written = next_written();
  EXPECT_EQ(written.what, What::written);
  EXPECT_EQ(written.path, in_traces("t.json"));
}

// Without an id nothing tells whose a file is that lies at a place anyone may know.
TEST_F(FilesWorkerPlacesTest, ATraceWithoutAnIdIsNotTakenFromElsewhere) {
  serve_one();
  watch_places(places_, "");
  write_trace_in(elsewhere_, "e.json", R"({"traceEvents": []})");
  settle();
  write_trace("t.json", R"({"traceEvents": []})");
  EXPECT_EQ(next_written().path, in_traces("t.json"));
}

TEST_F(FilesWorkerPlacesTest, AnEarlierTraceElsewhereCountsWithItsId) {
  serve_one();
  write(elsewhere_ / "e.json", kTrace);
  watch_places(places_, "77");
  const FileEvent written = next_event();
  EXPECT_EQ(written.what, What::written);
  EXPECT_EQ(written.path, elsewhere_ / "e.json");

  watch_places(places_, "79");
  EXPECT_TRUE(events_.empty());
}

TEST_F(FilesWorkerPlacesTest, ASnapshotElsewhereCountsWhenItIsNewAndWhole) {
  serve_one();
  write(elsewhere_ / "e.json", "\x80\x04]\x94.");
  watch_places(places_, "", FilesWorker::Expect::snapshot);
  write(elsewhere_ / "new", "\x80\x04]\x94");
  fs::rename(elsewhere_ / "new", elsewhere_ / "e.json");
  settle();
  EXPECT_TRUE(events_.empty());
  write(elsewhere_ / "new", "\x80\x04]\x94N.");
  fs::rename(elsewhere_ / "new", elsewhere_ / "e.json");
  const FileEvent written = next_event();
  EXPECT_EQ(written.what, What::written);
  EXPECT_EQ(written.check.summary.bytes, 6U);
}

TEST_F(FilesWorkerPlacesTest, PlacesThatAreNotThereArePassedOver) {
  serve_one();
  places_.elsewhere = {path_ / "none/e.json", "relative.json", elsewhere_ / "e.json"};
  watch_places(places_, "77");
  write_trace_in(elsewhere_, "e.json", kTrace);
  EXPECT_EQ(next_written().path, elsewhere_ / "e.json");
}

TEST_F(FilesWorkerPlacesTest, AnElsewhereThatGoesAwayIsNotTheEnd) {
  serve_one();
  watch_places(places_, "77");
  fs::rename(elsewhere_, path_ / "moved");
  settle();
  EXPECT_TRUE(events_.empty());
  write_trace("t.json", kTrace);
  EXPECT_EQ(next_written().what, What::written);
}

TEST_F(FilesWorkerPlacesTest, ProcessesMayWatchOneNameElsewhere) {
  WaitingProcess first({});
  WaitingProcess second({});
  const Uid self{::geteuid()};
  process_.emplace(WaitingProcess::Options{});
  serve({{process_->key(), self}, {first.key(), self}, {second.key(), self}});
  const std::vector<std::string> ids = {"76", "77"};
  std::size_t at = 0;
  for (const WaitingProcess* process : {&first, &second}) {
    places_.file = in_traces(ids[at] + ".json");
    ASSERT_TRUE(prepare_places(process->pid(), places_)->file.usable);
    worker_->watch(process->pid(), ids[at++], FilesWorker::Expect::trace);
  }
  settle();
  write_trace_in(elsewhere_, "e.json", kTrace);
  FileEvent event = next_event();
  while (event.what == What::temporary) event = next_event();  // of both
  EXPECT_EQ(event.what, What::written);
  EXPECT_EQ(event.pid, second.pid());
}

TEST_F(FilesWorkerPlacesTest, DiscardRemovesThePlainTemporaryOnly) {
  serve_one();
  EXPECT_EQ(discard().error().kind, ErrorKind::not_found);
  watch_places(places_, "77");
  EXPECT_FALSE(discard().value());
  write(in_traces("t.json.tmp"), "half");
  write(in_traces("t.json"), "another");
  write(elsewhere_ / "e.json.tmp", "not ours for certain");
  EXPECT_TRUE(discard().value());
  EXPECT_FALSE(fs::exists(in_traces("t.json.tmp")));
  EXPECT_TRUE(fs::exists(in_traces("t.json")));
  EXPECT_TRUE(fs::exists(elsewhere_ / "e.json.tmp"));

  write(path_ / "precious", "x");
  fs::create_symlink(path_ / "precious", in_traces("t.json.tmp"));
  EXPECT_EQ(discard().error().kind, ErrorKind::denied);
  EXPECT_TRUE(fs::is_symlink(in_traces("t.json.tmp")));
  fs::remove(in_traces("t.json.tmp"));
  fs::create_hard_link(path_ / "precious", in_traces("t.json.tmp"));
  EXPECT_EQ(discard().error().kind, ErrorKind::denied);
  EXPECT_TRUE(fs::exists(in_traces("t.json.tmp")));
}

TEST_F(FilesWorkerPlacesTest, WhatAProcessHasOpenIsNotTakenFromIt) {
  using enum FilesWorker::Discard;
  serve_one();
  watch_places(places_, "77");
  EXPECT_FALSE(discard(when_closed).value());
  UniqueFd writer(::open(in_traces("t.json.tmp").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const auto kept = discard(when_closed);
  ASSERT_FALSE(kept.has_value());
  EXPECT_EQ(kept.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(kept.error().message, "a process has it open");
  EXPECT_TRUE(fs::exists(in_traces("t.json.tmp")));
  writer.reset();
  EXPECT_TRUE(discard(when_closed).value());
  EXPECT_FALSE(fs::exists(in_traces("t.json.tmp")));
  fs::create_symlink(path_ / "precious", in_traces("t.json.tmp"));
  EXPECT_EQ(discard(when_closed).error().kind, ErrorKind::denied);
}

TEST_F(FilesWorkerPlacesTest, DiscardStaysInTheHeldDirectory) {
  serve_one();
  watch_places(places_, "77");
  fs::rename(traces_, path_ / "held");
  fs::create_directory(traces_);
  write(in_traces("t.json.tmp"), "another's");
  write(path_ / "held/t.json.tmp", "ours");
  EXPECT_TRUE(discard().value());
  EXPECT_TRUE(fs::exists(in_traces("t.json.tmp")));
  EXPECT_FALSE(fs::exists(path_ / "held/t.json.tmp"));
}

// What only root can set up: two users.
class RootFilesWorkerPlacesTest : public FilesWorkerPlacesTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    ASSERT_EQ(::chmod(traces_.c_str(), 01777), 0);
    ASSERT_EQ(::chmod(elsewhere_.c_str(), 01777), 0);
  }
};

TEST_F(RootFilesWorkerPlacesTest, AnotherUsersFilesElsewhereSayNothing) {
  serve_one(kOther);
  watch_places(places_, "77");
  write_trace_in(elsewhere_, "e.json", kTrace, kThird);
  settle();
  EXPECT_TRUE(events_.empty());
  write_trace("t.json", kTrace, kOther);
  EXPECT_EQ(next_written().path, in_traces("t.json"));
}

TEST_F(RootFilesWorkerPlacesTest, DiscardLeavesAnotherUsersFileAlone) {
  serve_one(kOther);
  watch_places(places_, "77");
  write(in_traces("t.json.tmp"), "", kThird);
  EXPECT_EQ(discard().error().kind, ErrorKind::denied);
  EXPECT_TRUE(fs::exists(in_traces("t.json.tmp")));
  fs::remove(in_traces("t.json.tmp"));
  write(in_traces("t.json.tmp"), "", kOther);
  EXPECT_TRUE(discard().value());
}

TEST_F(RootFilesWorkerPlacesTest, DirectoriesAreMadeAsTheOwner) {
  serve_one(kOther);
  places_.target = path_ / "closed/t.json";
  places_.make_directories = true;
  const auto refused = prepare_places(process_->pid(), places_);
  EXPECT_FALSE(refused->target.usable);
  EXPECT_FALSE(fs::exists(path_ / "closed"));
  places_.target = traces_ / "made/t.json";
  const auto made = prepare_places(process_->pid(), places_);
  EXPECT_TRUE(made->target.usable) << made->target.problem;
  struct stat status{};
  ASSERT_EQ(::stat((traces_ / "made").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, kOther.value);
}

}  // namespace
}  // namespace dynolog
