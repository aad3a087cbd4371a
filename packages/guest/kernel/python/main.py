# The loop: a turn from init (descriptor 3), a cell from a handler, its result back, and "done" to init.
# _signal and _socket, not the modules around them: these turn every number into a member of an enumeration, and what is
# touched for that is copied into every child.
import _signal
import _socket
import array
import struct

TAG_CODE, TAG_ENV, TAG_CWD, TAG_SEED, TAG_SETTLE = 12, 14, 15, 20, 22
ENDED, SEEDED, BEGUN = 1, 2, 4
KERNEL_PID = os.getpid()

control = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, 3)
os.set_inheritable(3, False)
open_sockets = [control]


def forget_the_kernel():
    """In a forked child: it is the user's, and must hold nothing that tells others the kernel lives."""
    for one in open_sockets:
        try:
            one.close()
        except OSError:
            pass


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_the_kernel)


def receive_fds(sock, size, most):
    """recvmsg with descriptors (socket.recv_fds came with 3.9)."""
    fds = array.array("i")
    data, ancillary, _, _ = sock.recvmsg(size, _socket.CMSG_SPACE(most * fds.itemsize))
    for level, kind, payload in ancillary:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            fds.frombytes(payload[: len(payload) - len(payload) % fds.itemsize])
    for fd in fds:
        os.set_inheritable(fd, False)
    return data, list(fds)


def read_fields(fd):
    data = b""
    while True:
        part = os.pread(fd, 1 << 20, len(data))
        if not part:
            break
        data += part
    os.close(fd)
    fields, at = [], 0
    while at < len(data):
        tag, length = struct.unpack_from("<BI", data, at)
        fields.append((tag, data[at + 5 : at + 5 + length]))
        at += 5 + length
    return fields


class Turn:
    def __init__(self, message, fds):
        _, self.generation = struct.unpack_from("<II", message)
        self.entropy = message[8:40]
        self.socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fds[0])
        open_sockets.append(self.socket)

    def fields(self):
        """None when the handler has nothing for us after all."""
        data, fds = receive_fds(self.socket, 1, 3)
        if not data or len(fds) != 3:
            return None
        fields = read_fields(fds[0])
        point_output_at(fds[1], fds[2])
        os.close(fds[1])
        os.close(fds[2])
        self.answer(0, BEGUN)
        return fields

    def answer(self, code, state):
        self.socket.sendall(struct.pack("<B3xi", state, code))

    def close(self):
        open_sockets.remove(self.socket)
        self.socket.close()


class Kernel:
    def __init__(self):
        self.generation = 0
        self.cells = 0
        self.interrupt = _signal.default_int_handler  # or what the user's code has put in its place
        self.surroundings = Surroundings()
        self.null = os.open("/dev/null", os.O_RDWR)
        _signal.signal(_signal.SIGINT, _signal.SIG_IGN)

    def reseed_once(self, turn, seed):
        if turn.generation != self.generation:
            self.generation = turn.generation
            reseed_after_restore(Entropy(seed, turn.entropy))

    def run(self, turn, fields):
        values = dict(fields)
        env = dict(value.decode("utf-8", "surrogateescape").split("=", 1) for tag, value in fields if tag == TAG_ENV)
        cwd = os.fsdecode(values[TAG_CWD]) if TAG_CWD in values else None
        seed = values.get(TAG_SEED)
        if seed is not None:
            env.setdefault("COLLIMATE_SEED", seed.hex())
        self.cells += 1
        source = values.get(TAG_CODE, b"")
        ensure_streams()
        try:
            self.surroundings.enter(env, cwd)
        except OSError as error:
            os.write(2, b"collimate: cannot enter %s: %s\n" % (os.fsencode(cwd or "/"), error.strerror.encode()))
            return 126, 0
        self.reseed_once(turn, seed)
        cell_seed = CellSeed(seed) if seed is not None else None
        code = self.run_interruptible(source, "<cell %d>" % self.cells)
        if TAG_SETTLE in values:
            settle()
        if cell_seed is not None:
            cell_seed.close()
        return code, SEEDED if cell_seed is not None else 0

    def run_interruptible(self, source, name):
        main_file = SourceForChildren(source)
        try:
            try:
                _signal.signal(_signal.SIGINT, self.interrupt)
                code = run_source(source, name)
            finally:
                if os.getpid() == KERNEL_PID:
                    self.interrupt = _signal.getsignal(_signal.SIGINT)
                    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
        except KeyboardInterrupt:  # it came just outside the user's code
            code = 130
        if os.getpid() == KERNEL_PID:
            _signal.signal(_signal.SIGINT, _signal.SIG_IGN)  # again: an interrupt may have come before the line above did it
        else:
            flush_streams()
            os._exit(code)  # a child that the cell has forked reached the end of the script
        flush_streams()
        main_file.close()
        return code

    def serve_one(self):
        message, fds = receive_fds(control, 64, 1)
        if len(message) < 40 or len(fds) != 1:
            os._exit(0)  # init is gone
        turn = Turn(message, fds)
        fields = turn.fields()
        if fields is not None:
            code, state = self.run(turn, fields)
            point_output_at(self.null, self.null)
            turn.answer(code, ENDED | state)
        turn.close()
        control.send(b"I")


def main():
    kernel = Kernel()
    while True:
        try:
            kernel.serve_one()
        except BaseException as error:
            # The cell has closed our descriptors or worse: an honest end, and a fresh interpreter for the next.
            if os.getpid() == KERNEL_PID:
                os.write(2, b"collimate: the interpreter lost its footing (%s)\n" % repr(error).encode("utf-8", "replace")[:200])
            os._exit(70)


main()
