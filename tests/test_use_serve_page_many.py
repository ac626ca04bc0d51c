"""The explorer in a real browser with many points: samples first, then all of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from browser import Browser, needs_chromium
from graphs import graph_of
from pyke.config import Config
from pyke.embedding.embedding import Embedding
from pyke.graph.terms import Terms, Texts
from pyke.pipeline.embed import embed_graph
from serving import serving

COUNT = 25_000
# Colours of all pixels, after the page or a script has drawn.
PIXELS = """(() => {
  const {gl} = explorer.chart.gl, {width, height} = gl.canvas;
  const data = new Uint8Array(4 * width * height);
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, data);
  let sum = 0, many = 0;
  data.forEach((value, at) => {
    sum = (31 * sum + value) % 1000000007;
    many += at % 4 === 3 && value > 0;
  });
  return [sum, many];
})()"""


@pytest.fixture(scope="module")
def many() -> Embedding:
    small = embed_graph(
        graph_of("<http://e/a> <http://e/p> <http://e/b> .\n"), Config(dimensions=2)
    )
    names = [f"http://e/{n}" for n in range(COUNT)]
    of_type = np.column_stack([np.arange(0, COUNT, 2), np.arange(0, COUNT, 2) % 4])
    return Embedding(
        np.random.default_rng(0).normal(size=(COUNT, 3)).astype(np.float32),
        Terms.of(names),
        of_type.astype(np.int32),
        small.triples[:0],
        Texts.of(["first"]),
        np.zeros(1, np.int32),
        small.manifest,
    )


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("browser"))
    browser.resize(900, 600)
    yield browser
    browser.close()


@pytest.fixture
def page(browser: Browser, many: Embedding) -> Iterator[Browser]:
    browser.errors.clear()
    browser.requests.clear()
    with serving(many) as port:
        browser.visit(f"http://127.0.0.1:{port}/?layout=components")
        _rest(browser)
        yield browser
        browser.call("Page.navigate", url="about:blank")
    assert browser.errors == []


def _rest(page: Browser) -> None:
    """Wait until all points are drawn."""
    page.wait("explorer.chart.gl.isWhole && !explorer.chart.gl.isBusy && !explorer.chart.waiting")


# Nothing is drawn, and no number of points is chosen, but by the script itself.
HOLD = """explorer.chart.redraw = () => {}; explorer.chart.gl.watch = () => {};
  explorer.chart.gl.running = null; clearTimeout(explorer.chart.rest);"""
RELEASE = "delete explorer.chart.redraw; delete explorer.chart.gl.watch;"


def _draw(page: Browser, most: int, script: str = "") -> tuple[int, int]:
    """Draw at most some points at once; return the checksum and number of drawn pixels."""
    sum_, many = page.run(
        f"""(() => {{ {HOLD} explorer.chart.gl.most = {most}; explorer.chart.seen = ""; {script}
             explorer.chart.draw();
             return {PIXELS}; }})()"""
    )
    return sum_, many


@needs_chromium
def test_the_first_picture_is_a_sample(page: Browser) -> None:
    asked = [one.split("?")[1] for one in page.requests if "/api/points" in one]
    assert len(asked) == 2
    assert ["limit=20000" in one for one in asked] == [True, False]
    assert page.run("explorer.chart.count") == COUNT
    assert page.run("explorer.chart.gl.count") == COUNT


@needs_chromium
def test_a_moving_map_shows_a_sample_and_all_points_at_rest(page: Browser) -> None:
    whole = _draw(page, 10**6)
    assert page.run("explorer.chart.gl.isWhole")
    sample = _draw(page, 3_000)
    assert not page.run("explorer.chart.gl.isWhole")
    assert 0 < sample[1] < whole[1]
    parts = page.run(
        f"""(() => {{ const {{gl}} = explorer.chart; let parts = 0;
             for (; !gl.isWhole; parts++) gl.refine();
             return [parts, {PIXELS}]; }})()"""
    )
    assert parts == [5, list(whole)]  # 6,000 points at a time, and the same pixels in the end
    page.run(f"{RELEASE} explorer.chart.gl.most = 3000; explorer.chart.move(5, 5)")
    page.wait("!explorer.chart.gl.isWhole")
    _rest(page)
    assert page.run("explorer.chart.gl.gl.getError()") == 0


@needs_chromium
def test_the_number_of_points_follows_the_time_of_a_picture(page: Browser) -> None:
    found = page.run(
        """(async () => { const {gl} = explorer.chart, most = [];
             const wait = () => new Promise(done => {
               const look = () => { if (gl.isBusy) setTimeout(look, 2); else done(); }; look(); });
             explorer.chart.redraw = () => {};
             for (const tick of [0, 500]) {  // milliseconds by a clock that stands, or runs
               let time = 0;
               performance.now = () => (time += tick);
               gl.running = null;
               gl.most = 5000;
               explorer.chart.seen = ""; explorer.chart.draw();
               await wait();
               most.push(gl.most);
             }
             delete performance.now;
             delete explorer.chart.redraw;
             return most; })()"""
    )
    assert found == [20_000, 4_472]  # four times as many at most, and √(5000 · 4000)


@needs_chromium
def test_the_sample_has_grey_points_as_well(page: Browser) -> None:
    drawn = page.run(
        """(() => { const {gl} = explorer.chart, calls = [], draw = gl.gl.drawElements.bind(gl.gl);
             [gl.most, gl.running] = [1000, null];
             gl.gl.drawElements = (...given) => { calls.push(given[1]); draw(...given); };
             explorer.chart.seen = ""; explorer.chart.draw();
             delete gl.gl.drawElements;
             return [calls, gl.grey / gl.count]; })()"""
    )
    (grey, named), share = drawn
    assert grey + named == pytest.approx(1_000, abs=2)
    assert grey / 1_000 == pytest.approx(share, abs=0.01)


@needs_chromium
def test_marks_and_labels_do_not_draw_the_points_again(page: Browser) -> None:
    page.run(
        "(gl => { const {draw} = gl; gl.calls = 0;"
        "  gl.draw = (...given) => { gl.calls++; draw.apply(gl, given); }; })(explorer.chart.gl)"
    )
    page.run("explorer.chart.marks = [1, 2, 3]; explorer.chart.redraw()")
    page.settle()
    assert page.run("explorer.chart.gl.calls") == 0
    page.run("explorer.chart.move(1, 0)")
    page.wait("explorer.chart.gl.calls === 1")


@needs_chromium
def test_only_points_near_the_view_are_drawn(page: Browser) -> None:
    page.run("explorer.chart.zoom(5)")
    page.wait("explorer.chart.gl.count < 25000")
    _rest(page)
    near = _draw(page, 10**6)
    assert page.run("explorer.chart.gl.count") < COUNT / 2
    everything = _draw(page, 10**6, "explorer.chart.arrange(null); explorer.chart.cull = () => {};")
    assert near == everything
    page.run(f"{RELEASE} delete explorer.chart.cull; explorer.chart.seeAll()")
    page.wait("explorer.chart.gl.count === 25000")


@needs_chromium
def test_a_lost_graphics_card_leaves_a_picture(page: Browser) -> None:
    page.run("explorer.chart.gl.gl.getExtension('WEBGL_lose_context').loseContext()")
    page.wait("document.documentElement.dataset.drawn === 'canvas'")
    assert page.run("explorer.chart.gl") is None
    assert page.run(
        """(canvas => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data
             .some(value => value > 0))(explorer.chart.canvas)"""
    )
