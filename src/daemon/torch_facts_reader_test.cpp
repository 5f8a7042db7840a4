// Every question is answered once, also when a user asks more than his workers serve at a time.
#include "daemon/torch_facts_reader.h"

#include <gtest/gtest.h>

#include <map>

namespace dynolog {
namespace {

ProcessFacts facts_of(std::int32_t pid, std::string container) {
  ProcessFacts facts;
  facts.key = {Pid{pid}, 1};
  facts.uid = Uid{1000};
  facts.container = std::move(container);
  facts.torch_library = "/x/torch/lib/libtorch_cpu.so";
  return facts;
}

TEST(TorchFactsReader, AnswersEveryoneAlsoWhenWorkersEndAtOnce) {
  EventLoop loop;
  const auto log = make_silent_log();
  const auto reader = TorchFactsReader::make(loop, *log, "/bin/false");
  constexpr std::int32_t kProcesses = 12;  // each a tenant, so each a worker
  std::map<std::int32_t, int> answers;
  for (std::int32_t pid = 1; pid <= kProcesses; ++pid) {
    reader->read(facts_of(pid, "container" + std::to_string(pid)),
                 [&, pid](const Result<TorchFacts>& facts) {
                   EXPECT_FALSE(facts);
                   ++answers[pid];
                   if (answers.size() == kProcesses) loop.stop();
                 });
  }
  loop.run();
  EXPECT_EQ(answers.size(), static_cast<std::size_t>(kProcesses));
  for (const auto& [pid, count] : answers) EXPECT_EQ(count, 1) << pid;
}

}  // namespace
}  // namespace dynolog
