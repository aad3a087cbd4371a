# SPDX-License-Identifier: Apache-2.0
"""Files of any size go into a sandbox and come out of it, whatever else happens to it meanwhile."""

from __future__ import annotations

import hashlib
import http.client
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from collimate_rl import CollimateTaskError, GatewayClient, Session, TemplateHandle
from conftest import Wire, eventually
from platform_under_test import Platform

MIB = 1024 * 1024


@pytest.fixture
def session(client: GatewayClient, template: TemplateHandle) -> Iterator[Session]:
    with client.session(template) as opened:
        yield opened


def noise(size: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(size)


def shell(session: Session, command: str) -> str:
    result = session.exec(command=command)
    assert result.ok, result.stderr
    return result.stdout


def test_64_mib_go_up_and_come_down_with_the_same_hash(session: Session) -> None:
    data = noise(64 * MIB)
    session.upload_bytes("/srv/deep/er/a b ü.bin", data)
    digest = hashlib.sha256(data).hexdigest()
    assert shell(session, "sha256sum '/srv/deep/er/a b ü.bin'; stat -c '%a %u:%g' '/srv/deep/er/a b ü.bin'; ls -A /srv/deep/er | wc -l").split() == [
        digest, "/srv/deep/er/a", "b", "ü.bin", "644", "0:0", "1",
    ]  # fmt: skip
    assert hashlib.sha256(session.download("/srv/deep/er/a b ü.bin")).hexdigest() == digest


def test_an_empty_file_and_a_file_of_proc(session: Session) -> None:
    session.upload_bytes("/tmp/empty", b"")
    assert session.download("/tmp/empty") == b""
    assert session.download("/proc/sys/kernel/ostype") == b"Linux\n"


def test_the_mode_is_as_asked_and_replacing_keeps_it(session: Session, wire: Wire) -> None:
    files = f"/v1/sandboxes/{session.id}/files?path=/opt/tool"
    octets = {"Content-Type": "application/octet-stream"}
    assert wire("PUT", f"{files}&mode=750", b"#!/bin/sh\necho one\n", headers=octets).body["size"] == 19
    assert shell(session, "/opt/tool") == "one\n"
    session.upload_bytes("/opt/tool", b"#!/bin/sh\necho two\n")
    assert shell(session, "stat -c %a /opt/tool; /opt/tool") == "750\ntwo\n"


def test_a_missing_file_is_named(session: Session, wire: Wire) -> None:
    with pytest.raises(CollimateTaskError, match="/tmp/none") as caught:
        session.download("/tmp/none")
    assert (caught.value.error_code, caught.value.http_status) == ("not_found", 404)
    answer = wire("GET", f"/v1/sandboxes/{session.id}/files?path=/tmp/none")
    assert (answer.status, answer.body["code"], answer.body["path"]) == (404, "not_found", "/tmp/none")


def test_what_is_no_file_is_a_bad_request(session: Session) -> None:
    shell(session, "mkdir -p /srv/dir; mkfifo /srv/pipe")
    for path, why in (("/srv/dir", "directory"), ("/srv/pipe", "/srv/pipe"), ("/dev/zero", "/dev/zero"), ("/etc/passwd/x", "/etc/passwd")):
        with pytest.raises(CollimateTaskError, match=why) as caught:
            session.download(path)
        assert caught.value.error_code == "bad_request"
        # Large, so that the refusal comes while bytes are still on their way.
        with pytest.raises(CollimateTaskError, match=why) as caught:
            session.upload_bytes(path, bytes(8 * MIB))
        assert caught.value.error_code == "bad_request"
    assert shell(session, "ls -A /srv") == "dir\npipe\n"


def test_a_sparse_file_larger_than_the_disk_is_refused(session: Session) -> None:
    shell(session, "truncate -s 4T /tmp/sparse")
    with pytest.raises(CollimateTaskError, match="disk"):
        session.download("/tmp/sparse")


def test_links_lead_to_places_inside_only(session: Session, platform: Platform) -> None:
    target = f"/tmp/escape-{random.randbytes(6).hex()}"
    depth = "../" * 40
    shell(
        session,
        f"ln -s {depth}etc/hostname /srv/up; ln -s {target[1:]} /srv/relative; ln -s {depth[:-1]}{target} /srv/out; ln -s /proc/1/root /srv/root; ln -s /loop /loop",
    )
    inside = shell(session, "cat /etc/hostname 2>/dev/null || true").encode()
    if inside:
        assert session.download("/srv/up") == inside
    # Through the link, as a shell's `>` does: the file behind it lies in the sandbox.
    for number, path in enumerate((f"/srv/root{target}-0", f"/srv/../..{target}-1", f"/{depth}tmp/x-2")):
        session.upload_bytes(path, f"{number}".encode())
    shell(session, f"touch {target}")
    session.upload_bytes("/srv/out", b"kept inside")
    assert shell(session, f"cat {target} {target}-0 {target}-1 /tmp/x-2; readlink /srv/out") == f"kept inside012{depth[:-1]}{target}\n"
    assert not list(Path("/tmp").glob(f"{Path(target).name}*"))
    with pytest.raises(CollimateTaskError) as caught:
        session.download("/loop")
    assert caught.value.error_code == "bad_request"
    # Nothing of the machine: its own files have other contents there, or are not there at all.
    with pytest.raises(CollimateTaskError):
        session.download(f"/proc/1/root{platform.state}/client.json")


def test_an_upload_that_meets_forks_arrives_whole_and_no_child_has_a_part_of_it(session: Session) -> None:
    data = noise(48 * MIB, seed=1)
    stop = threading.Event()

    def upload_again_and_again() -> int:
        count = 0
        while not stop.is_set():
            session.upload_bytes("/srv/in.bin", data)
            assert session.download("/srv/in.bin") == data
            count += 1
        return count

    look = 'set -- /srv/.[!.]* /srv/*; for f; do [ -e "$f" ] && stat -c \'%n %s\' "$f"; done; true'
    with ThreadPoolExecutor(1) as pool:
        uploads = pool.submit(upload_again_and_again)
        try:
            seen = []
            for _ in range(5):
                with session.fork_group(2) as group:
                    seen += [child.exec(command=look).stdout for child in group]
        finally:
            stop.set()
        assert uploads.result(timeout=300) > 0
    assert set(seen) <= {"", f"/srv/in.bin {len(data)}\n"}
    assert session.download("/srv/in.bin") == data


def test_children_have_the_file_and_their_own_from_then_on(session: Session) -> None:
    session.upload_bytes("/srv/f", b"parent")
    with session.fork_group(3) as group:
        for i, child in enumerate(group):
            assert child.download("/srv/f") == b"parent"
            child.upload_bytes("/srv/f", f"child {i}".encode())
        assert [child.download("/srv/f") for child in group] == [b"child 0", b"child 1", b"child 2"]
    assert session.download("/srv/f") == b"parent"


def test_a_suspended_sandbox_wakes_for_a_file(session: Session) -> None:
    session.upload_bytes("/srv/f", b"before")
    session.suspend()
    assert session.download("/srv/f") == b"before"


def test_a_caller_that_leaves_in_the_middle_changes_nothing(session: Session, platform: Platform) -> None:
    session.upload_bytes("/srv/f", b"old")
    where = urlsplit(platform.url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
    connection.putrequest("PUT", f"/v1/sandboxes/{session.id}/files?path={quote('/srv/f')}")
    for name, value in {
        "Authorization": f"Bearer {platform.api_key}",
        "Content-Type": "application/octet-stream",
        "Content-Length": str(8 * MIB),
    }.items():
        connection.putheader(name, value)
    connection.endheaders(bytes(4 * MIB))
    connection.close()
    # The platform is done with it once nothing of it lies on the node's disk.
    transfers = list(platform.state.glob("**/transfers"))
    assert transfers
    eventually(lambda: not any(list(folder.iterdir()) for folder in transfers), within=15, what="the left transfer is gone")
    assert session.download("/srv/f") == b"old"
    assert shell(session, "ls -A /srv") == "f\n"


def test_a_place_that_takes_no_files_is_told_in_words(session: Session) -> None:
    with pytest.raises(CollimateTaskError, match="/proc/x"):
        session.upload_bytes("/proc/x", b"x")


def test_many_at_once_do_not_mix(session: Session) -> None:
    def there_and_back(i: int) -> bool:
        data = noise(300_000, seed=i)
        session.upload_bytes(f"/srv/many/{i}", data)
        return session.download(f"/srv/many/{i}") == data

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(there_and_back, range(48)))


def test_a_transfer_counts_as_use(session: Session, client: GatewayClient) -> None:
    assert session.id is not None
    before = client.get_sandbox(session.id)["exec_count"]
    shell(session, "true")
    shell(session, "true")
    eventually(lambda: client.get_sandbox(session.id or "")["exec_count"] == before + 2, within=30, what="both execs are counted")
    session.upload_bytes("/srv/f", b"x")
    eventually(lambda: client.get_sandbox(session.id or "")["idle_secs"] < 20, within=30, what="the upload is seen as use")
    assert client.get_sandbox(session.id)["exec_count"] == before + 2
