"""Embeddings with literals as contexts: what they change, how they are kept, and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyke
from forge import forge_array
from graphs import CRAFTS, TYPE, crafts
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.embedding import store
from pyke.errors import DamagedStore, DataError, Interrupted, OverBudget, UsageError
from pyke.pipeline import embed_to, make_plan, read_census
from pyke.use.types.held_out import split

LITERALS = "values,words,numbers"
SETTINGS: dict[str, Any] = {"dimensions": 8, "literals": LITERALS, "seed": 3}


def described(members: int = 20) -> str:
    """Crafts whose members have a motto and a wage."""
    lines = [crafts(members)]
    for number, craft in enumerate(CRAFTS):
        for m in range(members):
            who, wage = f"<http://e/{craft}/{m}>", 1000 * number + m
            lines.append(f'{who} <http://e/motto> "{craft}s work, day {m % 7}"@en .\n')
            lines.append(
                f'{who} <http://e/wage> "{wage}"^^<http://www.w3.org/2001/XMLSchema#int> .\n'
            )
    return "".join(lines)


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "crafts.nt"
    path.write_text(described())
    return path


def bits(embedding: pyke.Embedding) -> bytes:
    return embedding.vectors.tobytes()


def test_vectors_do_not_depend_on_threads_or_syntax(graph: Path, tmp_path: Path) -> None:
    wanted = bits(pyke.embed(graph, **SETTINGS))
    assert bits(pyke.embed(graph, **SETTINGS, threads=1)) == wanted
    turtle = tmp_path / "crafts.ttl"
    turtle.write_text(described())
    assert bits(pyke.embed(turtle, **SETTINGS)) == wanted
    assert bits(pyke.embed(graph, dimensions=8, seed=3)) != wanted


def test_repeated_lines_do_not_change_the_vectors(graph: Path, tmp_path: Path) -> None:
    twice = tmp_path / "twice.nt"
    twice.write_text(described() + described())
    assert bits(pyke.embed(twice, **SETTINGS)) == bits(pyke.embed(graph, **SETTINGS))


def test_terms_with_equal_literals_come_closer(tmp_path: Path) -> None:
    path = tmp_path / "names.nt"
    lines = [f"<http://e/{i}> <http://e/p> <http://e/o> .\n" for i in range(40)]
    lines += [f'<http://e/{i}> <http://e/name> "name {i % 2}" .\n' for i in range(40)]
    path.write_text("".join(lines))

    def alike(literals: str) -> int:
        """How many of the five nearest have the same name, of 200."""
        embedding = pyke.embed(path, **SETTINGS | {"literals": literals})
        ids = np.array([embedding.terms.id(f"http://e/{i}") for i in range(40)])
        points = embedding.vectors[ids].astype(np.float64)
        distances = np.linalg.norm(points[:, None] - points, axis=2)
        nearest = np.argsort(distances, axis=1)[:, 1:6]
        return int((nearest % 2 == np.arange(40)[:, None] % 2).sum())

    # By chance they are 97, with a standard deviation of 7.
    assert alike("") < 120
    assert alike("values") > 140


def test_features_survive_the_directory(graph: Path, tmp_path: Path) -> None:
    made = pyke.embed(graph, **SETTINGS)
    made.save(tmp_path / "out")
    loaded = pyke.load(tmp_path / "out")
    for name in ("rows", "keys", "bins"):
        assert np.array_equal(getattr(loaded.features, name), getattr(made.features, name))
    assert loaded.graph().features.rows.flags.writeable
    assert store.verify(tmp_path / "out")["census"]["features"] == len(made.features) > 0
    plain = pyke.embed(graph, dimensions=8)
    plain.save(tmp_path / "plain")
    assert not (tmp_path / "plain" / "features.npy").exists()
    assert len(pyke.load(tmp_path / "plain").features) == 0


@pytest.mark.parametrize("name", ["features", "feature_keys", "feature_bins"])
def test_damaged_features_are_refused(graph: Path, tmp_path: Path, name: str) -> None:
    pyke.embed(graph, **SETTINGS).save(tmp_path / "out")
    file = tmp_path / "out" / f"{name}.npy"
    forge_array(file, np.load(file)[:-1][::-1])
    with pytest.raises(DamagedStore):
        pyke.load(tmp_path / "out").graph()
    with pytest.raises(DamagedStore):
        store.verify(tmp_path / "out")


class StopAt(Progress):
    """Interrupts a run after some iterations."""

    def iteration(self, number: int, *_: Any) -> None:
        if number == 3:
            raise Interrupted(2)


def test_an_interrupted_run_resumes_to_the_same_bits(graph: Path, tmp_path: Path) -> None:
    config = Config(**SETTINGS)
    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", graph, config, progress=StopAt())
    resumed = embed_to(tmp_path / "out", graph, config, resume=True)
    assert bits(resumed) == bits(pyke.embed(graph, **SETTINGS))
    assert len(resumed.features) > 0


def test_other_literals_are_another_run(graph: Path, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", graph, Config(**SETTINGS), progress=StopAt())
    with pytest.raises(UsageError, match="literals was 'values,words,numbers' and is now 'words'"):
        embed_to(tmp_path / "out", graph, Config(**SETTINGS | {"literals": "words"}), resume=True)


def test_withheld_types_keep_the_features(graph: Path) -> None:
    whole = pyke.embed(graph, **SETTINGS).graph()
    parts = split(whole, 0.2, 1, TYPE[1:-1])
    assert len(parts.graph.features) == len(whole.features)


def test_types_are_predicted_with_literals(graph: Path) -> None:
    """The calibration embeds the graph of the embedding again."""
    assert pyke.embed(graph, **SETTINGS).predict_types(mu=3, only_untyped=False).asked > 0


def test_an_update_places_new_terms_by_known_features(tmp_path: Path) -> None:
    path, new = tmp_path / "crafts.nt", tmp_path / "new.nt"
    path.write_text(described(60))
    before = pyke.embed(path, **SETTINGS)
    new.write_text(
        "".join(
            f"<http://e/{craft}/new> <http://e/likes> <http://e/baker> .\n"
            f'<http://e/{craft}/new> <http://e/motto> "{craft}s work!" .\n'
            for craft in CRAFTS
        )
    )
    after = before.update(new)
    assert np.array_equal(after.vectors[: len(before)], before.vectors)
    for craft in CRAFTS:
        near = after.nearest(f"http://e/{craft}/new", k=10)
        assert sum(n.term.startswith(f"http://e/{craft}/") for n in near) > 5, near
    rows = after.features.rows
    assert len(after.features) == len(before.features)
    assert len(rows) == len(before.features.rows) + 2 * len(CRAFTS)


def test_adding_and_removing_terms_restores_the_features(graph: Path, tmp_path: Path) -> None:
    before, new = pyke.embed(graph, **SETTINGS), tmp_path / "new.nt"
    link = "<http://e/new> <http://e/knows> <http://e/hermit> .\n"
    new.write_text(f'{link}<http://e/new> <http://e/motto> "smiths" .\n')
    added = before.update(new)
    assert len(added.features.rows) == len(before.features.rows) + 1
    new.write_text(link)
    removed = added.update(removed=new)
    assert set(removed.features.keys.tolist()) == set(before.features.keys.tolist())
    assert len(removed.features.rows) == len(before.features.rows)


@pytest.mark.parametrize("literals", ["word", "values words", "values,,words", "all"])
def test_an_unknown_kind_of_literals_is_refused(literals: str) -> None:
    with pytest.raises(UsageError, match=r"`literals` is .* some of: values, words, numbers"):
        Config(literals=literals)


def test_the_order_and_spaces_of_kinds_do_not_matter() -> None:
    assert Config(literals=" numbers,values ") == Config(literals="values,numbers")


def test_a_graph_without_literals_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "crafts.nt"
    path.write_text(crafts())
    with pytest.raises(DataError, match=r"crafts\.nt has no literals"):
        pyke.embed(path, literals="words")
    with pytest.raises(DataError, match="has no literals"):
        make_plan(path, Config(literals="words"))


class Noted(Progress):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_literals_that_no_two_terms_share_are_noted(tmp_path: Path) -> None:
    path, progress = tmp_path / "crafts.nt", Noted()
    path.write_text(crafts() + '<http://e/hermit> <http://e/motto> "alone" .\n')
    pyke.embed(path, **SETTINGS, progress=progress)
    assert [note for note in progress.notes if "no two terms have such literals" in note]


def test_a_plan_has_the_features_of_the_run(graph: Path) -> None:
    config, plain = Config(**SETTINGS), Config(dimensions=8, seed=3)
    made, embedding = make_plan(graph, config), pyke.embed(graph, **SETTINGS)
    assert made.sizes.particles == embedding.manifest["particles"]
    assert made.sizes.features == len(embedding.features.rows)
    assert made.peak_bytes > make_plan(graph, plain).peak_bytes
    assert read_census(graph, config).features == len(embedding.features)


def test_the_memory_limit_counts_features(tmp_path: Path) -> None:
    path = tmp_path / "long.nt"
    words = " ".join(f"w{i}" for i in range(64))
    text = "".join(f'<http://e/{i}> <http://e/p> "{words}" .\n' for i in range(10_000))
    path.write_text(f"{text}<http://e/1> <http://e/p> <http://e/2> .\n")
    limit = make_plan(path, Config(count_literals=True)).stages[0].peak_bytes + 5_000_000
    settings: dict[str, Any] = {"count_literals": True, "memory": limit}
    read_census(path, Config(**settings))
    with pytest.raises(OverBudget, match="reading"):
        read_census(path, Config(**settings, literals="words"))
