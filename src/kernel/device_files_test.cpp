// Parsers of what devices say of themselves: sensors' names, software RAID, UDP queues, attributes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernel/hwmon_names.h"
#include "kernel/mdstat.h"
#include "kernel/udp_sockets.h"

namespace dynolog {
namespace {

TEST(HwmonNames, FilesOfSensors) {
  const auto crit = parse_hwmon_file("temp12_crit_alarm");
  ASSERT_TRUE(crit);
  EXPECT_EQ(crit->type, "temp");
  EXPECT_EQ(crit->number, 12U);
  EXPECT_EQ(crit->element, "crit_alarm");
  EXPECT_EQ(sensor_name(*crit), "temp12");
  const auto pwm = parse_hwmon_file("pwm1");
  ASSERT_TRUE(pwm);
  EXPECT_EQ(pwm->element, "");
  const auto beep = parse_hwmon_file("beep_enable");
  ASSERT_TRUE(beep);
  EXPECT_EQ(sensor_name(*beep), "beep_enable0");
}

TEST(HwmonNames, OtherFilesOfTheDirectory) {
  for (const char* name : {"name", "device", "uevent", "power", "subsystem", "temp1x", "temp1_", "",
                           "1_input", "_input", "temp99999999999_input", "power_state"}) {
    EXPECT_FALSE(parse_hwmon_file(name)) << name;
  }
}

TEST(HwmonNames, ChipsAreCleaned) {
  EXPECT_EQ(clean_hwmon_name("0000:01:00.0"), "0000:01:00_0");
  EXPECT_EQ(clean_hwmon_name("  NCT 6798/b\n"), "nct_6798_b");
  EXPECT_EQ(clean_hwmon_name("..."), "");
}

std::vector<MdArray> arrays_of(std::string_view text) {
  std::vector<MdArray> arrays;
  parse_mdstat(text, arrays);
  return arrays;
}

TEST(Mdstat, AMirrorWithABitmap) {
  const auto arrays = arrays_of(
      "Personalities : [raid1] [raid0]\n"
      "md0 : active (auto-read-only) raid1 nvme1n1p2[1] nvme0n1p2[0]\n"
      "      3750606336 blocks super 1.2 [2/2] [UU]\n"
      "      bitmap: 3/28 pages [12KB], 65536KB chunk\n\n"
      "unused devices: <none>\n");
  ASSERT_EQ(arrays.size(), 1U);
  EXPECT_EQ(arrays[0].name, "md0");
  EXPECT_EQ(arrays[0].activity, MdActivity::active);
  EXPECT_EQ(arrays[0].disks_active, 2U);
  EXPECT_EQ(arrays[0].disks_required, 2U);
  EXPECT_EQ(arrays[0].blocks, 3750606336U);
  EXPECT_EQ(arrays[0].blocks_synced, 3750606336U);
}

TEST(Mdstat, ADiskIsReplaced) {
  const auto arrays = arrays_of(
      "md5 : active raid6 sdf1[4](S) sde1[3](F) sdd1[2] sdc1[1] sdb1[0]\n"
      "      5860144128 blocks super 1.2 level 6, 64k chunk, algorithm 2 [4/3] [UUU_]\n"
      "      [==>....]  recovery = 13.3% (389716992/2930072064) finish=185.1min speed=22K/sec\n");
  ASSERT_EQ(arrays.size(), 1U);
  EXPECT_EQ(arrays[0].activity, MdActivity::recovering);
  EXPECT_EQ(arrays[0].disks_active, 3U);
  EXPECT_EQ(arrays[0].disks_required, 4U);
  EXPECT_EQ(arrays[0].disks_failed, 1U);
  EXPECT_EQ(arrays[0].disks_spare, 1U);
  EXPECT_EQ(arrays[0].blocks_synced, 389716992U);
}

TEST(Mdstat, WithoutRedundancyWaitingAndNotRunning) {
  const auto arrays = arrays_of(
      "md1 : active raid0 nvme3n1[1] nvme2n1[0]\n      7501212672 blocks super 1.2 512k chunks\n\n"
      "md6 : active raid1 sdh1[1] sdg1[0]\n      1953381376 blocks super 1.2 [2/2] [UU]\n"
      "      \tresync=PENDING\n\n"
      "md9 : inactive sdk1[0](S)\n      1465136512 blocks super 1.2\n\n"
      "md7 : active raid10 sda[0] sdb[1]\n      100 blocks [2/2] [UU]\n      [=>] check = 5.0% "
      "(5/100) finish=1.0min speed=1K/sec\n");
  ASSERT_EQ(arrays.size(), 4U);
  EXPECT_EQ(arrays[0].disks_active, 2U);
  EXPECT_EQ(arrays[0].disks_required, 2U);
  EXPECT_EQ(arrays[1].activity, MdActivity::resync);
  EXPECT_EQ(arrays[1].blocks_synced, 0U);
  EXPECT_EQ(arrays[2].activity, MdActivity::inactive);
  EXPECT_EQ(arrays[2].disks_active, 0U);
  EXPECT_EQ(arrays[2].blocks_synced, 1465136512U);
  EXPECT_EQ(arrays[3].activity, MdActivity::check);
  EXPECT_EQ(arrays[3].blocks_synced, 5U);
}

TEST(Mdstat, WhatIsNoArrayIsPassedOver) {
  EXPECT_TRUE(arrays_of("").empty());
  EXPECT_TRUE(arrays_of("Personalities : \nunused devices: <none>\n").empty());
  EXPECT_TRUE(arrays_of("      3 blocks [2/2]\nmd0\nmd0 :\nmd0 = active raid1\n").empty());
}

TEST(UdpSockets, QueuesAreSummedUp) {
  const UdpQueues queues = sum_udp_queues(
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\n"
      "   0: 0A000005:0016 00000000:0000 07 00000015:00000000 00:00000000 00000000     0\n"
      "   1: 0A000005:0017 00000000:0000 07 00000001:0000000f 00:00000000 00000000     0\n"
      "   2: cut 0 0\n");
  EXPECT_EQ(queues.sending, 0x16U);
  EXPECT_EQ(queues.received, 0xFU);
}

}  // namespace
}  // namespace dynolog
