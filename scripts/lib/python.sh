# A Python of our own with PyTorch, in .venv. Sourced; the working directory is the repository.

TORCH_VERSION=2.13.0
PYTHON_PACKAGES=("torch==$TORCH_VERSION" numpy)
# Of the tests: the official decoder of OTLP, and HolisticTraceAnalysis with what its reading of
# traces takes (it names JupyterLab as a dependency, for its notebooks).
TEST_PACKAGES=(pytest pandas plotly networkx psutil pyyaml protobuf opentelemetry-proto)
TEST_PACKAGES_ALONE=("HolisticTraceAnalysis==0.5.0")

# need_python [tests]: makes .venv, or completes it. Quick when it is whole.
need_python() {
  local -a packages=("${PYTHON_PACKAGES[@]}") alone=()
  if [[ ${1:-} == tests ]]; then
    packages+=("${TEST_PACKAGES[@]}")
    alone=("${TEST_PACKAGES_ALONE[@]}")
  fi
  local wanted="${packages[*]} ${alone[*]}"
  [[ -f .venv/packages && $(<.venv/packages) == "$wanted"* ]] && return 0
  say "Installing Python packages into .venv (PyTorch is large): $wanted"
  [[ -x .venv/bin/python ]] || python3 -m venv .venv
  install_python_packages "${packages[@]}"
  ((!${#alone[@]})) || install_python_packages --no-deps "${alone[@]}"
  # Written last: an interrupted install is made again.
  printf '%s' "$wanted" >.venv/packages
}

install_python_packages() {
  .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@" </dev/null
}
