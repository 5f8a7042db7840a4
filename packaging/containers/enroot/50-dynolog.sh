#!/bin/bash
# Dynolog in enroot and pyxis containers: what `dyno env` prints on the host is put into the
# container's environment, unless the job has chosen for itself.
#   ln -s /usr/share/dynolog/enroot/50-dynolog.sh /etc/enroot/hooks.d/
# A container starts without it all the same: whatever fails here is left out.
[ -z "${KINETO_USE_DAEMON-}" ] || exit 0
[ -n "${ENROOT_ENVIRON-}" ] || exit 0
command -v dyno >/dev/null || exit 0

# In a shell of its own: only these two names leave it, without the quotes that a shell needs.
variables=$(
  eval "$(dyno --timeout 2 env 2>/dev/null)"
  for name in KINETO_USE_DAEMON KINETO_IPC_SOCKET_DIR; do
    [ -z "${!name-}" ] || printf '%s=%s\n' "$name" "${!name}"
  done
)
[ -z "$variables" ] || printf '%s\n' "$variables" >>"$ENROOT_ENVIRON"
exit 0
