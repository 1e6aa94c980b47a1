"""Verification of webhook deliveries."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from typing import Any, Mapping, Optional


class WebhookVerificationError(Exception):
    """A delivery that is not genuine, or whose signature is too old."""


def verify_webhook(
    body: bytes,
    headers: Mapping[str, str],
    secret: str,
    *,
    tolerance_seconds: float = 300,
    now: Optional[float] = None,
) -> dict[str, Any]:
    """
    The event of a delivery that is genuine. `body` is raw, before it is parsed. Service-Signature is
    `t=<unix seconds>,v1=<hex>`, and v1 is the HMAC-SHA256 of `<t>.<raw body>` under the whole secret.
    """
    if not secret:
        raise WebhookVerificationError("The secret is empty: pass the secret of the endpoint.")
    sent = next((value for name, value in headers.items() if name.lower() == "service-signature"), "")
    t = re.search(r"(?:^|,)t=(\d+)", sent)
    v1 = re.search(r"(?:^|,)v1=([0-9a-f]{64})(?:,|$)", sent)
    if t is None or v1 is None:
        raise WebhookVerificationError("The header Service-Signature is missing or malformed.")
    expected = hmac.new(secret.encode(), t.group(1).encode() + b"." + body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(v1.group(1), expected):
        raise WebhookVerificationError("The signature does not match: pass the raw body, and the right secret.")
    age = abs((time.time() if now is None else now) - int(t.group(1)))
    if age > tolerance_seconds:
        raise WebhookVerificationError(f"The signature is {round(age)} seconds off: set the clock right.")
    return json.loads(body)
