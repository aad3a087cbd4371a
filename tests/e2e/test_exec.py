# SPDX-License-Identifier: Apache-2.0
"""What an exec promises."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from collimate_rl import GatewayClient, Sandbox, TemplateHandle


@pytest.fixture(scope="module")
def sandbox(client: GatewayClient, template: TemplateHandle) -> Iterator[Sandbox]:
    with Sandbox(template.id, client=client) as made:
        yield made


@pytest.fixture(autouse=True)
def nothing_left() -> None:
    """One sandbox serves this module; its end is looked at by the others."""


def test_exit_code_and_separate_streams(sandbox: Sandbox) -> None:
    r = sandbox.exec(command="echo out; echo err >&2; exit 7")
    assert (r.exit_code, r.stdout, r.stderr, r.ok) == (7, "out\n", "err\n", False)


def test_argv_is_not_a_shell(sandbox: Sandbox) -> None:
    r = sandbox.exec(commands=[["printf", "%s|", "a b", "$HOME", "*"]])
    assert r.stdout == "a b|$HOME|*|"


def test_argv_lists_stop_at_the_first_failure(sandbox: Sandbox) -> None:
    r = sandbox.exec(commands=[["echo", "1"], ["false"], ["echo", "2"]])
    assert (r.exit_code, r.stdout) == (1, "1\n")
    assert [x["exit_code"] for x in r.raw["results"]] == [0, 1]


def test_a_missing_program_is_exit_code_127(sandbox: Sandbox) -> None:
    assert sandbox.exec(commands=[["no-such-program"]]).exit_code == 127
    assert sandbox.exec(command="no-such-program").exit_code == 127


def test_code_exits_as_a_program_would(sandbox: Sandbox) -> None:
    assert sandbox.exec(code="import sys; sys.exit(3)").exit_code == 3
    r = sandbox.exec(code="def g():\n    raise ValueError('no')\ng()")
    assert r.exit_code == 1
    assert "ValueError: no" in r.stderr
    assert "line 2" in r.stderr


def test_code_keeps_its_state_and_says_when_it_is_lost(sandbox: Sandbox) -> None:
    assert sandbox.exec(code="kept = 1").ok
    assert sandbox.exec(code="print(kept)").stdout == "1\n"
    crashed = sandbox.exec(code="import os; os._exit(9)")
    assert crashed.exit_code == 9
    assert "interpreter" in crashed.stderr
    assert sandbox.exec(code="print('kept' in globals())").stdout == "False\n"


def test_output_of_subprocesses_in_code_is_captured(sandbox: Sandbox) -> None:
    r = sandbox.exec(
        code="import subprocess, os\nprint('a', flush=True)\nsubprocess.run(['sh', '-c', 'echo b; echo c >&2'])\nos.write(1, b'd\\n')"
    )
    assert (r.stdout, r.stderr) == ("a\nb\nd\n", "c\n")


def test_utf8_is_kept_across_chunks(sandbox: Sandbox) -> None:
    text = "héllo ☃ 漢字 🙂 " * 40_000
    r = sandbox.exec(code="import sys\nsys.stdout.write('héllo ☃ 漢字 🙂 ' * 40000)")
    assert r.stdout == text


def test_files_are_byte_exact(sandbox: Sandbox) -> None:
    content = "no newline at the end ☃\r\n\ttab"
    r = sandbox.exec(command="cat /tmp/deep/er/f; wc -c < /tmp/deep/er/f", files=[{"path": "/tmp/deep/er/f", "content": content}])
    assert r.stdout == f"{content}{len(content.encode())}\n"


def test_binary_files_go_up_and_down(sandbox: Sandbox) -> None:
    data = bytes(range(256)) * 8_192
    sandbox.upload_bytes("/tmp/blob", data)
    assert sandbox.download("/tmp/blob") == data


def test_the_time_limit_ends_the_whole_tree_of_that_exec_and_nothing_else(sandbox: Sandbox) -> None:
    assert sandbox.exec(command="nohup sleep 987 >/dev/null 2>&1 &").ok
    begun = time.monotonic()
    r = sandbox.exec(command="echo before; (setsid sleep 654 &) ; sleep 654", timeout_seconds=1)
    assert time.monotonic() - begun < 10
    assert (r.exit_code, r.stdout) == (-1, "before\n")
    assert r.raw["timed_out"] is True
    ps = sandbox.exec(command="cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '").stdout
    assert "sleep 654" not in ps
    assert "sleep 987" in ps


def test_the_time_limit_of_a_cell_keeps_the_interpreter(sandbox: Sandbox) -> None:
    assert sandbox.exec(code="kept = 5").ok
    r = sandbox.exec(code="while True: pass", timeout_seconds=1)
    assert r.exit_code == -1
    assert sandbox.exec(code="print(kept)").stdout == "5\n"


def test_a_background_process_does_not_hold_the_command(sandbox: Sandbox) -> None:
    begun = time.monotonic()
    assert sandbox.exec(command="sleep 300 & echo started").stdout == "started\n"
    assert time.monotonic() - begun < 5


def test_sixteen_mib_of_output_arrive_and_more_is_cut_and_flagged(sandbox: Sandbox) -> None:
    size = 16 * 1024 * 1024
    r = sandbox.exec(command=f"head -c {size} /dev/zero | tr '\\0' x")
    assert (len(r.stdout), r.raw["truncated"]) == (size, False)
    r = sandbox.exec(command=f"head -c {size + 1} /dev/zero | tr '\\0' x")
    assert (len(r.stdout), r.raw["truncated"]) == (size, True)


def test_a_long_command_string_arrives_whole(sandbox: Sandbox) -> None:
    word = "x" * 98_500
    assert sandbox.exec(command=f"printf %s '{word}' | wc -c").stdout.strip() == "98500"


def test_parallel_execs_do_not_mix(sandbox: Sandbox) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(16) as pool:
        outs = list(pool.map(lambda i: sandbox.exec(command=f"for k in 1 2 3 4 5; do echo {i}; done").stdout, range(32)))
    assert outs == [f"{i}\n" * 5 for i in range(32)]
