// The Kineto thread's loop: one epoll instance over the endpoints, the processes and the commands.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/system_root.h"
#include "base/unique_fd.h"
#include "ipc/datagram.h"
#include "ipc/kineto_answers.h"
#include "ipc/kineto_clients.h"
#include "ipc/kineto_endpoint.h"
#include "ipc/kineto_tally.h"
#include "ipc/kineto_thread.h"
#include "ipc/realtime.h"
#include "net/receive_watchdog.h"

namespace dynolog {

// Made, used and destroyed on one thread, which belongs to it: it changes that thread's umask,
// scheduling and signal mask.
class KinetoServer {
 public:
  // `wake` becomes readable when there are commands.
  [[nodiscard]] static Result<std::unique_ptr<KinetoServer>> make(
      const KinetoThreadOptions& options, const SystemRoot& root, const Clock& clock, Log& log,
      std::function<void(KinetoEvent)> on_event, KinetoTally& tally, int wake);

  // Waits for something to do, and does it. True when `wake` is readable.
  [[nodiscard]] bool turn();

  [[nodiscard]] KinetoAnswers& answers() { return answers_; }
  // Always answered by a KinetoEndpointState, also where nothing has changed.
  void add_directory(const std::string& directory);
  void remove_directory(const std::string& directory);
  ~KinetoServer();

 private:
  struct Listener {
    std::unique_ptr<KinetoEndpoint> endpoint;
    bool up = false;
    std::string problem;
    bool removed = false;     // stays in its place, as clients refer to it, and is not served
    bool untold = false;      // its socket is new, and nobody was given it
    std::string not_taken{};  // why a handed socket is not used
    bool rights_refused = false;
    // Whoever has a directory can have us look at it, as often as he likes.
    std::optional<MonotonicTime> looked;
    std::optional<MonotonicTime> tried;  // to bind
    // Of an endpoint that belongs to one user: what came in this window.
    MonotonicTime window_start;
    int in_window = 0;
    std::optional<MonotonicTime> paused_until;
  };

  KinetoServer(const KinetoThreadOptions& options, const SystemRoot& root, const Clock& clock,
               Log& log, std::function<void(KinetoEvent)> on_event, KinetoTally& tally,
               UniqueFd epoll);
  void begin();
  void own_the_thread();
  void add(std::unique_ptr<KinetoEndpoint> endpoint);
  void look_again(std::size_t index);
  void try_open(std::size_t index);
  // Opens the endpoint where it is not (or no longer) there. True when its state is another now.
  [[nodiscard]] bool refresh(std::size_t index);
  [[nodiscard]] Status open(std::size_t index);
  [[nodiscard]] Status bind_or_adopt(Listener& listener);
  [[nodiscard]] std::shared_ptr<UniqueFd> take_handed(const std::string& endpoint);
  [[nodiscard]] std::vector<Listener>::iterator find(const std::string& directory);
  [[nodiscard]] static bool record(Listener& listener, const Status& status);
  void tell(Listener& listener);
  void retry(MonotonicTime now);
  void drain(std::size_t index);
  void receive_batch(Listener& listener, bool watched);
  void pause_if_flooded(std::size_t index, MonotonicTime now);
  void resume(MonotonicTime now);
  void handle(Datagram& datagram, KinetoEndpoint& endpoint);
  void report(RealtimePriority::Change change);
  [[nodiscard]] int timeout(MonotonicTime now) const;

  const KinetoThreadOptions options_;
  std::vector<HandedSocket> handed_;  // and not yet looked at
  const SystemRoot& root_;
  const Clock& clock_;
  Log& log_;
  std::function<void(KinetoEvent)> emit_;
  KinetoTally& tally_;
  UniqueFd epoll_;
  RealtimePriority priority_;
  std::unique_ptr<ReceiveWatchdog> watchdog_;
  // Clients refer to endpoints, which therefore never go before them.
  std::vector<Listener> listeners_;
  KinetoAnswers answers_;
  KinetoClients clients_;
  DatagramReceiver receiver_;
  std::optional<MonotonicTime> retry_at_;
  std::size_t retry_next_ = 0;  // of the listeners, in the retry that is under way
  bool told_table_full_ = false;
  int turns_of_polls_ = 0;  // since newcomers had their last
};

}  // namespace dynolog
