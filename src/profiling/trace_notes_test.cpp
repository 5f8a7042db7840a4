// What is said about a trace that was checked.
#include "profiling/trace_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dynolog {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::int64_t kStart = 1700000000000000000;

TraceRequest asked(std::int64_t iterations = 0) {
  TraceRequest request;
  request.window = Milliseconds(500);
  request.iterations = iterations;
  return request;
}

FileCheck got(std::int64_t window_ms = 500) {
  FileCheck check;
  check.checked = check.whole = check.ours = true;
  check.summary.events = 60;
  check.summary.categories = {{.category = "cpu_op", .events = 40},
                              {.category = "kernel", .events = 10},
                              {.category = "Trace", .events = 1}};
  check.summary.kernels = 10;
  check.summary.window_start_ns = kStart;
  check.summary.window_end_ns = kStart + window_ms * 1'000'000;
  return check;
}

TEST(TraceNotes, NothingToSayOfAGoodTrace) {
  EXPECT_THAT(trace_notes(asked(), got(), true), IsEmpty());
  EXPECT_THAT(trace_notes(asked(), got(590), true), IsEmpty());
  EXPECT_THAT(trace_notes(asked(), got(410), true), IsEmpty());
  FileCheck steps = got(1234);
  steps.summary.steps = 30;
  EXPECT_THAT(trace_notes(asked(30), steps, true), IsEmpty());
}

TEST(TraceNotes, AnotherWindow) {
  EXPECT_THAT(trace_notes(asked(), got(390), true),
              ElementsAre("the window is 390 ms long, 500 ms were asked for"));
  EXPECT_THAT(trace_notes(asked(), got(61000), true),
              ElementsAre("the window is 61.0 s long, 500 ms were asked for"));
  FileCheck unsaid = got();
  unsaid.summary.window_start_ns.reset();
  EXPECT_THAT(trace_notes(asked(), unsaid, true), IsEmpty());
  unsaid.summary.first_ns = kStart;
  unsaid.summary.last_ns = kStart + 100'000'000;
  EXPECT_THAT(trace_notes(asked(), unsaid, true),
              ElementsAre("the events span 100 ms, a window of 500 ms was asked for"));
  // Short windows are missed by some tens of milliseconds.
  TraceRequest brief = asked();
  brief.window = Milliseconds(10);
  EXPECT_THAT(trace_notes(brief, got(45), true), IsEmpty());
}

TEST(TraceNotes, IterationsThatBecameATime) {
  EXPECT_THAT(trace_notes(asked(30), got(507), true),
              ElementsAre(StartsWith("traced for 507 ms instead of 30 iterations (0 of them")));
  FileCheck some = got();
  some.summary.steps = 12;
  EXPECT_THAT(trace_notes(asked(30), some, true),
              ElementsAre(StartsWith("traced for 500 ms instead of 30 iterations (12 of them")));
  some = got(4000);
  some.summary.steps = 12;
  EXPECT_THAT(trace_notes(asked(30), some, true),
              ElementsAre("12 of the 30 iterations asked for are in it"));
  // Steps that leave no mark: another window than the time's says that they were counted.
  EXPECT_THAT(trace_notes(asked(30), got(4000), true), IsEmpty());
  some.summary.steps = 29;
  EXPECT_THAT(trace_notes(asked(30), some, true), IsEmpty());
}

TEST(TraceNotes, NoKernels) {
  FileCheck check = got();
  check.summary.kernels = 0;
  EXPECT_THAT(trace_notes(asked(), check, true), ElementsAre(HasSubstr("no GPU kernel is in it")));
  EXPECT_THAT(trace_notes(asked(), check, false), IsEmpty());
  TraceRequest request = asked();
  request.config = "A=1\nACTIVITY_TYPES=cpu_op,cuda_runtime\n";
  EXPECT_THAT(trace_notes(request, check, true), IsEmpty()) << "none were asked for";
  request.config = "ACTIVITY_TYPES=kernel\n ACTIVITY_TYPES = cpu_op\n";
  EXPECT_THAT(trace_notes(request, check, true), IsEmpty()) << "the last of several counts";
  request.config = "ACTIVITY_TYPES=cpu_op, kernel\n";
  EXPECT_THAT(trace_notes(request, check, true), ElementsAre(HasSubstr("no GPU kernel")));
}

TEST(TraceNotes, AnEmptyTraceHasOnlyKinetosMarks) {
  FileCheck check = got(0);
  check.summary.categories = {{.category = "metadata", .events = 3},
                              {.category = "none", .events = 1},
                              {.category = "Trace", .events = 1}};
  check.summary.kernels = 0;
  check.summary.warnings = {"CPU trace is empty!"};
  for (const std::int64_t iterations : {0, 30}) {
    EXPECT_THAT(trace_notes(asked(iterations), check, true),
                ElementsAre(StartsWith("nothing ran in the window"),
                            "the client warns: CPU trace is empty!"));
  }
  check.summary.categories.clear();
  EXPECT_THAT(trace_notes(asked(), check, true), Contains(StartsWith("nothing ran in the window")));
}

TEST(TraceNotes, WhatTheCheckFound) {
  FileCheck check = got();
  check.summary.truncation = "GPU events seem to be missing";
  check.summary.warnings = {"a", "b"};
  EXPECT_THAT(
      trace_notes(asked(), check, true),
      ElementsAre("GPU events seem to be missing", "the client warns: a", "the client warns: b"));
}

TEST(TraceNotes, NoneOfWhatNobodyLookedInto) {
  EXPECT_THAT(trace_notes(asked(), {}, true), IsEmpty());
  TraceRequest snapshot = asked();
  snapshot.memory_snapshot = true;
  FileCheck check;
  check.checked = true;
  EXPECT_THAT(trace_notes(snapshot, check, true), IsEmpty());
}

}  // namespace
}  // namespace dynolog
