// What child_process_test.cpp starts: a worker that behaves as its argument says.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "net/child_process.h"
#include "net/host_resolver.h"

namespace {

using dynolog::kWorkerChannelFd;

int echo() {
  std::string frame;
  while (dynolog::receive_frame(kWorkerChannelFd, frame)) {
    if (!dynolog::send_frame(kWorkerChannelFd, frame)) return 1;
  }
  return 7;  // told apart from every other end
}

// Which descriptors are open, the nice value, and whether any signal is blocked or ignored.
int report() {
  std::string text;
  if (!dynolog::receive_frame(kWorkerChannelFd, text)) return 1;
  text.clear();
  for (int fd = 0; fd < 1024; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) text += std::to_string(fd) + " ";
  }
  text += "nice " + std::to_string(::getpriority(PRIO_PROCESS, 0));
  struct sigaction action{};
  ::sigaction(SIGPIPE, nullptr, &action);
  text += action.sa_handler == SIG_DFL ? " default" : " not-default";
  return dynolog::send_frame(kWorkerChannelFd, text) ? 0 : 1;
}

int flood() {
  const std::string frame(1000, 'x');
  while (dynolog::send_frame(kWorkerChannelFd, frame)) {
  }
  return 0;
}

int oversize() {
  const int size = 1 << 20;
  ::setsockopt(kWorkerChannelFd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
  const std::string frame(dynolog::kMaxWorkerFrame + 1, 'x');
  ::send(kWorkerChannelFd, frame.data(), frame.size(), MSG_NOSIGNAL);
  for (;;) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "echo") return echo();
  if (what == "report") return report();
  if (what == "--worker=resolve") return dynolog::run_resolve_worker(kWorkerChannelFd);
  if (what == "flood") return flood();
  if (what == "oversize") return oversize();
  if (what == "last-words") return dynolog::send_frame(kWorkerChannelFd, "bye") ? 3 : 1;
  if (what == "crash") {
    ::signal(SIGSEGV, SIG_DFL);
    ::raise(SIGSEGV);
  }
  if (what == "deaf") {  // neither reads nor ends when the channel is closed
    static_cast<void>(dynolog::send_frame(kWorkerChannelFd, "here"));
    for (;;) ::pause();
  }
  if (what == "close-channel") {
    ::close(kWorkerChannelFd);
    for (;;) ::pause();
  }
  return 99;
}
