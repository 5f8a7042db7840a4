// The procs worker's frames: what goes in comes out, and foreign bytes are refused.
#include "workers/procs_frames.h"

#include <gtest/gtest.h>

#include "workers/request_channel.h"

namespace dynolog {
namespace {

ProcessFacts full_facts() {
  ProcessFacts facts;
  facts.key = {Pid{42}, 18446744073709551615ULL};
  facts.uid = Uid{4294967294U};
  facts.namespace_pid = 7;
  facts.parent = Pid{41};
  facts.ancestors = {Pid{40}, Pid{2}};
  facts.thread_name = "pt_data_worker";
  facts.container = "abc";
  facts.command = "python train.py \"x\"";
  facts.working_directory = "/work";
  facts.job.scheduler = "slurm";
  facts.job.job = JobId{"12_3"};
  facts.job.allocation = "14";
  facts.job.step = "0";
  facts.job.rank = 3;
  facts.job.world_size = 8;
  facts.job.rank_source = RankSource::title;
  facts.job.local_world_size = 4;
  facts.job.launched = true;
  facts.job.launcher = true;
  facts.holds_gpu = true;
  facts.gpus = {0, 3};
  facts.torch_library = "/torch/lib/libtorch_cpu.so";
  facts.ondemand_trace_dir = "/traces";
  facts.kineto_config = "/etc/k.conf";
  facts.ipc_socket_dir = "/run/d";
  facts.uses_daemon = true;
  facts.kineto_init_delay = "5";
  facts.cuda_visible_devices = "GPU-1,GPU-2";
  facts.descriptors_read = true;
  facts.mapped_files_read = true;
  facts.missing = {"environment: Permission denied"};
  return facts;
}

TEST(ProcsFrames, FactsRoundTrip) {
  const ProcessFacts facts = full_facts();
  const auto decoded = decode_facts(encode_facts(facts));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_EQ(decoded->key, facts.key);
  EXPECT_EQ(decoded->uid, facts.uid);
  EXPECT_EQ(decoded->namespace_pid, 7);
  EXPECT_EQ(decoded->parent, facts.parent);
  EXPECT_EQ(decoded->ancestors, facts.ancestors);
  EXPECT_EQ(decoded->thread_name, "pt_data_worker");
  EXPECT_EQ(decoded->container, "abc");
  EXPECT_EQ(decoded->command, facts.command);
  EXPECT_EQ(decoded->working_directory, "/work");
  EXPECT_EQ(decoded->job.scheduler, "slurm");
  EXPECT_EQ(decoded->job.job.value, "12_3");
  EXPECT_EQ(decoded->job.allocation, "14");
  EXPECT_EQ(decoded->job.step, "0");
  EXPECT_EQ(decoded->job.rank, 3);
  EXPECT_EQ(decoded->job.local_rank, std::nullopt);
  EXPECT_EQ(decoded->job.world_size, 8);
  EXPECT_EQ(decoded->job.rank_source, RankSource::title);
  EXPECT_EQ(decoded->job.local_world_size, 4);
  EXPECT_TRUE(decoded->job.launched);
  EXPECT_TRUE(decoded->job.launcher);
  EXPECT_TRUE(decoded->holds_gpu);
  EXPECT_EQ(decoded->gpus, facts.gpus);
  EXPECT_EQ(decoded->torch_library, facts.torch_library);
  EXPECT_EQ(decoded->ondemand_trace_dir, "/traces");
  EXPECT_EQ(decoded->kineto_config, "/etc/k.conf");
  EXPECT_EQ(decoded->ipc_socket_dir, "/run/d");
  EXPECT_TRUE(decoded->uses_daemon);
  EXPECT_EQ(decoded->kineto_init_delay, "5");
  EXPECT_EQ(decoded->cuda_visible_devices, "GPU-1,GPU-2");
  EXPECT_TRUE(decoded->descriptors_read);
  EXPECT_FALSE(decoded->environment_read);
  EXPECT_TRUE(decoded->mapped_files_read);
  EXPECT_FALSE(decoded->complete);
  EXPECT_EQ(decoded->missing, facts.missing);
}

TEST(ProcsFrames, WhatWasReadToItsEndEachForItself) {
  ProcessFacts facts;
  facts.environment_read = facts.complete = true;
  const auto decoded = decode_facts(encode_facts(facts));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_FALSE(decoded->descriptors_read || decoded->mapped_files_read);
  EXPECT_TRUE(decoded->environment_read && decoded->complete);
}

TEST(ProcsFrames, ErrorsRoundTrip) {
  const auto decoded = decode_facts(encode_facts(fail(ErrorKind::denied, "no")));
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error().kind, ErrorKind::denied);
  EXPECT_EQ(decoded.error().message, "no");
}

TEST(ProcsFrames, HoldersAndRequestsRoundTrip) {
  SocketHolder holder{.key = {Pid{1}, 2}, .uid = Uid{3}, .container = "c", .host_namespaces = true};
  const auto holders = decode_holders(encode_holders(std::vector{holder, holder}));
  ASSERT_TRUE(holders.has_value());
  ASSERT_EQ(holders->size(), 2U);
  EXPECT_EQ(holders->at(1).key, holder.key);
  EXPECT_EQ(holders->at(1).uid, holder.uid);
  EXPECT_EQ(holders->at(1).container, "c");
  EXPECT_TRUE(holders->at(1).host_namespaces);

  const auto request = decode_procs_request(encode(ProcsRequest{
      .verb = ProcsRequest::Verb::socket_holders, .key = {}, .inode = 9, .uid = Uid{1000}}));
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->verb, ProcsRequest::Verb::socket_holders);
  EXPECT_EQ(request->inode, 9U);
  EXPECT_EQ(request->uid, Uid{1000});
}

TEST(ProcsFrames, HostileBodiesAreErrors) {
  const std::string good = encode_facts(full_facts());
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(decode_facts(good.substr(0, size)).has_value());
  }
  for (const std::string bad :
       {"", "null", "[]", "{}", R"({"error": 1})", R"({"error": {"kind": "x"}})",
        R"({"holders": {}})", R"({"holders": [1]})", R"({"holders": [{"pid": 1e9}]})",
        R"({"holders": [{"pid": 99999999999, "start": 1, "uid": 0, "container": "",
            "host_namespaces": true}]})",
        R"({"holders": [{"pid": 1, "start": -1, "uid": 0, "container": "",
            "host_namespaces": true}]})"}) {
    EXPECT_FALSE(decode_facts(bad).has_value()) << bad;
    EXPECT_FALSE(decode_holders(bad).has_value()) << bad;
    EXPECT_FALSE(decode_procs_request(bad).has_value()) << bad;
  }
  EXPECT_FALSE(decode_facts(std::string(100'000, '[')).has_value());
  EXPECT_FALSE(decode_facts(R"({"a": )" + std::string(50'000, '{')).has_value());
  EXPECT_FALSE(decode_procs_request(R"({"verb": 77, "pid": 1, "start": 1, "inode": 1, "uid": 1})"));
}

TEST(ProcsFrames, TooManyHoldersAreRefused) {
  const std::vector<SocketHolder> holders(kMaxSocketHolders + 1);
  EXPECT_FALSE(decode_holders(encode_holders(holders)).has_value());
}

TEST(ProcsFrames, ListsOfNumbersAreBounded) {
  const auto with = [](const std::string& list) {
    std::string body = encode_facts(full_facts());
    const std::string held = R"("gpus":[0,3])";
    const std::size_t place = body.find(held);
    return place == std::string::npos ? "" : body.replace(place, held.size(), list);
  };
  EXPECT_TRUE(decode_facts(with(R"("gpus":[])")).has_value());
  for (const char* bad : {R"("gpus":[-1])", R"("gpus":[2147483648])", R"("gpus":[1.5])",
                          R"("gpus":["1"])", R"("gpus":{})"}) {
    EXPECT_FALSE(decode_facts(with(bad)).has_value()) << bad;
  }
  ProcessFacts facts = full_facts();
  facts.gpus.assign(kMaxHeldGpus + 1, 1);
  EXPECT_FALSE(decode_facts(encode_facts(facts)).has_value());
  facts = full_facts();
  facts.ancestors.assign(kMaxAncestors + 1, Pid{1});
  EXPECT_FALSE(decode_facts(encode_facts(facts)).has_value());
}

TEST(ProcsFrames, TextIsCleanedOnArrival) {
  ProcessFacts facts = full_facts();
  facts.command = "a\x1b[2Jb\xff";
  const auto decoded = decode_facts(encode_facts(facts));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->command.find('\x1b'), std::string::npos);
  EXPECT_EQ(decoded->command.find('\xff'), std::string::npos);
}

TEST(NumberedFrames, RoundTripAndRefusal) {
  const std::string frame = encode_numbered(17, "{}\n{}");
  const auto decoded = decode_numbered(frame);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->number, 17U);
  EXPECT_EQ(decoded->body, "{}\n{}");
  for (const char* bad : {"", "17", "x\n{}", "-1\n{}", "\n{}", "99999999999999999999\n{}"}) {
    EXPECT_FALSE(decode_numbered(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace dynolog
