// Layers into options: precedence, each value's check, and what does not go together.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "base/text.h"
#include "base/url.h"
#include "config/layers.h"
#include "config/values.h"

namespace dynolog {
namespace {

using ByName = std::map<std::string_view, Assignment>;

// Within one source a repeated list grows, anything else takes the last.
ByName by_name(const Layer& layer) {
  ByName found;
  for (const Assignment& assignment : layer) {
    const auto [entry, added] = found.try_emplace(assignment.option.name, assignment);
    if (added) continue;
    const bool emptied = assignment.values.size() == 1 && assignment.values.front().empty();
    if (assignment.option.kind != ValueKind::list || emptied) {
      entry->second = assignment;
      continue;
    }
    Values& values = entry->second.values;
    if (values.size() == 1 && values.front().empty()) values.clear();
    values.insert(values.end(), assignment.values.begin(), assignment.values.end());
  }
  return found;
}

// A file's line reads "port = x", a flag "--port=x".
std::string text_of(const Assignment& assignment) {
  const std::string value = clean_text(fmt::format("{}", fmt::join(assignment.values, ",")), 100);
  const std::string_view between =
      assignment.where.ends_with("--" + std::string(assignment.option.name)) ? "=" : " = ";
  return fmt::format("{}{}{}", assignment.where, between, value);
}

Status assign(Options& options, const Assignment& assignment) {
  const auto done = assignment.option.row->assign(options, assignment.values);
  if (done) return {};
  return fail(ErrorKind::invalid, fmt::format("{}: {}", text_of(assignment), done.error().message));
}

bool switched_off(const Assignment& assignment) {
  return assignment.option.kind == ValueKind::flag && assignment.values.back() == "false";
}

// One sentence for each feature, naming the options that were given.
std::vector<std::string> warnings_of(const ByName& merged) {
  std::map<std::string_view, std::vector<std::string>> given;
  for (const auto& [name, assignment] : merged) {
    if (assignment.option.field == nullptr || switched_off(assignment)) continue;
    given[assignment.option.field->feature].push_back(fmt::format("--{}", name));
  }
  std::vector<std::string> sentences;
  for (const auto& [feature, names] : given) {
    sentences.push_back(fmt::format("{} accepted, no effect: this version has no {}",
                                    fmt::join(names, ", "), feature));
  }
  return sentences;
}

// What the page of metrics needs together.
Status check_page(const PrometheusSinkOptions& page) {
  if (page.tls_certificate.empty() != page.tls_key.empty()) {
    return fail(ErrorKind::invalid,
                "--prometheus_tls_cert and --prometheus_tls_key belong together: give both");
  }
  if (!page.tls_client_ca.empty() && page.tls_certificate.empty()) {
    return fail(ErrorKind::invalid,
                "--prometheus_tls_client_ca needs --prometheus_tls_cert and --prometheus_tls_key");
  }
  return {};
}

Status check_otlp(const OtlpSinkOptions& otlp) {
  if (otlp.tls_certificate.empty() != otlp.tls_key.empty()) {
    return fail(ErrorKind::invalid,
                "--otlp_ssl_client_cert_path and --otlp_ssl_client_key_path belong together: give "
                "both");
  }
  return {};
}

// What will not harm, and will not do what it looks like either.
void warn_of_sinks(const MetricsOptions& metrics, std::vector<std::string>& warnings) {
  if (!metrics.json.enabled && !metrics.json.file.empty()) {
    warnings.emplace_back("--json_file has no effect without --use_JSON");
  }
  const OtlpSinkOptions& otlp = metrics.otlp;
  const auto url = parse_http_url(otlp.endpoint);
  if (!otlp.enabled || !url || url->tls) return;
  if (!otlp.tls_ca.empty() || !otlp.tls_certificate.empty()) {
    warnings.push_back(
        fmt::format("--otlp_ssl_* has no effect: {} is not https://", otlp.endpoint));
  }
  if (!otlp.headers.empty() && !is_loopback_host(url->host)) {
    warnings.push_back(
        fmt::format("--otlp_headers travel in clear text to {}: a secret among them needs https://",
                    otlp.endpoint));
  }
}

Status check_together(const Options& options) {
  if (auto good = check_otlp(options.metrics.otlp); !good) return good;
  if (auto good = check_page(options.metrics.prometheus); !good) return good;
  if (options.rpc.auth != rpc::RpcAuth::none && !is_loopback(options.rpc.bind)) {
    return fail(ErrorKind::invalid,
                fmt::format("--rpc_bind={} listens beyond loopback, where callers cannot be told "
                            "apart: add --rpc_auth=none if whoever reaches the port may call, or "
                            "leave --rpc_bind out",
                            options.rpc.bind));
  }
  return {};
}

}  // namespace

Result<Applied> apply_layers(const std::vector<Layer>& layers) {
  ByName merged;
  for (const Layer& layer : layers) {
    for (auto& [name, assignment] : by_name(layer)) merged.insert_or_assign(name, assignment);
  }
  Applied applied;
  for (const auto& [name, assignment] : merged) {
    if (assignment.option.field != nullptr && assignment.option.field->refused &&
        !switched_off(assignment)) {
      return fail(ErrorKind::invalid, fmt::format("{}: this version has no {}", assignment.where,
                                                  assignment.option.field->feature));
    }
    if (assignment.option.row == nullptr || assignment.option.row->assign == nullptr) continue;
    if (auto done = assign(applied.options, assignment); !done) {
      return std::unexpected(std::move(done.error()));
    }
    applied.given.emplace(name, text_of(assignment));
  }
  if (auto good = check_together(applied.options); !good) {
    return std::unexpected(std::move(good.error()));
  }
  applied.warnings = warnings_of(merged);
  warn_of_sinks(applied.options.metrics, applied.warnings);
  const CollectorOptions::Net& net = applied.options.metrics.collectors.net;
  if (!net.by_prefix && net.prefixes != CollectorOptions{}.net.prefixes) {
    applied.warnings.emplace_back(
        "--allow_interface_prefixes has no effect without --filter_nic_interfaces");
  }
  const PrometheusSinkOptions& page = applied.options.metrics.prometheus;
  if (page.enabled && page.families.dcgm && !page.families.node && !page.families.own) {
    applied.warnings.emplace_back(
        "--prometheus_families=dcgm leaves the page empty: GPUs have no figures yet");
  }
  const bool has_secret = !page.basic_auth_file.empty() || !page.token_file.empty();
  if (page.enabled && has_secret && page.tls_certificate.empty() && !is_loopback(page.address)) {
    applied.warnings.push_back(
        fmt::format("--prometheus_address={}: passwords and tokens travel in clear text without "
                    "--prometheus_tls_cert",
                    page.address));
  }
  return applied;
}

}  // namespace dynolog
