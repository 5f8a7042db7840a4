// Batches requests by tenant and gives each batch to a files worker of its own.
#include "daemon/torch_facts_reader.h"

#include <chrono>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "workers/files_worker.h"

namespace dynolog {
namespace {

// Long enough to gather the ranks of a host, short enough to be known before anyone asks.
constexpr Nanoseconds kGather = Milliseconds(50);
constexpr std::size_t kMaxBatch = 256;

struct Wanted {
  ProcessFacts facts;
  std::function<void(Result<TorchFacts>)> done;
};

struct Batch {
  std::map<Pid, Wanted> open;
  std::unique_ptr<FilesWorker> worker;
  bool ended = false;
};

class BatchingReader final : public TorchFactsReader {
 public:
  BatchingReader(EventLoop& loop, Log& log, std::string executable)
      : loop_(loop), log_(log), executable_(std::move(executable)) {}

  void read(const ProcessFacts& facts, std::function<void(Result<TorchFacts>)> done) override {
    waiting_.push_back({facts, std::move(done)});
    if (!gather_.armed()) gather_ = loop_.after(kGather, [this] { start_batches(); });
  }

 private:
  using BatchPlace = std::list<Batch>::iterator;

  void start_batches() {
    std::map<Tenant, std::vector<Wanted>> by_tenant;
    for (Wanted& wanted : std::exchange(waiting_, {})) {
      auto& group = by_tenant[Tenant{wanted.facts.uid, wanted.facts.container}];
      group.push_back(std::move(wanted));
      if (group.size() >= kMaxBatch) start_batch(std::exchange(group, {}));
    }
    for (auto& [tenant, group] : by_tenant) {
      if (!group.empty()) start_batch(std::move(group));
    }
  }

  void start_batch(std::vector<Wanted> group) {
    const BatchPlace batch = batches_.emplace(batches_.end());
    std::vector<FilesIdentity> identities;
    for (Wanted& wanted : group) {
      identities.push_back({wanted.facts.key, wanted.facts.uid});
      batch->open.emplace(wanted.facts.key.pid, std::move(wanted));
    }
    auto worker = FilesWorker::start(
        loop_, log_, executable_, std::move(identities), [](FileEvent) {},
        [this, batch](const std::string& why) { end_batch(batch, why); });
    if (!worker) {
      end_batch(batch, worker.error().message);
      return;
    }
    batch->worker = std::move(*worker);
    for (const auto& [pid, wanted] : batch->open) {
      batch->worker->torch_facts(pid, wanted.facts.torch_library, wanted.facts.kineto_config,
                                 [this, batch, asked = pid](Result<TorchFacts> facts) {
                                   answer(batch, asked, std::move(facts));
                                 });
    }
  }

  void answer(BatchPlace batch, Pid pid, Result<TorchFacts> facts) {
    auto node = batch->open.extract(pid);
    if (node.empty()) return;
    node.mapped().done(std::move(facts));
    if (batch->open.empty()) end_batch(batch, "");
  }

  void end_batch(BatchPlace batch, const std::string& why) {
    if (std::exchange(batch->ended, true)) return;
    // Not at once: this runs inside a callback of the worker that is to be destroyed.
    auto rest = std::exchange(batch->open, {});
    loop_.post([this, batch] { batches_.erase(batch); });
    for (auto& [pid, wanted] : rest) wanted.done(fail(ErrorKind::failed, why));
  }

  EventLoop& loop_;
  Log& log_;
  std::string executable_;
  std::vector<Wanted> waiting_;
  std::list<Batch> batches_;
  Timer gather_;
};

}  // namespace

std::unique_ptr<TorchFactsReader> TorchFactsReader::make(EventLoop& loop, Log& log,
                                                         std::string executable) {
  return std::make_unique<BatchingReader>(loop, log, std::move(executable));
}

}  // namespace dynolog
