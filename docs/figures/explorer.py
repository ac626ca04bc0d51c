"""Screenshots of `pyke serve` for README and docs: python docs/figures/explorer.py [--data DIR].

Needs Chromium, the extra `serve` and the development libraries. Writes explorer-*.png beside it.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.append(str(ROOT / "tests"))


def main() -> None:
    """Draw all pictures."""
    import browser as browsers
    import pyke
    from browser import Browser
    from serving import serving

    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    data = arguments.parse_args().data
    browsers.TIMEOUT = 300.0  # a busy computer takes its time
    embedding = pyke.embed(data / "iswc.nt.gz", on_error="skip")
    large = pyke.embed(data / "wordnet30.nt.gz")
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(Path(folder))
        browser.resize(1400, 860)
        with serving(embedding) as port:
            address = f"http://127.0.0.1:{port}/"
            open_page(browser, address, "light")
            term = embedding.lookup().find("http://data.semanticweb.org/person/oren-etzioni")
            browser.run(f"location.hash = '{term}'; explorer.panel.predicts.add('types')")
            browser.wait("!!document.querySelector('[data-kind=types] .guess')")
            browser.run("document.querySelector('[data-kind=types]').scrollIntoView(false)")
            browser.run("document.querySelector('[data-kind=types] details').open = true")
            browser.run("document.getElementById('panel').scrollTop = 0")
            keep(browser, "panel")
            open_page(browser, address, "dark")
            browser.run(f"location.hash = '{term}'")
            browser.wait("!!document.querySelector('#near')")
            browser.run("document.querySelector('#panel .actions button:nth-child(2)').click()")
            browser.wait("!!document.getElementById('forces')")
            labels(browser)
            keep(browser, "springs")
            browser.run("location.hash = ''; document.getElementById('physics').click()")
            browser.wait("document.documentElement.dataset.film === 'ready'")
            browser.run("explorer.physics.pause(); explorer.physics.show(12)")
            keep(browser, "physics")
        with serving(large) as port:
            open_page(browser, f"http://127.0.0.1:{port}/", "light")
            keep(browser, "wordnet30")
        browser.close()


def open_page(browser: Any, address: str, theme: str) -> None:
    """Open the page in a theme, and wait for the simulation and the labels."""
    scheme = [{"name": "prefers-color-scheme", "value": theme}]
    browser.call("Emulation.setEmulatedMedia", features=scheme)
    browser.visit(f"{address}?{theme}")
    browser.wait("explorer.state.shown.layout === 'simulation' && explorer.chart.part === 1")
    labels(browser)


def labels(browser: Any) -> None:
    """Wait until the labels and all points of this view are there."""
    browser.wait("!explorer.state.labelling && explorer.chart.gl.isWhole")
    browser.settle()


def keep(browser: Any, name: str) -> None:
    """Write a screenshot with few colours, those of the legend among them: it loads fast."""
    path = HERE / f"explorer-{name}.png"
    labels(browser)
    browser.screenshot(path)
    picture = Image.open(io.BytesIO(path.read_bytes())).convert("RGB")
    legend = "".join(browser.run("explorer.chart.colours")).replace("#", "")
    most = picture.quantize(44, kmeans=1, dither=Image.Dither.NONE).getpalette() or []
    colours = Image.new("P", (1, 1))
    colours.putpalette([*most[: 3 * 44], *bytes.fromhex(legend)])
    few = picture.quantize(palette=colours, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    print(path, path.stat().st_size)  # noqa: T201


if __name__ == "__main__":
    main()
