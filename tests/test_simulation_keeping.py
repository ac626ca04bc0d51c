"""States to resume from are kept beside the simulation, without a copy that it overwrites."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from graphs import random_forces
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.errors import DivergedError, Interrupted
from pyke.simulation import keeping
from pyke.simulation.anneal import Forces, Result, State, checkpoint_interval, simulate_forces
from pyke.simulation.layouts import LAYOUTS, ROWS, Layout

PARTICLES, TERMS = 700, 300
CONFIG = Config(dimensions=20, max_iterations=6, seed=1, checkpoint_seconds=0)
SILENT = Progress()


def run(layout: Layout, config: Config, keep: object, progress: Progress = SILENT) -> Result:
    forces = Forces(*random_forces(PARTICLES, 5, 1), config, layout)
    return simulate_forces(forces, config, progress, None, keep, TERMS)  # type: ignore[arg-type]


@pytest.mark.parametrize("updates", ["simultaneous", "alternating", "stochastic"])
@pytest.mark.parametrize("rescale", [False, True])
@pytest.mark.parametrize("layout", [ROWS, LAYOUTS[1], LAYOUTS[-1]], ids=lambda one: one.name)
def test_positions_do_not_change_while_they_are_kept(
    layout: Layout, rescale: bool, updates: str
) -> None:
    config = replace(CONFIG, updates=updates, rescale=rescale, omega=0.01)
    kept: list[tuple[bytes, bytes]] = []

    def keep(state: State) -> None:
        first = np.array(state.positions[:PARTICLES]).tobytes()
        time.sleep(0.02)  # the simulation would overwrite them now
        kept.append((first, np.array(state.positions[:PARTICLES]).tobytes()))

    result = run(layout, config, keep)
    assert len(kept) == 6
    assert all(first == second for first, second in kept)
    assert kept[-1][0] == np.array(result.positions[:PARTICLES]).tobytes()


def test_the_simulation_continues_while_a_state_is_kept() -> None:
    continued = threading.Event()

    class Watch(Progress):
        def iteration(self, number: int, *_: float) -> None:
            if number == 2:
                continued.set()

    seen: list[bool] = []
    run(ROWS, CONFIG, lambda _: seen.append(continued.wait(10)), Watch())
    assert seen == [True] * 6


@pytest.mark.parametrize("layout", [ROWS, LAYOUTS[1]], ids=lambda one: one.name)
def test_an_error_of_the_writer_ends_the_simulation(layout: Layout) -> None:
    def keep(_: State) -> None:
        raise MemoryError("while writing")

    with pytest.raises(MemoryError, match="while writing"):
        run(layout, CONFIG, keep)


def test_an_interruption_waits_for_the_writer_and_keeps_the_last_state() -> None:
    class Stop(Progress):
        def iteration(self, number: int, *_: float) -> None:
            if number == 3:
                raise Interrupted(2)

    kept: list[int] = []

    def keep(state: State) -> None:
        time.sleep(0.05)
        kept.append(len(state.history))

    with pytest.raises(Interrupted):
        run(ROWS, CONFIG, keep, Stop())
    assert kept == [1, 2, 3]


def test_a_failed_simulation_raises_its_own_error_after_the_writer_has_ended() -> None:
    ended = threading.Event()

    class Fail(Progress):
        def iteration(self, number: int, *_: float) -> None:
            if number == 2:
                raise DivergedError("of the simulation")

    def keep(_: State) -> None:
        time.sleep(0.05)
        ended.set()
        raise MemoryError

    with pytest.raises(DivergedError, match="of the simulation"):
        run(ROWS, CONFIG, keep, Fail())
    assert ended.is_set()


def test_checkpoints_are_rarer_the_more_they_cost() -> None:
    config = Config()
    assert checkpoint_interval(0.001, config) == config.checkpoint_seconds
    assert checkpoint_interval(10, config) == pytest.approx((20 * 86_400) ** 0.5)
    assert checkpoint_interval(1000, config) == 20_000  # 5 % of the time
    assert checkpoint_interval(1000, replace(config, checkpoint_seconds=0)) == 0


def test_the_interval_counts_from_the_start_of_a_checkpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    kept: list[int] = []
    config = replace(CONFIG, checkpoint_seconds=10)
    state = State(np.zeros((1, 32), np.float32), ())
    with keeping.Keeping(lambda _: kept.append(int(now[0])), 1, config) as keeper:
        for second in range(35):
            now[0] = float(second)
            keeper.if_due(state)
            keeper._background.wait()  # the thread reads the clock
    assert kept == [10, 20, 30]
