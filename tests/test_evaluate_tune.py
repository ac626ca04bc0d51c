"""Tuning: which settings are tried, their scores, and which settings are written."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from conftest import Command
from pyke.config import RDF_TYPE, Config
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import DivergedError, Interrupted, MissingLibrary, NothingToScore, UsageError
from pyke.evaluate import Measures, evaluate_held_out, tables
from pyke.evaluate import tune as tune_module
from pyke.evaluate.measures import measure_held_out
from pyke.evaluate.tune import SPACE, Trial, Tuning, settings, tune
from pyke.graph.graph import Graph
from pyke.pipeline import Run, embed_graph
from pyke.use.types.held_out import split

BASE = Config(dimensions=8, k=5)


@pytest.fixture(scope="module")
def tuned(typed: Path) -> tuple[Tuning, list[Trial]]:
    """Three trials, and those that were reported."""
    reported: list[Trial] = []
    return tune(typed, BASE, trials=3, mu=5, on_trial=reported.append), reported


# --------------------------------------------------------------------------------------------------
# The sequence
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trials", [1, 2, 3, 64, 100])
def test_all_points_are_within_bounds_and_have_the_right_type(trials: int) -> None:
    points = settings(trials, 0)
    assert len(points) == trials
    for point in points:
        assert list(point) == list(SPACE)
        for name, (low, high, is_integer) in SPACE.items():
            assert low <= point[name] <= high
            assert isinstance(point[name], int if is_integer else float)
        replace(Config(), **point)


def test_the_seed_determines_the_points_and_more_trials_start_with_the_same_ones() -> None:
    assert settings(8, 5) == settings(8, 5) != settings(8, 6)
    assert settings(3, 5) == settings(8, 5)[:3]
    assert settings(2, 2**64 - 1)


def test_the_points_cover_the_space_on_a_logarithmic_scale() -> None:
    """Each quarter of every parameter has 16 of 64 points. Rounding may move a point."""
    for name, (low, high, _) in SPACE.items():
        places = [math.log(point[name] / low) / math.log(high / low) for point in settings(64, 0)]
        quarters = [
            sum(
                quarter / 4 <= place < (quarter + 1) / 4 or (quarter == 3 and place == 1)
                for place in places
            )
            for quarter in range(4)
        ]
        assert max(abs(count - 16) for count in quarters) <= 2, (name, quarters)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(MissingLibrary, match=r"tuning needs scipy.*pip install '\.\[evaluate\]'"):
        settings(4, 0)


# --------------------------------------------------------------------------------------------------
# Trials
# --------------------------------------------------------------------------------------------------


def test_every_score_is_that_of_the_held_out_protocol(
    tuned: tuple[Tuning, list[Trial]], typed: Path
) -> None:
    """All settings on one split, and the winner also on the split of evaluate_held_out."""
    found, _ = tuned
    parts = split(Run(typed, BASE).read(), 0.2, BASE.seed + 1, RDF_TYPE)
    for score, config in [(found.base_score, BASE)] + [
        (trial.score, replace(BASE, **point))
        for trial, point in zip(found.trials, settings(3, 0), strict=True)
    ]:
        vectors = embed_graph(parts.graph, config).vectors
        assert (
            score == measure_held_out(vectors, parts, Measures(mu=[5]), Progress()).types.scores[5]
        )
    if found.winner:
        winner = replace(BASE, **{name: getattr(found.winner, name) for name in SPACE})
        for confirmed, config in ((found.base_confirmed, BASE), (found.confirmed, winner)):
            assert (
                confirmed == evaluate_held_out(typed, config, 0.2, Measures(mu=[5])).types.scores[5]
            )


def test_a_winner_that_loses_on_the_second_split_is_not_used() -> None:
    for confirmed, is_used in ((0.6, True), (0.5, False), (0.4, False), (None, False)):
        found = Tuning(BASE, 0.5, (trial(0.7),), 5, base_confirmed=0.5, confirmed=confirmed)
        assert (found.best == found.winner, found.config != BASE) == (is_used, is_used)


def test_trials_are_in_the_order_of_the_sequence_and_are_reported_one_by_one(
    tuned: tuple[Tuning, list[Trial]],
) -> None:
    found, reported = tuned
    assert list(found.trials) == reported
    assert [{name: getattr(trial, name) for name in SPACE} for trial in found.trials] == settings(
        3, 0
    )
    assert all(trial.seconds > 0 for trial in found.trials)


def test_the_same_seed_gives_the_same_result(
    tuned: tuple[Tuning, list[Trial]], typed: Path
) -> None:
    again = tune(typed, BASE, trials=3, mu=5)
    assert [trial.score for trial in again.trials] == [trial.score for trial in tuned[0].trials]
    assert again.config == tuned[0].config


def trial(score: float | None, k: int = 10) -> Trial:
    return Trial(k, 0.5, 0.05, 20, score, 1.0)


@pytest.mark.parametrize(
    ("base_score", "scores", "best"),
    [
        (0.5, [0.4, 0.7, 0.6], 1),
        (0.5, [0.7, 0.7], 0),
        (0.5, [None, 0.6], 1),
        (0.5, [0.5, 0.4, None], None),
        (0.5, [None, None], None),
        (None, [0.1, 0.2], 1),
        (None, [None, 0.0], 1),
        (None, [None], None),
        (0.0, [0.0], None),
    ],
)
def test_the_best_trial_is_the_first_with_the_maximum_score(
    base_score: float | None, scores: list[float | None], best: int | None
) -> None:
    """A trial without a score is worse than any other."""
    found = Tuning(
        BASE,
        base_score,
        tuple(trial(score, 10 + number) for number, score in enumerate(scores)),
        10,
    )
    assert found.best == (None if best is None else found.trials[best])
    if best is None:
        assert found.config == BASE
    else:
        assert found.config == replace(
            BASE, k=10 + best, omega=0.5, energy_release=0.05, dimensions=20
        )


def test_a_trial_that_diverges_has_no_score_and_the_others_continue(
    typed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = settings(2, 0)

    def diverging(graph: Graph, config: Config, progress: Progress) -> Embedding:
        if config.k == first["k"]:
            raise DivergedError("too far")
        return embed_graph(graph, config, progress)

    monkeypatch.setattr(tune_module, "embed_graph", diverging)
    found = tune(typed, BASE, trials=2, mu=5)
    assert first["k"] not in (second["k"], BASE.k)
    assert found.trials[0].score is None
    assert found.trials[1].score is not None
    assert found.base_score is not None
    assert "no score" in tables.trial_line(found.trials[0])
    assert "1 without a score" in tables.tuning_table(found).note


def test_tuning_can_be_stopped(typed: Path) -> None:
    class Stop(Progress):
        def advance(self, done: int) -> None:
            if done == 1:
                raise Interrupted(2)

    with pytest.raises(Interrupted):
        tune(typed, BASE, trials=50, mu=5, progress=Stop())


def test_invalid_parameters_are_rejected(typed: Path, family: Path) -> None:
    with pytest.raises(UsageError, match="`trials` is 0"):
        tune(typed, BASE, trials=0)
    with pytest.raises(UsageError, match="between 0 and 1"):
        tune(typed, BASE, trials=1, fraction=0)
    with pytest.raises(UsageError, match="at least 1"):
        tune(typed, BASE, trials=1, mu=0)
    with pytest.raises(NothingToScore, match="`mu` is 10, but only 4"):
        tune(family, BASE, trials=1)


# --------------------------------------------------------------------------------------------------
# Tables and the command line
# --------------------------------------------------------------------------------------------------


def test_the_table_has_the_given_settings_first_and_then_the_best_trials() -> None:
    found = Tuning(BASE, 0.5, (trial(0.4), trial(None), trial(0.9, 7)), 10)
    table = tables.tuning_table(found)
    assert [row[0] for row in table.rows] == ["given", "1", "2"]
    assert [row[5] for row in table.rows] == ["0.500", "0.900", "0.400"]
    assert table.rows[1][1] == "7"
    assert table.best == {(1, 5)}
    kept = tables.tuning_table(Tuning(BASE, 0.5, (trial(0.4),), 10))
    assert kept.best == {(0, 5)}
    assert "No trial beat the given settings" in kept.note
    assert [row[5] for row in tables.tuning_table(Tuning(BASE, None, (trial(None),), 10)).rows] == [
        "–"
    ]


def test_the_command_writes_the_best_settings_for_embed(
    pyke: Command, typed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("start.toml").write_text('k = 2\ndimensions = 2\nomega = 0.01\nsimilarity = "ppmi"\n')
    run = pyke(
        "tune",
        typed,
        "--trials",
        "2",
        "--mu",
        "5",
        "--config",
        "start.toml",
        "--report",
        "tuned.html",
        "--json",
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert len(found["trials"]) == 2
    assert run.stderr.count("→") == 2, "a line for each trial"
    written = Config.read("tuned.toml")
    best = found["best"] or {
        "k": 2,
        "dimensions": 2,
        "omega": 0.01,
        "energy_release": Config().energy_release,
    }
    assert written == Config(similarity="ppmi", **{name: best[name] for name in SPACE})
    assert "<table>" in Path("tuned.html").read_text()
    assert pyke("embed", typed, "-o", "out", "--config", "tuned.toml").returncode == 0
    assert json.loads(Path("out/manifest.json").read_text())["config"]["k"] == written.k


def test_the_command_keeps_the_given_settings_if_no_trial_beats_them(
    pyke: Command, typed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All four parameters are written, even if they have their defaults."""
    monkeypatch.setattr(tune_module, "measure_held_out", lambda *_: _Half())
    run = pyke("tune", typed, "--trials", "1", "-o", tmp_path / "best.toml")
    assert run.returncode == 0, run.stderr
    text = (tmp_path / "best.toml").read_text()
    assert {line.split(" = ")[0] for line in text.splitlines()} == set(SPACE)
    assert Config.read(tmp_path / "best.toml") == Config()
    assert "No trial beat the given settings" in run.stdout


class _Half:
    """An evaluation in which every score is one half."""

    class types:
        scores: ClassVar = {10: 0.5}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--trials", "0"), 2, "is 0; it must be from 1 to 100,000"),
        (("--held-out", "0"), 2, "between 0 and 1"),
        (("--held-out", "1"), 2, "between 0 and 1"),
        (("--mu", "0"), 2, "at least 1"),
        (("--mu", "50"), 65, "only 49 typed subjects"),
        (("-o", "taken.toml"), 73, "--force"),
        (("--config", "missing.toml"), 66, "missing.toml"),
        (("--config", "taken.toml"), 2, "unknown setting 'kk'"),
        (("--report", "x.xyz"), 2, "png, svg, pdf"),
        (("--report", "taken.html"), 73, "--force"),
        (("-o", "taken.toml/x.toml"), 74, "cannot write"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_errors_have_an_exit_code(
    pyke: Command,
    typed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    """Errors are reported before hours of trials."""
    monkeypatch.chdir(tmp_path)
    for name in ("taken.toml", "taken.html"):
        Path(name).write_text("kk = 3\n")
    run = pyke("tune", typed, "--trials", "1", *arguments)
    assert (run.returncode, words in run.stderr) == (code, True), run.stderr
    assert "Traceback" not in run.stderr
    assert "→" not in run.stderr, "no trial was run"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
        ["taken.toml", "taken.html"], "kk = 3\n"
    )
