# SPDX-License-Identifier: Apache-2.0
"""The program inside a model's answer."""

from __future__ import annotations

import re

_BLOCK = re.compile(r"```[ \t]*[\w+.#-]*[ \t]*\n(.*?)```", re.DOTALL)


def extract_code(completion: str, entry: str = "solve") -> str:
    """The first fenced block, else all from `def <entry>` on, else the stripped text."""
    block = _BLOCK.search(completion)
    if block:
        return block[1].strip("\n")
    start = re.search(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{re.escape(entry)}\b", completion, re.MULTILINE)
    return completion[start.start() :].rstrip() if start else completion.strip()
