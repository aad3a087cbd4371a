# SPDX-License-Identifier: Apache-2.0
# Runs inside a sandbox, in the grader and in the candidate's process alike; only built-in values cross between them.
"""Values as text and back, by exact type, so that no object of a candidate's own making is ever compared."""

import json
import math

PLAIN = (str, bool, type(None))
GROUPS = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


def pack(value):
    """A JSON form that keeps types apart. ValueError for anything but finite built-in values."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is int:
        return {"int": str(value)}
    if kind is float:
        if not math.isfinite(value):
            raise ValueError("not finite")
        return {"float": value.hex()}
    if kind is complex:
        return {"complex": [pack(value.real), pack(value.imag)]}
    if kind is bytes:
        return {"bytes": value.hex()}
    if kind is dict:
        return {"dict": [[pack(key), pack(item)] for key, item in value.items()]}
    for name, group in GROUPS.items():
        if kind is group:
            return {name: [pack(item) for item in value]}
    raise ValueError(f"a {kind.__name__} is no plain value")


def unpack(form):
    """The value of a JSON form that `pack` made. ValueError for any other."""
    if type(form) in PLAIN:
        return form
    if type(form) is not dict or len(form) != 1:
        raise ValueError("not a packed value")
    ((name, inner),) = form.items()
    if name == "int":
        return int(inner)
    if name == "float":
        value = float.fromhex(inner)
        if not math.isfinite(value):
            raise ValueError("not finite")
        return value
    if name == "complex":
        return complex(*map(unpack, inner))
    if name == "bytes":
        return bytes.fromhex(inner)
    if name == "dict":
        return {unpack(key): unpack(item) for key, item in inner}
    if name in GROUPS:
        return GROUPS[name](map(unpack, inner))
    raise ValueError("not a packed value")


def same(left, right):
    """Equal values of equal types; int and float may meet, bool and int may not."""
    if type(left) in (int, float) and type(right) in (int, float):
        return left == right
    if type(left) is not type(right):
        return False
    if type(left) in (list, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if type(left) is dict:
        return left.keys() == right.keys() and all(same(item, right[key]) for key, item in left.items())
    return left == right


def to_line(message):
    return json.dumps(message).encode() + b"\n"
