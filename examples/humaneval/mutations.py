# SPDX-License-Identifier: Apache-2.0
"""Candidates for a problem: its canonical solution, and wrong or equivalent variants of it made through Python's `ast`.

Deterministic: the same problem and width give the same candidates, in the same order, on every machine.
"""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Iterator

from .problems import Problem

# Neither Pow nor shifts: they could ask for a number with a billion digits, in one step that no alarm interrupts.
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
OPPOSITES = {ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is}
DRAWS_PER_CANDIDATE = 400

Change = Callable[[random.Random], None]


def candidates(problem: Problem, width: int) -> list[str]:
    """`width` different programs, each defining the problem's function; the first is the canonical one."""
    tree = ast.parse(problem.prompt + problem.canonical_solution)
    draw = random.Random(f"collimate:{problem.task_id}")
    programs = [ast.unparse(tree)]
    seen = set(programs)
    for attempt in range(width * DRAWS_PER_CANDIDATE):
        if len(programs) >= width:
            return programs[:width]
        # Mostly one change; more of them as the single ones run out.
        depth = draw.choice((1, 1, 1, 2)) + attempt // (width * 40)
        program = mutated(tree, problem.entry_point, depth, draw)
        if program not in seen:
            seen.add(program)
            programs.append(program)
    raise ValueError(f"{problem.task_id}: only {len(programs)} different candidates, asked for {width}")


def mutated(tree: ast.Module, function: str, depth: int, draw: random.Random) -> str:
    """The text of `tree` with `depth` changes inside `function`."""
    changed = copy.deepcopy(tree)
    changes = list(possible_changes(body_of(changed, function)))
    for change in draw.sample(changes, min(depth, len(changes))):
        change(draw)
    return ast.unparse(ast.fix_missing_locations(changed))


def body_of(tree: ast.Module, function: str) -> ast.FunctionDef:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return node
    raise ValueError(f"no function {function}")


def possible_changes(function: ast.FunctionDef) -> Iterator[Change]:
    """One way to change each place that can be changed, in source order."""
    kept = {id(part) for node in ast.walk(function) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for statement in function.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue  # the docstring
        for node in ast.walk(statement):
            if id(node) not in kept:
                yield from changes_of(node)


def changes_of(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ARITHMETIC):
        yield lambda draw: setattr(node, "op", draw.choice(others(ARITHMETIC, node.op))())
    elif isinstance(node, ast.Compare):
        yield lambda draw: change_comparison(node, draw)
    elif isinstance(node, ast.BoolOp):
        yield lambda _draw: setattr(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.Constant):
        yield lambda draw: setattr(node, "value", other_constant(node.value, draw))
    elif isinstance(node, ast.Return) and (result := node.value) is not None:
        yield lambda draw: setattr(node, "value", other_result(result, draw))
    elif isinstance(node, (ast.If, ast.IfExp)):
        yield lambda _draw: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test))


def change_comparison(node: ast.Compare, draw: random.Random) -> None:
    place = draw.randrange(len(node.ops))
    now = node.ops[place]
    opposite = OPPOSITES.get(type(now))
    node.ops[place] = opposite() if opposite else draw.choice(others(COMPARISONS, now))()


def others(kinds: tuple[type, ...], now: ast.AST) -> list[type]:
    return [kind for kind in kinds if not isinstance(now, kind)]


def other_constant(value: object, draw: random.Random) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + draw.choice((-2, -1, 1, 2, 3, draw.randint(-50, 50)))
    if isinstance(value, str):
        return draw.choice((value + " ", value[1:], value.swapcase(), "x" + value))
    return draw.choice((0, 1, ""))


def other_result(value: ast.expr, draw: random.Random) -> ast.expr:
    return draw.choice(
        (
            ast.Constant(None),
            ast.UnaryOp(ast.Not(), value),
            ast.List([value], ast.Load()),
            # The same result after a detour: a candidate that differs and is right.
            ast.IfExp(ast.Constant(True), value, ast.Constant(draw.randint(0, 999))),
        )
    )
