"""Complete runs: what changes the vectors and what does not, resuming, planning, errors."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyke
from forge import forge, forge_array
from graphs import FAMILY, TYPE, random_graph
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.core.stored import StoredRows
from pyke.errors import (
    DataError,
    DivergedError,
    EmptyGraph,
    Interrupted,
    NoInput,
    OutputExists,
    OverBudget,
    UsageError,
    WriteError,
)
from pyke.graph.graph import Graph
from pyke.pipeline import Run, budget, checkpoints, embed_to, make_plan, plan, read_census, refusal
from pyke.pipeline import embed as pipeline_embed
from pyke.pipeline.budget import Holding, Sizes
from pyke.read.find import find_documents
from pyke.simulation import anneal
from pyke.simulation.layouts import LAYOUTS, ROWS, Layout
from pyke.springs import strongest


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "graph.nt"
    path.write_text(random_graph())
    return path


class StopAt(Progress):
    """Interrupts a run after some iterations of a simulation, as a signal would."""

    def __init__(self, iteration: int, simulation: str = "simulation") -> None:
        self._iteration, self._simulation = iteration, simulation
        self._stage = ""

    def stage(self, name: str, *_: Any) -> None:
        self._stage = name

    def iteration(self, number: int, *_: Any) -> None:
        if (number, self._stage) == (self._iteration, self._simulation):
            raise Interrupted(2)


def bits(embedding: pyke.Embedding) -> bytes:
    return embedding.vectors.tobytes()


def test_vectors_do_not_depend_on_the_number_of_threads(graph: Path) -> None:
    assert len({bits(pyke.embed(graph, threads=threads)) for threads in (1, 2, 3, 8)}) == 1


def test_vectors_do_not_depend_on_the_memory_limit(graph: Path) -> None:
    assert bits(pyke.embed(graph, memory="2GB")) == bits(pyke.embed(graph))


def test_the_fast_and_the_slow_path_give_the_same_bits(graph: Path) -> None:
    """N-Triples is a subset of Turtle, which pyoxigraph parses."""
    assert bits(pyke.embed(graph, format="turtle")) == bits(pyke.embed(graph))


def test_repeated_lines_do_not_change_the_vectors(graph: Path, tmp_path: Path) -> None:
    twice = tmp_path / "twice.nt"
    twice.write_text(2 * graph.read_text())
    assert bits(pyke.embed(twice)) == bits(pyke.embed(graph))


def test_the_seed_changes_the_vectors(graph: Path) -> None:
    assert bits(pyke.embed(graph, seed=1)) != bits(pyke.embed(graph, seed=2))


@pytest.mark.parametrize("at", [1, 7, 24])
def test_an_interrupted_run_resumes_to_the_same_bits(graph: Path, tmp_path: Path, at: int) -> None:
    config = Config(dimensions=8)
    whole = embed_to(tmp_path / "whole", graph, config)
    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", graph, config, progress=StopAt(at))
    assert (tmp_path / ".out.pyke" / "positions" / "manifest.json").exists()
    resumed = embed_to(tmp_path / "out", graph, config, resume=True)
    assert bits(resumed) == bits(whole)
    assert resumed.manifest["history"] == whole.manifest["history"]
    assert not (tmp_path / ".out.pyke").exists()


# -- a weight for the springs to the contexts of types -------------------------------------------


def test_a_type_weight_changes_the_vectors_but_threads_and_memory_do_not(graph: Path) -> None:
    made = [pyke.embed(graph, type_weight=8.0, threads=n, memory="2GB") for n in (1, 3)]
    assert bits(made[0]) == bits(made[1]) == bits(pyke.embed(graph, type_weight=8.0))
    assert bits(made[0]) != bits(pyke.embed(graph))


def test_a_run_with_a_type_weight_resumes_to_the_same_bits(graph: Path, tmp_path: Path) -> None:
    config = Config(dimensions=8, type_weight=8.0)
    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", graph, config, progress=StopAt(7))
    resumed = embed_to(tmp_path / "out", graph, config, resume=True)
    assert bits(resumed) == bits(pyke.embed(graph, dimensions=8, type_weight=8.0))


def test_a_type_weight_brings_terms_of_one_class_together(tmp_path: Path) -> None:
    """Classes and groups of friends are independent: the weight decides which of them counts."""
    path = tmp_path / "a.nt"
    lines = [f"<e:{i}> {TYPE} <e:class{i % 2}> .\n" for i in range(60)]
    lines += [f"<e:{i}> <e:p{p}> <e:group{i // 6}> .\n" for i in range(60) for p in range(3)]
    path.write_text("".join(lines))

    def alike(weight: float) -> float:
        """The share of nearest neighbours that are of one's own class."""
        e = pyke.embed(path, dimensions=8, type_weight=weight)
        points = np.stack([e[f"e:{i}"] for i in range(60)])
        distances = np.linalg.norm(points[:, None] - points, axis=2) + 1e9 * np.eye(60)
        near = np.argsort(distances, axis=1)[:, :5]
        return float((near % 2 == np.arange(60)[:, None] % 2).mean())

    assert alike(1.0) < 0.7
    assert alike(30.0) > 0.9


def test_a_type_predicate_that_does_not_occur_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "links.nt"
    path.write_text("<e:a> <e:p> <e:b> .\n")
    notes: list[str] = []

    class Noting(Progress):
        def note(self, message: str) -> None:
            notes.append(message)

    pyke.embed(path, dimensions=4, progress=Noting())
    assert notes == [], "a graph without types is nothing unusual"
    pyke.embed(path, dimensions=4, type_predicate="rdf:type", progress=Noting())
    assert [note for note in notes if "No triple has the predicate <rdf:type>" in note]


def test_a_type_weight_without_types_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "links.nt"
    path.write_text("<e:a> <e:p> <e:b> .\n<e:c> <e:p> <e:b> .\n")
    with pytest.raises(DataError, match=r"`type_weight` is 8, but .*links\.nt states no types"):
        pyke.embed(path, type_weight=8.0)


# -- clusters: a first simulation, and a second one with coarse contexts -------------------------


def test_clusters_change_the_vectors_but_threads_and_memory_do_not(graph: Path) -> None:
    made = [pyke.embed(graph, clusters=7, threads=threads, memory="2GB") for threads in (1, 3)]
    assert bits(made[0]) == bits(made[1]) == bits(pyke.embed(graph, clusters=7))
    assert bits(made[0]) != bits(pyke.embed(graph, clusters=0))
    assert len(made[0].term_clusters) == len(made[0])
    assert set(made[0].term_clusters.tolist()) == set(range(7))
    assert len(pyke.embed(graph, clusters=0).term_clusters) == 0


def test_the_preset_fast_has_one_simulation(graph: Path) -> None:
    fast = pyke.embed(graph, preset="fast")
    assert bits(fast) == bits(pyke.embed(graph, clusters=0))
    assert [stage["name"] for stage in fast.manifest["stages"]].count("simulation") == 1


@pytest.mark.parametrize(
    ("simulation", "at"),
    [("first simulation", 1), ("first simulation", 16), ("simulation", 1), ("simulation", 24)],
)
def test_a_run_with_clusters_resumes_to_the_same_bits(
    graph: Path, tmp_path: Path, simulation: str, at: int
) -> None:
    config = Config(dimensions=8, clusters=5)
    whole = embed_to(tmp_path / "whole", graph, config)
    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", graph, config, progress=StopAt(at, simulation))
    kept = {path.name for path in (tmp_path / ".out.pyke").iterdir() if path.is_dir()}
    if simulation == "simulation":
        assert kept == {"graph", "clusters", "springs", "positions"}
    else:
        assert kept == {"graph", "first_springs", "first_positions"}
    resumed = embed_to(tmp_path / "out", graph, config, resume=True)
    assert bits(resumed) == bits(whole)
    assert np.array_equal(resumed.term_clusters, whole.term_clusters)
    assert resumed.manifest["history"] == whole.manifest["history"]


@pytest.mark.parametrize(
    "change", [lambda a: a[1:], lambda a: a + 2**20, lambda a: a - 1, lambda a: a.astype(np.int64)]
)
def test_forged_clusters_of_a_checkpoint_are_ignored(
    graph: Path, tmp_path: Path, change: Callable[[Any], Any]
) -> None:
    config = Config(dimensions=8, clusters=5)
    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", graph, config, progress=StopAt(3))
    path = tmp_path / ".out.pyke" / "clusters" / "clusters.npy"
    forge_array(path, change(np.load(path)))
    resumed = embed_to(tmp_path / "out", graph, config, resume=True)
    assert bits(resumed) == bits(pyke.embed(graph, dimensions=8, clusters=5))


def test_a_plan_with_clusters_estimates_the_counts(
    graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "_probe", lambda *_: plan.Speed(1e-8, 1e-8, 100))
    made, plain = make_plan(graph, Config(clusters=20)), make_plan(graph, Config(clusters=0))
    embedding = pyke.embed(graph, clusters=20)
    assert made.sizes.particles == pytest.approx(embedding.manifest["particles"], rel=0.1)
    assert made.sizes.springs == pytest.approx(embedding.manifest["springs"], rel=0.1)
    assert made.sizes.pairs > plain.sizes.pairs
    seconds = {stage.name: stage.seconds for stage in made.stages}
    assert list(seconds)[-3:] == ["simulation", "clusters", "writing"]
    once = next(stage.seconds for stage in plain.stages if stage.name == "simulation")
    assert seconds["simulation"] > 1.5 * once
    assert seconds["clusters"] > 0


def test_checkpoints_after_every_iteration_do_not_change_the_vectors(
    graph: Path, tmp_path: Path
) -> None:
    config = Config(checkpoint_seconds=0)
    assert bits(embed_to(tmp_path / "out", graph, config)) == bits(pyke.embed(graph))


def test_resuming_without_a_checkpoint_starts_from_the_beginning(
    graph: Path, tmp_path: Path
) -> None:
    assert bits(embed_to(tmp_path / "out", graph, Config(), resume=True)) == bits(pyke.embed(graph))


def test_resuming_a_finished_run_returns_the_existing_embedding(
    graph: Path, tmp_path: Path
) -> None:
    done = embed_to(tmp_path / "out", graph, Config(threads=1))
    again = embed_to(tmp_path / "out", graph, Config(threads=2), resume=True)
    assert bits(again) == bits(done)
    assert (
        again.manifest["stages"]
        == json.loads((tmp_path / "out" / "manifest.json").read_text())["stages"]
    ), "it is the existing embedding"


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ("settings", "of another run: seed was 0 and is now 1. Pass `force=True` to replace it"),
        ("inputs", "of another run: the inputs are different or have changed"),
        ("a change of the input", "of another run: the inputs are different or have changed"),
        ("an update", "exists; pass `force=True`"),
        ("damage", "exists; pass `force=True`"),
    ],
)
def test_resuming_refuses_the_finished_output_of_another_run(
    graph: Path, tmp_path: Path, other: str, words: str
) -> None:
    out, config = tmp_path / "out", Config()
    done = embed_to(out, graph, config)
    if other == "settings":
        config = Config(seed=1)
    elif other == "inputs":
        graph = Path(shutil.copy2(graph, tmp_path / "other.nt"))
    elif other == "an update":
        done.update(added=graph).save(out, force=True)
    elif other == "damage":
        np.save(out / "vectors.npy", np.full_like(done.vectors, np.nan))
    else:
        os.utime(graph, ns=(0, 0))  # an older time, as copies can have
    with pytest.raises(OutputExists, match=words):
        embed_to(out, graph, config, resume=True)


def test_a_checkpoint_with_other_parameters_is_refused(graph: Path, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", graph, Config(), progress=StopAt(3))
    with pytest.raises(UsageError, match="dimensions was 50 and is now 20"):
        embed_to(tmp_path / "out", graph, Config(dimensions=20), resume=True)


def test_a_checkpoint_of_another_input_is_refused(graph: Path, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", graph, Config(), progress=StopAt(3))
    graph.write_text(random_graph(seed=2))
    with pytest.raises(UsageError, match="inputs"):
        embed_to(tmp_path / "out", graph, Config(), resume=True)


@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY damaged"])
def test_a_damaged_checkpoint_is_ignored(graph: Path, tmp_path: Path, damage: bytes) -> None:
    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", graph, Config(), progress=StopAt(3))
    (tmp_path / ".out.pyke" / "positions" / "positions.npy").write_bytes(damage)
    assert bits(embed_to(tmp_path / "out", graph, Config(), resume=True)) == bits(pyke.embed(graph))


FORGED: list[tuple[str, Callable[[Any], Any]]] = [
    ("graph/subjects", lambda a: a + 2**20),
    ("graph/subjects", lambda a: a[::-1]),
    ("graph/subjects", lambda a: a[1:]),
    ("graph/predicate_positions", lambda a: a + 1000),
    ("graph/objects", lambda a: a - 2),
    ("graph/predicates", lambda a: a[::-1]),
    ("graph/types", lambda a: a + 2**20),
    ("graph/labelled", lambda _: np.array([2**20], np.int32)),
    ("graph/term_offsets", lambda a: np.append(a[:-2], [2**40, a[-1]])),
    ("graph/term_offsets", lambda a: a[:5]),
    ("graph/term_blob", lambda a: a | 0x80),
    ("springs/offsets", lambda a: np.append(0, np.full(len(a) - 1, a[-1]))[::-1]),
    ("springs/offsets", lambda a: a[:3]),
    ("springs/columns", lambda a: a + 2**20),
    ("springs/columns", lambda a: a.astype(np.int64)),
    ("springs/values", lambda a: a * np.float32(np.nan)),
    ("springs/values", lambda a: -a),
    ("springs/values", lambda a: a[1:]),
    ("springs/pool_offsets", lambda a: a * 2**30),
    ("springs/pool", lambda a: a - 2**20),
    ("springs/members", lambda a: a + np.uint16(60_000)),
    ("springs/members", lambda a: a[:, :1]),
    ("springs/counts", lambda a: a + np.uint16(60_000)),
    ("springs/counts", lambda a: a[:-1]),
    ("positions/positions", lambda a: a[:3]),
    ("positions/positions", lambda a: a[:, :3]),
    ("positions/positions", lambda a: a + np.float32(np.inf)),
    ("positions/positions", lambda a: a.astype(np.float64)),
]


@pytest.mark.parametrize(("name", "change"), FORGED)
def test_a_forged_checkpoint_with_valid_checksums_is_ignored(
    graph: Path, tmp_path: Path, name: str, change: Callable[[Any], Any]
) -> None:
    config = Config(dimensions=4)
    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", graph, config, progress=StopAt(3))
    file = tmp_path / ".out.pyke" / f"{name}.npy"
    forge_array(file, change(np.load(file)))
    resumed = embed_to(tmp_path / "out", graph, config, resume=True)
    assert bits(resumed) == bits(pyke.embed(graph, dimensions=4))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("positions", {"history": [{"energy": "x"}]}),
        ("positions", {"history": [{"energy": 1, "objective": "x", "displacement": 1}]}),
        ("positions", {"history": 7}),
        ("positions", {"checkpoint": 99}),
        ("positions", {"files": {"../positions.npy": {"bytes": 1, "sha256": "x"}}}),
        ("graph", {"census": {"triples": 1.5, "problems": []}}),
        ("graph", {"census": {"problems": [7]}}),
        ("graph", {"census": None}),
    ],
)
def test_a_forged_manifest_of_a_checkpoint_is_ignored(
    graph: Path, tmp_path: Path, name: str, changes: dict[str, Any]
) -> None:
    config = Config(dimensions=4)
    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", graph, config, progress=StopAt(3))
    forge(tmp_path / ".out.pyke" / name, **changes)
    resumed = embed_to(tmp_path / "out", graph, config, resume=True)
    assert bits(resumed) == bits(pyke.embed(graph, dimensions=4))


@pytest.mark.parametrize("name", ["manifest.json", "positions.npy"])
def test_a_pipe_in_a_checkpoint_does_not_block_the_run(
    graph: Path, tmp_path: Path, name: str
) -> None:
    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", graph, Config(), progress=StopAt(3))
    (tmp_path / ".out.pyke" / "positions" / name).unlink()
    os.mkfifo(tmp_path / ".out.pyke" / "positions" / name)
    assert bits(embed_to(tmp_path / "out", graph, Config(), resume=True)) == bits(pyke.embed(graph))


def test_a_run_continues_without_checkpoints_on_a_full_disk(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(directory: Path, *_: Any, **__: Any) -> None:
        raise WriteError(
            f"cannot write {directory}: the disk is full. Existing output is unchanged."
        )

    class Notes(Progress):
        def __init__(self) -> None:
            self.notes: list[str] = []

        def note(self, message: str) -> None:
            self.notes.append(message)

    monkeypatch.setattr(checkpoints, "write_directory", full)
    progress = Notes()
    made = embed_to(tmp_path / "out", graph, Config(checkpoint_seconds=0), progress=progress)
    assert bits(made) == bits(pyke.embed(graph))
    assert len(progress.notes) == 1, "one warning is enough"
    assert "the disk is full" in progress.notes[0]
    assert [path.name for path in tmp_path.iterdir()] == ["graph.nt", "out"]


def test_a_file_whose_name_is_not_utf8_is_embedded_and_resumed(graph: Path, tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/gr\xfcn.nt"))
    graph.rename(odd)
    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", odd, Config(dimensions=4), progress=StopAt(3))
    embed_to(tmp_path / "out", odd, Config(dimensions=4), resume=True)
    loaded = pyke.load(tmp_path / "out")
    assert loaded.manifest["inputs"] == [str(odd)]
    loaded.update(odd).save(tmp_path / "updated")


def test_an_existing_output_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(OutputExists, match="`force=True`"):
        embed_to(tmp_path / "out", tmp_path / "missing.nt", Config())


def test_a_failed_run_leaves_no_files(tmp_path: Path) -> None:
    (tmp_path / "empty.nt").touch()
    with pytest.raises(EmptyGraph):
        embed_to(tmp_path / "out", tmp_path / "empty.nt", Config())
    assert [path.name for path in tmp_path.iterdir()] == ["empty.nt"]


def test_rows_in_memory_have_no_checkpoint_and_no_advice_to_resume(tmp_path: Path) -> None:
    rows = np.array([("a", "p", "b"), ("b", "p", "c")])
    config = Config(dimensions=2, checkpoint_seconds=0)
    with pytest.raises(Interrupted) as stopped:
        embed_to(tmp_path / "out", rows, config, progress=StopAt(3))  # type: ignore[arg-type]
    assert "resume" not in str(stopped.value)
    assert list(tmp_path.rglob("*positions")) == []


def test_a_data_frame_is_embedded_within_a_limit_of_memory(tmp_path: Path) -> None:
    import pandas as pd

    frame: Any = pd.DataFrame([("a", "p", "b"), ("b", "p", "c")], columns=["s", "p", "o"])
    made = embed_to(tmp_path / "out", frame, Config(dimensions=2, memory=10**9))
    assert len(made) == 4


def test_standard_input_cannot_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Save the input to a file"):
        embed_to(tmp_path / "out", "-", Config(format="ntriples"), resume=True)


def test_the_memory_limit_applies_to_a_resumed_run(graph: Path, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", graph, Config(), progress=StopAt(3))
    with pytest.raises(OverBudget, match="simulation"):
        embed_to(tmp_path / "out", graph, Config(memory=190_000_000), resume=True)


def test_a_run_killed_between_springs_and_positions_resumes(graph: Path, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", graph, Config(), progress=StopAt(3))
    shutil.rmtree(tmp_path / ".out.pyke" / "positions")
    assert bits(embed_to(tmp_path / "out", graph, Config(), resume=True)) == bits(pyke.embed(graph))


def test_force_replaces_an_output(family: Path, tmp_path: Path) -> None:
    embed_to(tmp_path / "out", family, Config(dimensions=3))
    embed_to(tmp_path / "out", family, Config(dimensions=4), force=True)
    assert pyke.load(tmp_path / "out").vectors.shape[1] == 4


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", EmptyGraph, "no triples"),
        ("# only a comment\n", EmptyGraph, "no triples"),
        ('<http://e/s> <http://e/p> "only literals" .\n', EmptyGraph, "`count_literals=True`"),
    ],
)
def test_a_graph_without_triples_is_refused(
    tmp_path: Path, text: str, error: type[Exception], words: str
) -> None:
    path = tmp_path / "graph.nt"
    path.write_text(text)
    with pytest.raises(error, match=words):
        pyke.embed(path)


def test_a_graph_of_literals_can_be_embedded_if_literals_count(tmp_path: Path) -> None:
    path = tmp_path / "graph.nt"
    path.write_text(
        '<http://e/s> <http://e/p> "a" .\n'
        '<http://e/s> <http://e/p> "b" .\n'
        '<http://e/t> <http://e/p> "a" .\n'
    )
    embedding = pyke.embed(path, count_literals=True)
    assert len(embedding) == 3
    assert embedding.manifest["census"]["triples"] == 3
    assert np.isfinite(embedding.vectors).all()


@pytest.mark.parametrize("similarity", ["context", "ppmi"])
@pytest.mark.parametrize(
    "text",
    [
        "<http://e/s> <http://e/p> <http://e/o> .\n",
        "<http://e/s> <http://e/p> <http://e/s> .\n",
        "<http://e/s> <http://e/s> <http://e/s> .\n",
        "<http://e/s> <http://e/p> <http://e/s> .\n<http://e/p> <http://e/p> <http://e/p> .\n",
        FAMILY,
    ],
    ids=[
        "one triple",
        "self-loop",
        "nothing but itself",
        "two self-loops",
        "K larger than the graph",
    ],
)
def test_degenerate_graphs_have_finite_vectors(tmp_path: Path, text: str, similarity: str) -> None:
    path = tmp_path / "graph.nt"
    path.write_text(text)
    for preset in ("default", "paper"):
        assert np.isfinite(
            pyke.embed(path, preset=preset, similarity=similarity, k=1000).vectors
        ).all()


def test_the_paper_preset_gives_finite_vectors(graph: Path) -> None:
    embedding = pyke.embed(graph, preset="paper")
    assert embedding.manifest["stop_reason"] == "energy"
    assert len(embedding.manifest["history"]) == 25
    assert np.isfinite(embedding.vectors).all()
    assert embedding.vectors.min() == 0
    assert embedding.vectors.max() == 1


def test_the_update_as_printed_in_the_paper_diverges_with_a_remedy(graph: Path) -> None:
    with pytest.raises(DivergedError, match=r"iteration \d+.*stiffness"):
        pyke.embed(graph, preset="paper", rescale=False, max_iterations=1000, energy_release=0.001)


def test_embed_refuses_an_unknown_similarity_with_the_known_names(family: Path) -> None:
    with pytest.raises(UsageError, match="context, ppmi"):
        pyke.embed(family, similarity="cosine")


@pytest.mark.parametrize("memory", ["1MB", "100MB"])
def test_a_memory_limit_below_the_requirement_is_refused_before_the_run(
    graph: Path, memory: str
) -> None:
    with pytest.raises(OverBudget, match=r"reading needs .* `pyke plan`"):
        pyke.embed(graph, memory=memory)


def test_positions_that_exceed_the_memory_limit_are_refused(graph: Path) -> None:
    with pytest.raises(OverBudget, match="simulation needs at least"):
        pyke.embed(graph, memory="250MB", dimensions=4096, init="svd")  # needs complete rows


def test_no_input_is_an_error() -> None:
    with pytest.raises(NoInput):
        pyke.embed([])


def test_types_and_labels_are_kept(family: Path) -> None:
    embedding = pyke.embed(family)
    types = {(embedding.terms[s], embedding.terms[c]) for s, c in embedding.types}
    assert ("http://e/anna", "http://e/female") in types
    assert len(types) == 5


def test_types_can_come_from_another_predicate(tmp_path: Path) -> None:
    path = tmp_path / "graph.tsv"
    path.write_text("Q1\tP31\tQ5\nQ2\tP31\tQ5\nQ1\tP22\tQ2\n")
    census = read_census(path, Config(type_predicate="P31"))
    assert (census.typed_subjects, census.classes) == (2, 1)
    assert read_census(path, Config()).typed_subjects == 0


def test_a_plan_has_the_counts_of_the_run(graph: Path) -> None:
    made = make_plan(graph, Config(clusters=0))
    embedding = pyke.embed(graph, clusters=0)
    assert made.share == 1
    assert made.sizes.particles == embedding.manifest["particles"]
    assert made.sizes.springs == embedding.manifest["springs"]
    assert [stage.name for stage in made.stages] == [
        "reading",
        "springs",
        "repellers",
        "simulation",
        "writing",
    ]


def test_a_plan_measures_how_fast_rows_are_gathered(
    graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "_probe", lambda *_: plan.Speed(1.0, 3.0, 10**9))  # per row, particle
    slow = make_plan(graph, Config(threads=2))
    rows = slow.sizes.springs + slow.sizes.particles * Config().repellers
    simulation = next(stage for stage in slow.stages if stage.name == "simulation")
    expected = rows * anneal.planned_iterations(Config()) + 3 * slow.sizes.particles
    assert simulation.cpu_seconds == pytest.approx(expected)
    assert simulation.seconds == pytest.approx(simulation.cpu_seconds / 2)
    assert slow.cpu_seconds > sum(stage.cpu_seconds for stage in slow.stages)


def test_a_complete_row_of_a_graph_larger_than_the_measured_one_takes_longer() -> None:
    sizes, config = Sizes(particles=400, springs=2000), Config(threads=1)

    def seconds(measured: int, layout: Layout) -> float:
        return plan._simulation_seconds(sizes, config, plan.Speed(1, 0, measured), layout, 0)[1]

    for layout, further in ((ROWS, 0.065), (LAYOUTS[1], 0.0)):
        once = seconds(400, layout)
        assert seconds(100, layout) == pytest.approx(once * (1 + 2 * further))
        assert seconds(800, layout) == once, "a smaller graph is not faster"


@pytest.mark.parametrize("changes", [{}, {"updates": "alternating"}, {"init": "svd"}], ids=str)
def test_a_few_iterations_of_a_sample_are_measured(graph: Path, changes: dict[str, Any]) -> None:
    config = Config(dimensions=4, **changes)
    run = Run(graph, config)
    measured = plan._probe(*pipeline_embed.find_forces(run.read(), run.stages), config)
    assert measured
    assert 0 < measured[0] < 1e-3
    assert 0 <= measured[1] < 1e-3


def test_a_sample_that_diverges_is_not_measured(graph: Path) -> None:
    config = Config(dimensions=4, mass="unit", omega=1e30)
    run = Run(graph, config)
    assert plan._probe(*pipeline_embed.find_forces(run.read(), run.stages), config) is None


def test_a_plan_from_a_sample_estimates_the_counts(tmp_path: Path) -> None:
    path = tmp_path / "graph.nt"
    path.write_text(random_graph(60_000))
    whole = make_plan(path, Config())
    part = make_plan(path, Config(), sample_bytes=path.stat().st_size // 3)
    assert part.share < 0.5
    assert part.sizes.triples == pytest.approx(whole.sizes.triples, rel=0.3)
    assert part.peak_bytes == pytest.approx(whole.peak_bytes, rel=0.15)


@pytest.mark.parametrize("syntax", ["ntriples", "turtle"])
def test_a_hopeless_limit_is_refused_from_a_small_sample(
    syntax: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "graph.nt"
    path.write_text(random_graph(20_000))
    monkeypatch.setattr(refusal, "ABOVE", 100_000)
    monkeypatch.setattr(refusal, "SAMPLE_BYTES", 400_000)
    monkeypatch.setattr(Run, "embed", None)  # the run does not start
    with pytest.raises(OverBudget, match=r"the run needs about .* MB of memory, estimated"):
        embed_to(tmp_path / "out", path, Config(memory=80_000_000, format=syntax))
    assert [entry.name for entry in tmp_path.iterdir()] == ["graph.nt"]


def test_a_refusal_does_not_load_numba(tmp_path: Path) -> None:
    path = tmp_path / "graph.nt"
    path.write_text(random_graph(20_000))
    code = f"""
import sys
from pyke.config import Config
from pyke.errors import OverBudget
from pyke.pipeline import embed_to, refusal
refusal.ABOVE = 100_000
try:
    embed_to("out", {str(path)!r}, Config(memory=80_000_000))
except OverBudget:
    print("numba" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


@pytest.mark.parametrize("files", [1, 3])
def test_counts_are_estimated_from_the_first_lines(
    files: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusal, "SAMPLE_BYTES", 800_000)
    monkeypatch.setattr(refusal, "PIECE", 1 << 12)
    lines = random_graph(60_000).splitlines(keepends=True)
    for number in range(files):
        (tmp_path / f"{number}.nt").write_text("".join(lines[number::files]))
    found = refusal.estimate(find_documents([tmp_path]))
    true = make_plan(tmp_path, Config()).sizes
    for name in ("links", "triples", "literals", "terms", "text_bytes"):
        assert getattr(found, name) == pytest.approx(getattr(true, name), rel=0.3)


def test_a_limit_that_may_do_is_checked_with_the_true_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "graph.nt"
    path.write_text(random_graph(20_000))
    monkeypatch.setattr(refusal, "ABOVE", 100_000)
    with pytest.raises(OverBudget, match="reading needs at least"):
        embed_to(tmp_path / "out", path, Config(memory=180_000_000))


def test_a_plan_with_too_many_particles_for_their_ids_is_refused(graph: Path) -> None:
    made = make_plan(graph, Config())
    too_many = replace(made, sizes=replace(made.sizes, particles=2**31))
    with pytest.raises(OverBudget, match="the maximum for 32-bit ids"):
        plan.check(too_many, Config())


def test_standard_input_cannot_be_planned() -> None:
    with pytest.raises(UsageError, match="Save the input to a file"):
        make_plan("-", Config(format="ntriples"))


def test_the_start_depends_on_the_seed_only() -> None:
    def draw(particles: int, threads: int) -> Any:
        return anneal.random_start(particles, Config(threads=threads, seed=3))

    assert np.array_equal(draw(1000, 1), draw(1000, 2))
    assert np.array_equal(draw(1000, 1)[:10], draw(10, 1))
    values = draw(4000, 2)[:, :50]
    assert abs(float(values.mean())) < 0.01
    assert float(values.std()) == pytest.approx(1, abs=0.01)


HOLDINGS = [Holding(layout, graph) for layout in LAYOUTS[::2] for graph in (True, False)][1:]


@pytest.mark.parametrize("holding", HOLDINGS, ids=lambda one: one.name)
def test_every_way_to_hold_positions_resumes_to_the_same_bits(
    graph: Path, tmp_path: Path, holding: Holding, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = bits(pyke.embed(graph, clusters=3))
    monkeypatch.setattr(pipeline_embed, "holding_of", lambda *_: holding)
    monkeypatch.setattr(pipeline_embed, "keeps_graph", lambda *_: holding.graph_in_memory)
    assert bits(pyke.embed(graph, clusters=3, memory="300MB")) == plain
    config = Config(clusters=3)
    assert bits(embed_to(tmp_path / "whole", graph, config)) == plain
    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", graph, config, progress=StopAt(3))
    assert bits(embed_to(tmp_path / "out", graph, config, resume=True)) == plain
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph.nt", "out", "whole"]


def test_less_memory_is_used_where_the_budget_needs_it() -> None:
    sizes = budget.Sizes(
        triples=10**6, terms=10**6, text_bytes=10**7, particles=2 * 10**6, springs=10**7
    )
    needs = [
        budget.simulation_bytes(sizes, Config(), Holding(layout, graph))
        for layout in LAYOUTS
        for graph in (True, False)
    ]
    assert all(
        with_graph > without for with_graph, without in zip(needs[::2], needs[1::2], strict=True)
    )
    assert needs[::2] == sorted(needs[::2], reverse=True)
    for needed in needs:
        chosen = budget.holding_of(sizes, Config(memory=needed))
        assert budget.simulation_bytes(sizes, Config(memory=needed), chosen) <= needed
    assert budget.holding_of(sizes, Config()) == Holding()
    assert budget.holding_of(sizes, Config(memory=1)) == Holding(LAYOUTS[-1], False)
    assert budget.holding_of(sizes, Config(memory=1, init="svd")).layout == LAYOUTS[0]
    disk = budget.disk_bytes(sizes, Config(memory=1))
    assert disk["simulation"] - budget.disk_bytes(sizes, Config())["simulation"] == (
        budget.scratch_bytes(sizes, Config(memory=1))
    )


@pytest.mark.parametrize("memory", [None, 10**9])
def test_a_graph_that_is_put_on_disk_is_not_in_memory_during_the_simulation(
    memory: int | None, graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs: list[weakref.ref[Graph]] = []
    alive: list[bool] = []
    finish, symmetric = Run.finish, strongest.symmetric_matrix

    def watched_finish(run: Run, *arguments: Any) -> Graph:
        found = finish(run, *arguments)
        graphs.append(weakref.ref(found))
        return found

    def watched_matrix(*arguments: Any) -> Any:
        alive.append(graphs[0]() is not None)
        return symmetric(*arguments)

    monkeypatch.setattr(Run, "finish", watched_finish)
    monkeypatch.setattr(pipeline_embed, "symmetric_matrix", watched_matrix)
    monkeypatch.setattr(pipeline_embed, "keeps_graph", lambda *_: False)
    embed_to(tmp_path / "out", graph, Config(memory=memory))
    assert alive == [False]


def test_saved_positions_are_checked_a_few_megabytes_at_a_time(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Interrupted):
        embed_to(tmp_path / "out", graph, Config(), progress=StopAt(3))
    read: list[int] = []
    taken = StoredRows.__getitem__

    def watched(rows: StoredRows, wanted: slice) -> Any:
        found = taken(rows, wanted)
        read.append(found.nbytes)
        return found

    monkeypatch.setattr(StoredRows, "__getitem__", watched)
    monkeypatch.setattr(checkpoints, "_BYTES_AT_ONCE", 1000)
    resumed = embed_to(tmp_path / "out", graph, Config(), resume=True)
    assert bits(resumed) == bits(pyke.embed(graph))
    assert sum(size <= 1000 for size in read) > 10
