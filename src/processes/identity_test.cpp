// Which cgroup paths are containers, and who may reach whom.
#include "processes/identity.h"

#include <gtest/gtest.h>

namespace dynolog {
namespace {

const std::string kId = "3f4e1c0d9b8a76543210fedcba98765433f4e1c0d9b8a76543210fedcba98765";
const std::string kOther = std::string(64, 'b');
const std::string kPod = "pod0a1b2c3d-1111-2222-3333-444455556666";

std::string container(const std::string& text) { return container_of(parse_proc_pid_cgroup(text)); }

Caller caller(Uid uid, const std::string& container, bool host_root) {
  Caller who;
  who.tenant = {uid, container};
  who.host_root = host_root;
  return who;
}

TEST(ContainerOf, KnowsTheRuntimes) {
  ASSERT_EQ(kId.size(), 64U);
  struct Case {
    const char* what;
    std::string cgroup;
    std::string expected;
  };
  const Case cases[] = {
      {"docker, v1", "12:cpu,cpuacct:/docker/" + kId + "\n0::/\n", kId},
      {"docker, systemd", "0::/system.slice/docker-" + kId + ".scope\n", kId},
      {"docker, systemd inside", "0::/system.slice/docker-" + kId + ".scope/init.scope\n", kId},
      {"docker, rootless",
       "0::/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" + kId + ".scope\n",
       kId + "@/user.slice/user-1000.slice/user@1000.service/user.slice"},
      {"docker seen from a cgroup namespace", "0::/../docker-" + kId + ".scope\n", kId + "@/.."},
      {"containerd, ctr", "0::/default/" + kId + "\n", kId + "@/default"},
      {"nerdctl", "0::/system.slice/nerdctl-" + kId + ".scope\n", kId},
      {"kubernetes, v1", "5:memory:/kubepods/burstable/" + kPod + "/" + kId + "\n", kId},
      {"kubernetes, containerd",
       "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a1b.slice/"
       "cri-containerd-" +
           kId + ".scope\n",
       kId},
      {"kubernetes, CRI-O",
       "0::/kubepods.slice/kubepods-pod0a1b.slice/crio-" + kId + ".scope/container\n", kId},
      {"kubernetes, CRI-O with cgroupfs", "3:pids:/kubepods/" + kPod + "/crio-" + kId + "\n", kId},
      {"kubernetes, mixed drivers",
       "1:name=systemd:/system.slice/containerd.service/kubepods-burstable-pod0a1b.slice:"
       "cri-containerd:" +
           kId + "\n",
       kId},
      {"a pod without a container known here", "0::/kubepods/besteffort/" + kPod + "/sandbox\n",
       kPod},
      {"a pod's slice",
       "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a1b.slice\n", "pod0a1b"},
      {"podman", "0::/machine.slice/libpod-" + kId + ".scope/container\n", kId},
      {"podman, cgroupfs", "4:cpu:/libpod_parent/libpod-" + kId + "\n", kId},
      {"podman, rootless",
       "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kId + ".scope\n",
       kId + "@/user.slice/user-1000.slice/user@1000.service/user.slice"},
      {"podman, split", "0::/system.slice/web.service/libpod-payload-" + kId + "\n",
       kId + "@/system.slice/web.service"},
      {"podman in a pod",
       "0::/machine.slice/machine-libpod_pod_aa.slice/libpod-" + kId + ".scope\n",
       kId + "@/machine.slice/machine-libpod_pod_aa.slice"},
      {"nspawn, service", "0::/machine.slice/systemd-nspawn@deb12.service/payload/init.scope\n",
       "deb12"},
      {"nspawn, scope", "0::/machine.slice/machine-my\\x2dbox.scope/payload\n", "my-box"},
      {"lxc 4", "0::/lxc.payload.box/init.scope\n", "box"},
      {"lxc 3", "0::/lxc.payload/box/init.scope\n", "box"},
      {"lxc 2", "9:devices:/lxc/box\n", "box"},
      {"a container of a Slurm job",
       "4:cpu:/slurm/uid_1000/job_5/step_0/task_0/docker/" + kId + "\n",
       kId + "@/slurm/uid_1000/job_5/step_0/task_0/docker"},
  };
  for (const Case& c : cases) EXPECT_EQ(container(c.cgroup), c.expected) << c.what;
}

TEST(ContainerOf, TheRestIsTheHost) {
  const std::string cases[] = {
      "",
      "0::/\n",
      "0::/init.scope\n",
      "0::/user.slice/user-1000.slice/session-3.scope\n",
      "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-foo.scope\n",
      "0::/system.slice/sshd.service\n",
      "0::/system.slice/docker.service\n",
      "0::/system.slice/containerd.service\n",
      "0::/system.slice/slurmstepd.scope/job_12/step_0/user/task_1\n",
      "12:cpu,cpuacct:/slurm/uid_1000/job_12/step_batch/task_0\n",
      "0::/user.slice/user-1000.slice/user@1000.service/apptainer-4711.scope\n",
      "0::/machine.slice/libpod-conmon-" + kId + ".scope\n",
      "0::/kubepods-conmon/crio-conmon-" + kId + ".scope\n",
      "0::/lxc.monitor.box\n",
      "0::/machine.slice/systemd-nspawn@deb12.service/supervisor\n",
      "0::/machine.slice/machine-qemu\\x2d1\\x2dvm.scope\n",
      "0::/podracing/podium\n",
      "0::/system.slice/docker-.scope\n",
  };
  for (const std::string& c : cases) EXPECT_EQ(container(c), "") << c;
}

TEST(ContainerOf, NobodyPosesAsAnotherContainerFromWithin) {
  EXPECT_EQ(container("0::/system.slice/docker-" + kId + ".scope/docker-" + kOther + ".scope\n"),
            kId);
  EXPECT_EQ(container("0::/lxc.payload.box/docker/" + kOther + "\n"), "box");
}

// A user session's own tree: any name can be made there, but not the place.
TEST(ContainerOf, NobodyPosesAsAContainerFromADelegatedTree) {
  const std::string own = "/user.slice/user-2001.slice/user@2001.service";
  const std::string real = container("0::/system.slice/docker-" + kId + ".scope\n");
  EXPECT_EQ(real, kId);
  EXPECT_NE(container("0::" + own + "/docker-" + kId + ".scope\n"), real);
  EXPECT_NE(container("0::" + own + "/kubepods/besteffort/" + kPod + "\n"),
            container("0::/kubepods/besteffort/" + kPod + "\n"));
  EXPECT_NE(container("0::" + own + "/machine-deb12.scope\n"),
            container("0::/machine.slice/machine-deb12.scope\n"));
  EXPECT_NE(
      container("0::" + own + "/docker-" + kId + ".scope\n"),
      container("0::/user.slice/user-2002.slice/user@2002.service/docker-" + kId + ".scope\n"));
}

TEST(MayReach, OwnTenantOnly) {
  const Caller user = caller(Uid{1000}, "", false);
  EXPECT_TRUE(may_reach(user, {Uid{1000}, ""}));
  EXPECT_FALSE(may_reach(user, {Uid{1001}, ""}));
  EXPECT_FALSE(may_reach(user, {Uid{1000}, "c"}));
  EXPECT_FALSE(may_reach(user, {Uid{0}, ""}));
  const Caller inside = caller(kRootUid, "c", false);
  EXPECT_TRUE(may_reach(inside, {Uid{0}, "c"}));
  EXPECT_FALSE(may_reach(inside, {Uid{0}, ""}));
  EXPECT_FALSE(may_reach(inside, {Uid{0}, "d"}));
  EXPECT_FALSE(may_reach(inside, {Uid{1000}, "c"}));
}

TEST(MayReach, RootOfTheHostReachesAllAndNobodyReachesNobody) {
  const Caller root = caller(kRootUid, "", true);
  EXPECT_TRUE(may_reach(root, {Uid{1000}, "c"}));
  EXPECT_TRUE(may_reach(root, {kOverflowUid, ""}));
  const Caller overflow = caller(kOverflowUid, "", false);
  EXPECT_FALSE(may_reach(overflow, {kOverflowUid, ""}));
}

}  // namespace
}  // namespace dynolog
