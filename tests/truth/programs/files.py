# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: SIM115 (files that stay open are the point)
"""Open files of every kind, locks, mappings, shared memory; a log that is never newer than the memory."""

import ctypes
import fcntl
import mmap
import os
import struct
import subprocess
import threading
import time

from truth import HERE, checkpoint, done, equal

libc = ctypes.CDLL(None, use_errno=True)
GETDENTS64 = {"x86_64": 217, "aarch64": 61}[os.uname().machine]

# A log that grows all the time: what is in it was counted before.
log = open(HERE + "/append.log", "ab", buffering=0)
counted = 0
paused = threading.Event()
go_on = True


def append() -> None:
    global counted
    while go_on:
        counted += 1
        log.write(b"%010d\n" % counted)
        time.sleep(0.0002)


appender = threading.Thread(target=append)
appender.start()

growing = open(HERE + "/growing", "w+b", buffering=0)
growing.write(b"a" * 100_000)
growing.seek(500)
deleted = open(HERE + "/deleted", "w+b", buffering=0)
deleted.write(b"nobody sees me")
os.unlink(HERE + "/deleted")
big = open(HERE + "/big", "w+b", buffering=0)
big.write(os.urandom(1 << 20) * 8)
big.seek(0)
digest = hash(big.read())
os.unlink(HERE + "/big")
# A file of the image, removed while open; one that was renamed; one with two names.
image_file = open("/usr/share/common-licenses/Apache-2.0", "rb")
image_text = image_file.read()
image_file.seek(100)
os.unlink("/usr/share/common-licenses/Apache-2.0")
renamed = open(HERE + "/name-one", "w+b", buffering=0)
renamed.write(b"renamed")
os.rename(HERE + "/name-one", HERE + "/name-two")
linked = open(HERE + "/link-one", "w+b", buffering=0)
linked.write(b"linked")
os.link(HERE + "/link-one", HERE + "/link-two")
os.unlink(HERE + "/link-one")
read_only = open("/etc/passwd", "rb")
directory = os.open(HERE, os.O_RDONLY | os.O_DIRECTORY)
os.mkdir(HERE + "/gone")
gone_directory = os.open(HERE + "/gone", os.O_RDONLY | os.O_DIRECTORY)
path_only = os.open("/etc", os.O_PATH)
duplicate = os.dup(growing.fileno())
sparse = open(HERE + "/sparse", "w+b", buffering=0)
sparse.truncate(1 << 30)
sparse.seek(1 << 29)
sparse.write(b"far out")

# Locks.
flocked = open(HERE + "/flocked", "w")
fcntl.flock(flocked, fcntl.LOCK_EX)
posix_locked = open(HERE + "/posix", "w")
fcntl.lockf(posix_locked, fcntl.LOCK_EX, 10, 5)
ofd_locked = open(HERE + "/ofd", "w")
fcntl.fcntl(ofd_locked, 37, struct.pack("hhlli4x", fcntl.F_WRLCK, 0, 0, 100, 0))

# One offset for a process and its child; a lock that somebody waits for.
common = open(HERE + "/common", "w+b", buffering=0)
waited = open(HERE + "/waited", "w")
fcntl.flock(waited, fcntl.LOCK_EX)
locker = os.fork()
if locker == 0:
    # Not the locks of the parent, which go along with a description that is shared.
    for file in (flocked, ofd_locked, waited):
        file.close()
    with open(HERE + "/waited") as mine:
        fcntl.flock(mine, fcntl.LOCK_EX)
        os.write(common.fileno(), b"child ")
    os._exit(0)
entries = [f"entry-{number}" for number in range(300)]
os.mkdir(HERE + "/many")
for entry in entries:
    os.mknod(f"{HERE}/many/{entry}")
half_read = os.open(HERE + "/many", os.O_RDONLY | os.O_DIRECTORY)


def next_entries(directory: int) -> list[str]:
    """A kilobyte of getdents64(2): Python's own listing reads ahead."""
    buffer = ctypes.create_string_buffer(1024)
    length = libc.syscall(GETDENTS64, directory, buffer, len(buffer))
    names, at = [], 0
    while at < length:
        size = struct.unpack_from("<H", buffer, at + 16)[0]
        names.append(buffer.raw[at + 19 : at + size].split(b"\0")[0].decode())
        at += size
    return names


seen = next_entries(half_read)

# Mappings.
shared_file = open(HERE + "/mapped", "w+b", buffering=0)
shared_file.write(b"m" * 8192)
shared = mmap.mmap(shared_file.fileno(), 8192)
shared[0:6] = b"shared"
private = mmap.mmap(shared_file.fileno(), 8192, flags=mmap.MAP_PRIVATE)
private[4096:4103] = b"private"
anonymous_shared = mmap.mmap(-1, 1 << 20)
anonymous_shared[0:4] = b"anon"
memfd = os.memfd_create("truth", os.MFD_ALLOW_SEALING)
os.write(memfd, b"memfd")
fcntl.fcntl(memfd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
shm = open("/dev/shm/truth", "w+b", buffering=0)
shm.write(b"posix shared memory")
shm_map = mmap.mmap(shm.fileno(), 19)
child = os.fork()
if child == 0:
    # The other user of the shared memory; the locks go with the files, which it has no business with.
    ofd_locked.close()
    waited.close()
    while anonymous_shared[10] == 0:
        time.sleep(0.002)
    anonymous_shared[20:25] = b"reply"
    shm_map[0:5] = b"POSIX"
    os._exit(0)

me = checkpoint()

# First of all: no line is in the log that the memory does not know of.
go_on = False
appender.join(5)
with open(HERE + "/append.log", "rb") as file:
    lines = file.read().split()
equal(len(lines), counted)
equal(lines, [b"%010d" % (i + 1) for i in range(counted)])
log.write(b"more\n")
equal(os.path.getsize(HERE + "/append.log"), 11 * counted + 5)

equal(growing.tell(), 500)
growing.seek(0, os.SEEK_END)
growing.write(me.encode())
equal(os.lseek(duplicate, 0, os.SEEK_CUR), 100_000 + len(me))
deleted.seek(0)
equal(deleted.read(), b"nobody sees me")
deleted.write(me.encode())
equal(os.path.exists(HERE + "/deleted"), False)
big.seek(0)
equal(hash(big.read()), digest)
equal(image_file.read(), image_text[100:])
equal(os.path.exists("/usr/share/common-licenses/Apache-2.0"), False)
renamed.write(me.encode())
with open(HERE + "/name-two", "rb") as file:
    equal(file.read(), b"renamed" + me.encode())
linked.write(me.encode())
with open(HERE + "/link-two", "rb") as file:
    equal(file.read(), b"linked" + me.encode())
equal(read_only.read().startswith(b"root:"), True)
equal("append.log" in os.listdir(directory), True)
equal(os.listdir(gone_directory), [])
equal(os.stat("passwd", dir_fd=path_only).st_size > 0, True)
sparse.seek(1 << 29)
equal(sparse.read(7), b"far out")
# Holes stay holes (overlayfs copies up in pieces of 1 MiB).
equal(os.fstat(sparse.fileno()).st_blocks * 512 < 8 << 20, True)


def other_can_lock(name: str, kind: str) -> bool:
    code = f"import fcntl; fcntl.{kind}(open('{HERE}/{name}', 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    return subprocess.run(["python3", "-c", code], stderr=subprocess.DEVNULL).returncode == 0


equal([other_can_lock("flocked", "flock"), other_can_lock("posix", "lockf"), other_can_lock("ofd", "lockf")], [False, False, False])
fcntl.flock(flocked, fcntl.LOCK_UN)
posix_locked.close()
ofd_locked.close()
equal([other_can_lock("flocked", "flock"), other_can_lock("posix", "lockf"), other_can_lock("ofd", "lockf")], [True, True, True])

os.write(common.fileno(), b"parent ")
equal(os.waitpid(locker, os.WNOHANG), (0, 0))
fcntl.flock(waited, fcntl.LOCK_UN)
equal(os.waitpid(locker, 0), (locker, 0))
equal((common.tell(), os.pread(common.fileno(), 100, 0)), (13, b"parent child "))
while more := next_entries(half_read):
    seen += more
equal(sorted(seen), sorted([".", "..", *entries]))

equal(shared[0:6], b"shared")
shared[100 : 100 + len(me)] = me.encode()
equal(os.pread(shared_file.fileno(), len(me), 100), me.encode())
equal(private[4096:4103], b"private")
equal(os.pread(shared_file.fileno(), 7, 4096), b"mmmmmmm")
equal(anonymous_shared[0:4], b"anon")
anonymous_shared[10] = 1
equal(os.waitpid(child, 0), (child, 0))
equal(anonymous_shared[20:25], b"reply")
with open("/dev/shm/truth", "rb") as file:
    equal(file.read(), b"POSIX shared memory")
equal(os.pread(memfd, 5, 0), b"memfd")
equal(fcntl.fcntl(memfd, fcntl.F_GET_SEALS), fcntl.F_SEAL_SHRINK)
done()
