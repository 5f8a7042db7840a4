// The history as the RPC asks for it: messages to questions, answers to JSON.
#pragma once

#include <functional>
#include <string>

#include "net/event_loop.h"
#include "rpc/metrics_service.h"
#include "sinks/history/history.h"

namespace dynolog {

// On the loop's thread, to which answers come back; they are encoded on the history's.
class HistoryService final : public rpc::MetricsService {
 public:
  // `history`: nullptr when none is kept. `loop` outlives the service and the history. `on_look`:
  // somebody watches processes, now.
  HistoryService(EventLoop& loop, std::string host, std::function<history::History*()> history,
                 std::function<void()> on_look)
      : loop_(loop),
        host_(std::move(host)),
        history_(std::move(history)),
        on_look_(std::move(on_look)) {}

  void query(rpc::QueryMetricsRequest request, DoneText done) override;
  void list(rpc::ListMetricsRequest request, DoneText done) override;

 private:
  [[nodiscard]] DoneText on_loop(DoneText done);

  EventLoop& loop_;
  std::string host_;
  std::function<history::History*()> history_;
  std::function<void()> on_look_;
};

// Errors (invalid) name the word that is none of those allowed.
[[nodiscard]] Result<history::Question> question_of(const rpc::QueryMetricsRequest& request);
[[nodiscard]] rpc::QueryMetricsReply reply_of(history::Answer answer, const std::string& host);
[[nodiscard]] rpc::ListMetricsReply reply_of(history::Listing listing, const std::string& host);

}  // namespace dynolog
