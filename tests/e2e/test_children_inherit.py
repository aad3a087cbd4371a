# SPDX-License-Identifier: Apache-2.0
"""Children are the parent as it was at one instant, and from then on their own."""

from __future__ import annotations

from collimate_rl import GatewayClient, TemplateHandle


def test_children_have_the_interpreter_state_of_the_parent(client: GatewayClient, template: TemplateHandle) -> None:
    with client.session(template) as session:
        assert session.exec(
            code="import numpy as np, json\nx = np.arange(1000)\nmemo = {'a': [1, 2]}\ndef f(y): return y + int(x.sum())"
        ).ok
        with session.fork_group(4) as group:
            results = group.exec_each(code="print(f(1), memo['a'], json.dumps(memo))")
    assert [r.stdout for r in results] == ['499501 [1, 2] {"a": [1, 2]}\n'] * 4


def test_children_have_a_running_process_and_its_open_pipe(client: GatewayClient, template: TemplateHandle) -> None:
    start = (
        "import subprocess\n"
        "p = subprocess.Popen(['python3', '-uc', 'import sys\\nn = 0\\nfor line in sys.stdin:\\n n += int(line); print(n)'],"
        " stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)\n"
        "p.stdin.write('40\\n'); print(p.stdout.readline().strip())"
    )
    with client.session(template) as session:
        assert session.exec(code=start).stdout == "40\n"
        with session.fork_group(3) as group:
            results = group.map(lambda i, child: child.exec(code=f"p.stdin.write('{i}\\n'); print(p.stdout.readline().strip())"))
        assert [r.stdout for r in results] == ["40\n", "41\n", "42\n"]
        assert session.exec(code="p.stdin.write('5\\n'); print(p.stdout.readline().strip()); p.stdin.close(); p.wait()").stdout == "45\n"


def test_children_have_a_background_job_of_a_command(client: GatewayClient, template: TemplateHandle) -> None:
    with client.session(template) as session:
        assert session.exec(
            command="nohup sh -c 'while :; do date +%s.%N > /tmp/next && mv /tmp/next /tmp/beat; sleep 0.05; done' >/dev/null 2>&1 &"
        ).ok
        with session.fork_group(2) as group:
            probe = 'a=$(cat /tmp/beat); sleep 0.4; b=$(cat /tmp/beat); [ -n "$a" ] && [ "$a" != "$b" ]'
            assert [r.ok for r in group.exec_each(command=probe)] == [True, True]
        assert session.exec(command=probe).ok


def test_children_have_files_and_working_directory(client: GatewayClient, template: TemplateHandle) -> None:
    with client.session(template) as session:
        assert session.exec(
            code="import os\nos.makedirs('/srv/work', exist_ok=True)\nos.chdir('/srv/work')\nopen('note', 'wb').write(bytes(range(256)) * 400)"
        ).ok
        with session.fork_group(3) as group:
            results = group.exec_each(code="print(os.getcwd(), open('note', 'rb').read() == bytes(range(256)) * 400)")
    assert [r.stdout for r in results] == ["/srv/work True\n"] * 3


def test_what_one_child_does_nobody_else_sees(client: GatewayClient, template: TemplateHandle) -> None:
    with client.session(template) as session:
        assert session.exec(code="v = 'parent'\nopen('/tmp/f', 'w').write('parent')").ok
        with session.fork_group(4) as group:
            spoil = "v = 'child 0'\nopen('/tmp/f', 'w').write('child 0')\nimport os\nos.unlink('/etc/hostname') if os.path.exists('/etc/hostname') else None"
            assert group[0].exec(code=spoil).ok
            look = "print(v, open('/tmp/f').read())"
            assert [child.exec(code=look).stdout for child in group] == ["child 0 child 0\n"] + ["parent parent\n"] * 3
            assert session.exec(code=look).stdout == "parent parent\n"


def test_kill_all_in_one_child_harms_nobody_else(client: GatewayClient, template: TemplateHandle) -> None:
    with client.session(template) as session:
        assert session.exec(code="v = 7").ok
        with session.fork_group(3) as group:
            group[1].exec(command="kill -9 -1", timeout_seconds=10)
            assert [group[i].exec(code="print(v)").stdout for i in (0, 2)] == ["7\n", "7\n"]
            assert session.exec(code="print(v)").stdout == "7\n"
            # The child itself lives too, with a fresh interpreter.
            assert group[1].exec(code="print('v' in globals())").stdout == "False\n"


def test_the_parent_goes_on_and_is_forked_again(client: GatewayClient, template: TemplateHandle) -> None:
    with client.session(template) as session:
        assert session.exec(code="log = []").ok
        for step in range(3):
            assert session.exec(code=f"log.append({step})").ok
            with session.fork_group(2) as group:
                assert [r.stdout for r in group.exec_each(code="log.append('child'); print(log)")] == [
                    f"{[*range(step + 1), 'child']}\n"
                ] * 2
        assert session.exec(code="print(log)").stdout == "[0, 1, 2]\n"


def test_a_child_is_forked(client: GatewayClient, template: TemplateHandle) -> None:
    with client.session(template) as session:
        assert session.exec(code="path = ['root']\nopen('/tmp/line', 'w').write('root')").ok
        with session.fork_group(2) as group:
            assert group[1].exec(code="path.append('child 1')\nopen('/tmp/line', 'a').write(' child')").ok
            reply = client.fork(group[1].session_id, count=2)
            grandchildren = [row["id"] for row in reply["children"]]
            try:
                for one in grandchildren:
                    assert client.exec(one, code="print(path, open('/tmp/line').read())")["stdout"] == "['root', 'child 1'] root child\n"
            finally:
                for one in grandchildren:
                    client.delete_sandbox(one)
            assert group[0].exec(code="print(path)").stdout == "['root']\n"


def test_results_are_positional(client: GatewayClient, template: TemplateHandle) -> None:
    with client.session(template) as session, session.fork_group(8) as group:
        results = group.map(lambda i, child: (i, child.exec(code=f"import time; time.sleep({(8 - i) * 0.03}); print({i})").stdout))
    assert results == [(i, f"{i}\n") for i in range(8)]


DRAW = "print(random.random(), np.random.rand(), rng.random(), os.urandom(8).hex(), uuid.uuid4(), socket.gethostname())"
IMPORTS = "import random, os, uuid, socket\nimport numpy as np\nrng = np.random.default_rng()\nrandom.random()"


def columns(lines: list[str]) -> list[int]:
    """How many different values each column has."""
    return [len(set(column)) for column in zip(*[line.split() for line in lines], strict=True)]


def test_no_two_children_share_a_stream_unless_seeded_alike(client: GatewayClient, template: TemplateHandle) -> None:
    with client.session(template) as session:
        assert session.exec(code=IMPORTS).ok
        with session.fork_group(4, seed_mode="vanilla") as group:
            assert columns([r.stdout for r in group.exec_each(code=DRAW)]) == [4] * 6


def test_children_under_common_random_numbers_draw_the_same(client: GatewayClient, template: TemplateHandle) -> None:
    with client.session(template) as session:
        assert session.exec(code=IMPORTS).ok
        with session.fork_group(4, seed_mode="crn") as group:
            results = group.exec_each(code=DRAW)
        assert columns([r.stdout for r in results])[:2] == [1, 1]
        assert {r.seed for r in results} == {group.seeds[0]}
        # The interpreter was seeded; that every program of the sandbox would be is not claimed.
        assert {r.seed_ack for r in results} == {"partial"}
