// The files worker's frames: what goes in comes out, and foreign bytes are refused.
#include "workers/files_frames.h"

#include <gtest/gtest.h>

namespace dynolog {
namespace {

TEST(FilesFrames, RequestRoundTrip) {
  const FilesRequest request{.verb = FilesRequest::Verb::watch,
                             .pid = Pid{5},
                             .path = "/tmp/t.json",
                             .detail = "77",
                             .identities = {{{Pid{5}, 6}, Uid{7}}}};
  const auto decoded = decode_files_request(encode(request));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->verb, request.verb);
  EXPECT_EQ(decoded->pid, request.pid);
  EXPECT_EQ(decoded->path, request.path);
  EXPECT_EQ(decoded->detail, request.detail);
  ASSERT_EQ(decoded->identities.size(), 1U);
  EXPECT_EQ(decoded->identities[0].process, request.identities[0].process);
  EXPECT_EQ(decoded->identities[0].uid, request.identities[0].uid);
}

TEST(FilesFrames, RepliesRoundTrip) {
  EXPECT_TRUE(decode_status(encode_status({})).has_value());
  EXPECT_EQ(decode_status(encode_status(fail(ErrorKind::denied, "no"))).error().message, "no");
  EXPECT_EQ(decode_library_id(encode_library_id("1:2")).value(), "1:2");

  const auto prepared = decode_prepared(encode_prepared(PreparedDirectory{.usable = true,
                                                                          .problem = "p",
                                                                          .directory_id = "1:2",
                                                                          .free_bytes = 3,
                                                                          .file_exists = true}));
  ASSERT_TRUE(prepared.has_value());
  EXPECT_TRUE(prepared->usable);
  EXPECT_EQ(prepared->problem, "p");
  EXPECT_EQ(prepared->directory_id, "1:2");
  EXPECT_EQ(prepared->free_bytes, 3U);
  EXPECT_TRUE(prepared->file_exists);

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

TEST(FilesFrames, EventRoundTrip) {
  const FileEvent event{.pid = Pid{5},
                        .what = FileEvent::What::written,
                        .check = {.checked = true,
                                  .whole = true,
                                  .ours = true,
                                  .events = 1,
                                  .bytes = 2,
                                  .trace_id = "3",
                                  .problem = "q"},
                        .problem = "p"};
  const auto decoded = decode_file_event(encode(event));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->pid, event.pid);
  EXPECT_EQ(decoded->what, event.what);
  EXPECT_EQ(decoded->check, event.check);
  EXPECT_EQ(decoded->problem, "p");
}

TEST(FilesFrames, HostileBodiesAreErrors) {
  for (const std::string bad :
       {"", "[]", "{}x", R"({"pid": 1})", R"({"pid": 1, "what": 3, "problem": "", "check": {}})",
        R"({"pid": 1, "what": 1, "problem": "", "check": {"checked": 1}})",
        R"({"verb": 0, "pid": 1, "path": 1, "detail": "", "identities": []})",
        R"({"verb": 0, "pid": 1, "path": "", "detail": "", "identities": [[]]})",
        R"({"usable": true})", R"({"version": 2})", R"({"library_id": []})"}) {
    EXPECT_FALSE(decode_file_event(bad).has_value()) << bad;
    EXPECT_FALSE(decode_files_request(bad).has_value()) << bad;
    EXPECT_FALSE(decode_prepared(bad).has_value()) << bad;
    EXPECT_FALSE(decode_torch(bad).has_value()) << bad;
    EXPECT_FALSE(decode_library_id(bad).has_value()) << bad;
  }
  EXPECT_FALSE(decode_status("").has_value());
  EXPECT_FALSE(decode_status(std::string(1000, '{')).has_value());
}

TEST(FilesFrames, TooManyIdentitiesAreRefused) {
  FilesRequest request;
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
