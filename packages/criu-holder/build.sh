#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds criu with the holder linked in:   build.sh OUTDIR
#
# Writes OUTDIR/criu (static) and OUTDIR/criu.json; the log is OUTDIR/build.log.
# Does nothing when both are there and made from the same sources of ours.
# Writes nowhere but into OUTDIR and a temporary directory. The same sources give
# the same program, byte for byte, with the same compiler and libraries.
#
# criu's source comes from Debian. 4.2.1 or newer, nothing older: 4.1 can't dump
# sockets on Linux 6.18 and restores the vDSO's getrandom state as plain memory,
# so that all children would draw the same keys.
set -euo pipefail
export LC_ALL=C

readonly MINIMUM=4.2.1
readonly RUNDIR=/dev/shm/collimate-criu # on tmpfs, and no other criu's cache
readonly MIRROR=${COLLIMATE_DEBIAN_MIRROR:-http://deb.debian.org/debian}
readonly SUITES="trixie forky sid"
readonly KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here

[ $# -eq 1 ] || { echo "usage: build.sh OUTDIR" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
readonly out log=$out/build.log
temp=$(mktemp -d)
readonly temp
step="start"

finish() {
  local rc=$?
  rm -rf "$temp"
  [ $rc -eq 0 ] && return
  cat >&2 <<END

criu could not be built (step: $step).

  The end of the log:
$(tail -n 15 "$log" 2>/dev/null | cut -c1-240 | sed 's/^/    /')

  The whole log:   $log
  Needed packages: $(grep -v '^#' "$here/packages.txt" | tr '\n' ' ')
  Without a network, put criu_$MINIMUM.orig.tar.xz into $out and start again.
END
}
trap finish EXIT

our_key() {
  (cd "$here" && cat build.sh wraps.txt known-sources.txt src/*.c src/*.h) | sha256sum | cut -d' ' -f1
}

json_field() { # FILE FIELD
  sed -n "s/^ *\"$2\": \"\\{0,1\\}\\([^\",]*\\)\"\\{0,1\\},\\{0,1\\}\$/\\1/p" "$1"
}

up_to_date() {
  [ -x "$out/criu" ] && [ -f "$out/criu.json" ] &&
    [ "$(json_field "$out/criu.json" key)" = "$key" ] &&
    [ "$(json_field "$out/criu.json" binary_sha256)" = "$(sha256sum "$out/criu" | cut -d' ' -f1)" ]
}

new_enough() { # VERSION
  [ "$(printf '%s\n%s\n' "$MINIMUM" "$1" | sort -V | head -n 1)" = "$MINIMUM" ]
}

is_known() { # FILE
  grep -q "^$(sha256sum "$1" | cut -d' ' -f1)  " "$here/known-sources.txt"
}

# A tarball that is here already needs no network.
local_source() {
  local f
  for f in "$out"/criu_*.orig.tar.*; do
    if [ -f "$f" ] && is_known "$f"; then echo "$f"; return; fi
  done
}

# An index past its date will do, since the clock may be ahead or the mirror behind:
# it is signed all the same, and a criu older than $MINIMUM is never taken.
private_apt() { # COMMAND ARG...
  local command=$1 dir=$temp/apt
  shift
  mkdir -p "$dir/lists/partial" "$dir/archives/partial"
  "$command" -o Dir::Etc::SourceList="$dir/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State::Lists="$dir/lists" -o Dir::Cache="$dir" -o Dir::Cache::Archives="$dir/archives" \
    -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=3 \
    -o Acquire::Check-Valid-Until=false "$@"
}

# Prints the version to take: one that was tested if there is one, else the oldest that is new enough.
choose_version() {
  local version upstream best=""
  while read -r version; do
    upstream=${version%-*}
    new_enough "$upstream" || continue
    if grep -q "  criu_$upstream\\.orig\\." "$here/known-sources.txt"; then echo "$version"; return; fi
    if [ -z "$best" ]; then best=$version; fi
  done < <(private_apt apt-cache madison criu | awk -F'|' '{ gsub(/ /, "", $2); print $2 }' | sort -uV)
  echo "$best"
}

fetch_source() {
  local suite version
  mkdir -p "$temp/apt"
  for suite in $SUITES; do
    echo "deb-src [signed-by=$KEYRING] $MIRROR $suite main"
  done >"$temp/apt/sources.list"
  # A suite that can't be reached or checked is no reason to stop while another one can.
  private_apt apt-get update || true
  version=$(choose_version)
  if [ -z "$version" ]; then
    echo "No suite of $MIRROR ($SUITES) has criu $MINIMUM or newer."
    return 1
  fi
  # The .orig tarball is all we need; apt checks it against the signed index.
  (cd "$temp" && private_apt apt-get source --download-only --tar-only "criu=$version")
  source=$(find "$temp" -maxdepth 1 -name 'criu_*.orig.tar.*')
  mv "$source" "$out/"
  source=$out/$(basename "$source")
}

link_holder() { # SOURCE_DIR; uses the very command lines that criu's own build has used
  local compile link wraps="" name file
  cd "$1"
  compile=$(grep -- '-c .*criu/mem\.c' "$temp/make.log" | grep -v 'criu/pie' | tail -n 1)
  link=$(grep -- '-o criu/criu$' "$temp/make.log" | tail -n 1)
  [ -n "$compile" ] && [ -n "$link" ] || { echo "criu's build does not show how it compiles and links"; return 1; }
  compile=${compile%% -c *}" "${compile#* -c }
  compile=${compile//criu\/mem.c/}
  compile=${compile//-o criu\/mem.o/}

  mkdir holder
  for file in "$here"/src/*.c; do
    # Shell words: they are criu's own flags, with quotes in them.
    eval "$compile -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wstrict-prototypes" \
      '"-fmacro-prefix-map=$here/src/=holder/"' -iquote '"$here/src"' -c '"$file"' -o '"holder/$(basename "$file" .c).o"'
  done
  while read -r name; do wraps+=",--wrap=$name"; done <"$here/wraps.txt"
  # built-in.o is linked already, inside it --wrap finds nothing: take its parts.
  link=${link/ criu\/built-in.o/ $(find criu -maxdepth 1 -name '*.o' ! -name built-in.o | sort | tr '\n' ' ') holder/*.o}
  link=${link/ -rdynamic/ -static}
  eval "${link% -o criu/criu} criu/pie/pie.lib.a -lcap -Wl$wraps -Wl,--build-id=none -o criu/criu-holder"

  nm criu/criu-holder >"$temp/symbols"
  while read -r name; do
    grep -q " [TDR] __wrap_$name\$" "$temp/symbols" || { echo "The hook for $name is not in the program"; return 1; }
  done <"$here/wraps.txt"
}

build() {
  step="find the source of criu"
  source=$(local_source)
  if [ -z "$source" ]; then fetch_source; fi

  step="unpack $source"
  mkdir "$temp/src"
  tar -xf "$source" -C "$temp/src" --strip-components=1
  version=$(basename "$source" | sed 's/^criu_\(.*\)\.orig\..*/\1/')

  step="build criu $version"
  SOURCE_DATE_EPOCH=$(stat -c %Y "$temp/src/Makefile")
  export SOURCE_DATE_EPOCH
  (cd "$temp/src" && make -j2 V=1 NO_GNUTLS=1 RUNDIR=$RUNDIR criu) >"$temp/make.log" 2>&1 ||
    { cat "$temp/make.log"; return 1; }
  cat "$temp/make.log"

  step="link the holder into criu $version"
  (link_holder "$temp/src")
  strip -o "$temp/criu" "$temp/src/criu/criu-holder"

  step="check the program"
  "$temp/criu" --version
  grep -q collimate-held "$temp/criu"
}

key=$(our_key)
if up_to_date; then exit 0; fi
echo "Building criu with the holder (log: $log)"
# Not in an `if` or `||`: bash would then not stop at the first error inside.
build >"$log" 2>&1 </dev/null
checked=false
if is_known "$source"; then checked=true; fi
cat >"$temp/criu.json" <<END
{
  "version": "$version",
  "source_sha256": "$(sha256sum "$source" | cut -d' ' -f1)",
  "checked": $checked,
  "binary_sha256": "$(sha256sum "$temp/criu" | cut -d' ' -f1)",
  "key": "$key"
}
END
mv "$temp/criu" "$out/criu.new" && mv "$out/criu.new" "$out/criu"
mv "$temp/criu.json" "$out/criu.json"
echo "Built criu $version$([ $checked = true ] || echo ' (a source that was not tested)')"
