// A frame as a page of Prometheus' text formats. Pure: no socket, no thread. Prefixes
// ("name{labels}
// ") are rendered once for a series table, values for each page.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/catalogue.h"
#include "metrics/frame.h"
#include "sinks/options.h"

namespace dynolog {

enum class PageFormat {
  text,          // text format 0.0.4
  open_metrics,  // OpenMetrics 1.0.0
};

// By collector: what is left out is what is about one, too. One of the two is empty.
struct PageChoice {
  std::span<const std::string> only{};  // these alone; empty: all
  std::span<const std::string> without{};
};

class PrometheusPage {
 public:
  // `catalogue` says which collector a metric is of; what is not in it has no collector. Series
  // past `max_series` are left out.
  PrometheusPage(Catalogue catalogue, PrometheusFamilies families, std::size_t max_series);

  // Appends to `page`. Absent values have no line, and families without a line no header.
  void render(const Frame& frame, PageFormat format, PageChoice choice, std::string& page);

  // Of the last frame's table: the series on the page, and those that found no room on it or say
  // the same as another one.
  [[nodiscard]] std::size_t series() const { return lines_.size(); }
  [[nodiscard]] std::size_t left_out() const { return left_out_; }

 private:
  struct Line {
    std::uint32_t prefix_at = 0;
    std::uint32_t prefix_size = 0;
    Slot slot = 0;
    std::uint16_t section = 0;  // an index into the catalogue
  };
  struct Family {
    std::string text_header;
    std::string open_metrics_header;
    std::uint32_t first_line = 0;
    std::uint32_t lines = 0;
  };
  struct Draft;
  void plan(const SeriesTable& table);
  [[nodiscard]] std::vector<Draft> drafts_of(const SeriesTable& table) const;
  [[nodiscard]] std::uint16_t section_of(const Series& series) const;
  [[nodiscard]] std::uint16_t section_named(std::string_view name) const;
  [[nodiscard]] std::vector<bool> chosen_sections(PageChoice choice) const;
  [[nodiscard]] bool is_offered(std::string_view family) const;

  Catalogue catalogue_;
  PrometheusFamilies families_wanted_;
  std::size_t max_series_;
  std::shared_ptr<const SeriesTable> planned_for_;
  std::string prefixes_;
  std::vector<Line> lines_;
  std::vector<Family> families_;
  std::size_t left_out_ = 0;
};

// Is there a collector of this name, so that a page of its series alone makes sense?
[[nodiscard]] bool has_collector(Catalogue catalogue, std::string_view name);

// A number as both formats take it: whole ones in full, others as short as they read back exactly.
void append_prometheus_number(std::string& text, double value);

// Backslash, quote and line end, as label values need it.
void append_prometheus_escaped(std::string& text, std::string_view value);

}  // namespace dynolog
