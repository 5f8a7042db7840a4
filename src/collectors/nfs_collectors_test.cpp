// Collectors of NFS: names and units, mounts that come and go, one export at two places.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/collector_fixture.h"
#include "collectors/mountstats.h"
#include "collectors/nfs.h"

namespace dynolog {
namespace {

TEST(Nfs, ClientOfOldAndNewKernels) {
  const ProcTree tree;
  tree.write(
      "net/rpc/nfs",
      "net 18628 0 18628 6\nrpc 4329785 4 4338291\n"
      "proc2 18 2 69 0 0 4410 0 0 0 0 0 0 0 0 0 0 0 99 2\n"
      "proc3 22 1 4084749 29200 94754 32580 186 47747 7981 8639 0 6356 0 6962 0 7958 0 0 "
      "241 4 4 2 39\n"
      "proc4 61 1 98 51 54 83 85 23 24 1 28 73 68 83 12 84 39 68 59 58 88 29 74 69 96 21 84 "
      "15 53 86 54 66 56 97 36 49 32 85 81 11 58 32 67 13 28 35 90 1 26 0 7 8 0 9 10 0 0 0 0 "
      "0 5 6\n");
  Ticks ticks(make_nfs_collector(tree.root()));
  auto values = ticks.tick();
  EXPECT_EQ(values.at("nfs.packets tcp"), 18628);
  EXPECT_EQ(values.at("nfs.connections"), 6);
  EXPECT_EQ(values.at("nfs.rpc_retransmissions"), 4);
  EXPECT_EQ(values.at("nfs.requests 2 Null"), 2);
  EXPECT_EQ(values.at("nfs.requests 3 Commit"), 39);
  EXPECT_EQ(values.at("nfs.requests 4 Read"), 98);
  EXPECT_EQ(values.at("nfs.requests 4 Clone"), 0);
  EXPECT_EQ(
      std::ranges::count_if(
          values, [](const auto& value) { return value.first.starts_with("nfs.requests 4"); }),
      59)
      << "what is newer than the names has none";
  tree.remove("proc/net/rpc/nfs");
  Ticks none(make_nfs_collector(tree.root()));
  EXPECT_TRUE(none.tick().empty());
  EXPECT_EQ(none.status().error().kind, ErrorKind::not_found);
}

TEST(Nfsd, Server) {
  const ProcTree tree;
  tree.write(
      "net/rpc/nfsd",
      "rc 0 6 18622\nfh 5 0 0 0 0\nio 157286400 72864\nth 8 0 0.000 0.000\n"
      "ra 32 0 0 0 0 0 0 0 0 0 0 7\nnet 18628 3 18625 6\nrpc 18628 9 1 2 3\n"
      "proc2 18 2 69 0 0 4410 0 0 0 0 0 0 0 0 0 0 0 99 2\n"
      "proc4 2 2 10853\n"
      "proc4ops 40 0 0 0 1098 2 0 0 0 0 8179 5896 0 0 0 0 5900 0 0 2 0 2 0 9609 0 2 150 1272 "
      "0 0 0 1236 0 0 0 0 3 3 0 77 78\n");
  Ticks ticks(make_nfsd_collector(tree.root()));
  const auto values = ticks.tick();
  EXPECT_EQ(values.at("nfsd.reply_cache_nocache"), 18622);
  EXPECT_EQ(values.at("nfsd.file_handles_stale"), 5);
  EXPECT_EQ(values.at("nfsd.disk_bytes_read"), 157286400);
  EXPECT_EQ(values.at("nfsd.server_threads"), 8);
  EXPECT_EQ(values.at("nfsd.read_ahead_cache_not_found"), 7);
  EXPECT_EQ(values.at("nfsd.packets udp"), 3);
  EXPECT_EQ(values.at("nfsd.rpc_errors fmt"), 1);
  EXPECT_EQ(values.at("nfsd.rpc_errors cInt"), 3);
  EXPECT_EQ(values.at("nfsd.requests 2 GetAttr"), 69);
  EXPECT_FALSE(values.contains("nfsd.requests 2 Null"));
  EXPECT_EQ(values.at("nfsd.requests 4 Access"), 1098);
  EXPECT_EQ(values.at("nfsd.requests 4 Write"), 77);
  EXPECT_EQ(values.at("nfsd.requests 4 RelLockOwner"), 78);
}

std::string mount_text(const std::string& device, const std::string& point,
                       const std::string& read) {
  return "device " + device + " mounted on " + point +
         " with fstype nfs4 statvers=1.1\n"
         "\topts:\trw,vers=4.2,proto=tcp,addr=10.0.0.1\n"
         "\tage:\t13968\n"
         "\tevents:\t52 226 0 0 1 13 398 0 0 331 0 47 0 0 77 0 0 77 88 0 1 2 3 4 5 6 7\n"
         "\tbytes:\t100 200 10 20 300 400 5 6 \n"
         "\txprt:\ttcp 832 0 1 0 11 6428 6427 2 12154 3 24 26 5726\n"
         "\tper-op statistics\n"
         "\t        NULL: 0 0 0 0 0 0 0 0 0\n"
         "\t        READ: " +
         read + "\n\n";
}

TEST(Mountstats, OneMount) {
  const ProcTree tree;
  tree.write("self/mountstats",
             mount_text("srv:/my\\040home", "/h", "8 9 1 2080 12100 6000 79386 80000 2"));
  Ticks ticks(make_mountstats_collector(tree.root()));
  auto values = ticks.tick();
  const std::string mount = " srv:/my home tcp 10.0.0.1";
  EXPECT_EQ(values.at("nfs_mount.mountpoint" + mount + " /h"), 1);
  EXPECT_EQ(values.at("nfs_mount.age" + mount), 13968);
  EXPECT_EQ(values.at("nfs_mount.io" + mount + " total_read"), 300);
  EXPECT_EQ(values.at("nfs_mount.pages" + mount + " write"), 6);
  EXPECT_EQ(values.at("nfs_mount.events" + mount + " pnfs_write"), 7);
  EXPECT_EQ(values.at("nfs_mount.events" + mount + " vfs_file_release"), 77);
  EXPECT_EQ(values.at("nfs_mount.operation.transmissions" + mount + " READ"), 9);
  EXPECT_DOUBLE_EQ(values.at("nfs_mount.operation.queue_time" + mount + " READ"), 6);
  EXPECT_DOUBLE_EQ(values.at("nfs_mount.operation.response_time" + mount + " READ"), 79.386);
  EXPECT_EQ(values.at("nfs_mount.operation.errors" + mount + " READ"), 2);
  EXPECT_FALSE(values.contains("nfs_mount.operation.requests" + mount + " NULL"));
  EXPECT_EQ(values.at("nfs_mount.transport.idle_time" + mount + " 0"), 11);
  EXPECT_EQ(values.at("nfs_mount.transport.bad_transaction_ids" + mount + " 0"), 2);
  EXPECT_EQ(values.at("nfs_mount.transport.pending_queue" + mount + " 0"), 5726);
  tree.write("self/mountstats", "device proc mounted on /proc with fstype proc\n");
  EXPECT_TRUE(ticks.tick().empty());
  EXPECT_TRUE(ticks.status());
}

TEST(Mountstats, AnExportAtTwoPlacesCountsOnce) {
  const ProcTree tree;
  const std::string a = mount_text("srv:/x", "/a", "8 9 1 2 3 4 5 6");
  const std::string b = mount_text("srv:/x", "/b", "8 9 1 2 3 4 5 6");
  tree.write("self/mountstats", a + b);
  Ticks ticks(make_mountstats_collector(tree.root()));
  const auto both = ticks.tick();
  tree.write("self/mountstats", b);  // the first one is gone, and the series are the same
  const auto one = ticks.tick();
  EXPECT_EQ(both.size(), one.size() + 1);
  EXPECT_TRUE(both.contains("nfs_mount.mountpoint srv:/x tcp 10.0.0.1 /a"));
  EXPECT_FALSE(one.contains("nfs_mount.mountpoint srv:/x tcp 10.0.0.1 /a"));
  EXPECT_TRUE(one.contains("nfs_mount.operation.requests srv:/x tcp 10.0.0.1 READ"));
}

}  // namespace
}  // namespace dynolog
