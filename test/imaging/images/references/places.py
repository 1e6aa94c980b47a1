"""What moves pixels and leaves them as they are, and what turns them by any angle."""

import io
import math

import numpy
from PIL import Image, ImageChops, ImageOps

from generated import mounted, specks, waves
from record import pixels

SPECKS = ["specks", 61, 43]


def cropping():
    source = specks(61, 43)
    box = {"x": 7, "y": 11, "width": 31, "height": 20}
    yield pixels("crop", "a box", SPECKS, box, source[11:31, 7:38], 0, "numpy slices")
    for gravity, left in [("west", 0), ("center", 9), ("east", 18)]:
        parameters = {"aspect": "1:1", "gravity": gravity}
        yield pixels("crop", f"a square in the {gravity}", SPECKS, parameters, source[:, left : left + 43], 0, "numpy slices")
    result = source[1:42]
    yield pixels("crop", "an aspect of 3:2", SPECKS, {"aspect": "3:2"}, result, 0, "numpy slices")
    parameters = {"aspect": "1:1", "focalX": 0.4}
    yield pixels("crop", "a square around a point", SPECKS, parameters, source[:, 3:46], 0, "numpy slices")


def mirroring():
    source = Image.fromarray(specks(61, 43))
    results = {
        "horizontal": ImageOps.mirror(source),
        "vertical": ImageOps.flip(source),
        "both": ImageOps.mirror(ImageOps.flip(source)),
    }
    for axis, result in results.items():
        yield pixels("flip", axis, SPECKS, {"axis": axis}, numpy.asarray(result), 0, "Pillow ImageOps")


def right_angles():
    source = Image.fromarray(specks(61, 43))
    turns = {90: Image.ROTATE_270, 180: Image.ROTATE_180, 270: Image.ROTATE_90, -90: Image.ROTATE_90}
    for angle, turn in turns.items():
        yield pixels("rotate", f"{angle}", SPECKS, {"angle": angle}, numpy.asarray(source.transpose(turn)), 0, "Pillow transpose")


def upright():
    """Files with an orientation, in each format that has one."""
    source = Image.fromarray(specks(9, 6))
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        for form, options in [("PNG", {}), ("WEBP", {"lossless": True}), ("TIFF", {"compression": "raw"})]:
            if form != "PNG" and orientation not in (3, 6):
                continue
            file = io.BytesIO()
            source.save(file, form, exif=exif, **options)
            result = ImageOps.exif_transpose(Image.open(io.BytesIO(file.getvalue())))
            name = f"orientation {orientation} of a {form}"
            parameters = {"format": "png"}
            yield pixels("convert", name, file.getvalue(), parameters, numpy.asarray(result), 0, "Pillow exif_transpose")
            if orientation == 6:
                parameters = {"x": 1, "y": 2, "width": 4, "height": 4, "format": "png"}
                cropped = numpy.asarray(result.crop((1, 2, 5, 6)))
                yield pixels("crop", name, file.getvalue(), parameters, cropped, 0, "Pillow exif_transpose")
                parameters = {"angle": 90, "format": "png"}
                turned = numpy.asarray(result.transpose(Image.ROTATE_270))
                yield pixels("rotate", name, file.getvalue(), parameters, turned, 0, "Pillow exif_transpose")


def trimming():
    picture = ["mounted", 70, 60, 6]
    source = mounted(70, 60, 6)
    ground = Image.new("RGB", (70, 60), tuple(int(value) for value in source[0, 0]))
    difference = ImageChops.difference(Image.fromarray(source), ground)
    left, top, right, bottom = difference.point(lambda value: 255 if value > 10 else 0).getbbox()
    result = source[top:bottom, left:right]
    yield pixels("trim", "an uneven ground", picture, {"threshold": 10}, result, 0, "Pillow getbbox")
    parameters = {"threshold": 10, "background": "#141414"}
    yield pixels("trim", "a ground that is named", picture, parameters, result, 0, "Pillow getbbox")
    yield pixels("trim", "a ground that is too uneven", picture, {"threshold": 3}, source, 0, "Pillow getbbox")
    yield pixels("trim", "a ground of another colour", picture, {"background": "#ff0000"}, source, 0, "Pillow getbbox")


def padding():
    source = specks(61, 43)
    room = {"top": 5, "right": 70, "bottom": 50, "left": 9}
    around = ((5, 50), (9, 70), (0, 0))
    for mode, name in [("copy", "edge"), ("repeat", "wrap"), ("mirror", "symmetric")]:
        result = numpy.pad(source, around, name)
        yield pixels("pad", mode, SPECKS, {**room, "mode": mode}, result, 0, "numpy pad")
    result = ImageOps.expand(Image.fromarray(source), (9, 5, 70, 50), "#204060")
    yield pixels("pad", "a colour", SPECKS, {**room, "background": "#204060"}, numpy.asarray(result), 0, "Pillow expand")


def cubic(distance):
    u = abs(distance)
    near = 1.5 * u**3 - 2.5 * u**2 + 1
    far = -0.5 * u**3 + 2.5 * u**2 - 4 * u + 2
    return numpy.where(u < 1, near, numpy.where(u < 2, far, 0))


def turned(source, angle):
    """The convolution of Keys (1981), about the middle of both pictures, on black."""
    height, width = source.shape[:2]
    padded = numpy.pad(source.astype(float), ((3, 3), (3, 3), (0, 0)))
    turn = math.radians(angle)
    cos, sin = math.cos(turn), math.sin(turn)
    across = math.ceil(width * abs(cos) + height * abs(sin))
    down = math.ceil(width * abs(sin) + height * abs(cos))
    y, x = numpy.mgrid[0:down, 0:across]
    x, y = x - (across - 1) / 2, y - (down - 1) / 2
    left = cos * x + sin * y + (width - 1) / 2
    top = -sin * x + cos * y + (height - 1) / 2
    result = numpy.zeros((down, across, source.shape[2]))
    for j in range(-1, 3):
        for i in range(-1, 3):
            column, row = numpy.floor(left) + i, numpy.floor(top) + j
            weight = cubic(left - column) * cubic(top - row)
            at = (numpy.clip(row + 3, 0, height + 5).astype(int), numpy.clip(column + 3, 0, width + 5).astype(int))
            result += weight[..., None] * padded[at]
    return result


def any_angle():
    for angle in [10, 45, -33.5, 91, 200]:
        parameters = {"angle": angle, "background": "#000000"}
        result = turned(waves(61, 43), angle)
        yield pixels("rotate", f"{angle}", ["waves", 61, 43], parameters, result, 2, "Keys' cubic convolution in numpy")


def facts():
    for part in [cropping, mirroring, right_angles, upright, trimming, padding, any_angle]:
        yield from part()
