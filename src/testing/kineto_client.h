// A conformance client: speaks to a daemon as libkineto of each PyTorch version does.
//
// Where the real client would end the training job (std::terminate), this one reports it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/unique_fd.h"

namespace dynolog {

struct KinetoClientProfile {
  std::string_view version;
  int waits = 5;          // times 10 ms for the reply
  std::int32_t idle = 3;  // the poll's type
  std::int32_t busy = 1;
  int endpoints = 1;  // 2.7-2.9 make two by a race; one of them is soon dead
};
// "2.0", "2.3", "2.7", "2.13", "2.14"; nullopt for others.
[[nodiscard]] std::optional<KinetoClientProfile> kineto_client_profile(std::string_view version);

struct KinetoClientOptions {
  KinetoClientProfile profile;
  // Of the daemon, without the leading NUL; used where `directory` is empty.
  std::string abstract_name = std::string("dynolog\0", 8);
  std::string directory;           // KINETO_IPC_SOCKET_DIR, as the job spells it
  std::vector<std::int32_t> pids;  // {}: own and parent's, as the real one sends
  std::int64_t job = 0;
};

struct KinetoClientReply {
  std::string type;             // of the header
  std::string config;           // the body, as far as `size` says and bytes came
  std::string sender;           // raw
  std::string would_terminate;  // why the real client would have ended the process, or ""
};

// A "req" datagram.
[[nodiscard]] std::string kineto_poll_datagram(std::int32_t type, std::int64_t job,
                                               const std::vector<std::int32_t>& pids);
// A "ctxt" datagram.
[[nodiscard]] std::string kineto_context_datagram(std::int32_t gpu, std::int32_t pid,
                                                  std::int64_t job);

// One process's client. Waits as long as the real one does, and in wait() as long as is asked.
class KinetoTestClient {
 public:
  [[nodiscard]] static Result<KinetoTestClient> open(KinetoClientOptions options);

  // One turn of the real client's loop: asks, and waits for as long as its version does. nullopt:
  // no reply in time. A late one stays queued, and the next poll reads it (one behind).
  [[nodiscard]] Result<std::optional<KinetoClientReply>> poll();

  // The parts of it.
  [[nodiscard]] Status send_poll();
  [[nodiscard]] std::optional<KinetoClientReply> wait(Milliseconds limit);
  [[nodiscard]] std::optional<KinetoClientReply> receive() { return wait(Milliseconds(0)); }

  // Asks a second time within 10 ms, as the real one does when its eleventh try to send succeeds.
  [[nodiscard]] Status send_doubled_poll();

  // Any bytes, with any descriptors. The errno, or 0.
  [[nodiscard]] int send_raw(std::string_view datagram, const std::vector<int>& descriptors = {});
  // The same with a credential of one's own making; another uid needs CAP_SETUID.
  [[nodiscard]] int send_with_credential(std::string_view datagram, std::int32_t pid,
                                         std::uint32_t uid);

  // A trace is warming up, collecting or being written, or the job's own profiler runs.
  void set_busy(bool busy) { busy_ = busy; }
  // A new endpoint, as after an exec or by the race of 2.7-2.9. The old one is closed.
  [[nodiscard]] Status reopen();

  [[nodiscard]] int retries() const { return retries_; }  // of sends, so far
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }  // raw
  [[nodiscard]] Milliseconds patience() const { return Milliseconds(10 * options_.profile.waits); }
  [[nodiscard]] std::string poll_datagram() const;

 private:
  explicit KinetoTestClient(KinetoClientOptions options) : options_(std::move(options)) {}
  [[nodiscard]] std::string why_terminate(std::string_view sender) const;
  [[nodiscard]] int send_message(std::string_view datagram, const void* control,
                                 std::size_t control_size);

  KinetoClientOptions options_;
  std::string daemon_;  // raw
  std::string name_;
  UniqueFd fd_;
  UniqueFd second_;  // of two endpoints, the one that nobody reads
  bool busy_ = false;
  int retries_ = 0;
};

}  // namespace dynolog
