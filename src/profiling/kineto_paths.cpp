// The rules of Kineto's Config for its output files, by PyTorch version.
#include "profiling/kineto_paths.h"

#include <fmt/format.h>

#include "base/text.h"
#include "profiling/trace_config.h"
#include "profiling/trace_keys.h"

namespace dynolog {

std::string default_trace_file(const ProcessFacts& facts) {
  return fmt::format("/tmp/libkineto_activities_{}.json", facts.namespace_pid);
}

std::string default_snapshot_file(const ProcessFacts& facts) {
  return fmt::format("/tmp/memory_snapshot_{}.pickle", facts.namespace_pid);
}

std::string kineto_file_name(std::string_view log_file, std::int32_t namespace_pid) {
  std::size_t at = log_file.find(".pt.trace.json");
  if (at == std::string_view::npos) at = log_file.find(".json");
  if (at == std::string_view::npos) return std::string(log_file);
  return fmt::format("{}_{}{}", log_file.substr(0, at), namespace_pid, log_file.substr(at));
}

bool restricts_directory(const TorchFacts& torch) {
  constexpr int kSince = 14;
  return torch.knows_ondemand_trace_dir || torch_minor(torch) >= kSince;
}

std::string allowed_directory(const ProcessFacts& facts) {
  std::string directory = facts.ondemand_trace_dir.empty() ? "/tmp/" : facts.ondemand_trace_dir;
  if (!directory.ends_with('/')) directory += '/';
  return directory;
}

bool obeys_path(std::string_view path, const ProcessFacts& facts, const TorchFacts& torch) {
  if (!restricts_directory(torch)) return true;
  return path.starts_with(allowed_directory(facts)) && path.find("..") == std::string_view::npos;
}

bool knows_snapshot(const TorchFacts& torch) {
  constexpr int kSince = 8;
  return torch.knows_memory_snapshot || torch_minor(torch) >= kSince;
}

WhereWritten where_written(std::string_view log_file, bool snapshot, const ProcessFacts& facts,
                           const TorchFacts& torch) {
  const std::string usual = snapshot ? default_snapshot_file(facts) : default_trace_file(facts);
  WhereWritten where{.path = usual, .elsewhere = {}, .note = ""};
  if (log_file.empty()) return where;
  if (!obeys_path(log_file, facts, torch)) {
    where.note = fmt::format(
        "{} writes on-demand traces only below {}, so this one goes to {}; to change that, set "
        "KINETO_ONDEMAND_TRACE_DIR in the job's environment",
        torch_name(torch), clean_text(allowed_directory(facts), 200), usual);
    return where;
  }
  // A snapshot's name is taken as it is.
  where.path = snapshot ? std::string(log_file) : kineto_file_name(log_file, facts.namespace_pid);
  if (where.path != usual) where.elsewhere.push_back(usual);
  return where;
}

std::string torch_name(const TorchFacts& torch) {
  if (torch.version.empty()) return "this PyTorch";
  return "PyTorch " + clean_text(torch.version, 40);
}

}  // namespace dynolog
