"""Pictures made smaller and larger."""

import io

import numpy
from PIL import Image, ImageOps

from generated import edge, generated, island, lines, veiled, waves
from record import pixels

KERNELS = {"linear": Image.BILINEAR, "cubic": Image.BICUBIC, "lanczos3": Image.LANCZOS}
BY = "Pillow resize"
PLACES = {"west": (0, 0.5), "center": (0.5, 0.5), "east": (1, 0.5), "northwest": (0, 0), "southeast": (1, 1)}


def resized(source, size, resample=Image.LANCZOS):
    return numpy.asarray(Image.fromarray(source).resize(size, resample))


def enlarging():
    source = ["waves", 40, 30]
    for kernel, resample in KERNELS.items():
        for width, height in [(80, 60), (113, 85)]:
            parameters = {"width": width, "height": height, "fit": "fill", "kernel": kernel, "enlarge": True}
            result = resized(waves(40, 30), (width, height), resample)
            yield pixels("resize", f"enlarged {kernel} {width}", source, parameters, result, 2, BY)
    doubled = resized(generated(["specks", 20, 15]), (40, 30), Image.NEAREST)
    parameters = {"width": 40, "kernel": "nearest", "enlarge": True}
    yield pixels("resize", "doubled by nearest", ["specks", 20, 15], parameters, doubled, 0, BY)
    for width, height in [(31, 17), (10, 8), (100, 40)]:
        picked = resized(generated(["specks", 61, 43]), (width, height), Image.NEAREST)
        parameters = {"width": width, "height": height, "fit": "fill", "kernel": "nearest", "enlarge": True}
        yield pixels("resize", f"picked {width}", ["specks", 61, 43], parameters, picked, 0, BY)


def shrinking():
    for kernel, resample in KERNELS.items():
        for width, height in [(60, 45), (47, 31)]:
            parameters = {"width": width, "height": height, "fit": "fill", "kernel": kernel}
            result = resized(waves(120, 90), (width, height), resample)
            yield pixels("resize", f"shrunk {kernel} {width}", ["waves", 120, 90], parameters, result, 2, BY, 3)
    result = resized(edge(120, 90), (40, 30))
    yield pixels("resize", "shrunk edge", ["edge", 120, 90], {"width": 40}, result, 1, BY)
    result = resized(edge(40, 30), (80, 60))
    yield pixels("resize", "enlarged edge", ["edge", 40, 30], {"width": 80, "enlarge": True}, result, 1, BY)


def behind_a_veil():
    for name, formula in [("veiled", veiled), ("island", island)]:
        result = resized(formula(90, 60), (45, 30))
        yield pixels("resize", f"shrunk {name}", [name, 90, 60], {"width": 45}, result, 2, BY, 2)


def fitting():
    source = Image.fromarray(waves(120, 80))
    box = {"width": 40, "height": 40}
    for gravity, centering in PLACES.items():
        result = numpy.asarray(ImageOps.fit(source, (40, 40), Image.LANCZOS, centering=centering))
        parameters = {**box, "fit": "cover", "gravity": gravity}
        yield pixels("resize", f"cover {gravity}", ["waves", 120, 80], parameters, result, 3, "Pillow ImageOps.fit")
    for gravity, top in [("north", 0), ("center", 7), ("south", 13)]:
        parameters = {**box, "fit": "contain", "gravity": gravity, "background": "#102030"}
        yield pixels("resize", f"contain {gravity}", ["waves", 120, 80], parameters, padded(source, top), 3, "Pillow paste")
    aimed = source.resize((60, 40), Image.LANCZOS).crop((16, 0, 56, 40))
    parameters = {**box, "fit": "cover", "focalX": 0.6}
    yield pixels("resize", "cover around a point", ["waves", 120, 80], parameters, numpy.asarray(aimed), 3, "Pillow crop")
    outside = numpy.asarray(source.resize((60, 40), Image.LANCZOS))
    yield pixels("resize", "outside", ["waves", 120, 80], {**box, "fit": "outside"}, outside, 3, BY)
    parameters = {"width": 20, "height": 20, "dpr": 2, "fit": "inside"}
    inside = numpy.asarray(source.resize((40, 27), Image.LANCZOS))
    yield pixels("resize", "inside at two pixels each", ["waves", 120, 80], parameters, inside, 3, BY)
    square = ImageOps.fit(source, (40, 40), Image.LANCZOS)
    parameters = {"size": 40, "gravity": "center"}
    yield pixels("thumbnail", "the middle", ["waves", 120, 80], parameters, numpy.asarray(square), 3, "Pillow ImageOps.fit")
    larger = source.resize((192, 128), Image.LANCZOS).crop((64, 0, 192, 128))
    parameters = {"size": 128, "gravity": "east"}
    yield pixels("thumbnail", "the east, enlarged", ["waves", 120, 80], parameters, numpy.asarray(larger), 3, "Pillow crop")


def padded(source, top):
    canvas = Image.new("RGB", (40, 40), "#102030")
    canvas.paste(source.resize((40, 27), Image.LANCZOS), (0, top))
    return numpy.asarray(canvas)


def linear():
    """Fine lines of black and white are half as bright as white, which sRGB writes as 188."""
    half = round(255 * (1.055 * 0.5 ** (1 / 2.4) - 0.055))
    parameters = {"width": 20, "linear": True, "kernel": "linear"}
    result = numpy.full((20, 20, 3), half, float)
    yield pixels("resize", "lines in linear light", ["lines", 160, 160], parameters, result, 1, "the sRGB curve (IEC 61966-2-1)")
    result = resized(lines(160, 160), (20, 20), Image.BILINEAR)
    yield pixels("resize", "lines as numbers", ["lines", 160, 160], {"width": 20, "kernel": "linear"}, result, 1, BY, 2)


def while_decoded():
    """A JPEG is made smaller in part while it is decoded, which costs some sharpness."""
    file = io.BytesIO()
    Image.fromarray(waves(128, 96)).save(file, "JPEG", quality=90)
    decoded = Image.open(io.BytesIO(file.getvalue()))
    result = numpy.asarray(decoded.resize((32, 24), Image.LANCZOS))
    yield pixels("resize", "shrunk JPEG", file.getvalue(), {"width": 32}, result, 8, BY)


def facts():
    yield from enlarging()
    yield from shrinking()
    yield from behind_a_veil()
    yield from fitting()
    yield from linear()
    yield from while_decoded()
