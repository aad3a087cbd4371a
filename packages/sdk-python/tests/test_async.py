# SPDX-License-Identifier: Apache-2.0
"""The asyncio face: the same, with tasks."""

import asyncio

import pytest

from collimate_rl import AsyncGatewayClient, AsyncTemplate, GatewayClient, SandboxClosed, connect_async

IMAGE = "registry.test/py@sha256:" + "0" * 64


async def test_a_whole_rollout(peer):
    async with AsyncGatewayClient(peer.api_key, peer.url) as client:
        handle = await AsyncTemplate.bake(client, name="a", image=IMAGE, width=16)
        assert (await handle.wait(timeout=10)).phase == "Live"
        async with client.session(handle) as session:
            await session.exec(code="x = 1")
            async with await session.fork_group(16) as group:
                results = await group.map(lambda index, child: child.exec(f"print(x + {index})"))
                assert [result.stdout for result in results] == [f"{1 + index}\n" for index in range(16)]
            with pytest.raises(SandboxClosed):
                await group[0].exec("pass")
        async with await client.env("a", width=2) as env, env.sandbox() as session:
            assert (await session.exec(code="print(3)")).stdout == "3\n"
    assert peer.platform.sandboxes.live == {}


async def test_a_cancelled_map_leaves_no_child(peer):
    async with AsyncGatewayClient(peer.api_key, peer.url) as client, client.session("tpl_any") as session:
        started = asyncio.Event()

        async def work() -> None:
            async with await session.fork_group(4) as group:

                async def wait(_index, child):
                    started.set()
                    await child.exec("import signal; signal.pause()", timeout_seconds=30)

                await group.map(wait)

        task = asyncio.create_task(work())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert list(peer.platform.sandboxes.live) == [session.id]


async def test_a_cancelled_fork_leaves_no_child(peer):
    async with AsyncGatewayClient(peer.api_key, peer.url) as client, client.session("tpl_any") as session:
        answer = client._http.send
        forked = asyncio.Event()

        async def slow(call):
            reply = await answer(call)
            if call.path.endswith("/fork"):
                forked.set()
                await asyncio.Event().wait()
            return reply

        client._http.send = slow
        task = asyncio.create_task(session.fork_group(3))
        await forked.wait()
        client._http.send = answer
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert list(peer.platform.sandboxes.live) == [session.id]
        assert len(peer.platform.sandboxes.deleted) == 3


def test_one_client_serves_one_event_loop_after_another(peer):
    client = AsyncGatewayClient(peer.api_key, peer.url)
    assert [asyncio.run(client.health()) for _ in range(2)] == [{"status": "ok"}] * 2


async def test_the_sync_face_works_under_a_running_loop(peer):
    with GatewayClient(peer.api_key, peer.url) as client, client.session("tpl_any") as session:
        assert session.exec(code="print(1)").stdout == "1\n"


async def test_connect_async_finds_the_same_places(monkeypatch):
    monkeypatch.setenv("COLLIMATE_API_KEY", "k")
    assert isinstance(connect_async(), AsyncGatewayClient)
