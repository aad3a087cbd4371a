#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes another root the root of this mount namespace, and runs LazyFork's driver there. In a mount namespace of its own.
#   enter-root.sh ROOT CRIU BASE SUBJECT DRIVER GROUP
set -euo pipefail

root=$1 criu=$2 base=$3 subject=$4 driver=$5 group=$6
mount --bind "$root" "$root" # what is pivoted to must be a mount
cd "$root"
mkdir -p proc sys dev run subject old var/lib/lazyfork
touch usr/sbin/criu driver.py
mount --rbind /proc proc
mount --rbind /dev dev
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup # where LazyFork looks, also on a host that has it elsewhere
mount -t tmpfs tmpfs run
mount --bind "$base" var/lib/lazyfork
mkdir -p var/lib/lazyfork/images
mount -t tmpfs -o huge=within_size tmpfs var/lib/lazyfork/images || mount -t tmpfs tmpfs var/lib/lazyfork/images
mount --bind "$subject" subject
mount --bind "$criu" usr/sbin/criu
mount --bind "$driver" driver.py
pivot_root . old
umount -l /old
cd /
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
exec /usr/bin/python3 /driver.py "$group"
