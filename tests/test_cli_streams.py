"""Standard output and error that are closed, full, a terminal, or in another encoding."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from conftest import Command
from graphs import FAMILY
from pyke.cli import terminal

EVIL = "\x1b[31m\x9b31m\x07\u202etxt\u2028\x7f"  # a label
LABEL = '"\\u001B[31m\\u009B31m\\u0007\\u202Etxt\\u2028\\u007F"'
FULL, CLOSED = "/dev/full", ""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An embedding directory with a label full of control codes."""
    import pyke

    folder = tmp_path_factory.mktemp("streams")
    (folder / "graph.nt").write_text(
        f"{FAMILY}<http://e/heinz> <http://www.w3.org/2000/01/rdf-schema#label> {LABEL} .\n"
    )
    pyke.embed(folder / "graph.nt", dimensions=3).save(folder / "out")
    return folder / "out"


@contextmanager
def _replaced(descriptor: int, path: str) -> Iterator[None]:
    """Close a descriptor, or let it refer to another file."""
    kept = os.dup(descriptor)
    os.close(descriptor)
    if path:
        other = os.open(path, os.O_WRONLY | os.O_NOCTTY)
        os.dup2(other, descriptor)
        if other != descriptor:
            os.close(other)
    try:
        yield
    finally:
        os.dup2(kept, descriptor)
        os.close(kept)


Redirected = Callable[..., tuple[int, str]]


@pytest.fixture
def redirected(pyke: Command, monkeypatch: pytest.MonkeyPatch) -> Redirected:
    """Run a command with another file as standard output or error.

    Returns the exit code and the text of the other stream.
    """

    def call(name: str, path: str, *arguments: str | Path) -> tuple[int, str]:
        descriptor = 1 if name == "stdout" else 2
        with _replaced(descriptor, path), monkeypatch.context() as patch:
            if path == CLOSED:  # as when Python starts with a closed stream
                patch.setattr(sys, name, None)
            run = pyke(*arguments)
        return run.returncode, run.stderr if descriptor == 1 else run.stdout

    return call


@contextmanager
def _terminal() -> Iterator[tuple[str, Callable[[], str]]]:
    """The path of a terminal, and a function that reads what was written to it."""
    master, slave = pty.openpty()

    def read() -> str:
        os.close(slave)
        text = b""
        with suppress(OSError):  # the end: no process has the terminal open
            while block := os.read(master, 1 << 16):
                text += block
        return text.decode()

    try:
        yield os.ttyname(slave), read
    finally:
        os.close(master)


COMMANDS = {
    "embed": ("embed", "GRAPH", "-o", "NEW", "--dimensions", "3"),
    "embed json": ("embed", "GRAPH", "-o", "NEW", "--dimensions", "3", "--json"),
    "nearest": ("nearest", "OUT", "http://e/anna"),
    "nearest json": ("nearest", "OUT", "http://e/anna", "--json"),
    "nearest table": ("nearest", "OUT", "http://e/anna", "-o", "-"),
    "info": ("info", "GRAPH"),
    "types": ("types", "OUT", "--mu", "1", "--also-typed"),
    "types rdf": ("types", "OUT", "--mu", "1", "--also-typed", "-o", "-"),
    "export": ("export", "OUT", "--to", "csv", "-o", "-"),
    "help": ("--help",),
    "help of embed": ("embed", "--help"),
    "version": ("--version",),
}


def _arguments(name: str, directory: Path, new: Path) -> list[str | Path]:
    paths = {"GRAPH": directory.with_name("graph.nt"), "OUT": directory, "NEW": new / "new"}
    return [paths.get(argument, argument) for argument in COMMANDS[name]]


@pytest.mark.parametrize("path", [FULL, CLOSED], ids=["full", "closed"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_result_that_cannot_be_printed_is_a_failed_write(
    redirected: Redirected,
    directory: Path,
    tmp_path: Path,
    name: str,
    path: str,
) -> None:
    code, errors = redirected("stdout", path, *_arguments(name, directory, tmp_path))
    reason = "the disk is full" if path else "it is closed"
    assert code == 74
    assert errors.splitlines()[-1] == f"pyke: cannot write to standard output: {reason}"
    assert "Traceback" not in errors
    assert (tmp_path / "new").exists() == name.startswith("embed")


@pytest.mark.parametrize("path", [FULL, CLOSED], ids=["full", "closed"])
@pytest.mark.parametrize("name", COMMANDS)
def test_messages_that_cannot_be_printed_end_no_run(
    redirected: Redirected,
    directory: Path,
    tmp_path: Path,
    name: str,
    path: str,
) -> None:
    code, output = redirected("stderr", path, *_arguments(name, directory, tmp_path))
    assert (code, bool(output)) == (0, True)
    assert not re.search(r"^\w+ …$", output, re.MULTILINE), "this is progress, not a result"


@pytest.mark.parametrize("path", [FULL, CLOSED], ids=["full", "closed"])
def test_errors_keep_their_exit_code_without_standard_error(
    redirected: Redirected, path: str
) -> None:
    assert redirected("stderr", path, "info", "missing.nt") == (66, "")
    assert redirected("stderr", path, "embed", "--nonsense") == (2, "")


@pytest.mark.parametrize("name", ["embed", "nearest", "nearest table", "export", "help"])
def test_a_reader_that_stops_ends_a_command_without_a_message(
    pyke: Command, directory: Path, tmp_path: Path, name: str
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with _replaced(1, str(pipe)):
        os.close(reader)
        run = pyke(*_arguments(name, directory, tmp_path))
    assert run.returncode == 141
    assert "pyke:" not in run.stderr


@pytest.mark.parametrize("redirection", [">&-", ">/dev/full", "2>&-", "2>/dev/full", "<&- 2>&-"])
def test_a_shell_may_close_or_fill_the_streams(redirection: str) -> None:
    command = f"exec {sys.executable} -m pyke --version {redirection}"
    run = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True)
    assert run.returncode == (74 if redirection.startswith(">") else 0)
    assert len((run.stdout + run.stderr).splitlines()) == 1


def test_labels_cannot_send_control_codes_to_a_terminal(
    redirected: Redirected, directory: Path
) -> None:
    for more in ((), ("-o", "-"), ("--json",), ("-o", "-", "--json")):
        with _terminal() as (path, shown):
            arguments = ("nearest", directory, "http://e/anna", *more)
            assert redirected("stdout", path, *arguments)[0] == 0
            text = shown().replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "")
        assert all(c.isprintable() or c in "\t\r\n" for c in text), repr(text)
        assert "\\u001b[31m\\u009b31m\\u0007\\u202etxt\\u2028\\u007f" in text


def test_tables_in_files_and_pipes_have_the_exact_labels(pyke: Command, directory: Path) -> None:
    shown = pyke("nearest", directory, "http://e/anna", "-o", "-").stdout
    assert EVIL in shown


def test_json_has_no_control_codes_and_the_exact_labels(pyke: Command, directory: Path) -> None:
    for more in ((), ("-o", "-")):
        shown = pyke("nearest", directory, "http://e/anna", "--json", *more).stdout
        assert all(c.isprintable() or c == "\n" for c in shown)
        rows = [json.loads(line) for line in shown.splitlines()] if more else json.loads(shown)
        assert EVIL in [row["label"] for row in rows]


def _shown(encoding: str, *arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "LC_ALL": "C"}
    command = [sys.executable, "-m", "pyke", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", ""])
def test_an_encoding_without_our_characters_is_enough(encoding: str, directory: Path) -> None:
    run = _shown(encoding, "nearest", directory, "http://e/anna", "-k", "2")
    assert (run.returncode, run.stderr) == (0, b"")
    assert b"\n-----" in run.stdout
    assert run.stdout.decode(encoding or "ascii")
    run = _shown(encoding, "embed", "--help")
    assert (run.returncode, run.stderr) == (0, b"")
    assert "SIZE" in run.stdout.decode(encoding or "ascii")


@pytest.mark.parametrize("name", COMMANDS)
def test_characters_that_an_encoding_lacks_are_replaced(
    pyke: Command, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with monkeypatch.context() as patch:
        for stream in ("stdout", "stderr"):
            patch.setattr(sys, stream, io.TextIOWrapper(io.BytesIO(), "ascii"))
        run = pyke(*_arguments(name, directory, tmp_path))
    assert run.returncode == 0, run.stderr
    assert run.stderr.isascii()
    assert run.stdout.isascii() or name == "nearest table", "a table is always UTF-8"


def test_json_is_valid_in_every_encoding(pyke: Command, directory: Path) -> None:
    labels = [row["label"] for row in json.loads(_json(pyke, directory, "utf-8"))]
    for encoding in ("ascii", "latin-1"):
        shown = _json(pyke, directory, encoding)
        assert shown.isascii()
        assert [row["label"] for row in json.loads(shown)] == labels


def _json(pyke: Command, directory: Path, encoding: str) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding))
        return pyke("nearest", directory, "http://e/anna", "--json").stdout


def test_names_with_markup_are_shown_as_they_are(
    redirected: Redirected, directory: Path, tmp_path: Path
) -> None:
    graph = directory.with_name("graph.nt")
    with _terminal() as (path, shown):
        output = tmp_path / "[/][bold]"
        arguments = ("embed", graph, "-o", output, "--dimensions", "3", "--json")
        code, text = redirected("stderr", path, *arguments)
        assert "reading" in shown()
    assert (code, json.loads(text)["output"]) == (0, str(output))


def test_stages_and_notes_with_markup_are_shown_as_they_are(
    capfd: pytest.CaptureFixture[str],
) -> None:
    bars = terminal._Bars()
    bars.stage("[/]")
    with bars.bars:
        bars.note("[/] `[bold]`")
    shown = capfd.readouterr().err
    assert "[/] ━" in shown
    assert "[/] `[bold]`" in shown
