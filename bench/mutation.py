"""Change the code in small ways, and count how many changes the tests notice.

    python bench/mutation.py                      # all modules, a sample of mutants
    python bench/mutation.py core/files --sample 0   # every mutant of one module

Each mutant is a module with one change. Most changes are made in a fork of a process that has
loaded the module and its tests; a change outside of functions needs a fork that has loaded
libraries only. The tests that run the changed line follow each other until one fails. A mutant that
needs three times as much CPU time for a test, and some seconds, is an endless loop: it is noticed.

Strings within f-strings are not changed: they are the words of messages. Child processes of tests
load the unchanged code. Kernels run without the compiler.

Exits with 1 if fewer than 80 % of the mutants are noticed.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import coverage
import pytest

from mutants import Mutant, mutant, places_of

ROOT = Path(__file__).parents[1]
TARGET = 0.80
LIBRARIES = (
    "numpy", "numba", "pyoxigraph", "zstandard", "rich", "typer", "pytest", "xdist", "pytest_cov",
    "hypothesis", "hypothesis.extra.numpy", "_hypothesis_pytestplugin",
)  # fmt: skip
STORE = ("tests/test_embedding_store.py", "tests/faults/test_old_formats.py")
FILES = ("tests/test_core_files.py",)
GRAPH = ("tests/test_graph_build.py", "tests/test_graph_roles.py")
READ = (
    "tests/test_read_tokenize.py", "tests/test_read_messages.py", "tests/test_read_kernels.py",
    "tests/test_read_literals.py",
)  # fmt: skip
# Modules and their tests; those that find most mutants first.
MODULES: dict[str, tuple[str, ...]] = {
    "core/files": FILES,
    "core/stored": ("tests/test_core_stored.py",),
    "core/checks": ("tests/test_core_checks.py",),
    "embedding/store": STORE,
    "graph/terms": ("tests/test_graph_terms.py",),
    "graph/build": GRAPH,
    "read/tokenize": READ,
    "read/_kernels": ("tests/test_read_kernels.py",),
    "read/_scanners": ("tests/test_read_kernels.py",),
}
# Libraries are loaded before pytest can rewrite them; plain Python warns where numbers overflow.
WARNINGS = ("-W", "ignore::pytest.PytestAssertRewriteWarning", "-W", "ignore:overflow")
INTERPRETED = ("read/_kernels", "read/_scanners")

LONGEST = 1200  # seconds; other programs may use the processors, too
OUTSIDE = 100  # exit code of a child that cannot make its change

Tell = Callable[[Mutant, str], None]  # the result of a mutant


# -- one module, in a process of its own -----------------------------------------------------------


class _Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from a changed source."""

    def __init__(self, module: str, source: str) -> None:
        self.name = f"pyke.{module.replace('/', '.')}"
        self.path = str(ROOT / "src" / "pyke" / f"{module}.py")
        self.code = compile(source, self.path, "exec")

    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        if name != self.name:
            return None
        spec = importlib.machinery.ModuleSpec(name, self, origin=self.path)
        spec.has_location = True
        return spec

    def exec_module(self, module: ModuleType) -> None:
        exec(self.code, module.__dict__)


class _Loop:
    """A plugin of pytest that replaces its loop over the tests. The first failure ends all."""

    def __init__(self, loop: Callable[[list[pytest.Item]], None]) -> None:
        self.loop = loop

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # one for all
        self.loop(session.items)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os._exit(1)


def with_tests(loader: _Loader, tests: Iterable[str], loop: Callable[..., None]) -> None:
    """Load a changed module and tests, and call a function with the tests. Does not return."""
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(silence, stream)
    sys.meta_path.insert(0, loader)
    options = ["-q", "-p", "no:cacheprovider", *WARNINGS]
    os._exit(pytest.main([*options, *(str(ROOT / test) for test in tests)], plugins=[_Loop(loop)]))


def run(
    items: list[pytest.Item], before: Callable[[str], None], after: Callable[[str], object] = len
) -> None:
    """Run some tests. The process ends at the first failure."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        before(item.nodeid)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        after(item.nodeid)


def in_fork(work: Callable[[], None], seconds: float) -> str:
    """Do some work in a child for at most so long: passed, failed, timeout or outside."""
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return {0: "passed", OUTSIDE: "outside", -signal.SIGXCPU: "timeout"}.get(code, "failed")
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


@dataclass
class Cover:
    """The tests that run each line of a module, and the CPU time of each test."""

    lines: dict[int, list[str]]
    seconds: dict[str, float]

    def tests(self, lines: Iterable[int]) -> list[str]:
        """The tests that run any of these lines: in the order of the files, the fastest first."""
        found = {test for line in lines for test in self.lines.get(line, ())}
        files = list(dict.fromkeys(test.split("::")[0] for test in self.seconds))
        return sorted(found, key=lambda one: (files.index(one.split("::")[0]), self.seconds[one]))

    def limit(self, test: str) -> None:
        """Limit the CPU time of a test: a mutant that needs much more is an endless loop."""
        end = time.process_time() + 5 + 3 * self.seconds[test]
        resource.setrlimit(resource.RLIMIT_CPU, (int(end), resource.RLIM_INFINITY))


def measure(path: str, items: list[pytest.Item], result: Path) -> None:
    """Run all tests of an unchanged module, and write which lines they run and how long."""
    seconds: dict[str, float] = {}
    watch = coverage.Coverage(data_file=None, include=[path], config_file=False)

    def before(test: str) -> None:
        watch.switch_context(test)
        seconds[test] = -time.process_time()

    def after(test: str) -> None:
        seconds[test] += time.process_time()

    watch.start()
    run(items, before, after)
    watch.stop()
    lines = watch.get_data().contexts_by_lineno(path)
    result.write_text(json.dumps({"lines": lines, "seconds": seconds}))


def patch(old: CodeType, new: CodeType, functions: dict[int, list[FunctionType]]) -> bool:
    """Change the functions of a loaded module; False if the change is outside of functions."""
    if old == new:
        return True
    for function in functions.get(id(old), ()):
        function.__code__ = new
    if id(old) in functions:
        return True
    pairs = list(zip(old.co_consts, new.co_consts, strict=False))
    inner = [(a, b) for a, b in pairs if isinstance(a, CodeType) and isinstance(b, CodeType)]
    plain = [(a, b) for a, b in pairs if not (isinstance(a, CodeType) and isinstance(b, CodeType))]
    same = old.co_code == new.co_code and len(old.co_consts) == len(new.co_consts)
    same = same and old.co_names == new.co_names and all(repr(a) == repr(b) for a, b in plain)
    return same and all(patch(a, b, functions) for a, b in inner)


def try_functions(
    loader: _Loader, items: list[pytest.Item], mutants: list[Mutant], tell: Tell, folder: Path
) -> None:
    """Try the mutants whose change is in a function of the loaded module; note the others."""
    if in_fork(lambda: measure(loader.path, items, folder / "cover"), LONGEST) != "passed":
        return
    cover = read_cover(folder)
    functions: dict[int, list[FunctionType]] = {}
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType):
            functions.setdefault(id(thing.__code__), []).append(thing)
    by_name = {item.nodeid: item for item in items}

    def change(one: Mutant, tests: list[str]) -> None:
        if not patch(loader.code, compile(one.source, loader.path, "exec"), functions):
            os._exit(OUTSIDE)
        run([by_name[test] for test in tests], cover.limit)

    outside = []
    for number, one in enumerate(mutants):
        tests = cover.tests([one.at]) or cover.tests(one.function)
        result = in_fork(partial(change, one, tests), LONGEST)
        if result == "outside":
            outside.append(number)
        else:
            tell(one, result)
    (folder / "outside").write_text(json.dumps(outside))


def read_cover(folder: Path) -> Cover:
    read = json.loads((folder / "cover").read_text())
    return Cover({int(line): tests for line, tests in read["lines"].items()}, read["seconds"])


def try_module(module: str, sample: int, seed: int) -> None:
    """Try the mutants of a module; print one JSON line per result."""
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    for library in LIBRARIES:
        importlib.import_module(library)
    assert not [name for name in sys.modules if name.split(".")[0] == "pyke"]
    source = (ROOT / "src" / "pyke" / f"{module}.py").read_text()
    places = places_of(source)
    drawn = random.Random(seed).sample(places, min(sample or len(places), len(places)))
    chosen = sorted((mutant(source, place) for place in drawn), key=lambda one: one.line)
    out = os.fdopen(os.dup(1), "w", 1)
    out.write(json.dumps({"mutants": len(places)}) + "\n")

    def tell(one: Mutant, result: str) -> None:
        row = {"line": one.line, "change": one.change, "before": one.before}
        out.write(json.dumps(row | {"result": result}) + "\n")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)  # a mutant may write anywhere
        plain = _Loader(module, ast.unparse(ast.parse(source)))
        loop = partial(try_functions, plain, mutants=chosen, tell=tell, folder=folder)
        in_fork(lambda: with_tests(plain, MODULES[module], loop), 100 * LONGEST)
        assert (folder / "cover").exists(), f"the tests of {module} fail without a change"
        cover = read_cover(folder)
        for number in json.loads((folder / "outside").read_text()):
            tests = cover.tests(cover.lines)
            loader = _Loader(module, chosen[number].source)
            loop = partial(run, before=cover.limit)
            result = in_fork(partial(with_tests, loader, tests, loop), LONGEST)
            tell(chosen[number], result)


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
        env={**os.environ, "PYKE_DATA": os.devnull, **variables},  # without real graphs
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
