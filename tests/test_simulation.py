"""The simulation: each step compared with the oracle, stop rules, divergence, equal bits."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import oracle
from graphs import as_text, graph_of
from oracle import RDF_TYPE
from pyke.config import Config
from pyke.core import arrays
from pyke.core.arrays import Matrix, Repellers
from pyke.core.progress import Progress
from pyke.errors import DivergedError, Interrupted, UsageError
from pyke.pipeline.embed import embed
from pyke.simulation import anneal, layouts
from pyke.simulation.anneal import Result, State, simulate
from pyke.springs import repellers
from pyke.springs.similarity import similarity as similarity_named
from pyke.springs.strongest import strongest_springs, symmetric_matrix

SILENT = Progress()
LAWS = [*product(("radial", "elementwise"), ("stiffness", "unit"), (False, True))]


def random_text(terms: int, triples: int, seed: int) -> str:
    """Random links between typed terms."""
    draw = random.Random(seed)
    things = [f"e:{i}" for i in range(terms)]
    links = [
        (draw.choice(things), draw.choice(["e:p", "e:q", "e:r"]), draw.choice(things))
        for _ in range(triples)
    ]
    return as_text([*links, *[(thing, RDF_TYPE, draw.choice(["e:A", "e:B"])) for thing in things]])


def forces_of(text: str, config: Config) -> tuple[Matrix, Repellers]:
    similar = symmetric_matrix(similarity_named(config.similarity)(graph_of(text), 2, None))
    return strongest_springs(similar, config.k), repellers.draw_repellers(
        similar, config.repellers, config.seed, config.threads
    )


def oracle_of(attracting: Matrix, repelling: Repellers, config: Config) -> oracle.System:
    """The same P, σ and N as plain lists."""
    ranges = list(
        zip(attracting.offsets[:-1].tolist(), attracting.offsets[1:].tolist(), strict=True)
    )
    return oracle.System(
        attractors=[
            dict(
                zip(attracting.columns[a:b].tolist(), attracting.values[a:b].tolist(), strict=True)
            )
            for a, b in ranges
        ],
        repellers=[repelling.of(x, arrays.BLOCK_ROWS).tolist() for x in range(attracting.rows)],
        omega=config.omega,
        repulsion=config.repulsion,
        mass=config.mass,
        rescale=config.rescale,
    )


def matrix(rows: list[dict[int, float]]) -> Matrix:
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    pairs = [pair for row in rows for pair in sorted(row.items())]
    return Matrix(
        offsets,
        np.array([y for y, _ in pairs], np.int32),
        np.array([sigma for _, sigma in pairs], np.float32),
    )


def all_repel(particles: int) -> Repellers:
    """Every particle repels every other."""
    members = np.array(
        [[y for y in range(particles) if y != x] for x in range(particles)], np.uint16
    ).reshape(particles, particles - 1)
    pool = np.arange(particles, dtype=np.int32)
    return Repellers(
        np.array([0, particles], np.int64),
        pool,
        members,
        np.full(particles, particles - 1, np.uint16),
    )


def laid_out(points: list[list[float]]) -> State:
    """A state with the given positions."""
    positions = np.zeros((len(points), anneal.row_stride(len(points[0]))), np.float32)
    positions[:, : len(points[0])] = points
    return State(positions, ())


# -- Compared with the oracle -----------------------------------------------------------------


def kept_states(
    attracting: Matrix, repelling: Repellers, config: Config, terms: int = 0
) -> list[NDArray[np.float64]]:
    """The positions before the first iteration and after each."""
    positions = [anneal.random_start(attracting.rows, config)]
    simulate(
        attracting,
        repelling,
        replace(config, checkpoint_seconds=0),
        SILENT,
        keep=lambda state: positions.append(state.positions.copy()),
        terms=terms,
    )
    assert not any(at[:, config.dimensions :].any() for at in positions), "the padding stays 0"
    return [at[:, : config.dimensions].astype(np.float64) for at in positions]


@pytest.mark.parametrize(("law", "mass", "rescale"), LAWS)
@pytest.mark.parametrize(
    ("similarity", "init", "dimensions"), [("ppmi", "uniform", 16), ("context", "normal", 17)]
)
def test_every_step_equals_the_oracle(
    law: str, mass: str, rescale: bool, similarity: str, init: str, dimensions: int
) -> None:
    """Each of ten steps starts from the oracle's positions, where rounding errors cannot grow."""
    config = Config(
        similarity=similarity, dimensions=dimensions, init=init, k=6, repellers=5,
        omega=1.0 if law == "radial" else 0.01, mass=mass, repulsion=law, rescale=rescale,
        max_iterations=10, epsilon=0, seed=5, threads=2,
    )  # fmt: skip
    forces = forces_of(random_text(25, 40, 1), config)
    system, history = oracle_of(*forces, config), simulate(*forces, config, SILENT).history
    states = kept_states(*forces, config)
    assert len(history) == 10
    for t, (before, after, moment) in enumerate(zip(states[:-1], states[1:], history, strict=True)):
        truth = oracle.step(system, before.tolist(), 1 - t * config.energy_release)
        np.testing.assert_allclose(
            after,
            np.array(truth.positions),
            rtol=1e-4,
            atol=1e-5 * (1 if rescale else np.ptp(before, axis=0).max()),
        )
        assert moment.objective == pytest.approx(truth.objective, rel=1e-4)
        assert moment.displacement == pytest.approx(truth.displacement, rel=1e-5)
        assert moment.energy == pytest.approx(1 - t * config.energy_release)


@pytest.mark.parametrize("law", ["radial", "elementwise"])
@pytest.mark.parametrize("rescale", [False, True])
def test_every_alternating_step_equals_the_oracle(law: str, rescale: bool) -> None:
    """Contexts move first; the terms see their new positions."""
    config = Config(
        dimensions=5, k=6, repellers=5, omega=1.0 if law == "radial" else 1e-4, repulsion=law,
        rescale=rescale, updates="alternating", max_iterations=6, epsilon=0, seed=5, threads=2,
    )  # fmt: skip
    text = random_text(25, 40, 1)
    forces, terms = forces_of(text, config), len(graph_of(text).terms)
    system = oracle_of(*forces, config)
    history = simulate(*forces, config, SILENT, terms=terms).history
    states = kept_states(*forces, config, terms)
    for t, (before, after, moment) in enumerate(zip(states[:-1], states[1:], history, strict=True)):
        energy = 1 - t * config.energy_release
        truth = oracle.alternating_step(system, before.tolist(), energy, terms)
        size = 1 if rescale else np.ptp(before, axis=0).max()
        np.testing.assert_allclose(after, truth.positions, rtol=1e-4, atol=1e-5 * size)
        assert moment.objective == pytest.approx(truth.objective, rel=1e-4)
        assert moment.displacement == pytest.approx(truth.displacement, rel=1e-4)


@pytest.mark.parametrize("law", ["radial", "elementwise"])
def test_every_stochastic_step_equals_the_oracle(law: str) -> None:
    """About half of the particles move, others in each iteration, and the rest stays."""
    config = Config(
        dimensions=5, k=6, repellers=5, omega=1.0 if law == "radial" else 0.01, repulsion=law,
        updates="stochastic", max_iterations=12, epsilon=0, seed=5, threads=2,
    )  # fmt: skip
    forces = forces_of(random_text(25, 40, 1), config)
    system, history = oracle_of(*forces, config), simulate(*forces, config, SILENT).history
    states = kept_states(*forces, config)
    often = np.zeros(len(states[0]))
    for t, (before, after, moment) in enumerate(zip(states[:-1], states[1:], history, strict=True)):
        moving = np.flatnonzero((before != after).any(axis=1)).tolist()
        often[moving] += 1
        assert 0.25 < len(moving) / len(before) < 0.75
        truth = oracle.step(system, before.tolist(), 1 - t * config.energy_release, moving)
        size = np.ptp(before, axis=0).max()
        np.testing.assert_allclose(after, truth.positions, rtol=1e-4, atol=1e-5 * size)
        assert moment.objective == pytest.approx(truth.objective, rel=1e-4)
        assert moment.displacement == pytest.approx(truth.displacement, rel=1e-5)
    assert often.min() >= 1, "every particle moved at some time"
    assert often.max() < 12, "no particle moved each time"


def test_alternating_updates_need_contexts() -> None:
    config = Config(dimensions=1, updates="alternating")
    with pytest.raises(UsageError, match="the springs have no contexts"):
        simulate(matrix([{1: 1.0}, {0: 1.0}]), all_repel(2), config, SILENT, terms=2)
    with pytest.raises(UsageError, match="'ppmi' has no contexts"):
        Config(updates="alternating", similarity="ppmi")


@pytest.mark.parametrize(("law", "mass", "rescale"), LAWS)
def test_ten_iterations_end_at_the_positions_of_the_oracle(
    law: str, mass: str, rescale: bool
) -> None:
    """From the same start, with the same springs and repellers; the oracle uses 64-bit numbers."""
    # Repulsion multiplies a rounding error by ω/d² at each step, and d is often tiny in some
    # dimension of the element-wise law. A small ω keeps this factor near 1. It is smaller still if
    # attraction alone determines the size of the cloud, which then shrinks. No two particles have
    # the same springs: these would be pulled to the same position.
    omega = 0.05 if law == "radial" else 1e-6 if rescale else 1e-5 if mass == "unit" else 1e-8
    config = Config(
        dimensions=3, init="uniform", repellers=3, omega=omega, mass=mass, repulsion=law,
        rescale=rescale, max_iterations=10, epsilon=0, seed=26,
    )  # fmt: skip
    drawn = np.random.default_rng(26)
    sigma = np.triu((drawn.random((12, 12)) < 0.35) * drawn.random((12, 12)), 1)
    sigma += sigma.T
    attracting = matrix([{y: row[y] for y in np.flatnonzero(row).tolist()} for row in sigma])
    repelling = repellers.draw_repellers(attracting, config.repellers, config.seed, 1)

    began, *_, ended = kept_states(attracting, repelling, config)
    system = oracle_of(attracting, repelling, config)
    both = (
        oracle.run(one, began.tolist(), config.energy_release, 10)[-1].positions
        for one in (system, replace(system, omega=0.0))
    )
    truth, unrepelled = map(np.array, both)
    size = np.ptp(truth, axis=0).max()
    assert abs(ended - truth).max() < 1e-5 * size
    assert abs(unrepelled - truth).max() > 1e-4 * size, "ω is large enough to matter"


@pytest.mark.parametrize("law", ["radial", "elementwise"])
@pytest.mark.parametrize("gap", [0.0, 1e-14, 1e-13, 1e-11, 1e-3])
def test_repulsion_stops_growing_below_a_minimum_distance(law: str, gap: float) -> None:
    """Repulsion is constant below a distance of 1e−12, and 0 at the same position."""
    config = Config(dimensions=2, repulsion=law, omega=1e-9, max_iterations=1)
    points = [[0.0, 0.0], [gap, 0.0], [0.5, 2.0]]
    rest = simulate(matrix([{}, {}, {}]), all_repel(3), config, SILENT, laid_out(points))
    truth = oracle.step(
        oracle.System([{}, {}, {}], [[1, 2], [0, 2], [0, 1]], 1e-9, law), points, 1.0
    )
    assert rest.positions[:, :2].ravel().tolist() == pytest.approx(
        [a for x in truth.positions for a in x], rel=1e-5, abs=1e-15
    )


def test_rescaling_sets_a_constant_dimension_to_zero() -> None:
    config = Config(dimensions=3, rescale=True, max_iterations=1, omega=0)
    rest = simulate(
        matrix([{}, {}, {}]),
        all_repel(3),
        config,
        SILENT,
        laid_out([[5.0, 7.0, -1.0], [5.0, 8.0, 3.0], [5.0, 11.0, 1.0]]),
    )
    assert rest.positions[:, :3].tolist() == [[0.0, 0.0, 0.0], [0.0, 0.25, 1.0], [0.0, 1.0, 0.5]]


def test_the_update_is_simultaneous() -> None:
    """Two particles that attract each other swap positions at full energy.

    If they moved in turn, they would meet.
    """
    config = Config(dimensions=1, max_iterations=1, omega=0)
    rest = simulate(
        matrix([{1: 2.0}, {0: 2.0}]), all_repel(2), config, SILENT, laid_out([[0.0], [1.0]])
    )
    assert rest.positions[:, 0].tolist() == [1.0, 0.0]
    assert rest.history[0] == anneal.Iteration(energy=1.0, objective=0.0, displacement=2.0), (
        "J counts d twice as attraction and twice as repulsion"
    )


def test_only_repulsion_moves_a_particle_without_springs() -> None:
    config = Config(dimensions=1, max_iterations=1, omega=0.5)
    rest = simulate(matrix([{}, {}]), all_repel(2), config, SILENT, laid_out([[0.0], [2.0]]))
    assert rest.positions[:, 0].tolist() == [-0.25, 2.25]


@pytest.mark.parametrize(("repel_above", "repelled"), [(0.0, 4), (0.25, 4), (0.6, 2), (1.0, 1)])
def test_particles_do_not_repel_each_other_below_an_energy(
    repel_above: float, repelled: int
) -> None:
    """The bits of a run that goes on without repulsion; energies are 1, 0.75, 0.5 and 0.25."""
    config = Config(dimensions=4, energy_release=0.25, epsilon=0, repel_above=repel_above)
    acting = forces_of(random_text(25, 40, 2), config)
    found = simulate(*acting, config, SILENT)
    config = replace(config, repel_above=0.0)
    first = simulate(*acting, replace(config, max_iterations=repelled), SILENT)
    state = anneal.State(first.positions.copy(), first.history)
    expected = simulate(*acting, replace(config, omega=0.0), SILENT, state)
    assert found.positions.tobytes() == expected.positions.tobytes()
    assert found.history == expected.history


# -- Stop rules -------------------------------------------------------------------------------


def run(config: Config, **changes: Any) -> Result:
    config = replace(config, **changes)
    return simulate(*forces_of(random_text(25, 40, 2), config), config, SILENT)


CALM = Config(
    dimensions=4, repellers=0, epsilon=0, threads=1
)  # without repulsion the cloud contracts


@pytest.mark.parametrize(
    ("release", "iterations"), [(0.0414, 25), (0.1, 10), (0.25, 4), (1.0, 1), (7.0, 1)]
)
def test_a_run_ends_when_the_energy_reaches_zero(release: float, iterations: int) -> None:
    rest = run(CALM, energy_release=release)
    assert (rest.reason, len(rest.history)) == ("energy", iterations)
    assert anneal.planned_iterations(replace(CALM, energy_release=release)) == iterations
    assert all(
        moment.energy == pytest.approx(1 - t * release) for t, moment in enumerate(rest.history)
    )


def test_a_run_ends_after_the_maximum_number_of_iterations() -> None:
    rest = run(CALM, max_iterations=3)
    assert (rest.reason, len(rest.history)) == ("iterations", 3)


def test_a_run_ends_when_the_displacement_falls_below_epsilon() -> None:
    """The first iteration with a displacement below ε is the last one."""
    whole = [moment.displacement for moment in run(CALM).history]
    epsilon = whole[15] * 1.0001
    rest = run(CALM, epsilon=epsilon)
    moved = [moment.displacement for moment in rest.history]
    assert rest.reason == "displacement"
    assert moved == whole[: len(moved)]
    assert moved[-1] < epsilon <= min(moved[:-1])


def test_a_run_ends_when_the_objective_rises_if_enabled() -> None:
    """The first iteration whose J is at least as large as the previous one is the last."""
    config = replace(CALM, repellers=2, omega=0.001)
    whole = [moment.objective for moment in run(config).history]
    rise = next(t for t in range(1, len(whole)) if whole[t] >= whole[t - 1])
    rest = run(config, stop_when_j_rises=True)
    assert (rest.reason, len(rest.history)) == ("objective", rise + 1)
    assert len(whole) == 25, "without the option the run continues"


@pytest.mark.parametrize("law", ["radial", "elementwise"])
def test_divergence_is_an_error_with_the_iteration_and_a_remedy(law: str) -> None:
    config = Config(
        dimensions=4, mass="unit", repulsion=law, energy_release=1e-3, epsilon=0, k=45, threads=1
    )
    with pytest.raises(DivergedError, match=r"in iteration [1-9]\d*: .*`mass=.stiffness.`"):
        simulate(*forces_of(random_text(60, 200, 3), config), config, SILENT)


@pytest.mark.parametrize("place", [np.nan, np.inf])
@pytest.mark.parametrize("rescale", [False, True])
def test_nan_and_infinity_are_detected_in_the_first_iteration(place: float, rescale: bool) -> None:
    config = Config(dimensions=1, rescale=rescale)
    with pytest.raises(DivergedError, match="in iteration 1"):
        simulate(
            matrix([{1: 1.0}, {0: 1.0}]), all_repel(2), config, SILENT, laid_out([[0.0], [place]])
        )


# -- Equal bits -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"preset": "paper"},
        {"similarity": "ppmi", "rescale": True, "k": 3},
        {"init": "svd"},
        {"updates": "alternating"},
        {"updates": "stochastic"},
    ],
    ids=str,
)
def test_vectors_do_not_depend_on_the_number_of_threads(
    tmp_path: Path, parameters: dict[str, Any]
) -> None:
    """Enough particles for several blocks."""
    path = tmp_path / "a.nt"
    path.write_text(random_text(1500, 4000, 4))
    first, *others = [
        embed(path, dimensions=20, threads=threads, seed=2**64 - 1, **parameters)
        for threads in (1, 2, 3)
    ]
    for other in others:
        assert other.vectors.tobytes() == first.vectors.tobytes()
        assert other.manifest["history"] == first.manifest["history"]
    assert (
        first.vectors.tobytes()
        != embed(path, dimensions=20, threads=1, seed=1, **parameters).vectors.tobytes()
    )


@pytest.mark.parametrize(
    "changes",
    [{}, {"rescale": True}, {"init": "svd"}, {"updates": "alternating"}, {"updates": "stochastic"}],
    ids=str,
)
@pytest.mark.parametrize("after", [1, 2, 7, 25])
def test_an_interrupted_run_resumes_to_the_same_bits(
    after: int, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(number: int, *_: float) -> None:
        if number == after:
            raise Interrupted(15)

    stopping = Progress()
    monkeypatch.setattr(stopping, "iteration", interrupt)
    config = Config(dimensions=4, threads=1, **changes)
    text = random_text(25, 40, 5)
    forces, terms = forces_of(text, config), len(graph_of(text).terms)
    kept: list[State] = []
    with pytest.raises(Interrupted):
        simulate(*forces, config, stopping, keep=kept.append, terms=terms)
    whole, resumed = (
        simulate(*forces, config, SILENT, state, terms=terms) for state in (None, kept[-1])
    )
    assert len(kept[-1].history) == after
    assert resumed.positions.tobytes() == whole.positions.tobytes()
    assert resumed.history == whole.history


def test_states_are_kept_at_the_requested_interval() -> None:
    config = Config(dimensions=4, checkpoint_seconds=0, threads=1)
    kept: list[int] = []
    simulate(
        *forces_of(random_text(25, 40, 5), config),
        config,
        SILENT,
        keep=lambda state: kept.append(len(state.history)),
    )
    assert kept == list(range(1, 26))


def test_particles_are_placed_at_the_weighted_mean_in_turn() -> None:
    """Particle 1 is linked to 0, which is placed; 2 to 1; 3 to itself only."""
    springs = Matrix(
        np.array([0, 0, 1, 2, 3]), np.array([0, 1, 3], np.int32), np.array([5, 1, 3], np.float32)
    )
    positions = np.array([[0, 8], [0, 0], [0, 0], [0, 0]], np.float32)
    placed = np.array([True, False, False, False])
    anneal.place_at_weighted_mean(springs, positions, placed, 1)
    assert positions.tolist() == [[0, 8], [0, 8], [0, 8], [0, 0]]
    assert placed.tolist() == [True, True, True, False]


def test_particles_with_the_same_springs_get_the_same_position_to_the_bit() -> None:
    draw = np.random.default_rng(0)
    positions = np.zeros((120, layouts.CACHE_LINE), np.float32)
    positions[:20, :3] = draw.normal(size=(20, 3))
    ends, strengths = (
        draw.integers(0, 20, (50, 3)).astype(np.int32),
        draw.uniform(0.1, 9, (50, 3)).astype(np.float32),
    )
    offsets = np.append(np.zeros(21, np.int64), 3 * np.arange(1, 101))
    springs = Matrix(
        offsets, np.concatenate([ends.ravel()] * 2), np.concatenate([strengths.ravel()] * 2)
    )
    anneal.place_at_weighted_mean(springs, positions, np.arange(120) < 20, 2)
    assert (positions[20:70] == positions[70:]).all()
    assert np.allclose(
        positions[20:70, :3],
        (positions[ends, :3] * strengths[:, :, None]).sum(1) / strengths.sum(1)[:, None],
        atol=1e-5,
    )
