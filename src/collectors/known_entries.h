// What a kernel file lists (devices, fields, CPUs), remembered in its order from one reading to the
// next: in the steady state an entry is found by one comparison, and nothing is allocated.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/samples.h"

namespace dynolog {

// An entry's name; of two parts where the file groups its fields.
struct EntryKey {
  std::string_view group;
  std::string_view name;
};

// `Payload`: what is kept for an entry, such as its series.
template <class Payload>
class KnownEntries {
 public:
  // Begins a pass: call next() for each entry of the text, in its order, then finish().
  void begin() { next_ = 0; }

  // The entry's payload; nullptr: it is left out. `make() -> std::optional<Payload>` is called when
  // the entry is first seen; nullopt leaves it out until it disappears.
  template <class Make>
  [[nodiscard]] Payload* next(EntryKey key, Make&& make) {
    if (next_ == entries_.size() || !is(entries_[next_], key)) find_or_make(key, make);
    auto& payload = entries_[next_++].payload;
    return payload ? &*payload : nullptr;
  }
  template <class Make>
  [[nodiscard]] Payload* next(std::string_view name, Make&& make) {
    return next(EntryKey{"", name}, make);
  }

  // Calls `close(Payload&)` for each entry that this pass has not seen, and forgets it.
  template <class Close>
  void finish(Close&& close) {
    if (next_ == entries_.size()) return;
    for (std::size_t i = next_; i < entries_.size(); ++i) {
      if (entries_[i].payload) close(*entries_[i].payload);
    }
    entries_.resize(next_);
    keep_names();
  }

 private:
  // The names stand one after another: hundreds of them are compared each second, and then not even
  // the first is in a cache.
  struct Entry {
    std::size_t at = 0;  // in names_: the group, then the name
    std::uint32_t group_size = 0;
    std::uint32_t name_size = 0;
    std::optional<Payload> payload;
  };
  [[nodiscard]] bool is(const Entry& entry, EntryKey key) const {
    const char* const text = names_.data() + entry.at;
    return std::string_view(text + entry.group_size, entry.name_size) == key.name &&
           std::string_view(text, entry.group_size) == key.group;
  }
  template <class Make>
  void find_or_make(EntryKey key, Make& make) {
    const auto here = entries_.begin() + static_cast<std::ptrdiff_t>(next_);
    const auto known =
        std::find_if(here, entries_.end(), [&](const Entry& entry) { return is(entry, key); });
    if (known != entries_.end()) {
      std::rotate(here, known, known + 1);
    } else {
      entries_.insert(here, Entry{names_.size(), static_cast<std::uint32_t>(key.group.size()),
                                  static_cast<std::uint32_t>(key.name.size()), make()});
      names_ += key.group;
      names_ += key.name;
    }
  }
  // Only those of entries that are left, in their order.
  void keep_names() {
    std::string names;
    for (Entry& entry : entries_) {
      const std::size_t at = names.size();
      names.append(names_, entry.at, entry.group_size + entry.name_size);
      entry.at = at;
    }
    names_ = std::move(names);
  }

  std::vector<Entry> entries_;
  std::string names_;
  std::size_t next_ = 0;
};

// The usual case: one series for each entry.
using KnownSeries = KnownEntries<SeriesHandle>;

// A number, or, where the text had none, that it is malformed.
inline void set_or_malformed(Samples& out, SeriesHandle handle, std::optional<double> value) {
  if (value) {
    out.set(handle, *value);
  } else {
    out.absent(handle, AbsentReason::malformed);
  }
}

}  // namespace dynolog
