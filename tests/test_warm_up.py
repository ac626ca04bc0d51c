"""`pyke warm-up` runs every kernel once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import ROOT

# Kernels that Python code calls, and that have not been loaded or compiled after a warm-up.
CODE = r"""
import importlib, re, sys
from pathlib import Path
from pyke.core import compile as compiling
from pyke.core.progress import Progress
from pyke.evaluate.warm_up import compile_all

source = compiling.PACKAGE
kernel_files = {source / name for name in (*compiling.VECTOR_KERNELS, *compiling.OTHER_KERNELS)}
python = " ".join(p.read_text() for p in source.rglob("*.py") if p not in kernel_files)
compile_all(Path(sys.argv[1]), Progress())
for path in sorted(kernel_files):
    name = ".".join(("pyke", *path.relative_to(source).with_suffix("").parts))
    for key, value in vars(importlib.import_module(name)).items():
        own = getattr(value, "__module__", "") == name and hasattr(value, "signatures")
        own = own and not key.startswith("_")  # private ones are called by kernels only
        if own and re.search(rf"\b{key}\b", python) and not value.signatures:
            print(name, key)
"""


def test_a_warm_up_runs_every_kernel_that_python_code_calls(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split("\n")[:-1] == []
