# A Python of our own with PyTorch, in .venv. Sourced; the working directory is the repository.

TORCH_VERSION=2.13.0
PYTHON_PACKAGES=("torch==$TORCH_VERSION" numpy pytest)

# need_python: makes .venv, or completes it. Quick when it is whole.
need_python() {
  local wanted="${PYTHON_PACKAGES[*]}"
  [[ -f .venv/packages && $(<.venv/packages) == "$wanted" ]] && return 0
  say "Installing Python packages into .venv (PyTorch is large): $wanted"
  [[ -x .venv/bin/python ]] || python3 -m venv .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check "${PYTHON_PACKAGES[@]}" \
    </dev/null
  # Written last: an interrupted install is made again.
  printf '%s' "$wanted" >.venv/packages
}
