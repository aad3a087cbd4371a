# SPDX-License-Identifier: Apache-2.0
"""Every error of this package, in one tree under `CollimateError`.

CollimateError
├── GatewayError              a server's answer, or no answer
│   ├── BadRequestError       400, 413, 415, 422: the request itself is wrong
│   ├── AuthenticationError   401: no live key
│   ├── PermissionDeniedError 403: this key may not
│   ├── DemoTierLimit         a limit of the demo tier
│   ├── QuotaExceededError    402 and 429: credit or plan is used up
│   ├── RateLimitedError      429: too fast
│   ├── NotFoundError         404, 410
│   ├── ConflictError         409
│   ├── CapacityError         503: nothing was made; more patience may help
│   │   └── CollimateDrainingError
│   ├── ServerError           any other 5xx
│   ├── TransportError        no usable answer
│   │   └── CallTimeout       the answer did not come in time (also a TimeoutError)
│   ├── TemplateBakeFailed
│   └── TemplateWaitTimeout   (also a TimeoutError)
├── CollimateTaskError        something failed inside the sandbox
├── SandboxClosed             the object was closed; nothing is created behind your back
├── SeedNotApplied            `require_seed=True` and the server did not verify the seed
└── NotSupportedError         this kind of client cannot do that
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .template_status import TemplateStatus


class CollimateError(RuntimeError):
    """Base of all errors.

    `error_code` is the catalogue word (`at_capacity`, `not_found`, ...), `http_status` the status of the answer or None,
    `retryable` the server's word on whether the same request may succeed later, `request_id` what support asks for. `path`
    names the file in the sandbox that is at fault, if one is.
    """

    def __init__(
        self,
        message: str,
        status: int | None = None,
        error_code: str | None = None,
        *,
        hint: str = "",
        retryable: bool | None = None,
        retry_after: float | None = None,
        request_id: str = "",
        doc_url: str = "",
        detail: str = "",
        path: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.http_status = status
        self.error_code = error_code
        self.hint = hint
        self.retryable = retryable
        self.retry_after = retry_after
        self.request_id = request_id
        self.doc_url = doc_url
        self.detail = detail
        self.path = path
        # Notes are shown below the traceback and leave str(error) as the server worded it.
        for note in (hint, detail, f"request {request_id}" if request_id else ""):
            if note:
                self.add_note(note)

    @property
    def status(self) -> int | None:
        """The HTTP status of the answer, None without one."""
        return self.http_status

    def __str__(self) -> str:
        return self.message


class GatewayError(CollimateError):
    """The server refused or failed, or could not be reached (`status` None)."""

    def __init__(self, message: str, status: int | None = None, code: str | None = None, **context: Any) -> None:
        super().__init__(message, status, code, **context)

    @property
    def code(self) -> str | None:
        """The same word as `error_code`."""
        return self.error_code


class BadRequestError(GatewayError):
    """The request itself is wrong; the message names the field."""


class AuthenticationError(GatewayError):
    """No key, or one that is not live."""


class PermissionDeniedError(GatewayError):
    """This key may not do that."""


class DemoTierLimit(GatewayError):
    """A limit of the demo tier."""


class QuotaExceededError(GatewayError):
    """The plan's limit or the credit is used up; waiting does not help."""


class RateLimitedError(GatewayError):
    """Too many requests; raised only when patience ran out."""


class NotFoundError(GatewayError):
    """No such object, or it is gone, or it belongs to someone else."""


class ConflictError(GatewayError):
    """The object's state does not allow it."""


class CapacityError(GatewayError):
    """No room; nothing was made. Raised only when patience ran out."""


class CollimateDrainingError(CapacityError):
    """The node takes no new work."""


class ServerError(GatewayError):
    """The server failed."""


class TransportError(GatewayError):
    """There was no usable answer.

    `sent` is False when the request never left, `stale` is True when a kept connection turned out to have been closed.
    """

    def __init__(self, message: str, *, sent: bool = True, stale: bool = False) -> None:
        super().__init__(message, None, None)
        self.sent = sent
        self.stale = stale


class CallTimeout(TransportError, TimeoutError):
    """The answer did not come in time."""


class TemplateBakeFailed(GatewayError):
    """A bake failed or its template vanished. `template` says how far it came; the message carries the build error."""

    def __init__(self, message: str, status: TemplateStatus) -> None:
        super().__init__(message, None, "bake_failed")
        self.template = status

    @property
    def status(self) -> TemplateStatus:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The template's status. Not an int: programs written for 0.8.0 read `error.status.error`; prefer `template`."""
        return self.template


class TemplateWaitTimeout(GatewayError, TimeoutError):
    """The template was not ready in time; the bake goes on. `template` is the last status seen."""

    def __init__(self, message: str, status: TemplateStatus) -> None:
        super().__init__(message, None, "wait_timeout")
        self.template = status


class CollimateTaskError(CollimateError):
    """Something failed inside the sandbox: a file that is not there, a directory in its place."""

    def __init__(self, message: str, exit_code: int | None = None, output: str = "", **context: Any) -> None:
        super().__init__(message, **context)
        self.exit_code = exit_code
        self.output = output


class SandboxClosed(CollimateError):
    """The sandbox was closed. Open a new one explicitly; none is created behind your back."""


class SeedNotApplied(CollimateError):
    """A seed was required and the server did not verify it: results would not be comparable."""


class NotSupportedError(CollimateError):
    """This kind of client cannot do that."""


BY_CODE: Mapping[str, type[GatewayError]] = {
    "demo_tier_limit": DemoTierLimit,
    "quota_exceeded": QuotaExceededError,
    "insufficient_credits": QuotaExceededError,
    "rate_limited": RateLimitedError,
    "at_capacity": CapacityError,
    "session_bringup_failed": CapacityError,
    "draining": CollimateDrainingError,
}

BY_STATUS: Mapping[int, type[GatewayError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    402: QuotaExceededError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    410: NotFoundError,
    413: BadRequestError,
    415: BadRequestError,
    422: BadRequestError,
    429: RateLimitedError,
    503: CapacityError,
}


def error_class(status: int, code: str | None) -> type[GatewayError]:
    """The class for an answer: its code decides, else its status."""
    return BY_CODE.get(code or "") or BY_STATUS.get(status) or (ServerError if status >= 500 else GatewayError)
