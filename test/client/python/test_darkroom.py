"""The promises of the Python client: with a stand-in of the service, and against the service of DARKROOM_URL."""

import asyncio
import json
import os
import pathlib
import struct

import httpx
import pytest
from darkroom import AsyncDarkroom, Darkroom, DarkroomError, WebhookVerificationError, asset, verify_webhook

BUSY = {"code": "provider_unavailable", "message": "Full.", "retryable": True}
JOB = {"op": "grayscale", "assetIds": ["ast_1"]}
RED = pathlib.Path(os.environ["RED_PNG"])


def ok(data):
    return httpx.Response(200, json={"success": True, "data": data})


def refused(status, error, **headers):
    return httpx.Response(status, json={"success": False, "error": error}, headers=headers)


class StandIn:
    """Gives the replies in their order, the last one for all later requests."""

    def __init__(self, *replies):
        self.replies = replies
        self.got = []
        self.waits = []

    def _answer(self, request):
        self.got.append(request)
        reply = self.replies[min(len(self.got), len(self.replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        # A response can be read by one client only.
        return httpx.Response(reply.status_code, headers=reply.headers, content=reply.content)

    def client(self):
        transport = httpx.MockTransport(self._answer)
        return Darkroom("http://service.test", "drk_1", transport=transport, sleep=self.waits.append)

    def async_client(self):
        async def sleep(seconds):
            self.waits.append(seconds)

        async def answer(request):
            await asyncio.sleep(0)  # A task is cancelled where it waits.
            return self._answer(request)

        transport = httpx.MockTransport(answer)
        return AsyncDarkroom("http://service.test", "drk_1", transport=transport, sleep=sleep)


def test_a_write_is_repeated_under_one_key():
    busy = refused(503, BUSY, **{"retry-after": "7"})
    service = StandIn(busy, httpx.ConnectError("refused"), ok({"id": "job_1"}))
    assert service.client().request("POST", "/jobs", body=JOB) == {"id": "job_1"}
    keys = {request.headers["idempotency-key"] for request in service.got}
    assert len(service.got) == 3 and len(keys) == 1
    assert service.waits[0] == 7 and 0.5 <= service.waits[1] <= 1
    assert service.got[0].headers["authorization"] == "ApiKey drk_1"


def test_what_cannot_pass_is_not_repeated():
    details = {"fix": [{"param": "widht", "rename": "width"}]}
    service = StandIn(refused(400, {"code": "invalid_param", "message": "No.", "param": "widht", "details": details}))
    with pytest.raises(DarkroomError) as caught:
        service.client().transform(b"pixels", "resize", widht=8)
    assert (caught.value.code, caught.value.param, caught.value.fix) == ("invalid_param", "widht", details["fix"])
    assert len(service.got) == 1
    proxy = StandIn(httpx.Response(502, text="<h1>Bad Gateway</h1>"))
    with pytest.raises(DarkroomError, match="502"):
        proxy.client().request("GET", "/ops")
    assert len(proxy.got) == 4


STATE = {"completedItems": 0, "failedItems": 0, "cancelledItems": 0}
PENDING = ok({"id": "job_1", "status": "PENDING", **STATE})


def paths(service):
    return [f"{request.method} {request.url.path}" for request in service.got]


def test_an_interrupt_cancels_the_job():
    def interrupt(_):
        raise KeyboardInterrupt

    service = StandIn(PENDING)
    with pytest.raises(KeyboardInterrupt):
        service.client().run_job(JOB, on_progress=interrupt)
    assert paths(service)[-1] == "POST /api/v1/jobs/job_1/cancel"


def test_a_cancelled_task_cancels_the_job():
    async def scenario():
        service = StandIn(PENDING)
        client = service.async_client()
        task = asyncio.ensure_future(client.run_job(JOB, on_progress=lambda _: task.cancel()))
        with pytest.raises(asyncio.CancelledError):
            await task
        assert paths(service)[-1] == "POST /api/v1/jobs/job_1/cancel"

    asyncio.run(scenario())


def width_of(png):
    return struct.unpack(">I", png[16:20])[0]


def test_pictures_of_the_service():
    with Darkroom() as client:
        kept = client.upload(RED, collection="squares")
        with open(RED, "rb") as file:
            for image in (RED.read_bytes(), RED, str(RED), file, asset(kept["id"])):
                small = client.transform(image, "resize", width=8, format="png")
                assert (small.width, small.format, width_of(small.content)) == (8, "png", 8)
                assert small.timing["total"] > 0 and small.request_id
        large = client.transform(RED, "resize", width=64)
        assert large.warnings[0].code == "not_enlarged"
        grey = client.transform(RED, steps=[{"op": "grayscale"}, {"op": "resize", "parameters": {"width": 4}}])
        assert width_of(grey.content) == 4
        several = client.outputs(RED, [
            {"name": "small", "op": "resize", "parameters": {"width": 8}},
            {"name": "outside", "op": "crop", "parameters": {"x": 30, "y": 30, "width": 20, "height": 20}},
        ])
        assert width_of(several["small"].content) == 8
        with pytest.raises(DarkroomError):
            several["outside"]
        card = client.render(html="<p>{{ title }}</p>", width=20, height=10, data={"title": "Hi"})
        assert width_of(card.content) == 20
        assert client.metadata(RED)["image"]["width"] == 32
        assert client.read_text(RED)["text"] == ""
        with pytest.raises(DarkroomError) as caught:
            client.transform(RED, "resize", width=99_999)
        assert (caught.value.code, caught.value.param, caught.value.status) == ("invalid_param", "width", 400)
        assert client.request("GET", "/collections")[0]["name"] == "squares"
        assert client.request("DELETE", f"/assets/{kept['id']}") is None


def test_a_job_of_the_service():
    async def scenario():
        seen = []
        async with AsyncDarkroom() as client:
            kept = await client.upload(RED)
            job = {"op": "resize", "assetIds": [kept["id"]], "parameters": {"width": 8}}
            done = await client.run_job(job, on_progress=lambda state: seen.append(state["status"]))
            assert done["status"] == seen[-1] == "COMPLETED"
            result = await client.request("GET", f"/assets/{done['items'][0]['resultAssetId']}/content")
            assert width_of(result.content) == 8

    asyncio.run(scenario())


def test_a_delivery_is_genuine_or_refused():
    delivery = json.loads(os.environ["DELIVERY"])
    body, now = delivery["body"].encode(), delivery["now"]
    good = {"headers": delivery["headers"], "secret": delivery["secret"], "now": now}
    assert verify_webhook(body, **good)["id"] == "evt_1"
    for wrong in ({"secret": ""}, {"secret": "whsec_other"}, {"headers": {}}, {"now": now + 301}, {"now": now - 301}):
        with pytest.raises(WebhookVerificationError):
            verify_webhook(body, **{**good, **wrong})
    with pytest.raises(WebhookVerificationError):
        verify_webhook(body + b" ", **good)
