"""Change the code in small ways, and count how many changes the tests notice.

    python bench/mutation.py                      # all modules, a sample of mutants
    python bench/mutation.py core/files --sample 0   # every mutant of one module

Each mutant is a copy of a module with one change. It is loaded instead of the module in a fork of a
process that has loaded all libraries, and the tests of the module run until one fails. Strings
within f-strings are not changed: they are the words of messages. Child processes of tests load the
unchanged code. Kernels run without the compiler.

Exits with 1 if fewer than 80 % of the mutants are noticed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
TARGET = 0.80
LIBRARIES = (
    "numpy", "numba", "pyoxigraph", "zstandard", "rich", "typer", "pytest", "xdist", "pytest_cov",
    "hypothesis", "hypothesis.extra.numpy", "_hypothesis_pytestplugin",
)  # fmt: skip
STORE = ("tests/test_embedding_store.py", "tests/faults/test_old_formats.py")
FILES = ("tests/test_core_files.py",)
POWER = (
    "tests/faults/test_full_disk.py::test_after_a_power_cut_the_output_is_the_old_or_the_new_one"
)
GRAPH = ("tests/test_graph_build.py", "tests/test_graph_roles.py")
READ = ("tests/test_read.py", "tests/test_read_messages.py")
# Modules and their tests; those that find most mutants first.
MODULES: dict[str, tuple[str, ...]] = {
    "core/files": (*FILES, *STORE, "tests/test_core_system.py", POWER),
    "core/stored": (*STORE, *FILES),
    "core/checks": STORE,
    "embedding/store": STORE,
    "graph/terms": (*GRAPH, *STORE, "tests/test_embedding_lookup.py"),
    "graph/build": (*GRAPH, "tests/test_pipeline.py"),
    "read/tokenize": READ,
    "read/_kernels": ("tests/test_read.py",),
    "read/_scanners": ("tests/test_read.py",),
}
# Libraries are loaded before pytest can rewrite them; plain Python warns where numbers overflow.
WARNINGS = ("-W", "ignore::pytest.PytestAssertRewriteWarning", "-W", "ignore:overflow")
INTERPRETED = ("read/_kernels", "read/_scanners")

Change = Callable[[Any], ast.AST]  # of a node

# -- mutants ---------------------------------------------------------------------------------------

SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.And: ast.Or, ast.Or: ast.And, ast.Break: ast.Continue,
    ast.Continue: ast.Break,
}  # fmt: skip


def changes_of(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """All changes of one node, each with its name."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        yield "another comparison", lambda n: _with(n, ops=[SWAPS[type(n.ops[0])](), *n.ops[1:]])
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in SWAPS:
        yield "another operator", lambda n: _with(n, op=SWAPS[type(n.op)]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "without not", lambda n: n.operand
    elif isinstance(node, ast.Break | ast.Continue):
        yield "break and continue", lambda n: SWAPS[type(n)]()
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "negated condition", lambda n: _with(n, test=ast.UnaryOp(ast.Not(), n.test))
    elif isinstance(node, ast.Return) and node.value is not None:
        yield "returns None", lambda n: _with(n, value=ast.Constant(None))
    elif isinstance(node, ast.Expr | ast.Raise):
        yield "removed", lambda _: ast.Pass()
    elif isinstance(node, ast.Constant):
        yield from _changes_of_constant(node)
    if isinstance(node, ast.AugAssign):
        yield "removed", lambda _: ast.Pass()


def _changes_of_constant(node: ast.Constant) -> Iterator[tuple[str, Change]]:
    value = node.value
    if isinstance(value, bool):
        yield "another truth value", lambda n: ast.Constant(not n.value)
    elif isinstance(value, int | float):
        yield "number plus 1", lambda n: ast.Constant(n.value + 1)
    elif isinstance(value, str):
        yield "another text", lambda n: ast.Constant(f"XX{n.value}")
    elif isinstance(value, bytes):
        yield "another text", lambda n: ast.Constant(b"XX" + n.value)


def _with(node: Any, **fields: Any) -> Any:
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def nodes_to_change(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that run: no annotations, docstrings, texts in f-strings and imports."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            skipped.update(map(id, ast.iter_child_nodes(node)))
            continue
        if isinstance(node, ast.FunctionDef):
            skipped.add(id(node.returns))
            skipped.update(id(decorator) for decorator in node.decorator_list)
        if isinstance(node, ast.arg | ast.AnnAssign):
            skipped.add(id(node.annotation))
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in node.values if isinstance(part, ast.Constant))
        if isinstance(node, ast.FormattedValue) and node.format_spec:
            skipped.add(id(node.format_spec))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
            continue  # a docstring
        yield node


@dataclass(frozen=True)
class Mutant:
    """A changed module."""

    line: int
    change: str
    before: str
    source: str


def mutants_of(source: str) -> list[Mutant]:
    """All mutants of a module."""
    tree = ast.parse(source)
    found = []
    places = [getattr(node, "lineno", 0) for node in nodes_to_change(tree)]
    for number, node in enumerate(nodes_to_change(tree)):
        for which, (name, _) in enumerate(changes_of(node)):
            changed = copy.deepcopy(tree)
            same = next(n for i, n in enumerate(nodes_to_change(changed)) if i == number)
            change = list(changes_of(same))[which][1]
            _replace(changed, same, change)
            text = ast.unparse(ast.fix_missing_locations(changed))
            found.append(Mutant(places[number], name, ast.unparse(node).split("\n")[0], text))
    return [mutant for mutant in found if mutant.source != ast.unparse(tree)]


def _replace(tree: ast.AST, node: ast.AST, change: Change) -> None:
    """Apply a change; a node that becomes another one takes its place in its parent."""
    new = change(node)
    if new is node:
        return
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, name, new)
            elif isinstance(value, list):
                value[:] = [new if item is node else item for item in value]


# -- one module, in a process of its own -----------------------------------------------------------


class _Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from a changed source."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        self.name, self.path, self.source = name, path, source

    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        if name != self.name:
            return None
        spec = importlib.machinery.ModuleSpec(name, self, origin=str(self.path))
        spec.has_location = True
        return spec

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.source, self.path, "exec"), module.__dict__)


def run_tests(module: str, source: str, seconds: float) -> str:
    """Run the tests of a module with this source: passed, failed or timeout."""
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(silence, stream)
        name = f"pyke.{module.replace('/', '.')}"
        sys.meta_path.insert(0, _Loader(name, ROOT / "src" / "pyke" / f"{module}.py", source))
        import pytest

        options = ["-x", "-q", "-p", "no:cacheprovider", *WARNINGS]
        os._exit(pytest.main([*options, *(str(ROOT / test) for test in MODULES[module])]))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "failed" if status else "passed"
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


def try_module(module: str, sample: int, seed: int) -> None:
    """Try the mutants of a module; print one JSON line per result."""
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    os.chdir(ROOT)
    for library in LIBRARIES:
        importlib.import_module(library)
    assert not [name for name in sys.modules if name.split(".")[0] == "pyke"]
    source = (ROOT / "src" / "pyke" / f"{module}.py").read_text()
    began = time.monotonic()
    unchanged = run_tests(module, ast.unparse(ast.parse(source)), 3600)
    assert unchanged == "passed", f"the tests of {module} fail without a change"
    limit = 30 + 5 * (time.monotonic() - began)
    mutants = mutants_of(source)
    chosen = random.Random(seed).sample(mutants, min(sample or len(mutants), len(mutants)))
    print(json.dumps({"mutants": len(mutants)}), flush=True)
    for mutant in sorted(chosen, key=lambda one: one.line):
        result = run_tests(module, mutant.source, limit)
        row = {"line": mutant.line, "change": mutant.change, "before": mutant.before}
        print(json.dumps(row | {"result": result}), flush=True)


# -- all modules -----------------------------------------------------------------------------------


def report(module: str, sample: int, seed: int) -> tuple[int, int]:
    """Print the survivors of a module and its score; return noticed and tried mutants."""
    command = [sys.executable, __file__, "--inside", module, "--sample", str(sample)]
    variables = {"NUMBA_DISABLE_JIT": "1"} if module in INTERPRETED else {}
    rows: list[dict[str, Any]] = []
    mutants = 0
    with subprocess.Popen(
        [*command, "--seed", str(seed)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    ) as process:
        for line in process.stdout or ():
            row = json.loads(line)
            mutants = row.get("mutants", mutants)
            if "result" in row:
                rows.append(row)
            if row.get("result") == "passed":
                print(f"  survives: {module}.py:{row['line']}: {row['change']}: {row['before']}")
                sys.stdout.flush()
    if process.returncode:
        raise SystemExit(f"{module}: exit code {process.returncode}")
    noticed = sum(row["result"] != "passed" for row in rows)
    slow = sum(row["result"] == "timeout" for row in rows)
    print(
        f"{module}: {noticed} of {len(rows)} noticed ({noticed / len(rows):.0%}), {slow} by a time "
        f"limit; the module has {mutants} mutants",
        flush=True,
    )
    return noticed, len(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("modules", nargs="*", default=list(MODULES))
    parser.add_argument("--sample", type=int, default=60, help="mutants per module; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        try_module(options.inside, options.sample, options.seed)
        return
    results = [report(module, options.sample, options.seed) for module in options.modules]
    noticed, tried = (sum(column) for column in zip(*results, strict=True))
    print(f"\n{noticed} of {tried} mutants noticed: {noticed / tried:.1%} (target {TARGET:.0%})")
    raise SystemExit(noticed < TARGET * tried)


if __name__ == "__main__":
    main()
