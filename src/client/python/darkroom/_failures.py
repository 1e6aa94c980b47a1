"""What a call that failed raises."""

from __future__ import annotations

from typing import Any, Mapping, Optional

import httpx

_CODES = {
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "payload_too_large",
    429: "rate_limited",
    500: "internal_error",
}


class DarkroomError(Exception):
    """
    A call that failed. Branch on `code`, which is of the closed set of the interface, or `connection_failed` where
    there was no answer. The text says in one sentence how to correct the call.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 0,
        retryable: bool = False,
        param: Optional[str] = None,
        details: Optional[Mapping[str, Any]] = None,
        request_id: Optional[str] = None,
        doc_url: Optional[str] = None,
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.retryable = retryable
        self.param = param
        self.details: Mapping[str, Any] = details or {}
        self.request_id = request_id
        self.doc_url = doc_url
        self.retry_after = retry_after

    @property
    def fix(self) -> list[dict[str, Any]]:
        """Changes that make the call pass, where the service is certain of them."""
        return list(self.details.get("fix", []))

    @property
    def mistakes(self) -> list[dict[str, Any]]:
        """All mistakes of a call, each with its fix or its message, where only some can certainly be corrected."""
        return list(self.details.get("mistakes", []))


def failure_of(error: Mapping[str, Any], status: int = 0, retry_after: Optional[float] = None) -> DarkroomError:
    """The error object of an envelope."""
    return DarkroomError(
        error["code"],
        error["message"],
        status=status,
        retryable=bool(error.get("retryable")),
        param=error.get("param"),
        details=error.get("details"),
        request_id=error.get("requestId"),
        doc_url=error.get("docUrl"),
        retry_after=retry_after,
    )


def read_failure(response: httpx.Response) -> DarkroomError:
    """An answer that is no success; one without an envelope comes from something in between, such as a proxy."""
    status = response.status_code
    sent = response.headers.get("retry-after", "")
    retry_after = float(sent) if sent.isdigit() else None
    try:
        return failure_of(response.json()["error"], status, retry_after)
    except (ValueError, KeyError, TypeError):
        code = _CODES.get(status, "provider_unavailable" if status >= 500 else "invalid_param")
        message = f"The answer has status {status} and does not come from Darkroom: look at what is between."
        is_retryable = status >= 500 or status == 429
        return DarkroomError(code, message, status=status, retryable=is_retryable, retry_after=retry_after)
