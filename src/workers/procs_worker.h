// `--worker=procs`: reads what can block behind a stuck process (environ, cmdline, maps, fd), and
// looks for the holders of a socket.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/system_root.h"
#include "net/child_process.h"
#include "net/event_loop.h"
#include "processes/process_facts.h"

namespace dynolog {

// The child's main: serves requests from the channel until it is closed. Returns the exit status.
int run_procs_worker(int channel, const SystemRoot& root);

// One holder of a socket, with what decides its tenant.
struct SocketHolder {
  ProcessKey key;
  Uid uid;
  std::string container;
  bool host_namespaces = false;  // user, pid and mount namespaces are those of pid 1
};

// The most requests that wait; further ones fail (exhausted). Equal facts requests wait as one.
inline constexpr std::size_t kMaxWaitingProcsRequests = 20'000;
inline constexpr std::size_t kMaxSearchesOfUser = 16;

// The daemon's side. On the loop's thread only; no callback runs inside a call nor after the
// object's end. A worker that is late (2 s) fails the request and is replaced, at once where the
// process that was looked at may be the reason; one that dies is respawned with back-off. Requests
// queue (bounded): holder_facts() first, then socket_holders() by turns of the users, then facts().
// Where only reading environ, cmdline or maps hung, facts() succeeds with what is known, and
// `missing` says so.
class ProcsWorker {
 public:
  [[nodiscard]] static std::unique_ptr<ProcsWorker> make(EventLoop& loop, const Clock& clock,
                                                         Log& log, std::string executable);
  virtual ~ProcsWorker() = default;
  virtual void facts(ProcessKey key, std::function<void(Result<ProcessFacts>)> done) = 0;
  // Who holds the socket with this inode, which is `uid`'s; see holder_search.h for what it may
  // leave out. Takes up to a second, and fails (exhausted) when there is too much to look through,
  // or when kMaxSearchesOfUser wait for this user already.
  virtual void socket_holders(std::uint32_t inode, Uid uid,
                              std::function<void(Result<std::vector<SocketHolder>>)> done) = 0;
  // One process's tenant facts: for a caller on the unix socket.
  virtual void holder_facts(Pid pid, std::function<void(Result<SocketHolder>)> done) = 0;
  // For metrics: how often it had to be replaced.
  [[nodiscard]] virtual std::uint64_t restarts() const = 0;
};

}  // namespace dynolog
