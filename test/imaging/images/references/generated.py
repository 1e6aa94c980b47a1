"""Small pictures made by formulas, the same as in pictures.ts."""

import numpy


def whole(channels):
    """Halves are rounded up, as in JavaScript."""
    return numpy.floor(numpy.stack(channels, -1) + 0.5).astype(numpy.uint8)


def grid(width, height):
    y, x = numpy.mgrid[0:height, 0:width]
    return x, y


def waves(width, height):
    """Smooth colours of several frequencies."""
    x, y = grid(width, height)
    red = 128 + 100 * numpy.sin(x / 5) * numpy.cos(y / 7)
    green = 128 + 90 * numpy.sin((x + y) / 9)
    blue = 128 + 110 * numpy.cos(x / 3 - y / 11)
    return whole([red, green, blue])


def muted(width, height):
    """Smooth colours that stay far from the edges of sRGB, so that no way of cutting them off is compared."""
    return whole(list(numpy.moveaxis(128 + (waves(width, height).astype(float) - 128) / 4, -1, 0)))


def veiled(width, height):
    """Waves behind a veil that is nowhere and everywhere transparent."""
    x, y = grid(width, height)
    alpha = 127.5 + 127.5 * numpy.sin((x + 2 * y) / 13)
    return numpy.concatenate([waves(width, height), whole([alpha])], -1)


def specks(width, height):
    """Values without an order that the eye sees: each pixel differs from those around it."""
    x, y = grid(width, height)
    value = (x * 7919 + y * 104729 + (x * y) % 61 * 31) % 251
    return whole([value, (value * 3 + 40) % 256, (value * 7 + 90) % 256])


def edge(width, height):
    """Black on the left, white on the right."""
    x, _ = grid(width, height)
    return whole([numpy.where(x < width // 2, 0, 255)] * 3)


def lines(width, height):
    """Upright lines of one pixel, black and white."""
    x, _ = grid(width, height)
    return whole([x % 2 * 255] * 3)


def dull(width, height, whites=0):
    """A ramp of greys from 60 to 139, and some white pixels at its end."""
    index = numpy.arange(width * height)
    grey = 60 + index * 80 // (width * height)
    if whites:
        grey[-whites:] = 255
    return numpy.repeat(grey.reshape(height, width, 1), 3, 2).astype(numpy.uint8)


def mounted(width, height, margin):
    """Specks on a plain ground that is not quite even: what is cut away differs by up to 4."""
    x, y = grid(width, height)
    ground = 20 + (x + y) % 5
    inside = (x >= margin) & (x < width - 2 * margin) & (y >= margin) & (y < height - 3 * margin)
    colours = 60 + specks(width, height).astype(int) * 3 // 4
    return whole([numpy.where(inside, colours[..., channel], ground) for channel in range(3)])


def island(width, height):
    """A white disc on clear black."""
    x, y = grid(width, height)
    inside = (x - width / 2) ** 2 + (y - height / 2) ** 2 < (height / 3) ** 2
    return whole([numpy.where(inside, 255, 0)] * 4)


def plain(width, height, value):
    """One grey."""
    return numpy.full((height, width, 3), value, numpy.uint8)


FORMULAS = {
    formula.__name__: formula
    for formula in [waves, muted, veiled, specks, edge, lines, dull, mounted, island, plain]
}


def generated(picture):
    name, *size = picture
    return FORMULAS[name](*size)
