// A scan's frames: what goes in comes out, and foreign bytes are refused.
#include "workers/scan_frames.h"

#include <gtest/gtest.h>

#include "workers/procs_frames.h"

namespace dynolog {
namespace {

ScanReply full_reply() {
  ScannedProcess process;
  process.facts.key = {Pid{42}, 7};
  process.facts.uid = Uid{1000};
  process.facts.command = "python train.py";
  process.facts.torch_library = "/t/libtorch_cpu.so";
  process.signs.state = 'T';
  process.signs.frozen = true;
  process.signs.network_namespace = "net:[1]";
  process.signs.executable = "/usr/bin/python3";
  process.signs.torch_address = "7f00";
  process.signs.maps_gpu_torch = true;
  process.signs.profiler_library = "libToolsInjection64.so";
  process.signs.profiler_variable = "CUDA_INJECTION64_PATH";
  process.signs.environment_variables = 30;
  process.signs.use_daemon = "";
  process.signs.teardown_cupti = "0";
  ScanReply reply;
  reply.processes = {process, ScannedProcess{}};
  reply.tools = {{Pid{9}, Uid{0}, "nv-hostengine"}};
  reply.next = Pid{41};
  reply.looked_at = 300;
  reply.refused = 7;
  return reply;
}

TEST(ScanFrames, RepliesRoundTrip) {
  const auto decoded = decode_scan(encode_scan(full_reply()));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  ASSERT_EQ(decoded->processes.size(), 2U);
  const ScannedProcess& process = decoded->processes.front();
  EXPECT_EQ(process.facts.key, (ProcessKey{Pid{42}, 7}));
  EXPECT_EQ(process.facts.command, "python train.py");
  EXPECT_EQ(process.signs.state, 'T');
  EXPECT_TRUE(process.signs.frozen);
  EXPECT_EQ(process.signs.network_namespace, "net:[1]");
  EXPECT_EQ(process.signs.executable, "/usr/bin/python3");
  EXPECT_EQ(process.signs.torch_address, "7f00");
  EXPECT_TRUE(process.signs.maps_gpu_torch);
  EXPECT_EQ(process.signs.profiler_library, "libToolsInjection64.so");
  EXPECT_EQ(process.signs.profiler_variable, "CUDA_INJECTION64_PATH");
  EXPECT_EQ(process.signs.environment_variables, 30U);
  EXPECT_EQ(process.signs.use_daemon, "");
  EXPECT_EQ(process.signs.log_level, std::nullopt);
  EXPECT_EQ(process.signs.teardown_cupti, "0");
  ASSERT_EQ(decoded->tools.size(), 1U);
  EXPECT_EQ(decoded->tools.front().pid, Pid{9});
  EXPECT_EQ(decoded->tools.front().uid, kRootUid);
  EXPECT_EQ(decoded->tools.front().name, "nv-hostengine");
  EXPECT_EQ(decoded->next, Pid{41});
  EXPECT_EQ(decoded->looked_at, 300U);
  EXPECT_EQ(decoded->refused, 7U);
}

TEST(ScanFrames, RequestsRoundTrip) {
  ProcsRequest request;
  request.verb = ProcsRequest::Verb::scan;
  request.key.pid = Pid{500};
  request.uid = Uid{1000};
  request.of_everybody = true;
  request.pids = {Pid{4}, Pid{2}};
  request.paths = {"/tmp", "/run"};
  const auto decoded = decode_procs_request(encode(request));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_EQ(decoded->verb, request.verb);
  EXPECT_EQ(decoded->key.pid, Pid{500});
  EXPECT_TRUE(decoded->of_everybody);
  EXPECT_EQ(decoded->pids, request.pids);
  EXPECT_EQ(decoded->paths, request.paths);
  request.pids.resize(kMaxNamedPids + 1);
  EXPECT_FALSE(decode_procs_request(encode(request)).has_value());
}

TEST(ScanFrames, HostLooksRoundTrip) {
  HostLook look;
  look.spaces = {{"/tmp", 5, "8:1", ""}, {"/run", 0, "", "/run: No such file or directory"}};
  look.nvidia_driver = true;
  look.nvidia_problem = "/dev/nvidiactl: Operation not permitted";
  const auto decoded = decode_host_look(encode_host_look(look));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  ASSERT_EQ(decoded->spaces.size(), 2U);
  EXPECT_EQ(decoded->spaces[0].free_bytes, 5U);
  EXPECT_EQ(decoded->spaces[0].id, "8:1");
  EXPECT_EQ(decoded->spaces[1].problem, look.spaces[1].problem);
  EXPECT_TRUE(decoded->nvidia_driver);
  EXPECT_EQ(decoded->nvidia_problem, look.nvidia_problem);
}

TEST(ScanFrames, TheProcessBeingReadIsNamed) {
  EXPECT_EQ(decode_looking(encode_looking(Pid{77})), Pid{77});
  for (const char* bad : {"", "{}", R"({"looking": 0})", R"({"looking": -3})",
                          R"({"looking": "7"})", R"({"looking": 99999999999})"}) {
    EXPECT_EQ(decode_looking(bad), std::nullopt) << bad;
  }
}

TEST(ScanFrames, ErrorsStayErrors) {
  const auto decoded = decode_scan(encode_scan(fail(ErrorKind::denied, "no")));
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error().kind, ErrorKind::denied);
}

TEST(ScanFrames, HostileBodiesAreErrors) {
  const std::string good = encode_scan(full_reply());
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(decode_scan(good.substr(0, size)).has_value());
  }
  for (const char* bad :
       {"", "[]", "{}",
        R"({"processes": [1], "tools": [], "next": 0, "looked_at": 0, "refused": 0})",
        R"({"processes": [], "tools": [{}], "next": 0, "looked_at": 0, "refused": 0})",
        R"({"processes": [{"facts": {}, "signs": {}}], "tools": [], "next": 0, "looked_at": 0,
             "refused": 0})",
        R"({"processes": [], "tools": [], "next": -1, "looked_at": 0, "refused": 0})",
        R"({"spaces": [1], "nvidia_driver": true, "nvidia_problem": ""})",
        R"({"spaces": [{"path": 1}], "nvidia_driver": true, "nvidia_problem": ""})"}) {
    EXPECT_FALSE(decode_scan(bad).has_value()) << bad;
    EXPECT_FALSE(decode_host_look(bad).has_value()) << bad;
  }
  ScanReply many;
  many.tools.resize(kMaxToolsInReply + 1);
  EXPECT_FALSE(decode_scan(encode_scan(many)).has_value());
}

}  // namespace
}  // namespace dynolog
