# SPDX-License-Identifier: Apache-2.0
"""inotify watches on a directory of the image, on one made by the sandbox and on a file."""

import ctypes
import os
import struct

from truth import HERE, checkpoint, done, equal

libc = ctypes.CDLL(None, use_errno=True)
IN_CREATE, IN_MODIFY = 0x100, 0x2

fd = libc.inotify_init1(os.O_NONBLOCK)
os.mkdir(HERE + "/watched")
with open(HERE + "/file", "w") as file:
    file.write("before")
watches = {
    libc.inotify_add_watch(fd, b"/usr/share", IN_CREATE): "/usr/share",
    libc.inotify_add_watch(fd, (HERE + "/watched").encode(), IN_CREATE): "watched",
    libc.inotify_add_watch(fd, (HERE + "/file").encode(), IN_MODIFY): "file",
}
equal(len(watches), 3)

me = checkpoint()


def events() -> list[tuple[str, str]]:
    found = []
    data = os.read(fd, 4096)
    while data:
        watch, _, _, length = struct.unpack_from("iIII", data)
        found.append((watches[watch], data[16 : 16 + length].rstrip(b"\0").decode()))
        data = data[16 + length :]
    return found


for path in ("/usr/share/" + me, HERE + "/watched/" + me):
    with open(path, "w"):
        pass
with open(HERE + "/file", "a") as file:
    file.write(me)
equal(events(), [("/usr/share", me), ("watched", me), ("file", "")])
done()
