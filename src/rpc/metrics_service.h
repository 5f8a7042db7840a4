// What the methods on metrics call, as services.h has what the others call: on the loop's thread,
// to which `done` comes back.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "rpc/protocol/metrics_messages.h"

namespace dynolog::rpc {

// The metrics that the daemon keeps. Replies are large, so they are encoded where they are made:
// `done` gets the reply's JSON.
class MetricsService {
 public:
  using DoneText = std::function<void(Result<std::string>)>;
  virtual ~MetricsService() = default;
  virtual void query(QueryMetricsRequest request, DoneText done) = 0;
  virtual void list(ListMetricsRequest request, DoneText done) = 0;
};

}  // namespace dynolog::rpc
