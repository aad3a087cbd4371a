#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing (names as arguments), without leaving their services running.
set -euo pipefail

policy=/usr/sbin/policy-rc.d
mark="# made by collimate for the time of one apt-get run"

# invoke-rc.d and deb-systemd-invoke ask this file before they start a service; 101 is "forbidden".
guard_services() {
  if [[ -e $policy ]] && ! grep -qF "$mark" "$policy"; then return; fi # somebody's own policy stays as it is
  printf '#!/bin/sh\n%s\nexit 101\n' "$mark" > "$policy"
  chmod 755 "$policy"
}
lift_guard() { if grep -qsF "$mark" "$policy"; then rm -f "$policy"; fi; }
trap lift_guard EXIT

export DEBIAN_FRONTEND=noninteractive
install() {
  apt-get install --yes --no-install-recommends -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 -- "$@"
}
# Lists are fetched when there are none, or when the ones there are too old to serve.
lists_exist() { compgen -G '/var/lib/apt/lists/*_Packages*' > /dev/null; }

guard_services
lists_exist || apt-get update
install "$@" || { echo "trying again with fresh package lists"; apt-get update; install "$@"; }
lift_guard

# The platform runs servers of its own: the distribution's must not start at the next boot either.
for service in redis-server docker-registry; do
  for package in "$@"; do
    if [[ $package == "$service" ]]; then update-rc.d "$service" disable || true; fi
  done
done
