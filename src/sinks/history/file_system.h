// Which file systems the history can be kept on.
#pragma once

#include <cstdint>
#include <string>

namespace dynolog::history {

// "" when a database is safe on a file system whose statfs() has this f_type; else why not: it is
// on the network, where SQLite's locks and its log cannot be relied on, or memory in a file's
// clothes. A part of a sentence: "NFS, where ...".
[[nodiscard]] std::string unsuitable_file_system(std::uint32_t type);

// The same of the directory's file system, as a sentence.
[[nodiscard]] std::string unsuitable(const std::string& directory);

}  // namespace dynolog::history
