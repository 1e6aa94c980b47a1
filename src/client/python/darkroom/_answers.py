"""What calls answer."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from typing import Any, Mapping, NamedTuple, Optional
from urllib.parse import unquote

import httpx

from ._failures import DarkroomError, failure_of


class Warning(NamedTuple):
    """Something that succeeded and should be looked at."""

    code: str
    name: Optional[str]


@dataclass(frozen=True)
class Answer:
    """Bytes with what stands in their headers."""

    content: bytes
    headers: Mapping[str, str]

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the bytes to a file, which appears under its name when it is whole."""
        part = f"{os.fspath(path)}.part"
        with open(part, "wb") as file:
            file.write(self.content)
        os.replace(part, path)


@dataclass(frozen=True)
class Picture(Answer):
    """A picture that the service made."""

    request_id: str = ""

    @property
    def width(self) -> int:
        """In pixels, of one frame."""
        return int(self.headers.get("x-service-width", 0))

    @property
    def height(self) -> int:
        return int(self.headers.get("x-service-height", 0))

    @property
    def format(self) -> str:
        """Such as webp."""
        return self.headers.get("x-service-format") or self.content_type.replace("image/", "")

    @property
    def warnings(self) -> list[Warning]:
        entries = filter(None, self.headers.get("x-service-warnings", "").split(","))
        parts = (entry.strip().partition(":") for entry in entries)
        return [Warning(code, unquote(name) if colon else None) for code, colon, name in parts]

    @property
    def timing(self) -> dict[str, float]:
        """Milliseconds by phase: admit, fetch, queue, decode, process, encode, total."""
        found = re.findall(r"([\w-]+);dur=([\d.]+)", self.headers.get("server-timing", ""))
        return {name: float(ms) for name, ms in found}


@dataclass(frozen=True)
class Outputs:
    """Several pictures of one image: those that were made, and why the others were not."""

    pictures: dict[str, Picture] = field(default_factory=dict)
    errors: dict[str, DarkroomError] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Picture:
        if name in self.errors:
            raise self.errors[name]
        return self.pictures[name]


def picture_of(response: httpx.Response) -> Picture:
    return Picture(response.content, response.headers, response.headers.get("x-request-id", ""))


def outputs_of(response: httpx.Response) -> Outputs:
    """The parts of a multipart/mixed (RFC 2046, 5.1), each of which names itself and tells its length."""
    request_id = response.headers.get("x-request-id", "")
    found = re.search(r'boundary="?([^";]+)', response.headers.get("content-type", ""))
    delimiter = b"--" + (found.group(1) if found else "").encode()
    made = Outputs()
    at = 0
    while response.content.startswith(delimiter + b"\r\n", at):
        head_end = response.content.index(b"\r\n\r\n", at)
        lines = response.content[at + len(delimiter) + 2 : head_end].decode().split("\r\n")
        headers = httpx.Headers([(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)])
        start = head_end + 4
        end = start + int(headers["content-length"])
        content = response.content[start:end]
        named = re.search(r';\s*name="([^"]*)"', headers.get("content-disposition", ""))
        name = named.group(1) if named else ""
        if headers["content-type"].startswith("application/json"):
            made.errors[name] = failure_of(json.loads(content)["error"])
        else:
            made.pictures[name] = Picture(content, headers, request_id)
        at = end + 2
    return made


def data_of(response: httpx.Response) -> Any:
    """The data of an envelope; the bytes of any other answer."""
    if response.status_code == 204:
        return None
    if not response.headers.get("content-type", "").startswith("application/json"):
        return Answer(response.content, response.headers)
    return response.json()["data"]
