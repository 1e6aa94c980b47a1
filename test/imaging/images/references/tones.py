"""What changes colours and brightness, blurs and sharpens."""

import numpy
from PIL import Image, ImageOps
from scipy.ndimage import gaussian_filter, median_filter
from skimage import color

from generated import dull, edge, generated, muted, specks, veiled, waves
from record import pixels

WAVES = ["waves", 160, 120]
MUTED = ["muted", 160, 120]
REC709 = numpy.array([0.2126, 0.7152, 0.0722])


def blurred(source, sigma):
    channels = numpy.moveaxis(source.astype(float), -1, 0)
    return numpy.stack([gaussian_filter(one, sigma, mode="nearest", truncate=6) for one in channels], -1)


def blurring():
    for name in ["waves", "edge"]:
        for sigma in [0.5, 0.8, 1, 2, 5, 10, 30]:
            result = blurred(generated([name, 160, 120]), sigma)
            within = 1 if sigma < 30 else 2
            source = [name, 160, 120]
            yield pixels("blur", f"{name} {sigma}", source, {"sigma": sigma}, result, within, "scipy gaussian_filter")


def to_linear(values):
    share = values / 255
    return numpy.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def to_srgb(light):
    light = numpy.clip(light, 0, 1)
    return 255 * numpy.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)


def brightness(source):
    """Grey of the same luminance."""
    return to_srgb(to_linear(source[..., :3].astype(float)) @ REC709)


def grey(values):
    return numpy.repeat(values[..., None], 3, 2)


def greys():
    source = waves(160, 120)
    by = "luminance by IEC 61966-2-1"
    yield pixels("grayscale", "waves", WAVES, {}, grey(brightness(source)), 1, by)
    for value in [60, 128, 200]:
        light = brightness(source)
        result = numpy.where(light >= value, 255, 0)
        # Rounding decides about what is nearer than one level: those pixels are left out.
        unsure = numpy.abs(light - value) < 1.5
        masked = numpy.ma.masked_array(grey(result), grey(unsure))
        yield sure_pixels("threshold", f"at {value}", WAVES, {"value": value}, masked, by)


def sure_pixels(op, name, source, parameters, masked, by):
    made = pixels(op, name, source, parameters, masked.filled(0), 0, by)
    sure = [one for one in made["pixels"].split(", ") if not masked.mask[int(one.split()[1]), int(one.split()[0]), 0]]
    return {**made, "pixels": ", ".join(sure)}


def channels():
    source = veiled(80, 60)
    veil = ["veiled", 80, 60]
    opened = Image.fromarray(source)
    negative = numpy.concatenate([numpy.asarray(ImageOps.invert(opened.convert("RGB"))), source[..., 3:]], -1)
    yield pixels("negate", "veiled", veil, {}, negative, 0, "Pillow ImageOps.invert")
    for index, name in enumerate(["red", "green", "blue", "alpha"]):
        result = grey(numpy.asarray(opened.getchannel(index)))
        yield pixels("extract_channel", name, veil, {"channel": name}, result, 0, "Pillow getchannel")
    removed = numpy.asarray(opened.convert("RGB"))
    yield pixels("remove_alpha", "veiled", veil, {}, removed, 0, "Pillow convert")
    for background in ["#ffffff", "#206040"]:
        ground = Image.new("RGBA", opened.size, background)
        result = numpy.asarray(Image.alpha_composite(ground, opened).convert("RGB"))
        yield pixels("flatten", background, veil, {"background": background}, result, 1, "Pillow alpha_composite")
    for opacity in [0.25, 0.6]:
        faded = opened.copy()
        faded.putalpha(opened.getchannel(3).point(lambda value: round(value * opacity)))
        yield pixels("alpha", f"{opacity}", veil, {"opacity": opacity}, numpy.asarray(faded), 1, "Pillow putalpha")


def mixing():
    source = muted(160, 120)
    rows = [[0.393, 0.769, 0.189, 0], [0.349, 0.686, 0.168, 0], [0.272, 0.534, 0.131, 0]]
    result = Image.fromarray(source).convert("RGB", [weight for row in rows for weight in row])
    yield pixels("sepia", "muted", MUTED, {}, numpy.asarray(result), 1, "Pillow convert with the matrix of CSS sepia(1)")
    dark, light = numpy.array([0x1B, 0x14, 0x64]), numpy.array([0xFF, 0xE2, 0x6A])
    luma = (source @ REC709)[..., None] / 255
    parameters = {"dark": "#1b1464", "light": "#ffe26a"}
    yield pixels("duotone", "muted", MUTED, parameters, dark + luma * (light - dark), 1, "Rec. 709 in numpy")
    tone = color.rgb2lab(numpy.array([[[255, 136, 0]]]) / 255)[0, 0]
    lightness = color.rgb2lab(grey(brightness(source)) / 255)[..., 0]
    weight = 1 - 4 * (lightness / 100 - 0.5) ** 2
    lab = numpy.stack([lightness, weight * tone[1], weight * tone[2]], -1)
    by = "CIE LAB of scikit-image, the tone strongest in the middle"
    yield pixels("tint", "muted", MUTED, {"color": "#ff8800"}, color.lab2rgb(lab) * 255, 3, by)


def adjusting():
    source = muted(160, 120)
    lab = color.rgb2lab(source / 255)
    by = "CIE LAB of scikit-image"

    def adjusted(name, value, result, within, by):
        return pixels("adjust", f"{name} {value}", MUTED, {name: value}, result, within, by)

    for hue in [40, -90]:
        turn = numpy.radians(hue)
        a = lab[..., 1] * numpy.cos(turn) - lab[..., 2] * numpy.sin(turn)
        b = lab[..., 1] * numpy.sin(turn) + lab[..., 2] * numpy.cos(turn)
        yield adjusted("hue", hue, color.lab2rgb(numpy.stack([lab[..., 0], a, b], -1)) * 255, 3, by)
    for factor in [0, 0.5, 1.6]:
        yield adjusted("saturation", factor, color.lab2rgb(lab * [1, factor, factor]) * 255, 2, by)
    yield adjusted("brightness", 1.2, color.lab2rgb(lab * [1.2, 1, 1]) * 255, 2, by)
    yield adjusted("lightness", 15, color.lab2rgb(lab + [15, 0, 0]) * 255, 2, by)
    for factor in [0.5, 1.7]:
        yield adjusted("contrast", factor, 128 + (source.astype(float) - 128) * factor, 1, "numpy")
    for gamma in [1.5, 3]:
        yield adjusted("gamma", gamma, 255 * (source / 255) ** (1 / gamma), 1, "numpy")


def normalizing():
    for whites in [0, 1, 100, 420]:
        source = dull(200, 200, whites)
        low, high = numpy.percentile(source[..., 0], [1, 99])
        result = numpy.clip((source.astype(float) - low) * 255 / (high - low), 0, 255)
        if result.mean() < source.mean():
            continue
        yield pixels("normalize", f"{whites} white pixels", ["dull", 200, 200, whites], {}, result, 1, "numpy percentile")


def neighbours():
    for size in [3, 7]:
        source = specks(61, 43)
        result = numpy.stack([median_filter(source[..., one], size, mode="nearest") for one in range(3)], -1)
        yield pixels("median", f"{size}", ["specks", 61, 43], {"size": size}, result, 0, "scipy median_filter")
    for size in [8, 13]:
        source = specks(61, 43)
        result = source.astype(float)
        for top in range(0, 43, size):
            for left in range(0, 61, size):
                block = source[top : top + size, left : left + size]
                result[top : top + size, left : left + size] = block.mean((0, 1))
        yield pixels("pixelate", f"{size}", ["specks", 61, 43], {"size": size}, result, 1, "numpy mean of each block")
    for sigma, flat, jagged in [(1, 1, 2), (1.5, 0.5, 1)]:
        parameters = {"sigma": sigma, "flat": flat, "jagged": jagged}
        result = sharpened(muted(160, 120), sigma, flat, jagged)
        yield pixels("sharpen", f"muted {sigma}", MUTED, parameters, result, 1, "unsharp mask of L by scikit-image and scipy")
        result = sharpened(edge(160, 120), sigma, flat, jagged)
        yield pixels("sharpen", f"edge {sigma}", ["edge", 160, 120], parameters, result, 1, "unsharp mask of L by scikit-image and scipy")


def sharpened(source, sigma, flat, jagged, first=2, brighter=10, darker=20):
    """What differs from a blurred copy is added: little of what is flat, more of an edge, and never too much."""
    lab = color.rgb2lab(source / 255)
    light = lab[..., 0]
    difference = light - gaussian_filter(light, sigma, mode="nearest")
    size = numpy.abs(difference)
    gain = numpy.where(size < first, size * flat, first * flat + (size - first) * jagged)
    bounded = numpy.where(difference > 0, numpy.minimum(gain, brighter), -numpy.minimum(gain, darker))
    lab[..., 0] = numpy.clip(light + bounded, 0, 100)
    return color.lab2rgb(lab) * 255


def facts():
    for part in [blurring, greys, channels, mixing, adjusting, normalizing, neighbours]:
        yield from part()
