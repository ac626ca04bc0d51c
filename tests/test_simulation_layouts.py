"""Every layout of positions and springs gives the bits of complete rows, also after a restart."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs import random_forces
from pyke.config import Config
from pyke.core.arrays import BLOCK_ROWS, Matrix, Repellers
from pyke.core.progress import Progress
from pyke.core.scratch import Scratch, ScratchFile
from pyke.errors import WriteError
from pyke.simulation import quarters
from pyke.simulation.anneal import Forces, State, simulate_forces
from pyke.simulation.layouts import LAYOUTS, ROWS, Layout

SILENT = Progress()
ON_DISK = LAYOUTS[-1]


def end_of(forces: tuple[Matrix, Repellers], config: Config, layout: Layout, **more: Any) -> Any:
    """Positions of all particles and the iterations at the end of a simulation."""
    held = Forces(*forces, config, layout)
    result = simulate_forces(held, config, SILENT, terms=forces[0].rows // 2, **more)
    vectors = result.vectors(forces[0].rows, config.dimensions)
    return vectors.tobytes(), result.history, result.reason


@settings(max_examples=25, deadline=None)
@given(
    particles=st.integers(2, 1200),
    wanted=st.integers(0, 20),
    dimensions=st.integers(1, 70),
    law=st.sampled_from(["radial", "elementwise"]),
    updates=st.sampled_from(["simultaneous", "alternating", "stochastic"]),
    rescale=st.booleans(),
    repel_above=st.sampled_from([0.0, 0.97]),  # 0.97: in the first iteration only
    layout=st.sampled_from(LAYOUTS[1:]),
    seed=st.integers(0, 2**32),
)
def test_every_layout_gives_the_bits_of_complete_rows(
    particles: int, wanted: int, dimensions: int, law: str, updates: str, rescale: bool,
    repel_above: float, layout: Layout, seed: int,
) -> None:  # fmt: skip
    forces = random_forces(particles, wanted, seed)
    config = Config(
        dimensions=dimensions, repulsion=law, updates=updates, rescale=rescale, omega=0.01,
        repel_above=repel_above, max_iterations=3, epsilon=0, seed=seed, threads=2,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quarters, "SPRINGS_AT_ONCE", 1000)
        patch.setattr(quarters, "ROWS_AT_ONCE", 300)
        assert end_of(forces, config, layout) == end_of(forces, config, ROWS)


@pytest.mark.parametrize("later", [ROWS, LAYOUTS[1], ON_DISK], ids=lambda one: one.name)
@pytest.mark.parametrize("earlier", [ROWS, LAYOUTS[2], ON_DISK], ids=lambda one: one.name)
def test_a_run_resumes_in_another_layout_to_the_same_bits(earlier: Layout, later: Layout) -> None:
    forces = random_forces(700, 5, 1)
    config = Config(dimensions=20, max_iterations=5, seed=1, checkpoint_seconds=0)
    kept: list[State] = []

    def keep(state: State) -> None:
        if len(state.history) == 2:
            kept.append(State(np.array(state.positions[:700]), state.history))

    whole = end_of(forces, config, earlier, keep=keep)
    assert end_of(forces, config, later, state=kept[0]) == whole


@pytest.mark.parametrize("n", range(0, 60, 7))
def test_a_full_disk_ends_the_simulation_with_a_clear_error(
    n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forces = random_forces(300, 5, 2)
    config = Config(dimensions=20, max_iterations=2)
    calls = iter(range(10**6))
    write = os.pwrite

    def full(*arguments: Any) -> int:
        if next(calls) == n:
            raise OSError(28, "No space left on device")
        return write(*arguments)

    monkeypatch.setattr(os, "pwrite", full)

    def run() -> None:
        for _ in range(10):  # until the n-th call
            simulate_forces(Forces(*forces, config, ON_DISK, Scratch(tmp_path)), config, SILENT)

    with pytest.raises(WriteError, match=r"the disk is full\. .* `memory`") as caught:
        run()
    assert caught.value.exit_code == 74
    assert not list(tmp_path.iterdir()), "scratch files have no name"


def test_springs_on_disk_come_in_parts_of_whole_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quarters, "SPRINGS_AT_ONCE", 1500)
    matrix, _ = random_forces(4 * BLOCK_ROWS + 3, 1, 3)
    held = quarters.Springs(matrix, False, Scratch())
    parts = list(held.parts())
    assert len(parts) > 2
    assert [begin for begin, *_ in parts[1:]] == [end for _, end, *_ in parts[:-1]]
    for number, whole in enumerate((matrix.columns, matrix.values)):
        assert (np.concatenate([arrays[number] for *_, arrays in parts]) == whole).all()


def test_a_full_disk_is_found_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    monkeypatch.setattr(os, "write", full)  # where the system cannot reserve space
    with pytest.raises(WriteError, match=r"cannot keep 1,000 bytes .* the disk is full"):
        ScratchFile(tmp_path, 1000)


def test_a_scratch_file_that_ends_too_early_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="cannot keep 8 bytes"):
        ScratchFile(tmp_path, 8).read(np.empty(3, np.int64))


def test_a_scratch_file_keeps_parts_of_arrays(tmp_path: Path) -> None:
    file = ScratchFile(tmp_path, 80)
    file.write(np.arange(10.0))
    file.write(np.full(2, 7.0), 8 * 3)
    found = np.empty(4)
    file.read(found, 8 * 2)
    assert found.tolist() == [2, 7, 7, 5]
    file.read(np.empty(0))
