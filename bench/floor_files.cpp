// The floor for the metrics: the least that a program can do that asks the kernel for the same as
// often. Usage: floor_files SECONDS. Standard input names what, one line each: the period in whole
// seconds, a space, a path. Each file is opened once and read again; nothing is parsed. A path with
// a star ("/proc/*/stat") is that file of every process there is by then: these are opened each
// time, since processes come and go. The path "tcp_diag" is no file: the kernel is asked for its
// TCP sockets, over netlink, and the answer is thrown away. Prints how many there are, and what the
// process used: nanoseconds of CPU a second, wake-ups a second.
#include <dirent.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace {

struct File {
  std::int64_t period = 1;
  int fd = -1;
  ::DIR* processes = nullptr;  // where the path has a star
  std::string name;            // of the file below the star: "/stat"
  bool is_tcp_diag = false;    // a socket
};

std::vector<File> open_listed() {
  std::vector<File> files;
  std::int64_t period = 0;
  std::string path;
  while (std::cin >> period && std::getline(std::cin >> std::ws, path)) {
    File file{.period = period};
    const auto star = path.find('*');
    if (path == "tcp_diag") {
      file.is_tcp_diag = true;
      file.fd = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    } else if (star != std::string::npos) {
      file.processes = ::opendir(path.substr(0, star).c_str());
      file.name = path.substr(star + 1);
    } else {
      file.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    }
    if ((file.fd >= 0 || file.processes != nullptr) && period > 0) files.push_back(file);
  }
  return files;
}

constexpr ::ssize_t kLastPage = 3584;

void read_whole(int fd) {
  static std::array<char, 1U << 16U> buffer;
  ::off_t at = 0;
  for (;;) {
    const auto size = ::pread(fd, buffer.data(), buffer.size(), at);
    if (size <= 0) return;
    at += size;
    // The kernel hands out pages of whole records. With this much room left it was the last one;
    // else only a further reading tells.
    if (size <= kLastPage) return;
  }
}

void read_of_each_process(const File& file) {
  ::rewinddir(file.processes);
  std::string path;
  while (const ::dirent* entry = ::readdir(file.processes)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    path = entry->d_name;
    path += file.name;
    const int fd = ::openat(::dirfd(file.processes), path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    read_whole(fd);
    ::close(fd);
  }
}

void ask_for_tcp_sockets(int socket) {
  struct {
    nlmsghdr header{};
    inet_diag_req body{};
  } request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = TCPDIAG_GETSOCK;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.body.idiag_states = ~0U;
  if (::send(socket, &request, sizeof request, 0) < 0) return;
  alignas(nlmsghdr) static std::array<char, 1U << 16U> buffer;
  for (;;) {
    const auto got = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (got <= 0) return;
    const auto* const first = reinterpret_cast<const nlmsghdr*>(buffer.data());
    if (first->nlmsg_type == NLMSG_DONE || first->nlmsg_type == NLMSG_ERROR) return;
  }
}

void read_once(const File& file) {
  if (file.processes != nullptr) {
    read_of_each_process(file);
  } else if (file.is_tcp_diag) {
    ask_for_tcp_sockets(file.fd);
  } else {
    read_whole(file.fd);
  }
}

std::int64_t cpu_ns() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t seconds = argc > 1 ? std::atoll(argv[1]) : 0;
  if (seconds <= 0) {
    std::fprintf(stderr, "usage: floor_files SECONDS < list of \"period path\" lines\n");
    return 2;
  }
  const std::vector<File> files = open_listed();
  timespec next{};
  ::clock_gettime(CLOCK_MONOTONIC, &next);
  const std::int64_t before = cpu_ns();
  for (std::int64_t tick = 0; tick < seconds; ++tick) {
    ++next.tv_sec;
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, nullptr) == EINTR) {
    }
    for (const File& file : files) {
      if (tick % file.period == 0) read_once(file);
    }
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("{\"files\": %zu, \"cpu_ns_per_s\": %.0f, \"wakeups_per_s\": %.2f}\n", files.size(),
              static_cast<double>(cpu_ns() - before) / static_cast<double>(seconds),
              static_cast<double>(usage.ru_nvcsw) / static_cast<double>(seconds));
  return 0;
}
