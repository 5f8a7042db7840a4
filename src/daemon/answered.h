// For tests of the daemon's parts: a worker that has answered already.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "collectors/asked.h"

namespace dynolog {

template <class T>
class Answered final : public Asked<T> {
 public:
  explicit Answered(T value)
      : answer_(std::make_shared<const Answer<T>>(
            Answer<T>{MonotonicTime(std::chrono::seconds(999)), std::move(value)})) {}
  void ask() override {}
  [[nodiscard]] std::shared_ptr<const Answer<T>> newest() const override { return answer_; }

 private:
  std::shared_ptr<const Answer<T>> answer_;
};

}  // namespace dynolog
