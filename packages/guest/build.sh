#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds collimate-init: build.sh OUTDIR. Needs gcc and the static libc of libc6-dev, nothing else.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?usage: build.sh OUTDIR}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d "$out/.build-XXXXXX")
trap 'rm -rf "$work"' EXIT

# The interpreter's program text becomes an array of bytes.
{
  echo 'static const char python_kernel[] = {'
  cat "$here"/kernel/python/{streams,reseed,seed,cell,main}.py | od -An -v -tx1 | sed 's/ \(..\)/0x\1,/g'
  echo '};'
} >"$work/python_kernel.inc"

cc=${CC:-gcc}
flags=(-std=gnu11 -D_GNU_SOURCE -O2 -g0 -Wall -Wextra -Werror -Wformat=2 -Wno-format-nonliteral -fstack-protector-strong
  -D_FORTIFY_SOURCE=2 -fno-plt -ffunction-sections -fdata-sections -fPIE)
"$cc" "${flags[@]}" "-I$work" -static-pie -Wl,--gc-sections,-z,relro,-z,now,-z,noexecstack -s \
  "$here"/init/*.c -o "$work/collimate-init"
mv "$work/collimate-init" "$out/collimate-init"
