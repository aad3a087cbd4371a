#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds OUTDIR/collimate-hostd (static). Needs gcc, libc6-dev and libjansson-dev; does nothing when it is up to date.
set -euo pipefail

if [[ $# -ne 1 ]]; then
  echo "usage: build.sh OUTDIR" >&2
  exit 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)

stamp=$(cat "$here"/hostd/*.[ch] "$here/build.sh" <(gcc --version) | sha256sum | cut -d' ' -f1)
if [[ -x $out/collimate-hostd && $(cat "$out/collimate-hostd.stamp" 2>/dev/null) == "$stamp" ]]; then
  exit 0
fi

flags=(
  -std=gnu11 -O2 -g -D_GNU_SOURCE
  -Wall -Wextra -Werror -Wshadow -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes -Wvla
  -fstack-protector-strong -fstack-clash-protection -D_FORTIFY_SOURCE=2 -fcf-protection=full
  -static-pie -fPIE -Wl,-z,relro,-z,now,-z,noexecstack
)
if ! gcc "${flags[@]}" "$here"/hostd/*.c -o "$out/collimate-hostd.new" -ljansson 2>"$out/collimate-hostd.log"; then
  cat "$out/collimate-hostd.log" >&2
  echo "collimate-hostd does not build; it needs the packages gcc, libc6-dev and libjansson-dev" >&2
  exit 1
fi
strip --strip-unneeded "$out/collimate-hostd.new"
mv "$out/collimate-hostd.new" "$out/collimate-hostd"
rm -f "$out/collimate-hostd.log"
echo "$stamp" >"$out/collimate-hostd.stamp"
