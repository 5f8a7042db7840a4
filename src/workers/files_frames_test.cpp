// The files worker's frames: what goes in comes out, and foreign bytes are refused.
#include "workers/files_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "traces/trace_summary_json.h"
#include "workers/frame_json.h"

namespace dynolog {
namespace {

using Verb = FilesRequest::Verb;
using ::testing::ElementsAre;

FilesRequest request_of(Verb verb) {
  FilesRequest request;
  request.verb = verb;
  request.pid = Pid{5};
  return request;
}

FilesRequest there_and_back(const FilesRequest& request) {
  const auto decoded = decode_files_request(encode(request));
  EXPECT_TRUE(decoded.has_value()) << encode(request);
  if (!decoded) return {};
  EXPECT_EQ(decoded->verb, request.verb);
  EXPECT_EQ(decoded->pid, request.pid);
  return *decoded;
}

TEST(FilesFrames, IdentitiesRoundTrip) {
  FilesRequest request = request_of(Verb::identities);
  request.identities = {{{Pid{5}, 6}, Uid{7}}};
  const FilesRequest decoded = there_and_back(request);
  ASSERT_EQ(decoded.identities.size(), 1U);
  EXPECT_EQ(decoded.identities[0].process, request.identities[0].process);
  EXPECT_EQ(decoded.identities[0].uid, request.identities[0].uid);
}

TEST(FilesFrames, PathsComeAsTheyAre) {
  FilesRequest request = request_of(Verb::prepare);
  // Not cleaned: the file would be another one.
  request.places = {.file = "/tmp/a\nb \"\x1b/t.json",
                    .elsewhere = {"/tmp/l.json", "/var/l.json"},
                    .target = "/t/\xe2\x82\xac=#.json",
                    .named = "/t/\xe2\x82\xac",
                    .make_directories = true};
  const PlacesAsked places = there_and_back(request).places;
  EXPECT_EQ(places.file, request.places.file);
  EXPECT_EQ(places.elsewhere, request.places.elsewhere);
  EXPECT_EQ(places.target, request.places.target);
  EXPECT_EQ(places.named, request.places.named);
  EXPECT_TRUE(places.make_directories);

  request.places.file = std::string(4096, 'a');
  EXPECT_EQ(there_and_back(request).places.file.size(), 4096U);
  request.places.file += 'a';
  EXPECT_FALSE(decode_files_request(encode(request)).has_value());
  request.places.file = "/a";
  request.places.elsewhere.resize(kMaxElsewhere + 1, "/b");
  EXPECT_FALSE(decode_files_request(encode(request)).has_value());
}

TEST(FilesFrames, OtherRequestsRoundTrip) {
  FilesRequest request = request_of(Verb::watch);
  request.trace_id = "77";
  request.expect = FilesWorker::Expect::snapshot;
  EXPECT_EQ(there_and_back(request).trace_id, "77");
  EXPECT_EQ(there_and_back(request).expect, FilesWorker::Expect::snapshot);

  request = request_of(Verb::complete);
  request.distributed_info = R"({"rank": 3})";
  EXPECT_EQ(there_and_back(request).distributed_info, request.distributed_info);

  request = request_of(Verb::read_chunk);
  request.offset = 1ULL << 40U;
  EXPECT_EQ(there_and_back(request).offset, request.offset);

  request = request_of(Verb::torch_facts);
  request.library = "/l.so";
  request.kineto_config = "/etc/k.conf";
  EXPECT_EQ(there_and_back(request).library, "/l.so");
  EXPECT_EQ(there_and_back(request).kineto_config, "/etc/k.conf");

  request = request_of(Verb::discard);
  EXPECT_EQ(there_and_back(request).discard, FilesWorker::Discard::at_once);
  request.discard = FilesWorker::Discard::when_closed;
  EXPECT_EQ(there_and_back(request).discard, FilesWorker::Discard::when_closed);

  for (const Verb verb : {Verb::unwatch, Verb::release, Verb::library_id}) {
    there_and_back(request_of(verb));
  }
}

TEST(FilesFrames, OrderRoundTripsWithTheLargestSideCar) {
  FilesRequest request = request_of(Verb::deliver);
  request.order.gzip = true;
  request.order.distributed_info = std::string(kMaxDistributedInfo, '"');
  request.order.side_car = "{\n\"a\": 1}\n" + std::string(kMaxSideCar - 10, '"');
  ASSERT_EQ(request.order.side_car.size(), kMaxSideCar);
  EXPECT_LT(encode(request).size() + 32, kMaxWorkerFrame);
  const DeliveryOrder order = there_and_back(request).order;
  EXPECT_TRUE(order.gzip);
  EXPECT_EQ(order.distributed_info, request.order.distributed_info);
  EXPECT_EQ(order.side_car, request.order.side_car);

  request.order.side_car += 'x';
  EXPECT_FALSE(decode_files_request(encode(request)).has_value());
  request.order.side_car.clear();
  EXPECT_EQ(there_and_back(request).order.side_car, "");
  request.order.distributed_info += 'x';
  EXPECT_FALSE(decode_files_request(encode(request)).has_value());
}

TEST(FilesFrames, SmallRepliesRoundTrip) {
  EXPECT_TRUE(decode_status(encode_status({})).has_value());
  EXPECT_EQ(decode_status(encode_status(fail(ErrorKind::denied, "no"))).error().message, "no");
  EXPECT_EQ(decode_library_id(encode_library_id("1:2")).value(), "1:2");
  EXPECT_TRUE(decode_discarded(encode_discarded(true)).value());
  EXPECT_FALSE(decode_discarded(encode_discarded(false)).value());
  EXPECT_EQ(decode_discarded(encode_discarded(fail(ErrorKind::denied, "x"))).error().kind,
            ErrorKind::denied);
}

TEST(FilesFrames, PreparedRoundTrips) {
  const PreparedPlaces prepared{.file = {.usable = true,
                                         .unknown = false,
                                         .fault = "f",
                                         .problem = "p",
                                         .directory_id = "1:2",
                                         .free_bytes = 3,
                                         .file_exists = true,
                                         .in_memory = false},
                                .target = {.usable = false,
                                           .unknown = true,
                                           .fault = "g",
                                           .problem = "q",
                                           .directory_id = "",
                                           .free_bytes = 0,
                                           .file_exists = false,
                                           .in_memory = true},
                                .one_file_system = true};
  const auto decoded = decode_prepared(encode_prepared(prepared));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_TRUE(decoded->file.usable);
  EXPECT_FALSE(decoded->file.unknown);
  EXPECT_EQ(decoded->file.fault, "f");
  EXPECT_EQ(decoded->file.problem, "p");
  EXPECT_EQ(decoded->file.directory_id, "1:2");
  EXPECT_EQ(decoded->file.free_bytes, 3U);
  EXPECT_TRUE(decoded->file.file_exists);
  EXPECT_FALSE(decoded->file.in_memory);
  EXPECT_FALSE(decoded->target.usable);
  EXPECT_TRUE(decoded->target.unknown);
  EXPECT_EQ(decoded->target.problem, "q");
  EXPECT_TRUE(decoded->target.in_memory);
  EXPECT_TRUE(decoded->one_file_system);
}

TEST(FilesFrames, DeliveredRoundTrips) {
  const DeliveredFile delivered{
      .path = "/d/t.json", .file_id = "1:2", .bytes = 9, .notes = {"one", "two"}};
  const auto decoded = decode_delivered(encode_delivered(delivered));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->path, "/d/t.json");
  EXPECT_EQ(decoded->file_id, "1:2");
  EXPECT_EQ(decoded->bytes, 9U);
  EXPECT_THAT(decoded->notes, ElementsAre("one", "two"));
  DeliveredFile noisy = delivered;
  noisy.notes.resize(kMaxDeliveryNotes + 1, "x");
  EXPECT_FALSE(decode_delivered(encode_delivered(noisy)).has_value());
}

FileChunk middle_chunk() {
  return {.offset = 10,
          .plain_bytes = 20,
          .total_bytes = 31,
          .crc32 = 0xdeadbeef,
          .stamp = "1:2:3",
          .data = std::string("\x1f\x8b\n\0\xff", 5),
          .last = false};
}

TEST(FilesFrames, ChunkRoundTripsWithAnyBytes) {
  const FileChunk chunk = middle_chunk();
  const auto decoded = decode_chunk(encode_chunk(chunk));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->offset, 10U);
  EXPECT_EQ(decoded->plain_bytes, 20U);
  EXPECT_EQ(decoded->total_bytes, 31U);
  EXPECT_EQ(decoded->crc32, 0xdeadbeefU);
  EXPECT_EQ(decoded->stamp, "1:2:3");
  EXPECT_EQ(decoded->data, chunk.data);
  EXPECT_FALSE(decoded->last);
  EXPECT_EQ(decode_chunk(encode_chunk(fail(ErrorKind::denied, "x"))).error().kind,
            ErrorKind::denied);

  FileChunk largest = chunk;
  largest.data.assign(kMaxChunkData, '\n');
  EXPECT_LT(encode_chunk(largest).size() + 32, kMaxWorkerFrame);
  EXPECT_EQ(decode_chunk(encode_chunk(largest))->data.size(), kMaxChunkData);
  const FileChunk end{.offset = 31,
                      .plain_bytes = 0,
                      .total_bytes = 31,
                      .crc32 = 0,
                      .stamp = "1:2:3",
                      .data = {},
                      .last = true};
  EXPECT_TRUE(decode_chunk(encode_chunk(end))->last);
}

// What a reader would do with such a piece is never asked.
TEST(FilesFrames, ChunksThatContradictThemselvesAreRefused) {
  const auto refused = [](auto spoil) {
    FileChunk chunk = middle_chunk();
    spoil(chunk);
    return !decode_chunk(encode_chunk(chunk)).has_value();
  };
  EXPECT_TRUE(refused([](FileChunk& c) { c.data.assign(kMaxChunkData + 1, 'x'); }));
  EXPECT_TRUE(refused([](FileChunk& c) { c.plain_bytes = 22; }));     // beyond the end
  EXPECT_TRUE(refused([](FileChunk& c) { c.plain_bytes = ~0ULL; }));  // so that the sum wraps
  EXPECT_TRUE(refused([](FileChunk& c) { c.offset = ~0ULL - 5; }));
  EXPECT_TRUE(refused([](FileChunk& c) { c.last = true; }));       // there is more
  EXPECT_TRUE(refused([](FileChunk& c) { c.plain_bytes = 21; }));  // there is no more
  EXPECT_TRUE(refused([](FileChunk& c) { c.data.clear(); }));      // would never end
  EXPECT_TRUE(refused([](FileChunk& c) { c.plain_bytes = 0; }));
  EXPECT_TRUE(refused([](FileChunk& c) { c.stamp.assign(200, '1'); }));
  EXPECT_FALSE(refused([](FileChunk&) {}));
}

TEST(FilesFrames, TorchRoundTrips) {
  TorchFacts torch;
  torch.version = "2.13.0+cpu";
  torch.knows_trace_id = true;
  torch.has_base_configuration = true;
  torch.poll_interval_s = 1;
  const auto facts = decode_torch(encode_torch(torch));
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->version, "2.13.0+cpu");
  EXPECT_TRUE(facts->knows_trace_id);
  EXPECT_FALSE(facts->knows_ondemand_trace_dir);
  EXPECT_FALSE(facts->knows_memory_snapshot);
  EXPECT_FALSE(facts->knows_modules_and_stacks);
  EXPECT_TRUE(facts->has_base_configuration);
  EXPECT_EQ(facts->poll_interval_s, 1);
}

FileEvent written_event() {
  FileEvent event;
  event.pid = Pid{5};
  event.what = FileEvent::What::written;
  event.path = "/d/t.json";
  event.check.checked = true;
  event.check.whole = true;
  event.check.ours = true;
  event.check.problem = "q";
  event.check.summary.whole = true;
  event.check.summary.trace_id = "3";
  event.check.summary.events = 1;
  event.check.summary.bytes = 2;
  event.check.summary.closing_brace = 1;
  event.check.summary.categories = {{"kernel", 4}};
  return event;
}

TEST(FilesFrames, EventsRoundTrip) {
  const FileEvent event = written_event();
  const auto written = decode_file_event(encode(event));
  ASSERT_TRUE(written.has_value());
  EXPECT_EQ(written->pid, event.pid);
  EXPECT_EQ(written->what, event.what);
  EXPECT_EQ(written->path, "/d/t.json");
  EXPECT_EQ(written->check, event.check);

  FileEvent other;
  other.pid = Pid{6};
  other.what = FileEvent::What::unwatchable;
  other.problem = "p";
  EXPECT_EQ(decode_file_event(encode(other))->problem, "p");
  for (const auto what :
       {FileEvent::What::temporary, FileEvent::What::renamed, FileEvent::What::progress}) {
    other.what = what;
    EXPECT_EQ(decode_file_event(encode(other))->what, what);
    EXPECT_EQ(decode_file_event(encode(other))->pid, Pid{6});
  }
}

TEST(FilesFrames, TheLargestSummaryFits) {
  FileEvent event = written_event();
  TraceSummary& summary = event.check.summary;
  // Quotes double in JSON.
  summary.problem.assign(kMaxSummarySentence, '"');
  summary.warnings.assign(kMaxSummaryWarnings, summary.problem);
  summary.categories.assign(kMaxSummaryCategories, {std::string(kMaxSummaryCategory, '"'), ~0ULL});
  summary.gpus.resize(kMaxSummaryGpus);
  summary.top_kernels.assign(kMaxSummaryTop, {std::string(kMaxSummaryName, '"'), 0.1, ~0ULL});
  summary.top_operators = summary.top_kernels;
  event.path.assign(kMaxFrameText, '"');
  event.check.problem.assign(kMaxFrameText, '"');
  EXPECT_LT(encode(event).size() + 32, kMaxWorkerFrame);
  const auto decoded = decode_file_event(encode(event));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->check, event.check);
}

TEST(FilesFrames, AHostileSummaryIsRefused) {
  const std::string body = encode(written_event());
  const std::string line = body.substr(0, body.find('\n') + 1);
  EXPECT_TRUE(decode_file_event(body).has_value());
  for (const std::string& bad :
       {std::string(), std::string("{}"), std::string("null"), std::string(50'000, '['),
        std::string(kMaxSummaryJson, ' ') + body.substr(line.size())}) {
    EXPECT_FALSE(decode_file_event(line + bad).has_value()) << bad.substr(0, 20);
  }
}

TEST(FilesFrames, HostileBodiesAreErrors) {
  for (const std::string bad :
       {"",
        "[]",
        "{}x",
        R"({"pid": 1})",
        "\n",
        "{}\n{}",
        R"({"pid": 1, "what": 2})",
        R"({"pid": 1, "what": 5})",
        R"({"pid": 1, "what": 3, "problem": 1})",
        R"({"pid": 1, "what": 2, "path": "", "check": {"checked": 1}})",
        R"({"verb": 0, "pid": 1})",
        R"({"verb": 0, "pid": 1, "identities": [[]]})",
        R"({"verb": 11, "pid": 1})",
        R"({"verb": -1, "pid": 1})",
        R"({"verb": 1, "pid": 1, "file": "", "target": "", "elsewhere": [1]})",
        R"({"verb": 2, "pid": 1, "trace_id": "", "expect": 2})",
        R"({"verb": 4, "pid": 1, "gzip": 1, "distributed_info": ""})",
        R"({"verb": 6, "pid": 1, "offset": -1})",
        R"({"usable": true})",
        R"({"version": 2})",
        R"({"library_id": []})",
        R"({"removed": 1})",
        R"({"file": {}, "target": {}, "one_file_system": true})",
        R"({"path": "", "file_id": "", "bytes": 1, "notes": [{}]})",
        R"({"path": "", "file_id": "", "bytes": -1, "notes": []})"}) {
    EXPECT_FALSE(decode_file_event(bad).has_value()) << bad;
    EXPECT_FALSE(decode_files_request(bad).has_value()) << bad;
    EXPECT_FALSE(decode_prepared(bad).has_value()) << bad;
    EXPECT_FALSE(decode_delivered(bad).has_value()) << bad;
    EXPECT_FALSE(decode_chunk(bad).has_value()) << bad;
    EXPECT_FALSE(decode_discarded(bad).has_value()) << bad;
    EXPECT_FALSE(decode_torch(bad).has_value()) << bad;
    EXPECT_FALSE(decode_library_id(bad).has_value()) << bad;
  }
  EXPECT_FALSE(decode_status("").has_value());
  EXPECT_FALSE(decode_status(std::string(1000, '{')).has_value());
}

TEST(FilesFrames, TooManyIdentitiesAreRefused) {
  FilesRequest request = request_of(Verb::identities);
  request.identities.resize(kMaxFilesIdentities + 1);
  EXPECT_FALSE(decode_files_request(encode(request)).has_value());
  request.identities.resize(kMaxFilesIdentities);
  for (FilesIdentity& identity : request.identities) {
    identity = {{Pid{2147483647}, 18446744073709551615ULL}, Uid{4294967295U}};
  }
  const std::string body = encode(request);
  EXPECT_LT(body.size() + 32, kMaxWorkerFrame);
  EXPECT_TRUE(decode_files_request(body).has_value());
}

}  // namespace
}  // namespace dynolog
