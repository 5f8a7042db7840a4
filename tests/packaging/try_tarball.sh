#!/bin/bash
# Run on any host, old ones and other processors' included, without network and Python. As an ordinary
# user: the tarball unpacked in a home directory, then installed there, upgraded and removed. As root:
# installed onto the host.
# Arguments: the tarball; host or bundled, whose C library this host is to run it with, or root.
set -euo pipefail
tarball=$1
expected=$2
[[ $EUID -ne 0 || $expected == root ]] || { echo 'run it as an ordinary user' >&2; exit 1; }
home=$(mktemp -d)
export HOME=$home LC_ALL=C
daemon=
manager=

fail() {
  echo "FAILED: $*" >&2
  [[ ! -s $home/daemon.log ]] || cat "$home/daemon.log" >&2
  exit 1
}
step() { echo "--- $*"; }
is() { [[ $2 == "$3" ]] || fail "$1: '$2', not '$3'"; }
finish() {
  [[ -z $daemon ]] || kill -KILL "$daemon" 2>/dev/null || true
  [[ -z $manager ]] || kill -KILL "$manager" 2>/dev/null || true
  rm -rf --one-file-system "$home"
}
trap finish EXIT

# words_of PID: its command line, with spaces between.
words_of() { tr '\0' ' ' <"/proc/$1/cmdline"; }

unpacks() {
  step 'unpack, and call through a link in PATH'
  place="$home/a place/of its own"
  mkdir -p "$place" "$home/bin"
  tar -xzf "$tarball" -C "$place"
  top=$(find "$place" -mindepth 1 -maxdepth 1)
  ln -s "$top/bin/dyno" "$home/bin/dyno"
  PATH=$home/bin:$PATH
  local version=${top##*/dynolog-}
  version=${version%.linux-*}
  is version "$(dyno --version)" "dyno $version"
  is 'the other program' "$("$top/bin/dynolog" --version)" "dynolog $version"
  is 'its exit code' "$(dyno --no-such-option >/dev/null 2>&1 || echo $?)" 2
}

# In place of systemd: writes down what a service tells it. Debian's smallest system has perl.
manages() {
  : >"$home/notified"
  perl -e 'use Socket; $| = 1; my $m; socket(my $s, AF_UNIX, SOCK_DGRAM, 0) or die;
    bind($s, sockaddr_un($ARGV[0])) or die; print "listens\n";
    print "$m\n" while defined recv($s, $m, 4096, 0)' "$home/notify" >"$home/notified" &
  manager=$!
  disown "$manager"
  waits_for listens
}
waits_for() {
  for _ in {1..300}; do
    ! grep -qx "$1" "$home/notified" || return 0
    sleep 0.1
  done
  fail "the service manager was told no $1, but: $(cat "$home/notified")"
}

# The daemon's child processes: started through the launcher like itself, with the same C library.
workers_run_with_the_same_libc() {
  local status worker found=0
  for status in /proc/[0-9]*/status; do
    grep -qx "PPid:.$daemon" "$status" 2>/dev/null || continue
    worker=${status%/status}
    worker=${worker#/proc/}
    found=$((found + 1))
    case $(words_of "$worker") in
      *--library-path*--worker=*) is "C library of a worker" bundled "$expected" ;;
      *--worker=*) is "C library of a worker" host "$expected" ;;
      *) fail "a child that is no worker: $(words_of "$worker")" ;;
    esac
  done
  ((found)) || fail 'no worker runs'
}

# starts PROGRAM...: a daemon.
starts() {
  mkdir -p "$home/run"
  "$@" --run_dir="$home/run" --state_dir="$home/state" --no_tcp --noenable_ipc_monitor \
    --prometheus_port=0 >"$home/daemon.log" 2>&1 &
  daemon=$!
  for _ in {1..300}; do
    ! dyno --run-dir "$home/run" status >/dev/null 2>&1 || break
    sleep 0.1
  done
  dyno --run-dir "$home/run" status >"$home/status" || fail 'the daemon does not answer'
  is "the daemon's name" "$(cat "/proc/$daemon/comm")" dynolog
  case $(words_of "$daemon") in
    *--library-path*) is 'C library' bundled "$expected" ;;
    *) is 'C library' host "$expected" ;;
  esac
}

ends() {
  kill -TERM "$daemon"
  wait "$daemon" || fail "the daemon ended with $?"
  daemon=
}

installs() {
  step 'install, upgrade, remove in a home directory'
  (cd / && "$top/install.sh") >"$home/said" || fail 'install.sh'
  grep -q 'It does without' "$home/said" || fail 'it does not say what is missing'
  local installed=$home/.local
  touch "$installed/share/dynolog/of-an-older-version"
  echo share/dynolog/of-an-older-version >>"$installed/share/dynolog/installed-files"
  "$top/install.sh" >/dev/null || fail 'install.sh again'
  [[ ! -e $installed/share/dynolog/of-an-older-version ]] || fail 'an upgrade leaves old files'
  [[ ! -e $installed/lib/systemd ]] || fail 'a unit without root'
  is 'manual page' "$(find "$installed/share/man" -name dyno.1 | wc -l)" 1
  PATH=$installed/bin:$PATH
  starts "$installed/bin/dynolog"
  ends
  "$top/install.sh" --remove >/dev/null || fail 'install.sh --remove'
  is 'what is left' "$(find "$installed" -type f)" ''
}

installs_as_root() {
  step 'install, upgrade and remove as root'
  tar -xzf "$tarball" -C "$home"
  top=$(find "$home" -mindepth 1 -maxdepth 1)
  "$top/install.sh" >"$home/said"
  grep -q 'systemd does not run here' "$home/said" || fail 'it does not say how to go on'
  is configuration "$(dynolog --check_config)" 'configuration is valid'
  is 'socket directory' "$(stat -c '%a %U' /run/dynolog/kineto)" '1777 root'
  is unit "$(sed -n 's/^ExecStart=//p' /usr/local/lib/systemd/system/dynolog.service)" \
    /usr/local/bin/dynolog
  echo '# mine' >>/etc/dynolog/dynolog.toml
  "$top/install.sh" >/dev/null
  tail -1 /etc/dynolog/dynolog.toml | grep -q mine || fail 'an upgrade replaces configuration'
  "$top/install.sh" --remove >/dev/null
  is 'what is left' "$(find /usr/local -path '*dyno*' ! -type d)" ''
  [[ -e /etc/dynolog/dynolog.toml ]] || fail 'a removal takes configuration'
}

if [[ $expected == root ]]; then
  [[ $EUID -eq 0 ]] || fail 'it is not root'
  installs_as_root
  echo 'all passed'
  exit 0
fi
unpacks
step 'run where it was unpacked, as a service that tells its manager'
manages
NOTIFY_SOCKET=$home/notify starts "$top/bin/dynolog"
waits_for READY=1
workers_run_with_the_same_libc
dyno --run-dir "$home/run" doctor >"$home/doctor" 2>&1 || [[ $? -eq 1 ]] || fail 'dyno doctor'
grep -q . "$home/doctor" || fail 'dyno doctor says nothing'
ends
waits_for STOPPING=1
kill -KILL "$manager"
manager=
installs
echo 'all passed'
