# SPDX-License-Identifier: Apache-2.0
# Generated from ../_async/http.py by tools/generate_sync.py; edit that file instead.
"""Sends calls over one connection pool, again where that is safe, until an answer or an error is there."""

from __future__ import annotations

import logging
import platform
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from .._version import __version__
from ..errors import CallTimeout, CollimateTaskError, GatewayError, TransportError
from ..wire.answer import ANSWER_MAX, parse_answer
from ..wire.call import Call
from ..wire.patience import Attempts, RetryPolicy
from ..wire.received import Received
from .concurrency import owner, sleep

log = logging.getLogger("collimate_rl")

USER_AGENT = f"collimate-rl/{__version__} python/{platform.python_version()}"
CONNECT_TIMEOUT = 10.0
IDLE_MAX = 45.0
"""Seconds. Common load balancers drop idle connections after 60; one that old is not worth the risk of a lost POST."""
CONNECTIONS_MAX = 512
STALE_WITHIN = 0.25
"""Seconds. A kept connection that ends this soon after the request was written, without one byte, was closed by the
server before it read the request; later, the server may have begun to act on it."""


class Http:
    """One server's address, credentials and connection pool. May be shared by threads or tasks, and survives os.fork."""

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = 120.0,
        policy: RetryPolicy | None = None,
        unix_socket: str | None = None,
        proxy: str | None = None,
        prefix_errors: bool = False,
    ) -> None:
        if urlsplit(base_url).scheme not in {"http", "https"} or not urlsplit(base_url).netloc:
            raise ValueError(f"the base URL must begin with http:// or https:// and name a host, got {base_url!r}")
        self.base = base_url.rstrip("/")
        self.timeout = timeout
        self._headers = {"Accept-Encoding": "identity", "User-Agent": USER_AGENT, **(headers or {})}
        self._policy = policy or RetryPolicy()
        self._unix_socket, self._proxy = unix_socket, proxy
        self._prefix_errors = prefix_errors
        self._pool: httpx.Client | None = None
        self._pool_owner: object = None
        self._closed = False
        self._making = threading.Lock()

    def send(self, call: Call) -> Any:
        """The decoded answer to `call`."""
        attempts = Attempts(self._policy, call)
        while True:
            try:
                return self.send_once(call)
            except GatewayError as error:
                wait = attempts.wait_after(error)
                if wait is None:
                    raise
                log.info("%s %s: %s; again in %.2f s", call.method, call.path, error, wait)
            sleep(wait)

    def send_once(self, call: Call) -> Any:
        """The answer to one attempt, decoded unless the call wants bytes."""
        seen = Seen()
        timeout = self.timeout if call.timeout is None else call.timeout
        give_up_at = None if call.total is None else time.monotonic() + call.total
        try:
            with self._client().stream(
                call.method,
                self.base + call.path,
                json=call.body,
                content=None if call.content is None else pieces(call, call.content, give_up_at),
                params=call.query,
                headers=call.headers,
                timeout=httpx.Timeout(timeout, connect=min(CONNECT_TIMEOUT, timeout), pool=None),
                extensions={"trace": seen.note},
            ) as response:
                check_size(call, response, 0)
                content = bytearray()
                for chunk in response.iter_bytes():
                    content += chunk
                    check_size(call, response, len(content))
                    check_time(call, give_up_at)
        except httpx.RequestError as cause:
            raise self._unanswered(call, cause, seen) from cause
        if call.bytes_max is not None and response.is_success:
            return Received(bytes(content), response.headers)
        return parse_answer(
            response.status_code, response.reason_phrase, response.headers, bytes(content), prefix=self._prefix_errors
        )

    def close(self) -> None:
        """Close the connections. Calls after this raise."""
        self._closed = True
        pool, self._pool = self._pool, None
        if pool is not None and self._pool_owner == owner():
            pool.close()

    def _client(self) -> httpx.Client:
        if self._closed:
            raise RuntimeError("this client was closed; make a new one")
        with self._making:
            # A pool of another process or event loop is dropped, never closed: its sockets are still in use there.
            if self._pool is None or self._pool_owner != owner():
                self._pool, self._pool_owner = self._new_pool(), owner()
            return self._pool

    def _new_pool(self) -> httpx.Client:
        limits = httpx.Limits(
            max_connections=CONNECTIONS_MAX, max_keepalive_connections=CONNECTIONS_MAX, keepalive_expiry=IDLE_MAX
        )
        return httpx.Client(
            transport=httpx.HTTPTransport(limits=limits, uds=self._unix_socket, proxy=self._proxy),
            headers=self._headers,
            follow_redirects=False,
            # http_proxy in the environment would also catch a loopback address; the proxy is an option here.
            trust_env=False,
        )

    def _unanswered(self, call: Call, cause: httpx.RequestError, seen: Seen) -> GatewayError:
        where = self._unix_socket or self.base
        said = str(cause) or type(cause).__name__
        message = f"{call.method} {call.path} at {where}: {said}"
        if isinstance(cause, (httpx.LocalProtocolError, httpx.UnsupportedProtocol)):
            # The request itself cannot be sent, now or later.
            return GatewayError(message)
        if isinstance(cause, httpx.TimeoutException):
            return CallTimeout(message, sent=seen.sent)
        return TransportError(message, sent=seen.sent, stale=seen.stale)


PIECE = 1024 * 1024
"""Bytes of a file that are handed on at a time."""


def pieces(call: Call, content: memoryview, give_up_at: float | None) -> Iterator[bytes]:
    """The content of a call, while its time is not over."""
    for start in range(0, len(content), PIECE):
        check_time(call, give_up_at)
        yield bytes(content[start : start + PIECE])


def check_time(call: Call, give_up_at: float | None) -> None:
    if give_up_at is not None and time.monotonic() > give_up_at:
        raise CallTimeout(f"{call.method} {call.path}: no whole answer within {call.total:g} s")


def check_size(call: Call, response: httpx.Response, size: int) -> None:
    """Raise when the answer is, or says it will be, more than may be held in memory."""
    if call.bytes_max is None or not response.is_success:
        if size > ANSWER_MAX:
            raise TransportError(f"{call.method} {call.path}: the answer is larger than {ANSWER_MAX} bytes")
        return
    announced = response.headers.get("content-length", "")
    if max(size, int(announced) if announced.isdecimal() else 0) > call.bytes_max:
        raise CollimateTaskError(f"{call.method} {call.path}: the file is larger than {call.bytes_max} bytes")


class Seen:
    """What was seen of one exchange, as httpcore's `trace` extension tells it."""

    def __init__(self) -> None:
        self._fresh = False
        self._answered = False
        self._sent_at: float | None = None

    def note(self, event: str, _info: Mapping[str, Any]) -> None:
        if event.startswith("connection.connect_"):
            self._fresh = True
        elif event.endswith(".send_request_headers.started"):
            self._sent_at = time.monotonic()
        elif event.endswith(".receive_response_headers.complete"):
            self._answered = True

    @property
    def sent(self) -> bool:
        """Whether any of the request may have left."""
        return self._sent_at is not None

    @property
    def stale(self) -> bool:
        """Whether this was a kept connection that the server had closed already."""
        soon = self._sent_at is not None and time.monotonic() - self._sent_at < STALE_WITHIN
        return soon and not self._fresh and not self._answered
