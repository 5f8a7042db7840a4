// Which member of which object a piece of JSON belongs to.
#include "traces/trace_sax.h"

#include <functional>
#include <iterator>
#include <utility>

#include "base/number.h"
#include "base/text.h"
#include "traces/trace_check.h"
#include "traces/trace_time.h"

namespace dynolog {
namespace {

std::uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

// Kineto's processes and threads are numbers, but for its own spans.
std::uint64_t number_or_hash(std::string_view text) {
  if (const auto number = parse_number<std::int64_t>(text)) {
    return static_cast<std::uint64_t>(*number);
  }
  return hash_of(text);
}

}  // namespace

bool TraceSax::too_deep() const { return depth_ >= kMaxTraceDepth; }

TraceSax::Member TraceSax::top_member(std::string_view key) {
  if (key == "traceEvents") return Member::trace_events;
  if (key == "trace_id") return Member::trace_id;
  if (key == "host_name") return Member::host_name;
  if (key == "baseTimeNanoseconds") return Member::base_time;
  if (key == "WARNING") return Member::warnings;
  if (key == "ERROR") return Member::errors;
  if (key == "distributedInfo") return Member::distributed_info;
  return Member::other;
}

TraceSax::Member TraceSax::event_member(std::string_view key) {
  switch (key.size()) {
    case 2:
      if (key == "ph") return Member::phase;
      if (key == "ts") return Member::start;
      break;
    case 3:
      if (key == "cat") return Member::category;
      if (key == "pid") return Member::process;
      if (key == "tid") return Member::thread;
      if (key == "dur") return Member::duration;
      break;
    case 4:
      if (key == "name") return Member::name;
      if (key == "args") return Member::args;
      break;
    default:
      break;
  }
  return Member::other;
}

TraceSax::Member TraceSax::args_member(std::string_view key) {
  if (key == "device") return Member::device;
  if (key == "Collective name") return Member::collective;
  return Member::other;
}

void TraceSax::key(std::string_view text) {
  switch (place_) {
    case Place::event:
      member_ = event_member(text);
      break;
    case Place::args:
      member_ = args_member(text);
      if (member_ == Member::collective) event_.collective = true;
      break;
    case Place::top:
      member_ = top_member(text);
      break;
    default:
      member_ = text == "rank" ? Member::rank : Member::other;
      break;
  }
}

void TraceSax::number(std::string_view text) {
  switch (place_) {
    case Place::event:
      event_number(text);
      break;
    case Place::args:
      if (member_ == Member::device) event_.device = parse_number<int>(text);
      break;
    case Place::events:
      figures_.add_odd_element();
      break;
    case Place::distributed:
      if (member_ == Member::rank) summary_.distributed_rank = parse_number<int>(text);
      break;
    case Place::top:
      if (member_ == Member::base_time) {
        base_ = parse_number<std::int64_t>(text);
      } else {
        string(text);  // ids keep every digit
      }
      break;
    default:
      break;
  }
}

void TraceSax::event_number(std::string_view text) {
  switch (member_) {
    case Member::start:
      event_.start_ns = nanoseconds_of(text);
      break;
    case Member::duration:
      event_.duration_ns = nanoseconds_of(text);
      break;
    case Member::process: {
      const auto number = parse_number<std::int64_t>(text);
      event_.process = number ? static_cast<std::uint64_t>(*number) : hash_of(text);
      if (number && std::in_range<int>(*number)) event_.process_number = static_cast<int>(*number);
      break;
    }
    case Member::thread:
      event_.thread = number_or_hash(text);
      break;
    default:
      break;
  }
}

void TraceSax::string(std::string_view text) {
  switch (place_) {
    case Place::event:
      event_string(text);
      break;
    case Place::events:
      figures_.add_odd_element();
      break;
    case Place::messages:
      figures_.messages().add(
          member_ == Member::errors ? ClientMessages::Level::error : ClientMessages::Level::warning,
          text);
      break;
    case Place::top:
      if (member_ == Member::trace_id) summary_.trace_id = clean_text(text, kMaxSummaryName);
      if (member_ == Member::host_name) summary_.host_name = clean_text(text, kMaxSummaryName);
      break;
    default:
      break;
  }
}

void TraceSax::event_string(std::string_view text) {
  switch (member_) {
    case Member::phase:
      event_.phase = text.size() == 1 ? text.front() : '\0';
      break;
    case Member::category:
      event_.category = figures_.categories().index_of(text);
      break;
    case Member::name:
      event_.name.assign(text.substr(0, TraceEvent::kMaxName));
      break;
    case Member::process:
      event_.process = number_or_hash(text);
      break;
    case Member::thread:
      event_.thread = number_or_hash(text);
      break;
    default:
      break;
  }
}

// What stands inside the bracket that opens at `place_`.
TraceSax::Place TraceSax::place_inside(bool object) {
  switch (place_) {
    case Place::top:
      if (!object) {
        if (member_ == Member::trace_events) return Place::events;
        const bool messages = member_ == Member::warnings || member_ == Member::errors;
        return messages ? Place::messages : Place::elsewhere;
      }
      if (member_ != Member::distributed_info) return Place::elsewhere;
      summary_.has_distributed_info = true;
      return Place::distributed;
    case Place::events:
      if (object) {
        event_.clear();
        return Place::event;
      }
      figures_.add_odd_element();
      return Place::elsewhere;
    case Place::event:
      return object && member_ == Member::args ? Place::args : Place::elsewhere;
    default:
      return Place::elsewhere;
  }
}

bool TraceSax::open(bool object) {
  if (too_deep()) return false;
  if (depth_ == 0) {
    root_is_object_ = object;
    place_ = object ? Place::top : Place::elsewhere;
  } else if (depth_ < std::size(outer_)) {
    outer_[depth_] = place_;
    place_ = place_inside(object);
  } else {
    place_ = Place::elsewhere;
  }
  ++depth_;
  return true;
}

bool TraceSax::close() {
  --depth_;
  if (depth_ == 0) {
    closing_brace_ = stream_.Tell();
  } else if (depth_ < std::size(outer_)) {
    if (place_ == Place::event) figures_.add(event_);
    place_ = outer_[depth_];
  }
  return true;
}

}  // namespace dynolog
