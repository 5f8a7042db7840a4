// Collector `textfile`. Files are only parsed anew when they have changed. As with node_exporter, a
// file or a directory that is not sound is no failure of the collector: node_textfile_scrape_error
// tells of it.
#include "collectors/textfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "metrics/prometheus_text.h"

namespace dynolog {
namespace {

constexpr const MetricDescriptor& kMtime = kTextfileMetrics[0];
constexpr const MetricDescriptor& kScrapeError = kTextfileMetrics[1];
// Of all files together: each is a series that sinks keep and the page shows.
constexpr std::size_t kMaxSamples = 20'000;

// A descriptor with the text that it points to.
struct MadeDescriptor {
  std::string name;
  std::string family;
  std::string type;
  std::string help;
  std::vector<std::string> keys;
  std::vector<LabelKey> labels;
  MetricDescriptor descriptor;
};

std::shared_ptr<const MetricDescriptor> make_descriptor(const std::string& name,
                                                        const TextFamily& family,
                                                        const std::set<std::string>& keys) {
  auto made = std::make_shared<MadeDescriptor>();
  made->name = name;
  made->family = family.name;
  made->type = family.type;
  made->help = family.help;
  made->keys.assign(keys.begin(), keys.end());
  for (const std::string& key : made->keys) made->labels.push_back(LabelKey{key, ""});
  const bool part = name != family.name || family.type == "summary";
  const bool counts = family.type == "counter" || (name != family.name);
  made->descriptor = {
      .id = made->name,
      .kind = counts ? MetricKind::counter : MetricKind::gauge,
      .unit = Unit::none,
      .help = made->help,
      .source = "textfile",
      .labels = LabelKeys(std::span<const LabelKey>(made->labels)),
      .counter = {},
      .prometheus = {.name = made->name,
                     .type_override = made->type,
                     .fixed_key = {},
                     .fixed_value = {},
                     .family = part ? std::string_view(made->family) : std::string_view()},
      .otlp = {.name = made->name},
      .json = {}};
  const MetricDescriptor* const descriptor = &made->descriptor;
  return {std::move(made), descriptor};
}

// The families of all files together: of one name and type, with all the labels that any has.
struct Merged {
  std::vector<TextFamily> families;
  std::vector<std::string> problems;
  std::vector<std::pair<std::string, std::int64_t>> read;  // path, when it was written

  void add(const TextFile& file) {
    if (!file.problem.empty()) {
      problems.push_back(file.problem);
      return;
    }
    auto parsed = parse_prometheus_text(file.text, {});
    if (!parsed) {
      problems.push_back(fmt::format("{}: {}", file.path, parsed.error().message));
      return;
    }
    read.emplace_back(file.path, file.modified_s);
    std::size_t samples = 0;
    for (const TextFamily& family : *parsed) samples += family.samples.size();
    if (samples_ + samples > kMaxSamples) {
      problems.push_back(fmt::format("{}: left out: with it there were over {} values in all files",
                                     file.path, kMaxSamples));
      return;
    }
    samples_ += samples;
    for (TextFamily& family : *parsed) add_family(file.path, std::move(family));
  }

 private:
  void add_family(const std::string& path, TextFamily family) {
    const auto [place, is_new] = places_.try_emplace(family.name, families.size());
    if (is_new) {
      if (family.help.empty()) family.help = "Metric read from " + path;
      families.push_back(std::move(family));
      return;
    }
    TextFamily* const known = &families[place->second];
    if (known->type != family.type) {
      problems.push_back(fmt::format("{}: {} is a {}, and a {} in another file", path, family.name,
                                     family.type, known->type));
      return;
    }
    if (!family.help.empty() && family.help != known->help) {
      problems.push_back(
          fmt::format("{}: {} has another help text in another file", path, family.name));
      return;
    }
    std::ranges::move(family.samples, std::back_inserter(known->samples));
  }

  std::unordered_map<std::string, std::size_t> places_;  // of the families, by name
  std::size_t samples_ = 0;
};

class TextfileCollector final : public Collector {
 public:
  explicit TextfileCollector(std::shared_ptr<AskedTextFiles> asked)
      : has_directory_(asked != nullptr), answers_(std::move(asked)) {}

  [[nodiscard]] std::string_view name() const override { return "textfile"; }
  [[nodiscard]] Tier tier() const override { return Tier::medium; }
  [[nodiscard]] bool has_news() const override { return answers_.has_news(); }
  [[nodiscard]] std::string_view problem() const override { return problem_; }

  [[nodiscard]] Status collect(Samples& out) override {
    if (!scrape_error_.valid()) scrape_error_ = out.open(kScrapeError, {});
    if (!has_directory_) {
      out.set(scrape_error_, 0);
      return {};
    }
    const auto answer = answers_.take();
    if (!answer) {
      out.set(scrape_error_, 1);
      if (answer.error().kind == ErrorKind::timed_out) return std::unexpected(answer.error());
      problem_ = answer.error().message;
      return {};
    }
    if (*answer == nullptr) return {};  // asked for a moment ago
    out.read_at((*answer)->time);
    if (*(*answer)->value != files_) {
      files_ = *(*answer)->value;
      take_files(out);
    }
    problem_ = file_problem_;
    for (const auto& [key, entry] : entries_) out.set(entry.series, entry.value);
    out.set(scrape_error_, problem_.empty() ? 0 : 1);
    return {};
  }

 private:
  struct Entry {
    SeriesHandle series;
    double value = 0;
  };
  // What tells series apart, and what a descriptor says besides.
  using Key = std::vector<std::string>;

  void take_files(Samples& out) {
    Merged merged;
    for (const TextFile& file : files_) merged.add(file);
    std::map<Key, Entry> before = std::exchange(entries_, {});
    std::vector<Wanted> wanted;
    for (const auto& [path, modified_s] : merged.read) {
      wanted.push_back({.key = {"", path},
                        .descriptor = nullptr,
                        .values = {path},
                        .value = static_cast<double>(modified_s)});
    }
    for (const TextFamily& family : merged.families) want(family, wanted, merged.problems);
    // What goes is closed first: its name may come again with other labels.
    for (const Wanted& series : wanted) {
      const auto known = before.find(series.key);
      if (known == before.end()) continue;
      entries_[series.key] = {known->second.series, series.value};
      before.erase(known);
    }
    for (auto& [key, gone] : before) out.close(gone.series);
    for (const Wanted& series : wanted) open(series, out);
    file_problem_ = merged.problems.empty() ? "" : merged.problems.front();
    if (merged.problems.size() > 1) {
      file_problem_ += fmt::format(" (and {} more)", merged.problems.size() - 1);
    }
  }

  struct Wanted {
    Key key;
    std::shared_ptr<const MetricDescriptor> descriptor;  // nullptr: a file's time
    std::vector<std::string> values;
    double value = 0;
  };

  static void want(const TextFamily& family, std::vector<Wanted>& wanted,
                   std::vector<std::string>& problems) {
    std::map<std::string, std::set<std::string>> keys;  // by the name of the sample
    for (const TextSample& sample : family.samples) {
      auto& of_name = keys[sample.name];
      for (const auto& [key, value] : sample.labels) of_name.insert(key);
    }
    std::map<std::string, std::shared_ptr<const MetricDescriptor>> descriptors;
    for (const auto& [name, of_name] : keys) {
      descriptors[name] = make_descriptor(name, family, of_name);
    }
    std::set<Key> seen;
    for (const TextSample& sample : family.samples) {
      Wanted series{.key = {sample.name, family.name, family.type, family.help},
                    .descriptor = descriptors[sample.name],
                    .values = {},
                    .value = sample.value};
      auto label = sample.labels.begin();
      for (const std::string& key : keys[sample.name]) {
        const bool has = label != sample.labels.end() && label->first == key;
        series.values.push_back(has ? label->second : "");
        series.key.push_back(key);
        series.key.push_back(series.values.back());
        if (has) ++label;
      }
      if (!seen.insert(series.key).second) {
        problems.push_back(fmt::format("{} is there twice with the same labels", sample.name));
        continue;
      }
      wanted.push_back(std::move(series));
    }
  }

  void open(const Wanted& series, Samples& out) {
    if (entries_.contains(series.key)) return;
    const std::vector<std::string_view> values(series.values.begin(), series.values.end());
    const SeriesHandle handle =
        series.descriptor ? out.open(series.descriptor, values) : out.open(kMtime, values);
    entries_[series.key] = {handle, series.value};
  }

  bool has_directory_;
  AnswersTaken<std::vector<TextFile>> answers_;
  std::vector<TextFile> files_;
  std::map<Key, Entry> entries_;
  SeriesHandle scrape_error_;
  std::string file_problem_;  // of the files that there are
  std::string problem_;       // of the last reading
};

}  // namespace

std::unique_ptr<Collector> make_textfile_collector(std::shared_ptr<AskedTextFiles> asked) {
  return std::make_unique<TextfileCollector>(std::move(asked));
}

}  // namespace dynolog
