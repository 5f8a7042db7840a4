# Configuring and building the presets. Sourced; the working directory is the repository.

# A compile of the largest files takes some 700 MB.
build_jobs() {
  local cores gigabytes
  cores=$(nproc)
  gigabytes=$(awk '/^MemAvailable:/ {print int($2 / 1048576)}' /proc/meminfo)
  ((gigabytes >= 1)) || gigabytes=1
  echo $((cores < gigabytes ? cores : gigabytes))
}

# build_preset PRESET [TARGET...]
build_preset() {
  local preset=$1
  shift
  local -a targets=()
  (($#)) && targets=(--target "$@")
  say "Building: preset $preset${*:+, targets $*}"
  # DYNOLOG_PCH=1: precompiled headers save a third of a build from nothing, without ccache.
  cmake --preset "$preset" "-DDYNOLOG_PCH=${DYNOLOG_PCH:-OFF}" >"build/$preset.configure.log" 2>&1 || {
    cat "build/$preset.configure.log" >&2
    die "configuring preset $preset failed"
  }
  cmake --build --preset "$preset" --parallel "$(build_jobs)" "${targets[@]}"
}
