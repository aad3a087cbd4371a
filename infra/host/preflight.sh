# SPDX-License-Identifier: Apache-2.0
# Sourced by the launcher before the first set-up: refuses at once what could not work later. `collimate doctor` checks the rest.

preflight() {
  local problems=() kernel disk
  kernel=$(uname -r)
  if ! version_at_least "$kernel" 6 1; then problems+=("kernel $kernel: 6.1 or newer is needed (Debian 12 has it)"); fi
  case $(uname -m) in x86_64 | aarch64) ;; *) problems+=("machine $(uname -m): x86_64 or aarch64 is needed") ;; esac
  if ! command -v apt-get > /dev/null || ! command -v dpkg-query > /dev/null; then
    problems+=("no apt-get: set-up is for Debian 12; elsewhere install what infra/host/packages.txt names")
  fi
  for place in "$COLLIMATE_TOOLS" "$COLLIMATE_ROOT"; do
    disk=$(df -Pk "$place" | awk 'NR == 2 { print int($4 / 1048576) }')
    if ((disk < 5)); then problems+=("$place: $disk GiB free, 5 GiB are needed"); fi
  done
  if ((${#problems[@]} > 0)); then
    echo "collimate cannot be set up on this machine:" >&2
    printf '  ✗ %s\n' "${problems[@]}" >&2
    exit 1
  fi
}

version_at_least() { # VERSION MAJOR MINOR
  local major=${1%%.*} rest=${1#*.}
  local minor=${rest%%[!0-9]*}
  ((major > $2 || (major == $2 && minor >= $3)))
}
