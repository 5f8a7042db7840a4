// Two rounds over /proc/<pid>/fd: first a look at a few thousand descriptors of each process, those
// of the socket's own user first, then the rest of the processes that have more.
//
// What an unfinished search may answer. Holders of different tenants are refused, so an answer that
// stands for all holders takes a look at all descriptors, and any user can have too many of them.
// If that made every search fail, one user would lock all others out of TCP. A budget for each
// user, whose processes are passed over beyond it, is as good as leaving the search: what it may
// miss is a further holder, and that one may hide behind as many descriptors as it takes.
// - For a socket of root's nothing unfinished counts: a connection that a service of root's left
//   open in a child which then became a user's must not make that user root.
// - For anybody else's it does, once a holder is found that is the socket's own user. Another
//   process has the socket only because this user gave it away (one whose uid a container's root
//   forged has no such holder, unless he gave it to one, and then he may as well close his own
//   copy), and on the unix socket, too, a connection is that of the user who made it, whoever
//   else holds it. Holders that do not hide are still found, and refused when they differ.
// - Without any holder it does not: that is also what a user with very many descriptors gets, and
//   the unix socket serves him as before.
#include "workers/holder_search.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/number.h"
#include "workers/proc_entry.h"
#include "workers/process_reader.h"
#include "workers/procs_frames.h"

namespace dynolog {
namespace {

// Every process there is. Those that seem to be `first`'s come first: a directory in /proc is owned
// by its process's user, or by root when it may not be dumped. That is good enough for an order.
Result<std::vector<Pid>> list_processes(const SystemRoot& root, Uid first) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(root.proc.c_str()), ::closedir);
  if (!listing) return fail_errno(errno, root.proc);
  std::vector<Pid> own;
  std::vector<Pid> others;
  while (const dirent* listed = ::readdir(listing.get())) {
    const auto number = parse_number<std::int32_t>(listed->d_name);
    if (!number) continue;
    struct stat status{};
    const bool known =
        ::fstatat(::dirfd(listing.get()), listed->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    (known && Uid{status.st_uid} == first ? own : others).push_back(Pid{*number});
  }
  own.insert(own.end(), others.begin(), others.end());
  return own;
}

class HolderSearch {
 public:
  HolderSearch(const SystemRoot& root, const Clock& clock, std::uint32_t inode, Uid uid,
               SearchBudget budget)
      : root_(root),
        clock_(clock),
        wanted_(fmt::format("socket:[{}]", inode)),
        uid_(uid),
        until_(clock.monotonic() + budget.time),
        descriptors_left_(budget.descriptors),
        first_look_(budget.first_look) {}

  Result<std::vector<SocketHolder>> run() {
    const auto processes = list_processes(root_, uid_);
    if (!processes) return std::unexpected(processes.error());
    look_at_each(*processes, first_look_);
    look_at_each(std::exchange(large_, {}), std::numeric_limits<std::size_t>::max());
    if (failure_) return std::unexpected(std::move(*failure_));
    if (spent_ && !differ_ && (uid_ == kRootUid || holders_.empty())) {
      return fail(ErrorKind::exhausted,
                  "there are too many open descriptors to look through: use the unix socket");
    }
    return std::move(holders_);
  }

 private:
  void look_at_each(const std::vector<Pid>& processes, std::size_t most) {
    for (const Pid pid : processes) {
      if (failure_ || differ_ || !affordable()) return;
      look_at(pid, most);
    }
  }

  void look_at(Pid pid, std::size_t most) {
    const auto entry = ProcEntry::open(root_, pid);
    if (!entry) return on_unreadable(entry.error());
    bool holds = false;
    const Status looked = entry->each_link("fd", most, [&](std::string_view target) {
      holds = target == wanted_;
      --descriptors_left_;
      return !holds && affordable();
    });
    if (holds) {
      add(*entry, pid);
    } else if (!looked && looked.error().kind == ErrorKind::exhausted && most == first_look_) {
      large_.push_back(pid);
    } else if (!looked) {
      on_unreadable(looked.error());
    }
  }

  // A process that has ended holds nothing, one that may not be looked at is no loss to a daemon
  // without privileges. Anything else could hide a holder.
  void on_unreadable(const Error& error) {
    if (error.kind != ErrorKind::not_found && error.kind != ErrorKind::denied) failure_ = error;
  }

  void add(const ProcEntry& entry, Pid pid) {
    auto holder = read_holder_facts(root_, entry, pid);
    if (!holder && holder.error().kind == ErrorKind::not_found) return;  // no longer holds it
    if (!holder) {
      failure_ = std::move(holder.error());
      return;
    }
    if (holders_.size() == kMaxSocketHolders) {
      failure_ = Error{ErrorKind::exhausted, "too many processes hold the socket"};
      return;
    }
    differ_ = holder->uid != uid_ ||
              (!holders_.empty() && holder->container != holders_.front().container);
    holders_.push_back(std::move(*holder));
  }

  bool affordable() {
    spent_ = spent_ || descriptors_left_ == 0 || clock_.monotonic() >= until_;
    return !spent_;
  }

  const SystemRoot& root_;
  const Clock& clock_;
  std::string wanted_;
  Uid uid_;
  MonotonicTime until_;
  std::size_t descriptors_left_;
  std::size_t first_look_;
  std::vector<SocketHolder> holders_;
  std::vector<Pid> large_;  // have more descriptors than the first round looks at
  std::optional<Error> failure_;
  bool differ_ = false;  // the holders, from one another or from the socket's user
  bool spent_ = false;
};

}  // namespace

Result<std::vector<SocketHolder>> find_socket_holders(const SystemRoot& root, const Clock& clock,
                                                      std::uint32_t inode, Uid uid,
                                                      SearchBudget budget) {
  return HolderSearch(root, clock, inode, uid, budget).run();
}

}  // namespace dynolog
