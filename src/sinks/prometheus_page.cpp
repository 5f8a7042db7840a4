// Planning families and lines, and writing them out.
#include "sinks/prometheus_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>

#include "base/ascii.h"
#include "metrics/naming.h"

namespace dynolog {
namespace {

constexpr std::uint16_t kNoSection = std::numeric_limits<std::uint16_t>::max();

// A folded value may hold what a name may not.
std::string sound_name(std::string name) {
  for (char& letter : name) {
    if (!is_alnum(letter) && letter != ':') letter = '_';
  }
  if (!name.empty() && is_digit(name.front())) name.insert(0, "_");
  return name;
}

std::string_view type_of(const MetricDescriptor& descriptor) {
  if (!descriptor.prometheus.type_override.empty()) return descriptor.prometheus.type_override;
  return descriptor.kind == MetricKind::counter ? "counter" : "gauge";
}

void append_label(std::string& text, std::string_view key, std::string_view value) {
  text += text.ends_with('{') ? "" : ",";
  text += key;
  text += "=\"";
  append_prometheus_escaped(text, value);
  text += '"';
}

// "{cpu="0",mode="idle"} ", or a space alone.
std::string labels_of(const Series& series) {
  const MetricDescriptor& descriptor = *series.descriptor;
  std::string text = "{";
  for (std::size_t i = 0; i < series.label_values.size(); ++i) {
    const std::string_view key = descriptor.labels[i].key;
    if (!folds(descriptor.prometheus.name, key)) append_label(text, key, series.label_values[i]);
  }
  if (!descriptor.prometheus.fixed_key.empty()) {
    append_label(text, descriptor.prometheus.fixed_key, descriptor.prometheus.fixed_value);
  }
  return text.size() == 1 ? " " : text + "} ";
}

// Whose series are part of a page of one collector: those about it, such as its duration, too.
std::string header_of(std::string_view family, std::string_view type, std::string_view help) {
  std::string escaped;
  append_prometheus_escaped(escaped, help);
  return fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", family, escaped, type);
}

// OpenMetrics names a counter's family without the suffix that its samples have, and has no
// counters without it.
std::string open_metrics_header_of(std::string_view family, std::string_view type,
                                   std::string_view help) {
  constexpr std::string_view kTotal = "_total";
  if (type != "counter") {
    return header_of(family, type == "untyped" ? std::string_view("unknown") : type, help);
  }
  if (!family.ends_with(kTotal)) return header_of(family, "unknown", help);
  return header_of(family.substr(0, family.size() - kTotal.size()), type, help);
}

}  // namespace

struct PrometheusPage::Draft {
  std::string family;
  std::string name;
  std::string labels;
  Slot slot = 0;
  std::uint16_t section = 0;
  const MetricDescriptor* descriptor = nullptr;
};

PrometheusPage::PrometheusPage(Catalogue catalogue, PrometheusFamilies families,
                               std::size_t max_series)
    : catalogue_(catalogue), families_wanted_(families), max_series_(max_series) {}

bool PrometheusPage::is_offered(std::string_view family) const {
  if (family.starts_with("node_")) return families_wanted_.node;
  if (family.starts_with("DCGM_")) return families_wanted_.dcgm;
  return families_wanted_.own;
}

std::uint16_t PrometheusPage::section_named(std::string_view name) const {
  const auto found = std::ranges::find(catalogue_, name, &CatalogueSection::name);
  if (found == catalogue_.end()) return kNoSection;
  return static_cast<std::uint16_t>(found - catalogue_.begin());
}

std::uint16_t PrometheusPage::section_of(const Series& series) const {
  const std::string_view about = label_value(series, "collector");
  const std::less<const MetricDescriptor*> before;
  for (std::size_t i = 0; i < catalogue_.size(); ++i) {
    const auto metrics = catalogue_[i].metrics;
    const bool is_of = !before(series.descriptor, metrics.data()) &&
                       before(series.descriptor, metrics.data() + metrics.size());
    if (about.empty() ? is_of : catalogue_[i].name == about) return static_cast<std::uint16_t>(i);
  }
  // A descriptor that is no constant says as its source which collector it is of.
  return series.owned ? section_named(series.descriptor->source) : kNoSection;
}

std::vector<PrometheusPage::Draft> PrometheusPage::drafts_of(const SeriesTable& table) const {
  std::vector<Draft> drafts;
  for (Slot slot = 0; slot < table.size(); ++slot) {
    const Series* series = table.at(slot);
    if (series == nullptr || series->descriptor->prometheus.name.empty()) continue;
    std::string name = sound_name(expand_name(series->descriptor->prometheus.name, *series));
    const std::string_view whole = series->descriptor->prometheus.family;
    std::string family = whole.empty() ? name : std::string(whole);
    if (!is_offered(family)) continue;
    drafts.push_back({std::move(family), std::move(name), labels_of(*series), slot,
                      section_of(*series), series->descriptor});
  }
  std::ranges::sort(drafts, [](const Draft& a, const Draft& b) {
    return std::tie(a.family, a.name, a.labels, a.slot) <
           std::tie(b.family, b.name, b.labels, b.slot);
  });
  return drafts;
}

void PrometheusPage::plan(const SeriesTable& table) {
  prefixes_.clear();
  lines_.clear();
  families_.clear();
  left_out_ = 0;
  const std::vector<Draft> drafts = drafts_of(table);
  const Draft* before = nullptr;
  for (const Draft& draft : drafts) {
    const bool same_family = before != nullptr && before->family == draft.family;
    // Two lines of the same name and labels would make the whole page invalid.
    const bool said = same_family && before->name == draft.name && before->labels == draft.labels;
    if (lines_.size() == max_series_ || said) {
      ++left_out_;
      continue;
    }
    if (!same_family) {
      const std::string_view type = type_of(*draft.descriptor);
      families_.push_back({header_of(draft.family, type, draft.descriptor->help),
                           open_metrics_header_of(draft.family, type, draft.descriptor->help),
                           static_cast<std::uint32_t>(lines_.size()), 0});
    }
    const std::size_t at = prefixes_.size();
    prefixes_ += draft.name;
    prefixes_ += draft.labels;
    lines_.push_back({static_cast<std::uint32_t>(at),
                      static_cast<std::uint32_t>(prefixes_.size() - at), draft.slot,
                      draft.section});
    ++families_.back().lines;
    before = &draft;
  }
  prefixes_.shrink_to_fit();
}

std::vector<bool> PrometheusPage::chosen_sections(PageChoice choice) const {
  std::vector<bool> chosen(catalogue_.size());
  for (std::size_t i = 0; i < catalogue_.size(); ++i) {
    const auto is_among = [&](std::span<const std::string> names) {
      return std::ranges::find(names, catalogue_[i].name) != names.end();
    };
    chosen[i] = (choice.only.empty() || is_among(choice.only)) && !is_among(choice.without);
  }
  return chosen;
}

void PrometheusPage::render(const Frame& frame, PageFormat format, PageChoice choice,
                            std::string& page) {
  if (planned_for_ != frame.table()) {
    planned_for_ = frame.table();
    plan(*planned_for_);
  }
  const std::vector<bool> chosen = chosen_sections(choice);
  for (const Family& family : families_) {
    bool has_header = false;
    for (const Line& line : std::span(lines_).subspan(family.first_line, family.lines)) {
      const bool is_chosen =
          line.section == kNoSection ? choice.only.empty() : chosen[line.section];
      if (!is_chosen || !frame.states()[line.slot].is_present()) continue;
      if (!has_header) {
        page += format == PageFormat::text ? family.text_header : family.open_metrics_header;
        has_header = true;
      }
      page.append(prefixes_, line.prefix_at, line.prefix_size);
      append_prometheus_number(page, frame.values()[line.slot]);
      page += '\n';
    }
  }
  if (format == PageFormat::open_metrics) page += "# EOF\n";
}

bool has_collector(Catalogue catalogue, std::string_view name) {
  return std::ranges::find(catalogue, name, &CatalogueSection::name) != catalogue.end();
}

void append_prometheus_number(std::string& text, double value) {
  // The longest is a double's shortest form, of 24 characters; a whole number has at most 20.
  char digits[32];
  constexpr double kWhole = 9.2e18;  // below 2^63, above it only multiples of 2048 are doubles
  std::to_chars_result result{};
  if (std::floor(value) == value && std::abs(value) < kWhole) {
    result = std::to_chars(std::begin(digits), std::end(digits), static_cast<std::int64_t>(value));
  } else {
    result = std::to_chars(std::begin(digits), std::end(digits), value);
  }
  text.append(std::begin(digits), result.ptr);
}

void append_prometheus_escaped(std::string& text, std::string_view value) {
  for (const char letter : value) {
    if (letter == '\n') {
      text += "\\n";
      continue;
    }
    if (letter == '\\' || letter == '"') text += '\\';
    text += letter;
  }
}

}  // namespace dynolog
