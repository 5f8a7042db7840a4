// The history as the RPC asks for it: messages to questions, answers to JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "net/event_loop.h"
#include "rpc/metrics_service.h"
#include "sinks/history/history.h"

namespace dynolog {

using UserNames = std::map<std::uint32_t, std::string>;

// On the loop's thread, to which answers come back; they are encoded on the history's.
class HistoryService final : public rpc::MetricsService {
 public:
  // `history`: nullptr when none is kept. `loop` outlives the service and the history. `on_look`:
  // somebody watches processes, now. `user_names`: those that this host knows, by uid.
  HistoryService(EventLoop& loop, std::string host, std::function<history::History*()> history,
                 std::function<void()> on_look, std::function<UserNames()> user_names)
      : loop_(loop),
        host_(std::move(host)),
        history_(std::move(history)),
        on_look_(std::move(on_look)),
        user_names_(std::move(user_names)) {}

  void query(rpc::QueryMetricsRequest request, DoneText done) override;
  void list(rpc::ListMetricsRequest request, DoneText done) override;

 private:
  [[nodiscard]] DoneText on_loop(DoneText done);

  EventLoop& loop_;
  std::string host_;
  std::function<history::History*()> history_;
  std::function<void()> on_look_;
  std::function<UserNames()> user_names_;
};

// Errors (invalid) name the word that is none of those allowed.
[[nodiscard]] Result<history::Question> question_of(const rpc::QueryMetricsRequest& request);
[[nodiscard]] rpc::QueryMetricsReply reply_of(history::Answer answer, const std::string& host);
// Adds the names of the uids among its labels.
void name_users(rpc::QueryMetricsReply& reply, const UserNames& names);
[[nodiscard]] rpc::ListMetricsReply reply_of(history::Listing listing, const std::string& host);

}  // namespace dynolog
