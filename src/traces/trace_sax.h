// From JSON's pieces, as RapidJSON hands them over, to a trace's events and its top-level members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "traces/json_stream.h"
#include "traces/trace_event.h"
#include "traces/trace_figures.h"
#include "traces/trace_summary.h"

namespace dynolog {

// RapidJSON's handler concept. Numbers come as text. `stream` is only asked where it stands.
class TraceSax {
 public:
  TraceSax(TraceSummary& summary, TraceFigures& figures, const JsonStream& stream)
      : summary_(summary), figures_(figures), stream_(stream) {}

  bool Null() { return scalar(); }
  bool Bool(bool /*value*/) { return scalar(); }
  bool Int(int /*value*/) { return scalar(); }
  bool Uint(unsigned /*value*/) { return scalar(); }
  bool Int64(std::int64_t /*value*/) { return scalar(); }
  bool Uint64(std::uint64_t /*value*/) { return scalar(); }
  bool Double(double /*value*/) { return scalar(); }
  bool RawNumber(const char* text, unsigned size, bool /*copy*/) {
    if (place_ != Place::elsewhere) number({text, size});
    return true;
  }
  bool String(const char* text, unsigned size, bool /*copy*/) {
    if (place_ != Place::elsewhere) string({text, size});
    return true;
  }
  bool Key(const char* text, unsigned size, bool /*copy*/) {
    if (place_ != Place::elsewhere) key({text, size});
    return true;
  }
  bool StartObject() { return open(true); }
  bool EndObject(unsigned /*members*/) { return close(); }
  bool StartArray() { return open(false); }
  bool EndArray(unsigned /*elements*/) { return close(); }

  [[nodiscard]] bool root_is_object() const { return root_is_object_; }
  [[nodiscard]] bool too_deep() const;
  [[nodiscard]] std::optional<std::int64_t> base() const { return base_; }
  // Of the top-level '}', once it was met.
  [[nodiscard]] std::optional<std::uint64_t> closing_brace() const { return closing_brace_; }

 private:
  // Where the next value stands; all that matters is within four levels.
  enum class Place : std::uint8_t { elsewhere, top, events, event, args, messages, distributed };
  enum class Member : std::uint8_t {
    other,
    // at the top
    trace_events,
    trace_id,
    host_name,
    base_time,
    warnings,
    errors,
    distributed_info,
    // of an event
    phase,
    category,
    name,
    process,
    thread,
    start,
    duration,
    args,
    // of "args"
    device,
    collective,
    // of "distributedInfo"
    rank,
  };

  static Member top_member(std::string_view key);
  static Member event_member(std::string_view key);
  static Member args_member(std::string_view key);
  void key(std::string_view text);
  void number(std::string_view text);
  void string(std::string_view text);
  void event_number(std::string_view text);
  void event_string(std::string_view text);
  bool scalar() {
    if (place_ == Place::events) figures_.add_odd_element();
    return true;
  }
  bool open(bool object);
  bool close();
  [[nodiscard]] Place place_inside(bool object);

  TraceSummary& summary_;
  TraceFigures& figures_;
  const JsonStream& stream_;
  TraceEvent event_;
  std::size_t depth_ = 0;
  Place place_ = Place::elsewhere;
  Place outer_[5] = {};  // what to come back to, of the levels that matter
  Member member_ = Member::other;
  bool root_is_object_ = false;
  std::optional<std::int64_t> base_;
  std::optional<std::uint64_t> closing_brace_;
};

}  // namespace dynolog
