# Python's user-space generators are plain memory: after a restore every child would draw the same numbers.
import gc

try:  # without OpenSSL, which hashlib would map into every interpreter
    from _sha2 import sha256
except ImportError:
    try:
        from _sha256 import sha256
    except ImportError:
        from hashlib import sha256


class Entropy:
    """Numbers for generators: fresh ones, or with a seed the same ones each time."""

    def __init__(self, seed, extra=bytes(32)):
        self.seed = seed
        self.extra = extra  # 32 bytes from outside, should the kernel's own repeat themselves
        self.count = 0

    def bytes(self, label, size):
        if self.seed is None:
            fresh = os.urandom(size)
            mixed = int.from_bytes(fresh[:32], "big") ^ int.from_bytes(self.extra, "big")
            return mixed.to_bytes(32, "big")[-size:] + fresh[32:]
        self.count += 1
        blocks = [sha256(self.seed + b"%s/%d/%d" % (label, self.count, at)).digest() for at in range(0, size, 32)]
        return b"".join(blocks)[:size]

    def number(self, label):
        return int.from_bytes(self.bytes(label, 32), "big")


def _attempt(action, *arguments):
    try:
        action(*arguments)
        return True
    except Exception:  # an odd version of a library must not cost the user the cell
        return False


MT19937_WORDS = 624


def _reseed_numpy(holder, entropy):
    """
    A Mersenne Twister, which is what numpy's own functions draw from, is given a whole new state: seeding it runs so much
    of numpy that a child would get 400 KiB more of its own.
    """
    generator = holder.bit_generator if hasattr(holder, "bit_generator") else holder._bit_generator
    kind = type(generator)
    if kind.__name__ != "MT19937":
        generator.state = kind(entropy.number(b"numpy")).state
        return
    words = sys.modules["numpy"].frombuffer(entropy.bytes(b"numpy", 4 * MT19937_WORDS), "uint32")
    if hasattr(holder, "set_state"):  # which forgets the second half of a pair of normal numbers, too
        holder.set_state(("MT19937", words, MT19937_WORDS))
    else:
        generator.state = {"bit_generator": "MT19937", "state": {"key": words, "pos": MT19937_WORDS}}


_settled = []


def settle():
    """
    Sets aside what is there now. A walk over all objects, and every full garbage collection, write to each of them
    (reference counts, collector's heads): in a restored sandbox that makes a private copy of all of their memory.
    """
    gc.collect()
    _settled.extend(_living_generators())
    if hasattr(gc, "freeze"):
        gc.freeze()


def _living_generators():
    """Every generator that some variable somewhere still holds: (kind, generator)."""
    random = sys.modules.get("random")
    numpy_random = sys.modules.get("numpy.random")
    system = getattr(random, "SystemRandom", ())
    numpy_kinds = tuple(getattr(numpy_random, name) for name in ("Generator", "RandomState") if hasattr(numpy_random, name))
    verdicts = {}
    found = []
    for thing in gc.get_objects():
        kind = type(thing)
        verdict = verdicts.get(kind)
        if verdict is None:
            verdict = ""
            if random is not None and issubclass(kind, random.Random) and not issubclass(kind, system):
                verdict = "random"
            elif numpy_kinds and issubclass(kind, numpy_kinds):
                verdict = "numpy"
            verdicts[kind] = verdict
        if verdict:
            found.append((verdict, thing))
    return found


def reseed_after_restore(entropy):
    for kind, generator in _settled + _living_generators():
        if kind == "random":
            _attempt(generator.seed, entropy.number(b"random"))
        else:
            _attempt(_reseed_numpy, generator, entropy)
    if "torch" in sys.modules:
        # Of the CPU alone: torch.manual_seed() looks for every kind of device first.
        _attempt(sys.modules["torch"].default_generator.manual_seed, entropy.number(b"torch") % 2**63)
    if "tempfile" in sys.modules:
        sys.modules["tempfile"]._name_sequence = None
    if "ssl" in sys.modules:
        _attempt(sys.modules["ssl"].RAND_add, entropy.bytes(b"ssl", 32), 32.0)
