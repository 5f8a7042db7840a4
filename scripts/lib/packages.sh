# Which distribution packages are needed for what, and installing those that are missing. Sourced.

# Debian 12's default Boost is 1.74; 1.81 is a package of its own there.
boost_package() {
  local id='' version=''
  id=$(. /etc/os-release && echo "${ID:-}")
  version=$(. /etc/os-release && echo "${VERSION_ID:-}")
  if [[ $id == debian && $version == 12 ]]; then
    echo libboost1.81-dev
  else
    echo libboost-dev
  fi
}

packages_for() {
  case $1 in
    build)
      echo g++ cmake ninja-build ccache "$(boost_package)" libfmt-dev libspdlog-dev \
        nlohmann-json3-dev libcli11-dev libtomlplusplus-dev zlib1g-dev rapidjson-dev libsystemd-dev \
        libssl-dev libsqlite3-dev libzstd-dev libprotozero-dev libncurses-dev
      ;;
    unit) echo libgtest-dev libgmock-dev python3 procps systemd ;;
    python) echo python3 python3-venv ca-certificates ;;
    e2e) echo curl dbus-daemon e2fsprogs iproute2 mount openssl procps prometheus prometheus-node-exporter util-linux ;;
    format) echo clang-format-19 ;;
    lint) echo clang-tidy-19 ;;
    fuzz) echo clang-19 libclang-rt-19-dev ;;
    bench) echo libbenchmark-dev ;;
    benchtools) echo strace ;;
    growth) echo valgrind ;;
    package) echo binutils dpkg-dev file gzip python3 ;;
    rpm) echo rpm ;;
    tarball) echo binutils gzip python3 tar ;;
    cross) echo g++-aarch64-linux-gnu qemu-user-static ;;
    chroots) echo debootstrap systemd util-linux ;;
    *) die "packages_for: no group $1" ;;
  esac
}

is_installed() {
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

as_root() {
  if ((EUID == 0)); then
    "$@"
  elif have sudo; then
    sudo "$@"
  else
    die "not root and no sudo; run as root: $*"
  fi
}

# need_packages GROUP...: says what is missing, then installs it. Quick when nothing is.
need_packages() {
  local group package
  local -a missing=()
  have dpkg-query || die "this script installs Debian packages; docs/dependencies.md lists what to install"
  for group in "$@"; do
    for package in $(packages_for "$group"); do
      is_installed "$package" || missing+=("$package")
    done
  done
  ((${#missing[@]})) || return 0
  say "Installing distribution packages: ${missing[*]}"
  as_root apt-get update -qq </dev/null
  # --no-remove: another Boost that conflicts is the user's to remove, not ours.
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    --no-remove "${missing[@]}" </dev/null ||
    die "apt-get could not install: ${missing[*]}"
}
