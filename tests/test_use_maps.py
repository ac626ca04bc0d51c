"""Maps: selected terms, colours, coordinates, figures, and pages in a real browser."""

from __future__ import annotations

import base64
import html
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

import pyke as package
from browser import Browser, needs_chromium
from conftest import Command
from graphs import TYPE, Recorded
from pyke.core.arrays import Matrix
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import DamagedStore, UnknownTerm, UsageError
from pyke.graph.terms import Terms, Texts
from pyke.simulation import anneal
from pyke.use import figures
from pyke.use.clusters.describe import cluster
from pyke.use.maps import (
    Drawn,
    View,
    classes,
    figure,
    groups,
    names,
    points,
    selection,
    spread,
    view,
    web_page,
)
from pyke.use.maps.labels import place_labels
from pyke.use.maps.layout import flat, layout, selected_panel
from pyke.use.maps.selection import choose
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


# -- colours ---------------------------------------------------------------------------------------


@given(st.sets(st.tuples(st.integers(0, 30), st.integers(0, 14)), min_size=1))
def test_a_subject_has_the_colour_of_its_smallest_class_with_a_colour(
    pairs: set[tuple[int, int]],
) -> None:
    types = np.array(sorted(pairs), np.int32)
    tree = classes.ClassTree(types, np.repeat(np.unique(types[:, 1]), 2).reshape(-1, 2))
    candidates = tree.largest()
    masks = tree.masks(candidates, 31)
    patterns = classes.Patterns.of(masks, len(candidates))
    chosen = classes.most_distinctive(patterns, 4)
    sizes = Counter(kind for _, kind in pairs)
    coloured = [candidates[bit] for bit in chosen]
    colours = classes.smallest(masks, patterns.sizes(), chosen)
    for term in range(31):
        own = {kind for subject, kind in pairs if subject == term}
        if own:
            best = [kind for kind in coloured if kind in own]
            smallest = min((sizes[kind] for kind in best), default=-1)
            assert (sizes[coloured[colours[term]]] if colours[term] >= 0 else -1) == smallest
        else:
            assert masks[term] == -1
    assert set(colours[masks >= 0].tolist()) >= set(range(len(chosen)))  # every colour is used
    assert len(chosen) == min(4, len(chosen))


def test_colours_go_to_the_classes_that_distinguish_most_points() -> None:
    # 100 works, of which 18 are singles; 60 insects, 50 plants and 5 rocks. All are things.
    sizes = {"Thing": 215, "Work": 100, "Insect": 60, "Plant": 50, "Single": 18, "Rock": 5}
    kinds = list(sizes)
    own = [["Work", "Single"][: 1 + (i < 18)] for i in range(100)]
    own += [["Insect"]] * 60 + [["Plant"]] * 50 + [["Rock"]] * 5
    types = np.array(
        [(i, kinds.index(kind)) for i, of in enumerate(own) for kind in ("Thing", *of)], np.int32
    )
    tree = classes.ClassTree(types, np.repeat(np.unique(types[:, 1]), 2).reshape(-1, 2))
    candidates = tree.largest()
    patterns = classes.Patterns.of(tree.masks(candidates, 215), len(candidates))
    for colours, expected in [
        (3, ["Work", "Insect", "Plant"]),
        (4, ["Work", "Insect", "Plant", "Single"]),
    ]:
        chosen = classes.most_distinctive(patterns, colours)
        assert [kinds[candidates[bit]] for bit in chosen] == expected


def test_superclasses_in_the_graph_get_colours_and_can_be_chosen(tmp_path: Path) -> None:
    above = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
    lines = [f"<http://e/{i}> {TYPE} <http://e/C{i % 20}> .\n" for i in range(100)]
    lines += [f"<http://e/C{n}> {above} <http://e/{'AB'[n % 2]}> .\n" for n in range(20)]
    lines += [f"<http://e/{kind}> {above} <http://e/Thing> .\n" for kind in "AB"]
    lines += [f"<http://e/Thing> {above} <http://e/A> .\n"]  # a cycle: B is an A, too
    made = embedded(tmp_path, "".join(lines))
    legend = {group.name: group.count for group in choose(made, View()).legend}
    assert legend["B"] == 50 - 5 * sum(f"C{n}" in legend for n in range(1, 20, 2))
    few = choose(made, View(classes=["B", "http://e/C1"])).legend
    assert [(group.name, group.count) for group in few[:3]] == [
        ("B", 45),
        ("C1", 5),
        ("other types", 50),
    ]
    assert len(choose(made, View(only_types=["B"])).ids) == 50


def test_classes_of_one_name_are_told_apart_by_prefix_or_host(tmp_path: Path) -> None:
    lines = "".join(
        f"<http://e/{i}> {TYPE} <{space}Class> .\n"
        for i, space in enumerate(["http://www.w3.org/2002/07/owl#", "http://e/"])
    )
    names = [group.name for group in choose(embedded(tmp_path, lines), View()).legend]
    assert names[:2] == ["owl:Class", "Class (e)"] or names[:2] == ["Class (e)", "owl:Class"]


def test_colours_can_show_namespaces(tmp_path: Path) -> None:
    lines = "".join(
        f"<http://e/people/{i}> <http://xmlns.com/foaf/0.1/knows> <http://e/town/{i % 3}> .\n"
        f"_:b{i} <http://xmlns.com/foaf/0.1/knows> <http://e/people/{i}> .\n"
        for i in range(9)
    )
    legend = choose(embedded(tmp_path, lines), View(colour_by="namespace")).legend
    assert [(group.name, group.count) for group in legend] == [
        ("e/people/", 9),
        ("e/town/", 3),
        ("foaf:", 1),
        ("blank nodes", 9),
    ]
    deep = "".join(
        f"<http://e/people/{i}/name> <http://e/p> <http://f/x/{i}> .\n" for i in range(99)
    )
    legend = choose(embedded(tmp_path, deep), View(colour_by="namespace")).legend
    assert [(group.name, group.count) for group in legend] == [
        ("f/x/", 99),
        ("e/people/", 99),
        ("e/", 1),
    ]


def test_colours_can_show_clusters(embedding: Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "cluster", lambda e, progress: cluster(e, 10, 3))
    found = cluster(embedding, 10, 3)
    chosen = choose(embedding, View(colour_by="cluster"))
    assert chosen.heading == "cluster"
    assert [(group.name, group.count) for group in chosen.legend] == [
        *((one.name, one.size) for one in found.clusters),
        ("no cluster", len(embedding) - sum(one.size for one in found.clusters)),
    ]


def test_a_class_of_all_subjects_gets_no_colour(tmp_path: Path) -> None:
    thing = "".join(
        f"<http://e/{i}> {TYPE} <http://e/Thing> .\n<http://e/{i}> {TYPE} <http://e/C{i % 3}> .\n"
        for i in range(30)
    )
    legend = choose(embedded(tmp_path, thing), View()).legend
    assert [group.name for group in legend if group.term] == ["C0", "C1", "C2"]


def test_the_legend_counts_every_term_once_and_is_sorted_by_frequency(embedding: Embedding) -> None:
    chosen = choose(embedding, View())
    assert [(group.name, group.count) for group in chosen.legend] == [
        ("baker", 21),
        ("smith", 20),
        ("weaver", 20),
        ("no type", len(embedding) - 61),
    ]
    assert sorted(chosen.ids) == list(range(len(embedding)))
    for number, group in enumerate(chosen.legend):
        assert (chosen.groups == number).sum() == group.count
    assert len({group.colour for group in chosen.legend}) == len(chosen.legend)


def test_grey_points_are_drawn_first_and_colours_in_random_order(embedding: Embedding) -> None:
    groups = choose(embedding, View()).groups.tolist()
    grey = groups.count(3)
    assert set(groups[:grey]) == {3}
    assert set(groups[grey : grey + 20]) == {0, 1, 2}


def test_classes_without_a_colour_are_other_types(tmp_path: Path) -> None:
    many = "".join(f"<http://e/{i}> {TYPE} <http://e/C{int(i**0.5)}> .\n" for i in range(144))
    legend = choose(embedded(tmp_path, many), View()).legend
    assert [group.name for group in legend] == [
        *(f"C{n}" for n in range(11, 2, -1)),
        "other types",
        "no type",
    ]
    assert legend[-2].count == 1 + 3 + 5


# -- selected terms --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["smith", "SMITH", "http://e/smith", "<http://e/smith>"])
def test_only_types_selects_subjects_of_a_class(embedding: Embedding, name: str) -> None:
    chosen = choose(embedding, View(only_types=[name]))
    assert {embedding.terms[i] for i in chosen.ids} == {f"http://e/smith/{m}" for m in range(20)}
    assert [group.name for group in chosen.legend] == ["smith"]


def test_only_types_can_be_repeated_and_names_may_contain_commas(
    pyke: Command, tmp_path: Path
) -> None:
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


def test_the_error_of_an_ambiguous_class_names_all_candidates(tmp_path: Path) -> None:
    twice = embedded(
        tmp_path, f"<http://e/a> {TYPE} <http://e/C> .\n<http://e/b> {TYPE} <http://f/C> .\n"
    )
    with pytest.raises(UsageError, match="<http://e/C>, <http://f/C>"):
        choose(twice, View(only_types=["C"]))


def test_a_class_takes_precedence_over_other_terms_with_its_name(tmp_path: Path) -> None:
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    chairs = "".join(
        f'<http://e/{i}> {TYPE} <http://e/Chair> .\n<http://e/{i}> {label} "Chair" .\n'
        for i in range(3)
    )
    assert len(choose(embedded(tmp_path, chairs), View(only_types=["Chair"])).ids) == 3


def test_the_error_of_an_unknown_type_lists_frequent_types(embedding: Embedding) -> None:
    with pytest.raises(UnknownTerm, match="Frequent types: baker, smith, weaver"):
        choose(embedding, View(only_types=["http://e/baker/1"]))


def test_a_term_that_is_not_shown_cannot_be_highlighted(embedding: Embedding) -> None:
    with pytest.raises(UsageError, match="none of the types"):
        choose(embedding, View(only_types=["smith"], highlight=["http://e/baker/1"]))


def test_a_sample_depends_on_the_seed_and_contains_highlighted_terms(
    embedding: Embedding,
) -> None:
    samples = [
        choose(embedding, View(sample=10, seed=seed, highlight=["http://e/hermit"]))
        for seed in (1, 1, 2)
    ]
    assert [len(chosen.ids) for chosen in samples] == [10] * 3
    assert all(embedding.terms.id("http://e/hermit") in chosen.ids for chosen in samples)
    assert samples[0].ids.tolist() == samples[1].ids.tolist() != samples[2].ids.tolist()
    assert samples[0].left_out == len(embedding) - 10
    assert choose(embedding, View(sample=10**9)).left_out == 0


def label_texts(made: Embedding, **parameters: Any) -> list[str]:
    return [text for _, text in choose(made, View(**parameters)).labels]


def test_the_best_connected_terms_of_each_type_get_labels(tmp_path: Path) -> None:
    star = "".join(
        f"<http://e/{hub}> <http://e/p> <http://e/leaf{i}> .\n"
        for hub in ("Anna_Karenina", "Bob%20Ross")
        for i in range(9)
    )
    kinds = "".join(
        f"<http://e/{who}> {TYPE} <http://e/{kind}> .\n"
        for who, kind in [("Anna_Karenina", "A"), ("Alf", "A"), ("Bert", "B"), ("Bob%20Ross", "B")]
    )
    made = embedded(tmp_path, star + kinds)
    assert label_texts(made, labels=2)[:2] == ["Anna Karenina", "Bob Ross"]
    assert label_texts(made, label=["http://e/Bert"]) == ["Bert"]
    assert label_texts(made, labels=0) == []


def test_blank_nodes_and_bookkeeping_get_labels_only_if_asked(tmp_path: Path) -> None:
    activity = "<http://www.w3.org/ns/prov#Activity>"
    lines = f"_:anna {TYPE} <http://e/Person> .\n<http://e/Bert> {TYPE} <http://e/Person> .\n"
    lines += f"<http://e/editing> {TYPE} {activity} .\n<http://e/both> {TYPE} {activity} .\n"
    made = embedded(tmp_path, lines + f"<http://e/both> {TYPE} <http://e/Person> .\n")
    assert set(label_texts(made)) <= {"Bert", "both"}
    assert "editing" in label_texts(made, only_types=["prov:Activity"])
    assert label_texts(made, label=["http://e/editing"]) == ["editing"]


def test_codes_become_labels_only_if_there_are_no_names(tmp_path: Path) -> None:
    lines = "".join(f"<http://e/Q{i}> {TYPE} <http://e/C> .\n" for i in range(9))
    assert label_texts(embedded(tmp_path, lines))[0].startswith("Q")
    label = "<http://www.w3.org/2004/02/skos/core#prefLabel>"
    lines += f'<http://e/D1> {TYPE} <http://e/D> .\n<http://e/D1> {label} "Denarius" .\n'
    assert label_texts(embedded(tmp_path, lines)) == ["Denarius"]


@pytest.mark.parametrize(
    ("name", "code"),
    [("Q42", True), ("43970336", True), ("MIAGQ5C6", True), ("3", True), ("東京", False),
     ("Apollo 11", False), ("NASA", False), ("c183279", True), ("law", False)],
)  # fmt: skip
def test_codes_are_told_from_names(name: str, code: bool) -> None:
    assert names.is_code(name) == code


@pytest.mark.parametrize(
    ("name", "shown"),
    [("a" * 50, "a" * 33 + "…"), ("a\n\tb\x00  c\u202e", "a b c"), ("short", "short")],
)
def test_a_name_is_shortened_to_one_line(name: str, shown: str) -> None:
    assert names.shortened(name) == shown


# -- coordinates -----------------------------------------------------------------------------------


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


def test_missing_dimensions_of_a_map_are_zero() -> None:
    assert np.allclose(
        figures.project(np.array([[1.0], [3.0]], np.float32), 3), [[-1, 0, 0], [1, 0, 0]]
    )


def test_a_simulated_map_separates_types(embedding: Embedding) -> None:
    (panel,) = layout(embedding, View(), Progress())
    of = np.full(len(embedding), -1)
    of[embedding.types[:, 0]] = embedding.types[:, 1]
    members = np.array(
        [i for i in range(len(embedding)) if of[i] >= 0 and "hermit" not in embedding.terms[i]]
    )
    distances = np.linalg.norm(
        panel.points[members][:, None] - panel.points[members][None], axis=2
    ) + 1e9 * np.eye(len(members))
    assert (of[members[distances.argmin(axis=1)]] == of[members]).mean() > 0.9


def test_before_and_after_shows_the_start_of_the_embedding(embedding: Embedding) -> None:
    before, after = layout(embedding, View(method="pca", before_and_after=True), Progress())
    start = anneal.random_start(len(embedding), embedding.config())[:, :8]
    assert np.allclose(
        before.points, search.project_on(start, *search.principal_axes(embedding.vectors, 2))
    )
    assert np.allclose(after.points, figures.project(embedding.vectors))


def test_a_simulated_map_has_no_outliers(tmp_path: Path) -> None:
    # Two contexts with the same members: their starts must be equal to the bit.
    lines = [
        f"<http://e/{m}> <http://e/{p}> <http://e/tool{(7 * m + m // 9) % 40}> .\n"
        for m in range(300)
        for p in ("uses", "owns", "likes")
    ]
    (tmp_path / "tools.nt").write_text("".join(lines))
    points = layout(package.embed(tmp_path / "tools.nt", dimensions=8, seed=3), View(), Progress())[
        0
    ].points
    assert np.abs(points).max() < 20 * np.median(np.linalg.norm(points, axis=1))


def test_a_manifest_without_settings_is_an_error(embedding: Embedding) -> None:
    bare = Embedding(**{**vars(embedding), "manifest": {}})
    with pytest.raises(DamagedStore, match="settings"):
        layout(bare, View(), Progress())
    assert len(layout(bare, View(method="pca"), Progress())[0].points) == len(embedding)


# -- figures ---------------------------------------------------------------------------------------

places = st.tuples(st.floats(0, 300), st.floats(0, 200))
sizes = st.tuples(st.floats(1, 120), st.floats(4, 12))


@given(st.lists(st.tuples(places, sizes), max_size=40))
def test_labels_never_overlap_and_never_leave_the_figure(
    labels: list[tuple[tuple[float, float], tuple[float, float]]],
) -> None:
    corners = place_labels(
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


def figure_of(embedding: Embedding, **parameters: Any) -> figure.Drawing:
    view = View(method="pca", **parameters)
    chosen = choose(embedding, view)
    panels = [selected_panel(panel, chosen) for panel in layout(embedding, view, Progress())]
    labels = figure.Labels(chosen.labels, chosen.requested, chosen.optional, chosen.highlighted)
    return figure.map_figure("title", panels, chosen.key(), labels, view.figure_size(), view.dpi)


def key_of(groups: NDArray[np.uint8], colours: Sequence[str]) -> points.Key:
    return points.Key(groups, colours, [""] * len(colours), [1] * len(colours))


def drawing_of(positions: NDArray[np.float32], labels: figure.Labels) -> figure.Drawing:
    key = key_of(np.zeros(len(positions), np.uint8), ["#000000"])
    panels = [figure.Panel("", positions)]
    return figure.map_figure("", panels, key, labels, View().figure_size(), 72)


def test_rendered_labels_do_not_overlap(embedding: Embedding) -> None:
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


def test_a_pixel_has_the_mean_colour_of_its_points_and_more_points_are_more_opaque() -> None:
    places = np.array([[2.5, 2.5]] * 50 + [[7.5, 7.5]] * 4 + [[7.5, 2.5], [99, 99]], np.float32)
    colours = np.array([0] * 50 + [0, 1, 1, 1] + [1, 0], np.uint8)
    key = key_of(colours, ["#ff0000", "#0000ff"])
    image = points.density_image(places, key, (0, 0, 10, 10), 10, 10)
    assert image[2, 2, :3].tolist() == [255, 0, 0]
    assert image[7, 7, :3].tolist() == [64, 0, 191]
    assert image[2, 2, 3] > image[7, 7, 3] > image[2, 7, 3] > 0
    assert image[9, 0, 3] == 0
    assert image[9, 9, 3] == 0  # points outside are not drawn


def test_many_points_become_an_image_in_svg_and_more_become_density(
    monkeypatch: pytest.MonkeyPatch, embedding: Embedding
) -> None:
    assert not figure_of(embedding).is_density
    vectors = figures.drawn(figure_of(embedding, labels=0).figure, "svg")
    monkeypatch.setattr(points, "CIRCLES_UP_TO", 10)
    raster = figures.drawn(figure_of(embedding, labels=0).figure, "svg")
    monkeypatch.setattr(points, "POINTS_UP_TO", 10)
    drawing = figure_of(embedding, labels=0)
    density = figures.drawn(drawing.figure, "svg")
    assert drawing.is_density
    assert (
        vectors.count(b"<use") > len(embedding) > max(raster.count(b"<use"), density.count(b"<use"))
    )
    assert [b"<image" in svg for svg in (vectors, raster, density)] == [False, True, True]


def test_a_map_of_a_million_points_is_a_small_file() -> None:
    rng = np.random.default_rng(0)
    positions = rng.normal(size=(10**6, 2)).astype(np.float32)
    key = key_of(rng.integers(0, 9, 10**6).astype(np.uint8), selection.PALETTE)
    size = View().figure_size()
    panels = [figure.Panel("", positions)]
    png = figures.small_png(
        figure.map_figure("many", panels, key, figure.Labels(), size, 144).figure, 144
    )
    assert len(png) < 800_000
    assert np.asarray(Image.open(io.BytesIO(png)).convert("L")).min() < 128


def test_a_palette_of_256_colours_looks_the_same(embedding: Embedding) -> None:
    figure = figure_of(embedding).figure
    full, small = figures.drawn(figure, "png"), figures.small_png(figure)
    shown, meant = (
        np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), int) for png in (small, full)
    )
    assert len(small) < len(full)
    assert np.abs(shown - meant).max() < 40
    assert np.abs(shown - meant).mean() < 0.2
    assert shown[0, 0].tolist() == [255, 255, 255]


def test_the_frame_shows_995_of_1000_points_and_says_how_many_it_does_not() -> None:
    positions = np.random.default_rng(0).standard_cauchy((20_000, 2)).astype(np.float32)
    drawing = drawing_of(positions, figure.Labels())
    assert 0 < drawing.outside <= 100
    said = [text.get_text().replace("\n", " ") for text in drawing.figure.texts]
    assert any(f"Outside the frame: {drawing.outside} of 20,000 points" in text for text in said)


def test_only_requested_labels_widen_the_frame() -> None:
    positions = np.random.default_rng(0).normal(size=(2000, 2)).astype(np.float32)
    positions[:2] = 1e6
    automatic = drawing_of(positions, figure.Labels([(0, "far"), (5, "near")], limit=2))
    assert automatic.outside >= 2
    assert automatic.figure.axes[0].get_xlim()[1] < 10
    assert [text.get_text() for text in automatic.figure.axes[0].texts if text.get_text()] == [
        "near"
    ]
    requested = drawing_of(positions, figure.Labels([(0, "far")], requested=1))
    assert requested.outside == 0


def test_a_figure_has_the_requested_size(embedding: Embedding, tmp_path: Path) -> None:
    slide, small, printed = (1920, 1080), (640, 400), (960, 540)
    embedding.plot(tmp_path / "slide.png", method="pca")
    embedding.plot(tmp_path / "small.png", method="pca", size=small, dpi=100)
    embedding.plot(tmp_path / "printed.png", method="pca", dpi=72)
    for name, pixels in [("slide", slide), ("small", small), ("printed", printed)]:
        with Image.open(tmp_path / f"{name}.png") as picture:
            assert picture.size == pixels
    assert view.parse_size("1920x1080") == (1920, 1080)
    assert View(size=(1000, 800), dpi=300).figure_size().font < View().figure_size().font
    assert View(font_size=30).figure_size().font == 30


def test_the_legend_ends_at_the_edge_and_the_map_begins_where_it_ends(
    embedding: Embedding,
) -> None:
    drawing = figure_of(embedding)
    renderer = drawing.figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in drawing.figure.texts if text.get_text()]
    panel, whole = drawing.figure.axes[0].bbox, drawing.figure.bbox
    legend = [box for box in boxes if box.x0 > panel.x1]
    assert all(box.x1 <= whole.x1 for box in boxes)
    assert min(box.x0 for box in legend) - panel.x1 < 0.05 * whole.width
    assert panel.width > 0.7 * whole.width


def test_the_name_of_a_colour_is_written_where_its_points_are_densest() -> None:
    rng = np.random.default_rng(0)
    positions = np.concatenate([rng.normal(centre, 0.1, (300, 2)) for centre in (0, 5)])
    positions = np.concatenate([positions, rng.uniform(0, 5, (100, 2))]).astype(np.float32)
    groups = np.array([0] * 300 + [1] * 300 + [0] * 100, np.uint8)
    key = points.Key(groups, ["#ff0000", "#0000ff"], ["a", "b"], [400, 300], coloured=2)
    found = points.peaks(positions, key, (-1, -1, 6, 6))
    assert np.allclose(np.array(found), [[0, 0], [5, 5]], atol=0.2)
    assert points.peaks(positions, key, (-1, -1, 1, 1))[1] is None


# -- terms with the same contexts ------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 4), unique=True, max_size=4), min_size=1, max_size=30))
def test_rows_with_the_same_springs_have_the_same_number(rows: list[list[int]]) -> None:
    offsets = np.append(0, np.cumsum([len(row) for row in rows])).astype(np.int64)
    columns = np.array([column for row in rows for column in row], np.int32)
    springs = Matrix(offsets, columns, np.ones(len(columns), np.float32))
    numbers = spread.same_springs(springs, len(rows)).tolist()
    for (one, a), (other, b) in combinations(zip(rows, numbers, strict=True), 2):
        assert (a == b) == (set(one) == set(other))
    assert all((number == -1) == (not row) for row, number in zip(rows, numbers, strict=True))
    sizes = spread.group_sizes(np.array(numbers)).tolist()
    assert sizes == [1 if n == -1 else numbers.count(n) for n in numbers]


def test_terms_with_the_same_contexts_fill_discs_of_one_density_that_do_not_overlap() -> None:
    rng = np.random.default_rng(1)
    numbers = np.repeat([-1, 0, 1, 2], [400, 1000, 250, 2])
    positions = rng.normal(size=(len(numbers), 2)).astype(np.float32)
    moved = spread.spread(positions, numbers)
    alone = (numbers < 0) | (numbers == 2)  # two terms make no disc
    assert np.array_equal(moved[alone], positions[alone])
    discs = [moved[numbers == number].astype(float) for number in (0, 1)]
    centres = [disc.mean(axis=0) for disc in discs]
    radii = [
        np.linalg.norm(disc - centre, axis=1).max()
        for disc, centre in zip(discs, centres, strict=True)
    ]
    assert radii[0] / radii[1] == pytest.approx(2, rel=0.05)  # four times as many points
    assert np.linalg.norm(centres[0] - centres[1]) > sum(radii)
    inner = (np.linalg.norm(discs[0] - centres[0], axis=1) < radii[0] / 2).mean()
    assert inner == pytest.approx(0.25, abs=0.02)  # a quarter of the area has a quarter of them


def test_a_turned_map_is_wide_and_keeps_all_distances() -> None:
    rng = np.random.default_rng(2)
    tall = (rng.normal(size=(300, 2)) * [1, 5]).astype(np.float32)
    turned = spread.turned(tall)
    before, after = (np.ptp(one, axis=0) for one in (tall, turned))
    assert max(after / [spread.WIDE, 1]) < 0.6 * max(before / [spread.WIDE, 1])
    assert np.allclose(
        np.linalg.norm(turned[:-1] - turned[1:], axis=1),
        np.linalg.norm(tall[:-1] - tall[1:], axis=1),
        atol=1e-4,
    )


def test_a_note_counts_the_points_in_discs_and_grey_discs_have_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (
        "".join(f"<http://e/{i}> <http://e/homepage> <http://e/page/{i}> .\n" for i in range(60))
        + f"<http://e/a> {TYPE} <http://e/A> .\n<http://e/b> {TYPE} <http://e/A> .\n"
    )
    written: list[str] = []
    monkeypatch.setattr(figure, "_write_region", lambda *args: written.append(args[3]))
    drawn = embedded(tmp_path, lines).plot(tmp_path / "map.png")
    assert drawn.alike == 120
    assert "120 points share all their contexts" in " ".join(drawn.notes())
    assert {"homepage", "← homepage"} <= set(written)


@pytest.mark.parametrize("three_d", [False, True])
@pytest.mark.parametrize("form", ["png", "svg", "pdf", "html"])
def test_the_extension_determines_the_format_and_every_run_writes_the_same_bytes(
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
def test_names_may_contain_any_characters(tmp_path: Path, form: str) -> None:
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    lines = "".join(
        f"<http://e/{i}> {TYPE} <http://e/C{i}> .\n"
        f'<http://e/{i}> {label} "{name}" .\n'
        f"<http://e/C{i}> {TYPE} <http://e/K> .\n"
        f'<http://e/C{i}> {label} "{name}" .\n'
        for i, name in enumerate(STRANGE)
    )
    drawn = embedded(tmp_path, lines).plot(tmp_path / f"map.{form}", title="$\\frac{ " + EVIL)
    assert {"$\\frac{", "_hidden", "日本語 🐙"} <= {group.name for group in drawn.legend}


@pytest.mark.parametrize("method", view.METHODS)
@pytest.mark.parametrize("form", ["png", "html"])
@pytest.mark.parametrize("three_d", [False, True])
def test_a_single_point_makes_a_map(tmp_path: Path, form: str, method: str, three_d: bool) -> None:
    one = embedded(tmp_path, "<http://e/a> <http://e/a> <http://e/a> .\n")
    drawn = one.plot(tmp_path / f"map.{form}", method=method, three_d=three_d)
    assert drawn.points == 1
    assert "No subject has a type" in drawn.notes()[0]


def test_equal_points_make_a_map(
    tmp_path: Path, embedding: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in (0.0, 1e30):
        equal = Embedding(**{**vars(embedding), "vectors": np.full_like(embedding.vectors, value)})
        equal.plot(tmp_path / "points.png", method="pca", force=True)
        monkeypatch.setattr(points, "POINTS_UP_TO", 10)
        equal.plot(tmp_path / "density.png", method="pca", force=True)
        monkeypatch.undo()


@pytest.mark.parametrize("method", view.METHODS)
def test_progress_never_runs_backwards(embedding: Embedding, tmp_path: Path, method: str) -> None:
    progress = Recorded()
    embedding.plot(tmp_path / "map.png", method=method, progress=progress)
    simulation = ["springs", "repellers", "simulation"] if method == "pyke" else []
    assert progress.stages == [*simulation, "drawing"]


# -- notebooks ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("map.png", '<img src="data:image/png;base64,'),
        ("map.svg", '<img src="data:image/svg+xml;base64,'),
        ("map.html", '<iframe sandbox="allow-scripts"'),
        ("map.pdf", "<p>&lt;pyke.maps.Drawn: "),
    ],
)
def test_a_map_shows_itself_in_a_notebook(
    embedding: Embedding, tmp_path: Path, name: str, begin: str
) -> None:
    drawn = embedding.plot(tmp_path / name, method="pca")
    shown = drawn._repr_html_()
    assert shown.startswith(begin)
    content = (tmp_path / name).read_bytes()
    if name in ("map.png", "map.svg"):
        assert base64.b64decode(shown.split("base64,")[1].split('"')[0]) == content
    if name == "map.html":
        page = shown.split('srcdoc="')[1].removesuffix('"></iframe>')
        assert '"' not in page
        assert html.unescape(page).encode() == content


def test_a_map_that_is_large_or_deleted_shows_its_name(
    embedding: Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = embedding.plot(tmp_path / "map.png", method="pca")
    assert repr(drawn).startswith(f"<pyke.maps.Drawn: {tmp_path}/map.png, 79 points, points, ")
    with monkeypatch.context() as patch:
        patch.setattr(view, "MAX_NOTEBOOK_BYTES", drawn.bytes - 1)
        assert drawn._repr_html_() == f"<p>{html.escape(repr(drawn))}</p>"
    (tmp_path / "map.png").unlink()
    assert drawn._repr_html_() == f"<p>{html.escape(repr(drawn))}</p>"


@pytest.mark.parametrize(
    ("name", "begin"),
    [("film.gif", '<img src="data:image/gif;'), ("film.mp4", "<video controls src=")],
)
def test_an_animation_shows_itself_in_a_notebook(tmp_path: Path, name: str, begin: str) -> None:
    (tmp_path / name).write_bytes(b"content")
    assert (
        Drawn(str(tmp_path / name), 7, 1, 0, 0, 1, (), (), "film")._repr_html_().startswith(begin)
    )


# -- the command line ------------------------------------------------------------------------------


def test_the_command_prints_what_it_drew(pyke: Command, stored: Path, tmp_path: Path) -> None:
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
    printed = json.loads(done.stdout)
    assert (printed["points"], printed["left_out"], printed["drawn_as"]) == (30, 49, "points")
    assert sum(group["count"] for group in printed["legend"]) == 30  # the points shown
    shown = pyke("plot", stored, "-o", tmp_path / "map.png", "--sample", "30", "--force")
    assert "49 more terms are not shown" in shown.stdout
    assert re.search(r"baker +\d+", shown.stdout)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["-o", "map.xyz"], 2, "png, svg, pdf, html"),
        (["-o", "map"], 2, "png, svg, pdf, html"),
        (["-o", "there.png"], 73, "force"),
        (["-o", "there.png/map.png"], 74, "cannot write"),
        (["-o", "map.png", "--method", "tsne"], 2, "pca, pyke"),
        (["-o", "map.png", "--sample", "0"], 2, "at least 1"),
        (["-o", "map.png", "--labels", "-1"], 2, "from 0 to 10,000"),
        (["-o", "map.png", "--seed", "-1"], 2, "at least 0"),
        (["-o", "map.png", "--dpi", "5000"], 2, "20 to 1200"),
        (["-o", "map.png", "--size", "huge"], 2, "1920x1080"),
        (["-o", "map.png", "--size", "1x1"], 2, "200 to 20,000"),
        (["-o", "map.png", "--font-size", "0"], 2, "from 2 to 100"),
        (["-o", "map.png", "--colour-by", "taste"], 2, "type, cluster, namespace"),
        (["-o", "map.png", "--classes", "smith", "--colour-by", "cluster"], 2, "--colour-by type"),
        (["-o", "map.png", *(["--classes", "smith"] * 10)], 2, "9 colours"),
        (["-o", "map.png", "--classes", "Nobody"], 66, "Nobody"),
        (["-o", "map.html", "--size", "900x900"], 2, "size of its window"),
        (["-o", "map.png", "--highlight", "http://e/hermitt"], 66, "http://e/hermit"),
        (["-o", "map.png", "--label", "http://nowhere"], 66, "http://nowhere"),
        (["-o", "map.png", "--only-types", "smith", "--only-types", "Nobody"], 66, "Nobody"),
        (["-o", "map.html", "--before-and-after"], 2, "a page shows one map"),
        (["-o", "map.html", "--dpi", "300"], 2, "png, svg, pdf"),
    ],
)  # fmt: skip
def test_invalid_parameters_are_errors(
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


# -- pages -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Browser]:
    """A browser that must report no error and load no other file."""
    browser.errors.clear()
    browser.requests.clear()
    yield browser
    assert browser.errors == []
    assert len(browser.requests) == 1


@needs_chromium
def test_hovering_over_a_point_shows_its_term(
    page: Browser, embedding: Embedding, tmp_path: Path
) -> None:
    embedding.plot(tmp_path / "map.html", highlight=["http://e/hermit"])
    page.open(tmp_path / "map.html")
    x, y = page.run("[across(data.highlighted[0]), down(data.highlighted[0])]")
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
        script = """(([r, g, b]) => {
            const p = context.getImageData(0, 0, canvas.width, canvas.height).data;
            let n = 0;
            for (let i = 0; i < p.length; i += 4)
                n += Math.hypot(p[i] - r, p[i + 1] - g, p[i + 2] - b) < 5;
            return n;
        })(colours[1])"""
        return int(page.run(script))

    assert coloured() > 20
    row = "document.querySelectorAll('#legend label')[1].getBoundingClientRect()"
    x, y = page.run(f"(({{x, y}}) => [x + 30, y + 5])({row})")
    page.click(x, y)
    assert coloured() == 0
    page.click(x, y)
    assert coloured() > 20


@needs_chromium
def test_a_search_finds_terms_and_moves_the_map_to_them(
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
def test_the_wheel_zooms_at_the_pointer_and_dragging_moves_the_map(
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
    )  # the pointer is at integer pixels
    page.mouse("Pressed", x, y, button="left", buttons=1)
    page.mouse("Moved", x + 30, y + 20, button="left", buttons=1)
    page.mouse("Released", x + 30, y + 20, button="left")
    assert page.run("[across(0), down(0)]") == pytest.approx([x + 30, y + 20], abs=2.5)


@needs_chromium
def test_dragging_rotates_three_dimensions(
    page: Browser, embedding: Embedding, tmp_path: Path
) -> None:
    embedding.plot(tmp_path / "map.html", three_d=True)
    page.open(tmp_path / "map.html")
    before = page.run("[...flat.slice(0, 20)]")
    (panel,) = layout(embedding, View(three_d=True), Progress())
    assert before == pytest.approx(
        flat(panel.points[choose(embedding, View()).ids])[:10].ravel().tolist(),
        abs=1e-4,
    )
    page.mouse("Pressed", 300, 300, button="left", buttons=1)
    page.mouse("Moved", 380, 300, button="left", buttons=1)
    page.mouse("Released", 380, 300, button="left")
    assert page.run("[...flat.slice(0, 20)]") != pytest.approx(before, abs=1e-3)


@needs_chromium
def test_hostile_names_are_shown_as_text_and_no_other_script_runs(
    browser: Browser, tmp_path: Path
) -> None:
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    written = EVIL.replace("\\", "\\\\").replace('"', '\\"')
    named = "".join(f'<http://e/{who}> {label} "{written}" .\n' for who in "aC")
    lines = f"{named}<http://e/a> {TYPE} <http://e/C> .\n<http://e/b> {TYPE} <http://e/C> .\n"
    embedded(tmp_path, lines).plot(tmp_path / "map.html", title=EVIL, highlight=["http://e/a"])
    browser.errors.clear()
    browser.open(tmp_path / "map.html")
    x, y = browser.run("[across(data.highlighted[0]), down(data.highlighted[0])]")
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
    # A script that is injected nevertheless is blocked by the browser.
    script = "document.createElement('script'), {textContent: 'window.hacked = 1'}"
    browser.run(f"document.body.append(Object.assign({script}))")
    assert browser.run("window.hacked") is None
    assert "Content Security Policy" in " ".join(browser.errors)


@needs_chromium
def test_a_page_with_many_points_contains_some_terms_and_says_so(
    page: Browser, embedding: Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_page, "MAX_NAMED", 30)
    drawn = embedding.plot(tmp_path / "map.html", highlight=["http://e/hermit"])
    assert drawn.named == 30
    assert "30 points" in drawn.notes()[0]
    page.open(tmp_path / "map.html")
    assert "the page contains the terms of 30 of them" in page.run(
        "document.querySelector('aside p').textContent"
    )
    assert page.run("names.terms[nameOf[data.highlighted[0]]]") == "http://e/hermit"
    terms = page.run(
        "Array.from({length: count}, (_, i) => nameOf[i] < 0 ? null : names.terms[nameOf[i]])"
    )
    ids = choose(embedding, View(highlight=["http://e/hermit"])).ids
    assert [embedding.terms[i] for i, term in zip(ids, terms, strict=True) if term] == [
        term for term in terms if term
    ]
    assert len([term for term in terms if term]) == 30


@needs_chromium
def test_a_page_draws_very_many_points_as_density(page: Browser, tmp_path: Path) -> None:
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
