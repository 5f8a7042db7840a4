// Batches requests by tenant and gives each batch to a files worker of its own. A library of some
// 400 MB is searched once for each tenant: what was found is kept under its inode, size and time.
#include "daemon/torch_facts_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
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
// Workers of one user at a time: some of them may hang in a file system of his own.
constexpr std::ptrdiff_t kMaxBatchesOfUser = 4;
constexpr std::size_t kMaxLibraries = 256;

struct Wanted {
  ProcessFacts facts;
  std::function<void(Result<TorchFacts>)> done;
};

struct Batch {
  std::map<Pid, Wanted> open;
  std::unique_ptr<FilesWorker> worker;
  bool ended = false;
  Uid uid;
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
  struct Waiting {
    BatchPlace batch;
    Pid pid;
  };
  struct Search {
    BatchPlace by;
    std::vector<Waiting> waiting;
  };

  void start_batches() {
    std::map<Tenant, std::vector<Wanted>> by_tenant;
    for (Wanted& wanted : std::exchange(waiting_, {})) {
      const Uid uid = wanted.facts.uid;
      auto& group = by_tenant[Tenant{uid, wanted.facts.container}];
      group.push_back(std::move(wanted));
      if (group.size() >= kMaxBatch) start_or_wait(uid, std::exchange(group, {}));
    }
    for (auto& [tenant, group] : by_tenant) {
      if (!group.empty()) start_or_wait(tenant.uid, std::move(group));
    }
  }

  void start_or_wait(Uid uid, std::vector<Wanted> group) {
    const auto running = std::ranges::count(batches_, uid, &Batch::uid);
    if (running < kMaxBatchesOfUser) return start_batch(uid, std::move(group));
    std::ranges::move(group, std::back_inserter(waiting_));
  }

  void start_batch(Uid uid, std::vector<Wanted> group) {
    const BatchPlace batch = batches_.emplace(batches_.end());
    batch->uid = uid;
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
      batch->worker->torch_library_id(pid, wanted.facts.torch_library,
                                      [this, batch, asked = pid](const Result<std::string>& id) {
                                        on_library_id(batch, asked, known_as(batch, asked, id));
                                      });
    }
  }

  // A tenant's finding is for that tenant: beside a library that others use as well there may lie a
  // version.py of its own, and its worker may take for ever.
  static std::string known_as(BatchPlace batch, Pid pid, const Result<std::string>& id) {
    const auto wanted = batch->open.find(pid);
    if (!id || id->empty() || wanted == batch->open.end()) return "";
    const ProcessFacts& facts = wanted->second.facts;
    return fmt::format("{}/{}/{}", facts.uid.value, facts.container, *id);
  }

  // The first process of a library has it searched, the others wait for that.
  void on_library_id(BatchPlace batch, Pid pid, const std::string& id) {
    if (libraries_.contains(id)) {
      ask(batch, pid, id, false);
      return;
    }
    const auto [search, first] = searches_.try_emplace(id, Search{batch, {}});
    if (id.empty() || first) {
      ask(batch, pid, id, true);
    } else {
      search->second.waiting.push_back({batch, pid});
    }
  }

  void ask(BatchPlace batch, Pid pid, const std::string& id, bool search) {
    const auto wanted = batch->open.find(pid);
    if (wanted == batch->open.end() || !batch->worker) return;
    const ProcessFacts& facts = wanted->second.facts;
    // Without a library only the base configuration is read, which is each process's own.
    batch->worker->torch_facts(pid, search ? facts.torch_library : "", facts.kineto_config,
                               [this, batch, pid, id, search](Result<TorchFacts> read) {
                                 on_read(batch, pid, id, search, std::move(read));
                               });
  }

  void on_read(BatchPlace batch, Pid pid, const std::string& id, bool searched,
               Result<TorchFacts> facts) {
    if (searched) {
      if (facts && !id.empty()) keep(id, *facts);
      answer(batch, pid, std::move(facts));
      release_waiting(id);
      return;
    }
    if (facts) {
      TorchFacts whole = libraries_.at(id);
      whole.has_base_configuration = facts->has_base_configuration;
      whole.poll_interval_s = facts->poll_interval_s;
      facts = whole;
    }
    answer(batch, pid, std::move(facts));
  }

  void keep(const std::string& id, const TorchFacts& facts) {
    // A host has few versions; whoever makes many only loses the benefit.
    if (libraries_.size() < kMaxLibraries) libraries_[id] = facts;
  }

  // The search has ended, well or not: whoever waited for it takes the result or tries for itself.
  void release_waiting(const std::string& id) {
    const auto search = searches_.extract(id);
    if (search.empty()) return;
    for (const auto& [batch, pid] : search.mapped().waiting) on_library_id(batch, pid, id);
  }

  // A batch that ends waits for nobody, and nobody waits for it.
  void leave_searches(BatchPlace batch) {
    std::vector<std::string> orphaned;
    for (auto& [id, search] : searches_) {
      std::erase_if(search.waiting, [batch](const Waiting& one) { return one.batch == batch; });
      if (search.by == batch) orphaned.push_back(id);
    }
    for (const std::string& id : orphaned) release_waiting(id);
  }

  void answer(BatchPlace batch, Pid pid, Result<TorchFacts> facts) {
    auto node = batch->open.extract(pid);
    if (node.empty()) return;
    node.mapped().done(std::move(facts));
    if (batch->open.empty()) end_batch(batch, "");
  }

  void end_batch(BatchPlace batch, const std::string& why) {
    if (std::exchange(batch->ended, true)) return;
    leave_searches(batch);
    // Not at once: this runs inside a callback of the worker that is to be destroyed.
    auto rest = std::exchange(batch->open, {});
    loop_.post([this, batch] {
      batches_.erase(batch);
      if (!waiting_.empty() && !gather_.armed()) start_batches();
    });
    for (auto& [pid, wanted] : rest) wanted.done(fail(ErrorKind::failed, why));
  }

  EventLoop& loop_;
  Log& log_;
  std::string executable_;
  std::vector<Wanted> waiting_;
  std::list<Batch> batches_;
  std::map<std::string, TorchFacts> libraries_;  // by id
  std::map<std::string, Search> searches_;       // by id, under way
  Timer gather_;
};

}  // namespace

std::unique_ptr<TorchFactsReader> TorchFactsReader::make(EventLoop& loop, Log& log,
                                                         std::string executable) {
  return std::make_unique<BatchingReader>(loop, log, std::move(executable));
}

}  // namespace dynolog
