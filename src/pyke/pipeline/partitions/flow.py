"""The stages of a run on partitions: dictionary → triples → springs.

Who runs them sees counts, never arrays of the size of the graph. Finished stages are on the
storage: a run that starts again continues from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from pyke.errors import EmptyGraph
from pyke.graph.build import require_ids
from pyke.graph.graph import Census
from pyke.pipeline.embed import why_empty
from pyke.pipeline.partitions import dictionary, pairs, springs, triples
from pyke.pipeline.partitions.executor import Executor
from pyke.pipeline.partitions.job import CPU, PEAK, WRITTEN, Job, Result
from pyke.pipeline.partitions.layout import layout_of_particles, layout_of_terms
from pyke.pipeline.stages import Stages


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

    def __init__(self, job: Job, executor: Executor, stages: Stages) -> None:
        self.job, self.executor, self.stages = job, executor, stages
        self.census = Census()
        self.used = Used()
        self.terms = self.particles = layout_of_terms(0, 1)

    def run(self, task: Callable[..., Result], number: int, *arguments: Any) -> list[Result]:
        """Run all tasks of a stage, unless it is finished; their results."""
        return self.run_each(task, [arguments] * number)

    def run_each(self, task: Callable[..., Result], arguments: Sequence[Any]) -> list[Result]:
        """The same for tasks with different arguments."""
        name, scratch = task.__name__, self.job.scratch
        results: list[Result] | None = scratch.read_json(f"{name}.json")
        if results is None:
            submitted = [
                self.executor.submit(task, self.job, number, *one)
                for number, one in enumerate(arguments)
            ]
            results = self.executor.results(submitted)
            scratch.write_json(f"{name}.json", results)
        used = self.used
        used.cpu_seconds[name] = sum(one.get(CPU, 0.0) for one in results)
        used.written_bytes[name] = sum(one.get(WRITTEN, 0) for one in results)
        used.peak_bytes[name] = max(one.get(PEAK, 0) for one in results)
        return results

    def number_terms(self, parts: Sequence[Result]) -> list[Result]:
        """Give each term of the parts that were read its id; what each says about names."""
        job, census = self.job, self.census
        merged = self.run(dictionary.merge, job.partitions)
        for name in ("statements", "triple_terms"):
            setattr(census, name, sum(one[name] for one in parts))
        census.literals = read = sum(one["literals"] for one in parts)
        if not (job.config.keep_duplicates or job.config.count_literals):
            census.literals = sum(one["literals"] for one in merged)
        census.duplicates = read - census.literals
        census.terms = sum(one["used"] for one in merged)
        census.terms_only_with_literals = sum(one["terms"] for one in merged) - census.terms
        require_ids(census.terms)
        if not census.terms:
            where = ", ".join(self.stages.inputs)
            raise EmptyGraph(f"nothing to embed in {where}: {why_empty(census)}")
        named = self.run(dictionary.number, job.readers)
        census.blank_nodes = sum(one["blank"] for one in named)
        return named

    def send_triples(self, named: Sequence[Result]) -> int:
        """Send the triples to the owners of their subjects; the id of the type predicate, or −1."""
        job, census = self.job, self.census
        bases = [0, *accumulate(one["terms"] for one in named)]
        self.terms = layout_of_terms(bases[-1], job.partitions)
        self.run(dictionary.resolve, job.partitions, bases)
        self.run(dictionary.send, job.readers, self.terms)
        census.predicates = self.run(dictionary.join_predicates, 1)[0]["predicates"]
        found = zip(bases, (one["type"] for one in named), strict=False)
        return next((base + rank for base, rank in found if rank >= 0), -1)

    def arrange(self, type_predicate: int) -> list[Result]:
        """Sort the triples by subject and by object."""
        job, census = self.job, self.census
        arranged = self.run(triples.arrange, job.partitions, self.terms, type_predicate)
        census.triples = sum(one["triples"] for one in arranged)
        census.duplicates += sum(one["duplicates"] for one in arranged)
        census.typed_subjects = sum(one["typed_subjects"] for one in arranged)
        if job.config.count_literals:
            census.literals = sum(one["literals"] for one in arranged)
        self.run(triples.total, 1)
        counted = self.run(triples.count, job.partitions, self.terms, type_predicate)
        census.classes = sum(one["classes"] for one in counted)
        self._contexts = [[one["contexts"][side] for one in counted] for side in range(2)]
        return arranged

    # -- springs ------------------------------------------------------------------------------

    def find_pairs(self) -> None:
        """Similarities of all particles."""
        find = self._find_ppmi if self.job.config.similarity == "ppmi" else self._find_events
        self.used.pairs = sum(one["pairs"] for one in find())

    def _find_events(self) -> list[Result]:
        """Similarities of terms and contexts."""
        job, roles = self.job, 2 * self.census.predicates
        require_ids(self.terms.size + roles + sum(map(sum, self._contexts)))
        self.particles = layout_of_particles(self.terms, roles, self._contexts, job.partitions)
        subject_bases = [0, *accumulate(self._contexts[0])]
        object_bases = [0, *accumulate(self._contexts[1])]
        first = self.terms.size + roles
        bases = [
            [first + subject_bases[p], first + subject_bases[-1] + object_bases[p]]
            for p in range(job.partitions)
        ]
        self.require_memory()
        return self.run_each(springs.events, [(self.terms, self.particles, one) for one in bases])

    def _find_ppmi(self) -> list[Result]:
        """Similarities of terms that occur in the same triple."""
        partitions = self.job.partitions
        self.particles = self.terms
        self.require_memory()
        for task in (pairs.occur, pairs.pair_up):
            self.run(task, partitions, self.terms)
        return self.run(pairs.weigh, partitions, self.terms)

    def require_memory(self) -> None:
        """Raise OverBudget if later stages exceed the memory, now that all particles are known."""
