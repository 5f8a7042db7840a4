// Which file stays where Kineto writes, is moved, is brought, or is refused.
#include "daemon/place_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dynolog {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

DirectoryAnswer writable(std::string id) {
  DirectoryAnswer answer;
  answer.usable = true;
  answer.directory_id = std::move(id);
  answer.free_bytes = 1ULL << 40U;
  return answer;
}

DirectoryAnswer problem(std::string sentence, std::string id = "") {
  DirectoryAnswer answer;
  answer.problem = std::move(sentence);
  answer.directory_id = std::move(id);
  return answer;
}

DirectoryAnswer unknown(std::string sentence) {
  DirectoryAnswer answer = problem(std::move(sentence));
  answer.unknown = true;
  return answer;
}

TracePlace asked() {
  TracePlace place;
  place.target = "/home/a b/t.json";
  place.file = "/tmp/dynolog-1_7.json";
  return place;
}

TracePlace brought() {
  TracePlace place;
  place.file = "/tmp/dynolog-1_7.json";
  return place;
}

TracePlace in_place() {
  TracePlace place;
  place.target = "/data/t_7.json";
  place.file = "/data/t_7.json";
  place.in_place = true;
  return place;
}

PreparedPlaces both(DirectoryAnswer file, DirectoryAnswer target, bool one_file_system = true) {
  return {.file = std::move(file), .target = std::move(target), .one_file_system = one_file_system};
}

TEST(PlaceChoice, AUsableDirectoryIsTakenAsItIs) {
  const auto choice = choose_place({}, asked(), both(writable("1:2"), writable("1:3")));
  EXPECT_EQ(choice.verdict, PlaceVerdict::good);
  EXPECT_THAT(choice.notes, IsEmpty());
  EXPECT_EQ(claimed_file(asked(), both(writable("1:2"), writable("1:3"))), "1:3/t.json");
}

TEST(PlaceChoice, SaysWhatTheCopyCostsAndWhatIsReplaced) {
  DirectoryAnswer staging = writable("1:2");
  staging.in_memory = true;
  DirectoryAnswer end = writable("2:2");
  end.free_bytes = 3U << 20U;
  end.file_exists = true;
  const auto choice = choose_place({}, asked(), both(staging, end, false));
  EXPECT_EQ(choice.verdict, PlaceVerdict::good);
  EXPECT_THAT(choice.notes,
              ElementsAre("only 3 MiB are free in /home/a b", HasSubstr("is copied afterwards"),
                          HasSubstr("/tmp is in memory"), HasSubstr("will be replaced")));
}

TEST(PlaceChoice, ATargetInMemoryIsSaidWhetherTheFileIsCopiedOrRenamed) {
  DirectoryAnswer staging = writable("1:2");
  DirectoryAnswer end = writable("2:2");
  end.in_memory = true;
  const std::string note =
      "/home/a b is in memory (tmpfs): the trace takes memory for as long as it lies there";
  EXPECT_THAT(choose_place({}, asked(), both(staging, end, false)).notes,
              ElementsAre(HasSubstr("is copied afterwards"), note));
  staging.in_memory = true;
  EXPECT_THAT(choose_place({}, asked(), both(staging, end, true)).notes, ElementsAre(note))
      << "renamed, it goes on to take memory: not only until then";
}

TEST(PlaceChoice, ALittleRoomWhereKinetoWritesIsSaid) {
  DirectoryAnswer staging = writable("1:2");
  staging.free_bytes = 1U << 20U;
  const auto choice = choose_place({}, brought(), both(staging, {}));
  EXPECT_EQ(choice.verdict, PlaceVerdict::good);
  EXPECT_THAT(choice.notes, ElementsAre("only 1 MiB are free in /tmp"));
}

TEST(PlaceChoice, AMissingDirectoryIsRefusedWhereItIsNotBrought) {
  const auto prepared = both(writable("1:2"), problem("no such directory"));
  EXPECT_EQ(choose_place({}, asked(), prepared).verdict, PlaceVerdict::refused);
  EXPECT_EQ(
      choose_place({.bring = Bring::other_view, .caller_directory = ""}, asked(), prepared).verdict,
      PlaceVerdict::refused);
  const auto staging = choose_place({}, asked(), both(problem("read-only"), writable("1:3")));
  EXPECT_EQ(staging.verdict, PlaceVerdict::refused);
  EXPECT_EQ(staging.why, "read-only");
}

TEST(PlaceChoice, AnotherDirectoryOfThatNameIsNotTheCallers) {
  const PlaceWishes wishes{.bring = Bring::other_view, .caller_directory = "9:9"};
  const auto other = choose_place(wishes, asked(), both(writable("1:2"), writable("1:3")));
  EXPECT_EQ(other.verdict, PlaceVerdict::bring);
  EXPECT_THAT(other.why, HasSubstr("sees another /home/a b than you"));
  const auto none = choose_place(wishes, asked(), both(writable("1:2"), problem("no such")));
  EXPECT_EQ(none.verdict, PlaceVerdict::bring);
  EXPECT_THAT(none.why, HasSubstr("does not see your /home/a b"));
  const auto same = choose_place(wishes, asked(), both(writable("1:2"), writable("9:9")));
  EXPECT_EQ(same.verdict, PlaceVerdict::good);
  PlaceWishes never = wishes;
  never.bring = Bring::never;
  EXPECT_EQ(choose_place(never, asked(), both(writable("1:2"), writable("1:3"))).verdict,
            PlaceVerdict::good);
}

TEST(PlaceChoice, WhatTheOwnerCannotWriteIsBroughtOnlyWhereThatIsAskedFor) {
  const auto prepared = both(writable("1:2"), problem("not writable for user a", "9:9"));
  const auto other =
      choose_place({.bring = Bring::other_view, .caller_directory = "9:9"}, asked(), prepared);
  EXPECT_EQ(other.verdict, PlaceVerdict::refused);
  EXPECT_EQ(other.why, "not writable for user a");
  for (const char* directory : {"9:9", ""}) {
    const auto needed =
        choose_place({.bring = Bring::needed, .caller_directory = directory}, asked(), prepared);
    EXPECT_EQ(needed.verdict, PlaceVerdict::bring);
    EXPECT_THAT(needed.why, HasSubstr("not writable for user a"));
  }
}

TEST(PlaceChoice, WhereNobodyCanLookKinetoWritesByItself) {
  for (const auto& prepared :
       {both(writable("1:2"), unknown("Kerberos?")), both(unknown("Kerberos?"), writable("1:3"))}) {
    const auto choice = choose_place({}, asked(), prepared);
    EXPECT_EQ(choice.verdict, PlaceVerdict::by_itself);
    EXPECT_EQ(choice.why, "Kerberos?");
  }
  EXPECT_EQ(choose_place({}, in_place(), both(unknown("Kerberos?"), {})).verdict,
            PlaceVerdict::by_itself);
}

// Nobody could fetch it, and there is no path that was asked for.
TEST(PlaceChoice, WhatIsAlwaysBroughtNeedsAPlaceToWaitIn) {
  const PlaceWishes always{.bring = Bring::always, .caller_directory = ""};
  for (const auto& answer : {unknown("no rights"), problem("no rights")}) {
    const auto choice = choose_place(always, brought(), both(answer, {}));
    EXPECT_EQ(choice.verdict, PlaceVerdict::refused);
    EXPECT_THAT(choice.why, HasSubstr("no rights"));
    EXPECT_THAT(choice.why, HasSubstr("--log-file"));
  }
  const PlaceWishes needed{.bring = Bring::needed, .caller_directory = ""};
  EXPECT_EQ(choose_place(needed, brought(), both(unknown("no rights"), {})).verdict,
            PlaceVerdict::by_itself);
  EXPECT_EQ(choose_place(always, brought(), both(writable("1:2"), {})).verdict, PlaceVerdict::good);
  EXPECT_EQ(claimed_file(brought(), both(writable("1:2"), {})), "");
}

TEST(PlaceChoice, AnExistingClientsOwnPathIsJudgedAloneByItsDirectory) {
  DirectoryAnswer there = writable("1:2");
  there.file_exists = true;
  const auto good = choose_place({}, in_place(), both(there, {}));
  EXPECT_EQ(good.verdict, PlaceVerdict::good);
  EXPECT_THAT(good.notes, ElementsAre(HasSubstr("will be replaced")));
  EXPECT_EQ(choose_place({}, in_place(), both(problem("no such"), {})).verdict,
            PlaceVerdict::refused);
  EXPECT_EQ(claimed_file(in_place(), both(there, {})), "1:2/t_7.json");
}

TEST(PlaceChoice, AWorkerIsToldWhatWasNamedOfATargetThatItBringsTo) {
  TracePlace place = asked();
  place.named = "/home/a b/t";
  EXPECT_EQ(places_of(place).named, "/home/a b/t");
  place.in_place = true;
  EXPECT_EQ(places_of(place).named, "") << "an existing client's path is what it says";
}

TEST(PlaceWishes, NoDirectoryIsMadeBesideTheCallersOwn) {
  PlaceWishes wishes{
      .bring = Bring::other_view, .caller_directory = "1:1", .make_directories = true};
  EXPECT_FALSE(wishes.may_make_directories());
  wishes.caller_directory = "";
  EXPECT_TRUE(wishes.may_make_directories());
  wishes = {.bring = Bring::never, .caller_directory = "1:1", .make_directories = true};
  EXPECT_TRUE(wishes.may_make_directories());
  wishes.make_directories = false;
  EXPECT_FALSE(wishes.may_make_directories());
}

TEST(Bring, IsReadByItsName) {
  EXPECT_EQ(bring_from("never"), Bring::never);
  EXPECT_EQ(bring_from("other_view"), Bring::other_view);
  EXPECT_EQ(bring_from("needed"), Bring::needed);
  EXPECT_EQ(bring_from("always"), Bring::always);
  EXPECT_FALSE(bring_from("sometimes"));
}

}  // namespace
}  // namespace dynolog
