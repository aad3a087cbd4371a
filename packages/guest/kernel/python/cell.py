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
    """Environment and directory that were asked for one cell only; what the code itself changes, lasts."""

    def __init__(self, env, cwd):
        self.before = {key: os.environ.get(key) for key in env}
        self.cwd = os.open(".", os.O_RDONLY | os.O_DIRECTORY) if cwd else -1
        os.environ.update(env)
        if cwd:
            os.chdir(cwd)

    def restore(self):
        for key, value in self.before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value
        if self.cwd >= 0:
            os.fchdir(self.cwd)
            os.close(self.cwd)
