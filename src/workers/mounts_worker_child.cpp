// The mounts worker's own side: answers one request after the other until the daemon goes.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "base/file.h"
#include "net/child_process.h"
#include "workers/mounts_frames.h"
#include "workers/mounts_worker.h"
#include "workers/request_channel.h"
#include "workers/systemd_units.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxMountinfo = 32U << 20U;

// Of the host, as process 1 sees it; of our own where that may not be read.
Result<std::string> read_mountinfo(const SystemRoot& root) {
  auto text = read_file(root.proc + "/1/mountinfo", kMaxMountinfo);
  if (!text) text = read_file(root.proc + "/self/mountinfo", kMaxMountinfo);
  return text;
}

Result<TextFile> read_text_file(const std::string& path) {
  TextFile file{.path = path, .modified_s = 0, .text = {}, .problem = {}};
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0) return fail_errno(errno, path);
  if (!S_ISREG(status.st_mode)) return fail(ErrorKind::invalid, path + ": is no regular file");
  file.modified_s = status.st_mtim.tv_sec;
  auto text = read_all(fd.get(), kMaxTextFileBytes);
  if (!text) return with_context(std::move(text.error()), path);
  file.text = std::move(*text);
  return file;
}

Result<std::vector<TextFile>> read_text_files(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> paths;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().native().ends_with(".prom")) paths.push_back(entry->path().native());
  }
  if (error) return fail_errno(error.value(), directory);
  std::ranges::sort(paths);
  std::vector<TextFile> files;
  std::size_t bytes = 0;
  for (const std::string& path : paths) {
    auto file = read_text_file(path);
    if (file && bytes + file->text.size() > kMaxTextFilesBytes) {
      file = fail(ErrorKind::exhausted, fmt::format("{}: the files of the directory are more than "
                                                    "{} MiB together",
                                                    path, kMaxTextFilesBytes >> 20U));
    }
    if (!file) {
      files.push_back({.path = path, .modified_s = 0, .text = {}, .problem = file.error().message});
    } else {
      bytes += file->text.size();
      files.push_back(std::move(*file));
    }
    if (files.size() == kMaxTextFiles) break;
  }
  return files;
}

class Child {
 public:
  Child(int channel, const SystemRoot& root, const ReadMountRoom& read_room,
        BoundedWork::Limits limits)
      : channel_(channel), root_(root), read_room_(read_room), work_(limits) {}

  // False when the daemon has gone.
  bool answer(std::uint64_t number, const MountsRequest& request) {
    if (request.verb == MountsRequest::Verb::text_files) {
      return answer_text_files(number, request.directory);
    }
    if (request.verb == MountsRequest::Verb::units) return answer_units(number, request.units);
    auto mounts = look_at_mounts(request);
    if (!mounts) return send(number, encode_mounts_error(mounts.error()));
    const std::vector<std::string> parts = encode_mounts(*mounts);
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      if (!send(0, parts[i])) return false;
    }
    return send(number, parts.back());
  }

 private:
  Result<std::vector<MountUsage>> look_at_mounts(const MountsRequest& request) {
    const auto points = NameFilter::compile(request.mount_points);
    if (!points) return std::unexpected(points.error());
    const auto types = NameFilter::compile(request.types);
    if (!types) return std::unexpected(types.error());
    const auto text = read_mountinfo(root_);
    if (!text) return std::unexpected(text.error());
    std::vector<MountUsage> usages;
    std::vector<BoundedWork::Piece> pieces;
    // A thread that hangs writes into its own place, whenever it comes back.
    std::vector<std::shared_ptr<Result<MountRoom>>> rooms;
    for (Mount& mount : reachable_mounts(parse_mountinfo(*text))) {
      if (!points->accepts(mount.mount_point) || !types->accepts(mount.type)) continue;
      auto room = std::make_shared<Result<MountRoom>>();
      rooms.push_back(room);
      pieces.push_back(
          {.name = mount.mount_point,
           .work = [room, read = read_room_, point = mount.mount_point] { *room = read(point); }});
      usages.push_back({.mount = std::move(mount), .state = {}, .room = {}, .problem = {}});
    }
    const auto outcomes = work_.run(std::move(pieces));
    for (std::size_t i = 0; i < usages.size(); ++i) take(outcomes[i], *rooms[i], usages[i]);
    return usages;
  }

  static void take(BoundedWork::Outcome outcome, const Result<MountRoom>& room, MountUsage& usage) {
    if (outcome == BoundedWork::Outcome::hangs) {
      usage.state = MountState::hangs;
    } else if (outcome == BoundedWork::Outcome::not_begun) {
      usage.state = MountState::not_reached;
    } else if (!room) {
      usage.state = MountState::failed;
      usage.problem = room.error().message;
    } else {
      usage.state = MountState::read;
      usage.room = *room;
    }
  }

  bool answer_text_files(std::uint64_t number, const std::string& directory) {
    auto files = std::make_shared<Result<std::vector<TextFile>>>();
    const auto outcome =
        work_.run({{.name = "text files in " + directory,
                    .work = [files, directory] { *files = read_text_files(directory); }}});
    if (outcome.front() != BoundedWork::Outcome::done) {
      return send(number,
                  encode_mounts_error({ErrorKind::timed_out, directory + " does not answer"}));
    }
    if (!*files) return send(number, encode_mounts_error(files->error()));
    for (const TextFile& file : **files) {
      if (!send_file(file)) return false;
    }
    return send(number, encode(TextFilePart{}));
  }

  bool send_file(const TextFile& file) {
    std::string_view left = file.text;
    do {
      const TextFilePart part{.path = file.path,
                              .modified_s = file.modified_s,
                              .problem = file.problem,
                              .bytes = std::string(left.substr(0, kTextFilePartBytes))};
      if (!send(0, encode(part))) return false;
      left.remove_prefix(std::min(left.size(), kTextFilePartBytes));
    } while (!left.empty());
    return true;
  }

  bool answer_units(std::uint64_t number, const std::vector<std::string>& names) {
    auto found = std::make_shared<Result<std::vector<UnitState>>>();
    const auto outcome = work_.run({{.name = "units", .work = [found, units = units_, names] {
                                       *found = units->read(names);
                                     }}});
    if (outcome.front() != BoundedWork::Outcome::done) {
      return send(number,
                  encode_mounts_error({ErrorKind::timed_out, "the system bus does not answer"}));
    }
    return send(number, *found ? encode_units(**found) : encode_mounts_error(found->error()));
  }

  bool send(std::uint64_t number, const std::string& body) {
    return send_frame(channel_, encode_numbered(number, body)).has_value();
  }

  int channel_;
  SystemRoot root_;
  ReadMountRoom read_room_;
  BoundedWork work_;
  std::shared_ptr<SystemdUnits> units_ = SystemdUnits::make();
};

}  // namespace

int run_mounts_worker(int channel, const SystemRoot& root, const ReadMountRoom& read_room,
                      BoundedWork::Limits limits) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  Child child(channel, root, read_room, limits);
  std::string frame;
  while (receive_frame(channel, frame)) {
    const auto numbered = decode_numbered(frame);
    if (!numbered) return 1;
    const auto request = decode_mounts_request(numbered->body);
    if (!request) return 1;
    if (!child.answer(numbered->number, *request)) return 0;
  }
  return 0;
}

}  // namespace dynolog
