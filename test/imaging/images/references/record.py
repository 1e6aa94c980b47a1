"""How a fact is written down."""

import base64

import numpy


COUNT = 24


def samples(result, margin=0):
    """
    A few pixels of a result, as text: x, y and the channels of each. Half of them lie where much changes.
    margin: how much of the edges is left out, where ways to go on beyond them differ.
    """
    height, width = result.shape[:2]
    inside = numpy.zeros((height, width), bool)
    inside[margin : height - margin, margin : width - margin] = True
    changes = abs(numpy.diff(result.astype(int), axis=1, append=result[:, -1:])).sum(-1)
    lively = inside & (changes >= numpy.quantile(changes[inside], 0.9)) & (changes > 0)
    random = numpy.random.default_rng(1)
    chosen = [(margin, margin), (width - 1 - margin, margin), (margin, height - 1 - margin), (width - 1 - margin, height - 1 - margin)]
    for places in [numpy.argwhere(inside), numpy.argwhere(lively)]:
        picked = random.permutation(places)[: COUNT // 2]
        chosen += [(int(x), int(y)) for y, x in picked]
    return ", ".join(" ".join(str(int(number)) for number in [x, y, *result[y, x]]) for x, y in dict.fromkeys(chosen))


def fact(op, name, source, parameters, answers, by, **more):
    """What an op makes of a picture, or of a file that another implementation wrote."""
    given = {"picture": source} if isinstance(source, list) else {"file": base64.b64encode(source).decode()}
    return {"op": op, "name": name, **given, "parameters": parameters, **answers, "by": by, **more}


def pixels(op, name, source, parameters, result, within, by, margin=0, **more):
    """
    A fact of pixels.
    within: the greatest difference of a channel that rounding may make.
    margin: how much of the edges is left out.
    """
    height, width = result.shape[:2]
    rounded = numpy.clip(numpy.round(numpy.asarray(result, float)), 0, 255).astype(numpy.uint8)
    answers = {"size": [width, height], "within": within, "pixels": samples(rounded, margin)}
    return fact(op, name, source, parameters, answers, by, **more)


