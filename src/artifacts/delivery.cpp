// Renaming, copying, compressing, and the side-car: every step by held descriptors, and looked at
// again after it.
#include "artifacts/delivery.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <system_error>
#include <utility>

#include "artifacts/copy.h"
#include "artifacts/delivery_error.h"
#include "artifacts/held_directory.h"
#include "base/file.h"
#include "base/path_template.h"

namespace dynolog {
namespace {

constexpr const char* kSideCars = ".dynolog";
constexpr mode_t kPermissions = 0777;  // never the set-id bits
constexpr mode_t kReadableFor = 0444;

std::string shown(const StagedFile& staged) {
  return joined(staged.directory.path, staged.directory.name);
}

std::unexpected<Error> refuse(ErrorKind kind, std::string sentence) {
  return fail(kind, std::move(sentence));
}

// --- side-car ---

// Opened for sure: a directory of ours, not a link to one.
Result<UniqueFd> open_side_cars(const TraceDirectory& directory) {
  const std::string path = joined(directory.path, kSideCars);
  const int error = make_directory(directory.fd.get(), kSideCars);
  if (error != 0 && error != EEXIST) return fail_errno(error, "making " + path);
  UniqueFd fd(
      ::openat(directory.fd.get(), kSideCars, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (!fd.valid() && errno != ENOTDIR && errno != ELOOP) return fail_errno(errno, path);
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0 || status.st_uid != ::geteuid()) {
    return refuse(
        ErrorKind::denied,
        fmt::format("{} is there and is not a directory of uid {}: remove it", path, ::geteuid()));
  }
  return fd;
}

Status write_side_car_of(const TraceDirectory& directory, const std::string& name,
                         const std::string& text) {
  const std::string side_car = name + ".json";
  if (side_car.size() > NAME_MAX) {
    return refuse(ErrorKind::invalid,
                  fmt::format("{} is too long for a name with .json after it", name));
  }
  const auto side_cars = open_side_cars(directory);
  if (!side_cars) return std::unexpected(side_cars.error());
  const std::string path = joined(joined(directory.path, kSideCars), side_car);
  struct stat trace{};
  const bool found = ::fstatat(directory.fd.get(), name.c_str(), &trace, AT_SYMLINK_NOFOLLOW) == 0;
  const mode_t mode = S_IWUSR | (found ? trace.st_mode & kReadableFor : kReadableFor);

  auto file = NewFile::make(side_cars->get());
  if (!file) return fail_errno(file.error(), path);
  if (auto written = write_all(file->fd(), text); !written) {
    return with_context(std::move(written.error()), path);
  }
  if (::fchmod(file->fd(), mode) != 0) return fail_errno(errno, path);
  if (const int error = file->publish(side_car); error != 0) return fail_errno(error, path);
  if (id_under(side_cars->get(), side_car) != id_behind(file->fd())) {
    return refuse(ErrorKind::denied, fmt::format("{} was replaced at once by somebody", path));
  }
  return {};
}

// --- delivery ---

// One delivery, step by step. Lives for one call.
class Delivery {
 public:
  Delivery(const StagedFile& staged, const DeliverTo& to, Uid owner,
           const std::function<void()>& meanwhile)
      : staged_(staged), to_(to), owner_(owner), meanwhile_(meanwhile), name_(to.directory.name) {
    if (to.gzip) name_ = with_gz(std::move(name_));
    places_ = {.from = shown(staged),
               .directory = to.directory.path,
               .target = joined(to.directory.path, name_),
               .owner = owner,
               .total_bytes = staged.stamp.bytes,
               .compressed = to.gzip};
  }

  Result<DeliveredFile> run() {
    if (name_.size() > NAME_MAX) {
      return refuse(ErrorKind::invalid, fmt::format("{} is too long a name; the file is still {}",
                                                    places_.target, places_.from));
    }
    if (auto same = still_as_checked(staged_, owner_); !same) return std::unexpected(same.error());
    if (auto free = target_is_free(); !free) return std::unexpected(free.error());
    const auto renamed = rename_staged();
    if (!renamed) return std::unexpected(renamed.error());
    if (!*renamed) {
      if (auto copied = copy(); !copied) return std::unexpected(copied.error());
    }
    return finish();
  }

 private:
  [[nodiscard]] int target() const { return to_.directory.fd.get(); }

  Status target_is_free() {
    bool exists = false;
    const std::string problem = problem_of_target(to_.directory, name_, owner_, exists);
    if (problem.empty()) return {};
    return refuse(ErrorKind::denied,
                  fmt::format("{}; the file is still {}", problem, places_.from));
  }

  // False when it has to be copied.
  Result<bool> rename_staged() {
    if (to_.gzip) return false;
    const std::string& from = staged_.directory.name;
    if (::renameat(staged_.directory.fd.get(), from.c_str(), target(), name_.c_str()) != 0) {
      const int error = errno;
      if (!can_copy_instead(error)) return std::unexpected(step_error(error, 0, places_));
      note(fmt::format("copied, because {} could not be renamed to {}: {}", places_.from,
                       places_.target, std::generic_category().message(error)));
      return false;
    }
    if (auto stands = stands_there(staged_.fd.get()); !stands) {
      return std::unexpected(stands.error());
    }
    return true;
  }

  // Two file systems (or two parts of one), ones without rename, and directories that the worker
  // may not take a name out of: then the target decides.
  static bool can_copy_instead(int error) {
    return error == EXDEV || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP ||
           error == EPERM || error == EACCES;
  }

  Status copy() {
    if (auto room = has_room(); !room) return room;
    auto file = NewFile::make(target());
    if (!file) return std::unexpected(step_error(file.error(), 0, places_));
    const auto copy_all = to_.gzip ? compress_bytes : copy_bytes;
    const CopyResult copied =
        copy_all(staged_.fd.get(), file->fd(), staged_.stamp.bytes, meanwhile_);
    if (copied.end != CopyResult::End::whole) {
      return std::unexpected(copy_error(copied, places_));
    }
    if (auto complete = complete_copy(*file, copied.written); !complete) return complete;
    if (auto free = target_is_free(); !free) return free;
    if (const int error = file->publish(name_); error != 0) {
      return std::unexpected(step_error(error, copied.written, places_));
    }
    if (auto stands = stands_there(file->fd()); !stands) return stands;
    remove_source();
    return {};
  }

  // Filling the job's disk to the last block would harm the job, where it can be foreseen.
  Status has_room() {
    struct statvfs space{};
    if (to_.gzip || ::fstatvfs(target(), &space) != 0 || space.f_blocks == 0) return {};
    const std::uint64_t free = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
    if (free >= places_.total_bytes) return {};
    return std::unexpected(no_room_error(free, places_));
  }

  // The source's mode and time, and everything on the disk: the source is the only other copy.
  Status complete_copy(const NewFile& file, std::uint64_t written) {
    struct stat source{};
    if (::fstat(staged_.fd.get(), &source) != 0) return fail_errno(errno, places_.from);
    if (const auto now = stamp_of(staged_.fd.get()); !now || *now != staged_.stamp) {
      return std::unexpected(copy_error({.end = CopyResult::End::cut_short}, places_));
    }
    const std::array<timespec, 2> times = {source.st_atim, source.st_mtim};
    if (::fchmod(file.fd(), source.st_mode & kPermissions) != 0 ||
        ::futimens(file.fd(), times.data()) != 0 || ::fdatasync(file.fd()) != 0) {
      return std::unexpected(step_error(errno, written, places_));
    }
    return {};
  }

  Status stands_there(int fd) {
    const auto there = id_under(target(), name_);
    const auto wanted = id_behind(fd);
    struct stat status{};
    if (there && there == wanted && ::fstat(fd, &status) == 0) {
      delivered_.file_id = to_string(*there);
      delivered_.bytes = static_cast<std::uint64_t>(status.st_size);
      return {};
    }
    return refuse(ErrorKind::denied,
                  fmt::format("what stands at {} now is not the file that was checked: somebody "
                              "replaces names in {} or {}; use a directory of your own",
                              places_.target, staged_.directory.path, places_.directory));
  }

  void remove_source() {
    // The new name first, for good: a directory that cannot be synced is as it may be.
    const UniqueFd readable(::openat(target(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (readable.valid()) ::fsync(readable.get());
    if (staged_.directory.id == to_.directory.id && staged_.directory.name == name_) return;
    if (auto removed = remove_staged(staged_); !removed) {
      note(fmt::format("the copy is whole, but {} was not removed: {}", places_.from,
                       removed.error().message));
    }
  }

  Result<DeliveredFile> finish() {
    delivered_.path = places_.target;
    if (!to_.side_car.empty()) {
      if (auto written = write_side_car_of(to_.directory, name_, to_.side_car); !written) {
        note("the record beside the trace was not written: " + written.error().message);
      }
    }
    return std::move(delivered_);
  }

  void note(std::string text) { delivered_.notes.push_back(std::move(text)); }

  const StagedFile& staged_;
  const DeliverTo& to_;
  Uid owner_;
  const std::function<void()>& meanwhile_;
  std::string name_;
  DeliveryPlaces places_;
  DeliveredFile delivered_;
};

}  // namespace

Status still_as_checked(const StagedFile& staged, Uid owner) {
  struct stat status{};
  if (::fstat(staged.fd.get(), &status) != 0) return fail_errno(errno, shown(staged));
  const auto there = id_under(staged.directory.fd.get(), staged.directory.name);
  if (!there && errno == ENOENT) {
    return refuse(ErrorKind::not_found,
                  fmt::format("{} was removed after it was checked", shown(staged)));
  }
  if (there != FileId{.device = status.st_dev, .inode = status.st_ino}) {
    return refuse(ErrorKind::denied,
                  fmt::format("{} is not the file that was checked: somebody replaced it, and it "
                              "is left alone",
                              shown(staged)));
  }
  if (!S_ISREG(status.st_mode) || status.st_uid != owner.value || status.st_nlink != 1) {
    return refuse(ErrorKind::denied,
                  fmt::format("{} is not a plain file of uid {} with one name any more: it is left "
                              "alone",
                              shown(staged), owner.value));
  }
  if (const auto now = stamp_of(staged.fd.get()); !now || *now != staged.stamp) {
    return refuse(
        ErrorKind::denied,
        fmt::format("{} was changed after it was checked: it is left where it is", shown(staged)));
  }
  return {};
}

Result<DeliveredFile> deliver_file(const StagedFile& staged, const DeliverTo& to, Uid owner,
                                   const std::function<void()>& meanwhile) {
  return Delivery(staged, to, owner, meanwhile).run();
}

Status remove_staged(const StagedFile& staged) {
  struct stat status{};
  if (::fstat(staged.fd.get(), &status) != 0) return fail_errno(errno, shown(staged));
  if (auto same = still_as_checked(staged, Uid{status.st_uid}); !same) {
    if (same.error().kind == ErrorKind::not_found) return {};
    return same;
  }
  // Who can swap the name between the look and this could have removed the file as well.
  if (::unlinkat(staged.directory.fd.get(), staged.directory.name.c_str(), 0) != 0 &&
      errno != ENOENT) {
    return fail_errno(errno, "removing " + shown(staged));
  }
  return {};
}

}  // namespace dynolog
