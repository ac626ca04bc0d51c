"""A distributed run: read → dictionary → triples → springs → simulation → embedding directory.

The client sees counts, never arrays of the size of the graph. Finished stages and checkpoints of
the simulation are on the shared storage: a run that starts again continues from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from typing import Any

from pyke import __version__
from pyke.config import Config
from pyke.errors import EmptyGraph, UsageError
from pyke.graph.build import require_ids
from pyke.graph.graph import Census
from pyke.pipeline.distributed import dictionary, pairs, simulation, springs, triples
from pyke.pipeline.distributed.costs import SPRINGS_PER_PAIR, Counts, check_memory, plan_cluster
from pyke.pipeline.distributed.executor import Executor
from pyke.pipeline.distributed.job import CPU, PEAK, WRITTEN, Job, Result
from pyke.pipeline.distributed.layout import layout_of_particles, layout_of_terms
from pyke.pipeline.distributed.parts import Part
from pyke.pipeline.distributed.writing import write_embedding
from pyke.pipeline.embed import why_empty
from pyke.pipeline.stages import Stages
from pyke.read.tokenize import reporter
from pyke.simulation import anneal
from pyke.simulation.anneal import Iteration

CHECKPOINT = "checkpoint.json"
FLOAT = 4  # bytes


def check_settings(config: Config) -> None:
    """Raise UsageError for settings that need one machine."""
    refused = {
        "similarity": config.similarity not in ("context", "ppmi"),
        "init": config.init == "svd",
        "clusters": config.clusters != 0,
        "literals": config.literals != "",
        "type_weight": config.type_weight != 1,
    }
    for name, is_refused in refused.items():
        if is_refused:
            raise UsageError(
                f"workers do not support `{name}={getattr(config, name)!r}`. "
                "Choose another value, or embed the graph on one machine."
            )


@dataclass
class Used:
    """What all tasks of a run used."""

    cpu_seconds: dict[str, float] = field(default_factory=dict)  # by stage
    written_bytes: dict[str, int] = field(default_factory=dict)  # for other tasks, by stage
    peak_bytes: dict[str, int] = field(default_factory=dict)  # of a worker, by stage
    pairs: int = 0  # with a positive similarity
    halo_bytes: int = 0  # that partitions exchange before each step
    all_gather_bytes: int = 0  # that they would exchange if each needed all positions


class Flow:
    """The stages of one run."""

    def __init__(
        self,
        job: Job,
        executor: Executor,
        stages: Stages,
        parts: Sequence[Part],
        workers: int,
    ) -> None:
        self._workers = workers
        self._job, self._executor, self._stages, self._parts = job, executor, stages, parts
        self.census = Census()
        self.used = Used()
        self._terms = self._particles = layout_of_terms(0, 1)

    def embed(self, output: str, force: bool, fingerprint: dict[str, Any]) -> dict[str, Any]:
        """Run all stages that are not finished, and write the embedding; its manifest."""
        job, stages = self._job, self._stages
        with self._measured("reading"):
            named = self._number_terms()
            arranged = self._arrange(named)
        with self._measured("springs"):
            found = self._find_forces()
        with self._measured("simulation", anneal.planned_iterations(job.config), "iterations"):
            history, reason = self._simulate(found)
        manifest = {
            "program": __version__,
            "config": job.config.as_dict(),
            "inputs": stages.inputs,
            "census": self.census.as_dict(),
            "particles": self._particles.size,
            "springs": sum(one["springs"] for one in found),
            "stop_reason": reason,
            "history": [asdict(one) for one in history],
            "stages": stages.as_dicts(),
            "fingerprint": fingerprint,
        }
        with self._measured("writing"):
            sizes = {name: sum(one[name] for one in arranged) for name in ("types", "labels")}
            task = self._executor.submit(
                write_embedding, job, output, manifest | sizes, self._particles, named, force
            )
            self._executor.results([task])
        return manifest | {"stages": stages.as_dicts()}

    def _measured(self, name: str, total: int | None = None, unit: str = "") -> Any:
        return self._stages.stage(name, total, unit)

    # -- stages -------------------------------------------------------------------------------

    def _run(self, task: Callable[..., Result], number: int, *arguments: Any) -> list[Result]:
        """Run all tasks of a stage, unless it is finished; their results."""
        return self._run_each(task, [arguments] * number)

    def _run_each(self, task: Callable[..., Result], arguments: Sequence[Any]) -> list[Result]:
        """The same for tasks with different arguments."""
        name, scratch = task.__name__, self._job.scratch
        results: list[Result] | None = scratch.read_json(f"{name}.json")
        if results is None:
            submitted = [
                self._executor.submit(task, self._job, number, *one)
                for number, one in enumerate(arguments)
            ]
            results = self._executor.results(submitted)
            scratch.write_json(f"{name}.json", results)
        used = self.used
        used.cpu_seconds[name] = sum(one.get(CPU, 0.0) for one in results)
        used.written_bytes[name] = sum(one.get(WRITTEN, 0) for one in results)
        used.peak_bytes[name] = max(one.get(PEAK, 0) for one in results)
        return results

    # -- reading ------------------------------------------------------------------------------

    def _number_terms(self) -> list[Result]:
        """Read the inputs and give each term its id; what each part says about names."""
        job, census = self._job, self.census
        parts = self._run_each(dictionary.read, [(part,) for part in self._parts])
        self._report_problems(parts)
        merged = self._run(dictionary.merge, job.partitions)
        for name in ("statements", "triple_terms", "bytes"):
            setattr(census, name, sum(one[name] for one in parts))
        census.literals = read = sum(one["literals"] for one in parts)
        if not (job.config.keep_duplicates or job.config.count_literals):
            census.literals = sum(one["literals"] for one in merged)
        census.duplicates = read - census.literals
        census.terms = sum(one["used"] for one in merged)
        census.terms_only_with_literals = sum(one["terms"] for one in merged) - census.terms
        require_ids(census.terms)
        if not census.terms:
            where = ", ".join(self._stages.inputs)
            raise EmptyGraph(f"nothing to embed in {where}: {why_empty(census)}")
        named = self._run(dictionary.number, job.readers)
        census.blank_nodes = sum(one["blank"] for one in named)
        return named

    def _report_problems(self, parts: Sequence[Result]) -> None:
        """Raise the first problem, or count all; lines are those of the whole document."""
        before, last = 0, None
        for part, found in zip(self._parts, parts, strict=True):
            before = before if part.document == last else 0
            report = reporter(part.document, self._job.config, self.census)
            for line, message, count in found["problems"]:
                report(before + line if line else 0, message, count)
            self.census.errors += found["errors"] - sum(one[2] for one in found["problems"])
            before, last = before + found["lines"], part.document

    def _arrange(self, named: Sequence[Result]) -> list[Result]:
        """Sort the triples by subject and by object."""
        job, census, config = self._job, self.census, self._job.config
        bases = [0, *accumulate(one["terms"] for one in named)]
        self._terms = layout_of_terms(bases[-1], job.partitions)
        self._run(dictionary.resolve, job.partitions, bases)
        self._run(dictionary.send, job.readers, self._terms)
        census.predicates = self._run(dictionary.join_predicates, 1)[0]["predicates"]
        type_predicate = next(
            (
                base + one["type"]
                for base, one in zip(bases, named, strict=False)
                if one["type"] >= 0
            ),
            -1,
        )
        arranged = self._run(triples.arrange, job.partitions, self._terms, type_predicate)
        census.triples = sum(one["triples"] for one in arranged)
        census.duplicates += sum(one["duplicates"] for one in arranged)
        census.typed_subjects = sum(one["typed_subjects"] for one in arranged)
        if config.count_literals:
            census.literals = sum(one["literals"] for one in arranged)
        self._run(triples.total, 1)
        counted = self._run(triples.count, job.partitions, self._terms, type_predicate)
        census.classes = sum(one["classes"] for one in counted)
        self._contexts = [[one["contexts"][side] for one in counted] for side in range(2)]
        return arranged

    # -- springs ------------------------------------------------------------------------------

    def _find_forces(self) -> list[Result]:
        """Springs and repellers of all particles."""
        job = self._job
        find = self._find_pairs if job.config.similarity == "ppmi" else self._find_events
        self.used.pairs = sum(one["pairs"] for one in find())
        found = self._run(springs.forces, job.partitions, self._particles)
        row, partitions = FLOAT * job.config.dimensions, sum(one["rows"] > 0 for one in found)
        self.used.halo_bytes = row * sum(sum(one["sources"]) for one in found)
        self.used.all_gather_bytes = row * self._particles.size * (partitions - 1)
        return found

    def _find_events(self) -> list[Result]:
        """Similarities of terms and contexts."""
        job, roles = self._job, 2 * self.census.predicates
        require_ids(self._terms.size + roles + sum(map(sum, self._contexts)))
        self._particles = layout_of_particles(self._terms, roles, self._contexts, job.partitions)
        subject_bases = [0, *accumulate(self._contexts[0])]
        object_bases = [0, *accumulate(self._contexts[1])]
        first = self._terms.size + roles
        bases = [
            [first + subject_bases[p], first + subject_bases[-1] + object_bases[p]]
            for p in range(job.partitions)
        ]
        self._require_memory()
        return self._run_each(
            springs.events, [(self._terms, self._particles, one) for one in bases]
        )

    def _find_pairs(self) -> list[Result]:
        """Similarities of terms that occur in the same triple."""
        partitions = self._job.partitions
        self._particles = self._terms
        self._require_memory()
        for task in (pairs.occur, pairs.pair_up):
            self._run(task, partitions, self._terms)
        return self._run(pairs.weigh, partitions, self._terms)

    def _require_memory(self) -> None:
        """Raise OverBudget if the simulation exceeds the memory of the workers."""
        config, census = self._job.config, self.census
        if config.memory is not None:
            counts = Counts.like_lubm(census.triples, census.terms)
            springs_ = SPRINGS_PER_PAIR * counts.pairs
            counts = counts.with_springs(counts.pairs, self._particles.size, springs_)
            planned = plan_cluster(counts, config, self._workers, config.memory)
            check_memory(planned, config, config.memory, "memory")

    # -- simulation ---------------------------------------------------------------------------

    def _simulate(self, found: Sequence[Result]) -> tuple[list[Iteration], str]:
        """Iterate until a rule stops it; write the vectors of the terms."""
        job, executor, config = self._job, self._executor, self._job.config
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
            self._stages.progress.iteration(len(history), energy, objective, displacement)
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
            executor.submit(simulation.vectors, job, p, partition, state, self._terms.size)
            for p, (partition, state) in enumerate(zip(partitions, states, strict=True))
        ]
        executor.results(tasks)
        return history, reason

    def _load(self) -> list[Any]:
        """Springs and repellers of all partitions, each on its worker."""
        return [
            self._executor.submit(simulation.load_partition, self._job, p, self._particles)
            for p in range(self._job.partitions)
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
        job, submit = self._job, self._executor.submit
        following = []
        for q, owners in enumerate(sources):
            halo = [submit(simulation.take, partitions[p], states[p], q) for p in owners]
            following.append(
                submit(
                    simulation.step, job, partitions[q], states[q],
                    iteration, turn, self._terms.size, *halo,
                )
            )  # fmt: skip
        return following

    def _sums(self, states: Sequence[Any]) -> tuple[float, float]:
        """J and displacement of all particles."""
        executor = self._executor
        parts = [executor.submit(simulation.sums_of, state) for state in states]
        added = executor.submit(simulation.add_sums, self._particles, *parts)
        objective, displacement = executor.results([added])[0]
        return objective, displacement

    def _rescale(self, states: Sequence[Any]) -> list[Any]:
        submit = self._executor.submit
        bounds = [submit(simulation.bounds_of, state) for state in states]
        return [submit(simulation.rescale, state, *bounds) for state in states]

    def _checkpoint(self, states: Sequence[Any], history: Sequence[Iteration]) -> None:
        """Write all positions."""
        job, executor, number = self._job, self._executor, len(history)
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
            self._executor.submit(simulation.restore, self._job, partition, iteration)
            for partition in partitions
        ]
