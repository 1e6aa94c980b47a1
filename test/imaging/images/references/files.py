"""Files that another implementation wrote, and what has to be read in them or kept of them."""

import io
import pathlib
import subprocess
import tempfile
import zlib

import colour
import numpy
from PIL import Image

from generated import edge, muted, specks, veiled, waves
from record import fact, pixels

TO_PNG = {"format": "png"}


def written(picture, form, **options):
    file = io.BytesIO()
    picture.save(file, form, **options)
    return file.getvalue()


def decoded(file, mode="RGB"):
    return numpy.asarray(Image.open(io.BytesIO(file)).convert(mode))


def reading():
    """Pixels of each format as Pillow decodes them."""
    smooth, speckled, seen_through = (Image.fromarray(one) for one in [waves(32, 24), specks(21, 15), veiled(24, 18)])
    exact = [
        ("png", speckled, "PNG", {}),
        ("deflated tiff", speckled, "TIFF", {"compression": "tiff_adobe_deflate"}),
        ("lzw tiff", speckled, "TIFF", {"compression": "tiff_lzw"}),
        ("packbits tiff", speckled, "TIFF", {"compression": "packbits"}),
        ("fax tiff", speckled.convert("1"), "TIFF", {"compression": "group4"}),
        ("lossless webp", speckled, "WEBP", {"lossless": True}),
        ("gif", speckled.quantize(16), "GIF", {}),
        ("palette png", speckled.quantize(16), "PNG", {}),
        ("1-bit png", speckled.convert("1"), "PNG", {}),
        ("grey jpeg", smooth.convert("L"), "JPEG", {"quality": 90}),
        ("full colour jpeg", smooth, "JPEG", {"quality": 95, "subsampling": 0}),
        ("progressive jpeg", smooth, "JPEG", {"quality": 95, "subsampling": 0, "progressive": True}),
        ("coarse colour jpeg", smooth, "JPEG", {"quality": 80}),
        ("lossy webp", smooth, "WEBP", {"quality": 80}),
    ]
    for name, picture, form, options in exact:
        file = written(picture, form, **options)
        yield pixels("convert", f"reads {name}", file, TO_PNG, decoded(file), 1 if form == "JPEG" else 0, "Pillow")
    for name, form, options in [("png", "PNG", {}), ("lossless webp", "WEBP", {"lossless": True, "exact": True})]:
        file = written(seen_through, form, **options)
        yield pixels("convert", f"reads {name} with alpha", file, TO_PNG, decoded(file, "RGBA"), 0, "Pillow")


def writing():
    """Lossy files as Pillow writes and reads them at the same quality."""
    source = Image.fromarray(muted(64, 48))
    for form, quality, options in [("WEBP", 60, {"method": 5}), ("WEBP", 90, {"method": 5})]:
        file = written(source, form, quality=quality, **options)
        parameters = {"format": form.lower(), "quality": quality}
        size = [round(len(file) * 0.9), round(len(file) * 1.1)]
        yield pixels("convert", f"{form} at {quality}", ["muted", 64, 48], parameters, decoded(file), 20, "Pillow", bytes=size)
    for form, parameters in [("webp", {"lossless": True}), ("tiff", {}), ("avif", {"lossless": True}), ("png", {})]:
        parameters = {"format": form, **parameters}
        result = specks(61, 43)
        yield pixels("convert", f"exact {form}", ["specks", 61, 43], parameters, result, 0, "the formula")
    ground = Image.new("RGBA", (64, 48), "#ffffff")
    flat = Image.alpha_composite(ground, Image.fromarray(veiled(64, 48))).convert("RGB")
    parameters = {"format": "jpeg", "quality": 95, "background": "#ffffff"}
    yield pixels("convert", "a JPEG on white", ["veiled", 64, 48], parameters, numpy.asarray(flat), 8, "Pillow alpha_composite")


# Colour types of a PNG: what another encoder stores the same pixels as.
GREY, COLOUR, INDEXED, GREY_ALPHA = 0, 2, 3, 4


def storing():
    """Grey, palettes and few bits stay what they are."""
    source = Image.fromarray(waves(40, 30))
    grey = source.convert("L")
    faded = Image.merge("LA", [grey, Image.fromarray(veiled(40, 30)).getchannel(3)])
    deep = Image.fromarray((waves(40, 30)[..., 0].astype(numpy.uint16) * 201))
    files = [
        ("grey", grey, {}, [GREY, 8]),
        ("grey with alpha", faded, {}, [GREY_ALPHA, 8]),
        ("a palette of 16", source.quantize(16), {}, [INDEXED, 4]),
        ("a palette of 200", source.quantize(200), {}, [INDEXED, 8]),
        ("grey of 16 bits", deep, {}, [GREY, 16]),
        # Two colours by number take the room of two greys.
        ("black and white", source.convert("1"), {}, [INDEXED, 1]),
    ]
    for name, picture, options, stored in files:
        file = written(picture, "PNG", **options)
        expected = {"stored": stored}
        yield fact("flip", f"{name} stays", file, {"format": "png"}, expected, "Pillow")
        yield fact("rotate", f"{name} stays", file, {"angle": 90, "format": "png"}, expected, "Pillow")
        # A conversion that changes nothing answers the bytes of the file, whatever their kind.
        unchanged = {"stored": [GREY, 1]} if name == "black and white" else expected
        yield fact("convert", f"{name} stays", file, {"format": "png", "metadata": "keep"}, unchanged, "Pillow")
    yield fact("grayscale", "is stored as grey", ["waves", 40, 30], {}, {"stored": [GREY, 8]}, "Pillow convert")
    text = {"text": "x", "size": 12, "position": "center"}
    yield fact("text", "adds no alpha", ["waves", 40, 30], text, {"stored": [COLOUR, 8]}, "Pillow ImageDraw")


def frames_of(count):
    return [Image.fromarray(numpy.roll(waves(16, 12), 5 * index, 1)) for index in range(count)]


def moving():
    first, *more = frames_of(4)
    delays = [5, 10, 40, 1000]
    file = written(first, "WEBP", save_all=True, append_images=more, duration=delays, lossless=True)
    yield fact("flip", "short delays", file, {"format": "webp"}, {"delays": delays}, "Pillow")
    first, *more = [frame.quantize(16) for frame in frames_of(4)]
    animation = written(first, "GIF", save_all=True, append_images=more, duration=[50, 20, 40, 1000], disposal=1)
    opened = Image.open(io.BytesIO(animation))
    for index in [0, 2, 3]:
        opened.seek(index)
        result = numpy.asarray(opened.convert("RGB"))
        parameters = {"frame": index, "format": "png"}
        yield pixels("extract_frame", f"{index} of a GIF", animation, parameters, result, 0, "Pillow seek")
    opened = Image.open(io.BytesIO(file))
    for index in [0, 3]:
        opened.seek(index)
        result = numpy.asarray(opened.convert("RGB"))
        parameters = {"frame": index, "format": "png"}
        yield pixels("extract_frame", f"{index} of a WebP", file, parameters, result, 0, "Pillow seek")


def avif(pictures, *arguments):
    """A file of avifenc."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(pathlib.Path(folder) / f"{index}.png") for index in range(len(pictures))]
        for path, picture in zip(paths, pictures):
            Image.fromarray(picture).save(path)
        output = pathlib.Path(folder) / "out.avif"
        subprocess.run(["avifenc", "--speed", "6", *arguments, *paths, str(output)], check=True, capture_output=True)
        return output.read_bytes()


def tiled():
    """An AVIF of two tiles is one picture, and one of several moments shows the first."""
    whole = numpy.repeat(waves(32, 16), 4, 0).repeat(4, 1)
    file = avif([whole[:, :64], whole[:, 64:]], "--grid", "2x1", "--lossless", "--ignore-exif")
    yield fact("read_metadata", "a grid AVIF", file, {}, {"fields": {"frames": 1, "width": 128, "height": 64}}, "avifenc")
    yield pixels("convert", "a grid AVIF", file, TO_PNG, whole, 0, "avifenc")
    yield pixels("crop", "over the tiles of a grid AVIF", file, {"x": 50, "y": 9, "width": 40, "height": 30, **TO_PNG}, whole[9:39, 50:90], 0, "avifenc")
    sequence = avif([muted(32, 24), edge(32, 24)], "--lossless", "--fps", "2")
    yield pixels("convert", "an animated AVIF", sequence, TO_PNG, muted(32, 24), 0, "avifenc")


def chunk(name, body):
    return len(body).to_bytes(4, "big") + name + body + zlib.crc32(name + body).to_bytes(4, "big")


SPACES = {12: "Display P3", 9: "ITU-R BT.2020"}


def named_colours():
    """Colours that a file names by code points, in sRGB."""
    source = muted(16, 12)
    values = colour.cctf_decoding(source / 255, function="sRGB")
    plain = written(Image.fromarray(source), "PNG")
    for primaries, space in SPACES.items():
        light = colour.RGB_to_RGB(values, space, "sRGB", chromatic_adaptation_transform="Bradford")
        result = 255 * colour.cctf_encoding(numpy.clip(light, 0, 1), function="sRGB")
        png = plain[:33] + chunk(b"cICP", bytes([primaries, 13, 0, 1])) + plain[33:]
        yield pixels("convert", f"a PNG in {space}", png, TO_PNG, result, 1, "colour-science RGB_to_RGB")
        file = avif([source], "--cicp", f"{primaries}/13/0", "--lossless")
        yield pixels("convert", f"an AVIF in {space}", file, TO_PNG, result, 1, "colour-science RGB_to_RGB")
    # What is darker than half of white is not tone-mapped: 203 cd/m2 is white (BT.2408).
    dark = 30 * values
    encoded = colour.models.eotf_inverse_ST2084(dark)
    levels = Image.fromarray((encoded * 255).round().astype(numpy.uint8))
    steps = colour.models.eotf_ST2084(numpy.asarray(levels) / 255)
    result = 255 * colour.cctf_encoding(steps / 203, function="sRGB")
    file = written(levels, "PNG")
    png = file[:33] + chunk(b"cICP", bytes([1, 16, 0, 1])) + file[33:]
    yield pixels("convert", "dark tones of a PNG in PQ", png, TO_PNG, result, 1, "colour-science eotf_ST2084")


RIGHTS = {"IPTC:By-line": "A. Photographer", "IPTC:CopyrightNotice": "Held by A."}


def rights():
    """IPTC rights that exiftool wrote."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rights.jpg"
        path.write_bytes(written(Image.fromarray(waves(16, 16)), "JPEG", quality=60))
        tags = [f"-{name}={value}" for name, value in {**RIGHTS, "IPTC:City": "Bern"}.items()]
        subprocess.run(["exiftool", "-q", "-overwrite_original", *tags, str(path)], check=True)
        file = path.read_bytes()
    for form in ["jpeg", "tiff"]:
        fields = {"By-line": "A. Photographer", "Copyright Notice": "Held by A.", "City": None}
        parameters = {"metadata": "copyright", "format": form}
        yield fact("convert", f"IPTC rights in a {form}", file, parameters, {"fields": fields}, "exiftool")


def facts():
    for part in [reading, writing, storing, moving, tiled, named_colours, rights]:
        yield from part()
