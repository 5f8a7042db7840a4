// O_EXCL under a random name, fdatasync, rename by held descriptors: no link that somebody laid in
// the directory is ever followed.
#include "cli/received_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/path_template.h"
#include "base/random.h"
#include "base/unique_fd.h"
#include "traces/gzip_deflater.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxName = 220;  // 255, less what a temporary's and a side-car's name add
constexpr std::size_t kMaxSideCar = 64U << 10U;
constexpr int kMaxDepth = 16;
constexpr mode_t kFileMode = 0666;  // less the user's mask, as any program's files
constexpr const char* kSideCars = ".dynolog";

std::unexpected<Error> not_written(int error_number, const std::string& path) {
  const auto because = [&](std::string_view why) {
    return fail(ErrorKind::exhausted, fmt::format("{}: {}", path, why));
  };
  switch (error_number) {
    case ENOSPC:
      return because("no room is left on that file system: make room, or choose another place");
    case EDQUOT:
      return because("over your disk quota: make room, or choose another place");
    case EFBIG:
      return because("larger than files may be here (see `ulimit -f`)");
    default:
      return fail_errno(error_number, path);
  }
}

Status write_to(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return not_written(errno, path);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

UniqueFd create_exclusively(int directory, const std::string& name) {
  return UniqueFd(::openat(directory, name.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
}

std::string temporary_name(const std::string& name) {
  return fmt::format(".{}.{}.part", name, random_hex64());
}

class FileInDirectory final : public ReceivedFile {
 public:
  FileInDirectory(UniqueFd directory, UniqueFd fd, std::string path, std::string name,
                  std::string temporary, bool gzip)
      : directory_(std::move(directory)),
        fd_(std::move(fd)),
        path_(std::move(path)),
        name_(std::move(name)),
        temporary_(std::move(temporary)),
        compressor_(gzip ? std::make_unique<GzipDeflater>() : nullptr) {}
  ~FileInDirectory() override {
    if (fd_.valid()) ::unlinkat(directory_.get(), temporary_.c_str(), 0);
  }

  Status write(std::string_view plain) override {
    return compressor_ ? compress(plain, false) : put(plain);
  }

  Status restart() override {
    if (::ftruncate(fd_.get(), 0) != 0 || ::lseek(fd_.get(), 0, SEEK_SET) != 0) {
      return fail_errno(errno, path_);
    }
    bytes_ = 0;
    if (compressor_) compressor_->restart();
    return {};
  }

  Status finish() override {
    if (compressor_) {
      if (Status ended = compress({}, true); !ended) return ended;
    }
    // Some file systems only tell here that there was no room.
    if (::fdatasync(fd_.get()) != 0) return not_written(errno, path_);
    struct stat standing{};
    replaced_ = ::fstatat(directory_.get(), name_.c_str(), &standing, AT_SYMLINK_NOFOLLOW) == 0;
    if (::renameat(directory_.get(), temporary_.c_str(), directory_.get(), name_.c_str()) != 0) {
      return fail_errno(errno, path_);
    }
    fd_.reset();
    return {};
  }

  Status side_car(std::string_view json) override;

  const std::string& path() const override { return path_; }
  std::uint64_t bytes() const override { return bytes_; }
  bool replaced() const override { return replaced_; }

 private:
  Status put(std::string_view bytes) {
    Status written = write_to(fd_.get(), bytes, path_);
    if (written) bytes_ += bytes.size();
    return written;
  }
  Status compress(std::string_view plain, bool last) {
    if (!compressor_->ready()) return fail(ErrorKind::exhausted, "no memory for compressing");
    Status written;
    compressor_->feed(plain, last, [&](std::string_view bytes) {
      written = put(bytes);
      return written.has_value();
    });
    return written;
  }

  UniqueFd directory_;
  UniqueFd fd_;  // of the temporary; closed when it has its name
  std::string path_;
  std::string name_;
  std::string temporary_;
  std::unique_ptr<GzipDeflater> compressor_;
  std::uint64_t bytes_ = 0;
  bool replaced_ = false;
};

struct TooDeep {};

// The text again, when it is an object, with the file's name, which only its receiver knows.
Result<std::string> readable_object(std::string_view text, const std::string& name) {
  using nlohmann::ordered_json;
  if (text.size() > kMaxSideCar) return fail(ErrorKind::invalid, "the daemon's text is too long");
  const auto shallow = [](int depth, ordered_json::parse_event_t /*event*/,
                          ordered_json& /*value*/) {
    if (depth > kMaxDepth) throw TooDeep{};
    return true;
  };
  try {
    auto object = ordered_json::parse(text, shallow);
    if (object.is_object()) {
      object["file"] = name;
      return object.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
    }
  } catch (const TooDeep&) {
    return fail(ErrorKind::invalid, "the daemon's text is nested too deep");
  } catch (const ordered_json::exception&) {
  }
  return fail(ErrorKind::invalid, "the daemon's text is no JSON object");
}

Status FileInDirectory::side_car(std::string_view json) {
  const auto text = readable_object(json, name_);
  if (!text) return std::unexpected(text.error());
  ::mkdirat(directory_.get(), kSideCars, 0755);
  const UniqueFd directory(
      ::openat(directory_.get(), kSideCars, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid()) return fail_errno(errno, kSideCars);
  // In a directory for everybody, anybody may have made it first.
  struct stat status{};
  if (::fstat(directory.get(), &status) != 0 || status.st_uid != ::geteuid()) {
    return fail(
        ErrorKind::denied,
        fmt::format("{} there is somebody else's: choose a directory of your own", kSideCars));
  }
  const std::string name = name_ + ".json";
  const std::string temporary = temporary_name(name_);
  const UniqueFd fd = create_exclusively(directory.get(), temporary);
  if (!fd.valid()) return fail_errno(errno, kSideCars);
  Status written = write_to(fd.get(), *text, fmt::format("{}/{}", kSideCars, name));
  if (written &&
      ::renameat(directory.get(), temporary.c_str(), directory.get(), name.c_str()) != 0) {
    written = fail_errno(errno, kSideCars);
  }
  if (!written) ::unlinkat(directory.get(), temporary.c_str(), 0);
  return written;
}

}  // namespace

std::string stored_name(const std::string& name, bool gzip) { return gzip ? with_gz(name) : name; }

Status check_file_name(std::string_view name) {
  if (name.empty() || name == "." || name == ".." || name.contains('/') || name.contains('\0')) {
    return fail(ErrorKind::invalid, "no name that a file can have");
  }
  if (name.size() > kMaxName) {
    return fail(ErrorKind::invalid,
                fmt::format("a file's name of {} bytes: at most {} are possible here", name.size(),
                            kMaxName));
  }
  return {};
}

Result<std::unique_ptr<ReceivedFile>> ReceivedFile::create(const std::string& directory,
                                                           const std::string& name, bool gzip) {
  const std::string stored = stored_name(name, gzip);
  const std::string path = fmt::format("{}/{}", directory == "/" ? "" : directory, stored);
  if (const Status good = check_file_name(stored); !good) {
    return with_context(good.error(), path);
  }
  UniqueFd held(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!held.valid()) return fail_errno(errno, directory);
  std::string temporary = temporary_name(stored);
  UniqueFd fd = create_exclusively(held.get(), temporary);
  if (!fd.valid()) return not_written(errno, path);
  return std::make_unique<FileInDirectory>(std::move(held), std::move(fd), path, stored,
                                           std::move(temporary), gzip);
}

}  // namespace dynolog
