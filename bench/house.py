"""Size of the code base, startup times and speed, here and in an older checkout.

`python bench/house.py --repo OLD --python OLD/.venv/bin/python` prints both side by side. Entries
are the modules and folders of src/pyke. Levels are the longest chain of imports between entries;
methods of the embedding that import what builds on it do not count. Seconds are those of complete
processes, median of --runs; runs of both repositories alternate. `load + nearest` uses an embedding
of iswc. `--embed wordnet30 pleiades` adds the CPU seconds of `pyke embed`, median of three, and
the first digits of the SHA-256 of its vectors. Targets: at most 12 entries, files of 400 lines,
functions of 60 lines (the tokenizer, which says why it is longer, does not count), and 0.15 s for
`pyke --help`.
"""

from __future__ import annotations

import ast
import graphlib
import hashlib
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common

NEAREST = "import pyke, sys; pyke.load(sys.argv[1]).nearest(sys.argv[2])"
FIRST_TERM = "import pyke, sys; print(pyke.load(sys.argv[1]).terms[0])"
TOKENIZER = "tokenize"
EMBEDDINGS = 3
MAX_ENTRIES, MAX_FILE, MAX_FUNCTION, MAX_HELP_SECONDS = 12, 400, 60, 0.15


@dataclass(frozen=True)
class Repository:
    """A checkout, and the Python that has its libraries."""

    path: Path
    python: Path

    @property
    def package(self) -> Path:
        """The source of the package."""
        return self.path / "src" / "pyke"

    def modules(self) -> list[Path]:
        """All modules of the package."""
        return sorted(self.package.rglob("*.py"))

    def run(self, *arguments: str | Path) -> str:
        """Run its Python. Returns the output."""
        environment = {**os.environ, "PYTHONPATH": str(self.path / "src")}
        done = subprocess.run(
            [self.python, *map(str, arguments)],
            env=environment,
            cwd=self.path,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            common.stop(f"{self.path}: {' '.join(map(str, arguments))}\n{done.stderr[-2000:]}")
        return done.stdout


def entry(path: Path, package: Path) -> str:
    """The module or folder of the package that a file belongs to."""
    return path.relative_to(package).parts[0].removesuffix(".py")


def imported(path: Path, package: Path) -> set[str]:
    """Entries that a module imports; for the embedding, only at its top."""
    names: set[str] = set()
    tree = ast.parse(path.read_text())
    for node in tree.body if path.name == "embedding.py" else ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "pyke":
            names |= {f"pyke.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module or "")
    parts = [name.split(".") for name in names]
    return {name[1] for name in parts if name[0] == "pyke" and len(name) > 1} - {
        entry(path, package)
    }


def levels(repository: Repository) -> int:
    """Number of entries in the longest chain of imports."""
    graph: dict[str, set[str]] = {}
    for path in repository.modules():
        graph.setdefault(entry(path, repository.package), set()).update(
            imported(path, repository.package)
        )
    sorter = graphlib.TopologicalSorter(graph)
    sorter.prepare()
    count = 0
    while sorter.is_active():
        sorter.done(*sorter.get_ready())
        count += 1
    return count


def longest_function(repository: Repository) -> tuple[int, str]:
    """Lines and name of the longest function but the tokenizer."""
    return max(
        (node.end_lineno - node.lineno + 1, node.name)
        for path in repository.modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
        if node.name != TOKENIZER
    )


def sizes(repository: Repository) -> dict[str, Any]:
    """Sizes of the code base."""
    package = repository.package
    entries = {entry(path, package) for path in repository.modules()} - {"__init__", "__main__"}
    files = [(len(path.read_text().splitlines()), path) for path in repository.modules()]
    file_lines, file = max(files)
    function_lines, function = longest_function(repository)
    return {
        "entries under src/pyke": len(entries),
        "import levels between entries": levels(repository),
        "lines of the longest file": file_lines,
        "longest file": str(file.relative_to(package)),
        "lines of the longest function": function_lines,
        "longest function": function,
    }


def seconds(repositories: list[Repository], graph: Path, runs: int) -> list[dict[str, float]]:
    """Median seconds of each command, for each repository."""
    with tempfile.TemporaryDirectory() as folder:
        commands: list[dict[str, list[str | Path]]] = []
        for number, repository in enumerate(repositories):
            out = Path(folder) / str(number)
            repository.run("-m", "pyke", "embed", graph, "-o", out, "--on-error", "skip")
            term = repository.run("-c", FIRST_TERM, out).strip()
            commands.append(
                {
                    "seconds of import pyke": ["-c", "import pyke"],
                    "seconds of pyke --help": ["-m", "pyke", "--help"],
                    "seconds of load + nearest": ["-c", NEAREST, out, term],
                }
            )
        times: list[dict[str, list[float]]] = [{name: [] for name in own} for own in commands]
        for _ in range(runs):
            for repository, own, taken in zip(repositories, commands, times, strict=True):
                for name, command in own.items():
                    began = time.perf_counter()
                    repository.run(*command)
                    taken[name].append(time.perf_counter() - began)
    return [{name: statistics.median(values) for name, values in own.items()} for own in times]


def embeddings(repositories: list[Repository], graph: Path, name: str) -> list[dict[str, Any]]:
    """CPU seconds of `pyke embed`, and the hash of its vectors, for each repository."""
    taken: list[list[float]] = [[] for _ in repositories]
    hashes = [""] * len(repositories)
    for _ in range(EMBEDDINGS):
        for number, repository in enumerate(repositories):
            with tempfile.TemporaryDirectory() as folder:
                out, before = Path(folder) / "out", _child_seconds()
                repository.run("-m", "pyke", "embed", graph, "-o", out, "--on-error", "skip")
                taken[number].append(_child_seconds() - before)
                vectors = (out / "vectors.npy").read_bytes()
                hashes[number] = hashlib.sha256(vectors).hexdigest()[:16]
    return [
        {f"CPU seconds of embed {name}": statistics.median(own), f"vectors of {name}": digits}
        for own, digits in zip(taken, hashes, strict=True)
    ]


def _child_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def missed(measured: dict[str, Any]) -> list[str]:
    """Targets that this repository misses."""
    limits = {
        "entries under src/pyke": MAX_ENTRIES,
        "lines of the longest file": MAX_FILE,
        "lines of the longest function": MAX_FUNCTION,
        "seconds of pyke --help": MAX_HELP_SECONDS,
    }
    return [
        f"{name}: {measured[name]:.4g}, target {limit}"
        for name, limit in limits.items()
        if measured[name] > limit
    ]


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--repo", type=Path, help="an older checkout to compare with")
    parser.add_argument("--python", type=Path, help="its Python [.venv/bin/python in --repo]")
    parser.add_argument("--runs", type=int, default=9, help="runs of each command [9]")
    parser.add_argument("--embed", nargs="*", default=[], metavar="GRAPH", help="graphs to embed")
    options = parser.parse_args()
    columns = {"after" if options.repo else "value": Repository(common.ROOT, Path(sys.executable))}
    if options.repo:
        old = options.repo.resolve()
        python = options.python.absolute() if options.python else old / ".venv/bin/python"
        columns = {"before": Repository(old, python), **columns}
    graph = common.graph(options.data, "iswc").resolve()
    repositories = list(columns.values())
    taken = seconds(repositories, graph, options.runs)
    measured = [{**sizes(r), **own} for r, own in zip(repositories, taken, strict=True)]
    for name in options.embed:
        found = embeddings(repositories, common.graph(options.data, name).resolve(), name)
        for own, values in zip(measured, found, strict=True):
            own.update(values)
    rows = [
        {"measure": name}
        | {
            title: f"{own[name]:.3f}" if isinstance(own[name], float) else str(own[name])
            for title, own in zip(columns, measured, strict=True)
        }
        for name in measured[0]
    ]
    common.finish(
        {"measure": "", **dict.fromkeys(columns, "")}, rows, missed(measured[-1]), options.json
    )


if __name__ == "__main__":
    main()
