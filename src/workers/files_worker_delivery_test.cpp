// From a written trace to its place: by rename, by copy, in pieces; with the attacks and accidents
// on the way.
#include <gmock/gmock.h>
#include <zlib.h>

#include <cstdio>
#include <iterator>
#include <random>

#include "workers/files_worker_fixture.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kInfo = R"({"rank": 3, "world_size": 8})";
// Minutes of compression: no machine is so fast, or sees so late, that it is over before the test
// has acted.
constexpr std::uint64_t kMuch = std::uint64_t{64} << 30U;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// All members of a gzip file; "" when it is none.
std::string unzipped(const std::string& gzip) {
  std::string text;
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
  stream.avail_in = static_cast<uInt>(gzip.size());
  if (::inflateInit2(&stream, 15 + 16) != Z_OK) return {};
  std::array<char, 65536> piece;
  while (stream.avail_in > 0) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = piece.size();
    const int state = ::inflate(&stream, Z_NO_FLUSH);
    if (state != Z_OK && state != Z_STREAM_END) break;
    text.append(piece.data(), piece.size() - stream.avail_out);
    if (state == Z_STREAM_END) ::inflateReset(&stream);
  }
  ::inflateEnd(&stream);
  return text;
}

// A trace of many events that does not compress too well.
std::string long_trace(std::size_t bytes) {
  std::minstd_rand random(7);
  std::string text = R"({"traceEvents": [{"ph": "M"})";
  while (text.size() < bytes) {
    text += R"(, {"ph": "X", "ts": )" + std::to_string(random()) + R"(, "dur": )" +
            std::to_string(random()) + "}";
  }
  return text + R"(], "trace_id": "77"})";
}

class FilesWorkerDeliveryTest : public FilesWorkerFixture {
 protected:
  FilesWorkerDeliveryTest() {
    out_ = path_ / "out";
    fs::create_directory(out_);
    places_.file = in_traces("t.json");
    places_.target = out_ / "result.json";
  }
  [[nodiscard]] Pid pid() const { return process_->pid(); }
  // Until the trace was written and checked.
  void have_written(const std::string& text, std::optional<Uid> owner = std::nullopt) {
    watch_places(places_, "77");
    write_trace("t.json", text, owner);
    const FileEvent written = next_written();
    ASSERT_EQ(written.what, What::written);
    ASSERT_TRUE(written.check.ours) << written.check.problem;
  }
  // A snapshot is checked in no time, and may have a hole of any size in it.
  void have_written_much(std::uint64_t bytes, std::optional<Uid> owner = std::nullopt) {
    watch_places(places_, "", FilesWorker::Expect::snapshot);
    std::ofstream(in_traces("new")) << "\x80\x04]\x94.";
    fs::resize_file(in_traces("new"), bytes - 1);
    std::ofstream(in_traces("new"), std::ios::app) << ".";
    if (owner) {
      ASSERT_EQ(::lchown(in_traces("new").c_str(), owner->value, owner->value), 0);
    }
    fs::rename(in_traces("new"), in_traces("t.json"));
    ASSERT_TRUE(next_written().check.whole);
  }
  Result<DeliveredFile> deliver(const DeliveryOrder& order = {}) {
    return ask<DeliveredFile>([&](auto done) { worker_->deliver(pid(), order, std::move(done)); });
  }
  Status complete(const std::string& info) {
    return ask<void>([&](auto done) { worker_->complete(pid(), info, std::move(done)); });
  }
  Result<FileChunk> chunk(std::uint64_t offset) {
    return ask<FileChunk>([&](auto done) { worker_->read_chunk(pid(), offset, std::move(done)); });
  }
  Status release() {
    return ask<void>([&](auto done) { worker_->release(pid(), std::move(done)); });
  }
  // The pieces from `offset` to the end, put together.
  std::string fetched(std::uint64_t offset, int* pieces = nullptr) {
    std::string gzip;
    for (bool last = false; !last && !HasFailure();) {
      const auto piece = chunk(offset);
      if (!piece) {
        ADD_FAILURE() << piece.error().message;
        break;
      }
      const std::string plain = unzipped(piece->data);
      EXPECT_EQ(plain.size(), piece->plain_bytes);
      EXPECT_EQ(
          ::crc32(0, reinterpret_cast<const Bytef*>(plain.data()), static_cast<uInt>(plain.size())),
          piece->crc32);
      gzip += piece->data;
      offset += piece->plain_bytes;
      last = piece->last;
      if (pieces != nullptr) ++*pieces;
    }
    return unzipped(gzip);
  }

  fs::path out_;
  PlacesAsked places_;
};

TEST_F(FilesWorkerDeliveryTest, BringsTheFileByRenamingIt) {
  serve_one();
  have_written(kTrace);
  struct stat before{};
  ASSERT_EQ(::stat(in_traces("t.json").c_str(), &before), 0);
  const auto delivered = deliver();
  ASSERT_TRUE(delivered.has_value()) << delivered.error().message;
  EXPECT_EQ(delivered->path, out_ / "result.json");
  EXPECT_THAT(delivered->notes, IsEmpty());
  EXPECT_EQ(delivered->bytes, std::string(kTrace).size());
  EXPECT_EQ(text_of(out_ / "result.json"), kTrace);
  EXPECT_FALSE(fs::exists(in_traces("t.json")));
  struct stat after{};
  ASSERT_EQ(::stat((out_ / "result.json").c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  // And nothing is held any more.
  EXPECT_EQ(deliver().error().kind, ErrorKind::not_found);
  EXPECT_EQ(release().error().kind, ErrorKind::not_found);
}

TEST_F(FilesWorkerDeliveryTest, AddsRanksAndTheSideCar) {
  serve_one();
  have_written(kTrace);
  DeliveryOrder order;
  order.distributed_info = kInfo;
  order.side_car = "{\"verdict\": \"whole\"}\n";
  const auto delivered = deliver(order);
  ASSERT_TRUE(delivered.has_value()) << delivered.error().message;
  EXPECT_THAT(delivered->notes, IsEmpty());
  const std::string text = text_of(out_ / "result.json");
  EXPECT_THAT(text, HasSubstr(R"("trace_id": "77", "distributedInfo": {"rank": 3)"));
  EXPECT_EQ(delivered->bytes, text.size());
  EXPECT_EQ(text_of(out_ / ".dynolog/result.json.json"), order.side_car);
}

TEST_F(FilesWorkerDeliveryTest, LeavesRanksThatAreThereAlone) {
  serve_one();
  have_written(R"({"traceEvents": [], "distributedInfo": {"rank": 1}, "trace_id": "77"})");
  DeliveryOrder order;
  order.distributed_info = kInfo;
  ASSERT_TRUE(deliver(order).has_value());
  EXPECT_THAT(text_of(out_ / "result.json"), ::testing::Not(HasSubstr("\"rank\": 3")));
}

TEST_F(FilesWorkerDeliveryTest, ABrokenTraceIsBroughtAsItIs) {
  serve_one();
  have_written(R"({"trace_id": "77", "traceEvents": [{}, )");
  DeliveryOrder order;
  order.distributed_info = kInfo;
  const auto delivered = deliver(order);
  ASSERT_TRUE(delivered.has_value()) << delivered.error().message;
  EXPECT_THAT(delivered->notes, Contains(HasSubstr("distributedInfo was not added")));
  EXPECT_THAT(text_of(out_ / "result.json"), EndsWith("[{}, "));
}

TEST_F(FilesWorkerDeliveryTest, Compresses) {
  serve_one();
  const std::string trace = long_trace(1U << 20U);
  have_written(trace);
  DeliveryOrder order;
  order.gzip = true;
  const auto delivered = deliver(order);
  ASSERT_TRUE(delivered.has_value()) << delivered.error().message;
  EXPECT_EQ(delivered->path, out_ / "result.json.gz");
  EXPECT_EQ(delivered->bytes, fs::file_size(out_ / "result.json.gz"));
  EXPECT_EQ(unzipped(text_of(out_ / "result.json.gz")), trace);
  EXPECT_FALSE(fs::exists(in_traces("t.json")));
}

TEST_F(FilesWorkerDeliveryTest, GivesTheFileInPiecesAndRemovesIt) {
  serve_one();
  places_.target.clear();
  const std::string trace = long_trace(1U << 20U);
  have_written(trace);
  EXPECT_THAT(deliver().error().message, HasSubstr("no place was named"));
  int pieces = 0;
  EXPECT_EQ(fetched(0, &pieces), trace);
  EXPECT_GT(pieces, 3);
  // Resumed where somebody left off.
  EXPECT_EQ(fetched(700'000), trace.substr(700'000));
  for (const std::uint64_t beyond : {std::uint64_t{trace.size()}, std::uint64_t{1} << 50U}) {
    const auto end = chunk(beyond);
    ASSERT_TRUE(end.has_value());
    EXPECT_TRUE(end->last);
    EXPECT_EQ(end->data, "");
    EXPECT_EQ(end->total_bytes, trace.size());
  }
  ASSERT_TRUE(release().has_value());
  EXPECT_FALSE(fs::exists(in_traces("t.json")));
  EXPECT_EQ(chunk(0).error().kind, ErrorKind::not_found);
}

TEST_F(FilesWorkerDeliveryTest, CompletesAFileThatIsToBeBrought) {
  serve_one();
  places_.target.clear();
  have_written(kTrace);
  const auto before = chunk(0);
  ASSERT_TRUE(before.has_value()) << before.error().message;
  ASSERT_TRUE(complete(kInfo).has_value());
  ASSERT_TRUE(complete(kInfo).has_value());  // once is enough
  const auto after = chunk(0);
  ASSERT_TRUE(after.has_value()) << after.error().message;
  EXPECT_NE(after->stamp, before->stamp);
  const std::string text = fetched(0);
  EXPECT_THAT(text, HasSubstr(R"(, "distributedInfo": {"rank": 3)"));
  EXPECT_EQ(text.find("distributedInfo"), text.rfind("distributedInfo"));
  EXPECT_EQ(text, text_of(in_traces("t.json")));
}

TEST_F(FilesWorkerDeliveryTest, NothingIsHeldBeforeItIsWritten) {
  serve_one();
  EXPECT_EQ(deliver().error().kind, ErrorKind::not_found);
  watch_places(places_, "77");
  EXPECT_EQ(deliver().error().kind, ErrorKind::not_found);
  EXPECT_EQ(chunk(0).error().kind, ErrorKind::not_found);
  EXPECT_EQ(complete(kInfo).error().kind, ErrorKind::not_found);
  write_trace("t.json", R"({"traceEvents": [], "trace_id": "78"})");
  EXPECT_FALSE(next_written().check.ours);
  EXPECT_EQ(deliver().error().kind, ErrorKind::not_found);  // not ours to move
  EXPECT_TRUE(fs::exists(in_traces("t.json")));
}

TEST_F(FilesWorkerDeliveryTest, WithoutADirectoryTheFileStaysAndTheErrorSaysWhere) {
  serve_one();
  places_.target = path_ / "none/result.json";
  have_written(kTrace);
  fs::create_directory(path_ / "none");  // too late: it could be anybody's by now
  const auto delivered = deliver();
  ASSERT_FALSE(delivered.has_value());
  EXPECT_THAT(delivered.error().message, HasSubstr("no such directory"));
  EXPECT_THAT(delivered.error().message, HasSubstr(in_traces("t.json")));
  EXPECT_EQ(fetched(0), kTrace);
}

TEST_F(FilesWorkerDeliveryTest, AReplacedFileIsRefused) {
  serve_one();
  have_written(kTrace);
  write(in_traces("other"), R"({"evil": 1})");
  fs::rename(in_traces("other"), in_traces("t.json"));
  const auto delivered = deliver();
  ASSERT_FALSE(delivered.has_value());
  EXPECT_EQ(delivered.error().kind, ErrorKind::denied);
  EXPECT_FALSE(fs::exists(out_ / "result.json"));
  EXPECT_FALSE(release().has_value());
  EXPECT_TRUE(fs::exists(in_traces("t.json")));
  // What was checked is held all the same.
  EXPECT_EQ(fetched(0), kTrace);
}

TEST_F(FilesWorkerDeliveryTest, AFileThatWasWrittenToIsRefused) {
  serve_one();
  have_written(kTrace);
  std::ofstream(in_traces("t.json"), std::ios::app) << "more";
  EXPECT_EQ(deliver().error().kind, ErrorKind::denied);
  EXPECT_EQ(chunk(0).error().kind, ErrorKind::denied);
  EXPECT_EQ(complete(kInfo).error().kind, ErrorKind::denied);
  EXPECT_EQ(release().error().kind, ErrorKind::denied);
  EXPECT_FALSE(fs::exists(out_ / "result.json"));
}

TEST_F(FilesWorkerDeliveryTest, ATargetThatWasSwappedIsNotFollowed) {
  serve_one();
  have_written(kTrace);
  fs::rename(out_, path_ / "held");
  fs::create_directory(out_);
  const auto delivered = deliver();
  ASSERT_TRUE(delivered.has_value()) << delivered.error().message;
  EXPECT_THAT(delivered->notes, Contains(HasSubstr("does not lead to the directory")));
  EXPECT_TRUE(fs::is_empty(out_));
  EXPECT_EQ(text_of(path_ / "held/result.json"), kTrace);
}

TEST_F(FilesWorkerDeliveryTest, TheProcessMayBeDead) {
  serve_one();
  watch_places(places_, "77");
  const Pid dead = pid();
  process_->end();
  write_trace("t.json", kTrace);
  EXPECT_TRUE(next_written().check.ours);
  const auto delivered =
      ask<DeliveredFile>([&](auto done) { worker_->deliver(dead, {}, std::move(done)); });
  ASSERT_TRUE(delivered.has_value()) << delivered.error().message;
  EXPECT_EQ(text_of(out_ / "result.json"), kTrace);
}

TEST_F(FilesWorkerDeliveryTest, AWorkerKilledInTheMiddleLeavesTheFileWhole) {
  serve_one();
  have_written_much(kMuch);
  on_event_ = [this](const FileEvent& event) {
    if (event.what == What::progress) ::kill(std::stoi(worker_pid()), SIGKILL);
  };
  DeliveryOrder order;
  order.gzip = true;
  EXPECT_FALSE(deliver(order).has_value());
  EXPECT_THAT(ended_.value_or(""), HasSubstr("signal 9"));
  EXPECT_EQ(fs::file_size(in_traces("t.json")), kMuch);
  EXPECT_TRUE(fs::is_empty(out_)) << "neither the name nor a part under another";
}

// The second trace is written when the delivery of the first is under way, and the first is cut
// short, which ends its delivery, when the second has been announced.
TEST_F(FilesWorkerDeliveryTest, OtherTracesAreAnnouncedMeanwhile) {
  process_.emplace(WaitingProcess::Options{});
  WaitingProcess second({});
  const Uid self{::geteuid()};
  serve({{process_->key(), self}, {second.key(), self}});
  ASSERT_TRUE(prepare(second.pid(), in_traces("second.json"))->usable);
  worker_->watch(second.pid(), "77", FilesWorker::Expect::trace);
  have_written_much(kMuch);
  bool answered = false;
  bool written = false;
  bool announced = false;
  on_event_ = [&](const FileEvent& event) {
    EXPECT_TRUE(answered || event.what != What::written) << "its turn comes";
    if (event.what == What::renamed) {
      EXPECT_FALSE(std::exchange(announced, true) || answered);
      EXPECT_EQ(event.pid, second.pid());
      fs::resize_file(in_traces("t.json"), 5);
    }
    if (event.what != What::progress || std::exchange(written, true)) return;
    EXPECT_EQ(event.pid, pid());
    write_trace("second.json", kTrace);
  };
  DeliveryOrder order;
  order.gzip = true;
  const auto delivered = ask<DeliveredFile>([&](auto done) {
    worker_->deliver(pid(), order, [&, done](Result<DeliveredFile> file) {
      answered = true;
      done(std::move(file));
    });
  });
  ASSERT_FALSE(delivered.has_value());
  EXPECT_THAT(delivered.error().message, HasSubstr("was changed while it was copied"));
  EXPECT_TRUE(written && announced);
  for (FileEvent event = next_event();; event = next_event()) {
    if (HasFailure() || event.what == What::written) break;
  }
}

// What only root can set up: other users, and file systems that only the process sees.
class RootFilesWorkerDeliveryTest : public FilesWorkerDeliveryTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    private_ = path_ / "private";
    fs::create_directory(private_);
    for (const fs::path& path : {traces_, out_}) {
      ASSERT_EQ(::chown(path.c_str(), kOther.value, kOther.value), 0);
    }
  }
  // A process of another user with a tmpfs of its own.
  void serve_private(const std::string& tmpfs_options = "") {
    WaitingProcess::Options options;
    options.uid = kOther;
    options.private_tmpfs = private_;
    options.tmpfs_options = tmpfs_options;
    serve_process(options);
    seen_ = process_->directory(private_);
    ASSERT_TRUE(seen_.valid());
  }
  // A name in the process's own tmpfs, also when it is dead.
  fs::path in_private(const std::string& name) const {
    return fs::path("/proc/self/fd") / std::to_string(seen_.get()) / name;
  }
  void have_written_private() {
    places_.file = private_ / "t.json";
    watch_places(places_, "77");
    write_trace_in(in_private(""), "t.json", kTrace, kOther);
    ASSERT_TRUE(next_written().check.ours);
  }
  static Uid owner_of(const fs::path& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return Uid{status.st_uid};
  }

  fs::path private_;
  UniqueFd seen_;
};

TEST_F(RootFilesWorkerDeliveryTest, EverythingIsTheOwners) {
  serve_one(kOther);
  have_written(kTrace, kOther);
  DeliveryOrder order;
  order.distributed_info = kInfo;
  order.side_car = "{}";
  order.gzip = true;
  const auto delivered = deliver(order);
  ASSERT_TRUE(delivered.has_value()) << delivered.error().message;
  EXPECT_THAT(unzipped(text_of(out_ / "result.json.gz")), HasSubstr("\"rank\": 3"));
  EXPECT_EQ(owner_of(out_ / "result.json.gz"), kOther);
  EXPECT_EQ(owner_of(out_ / ".dynolog"), kOther);
  EXPECT_EQ(owner_of(out_ / ".dynolog/result.json.gz.json"), kOther);
}

// Root's worker would get through: the owner's does not.
TEST_F(RootFilesWorkerDeliveryTest, WhatTheOwnerMayNotWriteIsNotWritten) {
  serve_one(kOther);
  ASSERT_EQ(::chown(out_.c_str(), 0, 0), 0);
  const auto prepared = prepare_places(pid(), places_);
  EXPECT_FALSE(prepared->target.usable);
  watch_prepared("77");
  write_trace("t.json", kTrace, kOther);
  EXPECT_TRUE(next_written().check.ours);
  EXPECT_EQ(deliver().error().kind, ErrorKind::denied);
  EXPECT_FALSE(fs::exists(out_ / "result.json"));
  EXPECT_TRUE(fs::exists(in_traces("t.json")));
}

TEST_F(RootFilesWorkerDeliveryTest, CopiesFromTheProcesssOwnFileSystem) {
  serve_private();
  places_.file = private_ / "t.json";
  const auto prepared = prepare_places(pid(), places_);
  ASSERT_TRUE(prepared.has_value()) << prepared.error().message;
  EXPECT_TRUE(prepared->file.in_memory);
  EXPECT_FALSE(prepared->target.in_memory);
  EXPECT_FALSE(prepared->one_file_system);
  have_written_private();
  EXPECT_FALSE(fs::exists(private_ / "t.json"));  // nobody else sees it
  const auto delivered = deliver();
  ASSERT_TRUE(delivered.has_value()) << delivered.error().message;
  EXPECT_EQ(text_of(out_ / "result.json"), kTrace);
  EXPECT_EQ(owner_of(out_ / "result.json"), kOther);
  EXPECT_FALSE(fs::exists(in_private("t.json")));
}

TEST_F(RootFilesWorkerDeliveryTest, TheOwnFileSystemOutlivesItsProcess) {
  serve_private();
  places_.file = private_ / "t.json";
  watch_places(places_, "77");
  const Pid dead = pid();
  process_->end();
  write_trace_in(in_private(""), "t.json", kTrace, kOther);
  seen_.reset();  // only the worker holds it now
  ASSERT_TRUE(next_written().check.ours);
  const auto delivered =
      ask<DeliveredFile>([&](auto done) { worker_->deliver(dead, {}, std::move(done)); });
  ASSERT_TRUE(delivered.has_value()) << delivered.error().message;
  EXPECT_EQ(text_of(out_ / "result.json"), kTrace);
}

TEST_F(RootFilesWorkerDeliveryTest, WithinTheOwnFileSystemItIsARename) {
  serve_private();
  places_.target = private_ / "result.json";
  have_written_private();
  struct stat before{};
  ASSERT_EQ(::stat(in_private("t.json").c_str(), &before), 0);
  ASSERT_TRUE(deliver().has_value());
  struct stat after{};
  ASSERT_EQ(::stat(in_private("result.json").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST_F(RootFilesWorkerDeliveryTest, AFullTargetKeepsTheFile) {
  serve_private("size=256k");
  places_.target = private_ / "result.json";
  const std::string trace = long_trace(1U << 20U);
  watch_places(places_, "77");
  write_trace("t.json", trace, kOther);
  ASSERT_TRUE(next_written().check.ours);
  const auto delivered = deliver();
  ASSERT_FALSE(delivered.has_value());
  EXPECT_EQ(delivered.error().kind, ErrorKind::exhausted);
  EXPECT_THAT(delivered.error().message, HasSubstr("no room"));
  EXPECT_THAT(delivered.error().message, HasSubstr(in_traces("t.json")));
  EXPECT_TRUE(fs::is_empty(in_private("")));  // no half of it
  EXPECT_EQ(text_of(in_traces("t.json")), trace);
  EXPECT_EQ(fetched(0), trace);  // it can still be brought
  ASSERT_TRUE(release().has_value());
}

TEST_F(RootFilesWorkerDeliveryTest, AnotherUsersLinkUnderTheTargetsNameIsNotFollowed) {
  ASSERT_EQ(::chmod(out_.c_str(), 01777), 0);
  serve_one(kOther);
  have_written(kTrace, kOther);
  write(path_ / "victim", "precious", kOther);
  fs::create_symlink(path_ / "victim", out_ / "result.json");
  ASSERT_EQ(::lchown((out_ / "result.json").c_str(), kThird.value, kThird.value), 0);
  EXPECT_FALSE(deliver().has_value());
  EXPECT_EQ(text_of(path_ / "victim"), "precious");
  EXPECT_EQ(text_of(in_traces("t.json")), kTrace);
}

}  // namespace
}  // namespace dynolog
