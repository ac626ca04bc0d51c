"""Draw the pictures of docs/how-to/plot.md: maps, the page and the animation.

    python docs/figures/maps.py folder/with/graphs

The folder has iswc.nt.gz, codex-m.nt.gz and wordnet30.nt.gz. The script embeds each graph with the
default settings and writes the pictures to docs/how-to. The page needs Chromium; without it that
picture stays as it is.
"""

from __future__ import annotations

import argparse
import base64
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyke

TARGET = Path(__file__).parent.parent / "how-to"
WEB_DPI = 108  # 1440 × 810 pixels
PICTURES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "iswc": [
        ("plot-iswc.png", {"dpi": WEB_DPI}),
        ("plot-iswc-clusters.png", {"dpi": WEB_DPI, "colour_by": "cluster"}),
        ("plot-annealing.gif", {"animate": True, "sample": 300, "size": (960, 540)}),
    ],
    "codex-m": [
        ("plot-codex-m.png", {"dpi": WEB_DPI, "before_and_after": True, "labels": 0}),
    ],
    "wordnet30": [("plot-wordnet30.png", {"dpi": 90})],
}
SEARCH = "protégé"


def draw_page(embedding: pyke.Embedding, folder: Path) -> None:
    """Draw the page with a search and the description of a point."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
    from browser import CHROMIUM, Browser

    if not CHROMIUM:
        sys.stderr.write("plot-page.png is unchanged: Chromium is missing\n")
        return
    embedding.plot(folder / "map.html")
    browser = Browser(folder / "profile")
    try:
        browser.open(folder / "map.html")
        browser.run("element('search').focus()")
        browser.type(SEARCH)
        x, y = browser.run("[across(found[0]), down(found[0])]")
        browser.mouse("Moved", x, y)
        browser.settle()
        picture = browser.call("Page.captureScreenshot", format="png")["data"]
    finally:
        browser.close()
    write_small(base64.b64decode(picture), TARGET / "plot-page.png")


def write_small(png: bytes, path: Path) -> None:
    """Write a PNG with few colours."""
    from PIL import Image

    picture = Image.open(io.BytesIO(png)).convert("RGB")
    few = picture.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def main() -> None:
    """Embed the graphs and draw all pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graphs", type=Path, help="folder with the graphs")
    graphs = parser.parse_args().graphs
    for name, pictures in PICTURES.items():
        embedding = pyke.embed(graphs / f"{name}.nt.gz", on_error="skip")
        for file, options in pictures:
            embedding.plot(TARGET / file, force=True, **options)
        if name == "iswc":
            with tempfile.TemporaryDirectory() as folder:
                draw_page(embedding, Path(folder))


if __name__ == "__main__":
    main()
