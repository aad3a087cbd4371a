# SPDX-License-Identifier: Apache-2.0
# The files of this folder are one program, joined by build.sh and run inside the sandbox by its own Python (3.7
# or newer). Nothing of it may show in the user's namespace, and it may import only what is cheap.
import io
import os
import sys


class _CStdout:
    """The C library's own buffer. Only foreign C code writes there, and only for it is ctypes loaded: every mapping
    and page of an interpreter is paid again by each child."""

    def __init__(self):
        self.modules_seen = 0
        self.flush = None

    def _load(self):
        try:
            import ctypes

            libc = ctypes.CDLL(None)
            stdout = ctypes.c_void_p.in_dll(libc, "stdout")
            return lambda: libc.fflush(stdout)
        except Exception:  # a Python without ctypes, or another libc: then C code has to flush for itself
            return lambda: None

    def flush_if_used(self):
        if self.flush is None and len(sys.modules) != self.modules_seen:
            self.modules_seen = len(sys.modules)
            if "ctypes" in sys.modules or any(_is_foreign(module) for module in list(sys.modules.values())):
                self.flush = self._load()
        if self.flush is not None:
            self.flush()


def _is_foreign(module):
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and file.endswith(".so") and "lib-dynload" not in file


_c_stdout = _CStdout()


def _text_stream(fd, name, errors):
    raw = io.FileIO(fd, "r" if fd == 0 else "w", closefd=False)
    buffered = io.BufferedReader(raw) if fd == 0 else io.BufferedWriter(raw)
    stream = io.TextIOWrapper(buffered, encoding="utf-8", errors=errors, line_buffering=fd != 0)
    stream.mode = "r" if fd == 0 else "w"
    buffered.raw.name = name
    return stream


def _is_usable(stream):
    return stream is not None and not getattr(stream, "closed", False)


def ensure_streams():
    """Gives the cell working standard streams, also after an earlier cell has closed or detached them."""
    for fd, name, errors in ((0, "stdin", "surrogateescape"), (1, "stdout", "surrogateescape"), (2, "stderr", "backslashreplace")):
        kept = "__%s__" % name
        if not _is_usable(getattr(sys, kept)) or not isinstance(getattr(sys, kept), io.TextIOWrapper) or kept not in _made:
            setattr(sys, kept, _text_stream(fd, "<%s>" % name, errors))
            setattr(sys, name, getattr(sys, kept))
            _made.add(kept)
        elif not _is_usable(getattr(sys, name)):
            setattr(sys, name, getattr(sys, kept))


_made = set()


def flush_streams():
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except Exception:  # closed, replaced by something odd, or its reader is gone: nothing to save
            pass
    _c_stdout.flush_if_used()


def point_output_at(out, err):
    os.dup2(out, 1)
    os.dup2(err, 2)
