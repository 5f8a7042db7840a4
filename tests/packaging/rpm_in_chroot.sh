#!/bin/bash
# Run by scripts/check-packages as root of a throw-away Debian that has rpm: an rpm's life from
# installation to removal. Arguments: the rpm, and what the Debian package of the same programs
# depends on, since rpm knows of no library here. systemctl is a stand-in that writes down its calls.
set -euo pipefail
package=$1
libraries=$2
calls=/tmp/systemctl-calls
export DEBIAN_FRONTEND=noninteractive

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
is() { [[ $2 == "$3" ]] || fail "$1: '$2', not '$3'"; }
step() { echo "--- $*"; }
mode() { stat -c '%a %U' "$1"; }
called() { cat "$calls" 2>/dev/null || true; : >"$calls"; }

prepares() {
  apt-get -qq -y install --no-install-recommends rpm systemd </dev/null >/tmp/apt.log 2>&1 ||
    fail "apt-get: $(tail /tmp/apt.log)"
  apt-get -qq -y satisfy --no-install-recommends "$libraries" </dev/null >/tmp/apt.log 2>&1 ||
    fail "apt-get: $(tail /tmp/apt.log)"
  mkdir -p /run/systemd/system
  printf '#!/bin/sh\necho "$@" >>%s\n' "$calls" >/usr/bin/systemctl
}

installs() {
  step 'install'
  rpm -i --nodeps "$package"
  is 'files that are not as packed' "$(rpm -V --nodeps dynolog)" ''
  is kineto "$(mode /run/dynolog/kineto)" '1777 root'
  is u "$(mode /run/dynolog/u)" '711 root'
  is configuration "$(dynolog --check_config)" 'configuration is valid'
  getent passwd dynolog | grep -q '/var/lib/dynolog:/usr/sbin/nologin' || fail 'user dynolog'
  is 'asked of systemd' "$(called | grep -c '^--no-reload preset\|^start dynolog.service')" 2
}

upgrades() {
  step 'upgrade: restarted, never stopped; what was changed is kept'
  echo '# mine' >>/etc/dynolog/dynolog.toml
  rpm -U --force --nodeps "$package"
  local asked
  asked=$(called)
  grep -q 'try-restart dynolog.service' <<<"$asked" || fail "no restart in: $asked"
  ! grep -w 'stop\|disable' <<<"$asked" || fail 'stopped'
  is 'the last line' "$(tail -1 /etc/dynolog/dynolog.toml)" '# mine'
}

spares_a_daemon_whose_options_are_refused() {
  step 'an upgrade spares a daemon whose options it refuses'
  echo 'no_such_option = 1' >>/etc/dynolog/dynolog.toml
  rpm -U --force --nodeps "$package"
  ! called | grep 'restart' || fail 'restarted into a bad configuration'
}

removes() {
  step 'remove'
  rpm -e dynolog
  called | grep -q 'disable --now dynolog.service' || fail 'not stopped'
  [[ ! -e /usr/bin/dynolog ]] || fail 'the program is still there'
  [[ -e /etc/dynolog/dynolog.toml.rpmsave ]] || fail 'a removal takes changed configuration'
}

prepares
installs
upgrades
spares_a_daemon_whose_options_are_refused
removes
echo 'all passed'
