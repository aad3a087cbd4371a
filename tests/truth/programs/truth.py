# SPDX-License-Identifier: Apache-2.0
"""The side of a truth inside the sandbox: a program stops at `checkpoint()` and goes on when its sandbox is asked.

Works by files alone, so that it adds nothing to the state that is checked. A program may come to a checkpoint again after
`done()`: its sandbox can then be forked and asked once more.
"""

import os
import sys
import time

HERE = "/tmp/truth"


def checkpoint() -> str:
    """Says that the state is built; returns, when the sandbox is asked to go on, the name that the sandbox has got."""
    remove("go")
    write("ready", "")
    while not os.path.exists(HERE + "/go"):
        time.sleep(0.01)
    with open(HERE + "/go") as file:
        return file.read()


def done() -> None:
    write("verdict", "ok")


def write(name: str, text: str) -> None:
    with open(f"{HERE}/{name}.new", "w") as file:
        file.write(text)
    os.rename(f"{HERE}/{name}.new", f"{HERE}/{name}")


def remove(name: str) -> None:
    if os.path.exists(f"{HERE}/{name}"):
        os.unlink(f"{HERE}/{name}")


def equal(got: object, wanted: object) -> None:
    if got != wanted:
        raise AssertionError(f"{str(got)[:400]!r} instead of {str(wanted)[:400]!r}")


def program_lives() -> bool:
    """Of all processes named in `pids` (by the program, else its own) one at least."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    line = file.read()
            except OSError:
                continue
            if HERE.encode() in line and b"truth.py" not in line and b"sh\0-c" not in line:
                return True
    return False


def wait_for(name: str, seconds: float) -> str:
    until = time.monotonic() + seconds
    while not os.path.exists(f"{HERE}/{name}"):
        if time.monotonic() > until or not program_lives():
            time.sleep(0.1)
            if os.path.exists(f"{HERE}/{name}"):
                break
            with open(HERE + "/log", errors="replace") as file:
                said = file.read()[-3000:]
            sys.exit(f"no {name}: the program {'hangs' if program_lives() else 'has ended'}\n{said}")
        time.sleep(0.01)
    with open(f"{HERE}/{name}") as file:
        return file.read()


if __name__ == "__main__":
    if sys.argv[1] == "await-checkpoint":
        wait_for("ready", 60)
    else:
        remove("ready")
        remove("verdict")
        write("go", sys.argv[2])
        print(wait_for("verdict", 120))
