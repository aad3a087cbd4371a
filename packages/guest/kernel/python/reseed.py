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
    """A stream of 32-byte keys: fresh ones, or with a seed the same ones each time."""

    def __init__(self, seed, extra=b""):
        self.seed = seed
        self.extra = extra
        self.count = 0

    def key(self, label):
        self.count += 1
        base = self.seed if self.seed is not None else os.urandom(32) + self.extra
        return sha256(base + b"%s/%d" % (label, self.count)).digest()

    def number(self, label):
        return int.from_bytes(self.key(label), "big")


def _attempt(action, *arguments):
    try:
        action(*arguments)
        return True
    except Exception:  # an odd version of a library must not cost the user the cell
        return False


def _reseed_bit_generator(holder, number):
    generator = holder.bit_generator if hasattr(holder, "bit_generator") else holder._bit_generator
    generator.state = type(generator)(number).state


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


def _reseed_living(entropy):
    for kind, generator in _settled + _living_generators():
        if kind == "random":
            _attempt(generator.seed, entropy.number(b"random"))
        else:
            _attempt(_reseed_bit_generator, generator, entropy.number(b"numpy"))


def reseed_after_restore(entropy):
    _reseed_living(entropy)
    if "numpy.random" in sys.modules:
        _attempt(sys.modules["numpy.random"].seed, entropy.number(b"numpy") % 2**32)
    if "torch" in sys.modules:
        _attempt(sys.modules["torch"].manual_seed, entropy.number(b"torch") % 2**63)
    if "tempfile" in sys.modules:
        sys.modules["tempfile"]._name_sequence = None
    if "ssl" in sys.modules:
        _attempt(sys.modules["ssl"].RAND_add, entropy.key(b"ssl"), 32.0)
