"""Are predicted facts as often right as `complete` says?

A fifth of the subjects of each predicate lose their objects of it. `complete` runs on the graph
that remains. Its facts for withheld pairs of subject and predicate are compared with the complete
graph. `stated` is their mean confidence, `true` the share that is correct, `found` the share of the
withheld facts. Facts for other subjects cannot be judged: `others` is their number.

Targets: of the facts for withheld pairs with an expected precision of 90 %, 90 % ± 3 are correct
(`precision 0.9`; `--precision 0.9` is chosen among the facts for all subjects). On codex-m, top-1
of three predicates is at least what `pyke types --type-predicate` had. In these rows (`only P27`)
nothing but objects of this predicate is withheld, as there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import common
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.embedding.lookup import local_name
from pyke.graph.changes import remove_triples
from pyke.graph.graph import Graph
from pyke.pipeline import Run, embed_graph
from pyke.use.facts.complete import complete
from pyke.use.facts.facts import Facts
from pyke.use.facts.space import Space
from pyke.use.facts.trial import Withheld, withhold
from pyke.use.types.predictions import threshold

GRAPHS = ("codex-m", "iswc")
TARGET, TOLERANCE = 0.9, 0.03
MIN_FACTS = 50  # of a predicate with a row of its own
TOP1 = {"P495": 0.89, "P106": 0.70, "P27": 0.68}  # of the types with this type predicate


class Judged:
    """Facts, which of them are for withheld pairs, and which of them are correct."""

    def __init__(self, graph: Graph, withheld: Withheld, found: Facts) -> None:
        number, terms = len(graph.predicates), len(graph.terms)
        self.found = found
        self.predicates = np.searchsorted(graph.predicates, found.predicates)
        pairs = found.subjects.astype(np.int64) * number + self.predicates
        lost = withheld.subjects.astype(np.int64) * number + withheld.predicates
        every = graph.subjects.astype(np.int64) * number + graph.predicate_positions
        linked = graph.objects >= 0
        self.pairs = pairs
        self.asked = np.isin(pairs, lost)
        self.right = np.isin(pairs * terms + found.objects, (every * terms + graph.objects)[linked])
        is_lost = np.isin(every, lost) & linked
        self.lost = np.bincount(graph.predicate_positions[is_lost], minlength=number)
        self.lost_pairs = np.bincount(withheld.predicates, minlength=number)

    def row(self, chosen: Any, lost: int) -> dict[str, Any]:
        """Counts of some facts; `lost` is the number of withheld ones."""
        asked = chosen & self.asked
        count, right = int(asked.sum()), int(self.right[asked].sum())
        return {
            "facts": count,
            "stated": float(self.found.confidences[asked].mean()) if count else None,
            "true": right / count if count else None,
            "found": right / max(1, lost),
            "others": int((chosen & ~self.asked).sum()),
        }

    def top1(self, predicate: int) -> float:
        """Withheld subjects whose first object is correct; those without a prediction count."""
        f, own = self.found, np.flatnonzero(self.asked & (self.predicates == predicate))
        scores = 1 - (1 - f.shares[own]) * (1 - f.links[own])
        order = own[np.lexsort((f.objects[own], -scores, f.subjects[own]))]
        first = order[np.unique(f.subjects[order], return_index=True)[1]]
        return float(self.right[first].sum() / self.lost_pairs[predicate])


def rows_of(name: str, graph: Graph, seed: int) -> tuple[list[dict[str, Any]], list[str]]:
    config = Config(on_error="skip", seed=seed)
    withheld = withhold(graph, config.type_predicate, seed + 100)
    found = complete(embed_graph(withheld.graph, config), min_confidence=0)
    judged = Judged(graph, withheld, found)
    head: dict[str, Any] = {"graph": name, "seed": seed}
    total = int(judged.lost.sum())
    rows: list[dict[str, Any]] = []
    misses: list[str] = []
    for title, some in (
        ("precision 0.9", found.select(threshold(found.confidences[judged.asked], TARGET))),
        ("--precision 0.9", found.select(precision=TARGET)),
        ("--min-confidence 0.9", found.select(TARGET)),
    ):
        own = Judged(graph, withheld, some)
        rows.append(head | {"selection": title, **own.row(np.ones(len(some), bool), total)})
        true = rows[-1]["true"]
        if title.startswith("precision") and abs((true or 0) - TARGET) > TOLERANCE:
            misses.append(f"{name}, seed {seed}: {true} of the facts at 90 % are correct")
    confident = Judged(graph, withheld, found.select(TARGET))
    for predicate in np.argsort(-judged.lost, kind="stable").tolist():
        chosen = confident.predicates == predicate
        short = local_name(graph.terms[graph.predicates[predicate]])
        row = head | {"selection": short, **confident.row(chosen, int(judged.lost[predicate]))}
        row["top-1"] = judged.top1(predicate) if judged.lost_pairs[predicate] else None
        if row["facts"] >= MIN_FACTS:
            rows.append(row)
        if name == "codex-m" and short in TOP1:
            alone = top1_alone(graph, config, withheld, predicate)
            rows.append(head | {"selection": f"only {short}", "top-1": alone})
            if alone < TOP1[short]:
                misses.append(f"{name}, seed {seed}, only {short}: top-1 {alone:.3f}")
    return rows, misses


def top1_alone(graph: Graph, config: Config, withheld: Withheld, predicate: int) -> float:
    """Top-1 if only the subjects of one predicate lose their objects; all of them are asked."""
    asked = np.unique(withheld.subjects[withheld.predicates == predicate])
    own = graph.predicate_positions == predicate
    dropped = own & np.isin(graph.subjects, asked)
    smaller, _ = remove_triples(graph, dropped, config.type_predicate, keep_all_terms=True)
    space = Space.of(smaller, asked, config, None, None, Progress())
    votes = space.vote_objects(predicate, asked, True, Progress())
    terms, lost = len(graph.terms), np.flatnonzero(dropped)
    true = graph.subjects[lost].astype(np.int64) * terms + graph.objects[lost]
    right = np.isin(votes.subjects.astype(np.int64) * terms + votes.objects, true)
    return float(right.sum() / len(asked))


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS))
    parser.add_argument("--seeds", type=int, default=2, help="splits of each graph [2]")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    misses: list[str] = []
    for name in options.graphs:
        graph = Run(common.graph(options.data, name), replace(Config(), on_error="skip")).read()
        for seed in range(options.seeds):
            more, missed = rows_of(name, graph, seed)
            rows, misses = rows + more, misses + missed
    columns = {
        "graph": "", "seed": "", "selection": "", "facts": ",", "stated": ".3f", "true": ".3f",
        "found": ".3f", "top-1": ".3f", "others": ",",
    }  # fmt: skip
    common.finish(columns, rows, misses, options.json)


if __name__ == "__main__":
    main()
