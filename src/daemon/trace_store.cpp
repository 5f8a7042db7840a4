// Quotas, and what an earlier daemon left.
#include "daemon/trace_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/ascii.h"
#include "base/file.h"
#include "base/text.h"
#include "daemon/own_directory.h"

namespace dynolog {
namespace {

constexpr char kSessionFile[] = "session.json";
constexpr char kLockFile[] = "lock";
constexpr std::size_t kMaxSessionFile = 64U << 20U;
constexpr std::size_t kMaxEntries = 65'536;
// All tenants together may have as many traces as this many that use their limit.
constexpr std::size_t kTenants = 4;
// The rest of the file system is others'.
constexpr unsigned long kLeastFree = 20;  // a twentieth
// By then it shows how well a trace can be compressed.
constexpr std::uint64_t kSample = 16ULL << 20U;

bool is_session_id(std::string_view name) {
  return name.size() == 16 && std::ranges::all_of(name, is_lower_hex);
}

// Without "." and "..".
std::vector<std::string> names_in(int directory) {
  std::vector<std::string> names;
  UniqueFd again(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(again.get()), &::closedir);
  if (!listing) return names;
  static_cast<void>(again.release());
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == kMaxEntries) break;
    names.emplace_back(name);
  }
  return names;
}

bool disk_is_nearly_full(int directory) {
  struct statvfs room{};
  if (::fstatvfs(directory, &room) != 0) return false;
  return room.f_bavail < room.f_blocks / kLeastFree;
}

double mebibytes(std::uint64_t bytes) { return static_cast<double>(bytes) / (1U << 20U); }

}  // namespace

// --- opening

Result<std::unique_ptr<TraceStore>> TraceStore::open(const std::string& directory, Limits limits,
                                                     Log& log) {
  auto opened = open_own_directory(directory, 0700, "--state_dir");
  if (!opened) return std::unexpected(std::move(opened.error()));
  UniqueFd lock(
      ::openat(opened->get(), kLockFile, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.valid()) return fail_errno(errno, directory + "/" + kLockFile);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return fail_errno(errno, directory + "/" + kLockFile);
    return fail(ErrorKind::unavailable, "another dynolog daemon keeps its traces in " + directory +
                                            ": give this one a --state_dir of its own");
  }
  std::unique_ptr<TraceStore> store(
      new TraceStore(std::move(*opened), std::move(lock), limits, log));
  store->read_back();
  return store;
}

Result<UniqueFd> TraceStore::open_session(const SessionId& session) const {
  UniqueFd fd(::openat(directory_.get(), session.value.c_str(),
                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, session.value);
  return fd;
}

void TraceStore::read_back() {
  for (const std::string& name : names_in(directory_.get())) {
    if (is_session_id(name)) read_back_session(SessionId{name});
  }
}

void TraceStore::read_back_session(const SessionId& session) {
  const auto directory = open_session(session);
  if (!directory) {
    log_.warning("kept traces of session {} cannot be read: {}", session.value,
                 directory.error().message);
    return;
  }
  std::set<Pid> pids;
  for (const std::string& name : names_in(directory->get())) {
    const Pid pid = kept_file_pid(name);
    if (pid.value > 0) {
      pids.insert(pid);
    } else if (name != kSessionFile) {
      ::unlinkat(directory->get(), name.c_str(), 0);
    }
  }
  Kept& kept = sessions_[session];
  for (const Pid pid : pids) {
    auto facts = read_kept_facts(directory->get(), pid);
    if (!facts) {
      log_.warning("the kept trace of process {} of session {} is not whole, and is removed: {}",
                   pid.value, session.value, facts.error().message);
      remove_kept_file(directory->get(), pid);
      continue;
    }
    Usage& usage = usage_[facts->owner];
    usage.bytes += facts->data_bytes;
    ++usage.traces;
    facts->side_car.clear();
    kept.traces.emplace(pid, std::move(*facts));
  }
  drop_if_empty(session);
}

// --- taking in

Result<std::unique_ptr<TraceStore::Intake>> TraceStore::take_in(const SessionId& session, Pid pid,
                                                                const Tenant& owner,
                                                                bool snapshot) {
  if (!is_session_id(session.value)) return fail(ErrorKind::invalid, "no session's id");
  remove(session, pid);
  if (auto room = make_room(session, owner, 0, 1); !room) return std::unexpected(room.error());
  if (::mkdirat(directory_.get(), session.value.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail_errno(errno, "the daemon's trace store");
  }
  auto directory = open_session(session);
  if (!directory) return std::unexpected(std::move(directory.error()));
  auto writer = KeptFileWriter::create(directory->get(), pid, snapshot);
  if (!writer) return with_context(std::move(writer.error()), "the daemon's trace store");
  ++sessions_[session].intakes;
  ++usage_[owner].traces;
  return std::make_unique<Intake>(*this, session, owner, std::move(*directory), std::move(*writer));
}

TraceStore::Intake::Intake(TraceStore& store, SessionId session, Tenant owner, UniqueFd directory,
                           KeptFileWriter writer)
    : store_(store),
      session_(std::move(session)),
      owner_(std::move(owner)),
      directory_(std::move(directory)),
      writer_(std::move(writer)) {}

TraceStore::Intake::~Intake() {
  if (writer_) {  // not kept
    store_.give_back(owner_, writer_->data_bytes());
    writer_.reset();
  }
  --store_.sessions_[session_].intakes;
  store_.drop_if_empty(session_);
}

Status TraceStore::Intake::check_room(const FileChunk& chunk) {
  if (disk_is_nearly_full(directory_.get())) {
    return fail(ErrorKind::exhausted,
                "the file system of the daemon's state directory is nearly full");
  }
  // Not worth it to remove older traces for one that will not fit anyway.
  const std::uint64_t plain = writer_->plain_bytes();
  if (plain >= kSample) {
    const double ratio = static_cast<double>(writer_->data_bytes()) / static_cast<double>(plain);
    const double whole = ratio * static_cast<double>(chunk.total_bytes);
    if (whole > static_cast<double>(store_.limits_.tenant_bytes)) {
      return fail(ErrorKind::exhausted,
                  fmt::format("it needs about {:.0f} MiB, and the daemon keeps at most {:.0f} MiB "
                              "for each user (--trace_store_mb)",
                              whole / (1U << 20U), mebibytes(store_.limits_.tenant_bytes)));
    }
  }
  return store_.make_room(session_, owner_, chunk.data.size(), 0);
}

Status TraceStore::Intake::append(const FileChunk& chunk) {
  if (auto room = check_room(chunk); !room) return room;
  const std::uint64_t before = writer_->data_bytes();
  auto appended = writer_->append(chunk);
  store_.usage_[owner_].bytes += writer_->data_bytes() - before;
  if (!appended) return with_context(std::move(appended.error()), "the daemon's trace store");
  return {};
}

Status TraceStore::Intake::keep(std::string side_car, WallTime now) {
  KeptFacts facts;
  facts.owner = owner_;
  facts.kept_at = now;
  facts.side_car = std::move(side_car);
  auto kept = writer_->keep(std::move(facts));
  if (!kept) return with_context(std::move(kept.error()), "the daemon's trace store");
  writer_.reset();
  kept->side_car.clear();
  const Pid pid = kept->pid;
  store_.sessions_[session_].traces.insert_or_assign(pid, std::move(*kept));
  return {};
}

// --- room

TraceStore::Usage TraceStore::usage_of(const Tenant& tenant) const {
  const auto found = usage_.find(tenant);
  return found == usage_.end() ? Usage{} : found->second;
}

TraceStore::Usage TraceStore::usage() const {
  Usage all;
  for (const auto& [tenant, one] : usage_) {
    all.bytes += one.bytes;
    all.traces += one.traces;
  }
  return all;
}

Status TraceStore::make_room(const SessionId& session, const Tenant& owner, std::uint64_t bytes,
                             std::size_t traces) {
  for (;;) {
    const Usage mine = usage_of(owner);
    const Usage all = usage();
    const bool over_own =
        mine.bytes + bytes > limits_.tenant_bytes || mine.traces + traces > limits_.tenant_traces;
    const bool over_all =
        all.bytes + bytes > limits_.bytes || all.traces + traces > kTenants * limits_.tenant_traces;
    if (!over_own && !over_all) return {};
    if (remove_oldest(session, owner)) continue;
    if (over_own) {
      return fail(ErrorKind::exhausted,
                  fmt::format("the daemon keeps at most {:.0f} MiB and {} traces for each user "
                              "(--trace_store_mb), and this session alone has more",
                              mebibytes(limits_.tenant_bytes), limits_.tenant_traces));
    }
    return fail(ErrorKind::exhausted,
                fmt::format("the daemon's store of {:.0f} MiB is full of others' traces "
                            "(--trace_store_mb)",
                            mebibytes(limits_.bytes)));
  }
}

bool TraceStore::remove_oldest(const SessionId& but, const Tenant& owner) {
  const KeptFacts* oldest = nullptr;
  SessionId session;
  for (const auto& [id, kept] : sessions_) {
    if (id == but) continue;
    for (const auto& [pid, facts] : kept.traces) {
      if (facts.owner != owner || (oldest != nullptr && facts.kept_at >= oldest->kept_at)) continue;
      oldest = &facts;
      session = id;
    }
  }
  if (oldest == nullptr) return false;
  const Pid pid = oldest->pid;
  log_.info("the kept trace of process {} of session {} gives way to a newer one of its user",
            pid.value, session.value);
  remove(session, pid);
  return true;
}

void TraceStore::give_back(const Tenant& owner, std::uint64_t bytes) {
  Usage& usage = usage_[owner];
  usage.bytes -= std::min(usage.bytes, bytes);
  if (usage.traces > 0) --usage.traces;
  if (usage.traces == 0) usage_.erase(owner);
}

// --- removing

std::uint64_t TraceStore::remove(const SessionId& session, Pid pid) {
  const auto kept = sessions_.find(session);
  if (kept == sessions_.end()) return 0;
  const auto trace = kept->second.traces.find(pid);
  if (trace == kept->second.traces.end()) return 0;
  const std::uint64_t freed = trace->second.data_bytes;
  give_back(trace->second.owner, freed);
  if (const auto directory = open_session(session)) remove_kept_file(directory->get(), pid);
  kept->second.traces.erase(trace);
  drop_if_empty(session);
  return freed;
}

std::uint64_t TraceStore::remove(const SessionId& session) {
  const auto kept = sessions_.find(session);
  if (kept == sessions_.end()) return 0;
  std::vector<Pid> pids;
  for (const auto& [pid, facts] : kept->second.traces) pids.push_back(pid);
  std::uint64_t freed = 0;
  for (const Pid pid : pids) freed += remove(session, pid);
  return freed;
}

void TraceStore::drop_if_empty(const SessionId& session) {
  const auto kept = sessions_.find(session);
  if (kept == sessions_.end() || !kept->second.traces.empty() || kept->second.intakes > 0) return;
  if (const auto directory = open_session(session)) {
    ::unlinkat(directory->get(), kSessionFile, 0);
  }
  ::unlinkat(directory_.get(), session.value.c_str(), AT_REMOVEDIR);
  sessions_.erase(kept);
}

void TraceStore::remove_older(WallTime now) {
  std::vector<std::pair<SessionId, Pid>> old;
  for (const auto& [session, kept] : sessions_) {
    for (const auto& [pid, facts] : kept.traces) {
      if (facts.kept_at + limits_.age <= now) old.emplace_back(session, pid);
    }
  }
  for (const auto& [session, pid] : old) {
    log_.info("the kept trace of process {} of session {} has reached its age and is removed",
              pid.value, session.value);
    remove(session, pid);
  }
}

std::optional<WallTime> TraceStore::next_removal() const {
  std::optional<WallTime> next;
  for (const auto& [session, kept] : sessions_) {
    for (const auto& [pid, facts] : kept.traces) {
      const WallTime end = facts.kept_at + limits_.age;
      if (!next || end < *next) next = end;
    }
  }
  return next;
}

// --- looking

const KeptFacts* TraceStore::find(const SessionId& session, Pid pid) const {
  const auto kept = sessions_.find(session);
  if (kept == sessions_.end()) return nullptr;
  const auto trace = kept->second.traces.find(pid);
  return trace == kept->second.traces.end() ? nullptr : &trace->second;
}

bool TraceStore::holds(const SessionId& session, Pid pid) const {
  return find(session, pid) != nullptr;
}

Result<FileChunk> TraceStore::read(const SessionId& session, Pid pid, std::uint64_t offset) const {
  const KeptFacts* facts = find(session, pid);
  if (facts == nullptr) return fail(ErrorKind::not_found, "the daemon does not keep this trace");
  const auto directory = open_session(session);
  if (!directory) return std::unexpected(directory.error());
  return read_kept_piece(directory->get(), *facts, offset);
}

std::string TraceStore::side_car(const SessionId& session, Pid pid) const {
  if (!holds(session, pid)) return "";
  const auto directory = open_session(session);
  auto facts =
      directory ? read_kept_facts(directory->get(), pid) : std::unexpected(directory.error());
  return facts ? std::move(facts->side_car) : "";
}

std::uint64_t TraceStore::bytes_of(const SessionId& session) const {
  const auto kept = sessions_.find(session);
  if (kept == sessions_.end()) return 0;
  std::uint64_t bytes = 0;
  for (const auto& [pid, facts] : kept->second.traces) bytes += facts.data_bytes;
  return bytes;
}

std::uint64_t TraceStore::bytes_of(const Tenant& tenant) const { return usage_of(tenant).bytes; }

std::optional<WallTime> TraceStore::kept_until(const SessionId& session) const {
  const auto kept = sessions_.find(session);
  if (kept == sessions_.end()) return std::nullopt;
  std::optional<WallTime> until;
  for (const auto& [pid, facts] : kept->second.traces) {
    const WallTime end = facts.kept_at + limits_.age;
    if (!until || end > *until) until = end;
  }
  return until;
}

void TraceStore::write_session(const SessionId& session, std::string_view text) {
  const auto kept = sessions_.find(session);
  if (kept == sessions_.end() || kept->second.traces.empty()) return;
  const auto directory = open_session(session);
  if (!directory) return;
  const std::string path = fmt::format("/proc/self/fd/{}/{}", directory->get(), kSessionFile);
  if (const auto written = replace_file(path, text, 0600); !written) {
    log_.warning("the record of session {} is not kept beside its traces: {}", session.value,
                 written.error().message);
  }
}

std::string TraceStore::session_text(const SessionId& session) const {
  const auto directory = open_session(session);
  auto text = directory
                  ? read_file(fmt::format("/proc/self/fd/{}/{}", directory->get(), kSessionFile),
                              kMaxSessionFile)
                  : std::unexpected(directory.error());
  if (text) return std::move(*text);
  log_.warning("nothing is known of session {}, whose traces are kept: {}", session.value,
               text.error().message);
  return "";
}

std::vector<SessionId> TraceStore::sessions() const {
  std::vector<SessionId> all;
  for (const auto& [session, kept] : sessions_) {
    if (!kept.traces.empty()) all.push_back(session);
  }
  return all;
}

}  // namespace dynolog
