// First poll -> procs worker (who is it) -> files worker (which PyTorch) -> known.
#include "daemon/process_registry.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/file.h"
#include "base/number.h"
#include "base/text.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxProcStat = 8U << 20U;

// The wall time of boot, from /proc/stat: start ticks count from there.
WallTime boot_time(const SystemRoot& root) {
  const auto text = read_file(root.proc + "/stat", kMaxProcStat);
  if (!text) return {};
  for (const std::string_view line : split(*text, '\n')) {
    if (!line.starts_with("btime ")) continue;
    const auto seconds = parse_number<std::int64_t>(trim(line.substr(6)));
    if (seconds) return WallTime(std::chrono::seconds(*seconds));
  }
  return {};
}

double seconds(Nanoseconds duration) { return std::chrono::duration<double>(duration).count(); }

std::string_view rank_source_name(RankSource source) {
  switch (source) {
    case RankSource::environment:
      return "environment";
    case RankSource::title:
      return "title";
    case RankSource::none:
      return "";
  }
  return "";
}

// A directory stays, so who it is for has to be sure, and one user must not get thousands.
Status may_have_directory(const Caller& caller) {
  if (caller.via != "unix") {
    return fail(ErrorKind::denied,
                "a socket directory is only given to callers on the daemon's unix socket: run "
                "`dyno env` on this host without --host and --port");
  }
  if (!caller.tenant.container.empty()) {
    return fail(ErrorKind::denied,
                "a process in a container cannot have a directory on the host: mount one into the "
                "container and name it with --kineto_socket_dir");
  }
  if (caller.in_foreign_user_namespace) {
    return fail(ErrorKind::denied,
                "a process in another user's user namespace cannot have a directory on the host: "
                "run `dyno env` outside");
  }
  return {};
}

}  // namespace

ProcessRegistry::ProcessRegistry(World world)
    : world_(std::move(world)), boot_(boot_time(world_.root)) {}

bool ProcessRegistry::on_polled(const KinetoPolled& polled) {
  const auto result = table_.on_poll({.key = polled.key,
                                      .uid = polled.uid,
                                      .endpoint = polled.endpoint,
                                      .idle = polled.idle,
                                      .claimed_job = polled.claimed_job,
                                      .claimed_pids = polled.claimed_pids,
                                      .time = polled.time,
                                      .wall = polled.wall});
  if (result.first) {
    read_facts(polled.key);
  } else if (result.known) {
    read_again_if_due(polled.key, polled.time);
  }
  return result.first;
}

void ProcessRegistry::on_ended(const KinetoEnded& ended) {
  if (!table_.remove(ended.key)) return;
  read_at_.erase(ended.key);
  world_.log.info("process {} ended", ended.key.pid.value);
  settle(ended.key);
}

void ProcessRegistry::read_facts(const ProcessKey& key) {
  reading_.insert(key);
  read_at_[key] = world_.clock.monotonic();
  world_.procs.facts(key,
                     [this, key](Result<ProcessFacts> facts) { on_facts(key, std::move(facts)); });
}

void ProcessRegistry::read_again_if_due(const ProcessKey& key, MonotonicTime now) {
  constexpr Nanoseconds kSoonest = std::chrono::seconds(10);
  constexpr Nanoseconds kLatest = std::chrono::minutes(10);
  const ProcessEntry* entry = table_.find(key.pid);
  const auto read_at = read_at_.find(key);
  if (entry == nullptr || read_at == read_at_.end() || reading_.contains(key)) return;
  const Nanoseconds wait =
      std::clamp(Nanoseconds(read_at->second - entry->first_seen), kSoonest, kLatest);
  if (now - read_at->second >= wait) read_facts(key);
}

void ProcessRegistry::on_facts(const ProcessKey& key, Result<ProcessFacts> facts) {
  const ProcessEntry* entry = table_.find(key.pid);
  if (entry == nullptr || entry->key != key) {
    read_at_.erase(key);
    settle(key);
    return;
  }
  const bool again = entry->facts.has_value();
  if (!facts) {
    if (!again) {  // else what was known stays
      world_.log.warning("process {}: cannot read who it is: {}", key.pid.value,
                         facts.error().message);
    }
    settle(key);
    return;
  }
  const ProcessFacts copy = again ? renewed(*entry->facts, std::move(*facts)) : std::move(*facts);
  const bool has_torch = !copy.torch_library.empty();
  const bool same_torch = again && entry->facts->torch_library == copy.torch_library;
  table_.set_facts(key, copy);
  if (!again) {
    world_.log.info("process {} registered: user {}, {}", key.pid.value, user_name(entry->uid),
                    copy.command);
  }
  if (same_torch && entry->torch) {
    settle(key);
    return;
  }
  if (!has_torch) {
    table_.set_torch(key, {});
    settle(key);
    return;
  }
  world_.torch.read(copy,
                    [this, key](Result<TorchFacts> torch) { on_torch(key, std::move(torch)); });
}

void ProcessRegistry::on_torch(const ProcessKey& key, Result<TorchFacts> facts) {
  if (facts) {
    table_.set_torch(key, std::move(*facts));
  } else {
    world_.log.warning("process {}: cannot read its PyTorch version: {}", key.pid.value,
                       facts.error().message);
  }
  const ProcessEntry* entry = table_.find(key.pid);
  if (entry != nullptr && entry->key == key) {
    if (const auto sentence = at_risk(*entry)) {
      world_.log.warning("process {}: {}", key.pid.value, *sentence);
      world_.publish({.time = world_.clock.wall(),
                      .kind = "process.at_risk",
                      .subject = std::to_string(key.pid.value),
                      .text = *sentence,
                      .fields = {}});
    }
  }
  settle(key);
}

void ProcessRegistry::settle(const ProcessKey& key) {
  reading_.erase(key);
  // Collected first: what they do may add or settle others.
  std::vector<std::function<void()>> ready;
  for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
    waiter->open.erase(key);
    if (waiter->open.empty()) {
      ready.push_back(std::move(waiter->done));
      waiter = waiters_.erase(waiter);
    } else {
      ++waiter;
    }
  }
  for (const auto& done : ready) done();
}

void ProcessRegistry::when_known(const std::vector<ProcessKey>& keys, std::function<void()> done) {
  Waiter waiter{{}, std::move(done), {}};
  for (const ProcessKey& key : keys) {
    if (reading_.contains(key)) waiter.open.insert(key);
  }
  if (waiter.open.empty()) {
    waiter.done();
    return;
  }
  const auto place = waiters_.insert(waiters_.end(), std::move(waiter));
  place->patience = world_.loop.after(world_.patience, [this, place] {
    const auto late = std::move(place->done);
    waiters_.erase(place);
    late();
  });
}

void ProcessRegistry::when_fresh(const std::vector<ProcessKey>& keys, Nanoseconds max_age,
                                 std::function<void()> done) {
  const MonotonicTime now = world_.clock.monotonic();
  for (const ProcessKey& key : keys) {
    const auto read_at = read_at_.find(key);
    const bool old = read_at != read_at_.end() && now - read_at->second > max_age;
    if (old && !reading_.contains(key)) read_facts(key);
  }
  when_known(keys, std::move(done));
}

std::optional<Uid> ProcessRegistry::find_user(const std::string& name_or_number) const {
  return world_.users.find(name_or_number);
}

std::string ProcessRegistry::user_name(Uid uid) const { return world_.users.name(uid); }

rpc::ProcessRow ProcessRegistry::row(const ProcessEntry& entry, const Part& part,
                                     MonotonicTime now) const {
  rpc::ProcessRow row;
  row.pid = entry.key.pid.value;
  row.uid = entry.uid.value;
  row.user = user_name(entry.uid);
  const auto ticks = std::chrono::duration<double>(static_cast<double>(entry.key.start_ticks) /
                                                   static_cast<double>(::sysconf(_SC_CLK_TCK)));
  row.started_ms = epoch_milliseconds(boot_ + std::chrono::duration_cast<Nanoseconds>(ticks));
  row.last_poll_age_s = seconds(now - entry.last_poll);
  if (entry.poll_period) row.poll_period_s = seconds(*entry.poll_period);
  row.endpoint = entry.endpoint;
  const auto tracing = world_.trace_state(entry.key.pid);
  row.state = tracing ? to_string(*tracing) : to_string(state_of(entry, now));
  row.at_risk = at_risk(entry).value_or("");
  row.role = to_string(part.role);
  if (entry.torch) row.torch_version = entry.torch->version;
  if (!entry.facts) return row;
  const ProcessFacts& facts = *entry.facts;
  row.namespace_pid = facts.namespace_pid;
  row.command = facts.command;
  row.container = facts.container;
  row.scheduler = facts.job.scheduler;
  row.job = facts.job.job.value;
  row.step = facts.job.step;
  row.rank = facts.job.rank;
  row.local_rank = facts.job.local_rank;
  row.world_size = facts.job.world_size;
  row.rank_source = rank_source_name(facts.job.rank_source);
  row.launcher = facts.job.launcher || part.role == Role::launcher;
  row.holds_gpu = facts.holds_gpu;
  row.gpus = facts.gpus;
  row.missing = facts.missing;
  return row;
}

rpc::ListProcessesReply ProcessRegistry::list(const Caller& caller) {
  rpc::ListProcessesReply reply;
  const MonotonicTime now = world_.clock.monotonic();
  auto reachable = table_.all();
  std::erase_if(reachable, [&](const ProcessEntry* entry) { return !may_reach(caller, *entry); });
  const Parts parts = parts_of(reachable);
  for (const ProcessEntry* entry : reachable) {
    const auto part = parts.find(entry->key.pid);
    reply.processes.push_back(row(*entry, part == parts.end() ? Part{} : part->second, now));
  }
  return reply;
}

void ProcessRegistry::socket_directory(const Caller& caller,
                                       rpc::Done<rpc::SocketDirectoryReply> done) {
  if (auto allowed = may_have_directory(caller); !allowed) {
    done(std::unexpected(std::move(allowed.error())));
    return;
  }
  if (!world_.user_directories()) {
    done(fail(ErrorKind::unavailable,
              "the daemon makes none, by --nokineto_user_directories; jobs call at its abstract "
              "socket, if that is served (dyno status)"));
    return;
  }
  auto path = world_.run_directory.make_user_directory(caller.tenant.uid);
  if (!path) {
    done(std::unexpected(std::move(path.error())));
    return;
  }
  if (path->size() > kMaxSocketDirectory) {
    done(fail(ErrorKind::unavailable,
              fmt::format("{} has {} bytes, and Kineto takes at most {}: start the daemon with a "
                          "shorter --run_dir",
                          *path, path->size(), kMaxSocketDirectory)));
    return;
  }
  world_.add_socket_directory(*path, [path = *path, done = std::move(done)](Status up) {
    if (!up) {
      done(std::unexpected(std::move(up.error())));
      return;
    }
    done(rpc::SocketDirectoryReply{path});
  });
}

}  // namespace dynolog
