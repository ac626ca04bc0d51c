"""Every layout of positions and springs gives the bits of complete rows, also after a restart."""

from __future__ import annotations

import os
from collections.abc import Iterator
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
from pyke.simulation import quarters, slabs
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
        patch.setattr(slabs, "SPRINGS_AT_ONCE", 1000)
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


@pytest.mark.parametrize("most", [{"SPRINGS_AT_ONCE": 1500}, {"ROWS_OF_SLAB": BLOCK_ROWS}])
@pytest.mark.parametrize("in_memory", [True, False])
def test_slabs_are_whole_blocks_in_order(
    in_memory: bool, most: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in most.items():
        monkeypatch.setattr(slabs, name, value)
    matrix, repellers = random_forces(4 * BLOCK_ROWS + 3, 1, 3)
    found = list(slabs.Slabs([(matrix, repellers)], Config(), in_memory, Scratch()))
    assert len(found) > 2
    assert [one.begin for one in found[1:]] == [one.end for one in found[:-1]]
    assert (found[0].begin, found[-1].end) == (0, matrix.rows)
    for one in found:
        assert one.begin % BLOCK_ROWS == 0
        arrays = one.read("columns", "sigma", "offsets", "members", "pool", "pool_offsets")
        springs = slice(*(arrays["offsets"][[0, -1]] - one.first_spring))
        whole = slice(*matrix.offsets[[one.begin, one.end]])
        assert (arrays["columns"][springs] == matrix.columns[whole]).all()
        assert (arrays["sigma"][springs] == matrix.values[whole]).all()
        block = one.begin // BLOCK_ROWS
        pool = slice(*arrays["pool_offsets"][:2])
        whole = slice(*repellers.pool_offsets[block : block + 2])
        assert (arrays["pool"][pool] == repellers.pool[whole]).all()


def test_slabs_of_several_parts_are_those_of_one() -> None:
    matrix, repellers = random_forces(3 * BLOCK_ROWS + 9, 5, 4)
    config = Config(dimensions=20, max_iterations=3, seed=1)

    def parts() -> Iterator[tuple[Matrix, Repellers]]:
        for blocks in (slice(0, 1), slice(1, 4)):
            rows = slice(blocks.start * BLOCK_ROWS, min(matrix.rows, blocks.stop * BLOCK_ROWS))
            offsets = matrix.offsets[rows.start : rows.stop + 1]
            springs = slice(offsets[0], offsets[-1])
            pools = repellers.pool_offsets[blocks.start : blocks.stop + 1]
            yield (
                Matrix(offsets - offsets[0], matrix.columns[springs], matrix.values[springs]),
                Repellers(
                    pools - pools[0],
                    repellers.pool[pools[0] : pools[-1]],
                    repellers.members[rows],
                    repellers.counts[rows],
                ),
            )

    held = Forces.on_disk(parts(), config, Scratch())
    result = simulate_forces(held, config, SILENT)
    whole = simulate_forces(Forces(matrix, repellers, config), config, SILENT)
    assert result.history == whole.history
    vectors = [one.vectors(matrix.rows, 20).tobytes() for one in (result, whole)]
    assert vectors[0] == vectors[1]


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
