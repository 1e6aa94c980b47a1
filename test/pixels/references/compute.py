"""Computes what the operations have to make of small generated pictures, by other implementations than the service's own.

    python3 compute.py > facts.json      (with Pillow, numpy, scipy and scikit-image)

The pictures are made by the same formulas in pictures.ts. A fact is a few pixels of the expected result, each
[x, y, [channels]], with the greatest difference that rounding may make (within); or numbers of the whole picture.
"""

import json
import math
import sys

import numpy
import PIL
import scipy
import skimage
from PIL import Image
from scipy.ndimage import gaussian_filter


def waves(width, height):
    """Smooth colours of several frequencies."""
    y, x = numpy.mgrid[0:height, 0:width]
    return numpy.stack(
        [
            128 + 100 * numpy.sin(x / 5) * numpy.cos(y / 7),
            128 + 90 * numpy.sin((x + y) / 9),
            128 + 110 * numpy.cos(x / 3 - y / 11),
        ],
        -1,
    ).round().astype(numpy.uint8)


def edge(width, height):
    """Black on the left, white on the right."""
    picture = numpy.zeros((height, width, 3), numpy.uint8)
    picture[:, width // 2 :] = 255
    return picture


def dull(width, height, whites=0):
    """A ramp of greys from 60 to 139, and some white pixels at its end."""
    index = numpy.arange(width * height)
    grey = 60 + index * 80 // (width * height)
    if whites:
        grey[-whites:] = 255
    return numpy.repeat(grey.reshape(height, width, 1), 3, 2).astype(numpy.uint8)


def samples(result, count=40):
    height, width = result.shape[:2]
    random = numpy.random.default_rng(1)
    corners = [(0, 0), (width - 1, 0), (0, height - 1), (width - 1, height - 1)]
    places = corners + [(int(random.integers(width)), int(random.integers(height))) for _ in range(count)]
    return [[x, y, [int(value) for value in result[y, x]]] for x, y in places]


def fact(name, picture, steps, result, within, by):
    height, width = result.shape[:2]
    return {
        "name": name,
        "picture": picture,
        "steps": steps,
        "size": [width, height],
        "within": within,
        "by": by,
        "pixels": samples(numpy.clip(numpy.round(result), 0, 255).astype(numpy.uint8)),
    }


def enlarging():
    source = Image.fromarray(waves(40, 30))
    kernels = {"linear": Image.BILINEAR, "cubic": Image.BICUBIC, "lanczos3": Image.LANCZOS}
    for kernel, resample in kernels.items():
        for size in [(80, 60), (113, 85)]:
            steps = [["resize", {"width": size[0], "height": size[1], "fit": "fill", "kernel": kernel, "enlarge": True}]]
            result = numpy.asarray(source.resize(size, resample), float)
            yield fact(f"enlarged {kernel} {size[0]}", ["waves", 40, 30], steps, result, 2, "Pillow resize")


def blurring():
    for name, picture in [("waves", waves(160, 120)), ("edge", edge(160, 120))]:
        for sigma in [0.5, 0.8, 1, 2, 5, 10, 30]:
            channels = [gaussian_filter(picture[..., c].astype(float), sigma, mode="nearest", truncate=6) for c in range(3)]
            steps = [["blur", {"sigma": sigma}]]
            yield fact(f"blurred {name} {sigma}", [name, 160, 120], steps, numpy.stack(channels, -1), 4, "scipy gaussian_filter")


def cubic(distance):
    u = abs(distance)
    near = 1.5 * u**3 - 2.5 * u**2 + 1
    far = -0.5 * u**3 + 2.5 * u**2 - 4 * u + 2
    return numpy.where(u < 1, near, numpy.where(u < 2, far, 0))


def turning():
    """The convolution of Keys (1981), about the middle of both pictures, on black."""
    source = waves(61, 43).astype(float)
    height, width = source.shape[:2]
    padded = numpy.pad(source, ((3, 3), (3, 3), (0, 0)))
    for angle in [10, 45, -33.5, 91, 200]:
        turn = math.radians(angle)
        cos, sin = math.cos(turn), math.sin(turn)
        across = math.ceil(width * abs(cos) + height * abs(sin))
        down = math.ceil(width * abs(sin) + height * abs(cos))
        y, x = numpy.mgrid[0:down, 0:across]
        x, y = x - (across - 1) / 2, y - (down - 1) / 2
        left = cos * x + sin * y + (width - 1) / 2
        top = -sin * x + cos * y + (height - 1) / 2
        result = numpy.zeros((down, across, 3))
        for j in range(-1, 3):
            for i in range(-1, 3):
                column, row = numpy.floor(left) + i, numpy.floor(top) + j
                weight = cubic(left - column) * cubic(top - row)
                at = (numpy.clip(row + 3, 0, height + 5).astype(int), numpy.clip(column + 3, 0, width + 5).astype(int))
                result += weight[..., None] * padded[at]
        steps = [["rotate", {"angle": angle, "background": "#000000"}]]
        yield fact(f"turned {angle}", ["waves", 61, 43], steps, result, 4, "Keys' cubic convolution in numpy")


def normalizing():
    for whites in [0, 1, 100]:
        picture = dull(200, 200, whites)
        low, high = numpy.percentile(picture[..., 0], [1, 99])
        result = numpy.clip((picture.astype(float) - low) * 255 / (high - low), 0, 255)
        yield fact(f"normalized {whites}", ["dull", 200, 200, whites], [["normalise", {}]], result, 2, "numpy percentile")


def linear():
    """Fine lines of black and white are half as bright as white, which sRGB writes as 188."""
    half = round(255 * (1.055 * 0.5 ** (1 / 2.4) - 0.055))
    picture = numpy.full((20, 20, 3), half, float)
    steps = [["resize", {"width": 20, "linear": True, "kernel": "linear"}]]
    yield fact("lines in linear light", ["lines", 160, 160], steps, picture, 1, "the sRGB curve (IEC 61966-2-1)")


facts = [*enlarging(), *blurring(), *turning(), *normalizing(), *linear()]
tools = {"Pillow": PIL.__version__, "numpy": numpy.__version__, "scipy": scipy.__version__, "scikit-image": skimage.__version__}
lines = ",\n".join("  " + json.dumps(one) for one in facts)
sys.stdout.write('{"tools": %s, "facts": [\n%s\n]}\n' % (json.dumps(tools), lines))
