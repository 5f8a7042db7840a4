// What the tests of deliveries share: files that were staged and checked, and child processes that
// take another user or mounts of their own.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "artifacts/delivery.h"
#include "artifacts/held_directory.h"
#include "base/file.h"

namespace dynolog::delivery_test {

namespace fs = std::filesystem;

inline const Uid kSelf{::geteuid()};
inline bool is_root() { return ::geteuid() == 0; }
// Who the files belong to: a user without privileges where the tests may become one.
inline const Uid kOwner = is_root() ? Uid{61234} : kSelf;
inline const std::string kCannotMount = "cannot mount";

inline std::string text_of(const fs::path& path) {
  return read_file(path, 200U << 20U).value_or("cannot be read");
}

inline std::string unfolded(const fs::path& path) {
  gzFile file = ::gzopen(path.c_str(), "rb");
  std::string text;
  std::string buffer(1U << 20U, '\0');
  int got = 0;
  while ((got = ::gzread(file, buffer.data(), static_cast<unsigned>(buffer.size()))) > 0) {
    text.append(buffer, 0, static_cast<std::size_t>(got));
  }
  EXPECT_EQ(got, 0) << path;
  EXPECT_EQ(::gzclose(file), Z_OK) << path;
  return text;
}

inline std::string random_bytes(std::size_t size) {
  std::mt19937_64 engine(size);
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = engine();
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, size - at));
  }
  return bytes;
}

inline std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

inline TraceDirectory hold(const fs::path& path, const std::string& name) {
  TraceDirectory directory;
  directory.fd.reset(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  EXPECT_TRUE(directory.fd.valid()) << path;
  directory.path = path;
  directory.name = name;
  if (const auto id = id_behind(directory.fd.get())) directory.id = to_string(*id);
  return directory;
}

// As the worker holds it after the check.
inline StagedFile stage(const fs::path& directory, const std::string& name) {
  StagedFile staged{.directory = hold(directory, name), .fd = {}, .stamp = {}, .closing_brace = {}};
  staged.fd.reset(::open((directory / name).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  EXPECT_TRUE(staged.fd.valid()) << name;
  staged.stamp = stamp_of(staged.fd.get()).value_or(FileStamp{});
  const std::size_t brace = text_of(directory / name).rfind('}');
  if (brace != std::string::npos) staged.closing_brace = brace;
  return staged;
}

// "delivered PATH", with the notes; or the error's kind and sentence.
inline std::string told(const Result<DeliveredFile>& delivered) {
  if (!delivered) {
    return fmt::format("{}: {}", to_string(delivered.error().kind), delivered.error().message);
  }
  std::string text = "delivered " + delivered->path;
  for (const std::string& note : delivered->notes) text += "; note: " + note;
  return text;
}
inline std::string told(const Status& status) {
  if (status) return "done";
  return fmt::format("{}: {}", to_string(status.error().kind), status.error().message);
}

// What a child process says: it may change its user and its mounts without a trace left here.
inline std::string in_child(const std::function<std::string()>& say) {
  std::array<int, 2> pipe{};
  EXPECT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const pid_t pid = ::fork();
  EXPECT_GE(pid, 0);
  if (pid == 0) {
    const bool written = write_all(pipe[1], say()).has_value();
    ::_exit(written && !::testing::Test::HasFailure() ? 0 : 1);
  }
  ::close(pipe[1]);
  const UniqueFd readable(pipe[0]);
  std::string said = read_all(readable.get(), 1U << 20U).value_or("nothing");
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0) << "the child failed: " << said;
  return said;
}

// In a child: gives up root for good, as the worker does.
inline void become(Uid uid) {
  if (!is_root()) return;
  const uid_t id = uid.value;
  EXPECT_TRUE(::setgroups(0, nullptr) == 0 && ::setresgid(id, id, id) == 0 &&
              ::setresuid(id, id, id) == 0);
}

// Another process of the owner's that does one thing over and over as long as this lives.
class Attacker {
 public:
  explicit Attacker(const std::function<void()>& what) : pid_(::fork()) {
    EXPECT_GE(pid_, 0);
    if (pid_ != 0) return;
    become(kOwner);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // after the change of user, which clears it
    while (true) what();
  }
  Attacker(const Attacker&) = delete;
  Attacker& operator=(const Attacker&) = delete;
  ~Attacker() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

inline std::string as_owner(const std::function<std::string()>& say) {
  return in_child([&] {
    become(kOwner);
    return say();
  });
}

// In a child: mounts from here on are its own. False when that is not permitted.
inline bool own_mounts() {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  if (::unshare(is_root() ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) return false;
  if (uid != 0) {
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << fmt::format("{0} {0} 1", uid);
    std::ofstream("/proc/self/gid_map") << fmt::format("{0} {0} 1", gid);
  }
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

inline bool mount_tmpfs(const fs::path& path, const std::string& options) {
  return own_mounts() && ::mount("tmpfs", path.c_str(), "tmpfs", 0, options.c_str()) == 0;
}

// <path>/staging and <path>/target, both the owner's.
class Places : public ::testing::Test {
 protected:
  Places() {
    std::string pattern = ::testing::TempDir() + "delivery_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    ::chmod(path_.c_str(), 0755);
    staging_ = path_ / "staging";
    target_ = path_ / "target";
    make(staging_);
    make(target_);
  }
  ~Places() override {
    std::error_code gone;
    for (const fs::path& directory : {staging_, target_}) {
      fs::permissions(directory, fs::perms{0755}, gone);
    }
    fs::remove_all(path_);
  }

  static void make(const fs::path& directory, Uid owner = kOwner) {
    fs::create_directory(directory);
    own(directory, owner);
  }
  static void own(const fs::path& path, Uid owner = kOwner) {
    if (is_root()) {
      EXPECT_EQ(::lchown(path.c_str(), owner.value, owner.value), 0);
    }
  }
  static void write(const fs::path& path, const std::string& text, Uid owner = kOwner) {
    std::ofstream(path, std::ios::binary) << text;
    own(path, owner);
  }

  fs::path path_;
  fs::path staging_;
  fs::path target_;
};

}  // namespace dynolog::delivery_test
