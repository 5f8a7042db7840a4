#!/bin/bash
# Run by install_test.py as root in a mount namespace of its own: install.sh on a host where systemd
# runs, or so it seems. Its programs are the real ones, so that what they do not find fails here
# too; systemctl works on files only. Arguments: the unpacked tarball, the prefix.
set -euo pipefail
unpacked=$1
given=$2
prefix=${given%/}

fail() {
  echo "FAILED: $*"
  exit 1
}
is() { [[ $2 == "$3" ]] || fail "$1: '$2', not '$3'"; }
step() { echo "--- $prefix: $*"; }
owner() { stat -c '%a %U' "$1"; }

# /etc is a copy, the rest empty: nothing of this leaves the namespace.
mount --make-rprivate /
scratch=$(mktemp -d)
mount -t tmpfs tmpfs "$scratch"
cp -a /etc "$scratch/etc"
mount --bind "$scratch/etc" /etc
for place in /run /opt /usr/local; do mount -t tmpfs -o mode=755 tmpfs "$place"; done
mkdir -p /run/systemd/system "$scratch/bin"
systemctl=$(PATH=/usr/bin:/bin command -v systemctl)
cat >"$scratch/bin/systemctl" <<END
#!/bin/sh
echo "\$@" >>$scratch/calls
SYSTEMD_OFFLINE=1 exec $systemctl "\$@"
END
chmod 755 "$scratch/bin/systemctl"
export PATH=$scratch/bin:/usr/sbin:/usr/bin:/sbin:/bin
installs() {
  "$unpacked/install.sh" --prefix "$given" >"$scratch/said" 2>&1 ||
    fail "install.sh: $(cat "$scratch/said")"
}

step install
installs
enabled=/etc/systemd/system/multi-user.target.wants/dynolog.service
[[ -e $enabled ]] || fail 'the service is not enabled'
is 'its program' "$(sed -n 's/^ExecStart=//p' "$enabled")" "$prefix/bin/dynolog"
grep -qx 'restart dynolog.service' "$scratch/calls" || fail 'the service is not started'
is 'socket directory' "$(owner /run/dynolog/kineto)" '1777 root'
getent passwd dynolog >/dev/null || fail 'no user dynolog'

step 'boot: the directories are made anew'
rm -rf /run/dynolog
systemd-tmpfiles --create dynolog.conf || [[ $? -eq 73 ]]
is 'socket directory after boot' "$(owner /run/dynolog/kineto)" '1777 root'

step 'upgrade of a daemon without root'
install -D -m 0644 "$prefix/share/dynolog/unprivileged/tmpfiles.conf" /etc/tmpfiles.d/dynolog.conf
systemd-tmpfiles --create dynolog.conf || [[ $? -eq 73 ]]
is 'the daemon without root' "$(owner /run/dynolog)" '755 dynolog'
installs
is 'the same after an upgrade' "$(owner /run/dynolog)" '755 dynolog'
is 'the same for sockets' "$(owner /run/dynolog/kineto)" '1777 dynolog'

step remove
"$unpacked/install.sh" --remove --prefix "$given" >"$scratch/said" 2>&1 ||
  fail "install.sh --remove: $(cat "$scratch/said")"
[[ ! -h $enabled ]] || fail 'the service is still enabled'
is 'links that are left' "$(find /etc -lname "$prefix/*dynolog*")" ''
is 'what the site put there' "$(find /etc/tmpfiles.d -name dynolog.conf)" \
  /etc/tmpfiles.d/dynolog.conf
is 'what systemd was told last' "$(tail -1 "$scratch/calls")" daemon-reload
echo 'all passed'
