// Walks the fields that the codec walks, so that no string is forgotten.
#include "cli/clean.h"

#include "base/text.h"
#include "cli/clean_metrics.h"
#include "rpc/protocol/fields.h"
#include "rpc/protocol/metrics_fields.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxShown = 4096;

class Cleaner {
 public:
  template <class T>
  void operator()(const char* /*name*/, T& value) {
    apply(value);
  }

 private:
  void apply(std::string& text) { text = clean_text(text, kMaxShown); }
  template <class T>
  void apply(std::vector<T>& values) {
    for (T& value : values) apply(value);
  }
  template <class T>
  void apply(std::optional<T>& value) {
    if (value) apply(*value);
  }
  void apply(rpc::MetricLabels& labels) { apply(labels.pairs); }
  template <class A, class B>
  void apply(std::pair<A, B>& pair) {
    apply(pair.first);
    apply(pair.second);
  }
  template <class T>
  void apply(T& value) {
    if constexpr (!std::is_arithmetic_v<T>) visit_fields(*this, value);
  }
};

template <class T>
void clean_all(T& reply) {
  Cleaner cleaner;
  visit_fields(cleaner, reply);
}

}  // namespace

void clean(rpc::StatusReply& reply) { clean_all(reply); }
void clean(rpc::ListProcessesReply& reply) { clean_all(reply); }
void clean(rpc::PrepareReply& reply) { clean_all(reply); }
void clean(rpc::CommitReply& reply) { clean_all(reply); }
void clean(rpc::FollowFrame& reply) { clean_all(reply); }
void clean(rpc::CancelReply& reply) { clean_all(reply); }
void clean(rpc::ListTracesReply& reply) { clean_all(reply); }
void clean(rpc::DiagnoseReply& reply) { clean_all(reply); }
void clean(rpc::LogLevelReply& reply) { clean_all(reply); }
void rpc::clean(rpc::QueryMetricsReply& reply) { clean_all(reply); }
void rpc::clean(rpc::ListMetricsReply& reply) { clean_all(reply); }

}  // namespace dynolog
