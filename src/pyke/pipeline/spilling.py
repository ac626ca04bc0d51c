"""The memory and disk of a run whose dictionary, triples and springs do not fit into memory.

Such a run works on parts of the input and on partitions of the graph, one after another
(`pipeline/partitions/`). The formulas follow the arrays that a task holds at the same time; their
factors were measured. This module does without Numba, as `budget.py` does.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from pyke.config import Config
from pyke.pipeline import budget
from pyke.pipeline.budget import (
    BYTES_PER_READER,
    PROGRAM_BYTES,
    STAGE_BYTES,
    Holding,
    Sizes,
    require_bytes,
    simulation_bytes,
)
from pyke.simulation.layouts import LAYOUTS, QUARTERS, Layout, row_stride

MIN_PARTITIONS, MAX_PARTITIONS = 2, 256
ROOM = 4  # partitions take at most this fraction of the memory: some have much more than others
TASK_BYTES = 30_000_000  # kernels that only tasks use, and pages that the allocator keeps
SMALLEST_PART = Sizes(links=100_000, literals=100_000, terms=100_000, text_bytes=10_000_000)
PAIRS_PER_TRIPLE = 4  # at most: two terms, each in a role and in a context


def needs_everything(config: Config) -> list[str]:
    """Settings whose stages need the complete graph in memory."""
    refused = {
        "similarity": config.similarity not in ("context", "ppmi"),
        "init": config.init == "svd",
        "clusters": config.clusters != 0,
        "literals": config.literals != "",
        "type_weight": config.type_weight != 1,
    }
    return [name for name, is_refused in refused.items() if is_refused]


def is_spilled(sizes: Sizes, config: Config) -> bool:
    """Whether a run with these counts works on disk. With less memory than a task needs, none does.

    The largest possible number of springs decides, as the true one is not known yet. The simulation
    does not: a run in memory also has positions and springs on disk if they do not fit.
    """
    if config.memory is None or needs_everything(config):
        return False
    most = _at_most(sizes, config)
    names = STAGE_BYTES.keys() - {"clusters", "simulation"}
    fits = all(STAGE_BYTES[name](most, config) <= config.memory for name in names)
    known = replace(sizes, particles=max(sizes.particles, sizes.terms))
    needed = max(part_bytes(SMALLEST_PART, config), _least_simulation(known, config))
    return not fits and needed <= config.memory


def _at_most(sizes: Sizes, config: Config) -> Sizes:
    """The largest counts that a graph can have of which only the statements are known."""
    links = sizes.links + (sizes.literals if config.count_literals else 0)
    triples = links or sizes.triples
    pairs = PAIRS_PER_TRIPLE * triples
    particles = sizes.terms + triples
    return replace(sizes, triples=triples, pairs=pairs, particles=particles, springs=2 * pairs)


# -- memory -----------------------------------------------------------------------------------


def _program(config: Config) -> int:
    return PROGRAM_BYTES + BYTES_PER_READER * config.threads + TASK_BYTES


def part_bytes(sizes: Sizes, config: Config) -> int:
    """The largest task of a part of the input with these counts: collect, split or send."""
    statements = _statement_bytes(sizes)
    split = statements + 44 * sizes.literals + 70 * sizes.terms + 2 * sizes.text_bytes
    sent = statements + 40 * sizes.links + 24 * sizes.terms
    most = max(_collected_bytes(sizes), split, sent)
    return _program(config) + BYTES_PER_READER + most


def _statement_bytes(sizes: Sizes) -> int:
    return 12 * sizes.links + 16 * sizes.literals


def _collected_bytes(sizes: Sizes) -> int:
    """Statements and dictionary of a part that is read; arrays grow in steps of an eighth."""
    slots = 1 << (3 * sizes.terms // 2).bit_length()
    collected = _statement_bytes(sizes) + 8 * slots + 16 * sizes.terms + sizes.text_bytes
    return collected * 17 // 16


def _dictionary_bytes(sizes: Sizes, partitions: int) -> int:
    """The terms of some hashes; hashes are spread evenly."""
    needed = 120 * sizes.terms + 2.5 * sizes.text_bytes + 28 * sizes.literals
    return ceil(needed / partitions)


def _arrange_bytes(triples: int) -> int:
    """To sort the triples of some subjects."""
    return 75 * triples


def _count_bytes(links: int) -> int:
    """To sort the links of some objects, beside the triples of the same terms."""
    return 42 * links


def _events_bytes(pairs: int) -> int:
    """To find the similarities of some terms and their contexts."""
    return 45 * pairs


def _forces_bytes(entries: int, roles: int) -> int:
    """To select springs and repellers from these entries of the matrix of similarities."""
    return 34 * entries + 18 * roles


def partitions_for(sizes: Sizes, config: Config) -> int:
    """The number of partitions whose tasks take a fraction of the memory."""
    most = _at_most(sizes, config)
    needed = max(_dictionary_bytes(most, 1), _count_bytes(most.triples), _events_bytes(most.pairs))
    free = max(1, (config.memory or 0) - _program(config))
    return min(MAX_PARTITIONS, max(MIN_PARTITIONS, ceil(ROOM * needed / free)))


def triples_bytes(sizes: Sizes, partitions: int) -> int:
    """The largest task that sorts triples, with the objects that have the most."""
    share = sizes.triples // partitions
    return max(_arrange_bytes(share), _count_bytes(share + sizes.hub))


def springs_bytes(sizes: Sizes, partitions: int) -> int:
    """The largest task that finds springs. One partition has all roles of predicates."""
    found = _events_bytes(ceil(sizes.pairs / partitions + 1.7 * sizes.hub))
    return max(found, _forces_bytes(2 * sizes.pairs // partitions, sizes.roles))


def stage_bytes(sizes: Sizes, config: Config) -> dict[str, int]:
    """The memory of each stage on disk, if `sizes` has all counts."""
    program, partitions = _program(config), partitions_for(sizes, config)
    # Parts are as large as the memory allows.
    part = min(part_bytes(sizes, config), max(_smallest_part(sizes, config), config.memory or 0))
    readers = program + BYTES_PER_READER
    share = (part - readers) / max(1, part_bytes(sizes, config) - readers)  # of the input
    simulation = _simulation_bytes(sizes, config, layout_of(sizes, config))
    return {
        "reading": readers + ceil(share * _collected_bytes(sizes)),
        "dictionary": max(part, program + _dictionary_bytes(sizes, partitions)),
        "triples": program + triples_bytes(sizes, partitions),
        "springs": program + springs_bytes(sizes, partitions),
        "simulation": simulation,
        "writing": min(simulation, program + _writing_bytes(sizes, config, share)),
    }


def _simulation_bytes(sizes: Sizes, config: Config, layout: Layout) -> int:
    """The simulation, while the graph is on disk."""
    return simulation_bytes(sizes, config, Holding(layout, False))


def _writing_bytes(sizes: Sizes, config: Config, share: float) -> int:
    """Quarters that are in memory, and texts and offsets of the terms of two parts.

    A part is a share of the input. A tenth more are the offsets that are written.
    """
    quarters = row_stride(config.dimensions) * sizes.particles * layout_of(sizes, config).in_memory
    terms = sizes.text_bytes + 8 * sizes.terms
    return quarters + ceil(min(1, 2 * share) * 1.1 * terms)


def _smallest_part(sizes: Sizes, config: Config) -> int:
    part = {name: min(value, getattr(sizes, name)) for name, value in vars(SMALLEST_PART).items()}
    return part_bytes(Sizes(**part), config)


def least_bytes(sizes: Sizes, config: Config) -> int:
    """The smallest memory in which a run can succeed."""
    if needs_everything(config):
        return budget.least_bytes(sizes, config)
    smallest = part_bytes(SMALLEST_PART, config)
    if (in_memory := budget.least_bytes(sizes, config)) < smallest:
        return in_memory
    in_memory = budget.least_bytes(_at_most(sizes, config), config)
    least = max(smallest, *stage_bytes(sizes, replace(config, memory=1)).values())
    while True:  # more memory has fewer and larger partitions
        needed = max(stage_bytes(sizes, replace(config, memory=least)).values())
        if needed <= least:
            return min(least, in_memory)
        least = needed


def certain_bytes(sizes: Sizes, config: Config) -> int:
    """What every run on disk needs, if not all counts are known; needs no Numba."""
    simulation = _simulation_bytes(sizes, config, LAYOUTS[-1])
    return max(_smallest_part(sizes, config), simulation)


def _least_simulation(sizes: Sizes, config: Config) -> int:
    return min(_simulation_bytes(sizes, config, layout) for layout in LAYOUTS)


def layout_of(sizes: Sizes, config: Config) -> Layout:
    """The fastest layout of the simulation that fits without a graph, or the smallest one."""
    for layout in LAYOUTS:
        if _simulation_bytes(sizes, config, layout) <= (config.memory or 0):
            return layout
    return min(LAYOUTS, key=lambda one: _simulation_bytes(sizes, config, one))


# -- refusals, as soon as counts are known ----------------------------------------------------


def require_simulation(sizes: Sizes, config: Config) -> None:
    """Raise OverBudget if the simulation exceeds the limit in every layout."""
    require_bytes("simulation", _least_simulation(sizes, config), config)


def require_triples(links: int, config: Config) -> None:
    """Raise OverBudget if a partition has too many links."""
    require_bytes("triples", _program(config) + _count_bytes(links), config)


def require_springs(pairs: int, entries: int, roles: int, config: Config) -> None:
    """Raise OverBudget if a partition has too many similarities."""
    needed = max(_events_bytes(pairs), _forces_bytes(entries, roles))
    require_bytes("springs", _program(config) + needed, config)


# -- disk -------------------------------------------------------------------------------------


def disk_bytes(sizes: Sizes, config: Config) -> dict[str, int]:
    """Disk space at the end of each stage or within it, at most."""
    text, terms = sizes.text_bytes, sizes.terms
    parts = text + 16 * terms + 12 * sizes.links + 16 * sizes.literals
    read = parts + text + 21 * terms + 8 * sizes.literals
    number, arranged, counted = text + 12 * terms, 26 * sizes.triples, 19 * sizes.triples
    forces = 8 * sizes.springs + (13 + 2 * config.repellers) * sizes.particles
    kept = number + arranged
    positions = kept + forces + 2 * 4 * row_stride(config.dimensions) * sizes.particles
    output = 12 * sizes.triples + 8 * terms + text + 4 * config.dimensions * terms
    simulation = positions + scratch_bytes(sizes, config)
    return {
        "reading": parts,
        "dictionary": parts + read + number,
        "triples": kept + counted + 13 * sizes.triples,
        "springs": kept + 24 * sizes.pairs + max(counted, forces),
        "simulation": simulation,
        "writing": simulation + output,
    }


def scratch_bytes(sizes: Sizes, config: Config) -> int:
    """Disk space of the simulation: quarters, springs and repellers that are not in memory."""
    layout, stride = layout_of(sizes, config), row_stride(config.dimensions)
    quarters = stride * sizes.particles * (QUARTERS - layout.in_memory)
    if layout.springs_in_memory:
        return quarters
    return quarters + 12 * sizes.springs + (26 + 10 * config.repellers) * sizes.particles
