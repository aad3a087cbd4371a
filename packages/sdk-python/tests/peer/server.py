# SPDX-License-Identifier: Apache-2.0
"""The HTTP side of a peer: connections, requests, faults, what was seen."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tempfile
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from .faults import Drop, Fault, Reply, Stall
from .routes import ROUTES, Platform, Refused

API_KEY = "col_pro_aaaaaaaa_" + "b" * 32


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: Any
    connection: int


class Peer:
    """A running server. `requests` is what came in, `fail` arranges what goes wrong next."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="collimate-peer-")
        self.platform = Platform(Path(self._folder.name))
        self.requests: list[Request] = []
        self._faults: list[tuple[str, re.Pattern[str], Fault]] = []
        self._answers: dict[str, tuple[int, bytes]] = {}
        self._lock = threading.Lock()
        self.over = threading.Event()
        self.connections = 0
        handler = type("BoundHandler", (Handler,), {"peer": self})
        self._server = Server(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.api_key = API_KEY
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Peer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self.platform.sandboxes.close()
        self._folder.cleanup()

    def fail(self, method: str, path: str, *faults: Fault) -> None:
        """The next requests whose path matches meet these faults, one each."""
        with self._lock:
            self._faults += [(method, re.compile(path), fault) for fault in faults]

    def seen(self, method: str, path: str) -> list[Request]:
        return [request for request in self.requests if request.method == method and re.fullmatch(path, request.path)]

    def take_fault(self, request: Request) -> Fault | None:
        with self._lock:
            self.requests.append(request)
            for entry in self._faults:
                if entry[0] == request.method and entry[1].fullmatch(request.path):
                    self._faults.remove(entry)
                    return entry[2]
        return None

    def answer(self, request: Request) -> tuple[int, bytes]:
        """Do it. A POST with a known idempotency key gets the first answer again, exec excepted."""
        key = request.headers.get("idempotency-key") if not request.path.endswith("/exec") else None
        with self._lock:
            known = self._answers.get(key or "")
        if known is not None:
            return known
        answer = self._do(request)
        if key:
            with self._lock:
                self._answers[key] = answer
        return answer

    def _do(self, request: Request) -> tuple[int, bytes]:
        try:
            if request.headers.get("authorization") != f"Bearer {self.api_key}":
                raise Refused(401, "unauthorized", "unknown key")
            for method, pattern, run in ROUTES:
                match = re.fullmatch(pattern, request.path)
                if match and method == request.method:
                    made = run(self.platform, request.body, **match.groupdict())
                    return 200, made if isinstance(made, bytes) else json.dumps(made).encode()
            raise Refused(404, "not_found", f"no route {request.method} {request.path}")
        except Refused as refused:
            return refused.status, json.dumps(refused.body()).encode()


class Server(ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Show what went wrong here; a connection that the other side reset did not."""
        if not isinstance(sys.exc_info()[1], (BrokenPipeError, ConnectionResetError)):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    peer: ClassVar[Peer]

    def setup(self) -> None:
        super().setup()
        self.peer.connections += 1
        self.connection_number = self.peer.connections

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: tests look at `requests`."""

    def _serve(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = json.loads(content) if content and self.command != "PUT" else content or None
        request = Request(self.command, self.path, headers, body, self.connection_number)
        fault = self.peer.take_fault(request)
        if fault == Drop("before"):
            self.close_connection = True
            return
        if isinstance(fault, Reply):
            text = fault.body if isinstance(fault.body, str) else json.dumps(fault.body)
            self._send(fault.status, text.encode(), fault.headers)
            return
        status, answer = self.peer.answer(request)
        if isinstance(fault, Stall):
            self.peer.over.wait()
            self.close_connection = True
        elif isinstance(fault, Drop):
            whole = f"HTTP/1.1 {status} OK\r\nContent-Length: {len(answer)}\r\n\r\n".encode() + answer
            self.wfile.write(whole[: fault.sent])
            self.close_connection = True
        else:
            self._send(status, answer, {"X-Content-SHA256": hashlib.sha256(answer).hexdigest()})

    def _send(self, status: int, content: bytes, headers: Any) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = _serve
