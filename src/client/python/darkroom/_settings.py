"""Where the service is, and who calls."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Settings:
    base_url: str
    headers: dict[str, str]
    max_retries: int

    @classmethod
    def of(cls, base_url: Optional[str], key: Optional[str], max_retries: int) -> Settings:
        address = base_url or os.environ.get("DARKROOM_URL") or "http://127.0.0.1:3000"
        secret = key or os.environ.get("DARKROOM_KEY")
        scheme = "Bearer" if secret and secret.startswith("ses_") else "ApiKey"
        headers = {"authorization": f"{scheme} {secret}"} if secret else {}
        return cls(address.rstrip("/"), headers, max_retries)

    def url(self, path: str) -> str:
        return f"{self.base_url}/api/v1{path}"
