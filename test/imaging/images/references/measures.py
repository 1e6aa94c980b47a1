"""What is measured of a picture, and what is searched for."""

import io

import blurhash
import numpy
import thumbhash
from PIL import Image
from scipy.ndimage import convolve, gaussian_filter
from skimage.measure import shannon_entropy
from skimage.metrics import structural_similarity

from generated import generated, waves
from record import fact, pixels


def luma(picture):
    """Rec. 601, as Wang et al. take it."""
    return (picture[..., :3].astype(float) @ [0.299, 0.587, 0.114]).round()


def likeness(one, other):
    return structural_similarity(
        luma(one), luma(other), data_range=255, gaussian_weights=True, sigma=1.5, use_sample_covariance=False
    )


def comparing():
    for name, other in [("waves", "muted"), ("waves", "waves"), ("waves", "edge")]:
        one, two = generated([name, 160, 120]), generated([other, 160, 120])
        difference = abs(one.astype(int) - two).max(-1)
        fields = {
            "ssim": round(float(likeness(one, two)), 5),
            "maxDifference": int(difference.max()),
            "changedShare": round(float((difference > 8).mean()), 6),
        }
        apart = {"ssim": 0.0006, "changedShare": 0.000001}
        by = "scikit-image structural_similarity"
        yield fact("compare", f"{name} and {other}", [name, 160, 120], {}, {"fields": fields}, by, apart=apart, other=[other, 160, 120])


def jpeg(picture, quality):
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=quality, optimize=True, progressive=True)
    return file.getvalue()


def searching():
    """The smallest JPEG that libjpeg-turbo keeps a promise with, by trying every quality."""
    source = waves(320, 240)
    files = [jpeg(Image.fromarray(source), quality) for quality in range(1, 101)]
    for least in [0.9, 0.97, 0.99]:
        reached = [len(one) for one in files if likeness(source, numpy.asarray(Image.open(io.BytesIO(one)))) >= least]
        smallest = min(reached)
        answers = {"least": {"ssim": least}, "bytes": [round(smallest * 0.85), round(smallest * 1.05)]}
        parameters = {"format": "jpeg", "minSsim": least}
        yield fact("compress", f"SSIM {least}", ["waves", 320, 240], parameters, answers, "Pillow and scikit-image")
    for most in [4000, 8000]:
        largest = max(len(one) for one in files if len(one) <= most)
        answers = {"bytes": [round(largest * 0.9), most]}
        parameters = {"format": "jpeg", "maxBytes": most}
        yield fact("compress", f"{most} bytes", ["waves", 320, 240], parameters, answers, "Pillow")


def describing():
    for name in ["waves", "muted", "edge", "veiled", "dull"]:
        source = generated([name, 96, 72])
        opened = Image.fromarray(source)
        weights = source[..., 3].astype(float) if source.shape[2] == 4 else numpy.full((72, 96), 255.0)
        mean = (source[..., :3] * weights[..., None]).sum((0, 1)) / weights.sum()
        fields = {
            "width": 96,
            "height": 72,
            "hasAlpha": source.shape[2] == 4,
            "averageColor": "#" + "".join(f"{round(value):02x}" for value in mean),
            "entropy": round(float(shannon_entropy(luminance(source))), 4),
            "sharpness": round(float(laplacian(luminance(source)).std() / 9), 4),
            # Of an edge in the very middle, single precision decides about some digits.
            **({} if name in ["veiled", "edge"] else {"blurhash": blurhash.encode(opened.copy(), 4, 3)}),
            "thumbhash": thumbhash_of(opened),
        }
        apart = {"entropy": 0.05, "sharpness": 0.02}
        by = "scikit-image, scipy, blurhash and thumbhash"
        yield fact("read_metadata", name, [name, 96, 72], {}, {"fields": fields}, by, apart=apart)


def luminance(source):
    share = source[..., :3] / 255
    light = numpy.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]
    return (255 * numpy.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)).round()


def laplacian(grey):
    return convolve(grey, [[0, 1, 0], [1, -4, 1], [0, 1, 0]], mode="nearest")


def thumbhash_of(picture):
    file = io.BytesIO()
    picture.save(file, "PNG")
    file.seek(0)
    return thumbhash.image_to_thumbhash(file)


def standing_in():
    """Tiny pictures: the mean, and what means, a triangle of weights and a small Gaussian leave."""
    source = waves(160, 120)
    opened = Image.fromarray(source)
    mean = source.mean((0, 1))[None, None]
    yield pixels("placeholder", "color", ["waves", 160, 120], {"kind": "color"}, mean, 1, "numpy mean")
    coarse = numpy.asarray(opened.reduce(10).resize((8, 6), Image.BILINEAR))
    yield pixels("placeholder", "pixel", ["waves", 160, 120], {"kind": "pixel"}, coarse, 2, "Pillow reduce and resize", 1)
    small = numpy.asarray(opened.reduce(2).resize((32, 24), Image.BILINEAR), float)
    soft = numpy.stack([gaussian_filter(small[..., one], 1, mode="nearest", truncate=6) for one in range(3)], -1)
    # A picture of 96 pixels is hashed as it is.
    fields = {"thumbhash": thumbhash_of(Image.fromarray(waves(96, 72))), "blurhash": blurhash.encode(Image.fromarray(waves(96, 72)), 4, 3)}
    yield fact("placeholder", "hashes", ["waves", 96, 72], {"kind": "color"}, {"fields": fields}, "blurhash and thumbhash")
    yield pixels("placeholder", "blur", ["waves", 160, 120], {"kind": "blur"}, soft, 2, "Pillow resize and scipy gaussian_filter", 2)


def facts():
    for part in [comparing, searching, describing, standing_in]:
        yield from part()
