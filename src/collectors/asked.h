// What a worker reads for a collector, which must not wait for it.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/error.h"

namespace dynolog {

template <class T>
struct Answer {
  MonotonicTime time{};  // when it was asked for
  Result<T> value;
};

// Both calls from the pipeline's thread; neither waits. Asked again before the answer has come,
// that one is for both.
template <class T>
class Asked {
 public:
  virtual ~Asked() = default;
  virtual void ask() = 0;
  // nullptr before the first one.
  [[nodiscard]] virtual std::shared_ptr<const Answer<T>> newest() const = 0;
};

// A collector's side: asks when it is its tier's turn, and takes what has come in between.
template <class T>
class AnswersTaken {
 public:
  explicit AnswersTaken(std::shared_ptr<Asked<T>> asked) : asked_(std::move(asked)) {}

  [[nodiscard]] bool has_news() const { return asked_ && asked_->newest() != taken_; }

  // In each collect(). The newest answer, nullptr before the first; an error when it is too old or
  // is itself one.
  [[nodiscard]] Result<const Answer<T>*> take() {
    if (!asked_) return fail(ErrorKind::unavailable, "there is no worker that reads it");
    auto newest = asked_->newest();
    if (newest != taken_) {
      taken_ = std::move(newest);
      unanswered_ = 0;
    } else {
      asked_->ask();
      ++unanswered_;
    }
    if (unanswered_ > kMostUnanswered) {
      return fail(ErrorKind::timed_out, "the worker that reads it does not answer");
    }
    if (taken_ && !taken_->value) return std::unexpected(taken_->value.error());
    return taken_.get();
  }

 private:
  static constexpr int kMostUnanswered = 3;
  std::shared_ptr<Asked<T>> asked_;
  std::shared_ptr<const Answer<T>> taken_;
  int unanswered_ = 0;
};

}  // namespace dynolog
