// Configurations that wait for their process to ask. Pure.
#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>

#include "base/ids.h"
#include "processes/identity.h"
#include "profiling/trace_config.h"

namespace dynolog {

class Mailbox {
 public:
  struct Item {
    ProcessKey key;
    Uid uid;  // at the commit
    TraceRequest request;
  };

  explicit Mailbox(std::size_t limit) : limit_(limit) {}

  // False when the process has one already, or the mailbox is full.
  bool put(Item item) {
    if (items_.size() >= limit_) return false;
    const Pid pid = item.key.pid;
    return items_.try_emplace(pid, std::move(item)).second;
  }
  // False when it is not (or no longer) here.
  bool withdraw(const ProcessKey& key, std::string_view trace_id) {
    const auto at = items_.find(key.pid);
    if (at == items_.end() || at->second.key != key || at->second.request.trace_id != trace_id) {
      return false;
    }
    items_.erase(at);
    return true;
  }
  // Valid until the next change.
  [[nodiscard]] const Item* find(Pid pid) const {
    const auto at = items_.find(pid);
    return at == items_.end() ? nullptr : &at->second;
  }
  void remove(Pid pid) { items_.erase(pid); }

 private:
  std::size_t limit_;
  std::unordered_map<Pid, Item> items_;
};

}  // namespace dynolog
