"""`pyke warm-up` runs every kernel once."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

from conftest import ROOT
from pyke.core.compile import OTHER_KERNELS, PACKAGE, VECTOR_KERNELS

KERNEL_FILES = [PACKAGE / name for name in (*VECTOR_KERNELS, *OTHER_KERNELS)]
CODE = """
import importlib, json, sys
from pathlib import Path
from pyke.core.progress import Progress
from pyke.evaluate.warm_up import compile_all

compile_all(Path(sys.argv[1]), Progress())
for module, name in json.loads(sys.argv[2]):
    function = getattr(importlib.import_module(module), name)
    if not getattr(function, "signatures", True):
        print(module, name)
"""


def _module(path: Path) -> str:
    return ".".join(("pyke", *path.relative_to(PACKAGE).with_suffix("").parts))


def _used(path: Path, modules: set[str]) -> set[tuple[str, str]]:
    """Names of some modules that a file uses: (module, name)."""
    tree = ast.parse(path.read_text())
    aliases: dict[str, str] = {}
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for one in node.names:
                if f"{node.module}.{one.name}" in modules:
                    aliases[one.asname or one.name] = f"{node.module}.{one.name}"
                elif node.module in modules:
                    found.add((node.module, one.name))
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
            continue
        if module := aliases.get(node.value.id):
            found.add((module, node.attr))
    return found


def test_a_warm_up_runs_every_kernel_that_python_code_calls(tmp_path: Path) -> None:
    modules = {_module(path) for path in KERNEL_FILES}
    python = [path for path in PACKAGE.rglob("*.py") if path not in KERNEL_FILES]
    used = sorted(set().union(*(_used(path, modules) for path in python)))
    assert ("pyke.simulation.forces", "step_radial") in used
    run = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path), json.dumps(used)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == []
