# SPDX-License-Identifier: Apache-2.0
"""The measurements as a table for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Cell = Callable[[dict[str, Any]], str]


def amount(key: str, form: str) -> Cell:
    """A measured number, or a dash where nobody could tell."""
    return lambda row: "-" if row.get(key) is None else form.format(row[key])


COLUMNS: tuple[tuple[str, Cell], ...] = (
    ("problem", lambda row: row["title"]),
    ("prefix", amount("prefix_seconds", "{:.2f} s")),
    ("fork", amount("fork_seconds", "{:.2f} s")),
    ("grading", amount("grade_seconds", "{:.2f} s")),
    ("mean reward", amount("mean_reward", "{:.3f}")),
    ("private memory", amount("private_mib_per_child", "{:.1f} MiB")),
    ("parent pause", amount("pause_ms", "{:.0f} ms")),
)


def render(report: dict[str, Any]) -> str:
    """The table and the comparison below it."""
    rows = [*report["problems"], report["env"]]
    cells = [[name for name, _ in COLUMNS], *([cell(row) for _, cell in COLUMNS] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(COLUMNS))]
    lines = [line_of(line, widths) for line in cells]
    lines.insert(1, "  ".join("─" * width for width in widths))
    cold, width = report["cold_start"], report["width"]
    slowest = max(row["fork_seconds"] for row in report["problems"])
    totals = report["usage"].get("totals") or {}
    return "\n".join(
        [
            "",
            *lines,
            "",
            f"fork: from the call to the first answer of the last of {width} children (slowest {slowest:.2f} s)",
            f"instead, {width} cold starts: {width} × {cold['seconds']:.2f} s = {cold['times_width_seconds']:.1f} s "
            "(fresh processes with import and prefix, no boot)",
            f"ratio: {report['ratio']:.1f} times",
            "usage: " + (", ".join(f"{key} {value}" for key, value in totals.items()) or "not told"),
            f"client: collimate-rl {report['client_version']} ({report['client']})",
        ]
    )


def line_of(cells: list[str], widths: list[int]) -> str:
    """The first column to the left, numbers to the right."""
    first, *rest = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]).rstrip()
