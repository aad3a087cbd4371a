# SPDX-License-Identifier: Apache-2.0
"""Where `connect` goes: the order of the contract, with a key in scope meaning a gateway."""

import pytest

from collimate_rl import CollimateClient, GatewayClient, connect
from collimate_rl.constants import DAEMON_URL, GATEWAY_URL, NODE_SOCKET
from collimate_rl.profile import Profile
from collimate_rl.target import DaemonTarget, GatewayTarget, choose_target

LOCAL = Profile("http://127.0.0.1:7777", "profile-key")
KEY, URL = {"COLLIMATE_API_KEY": "env-key"}, {"COLLIMATE_BASE_URL": "http://env"}
SOCKET, SERVE = {"COLLIMATE_SERVE_SOCKET": "/s"}, {"COLLIMATE_SERVE_URL": "http://serve"}

CASES = {
    "a socket wins over a key": (dict(unix_socket="/x", api_key="k"), KEY, None, DaemonTarget(unix_socket="/x")),
    "a key means the public gateway": (dict(api_key="k"), SOCKET, LOCAL, GatewayTarget(GATEWAY_URL, "k")),
    "a key and the environment's address": (dict(api_key="k"), URL, None, GatewayTarget("http://env", "k")),
    "a key and an address": (dict(api_key="k", base_url="http://b"), URL, None, GatewayTarget("http://b", "k")),
    "an address with a key in the environment": (dict(base_url="http://b"), KEY, None, GatewayTarget("http://b", "env-key")),
    "an address told to be a daemon": (dict(base_url="http://b", surface="daemon"), KEY, None, DaemonTarget("http://b")),
    "an address without any key": (dict(base_url="http://b"), SOCKET, LOCAL, DaemonTarget("http://b")),
    "the profile's own address": (dict(base_url=LOCAL.url + "/"), {}, LOCAL, GatewayTarget(LOCAL.url + "/", "profile-key")),
    "the environment's socket beats an ambient key": ({}, SOCKET | KEY, LOCAL, DaemonTarget(unix_socket="/s")),
    "the environment's key beats its daemon": ({}, KEY | SERVE | URL, LOCAL, GatewayTarget("http://env", "env-key")),
    "the environment's daemon beats a profile": ({}, SERVE, LOCAL, DaemonTarget("http://serve")),
    "a profile": ({}, {}, LOCAL, GatewayTarget(LOCAL.url, "profile-key")),
    "a profile is not used for another address": ({}, URL, LOCAL, DaemonTarget(DAEMON_URL)),
    "an empty variable is unset": ({}, {"COLLIMATE_SERVE_SOCKET": "", "COLLIMATE_API_KEY": ""}, None, DaemonTarget(DAEMON_URL)),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_target(case):
    given, env, profile, wanted = CASES[case]
    arguments = {"base_url": None, "api_key": None, "unix_socket": None, "surface": None, **given}
    assert choose_target(**arguments, env=env, profile=lambda: profile, exists=lambda _: False) == wanted


def test_the_nodes_socket_is_used_when_nothing_else_is_said():
    found = choose_target(None, None, None, None, env={}, profile=lambda: None, exists=lambda path: path == NODE_SOCKET)
    assert found == DaemonTarget(unix_socket=NODE_SOCKET)


def test_a_gateway_without_a_key_says_what_to_do():
    with pytest.raises(ValueError, match="COLLIMATE_API_KEY"):
        connect(surface="gateway")


def test_connect_gives_the_kind_of_client(monkeypatch, tmp_path):
    assert isinstance(connect(), CollimateClient)
    monkeypatch.setenv("COLLIMATE_API_KEY", "k")
    gateway = connect("http://127.0.0.1:1/prefix/", timeout=3)
    assert isinstance(gateway, GatewayClient)
    assert (gateway.base, gateway.api_key) == ("http://127.0.0.1:1/prefix", "k")


def test_connect_reads_the_profile_that_up_wrote(monkeypatch, tmp_path):
    folder = tmp_path / ".config" / "collimate"
    folder.mkdir(parents=True)
    (folder / "profile.json").write_text('{"url": "http://127.0.0.1:7777/", "apiKey": "k"}')
    found = connect()
    assert isinstance(found, GatewayClient) and (found.base, found.api_key) == ("http://127.0.0.1:7777", "k")
    other = tmp_path / "other.json"
    other.write_text('{"url": "http://127.0.0.1:8888", "apiKey": "k2"}')
    monkeypatch.setenv("COLLIMATE_PROFILE", str(other))
    assert connect().base == "http://127.0.0.1:8888"


@pytest.mark.parametrize("content", ["{", "[]", '{"url": "http://x"}', '{"url": 3, "apiKey": "k"}'])
def test_an_unusable_profile_is_named_in_the_error(monkeypatch, tmp_path, content):
    path = tmp_path / "broken.json"
    path.write_text(content)
    monkeypatch.setenv("COLLIMATE_PROFILE", str(path))
    with pytest.raises(ValueError, match=r"broken\.json"):
        connect()


def test_a_named_profile_that_is_not_there_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("COLLIMATE_PROFILE", str(tmp_path / "absent.json"))
    with pytest.raises(ValueError, match=r"absent\.json"):
        connect()


@pytest.mark.parametrize("url", ["localhost:8080", "", "ftp://x", "http://"])
def test_a_base_url_without_scheme_or_host_is_refused(url):
    with pytest.raises(ValueError, match="base URL"):
        CollimateClient(url)
