// What is said of an installation without a daemon.
#include "cli/installation_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/unique_fd.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

InstallationFacts good() {
  InstallationFacts facts;
  facts.tried = {"/run/dynolog/dynolog.sock: No such file", "/tmp/d: not yours"};
  facts.advice = {"Start one: `dynolog &`.", "For a daemon elsewhere: --run-dir DIR."};
  facts.program = "/usr/bin/dynolog";
  facts.service_installed = true;
  facts.base_configuration = "X=1\n";
  facts.use_daemon = "1";
  return facts;
}

const rpc::Finding* find(const std::vector<rpc::Finding>& findings, const char* check,
                         const char* level) {
  const auto found = std::ranges::find_if(findings, [&](const rpc::Finding& each) {
    return each.check == check && each.level == level;
  });
  return found == findings.end() ? nullptr : &*found;
}

TEST(InstallationCheckTest, ThatNobodyAnswersIsBrokenAndTheOnlyThing) {
  const auto findings = diagnose_installation(good());
  ASSERT_FALSE(findings.empty());
  const rpc::Finding& first = findings.front();
  EXPECT_EQ(first.level, "broken");
  EXPECT_EQ(first.what,
            "no dynolog daemon answers: /run/dynolog/dynolog.sock: No such file; /tmp/d: not "
            "yours");
  EXPECT_EQ(first.fix, "Start one: `dynolog &`. For a daemon elsewhere: --run-dir DIR.");
  for (std::size_t i = 1; i < findings.size(); ++i) EXPECT_EQ(findings[i].level, "ok");
}

TEST(InstallationCheckTest, EachThingThatIsMissingIsTold) {
  InstallationFacts facts = good();
  facts.program.clear();
  EXPECT_NE(find(diagnose_installation(facts), "installation", "broken"), nullptr);
  EXPECT_THAT(diagnose_installation(facts).front().fix, HasSubstr("install dynolog"));
  facts = good();
  facts.service_installed = false;
  EXPECT_NE(find(diagnose_installation(facts), "service", "note"), nullptr);
  facts = good();
  facts.abstract_name_held = true;
  EXPECT_NE(find(diagnose_installation(facts), "endpoint", "warning"), nullptr);
  facts = good();
  facts.abandoned_socket = "/run/dynolog/dynolog.sock";
  const auto findings = diagnose_installation(facts);
  ASSERT_NE(find(findings, "daemon", "note"), nullptr);
  EXPECT_THAT(find(findings, "daemon", "note")->what, HasSubstr("/run/dynolog/dynolog.sock"));
  facts = good();
  facts.use_daemon.reset();
  EXPECT_NE(find(diagnose_installation(facts), "environment", "note"), nullptr);
  for (const auto& text : {std::optional<std::string>(), std::optional<std::string>("")}) {
    facts = good();
    facts.base_configuration = text;
    const auto missing = diagnose_installation(facts);
    ASSERT_NE(find(missing, "base_configuration", "warning"), nullptr);
    EXPECT_THAT(find(missing, "base_configuration", "warning")->fix,
                HasSubstr("ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1"));
  }
}

TEST(InstallationCheckTest, TheAbstractNameIsKnownByItsWholeName) {
  const std::string head = "Num       RefCount Protocol Flags    Type St Inode Path\n";
  const std::string line = "0000000000000000: 00000002 00000000 00000000 0002 01 51 ";
  EXPECT_TRUE(holds_abstract_name(head + line + "@dynolog@\n"));
  for (const char* other :
       {"@dynolog", "@dynolog@x", "/x@dynolog@", "@@dynolog@", "@x @dynolog@", ""}) {
    EXPECT_FALSE(holds_abstract_name(head + line + other + "\n")) << other;
  }
}

TEST(InstallationCheckTest, LooksAtFilesOnly) {
  std::string pattern = ::testing::TempDir() + "installation_XXXXXX";
  const fs::path directory = ::mkdtemp(pattern.data());
  fs::create_directories(directory / "bin");
  fs::create_directories(directory / "etc");
  fs::create_directories(directory / "proc/net");
  fs::create_directories(directory / "run");
  std::ofstream(directory / "bin/dynolog") << "#!/bin/sh\n";
  ::chmod((directory / "bin/dynolog").c_str(), 0755);
  std::ofstream(directory / "etc/libkineto.conf") << "A=1\n";
  std::ofstream(directory / "proc/net/unix") << "x: 1 2 3 4 5 6 @dynolog@\n";
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = directory / "run/dynolog.sock";
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::ranges::copy(path, address.sun_path);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);

  std::ostringstream out;
  const SystemClock clock;
  const std::map<std::string, std::string> environment = {
      {"PATH", "/none:" + (directory / "bin").string()}};
  const World world{.out = out,
                    .err = out,
                    .environment = [&](const std::string& name) -> std::optional<std::string> {
                      const auto found = environment.find(name);
                      if (found == environment.end()) return std::nullopt;
                      return found->second;
                    },
                    .uid = 0,
                    .working_directory = "/",
                    .system_run_dir = directory / "run",
                    .temporary_dir = directory,
                    .clock = clock,
                    .terminal = {},
                    .out_columns = 0,
                    .service_installed = true,
                    .take_interrupts = [] { return -1; },
                    .reconnect_for = {}};
  SystemRoot root;
  root.proc = directory / "proc";
  root.etc = directory / "etc";
  const InstallationFacts facts = look_at_installation(
      world, root, {.error = {}, .tried = {"/d: nobody"}, .advice = {"Start one."}});
  EXPECT_EQ(facts.tried, std::vector<std::string>{"/d: nobody"});
  EXPECT_EQ(facts.advice, std::vector<std::string>{"Start one."});
  EXPECT_EQ(facts.program, directory / "bin/dynolog");
  EXPECT_TRUE(facts.service_installed);
  EXPECT_EQ(facts.abandoned_socket, path);
  EXPECT_TRUE(facts.abstract_name_held);
  EXPECT_EQ(facts.base_configuration, "A=1\n");
  EXPECT_EQ(facts.use_daemon, std::nullopt);
  EXPECT_EQ(out.str(), "");

  // dyno of a portable installation: what people start is the launcher, not the program behind it.
  fs::create_directories(directory / "portable/bin");
  fs::create_directories(directory / "proc/self");
  fs::copy(directory / "bin/dynolog", directory / "portable/bin/dynolog");
  fs::create_symlink(directory / "portable/lib/dynolog/programs/dyno", directory / "proc/self/exe");
  const InstallationFacts portable = look_at_installation(world, root, {});
  EXPECT_EQ(portable.program, directory / "portable/bin/dynolog");
  fs::remove_all(directory);
}

}  // namespace
}  // namespace dynolog
