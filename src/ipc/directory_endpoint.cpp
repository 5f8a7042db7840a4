// An endpoint in a directory that users write to: every name in it may be swapped at any moment.
// So the directory is held by a descriptor, names are looked up in it without following links, and
// a client's socket is checked and connected through the descriptor that was checked.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "ipc/datagram.h"
#include "ipc/handed_socket.h"
#include "ipc/kineto_endpoint.h"
#include "ipc/kineto_thread.h"
#include "ipc/unix_address.h"

namespace dynolog {
namespace {

constexpr auto kName = "dynolog";
constexpr std::string_view kClientPrefix = "dynoconfigclient";
// At an opening of a directory, which its user can bring about: a few milliseconds at most, since
// everybody's polls wait meanwhile.
constexpr int kMaxSwept = 256;
constexpr Nanoseconds kBetweenSweeps = std::chrono::minutes(1);

struct DirectoryCloser {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

class DirectoryEndpoint final : public KinetoEndpoint {
 public:
  DirectoryEndpoint(std::string directory, const Clock& clock)
      : directory_(std::move(directory)), clock_(clock) {}
  ~DirectoryEndpoint() override { DirectoryEndpoint::close(); }

  [[nodiscard]] Status open(const SystemRoot& root) override;
  [[nodiscard]] Status adopt(UniqueFd socket, const SystemRoot& root) override;
  void close() override;
  void leave() override { fd_.reset(); }
  [[nodiscard]] int fd() const override { return fd_.get(); }
  [[nodiscard]] const std::string& label() const override { return directory_; }
  [[nodiscard]] bool intact() const override;
  [[nodiscard]] bool of_one_user() const override { return of_one_user_; }
  [[nodiscard]] Result<ReplySocket> connect_reply(std::string_view sender, Uid owner,
                                                  const SystemRoot& root) override;
  void collect(const ReplySocket& socket, const SystemRoot& root) override;

 private:
  [[nodiscard]] std::string path_of(std::string_view name) const {
    return fmt::format("{}/{}", directory_, name);
  }
  [[nodiscard]] Status open_directory();
  [[nodiscard]] Status clear_name(const SystemRoot& root);
  [[nodiscard]] Result<struct stat> bind_in_directory(int socket, const std::string& name,
                                                      mode_t mode) const;
  [[nodiscard]] bool is_dead(const std::string& name, const SystemRoot& root) const;
  void sweep(const SystemRoot& root);

  std::string directory_;
  const Clock& clock_;
  UniqueFd held_;  // O_PATH
  UniqueFd fd_;
  struct stat own_{};  // our socket file
  bool of_one_user_ = false;
  std::optional<MonotonicTime> swept_;
};

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Connects to the very file that the descriptor holds, whatever its name leads to by now.
int connect_to_held(int socket, int held, const SystemRoot& root) {
  const auto address = unix_address(fmt::format("{}/self/fd/{}", root.proc, held));
  if (!address) return ENAMETOOLONG;
  return ::connect(socket, address->get(), address->length) == 0 ? 0 : errno;
}

Status DirectoryEndpoint::open_directory() {
  if (directory_.size() > kMaxSocketDirectory) {
    return fail(ErrorKind::invalid,
                fmt::format("the socket directory {} has {} characters; Kineto's clients work with "
                            "at most {}: choose a shorter path",
                            directory_, directory_.size(), kMaxSocketDirectory));
  }
  if (!directory_.starts_with('/')) {
    return fail(ErrorKind::invalid,
                fmt::format("the socket directory {} is not an absolute path", directory_));
  }
  held_.reset(::open(directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!held_.valid()) return fail_errno(errno, "opening the socket directory " + directory_);
  struct stat status{};
  // Several containers may have one directory mounted, each with a root of its own.
  of_one_user_ = ::fstat(held_.get(), &status) == 0 && status.st_uid != 0 &&
                 (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  return {};
}

bool DirectoryEndpoint::intact() const {
  struct stat held{};
  struct stat named{};
  struct stat socket{};
  return ::fstat(held_.get(), &held) == 0 && ::stat(directory_.c_str(), &named) == 0 &&
         same_file(held, named) &&
         ::fstatat(held_.get(), kName, &socket, AT_SYMLINK_NOFOLLOW) == 0 &&
         same_file(socket, own_);
}

// True for a socket file where nobody listens.
bool DirectoryEndpoint::is_dead(const std::string& name, const SystemRoot& root) const {
  const UniqueFd file(::openat(held_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (!file.valid() || ::fstat(file.get(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  const auto probe = make_reply_socket();
  return probe && connect_to_held(probe->get(), file.get(), root) == ECONNREFUSED;
}

// Makes room for our name: only a socket where nobody answers goes.
Status DirectoryEndpoint::clear_name(const SystemRoot& root) {
  struct stat status{};
  if (::fstatat(held_.get(), kName, &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
  if (!S_ISSOCK(status.st_mode)) {
    return fail(ErrorKind::unavailable,
                fmt::format("{} is there and is not a socket", path_of(kName)));
  }
  if (!is_dead(kName, root)) {
    // By which one is not looked up: any user could have us look, and it costs a walk over every
    // process's descriptors.
    return fail(ErrorKind::unavailable,
                fmt::format("the socket {}, of user {}, is held by a process that is not this "
                            "daemon",
                            path_of(kName), status.st_uid));
  }
  if (::unlinkat(held_.get(), kName, 0) != 0) {
    return fail_errno(errno, "removing the abandoned socket " + path_of(kName));
  }
  return {};
}

// By the exact path string, which is what the client compares. The string must lead into the
// directory that we hold.
Result<struct stat> DirectoryEndpoint::bind_in_directory(int socket, const std::string& name,
                                                         mode_t mode) const {
  const std::string path = path_of(name);
  const auto address = unix_address(path);
  if (!address) return fail(ErrorKind::invalid, path + " is too long for a socket");
  struct stat held{};
  struct stat named{};
  if (::fstat(held_.get(), &held) != 0 || ::stat(directory_.c_str(), &named) != 0 ||
      !same_file(held, named)) {
    return fail(ErrorKind::unavailable, directory_ + " is no longer the directory it was");
  }
  if (::fchmod(socket, mode) != 0) return fail_errno(errno, "setting a socket's mode");
  if (::bind(socket, address->get(), address->length) != 0) {
    return fail_errno(errno, "binding " + path);
  }
  struct stat bound{};
  if (::fstatat(held_.get(), name.c_str(), &bound, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISSOCK(bound.st_mode) || bound.st_uid != ::geteuid()) {
    return fail(ErrorKind::unavailable, path + " was swapped while it was bound");
  }
  return bound;
}

Status DirectoryEndpoint::open(const SystemRoot& root) {
  if (auto opened = open_directory(); !opened) return opened;
  if (auto cleared = clear_name(root); !cleared) return cleared;
  auto fd = make_datagram_socket();
  if (!fd) return std::unexpected(std::move(fd.error()));
  constexpr mode_t kEverybody = 0666;
  auto bound = bind_in_directory(fd->get(), kName, kEverybody);
  if (!bound) return std::unexpected(std::move(bound.error()));
  own_ = *bound;
  fd_ = std::move(*fd);
  sweep(root);
  return {};
}

Status DirectoryEndpoint::adopt(UniqueFd socket, const SystemRoot& root) {
  if (auto opened = open_directory(); !opened) return opened;
  if (auto good = check_handed_socket(socket.get(), path_of(kName)); !good) return good;
  struct stat file{};
  if (::fstatat(held_.get(), kName, &file, AT_SYMLINK_NOFOLLOW) != 0) {
    return fail(ErrorKind::not_found, "its file has gone: the directory was made anew");
  }
  if (!S_ISSOCK(file.st_mode) || file.st_uid != ::geteuid()) {
    return fail(ErrorKind::invalid, "the file of that name is not a socket of the daemon's");
  }
  if (auto same = check_bound_file(socket.get(), file); !same) return same;
  if (auto made = make_private(socket.get()); !made) return made;
  own_ = file;
  fd_ = std::move(socket);
  sweep(root);
  return {};
}

// Kineto's clients never unlink: those of dead processes go.
void DirectoryEndpoint::sweep(const SystemRoot& root) {
  const MonotonicTime now = clock_.monotonic();
  if (swept_ && now - *swept_ < kBetweenSweeps) return;
  swept_ = now;
  const int listing = ::openat(held_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (listing < 0) return;
  const std::unique_ptr<DIR, DirectoryCloser> directory(::fdopendir(listing));
  if (!directory) {
    ::close(listing);
    return;
  }
  for (int i = 0; i < kMaxSwept; ++i) {
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) return;
    const std::string name = entry->d_name;
    if (name.starts_with(kClientPrefix) && is_dead(name, root)) {
      ::unlinkat(held_.get(), name.c_str(), 0);
    }
  }
}

void DirectoryEndpoint::close() {
  if (!fd_.valid()) return;
  fd_.reset();
  struct stat now{};
  if (::fstatat(held_.get(), kName, &now, AT_SYMLINK_NOFOLLOW) == 0 && same_file(now, own_)) {
    ::unlinkat(held_.get(), kName, 0);
  }
}

Result<ReplySocket> DirectoryEndpoint::connect_reply(std::string_view sender, Uid owner,
                                                     const SystemRoot& root) {
  const std::string prefix = directory_ + '/';
  if (!sender.starts_with(prefix)) {
    return fail(ErrorKind::denied, "the sender is not in the directory");
  }
  const std::string base(sender.substr(prefix.size()));
  if (base.empty() || base.contains('/')) {
    return fail(ErrorKind::denied, "the sender is not in the directory");
  }
  const UniqueFd file(::openat(held_.get(), base.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return fail_errno(errno, "opening the sender's socket");
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return fail_errno(errno, "the sender's socket");
  if (!S_ISSOCK(status.st_mode) || status.st_uid != owner.value) {
    return fail(ErrorKind::denied, "the sender's name is not a socket of its user");
  }
  auto fd = make_reply_socket();
  if (!fd) return std::unexpected(std::move(fd.error()));
  // The client compares the path string only, and it stays with the socket: the file can go at
  // once.
  const std::string own_name = "dynolog-reply-" + random_hex64();
  constexpr mode_t kNobody = 0;
  auto bound = bind_in_directory(fd->get(), own_name, kNobody);
  if (!bound) return std::unexpected(std::move(bound.error()));
  ::unlinkat(held_.get(), own_name.c_str(), 0);
  const int error = connect_to_held(fd->get(), file.get(), root);
  if (error == ECONNREFUSED) return fail(ErrorKind::not_found, "the sender's socket is gone");
  if (error != 0) return fail_errno(error, "connecting a reply socket");
  return ReplySocket{.fd = std::move(*fd),
                     .sender = std::string(sender),
                     .device = status.st_dev,
                     .inode = status.st_ino};
}

void DirectoryEndpoint::collect(const ReplySocket& socket, const SystemRoot& root) {
  const std::string name = socket.sender.substr(socket.sender.rfind('/') + 1);
  struct stat now{};
  if (!name.starts_with(kClientPrefix) ||
      ::fstatat(held_.get(), name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0 ||
      now.st_dev != socket.device || now.st_ino != socket.inode || !is_dead(name, root)) {
    return;
  }
  ::unlinkat(held_.get(), name.c_str(), 0);
}

}  // namespace

std::unique_ptr<KinetoEndpoint> make_directory_endpoint(std::string directory, const Clock& clock) {
  return std::make_unique<DirectoryEndpoint>(std::move(directory), clock);
}

}  // namespace dynolog
