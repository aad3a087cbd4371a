#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a catalog image from Debian packages into an OCI layout, once per definition, and prints the layout's path.
#   build.sh NAME [IMAGES_DIR]      (default: $COLLIMATE_TOOLS/images)
# Needs root, mmdebstrap, umoci. Progress goes to standard error.
set -euo pipefail

here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd -P)
name=${1:?usage: build.sh NAME [IMAGES_DIR]}
images=${2:-${COLLIMATE_TOOLS:-/var/cache/collimate}/images}
definition=$here/$name/image.json
if [[ ! $name =~ ^[a-z0-9][a-z0-9-]*$ || ! -f $definition ]]; then
  echo "no such catalog image: $name (there are: $(cd "$here" && dirname -- */image.json | paste -sd ' '))" >&2
  exit 1
fi

field() { /usr/bin/python3 -I "$here/field.py" "$definition" "$1"; }
say() { printf '%s: %s\n' "$name" "$1" >&2; }

# What the image is made from: its definition, this script, the machine's architecture.
arch=$(dpkg --print-architecture)
hash=$(cat "$definition" "$here/build.sh" "$here/sources.sh" <(echo "$arch") | sha256sum | cut -c 1-16)
layout=$images/$name-$hash

mkdir -p "$images"
exec {lock}> "$images/.$name.lock"
flock "$lock" # two tests that want the same image build it once
if [[ -f $layout/index.json ]]; then
  echo "$layout"
  exit 0
fi

# Beside the result, so that the last step is a rename; named for whoever finds one after a crash.
fresh=$(mktemp -d "$images/.$name.building-XXXXXX")
trap 'rm -rf "$fresh"' EXIT
chmod 755 "$fresh" # apt downloads as a user of its own
suite=$(field suite)
packages=$(field packages | paste -sd ,)
# Of the day of the suite's release: the same packages then give the same bytes.
export SOURCE_DATE_EPOCH=1686355200
created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)

say "installing Debian $suite${packages:+ with $packages} into a fresh root"
TMPDIR=$fresh mmdebstrap --variant=minbase --mode=root --architectures="$arch" --format=tar \
  ${packages:+--include="$packages"} \
  --dpkgopt='path-exclude=/usr/share/man/*/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' \
  --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-include=/usr/share/doc/*/copyright' \
  "$suite" "$fresh/rootfs.tar" - < <("$here/sources.sh" "$suite") >&2

say "packing $(du -h "$fresh/rootfs.tar" | cut -f 1) as an OCI image"
umoci init --layout "$fresh/layout"
umoci new --image "$fresh/layout:latest"
umoci raw add-layer --image "$fresh/layout:latest" --history.created "$created" --history.created_by "mmdebstrap $suite" "$fresh/rootfs.tar"
mapfile -t cmd < <(field cmd)
umoci config --image "$fresh/layout:latest" --no-history \
  --os linux --architecture "$arch" --created "$created" \
  --config.env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin --config.env LANG=C.UTF-8 \
  --config.workingdir / "${cmd[@]/#/--config.cmd=}"
umoci gc --layout "$fresh/layout" > /dev/null

# Older definitions of the same image are of no more use.
find "$images" -maxdepth 1 -type d -regex ".*/$name-[0-9a-f]*" -exec rm -rf {} +
mv -T "$fresh/layout" "$layout"
say "done ($(du -sh "$layout" | cut -f 1))"
echo "$layout"
