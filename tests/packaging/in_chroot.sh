#!/bin/bash
# Run by scripts/check-packages as root of a throw-away Debian: a package's life from installation
# to purge. Arguments: the package, and the same with a higher version whose dynolog.toml has one
# line more. systemctl is a stand-in that writes down what it is asked, as nothing here is systemd.
set -euo pipefail
package=$1
newer=$2
calls=/tmp/systemctl-calls
export DEBIAN_FRONTEND=noninteractive

fail() {
  echo "FAILED: $*" >&2
  echo "apt said last: $(tail -30 /tmp/apt.log)" >&2
  exit 1
}
is() { [[ $2 == "$3" ]] || fail "$1: '$2', not '$3'"; }
step() { echo "--- $*"; }
apt() {
  apt-get -qq -y -o Dpkg::Use-Pty=0 "$@" </dev/null >/tmp/apt.log 2>&1 || fail "apt-get $*"
}
mode() { stat -c '%a %U' "$1"; }
called() { cat "$calls" 2>/dev/null || true; : >"$calls"; }

imitate_systemd() {
  mkdir -p /run/systemd/system
  cat >/usr/bin/systemctl <<'END'
#!/bin/sh
echo "$@" >>/tmp/systemctl-calls
case "$*" in
  *is-enabled*) echo enabled ;;
  *is-active*) exit "$(cat /tmp/active 2>/dev/null || echo 0)" ;;
esac
exit 0
END
  chmod 755 /usr/bin/systemctl
}

installs() {
  step 'install, without systemd'
  apt install --no-install-recommends "$package"
  is kineto "$(mode /run/dynolog/kineto)" '1777 root'
  is u "$(mode /run/dynolog/u)" '711 root'
  is configuration "$(dynolog --check_config)" 'configuration is valid'
  grep -q 'socket_dir = \["/run/dynolog/kineto"\]' <(dynolog --print_config) ||
    fail 'default configuration'
  getent passwd dynolog | grep -q '/var/lib/dynolog:/usr/sbin/nologin' || fail 'user dynolog'
  [[ -L /etc/systemd/system/multi-user.target.wants/dynolog.service ]] || fail 'not enabled'
  is conffiles "$(dpkg-query -W -f '${Conffiles}' dynolog | awk '{print $1}' | sort | xargs)" \
    '/etc/dynolog/dynolog.toml /etc/libkineto.conf'
  is 'files that are not as packed' "$(dpkg --verify dynolog)" ''
  ! ldd /usr/bin/dynolog /usr/bin/dyno | grep 'not found' || fail 'libraries are missing'
}

# The command line of the unit with its capabilities and limits, as systemd would start it.
runs() {
  step 'run as the unit says'
  local unit=/usr/lib/systemd/system/dynolog.service capabilities
  capabilities=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | xargs |
    tr '[:upper:] ' '[:lower:],' | sed 's/cap_/+/g')
  local -a command
  read -ra command < <(sed -n 's/^ExecStart=//p' "$unit")
  # Where this system may not raise limits: as many descriptors as it has, and the capability that
  # stands for the limit of priorities.
  local -a limits=(--core=0:0)
  local files rtprio
  files=$(sed -n 's/^LimitNOFILE=//p' "$unit")
  rtprio=$(sed -n 's/^LimitRTPRIO=//p' "$unit")
  ! prlimit --nofile="$files" true 2>/dev/null || limits+=("--nofile=$files")
  if prlimit --rtprio="$rtprio" true 2>/dev/null; then
    limits+=("--rtprio=$rtprio")
  else
    capabilities+=,+sys_nice
  fi
  # In a network of its own: its names and ports are free there.
  unshare --net prlimit "${limits[@]}" \
    setpriv --bounding-set="-all,$capabilities" --inh-caps=-all --no-new-privs \
    "${command[@]}" >/tmp/daemon.log 2>&1 &
  daemon=$!
  for _ in {1..100}; do
    ! dyno status >/dev/null 2>&1 || break
    sleep 0.1
  done
  dyno status || { cat /tmp/daemon.log; fail 'no answer'; }
  for feature in kineto:abstract kineto:/run/dynolog/kineto kineto:realtime trace-store; do
    dyno status --json | tr -d ' \n' | grep -q "\"name\":\"$feature\",\"state\":\"ok\"" ||
      { dyno status --json; fail "$feature"; }
  done
  ! dyno doctor | grep 'lacks CAP_' || fail 'a capability is missing'
  is 'directory of a user' "$(setpriv --reuid=1234 --regid=1234 --clear-groups dyno env | xargs)" \
    'export KINETO_USE_DAEMON=1 export KINETO_IPC_SOCKET_DIR=/run/dynolog/u/1234'
  is 'its owner' "$(stat -c '%a %u' /run/dynolog/u/1234)" '700 1234'
  [[ -S /run/dynolog/u/1234/dynolog ]] || fail 'no socket in it'
}

ends() {
  kill -TERM "$daemon"
  wait "$daemon" || fail "the daemon ended with $?"
}

upgrades() {
  step 'upgrade: restarted, never stopped; directories stay'
  imitate_systemd
  local before
  before=$(stat -c %i /run/dynolog/kineto)
  called >/dev/null
  apt install "$newer"
  local asked
  asked=$(called)
  grep -q 'restart dynolog.service' <<<"$asked" || fail "no restart in: $asked"
  ! grep -qw stop <<<"$asked" || fail "stopped: $asked"
  is 'directory' "$(stat -c %i /run/dynolog/kineto)" "$before"
  kill -0 "$daemon" || fail 'the running daemon was ended'
  tail -1 /etc/dynolog/dynolog.toml | grep -q 'newer version' || fail 'not the new configuration'
  grep -q . <(dyno status) || fail 'the daemon no longer answers'
}

keeps_what_was_changed() {
  step 'an upgrade keeps what was changed, and spares a daemon whose options it refuses'
  echo 'no_such_option = 1' >>/etc/dynolog/dynolog.toml
  echo '# mine' >>/etc/libkineto.conf
  apt install --allow-downgrades -o Dpkg::Options::=--force-confold "$package"
  grep -q no_such_option /etc/dynolog/dynolog.toml || fail 'dynolog.toml was replaced'
  grep -q '# mine' /etc/libkineto.conf || fail 'libkineto.conf was replaced'
  grep -q no_such_option /tmp/apt.log || fail "silent about a bad option: $(cat /tmp/apt.log)"
  ! called | grep -w 'restart\|stop' || fail 'restarted into a bad configuration'
  sed -i '/no_such_option/d' /etc/dynolog/dynolog.toml
}

spares_a_stopped_service() {
  step 'an upgrade does not start what the administrator stopped'
  echo 3 >/tmp/active
  apt install -o Dpkg::Options::=--force-confold "$newer"
  ! called | grep -w 'start\|restart' || fail 'started'
  rm /tmp/active
}

removes() {
  step 'remove'
  called >/dev/null
  touch /var/lib/dynolog/kept
  apt remove dynolog
  called | grep -q 'stop dynolog.service' || fail 'not stopped'
  [[ ! -e /usr/bin/dynolog ]] || fail 'the program is still there'
  [[ -e /etc/dynolog/dynolog.toml && -e /etc/libkineto.conf && -e /var/lib/dynolog/kept ]] ||
    fail 'a removal takes configuration or traces'
}

purges() {
  step 'purge'
  apt purge dynolog
  local path
  for path in /etc/dynolog /etc/libkineto.conf /var/lib/dynolog /var/log/dynolog /run/dynolog \
    /etc/systemd/system/{multi-user.target.wants/,}dynolog.service; do
    [[ ! -e $path && ! -L $path ]] || fail "$path is left"
  done
  is 'left of the package' "$(dpkg -l dynolog 2>/dev/null | grep -c '^[hiurp][a-z] ' || true)" 0
}

respects_a_file_that_was_there() {
  step 'install over a libkineto.conf of the site'
  echo 'ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=2' >/etc/libkineto.conf
  apt install --no-install-recommends -o Dpkg::Options::=--force-confold "$package"
  is libkineto.conf "$(cat /etc/libkineto.conf)" 'ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=2'
  called | grep -q 'start dynolog.service' || fail 'a new service is not started'
  apt purge dynolog
}

daemon=
installs
runs
upgrades
ends
keeps_what_was_changed
spares_a_stopped_service
removes
purges
respects_a_file_that_was_there
echo 'all passed'
