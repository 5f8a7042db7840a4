// Names of files for many processes: every rule of the placeholders and of the pid's place.
#include "base/path_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dynolog {
namespace {

using ::testing::HasSubstr;

PathValues values() {
  return {.rank = 3,
          .local_rank = 1,
          .host = "node-7",
          .pid = 12,
          .job = "default/my-pod",
          .time = "20261130-062542Z"};
}
std::string expanded(std::string_view pattern, const PathValues& given = values()) {
  const auto path = expand_path(pattern, given);
  return path ? *path : "error: " + path.error().message;
}
std::string of_process(std::string_view pattern, const PathValues& given = values()) {
  const auto path = process_path(pattern, given);
  return path ? *path : "error: " + path.error().message;
}

TEST(ExpandPath, EveryPlaceholder) {
  EXPECT_EQ(expanded("/d/{rank}_{local_rank}_{host}_{pid}_{job}_{time}.json"),
            "/d/3_1_node-7_12_default_my-pod_20261130-062542Z.json");
  EXPECT_EQ(expanded("{rank}{rank}"), "33");
  EXPECT_EQ(expanded(""), "");
  EXPECT_EQ(expanded("/plain/t r\"a'c=e#.json"), "/plain/t r\"a'c=e#.json");
}

TEST(ExpandPath, UnknownValuesAreNone) {
  EXPECT_EQ(expanded("{rank}/{local_rank}/{host}/{job}/{time}", PathValues{}),
            "none/none/none/none/none");
}

TEST(ExpandPath, DoubledBracesAreBraces) {
  EXPECT_EQ(expanded("{{rank}}"), "{rank}");
  EXPECT_EQ(expanded("{{{rank}}}"), "{3}");
  EXPECT_EQ(expanded("}}{{"), "}{");
}

TEST(ExpandPath, LoneBracesAreNamed) {
  for (const std::string_view bad : {"a{", "a{rank", "{ra{nk}", "{rank}}{", "a{{{"}) {
    const auto path = expand_path(bad, values());
    ASSERT_FALSE(path.has_value()) << bad;
    EXPECT_EQ(path.error().kind, ErrorKind::invalid);
    EXPECT_THAT(path.error().message, HasSubstr("without its partner")) << bad;
  }
  EXPECT_THAT(expanded("a}b"), HasSubstr("'}' without its partner in a}b: write }} for a brace"));
  EXPECT_THAT(expanded("{rank}}"), HasSubstr("'}' without"));
}

TEST(ExpandPath, UnknownPlaceholderIsNamedWithTheKnownOnes) {
  const auto path = expand_path("/d/{ranks}.json", values());
  ASSERT_FALSE(path.has_value());
  EXPECT_EQ(path.error().kind, ErrorKind::invalid);
  EXPECT_EQ(path.error().message,
            "{ranks} is not a placeholder: choose among {rank} {local_rank} {host} {pid} {job} "
            "{time}");
  EXPECT_THAT(expanded("{}"), HasSubstr("{} is not a placeholder"));
  EXPECT_THAT(expanded("{Rank}"), HasSubstr("not a placeholder"));
}

TEST(ExpandPath, ValuesStayInsideOneComponent) {
  const auto job = [](std::string_view text) {
    PathValues hostile = values();
    hostile.job = text;
    return expanded("/d/{job}/t.json", hostile);
  };
  EXPECT_EQ(job("../../etc"), "/d/___.._etc/t.json");
  EXPECT_EQ(job(".."), "/d/__/t.json");
  EXPECT_EQ(job("."), "/d/_/t.json");
  EXPECT_EQ(job(".hidden"), "/d/_hidden/t.json");
  EXPECT_EQ(job("v1.2"), "/d/v1.2/t.json");
  EXPECT_EQ(job("/"), "/d/_/t.json");
  EXPECT_EQ(job(std::string_view("a\0b\n\x1b\x7f", 6)), "/d/a_b___/t.json");
  EXPECT_EQ(job("\xc2\x9b"
                "31m\xff"),
            "/d/_31m_/t.json");
  EXPECT_EQ(job("r\u00e4nk"), "/d/r\u00e4nk/t.json");
  EXPECT_EQ(job("{pid}"), "/d/_pid_/t.json");
  EXPECT_EQ(job(""), "/d/none/t.json");
}

TEST(ExpandPath, TheResultIsLimited) {
  EXPECT_EQ(expanded(std::string(4000, 'a')).size(), 4000U);
  EXPECT_THAT(expanded(std::string(4001, 'a')), HasSubstr("4001 bytes long, 4000 are the limit"));
  EXPECT_THAT(expanded(std::string(3995, 'a').append("{host}")), HasSubstr("4001 bytes"));
  EXPECT_THAT(of_process("/" + std::string(3999, 'a')), HasSubstr("4003 bytes"));
  PathValues long_value = values();
  long_value.host = std::string(5000, 'h');
  EXPECT_LE(expanded("{host}", long_value).size(), 255U);
}

TEST(HasPlaceholders, BracesOfTheirOwnAreNone) {
  EXPECT_TRUE(has_placeholders("/a/{rank}"));
  EXPECT_TRUE(has_placeholders("{{{rank}"));
  EXPECT_FALSE(has_placeholders("/a{{b}}"));
}

TEST(AsPattern, ExpandsToTheText) {
  EXPECT_EQ(as_pattern("/a{b}"), "/a{{b}}");
  EXPECT_EQ(expand_path(as_pattern("/a{b}"), {}).value(), "/a{b}");
}

TEST(WithInsertion, BeforeTheSuffixOfTheName) {
  EXPECT_EQ(with_insertion("x.json", "12"), "x_12.json");
  EXPECT_EQ(with_insertion("/d/x.pt.trace.json", "12"), "/d/x_12.pt.trace.json");
  EXPECT_EQ(with_insertion("/d/x.json.gz", "12"), "/d/x_12.json.gz");
  EXPECT_EQ(with_insertion("/d/x.pt.trace.json.gz", "12"), "/d/x_12.pt.trace.json.gz");
  EXPECT_EQ(with_insertion("/d/x.json.bak", "12"), "/d/x.json.bak_12");
  EXPECT_EQ(with_insertion("/d/x", "12"), "/d/x_12");
  EXPECT_EQ(with_insertion("/d/x.jsonl", "12"), "/d/x.jsonl_12");
  EXPECT_EQ(with_insertion("/d/.json", "12"), "/d/_12.json");
}

TEST(WithInsertion, LeavesTheDirectoryAlone) {
  EXPECT_EQ(with_insertion("/runs.json/x", "12"), "/runs.json/x_12");
  EXPECT_EQ(with_insertion("/runs.json/x.json", "12"), "/runs.json/x_12.json");
  EXPECT_EQ(with_insertion("/a.pt.trace.json/x.json", "12"), "/a.pt.trace.json/x_12.json");
}

TEST(ProcessPath, InsertsThePidWhereNothingTellsApart) {
  EXPECT_EQ(of_process("/d/t.json"), "/d/t_12.json");
  EXPECT_EQ(of_process("/d/{host}.json"), "/d/node-7_12.json");
  EXPECT_EQ(of_process("/d/{rank}.json"), "/d/3.json");
  EXPECT_EQ(of_process("/d/{rank}/t.json"), "/d/3/t.json");
  EXPECT_EQ(of_process("/d/t_{pid}.json"), "/d/t_12.json");
  EXPECT_EQ(of_process("/d/{{pid}}.json"), "/d/{pid}_12.json");
}

TEST(ProcessPath, InsertsThePidWhereTheValueIsNotKnown) {
  PathValues alone = values();
  alone.rank.reset();
  EXPECT_EQ(of_process("/d/{rank}.json", alone), "/d/none_12.json");
  EXPECT_EQ(of_process("/d/{rank}_{local_rank}.json", alone), "/d/none_1.json");
  EXPECT_EQ(of_process("/d/{rank}_{pid}.json", alone), "/d/none_12.json");
  alone.local_rank.reset();
  EXPECT_EQ(of_process("/d/{local_rank}.json", alone), "/d/none_12.json");
}

TEST(ProcessPath, NeedsANameOfAFile) {
  EXPECT_THAT(of_process("/d/"), HasSubstr("/d/ has no name of a file at its end"));
  EXPECT_THAT(of_process(""), HasSubstr("has no name of a file"));
  EXPECT_THAT(of_process("/d/{nothing}"), HasSubstr("not a placeholder"));
}

TEST(SnapshotPath, ReplacesTheSuffix) {
  EXPECT_EQ(snapshot_path("/d/x_12.json"), "/d/x_12.pickle");
  EXPECT_EQ(snapshot_path("/d/x.pt.trace.json"), "/d/x.pickle");
  EXPECT_EQ(snapshot_path("/d/x.json.gz"), "/d/x.pickle");
  EXPECT_EQ(snapshot_path("/d.json/x"), "/d.json/x.pickle");
  EXPECT_EQ(snapshot_path("/d/x.pickle"), "/d/x.pickle.pickle") << "never the trace's own name";
}

TEST(FileName, IsWhatFollowsTheLastSlash) {
  EXPECT_EQ(file_name("/a/b.json"), "b.json");
  EXPECT_EQ(file_name("b.json"), "b.json");
  EXPECT_EQ(file_name("/a/"), "");
  EXPECT_EQ(file_name(""), "");
}

TEST(WithGz, AddsTheSuffixOnce) {
  EXPECT_EQ(with_gz("t.json"), "t.json.gz");
  EXPECT_EQ(with_gz("t.json.gz"), "t.json.gz");
  EXPECT_EQ(with_gz("t.gzip"), "t.gzip.gz");
}

}  // namespace
}  // namespace dynolog
