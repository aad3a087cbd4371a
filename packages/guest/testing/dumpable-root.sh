#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dumpable-root.sh FOLDER COMMAND...: runs COMMAND as PID 1 in a root whose only mounts are an overlay over the
# machine's own files (with four devices) and /proc, which is what CRIU can take. For tests, under unshare.
set -e
folder=$1
shift
mkdir -p "$folder/upper/dev" "$folder/upper/proc" "$folder/work" "$folder/root"
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
cd "$folder/root"
for device in null:3 zero:5 random:8 urandom:9; do
  mknod -m 666 "dev/${device%:*}" c 1 "${device#*:}"
done
cp "$1" .collimate-init
shift
mkdir -p .old
pivot_root . .old
cd /
mount -t proc proc /proc
umount -l /.old
rmdir /.old
# CRIU restores the death signal that "unshare --kill-child" has set, and the child would die with criu.
exec setpriv --pdeathsig clear /.collimate-init "$@" </dev/null >/dev/null 2>&1
