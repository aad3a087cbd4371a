# SPDX-License-Identifier: Apache-2.0
"""A bad image fails fast, and says why."""

from __future__ import annotations

import time

import pytest
from collimate_rl import GatewayClient, Ready, Template, TemplateBakeFailed


def bake_fails(client: GatewayClient, name: str, image: str, ready: Ready | None = None, *, within: float = 30) -> str:
    begun = time.monotonic()
    handle = Template.bake(client, name=name, image=image, ready=ready, width=1)
    with pytest.raises(TemplateBakeFailed) as failure:
        handle.wait(timeout=120)
    assert time.monotonic() - begun < within
    status = client.get_template(handle.id)
    assert status["phase"] == "Failed"
    return f"{failure.value}\n{status['error']}"


def registry_of(image: str) -> str:
    return image.split("/", 1)[0]


def test_unknown_registry_host(client: GatewayClient, fresh_name: str) -> None:
    assert "host is unknown" in bake_fails(client, fresh_name, "registry.invalid/x/y:1")


def test_registry_that_does_not_answer(client: GatewayClient, fresh_name: str) -> None:
    assert "does not answer" in bake_fails(client, fresh_name, "127.0.0.1:9/x/y:1")


def test_unknown_repository(client: GatewayClient, fresh_name: str, image: str) -> None:
    assert "no such repository" in bake_fails(client, fresh_name, f"{registry_of(image)}/nobody/nothing:1")


def test_wrong_digest(client: GatewayClient, fresh_name: str, image: str) -> None:
    assert "no such repository, tag or digest" in bake_fails(client, fresh_name, image.split("@")[0] + "@sha256:" + "0" * 64)


def test_wrong_architecture(client: GatewayClient, fresh_name: str, foreign_image: str) -> None:
    error = bake_fails(client, fresh_name, foreign_image)
    assert "arm64" in error or "no variant" in error


def test_ready_command_that_fails_has_its_last_lines_attached(client: GatewayClient, fresh_name: str, image: str) -> None:
    error = bake_fails(client, fresh_name, image, Ready(cmd="echo one; echo the reason >&2; exit 3"))
    assert "exit code 3" in error
    assert "the reason" in error


def test_ready_code_that_fails_has_its_traceback_attached(client: GatewayClient, fresh_name: str, image: str) -> None:
    assert "No module named 'no_such_module'" in bake_fails(client, fresh_name, image, Ready(cmd="python -c 'import no_such_module'"))


def test_ready_command_that_hangs_has_a_limit_of_its_own(client: GatewayClient, fresh_name: str, image: str) -> None:
    assert "did not end within 2 s" in bake_fails(client, fresh_name, image, Ready(cmd="sleep 1000", http_timeout_s=2))


def test_image_without_a_shell(client: GatewayClient, fresh_name: str, shellless_image: str) -> None:
    assert "exit code 127" in bake_fails(client, fresh_name, shellless_image, Ready(cmd="true"))


def test_one_bad_bake_does_not_poison_the_next_of_that_name(client: GatewayClient, fresh_name: str, image: str) -> None:
    bake_fails(client, fresh_name, image, Ready(cmd="exit 1"))
    good = Template.bake(client, name=fresh_name, image=image, ready=Ready(cmd="exit 0"), width=1)
    assert good.wait(timeout=120).phase == "Live"
    with client.session(good) as session:
        assert session.exec(command="echo up").stdout == "up\n"
    client.delete_template(good.id)
