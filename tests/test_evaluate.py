"""Both protocols, from files to scores, and `pyke evaluate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import oracle
from conftest import Command
from graphs import FAMILY, TYPE
from pyke.config import RDF_TYPE, Config
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding, load
from pyke.errors import Interrupted, NothingToScore
from pyke.evaluate import Evaluation, Measures, evaluate, evaluate_held_out, tables
from pyke.evaluate.measures import read_typed_graph
from pyke.pipeline import Run, embed_graph, embed_to
from pyke.use.types.held_out import split

CONFIG = Config(dimensions=8)


@pytest.fixture(scope="module")
def embedding(typed: Path) -> Embedding:
    return Run(typed, CONFIG).embed()


@pytest.fixture(scope="module")
def directory(typed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("embedded") / "out"
    embed_to(path, typed, CONFIG)
    return path


def plain(embedding: Embedding) -> tuple[list[list[float]], list[set[str]]]:
    """Vectors and types of the typed subjects, as input of the oracle."""
    types: dict[int, set[str]] = {}
    for s, c in embedding.types.tolist():
        types.setdefault(s, set()).add(embedding.terms[c])
    return embedding.vectors[list(types)].astype(np.float64).tolist(), list(types.values())


# --------------------------------------------------------------------------------------------------
# Protocols
# --------------------------------------------------------------------------------------------------


def test_scores_of_an_embedding_equal_those_of_the_oracle(embedding: Embedding) -> None:
    found = evaluate(embedding)
    vectors, types = plain(embedding)
    assert list(found.types.scores) == [1, 3, 5, 10, 15, 30, 50]
    for mu, score in found.types.scores.items():
        assert score == pytest.approx(oracle.type_prediction(vectors, types, mu), abs=1e-9)
    assert found.protocol == "in-graph"
    assert found.types.asked == 61
    assert found.purity is not None


def test_scores_of_withheld_types_equal_those_of_the_oracle(typed: Path) -> None:
    found = evaluate_held_out(typed, CONFIG, 0.3)
    parts = split(Run(typed, CONFIG).read(), 0.3, 0, RDF_TYPE)
    vectors = embed_graph(parts.graph, CONFIG).vectors.astype(np.float64).tolist()

    def types_of(table: Any) -> list[set[str]]:
        return [
            {str(c) for c in table.classes[a:b].tolist()}
            for a, b in zip(table.offsets, table.offsets[1:], strict=False)
        ]

    truth = oracle.Withheld(
        [vectors[s] for s in parts.known.subjects], types_of(parts.known),
        [vectors[s] if s >= 0 else None for s in parts.asked.subjects], types_of(parts.asked),
    )  # fmt: skip
    assert list(found.types.scores) == [1, 3, 5, 10, 15, 30]
    for mu, score in found.types.scores.items():
        assert score == pytest.approx(truth.score(mu), abs=1e-9)
    assert found.types.votes is not None
    assert found.types.votes.top_1 == pytest.approx(truth.top_1(10))
    assert (found.types.votes.micro_f1, found.types.votes.macro_f1) == pytest.approx(truth.f1(10))
    assert (found.protocol, found.purity) == ("held-out", None)


def test_scores_do_not_depend_on_the_number_of_threads(typed: Path, embedding: Embedding) -> None:
    assert (
        len(
            {
                json.dumps(evaluate(embedding, Measures(threads=threads)).as_dict())
                for threads in (1, 2, 7)
            }
        )
        == 1
    )
    configs = [Config(dimensions=8, threads=threads) for threads in (1, 3)]
    assert (
        len(
            {
                json.dumps(
                    evaluate_held_out(
                        typed, config, measures=Measures(threads=config.threads)
                    ).as_dict()
                )
                for config in configs
            }
        )
        == 1
    )


def test_a_loaded_embedding_has_the_same_scores(embedding: Embedding, directory: Path) -> None:
    assert evaluate(load(directory)) == evaluate(embedding)


def test_measures_can_be_selected(embedding: Embedding) -> None:
    found = evaluate(embedding, Measures(mu=[7, 2], purity=False))
    assert list(found.types.scores) == [2, 7]
    assert found.purity is None


def test_an_evaluation_can_be_written_as_json(typed: Path, embedding: Embedding) -> None:
    for found in (evaluate(embedding), evaluate_held_out(typed, CONFIG)):
        assert (
            json.loads(json.dumps(found.as_dict(), allow_nan=False))["types"]["asked"]
            == found.types.asked
        )


def test_an_evaluation_reports_progress_and_can_be_stopped(embedding: Embedding) -> None:
    class Watched(Progress):
        stages: ClassVar[list[tuple[str, int | None]]] = []

        def stage(self, name: str, total: int | None = None, unit: str = "") -> None:
            self.stages.append((name, total))
            if name == "clusters":
                raise Interrupted(15)

    with pytest.raises(Interrupted):
        evaluate(embedding, progress=Watched())
    assert Watched.stages == [("types", 61), ("neighbours", 61), ("clusters", 60)]


def test_a_graph_without_types_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "a.nt"
    path.write_text("<http://e/a> <http://e/p> <http://e/b> .\n")
    with pytest.raises(NothingToScore):
        read_typed_graph(path, CONFIG, Progress())


def test_defaults_score_well_on_real_data(data: Path) -> None:
    """iswc, which has IRIs with spaces: both protocols, at μ = 10."""
    path = data / "iswc.nt.gz"
    if not path.exists():
        pytest.skip("no iswc.nt.gz")
    config, measures = Config(lenient=True), Measures(mu=[10], purity=False)
    assert evaluate(Run(path, config).embed(), measures).types.scores[10] >= 0.97
    assert evaluate_held_out(path, config, 0.2, measures).types.scores[10] >= 0.95


# --------------------------------------------------------------------------------------------------
# Tables and the command line
# --------------------------------------------------------------------------------------------------


def shown(evaluation: Evaluation) -> str:
    words: list[str] = []
    for table in tables.evaluation_tables(evaluation):
        cells = [cell for row in table.rows for cell in row]
        words += [table.title, *table.columns, *cells, table.note]
    return "\n".join(words)


def test_tables_show_what_was_measured_and_which_subjects_have_no_vector(
    typed: Path, embedding: Embedding
) -> None:
    words = shown(evaluate(embedding, Measures(exact=True)))
    for some in (
        "in-graph",
        "61 subjects",
        "exact neighbours",
        "Cluster purity",
        "of the subjects are noise",
    ):
        assert some in words
    assert "approximate" not in words
    seed = next(
        seed
        for seed in range(100)
        if evaluate_held_out(typed, Config(dimensions=2, seed=seed)).types.without_vector
    )
    words = shown(evaluate_held_out(typed, Config(dimensions=2, seed=seed)))
    for some in (
        "withheld before the embedding",
        "1 of them have no vector",
        "top-1",
        "micro F1",
        "macro F1",
    ):
        assert some in words


def test_tables_show_that_neighbours_are_approximate(embedding: Embedding) -> None:
    words = shown(evaluate(embedding, Measures(exact=False)))
    assert "neighbours from an index with recall" in words
    assert "Clusters are approximate" in words


def test_the_command_gives_a_directory_and_its_files_the_same_scores(
    pyke: Command, directory: Path, typed: Path
) -> None:
    from_directory = json.loads(pyke("evaluate", directory, "--json").stdout)
    from_files = json.loads(pyke("evaluate", typed, "--dimensions", "8", "--json").stdout)
    assert from_directory == from_files
    assert from_directory["protocol"] == "in-graph"


def test_settings_for_an_existing_embedding_are_rejected(pyke: Command, directory: Path) -> None:
    run = pyke("evaluate", directory, "--dimensions", "8", "--seed", "3")
    assert run.returncode == 2
    assert "--dimensions, --seed would have no effect" in run.stderr


def test_the_command_prints_tables_and_writes_a_page(
    pyke: Command, typed: Path, tmp_path: Path
) -> None:
    run = pyke(
        "evaluate",
        typed,
        "--held-out",
        "0.2",
        "--mu",
        "1,3",
        "--dimensions",
        "8",
        "--report",
        tmp_path / "scores.html",
    )
    assert run.returncode == 0, run.stderr
    assert "held-out (types withheld before the embedding)" in run.stdout
    page = (tmp_path / "scores.html").read_text()
    assert "Evaluation of crafts.nt" in page
    assert "held-out (types withheld before the embedding)" in page


def test_names_of_files_are_escaped(pyke: Command, typed: Path, tmp_path: Path) -> None:
    """The name has markup of HTML, of matplotlib and of the terminal."""
    path = tmp_path / "<b>$x_{$[red].nt"
    path.write_text(typed.read_text())
    for report in ("a.html", "a.svg"):
        (tmp_path / report).write_text("old")
        run = pyke(
            "evaluate",
            path,
            "--no-purity",
            "--dimensions",
            "2",
            "--report",
            tmp_path / report,
            "--force",
        )
        assert run.returncode == 0, run.stderr
    assert "Evaluation of &lt;b&gt;$x_{$[red].nt" in (tmp_path / "a.html").read_text()


def test_the_default_list_of_mu_depends_on_the_number_of_typed_subjects(
    pyke: Command, family: Path
) -> None:
    """Five subjects have types."""
    for options, possible in (((), ["1", "3"]), (("--held-out", "0.2"), ["1", "3"])):
        run = pyke("evaluate", family, *options, "--json", "--dimensions", "3")
        assert run.returncode == 0, run.stderr
        assert list(json.loads(run.stdout)["types"]["scores"]) == possible


def test_options_select_the_measures(pyke: Command, typed: Path) -> None:
    found = json.loads(
        pyke(
            "evaluate",
            typed,
            "--no-purity",
            "--exact",
            "--mu",
            "5,2",
            "--dimensions",
            "3",
            "--json",
        ).stdout
    )
    assert found["purity"] is None
    assert list(found["types"]["scores"]) == ["2", "5"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("untyped.nt",), 65, "--type-predicate"),
        (("untyped.nt", "--held-out", "0.2"), 65, "--type-predicate"),
        (("male.nt",), 65, "have the same class"),
        (("one.nt",), 65, "one typed subject"),
        (("good.nt", "--mu", "5"), 65, "only 4 typed subjects"),
        (("good.nt", "--mu", "5", "--held-out", "0.2"), 65, "only 4 typed subjects"),
        (("good.nt", "--mu", "abc"), 2, "--mu is 'abc'"),
        (("good.nt", "--mu", ","), 2, "--mu is ','"),
        (("good.nt", "--mu", "0"), 2, "at least 1"),
        (("good.nt", "--mu", "1,-3"), 2, "at least 1"),
        (("good.nt", "--held-out", "0"), 2, "between 0 and 1"),
        (("good.nt", "--held-out", "1"), 2, "between 0 and 1"),
        (("good.nt", "--held-out", "nan"), 2, "between 0 and 1"),
        (("good.nt", "--held-out", "0.01"), 65, "At least one must lose its types"),
        (("embedded", "--held-out", "0.2"), 2, "needs the RDF files"),
        (("untyped",), 65, "no subject has a type"),
        (("missing.nt",), 66, "missing.nt"),
        (("good.nt", "--config", "missing.toml"), 66, "missing.toml"),
        (("good.nt", "--config", "good.nt"), 2, "invalid TOML"),
        (("good.nt", "--config", "unknown.toml"), 2, "unknown setting 'kk'"),
        (("good.nt", "--config", "bad.toml"), 2, "k is 0"),
        (("good.nt", "--config", "switch.toml"), 2, "rescale"),
        (("good.nt", "--config", "number.toml"), 2, "--type-predicate is 5"),
        (("good.nt", "--config", "list.toml"), 2, "similarity"),
        (("good.nt", "--report", "x.xyz"), 2, "png, svg, pdf"),
        (("good.nt", "--report", "good.nt/x.html"), 74, "cannot write"),
        (("good.nt", "--report", "kept.html"), 73, "--force"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_errors_have_an_exit_code_and_say_what_to_do(
    pyke: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    directory: Path,
    arguments: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    untyped = "<http://e/a> <http://e/p> <http://e/b> .\n<http://e/b> <http://e/p> <http://e/c> .\n"
    contents = {
        "good.nt": FAMILY,
        "kept.html": "mine",
        "untyped.nt": untyped,
        "male.nt": FAMILY.replace("female", "male"),
        "one.nt": untyped + "".join(f"<http://e/a> {TYPE} <http://e/{c}> .\n" for c in "xy"),
        "unknown.toml": "kk = 3\n",
        "bad.toml": "k = 0\n",
        "switch.toml": 'rescale = "no"\n',
        "number.toml": "type_predicate = 5\n",
        "list.toml": 'similarity = ["ppmi"]\n',
    }
    for name, content in contents.items():
        Path(name).write_text(content)
    Path("embedded").symlink_to(directory)
    if "untyped" in arguments:
        embed_to("untyped", "untyped.nt", Config(dimensions=2))
    is_made = arguments[0] in ("untyped", "embedded")
    run = pyke("evaluate", *arguments, *(() if is_made else ("--dimensions", "3")))
    assert (run.returncode, words in run.stderr) == (code, True), run.stderr
    assert Path("kept.html").read_text() == "mine"
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("untyped.nt",),
        ("good.nt", "--mu", "5"),
        ("good.nt", "--mu", "0"),
        ("good.nt", "--report", "x.xyz"),
    ],
    ids=" ".join,
)
def test_errors_are_reported_before_the_embedding(
    pyke: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """An embedding can take hours."""
    monkeypatch.chdir(tmp_path)
    Path("untyped.nt").write_text("<http://e/a> <http://e/p> <http://e/b> .\n")
    Path("good.nt").write_text(FAMILY)
    run = pyke("evaluate", *arguments)
    assert run.returncode in (2, 65)
    assert "simulation" not in run.stderr


def test_the_evaluation_uses_the_settings_of_a_file(
    pyke: Command, typed: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.toml").write_text("dimensions = 3\nk = 4\nseed = 5\n")
    found = json.loads(
        pyke(
            "evaluate",
            typed,
            "--config",
            tmp_path / "a.toml",
            "--no-purity",
            "--seed",
            "6",
            "--json",
        ).stdout
    )
    truth = evaluate(
        Run(typed, Config(dimensions=3, k=4, seed=6)).embed(), Measures(purity=False)
    ).as_dict()
    assert found == json.loads(json.dumps(truth))


def test_the_table_says_how_many_neighbours_vote_and_where_the_report_is(
    pyke: Command, tmp_path: Path
) -> None:
    """Three of six subjects keep their types, so ten cannot vote."""
    lines = [f"<e:s{n}> <e:p> <e:o{n % 2}> .\n<e:s{n}> {TYPE} <e:c{n % 2}> .\n" for n in range(6)]
    (tmp_path / "six.nt").write_text("".join(lines))
    report = tmp_path / "report.html"
    options = ("--held-out", "0.5", "--mu", "1", "--dimensions", "3", "--report", report)
    run = pyke("evaluate", tmp_path / "six.nt", *options)
    assert run.returncode == 0, run.stderr
    assert "Predicted classes with 3 neighbours (μ)" in run.stdout
    assert f"Wrote {report}." in " ".join(run.stdout.split())
