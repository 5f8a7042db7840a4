// The life of one process's trace: each way through the states, and what must hold on all of them.
#include "profiling/process_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace dynolog {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

const WallTime kWall{seconds(1700000000)};

MonotonicTime at(double s) {
  return MonotonicTime(std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(s)));
}
WallTime wall_at(double s) { return kWall + Nanoseconds(at(s).time_since_epoch()); }

TraceRequest duration_request(double warmup = 0, double window = 0.5) {
  TraceRequest request;
  request.place.target = "/home/t_42.json";
  request.place.log_file = "/tmp/t.json";
  request.place.file = "/tmp/t_42.json";
  request.place.elsewhere = {"/tmp/libkineto_activities_42.json"};
  request.warmup = Nanoseconds(at(warmup).time_since_epoch());
  request.window = Nanoseconds(at(window).time_since_epoch());
  request.start_lead = request.warmup + kStartMargin;
  return request;
}

TraceRequest iteration_request() {
  TraceRequest request = duration_request();
  request.iterations = 30;
  request.start_lead.reset();
  return request;
}

const std::string kFile = "/tmp/t_42.json";

FileCheck good() {
  FileCheck check;
  check.checked = check.whole = check.ours = true;
  check.summary.events = 5800;
  check.summary.file_bytes = 1400000;
  return check;
}

TraceDelivery delivery(TraceDelivery::Location location = TraceDelivery::Location::host,
                       const std::string& path = "/home/t_42.json") {
  return {.location = location, .path = path, .file_id = "1:2", .notes = {}};
}

// Staged at 0 s. hand_over(10) hands over at 10 s, with a start at 11.2 s and the receipt.
class TraceTest : public testing::Test {
 protected:
  void use(TraceRequest request) {
    trace_ = ProcessTrace({Pid{42}, 1}, std::move(request), at(0), {});
  }
  void hand_over(double s, std::optional<double> start) {
    EXPECT_TRUE(trace_.on_handed_over(at(s), wall_at(s),
                                      start ? std::optional(wall_at(*start)) : std::nullopt));
  }
  void fetched(double s, std::optional<double> start) {
    hand_over(s, start);
    EXPECT_TRUE(trace_.on_receipt(at(s)));
    EXPECT_EQ(trace_.state(), TraceState::fetched);
  }
  void expect_end(TraceState state, const std::string& words) const {
    EXPECT_EQ(trace_.state(), state) << to_string(trace_.state());
    EXPECT_THAT(trace_.sentence(), HasSubstr(words));
    EXPECT_FALSE(trace_.next_due().has_value());
    EXPECT_FALSE(trace_.beyond_recall());
  }

  void expect_written(const std::string& words) const {
    EXPECT_EQ(trace_.state(), TraceState::written) << to_string(trace_.state());
    EXPECT_THAT(trace_.sentence(), HasSubstr(words));
    EXPECT_TRUE(trace_.next_due().has_value());
  }
  void written() {
    use(duration_request());
    fetched(10, 11.2);
    EXPECT_TRUE(trace_.on_file(at(13), good(), kFile));
  }

  ProcessTrace trace_{{Pid{42}, 1}, duration_request(), at(0), {}};
};

TEST(TraceStateNames, GoBothWays) {
  for (int i = 0; i <= static_cast<int>(TraceState::timed_out); ++i) {
    const auto state = static_cast<TraceState>(i);
    EXPECT_EQ(trace_state_from(to_string(state)), state);
    EXPECT_EQ(is_end(state), i > static_cast<int>(TraceState::written));
  }
  EXPECT_FALSE(trace_state_from("done").has_value());
  for (const auto location : {TraceDelivery::Location::host, TraceDelivery::Location::caller,
                              TraceDelivery::Location::daemon}) {
    EXPECT_EQ(trace_location_from(to_string(location)), location);
  }
  EXPECT_FALSE(trace_location_from("moon").has_value());
}

TEST_F(TraceTest, TheWholeWayByTheStart) {
  use(duration_request(1));
  EXPECT_EQ(trace_.state(), TraceState::staged);
  EXPECT_FALSE(trace_.beyond_recall());
  EXPECT_EQ(trace_.next_due(), at(30));
  hand_over(10, 12.2);
  EXPECT_EQ(trace_.state(), TraceState::staged);
  EXPECT_TRUE(trace_.beyond_recall());
  EXPECT_TRUE(trace_.on_receipt(at(10.01)));
  EXPECT_EQ(trace_.state(), TraceState::fetched);
  EXPECT_TRUE(trace_.on_temporary_file(at(11.2)));
  EXPECT_EQ(trace_.state(), TraceState::warming_up);
  EXPECT_EQ(trace_.next_due(), at(12.2));
  EXPECT_FALSE(trace_.on_poll(at(12), false));
  EXPECT_TRUE(trace_.on_time(at(12.2)));
  EXPECT_EQ(trace_.state(), TraceState::tracing);
  EXPECT_EQ(trace_.next_due(), at(12.7));
  EXPECT_TRUE(trace_.on_time(at(12.8)));
  EXPECT_EQ(trace_.state(), TraceState::writing);
  EXPECT_FALSE(trace_.on_poll(at(13), false));
  EXPECT_TRUE(trace_.on_file(at(13.5), good(), kFile));
  expect_written("written: 5800 events, 1.4 MB");
  EXPECT_EQ(trace_.written_path(), kFile);
  EXPECT_EQ(trace_.next_due(), at(13.5 + 3600));
  EXPECT_TRUE(trace_.on_delivered(at(14), delivery()));
  expect_end(TraceState::delivered, "delivered: /home/t_42.json (5800 events, 1.4 MB)");
  EXPECT_TRUE(trace_.delivery() == delivery());
}

TEST_F(TraceTest, AFastTraceIsWrittenFromAnyState) {
  hand_over(10, 11.2);
  EXPECT_TRUE(trace_.on_file(at(13), good(), kFile));
  expect_written("written: 5800");
}

TEST_F(TraceTest, BroughtOrKept) {
  written();
  EXPECT_TRUE(trace_.on_delivered(at(14), delivery(TraceDelivery::Location::caller, "/me/t.json")));
  expect_end(TraceState::delivered, "brought to the caller: /me/t.json (5800");
  written();
  EXPECT_TRUE(trace_.on_delivered(at(14), delivery(TraceDelivery::Location::daemon, "")));
  expect_end(TraceState::delivered, "kept by the daemon until somebody fetches it (5800");
}

TEST_F(TraceTest, BroughtAfterItsEnd) {
  fetched(10, 11.2);
  EXPECT_FALSE(trace_.on_late_delivered(at(11), delivery())) << "it is under way";
  EXPECT_TRUE(trace_.on_deadline(at(12)));
  const std::string end = trace_.sentence();
  EXPECT_TRUE(trace_.on_late_file(at(13), good(), kFile));
  TraceDelivery compressed = delivery(TraceDelivery::Location::host, "/home/t_42.json.gz");
  compressed.bytes = 300000;
  EXPECT_TRUE(trace_.on_late_delivered(at(14), compressed));
  EXPECT_EQ(trace_.state(), TraceState::timed_out);
  EXPECT_EQ(trace_.sentence(),
            end + "; since then: delivered: /home/t_42.json.gz (5800 events, 0.3 MB)");
  EXPECT_TRUE(trace_.delivery() == compressed);
  EXPECT_EQ(trace_.check().summary.file_bytes, 300000U) << "of what lies there";
}

TEST_F(TraceTest, KeptAndThenBrought) {
  written();
  EXPECT_FALSE(trace_.on_late_delivered(at(14), delivery())) << "its end is still to come";
  EXPECT_TRUE(trace_.on_delivered(at(14), delivery(TraceDelivery::Location::daemon, "")));
  const TraceDelivery brought = delivery(TraceDelivery::Location::caller, "/me/t.json");
  EXPECT_TRUE(trace_.on_late_delivered(at(15), brought));
  expect_end(TraceState::delivered, "; since then: brought to the caller: /me/t.json (5800");
  EXPECT_TRUE(trace_.delivery() == brought);
}

TEST_F(TraceTest, AFileThatCannotBeBrought) {
  written();
  EXPECT_TRUE(trace_.on_undelivered(at(14), "no room"));
  expect_end(TraceState::undelivered,
             "written, but not brought to /home/t_42.json: no room; the file is /tmp/t_42.json");
  written();
  EXPECT_TRUE(trace_.on_undelivered(at(14), "no room; still at /tmp/t_42.json"));
  EXPECT_EQ(trace_.sentence(),
            "written, but not brought to /home/t_42.json: no room; still at /tmp/t_42.json");
  written();
  EXPECT_TRUE(trace_.on_time(at(13 + 3600)));
  expect_end(TraceState::undelivered, "not done within 60 min; the file is /tmp/t_42.json");
  EXPECT_FALSE(trace_.delivery().has_value());
}

TEST_F(TraceTest, OnceWrittenOnlyItsDeliveryCounts) {
  written();
  const auto record = trace_.record(at(0), kWall);
  EXPECT_FALSE(trace_.on_poll(at(14), false));
  EXPECT_FALSE(trace_.on_poll(at(24), true));
  EXPECT_FALSE(trace_.on_identity_changed(at(25)));
  EXPECT_FALSE(trace_.on_files_unknown(at(25), "the worker died"));
  EXPECT_FALSE(trace_.on_process_end(at(26)));
  EXPECT_FALSE(trace_.on_cancel(at(27), false));
  EXPECT_FALSE(trace_.on_temporary_file(at(28)));
  EXPECT_FALSE(trace_.on_renamed(at(28)));
  EXPECT_FALSE(trace_.on_file(at(28), good(), "/tmp/other.json"));
  EXPECT_FALSE(trace_.on_time(at(700)));
  EXPECT_TRUE(trace_.record(at(0), kWall) == record);
  EXPECT_FALSE(trace_.may_still_write());
  EXPECT_TRUE(trace_.on_delivered(at(800), delivery()));
  EXPECT_FALSE(trace_.on_undelivered(at(801), "too late"));
}

TEST_F(TraceTest, DeliveryIsOfAWrittenFile) {
  fetched(10, 11.2);
  EXPECT_FALSE(trace_.on_delivered(at(11), delivery()));
  EXPECT_FALSE(trace_.on_undelivered(at(11), "why"));
  EXPECT_EQ(trace_.state(), TraceState::fetched);
}

TEST_F(TraceTest, TheTimesOfTheRecordBesideTheFile) {
  EXPECT_FALSE(trace_.times(at(1), wall_at(1)).start.has_value());
  written();
  // The wall clock was set in between: the start is told as it was asked for.
  const auto times = trace_.times(at(20), wall_at(25));
  EXPECT_EQ(times.handed_over, wall_at(10));
  EXPECT_EQ(times.start, wall_at(11.2));
  EXPECT_EQ(times.written, wall_at(18));
}

TEST_F(TraceTest, AFileThatIsWrongIsWrittenWithAProblem) {
  struct Case {
    bool checked, whole, ours;
    const char* problem;
  };
  for (const Case& c : {Case{true, false, true, "not whole"}, Case{true, false, false, "not whole"},
                        Case{false, false, false, "nobody could read it"}}) {
    use(duration_request());
    fetched(10, 11.2);
    FileCheck check = good();
    check.checked = c.checked;
    check.whole = c.whole;
    check.ours = c.ours;
    EXPECT_TRUE(trace_.on_file(at(13), check, kFile));
    expect_written(c.problem);
    EXPECT_THAT(trace_.check().problem, HasSubstr(c.problem));
    trace_.on_delivered(at(14), delivery());
    expect_end(TraceState::delivered, c.problem);
  }
}

TEST_F(TraceTest, AFileThatIsNotOursIsLeftAlone) {
  struct Case {
    bool whole;
    const char* path;
  };
  // One that is cut off may have lost its id: it is ours only under the name that is ours alone.
  for (const Case& c :
       {Case{true, "/tmp/t_42.json"}, Case{true, "/tmp/libkineto_activities_42.json"},
        Case{false, "/tmp/libkineto_activities_42.json"}}) {
    use(duration_request());
    fetched(10, 11.2);
    FileCheck check = good();
    check.ours = false;
    check.whole = c.whole;
    EXPECT_TRUE(trace_.on_file(at(13), check, c.path));
    expect_end(TraceState::undelivered, "left where it is: " + std::string(c.path));
    EXPECT_FALSE(trace_.may_still_write());
  }
}

TEST_F(TraceTest, BusyBeforeTheHandOver) {
  EXPECT_TRUE(trace_.on_poll_busy_before_hand_over(at(3)));
  expect_end(TraceState::busy, "torch.profiler");
}

TEST_F(TraceTest, AStagedRequestExpires) {
  EXPECT_FALSE(trace_.on_time(at(29.9)));
  EXPECT_TRUE(trace_.on_time(at(30)));
  expect_end(TraceState::timed_out, "within 30 s");
}

TEST_F(TraceTest, AChangedIdentityAndARefusalAreNotHandedOver) {
  EXPECT_TRUE(trace_.on_identity_changed(at(1)));
  expect_end(TraceState::rejected, "user or start time");
  use(duration_request());
  EXPECT_TRUE(trace_.on_refused(at(1), "the text is too large"));
  expect_end(TraceState::rejected, "too large");
}

TEST_F(TraceTest, RejectedWithAOneSecondPoll) {
  fetched(10, 11.2);
  EXPECT_FALSE(trace_.on_poll(at(11), true));
  EXPECT_FALSE(trace_.on_poll(at(12), true));
  EXPECT_FALSE(trace_.on_poll(at(13), true));
  EXPECT_EQ(trace_.next_due(), at(14));  // the news of a file may be under way
  EXPECT_TRUE(trace_.on_time(at(14)));
  expect_end(TraceState::rejected, "no trace file appeared by 2023-11-14T22:13:34.000Z");
}

TEST_F(TraceTest, NotRejectedBeforeItShouldHaveBegun) {
  fetched(10, 13.6);
  EXPECT_FALSE(trace_.on_poll(at(13.5), true));
  EXPECT_FALSE(trace_.on_poll(at(14.6), true));
  EXPECT_EQ(trace_.next_due(), at(15.6));  // start - warm-up + 2 s, and the news until then
  use(duration_request());
  fetched(10, 13.9);
  EXPECT_FALSE(trace_.on_poll(at(13.9), true));
  EXPECT_FALSE(trace_.on_poll(at(14.9), true));
  EXPECT_FALSE(trace_.on_poll(at(15.8), true));
  EXPECT_EQ(trace_.next_due(), at(15.9)) << "later polls put nothing off";
}

// After a SIGSTOP of the daemon all that waited comes at once, in no order.
TEST_F(TraceTest, PollsThatOvertakeTheNewsOfTheFile) {
  fetched(10, 11.2);
  EXPECT_FALSE(trace_.on_poll(at(11), true));
  EXPECT_FALSE(trace_.on_poll(at(25), true));
  EXPECT_FALSE(trace_.on_poll(at(25.9), true));
  EXPECT_EQ(trace_.next_due(), at(26)) << "later polls put nothing off";
  EXPECT_TRUE(trace_.on_renamed(at(25.9)));
  EXPECT_TRUE(trace_.on_file(at(27), good(), kFile));
  expect_written("written");
}

TEST_F(TraceTest, ATimerThatOvertakesTheNewsOfTheFile) {
  fetched(10, 11.2);
  for (const int s : {11, 12, 13}) EXPECT_FALSE(trace_.on_poll(at(s), true));
  EXPECT_FALSE(trace_.on_time(at(25))) << "it was to come at 14 s";
  EXPECT_EQ(trace_.next_due(), at(26));
  EXPECT_FALSE(trace_.on_time(at(60))) << "stopped again";
  EXPECT_EQ(trace_.next_due(), at(61));
  ProcessTrace begun = trace_;
  EXPECT_TRUE(begun.on_temporary_file(at(60.5)));
  EXPECT_EQ(begun.state(), TraceState::writing);
  EXPECT_TRUE(trace_.on_time(at(61)));
  expect_end(TraceState::rejected, "no trace file appeared by 2023-11-14T22:14:21.000Z");
}

TEST_F(TraceTest, WhatFellDueDuringAStopWaitsForTheNews) {
  hand_over(10, 11.2);
  EXPECT_FALSE(trace_.on_time(at(60))) << "not read";
  EXPECT_TRUE(trace_.on_receipt(at(60.1)));
  use(duration_request());
  fetched(10, 11.2);
  EXPECT_TRUE(trace_.on_poll(at(11), false));
  EXPECT_TRUE(trace_.on_time(at(60))) << "busy, and no file";
  EXPECT_EQ(trace_.state(), TraceState::writing);
  EXPECT_TRUE(trace_.on_file(at(60.1), good(), kFile));
  use(duration_request());
  fetched(10, 11.2);
  EXPECT_TRUE(trace_.on_temporary_file(at(11)));
  EXPECT_FALSE(trace_.on_process_end(at(12)));
  EXPECT_FALSE(trace_.on_time(at(60))) << "lost";
  EXPECT_TRUE(trace_.on_file(at(60.1), good(), kFile));
}

TEST_F(TraceTest, RejectedOnlyAfterTwoIdlePollsWhereTheyAreSlow) {
  fetched(10, 11.2);
  EXPECT_FALSE(trace_.on_time(at(13.2)));
  EXPECT_FALSE(trace_.on_poll(at(15), true));
  EXPECT_FALSE(trace_.on_time(at(16)));
  EXPECT_FALSE(trace_.on_poll(at(20), true));
  EXPECT_TRUE(trace_.on_time(at(21)));
  expect_end(TraceState::rejected, "not accepted");
}

TEST_F(TraceTest, AFarStartIsNotRejectedEarly) {
  fetched(10, 60);
  for (int s = 11; s < 59; ++s) EXPECT_FALSE(trace_.on_poll(at(s), true)) << s;
  EXPECT_TRUE(trace_.on_temporary_file(at(59.5)));
  EXPECT_EQ(trace_.state(), TraceState::warming_up);
}

TEST_F(TraceTest, ThePollThatFetchedItIsNotALaterOne) {
  fetched(10, 11.2);
  EXPECT_FALSE(trace_.on_poll(at(10), true));
  EXPECT_FALSE(trace_.on_poll(at(10.1), false));
  EXPECT_EQ(trace_.state(), TraceState::fetched);
}

TEST_F(TraceTest, SomebodyElsesTraceBeforeOursIsDue) {
  fetched(10, 60);
  EXPECT_FALSE(trace_.on_poll(at(20), false));
  EXPECT_EQ(trace_.state(), TraceState::fetched);
  EXPECT_TRUE(trace_.on_poll(at(59), false));
  EXPECT_EQ(trace_.state(), TraceState::warming_up);
}

TEST_F(TraceTest, AnOldTextsStartIsReckonedFromTheReceipt) {
  TraceRequest request = duration_request(5);
  request.start_lead.reset();
  use(request);
  hand_over(10, std::nullopt);
  EXPECT_TRUE(trace_.on_receipt(at(11)));
  EXPECT_TRUE(trace_.on_temporary_file(at(13)));
  EXPECT_EQ(trace_.next_due(), at(18));  // 11 + 5 + 2
}

TEST_F(TraceTest, AOneBehindClientReadsLater) {
  hand_over(10, 11.2);
  EXPECT_FALSE(trace_.on_not_read(at(15)));
  EXPECT_THAT(trace_.sentence(), HasSubstr("not read in time"));
  EXPECT_FALSE(trace_.on_poll(at(15), true));
  EXPECT_TRUE(trace_.on_receipt(at(20)));
  EXPECT_FALSE(trace_.on_poll(at(20.5), true));
  EXPECT_FALSE(trace_.on_poll(at(25), true));  // its start had passed by then
  EXPECT_TRUE(trace_.on_time(at(26)));
  expect_end(TraceState::rejected,
             "it read the request after its start, and needs 1.2 s; ask again");
}

TEST_F(TraceTest, TooLittleLeadIsNamed) {
  TraceRequest request = duration_request(5);
  request.asked_start = wall_at(13);
  use(request);
  fetched(10, 13);
  trace_.on_poll(at(11), true);
  trace_.on_poll(at(12), true);
  EXPECT_TRUE(trace_.on_time(at(13)));
  expect_end(TraceState::rejected,
             "it read the request 3.0 s before its start, and needs 6.2 s; ask for a later start "
             "or a shorter warm-up");
}

TEST_F(TraceTest, NeverReadIsRejectedToo) {
  hand_over(10, 11.2);
  EXPECT_EQ(trace_.next_due(), at(40));
  EXPECT_TRUE(trace_.on_time(at(40)));
  expect_end(TraceState::rejected, "not read");
}

TEST_F(TraceTest, PreEmptedInTheWarmUp) {
  use(duration_request(5));
  fetched(10, 16.2);
  EXPECT_TRUE(trace_.on_temporary_file(at(11.2)));
  EXPECT_FALSE(trace_.on_poll(at(11.3), true));  // was under way before the first sign
  EXPECT_FALSE(trace_.on_poll(at(12), false));
  EXPECT_TRUE(trace_.on_poll(at(14), true));
  expect_end(TraceState::cancelled, "in its warm-up: the job's own torch.profiler began");
  EXPECT_THAT(trace_.sentence(), Not(HasSubstr(".tmp"))) << "it is taken away";
}

// What a client with too little lead does: it makes the file, and stays idle.
TEST_F(TraceTest, TakenUpTooLate) {
  TraceRequest request = duration_request(5);
  request.asked_start = wall_at(13);
  use(request);
  fetched(10, 13);
  EXPECT_TRUE(trace_.on_temporary_file(at(11)));
  EXPECT_FALSE(trace_.on_poll(at(11), true));
  EXPECT_TRUE(trace_.on_poll(at(12), true));
  expect_end(TraceState::rejected,
             "it took the request up 3.0 s too late for its start; ask for a later start or a "
             "shorter warm-up; it left /tmp/t_42.json.tmp unfinished");
  use(duration_request());
  fetched(10, 11.2);
  EXPECT_TRUE(trace_.on_temporary_file(at(12)));
  trace_.on_poll(at(13), true);
  EXPECT_TRUE(trace_.on_time(at(16)));
  expect_end(TraceState::rejected, "0.8 s too late for its start; ask again");
}

TEST_F(TraceTest, TakenUpInTimeAndNotBegun) {
  fetched(10, 11.2);
  EXPECT_TRUE(trace_.on_temporary_file(at(11)));
  trace_.on_poll(at(12), true);
  EXPECT_TRUE(trace_.on_time(at(15)));
  expect_end(TraceState::rejected, "not begun by the process, or not written to its end");
}

TEST_F(TraceTest, PreEmptedByAProfilerThatOutlastsTheWindow) {
  fetched(10, 11.2);
  EXPECT_TRUE(trace_.on_temporary_file(at(11)));
  for (int s = 12; s < 30; ++s) trace_.on_poll(at(s), false);
  EXPECT_EQ(trace_.state(), TraceState::writing);
  EXPECT_FALSE(trace_.on_poll(at(30), true));
  EXPECT_EQ(trace_.next_due(), at(33));  // the news of a rename may be under way
  EXPECT_TRUE(trace_.on_time(at(33)));
  expect_end(TraceState::cancelled, "torch.profiler");
}

TEST_F(TraceTest, ARenamedFileIsWaitedFor) {
  fetched(10, 11.2);
  trace_.on_temporary_file(at(11));
  EXPECT_TRUE(trace_.on_renamed(at(13)));
  EXPECT_EQ(trace_.state(), TraceState::writing);
  trace_.on_poll(at(14), true);
  EXPECT_FALSE(trace_.on_time(at(100)));
  EXPECT_TRUE(trace_.on_file(at(101), good(), kFile));
}

TEST_F(TraceTest, BusyWithoutAFile) {
  fetched(10, 11.2);
  EXPECT_TRUE(trace_.on_poll(at(11), false));
  EXPECT_TRUE(trace_.on_poll(at(13), true));
  EXPECT_EQ(trace_.state(), TraceState::writing);
  EXPECT_TRUE(trace_.on_time(at(16)));
  expect_end(TraceState::busy, "could not open the file");
  EXPECT_THAT(trace_.sentence(),
              HasSubstr("at /tmp/t_42.json, nor at /tmp/libkineto_activities_42.json"));
}

TEST_F(TraceTest, WithoutFilesThePollsDecide) {
  fetched(10, 11.2);
  EXPECT_FALSE(trace_.on_files_unknown(at(10.5), "no permission"));
  EXPECT_TRUE(trace_.on_poll(at(11), false));
  EXPECT_TRUE(trace_.on_time(at(12)));
  EXPECT_TRUE(trace_.on_poll(at(14), true));
  expect_end(TraceState::undelivered, "neither checked nor brought to /home/t_42.json");
  EXPECT_THAT(trace_.sentence(), HasSubstr("no permission; it should be /tmp/t_42.json"));
  EXPECT_FALSE(trace_.delivery().has_value());
  EXPECT_FALSE(trace_.check().checked);
  EXPECT_EQ(trace_.check().problem, "no permission");
}

TEST_F(TraceTest, WithoutFilesWhereKinetoWritesTheTargetItself) {
  TraceRequest request = duration_request();
  request.place.in_place = true;
  request.place.target = request.place.file;
  use(request);
  fetched(10, 11.2);
  trace_.on_files_unknown(at(10.5), "no permission");
  trace_.on_poll(at(11), false);
  EXPECT_TRUE(trace_.on_poll(at(14), true));
  expect_end(TraceState::delivered, "but not checked: no permission; it should be /tmp/t_42.json");
  EXPECT_FALSE(trace_.check().checked);
  EXPECT_EQ(trace_.written_path(), "") << "nobody saw it";
  EXPECT_EQ(trace_.delivery().value().path, "");
  EXPECT_EQ(trace_.delivery().value().location, TraceDelivery::Location::host);
}

TEST_F(TraceTest, WithoutFilesAndNeverBusyNobodyKnows) {
  fetched(10, 11.2);
  trace_.on_files_unknown(at(10.5), "no permission");
  EXPECT_FALSE(trace_.on_poll(at(15), true));
  EXPECT_TRUE(trace_.on_poll(at(20), true));
  expect_end(TraceState::rejected, "as far as can be told");
}

TEST_F(TraceTest, FilesUnknownAfterItWasIdleAgain) {
  fetched(10, 11.2);
  trace_.on_poll(at(11), false);
  trace_.on_poll(at(14), true);
  EXPECT_TRUE(trace_.on_files_unknown(at(15), "the worker died"));
  expect_end(TraceState::undelivered, "the worker died");
}

TEST_F(TraceTest, ItIsWrittenInTimeOrTimesOut) {
  fetched(10, 11.2);
  trace_.on_temporary_file(at(11));
  trace_.on_time(at(20));
  EXPECT_EQ(trace_.next_due(), at(611.7));
  EXPECT_TRUE(trace_.on_time(at(612)));
  expect_end(TraceState::timed_out, "may still write /tmp/t_42.json");
}

TEST_F(TraceTest, AnIterationTraceGoesByItsFile) {
  use(iteration_request());
  fetched(10, std::nullopt);
  for (int s = 11; s < 120; ++s) EXPECT_FALSE(trace_.on_poll(at(s), s % 7 != 0)) << s;
  EXPECT_EQ(trace_.state(), TraceState::fetched);
  EXPECT_TRUE(trace_.on_temporary_file(at(120)));
  EXPECT_EQ(trace_.state(), TraceState::tracing);
  EXPECT_TRUE(trace_.on_file(at(121), good(), kFile));
  expect_written("written");
}

TEST_F(TraceTest, AnIterationThatNeverComes) {
  use(iteration_request());
  fetched(10, std::nullopt);
  EXPECT_EQ(trace_.next_due(), at(10 + 1800));
  EXPECT_TRUE(trace_.on_time(at(10 + 1800)));
  expect_end(TraceState::rejected, "no optimizer steps");
}

TEST_F(TraceTest, StepsThatStopInMidTrace) {
  use(iteration_request());
  fetched(10, std::nullopt);
  trace_.on_temporary_file(at(20));
  EXPECT_TRUE(trace_.on_time(at(20 + 1800)));
  expect_end(TraceState::timed_out, "no finished file");
}

TEST_F(TraceTest, AMemorySnapshotShowsInNoBit) {
  TraceRequest request = duration_request();
  request.memory_snapshot = true;
  use(request);
  fetched(10, 11.2);
  for (int s = 11; s < 300; ++s) EXPECT_FALSE(trace_.on_poll(at(s), true));
  EXPECT_FALSE(trace_.on_time(at(300)));
  EXPECT_TRUE(trace_.on_file(at(301), good(), kFile));
  EXPECT_EQ(trace_.sentence(), "written: 1.4 MB");
}

TEST_F(TraceTest, TheProcessEnds) {
  EXPECT_TRUE(trace_.on_process_end(at(1)));
  expect_end(TraceState::lost, "before it fetched");
  use(duration_request());
  fetched(10, 11.2);
  EXPECT_FALSE(trace_.on_process_end(at(10.5)));
  EXPECT_EQ(trace_.next_due(), at(11.5));  // its file may be there already
  EXPECT_TRUE(trace_.on_time(at(11.5)));
  expect_end(TraceState::lost, "before its trace began");
  use(duration_request());
  fetched(10, 11.2);
  EXPECT_FALSE(trace_.on_process_end(at(25))) << "both waited for a daemon that was stopped";
  EXPECT_TRUE(trace_.on_file(at(25.1), good(), kFile));
  expect_written("written");
  use(duration_request());
  fetched(10, 11.2);
  trace_.on_temporary_file(at(11));
  EXPECT_FALSE(trace_.on_process_end(at(12)));
  EXPECT_EQ(trace_.next_due(), at(17));
  EXPECT_TRUE(trace_.on_time(at(17)));
  expect_end(TraceState::lost, "ended while warming up");
  EXPECT_THAT(trace_.sentence(), Not(HasSubstr(".tmp"))) << "it is taken away";
}

TEST_F(TraceTest, AnUnfinishedFileThatStaysIsNamed) {
  TraceRequest request = duration_request();
  request.place.in_place = true;  // a name of the user's own: nobody takes it away
  use(request);
  fetched(10, 11.2);
  trace_.on_temporary_file(at(11));
  EXPECT_FALSE(trace_.on_process_end(at(12)));
  EXPECT_TRUE(trace_.on_time(at(17)));
  expect_end(TraceState::lost, "ended while warming up");
  EXPECT_THAT(trace_.sentence(), HasSubstr("it left /tmp/t_42.json.tmp unfinished"));
}

TEST_F(TraceTest, TheProcessEndsWhileItWritesOrIsLookedAt) {
  fetched(10, 11.2);
  trace_.on_temporary_file(at(11));
  trace_.on_time(at(20));
  trace_.on_process_end(at(21));
  trace_.on_time(at(26));
  expect_end(TraceState::lost, "ended while writing the file");
  use(duration_request());
  fetched(10, 11.2);
  trace_.on_renamed(at(13));
  trace_.on_process_end(at(14));
  EXPECT_FALSE(trace_.on_time(at(100)));
  EXPECT_TRUE(trace_.on_time(at(614)));
  expect_end(TraceState::lost, "nobody could check /tmp/t_42.json in time");
}

TEST_F(TraceTest, AProcessThatEndsRightAfterItsFile) {
  fetched(10, 11.2);
  trace_.on_temporary_file(at(11));
  trace_.on_process_end(at(13));
  EXPECT_TRUE(trace_.on_file(at(13.5), good(), kFile));
  expect_written("written");
}

TEST_F(TraceTest, Cancelling) {
  EXPECT_TRUE(trace_.on_cancel(at(1), true));
  expect_end(TraceState::cancelled, "before the process fetched it");
  use(duration_request());
  fetched(10, 11.2);
  EXPECT_FALSE(trace_.on_cancel(at(11), false));
  EXPECT_FALSE(trace_.on_cancel(at(11), true));  // what was handed over cannot be withdrawn
  EXPECT_EQ(trace_.state(), TraceState::fetched);
  EXPECT_TRUE(trace_.beyond_recall());
  EXPECT_THAT(trace_.sentence(), HasSubstr("cannot be recalled"));
}

TEST_F(TraceTest, TheDeadline) {
  EXPECT_TRUE(trace_.on_deadline(at(1)));
  expect_end(TraceState::timed_out, "before the process asked");
  EXPECT_FALSE(trace_.may_still_write());
  use(duration_request());
  fetched(10, 11.2);
  EXPECT_TRUE(trace_.on_deadline(at(11)));
  expect_end(TraceState::timed_out, "may yet write is brought to its place");
  EXPECT_TRUE(trace_.may_still_write());
  EXPECT_TRUE(trace_.on_late_file(at(13), good(), "/tmp/t_42.json"));
  EXPECT_EQ(trace_.state(), TraceState::timed_out);
  EXPECT_EQ(trace_.written_path(), "/tmp/t_42.json");
  EXPECT_FALSE(trace_.may_still_write()) << "it is there now";
  EXPECT_FALSE(trace_.on_late_file(at(14), good(), "/tmp/t_42.json"));
  use(duration_request());
  fetched(10, 11.2);
  written();
  EXPECT_TRUE(trace_.on_deadline(at(14)));
  expect_end(TraceState::timed_out, "before the file was brought to its place; it is /tmp/t_42");
  EXPECT_FALSE(trace_.may_still_write()) << "it is there already";
}

TEST_F(TraceTest, NewsOfAFileBeforeTheHandOverIsOfAnother) {
  EXPECT_FALSE(trace_.on_temporary_file(at(1)));
  EXPECT_FALSE(trace_.on_file(at(1), good(), kFile));
  EXPECT_FALSE(trace_.on_poll(at(1), false));
  EXPECT_FALSE(trace_.on_receipt(at(1)));
  EXPECT_EQ(trace_.state(), TraceState::staged);
}

// --- whatever happens
// -------------------------------------------------------------------------------

struct Input {
  int kind = 0;
  double time = 0;
  bool flag = false;
};

std::vector<Input> random_inputs(std::mt19937& random) {
  std::vector<Input> inputs;
  std::exponential_distribution<double> gap(std::uniform_int_distribution(0, 9)(random) == 0 ? 0.05
                                                                                             : 1.0);
  double time = 0;
  for (int i = 0; i < 60; ++i) {
    time += gap(random);
    // The rarer inputs end most lives at once, so they are made rarer still.
    const int roll = std::uniform_int_distribution(0, 99)(random);
    const int kind = roll < 40   ? 0  // poll
                     : roll < 70 ? 1  // time
                     : roll < 82 ? 2  // handed over
                     : roll < 89 ? 3  // receipt
                     : roll < 93 ? 4  // temporary file
                     : roll < 95 ? 5  // written
                                 : roll - 90;
    inputs.push_back({kind, time, std::bernoulli_distribution(0.6)(random)});
  }
  return inputs;
}

bool feed(ProcessTrace& trace, const Input& input) {
  const MonotonicTime now = at(input.time);
  switch (input.kind) {
    case 0:
      return trace.on_poll(now, input.flag);
    case 1:
      return trace.on_time(now);
    case 2:
      return trace.on_handed_over(
          now, wall_at(input.time),
          input.flag ? std::optional(wall_at(input.time + 1.2)) : std::nullopt);
    case 3:
      return input.flag ? trace.on_receipt(now) : trace.on_not_read(now);
    case 4:
      return input.flag ? trace.on_temporary_file(now) : trace.on_renamed(now);
    case 5:
      if (trace.state() != TraceState::written) return trace.on_file(now, good(), kFile);
      return input.flag ? trace.on_delivered(now, delivery()) : trace.on_undelivered(now, "why");
    case 6:
      return trace.on_files_unknown(now, "why");
    case 7:
      return trace.on_process_end(now);
    case 8:
      return trace.on_cancel(now, input.flag);
    default:
      return input.flag ? trace.on_deadline(now) : trace.on_poll_busy_before_hand_over(now);
  }
}

TraceRequest random_request(std::mt19937& random) {
  TraceRequest request = std::bernoulli_distribution(0.3)(random)
                             ? iteration_request()
                             : duration_request(std::uniform_int_distribution(0, 3)(random));
  request.memory_snapshot = std::bernoulli_distribution(0.1)(random);
  request.place.in_place = std::bernoulli_distribution(0.3)(random);
  return request;
}

TEST(AnyTrace, HoldsItsPromises) {
  std::mt19937 random(20260721);
  std::map<TraceState, int> ends;
  for (int life = 0; life < 1500; ++life) {
    ProcessTrace trace({Pid{1}, 1}, random_request(random), at(0), {});
    bool withdrawn = false;
    for (const Input& input : random_inputs(random)) {
      const TraceState before = trace.state();
      const auto record = trace.record(at(0), kWall);
      const bool was_beyond = trace.beyond_recall();
      const bool changed = feed(trace, input);
      withdrawn = withdrawn || (input.kind == 8 && changed);
      if (is_end(before)) {
        ASSERT_FALSE(changed);
        ASSERT_TRUE(trace.record(at(0), kWall) == record) << "an end is final";
      }
      ASSERT_EQ(changed, trace.state() != before || (trace.beyond_recall() && !was_beyond));
      ASSERT_FALSE(was_beyond && trace.state() == TraceState::staged && !trace.beyond_recall());
      ASSERT_TRUE(trace.state() >= before) << "never back";
      ASSERT_FALSE(trace.sentence().empty());
      trace.on_time(at(input.time));
      const auto due = trace.next_due();
      ASSERT_TRUE(!due || *due > at(input.time)) << to_string(trace.state());
      ASSERT_EQ(due.has_value(), !is_end(trace.state())) << "nothing waits for ever";
    }
    ASSERT_FALSE(withdrawn && trace.state() != TraceState::cancelled);
    for (auto due = trace.next_due(); due; due = trace.next_due()) {
      ASSERT_TRUE(trace.on_time(*due));
    }
    ASSERT_TRUE(is_end(trace.state()));
    ++ends[trace.state()];
  }
  EXPECT_EQ(ends.size(), 7U) << "the random lives reach every end";
}

TEST(AnyTrace, GoesOnAsBeforeWhenItIsRestored) {
  std::mt19937 random(7);
  for (int life = 0; life < 400; ++life) {
    const TraceRequest request = random_request(random);
    ProcessTrace kept({Pid{1}, 1}, request, at(0), {});
    ProcessTrace restored = kept;

    for (const Input& input : random_inputs(random)) {
      const auto record = restored.record(at(input.time), wall_at(input.time));
      restored = ProcessTrace::restore({Pid{1}, 1}, request, {}, record, at(input.time),
                                       wall_at(input.time));
      ASSERT_EQ(feed(kept, input), feed(restored, input));
      ASSERT_EQ(kept.state(), restored.state());
      ASSERT_EQ(kept.sentence(), restored.sentence());
      ASSERT_EQ(kept.next_due(), restored.next_due());
      ASSERT_EQ(kept.beyond_recall(), restored.beyond_recall());
    }
  }
}

TEST(AnyTrace, IsRestoredOnAnotherClock) {
  ProcessTrace trace({Pid{1}, 1}, duration_request(), at(0), {});
  trace.on_handed_over(at(10), wall_at(10), wall_at(11.2));
  trace.on_temporary_file(at(11));
  const auto record = trace.record(at(11), wall_at(11));
  // After 4 s, on a clock that has just begun.
  ProcessTrace restored =
      ProcessTrace::restore(trace.key(), trace.request(), {}, record, at(100), wall_at(15));
  EXPECT_TRUE(restored.on_time(at(100)));
  EXPECT_EQ(restored.state(), TraceState::writing);
  EXPECT_EQ(restored.next_due(), at(100 - 15 + 611.7));
}

// Whatever combination of flags and times a journal holds: it comes to an end.
TEST(AnyTrace, ComesToAnEndFromAnyRecord) {
  constexpr unsigned kBits = 12;
  constexpr auto kFar = WallTime(Nanoseconds(7258118400000000000LL));
  for (int state = 0; state <= static_cast<int>(TraceState::timed_out); ++state) {
    for (unsigned bits = 0; bits < 1U << kBits; ++bits) {
      const auto bit = [&](unsigned i) { return (bits >> i & 1U) != 0; };
      const auto time = [&](unsigned i, WallTime value) {
        return bit(i) ? std::optional(value) : std::nullopt;
      };
      ProcessTrace::Record record;
      record.state = static_cast<TraceState>(state);
      record.idle_polls = 5;
      record.handed_over_at = time(0, {});
      record.start = time(1, kFar);
      record.receipt_at = time(2, {});
      record.evidence_at = time(3, kFar);
      record.idle_since = time(4, {});
      record.last_idle_poll = time(5, kFar);
      record.process_ended_at = time(6, {});
      record.temporary_seen = bit(7);
      record.busy_seen = bit(8);
      record.renamed = bit(9);
      record.files_unknown = bit(10);
      record.written_at = time(11, kFar);
      ProcessTrace trace =
          ProcessTrace::restore({Pid{1}, 1}, duration_request(), {}, record, at(5), kWall);
      int steps = 0;
      for (auto due = trace.next_due(); due && steps < 10; due = trace.next_due(), ++steps) {
        trace.on_time(*due);
      }
      ASSERT_TRUE(is_end(trace.state())) << state << " " << bits;
    }
  }
}

}  // namespace
}  // namespace dynolog
