"""A distributed run: read → dictionary → triples → springs → simulation → embedding directory.

The client sees counts, never arrays of the size of the graph. Finished stages and checkpoints of
the simulation are on the shared storage: a run that starts again continues from there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pyke import __version__
from pyke.config import Config
from pyke.errors import UsageError
from pyke.pipeline.distributed import reading, simulation
from pyke.pipeline.distributed.costs import SPRINGS_PER_PAIR, Counts, check_memory, plan_cluster
from pyke.pipeline.distributed.parts import Part
from pyke.pipeline.partitions import flow, springs
from pyke.pipeline.partitions.executor import Executor
from pyke.pipeline.partitions.job import Job, Result
from pyke.pipeline.partitions.writing import write_embedding
from pyke.pipeline.spilling import needs_everything
from pyke.pipeline.stages import Stages
from pyke.read.tokenize import reporter
from pyke.simulation import anneal
from pyke.simulation.anneal import Iteration

CHECKPOINT = "checkpoint.json"
FLOAT = 4  # bytes


def check_settings(config: Config) -> None:
    """Raise UsageError for settings that need one machine."""
    for name in needs_everything(config):
        raise UsageError(
            f"workers do not support `{name}={getattr(config, name)!r}`. "
            "Choose another value, or embed the graph on one machine."
        )


class Flow(flow.Flow):
    """The stages of one run on a cluster."""

    def __init__(
        self,
        job: Job,
        executor: Executor,
        stages: Stages,
        parts: Sequence[Part],
        workers: int,
    ) -> None:
        super().__init__(job, executor, stages)
        self._workers, self._parts = workers, parts

    def embed(self, output: str, force: bool, fingerprint: dict[str, Any]) -> dict[str, Any]:
        """Run all stages that are not finished, and write the embedding; its manifest."""
        job, stages = self.job, self.stages
        with self._measured("reading"):
            named = self.number_terms(self._read())
            arranged = self.arrange(self.send_triples(named))
        with self._measured("springs"):
            found = self._find_forces()
        with self._measured("simulation", anneal.planned_iterations(job.config), "iterations"):
            history, reason = self._simulate(found)
        manifest = {
            "program": __version__,
            "config": job.config.as_dict(),
            "inputs": stages.inputs,
            "census": self.census.as_dict(),
            "particles": self.particles.size,
            "springs": sum(one["springs"] for one in found),
            "stop_reason": reason,
            "history": [asdict(one) for one in history],
            "stages": stages.as_dicts(),
            "fingerprint": fingerprint,
        }
        with self._measured("writing"):
            sizes = {name: sum(one[name] for one in arranged) for name in ("types", "labels")}
            task = self.executor.submit(
                write_embedding, job, output, manifest | sizes, self.particles, named, force
            )
            self.executor.results([task])
        return manifest | {"stages": stages.as_dicts()}

    def _measured(self, name: str, total: int | None = None, unit: str = "") -> Any:
        return self.stages.stage(name, total, unit)

    # -- reading ------------------------------------------------------------------------------

    def _read(self) -> list[Result]:
        """Read all parts of the inputs."""
        parts = self.run_each(reading.read, [(part,) for part in self._parts])
        self._report_problems(parts)
        self.census.bytes = sum(one["bytes"] for one in parts)
        return parts

    def _report_problems(self, parts: Sequence[Result]) -> None:
        """Raise the first problem, or count all; lines are those of the whole document."""
        before, last = 0, None
        for part, found in zip(self._parts, parts, strict=True):
            before = before if part.document == last else 0
            report = reporter(part.document, self.job.config, self.census)
            for line, message, count in found["problems"]:
                report(before + line if line else 0, message, count)
            self.census.errors += found["errors"] - sum(one[2] for one in found["problems"])
            before, last = before + found["lines"], part.document

    # -- springs ------------------------------------------------------------------------------

    def _find_forces(self) -> list[Result]:
        """Springs and repellers of all particles."""
        job = self.job
        self.find_pairs()
        found = self.run(springs.forces, job.partitions, self.particles)
        row, partitions = FLOAT * job.config.dimensions, sum(one["rows"] > 0 for one in found)
        self.used.halo_bytes = row * sum(sum(one["sources"]) for one in found)
        self.used.all_gather_bytes = row * self.particles.size * (partitions - 1)
        return found

    def require_memory(self) -> None:
        """Raise OverBudget if the simulation exceeds the memory of the workers."""
        config, census = self.job.config, self.census
        if config.memory is not None:
            counts = Counts.like_lubm(census.triples, census.terms)
            springs_ = SPRINGS_PER_PAIR * counts.pairs
            counts = counts.with_springs(counts.pairs, self.particles.size, springs_)
            planned = plan_cluster(counts, config, self._workers, config.memory)
            check_memory(planned, config, config.memory, "memory")

    # -- simulation ---------------------------------------------------------------------------

    def _simulate(self, found: Sequence[Result]) -> tuple[list[Iteration], str]:
        """Iterate until a rule stops it; write the vectors of the terms."""
        job, executor, config = self.job, self.executor, self.job.config
        sources = [[p for p, rows in enumerate(one["sources"]) if rows] for one in found]
        workers, partitions = executor.workers(), self._load()
        saved = job.scratch.read_json(CHECKPOINT)
        history = [Iteration(**one) for one in saved["history"]] if saved else []
        if saved:
            states = self._restore(partitions, len(history))
        else:
            states = [executor.submit(simulation.start, job, one) for one in partitions]
        kept, interval = time.monotonic(), anneal.checkpoint_interval(0.0, config)
        while not (reason := anneal.reason_to_stop(history, config)):
            objective = displacement = 0.0
            for turn in range(simulation.turns(config)):
                states = self._step(partitions, states, sources, len(history), turn)
                sums = self._sums(states)
                objective, displacement = objective + sums[0], displacement + sums[1]
            if config.rescale:
                states = self._rescale(states)
            energy = anneal.energy_of(len(history), config)
            history.append(Iteration(energy, objective, displacement))
            anneal.require_finite(history, config)
            self.stages.progress.iteration(len(history), energy, objective, displacement)
            if time.monotonic() - kept >= interval:
                began = time.monotonic()
                self._checkpoint(states, history)
                interval = anneal.checkpoint_interval(time.monotonic() - began, config)
                if workers != executor.workers():  # new ones get their share
                    workers, partitions = executor.workers(), self._load()
                # Positions that were read need no earlier task if they are lost.
                states = self._restore(partitions, len(history))
                kept = time.monotonic()
        tasks = [
            executor.submit(simulation.vectors, job, p, partition, state, self.terms.size)
            for p, (partition, state) in enumerate(zip(partitions, states, strict=True))
        ]
        executor.results(tasks)
        return history, reason

    def _load(self) -> list[Any]:
        """Springs and repellers of all partitions, each on its worker."""
        return [
            self.executor.submit(simulation.load_partition, self.job, p, self.particles)
            for p in range(self.job.partitions)
        ]

    def _step(
        self,
        partitions: Sequence[Any],
        states: Sequence[Any],
        sources: Sequence[Sequence[int]],
        iteration: int,
        turn: int,
    ) -> list[Any]:
        """Exchange the positions that partitions need from each other, and move the particles."""
        job, submit = self.job, self.executor.submit
        following = []
        for q, owners in enumerate(sources):
            halo = [submit(simulation.take, partitions[p], states[p], q) for p in owners]
            following.append(
                submit(
                    simulation.step, job, partitions[q], states[q],
                    iteration, turn, self.terms.size, *halo,
                )
            )  # fmt: skip
        return following

    def _sums(self, states: Sequence[Any]) -> tuple[float, float]:
        """J and displacement of all particles."""
        executor = self.executor
        parts = [executor.submit(simulation.sums_of, state) for state in states]
        added = executor.submit(simulation.add_sums, self.particles, *parts)
        objective, displacement = executor.results([added])[0]
        return objective, displacement

    def _rescale(self, states: Sequence[Any]) -> list[Any]:
        submit = self.executor.submit
        bounds = [submit(simulation.bounds_of, state) for state in states]
        return [submit(simulation.rescale, state, *bounds) for state in states]

    def _checkpoint(self, states: Sequence[Any], history: Sequence[Iteration]) -> None:
        """Write all positions."""
        job, executor, number = self.job, self.executor, len(history)
        before = job.scratch.read_json(CHECKPOINT)
        tasks = [
            executor.submit(simulation.save, job, p, number, one) for p, one in enumerate(states)
        ]
        executor.results(tasks)
        job.scratch.write_json(CHECKPOINT, {"history": [asdict(one) for one in history]})
        if before:
            job.drop(f"positions-{len(before['history'])}")

    def _restore(self, partitions: Sequence[Any], iteration: int) -> list[Any]:
        """The positions of a checkpoint, each where its partition is."""
        return [
            self.executor.submit(simulation.restore, self.job, partition, iteration)
            for partition in partitions
        ]
