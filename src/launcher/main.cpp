// PREFIX/bin/dynolog and PREFIX/bin/dyno of the tarball: starts the program of the same name in
// PREFIX/lib/dynolog/programs, with this host's C library where that is new enough, else with the
// one in PREFIX/lib/dynolog/glibc. Linked statically: it runs whatever C library the host has.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <memory>
#include <new>
#include <string_view>

#include "base/portable_layout.h"
#include "launcher/libc_version.h"

namespace {

using dynolog::kPortableLibc;
using dynolog::kPortablePrograms;

// What a shell says of a program that it cannot start.
constexpr int kCannotStart = 126;

#if defined(__x86_64__)
constexpr const char* kLoader = "ld-linux-x86-64.so.2";
#else
constexpr const char* kLoader = "ld-linux-aarch64.so.1";
#endif

// Where the distributions have it. A test has folders of its own.
#if defined(DYNOLOG_HOST_LIBRARIES)
constexpr const char* kHostLibraries[] = {DYNOLOG_HOST_LIBRARIES};
#elif defined(__x86_64__)
constexpr const char* kHostLibraries[] = {"/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64",
                                          "/usr/lib", "/lib"};
#else
constexpr const char* kHostLibraries[] = {"/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64",
                                          "/usr/lib", "/lib"};
#endif

// A path of bounded length: this program allocates nothing but its argument list.
class Path {
 public:
  Path& add(std::string_view text) {
    fits_ = fits_ && text.size() < sizeof text_ - size_;
    if (!fits_) return *this;
    memcpy(text_ + size_, text.data(), text.size());
    size_ += text.size();
    text_[size_] = '\0';
    return *this;
  }
  [[nodiscard]] bool fits() const { return fits_; }
  [[nodiscard]] char* c_str() { return text_; }

 private:
  char text_[PATH_MAX] = {};
  size_t size_ = 0;
  bool fits_ = true;
};

bool exists(const char* path) { return access(path, F_OK) == 0; }

bool file_defines_needed_version(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status{};
  if (fd < 0 || fstat(fd, &status) != 0 || status.st_size <= 0) return false;
  const auto size = static_cast<size_t>(status.st_size);
  const void* const bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (bytes == MAP_FAILED) return false;
  return dynolog::defines_version({static_cast<const std::byte*>(bytes), size},
                                  DYNOLOG_NEEDED_GLIBC);
}

// libgcc_s is the other library that the programs leave to the host.
bool host_is_new_enough() {
  for (const char* directory : kHostLibraries) {
    Path libc;
    Path libgcc;
    libc.add(directory).add("/libc.so.6");
    libgcc.add(directory).add("/libgcc_s.so.1");
    if (!exists(libc.c_str())) continue;
    return exists(libgcc.c_str()) && file_defines_needed_version(libc.c_str());
  }
  return false;
}

// Links are resolved by the kernel. Without /proc: the path that the kernel was given.
bool find_own_path(char (&path)[PATH_MAX]) {
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length > 0) {
    path[length] = '\0';
    return true;
  }
  const auto* const given = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  return given != nullptr && realpath(given, path) != nullptr;
}

int cannot(const char* what, const char* path, const char* why) {
  fprintf(stderr, "dynolog's launcher: %s %s: %s\n", what, path, why);
  return kCannotStart;
}

// Returns only when that fails.
int start_with_own_libc(std::string_view prefix, char* program, int argc, char** argv) {
  Path libraries;
  Path loader;
  libraries.add(prefix).add(kPortableLibc);
  loader.add(prefix).add(kPortableLibc).add("/").add(kLoader);
  if (!libraries.fits() || !loader.fits()) return cannot("cannot use", program, "too long");
  if (strpbrk(libraries.c_str(), ":;") != nullptr) {
    return cannot("this host's C library is older than " DYNOLOG_NEEDED_GLIBC ", and that in",
                  libraries.c_str(), "cannot be used from a path with ':' or ';'; move it");
  }
  char argv0[] = "--argv0";
  char library_path[] = "--library-path";
  char* const before[] = {loader.c_str(),    argv0,  argc > 0 ? argv[0] : program, library_path,
                          libraries.c_str(), program};
  constexpr size_t kBefore = sizeof before / sizeof before[0];
  const size_t own = argc > 0 ? static_cast<size_t>(argc) - 1 : 0;
  const std::unique_ptr<char*[]> words(new (std::nothrow) char*[kBefore + own + 1]);
  if (words == nullptr) return cannot("cannot start", program, "no memory");
  memcpy(words.get(), before, sizeof before);
  if (own > 0) memcpy(words.get() + kBefore, argv + 1, own * sizeof(char*));
  words[kBefore + own] = nullptr;
  execv(loader.c_str(), words.get());
  return cannot("this host's C library is older than " DYNOLOG_NEEDED_GLIBC
                ", and the one of the tarball cannot be started:",
                loader.c_str(), strerrordesc_np(errno));
}

}  // namespace

int main(int argc, char** argv) {
  char own[PATH_MAX];
  if (!find_own_path(own)) return cannot("cannot find out where", argc > 0 ? argv[0] : "", "it is");
  const std::string_view path = own;
  const size_t name = path.rfind('/');
  const size_t bin = path.substr(0, name).rfind('/');
  const std::string_view prefix = path.substr(0, bin == std::string_view::npos ? 0 : bin);
  Path program;
  program.add(prefix).add(kPortablePrograms).add(path.substr(name));
  if (!program.fits()) return cannot("cannot use", own, "its path is too long");
  if (!exists(program.c_str())) {
    return cannot("there is no", program.c_str(), "unpack the whole tarball");
  }
  const char* const asked = getenv("DYNOLOG_LIBC");
  const std::string_view choice = asked == nullptr ? "" : asked;
  if (!choice.empty() && choice != "host" && choice != "bundled") {
    return cannot("DYNOLOG_LIBC is neither host nor bundled, but", asked, "not started");
  }
  if (choice == "host" || (choice.empty() && host_is_new_enough())) {
    execv(program.c_str(), argv);
    // ENOENT: this host has no loader where programs look for it.
    if (choice == "host" || errno != ENOENT) {
      return cannot("cannot start", program.c_str(), strerrordesc_np(errno));
    }
  }
  return start_with_own_libc(prefix, program.c_str(), argc, argv);
}
