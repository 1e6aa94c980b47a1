"""Computes SSIMULACRA 2 of two PNGs with the recursive blur of its description, in 64 bits and in 32.

    python3 ssimulacra2.py model.png copy.png      (with Pillow and numpy)

The weights come from ../../../workers/image/likeness/ssimulacra2-weights.ts. Compared with the crate, it shows where a difference comes from:
the recursion of the blur adds up its rounding errors, and in 32 bits, which the crate uses, bright even ground gets a
difference that is not there. In 64 bits it agrees with the service, whose blur is the same kernel without recursion.
"""

import pathlib
import re
import sys

import numpy
from PIL import Image

SIGMA = 1.5
RADIUS = 5
C2 = 0.0009
CONES = numpy.array(
    [[0.3, 0.622, 0.078], [0.23, 0.692, 0.078], [0.24342268924547819, 0.20476744424496821, 0.5518098665095536]]
)
BIAS = 0.0037930732552754493


def weights():
    source = pathlib.Path(__file__).parents[3] / "workers/image/likeness/ssimulacra2-weights.ts"
    rows = re.findall(r"^\s+\[([^\]]+)\],", source.read_text(), re.MULTILINE)
    return numpy.array([[float(value) for value in row.split(",") if value.strip()] for row in rows])


def cosines():
    """The blur of Charalampidis (2016): three cosines, each by a recursion of two factors."""
    omega = numpy.array([1, 3, 5]) * numpy.pi / (2 * RADIUS)
    sign = numpy.array([1, -1, 1])
    p = sign / numpy.tan(omega / 2)
    r = sign * p * p / numpy.sin(omega)
    rho = numpy.exp(-SIGMA * SIGMA * omega * omega / 2) / RADIUS
    d = [p[i] * r[(i + 1) % 3] - r[i] * p[(i + 1) % 3] for i in range(3)]
    left, middle = d[1] / d[0], d[2] / d[0]
    beta = numpy.linalg.solve(
        numpy.array([p, r, [left, middle, 1]]),
        numpy.array([1, RADIUS**2 - SIGMA**2, left * rho[0] + middle * rho[1] + rho[2]]),
    )
    return -beta * numpy.cos(omega * (RADIUS + 1)), 2 * numpy.cos(omega)


def blurred_down(plane, bits):
    height, width = plane.shape
    factor, feedback = (values.astype(bits)[:, None] for values in cosines())
    before = before_that = numpy.zeros((3, width), bits)
    padded = numpy.zeros((height + 4 * RADIUS, width), bits)
    padded[2 * RADIUS : 2 * RADIUS + height] = plane
    result = numpy.zeros_like(plane)
    for row in range(1 - RADIUS, height):
        ends = padded[row + RADIUS - 1] + padded[row + 3 * RADIUS - 1]
        before, before_that = factor * ends + feedback * before - before_that, before
        if row >= 0:
            result[row] = before.sum(0)
    return result


def blurred(plane, bits):
    return blurred_down(blurred_down(plane.T, bits).T, bits)


def linear(path):
    value = numpy.asarray(Image.open(path).convert("RGB")) / 255
    return numpy.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def halved(light):
    height, width = light.shape[:2]
    light = numpy.pad(light, ((0, height % 2), (0, width % 2), (0, 0)), "edge")
    return (light[::2, ::2] + light[1::2, ::2] + light[::2, 1::2] + light[1::2, 1::2]) / 4


def channels(light, bits):
    long, medium, short = numpy.moveaxis(numpy.cbrt(light @ CONES.T + BIAS) - numpy.cbrt(BIAS), -1, 0)
    y = (long + medium) / 2
    return [plane.astype(bits) for plane in (7 * (long - medium) + 0.42, y + 0.01, short - y + 0.55)]


def errors(a, b, bits):
    mean_a, mean_b = blurred(a, bits), blurred(b, bits)
    variances = blurred(a * a, bits) - mean_a**2 + blurred(b * b, bits) - mean_b**2
    covariance = blurred(a * b, bits) - mean_a * mean_b
    likeness = (1 - (mean_a - mean_b) ** 2) * (2 * covariance + bits(C2)) / (variances + bits(C2))
    edge = (1 + abs(b - mean_b)).astype(float) / (1 + abs(a - mean_a)) - 1
    maps = [numpy.maximum(one, 0) for one in (1 - likeness.astype(float), edge, -edge)]
    return [one.mean() for one in maps] + [(one**4).mean() ** 0.25 for one in maps]


def score(model, copy, bits):
    scales = []
    for scale in range(6):
        if min(model.shape[:2]) < 8:
            break
        if scale > 0:
            model, copy = halved(model), halved(copy)
        scales.append([errors(a, b, bits) for a, b in zip(channels(model, bits), channels(copy, bits))])
    rows = numpy.moveaxis(numpy.array(scales), 0, 1).reshape(-1, 6)
    error = 0.9562382616834844 * (weights()[: len(rows)] * rows).sum()
    seen = 2.326765642916932 * error - 0.020884521182843837 * error**2 + 6.248496625763138e-05 * error**3
    return 100 - 10 * seen**0.6276336467831387 if seen > 0 else 100.0


model, copy = (linear(path) for path in sys.argv[1:3])
print("64 bits", score(model, copy, numpy.float64))
print("32 bits", score(model, copy, numpy.float32))
