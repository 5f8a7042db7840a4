// Collector `textfile`: metrics that others put as text into a directory.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "collectors/asked.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"
#include "metrics/text_file.h"

namespace dynolog {

inline constexpr std::string_view kTextfileSource = "files *.prom of --textfile_directory";

// What the files hold has descriptors of its own, made as it is read.
inline constexpr std::array kTextfileMetrics = {
    MetricDescriptor{.id = "textfile.mtime",
                     .kind = MetricKind::gauge,
                     .unit = Unit::seconds,
                     .help = "When a text file was last written, in seconds since the epoch",
                     .source = kTextfileSource,
                     .labels = {LabelKey{"file", "file.path"}},
                     .prometheus = {.name = "node_textfile_mtime_seconds"},
                     .otlp = {.name = "dynolog.textfile.mtime"}},
    MetricDescriptor{.id = "textfile.scrape_error",
                     .kind = MetricKind::gauge,
                     .help = "Whether a text file could not be read or is not sound (1)",
                     .source = kTextfileSource,
                     .prometheus = {.name = "node_textfile_scrape_error"},
                     .otlp = {.name = "dynolog.textfile.scrape_error"}},
};

using AskedTextFiles = Asked<std::vector<TextFile>>;

// nullptr: no directory is named.
[[nodiscard]] std::unique_ptr<Collector> make_textfile_collector(
    std::shared_ptr<AskedTextFiles> asked);

}  // namespace dynolog
