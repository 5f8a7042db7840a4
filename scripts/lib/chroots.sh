# Throw-away Debian systems, and running programs in them. Sourced; the working directory is the
# repository. Whoever sources it calls clean_up when one is done with.

chroots=${DYNOLOG_CHROOTS:-$PWD/build/chroots}
work=

clean_up() {
  [[ -z $work ]] || rm -rf --one-file-system "$work"
  work=
}
trap clean_up EXIT
trap 'exit 130' INT TERM

mirror() {
  local found
  found=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\) .*/\2/p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -m1 debian || true)
  echo "${found:-http://deb.debian.org/debian}"
}

# make_base SUITE [ARCH]: of another processor's system only what is unpacked, which is enough to run
# programs in it.
make_base() {
  local name=$1${2:+-$2}
  [[ ! -d $chroots/$name ]] || return 0
  say "Making a base system: $name"
  mkdir -p "$chroots"
  local part=$chroots/$name.part log=build/debootstrap-$name.log
  rm -rf --one-file-system "$part"
  debootstrap --variant=minbase ${2:+--foreign "--arch=$2"} "$1" "$part" "$(mirror)" >"$log" 2>&1 ||
    { tail "$log" >&2; die "debootstrap $name failed"; }
  # In containers debootstrap makes it a link to this host's.
  [[ ! -L $part/proc ]] || { rm "$part/proc"; mkdir "$part/proc"; }
  mv "$part" "$chroots/$name"
}

# inside COMMAND...: in $work, with processes, mounts and /run of its own. The network is the
# host's, for apt. The cache of the compilers there is kept.
inside() {
  mkdir -p "$chroots/ccache"
  # It has to be killed: unshare ends by no signal that it can ignore.
  timeout --signal=KILL 5400 unshare --mount --pid --fork --kill-child bash -c '
    set -e
    root=$1 ccache=$2; shift 2
    mount --make-rprivate /
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=755 tmpfs "$root/run"
    mount --bind "$root/files" "$root/mnt"
    mkdir -p "$root/var/cache/ccache"
    mount --bind "$ccache" "$root/var/cache/ccache"
    cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
    exec chroot "$root" env -i HOME=/root CCACHE_DIR=/var/cache/ccache \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
  ' - "$work" "$chroots/ccache" "$@"
}

# begin SUITE: $work, a copy of its base system with folder /mnt for files.
begin() {
  work=$(mktemp -d "$chroots/try-XXXXXX")
  chmod 755 "$work"
  cp -a --reflink=auto "$chroots/$1/." "$work"
  # What is only unpacked lacks the first.
  mkdir -p "$work/mnt" "$work/files"
}

# Foreign programs are run by qemu in a namespace of their own: this host learns of none.
inside_arm64() {
  timeout --signal=KILL 1800 unshare --user --map-root-user --mount --pid --fork --kill-child \
    bash -c '
      set -e
      root=$1; shift
      mount --make-rprivate /
      mount -t proc proc "$root/proc"
      mount --bind "$root/files" "$root/mnt"
      mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
      arm64=":dynolog-arm64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
      arm64+=":\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
      printf %s "$arm64:/usr/bin/qemu-aarch64-static:FPC" >/proc/sys/fs/binfmt_misc/register
      exec unshare --user --map-user=1000 --map-group=1000 --root="$root" --wd=/ \
        env -i HOME=/ PATH=/usr/bin:/bin "$@"
    ' - "$work" "$@"
}
