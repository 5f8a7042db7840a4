"""The dashboard Node Exporter Full: each family that its panels ask for is on our page, where this
host has the source of it, or docs/prometheus.md names it among what is not offered."""

import glob
import os
import re
import socket

import pytest

from harness import page, places
from harness.daemon import Daemon
from harness.waiting import until

CPU = "/sys/devices/system/cpu/cpu*"
NETLINK_SOCK_DIAG = 4


def always():
    return True


def files(pattern):
    return lambda: bool(glob.glob(pattern))


def line(path, start):
    """The file has a line that begins with this expression."""
    def look():
        if not os.path.exists(path):
            return False
        with open(path) as file:
            return bool(re.search(f"^{start}", file.read(), re.M))
    return look


def has_socket_diagnosis():
    try:
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG).close()
    except OSError:
        return False
    return True


MEMINFO = ("Active Active_anon Active_file AnonHugePages AnonPages Bounce Buffers Cached "
           "CommitLimit Committed_AS DirectMap1G DirectMap2M DirectMap4k Dirty HardwareCorrupted "
           "Hugepagesize Inactive Inactive_anon Inactive_file KernelStack Mapped MemAvailable "
           "MemFree MemTotal Mlocked NFS_Unstable PageTables Percpu SReclaimable SUnreclaim Shmem "
           "ShmemHugePages ShmemPmdMapped Slab SwapCached SwapFree SwapTotal Unevictable "
           "VmallocChunk VmallocTotal VmallocUsed Writeback WritebackTmp").split()
HUGE_PAGES = "HugePages_Free HugePages_Rsvd HugePages_Surp HugePages_Total".split()
VMSTAT = "oom_kill pgfault pgmajfault pgpgin pgpgout pswpin pswpout".split()
NETSTAT = ("Icmp_InErrors Icmp_InMsgs Icmp_OutMsgs Ip_Forwarding Tcp_ActiveOpens Tcp_CurrEstab "
           "Tcp_InErrs Tcp_InSegs Tcp_MaxConn Tcp_OutRsts Tcp_OutSegs Tcp_PassiveOpens "
           "Tcp_RetransSegs UdpLite_InErrors Udp_InDatagrams Udp_InErrors Udp_NoPorts "
           "Udp_OutDatagrams Udp_RcvbufErrors Udp_SndbufErrors").split()
NETSTAT_EXTENDED = ("IpExt_InOctets IpExt_OutOctets TcpExt_ListenDrops TcpExt_ListenOverflows "
                    "TcpExt_SyncookiesFailed TcpExt_SyncookiesRecv TcpExt_SyncookiesSent "
                    "TcpExt_TCPOFOQueue TcpExt_TCPRcvQDrop TcpExt_TCPSynRetrans").split()
SOCKSTAT = ("FRAG_inuse FRAG_memory RAW_inuse TCP_alloc TCP_inuse TCP_mem TCP_orphan TCP_tw "
            "UDPLITE_inuse UDP_inuse UDP_mem sockets_used").split()
TIMEX = ("estimated_error_seconds frequency_adjustment_ratio loop_time_constant maxerror_seconds "
         "offset_seconds status sync_status tai_offset_seconds tick_seconds").split()
DISK = ("io_now io_time_seconds_total io_time_weighted_seconds_total read_bytes_total "
        "read_time_seconds_total reads_completed_total reads_merged_total "
        "write_time_seconds_total writes_completed_total writes_merged_total "
        "written_bytes_total").split()
DISCARDS = "discards_completed_total discards_merged_total".split()
FILESYSTEM = "avail_bytes device_error files files_free free_bytes readonly size_bytes".split()
NET_BOTH = "bytes compressed drop errs fifo packets".split()
TEMPERATURE = {"": "input", "crit_": "crit", "crit_alarm_": "crit_alarm",
               "crit_hyst_": "crit_hyst", "max_": "max"}

FAMILIES = {
    "node_cpu_seconds_total": always,
    "node_cpu_guest_seconds_total": always,
    "node_load1": always, "node_load5": always, "node_load15": always,
    "node_time_seconds": always, "node_boot_time_seconds": always,
    "node_uname_info": always, "node_os_info": files("/etc/os-release"),
    "node_context_switches_total": always, "node_forks_total": always, "node_intr_total": always,
    "node_procs_blocked": always, "node_procs_running": always,
    "node_interrupts_total": files("/proc/interrupts"),
    "node_entropy_available_bits": always,
    "node_filefd_allocated": always, "node_filefd_maximum": always,
    "node_arp_entries": line("/proc/net/arp", r"\d"),
    "node_scrape_collector_duration_seconds": always, "node_scrape_collector_success": always,
    "node_textfile_scrape_error": always,
    "node_processes_max_processes": always, "node_processes_max_threads": always,
    "node_processes_pids": files("/proc/1/stat"),
    "node_processes_state": files("/proc/1/stat"),
    "node_processes_threads": files("/proc/1/stat"),
    "node_tcp_connection_states": has_socket_diagnosis,
    "node_nf_conntrack_entries": files("/proc/sys/net/netfilter/nf_conntrack_count"),
    "node_nf_conntrack_entries_limit": files("/proc/sys/net/netfilter/nf_conntrack_max"),
    "node_cpu_scaling_frequency_hertz": files(f"{CPU}/cpufreq/scaling_cur_freq"),
    "node_cpu_scaling_frequency_max_hertz": files(f"{CPU}/cpufreq/scaling_max_freq"),
    "node_cpu_scaling_frequency_min_hertz": files(f"{CPU}/cpufreq/scaling_min_freq"),
    "node_cooling_device_cur_state": files("/sys/class/thermal/cooling_device*"),
    "node_cooling_device_max_state": files("/sys/class/thermal/cooling_device*"),
    "node_power_supply_online": files("/sys/class/power_supply/*/online"),
    "node_hwmon_chip_names": files("/sys/class/hwmon/hwmon*/name"),
    "node_systemd_socket_accepted_connections_total": files("/run/systemd/system"),
    "node_systemd_units": files("/run/systemd/system"),
    **{f"node_pressure_{what}_seconds_total": files(f"/proc/pressure/{what.split('_')[0]}")
       for what in ("cpu_waiting", "io_stalled", "io_waiting", "irq_stalled", "memory_stalled",
                    "memory_waiting")},
    **{f"node_schedstat_{what}_total": files("/proc/schedstat")
       for what in ("running_seconds", "timeslices", "waiting_seconds")},
    **{f"node_softnet_{what}_total": files("/proc/net/softnet_stat")
       for what in ("dropped", "processed", "times_squeezed", "received_rps",
                    "flow_limit_count")},
    **{f"node_memory_{name}_bytes":
       line("/proc/meminfo", name.replace("_anon", r"\(anon\)").replace("_file", r"\(file\)") + ":")
       for name in MEMINFO},
    **{f"node_memory_{name}": line("/proc/meminfo", f"{name}:") for name in HUGE_PAGES},
    **{f"node_vmstat_{name}": line("/proc/vmstat", f"{name} ") for name in VMSTAT},
    **{f"node_netstat_{name}": line("/proc/net/snmp", "{}:.* {}( |$)".format(*name.split("_")))
       for name in NETSTAT},
    **{f"node_netstat_{name}": line("/proc/net/netstat", "{}:.* {}( |$)".format(*name.split("_")))
       for name in NETSTAT_EXTENDED},
    **{f"node_sockstat_{name}": line("/proc/net/sockstat", "{}:.* {} ".format(*name.split("_")))
       for name in SOCKSTAT},
    "node_sockstat_TCP_mem_bytes": always, "node_sockstat_UDP_mem_bytes": always,
    **{f"node_timex_{name}": always for name in TIMEX},
    **{f"node_disk_{name}": line("/proc/diskstats", r" *\d+ +\d+ (sd|vd|nvme|xvd|dm-|md)")
       for name in DISK},
    **{f"node_disk_{name}": line("/proc/diskstats",
                                 r" *\d+ +\d+ (sd|vd|nvme|xvd|dm-|md)\S*( \d+){15}")
       for name in DISCARDS},
    **{f"node_filesystem_{name}": always for name in FILESYSTEM},
    **{f"node_network_{way}_{name}_total": always
       for way in ("receive", "transmit") for name in NET_BOTH},
    "node_network_receive_frame_total": always, "node_network_receive_multicast_total": always,
    "node_network_transmit_carrier_total": always, "node_network_transmit_colls_total": always,
    "node_network_carrier": files("/sys/class/net/[!l]*/carrier"),
    "node_network_mtu_bytes": always, "node_network_up": always,
    "node_network_transmit_queue_length": always,
    **{f"node_hwmon_temp_{part}celsius": files(f"/sys/class/hwmon/hwmon*/temp*_{file}")
       for part, file in TEMPERATURE.items()},
    # Of the exporter itself.
    "process_cpu_seconds_total": always, "process_max_fds": always, "process_open_fds": always,
    "process_resident_memory_bytes": always, "process_virtual_memory_bytes": always,
    "process_resident_memory_max_bytes": always, "process_virtual_memory_max_bytes": always,
}


def documented():
    """What docs/prometheus.md says not to be offered of the dashboard's families."""
    with open(os.path.join(places.REPOSITORY, "docs/prometheus.md")) as file:
        text = file.read()
    section = text.split("\n### Of Node Exporter Full\n")[1].split("\n#")[0]
    rows = [row.split("|")[1] for row in section.splitlines() if row.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([a-zA-Z0-9_]+)`", row)}


@pytest.fixture(scope="module")
def families(tmp_path_factory):
    texts = tmp_path_factory.mktemp("texts")
    texts.chmod(0o755)
    daemon = Daemon("--noenable_ipc_monitor", "--no_tcp", "--prometheus_port=0",
                    f"--textfile_directory={texts}").start()
    try:
        url = page.page_url(daemon)
        # These come from a worker, and so later than the others.
        late = {"node_filesystem_size_bytes", "node_textfile_scrape_error"}
        yield until("the readings of workers", lambda: (
            (found := page.page_of(url)) and late <= found.keys() and found), pause=0.5)
    finally:
        daemon.close()


def test_the_table_is_about_families_that_hosts_have():
    """A wrong condition would let everything pass."""
    assert len(FAMILIES) > 190
    for name in ("node_memory_Active_anon_bytes", "node_netstat_TcpExt_ListenDrops",
                 "node_netstat_Udp_InDatagrams", "node_sockstat_TCP_alloc", "node_vmstat_pgfault",
                 "node_memory_HugePages_Total"):
        assert FAMILIES[name](), name


def test_each_family_is_here_or_documented(families):
    missing = {name for name, is_here in FAMILIES.items()
               if is_here() and not (name in families and families[name].series)}
    assert sorted(missing - documented()) == []


def test_what_the_page_says_to_be_missing_is_missing(families):
    told = documented()
    assert told and told <= FAMILIES.keys(), sorted(told - FAMILIES.keys())
    assert sorted(told & families.keys()) == []
