// A scripted daemon for dyno's tests: each connection is handled by the next script, in a thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "net/framing.h"

namespace dynolog::testing {

class FakePeer {
 public:
  explicit FakePeer(UniqueFd fd) : fd_(std::move(fd)) {}
  [[nodiscard]] std::string request();  // "" when the client closed
  void reply(std::string_view payload);
  void raw(std::string_view bytes);
  void until_closed();

 private:
  UniqueFd fd_;
  FrameDecoder decoder_{kMaxRequestBytes};
};

using Script = std::function<void(FakePeer&)>;

class FakeDaemon {
 public:
  // Listens at `unix_path`, or, when that is "", at a free port of 127.0.0.1. A connection beyond
  // the last script is closed at once.
  FakeDaemon(const std::string& unix_path, std::vector<Script> scripts);
  ~FakeDaemon();  // joins all; scripts must come to an end once their client is gone
  FakeDaemon(const FakeDaemon&) = delete;
  FakeDaemon& operator=(const FakeDaemon&) = delete;

  [[nodiscard]] int port() const { return port_; }

 private:
  void accept_all(std::vector<Script> scripts);

  UniqueFd listener_;
  int port_ = 0;
  std::vector<std::jthread> peers_;
  std::jthread acceptor_;
};

}  // namespace dynolog::testing
