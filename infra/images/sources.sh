#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sources.sh SUITE: apt source lines for a Debian suite. Taken from this host's own apt (it may use a mirror), else Debian's public archive.
set -euo pipefail
suite=${1:?usage: sources.sh SUITE}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

host_lines() {
  apt-get indextargets --format '$(ORIGIN) $(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' "Architecture: $(dpkg --print-architecture)" |
    awk -v suite="$suite" -v keyring="$keyring" \
      '$1 == "Debian" && ($3 == suite || $3 == suite "-updates" || $3 == suite "-security") && $4 == "main" { print "deb [signed-by=" keyring "] " $2 " " $3 " " $4 }' |
    sort -u
}

lines=$(host_lines || true)
if grep -q " $suite main\$" <<< "$lines"; then
  echo "$lines"
else
  echo "deb [signed-by=$keyring] http://deb.debian.org/debian $suite main"
  echo "deb [signed-by=$keyring] http://deb.debian.org/debian $suite-updates main"
  echo "deb [signed-by=$keyring] http://deb.debian.org/debian-security $suite-security main"
fi
