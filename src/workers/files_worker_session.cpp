// The verbs of the files worker, as the owner of the processes.
#include "workers/files_worker_session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "artifacts/chunk.h"
#include "artifacts/delivery.h"
#include "artifacts/held_directory.h"
#include "artifacts/in_root.h"
#include "workers/low_priority.h"
#include "workers/torch_probe.h"

namespace dynolog {
namespace {

DirectoryAnswer answer_from(const DirectoryLook& look) {
  return {.usable = look.usable,
          .unknown = look.unknown,
          .fault = look.fault,
          .problem = look.problem,
          .directory_id = look.directory ? look.directory->id : std::string(),
          .free_bytes = look.free_bytes,
          .file_exists = look.file_exists,
          .in_memory = look.in_memory};
}

// A file beside it, with more in its name, is not what was meant.
bool names_directory(int root, const std::string& path) {
  return !path.empty() && try_open_in_root(root, path, O_PATH | O_DIRECTORY).has_value();
}

std::string text_of(const FileStamp& stamp) {
  return fmt::format("{}:{}:{}", stamp.inode, stamp.modified_ns, stamp.bytes);
}

}  // namespace

FilesSession::FilesSession(OwnedProcesses owned, Result<DirectoryWatch> directories,
                           const Clock& clock, Tell tell)
    : owned_(std::move(owned)) {
  if (!directories) {
    unwatchable_ = std::move(directories.error());
    return;
  }
  const auto keep = [this](Pid pid, WrittenTrace written) {
    const auto places = places_.find(pid);
    if (places != places_.end()) places->second.written = std::move(written);
  };
  watcher_.emplace(std::move(*directories), owned_.uid(), clock,
                   TraceWatcher::Listener{.tell = std::move(tell), .keep = keep});
}

std::string FilesSession::answer(const FilesRequest& request) {
  using Verb = FilesRequest::Verb;
  switch (request.verb) {
    case Verb::identities:
      return encode_status(fail(ErrorKind::denied, "the identities are taken once"));
    case Verb::prepare:
      return encode_prepared(prepare(request.pid, request.places));
    case Verb::watch:
      return encode_status(watch(request));
    case Verb::unwatch:
      if (watcher_) watcher_->unwatch(request.pid);
      return encode_status({});
    case Verb::deliver:
      return encode_delivered(deliver(request.pid, request.order));
    case Verb::complete:
      return encode_status(complete(request.pid, request.distributed_info));
    case Verb::read_chunk:
      return encode_chunk(read_piece(request.pid, request.offset));
    case Verb::release:
      return encode_status(release(request.pid));
    case Verb::discard:
      return encode_discarded(discard(request.pid, request.discard));
    case Verb::library_id: {
      const auto root = owned_.root_of(request.pid);
      if (!root) return encode_library_id(std::unexpected(root.error()));
      return encode_library_id(torch_library_id(*root, request.library));
    }
    case Verb::torch_facts: {
      const auto root = owned_.root_of(request.pid);
      if (!root) return encode_torch(std::unexpected(root.error()));
      return encode_torch(probe_torch(*root, request.library, request.kineto_config));
    }
  }
  std::unreachable();
}

Result<PreparedPlaces> FilesSession::prepare(Pid pid, const PlacesAsked& asked) {
  const auto root = owned_.root_of(pid);
  if (!root) return std::unexpected(root.error());
  if (watcher_) watcher_->unwatch(pid);
  places_.erase(pid);
  PreparedPlaces prepared;
  Places places;
  // The target first: what is made for it may be the file's directory too.
  if (auto held = hold_target(*root, asked, places, prepared.target); !held) {
    return std::unexpected(std::move(held.error()));
  }
  if (auto held = hold_file(*root, asked, places, prepared.file); !held) {
    return std::unexpected(std::move(held.error()));
  }
  hold_elsewhere(*root, asked, places);
  prepared.one_file_system = places.target && !places.watched.empty() &&
                             on_one_file_system(*places.watched.front(), *places.target);
  places_.emplace(pid, std::move(places));
  return prepared;
}

Status FilesSession::hold_target(int root, const PlacesAsked& asked, Places& places,
                                 DirectoryAnswer& answer) const {
  if (asked.target.empty()) {
    places.target_problem = "no place was named where the file is to lie";
    return {};
  }
  auto look = look_at_trace_directory(root, asked.target, owned_.uid(),
                                      {.delivery = true, .make = asked.make_directories});
  if (!look) return std::unexpected(std::move(look.error()));
  answer = answer_from(*look);
  if (names_directory(root, asked.named)) {
    answer.usable = answer.unknown = false;
    answer.fault = asked.named + " is a directory";
    answer.problem = fmt::format("{}: add the name of a file, such as {}", answer.fault,
                                 joined(asked.named, "trace.json"));
  }
  places.target = std::move(look->directory);
  if (!places.target) places.target_problem = answer.problem;
  return {};
}

Status FilesSession::hold_file(int root, const PlacesAsked& asked, Places& places,
                               DirectoryAnswer& answer) const {
  auto look = look_at_trace_directory(root, asked.file, owned_.uid());
  if (!look) return std::unexpected(std::move(look.error()));
  answer = answer_from(*look);
  if (look->directory) {
    places.watched.push_back(std::make_shared<const TraceDirectory>(std::move(*look->directory)));
  } else {
    places.file_problem = answer.problem;
  }
  return {};
}

void FilesSession::hold_elsewhere(int root, const PlacesAsked& asked, Places& places) const {
  if (places.watched.empty()) return;  // the first of the watched is the file's own
  for (const std::string& path : asked.elsewhere) {
    auto look = look_at_trace_directory(root, path, owned_.uid());
    if (!look || !look->directory) continue;
    places.watched.push_back(std::make_shared<const TraceDirectory>(std::move(*look->directory)));
  }
}

Status FilesSession::watch(const FilesRequest& request) {
  if (!watcher_) return std::unexpected(unwatchable_);
  const auto places = places_.find(request.pid);
  if (places == places_.end()) {
    return fail(ErrorKind::invalid,
                fmt::format("the directories of process {} were not prepared", request.pid.value));
  }
  if (places->second.watched.empty()) {
    return fail(ErrorKind::denied, places->second.file_problem);
  }
  places->second.written.reset();
  watcher_->watch(request.pid, places->second.watched, request.trace_id, request.expect);
  return {};
}

Result<WrittenTrace*> FilesSession::written_of(Pid pid) {
  const auto places = places_.find(pid);
  if (places == places_.end() || !places->second.written) {
    return fail(ErrorKind::not_found,
                fmt::format("no checked file of process {} is held", pid.value));
  }
  return &*places->second.written;
}

Status FilesSession::add_info(WrittenTrace& written, const std::string& distributed_info) const {
  if (distributed_info.empty() || written.has_distributed_info) return {};
  if (!written.file.closing_brace) {
    return fail(ErrorKind::unavailable,
                "distributedInfo was not added: only a whole JSON file takes it");
  }
  auto added = add_distributed_info(written.file, distributed_info, owned_.uid());
  if (!added) return with_context(std::move(added.error()), "adding distributedInfo");
  written.has_distributed_info = true;
  return {};
}

Result<DeliveredFile> FilesSession::deliver(Pid pid, const DeliveryOrder& order) {
  const auto written = written_of(pid);
  if (!written) return std::unexpected(written.error());
  WrittenTrace& trace = **written;
  Places& places = places_.at(pid);
  if (!places.target) {
    const TraceDirectory& at = trace.file.directory;
    return fail(ErrorKind::unavailable,
                fmt::format("{}; the file is at {}/{}", places.target_problem, at.path, at.name));
  }
  const auto added = add_info(trace, order.distributed_info);
  const DeliverTo to{.directory = *places.target,
                     .gzip = order.gzip && !trace.compressed,
                     .side_car = order.side_car};
  auto delivered =
      deliver_file(trace.file, to, owned_.uid(), [this, pid] { watcher_->during_work(pid); });
  if (!delivered) return delivered;
  std::vector<std::string>& notes = delivered->notes;
  if (!added) notes.insert(notes.begin(), added.error().message);
  const auto root = owned_.root_of(pid);
  if (root && !lies_at_its_path(*root, *places.target)) {
    notes.push_back(fmt::format(
        "{} does not lead to the directory any more that the file was brought to: it was moved, or "
        "its process ended",
        places.target->path));
  }
  places.written.reset();
  return delivered;
}

Status FilesSession::complete(Pid pid, const std::string& distributed_info) {
  const auto written = written_of(pid);
  if (!written) return std::unexpected(written.error());
  return add_info(**written, distributed_info);
}

Result<FileChunk> FilesSession::read_piece(Pid pid, std::uint64_t offset) {
  const auto written = written_of(pid);
  if (!written) return std::unexpected(written.error());
  const StagedFile& file = (*written)->file;
  const auto stamp = stamp_of(file.fd.get());
  if (!stamp) return std::unexpected(stamp.error());
  if (*stamp != file.stamp) {
    return fail(ErrorKind::denied, fmt::format("{}/{} was changed since it was checked",
                                               file.directory.path, file.directory.name));
  }
  FileChunk chunk{.offset = offset,
                  .plain_bytes = 0,
                  .total_bytes = stamp->bytes,
                  .crc32 = 0,
                  .stamp = text_of(*stamp),
                  .data = {},
                  .last = true};
  if (offset >= stamp->bytes) return chunk;
  Result<Chunk> piece = fail(ErrorKind::failed, "not begun");
  run_at_low_priority([&] { piece = read_chunk(file.fd.get(), offset, kMaxChunkData); });
  if (!piece) return std::unexpected(std::move(piece.error()));
  chunk.plain_bytes = piece->plain_bytes;
  chunk.crc32 = piece->crc32;
  chunk.data = std::move(piece->data);
  chunk.last = offset + chunk.plain_bytes >= chunk.total_bytes;
  return chunk;
}

Status FilesSession::release(Pid pid) {
  const auto written = written_of(pid);
  if (!written) return std::unexpected(written.error());
  auto removed = remove_staged((*written)->file);
  if (removed) places_.at(pid).written.reset();
  return removed;
}

Result<bool> FilesSession::discard(Pid pid, FilesWorker::Discard when) {
  const auto places = places_.find(pid);
  if (places == places_.end() || places->second.watched.empty()) {
    return fail(ErrorKind::not_found,
                fmt::format("no directory is held for process {}", pid.value));
  }
  const TraceDirectory& directory = *places->second.watched.front();
  const std::string name = temporary_name(directory);
  auto there = is_plain_file_of(directory, name, owned_.uid());
  if (!there || !*there) return there;
  if (when == FilesWorker::Discard::when_closed) {
    if (auto closed = nobody_has_open(directory, name); !closed) {
      return std::unexpected(std::move(closed.error()));
    }
  }
  // Who swaps the name now could have removed it as well: in a directory of others (sticky) only
  // the owner can.
  if (::unlinkat(directory.fd.get(), name.c_str(), 0) != 0) {
    if (errno == ENOENT) return false;
    return fail_errno(errno, fmt::format("removing {}/{}", directory.path, name));
  }
  return true;
}

}  // namespace dynolog
