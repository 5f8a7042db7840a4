#!/bin/sh
# Puts the contents of the tarball that this file lies in onto this host. It can be run again, with
# a newer tarball too: what a site changed in /etc is left as it is.
set -eu

usage() {
  cat <<'END'
Usage: ./install.sh [--prefix DIR] [--no-start]
       ./install.sh --remove [--prefix DIR]

As root: programs into DIR/bin (/usr/local), configuration into /etc where there is none yet, and
the service, which is enabled and started where systemd runs. As anybody else: programs, manual
pages and completions into DIR (~/.local); it says what a daemon of your own does without.
DESTDIR, when set, is put before every path, and no service is touched.
--remove takes away what was installed, but neither configuration nor traces.
END
}

say() { printf '%s\n' "$*"; }
die() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}

here=$(cd "$(dirname "$0")" && pwd)
user=$(id -u)
prefix=
start=yes
remove=no
while [ $# -gt 0 ]; do
  case $1 in
    --prefix)
      [ $# -ge 2 ] || die '--prefix needs a directory'
      prefix=$2
      shift
      ;;
    --prefix=*) prefix=${1#*=} ;;
    --no-start) start=no ;;
    --remove) remove=yes ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      usage >&2
      die "no such option: $1"
      ;;
  esac
  shift
done

root=${DESTDIR:-}
system=no
[ "$user" -ne 0 ] || system=yes
if [ -z "$prefix" ]; then
  if [ $system = yes ]; then prefix=/usr/local; else prefix=$HOME/.local; fi
fi
case $prefix in
  /*) ;;
  *) die "--prefix needs a path that begins with /, not $prefix" ;;
esac

while [ "$prefix" != "${prefix%/}" ] && [ "$prefix" != / ]; do prefix=${prefix%/}; done
if [ $system = yes ]; then
  case $prefix in
    *[!A-Za-z0-9/._+-]*) die "a service is not started from $prefix: take letters, digits and /._+-" ;;
  esac
fi
in_sed=$(printf '%s' "$prefix" | sed 's/[&|\\]/\\&/g')

# What of the tarball goes to PREFIX: all but configuration, and for a user all but the service.
files() (
  cd "$here"
  find bin share -type f
  if [ $system = yes ]; then
    find lib -type f
  elif [ -d lib/dynolog ]; then
    find lib/dynolog -type f
  fi
)
# The list of what an installation put there, so that the next one takes away what it has no more.
list=share/dynolog/installed-files

# A tarball for another processor, or a file system that allows no programs.
check_that_it_runs() {
  problem=$("$here/bin/dyno" --version 2>&1 >/dev/null) ||
    die "the programs do not run on this host ($(uname -m)): $problem"
}

# Written beside and renamed: a program that runs is replaced all the same.
put() {
  target=$root$2
  mkdir -p "$(dirname "$target")"
  cp "$1" "$target.new"
  chmod "$3" "$target.new"
  mv -f "$target.new" "$target"
}

# The places that the service and the examples name are those of this installation.
with_places() {
  sed -e 's|^\(ExecStart=[^ ]*/dynolog\) --config=[^ ]*dynolog.toml$|\1|' \
    -e "s|^ExecStart=/[^ ]*/dynolog$|ExecStart=$in_sed/bin/dynolog|" \
    -e "s|^ExecStart=/[^ ]*/dynolog |ExecStart=$in_sed/bin/dynolog |" \
    -e 's|--config=[^ ]*/dynolog/dynolog.toml|--config=/etc/dynolog/dynolog.toml|' \
    -e "s|/[^ =]*share/dynolog/|$in_sed/share/dynolog/|g" "$1"
}

install_files() {
  place=$(mktemp)
  before=$(cat "$root$prefix/$list" 2>/dev/null || true)
  files >"$place"
  put "$place" "$prefix/$list" 644
  files | while read -r file; do
    mode=644
    [ ! -x "$here/$file" ] || mode=755
    case $file in
      lib/systemd/* | share/dynolog/*)
        with_places "$here/$file" >"$place"
        put "$place" "$prefix/$file" $mode
        ;;
      *) put "$here/$file" "$prefix/$file" $mode ;;
    esac
  done
  rm -f "$place"
  printf '%s\n' "$before" | while read -r file; do
    [ -z "$file" ] || grep -qxF "$file" "$root$prefix/$list" || rm -f "$root$prefix/$file"
  done
}

install_configuration() {
  for file in dynolog/dynolog.toml libkineto.conf; do
    if [ -e "$root/etc/$file" ] || [ -h "$root/etc/$file" ]; then
      say "left as it is: $root/etc/$file"
    else
      put "$here/etc/$file" "/etc/$file" 644
    fi
  done
}

# systemd looks below /usr and /usr/local, and in /etc. What a site has of its own there stays.
for_systemd='systemd/system/dynolog.service tmpfiles.d/dynolog.conf sysusers.d/dynolog.conf'
link_into_etc() {
  case $prefix in
    / | /usr | /usr/local) return 0 ;;
  esac
  for file in $for_systemd; do
    if [ ! -e "$root/etc/$file" ] && [ ! -h "$root/etc/$file" ]; then
      mkdir -p "$(dirname "$root/etc/$file")"
      ln -s "$prefix/lib/$file" "$root/etc/$file"
    elif [ "$(readlink "$root/etc/$file")" != "$prefix/lib/$file" ]; then
      say "left as it is, in place of $prefix/lib/$file: $root/etc/$file"
    fi
  done
}

remove_links() {
  for file in $for_systemd; do
    [ "$(readlink "$root/etc/$file")" != "$prefix/lib/$file" ] || rm -f "$root/etc/$file"
  done
}

# Only what is missing: containers have these directories mounted. By its bare name, as at boot: a
# site's /etc/tmpfiles.d/dynolog.conf (the daemon without root) comes before ours.
make_directories() {
  if command -v systemd-tmpfiles >/dev/null; then
    systemd-tmpfiles --create dynolog.conf || [ $? -eq 73 ]
  else
    [ -d /run/dynolog ] || mkdir -m 0755 /run/dynolog
    [ -d /run/dynolog/kineto ] || mkdir -m 1777 /run/dynolog/kineto
    [ -d /run/dynolog/u ] || mkdir -m 0711 /run/dynolog/u
  fi
}

start_service() {
  if [ ! -d /run/systemd/system ]; then
    say "systemd does not run here: start $prefix/bin/dynolog as this host starts services"
    return 0
  fi
  ! command -v systemd-sysusers >/dev/null || systemd-sysusers dynolog.conf
  systemctl daemon-reload
  [ $start = yes ] || return 0
  "$prefix/bin/dynolog" --check_config >/dev/null ||
    die 'the options are not good: the service is left as it is'
  systemctl --quiet enable dynolog.service
  # Never a stop in between: the jobs' sockets are kept over a restart only.
  systemctl restart dynolog.service
}

about_user_mode() {
  say "Installed into $prefix. A daemon of your own: $prefix/bin/dynolog &"
  say 'It does without: jobs of other users, real-time answers, /etc/libkineto.conf, and a start at'
  say 'boot. What it lacks on this host: dyno doctor'
  say 'For calls every second:'
  say "  export KINETO_CONFIG=$prefix/share/dynolog/libkineto.conf"
  case :$PATH: in
    *":$prefix/bin:"*) ;;
    *) say "$prefix/bin is not in PATH" ;;
  esac
}

remove_files() {
  running=no
  if [ $system = yes ] && [ -z "$root" ] && [ -d /run/systemd/system ]; then running=yes; fi
  [ $running = no ] || systemctl --quiet disable --now dynolog.service || true
  {
    files
    cat "$root$prefix/$list" 2>/dev/null || true
  } | while read -r file; do
    rm -f "$root$prefix/$file"
  done
  rm -f "$root$prefix/$list" "$root$prefix/share/dynolog/libkineto.conf"
  for directory in lib/dynolog share/dynolog share/doc/dynolog; do
    [ ! -d "$root$prefix/$directory" ] ||
      find "$root$prefix/$directory" -depth -type d -empty -delete
  done
  [ $system = no ] || remove_links
  [ $running = no ] || systemctl daemon-reload
  say "removed from $root$prefix"
  [ $system = no ] || say 'kept: /etc/dynolog, /etc/libkineto.conf, /var/lib/dynolog, /var/log/dynolog'
}

if [ $remove = yes ]; then
  remove_files
  exit 0
fi
[ -n "$root" ] || check_that_it_runs
install_files
if [ $system = yes ]; then
  install_configuration
  link_into_etc
  if [ -z "$root" ]; then
    make_directories
    start_service
  fi
else
  put "$here/etc/libkineto.conf" "$prefix/share/dynolog/libkineto.conf" 644
  about_user_mode
fi
