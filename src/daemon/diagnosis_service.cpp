// A run goes: scan of the host -> versions and directories, as the owners -> verdicts.
#include "daemon/diagnosis_service.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/number.h"
#include "base/text.h"
#include "daemon/diagnosis_candidates.h"
#include "daemon/host_diagnosis.h"
#include "daemon/wanted_ranks.h"
#include "kernel/clock_sync.h"
#include "processes/diagnosis.h"
#include "workers/files_worker.h"
#include "workers/host_scan.h"
#include "workers/procs_frames.h"

namespace dynolog {
namespace {

// Together less than what `dyno` waits by default.
constexpr Nanoseconds kScanTime = std::chrono::seconds(3);
constexpr Nanoseconds kOwnersTime = Milliseconds(1500);
// Of processes whose directories are looked at, and of workers that do it.
constexpr std::size_t kMaxLookedInto = 64;
constexpr std::size_t kMaxLookers = 8;
constexpr std::size_t kMaxSmallFile = 64U << 10U;

rpc::Finding finding_of(Verdict verdict) {
  rpc::Finding finding;
  finding.check = std::move(verdict.check);
  finding.level = to_string(verdict.level);
  finding.what = std::move(verdict.what);
  finding.why = std::move(verdict.why);
  finding.fix = std::move(verdict.fix);
  return finding;
}

// Without what a planner would advise: that has no place here.
SeenDirectory seen(const DirectoryAnswer& answer) {
  return {.looked = !answer.unknown,
          .usable = answer.usable,
          .problem = answer.fault,
          .id = answer.directory_id,
          .free_bytes = answer.free_bytes};
}

std::optional<int> number_in(const std::string& path) {
  const auto text = read_file(path, kMaxSmallFile);
  return text ? parse_number<int>(trim(*text)) : std::nullopt;
}

std::string link_at(const std::string& path) {
  char target[64] = {};
  const ssize_t size = ::readlink(path.c_str(), target, sizeof target - 1);
  return size > 0 ? std::string(target, static_cast<std::size_t>(size)) : "";
}

// Since boot, as start times of processes count.
std::optional<Nanoseconds> uptime(const SystemRoot& root) {
  const auto text = read_file(root.proc + "/uptime", kMaxSmallFile);
  if (!text) return std::nullopt;
  const auto seconds = parse_number<double>(text->substr(0, text->find(' ')));
  if (!seconds) return std::nullopt;
  return std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(*seconds));
}

Nanoseconds started_after_boot(const ProcessKey& key) {
  const auto seconds = std::chrono::duration<double>(static_cast<double>(key.start_ticks) /
                                                     static_cast<double>(::sysconf(_SC_CLK_TCK)));
  return std::chrono::duration_cast<Nanoseconds>(seconds);
}

bool is_dcgm(const ProfilingTool& tool) {
  return tool.name == "nv-hostengine" || tool.name == "dcgm-exporter";
}

}  // namespace

class DaemonDiagnosis::Run {
 public:
  Run(const World& world, Caller caller, rpc::DiagnoseRequest request, Selection selection,
      rpc::Done<rpc::DiagnoseReply> done, std::function<void()> on_end)
      : world_(world),
        caller_(std::move(caller)),
        request_(std::move(request)),
        selection_(std::move(selection)),
        done_(std::move(done)),
        on_end_(std::move(on_end)),
        endpoints_(world.endpoints()) {
    scan_ =
        HostScan::start(world_.loop, world_.clock, world_.log, world_.executable, scan_options(),
                        [this](ScanOutcome outcome) { on_scan(std::move(outcome)); });
  }
  ~Run() { *alive_ = false; }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  [[nodiscard]] const Caller& caller() const { return caller_; }

 private:
  using Group = std::vector<const Candidate*>;

  [[nodiscard]] bool filtered() const { return !request_.pids.empty() || request_.job; }

  ScanOptions scan_options() {
    ScanOptions options;
    if (!caller_.host_root) options.only_of = caller_.tenant.uid;
    options.time = kScanTime;
    for (const std::int64_t pid : request_.pids) {
      if (pid > 0 && pid <= std::numeric_limits<std::int32_t>::max()) {
        options.named.push_back(Pid{static_cast<std::int32_t>(pid)});
      }
    }
    options.paths = world_.own_directories;
    options.paths.emplace_back("/tmp");
    measured_ = options.paths.size();
    const std::string users = world_.own_directories.front() + "/u/";
    for (const auto& [endpoint, problem] : endpoints_) {
      if (endpoint.starts_with('/') && !endpoint.starts_with(users)) {
        options.paths.push_back(endpoint);
      }
    }
    return options;
  }

  void on_scan(ScanOutcome outcome) {
    outcome_ = std::move(outcome);
    candidates_ = find_candidates(world_.processes.all(), outcome_.processes, selection_, caller_,
                                  world_.clock.monotonic());
    patience_ = world_.loop.after(kOwnersTime, [this] { finish(); });
    ask_versions();
    ask_directories();
    finish_when_known();
  }

  // --- what only the owners' workers may read ---

  void ask_versions() {
    for (const Candidate& candidate : candidates_.all) {
      if (!candidate.wanted || candidate.registered) continue;
      const ProcessFacts& facts = *candidate.entry.facts;
      if (facts.torch_library.empty()) continue;
      ++open_;
      world_.torch.read(facts,
                        [this, alive = alive_, pid = facts.key.pid](Result<TorchFacts> torch) {
                          if (!*alive) return;
                          if (torch) versions_[pid] = std::move(*torch);
                          settle();
                        });
    }
  }

  void ask_directories() {
    std::map<Tenant, Group> groups;
    std::size_t count = 0;
    for (const Candidate& candidate : candidates_.all) {
      const auto& facts = candidate.entry.facts;
      if (!candidate.wanted || !facts || facts->torch_library.empty()) continue;
      if (++count > kMaxLookedInto) break;
      groups[Tenant{facts->uid, facts->container}].push_back(&candidate);
    }
    for (const auto& [tenant, group] : groups) {
      if (lookers_.size() < kMaxLookers) look_as_owner(group);
    }
  }

  void look_as_owner(const Group& group) {
    std::vector<FilesIdentity> identities;
    for (const Candidate* candidate : group) {
      identities.push_back({candidate->entry.key, candidate->entry.facts->uid});
    }
    // A worker that ends has failed what it was asked, which is all that has to be known.
    auto worker = FilesWorker::start(
        world_.loop, world_.log, world_.executable, std::move(identities), [](const FileEvent&) {},
        [](const std::string&) {});
    if (!worker) return;
    for (const Candidate* candidate : group) {
      ++open_;
      const ProcessFacts& facts = *candidate->entry.facts;
      (*worker)->prepare(facts.key.pid, places_of(facts),
                         [this, pid = facts.key.pid](const Result<PreparedPlaces>& prepared) {
                           if (prepared) places_[pid] = *prepared;
                           settle();
                         });
    }
    lookers_.push_back(std::move(*worker));
  }

  static std::string trace_directory_of(const ProcessFacts& facts) {
    return facts.ondemand_trace_dir.starts_with('/') ? facts.ondemand_trace_dir : "/tmp";
  }

  // A directory is asked for by a file in it. Nothing is made.
  static PlacesAsked places_of(const ProcessFacts& facts) {
    constexpr std::string_view kName = "/dynolog-doctor.json";
    PlacesAsked places;
    places.target = trace_directory_of(facts) + std::string(kName);
    places.file = facts.ipc_socket_dir.starts_with('/') ? facts.ipc_socket_dir + std::string(kName)
                                                        : places.target;
    return places;
  }

  void settle() {
    --open_;
    finish_when_known();
  }

  // Not inside a callback of a worker that ends with this run.
  void finish_when_known() {
    if (open_ > 0) return;
    patience_.cancel();
    world_.loop.post([this, alive = alive_] {
      if (*alive) finish();
    });
  }

  // --- the verdicts ---

  void finish() {
    if (!done_) return;
    const auto done = std::exchange(done_, nullptr);
    const auto on_end = on_end_;
    auto reply = compose();
    on_end();  // destroys this run
    done(std::move(reply));
  }

  Result<rpc::DiagnoseReply> compose() {
    rpc::DiagnoseReply reply;
    const bool wanted = std::ranges::any_of(candidates_.all, &Candidate::wanted);
    const auto hung = hung_and_named();
    if (filtered() && !wanted && hung.empty()) return nothing_wanted();
    add_host(reply);
    ground_ = ground();
    uptime_ = uptime(world_.root);
    for (const Candidate& candidate : candidates_.all) {
      if (candidate.wanted) add_process(candidate, reply);
    }
    for (const Pid pid : hung) {
      add(Verdict{"state", Level::broken, "it hangs in the kernel: nothing of it can be read",
                  "what hangs, for storage or a driver, neither calls the daemon nor traces",
                  fmt::format("what it waits for: cat /proc/{}/wchan /proc/{}/stack (as root)",
                              pid.value, pid.value)},
          pid, reply);
    }
    for (const std::int64_t pid : candidates_.unmatched) {
      if (std::ranges::find(hung, pid, &Pid::value) != hung.end()) continue;
      rpc::Finding finding = finding_of(
          Verdict{"processes", Level::broken,
                  fmt::format("there is no such process, or it is not yours{}{}", or_not_of_job(),
                              or_out_of_reach()),
                  "it was named, and nothing is known of it",
                  "see its pid with `ps`; another user's process is nobody else's business"});
      finding.pid = pid;
      reply.findings.push_back(std::move(finding));
    }
    return reply;
  }

  // Who is root where the command runs takes others' processes for their own.
  std::string_view or_out_of_reach() const {
    if (caller_.host_root || caller_.tenant.uid != kRootUid) return "";
    return ", or could not be looked at: as far as the daemon can tell you are root of a container "
           "or of a user namespace (without CAP_SYS_PTRACE it cannot tell root of the host), and "
           "only root of the host is told of others': ask there, or as the process's own user";
  }

  std::string_view or_not_of_job() const { return request_.job ? ", or not of this job" : ""; }

  std::vector<Pid> hung_and_named() const {
    std::vector<Pid> pids;
    for (const Pid pid : outcome_.hung) {
      if (std::ranges::find(request_.pids, pid.value) != request_.pids.end()) pids.push_back(pid);
    }
    return pids;
  }

  Result<rpc::DiagnoseReply> nothing_wanted() const {
    if (!outcome_.incomplete.empty()) {
      return fail(
          ErrorKind::timed_out,
          fmt::format("not all processes could be looked at: {}; ask again", outcome_.incomplete));
    }
    if (request_.job) {
      return fail(ErrorKind::not_found,
                  fmt::format("no process of job {} that you may see looks like PyTorch or holds a "
                              "GPU here{}",
                              clean_text(*request_.job, 80),
                              request_.pids.empty() ? "" : " and has one of these pids"));
    }
    return fail(ErrorKind::not_found,
                fmt::format("there is no process {}, or it is not yours{}; `dyno doctor` without "
                            "--pid lists what can be looked at",
                            fmt::join(candidates_.unmatched, " or "), or_out_of_reach()));
  }

  void add(Verdict verdict, Pid pid, rpc::DiagnoseReply& reply) const {
    rpc::Finding finding = finding_of(std::move(verdict));
    finding.pid = pid.value;
    reply.findings.push_back(std::move(finding));
  }

  void add_host(rpc::DiagnoseReply& reply) {
    for (Verdict& verdict : diagnose_host(host_facts())) {
      // Who asks for one process wants to know what of the host is in its way, and what was not
      // looked at.
      const bool counts = verdict.level == Level::broken || verdict.check == "processes";
      if (filtered() && !counts) continue;
      add(std::move(verdict), Pid{}, reply);
    }
  }

  HostFacts host_facts() {
    HostFacts facts;
    facts.status = world_.status();
    facts.system_mode = world_.system_mode;
    facts.may_name_holder = may_name_holder();
    if (const auto status = read_file(world_.root.proc + "/self/status", kMaxSmallFile)) {
      facts.capabilities = effective_capabilities(*status);
    }
    const std::string queue = world_.root.proc + "/sys/net/unix/max_dgram_qlen";
    facts.queue_length = number_in(queue);
    facts.may_raise_queue_length = ::access(queue.c_str(), W_OK) == 0;
    facts.look = outcome_.host;
    if (facts.look) facts.look->spaces.resize(std::min(measured_, facts.look->spaces.size()));
    facts.look_problem = outcome_.host_problem;
    facts.clock = read_clock_sync();
    if (auto text = read_file(world_.root.etc + "/libkineto.conf", kMaxSmallFile)) {
      facts.base_configuration = std::move(*text);
    }
    for (const ProfilingTool& tool : outcome_.tools) {
      facts.dcgm_runs = facts.dcgm_runs || (is_dcgm(tool) && tool.uid == kRootUid);
      const bool own = tool.uid == caller_.tenant.uid && caller_.tenant.container.empty();
      if (caller_.host_root || own) facts.tools.push_back(tool);
    }
    facts.hung = outcome_.hung.size();
    // Who named processes that are all here misses nothing of the others.
    const bool all_found = !request_.pids.empty() && candidates_.unmatched.empty();
    if (!all_found) facts.incomplete = outcome_.incomplete;
    // Users have processes that they may not read themselves, such as agents that hold their keys.
    if (!all_found && caller_.host_root) facts.refused = outcome_.refused;
    return facts;
  }

  void add_process(const Candidate& candidate, rpc::DiagnoseReply& reply) {
    const DiagnosisSubject subject = subject_of(candidate);
    for (Verdict& verdict : dynolog::diagnose(subject, ground_)) {
      add(std::move(verdict), candidate.entry.key.pid, reply);
      rpc::Finding& finding = reply.findings.back();
      finding.rank = subject.facts.job.rank;
      finding.command = subject.facts.command;
    }
  }

  DiagnosisSubject subject_of(const Candidate& candidate) const {
    DiagnosisSubject subject;
    const Pid pid = candidate.entry.key.pid;
    if (candidate.entry.facts) subject.facts = *candidate.entry.facts;
    subject.facts.key = candidate.entry.key;
    subject.signs = candidate.signs;
    subject.torch = candidate.entry.torch;
    if (const auto read = versions_.find(pid); read != versions_.end()) {
      subject.torch = read->second;
    }
    if (candidate.registered) subject.entry = &candidate.entry;
    subject.part = candidate.part;
    subject.traced = world_.traced(pid);
    subject.iterations = request_.iterations;
    subject.named = candidate.named;
    subject.detailed = filtered();
    if (uptime_) subject.age = *uptime_ - started_after_boot(candidate.entry.key);
    subject.forked_from = candidate.forked_from;
    if (const auto places = places_.find(pid); places != places_.end()) {
      if (subject.facts.ipc_socket_dir.starts_with('/')) {
        subject.socket_directory = seen(places->second.file);
      }
      subject.trace_directory = seen(places->second.target);
    }
    return subject;
  }

  // A user's own daemon finds only what its user could.
  bool may_name_holder() const { return caller_.host_root || !world_.system_mode; }

  DiagnosisGround ground() const {
    DiagnosisGround ground;
    ground.now = world_.clock.monotonic();
    ground.network_namespace = link_at(world_.root.proc + "/self/ns/net");
    for (const auto& [endpoint, problem] : endpoints_) {
      if (endpoint == "abstract") {
        ground.wants_abstract = true;
        ground.serves_abstract = problem.empty();
        if (may_name_holder()) ground.abstract_problem = problem;
      } else if (problem.empty()) {
        ground.directories[endpoint] = id_of(endpoint);
      }
    }
    const auto base = read_file(world_.root.etc + "/libkineto.conf", kMaxSmallFile);
    ground.has_base_configuration = base && !base->empty();
    return ground;
  }

  std::string id_of(const std::string& directory) const {
    if (!outcome_.host) return "";
    const auto space = std::ranges::find(outcome_.host->spaces, directory, &HostLook::Space::path);
    return space == outcome_.host->spaces.end() ? "" : space->id;
  }

  const World& world_;
  Caller caller_;
  rpc::DiagnoseRequest request_;
  Selection selection_;
  rpc::Done<rpc::DiagnoseReply> done_;
  std::function<void()> on_end_;
  std::map<std::string, std::string> endpoints_;
  std::size_t measured_ = 0;  // of the paths: the others are only identified
  std::unique_ptr<HostScan> scan_;
  ScanOutcome outcome_;
  Candidates candidates_;
  std::vector<std::unique_ptr<FilesWorker>> lookers_;
  std::map<Pid, TorchFacts> versions_;
  std::map<Pid, PreparedPlaces> places_;
  DiagnosisGround ground_;             // of all processes, when the verdicts are put together
  std::optional<Nanoseconds> uptime_;  // then
  std::size_t open_ = 0;
  Timer patience_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

DaemonDiagnosis::DaemonDiagnosis(World world) : world_(std::move(world)) {}

DaemonDiagnosis::~DaemonDiagnosis() = default;

Result<Selection> DaemonDiagnosis::selection_of(const rpc::DiagnoseRequest& request) const {
  Selection selection;
  selection.pids = request.pids;
  selection.job = request.job;
  if (!request.among) return selection;
  auto ranks = wanted_ranks(*request.among);
  if (!ranks) return std::unexpected(std::move(ranks.error()));
  selection.ranks = std::move(*ranks);
  selection.command = request.among->command;
  selection.gpus = request.among->gpus;
  selection.container = request.among->container;
  if (!request.among->user) return selection;
  selection.uid = world_.find_user(*request.among->user);
  if (selection.uid) return selection;
  return fail(ErrorKind::invalid,
              fmt::format("no user {} on this host", clean_text(*request.among->user, 80)));
}

void DaemonDiagnosis::diagnose(const Caller& caller, rpc::DiagnoseRequest request,
                               rpc::Done<rpc::DiagnoseReply> done) {
  const auto of_user = std::ranges::count_if(runs_, [&](const std::unique_ptr<Run>& run) {
    return run->caller().tenant == caller.tenant && !run->caller().host_root;
  });
  const auto of_others = std::ranges::count_if(
      runs_, [](const std::unique_ptr<Run>& run) { return !run->caller().host_root; });
  const bool too_many =
      runs_.size() >= kMaxOfAll ||
      (!caller.host_root && (static_cast<std::size_t>(of_user) >= kMaxOfUser ||
                             static_cast<std::size_t>(of_others) >= kMaxOfOthers));
  if (too_many) {
    done(fail(ErrorKind::exhausted, "other diagnoses are under way: ask again in a few seconds"));
    return;
  }
  auto selection = selection_of(request);
  if (!selection) {
    done(std::unexpected(std::move(selection.error())));
    return;
  }
  const auto place = runs_.emplace(runs_.end());
  *place = std::make_unique<Run>(world_, caller, std::move(request), std::move(*selection),
                                 std::move(done), [this, place] { runs_.erase(place); });
}

}  // namespace dynolog
