#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Puts LazyFork into a root with a Python that is new enough for it, once, and prints the root's path.
#   install-lazyfork.sh TOOLS
set -euo pipefail

tools=${1:?usage: install-lazyfork.sh TOOLS}
images=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../../../infra/images" && pwd -P)
version=0.2.3

layout=$("$images/build.sh" python-trixie "$tools/images")
root=$tools/lazyfork/$version-${layout##*-}
mkdir -p "$tools/lazyfork"
exec {lock}> "$tools/lazyfork/.lock"
flock "$lock"
if [[ ! -d $root ]]; then
  fresh=$(mktemp -d "$tools/lazyfork/.building-XXXXXX")
  trap 'rm -rf "$fresh"' EXIT
  umoci raw unpack --image "$layout:latest" "$fresh/root" >&2
  # For the root's Python, not for the one that installs. Its command line wants rich, its engine does not.
  /usr/bin/python3 -m pip install --quiet --disable-pip-version-check --no-input --no-deps --only-binary=:all: --python-version 3.13 \
    --ignore-requires-python --target "$fresh/root/usr/lib/python3/dist-packages" "lazyfork==$version" >&2
  mv -T "$fresh/root" "$root"
fi
echo "$root"
