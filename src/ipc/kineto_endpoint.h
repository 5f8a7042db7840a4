// One place where Kineto's clients find us: the abstract name, or a socket in a directory.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/system_root.h"
#include "base/unique_fd.h"

namespace dynolog {

// A socket of our own that speaks to one client's socket and to nobody else.
struct ReplySocket {
  UniqueFd fd;         // connected
  std::string sender;  // the client's name, raw, as its poll carried it
  // The client's socket file, in a directory.
  dev_t device = 0;
  ino_t inode = 0;
};

// Used by one thread, which has its own umask (unshare(CLONE_FS), umask 0): modes are exact.
class KinetoEndpoint {
 public:
  virtual ~KinetoEndpoint() = default;  // closes; unlinks only what open() made

  // Binds. The error is one whole sentence: who holds the name, or what is wrong with the
  // directory.
  [[nodiscard]] virtual Status open(const SystemRoot& root) = 0;
  // Takes over a socket that an earlier daemon bound for this endpoint, in place of open(). The
  // error is one sentence: why it is not this endpoint's. It is closed then.
  [[nodiscard]] virtual Status adopt(UniqueFd socket, const SystemRoot& root) = 0;
  virtual void close() = 0;
  // As close(), but the name stays: the socket lives on in somebody's keeping.
  virtual void leave() = 0;
  [[nodiscard]] virtual int fd() const = 0;                    // -1 while not open
  [[nodiscard]] virtual const std::string& label() const = 0;  // "abstract" or the directory
  // False when the place has gone from under us (a directory or our socket in it was removed or
  // replaced). Cheap.
  [[nodiscard]] virtual bool intact() const = 0;

  // Whether nobody but one user can send here, as far as open() saw: then that user may be left
  // waiting without harm to others.
  [[nodiscard]] virtual bool of_one_user() const = 0;

  // A reply socket bound so that this client accepts it, connected to the socket that sent. Errors:
  // denied (unbound, not of this endpoint's kind, not a socket, not the owner's), not_found (it is
  // gone), exhausted (no descriptors), failed.
  [[nodiscard]] virtual Result<ReplySocket> connect_reply(std::string_view sender, Uid owner,
                                                          const SystemRoot& root) = 0;
  // The process that polled from this socket is dead: removes its socket file if nobody answers
  // there and it is still the one that was connected.
  virtual void collect(const ReplySocket& socket, const SystemRoot& root) = 0;
};

// `name` without the leading NUL.
[[nodiscard]] std::unique_ptr<KinetoEndpoint> make_abstract_endpoint(std::string name,
                                                                     const Clock& clock);
// `directory` exactly as the clients spell it.
[[nodiscard]] std::unique_ptr<KinetoEndpoint> make_directory_endpoint(std::string directory,
                                                                      const Clock& clock);

// A datagram socket, non-blocking and close-on-exec, which takes nothing from anybody but by
// prepare_to_receive().
[[nodiscard]] Result<UniqueFd> make_datagram_socket();
// The same for a socket that is never read: nobody can queue anything on it.
[[nodiscard]] Result<UniqueFd> make_reply_socket();

}  // namespace dynolog
