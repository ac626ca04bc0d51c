"""Maps: who is on them, in which colour, where, and what a browser makes of them."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import pyke as package
from browser import Browser, needs_chromium
from conftest import Command
from graphs import TYPE
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import DamagedStore, UnknownTerm, UsageError
from pyke.graph.terms import Terms, Texts
from pyke.simulation import anneal
from pyke.use import figures
from pyke.use.maps import drawing, figure
from pyke.use.maps.drawing import View
from pyke.use.neighbours import search

EVIL = (
    '</script><script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">&amp;"\'$`'
)
STRANGE = ["$\\\\frac{", "_hidden", "日本語 🐙", "a\\nb\\u202e", EVIL.replace('"', '\\"')]


@pytest.fixture(scope="module")
def embedding(typed: Path) -> Embedding:
    return package.embed(typed, dimensions=8, seed=3)


@pytest.fixture(scope="module")
def stored(embedding: Embedding, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("maps") / "out"
    embedding.save(path)
    return path


def embedded(tmp_path: Path, text: str) -> Embedding:
    path = tmp_path / "graph.nt"
    path.write_text(text)
    return package.embed(path, dimensions=4)


# -- colours ----------------------------------------------------------------------------------------------------------


@given(st.sets(st.tuples(st.integers(0, 30), st.integers(0, 14))))
def test_a_subject_has_the_colour_of_its_rarest_class_that_has_one(
    pairs: set[tuple[int, int]],
) -> None:
    types = np.array(sorted(pairs), np.int32).reshape(-1, 2)
    classes = drawing.frequent_classes(types)
    ranks = drawing.ranked(types, classes, 31)
    frequency = Counter(cls for _, cls in pairs)
    for term in range(31):
        own = {cls for subject, cls in pairs if subject == term}
        coloured = sorted(own & set(classes), key=lambda cls: (frequency[cls], -cls))
        assert ranks[term] == (
            classes.index(coloured[0]) if coloured else len(classes) if own else len(classes) + 1
        )
    assert len(classes) <= len(drawing.PALETTE)
    assert set(range(len(classes))) <= set(ranks.tolist())  # no colour is for nobody
    assert [frequency[cls] for cls in classes] == sorted(
        (frequency[cls] for cls in classes), reverse=True
    )


def test_a_class_that_everything_is_of_gets_no_colour(tmp_path: Path) -> None:
    thing = "".join(
        f"<http://e/{i}> {TYPE} <http://e/Thing> .\n<http://e/{i}> {TYPE} <http://e/C{i % 3}> .\n"
        for i in range(30)
    )
    legend = drawing.choose(embedded(tmp_path, thing), View()).legend
    assert [group.name for group in legend if group.term] == ["C0", "C1", "C2"]


def test_the_legend_counts_every_term_once_the_most_frequent_first(embedding: Embedding) -> None:
    cast = drawing.choose(embedding, View())
    assert [(group.name, group.count) for group in cast.legend] == [
        ("baker", 21),
        ("smith", 20),
        ("weaver", 20),
        ("no type", len(embedding) - 61),
    ]
    assert sorted(cast.ids) == list(range(len(embedding)))
    for number, group in enumerate(cast.legend):
        assert (cast.groups == number).sum() == group.count
    assert len({group.colour for group in cast.legend}) == len(cast.legend)


def test_greys_are_drawn_below_colours_and_no_colour_below_another(embedding: Embedding) -> None:
    groups = drawing.choose(embedding, View()).groups.tolist()
    grey = groups.count(3)
    assert set(groups[:grey]) == {3}
    assert set(groups[grey : grey + 20]) == {0, 1, 2}


def test_more_classes_than_colours_are_other_types(tmp_path: Path) -> None:
    many = "".join(f"<http://e/{i}> {TYPE} <http://e/C{int(i**0.5)}> .\n" for i in range(144))
    legend = drawing.choose(embedded(tmp_path, many), View()).legend
    assert [group.name for group in legend] == [
        *(f"C{n}" for n in range(11, 2, -1)),
        "other types",
        "no type",
    ]
    assert legend[-2].count == 1 + 3 + 5


# -- who ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["smith", "SMITH", "http://e/smith", "<http://e/smith>"])
def test_only_some_types_are_shown(embedding: Embedding, name: str) -> None:
    cast = drawing.choose(embedding, View(only_types=[name]))
    assert {embedding.terms[i] for i in cast.ids} == {f"http://e/smith/{m}" for m in range(20)}
    assert [group.name for group in cast.legend] == ["smith"]


def test_types_are_given_one_by_one_and_may_have_commas(pyke: Command, tmp_path: Path) -> None:
    classes = enumerate(["A,B", "A,B", "C", "D"])
    embedded(
        tmp_path, "".join(f"<http://e/{i}> {TYPE} <http://e/{name}> .\n" for i, name in classes)
    ).save(tmp_path / "out")
    done = pyke(
        "plot",
        tmp_path / "out",
        "-o",
        tmp_path / "map.png",
        "--only-types",
        "A,B",
        "--only-types",
        "C",
        "--json",
    )
    assert [(group["name"], group["count"]) for group in json.loads(done.stdout)["legend"]] == [
        ("A,B", 2),
        ("C", 1),
    ]


def test_a_name_of_two_classes_is_refused_with_both(tmp_path: Path) -> None:
    twice = embedded(
        tmp_path, f"<http://e/a> {TYPE} <http://e/C> .\n<http://e/b> {TYPE} <http://f/C> .\n"
    )
    with pytest.raises(UsageError, match="<http://e/C>, <http://f/C>"):
        drawing.choose(twice, View(only_types=["C"]))


def test_a_class_goes_before_other_terms_of_its_name(tmp_path: Path) -> None:
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    chairs = "".join(
        f'<http://e/{i}> {TYPE} <http://e/Chair> .\n<http://e/{i}> {label} "Chair" .\n'
        for i in range(3)
    )
    assert len(drawing.choose(embedded(tmp_path, chairs), View(only_types=["Chair"])).ids) == 3


def test_a_type_that_nobody_has_is_refused_with_those_that_there_are(embedding: Embedding) -> None:
    with pytest.raises(UnknownTerm, match="Frequent types: baker, smith, weaver"):
        drawing.choose(embedding, View(only_types=["http://e/baker/1"]))


def test_a_term_that_is_not_shown_cannot_be_marked(embedding: Embedding) -> None:
    with pytest.raises(UsageError, match="none of the types"):
        drawing.choose(embedding, View(only_types=["smith"], highlight=["http://e/baker/1"]))


def test_a_sample_is_the_same_for_the_same_seed_and_has_what_is_marked(
    embedding: Embedding,
) -> None:
    samples = [
        drawing.choose(embedding, View(sample=10, seed=seed, highlight=["http://e/hermit"]))
        for seed in (1, 1, 2)
    ]
    assert [len(cast.ids) for cast in samples] == [10] * 3
    assert all(embedding.terms.id("http://e/hermit") in cast.ids for cast in samples)
    assert samples[0].ids.tolist() == samples[1].ids.tolist() != samples[2].ids.tolist()
    assert samples[0].left_out == len(embedding) - 10
    assert drawing.choose(embedding, View(sample=10**9)).left_out == 0


def test_the_best_connected_of_each_type_have_labels(tmp_path: Path) -> None:
    star = "".join(
        f"<http://e/{hub}> <http://e/p> <http://e/leaf{i}> .\n" for hub in "ab" for i in range(9)
    )
    kinds = "".join(
        f"<http://e/{who}> {TYPE} <http://e/{kind}> .\n"
        for who, kind in [("a", "A"), ("a2", "A"), ("b2", "B"), ("b", "B")]
    )
    cast = drawing.choose(embedded(tmp_path, star + kinds), View(labels=2))
    assert [text for _, text in cast.labels] == ["a", "b"]
    assert [
        text
        for _, text in drawing.choose(
            embedded(tmp_path, star + kinds), View(label=["http://e/b2"])
        ).labels
    ] == ["b2"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [("a" * 50, "a" * 33 + "…"), ("a\n\tb\x00  c\u202e", "a b c"), ("short", "short")],
)
def test_a_name_is_one_line_of_bounded_length(name: str, shown: str) -> None:
    assert drawing.shortened(name) == shown


# -- where --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [7, 1 << 16])
def test_principal_components_are_those_of_a_singular_value_decomposition(
    monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(search, "ROWS_AT_ONCE", rows)
    monkeypatch.setattr(search, "ROWS_PER_PRODUCT", rows)
    vectors = np.random.default_rng(0).normal(3, [5, 1, 9, 0.1], (60, 4)).astype(np.float32)
    _, _, axes = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
    truth = (vectors - vectors.mean(axis=0)) @ axes[:3].T
    found = figures.project(vectors, 3)
    assert np.allclose(np.abs(found), np.abs(truth), atol=1e-4)
    assert np.array_equal(found, figures.project(vectors, 3))


def test_fewer_dimensions_than_a_map_has_leave_the_rest_zero() -> None:
    assert np.allclose(
        figures.project(np.array([[1.0], [3.0]], np.float32), 3), [[-1, 0, 0], [1, 0, 0]]
    )


def test_a_settled_map_tells_types_apart(embedding: Embedding) -> None:
    (panel,) = drawing.layout(embedding, View(), Progress())
    of = np.full(len(embedding), -1)
    of[embedding.types[:, 0]] = embedding.types[:, 1]
    members = np.array(
        [i for i in range(len(embedding)) if of[i] >= 0 and "hermit" not in embedding.terms[i]]
    )
    distances = np.linalg.norm(
        panel.points[members][:, None] - panel.points[members][None], axis=2
    ) + 1e9 * np.eye(len(members))
    assert (of[members[distances.argmin(axis=1)]] == of[members]).mean() > 0.9


def test_the_start_of_a_map_is_that_of_the_embedding(embedding: Embedding) -> None:
    before, after = drawing.layout(embedding, View(method="pca", before_and_after=True), Progress())
    start = anneal.random_start(len(embedding), embedding.config())[:, :8]
    assert np.allclose(
        before.points, search.project_on(start, *search.principal_axes(embedding.vectors, 2))
    )
    assert np.allclose(after.points, figures.project(embedding.vectors))


def test_a_settled_map_stays_together(tmp_path: Path) -> None:
    # What one uses one owns, too: two contexts with the same members, which must not begin a rounding error apart.
    lines = [
        f"<http://e/{m}> <http://e/{p}> <http://e/tool{(7 * m + m // 9) % 40}> .\n"
        for m in range(300)
        for p in ("uses", "owns", "likes")
    ]
    (tmp_path / "tools.nt").write_text("".join(lines))
    points = drawing.layout(
        package.embed(tmp_path / "tools.nt", dimensions=8, seed=3), View(), Progress()
    )[0].points
    assert np.abs(points).max() < 20 * np.median(np.linalg.norm(points, axis=1))


def test_a_manifest_without_settings_is_told(embedding: Embedding) -> None:
    bare = Embedding(**{**vars(embedding), "manifest": {}})
    with pytest.raises(DamagedStore, match="settings"):
        drawing.layout(bare, View(), Progress())
    assert len(drawing.layout(bare, View(method="pca"), Progress())[0].points) == len(embedding)


# -- drawing ------------------------------------------------------------------------------------------------------------

places = st.tuples(st.floats(0, 300), st.floats(0, 200))
sizes = st.tuples(st.floats(1, 120), st.floats(4, 12))


@given(st.lists(st.tuples(places, sizes), max_size=40))
def test_labels_never_overlap_nor_leave_the_figure(
    labels: list[tuple[tuple[float, float], tuple[float, float]]],
) -> None:
    corners = figure.place_labels(
        [anchor for anchor, _ in labels], [size for _, size in labels], (0, 0, 300, 200)
    )
    boxes = [
        (x, y, x + w, y + h)
        for (x, y), (_, (w, h)) in (
            (c, label) for c, label in zip(corners, labels, strict=True) if c
        )
    ]
    for box in boxes:
        assert min(box[0], box[1]) >= 0
        assert box[2] <= 300
        assert box[3] <= 200
    for a, b in combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def figure_of(embedding: Embedding, **view: Any) -> figure.Drawing:
    chosen = View(method="pca", **view)
    cast = drawing.choose(embedding, chosen)
    panels = [
        figure.Panel("", panel.points[cast.ids])
        for panel in drawing.layout(embedding, chosen, Progress())
    ]
    return figure.map_figure("title", panels, cast.key(), cast.labels, cast.ringed)


def test_labels_in_a_figure_do_not_overlap_as_rendered(embedding: Embedding) -> None:
    drawing = figure_of(
        embedding,
        label=[f"http://e/{craft}/{m}" for craft in ("smith", "baker") for m in range(20)],
    )
    axes = drawing.figure.axes[0]
    boxes = [
        text.get_window_extent(drawing.figure.canvas.get_renderer()).extents for text in axes.texts
    ]
    assert len(boxes) + len(drawing.without_place) == 40
    assert len(boxes) >= 20
    for a, b in combinations(boxes, 2):
        assert (
            a[2] <= b[0] + 0.01 or b[2] <= a[0] + 0.01 or a[3] <= b[1] + 0.01 or b[3] <= a[1] + 0.01
        )


def test_a_pixel_has_the_mean_colour_of_its_points_and_is_the_more_opaque_the_more_there_are() -> (
    None
):
    points = np.array([[2.5, 2.5]] * 50 + [[7.5, 7.5]] * 4 + [[7.5, 2.5], [99, 99]], np.float32)
    groups = np.array([0] * 50 + [0, 1, 1, 1] + [1, 0], np.uint8)
    image = figure.density_image(
        points, figure.Key(groups, ["#ff0000", "#0000ff"], ["", ""]), (0, 0, 10, 10), 10, 10
    )
    assert image[2, 2, :3].tolist() == [255, 0, 0]
    assert image[7, 7, :3].tolist() == [64, 0, 191]
    assert image[2, 2, 3] > image[7, 7, 3] > image[2, 7, 3] > 0
    assert image[9, 0, 3] == 0
    assert image[9, 9, 3] == 0  # what lies outside is nowhere


def test_many_points_become_density_and_an_image_in_a_drawing(
    monkeypatch: pytest.MonkeyPatch, embedding: Embedding
) -> None:
    assert not figure_of(embedding).is_density
    vectors = figures.drawn(figure_of(embedding, labels=0).figure, "svg")
    monkeypatch.setattr(figure, "CIRCLES_UP_TO", 10)
    raster = figures.drawn(figure_of(embedding, labels=0).figure, "svg")
    monkeypatch.setattr(figure, "POINTS_UP_TO", 10)
    drawing = figure_of(embedding, labels=0)
    density = figures.drawn(drawing.figure, "svg")
    assert drawing.is_density
    assert (
        vectors.count(b"<use") > len(embedding) > max(raster.count(b"<use"), density.count(b"<use"))
    )
    assert [b"<image" in svg for svg in (vectors, raster, density)] == [False, True, True]


def test_a_million_points_are_one_small_picture() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(10**6, 2)).astype(np.float32)
    key = figure.Key(
        rng.integers(0, 9, 10**6).astype(np.uint8), drawing.PALETTE, [str(n) for n in range(9)]
    )
    png = figures.small_png(figure.map_figure("many", [figure.Panel("", points)], key, []).figure)
    assert len(png) < 500_000
    assert np.asarray(Image.open(io.BytesIO(png)).convert("L")).min() < 128


def test_fewer_colours_in_a_file_look_the_same(embedding: Embedding) -> None:
    figure = figure_of(embedding).figure
    full, small = figures.drawn(figure, "png"), figures.small_png(figure)
    shown, meant = (
        np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), int) for png in (small, full)
    )
    assert len(small) < len(full)
    assert np.abs(shown - meant).max() < 40
    assert np.abs(shown - meant).mean() < 0.2
    assert shown[0, 0].tolist() == [255, 255, 255]


def test_a_few_of_many_that_lie_far_out_are_counted_and_do_not_shrink_the_rest() -> None:
    points = np.random.default_rng(0).normal(size=(2000, 2)).astype(np.float32)
    points[:2] = 1e6
    key = figure.Key(np.zeros(2000, np.uint8), ["#000000"], ["all"])
    drawing = figure.map_figure("", [figure.Panel("", points)], key, [])
    assert drawing.outside == 2
    assert drawing.figure.axes[0].get_xlim()[1] < 10
    with_label = figure.map_figure("", [figure.Panel("", points)], key, [(0, "far")])
    assert with_label.outside == 0


@pytest.mark.parametrize("three_d", [False, True])
@pytest.mark.parametrize("form", ["png", "svg", "pdf", "html"])
def test_the_ending_says_what_is_written_and_every_run_writes_the_same(
    embedding: Embedding, tmp_path: Path, form: str, three_d: bool
) -> None:
    for name in ("a", "b"):
        drawn = embedding.plot(tmp_path / f"{name}.{form}", three_d=three_d)
    content = (tmp_path / f"a.{form}").read_bytes()
    assert content.startswith(
        {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF", "html": b"<!doctype"}[form]
    )
    assert content == (tmp_path / f"b.{form}").read_bytes()
    assert (drawn.points, drawn.bytes) == (len(embedding), len(content))


@pytest.mark.parametrize("form", ["png", "svg", "pdf", "html"])
def test_names_may_be_anything(tmp_path: Path, form: str) -> None:
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    lines = "".join(f'<http://e/{i}> {TYPE} <http://e/C{i}> .\n<http://e/{i}> {label} "{name}" .\n<http://e/C{i}> {TYPE} <http://e/K> .\n'
                    f'<http://e/C{i}> {label} "{name}" .\n' for i, name in enumerate(STRANGE))  # fmt: skip
    drawn = embedded(tmp_path, lines).plot(tmp_path / f"map.{form}", title="$\\frac{ " + EVIL)
    assert {"$\\frac{", "_hidden", "日本語 🐙"} <= {group.name for group in drawn.legend}


@pytest.mark.parametrize("method", drawing.METHODS)
@pytest.mark.parametrize("form", ["png", "html"])
@pytest.mark.parametrize("three_d", [False, True])
def test_one_point_makes_a_map(tmp_path: Path, form: str, method: str, three_d: bool) -> None:
    one = embedded(tmp_path, "<http://e/a> <http://e/a> <http://e/a> .\n")
    drawn = one.plot(tmp_path / f"map.{form}", method=method, three_d=three_d)
    assert drawn.points == 1
    assert "No subject has a type" in drawn.notes()[0]


def test_points_that_are_all_equal_make_a_map(
    tmp_path: Path, embedding: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in (0.0, 1e30):
        equal = Embedding(**{**vars(embedding), "vectors": np.full_like(embedding.vectors, value)})
        equal.plot(tmp_path / "points.png", method="pca", force=True)
        monkeypatch.setattr(figure, "POINTS_UP_TO", 10)
        equal.plot(tmp_path / "density.png", method="pca", force=True)
        monkeypatch.undo()


# -- the command --------------------------------------------------------------------------------------------------------


def test_the_command_tells_what_it_drew(pyke: Command, stored: Path, tmp_path: Path) -> None:
    done = pyke(
        "plot",
        stored,
        "-o",
        tmp_path / "map.png",
        "--highlight",
        "http://e/hermit",
        "--sample",
        "30",
        "--json",
    )
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert (told["points"], told["left_out"], told["drawn_as"]) == (30, 49, "points")
    assert [(group["name"], group["count"]) for group in told["legend"]][:1] == [("baker", 21)]
    shown = pyke("plot", stored, "-o", tmp_path / "map.png", "--sample", "30", "--force")
    assert "49 more terms are not shown" in shown.stdout
    assert re.search(r"baker +21", shown.stdout)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["-o", "map.xyz"], 2, "png, svg, pdf, html"),
        (["-o", "map"], 2, "png, svg, pdf, html"),
        (["-o", "there.png"], 73, "--force"),
        (["-o", "there.png/map.png"], 74, "cannot write"),
        (["-o", "map.png", "--method", "tsne"], 2, "pca, pyke"),
        (["-o", "map.png", "--sample", "0"], 2, "at least 1"),
        (["-o", "map.png", "--labels", "-1"], 2, "at least 0"),
        (["-o", "map.png", "--seed", "-1"], 2, "at least 0"),
        (["-o", "map.png", "--dpi", "5000"], 2, "20 to 1200"),
        (["-o", "map.png", "--highlight", "http://e/hermitt"], 66, "http://e/hermit"),
        (["-o", "map.png", "--label", "http://nowhere"], 66, "http://nowhere"),
        (["-o", "map.png", "--only-types", "smith", "--only-types", "Nobody"], 66, "Nobody"),
        (["-o", "map.html", "--before-and-after"], 2, "--animate"),
        (["-o", "map.html", "--dpi", "300"], 2, "png, svg, pdf"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_told(
    pyke: Command,
    stored: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.png").write_text("precious")
    done = pyke("plot", stored, *arguments)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["there.png"]
    assert (tmp_path / "there.png").read_text() == "precious"


# -- pages ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Browser]:
    """A browser in which nothing may go wrong, and that may ask nobody for anything."""
    browser.errors.clear()
    browser.requests.clear()
    yield browser
    assert browser.errors == []
    assert len(browser.requests) == 1


@needs_chromium
def test_pointing_at_a_term_shows_who_it_is(
    page: Browser, embedding: Embedding, tmp_path: Path
) -> None:
    embedding.plot(tmp_path / "map.html", highlight=["http://e/hermit"])
    page.open(tmp_path / "map.html")
    x, y = page.run("[across(data.ringed[0]), down(data.ringed[0])]")
    page.mouse("Moved", x, y)
    assert page.run("element('tip').innerText") == "http://e/hermit\nbaker"
    page.mouse("Moved", 2, 2)
    assert page.run("element('tip').hidden")


@needs_chromium
def test_a_click_in_the_legend_hides_a_type(
    page: Browser, embedding: Embedding, tmp_path: Path
) -> None:
    embedding.plot(tmp_path / "map.html", method="pca", labels=0)
    page.open(tmp_path / "map.html")

    def coloured() -> int:
        page.settle()
        script = """(([r, g, b]) => { const p = context.getImageData(0, 0, canvas.width, canvas.height).data; let n = 0;
            for (let i = 0; i < p.length; i += 4) n += Math.hypot(p[i] - r, p[i + 1] - g, p[i + 2] - b) < 5; return n; })(colours[1])"""
        return int(page.run(script))

    assert coloured() > 20
    x, y = page.run(
        "(({x, y}) => [x + 30, y + 5])(document.querySelectorAll('#legend label')[1].getBoundingClientRect())"
    )
    page.click(x, y)
    assert coloured() == 0
    page.click(x, y)
    assert coloured() > 20


@needs_chromium
def test_a_search_finds_terms_and_goes_there(
    page: Browser, embedding: Embedding, tmp_path: Path
) -> None:
    embedding.plot(tmp_path / "map.html")
    page.open(tmp_path / "map.html")
    page.run("element('search').focus()")
    page.type("SMITH/tool")
    assert page.run("element('count').textContent") == "4 found"
    page.run("document.querySelector('#found button').click()")
    assert page.run("names.terms[found[0]].startsWith('http://e/smith/tool')")
    assert page.run("[across(found[0]), down(found[0])]") == pytest.approx(
        page.run("[canvas.clientWidth / 2, canvas.clientHeight / 2]"), abs=0.1
    )


@needs_chromium
def test_the_wheel_zooms_where_the_mouse_is_and_dragging_moves(
    page: Browser, embedding: Embedding, tmp_path: Path
) -> None:
    embedding.plot(tmp_path / "map.html")
    page.open(tmp_path / "map.html")
    x, y = page.run("[across(0), down(0)]")
    scale = page.run("view.scale")
    page.mouse("Wheel", x, y, deltaX=0, deltaY=-300)
    assert page.run("view.scale") > 1.5 * scale
    assert page.run("[across(0), down(0)]") == pytest.approx(
        [x, y], abs=1.5
    )  # a mouse is at whole pixels
    page.mouse("Pressed", x, y, button="left", buttons=1)
    page.mouse("Moved", x + 30, y + 20, button="left", buttons=1)
    page.mouse("Released", x + 30, y + 20, button="left")
    assert page.run("[across(0), down(0)]") == pytest.approx([x + 30, y + 20], abs=2.5)


@needs_chromium
def test_three_dimensions_can_be_turned(
    page: Browser, embedding: Embedding, tmp_path: Path
) -> None:
    embedding.plot(tmp_path / "map.html", three_d=True)
    page.open(tmp_path / "map.html")
    before = page.run("[...flat.slice(0, 20)]")
    (panel,) = drawing.layout(embedding, View(three_d=True), Progress())
    assert before == pytest.approx(
        drawing.flat(panel.points[drawing.choose(embedding, View()).ids])[:10].ravel().tolist(),
        abs=1e-4,
    )
    page.mouse("Pressed", 300, 300, button="left", buttons=1)
    page.mouse("Moved", 380, 300, button="left", buttons=1)
    page.mouse("Released", 380, 300, button="left")
    assert page.run("[...flat.slice(0, 20)]") != pytest.approx(before, abs=1e-3)


@needs_chromium
def test_hostile_names_are_text_and_no_other_script_runs(browser: Browser, tmp_path: Path) -> None:
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    written = EVIL.replace("\\", "\\\\").replace('"', '\\"')
    named = "".join(f'<http://e/{who}> {label} "{written}" .\n' for who in "aC")
    lines = f"{named}<http://e/a> {TYPE} <http://e/C> .\n<http://e/b> {TYPE} <http://e/C> .\n"
    embedded(tmp_path, lines).plot(tmp_path / "map.html", title=EVIL, highlight=["http://e/a"])
    browser.errors.clear()
    browser.open(tmp_path / "map.html")
    x, y = browser.run("[across(data.ringed[0]), down(data.ringed[0])]")
    browser.mouse("Moved", x, y)
    browser.run("element('search').focus()")
    browser.type("hacked")
    assert browser.run("document.title") == EVIL
    assert browser.run("element('tip').children[0].textContent") == EVIL
    assert browser.run("document.querySelector('#found button').textContent") == EVIL
    assert (
        browser.run("document.querySelector('#legend label span:nth-of-type(2)').textContent")
        == EVIL
    )
    assert browser.errors == []
    assert browser.run("document.querySelectorAll('img, script').length") == 2
    # Were there a hole, the browser itself would refuse.
    browser.run(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.hacked = 1'}))"
    )
    assert browser.run("window.hacked") is None
    assert "Content Security Policy" in " ".join(browser.errors)


@needs_chromium
def test_a_page_with_many_points_names_some_and_says_so(
    page: Browser, embedding: Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "NAMED_UP_TO", 30)
    drawn = embedding.plot(tmp_path / "map.html", highlight=["http://e/hermit"])
    assert drawn.named == 30
    assert "30 points" in drawn.notes()[0]
    page.open(tmp_path / "map.html")
    assert "the terms of 30 of them are in this page" in page.run(
        "document.querySelector('aside p').textContent"
    )
    assert page.run("names.terms[nameOf[data.ringed[0]]]") == "http://e/hermit"
    told = page.run(
        "Array.from({length: count}, (_, i) => nameOf[i] < 0 ? null : names.terms[nameOf[i]])"
    )
    ids = drawing.choose(embedding, View(highlight=["http://e/hermit"])).ids
    assert [embedding.terms[i] for i, term in zip(ids, told, strict=True) if term] == [
        term for term in told if term
    ]
    assert len([term for term in told if term]) == 30


@needs_chromium
def test_a_page_of_very_many_points_is_drawn_as_density(page: Browser, tmp_path: Path) -> None:
    n = 40_000
    points = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
    terms = Terms.of(f"http://e/{i}" for i in range(n))
    many = Embedding(
        points,
        terms,
        np.zeros((0, 2), np.int32),
        np.zeros((0, 3), np.int32),
        Texts.of([]),
        np.zeros(0, np.int32),
        {},
    )
    many.plot(tmp_path / "map.html", method="pca")
    page.open(tmp_path / "map.html")
    assert page.run("document.documentElement.dataset.drawn") == "density"
    assert page.run("names.terms.length") == n
    page.run("zoom(40)")
    page.settle()
    assert page.run("document.documentElement.dataset.drawn") == "discs"
