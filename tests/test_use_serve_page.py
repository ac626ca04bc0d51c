"""The explorer in a real browser: everything that a person does, and labels made to harm."""

from __future__ import annotations

import csv
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import Browser, needs_chromium
from graphs import LABEL, TYPE, crafts, graph_of
from pyke.config import Config
from pyke.embedding.embedding import Embedding
from pyke.pipeline.embed import embed_graph
from pyke.use.serve.pages import files
from serving import serving

PAYLOADS = [
    "<script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "<svg onload=window.hacked=1>",
    "'\"><script>window.hacked=1</script>",
    "javascript:window.hacked=1",
    "</textarea><script>window.hacked=1</script>",
    "<iframe srcdoc='<script>parent.hacked=1</script>'>",
    "<a href=javascript:window.hacked=1>x</a>",
    "<body onload=window.hacked=1>",
    "${window.hacked=1}",
    "{{constructor.constructor('hacked=1')()}}",
    "<style>@import 'http://evil.example/x.css'</style>",
    "<link rel=stylesheet href=//evil.example>",
    "<base href=http://evil.example/>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "\\u003cscript\\u003ewindow.hacked=1\\u003c/script\\u003e",
    "<object data=//evil.example>",
    "<math><mtext></mtext><script>window.hacked=1</script></math>",
    "<details open ontoggle=hacked=1>",
    "<input autofocus onfocus=window.hacked=1>",
]
MARKS = ["", "\u202e", "\u0000", "\u001b[31m", "\U0001f4a5"]
HOSTILE = [payload + mark for payload in PAYLOADS for mark in MARKS]


def _escaped(label: str) -> str:
    return "".join(f"\\U{ord(c):08X}" for c in label)


def _with_labels() -> str:
    lines = [f'<http://e/{n}> <{LABEL}> "{_escaped(label)}" .\n' for n, label in enumerate(HOSTILE)]
    for n in range(len(HOSTILE)):
        lines.append(f"<http://e/{n}> {TYPE} <http://e/kind{n % 3}> .\n")
        lines.append(f"<http://e/{n}> <http://e/knows> <http://e/{(n * 7 + 1) % 100}> .\n")
    lines += [f'<http://e/kind{n}> <{LABEL}> "{_escaped(HOSTILE[n])}" .\n' for n in range(3)]
    lines.append(f'<http://e/knows> <{LABEL}> "{_escaped(HOSTILE[1])}" .\n')
    lines.append(f"<javascript:window.hacked=1> {TYPE} <http://e/kind1> .\n")
    return "".join(lines)


@pytest.fixture(scope="module")
def embedding() -> Embedding:
    ada = f'<http://e/baker/1> <{LABEL}> "Ada Lovelace" .\n'
    return embed_graph(graph_of(crafts() + ada), Config(dimensions=8))


@pytest.fixture(scope="module")
def other(embedding: Embedding) -> Embedding:
    return embed_graph(graph_of(crafts()), Config(dimensions=6, seed=5))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("browser"))
    browser.resize(1300, 800)
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def address(embedding: Embedding, other: Embedding) -> Iterator[str]:
    with serving(embedding, other) as port:
        yield f"http://127.0.0.1:{port}/"


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Browser]:
    """The page of the crafts; afterwards there were no errors and no foreign requests."""
    browser.errors.clear()
    browser.requests.clear()
    browser.call("Page.navigate", url="about:blank")
    browser.visit(f"{address}?layout=components")
    browser.settle()
    yield browser
    assert browser.errors == []
    foreign = [one for one in browser.requests if not one.startswith((address, "blob:", "about:"))]
    assert foreign == []


def _place(page: Browser, name: str) -> tuple[float, float]:
    """The middle of an element."""
    script = f"(r => [r.x + r.width / 2, r.y + r.height / 2])({name}.getBoundingClientRect())"
    x, y = page.run(script)
    return x, y


def _click(page: Browser, name: str) -> None:
    page.click(*_place(page, name))


def _element(name: str) -> str:
    return f"document.querySelector({json.dumps(name)})"


def _search(page: Browser, text: str) -> None:
    page.run("document.activeElement.blur()")
    page.press("/")
    page.run("document.getElementById('search').select()")
    page.type(text)
    page.wait("document.querySelectorAll('#found li').length > 0")


@needs_chromium
def test_search_panel_neighbour_map(page: Browser) -> None:
    _search(page, "ada")
    page.press("Enter")
    page.wait("document.querySelector('#panel h2')?.textContent === 'Ada Lovelace'")
    assert page.run("document.querySelector('#panel a.iri').href") == "http://e/baker/1"
    assert page.run("document.querySelector('#panel .chip').textContent") == "baker"
    first = page.run("document.querySelector('#near button span').textContent")
    _click(page, _element("#near button"))
    page.wait(f"document.querySelector('#panel h2').textContent === {json.dumps(first)}")
    _click(page, _element("#panel .actions .main"))
    page.settle()
    number = page.run("Number(location.hash.slice(1))")
    middle = page.run(
        "(f => [(innerWidth + f.left - f.right) / 2, (innerHeight + f.top - f.bottom) / 2])"
        "(explorer.chart.insets())"
    )
    shown = page.run(
        f"(r => [explorer.chart.across(r), explorer.chart.down(r)])(explorer.chart.row({number}))"
    )
    assert shown == pytest.approx(middle, abs=1)
    page.run("history.back()")
    page.wait("document.querySelector('#panel h2').textContent === 'Ada Lovelace'")
    page.press("Escape")
    page.wait("document.getElementById('panel').hidden")


@needs_chromium
def test_a_point_shows_its_name_and_opens_its_panel(page: Browser) -> None:
    row = page.run("explorer.chart.nearest(innerWidth / 2, innerHeight / 2, 500)")
    x, y = page.run(f"[explorer.chart.across({row}), explorer.chart.down({row})]")
    page.mouse("Moved", x, y)
    page.wait("!document.getElementById('tip').hidden")
    page.click(x, y)
    page.wait(f"location.hash === '#{row}' && !document.getElementById('panel').hidden")


@needs_chromium
def test_search_works_with_the_keyboard_alone(page: Browser) -> None:
    _search(page, "tool")
    assert page.run("document.getElementById('search').getAttribute('aria-expanded')") == "true"
    page.press("ArrowDown", 40)
    chosen = page.run(
        "document.getElementById(document.getElementById('search')"
        ".getAttribute('aria-activedescendant')).querySelector('b').textContent"
    )
    page.press("Enter")
    page.wait(f"document.querySelector('#panel h2')?.textContent === {json.dumps(chosen)}")
    assert page.run("document.activeElement.id") == "panel"
    page.press("Escape")
    page.wait("document.getElementById('panel').hidden")


def _pixels(page: Browser) -> int:
    """The number of pixels with points."""
    found = page.run(
        """(() => {
          const chart = explorer.chart, copy = document.createElement("canvas");
          chart.seen = "";
          if (chart.gl) chart.gl.running = null;
          chart.draw();
          [copy.width, copy.height] = [chart.canvas.width, chart.canvas.height];
          const pen = copy.getContext("2d");
          pen.drawImage(chart.canvas, 0, 0);
          const data = pen.getImageData(0, 0, copy.width, copy.height).data;
          let count = 0;
          for (let i = 3; i < data.length; i += 4) if (data[i]) count++;
          return count;
        })()"""
    )
    return int(found)


@needs_chromium
def test_the_legend_filters_the_points(page: Browser) -> None:
    before = _pixels(page)
    _click(page, _element("#groups .group"))
    page.settle()
    some = _pixels(page)
    assert 0 < some < before
    assert page.run("document.querySelector('#groups .group').ariaChecked") == "false"
    page.run("document.querySelectorAll('.only')[1].click()")
    page.settle()
    assert page.run("explorer.chart.hidden.size") == page.run("explorer.chart.legend.length") - 1
    assert 0 < _pixels(page) < some
    page.run("document.querySelectorAll('.only')[1].click()")
    page.settle()
    assert _pixels(page) == before


@needs_chromium
@pytest.mark.parametrize("by", ["cluster", "namespace", "type"])
def test_colours_show_types_clusters_or_namespaces(page: Browser, by: str) -> None:
    _click(page, _element(f"#by [value={by}]"))
    page.wait(f"!!{_element(f'#by [value={by}][aria-checked=true]')}")
    page.wait("[...document.querySelectorAll('.group em')].length === explorer.chart.legend.length")
    total = page.run("explorer.chart.legend.reduce((sum, one) => sum + one.count, 0)")
    assert total == page.run("explorer.state.info.terms")


@needs_chromium
def test_the_search_for_clusters_can_be_cancelled(page: Browser) -> None:
    page.run(
        """(ask => { window.fetch = (address, ...rest) => address.includes("by=cluster")
             ? Promise.resolve(new Response(
                 '{"status": "computing", "stage": "neighbours", "part": 0.25}', {status: 202}))
             : ask(address, ...rest); })(window.fetch)"""
    )
    _click(page, _element("#by [value=cluster]"))
    page.wait("!!document.querySelector('#notice button')")
    shown = page.run("document.getElementById('notice').innerText")
    assert "Finding clusters … neighbours 25 %" in shown
    _click(page, _element("#notice button"))
    page.wait("document.getElementById('notice').hidden")
    assert page.run(_element("#by [value=type]") + ".getAttribute('aria-checked')") == "true"
    assert page.run("explorer.chart.legend.some(one => one.name === 'baker')")


@needs_chromium
@pytest.mark.parametrize(("tool", "key"), [("lasso", "l"), ("box", "b")])
def test_a_selection_is_listed_and_saved(
    page: Browser, tool: str, key: str, tmp_path: Path, embedding: Embedding
) -> None:
    page.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    page.run("document.activeElement.blur()")
    page.press(key)
    assert page.run("document.getElementById('overlay').dataset.tool") == tool
    corners = [(400, 90), (1280, 90), (1280, 790), (400, 790)]
    route = corners if tool == "lasso" else [corners[0], corners[2]]
    page.mouse("Pressed", *route[0], button="left", buttons=1, clickCount=1)
    for x, y in route:
        page.mouse("Moved", x, y, button="left", buttons=1)
    page.mouse("Released", *route[-1], button="left", clickCount=1)
    page.wait("!document.getElementById('selected').hidden")
    count = page.run("explorer.selected.ids.length")
    assert 0.5 * len(embedding) < count <= len(embedding)
    page.wait(f"document.querySelectorAll('#selected li').length === {min(count, 200)}")
    page.run("document.getElementById('export-csv').click()")
    saved = tmp_path / "selection.csv"
    limit = time.monotonic() + 20
    while not (saved.exists() and saved.stat().st_size):
        assert time.monotonic() < limit
    with saved.open(newline="") as file:
        rows = list(csv.DictReader(file))
    ids = page.run("explorer.selected.ids")
    assert [row["iri"] for row in rows] == [embedding.terms[one] for one in ids]
    assert {row["types"] for row in rows} >= {"baker", "smith"}
    page.press("Escape")
    page.press("m")


@needs_chromium
def test_the_slider_plays_the_simulation(page: Browser, embedding: Embedding) -> None:
    page.run("document.activeElement.blur()")
    page.press("p")
    page.wait("document.documentElement.dataset.film === 'ready'")
    page.wait("explorer.physics.frame > 1")  # it plays
    _click(page, _element("#play"))
    frame = page.run("explorer.physics.frame")
    page.settle()
    assert page.run("explorer.physics.frame") == frame
    last = page.run("explorer.physics.film.frames - 1")
    slider = "document.getElementById('frame')"
    for value in (0, last):
        page.run(f"{slider}.value = {value}; {slider}.dispatchEvent(new Event('input'))")
        page.settle()
        iterations = len(embedding.manifest["history"])
        expected = iterations if value else 0
        assert page.run("document.getElementById('when').textContent") == f"iteration {expected}"
    figures = page.run("document.getElementById('figures').innerText")
    assert [word for word in ("energy", "objective", "displacement") if word in figures]
    # The end of the film is the map of the principal components.
    film = page.run("[...explorer.chart.to.slice(0, 30)]")
    _click(page, _element("#film-close"))
    page.wait("document.documentElement.dataset.film === undefined")
    page.wait("explorer.chart.count === explorer.state.info.terms")
    assert film == pytest.approx(page.run("[...explorer.chart.to.slice(0, 30)]"), abs=1e-4)


@needs_chromium
def test_springs_and_repellers_are_drawn(page: Browser) -> None:
    _search(page, "ada")
    page.press("Enter")
    page.wait("document.querySelector('#panel h2')?.textContent === 'Ada Lovelace'")
    _click(page, _element("#panel .actions button:nth-child(2)"))
    page.wait("!!document.getElementById('forces')")
    lines = page.run("explorer.chart.lines.map(one => [one.dashed === true, one.wide])")
    assert {dashed for dashed, _ in lines} == {True, False}
    text = page.run("document.getElementById('forces').innerText")
    assert "uses tool" in text
    assert "σ" in text
    _click(page, _element("#panel .actions button:nth-child(2)"))
    page.wait("!document.getElementById('forces')")
    _click(page, _element("#panel .actions button:nth-child(2)"))
    page.wait("!!document.getElementById('forces')")
    page.press("Escape")
    page.wait("document.getElementById('panel').hidden")
    page.settle()
    assert page.run("[explorer.chart.lines.length, explorer.chart.marks.length]") == [0, 0]


@needs_chromium
@pytest.mark.parametrize(("kind", "text"), [("types", "baker"), ("facts", "")])
def test_predictions_are_computed_when_someone_asks(page: Browser, kind: str, text: str) -> None:
    _search(page, "ada")
    page.press("Enter")
    page.wait("document.querySelector('#panel h2')?.textContent === 'Ada Lovelace'")
    price = page.run(f"document.querySelector('[data-kind={kind}] .quiet:not(h3 *)').textContent")
    assert re.match(r"Needs about 0\.\d GB of memory, once for all terms\.", price)
    page.run(f"document.querySelector('[data-kind={kind}] .link').click()")
    page.wait(
        f"!!document.querySelector('[data-kind={kind}] .guess, [data-kind={kind}] p')"
        f" && !document.querySelector('[data-kind={kind}] progress')"
    )
    shown = page.run(f"document.querySelector('[data-kind={kind}]').innerText")
    assert text in shown
    assert "error" not in shown.lower()
    page.run("explorer.panel.predicts.clear()")


@needs_chromium
def test_predictions_can_be_cancelled(page: Browser) -> None:
    page.run(
        """(ask => { window.fetch = (address, ...rest) => address.startsWith("/api/types")
             ? Promise.resolve(new Response(
                 '{"status": "computing", "stage": "springs", "part": 0.25}', {status: 202}))
             : ask(address, ...rest); })(window.fetch)"""
    )
    _search(page, "ada")
    page.press("Enter")
    page.wait("document.querySelector('#panel h2')?.textContent === 'Ada Lovelace'")
    page.run("document.querySelector('[data-kind=types] .link').click()")
    page.wait("document.querySelector('[data-kind=types] progress')?.value === 0.25")
    assert re.search(r"\d+ s … springs", page.run(_element("[data-kind=types]") + ".innerText"))
    page.run("document.querySelector('[data-kind=types] .link').click()")
    page.settle()
    assert page.run(_element("[data-kind=types] .link") + ".textContent") == "Predict types"
    assert page.run("document.activeElement.textContent") == "Predict types"
    assert not page.run("explorer.panel.predicts.has('types')")


@needs_chromium
def test_two_embeddings_are_compared_side_by_side(page: Browser) -> None:
    _click(page, _element("#compare"))
    page.wait("document.documentElement.dataset.comparing === 'yes'")
    page.wait("document.querySelectorAll('#selected li').length > 10")
    assert "Moved most" in page.run("document.getElementById('selected').innerText")
    before = page.run("[explorer.compare.twin.across(0), explorer.chart.across(0)]")
    page.run("explorer.chart.zoom(2)")
    page.settle()
    after = page.run("[explorer.compare.twin.across(0), explorer.chart.across(0)]")
    assert after != pytest.approx(before, abs=1)
    assert page.run("explorer.compare.twin.view === explorer.chart.view")
    _click(page, _element("#selected li button"))
    page.wait("!document.getElementById('panel').hidden")
    places = page.run(
        """['head', 'overlay', 'overlay-other', 'panel', 'selected'].map(id => {
             const {left, right} = document.getElementById(id).getBoundingClientRect();
             return [left, right]; })"""
    )
    (_, head), (one, middle), (other, end), (panel, _), (listed, _) = places
    assert head <= one < middle == other < end <= panel == listed  # no card covers a map
    assert end - other == pytest.approx(middle - one)
    assert _top(page, (panel + 150, 300)) == "panel"
    page.run("document.getElementById('compare').click()")
    page.wait("document.querySelectorAll('#stage canvas').length === 2")


def _top(page: Browser, place: tuple[float, float]) -> str:
    """The id of the card that a person sees at a place."""
    found: str = page.run(f"document.elementFromPoint({place[0]}, {place[1]}).closest('.card').id")
    return found


@needs_chromium
@pytest.mark.parametrize("width", [1300, 1000])
def test_no_card_covers_another(page: Browser, width: int) -> None:
    page.resize(width, 800)
    page.run("location.hash = '1'")
    page.wait("!document.getElementById('panel').hidden")
    page.settle()
    boxes = page.run(
        """['head', 'legend', 'tools', 'panel'].map(id => {
             const {left, top, right, bottom} = document.getElementById(id).getBoundingClientRect();
             return [left, top, right, bottom]; })"""
    )
    page.resize(1300, 800)
    for at, one in enumerate(boxes):
        for other in boxes[:at]:
            apart = one[0] >= other[2] or one[1] >= other[3]
            assert apart or one[2] <= other[0] or one[3] <= other[1], (one, other)


@needs_chromium
def test_three_dimensions_turn(page: Browser) -> None:
    _click(page, _element("#dimensions [value='3']"))
    page.wait("explorer.chart.flatDimensions === 3")
    page.settle()
    before = page.run("[0, 1, 2, 3].map(i => explorer.chart.across(i))")
    page.mouse("Pressed", 700, 300, button="left", buttons=1, clickCount=1)
    page.mouse("Moved", 780, 340, button="left", buttons=1)
    page.mouse("Released", 780, 340, button="left", clickCount=1)
    page.settle()
    assert page.run("[0, 1, 2, 3].map(i => explorer.chart.across(i))") != pytest.approx(
        before, abs=1e-3
    )
    assert _pixels(page) > 100


@needs_chromium
def test_the_layouts_and_themes_change(page: Browser) -> None:
    page.run("document.querySelector('#layout [value=simulation]').click()")
    page.wait("document.querySelector('#notice').hidden && explorer.chart.part === 1")
    start = page.run("document.documentElement.dataset.theme")
    _click(page, _element("#theme"))
    assert page.run("document.documentElement.dataset.theme") != start
    _click(page, _element("#theme"))


@needs_chromium
def test_labels_are_cut_between_words(page: Browser) -> None:
    short = "import('/static/dom.js').then(dom => dom.shortened({}))"
    assert (
        page.run(short.format("'Weaving the Open Linked Data', 24")) == "Weaving the Open Linked…"
    )
    assert page.run(short.format("'Weaving the Open Linked Data', 28")).endswith(" Data")
    assert page.run(short.format("'Donaudampfschifffahrt', 10")) == "Donaudamp…"


@needs_chromium
def test_who_wants_less_motion_gets_less(page: Browser) -> None:
    still = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    page.call("Emulation.setEmulatedMedia", features=still)
    page.run(
        "explorer.parts = [];"
        "explorer.chart.onDraw.push(() => explorer.parts.push(explorer.chart.part))"
    )
    page.run("document.querySelector('#layout [value=simulation]').click()")
    page.wait("explorer.state.shown.layout === 'simulation'")
    page.settle()
    assert set(page.run("explorer.parts")) == {1}  # no points on their way
    page.press("p")
    page.wait("document.documentElement.dataset.film === 'ready'")
    page.settle()
    assert page.run("document.getElementById('play').textContent") == "Play"
    assert page.run("explorer.physics.frame") == 0
    page.run("explorer.physics.stop()")
    page.call("Emulation.setEmulatedMedia", features=[])


@needs_chromium
def test_the_map_moves_with_the_keyboard(page: Browser) -> None:
    page.run("document.getElementById('overlay').focus()")
    before = page.run("({...explorer.chart.view})")
    page.press("ArrowLeft", 37)
    page.press("+")
    after = page.run("({...explorer.chart.view})")
    assert after["scale"] == pytest.approx(1.35 * before["scale"])
    assert after["x"] < before["x"]
    page.press("0")
    page.press("Enter")
    page.wait("!document.getElementById('panel').hidden")


@needs_chromium
def test_a_map_with_too_many_points_shows_a_sample_and_the_details_of_a_part(
    page: Browser,
) -> None:
    page.run("explorer.state.info.limits.points = 30")
    page.run("document.querySelector('#layout [value=components]').click()")
    page.wait("explorer.chart.count === 30")
    page.run("explorer.chart.zoom(6, explorer.chart.across(0), explorer.chart.down(0))")
    page.wait("explorer.state.detail")
    box = page.run("explorer.chart.box()")
    x, y = page.run("[explorer.chart.to[0], explorer.chart.to[1]]")
    assert box[0] <= x <= box[2]
    assert box[1] <= y <= box[3]
    page.run("explorer.chart.seeAll()")
    page.wait("!explorer.state.detail && explorer.chart.count === 30")


@needs_chromium
def test_without_webgl_the_map_is_drawn_on_a_plain_canvas(page: Browser, address: str) -> None:
    script = page.call(
        "Page.addScriptToEvaluateOnNewDocument",
        source="const get = HTMLCanvasElement.prototype.getContext;"
        "HTMLCanvasElement.prototype.getContext = function (kind, ...more) {"
        " return kind.startsWith('webgl') ? null : get.call(this, kind, ...more); };",
    )
    page.visit(f"{address}?layout=components&plain")
    page.wait("document.documentElement.dataset.drawn === 'canvas'")
    page.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])
    assert "no WebGL" in page.run("document.getElementById('notice').textContent")
    assert _pixels(page) > 100


@needs_chromium
def test_on_a_phone_the_panel_takes_the_place_of_the_legend(page: Browser) -> None:
    page.resize(390, 800)
    page.run("document.getElementById('fold').click()")
    shown = "document.getElementById('legend').getBoundingClientRect().height > 0"
    assert page.run(shown)
    free = page.run("explorer.chart.insets().bottom")
    page.run("location.hash = '#3'")
    page.wait("!document.getElementById('panel').hidden")
    assert not page.run(shown)
    high = page.run("document.getElementById('panel').getBoundingClientRect().top")
    assert page.run("explorer.chart.insets().bottom") == 800 - high
    page.run("location.hash = ''")
    page.wait("document.getElementById('panel').hidden")
    assert page.run("explorer.chart.insets().bottom") == free
    page.resize(1300, 800)


@needs_chromium
def test_labels_that_come_late_are_not_drawn_on_the_film(page: Browser) -> None:
    page.run(
        """(ask => { window.fetch = async (address, ...rest) => {
             const answer = await ask(address, ...rest);
             if (address.startsWith("/api/labels")) {
               window.late = true;
               while (window.late) await new Promise(done => setTimeout(done, 20));
             }
             return answer; }; })(window.fetch)"""
    )
    page.run("explorer.chart.zoom(1.2)")
    page.wait("window.late === true")
    page.run("document.getElementById('physics').click()")
    page.wait("document.documentElement.dataset.film === 'ready'")
    page.run("window.late = false")
    page.wait("!explorer.state.labelling")
    assert page.run("explorer.chart.labels.length") == 0
    page.run("document.getElementById('film-close').click()")


@needs_chromium
def test_on_a_phone_nothing_is_wider_than_the_screen(page: Browser) -> None:
    page.resize(390, 844, mobile=True)
    page.settle()
    assert page.run("document.documentElement.scrollWidth") <= 390
    _search(page, "ada")
    page.press("Enter")
    page.wait("!document.getElementById('panel').hidden")
    panel = "document.getElementById('panel').getBoundingClientRect()"
    box = page.run(f"(r => [r.left, r.right, r.top])({panel})")
    assert box[0] >= 0
    assert box[1] <= 390
    assert box[2] > 250  # the map stays visible
    page.press("Escape")
    page.resize(1300, 800)


@needs_chromium
def test_a_hundred_hostile_labels_stay_text(browser: Browser) -> None:
    assert len(HOSTILE) == 100
    embedding = embed_graph(graph_of(_with_labels()), Config(dimensions=6))
    with serving(embedding) as port:
        address = f"http://127.0.0.1:{port}/"
        browser.call("Page.navigate", url="about:blank")
        browser.run("1")  # the previous page is gone
        browser.errors.clear()
        browser.requests.clear()
        browser.visit(f"{address}?layout=components")
        kinds = "script, iframe, object, base, link, meta, style"
        elements = f"document.querySelectorAll('{kinds}').length"
        before = browser.run(elements)
        for n, label in enumerate(HOSTILE):
            term = embedding.terms.find(f"http://e/{n}")
            browser.run(f"location.hash = '{term}'")
            browser.wait(f"document.querySelector('#panel a.iri')?.textContent === 'http://e/{n}'")
            shown = browser.run("document.querySelector('#panel h2').textContent")
            assert shown == re.sub("[\0\x1b\u202e]", "·", label)
        evil = embedding.terms.find("javascript:window.hacked=1")
        browser.run(f"location.hash = '{evil}'")
        browser.wait("document.querySelector('#panel .iri')?.textContent.startsWith('javascript')")
        assert browser.run("document.querySelector('#panel .iri').tagName") == "SPAN"
        for text in ("<script", "onerror", "hacked"):
            _search(browser, text)
        for row in range(0, 100, 9):
            x, y = browser.run(f"[explorer.chart.across({row}), explorer.chart.down({row})]")
            browser.mouse("Moved", x, y)
        browser.settle()
        assert browser.run("window.hacked") is None
        assert browser.run(elements) == before
        assert browser.run("document.querySelectorAll('img').length") == 1  # the icon
        assert browser.errors == []
        assert not [one for one in browser.requests if not one.startswith(address)]
        # A script that is injected nevertheless is blocked by the browser.
        blocked = browser.run(
            "(() => { try { document.body.innerHTML = '<img src=x>'; return 'no'; }"
            " catch (error) { return error.name; } })()"
        )
        assert blocked == "TypeError"


@needs_chromium
def test_the_page_about_the_api_lists_all_addresses(page: Browser, address: str) -> None:
    page.visit(f"{address}api")
    assert "GET /api/nearest" in page.run("document.body.innerText")


def _contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG 2 defines it."""

    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", ["light", "dark"])
def test_texts_have_enough_contrast(name: str) -> None:
    css = files()["/static/style.css"].content.decode()
    blocks = re.findall(r":root(?:\[data-theme=dark\])? \{(.*?)\}", css, re.DOTALL)
    block = blocks[name == "dark"]
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})\b", block))
    colours |= {key: "#ffffff" for key, _ in re.findall(r"--(on-accent): (#fff);", block)}
    for ground in ("ground", "soft"):
        for text in ("ink", "quiet", "accent"):
            assert _contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    assert _contrast(colours["on-accent"], colours["accent"]) >= 4.5
