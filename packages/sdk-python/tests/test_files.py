# SPDX-License-Identifier: Apache-2.0
"""Files go up and down as bytes of any kind and number."""

import os

import pytest

from collimate_rl import AsyncGatewayClient, CallTimeout, CollimateTaskError, NotFoundError, Sandbox, SandboxClosed
from peer import Drop, Reply, Stall

DATA = bytes(range(256)) * 20_000


@pytest.mark.parametrize("data", [b"", b"\r\n\x00\xff", DATA, bytearray(DATA), memoryview(DATA)[5:-3]])
def test_bytes_come_back_as_they_went(session, tmp_path, data):
    path = str(tmp_path / "deep" / "a b" / "ü?&=.bin")
    assert session.upload_bytes(path, data) is None
    assert (tmp_path / "deep" / "a b" / "ü?&=.bin").read_bytes() == bytes(data)
    assert session.download(path) == bytes(data)


def test_a_sandbox_does_the_same(client, tmp_path):
    with Sandbox("tpl_any", client=client) as sandbox:
        sandbox.upload_bytes(str(tmp_path / "f"), DATA)
        assert sandbox.download(str(tmp_path / "f")) == DATA
    with pytest.raises(SandboxClosed):
        sandbox.upload_bytes(str(tmp_path / "f"), DATA)


async def test_the_asyncio_face_does_the_same(peer, tmp_path):
    async with AsyncGatewayClient(peer.api_key, peer.url) as client, client.session("tpl_any") as session:
        await session.upload_bytes(str(tmp_path / "f"), DATA)
        assert await session.download(str(tmp_path / "f")) == DATA


def test_the_bytes_travel_once_and_as_they_are(session, peer, tmp_path):
    session.upload_bytes(str(tmp_path / "f"), DATA)
    (request,) = peer.seen("PUT", ".*")
    assert request.body == DATA
    assert request.headers["content-type"] == "application/octet-stream"
    assert request.headers["content-length"] == str(len(DATA))


def test_what_is_wrong_with_the_file_is_told_as_failed_inside_the_sandbox(session, tmp_path):
    with pytest.raises(CollimateTaskError, match="none: No such file") as caught:
        session.download(str(tmp_path / "none"))
    assert (caught.value.error_code, caught.value.http_status) == ("not_found", 404)
    assert caught.value.path == str(tmp_path / "none")
    with pytest.raises(CollimateTaskError, match="directory"):
        session.upload_bytes(str(tmp_path), b"x")


def test_a_sandbox_that_is_gone_is_not_taken_for_a_missing_file(client, session, tmp_path):
    client.delete_sandbox(session.id)
    with pytest.raises(NotFoundError):
        session.download(str(tmp_path / "f"))


@pytest.mark.parametrize("data", ["text", None, [1, 2]])
def test_only_bytes_are_uploaded(session, peer, data):
    with pytest.raises(TypeError):
        session.upload_bytes("/f", data)
    assert peer.seen("PUT", ".*") == []


def test_paths_are_absolute_and_limits_positive(session):
    with pytest.raises(ValueError, match="absolute"):
        session.download("relative")
    with pytest.raises(ValueError, match="timeout_seconds"):
        session.download("/f", timeout_seconds=0)


def test_a_transfer_whose_answer_was_lost_is_made_again(session, peer, tmp_path):
    path = str(tmp_path / "f")
    peer.fail("PUT", ".*", Drop("after", 30), Reply(502, {"code": "upstream_error", "message": "m", "retryable": True}))
    session.upload_bytes(path, DATA)
    assert len(peer.seen("PUT", ".*")) == 3
    peer.fail("GET", ".*/files.*", Drop("after", 5_000))
    assert session.download(path) == DATA


def test_bytes_that_were_changed_on_the_way_are_not_given_out(session, peer, tmp_path):
    path = tmp_path / "f"
    path.write_bytes(os.urandom(100))
    other = {"X-Content-SHA256": "0" * 64, "Content-Type": "application/octet-stream"}
    peer.fail("GET", ".*/files.*", Reply(200, "changed", other))
    with pytest.raises(CollimateTaskError, match="announced"):
        session.download(str(path))
    peer.fail("PUT", ".*/files.*", Reply(200, {"path": "/f", "size": 1, "sha256": "0" * 64}))
    with pytest.raises(CollimateTaskError, match="confirm"):
        session.upload_bytes(str(path), DATA)


def test_a_file_too_large_for_memory_is_refused_before_it_is_read(session, peer, monkeypatch):
    monkeypatch.setattr("collimate_rl._sync.files.DOWNLOAD_MAX", 1_000)
    peer.fail("GET", ".*/files.*", Reply(200, "x" * 1_001), Reply(200, "x" * 1_000))
    with pytest.raises(CollimateTaskError, match="larger than 1000 bytes"):
        session.download("/f")
    assert len(peer.seen("GET", ".*/files.*")) == 1


def test_the_time_limit_is_for_the_whole_transfer(session, peer, tmp_path):
    peer.fail("PUT", ".*/files.*", Stall())
    with pytest.raises(CallTimeout):
        session.upload_bytes(str(tmp_path / "f"), DATA, timeout_seconds=0.3)
    assert len(peer.seen("PUT", ".*/files.*")) == 1
