// The collectors' options: what each of them leaves out, by name.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/name_pattern.h"

namespace dynolog {

// The defaults are node_exporter's, so that pages have the same series.
struct CollectorOptions {
  std::map<std::string, std::chrono::seconds> intervals{};  // by collector, instead of its tier's
  struct Disk {
    NameFilterOptions devices{.include = "",
                              .exclude = "^(ram|loop|fd|(h|s|v|xv)d[a-z]|nvme\\d+n\\d+p)\\d+$"};
  } disk;
  struct Filesystem {
    NameFilterOptions mount_points{.include = "",
                                   .exclude =
                                       "^/(dev|proc|run/credentials/.+|sys|"
                                       "var/lib/docker/.+|var/lib/containers/storage/.+)"
                                       "($|/)"};
    NameFilterOptions types{
        .include = "",
        .exclude =
            "^(autofs|binfmt_misc|bpf|cgroup2?|configfs|debugfs|devpts|devtmpfs|fusectl|"
            "hugetlbfs|iso9660|mqueue|nsfs|overlay|proc|procfs|pstore|rpc_pipefs|"
            "securityfs|selinuxfs|squashfs|sysfs|tracefs)$"};
  } filesystem;
  struct Net {
    NameFilterOptions devices{.include = "", .exclude = "^lo$"};  // traffic
    NameFilterOptions attributes{.include = "", .exclude = ""};   // speed, state, addresses
    // Traffic only of interfaces whose names begin so, when asked for (collectors/net_filter.h).
    bool by_prefix = false;
    std::vector<std::string> prefixes{"eno", "ens", "enp", "enx", "eth"};
  } net;
  struct Ethtool {
    // Of the hundreds to thousands that a driver has: what goes wrong on the link, drops,
    // congestion, pauses, and RDMA's traffic; nothing by queue.
    NameFilterOptions statistics{
        .include =
            "err|drop|discard|pause|ecn|cnp|pfc|timeout|link_down|symbol|corrected|stall|"
            "out_of_buffer|no_buf|exceeded|^(rx|tx)_(bytes|packets)(_phy)?$|rdma.*_bytes$",
        .exclude = "^((rx|tx|ch|queue|q)_?[0-9]+[_.]|(rx|tx)_(queue|ring)_?[0-9]+|\\[[0-9]+\\])"};
  } ethtool;
  struct Netstat {
    std::string fields =
        "^(.*_(InErrors|InErrs)|Ip_Forwarding|Ip(6|Ext)_(InOctets|OutOctets)|"
        "Icmp6?_(InMsgs|OutMsgs)|TcpExt_(Listen.*|Syncookies.*|TCPSynRetrans|TCPTimeouts|"
        "TCPOFOQueue|TCPRcvQDrop)|"
        "Tcp_(ActiveOpens|InSegs|OutSegs|OutRsts|PassiveOpens|RetransSegs|CurrEstab)|"
        "Udp6?_(InDatagrams|OutDatagrams|NoPorts|RcvbufErrors|SndbufErrors))$";
  } netstat;
  struct Cgroups {
    std::vector<std::string> slices = {"system.slice", "user.slice"};
  } cgroups;
  struct Jobs {
    bool user_label = false;  // whose a job is, on the page too
  } jobs;
  struct Systemd {
    std::vector<std::string> units;  // none: nobody is asked
  } systemd;
  struct Textfile {
    std::string directory;  // "": none
  } textfile;
  struct Top {
    std::int64_t processes = 10;  // of each of CPU, memory and IO; 0: off
  } top;
  struct Vmstat {
    // node_exporter's, and what explains a stall: reclaim, compaction, huge pages, NUMA balancing.
    std::string fields =
        "^(oom_kill|pgpg|pswp|pg.*fault|pgscan_(kswapd|direct)$|pgsteal_(kswapd|direct)$|"
        "allocstall|compact_(stall|fail|success)$|thp_(fault_alloc|fault_fallback|collapse_alloc|"
        "split_page)$|numa_(pages_migrated|hint_faults|hint_faults_local)$|workingset_refault)";
  } vmstat;
  struct Interrupts {
    bool per_cpu = false;  // each interrupt of each CPU: thousands of series on a large host
  } interrupts;
};

}  // namespace dynolog
