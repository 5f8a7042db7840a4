// The operators' time of their own: of each thread's nested operators, an instant belongs to the
// one that began last and still runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/name_times.h"

namespace dynolog {

// Operators may come out of order by some tens of thousands; what is later than that, deeper or on
// more threads than any real trace's is left out or counted in part, and that is told.
class OperatorTimes {
 public:
  OperatorTimes();

  // Nanoseconds within kMaxTraceNs (trace_time.h). `thread` is any number that tells threads apart.
  void add(std::uint64_t thread, std::int64_t start, std::int64_t end, std::string_view name);
  // After the last one.
  void finish();

  [[nodiscard]] const NameTimes& names() const { return names_; }
  [[nodiscard]] bool out_of_order() const { return late_ > 0; }
  [[nodiscard]] bool left_out() const { return left_out_ > 0; }

  static constexpr std::size_t kMaxPending = 131'072;
  static constexpr std::size_t kMaxThreads = 4096;
  static constexpr std::size_t kMaxOpen = 65'536;  // on all threads

 private:
  struct Operator {
    std::int64_t start;
    std::int64_t end;
    std::uint32_t place;  // in the file, among the operators: kMaxTraceBytes hold fewer than 2^32
    std::uint16_t name;
    std::uint16_t thread;
  };
  static_assert(NameTimes::kMaxNames < 65'536 && kMaxThreads < 65'536);
  struct Open {
    std::int64_t start;
    std::int64_t end;
    NameTimes::Index name;
  };
  struct Thread {
    std::vector<Open> open;    // by start: the last is the innermost
    std::int64_t reached = 0;  // all time before it is given away
    bool begun = false;
  };

  void give_away(std::size_t count);
  void begin(const Operator& op);
  void advance(Thread& thread, std::int64_t to);

  NameTimes names_;
  std::unordered_map<std::uint64_t, std::uint16_t> thread_index_;
  std::vector<Thread> threads_;
  std::uint64_t last_thread_ = 0;  // most follow one of the same thread
  std::uint16_t last_index_ = 0;
  std::uint32_t next_place_ = 0;
  std::vector<Operator> pending_;
  std::size_t open_ = 0;
  std::uint64_t late_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace dynolog
