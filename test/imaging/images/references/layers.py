"""What is laid over a picture, cut off at its corners, drawn around it or covered in it."""

import numpy
from PIL import Image, ImageDraw

from generated import edge, veiled, waves
from record import pixels

TIMES = 16
WAVES = ["waves", 90, 60]


def mask(width, height, across, down):
    """How much of each pixel lies within round corners, by looking at 256 points of it."""
    x, y = numpy.meshgrid(*((numpy.arange(edge * TIMES) + 0.5) / TIMES for edge in [width, height]))
    beyond_x = numpy.maximum(0, numpy.maximum(across - x, x - (width - across)))
    beyond_y = numpy.maximum(0, numpy.maximum(down - y, y - (height - down)))
    inside = (beyond_x / across) ** 2 + (beyond_y / down) ** 2 <= 1
    return 255 * inside.reshape(height, TIMES, width, TIMES).mean((1, 3))


def corners():
    source = waves(90, 60)
    by = "256 points per pixel in numpy"
    for radius, across, down in [(12, 12, 12), (30, 30, 30), ("50%", 45, 30)]:
        result = numpy.dstack([source, mask(90, 60, across, down).round()])
        yield sampled("round_corners", f"{radius}", {"radius": radius}, result, by)
    framed = numpy.full((76, 106, 3), [0x33, 0x66, 0x99], numpy.uint8)
    framed[8:68, 8:98] = source
    yield pixels("border", "square", WAVES, {"width": 8, "color": "#336699"}, framed, 0, "numpy")
    inner = mask(90, 60, 12, 12)[..., None] / 255
    framed[8:68, 8:98] = (source * inner + numpy.array([0x33, 0x66, 0x99]) * (1 - inner)).round()
    outer = mask(106, 76, 20, 20).round()
    result = numpy.dstack([framed, outer])
    parameters = {"width": 8, "color": "#336699", "radius": 20}
    yield sampled("border", "with round corners", parameters, result, by)


def sampled(op, name, parameters, result, by):
    """A fact whose pixels lie in a corner, where something happens."""
    made = pixels(op, name, WAVES, parameters, result, 12, by)
    near = pixels(op, name, WAVES, parameters, result[:16, :16], 12, by)
    return {**made, "pixels": f"{made['pixels']}, {near['pixels']}"}


# Compositing and Blending Level 1 (W3C), with colours from 0 to 1: b lies below, s above.
BLENDS = {
    "over": lambda b, s: s,
    "multiply": lambda b, s: b * s,
    "screen": lambda b, s: b + s - b * s,
    "overlay": lambda b, s: hard_light(s, b),
    "darken": numpy.minimum,
    "lighten": numpy.maximum,
    "color-dodge": lambda b, s: numpy.where(b == 0, 0, numpy.where(s == 1, 1, numpy.minimum(1, b / numpy.maximum(1 - s, 1e-9)))),
    "color-burn": lambda b, s: numpy.where(b == 1, 1, numpy.where(s == 0, 0, 1 - numpy.minimum(1, (1 - b) / numpy.maximum(s, 1e-9)))),
    "hard-light": lambda b, s: hard_light(b, s),
    "soft-light": lambda b, s: soft_light(b, s),
    "difference": lambda b, s: abs(b - s),
    "exclusion": lambda b, s: b + s - 2 * b * s,
}


def hard_light(below, above):
    return numpy.where(above <= 0.5, 2 * below * above, 1 - 2 * (1 - below) * (1 - above))


def soft_light(below, above):
    curve = numpy.where(below <= 0.25, ((16 * below - 12) * below + 4) * below, numpy.sqrt(below))
    darker = below - (1 - 2 * above) * below * (1 - below)
    return numpy.where(above <= 0.5, darker, below + (2 * above - 1) * (curve - below))


def laid(blend, opacity, left, top):
    below = waves(90, 60) / 255
    layer = veiled(40, 30) / 255
    result = below.copy()
    height, width = result.shape[:2]
    rows, columns = slice(max(0, top), min(height, top + 30)), slice(max(0, left), min(width, left + 40))
    part = layer[rows.start - top : rows.stop - top, columns.start - left : columns.stop - left]
    alpha = part[..., 3:] * opacity
    ground = below[rows, columns]
    result[rows, columns] = (1 - alpha) * ground + alpha * BLENDS[blend](ground, part[..., :3])
    return result * 255


def overlaying():
    other = {"other": ["veiled", 40, 30]}
    by = "Compositing and Blending Level 1 in numpy"
    for blend in BLENDS:
        parameters = {"x": 20, "y": 12, "blend": blend, "opacity": 0.8}
        yield pixels("overlay", blend, WAVES, parameters, laid(blend, 0.8, 20, 12), 2, by, **other)
    yield pixels("overlay", "in the southeast", WAVES, {}, laid("over", 1, 50, 30), 1, by, **other)
    yield pixels("overlay", "beyond the edge", WAVES, {"x": -13, "y": 41}, laid("over", 1, -13, 41), 1, by, **other)


def covering():
    source = edge(400, 300)
    picture = ["edge", 400, 300]
    regions = [{"x": 10, "y": 20, "width": 60, "height": 41}, {"x": 350, "y": 280, "width": 90, "height": 90}]
    filled = Image.fromarray(source)
    draw = ImageDraw.Draw(filled)
    for region in regions:
        draw.rectangle((region["x"], region["y"], region["x"] + region["width"] - 1, region["y"] + region["height"] - 1), "#102030")
    result = numpy.asarray(filled)
    parameters = {"regions": regions, "color": "#102030"}
    yield pixels("redact", "filled", picture, parameters, result, 0, "Pillow ImageDraw")
    source = edge(600, 300)
    picture = ["edge", 600, 300]
    # Characters beside each other are one region, of three rough colours along it.
    letters = [{"x": 40 + 48 * index, "y": 90, "width": 48, "height": 100} for index in range(10)]
    covered = source.astype(float)
    for index in range(3):
        cell = slice(40 + 160 * index, 200 + 160 * index)
        covered[90:190, cell] = (source[90:190, cell].mean((0, 1)) / 32).round() * 32
    parameters = {"regions": letters, "style": "pixelate"}
    yield pixels("redact", "letters", picture, parameters, numpy.minimum(covered, 255), 0, "numpy mean of three cells")
    small = [{"x": 40, "y": 90, "width": 200, "height": 40}]
    hidden = source.copy()
    hidden[90:130, 40:240] = 0
    parameters = {"regions": small, "style": "blur"}
    yield pixels("redact", "too small to keep a colour", picture, parameters, hidden, 0, "numpy")


def facts():
    for part in [corners, overlaying, covering]:
        yield from part()
