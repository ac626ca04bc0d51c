"""Kernels give the same results as plain Python code, without the compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import pyke
from faults.conftest import LONG, Figure
from graphs import FAMILY, crafts


def _interpreted(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command with kernels as plain Python; integers overflow as in machine code."""
    return subprocess.run(
        [sys.executable, "-W", "ignore:overflow", "-m", "pyke", *map(str, arguments)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )


def test_interpreted_kernels_give_the_same_vectors(tmp_path: Path, figure: Figure) -> None:
    graph = tmp_path / "graph.nt"
    graph.write_text(crafts() if LONG else FAMILY)
    done = _interpreted("embed", graph, "-o", tmp_path / "out", "--dimensions", "3")
    assert done.returncode == 0, done.stderr
    slow, fast = pyke.load(tmp_path / "out"), pyke.embed(graph, dimensions=3)
    assert list(slow.terms) == list(fast.terms)
    assert slow.manifest["census"] == fast.manifest["census"]
    difference = float(np.abs(slow.vectors - fast.vectors).max() / np.abs(fast.vectors).max())
    assert difference < 1e-4
    text = f"without the compiler: same terms and counts, vectors differ by {difference:.0e}"
    if LONG:
        assert _interpreted("warm-up").returncode == 0  # runs every kernel
        text += "; every kernel runs"
    figure("F15", text)
