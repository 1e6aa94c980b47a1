"""Computes what the ops have to make of small generated pictures and files, by other implementations than the service's own.

    pip install pillow==10.4.0 numpy==2.4.6 scipy==1.17.1 scikit-image==0.26.0 blurhash-python==1.2.2 thumbhash-python==1.0.1 colour-science==0.4.7
    apt-get install libavif-bin libimage-exiftool-perl libraqm0 fonts-dejavu-core fonts-liberation
    python3 compute.py        (writes facts/*.json; then npx biome check --write facts)

The pictures are made by the same formulas in generated.py and pictures.ts; files that another implementation wrote stand in
the fact. A fact is what an op must answer: a few pixels, as x, y and the channels of each, with the greatest difference that
rounding may make (within), or numbers of the whole picture.
"""

import json
import pathlib
import subprocess
from importlib.metadata import version

import files
import layers
import letters
import measures
import places
import sizes
import tones

PACKAGES = ["pillow", "numpy", "scipy", "scikit-image", "blurhash-python", "thumbhash-python", "colour-science"]
PROGRAMS = {"avifenc": ["avifenc", "--version"], "exiftool": ["exiftool", "-ver"]}
GROUPS = {"sizes": sizes, "places": places, "tones": tones, "layers": layers, "letters": letters, "files": files, "measures": measures}

tools = {name: version(name) for name in PACKAGES}
for name, command in PROGRAMS.items():
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    tools[name] = lines[0].replace("Version: ", "").split(" (")[0]
folder = pathlib.Path(__file__).parent / "facts"
folder.mkdir(exist_ok=True)
for name, group in GROUPS.items():
    written = {"tools": tools, "facts": list(group.facts())}
    (folder / f"{name}.json").write_text(json.dumps(written, ensure_ascii=False, indent=2) + "\n")
