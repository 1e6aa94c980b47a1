"""The client of Darkroom, a self-hosted image processing service: `Darkroom`, and `AsyncDarkroom` for asyncio."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Awaitable, Callable, Mapping, Optional, Sequence, TypeVar

import httpx

from ._answers import Answer, Outputs, Picture, Warning
from ._calls import Image, Reference, Send, Sleep, Steps, asset, url
from ._calls import metadata, outputs, read_text, render, request, run_job, transform, upload
from ._failures import DarkroomError
from ._settings import Settings
from ._webhooks import WebhookVerificationError, verify_webhook

__all__ = [
    "Answer",
    "AsyncDarkroom",
    "Darkroom",
    "DarkroomError",
    "Image",
    "Outputs",
    "Picture",
    "Reference",
    "Warning",
    "WebhookVerificationError",
    "asset",
    "url",
    "verify_webhook",
]

T = TypeVar("T")
Json = Mapping[str, Any]


class Darkroom:
    """
    Calls one service with one credential. The address and the key are those of the environment (DARKROOM_URL,
    DARKROOM_KEY) when they are not passed. What may pass is repeated, a write under one Idempotency-Key.
    """

    def __init__(
        self,
        base_url: Optional[str] = None,
        key: Optional[str] = None,
        *,
        timeout: float = 120,
        max_retries: int = 3,
        transport: Optional[httpx.BaseTransport] = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._settings = Settings.of(base_url, key, max_retries)
        self._http = httpx.Client(headers=self._settings.headers, timeout=timeout, transport=transport)
        self._sleep = sleep

    def __enter__(self) -> Darkroom:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def transform(
        self,
        image: Image,
        op: Optional[str] = None,
        *,
        preset: Optional[str] = None,
        steps: Optional[Sequence[Json]] = None,
        **parameters: Any,
    ) -> Picture:
        """Runs one op with its parameters, one preset, or a list of steps on one image."""
        return self._run(transform(self._settings, image, op, preset, steps, parameters))

    def outputs(self, image: Image, outputs_: Sequence[Json], steps: Optional[Sequence[Json]] = None) -> Outputs:
        """Makes 2 to 20 pictures of one image; each has a name, and an op, steps or a preset."""
        return self._run(outputs(self._settings, image, outputs_, steps))

    def render(self, **fields: Any) -> Picture:
        """Draws a template (`templateId`), or `html` of a `width` and a `height`, with one row of `data`."""
        return self._run(render(self._settings, fields))

    def metadata(self, image: Image, palette: Optional[int] = None) -> dict[str, Any]:
        """The facts and the tags of an image. Free."""
        return self._run(metadata(self._settings, image, palette))

    def read_text(self, image: Image, language: Optional[str] = None) -> dict[str, Any]:
        """The printed text of an image (OCR)."""
        return self._run(read_text(self._settings, image, language))

    def upload(self, image: Image, *, name: Optional[str] = None, collection: Optional[str] = None) -> dict[str, Any]:
        """Keeps an image as an asset; equal bytes are one asset."""
        return self._run(upload(self._settings, image, name, collection))

    def run_job(self, job: Json, on_progress: Optional[Callable[[dict[str, Any]], None]] = None) -> dict[str, Any]:
        """Submits a job and waits for its end. FAILED is an end too: read `status`. An interrupt cancels it."""
        return self._run(run_job(self._settings, job, on_progress))

    def request(self, method: str, path: str, *, query: Optional[Json] = None, body: Any = None) -> Any:
        """Any other call, such as `request("GET", "/usage")`. Returns the data of its answer, or its bytes."""
        return self._run(request(self._settings, method, path, query, body))

    def _run(self, steps: Steps[T]) -> T:
        def take(step: Send | Sleep) -> Optional[httpx.Response]:
            if isinstance(step, Sleep):
                self._sleep(step.seconds)
                return None
            return self._http.send(step.on(self._http))

        try:
            step = next(steps)
            while True:
                try:
                    response = take(step)
                except BaseException as error:  # The steps decide what becomes of it.
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as done:
            return done.value


class AsyncDarkroom:
    """As `Darkroom`, for asyncio. A task that is cancelled while it runs a job cancels the job."""

    def __init__(
        self,
        base_url: Optional[str] = None,
        key: Optional[str] = None,
        *,
        timeout: float = 120,
        max_retries: int = 3,
        transport: Optional[httpx.AsyncBaseTransport] = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._settings = Settings.of(base_url, key, max_retries)
        self._http = httpx.AsyncClient(headers=self._settings.headers, timeout=timeout, transport=transport)
        self._sleep = sleep

    async def __aenter__(self) -> AsyncDarkroom:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def transform(
        self,
        image: Image,
        op: Optional[str] = None,
        *,
        preset: Optional[str] = None,
        steps: Optional[Sequence[Json]] = None,
        **parameters: Any,
    ) -> Picture:
        """Runs one op with its parameters, one preset, or a list of steps on one image."""
        return await self._run(transform(self._settings, image, op, preset, steps, parameters))

    async def outputs(
        self, image: Image, outputs_: Sequence[Json], steps: Optional[Sequence[Json]] = None
    ) -> Outputs:
        """Makes 2 to 20 pictures of one image; each has a name, and an op, steps or a preset."""
        return await self._run(outputs(self._settings, image, outputs_, steps))

    async def render(self, **fields: Any) -> Picture:
        """Draws a template (`templateId`), or `html` of a `width` and a `height`, with one row of `data`."""
        return await self._run(render(self._settings, fields))

    async def metadata(self, image: Image, palette: Optional[int] = None) -> dict[str, Any]:
        """The facts and the tags of an image. Free."""
        return await self._run(metadata(self._settings, image, palette))

    async def read_text(self, image: Image, language: Optional[str] = None) -> dict[str, Any]:
        """The printed text of an image (OCR)."""
        return await self._run(read_text(self._settings, image, language))

    async def upload(
        self, image: Image, *, name: Optional[str] = None, collection: Optional[str] = None
    ) -> dict[str, Any]:
        """Keeps an image as an asset; equal bytes are one asset."""
        return await self._run(upload(self._settings, image, name, collection))

    async def run_job(
        self, job: Json, on_progress: Optional[Callable[[dict[str, Any]], None]] = None
    ) -> dict[str, Any]:
        """Submits a job and waits for its end. FAILED is an end too: read `status`. A cancel cancels it."""
        return await self._run(run_job(self._settings, job, on_progress))

    async def request(self, method: str, path: str, *, query: Optional[Json] = None, body: Any = None) -> Any:
        """Any other call, such as `request("GET", "/usage")`. Returns the data of its answer, or its bytes."""
        return await self._run(request(self._settings, method, path, query, body))

    async def _run(self, steps: Steps[T]) -> T:
        async def take(step: Send | Sleep) -> Optional[httpx.Response]:
            if isinstance(step, Sleep):
                await self._sleep(step.seconds)
                return None
            return await self._http.send(step.on(self._http))

        try:
            step = next(steps)
            while True:
                try:
                    response = await take(step)
                except BaseException as error:  # The steps decide what becomes of it.
                    step = steps.throw(error)
                else:
                    step = steps.send(response)
        except StopIteration as done:
            return done.value
