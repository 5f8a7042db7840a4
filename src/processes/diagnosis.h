// Why a process can or cannot be traced, from what was read about it and what the daemon knows.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "processes/process_facts.h"
#include "processes/process_signs.h"
#include "processes/process_table.h"
#include "processes/role.h"
#include "processes/verdict.h"

namespace dynolog {

// A directory as the process's owner sees it inside the process's root.
struct SeenDirectory {
  bool looked = false;  // false: nobody could; nothing is said about it then
  bool usable = false;
  std::string problem;  // when it is not usable
  std::string id;       // "dev:inode"
  std::uint64_t free_bytes = 0;
};

// What the daemon offers its clients.
struct DiagnosisGround {
  MonotonicTime now;
  std::string network_namespace;  // the daemon's, "net:[4026531840]"; "" when not known
  bool wants_abstract = false;    // is to serve the abstract name
  bool serves_abstract = false;   // holds it
  std::string abstract_problem;   // why it does not; "" also where the asking person may not know
  // The directories that it serves, with "dev:inode" of each as the daemon sees it ("" not known).
  std::map<std::string, std::string> directories;
  bool has_base_configuration = false;  // a non-empty /etc/libkineto.conf on the host
};

struct DiagnosisSubject {
  ProcessFacts facts;
  ProcessSigns signs;
  std::optional<TorchFacts> torch;      // nullopt: could not be read
  const ProcessEntry* entry = nullptr;  // nullptr: it has never called
  Part part;
  bool traced = false;             // a trace of ours is under way
  bool iterations = false;         // a trace of a number of iterations was asked for
  bool named = false;              // somebody asks for this very process
  bool detailed = false;           // somebody asks for few: what is merely good to know is told too
  std::optional<Nanoseconds> age;  // since its start
  std::optional<Pid> forked_from;  // see forked_from()
  SeenDirectory socket_directory;  // KINETO_IPC_SOCKET_DIR
  SeenDirectory trace_directory;   // KINETO_ONDEMAND_TRACE_DIR, else /tmp
};

// Longest a process needs from its start until it has imported torch, on a busy host.
inline constexpr Nanoseconds kImportTime = std::chrono::seconds(15);
// Of a path in KINETO_IPC_SOCKET_DIR, in bytes.
inline constexpr std::size_t kMaxClientSocketDirectory = 54;
inline constexpr std::uint64_t kLittleRoom = 1ULL << 30U;  // a trace may well be as large

// The first verdict of a process that has called in says so, and how it is; for one that has not,
// there is at least one that says why. Checks, in one word each: "registered", "environment",
// "version", "network", "socket_dir", "state", "forked", "role", "busy", "base_configuration",
// "poll_interval", "output_dir", "iterations", "profiler", "log_level", "teardown".
[[nodiscard]] std::vector<Verdict> diagnose(const DiagnosisSubject& subject,
                                            const DiagnosisGround& ground);

// What to do where somebody else holds the abstract name; `problem` is what is told of that, with
// or without who it is.
[[nodiscard]] std::string advice_on_held_name(std::string_view problem);

// The process among `all` from which `process` was forked after torch had been loaded there, and
// which is of the same tenant; nullopt when it was not. Such a process has none of Kineto's
// threads.
[[nodiscard]] std::optional<Pid> forked_from(const ScannedProcess& process,
                                             const std::vector<const ScannedProcess*>& all);

}  // namespace dynolog
