"""Letters, as FreeType and HarfBuzz draw them through Pillow: where their ink lies, line by line, and how much of it there is."""

import numpy
from PIL import Image, ImageDraw, ImageFont, features

from generated import generated
from record import fact, pixels

FOLDER = "/usr/share/fonts/truetype/"
FONTS = {
    "DejaVu Sans": "dejavu/DejaVuSans.ttf",
    "DejaVu Sans Bold": "dejavu/DejaVuSans-Bold.ttf",
    "DejaVu Serif": "dejavu/DejaVuSerif.ttf",
    "Liberation Mono": "liberation/LiberationMono-Regular.ttf",
}
GROUND = 40
# Letters are drawn so much larger and made smaller again: exact shapes, that no hint has moved to whole pixels.
FINER = 8
# From this share of ink on, a pixel counts as inked.
INKED = 0.25
# Each letter is set at a whole pixel: a line of many letters is some pixels wider or narrower for it.
WIDE = 4.5
BY = "Pillow ImageFont"
assert features.check("raqm"), "Pillow without raqm shapes no Arabic"


def fitted(words, font, room):
    """Lines that fit, broken between words, and within a word where it alone is too long."""
    line = ""
    for word in words:
        longer = f"{line} {word}".strip()
        if font.getlength(longer) <= room:
            line = longer
            continue
        if line:
            yield line
        while font.getlength(word) > room:
            most = max(count for count in range(1, len(word)) if font.getlength(word[:count]) <= room)
            yield word[:most]
            word = word[most:]
        line = word
    yield line


def letters(text, font, room, position, metrics):
    """
    The mask of a text that is laid out in a room, cut to its ink.
    metrics: how far a line reaches above and below its baseline.
    """
    lines = [line for paragraph in text.split("\n") for line in fitted(paragraph.split(" "), font, room)]
    ascent, descent = metrics
    margin = font.size
    mask = Image.new("L", (room + 2 * margin, len(lines) * (ascent + descent) + 2 * margin))
    free = {"east": 1, "west": 0}.get(position[-4:], 0.5)
    for index, line in enumerate(lines):
        left = margin + free * (room - font.getlength(line))
        baseline = margin + ascent + index * (ascent + descent)
        ImageDraw.Draw(mask).text((left, baseline), line, 255, font, anchor="ls")
    return mask.crop(mask.getbbox())


def reduced(mask):
    """A mask on whole pixels."""
    edges = [-(-edge // FINER) * FINER for edge in mask.size]
    whole = Image.new("L", edges)
    whole.paste(mask)
    return whole.reduce(FINER)


def placed(mask, edges, margin, position):
    """A mask as large as the picture, with the letters at one of nine places within its margins."""
    across = {"east": 1, "west": 0}.get(position[-4:], 0.5)
    down = 0 if position.startswith("north") else 1 if position.startswith("south") else 0.5
    whole = Image.new("L", edges)
    free = [edges[axis] - 2 * margin - mask.size[axis] for axis in range(2)]
    whole.paste(mask, (round(margin + across * free[0]), round(margin + down * free[1])))
    return numpy.asarray(whole) / 255


def runs(inked):
    """The first and the last of each run of what is inked."""
    edges = numpy.flatnonzero(numpy.diff(numpy.concatenate([[0], inked.astype(int), [0]])))
    return [(int(start), int(end) - 1) for start, end in edges.reshape(-1, 2)]


def boxes(mask):
    """Left, top, right and bottom of the ink of each line: rows without ink part them."""
    inked = mask >= INKED
    for top, bottom in runs(inked.any(1)):
        columns = numpy.flatnonzero(inked[top : bottom + 1].any(0))
        yield [int(columns[0]), top, int(columns[-1]), bottom]


def written(name, text, edges=(300, 120), across=1.5, down=1.5, share=0.04, **given):
    parameters = {"font": "DejaVu Sans", "size": 32, "position": "southeast", "margin": 16, "color": "#ffffff", **given}
    file, size = FOLDER + FONTS[parameters["font"]], parameters["size"]
    # Lines lie whole pixels apart.
    metrics = [edge * FINER for edge in ImageFont.truetype(file, size).getmetrics()]
    font = ImageFont.truetype(file, size * FINER)
    margin, position = parameters["margin"], parameters["position"]
    mask = letters(text, font, (edges[0] - 2 * margin) * FINER, position, metrics)
    turn = parameters.get("rotate", 0)
    if turn:
        mask = mask.rotate(-turn, Image.Resampling.BICUBIC, expand=True)
        mask = mask.crop(mask.getbbox())
    ink = placed(reduced(mask), edges, margin, position)
    answers = {
        "ink": {
            "ground": GROUND,
            "boxes": list(boxes(ink)),
            "within": [across, down],
            "amount": round(float(ink.sum()) * parameters.get("opacity", 1), 1),
            "share": share,
        }
    }
    return fact("text", name, ["plain", *edges, GROUND], {"text": text, **parameters}, answers, BY)


PLACES = ["northwest", "north", "northeast", "west", "center", "east", "southwest", "south", "southeast"]
LINES = "Hill\nHighland hills\nHigh"
LONG = "Half of the light that falls through old glass bends before it lands on the hall floor"


def facts():
    for position in PLACES:
        yield written(f"in the {position}", "High", position=position)
    for position in ["west", "center", "east", "southwest", "north"]:
        yield written(f"lines in the {position}", LINES, (320, 180), position=position)
    for position in ["northwest", "south", "east"]:
        yield written(f"wrapped in the {position}", LONG, (400, 260), across=WIDE, position=position, size=28)
    yield written("a word broken", "Hamburgermuseumsmagazine", (220, 200), across=WIDE, position="center")
    for size in [12, 20, 48, 90]:
        yield written(f"{size} px high", "Hbdg", (360, 140), size=size, across=2, position="center", share=0.08 if size < 20 else 0.04)
    for font in ["DejaVu Serif", "Liberation Mono", "DejaVu Sans Bold"]:
        yield written(font, "Hill bold", font=font, position="northwest")
    yield written("pairs set closer", "AVATAR To", (320, 120), position="northwest", size=40)
    yield written("Hebrew", "שלום עולם", position="northeast")
    yield written("Arabic", "السلام عليكم", position="northeast", across=2.5)
    for position in ["northwest", "center", "southeast"]:
        yield written(f"lines from the right in the {position}", "שלום\nשלום (עולם) 25!\nעולם", (320, 180), across=2.5, down=2.5, position=position)
        yield written(f"lines from both sides in the {position}", "Hill\nשלום עולם\nHighland hills", (320, 180), across=2.5, down=2.5, position=position)
    yield written("a quarter turn", "Hold", (160, 200), rotate=90, position="northwest")
    yield written("a slant", "Holding", (260, 200), rotate=30, position="center", across=2, down=2)
    yield written("half solid", "Hold", opacity=0.5, position="west")
    yield written("no margin", "Hold", margin=0, position="southeast")
    solid = numpy.full((160, 120, 3), GROUND, numpy.uint8)
    for name, color, opacity, colours in [("red", "#ff0000", 1, (255, 0, 0)), ("half blue", "#3366ff", 0.5, (0x33, 0x66, 0xFF))]:
        # The stem of a letter that is 40 px wide in the middle of the picture.
        stem = numpy.round(GROUND + (numpy.array(colours) - GROUND) * opacity)
        parameters = {"text": "|", "font": "DejaVu Sans Bold", "size": 120, "color": color, "opacity": opacity, "position": "center", "margin": 0}
        yield fact("text", f"{name} ink", ["plain", 120, 160, GROUND], parameters, {"size": [120, 160], "within": 1, "pixels": " ".join(str(int(one)) for one in [60, 80, *stem])}, BY)
