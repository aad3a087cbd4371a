# SPDX-License-Identifier: Apache-2.0
"""Write `collimate_rl/_sync` from `collimate_rl/_async`, so that the two faces cannot drift.

    python tools/generate_sync.py          # write
    python tools/generate_sync.py --check  # exit 1 if what is there differs

The async text is the only one edited by hand. `concurrency.py` is the exception: what differs in kind (threads against
tasks, sleeping) lives there, once per face, behind the same names.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from itertools import pairwise
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "collimate_rl"
SOURCE, TARGET = PACKAGE / "_async", PACKAGE / "_sync"
BY_HAND = {"concurrency.py"}
HEADER = "# Generated from ../_async/{name} by tools/generate_sync.py; edit that file instead.\n"

NAMES = {
    "AsyncIterator": "Iterator",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "aclose": "close",
    "aiter_bytes": "iter_bytes",
    "connect_async": "connect",
    "_async": "_sync",
}
ASYNC_PREFIX = re.compile(r"\bAsync(?=[A-Z])")
IN_PROSE = re.compile(r"\b(?:await|async) (?=\S)")


def rename(name: str) -> str:
    return NAMES.get(name, ASYNC_PREFIX.sub("", name))


def prose(text: str) -> str:
    """A comment or string: class names and example code in it follow the code."""
    text = IN_PROSE.sub("", ASYNC_PREFIX.sub("", text))
    return text.replace("connect_async", "connect")


def to_sync(text: str) -> str:
    """The synchronous twin of one module's text."""
    lines = text.splitlines(keepends=True)
    edits: list[tuple[int, int, int, int, str]] = []
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for token, following in pairwise(tokens):
        (row, column), (end_row, end_column) = token.start, token.end
        if token.type == tokenize.NAME and token.string in ("async", "await"):
            edits.append((row, column, *following.start, ""))
        elif token.type == tokenize.NAME:
            edits.append((row, column, end_row, end_column, rename(token.string)))
        elif token.type in (tokenize.STRING, tokenize.COMMENT):
            edits.append((row, column, end_row, end_column, prose(token.string)))
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    out: list[str] = []
    position = 0
    for row, column, end_row, end_column, replacement in edits:
        start, end = offsets[row - 1] + column, offsets[end_row - 1] + end_column
        out += [text[position:start], replacement]
        position = end
    return "".join([*out, text[position:]])


def formatted(text: str, name: str) -> str:
    """Import order and line breaks as ruff wants them, since shorter names move both."""
    for command in (["check", "--select", "I", "--fix", "--quiet"], ["format", "--quiet"]):
        run = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(TARGET / name), "-"],
            input=text, capture_output=True, text=True, check=True,
        )  # fmt: skip
        text = run.stdout
    return text


def generated() -> dict[str, str]:
    """File name to text, for every module that is generated."""
    out: dict[str, str] = {}
    for path in sorted(SOURCE.glob("*.py")):
        if path.name in BY_HAND:
            continue
        first, _, rest = path.read_text().partition("\n")
        out[path.name] = formatted(first + "\n" + HEADER.format(name=path.name) + to_sync(rest), path.name)
    return out


def main(arguments: list[str]) -> int:
    wanted = generated()
    present = {path.name: path.read_text() for path in TARGET.glob("*.py") if path.name not in BY_HAND}
    if "--check" in arguments:
        stale = sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))
        if stale:
            print("out of date:", ", ".join(stale), "- run tools/generate_sync.py")
        return int(bool(stale))
    for name in present.keys() - wanted.keys():
        (TARGET / name).unlink()
    for name, text in wanted.items():
        (TARGET / name).write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
