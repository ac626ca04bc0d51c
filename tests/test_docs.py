"""The documentation: docstring examples, commands and Python on every page, options, links."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, fields
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from conftest import DATA, ROOT, Command
from pyke.config import Config

SOURCE = ROOT / "src"
MODULES = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((SOURCE / "pyke").rglob("*.py"))
    if ">>> " in path.read_text()
]
README = (ROOT / "README.md").read_text()
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
GRAPHS = ("iswc2002", "iswc", "codex-m", "wikipathways", "wordnet30", "pleiades")
MAX_BYTES = 150_000  # of a figure
FIRST_PICTURE = "hero.png"  # of the README: a map in high resolution
FIRST_PICTURE_BYTES = 400_000


def _commands() -> dict[str, Any]:
    from typer.main import get_command

    from pyke.cli import app

    commands: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    return commands


def _options_of(command: Any) -> set[str]:
    return {
        name
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("-")
    }


def _name(page: Path) -> str:
    return str(page.relative_to(DOCS))


# -----------------------------------------------------------------------------
# Docstrings and the README
# -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_are_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = doctest.testmod(importlib.import_module(name))
    assert (result.failed, result.attempted > 0) == (0, True)


def test_the_python_in_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    assert (tmp_path / "family" / "vectors.npy").exists()


def test_the_commands_in_the_readme_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pyke: Command
) -> None:
    graph = DATA / "iswc2002.nt.gz"
    if not graph.is_file():
        pytest.skip(f"{graph} is missing; set PYKE_DATA to the folder of the graphs")
    (tmp_path / "graph.nt.gz").symlink_to(graph)
    monkeypatch.chdir(tmp_path)
    commands = [step.command for step in steps_of(ROOT / "README.md") if not step.python]
    assert len(commands) >= 5
    for command in commands:
        arguments = shlex.split(command)[1:]
        if arguments[0] == "serve":
            assert "<title>" in _first_page(*arguments)
            continue
        done = pyke(*arguments)
        assert done.returncode == 0, f"{command}\n{done.stderr}"


def _first_page(*arguments: str) -> str:
    """Start a server on a free port, and return the page that it says to open."""
    command = [sys.executable, "-m", "pyke", *arguments, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            said = (re.search(r"Open (\S+) in a browser", line) for line in server.stdout)
            url = next(filter(None, said))[1]
            with urllib.request.urlopen(url, timeout=30) as page:
                return str(page.read().decode())
        finally:
            server.send_signal(signal.SIGINT)


# -----------------------------------------------------------------------------
# Pages
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """A command or a Python block of a page."""

    line: int
    python: bool
    code: str

    @property
    def exit_code(self) -> int:
        """The exit code in the comment after the command, or 0."""
        stated = re.search(r"\s#.*\bexit code (\d+)", self.code)
        return int(stated[1]) if stated else 0

    @property
    def command(self) -> str:
        """The command without its comment."""
        return re.sub(r"\s+#.*$", "", self.code)


SKIPPED = re.compile(r"<!-- not run: \w.* -->")  # skips the next command or block; with a reason
CALLS_PYKE = re.compile(r"(^|[|;&]\s*)pyke ")


def steps_of(page: Path) -> Iterator[Step]:
    """Yield the commands and Python blocks of a page.

    Commands are indented by four spaces, are in a `sh` block, or follow a `$` in any block.
    """
    language: str | None = None
    block: list[str] = []
    begin, skip = 0, False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            if language is None:
                language, begin, block = line.strip("` "), number, []
                continue
            if not skip:
                yield from _steps_in_block(language, begin + 1, block)
            language, skip = None, False
        elif language is not None:
            block.append(line)
        elif SKIPPED.fullmatch(line.strip()):
            skip = True
        elif re.match(r"    \S", line) and CALLS_PYKE.search(line.strip()):
            if not skip:
                yield Step(number, False, line.strip())
        elif line.strip():
            skip = False


def _steps_in_block(language: str, begin: int, lines: list[str]) -> Iterator[Step]:
    if language == "python":
        yield Step(begin, True, "\n".join(lines))
        return
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines)).split("\n")
    for line in joined:
        command = (
            line.removeprefix("$ ")
            if line.startswith("$ ")
            else line
            if language in ("sh", "bash", "shell")
            else ""
        )
        if CALLS_PYKE.search(command):
            yield Step(begin, False, command)


RUNNABLE = [page for page in PAGES if any(steps_of(page))]


@pytest.mark.parametrize("page", RUNNABLE, ids=_name)
def test_the_commands_and_the_python_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pyke: Command
) -> None:
    steps = list(steps_of(page))
    needed = [
        f"{graph}.nt.gz" for graph in GRAPHS if any(f"{graph}.nt.gz" in step.code for step in steps)
    ]
    missing = [name for name in needed if not (DATA / name).is_file()]
    if missing:
        pytest.skip(f"{DATA} lacks {', '.join(missing)}; set PYKE_DATA to the folder of the graphs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    for place in (ROOT / "examples", *(DATA / name for name in needed)):
        (tmp_path / place.name).symlink_to(place)
    names: dict[str, Any] = {}
    for step in steps:
        if step.python:
            exec(compile(step.code, f"{page}:{step.line}", "exec"), names)
            continue
        words = shlex.split(step.command)
        simple = words[0] == "pyke" and not {"|", ">", "<", "&&", ";"} & set(words)
        done = (
            pyke(*words[1:])
            if simple
            else subprocess.run(["bash", "-c", step.command], capture_output=True, text=True)
        )
        assert done.returncode == step.exit_code, (
            f"{_name(page)}:{step.line}: {step.command}\n{done.stderr}"
        )


def test_every_option_in_the_documentation_exists() -> None:
    known = {option for command in _commands().values() for option in _options_of(command)}
    text = "\n".join(path.read_text() for path in [ROOT / "README.md", *PAGES])
    # Code contains options of our commands only, not those of other programs.
    used = {
        option
        for code in re.findall(r"`([^`\n]+)`|^(?:    |\$ )?(pyke .*)$", text, re.MULTILINE)
        for part in code
        for option in _options(part)
    }
    general = {"--help", "--version", "--install-completion", "--show-completion"}
    assert used - known - general == set()


def _options(code: str) -> list[str]:
    if code.startswith("python "):  # a benchmark, which has options of its own
        return []
    return (
        [
            word
            for word in re.split(r"[\s,=]+", code.split(" #")[0])
            if re.fullmatch(r"--[a-z][a-z-]*", word)
        ]
        if "--" in code
        else []
    )


def test_every_command_has_a_page() -> None:
    assert {name for name in _commands() if not (DOCS / "how-to" / f"{name}.md").is_file()} == set()


def test_the_page_of_settings_has_them_all_with_their_defaults() -> None:
    rows = dict(
        re.findall(
            r"^\| `(\w+)` \| [^|]*\| ([^|]*?) \|",
            (DOCS / "reference" / "settings.md").read_text(),
            re.MULTILINE,
        )
    )
    assert set(rows) == {field.name for field in fields(Config)}
    documented = {name: shown.strip("`") for name, shown in rows.items()}
    words = {
        "format": "by extension",
        "base": "none",
        "literals": "none",
        "type_predicate": "rdf:type",
        "threads": "all cores",
        "memory": "unlimited",
    }
    expected = {field.name: words.get(field.name) for field in fields(Config)}
    for name, value in vars(Config()).items():
        if name not in words:
            expected[name] = _shown(value)
    assert documented == expected


def _shown(value: object) -> str:
    """A value as the page of settings shows it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def test_every_file_in_the_architecture_page_exists() -> None:
    page = (DOCS / "architecture.md").read_text()
    named = re.findall(r"`((?:[a-z]+/)+[a-z_]+\.py)`", page)
    homes = (SOURCE / "pyke", ROOT)
    assert len(named) > 15
    assert [name for name in named if not any((home / name).is_file() for home in homes)] == []
    rows = re.findall(r"^\| `([a-z]+)/` \|[^|]*\| (.*) \|$", page, re.MULTILINE)
    for folder, files in rows:
        for name in re.findall(r"`([a-z_/.]+)`", files):
            assert (SOURCE / "pyke" / folder / name).exists(), f"{folder}/{name}"


@pytest.mark.parametrize("figure", sorted(DOCS.rglob("*.png")), ids=_name)
def test_a_figure_is_small_and_shown_somewhere(figure: Path) -> None:
    is_first = figure.name == FIRST_PICTURE
    assert figure.stat().st_size < (FIRST_PICTURE_BYTES if is_first else MAX_BYTES)
    assert any(figure.name in page.read_text() for page in [ROOT / "README.md", *PAGES])


# -----------------------------------------------------------------------------
# The site
# -----------------------------------------------------------------------------


class _Resources(HTMLParser):
    """The addresses that a browser loads for a page, and the words in its code."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.code: dict[str, set[str]] = {}
        self._section, self._in_code = "", False
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "h2":
            self._section = given.get("id") or ""
        self._in_code = tag == "code"
        if tag in ("script", "img", "iframe", "source", "link"):
            self.loaded += [
                value
                for name in ("src", "href")
                if (value := given.get(name))
                and given.get("rel") not in ("canonical", "next", "prev")
            ]

    def handle_endtag(self, tag: str) -> None:
        self._in_code = False

    def handle_data(self, data: str) -> None:
        if self._in_code:
            self.code.setdefault(self._section, set()).update(data.split())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as by `make docs`. Broken links and pages without a link are errors."""
    place = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--site-dir",
        str(place),
    ]
    built = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return place


def test_the_reference_has_every_option_of_every_command(site: Path) -> None:
    code = _Resources(site / "reference" / "commands.html").code
    for name, command in _commands().items():
        assert _options_of(command) <= code[f"pyke-{name}"] | {"--help"}, name


def test_the_site_loads_nothing_from_other_servers(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) >= len(PAGES)
    assert {
        address
        for page in pages
        for address in _Resources(page).loaded
        if re.match(r"(https?:)?//", address)
    } == set()
    styles = "".join(path.read_text() for path in site.rglob("*.css"))
    assert not re.search(r"url\(['\"]?(https?:)?//", styles)


@pytest.mark.parametrize(
    "page",
    [
        ROOT / name
        for name in (
            "README.md",
            "CONTRIBUTING.md",
            "CHANGELOG.md",
            "SECURITY.md",
            "bench/README.md",
        )
    ],
    ids=str,
)
def test_links_outside_the_site_exist(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    assert [
        link
        for link in links
        if not re.match(r"https?:", link) and not (page.parent / link).exists()
    ] == []
