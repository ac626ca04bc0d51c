"""The command line: what it prints, its exit codes, and what signals do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer.main

from conftest import Command, process
from graphs import FAMILY, random_graph
from pyke import cli
from pyke.cli import terminal
from pyke.cli.app import COMMANDS

MANY_ITERATIONS = ("--energy-release", "0.0002", "--epsilon", "0", "--checkpoint-seconds", "0")


def test_embed_shows_counts_stages_and_why_it_stopped(
    pyke: Command, family: Path, tmp_path: Path
) -> None:
    run = pyke("embed", family, "-o", tmp_path / "out", "--dimensions", "5")
    assert run.returncode == 0, run.stderr
    for words in (
        "statements",
        "triples with literals, skipped",
        "|V|",
        "|S|",
        "|C|",
        "simulation",
        "writing",
        "peak memory",
        "Finished after 25 iterations (energy reached 0)",
    ):
        assert words in run.stdout
    assert "reading …" in run.stderr


def test_embed_prints_json(pyke: Command, family: Path, tmp_path: Path) -> None:
    run = pyke("embed", family, "-o", tmp_path / "out", "--json")
    assert json.loads(run.stdout)["census"]["terms"] == 9


def test_info_has_the_documented_keys(pyke: Command, family: Path) -> None:
    counts = json.loads(pyke("info", family, "--json").stdout)
    wanted = {
        "triples": 8,
        "terms": 9,
        "typed_subjects": 5,
        "classes": 2,
        "literals": 2,
        "blank_nodes": 0,
        "duplicates": 0,
        "errors": 0,
    }
    assert {key: counts[key] for key in wanted} == wanted


def test_info_counts_repeated_lines_with_keep_duplicates(pyke: Command, tmp_path: Path) -> None:
    path = tmp_path / "twice.nt"
    path.write_text(2 * FAMILY)
    once = json.loads(pyke("info", path, "--json").stdout)
    twice = json.loads(pyke("info", path, "--json", "--keep-duplicates").stdout)
    assert (once["triples"], once["duplicates"]) == (8, 10)
    assert (twice["triples"], twice["literals"], twice["duplicates"]) == (16, 4, 0)


def test_info_counts_what_cannot_be_embedded(pyke: Command, tmp_path: Path) -> None:
    path = tmp_path / "literals.nt"
    path.write_text('<http://e/s> <http://e/p> "x" .\n')
    counts = json.loads(pyke("info", path, "--json").stdout)
    assert (counts["triples"], counts["literals"], counts["terms_only_with_literals"]) == (0, 1, 2)


def test_info_reads_standard_input(pyke: Command) -> None:
    assert (
        json.loads(
            pyke("info", "-", "--format", "ntriples", "--json", stdin=FAMILY.encode()).stdout
        )["triples"]
        == 8
    )


def test_nearest_prints_a_table_or_json(pyke: Command, family: Path, tmp_path: Path) -> None:
    pyke("embed", family, "-o", tmp_path / "out")
    assert "http://e/" in pyke("nearest", tmp_path / "out", "http://e/anna", "-k", "2").stdout
    neighbours = json.loads(
        pyke("nearest", tmp_path / "out", "<http://e/michelle>", "-k", "8", "--json").stdout
    )
    assert len(neighbours) == 8
    assert [
        neighbour["label"] for neighbour in neighbours if neighbour["term"] == "http://e/anna"
    ] == ["Anna"]


def test_labels_cannot_send_control_codes_to_the_terminal(pyke: Command, tmp_path: Path) -> None:
    path = tmp_path / "evil.nt"
    path.write_text(
        FAMILY
        + "<http://e/heinz> <http://www.w3.org/2000/01/rdf-schema#label> "
        + '"\\u001B[31m[bold]x\\r" .\n'
    )
    pyke("embed", path, "-o", tmp_path / "out")
    shown = pyke("nearest", tmp_path / "out", "http://e/anna").stdout
    assert "\x1b" not in shown
    assert "\\u001b[31m[bold]x\\u000d" in shown


def test_verify_reports_valid_and_damaged_directories(
    pyke: Command, family: Path, tmp_path: Path
) -> None:
    pyke("embed", family, "-o", tmp_path / "out")
    assert pyke("verify", tmp_path / "out").stdout.split()[-1] == "OK"
    with (tmp_path / "out" / "vectors.npy").open("r+b") as file:
        file.seek(200)
        file.write(b"\xff")
    run = pyke("verify", tmp_path / "out")
    assert run.returncode == 65
    assert "vectors.npy" in run.stderr


def test_plan_prints_stages_and_refuses_what_does_not_fit(pyke: Command, family: Path) -> None:
    assert "whole run" in pyke("plan", family).stdout
    assert json.loads(pyke("plan", family, "--json").stdout)["peak_bytes"] > 10**8
    run = pyke("plan", family, "--memory", "50MB")
    assert run.returncode == 75
    assert "Use --memory" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("embed", "missing.nt", "-o", "out"), 66, "missing.nt: no such file or directory"),
        (("embed", "empty.nt", "-o", "out"), 65, "no triples"),
        (("embed", "literals.nt", "-o", "out"), 65, "--count-literals"),
        (("embed", "bad.nt", "-o", "out"), 65, "bad.nt:2: "),
        (("embed", "cut.nt.gz", "-o", "out"), 65, "is incomplete"),
        (("embed", "binary.nt", "-o", "out"), 65, "binary.nt:1: "),
        (("embed", "graph.txt", "-o", "out"), 2, "set --format to one of"),
        (("embed", "good.nt", "-o", "taken"), 73, "--force"),
        (("embed", "good.nt", "-o", "out", "--dimensions", "0"), 2, "--dimensions is 0"),
        (("embed", "good.nt", "-o", "out", "--omega", "nan"), 2, "--omega is nan"),
        (("embed", "good.nt", "-o", "out", "--similarity", "x"), 2, "context, ppmi"),
        (("embed", "good.nt", "-o", "out", "--preset", "x"), 2, "default, paper"),
        (("embed", "good.nt", "-o", "out", "--memory", "lots"), 2, "invalid size"),
        (("embed", "good.nt", "-o", "out", "--memory", "50MB"), 75, "needs"),
        (("embed", "good.nt", "-o", "good.nt/out"), 74, "cannot write"),
        (("embed", "-", "-o", "out"), 2, "standard input"),
        (("embed", "good.nt"), 2, "--output"),
        (("embed", "hollow", "-o", "out"), 66, "the directory has no RDF file"),
        (("nearest", "nowhere", "http://e/anna"), 66, "manifest.json"),
        (("verify", "nowhere"), 66, "manifest.json"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_bad_input_has_its_exit_code_and_says_what_to_do(
    pyke: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    contents = {
        "empty.nt": b"",
        "good.nt": FAMILY.encode(),
        "literals.nt": b'<http://e/s> <http://e/p> "x" .\n',
        "bad.nt": b"<http://e/s> <http://e/p> <http://e/o> .\n<http://e/s> <http://e/p> .\n",
        "cut.nt.gz": bytes.fromhex("1f8b0800000000000003b3c92829"),
        "binary.nt": bytes(range(256)) * 4,
        "graph.txt": FAMILY.encode(),
    }
    for name, content in contents.items():
        Path(name).write_bytes(content)
    Path("taken").mkdir()
    Path("hollow").mkdir()
    run = pyke(*arguments)
    assert (run.returncode, words in run.stderr) == (code, True), run.stderr
    assert "Traceback" not in run.stderr
    assert not Path("out").exists()


def test_a_full_disk_leaves_the_old_output_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "graph.nt"
    path.write_text(random_graph())
    assert process("embed", path, "-o", tmp_path / "out", "--dimensions", "3").returncode == 0
    run = process("embed", path, "-o", tmp_path / "out", "--force", limit=50_000)
    assert run.returncode == 74
    assert "cannot write" in run.stderr
    assert "3" in process("verify", tmp_path / "out").stdout
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["config"]["dimensions"] == 3
    assert not list(tmp_path.glob(".out.writing"))


def _started(path: Path, output: Path) -> subprocess.Popen[bytes]:
    """A long run that has written its first checkpoint of positions."""
    command = [
        sys.executable,
        "-m",
        "pyke",
        "embed",
        str(path),
        "-o",
        str(output),
        "--dimensions",
        "4",
        *MANY_ITERATIONS,
    ]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    manifest = output.parent / f".{output.name}.pyke" / "positions" / "manifest.json"
    deadline = time.monotonic() + 120
    while not manifest.exists():
        assert child.poll() is None, "the run ended before it could be stopped"
        assert time.monotonic() < deadline
        os.sched_yield()
    return child


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_a_stopped_run_resumes_to_the_same_bits(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    path = tmp_path / "graph.nt"
    path.write_text(random_graph(400))
    child = _started(path, tmp_path / "out")
    child.send_signal(number)
    assert child.wait() == code
    assert not (tmp_path / "out").exists()
    arguments = ("--dimensions", "4", *MANY_ITERATIONS[:-1], "1000")
    assert process("embed", path, "-o", tmp_path / "out", "--resume", *arguments).returncode == 0
    assert process("embed", path, "-o", tmp_path / "whole", *arguments).returncode == 0
    assert (tmp_path / "out" / "vectors.npy").read_bytes() == (
        tmp_path / "whole" / "vectors.npy"
    ).read_bytes()
    assert not list(tmp_path.glob(".*"))


def test_two_runs_do_not_write_one_output(tmp_path: Path) -> None:
    path = tmp_path / "graph.nt"
    path.write_text(random_graph(400))
    child = _started(path, tmp_path / "out")
    try:
        run = process("embed", path, "-o", tmp_path / "out")
        assert run.returncode == 73
        assert "another run" in run.stderr
    finally:
        child.kill()
        child.wait()


def test_help_and_version_are_printed() -> None:
    assert "embed" in process("--help").stdout
    assert process("--version").stdout.strip()
    assert process("embed", "--help").returncode == 0


def test_an_iri_is_printed_in_one_piece_to_a_pipe(
    pyke: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    far = f"http://e/{'far/' * 60}away"
    (tmp_path / "far.nt").write_text(
        f"<http://e/a> <http://e/p> <{far}> .\n<http://e/b> <http://e/p> <{far}> .\n"
    )
    assert (
        pyke("embed", tmp_path / "far.nt", "-o", tmp_path / "out", "--dimensions", "3").returncode
        == 0
    )
    assert far in pyke("nearest", tmp_path / "out", "http://e/a").stdout


def test_a_graph_is_not_accepted_as_an_embedding(pyke: Command, family: Path) -> None:
    done = pyke("nearest", family, "http://e/anna")
    assert done.returncode == 66
    assert "is a file, not an embedding directory" in done.stderr
    assert "pyke embed" in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_options_and_values_are_completed(shell: str) -> None:
    def completed(line: str) -> str:
        environment = {
            **os.environ,
            "_PYKE_COMPLETE": f"complete_{shell}",
            "_TYPER_COMPLETE_ARGS": line,
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split(" ")) - 1),
        }
        code = "import sys; sys.argv[0] = 'pyke'; from pyke.cli import main; main()"
        command = [sys.executable, "-c", code]
        return subprocess.run(command, env=environment, capture_output=True, text=True).stdout

    assert "nearest" in completed("pyke near")
    assert "--energy-release" in completed("pyke embed --energy")
    assert "elementwise" in completed("pyke embed --repulsion el")


def test_help_groups_commands_by_job_and_cuts_no_description(pyke: Command) -> None:
    shown = pyke("-h").stdout
    for job in ("Make an embedding", "Use an embedding", "Measure"):
        assert f"{job}:" in shown
    assert "..." not in shown.split("COMMAND [ARGS]...")[1]


def test_help_describes_each_command_by_the_first_sentence_of_its_own_help() -> None:
    commands = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
    for descriptions in COMMANDS.values():
        for name, description in descriptions.items():
            assert " ".join(commands[name].help.split("\n\n")[0].split()) == description


def test_help_imports_no_command() -> None:
    code = (
        "import sys; from pyke.cli import app; app(['--help'], standalone_mode=False); "
        "sys.exit(any(f'pyke.cli.{name}' in sys.modules for name in ('embed', 'warm_up')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_help_names_arguments_without_the_types_of_python(pyke: Command) -> None:
    for name, usage in (("embed", "INPUTS..."), ("nearest", "DIRECTORY [TERMS]...")):
        shown = pyke(name, "-h").stdout
        assert f" {name} [OPTIONS] {usage}\n" in shown
        assert "list[" not in shown


def test_every_command_has_the_short_option_of_help(pyke: Command) -> None:
    for name in ("embed", "nearest", "warm-up"):
        assert pyke(name, "-h").stdout == pyke(name, "--help").stdout


def test_progress_never_runs_backwards(capfd: pytest.CaptureFixture[str]) -> None:
    progress = terminal._PlainLines()
    progress.interval = 0.0
    progress.stage("reading", 100, "bytes")
    for done in (10, 50, 30, 120):
        progress.advance(done)
    shown = capfd.readouterr().err.split("\n")
    assert shown[1:5] == ["reading: 10%", "reading: 50%", "reading: 50%", "reading: 100%"]


def test_info_says_what_becomes_of_triples_with_literals(pyke: Command, tmp_path: Path) -> None:
    lines = [f'<e:s{n}> <e:p> <e:o> .\n<e:s{n}> <e:q> "red" .\n' for n in range(3)]
    (tmp_path / "red.nt").write_text("".join(lines))
    for options, title in (((), "skipped"), (("--literals", "values"), "as contexts")):
        run = pyke("info", tmp_path / "red.nt", *options)
        assert f"triples with literals, {title}" in run.stdout
