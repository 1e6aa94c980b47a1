"""
The calls, as steps that a client takes: send a request, or sleep. One description serves both clients, the one that
blocks and the one of asyncio.
"""

from __future__ import annotations

import json
import os
import random
import uuid
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Callable, Generator, Mapping, Optional, Sequence, TypeVar, Union

import httpx

from ._answers import Outputs, Picture, data_of, outputs_of, picture_of
from ._failures import DarkroomError, read_failure
from ._settings import Settings

T = TypeVar("T")
Json = Mapping[str, Any]

_MAX_RETRY_AFTER_SECONDS = 90
_FIRST_WAIT_SECONDS = 0.5
_MAX_BACKOFF_SECONDS = 8.0
_WAIT_SECONDS = 30
_PROGRESS_SECONDS = 2
_ENDED = ("COMPLETED", "FAILED", "CANCELLED")


@dataclass(frozen=True)
class Reference:
    """An image by reference."""

    fields: Mapping[str, str]


def asset(asset_id: str) -> Reference:
    """One of the account's assets."""
    return Reference({"assetId": asset_id})


def url(address: str) -> Reference:
    """A public http(s) address."""
    return Reference({"url": address})


Image = Union[bytes, str, "os.PathLike[str]", BinaryIO, Reference]
"""Bytes, the path of a file, an open file, or a reference."""


@dataclass(frozen=True)
class Send:
    """A request to send."""

    method: str
    url: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def on(self, http: Union[httpx.Client, httpx.AsyncClient]) -> httpx.Request:
        return http.build_request(self.method, self.url, **self.arguments)


@dataclass(frozen=True)
class Sleep:
    seconds: float


Steps = Generator[Union[Send, Sleep], Optional[httpx.Response], T]


def transform(
    settings: Settings,
    image: Image,
    op: Optional[str],
    preset: Optional[str],
    steps: Optional[Sequence[Json]],
    parameters: Json,
) -> Steps[Picture]:
    query = {"op": op, "preset": preset, **parameters}
    fields = {} if steps is None else {"steps": steps}
    body = _image_body(image, fields)
    return picture_of((yield from _call(settings, "POST", "/images/transform", query, body, "image/*")))


def outputs(
    settings: Settings, image: Image, wanted: Sequence[Json], steps: Optional[Sequence[Json]]
) -> Steps[Outputs]:
    body = _image_body(image, {"outputs": wanted, **({} if steps is None else {"steps": steps})})
    return outputs_of((yield from _call(settings, "POST", "/images/transform", {}, body, "multipart/mixed")))


def render(settings: Settings, fields: Json) -> Steps[Picture]:
    return picture_of((yield from _call(settings, "POST", "/images/render", {}, {"json": fields}, "image/*")))


def metadata(settings: Settings, image: Image, palette: Optional[int]) -> Steps[dict[str, Any]]:
    body = _image_body(image, {})
    return data_of((yield from _call(settings, "POST", "/images/metadata", {"palette": palette}, body)))


def read_text(settings: Settings, image: Image, language: Optional[str]) -> Steps[dict[str, Any]]:
    body = _image_body(image, {})
    return data_of((yield from _call(settings, "POST", "/images/read-text", {"language": language}, body)))


def upload(
    settings: Settings, image: Image, name: Optional[str], collection: Optional[str]
) -> Steps[dict[str, Any]]:
    is_path = isinstance(image, (str, os.PathLike))
    query = {"name": name or (os.path.basename(image) if is_path else None), "collection": collection}
    return data_of((yield from _call(settings, "POST", "/assets/upload", query, _image_body(image, {}))))


def run_job(
    settings: Settings, job: Json, on_progress: Optional[Callable[[dict[str, Any]], None]]
) -> Steps[dict[str, Any]]:
    submitted = data_of((yield from _call(settings, "POST", "/jobs", {}, {"json": job})))
    path = f"/jobs/{submitted['id']}"
    wait = _WAIT_SECONDS if on_progress is None else _PROGRESS_SECONDS
    told = None
    try:
        while True:
            state = data_of((yield from _call(settings, "GET", path, {"wait": wait}, {})))
            counts = [state[name] for name in ("status", "completedItems", "failedItems", "cancelledItems")]
            if on_progress is not None and counts != told:
                on_progress(state)
            told = counts
            if state["status"] in _ENDED:
                return state
    except (DarkroomError, GeneratorExit):
        raise
    except BaseException:  # An interrupt, the cancel of a task, or an error of on_progress.
        try:
            yield from _call(settings, "POST", f"{path}/cancel", {}, {})
        except DarkroomError:
            pass  # It had ended.
        raise


def request(settings: Settings, method: str, path: str, query: Optional[Json], body: Any) -> Steps[Any]:
    sent = {} if body is None else {"json": body}
    return data_of((yield from _call(settings, method.upper(), path, query or {}, sent, "*/*")))


def _call(
    settings: Settings, method: str, path: str, query: Json, body: Json, accept: str = "application/json"
) -> Generator[Union[Send, Sleep], Optional[httpx.Response], httpx.Response]:
    """Makes a call, and repeats it while the failure may pass: a write under one key, which is made here."""
    headers = {"accept": accept if accept == "application/json" else f"{accept}, application/json;q=0.5"}
    if method != "GET":
        headers["idempotency-key"] = uuid.uuid4().hex
    params = {name: _query_text(value) for name, value in query.items() if value is not None}
    send = Send(method, settings.url(path), {"params": params, "headers": headers, **body})
    attempt = 1
    while True:
        try:
            response = yield send
            assert response is not None, "a request is answered by a response"
            if response.is_success:
                return response
            failure = read_failure(response)
        except httpx.TransportError as error:
            message = f"{settings.base_url} could not be reached: check that the service runs there (DARKROOM_URL)."
            failure = DarkroomError("connection_failed", message, retryable=True)
            failure.__cause__ = error
        wait = failure.retry_after
        if wait is None:
            longest = min(_MAX_BACKOFF_SECONDS, _FIRST_WAIT_SECONDS * 2 ** (attempt - 1))
            wait = longest * random.uniform(0.5, 1)
        is_too_long = failure.details.get("reason") == "query_timeout" or "instead" in failure.details
        is_final = is_too_long or not failure.retryable
        if is_final or attempt > settings.max_retries or wait > _MAX_RETRY_AFTER_SECONDS:
            raise failure
        yield Sleep(wait)
        attempt += 1


def _query_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _image_body(image: Image, fields: Json) -> dict[str, Any]:
    """Bytes go as the file of a form, whose type the service finds itself; a reference goes as JSON."""
    if isinstance(image, Reference):
        return {"json": {**image.fields, **fields}}
    name, content = _read(image)
    texts = {key: json.dumps(value) for key, value in fields.items()}
    return {"files": {"file": (name, content, "application/octet-stream")}, **({"data": texts} if texts else {})}


def _read(image: Union[bytes, str, "os.PathLike[str]", BinaryIO]) -> tuple[str, bytes]:
    """The bytes of an image, whole, so that a call that may pass later can be repeated."""
    if isinstance(image, (bytes, bytearray, memoryview)):
        return "image", bytes(image)
    if isinstance(image, (str, os.PathLike)):
        with open(image, "rb") as file:
            return os.path.basename(image), file.read()
    return "image", image.read()
