// Writer and reader walk the same list of fields, so that the two cannot drift apart.
#include "traces/trace_summary_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "traces/trace_summary_fields.h"

namespace dynolog {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// A summary's own depth is three; what a newer one adds may be a little deeper.
constexpr int kMaxDepth = 8;

template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
constexpr bool kIsVector = false;
template <class T>
constexpr bool kIsVector<std::vector<T>> = true;

// The limit of a list or text, by its field's name.
constexpr std::size_t limit_of(std::string_view field) {
  if (field == "categories") return kMaxSummaryCategories;
  if (field == "gpus") return kMaxSummaryGpus;
  if (field == "top_kernels" || field == "top_operators") return kMaxSummaryTop;
  if (field == "trace_id" || field == "host_name" || field == "name") return kMaxSummaryName;
  if (field == "category") return kMaxSummaryCategory;
  return kMaxSummarySentence;
}
constexpr std::size_t count_limit_of(std::string_view field) {
  return field == "warnings" ? kMaxSummaryWarnings : limit_of(field);
}

class Writer {
 public:
  template <class T>
  void operator()(const char* field, const T& value) {
    if constexpr (kIsOptional<T>) {
      if (value) out_[field] = *value;
    } else if constexpr (kIsVector<T>) {
      ordered_json array = ordered_json::array();
      const std::size_t count = std::min(value.size(), count_limit_of(field));
      for (std::size_t i = 0; i < count; ++i) array.push_back(json_of(field, value[i]));
      out_[field] = std::move(array);
    } else {
      out_[field] = json_of(field, value);
    }
  }
  [[nodiscard]] ordered_json take() { return std::move(out_); }

 private:
  template <class T>
  static ordered_json json_of(const char* field, const T& value) {
    if constexpr (std::floating_point<T>) {
      return std::isfinite(value) ? value : T{0};
    } else if constexpr (std::is_arithmetic_v<T>) {
      return value;
    } else if constexpr (std::same_as<T, std::string>) {
      return clean_text(value, limit_of(field));
    } else {
      Writer writer;
      visit_fields(writer, value);
      return writer.take();
    }
  }

  ordered_json out_ = ordered_json::object();
};

// Stops at the first field that is missing or wrong, and names it.
class Reader {
 public:
  Reader(const json& object, std::string& problem) : object_(object), problem_(problem) {}

  template <class T>
  void operator()(const char* field, T& value) {
    if (!problem_.empty()) return;
    const auto found = object_.find(field);
    const bool absent = found == object_.end() || found->is_null();
    if constexpr (kIsOptional<T>) {
      value.reset();
      if (!absent) read(*found, field, value.emplace());
    } else if (absent) {
      problem_ = fmt::format("the field \"{}\" is missing", field);
    } else {
      read(*found, field, value);
    }
  }

 private:
  void wrong(const char* field, std::string_view what) {
    if (problem_.empty()) problem_ = fmt::format("the field \"{}\" is not {}", field, what);
  }

  template <class T>
  void read(const json& from, const char* field, T& value) {
    if constexpr (std::same_as<T, bool>) {
      if (!from.is_boolean()) return wrong(field, "true or false");
      value = from.get<bool>();
    } else if constexpr (std::integral<T>) {
      read_integer(from, field, value);
    } else if constexpr (std::floating_point<T>) {
      if (!from.is_number()) return wrong(field, "a number");
      value = from.get<T>();
    } else if constexpr (std::same_as<T, std::string>) {
      if (!from.is_string()) return wrong(field, "a string");
      const auto& text = from.get_ref<const std::string&>();
      if (text.size() > limit_of(field)) return wrong(field, "short enough");
      value = clean_text(text, limit_of(field));
    } else if constexpr (kIsVector<T>) {
      read_list(from, field, value);
    } else {
      if (!from.is_object()) return wrong(field, "a list of objects");
      Reader reader(from, problem_);
      visit_fields(reader, value);
    }
  }

  template <std::integral T>
  void read_integer(const json& from, const char* field, T& value) {
    if (from.is_number_unsigned()) {
      const auto number = from.get<std::uint64_t>();
      if (!std::in_range<T>(number)) return wrong(field, "in range");
      value = static_cast<T>(number);
    } else if (from.is_number_integer()) {
      const auto number = from.get<std::int64_t>();
      if (!std::in_range<T>(number)) return wrong(field, "in range");
      value = static_cast<T>(number);
    } else {
      wrong(field, "a whole number");
    }
  }

  template <class T>
  void read_list(const json& from, const char* field, std::vector<T>& values) {
    if (!from.is_array()) return wrong(field, "a list");
    if (from.size() > count_limit_of(field)) return wrong(field, "short enough");
    values.clear();
    for (const json& element : from) {
      read(element, field, values.emplace_back());
      if (!problem_.empty()) return;
    }
  }

  const json& object_;
  std::string& problem_;
};

struct TooDeep {};

}  // namespace

std::string encode_trace_summary(const TraceSummary& summary) {
  Writer writer;
  visit_fields(writer, summary);
  return writer.take().dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

Result<TraceSummary> decode_trace_summary(std::string_view text) {
  if (text.size() > kMaxSummaryJson) {
    return fail(ErrorKind::invalid,
                fmt::format("a trace's summary of over {} KiB is refused", kMaxSummaryJson >> 10U));
  }
  const auto shallow = [](int depth, json::parse_event_t /*event*/, json& /*value*/) {
    if (depth > kMaxDepth) throw TooDeep{};
    return true;
  };
  TraceSummary summary;
  std::string problem;
  try {
    const json object = json::parse(text, shallow);
    if (!object.is_object()) {
      return fail(ErrorKind::invalid, "a trace's summary is not a JSON object");
    }
    Reader reader(object, problem);
    visit_fields(reader, summary);
  } catch (const TooDeep&) {
    problem = fmt::format("it is nested deeper than {} levels", kMaxDepth);
  } catch (const json::exception& exception) {
    problem = clean_text(exception.what(), 200);
  }
  if (!problem.empty()) {
    return fail(ErrorKind::invalid, "a trace's summary cannot be read: " + problem);
  }
  return summary;
}

}  // namespace dynolog
