// Reads what a process's PyTorch is, as its owner, for processes that have just registered.
#pragma once

#include <functional>
#include <memory>

#include "base/error.h"
#include "base/log.h"
#include "net/event_loop.h"
#include "processes/process_facts.h"

namespace dynolog {

// On the loop's thread only. Ranks register in bursts: those of one tenant are read by one worker,
// which probes each library file once.
class TorchFactsReader {
 public:
  [[nodiscard]] static std::unique_ptr<TorchFactsReader> make(EventLoop& loop, Log& log,
                                                              std::string executable);
  virtual ~TorchFactsReader() = default;
  // `facts` of a process that maps libtorch. `done` is never called after the reader's end.
  virtual void read(const ProcessFacts& facts, std::function<void(Result<TorchFacts>)> done) = 0;
};

}  // namespace dynolog
