# SPDX-License-Identifier: Apache-2.0
"""The daemon client, over TCP and a unix socket, against a small server of that vocabulary."""

import json
import socketserver
import threading
from http.server import BaseHTTPRequestHandler

import pytest

from collimate_rl import CollimateClient, CollimateDrainingError, NotFoundError, Sandbox


class Daemon(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    drains = 0

    def address_string(self):
        return "unix"

    def log_message(self, *_):
        pass

    def answer(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"null")
        assert "authorization" not in self.headers
        status, reply = self.route(body)
        content = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def route(self, body):
        known = {"session_id": "s1", "template_id": "py", "fork_time_ms": 0.4}
        if Daemon.drains:
            Daemon.drains -= 1
            return 503, {"error": "going down", "error_code": "draining"}
        match (self.command, self.path):
            case ("GET", "/v1/health"):
                return 200, {"status": "ok", "templates": ["py"], "host": self.headers["host"]}
            case ("GET", "/v1/sessions"):
                return 200, [known]
            case ("POST", "/v1/sessions") | ("GET", "/v1/sessions/s1"):
                return 200, known
            case ("POST", "/v1/sessions/s1/exec") | ("POST", "/v1/exec"):
                return 200, {"stdout": json.dumps(body), "exit_code": 0}
            case ("DELETE", "/v1/sessions/s1"):
                return 200, {"deleted": True, "session_id": "s1"}
        return 404, {"error": "no such session", "error_code": "no_such_session"}

    do_GET = do_POST = do_DELETE = answer


@pytest.fixture(params=["tcp", "unix"])
def daemon(request, tmp_path):
    kind = socketserver.ThreadingTCPServer if request.param == "tcp" else socketserver.ThreadingUnixStreamServer
    address = ("127.0.0.1", 0) if request.param == "tcp" else str(tmp_path / "serve.sock")
    with kind(address, Daemon) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        if request.param == "tcp":
            yield CollimateClient(f"http://127.0.0.1:{server.server_address[1]}", backoff=0.01)
        else:
            yield CollimateClient.for_node_socket(address, backoff=0.01)
        server.shutdown()
        thread.join()


def test_a_sandbox_on_a_daemon(daemon):
    assert daemon.health()["host"].partition(":")[0] == ("localhost" if daemon.unix_socket else "127.0.0.1")
    assert daemon.templates() == ["py"]
    assert [row["session_id"] for row in daemon.list_sessions()] == ["s1"]
    with Sandbox("py", client=daemon) as sandbox:
        assert sandbox.warm_hit
        assert json.loads(sandbox.exec("x", timeout_seconds=2.5).stdout) == {"code": "x", "timeout_seconds": 2.5}
    assert json.loads(daemon.exec_once("py", command="y")["stdout"])["template_id"] == "py"


def test_an_environment_proxy_is_not_asked(daemon, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert daemon.health()["status"] == "ok"


def test_unknown_sessions(daemon):
    with pytest.raises(NotFoundError, match="HTTP 404: no such session") as caught:
        daemon.get_session("other")
    assert caught.value.error_code == "no_such_session"
    assert daemon.delete_session("other") == {"deleted": False, "session_id": "other"}


def test_draining_is_waited_out_or_told(daemon, monkeypatch):
    monkeypatch.setattr(Daemon, "drains", 2)
    assert daemon.exec_once("py", code="x")["exit_code"] == 0
    monkeypatch.setattr(Daemon, "drains", 1)
    impatient = CollimateClient(daemon.base, retries=0, unix_socket=daemon.unix_socket)
    with impatient, pytest.raises(CollimateDrainingError):
        impatient.health()
