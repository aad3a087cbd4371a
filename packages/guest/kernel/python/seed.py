# A seed given for one cell: any sandbox with this seed draws alike, whenever the cell imports its libraries.
from importlib.machinery import PathFinder


def _seed_random(seed):
    import random

    random.seed(int.from_bytes(seed, "big"))


def _seed_numpy(seed):
    sys.modules["numpy.random"].seed([int.from_bytes(seed[i : i + 4], "big") for i in range(0, 32, 4)])


def _seed_torch(seed):
    sys.modules["torch"].manual_seed(int.from_bytes(seed, "big") % 2**63)


_late = {"numpy.random": _seed_numpy, "torch": _seed_torch}


class CellSeed:
    """Seeds what is loaded, and until it is closed also what gets imported."""

    def __init__(self, seed):
        self.seed = seed
        _seed_random(seed)
        for name, action in _late.items():
            if name in sys.modules:
                _attempt(action, seed)
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        if name not in _late:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_seed(module):
                load(module)
                _attempt(_late[name], self.seed)

            spec.loader.exec_module = load_and_seed
        return spec

    def close(self):
        if self in sys.meta_path:
            sys.meta_path.remove(self)
