// Everything by names of our own below a held directory; what is read back is not trusted blindly.
#include "daemon/kept_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/number.h"
#include "workers/frame_json.h"

namespace dynolog {
namespace {

constexpr int kVersion = 1;
constexpr std::string_view kJsonData = ".json.gz";
constexpr std::string_view kPickleData = ".pickle.gz";
constexpr std::string_view kIndex = ".index";
constexpr std::string_view kFacts = ".kept.json";
constexpr std::size_t kMaxFactsFile = 2 * kMaxSideCar;
constexpr std::uint64_t kMaxPieces = 1U << 24U;
constexpr std::uint64_t kEntriesAtOnce = 1024;  // 32 KiB of the index

// In the byte order of the host: the state directory does not travel.
struct IndexEntry {
  std::uint64_t plain_offset = 0;
  std::uint64_t data_offset = 0;
  std::uint32_t plain_bytes = 0;
  std::uint32_t data_bytes = 0;
  std::uint32_t crc32 = 0;
  std::uint32_t mark = 0;  // kMark: a block that was never written is none
};
static_assert(sizeof(IndexEntry) == 32);
constexpr std::uint32_t kMark = 0x444e5931;

std::string name_of(Pid pid, std::string_view suffix) {
  return fmt::format("{}{}", pid.value, suffix);
}

std::string data_name(Pid pid, bool snapshot) {
  return name_of(pid, snapshot ? kPickleData : kJsonData);
}

Result<UniqueFd> make_file(int directory, const std::string& name) {
  UniqueFd fd(::openat(directory, name.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return fail_errno(errno, name);
  return fd;
}

Result<UniqueFd> open_file(int directory, const std::string& name) {
  UniqueFd fd(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, name);
  return fd;
}

std::uint64_t size_of(int fd) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size)
                                                          : 0;
}

Status read_exactly(int fd, char* into, std::size_t bytes, std::uint64_t offset) {
  while (bytes > 0) {
    const ssize_t got = ::pread(fd, into, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "read");
    if (got == 0) return fail(ErrorKind::invalid, "it ends too early");
    into += got;
    bytes -= static_cast<std::size_t>(got);
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

// `entries` are filled, from that of the piece `number` on.
Status read_entries(int index, std::uint64_t number, std::span<IndexEntry> entries) {
  auto read = read_exactly(index, reinterpret_cast<char*>(entries.data()), entries.size_bytes(),
                           number * sizeof(IndexEntry));
  if (!read) return read;
  const bool sound = std::ranges::all_of(entries, [](const IndexEntry& entry) {
    return entry.mark == kMark && entry.data_bytes <= kMaxChunkData;
  });
  if (!sound) return fail(ErrorKind::invalid, "its index is damaged");
  return {};
}

Result<IndexEntry> read_entry(int index, std::uint64_t number) {
  IndexEntry entry;
  if (auto read = read_entries(index, number, {&entry, 1}); !read) {
    return std::unexpected(std::move(read.error()));
  }
  return entry;
}

// The pieces lie side by side, in both files, and are all of it.
Status check_index(int index, const KeptFacts& facts) {
  const auto damaged = [] { return fail(ErrorKind::invalid, "its index is damaged"); };
  if (facts.pieces > kMaxPieces || size_of(index) != facts.pieces * sizeof(IndexEntry)) {
    return damaged();
  }
  std::uint64_t plain = 0;
  std::uint64_t data = 0;
  std::vector<IndexEntry> block(std::min(facts.pieces, kEntriesAtOnce));
  for (std::uint64_t done = 0; done < facts.pieces; done += block.size()) {
    block.resize(std::min(facts.pieces - done, kEntriesAtOnce));
    if (auto read = read_entries(index, done, block); !read) return read;
    for (const IndexEntry& entry : block) {
      if (entry.plain_offset != plain || entry.data_offset != data) return damaged();
      plain += entry.plain_bytes;
      data += entry.data_bytes;
    }
  }
  if (plain != facts.plain_bytes || data != facts.data_bytes) return damaged();
  return {};
}

// The last one that begins at or before `offset`, which is within the file.
Result<IndexEntry> find_entry(int index, std::uint64_t pieces, std::uint64_t offset) {
  std::uint64_t first = 0;
  std::uint64_t behind = pieces;
  while (behind - first > 1) {
    const std::uint64_t middle = first + (behind - first) / 2;
    const auto entry = read_entry(index, middle);
    if (!entry) return entry;
    (entry->plain_offset <= offset ? first : behind) = middle;
  }
  return read_entry(index, first);
}

std::string text_of(const KeptFacts& facts) {
  return frame_text({{"dynolog_kept", kVersion},
                     {"pid", facts.pid.value},
                     {"owner_uid", facts.owner.uid.value},
                     {"owner_container", facts.owner.container},
                     {"kept_at", facts.kept_at.time_since_epoch().count()},
                     {"snapshot", facts.snapshot},
                     {"stamp", facts.stamp},
                     {"plain_bytes", facts.plain_bytes},
                     {"data_bytes", facts.data_bytes},
                     {"pieces", facts.pieces},
                     {"side_car", facts.side_car}});
}

Result<KeptFacts> facts_of(std::string_view text) {
  const auto json = frame_object(text);
  if (!json) return std::unexpected(json.error());
  FrameMembers members(*json);
  KeptFacts facts;
  const int version = members.integer<int>("dynolog_kept");
  facts.pid = Pid{members.integer<std::int32_t>("pid")};
  facts.owner.uid = Uid{members.integer<std::uint32_t>("owner_uid")};
  facts.owner.container = members.exact_text("owner_container", kMaxContainerIdentity);
  facts.kept_at = WallTime(Nanoseconds(members.integer<std::int64_t>("kept_at")));
  facts.snapshot = members.boolean("snapshot");
  facts.stamp = members.exact_text("stamp", kMaxFrameText);
  facts.plain_bytes = members.integer<std::uint64_t>("plain_bytes");
  facts.data_bytes = members.integer<std::uint64_t>("data_bytes");
  facts.pieces = members.integer<std::uint64_t>("pieces");
  facts.side_car = members.exact_text("side_car", kMaxSideCar);
  if (!members.ok() || version != kVersion) {
    return fail(ErrorKind::invalid, "what is known of it is not readable");
  }
  return facts;
}

}  // namespace

KeptFileWriter::KeptFileWriter(int directory, Pid pid, bool snapshot, UniqueFd data, UniqueFd index)
    : directory_(directory), data_(std::move(data)), index_(std::move(index)) {
  facts_.pid = pid;
  facts_.snapshot = snapshot;
}

KeptFileWriter::KeptFileWriter(KeptFileWriter&& other) noexcept
    : directory_(other.directory_),
      data_(std::move(other.data_)),
      index_(std::move(other.index_)),
      facts_(std::move(other.facts_)),
      last_seen_(other.last_seen_),
      kept_(std::exchange(other.kept_, true)) {}

KeptFileWriter::~KeptFileWriter() {
  if (!kept_) remove_kept_file(directory_, facts_.pid);
}

Result<KeptFileWriter> KeptFileWriter::create(int directory, Pid pid, bool snapshot) {
  remove_kept_file(directory, pid);
  auto data = make_file(directory, data_name(pid, snapshot));
  if (!data) return std::unexpected(std::move(data.error()));
  auto index = make_file(directory, name_of(pid, kIndex));
  if (!index) {
    remove_kept_file(directory, pid);
    return std::unexpected(std::move(index.error()));
  }
  return KeptFileWriter(directory, pid, snapshot, std::move(*data), std::move(*index));
}

Status KeptFileWriter::append(const FileChunk& chunk) {
  if (facts_.pieces == 0) facts_.stamp = chunk.stamp;
  const bool follows = !last_seen_ && chunk.offset == facts_.plain_bytes &&
                       chunk.stamp == facts_.stamp && chunk.data.size() <= kMaxChunkData &&
                       chunk.plain_bytes <= std::numeric_limits<std::uint32_t>::max() &&
                       facts_.pieces < kMaxPieces;
  if (!follows) return fail(ErrorKind::invalid, "the file changed while it was copied");
  last_seen_ = chunk.last;
  if (chunk.plain_bytes == 0) return {};
  const IndexEntry entry{.plain_offset = facts_.plain_bytes,
                         .data_offset = facts_.data_bytes,
                         .plain_bytes = static_cast<std::uint32_t>(chunk.plain_bytes),
                         .data_bytes = static_cast<std::uint32_t>(chunk.data.size()),
                         .crc32 = chunk.crc32,
                         .mark = kMark};
  std::array<char, sizeof entry> bytes{};
  std::memcpy(bytes.data(), &entry, bytes.size());
  if (auto put = write_all(data_.get(), chunk.data); !put) return put;
  if (auto put = write_all(index_.get(), {bytes.data(), bytes.size()}); !put) return put;
  facts_.plain_bytes += chunk.plain_bytes;
  facts_.data_bytes += chunk.data.size();
  ++facts_.pieces;
  return {};
}

Result<KeptFacts> KeptFileWriter::keep(KeptFacts facts) {
  if (!last_seen_) return fail(ErrorKind::invalid, "the copy has no end");
  facts.pid = facts_.pid;
  facts.snapshot = facts_.snapshot;
  facts.stamp = facts_.stamp;
  facts.plain_bytes = facts_.plain_bytes;
  facts.data_bytes = facts_.data_bytes;
  facts.pieces = facts_.pieces;
  if (facts.side_car.size() > kMaxSideCar) facts.side_car.clear();
  // Under another name first: a file of this name is always whole.
  const std::string temporary = name_of(facts.pid, kIndex) + ".new";
  ::unlinkat(directory_, temporary.c_str(), 0);
  const auto file = make_file(directory_, temporary);
  if (!file) return std::unexpected(file.error());
  auto put = write_all(file->get(), text_of(facts));
  const std::string name = name_of(facts.pid, kFacts);
  if (put && ::renameat(directory_, temporary.c_str(), directory_, name.c_str()) != 0) {
    put = fail_errno(errno, name);
  }
  if (!put) {
    ::unlinkat(directory_, temporary.c_str(), 0);
    return std::unexpected(std::move(put.error()));
  }
  kept_ = true;
  return facts;
}

Result<KeptFacts> read_kept_facts(int directory, Pid pid) {
  const auto file = open_file(directory, name_of(pid, kFacts));
  if (!file) return std::unexpected(file.error());
  const auto text = read_all(file->get(), kMaxFactsFile);
  if (!text) return std::unexpected(text.error());
  auto facts = facts_of(*text);
  if (!facts) return facts;
  if (facts->pid != pid) return fail(ErrorKind::invalid, "it is another process's");
  const auto data = open_file(directory, data_name(pid, facts->snapshot));
  if (!data) return std::unexpected(data.error());
  if (size_of(data->get()) != facts->data_bytes) {
    return fail(ErrorKind::invalid, "it has not the size that it had");
  }
  const auto index = open_file(directory, name_of(pid, kIndex));
  if (!index) return std::unexpected(index.error());
  if (auto checked = check_index(index->get(), *facts); !checked) {
    return std::unexpected(std::move(checked.error()));
  }
  return facts;
}

Result<FileChunk> read_kept_piece(int directory, const KeptFacts& facts, std::uint64_t offset) {
  FileChunk chunk;
  chunk.total_bytes = facts.plain_bytes;
  chunk.stamp = facts.stamp;
  if (offset >= facts.plain_bytes) {
    chunk.offset = facts.plain_bytes;
    chunk.last = true;
    return chunk;
  }
  const auto index = open_file(directory, name_of(facts.pid, kIndex));
  if (!index) return std::unexpected(index.error());
  const auto data = open_file(directory, data_name(facts.pid, facts.snapshot));
  if (!data) return std::unexpected(data.error());
  const auto entry = find_entry(index->get(), facts.pieces, offset);
  if (!entry) return std::unexpected(entry.error());
  chunk.offset = entry->plain_offset;
  chunk.plain_bytes = entry->plain_bytes;
  chunk.crc32 = entry->crc32;
  chunk.data.resize(entry->data_bytes);
  chunk.last = entry->plain_offset + entry->plain_bytes == facts.plain_bytes;
  auto read = read_exactly(data->get(), chunk.data.data(), chunk.data.size(), entry->data_offset);
  if (!read) return std::unexpected(std::move(read.error()));
  return chunk;
}

void remove_kept_file(int directory, Pid pid) {
  // What says that it is whole goes first.
  for (const std::string_view suffix : {kFacts, kIndex, kJsonData, kPickleData}) {
    ::unlinkat(directory, name_of(pid, suffix).c_str(), 0);
  }
}

Pid kept_file_pid(std::string_view name) {
  for (const std::string_view suffix : {kFacts, kIndex, kJsonData, kPickleData}) {
    if (!name.ends_with(suffix)) continue;
    const auto pid = parse_number<std::int32_t>(name.substr(0, name.size() - suffix.size()));
    return pid && *pid > 0 && name_of(Pid{*pid}, suffix) == name ? Pid{*pid} : Pid{};
  }
  return {};
}

}  // namespace dynolog
