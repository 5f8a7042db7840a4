// The thread that serves the Kineto endpoints: it only drains, looks up and answers.
//
// Runs at SCHED_RR 1 where permitted. Shares nothing with the loop: commands go in and events come
// out through bounded queues. Never blocks on a client, and reads nothing of a process but
// /proc/<pid>/status and stat: before its first answer who it is, which newer kernels tell without
// a file, and when it started only afterwards, unless something waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/system_root.h"
#include "base/unique_fd.h"
#include "ipc/handed_socket.h"
#include "processes/identity.h"
#include "profiling/trace_config.h"

namespace dynolog {

// Events, in the order in which they happened.
// A poll was answered, or left unanswered on purpose. Of a process's first one it is told a little
// later, and not at all when the process is gone by then.
struct KinetoPolled {
  ProcessKey key;
  Uid uid;               // the process's, as the kernel tells it, never the credential's
  std::string endpoint;  // "abstract" or the directory
  bool idle = true;
  std::int64_t claimed_job = 0;
  std::vector<std::int32_t> claimed_pids;  // own first, then ancestors, as its namespace has them
  MonotonicTime time;
  WallTime wall;
  // false: late (> 40 ms), doubled (< 250 ms), an earlier reply is still unread, or the reply could
  // not be sent. Of such ones a process is reported once a second; the counters have them all.
  bool answered = true;
};
struct KinetoEnded {  // its pidfd said so
  ProcessKey key;
};
struct KinetoHandedOver {  // the mailbox's item left
  ProcessKey key;
  std::string trace_id;
  std::optional<WallTime> start;  // as written into the text
  MonotonicTime time;
  WallTime wall;
};
// The client took the configuration out of its queue (read = true); or it had not even shortly
// after its next poll (false), and then may still do so later.
struct KinetoReceipt {
  ProcessKey key;
  std::string trace_id;
  bool read = true;
  MonotonicTime time;
};
struct KinetoNotHandedOver {  // refused at the hand-over
  enum class Why { busy, identity_changed, too_large };
  ProcessKey key;
  std::string trace_id;
  Why why = Why::busy;
  MonotonicTime time;
};
struct KinetoWithdrawn {  // the answer to withdraw()
  ProcessKey key;
  std::string trace_id;
  bool withdrawn = true;  // false: it had already been sent
};
struct KinetoEndpointState {  // an endpoint came up, or could not
  std::string endpoint;
  bool up = false;
  std::string problem;  // one sentence, such as who holds the name
  // With keep_sockets, when the endpoint's socket is a new one: a duplicate, for whoever keeps it.
  std::shared_ptr<const UniqueFd> socket{};
  std::string not_taken{};  // why the socket that was handed over for it is not used
  bool removed = false;     // by remove_directory(): nothing more is said of it
};
struct KinetoRealtimeState {  // SCHED_RR taken, refused, or left because of a flood
  bool realtime = false;
  std::string sentence;
};
using KinetoEvent =
    std::variant<KinetoPolled, KinetoEnded, KinetoHandedOver, KinetoReceipt, KinetoNotHandedOver,
                 KinetoWithdrawn, KinetoEndpointState, KinetoRealtimeState>;

// Written by the thread, read from anywhere: counters of what was dropped, for metrics.
struct KinetoCounters {
  std::uint64_t polls = 0;
  std::uint64_t answered = 0;
  std::uint64_t contexts = 0;
  std::uint64_t malformed = 0;
  std::uint64_t no_credentials = 0;  // pid 0: not visible from our pid namespace; or nobody's uid
  std::uint64_t vanished = 0;        // dead before it could be pinned
  std::uint64_t with_descriptors = 0;
  std::uint64_t late = 0;
  std::uint64_t doubled = 0;
  std::uint64_t bad_sender = 0;  // unbound, wrong kind of name, foreign or replaced socket file
  std::uint64_t behind = 0;      // an earlier reply was unread: a second would keep it so for ever
  std::uint64_t reply_failed = 0;
  std::uint64_t no_descriptors = 0;  // RLIMIT_NOFILE: a new client could not be answered
  std::uint64_t clients = 0;         // gauge
  std::uint64_t table_full = 0;
  std::uint64_t receive_interrupted = 0;  // kernels before 6.16: a sent descriptor held us up
  std::uint64_t paused = 0;               // times that a flooded directory was left waiting
  std::uint64_t moved_too_often = 0;      // dropped: yet another socket of one process
};

struct KinetoThreadOptions {
  bool abstract_endpoint = true;
  // The address without the leading NUL, trailing NUL included. Tests use another name.
  std::string abstract_name = std::string("dynolog\0", 8);
  std::vector<std::string> directories;  // KINETO_IPC_SOCKET_DIR, each as the client spells it
  bool realtime = true;
  std::size_t max_clients = 16384;
  Nanoseconds retry = std::chrono::seconds(5);  // for a name that another process holds
  // Where the kernel can refuse descriptors (6.16), let it. Tests try the way of older kernels.
  bool refuse_descriptors = true;
  // Of an earlier daemon: used where they are what they are said to be.
  std::vector<HandedSocket> handed{};
  // Somebody keeps the sockets from daemon to daemon: they are handed out (KinetoEndpointState),
  // and their names stay at the end.
  bool keep_sockets = false;
};

class KinetoThread {
 public:
  // `on_event` is called on the thread of its own: it must only queue (EventLoop::post).
  [[nodiscard]] static Result<std::unique_ptr<KinetoThread>> start(
      KinetoThreadOptions options, SystemRoot root, const Clock& clock, Log& log,
      std::function<void(KinetoEvent)> on_event);
  // Stops and joins; unlinks only its own sockets, and not those that are kept.
  virtual ~KinetoThread() = default;

  // All safe from any thread, never blocking.
  // Stages one configuration; at most one per process (a second replaces nothing and is refused by
  // the owner's own bookkeeping). The uid is the one at commit: a change is a refusal.
  virtual void put(ProcessKey key, Uid uid, TraceRequest request) = 0;
  virtual void withdraw(ProcessKey key, std::string trace_id) = 0;
  // Adds an endpoint in a directory (made by the caller, which also checked its owner), or looks
  // anew at one that was added. Always answered by a KinetoEndpointState, one for all the calls
  // that came before it, unless thousands of other directories wait.
  virtual void add_directory(std::string directory) = 0;
  // No more served, its socket removed. Answered by a KinetoEndpointState if it was there.
  virtual void remove_directory(std::string directory) = 0;
  // Whether the thread has come round since the last call, which also asked it to. True at first.
  [[nodiscard]] virtual bool alive() = 0;
  [[nodiscard]] virtual KinetoCounters counters() const = 0;
};

// KINETO_IPC_SOCKET_DIR may be at most this long, or the client's bind fails for its whole life.
inline constexpr std::size_t kMaxSocketDirectory = 54;

}  // namespace dynolog
