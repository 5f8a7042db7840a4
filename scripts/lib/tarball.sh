# The tarball for many distributions: staging, licences, packing. Sourced by scripts/package; the
# working directory is the repository.

# Packages whose code is in the programs, or whose files lie beside them, but for those of the
# compiler. Headers alone count too.
linked_packages() {
  local package
  for package in $(packages_for build); do
    [[ $package != *-dev || $package == libsystemd-dev ]] || echo "$package"
  done
}

# unpack_cross_packages DIRECTORY: the libraries' arm64 packages, below DIRECTORY. apt works in
# folders of its own there: nothing is installed, and this host knows no further architecture.
unpack_cross_packages() {
  local place=$1 wanted
  local -a packages apt
  wanted="$(packages_for build | xargs)"
  [[ ! -f $place/unpacked || $(<"$place/unpacked") != "$wanted" ]] || return 0
  say 'Fetching the arm64 packages of the libraries'
  rm -rf "$place"
  mkdir -p "$place/apt/lists/partial" "$place/apt/cache/archives/partial" "$place/archives"
  touch "$place/apt/status"
  apt=(apt-get -qq -o "Dir::State=$place/apt" -o "Dir::State::lists=$place/apt/lists"
    -o "Dir::State::status=$place/apt/status" -o "Dir::Cache=$place/apt/cache"
    -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o "APT::Sandbox::User=$(id -un)")
  mapfile -t packages < <(linked_packages; echo libsystemd-dev)
  "${apt[@]}" update || die 'apt could not fetch the list of arm64 packages'
  (cd "$place/archives" && "${apt[@]}" download "${packages[@]}") ||
    die 'apt could not fetch the arm64 packages: its sources have to be those of Debian with arm64'
  local archive
  for archive in "$place"/archives/*.deb; do dpkg-deb -x "$archive" "$place"; done
  echo "$wanted" >"$place/unpacked"
}

# describe PACKAGE [ROOT]: its version and that of its source.
describe() {
  local format='${Package} ${Version}, source ${source:Package} ${source:Version}\n'
  if [[ -n ${2:-} ]]; then
    dpkg-deb --showformat="$format" -W "$2"/archives/"$1"_*.deb
  else
    dpkg-query --showformat="$format" -W "$1"
  fi
}

# add_licenses STAGE [ROOT]: what the licences of the linked libraries ask for. ROOT: unpacked
# packages of another architecture.
add_licenses() {
  local place=$1/share/doc/dynolog/licenses root=${2:-} package version
  local -a compiler=(libc6 libgcc-s1 libstdc++-12-dev)
  version=$(c++ -dumpversion)
  compiler[2]=libstdc++-${version%%.*}-dev
  [[ -z $root ]] || compiler=("${compiler[@]/%/-arm64-cross}")
  mkdir -p "$place"
  cat >"$place/README" <<'TEXT'
What is linked into the programs, and the C library beside them, are these packages of Debian, each
with its licence here. Debian has their source code: `apt-get source PACKAGE=VERSION`, or
https://snapshot.debian.org. lib/dynolog/glibc may be replaced by another build of glibc 2.34 or
newer; it is used where the host's own is older.

TEXT
  for package in $(linked_packages); do
    describe "$package" "$root"
    # Some packages have it in one that they depend on, which is not unpacked: this host's is the same.
    cp -L "$root/usr/share/doc/$package/copyright" "$place/$package" 2>/dev/null ||
      cp -L "/usr/share/doc/$package/copyright" "$place/$package"
  done >>"$place/README"
  for package in "${compiler[@]}"; do
    describe "$package"
    cp -L "/usr/share/doc/$package/copyright" "$place/$package"
  done >>"$place/README"
  # What those name without quoting it.
  mkdir -p "$place/texts"
  cp -L /usr/share/common-licenses/{Apache-2.0,GPL-2,GPL-3,LGPL-2.1} "$place/texts/"
  find "$place" -type f -exec chmod 644 {} +
}

# stage_tarball PRESET DIRECTORY: its contents, stripped.
stage_tarball() {
  local component
  rm -rf "$2"
  for component in dynolog tarball; do
    DESTDIR='' cmake --install "build/$1" --component "$component" --prefix "$2" --strip \
      >"build/$1/install-$component.log" || { cat "build/$1/install-$component.log" >&2; return 1; }
  done
}

# pack_tarball STAGE FILE: the same bytes for the same files, whoever packs them and when.
pack_tarball() {
  tar --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    --mode=go-w -C "$(dirname "$1")" -c "$(basename "$1")" | gzip -9n >"$2"
  (cd "$(dirname "$2")" && sha256sum "$(basename "$2")" >"$(basename "$2").sha256")
}
