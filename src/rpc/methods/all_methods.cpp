// The table of the RPC's methods: to add one, a file pair and a row here.
#include "rpc/methods/all_methods.h"

#include <algorithm>
#include <array>

#include "rpc/methods/diagnose.h"
#include "rpc/methods/existing_calls.h"
#include "rpc/methods/host.h"
#include "rpc/methods/log_level.h"
#include "rpc/methods/metrics.h"
#include "rpc/methods/trace.h"

namespace dynolog::rpc {
namespace {

constexpr auto kMethods = std::to_array<Method>({
    // Of existing clients.
    {"getStatus", Identity::not_needed, AfterReply::close, get_status},
    {"getVersion", Identity::not_needed, AfterReply::close, get_version},
    {"setKinetOnDemandRequest", Identity::needed, AfterReply::close, set_kinet_on_demand_request},
    // They change nothing as long as nothing profiles the GPU.
    {"dcgmProfPause", Identity::not_needed, AfterReply::close, dcgm_prof_pause},
    {"dcgmProfResume", Identity::not_needed, AfterReply::close, dcgm_prof_resume},
    // Our own.
    {"daemonStatus", Identity::not_needed, AfterReply::keep, daemon_status},
    {"logLevel", Identity::not_needed, AfterReply::keep, log_level},
    {"setLogLevel", Identity::needed, AfterReply::keep, set_log_level},
    {"listProcesses", Identity::needed, AfterReply::keep, list_processes},
    {"prepareTrace", Identity::needed, AfterReply::keep, prepare_trace},
    {"commitTrace", Identity::needed, AfterReply::keep, commit_trace},
    {"followTrace", Identity::needed, AfterReply::keep, follow_trace},
    {"cancelTrace", Identity::needed, AfterReply::keep, cancel_trace},
    {"fetchTrace", Identity::needed, AfterReply::keep, fetch_trace},
    {"releaseTrace", Identity::needed, AfterReply::keep, release_trace},
    {"listTraces", Identity::needed, AfterReply::keep, list_traces},
    {"deleteTrace", Identity::needed, AfterReply::keep, delete_trace},
    {"diagnose", Identity::needed, AfterReply::keep, diagnose},
    // The figures of the host are for everybody, as on the page for Prometheus.
    {"queryMetrics", Identity::not_needed, AfterReply::keep, query_metrics},
    {"listMetrics", Identity::not_needed, AfterReply::keep, list_metrics},
    {"socketDirectory", Identity::needed, AfterReply::keep, socket_directory},
});

consteval bool names_are_unique() {
  for (std::size_t i = 0; i < kMethods.size(); ++i) {
    for (std::size_t j = i + 1; j < kMethods.size(); ++j) {
      if (kMethods[i].name == kMethods[j].name) return false;
    }
  }
  return true;
}
static_assert(names_are_unique(), "two RPC methods have the same name");

}  // namespace

std::span<const Method> all_methods() { return kMethods; }

const Method* find_method(std::string_view name) {
  const auto* found = std::ranges::find(kMethods, name, &Method::name);
  return found == kMethods.end() ? nullptr : found;
}

}  // namespace dynolog::rpc
