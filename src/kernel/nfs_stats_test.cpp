// What NFS counts: lines as kernels print them, older and newer ones, and nonsense.
#include "kernel/nfs_stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace dynolog {
namespace {

constexpr std::string_view kMountstats =
    "device rootfs mounted on / with fstype rootfs\n"
    "device srv:/home mounted on /ho\\040me with fstype nfs4 statvers=1.1\n"
    "\topts:\trw,vers=4.2,rsize=1048576,proto=tcp,clientaddr=10.0.0.9,addr=10.0.0.1\n"
    "\tage:\t13968\n"
    "\timpl_id:\tname='',domain='',date='0,0'\n"
    "\tevents:\t52 226 0 0 1 13 398 0 0 331 0 47 0 0 77 0 0 77 0 0 1 2 3 4 5 6 7\n"
    "\tbytes:\t100 200 10 20 300 400 5 6 \n"
    "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
    "\txprt:\ttcp 832 0 1 0 11 6428 6427 2 12154 3 24 26 5726\n"
    "\txprt:\ttcp 833 0 1 0 12 1 1 0 1 0 2 3 4\n"
    "\tper-op statistics\n"
    "\t        NULL: 0 0 0 0 0 0 0 0 0\n"
    "\t        READ: 1298 1299 1 207680 1210292152 6 79386 79407 2\n"
    "\t       WRITE: 9 9 0 1 2 3 4 5\n"
    "\t       BROKEN: 9 9\n"
    "\n"
    "device srv:/idle mounted on /idle with fstype nfs statvers=1.1\n"
    "\topts:\trw\n"
    "device sysfs mounted on /sys with fstype sysfs\n";

TEST(NfsStats, AMountWithAllItCounts) {
  std::vector<NfsMount> mounts;
  for_each_nfs_mount(kMountstats, [&](const NfsMount& mount) { mounts.push_back(mount); });
  ASSERT_EQ(mounts.size(), 1U) << "one that counted nothing is none, and neither are others";
  const NfsMount& mount = mounts[0];
  EXPECT_EQ(mount.device, "srv:/home");
  EXPECT_EQ(mount.mount_point, "/ho\\040me");
  EXPECT_EQ(mount.address, "10.0.0.1") << "not the client's";
  EXPECT_EQ(mount.age_s, 13968U);
  EXPECT_EQ(mount.events.at(26), 7U);
  EXPECT_EQ(mount.bytes.at(4), 300U);
  ASSERT_EQ(mount.transport_count, 2U);
  EXPECT_EQ(mount.transports[0].protocol, "tcp");
  EXPECT_EQ(mount.transports[0].numbers.at(12), 5726U);
  EXPECT_EQ(mount.transports[0].numbers.at(13), std::nullopt);
  std::map<std::string, std::uint64_t> requests;
  for_each_nfs_operation(mount.operations, [&](std::string_view name, const auto& numbers) {
    requests[std::string(name)] = numbers.values[0];
    if (name == "NULL") return;
    EXPECT_EQ(numbers.at(8).has_value(), name == "READ") << "the other line is an older kernel's";
  });
  EXPECT_EQ(requests,
            (std::map<std::string, std::uint64_t>{{"NULL", 0}, {"READ", 1298}, {"WRITE", 9}}));
}

TEST(NfsStats, LinesOfRpc) {
  std::map<std::string, std::size_t> counts;
  for_each_rpc_line("net 70 70 69 45\nrpc 1218785755 374636 1218815394\n\nodd\nproc4 2 2 x\n",
                    [&](std::string_view name, const auto& numbers) {
                      counts[std::string(name)] = numbers.count;
                    });
  EXPECT_EQ(counts,
            (std::map<std::string, std::size_t>{{"net", 4}, {"rpc", 3}, {"odd", 0}, {"proc4", 2}}));
}

TEST(NfsStats, Nonsense) {
  for (const char* text : {"", "\n", "device", "device \n", "device x mounted on /y\n",
                           "device x mounted on /y with fstype nfs", "\ndevice \ndevice \n"}) {
    for_each_nfs_mount(text, [&](const NfsMount&) { ADD_FAILURE() << text; });
  }
}

}  // namespace
}  // namespace dynolog
