# One cell: code that runs as if it were (the next part of) a script.
import builtins
import linecache
import traceback
import types

KERNEL_FILE = "<collimate-kernel>"
SOURCES_KEPT = 256

user_module = types.ModuleType("__main__")
user_module.__dict__["__builtins__"] = builtins
sys.modules["__main__"] = user_module
sys.argv = [""]

_cell_names = []


def _remember_source(name, text):
    """Tracebacks show lines from here. mtime None keeps linecache from looking for a file."""
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    _cell_names.append(name)
    if len(_cell_names) > SOURCES_KEPT:
        linecache.cache.pop(_cell_names.pop(0), None)


def _without_kernel_frames(trace):
    while trace is not None and trace.tb_frame.f_code.co_filename == KERNEL_FILE:
        trace = trace.tb_next
    return trace


def _exit_code(stop):
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code & 0xFF
    try:
        print(stop.code, file=sys.stderr)
    except Exception:
        pass
    return 1


def _report(error):
    try:
        error.__traceback__ = _without_kernel_frames(error.__traceback__)
        if sys.excepthook is not sys.__excepthook__:
            sys.excepthook(type(error), error, error.__traceback__)
        else:
            traceback.print_exception(type(error), error, error.__traceback__)
    except BaseException:  # stderr closed, a broken __str__, a second interrupt
        os.write(2, b"collimate: an exception was raised and could not be printed\n")


def run_source(source, name):
    """Runs the code in the lasting namespace and returns the exit code that a script would have had."""
    try:
        text = source.decode("utf-8", "replace")
        _remember_source(name, text)
        exec(compile(source, name, "exec", dont_inherit=True), user_module.__dict__)
        return 0
    except SystemExit as stop:
        return _exit_code(stop)
    except KeyboardInterrupt as error:
        _report(error)
        return 130
    except BaseException as error:
        _report(error)
        return 1


class SourceForChildren:
    """multiprocessing's spawn runs the main file again in the child: give it one, in memory, for this cell."""

    def __init__(self, source):
        wanted = "multiprocessing" in sys.modules or b"multiprocessing" in source or b"ProcessPool" in source
        self.fd = os.memfd_create("cell.py") if wanted and hasattr(os, "memfd_create") else -1
        if self.fd >= 0:
            with os.fdopen(self.fd, "wb", closefd=False) as file:
                file.write(source)
            user_module.__file__ = "/proc/%d/fd/%d" % (os.getpid(), self.fd)

    def close(self):
        if self.fd >= 0:
            user_module.__dict__.pop("__file__", None)
            try:
                os.close(self.fd)
            except OSError:
                pass
            self.fd = -1


class Surroundings:
    """Environment and directory that cells are asked to run with. What is given for one cell is gone in the next that is
    not given it; what the code itself has changed since lasts, until a cell is given another value."""

    def __init__(self):
        self.env = {}  # name: (value given, value before)
        self.cwd = None  # (directory given, directory before)

    def enter(self, env, cwd):
        for name in [name for name in self.env if name not in env]:
            given, before = self.env.pop(name)
            if os.environ.get(name) != given:
                continue
            if before is None:
                del os.environ[name]
            else:
                os.environ[name] = before
        for name, value in env.items():
            known = self.env.get(name)
            if known is None or known[0] != value:
                self.env[name] = (value, known[1] if known else os.environ.get(name))
                os.environ[name] = value
        self._enter_directory(cwd)

    def _enter_directory(self, cwd):
        if cwd is None and self.cwd is not None:
            given, before = self.cwd
            self.cwd = None
            if _here() == given:
                os.chdir(before)
        elif cwd is not None and (self.cwd is None or self.cwd[0] != cwd):
            before = self.cwd[1] if self.cwd else _here()
            os.chdir(cwd)
            self.cwd = (cwd, before)


def _here():
    try:
        return os.getcwd()
    except OSError:  # removed under us
        return "/"
