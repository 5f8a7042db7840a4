// Every way to fail has its kind, says where the file still is, and what to do.
#include "artifacts/delivery_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace dynolog {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using End = CopyResult::End;

DeliveryPlaces places(bool compressed = false) {
  return {.from = "/tmp/s.json",
          .directory = "/home/alice",
          .target = "/home/alice/t.json",
          .owner = Uid{1000},
          .total_bytes = 1000,
          .compressed = compressed};
}

TEST(DeliveryError, NoRoomAndNoQuotaAreToldApart) {
  const CopyResult full{.end = End::write_failed, .error = ENOSPC, .read = 600, .written = 500};
  EXPECT_EQ(copy_error(full, places()).kind, ErrorKind::exhausted);
  EXPECT_EQ(copy_error(full, places()).message,
            "no room: 500 of 1000 bytes went into /home/alice; the file is still /tmp/s.json: make "
            "room, or choose another directory");
  CopyResult over = full;
  over.error = EDQUOT;
  EXPECT_EQ(copy_error(over, places()).kind, ErrorKind::exhausted);
  EXPECT_EQ(copy_error(over, places()).message,
            "over the disk quota of uid 1000: 500 of 1000 bytes went into /home/alice; the file is "
            "still /tmp/s.json: remove something, or choose another directory");
}

TEST(DeliveryError, CompressedBytesAreNotComparedWithPlainOnes) {
  const CopyResult full{.end = End::write_failed, .error = ENOSPC, .read = 600, .written = 50};
  EXPECT_THAT(copy_error(full, places(true)).message,
              HasSubstr("50 bytes, compressed from 600 of 1000, went into /home/alice"));
  EXPECT_THAT(step_error(EDQUOT, 50, places(true)).message,
              HasSubstr("quota of uid 1000: 50 bytes, compressed from 1000 of 1000, went"));
}

TEST(DeliveryError, WhatWasForeseen) {
  const Error error = no_room_error(77, places());
  EXPECT_EQ(error.kind, ErrorKind::exhausted);
  EXPECT_THAT(error.message, AllOf(HasSubstr("0 of 1000 bytes"), HasSubstr("77 are free"),
                                   HasSubstr("still /tmp/s.json")));
}

TEST(DeliveryError, EveryErrnoSaysWhereTheFileIs) {
  struct Case {
    int error;
    ErrorKind kind;
    const char* says;
  };
  for (const Case& given : {Case{EFBIG, ErrorKind::exhausted, "too large for the file system"},
                            Case{EROFS, ErrorKind::denied, "read-only file system"},
                            Case{EACCES, ErrorKind::denied, "uid 1000 may not put"},
                            Case{EPERM, ErrorKind::denied, "Operation not permitted"},
                            Case{ENOENT, ErrorKind::not_found, "was removed meanwhile"},
                            Case{EISDIR, ErrorKind::denied, "is a directory"},
                            Case{EIO, ErrorKind::failed, "Input/output error"},
                            Case{ESTALE, ErrorKind::failed, "could not be written"}}) {
    const Error error = step_error(given.error, 0, places());
    EXPECT_EQ(error.kind, given.kind) << given.says;
    EXPECT_THAT(error.message,
                AllOf(HasSubstr(given.says), HasSubstr("the file is still /tmp/s.json: ")));
  }
}

TEST(DeliveryError, TheSourcesFault) {
  EXPECT_EQ(copy_error({.end = End::cut_short}, places()).kind, ErrorKind::denied);
  const Error unreadable = copy_error({.end = End::read_failed, .error = EIO}, places());
  EXPECT_EQ(unreadable.kind, ErrorKind::failed);
  EXPECT_EQ(unreadable.message, "/tmp/s.json could not be read: Input/output error");
  EXPECT_EQ(copy_error({.end = End::no_memory}, places()).kind, ErrorKind::exhausted);
}

}  // namespace
}  // namespace dynolog
