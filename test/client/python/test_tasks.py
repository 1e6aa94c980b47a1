"""Tasks of people who come with a picture and a wish, by the Python client alone."""

import os
import pathlib

from darkroom import Darkroom, asset

RED = pathlib.Path(os.environ["RED_PNG"])
PHOTO = RED.parent / "photo.jpg"
RING = [
    {"op": "thumbnail", "parameters": {"size": 200, "format": "png"}},
    {"op": "border", "parameters": {"width": 8, "color": "#ffffff", "radius": "50%"}},
]
CUT = [
    {"op": "remove_background"},
    {"op": "pad", "parameters": {"all": 20, "background": "#ffffff", "format": "jpeg"}},
]


def sized(name, width, max_bytes):
    compress = {"op": "compress", "parameters": {"maxBytes": max_bytes, "format": "webp"}}
    return {"name": name, "steps": [{"op": "resize", "parameters": {"width": width}}, compress]}


def shape(name, aspect):
    return {"name": name, "op": "crop", "parameters": {"aspect": aspect, "gravity": "attention"}}


def test_one_picture():
    with Darkroom() as client:
        three = client.outputs(PHOTO, [sized("l", 900, 200_000), sized("m", 500, 80_000), sized("s", 200, 15_000)])
        assert [three[name].width for name in "lms"] == [900, 500, 200]
        assert client.transform(PHOTO, steps=RING).width == 216
        logo = client.upload(RED)["id"]
        mark = {"op": "overlay", "parameters": {"layerAssetId": logo, "margin": "4%", "opacity": 0.8}}
        assert client.transform(PHOTO, steps=[mark]).warnings == []
        hidden = client.transform(PHOTO, "redact", regions=[{"x": 9, "y": 8, "width": 99, "height": 99}])
        pair = {"assetId": client.upload(PHOTO)["id"], "otherAssetId": client.upload(hidden.content)["id"]}
        assert client.request("POST", "/images/compare", body=pair, query={"ssimulacra2": True})["ssimulacra2"] < 100
        assert client.render(html="<h1>Hi</h1>", width=600, height=315).width == 600
        smallest = client.transform(PHOTO, "compress", format=["avif", "webp"], minSsim=0.95)
        assert smallest.format in ("avif", "webp") and smallest.timing["total"] > 0
        facts = client.metadata(PHOTO, palette=5)["image"]
        assert facts["palette"] and facts["blurhash"]
        assert client.request("POST", "/images/read-codes", body={"assetId": logo})["codes"] == []
        assert client.read_text(PHOTO)["text"] == ""
        assert client.transform(PHOTO, "convert", format="jpeg").format == "jpeg"
        shapes = client.outputs(PHOTO, [shape("square", "1:1"), shape("wide", "16:9"), shape("tall", "9:16")])
        assert shapes["square"].width == shapes["square"].height


def test_many_pictures():
    with Darkroom() as client:
        new = [client.transform(image, "negate").content for image in (RED, PHOTO)]
        ids = [client.upload(image, collection="spring")["id"] for image in new]
        sheet = {"image1": f"asset://{ids[0]}", "image2": f"asset://{ids[1]}"}
        assert client.render(templateId="contact-sheet", data=sheet).format == "png"
        variants = [{"name": "s", "parameters": {"width": 20}}, {"name": "m", "parameters": {"width": 30}}]
        done = client.run_job({"op": "resize", "from": {"collection": "spring"}, "variants": variants})
        assert (done["status"], done["completedItems"]) == ("COMPLETED", 4)
        archive = client.request("GET", f"/jobs/{done['id']}/results.zip")
        assert archive.content[:2] == b"PK"
        assert client.run_job({"steps": CUT, "assetIds": ids[:1]})["status"] == "COMPLETED"
        edit = {"op": "edit", "model": "sandbox-image", "prompt": "Blue", "assetIds": ids[:1]}
        assert client.request("POST", "/jobs", query={"dryRun": True}, body=edit)["credits"] == 12
        slow = client.request("POST", "/jobs", body={**edit, "prompt": "Blue [sandbox:wait=2000]"})
        assert client.request("POST", f"/jobs/{slow['id']}/cancel")["status"].startswith("CANCELL")
        failed = client.run_job({**edit, "prompt": "Blue [sandbox:reject]"})
        assert client.request("POST", f"/jobs/{failed['id']}/resume")["rootJobId"] == failed["id"]
        assert isinstance(client.request("GET", "/assets", query={"similarTo": ids[0]}), list)
        link = {"assetId": ids[0], "op": "resize", "parameters": {"width": 30}}
        assert client.request("POST", "/delivery-links", body=link)["html"].startswith("<img ")
        assert client.transform(asset(ids[0]), "resize", width=8).width == 8
