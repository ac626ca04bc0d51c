"""A run whose dictionary, triples and springs do not fit into memory: they are on disk in parts.

    reading → dictionary → triples → springs → simulation → writing

Reading begins as in any other run: if everything fits, the run continues in memory. Otherwise the
tasks of a cluster run one after another. What a finished task wrote stays on disk until nothing
needs it any more, so an interrupted run continues after the last task.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from pyke import __version__
from pyke.core.arrays import Floats
from pyke.core.files import remove
from pyke.core.system import release_free_memory
from pyke.errors import UsageError
from pyke.graph.build import Collector
from pyke.graph.graph import Census, Graph
from pyke.pipeline import spilling
from pyke.pipeline.budget import Sizes, sizes_of
from pyke.pipeline.checkpoints import READING, Checkpoints, census_of, difference
from pyke.pipeline.embed import Run
from pyke.pipeline.partitions import dictionary, springs, triples
from pyke.pipeline.partitions.executor import InProcess
from pyke.pipeline.partitions.flow import Flow
from pyke.pipeline.partitions.job import OWN, Job, Result, stage
from pyke.pipeline.partitions.pieces import Arrays, read_piece, read_result, write_pieces
from pyke.pipeline.partitions.storage import Storage
from pyke.pipeline.partitions.writing import write_vectors
from pyke.pipeline.reading import Reading, place_of
from pyke.simulation import anneal
from pyke.simulation.quarters import ROWS_AT_ONCE

FOLDER = "tasks"  # in the work directory of an output
PARTS = "parts"  # of the input, as they were collected
SMALLER = 1.05  # parts may be this many times as large as the limit allows
_JOB, _READ = "job.json", "parts.json"  # whose run it is; what was read, when all of it was


class SpilledReading:
    """Reads the inputs into memory, or in parts to disk if they do not fit."""

    def __init__(self, run: Run, checkpoints: Checkpoints, work: Path, resume: bool) -> None:
        self._run, self._checkpoints, self._limit = run, checkpoints, run.config.memory or 0
        self.storage = Storage(str(work / FOLDER))
        self.parts: list[Result] = []
        self.census, self.partitions = Census(files_passed_over=run.passed_over), 0
        if not resume:
            remove(work / FOLDER)
        ours, theirs = json.loads(json.dumps(run.fingerprint())), self.storage.read_json(_JOB)
        if theirs not in (None, ours):
            raise UsageError(
                f"the checkpoint in {work} belongs to another run: {difference(theirs, ours)}. "
                "Use the same inputs and parameters, or omit `resume=True` to start over."
            )
        self._fingerprint = ours

    def read(self) -> list[Graph]:
        """The graph if the run fits into memory; nothing if everything is on disk."""
        run, stages, config = self._run, self._run.stages, self._run.config
        if self._has_read():
            return []
        graph = self._checkpoints.load_graph()
        if graph and not spilling.is_spilled(sizes_of(graph), config):
            return [graph]
        del graph
        with stages.stage("reading", *run.amount()):
            reading = self._reading()
            for _ in run.collect(reading):
                if self._is_full(Sizes(**reading.collector.sizes)):
                    reading.put_on_disk(self._write)
            stages.sizes = self._sizes(Sizes(**reading.collector.sizes))
            if not self.parts and not spilling.is_spilled(stages.sizes, config):
                return [run.finish(reading)]
            reading.put_on_disk(self._write)
            self.census = reading.census
        self.partitions = spilling.partitions_for(stages.sizes, config)
        read = {"parts": self.parts, "census": asdict(self.census), "partitions": self.partitions}
        self.storage.write_json(_READ, read)
        return []

    def _is_full(self, sizes: Sizes) -> bool:
        """Whether a part with these counts is as large as the limit allows."""
        config = self._run.config
        if not self.parts and not spilling.is_spilled(sizes, config):
            self._run.stages.require("reading", **vars(sizes))
            return False
        spilling.require_simulation(replace(sizes, particles=sizes.terms), config)
        return spilling.part_bytes(sizes, config) > self._limit

    def _has_read(self) -> bool:
        """Whether an earlier run has read everything, in parts that are not too large now."""
        if not (read := self.storage.read_json(_READ)):
            return False
        config, parts = self._run.config, read["parts"]
        sizes = [Sizes(**part["sizes"]) for part in parts]
        if max(spilling.part_bytes(one, config) for one in sizes) > SMALLER * self._limit:
            self._run.stages.progress.note("`memory` is smaller than before; the run starts over.")
            remove(Path(self.storage.url))
            return False
        self.parts, self.partitions, self.census = parts, read["partitions"], census_of(read)
        self._run.stages.sizes = self._sizes(Sizes())
        return True

    def _reading(self) -> Reading:
        """Continue after the last part of an earlier run that ends where another can start."""
        census, start, found = self.census, None, list[Result]()
        while self.storage.exists(name := f"{PARTS}/{len(found)}"):
            found.append(read_result(self.storage, name))
        for number, part in enumerate(found, 1):
            if part["end"]:
                (census, start), self.parts = place_of(part["end"]), found[:number]
        for number in range(len(self.parts), len(found)):
            self.storage.remove(f"{PARTS}/{number}")
        return Reading(self._checkpoints, self._run.config, census, start)

    def _write(self, collector: Collector, end: dict[str, Any]) -> None:
        """Write the next part; `end` is the place where it ends, if a run can start there."""
        if not self.parts:
            self.storage.write_json(_JOB, self._fingerprint)
        pieces, result = dictionary.collected(collector)
        result |= {"sizes": collector.sizes, "end": end}
        write_pieces(self.storage, f"{PARTS}/{len(self.parts)}", pieces, result)
        self.parts.append(result)
        if end:
            self._checkpoints.remove_parts(READING, 0)

    def _sizes(self, more: Sizes) -> Sizes:
        """Counts of all parts. Terms that several parts have count several times."""
        every = [Sizes(**part["sizes"]) for part in self.parts] + [more]
        return Sizes(**{name: sum(getattr(one, name) for one in every) for name in vars(more)})


@stage
def read(job: Job, number: int) -> tuple[dict[str, Arrays], Result]:
    """A part of the input with its terms by their hash, for those who merge them."""
    pieces: dict[str, Arrays] = {
        name: read_piece(job.scratch, f"{PARTS}/{number}", name) for name in (OWN, dictionary.TEXTS)
    }
    return pieces | dictionary.by_hash(pieces[OWN] | pieces[dictionary.TEXTS], job), {}


class SpilledFlow(Flow):
    """The stages after reading, on partitions that are on disk."""

    def __init__(self, run: Run, reading: SpilledReading, checkpoints: Checkpoints) -> None:
        job = Job(reading.storage, run.config, 0, len(reading.parts), reading.partitions)
        super().__init__(job, InProcess(), run.stages)
        self._checkpoints, self._parts, self.census = checkpoints, reading.parts, reading.census
        self._fingerprint = run.fingerprint()

    def embed(self, output: Path, force: bool) -> None:
        """Run all stages that are not finished, and write the embedding."""
        job, stages, config = self.job, self.stages, self.job.config
        with stages.stage("dictionary"):
            self.run(read, job.readers)
            job.drop(PARTS)
            named = self.number_terms(self._parts)
            type_predicate = self.send_triples(named)
            job.drop("read", "merge", "resolve")
        with stages.stage("triples"):
            arranged = self.arrange(type_predicate)
            job.drop("send")
        with stages.stage("springs"):
            self.find_pairs()
            job.drop("count", "occur", "pair_up")
            found = self.run(springs.ranges, job.partitions, self.particles)
            job.drop("events", "weigh")
        stages.sizes = replace(
            stages.sizes, triples=self.census.triples, terms=self.census.terms,
            pairs=self.used.pairs, springs=sum(one["springs"] for one in found),
        )  # fmt: skip
        with stages.stage("simulation", anneal.planned_iterations(config), "iterations"):
            result = self._simulate()
        manifest = {
            "program": __version__,
            "config": config.as_dict(),
            "inputs": stages.inputs,
            "census": self.census.as_dict(),
            "particles": self.particles.size,
            "springs": stages.sizes.springs,
            "stop_reason": result.reason,
            "history": result.history_as_dicts(),
            "stages": stages.as_dicts(),
            "fingerprint": self._fingerprint,
        }
        with stages.stage("writing"):
            sizes = {name: sum(one[name] for one in arranged) for name in ("types", "labels")}
            vectors = self._vectors(result)
            write_vectors(job, str(output), manifest | sizes, vectors, named, force)

    def require_memory(self) -> None:
        """Raise OverBudget if the simulation exceeds the limit; all particles are known now."""
        counts = {"triples": self.census.triples, "particles": self.particles.size}
        self.stages.sizes = replace(self.stages.sizes, **counts)
        spilling.require_simulation(self.stages.sizes, self.job.config)

    def run_each(self, task: Callable[..., Result], arguments: Sequence[Any]) -> list[Result]:
        """Run all tasks of a stage; raise OverBudget if one of the next stage needs too much."""
        results, config = super().run_each(task, arguments), self.job.config
        if task is triples.arrange:
            links = np.sum([one["links"] for one in results], axis=0)
            spilling.require_triples(int(links.max()), config)
        if task is triples.count and config.similarity == "context":
            pairs = [one["pairs"] for one in results]
            entries, roles = 2 * sum(pairs) // len(pairs), sum(one["roles"] for one in results)
            spilling.require_springs(max(pairs), entries, roles, config)
        return results

    def _simulate(self) -> anneal.Result:
        job, config, sizes = self.job, self.job.config, self.stages.sizes
        layout = spilling.layout_of(sizes, config)
        parts = springs.forces_of(job, self.particles)
        scratch = self._checkpoints.scratch
        if layout.springs_in_memory:
            whole = springs.whole(parts, self.particles.size, sizes.springs)
            forces = anneal.Forces(*whole, config, layout, scratch)
        else:
            forces = anneal.Forces.on_disk(parts, config, scratch)
        release_free_memory()  # of the parts, which are in the slabs now
        saved = self._checkpoints.load_state(self.particles.size, config)
        keep = self._checkpoints.save_state if self._checkpoints.can_resume else None
        progress, terms = self.stages.progress, self.census.terms
        return anneal.simulate_forces(forces, config, progress, saved, keep, terms)

    def _vectors(self, result: anneal.Result) -> Iterator[Floats]:
        """The vectors of all terms, some rows at a time."""
        terms, dimensions = self.census.terms, self.job.config.dimensions
        for begin in range(0, terms, ROWS_AT_ONCE):
            rows = result.positions[begin : min(terms, begin + ROWS_AT_ONCE)]
            yield rows[:, :dimensions]
