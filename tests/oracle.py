"""The paper's formulas in plain loops: slow, and independent of pyke and Numba.

A triple is three strings. An object that begins with a quotation mark is a literal; equal strings
are equal literals. All other strings are IRIs or blank nodes. Similarities are rows: if σ[x][y]
exists, it is positive and equal to σ[y][x].
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from itertools import combinations

import numpy as np

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
TINY = 1e-24  # minimum of squared distances in repulsion

Triple = tuple[str, str, str]
Particle = str | tuple[str, ...]  # a term; ("role", p, side); ("context", p, side, other)
Rows = dict[Particle, dict[Particle, np.float32]]
Vector = list[float]

# --------------------------------------------------------------------------------------------------
# The graph
# --------------------------------------------------------------------------------------------------


def is_literal(node: str) -> bool:
    return node.startswith('"')


def counted(
    triples: Iterable[Triple], count_literals: bool = False, keep_duplicates: bool = False
) -> list[Triple]:
    """G: the statements that count, without duplicates unless they are kept."""
    kept = [triple for triple in triples if count_literals or not is_literal(triple[2])]
    return kept if keep_duplicates else list(dict.fromkeys(kept))


def terms_of(triple: Triple) -> set[str]:
    """{s, p, o} without literals."""
    return {node for node in triple if not is_literal(node)}


def vocabulary(graph: Iterable[Triple]) -> set[str]:
    """V: all terms."""
    return {term for triple in graph for term in terms_of(triple)}


def predicates(graph: Iterable[Triple]) -> set[str]:
    return {p for _, p, _ in graph}


def types(graph: Sequence[Triple]) -> set[tuple[str, str]]:
    """(subject, class) of all type statements, without literals and without predicates."""
    without = predicates(graph)
    return {(s, o) for s, p, o in graph if p == RDF_TYPE and not is_literal(o) and s not in without}


def typed_subjects(graph: Sequence[Triple]) -> set[str]:
    """S: all subjects with a type."""
    return {s for s, _ in types(graph)}


def classes(graph: Iterable[Triple]) -> set[str]:
    """C: all classes, also those of predicates."""
    return {o for _, p, o in graph if p == RDF_TYPE and not is_literal(o)}


# --------------------------------------------------------------------------------------------------
# Similarities
# --------------------------------------------------------------------------------------------------


def ppmi(joint: int, x: int, y: int, total: int) -> np.float32:
    """max(0, ln(P(x, y) / (P(x) P(y)))), by fractions: independence gives exactly 0."""
    ratio = Fraction(joint, total) / (Fraction(x, total) * Fraction(y, total))
    return np.float32(math.log(ratio)) if ratio > 1 else np.float32(0)


def _rows(
    joint: dict[tuple[Particle, Particle], int],
    first: Counter[Particle],
    second: Counter[Particle],
    total: int,
) -> Rows:
    rows: Rows = {}
    for (x, y), n in joint.items():
        sigma = ppmi(n, first[x], second[y], total)
        if sigma > 0:
            rows.setdefault(x, {})[y] = sigma
            rows.setdefault(y, {})[x] = sigma
    return rows


def ppmi_similarities(graph: Sequence[Triple]) -> Rows:
    """The paper's σ: the PPMI of two different terms occurring in the same triple."""
    alone: Counter[Particle] = Counter(term for triple in graph for term in terms_of(triple))
    joint: Counter[tuple[Particle, Particle]] = Counter(
        pair for triple in graph for pair in combinations(sorted(terms_of(triple)), 2)
    )
    return _rows(joint, alone, alone, len(graph))


def events(graph: Iterable[Triple]) -> Counter[tuple[Particle, Particle]]:
    """How often each term occurs in each role and context.

    A triple has six events, or two if its object is a literal.
    """
    found: Counter[tuple[Particle, Particle]] = Counter()
    for s, p, o in graph:
        found[s, ("role", p, "subject")] += 1
        found[p, ("role", p, "subject")] += 1
        if not is_literal(o):
            found[o, ("role", p, "object")] += 1
            found[p, ("role", p, "object")] += 1
            found[s, ("context", p, "subject", o)] += 1
            found[o, ("context", p, "object", s)] += 1
    return found


def context_particles(graph: Sequence[Triple]) -> set[Particle]:
    """Both roles of every predicate, and the contexts that two or more terms share."""
    members = Counter(context for _, context in events(graph))
    roles: set[Particle] = {
        ("role", p, side) for p in predicates(graph) for side in ("subject", "object")
    }
    return roles | {context for context, n in members.items() if context[0] == "context" and n > 1}


def context_similarities(graph: Sequence[Triple]) -> Rows:
    """σ of a term and a role or context that is a particle; all events count in the totals."""
    return similarities_of(events(graph), context_particles(graph))


def with_type_weight(rows: Rows, weight: float) -> Rows:
    """σ of terms and contexts of rdf:type times a weight; roles keep σ."""

    def factor(particle: Particle) -> np.float32:
        return np.float32(weight if particle[:2] == ("context", RDF_TYPE) else 1)

    return {
        x: {y: sigma * factor(x) * factor(y) for y, sigma in row.items()} for x, row in rows.items()
    }


def similarities_of(
    found: Counter[tuple[Particle, Particle]], particles: Collection[Particle]
) -> Rows:
    """σ of a term and a context that is a particle, over all events."""
    of_term: Counter[Particle] = Counter()
    of_context: Counter[Particle] = Counter()
    for (term, context), n in found.items():
        of_term[term] += n
        of_context[context] += n
    joint = {(term, context): n for (term, context), n in found.items() if context in particles}
    return _rows(joint, of_term, of_context, sum(found.values()))


def shared_contexts(found: Iterable[tuple[Particle, Particle]]) -> set[Particle]:
    """The contexts of events that two or more different terms have."""
    members = Counter(context for _, context in set(found))
    return {context for context, n in members.items() if n > 1}


def coarse_events(
    graph: Iterable[Triple], clusters: dict[str, int]
) -> Counter[tuple[Particle, Particle]]:
    """How often each term occurs with a predicate, on a side, and a cluster of the other term.

    Triples with literals and triples that state a type have no such events.
    """
    found: Counter[tuple[Particle, Particle]] = Counter()
    for s, p, o in graph:
        if is_literal(o) or p == RDF_TYPE:
            continue
        for x, side, other in ((s, "subject", o), (o, "object", s)):
            if other in clusters:
                found[x, ("coarse", p, side, str(clusters[other]))] += 1
    return found


def class_events(
    graph: Iterable[Triple], types: Iterable[tuple[str, str]]
) -> Counter[tuple[Particle, Particle]]:
    """The same with each class of the other term, which must not be the term itself."""
    classes: dict[str, list[str]] = {}
    for term, class_ in types:
        classes.setdefault(term, []).append(class_)
    found: Counter[tuple[Particle, Particle]] = Counter()
    for s, p, o in graph:
        if is_literal(o) or p == RDF_TYPE or s == o:
            continue
        for x, side, other in ((s, "subject", o), (o, "object", s)):
            for class_ in classes.get(other, []):
                found[x, ("class", p, side, class_)] += 1
    return found


SIMILARITIES: dict[str, Callable[[Sequence[Triple]], Rows]] = {
    "ppmi": ppmi_similarities,
    "context": context_similarities,
}


def attractors(row: dict[int, float], k: int) -> list[int]:
    """P(x): the ids of the k largest σ; the smaller id first if they are equal."""
    return sorted(row, key=lambda y: (-row[y], y))[:k]


def may_repel(
    x: int, chosen: Sequence[int], similar: Collection[int], particles: int, wanted: int
) -> bool:
    """Whether `chosen` is a valid N(x): `wanted` particles with σ = 0, or all there are."""
    eligible = set(range(particles)) - set(similar) - {x}
    return set(chosen) <= eligible and len(set(chosen)) == len(chosen) == min(wanted, len(eligible))


# --------------------------------------------------------------------------------------------------
# Literals as contexts
# --------------------------------------------------------------------------------------------------

XSD = "http://www.w3.org/2001/XMLSchema#"
DECIMALS = ("integer", "decimal", "double", "int", "nonNegativeInteger")
DATES = ("date", "dateTime", "gYear", "gYearMonth")
Feature = tuple[object, ...]  # kind, predicate, content
_WORD = re.compile("[0-9A-Za-z\u00c0-\u1fff\u2070-\u2fff\u3040-\U0010ffff]+")
_NUMBER = re.compile(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?")
_DATE = re.compile(
    r"(-?[0-9]{4,9})(?:-([0-9]{2})(?:-([0-9]{2})(?:T([0-9]{2}):([0-9]{2}):([0-9]{2}(?:[.][0-9]+)?))?)?)?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_SPACES = "".join(map(chr, range(33)))
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})|\\(.)")


def parts_of(literal: str) -> tuple[str, str]:
    """The text of a literal, and its language or datatype; none for strings."""
    quoted, kind = literal[: literal.rindex('"') + 1], literal[literal.rindex('"') + 1 :]
    letters = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}

    def meant(escape: re.Match[str]) -> str:
        code = escape[1] or escape[2]
        return chr(int(code, 16)) if code else letters.get(escape[3], escape[3])

    kind = kind.lower() if kind.startswith("@") else kind[3:-1]
    return _ESCAPE.sub(meant, quoted[1:-1]), "" if kind == f"{XSD}string" else kind


def words_of(text: str) -> list[str]:
    """The first 64 different words of 2 to 64 bytes; only ASCII letters become small ones."""
    found = []
    for word in _WORD.findall(text):
        small = "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in word)
        if 2 <= len(small.encode()) <= 64 and small not in found:
            found.append(small)
    return found[:64]


def number_of(text: str) -> Fraction | None:
    """The value of a decimal number, or None. A float64 has to hold it; tiny ones are 0."""
    match = _NUMBER.fullmatch(text.strip(_SPACES))
    value = Fraction(match[0]) if match else None
    if value is None or abs(value) >= 2**1024:
        return None
    return value if abs(value) > 1e-300 else Fraction(0)


def seconds_of(text: str) -> Fraction | None:
    """Seconds of a date in the Gregorian calendar, or None. Any month may have 31 days."""
    match = _DATE.fullmatch(text.strip(_SPACES))
    if not match:
        return None
    year, month, day = int(match[1]), int(match[2] or 1), int(match[3] or 1)
    hours, minutes, rest = int(match[4] or 0), int(match[5] or 0), Fraction(match[6] or 0)
    zone = match[7] if match[7] and match[7] != "Z" else "+00:00"
    east = (60 * int(zone[1:3]) + int(zone[4:])) * (-1 if zone[0] == "-" else 1)
    if not (1 <= month <= 12 and 1 <= day <= 31 and hours <= 24 and minutes < 60 and rest < 61):
        return None
    if int(zone[1:3]) > 14 or int(zone[4:]) > 59:
        return None
    days = date(2000 + year % 400, month, 1).toordinal() + year // 400 * 146097 + day - 1
    return 86400 * days + 3600 * hours + 60 * minutes + rest - 60 * east


def literal_features(
    triples: Iterable[Triple], kinds: Collection[str], terms: Collection[str], bins: int = 16
) -> set[tuple[str, Feature]]:
    """(subject, feature) for all literals of terms, also features of a single subject."""
    found: set[tuple[str, Feature]] = set()
    numbers: dict[tuple[str, bool], set[tuple[Fraction, str]]] = {}
    for s, p, literal in triples:
        if not is_literal(literal) or s not in terms:
            continue
        text, kind = parts_of(literal)
        decimal, dated = (kind in {XSD + name for name in names} for names in (DECIMALS, DATES))
        if "values" in kinds:
            found.add((s, ("value", p, text, kind)))
        if "words" in kinds and not decimal and not dated:
            found |= {(s, ("word", p, word)) for word in words_of(text)}
        value = number_of(text) if decimal else seconds_of(text) if dated else None
        if "numbers" in kinds and value is not None:
            numbers.setdefault((p, decimal), set()).add((value, s))
    for (p, decimal), pairs in numbers.items():
        smallest: dict[int, Fraction] = {}
        for value, s in sorted(pairs):
            smaller = sum(other < value for other, _ in pairs)
            number = bins * smaller // len(pairs)
            found.add((s, ("range", p, decimal, smallest.setdefault(number, value))))
    return found


def members_of(found: Iterable[tuple[str, Feature]]) -> dict[Feature, set[str]]:
    """The subjects of each feature that at least two subjects share."""
    members: dict[Feature, set[str]] = {}
    for s, feature in found:
        members.setdefault(feature, set()).add(s)
    return {feature: subjects for feature, subjects in members.items() if len(subjects) > 1}


def literal_similarities(members: dict[Feature, set[str]]) -> dict[tuple[str, Feature], np.float32]:
    """σ of a subject and a shared feature, over all pairs of these."""
    of_term = Counter(s for subjects in members.values() for s in subjects)
    found = {
        (s, feature): ppmi(1, of_term[s], len(subjects), of_term.total())
        for feature, subjects in members.items()
        for s in subjects
    }
    return {pair: sigma for pair, sigma in found.items() if sigma > 0}


# --------------------------------------------------------------------------------------------------
# Physics
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class System:
    """P with σ, N, and the force laws."""

    attractors: list[dict[int, float]]
    repellers: list[list[int]]
    omega: float
    repulsion: str = "radial"
    mass: str = "stiffness"
    rescale: bool = False


@dataclass(frozen=True)
class Step:
    """Positions after an iteration, J before it, and the sum of the distances moved."""

    positions: list[Vector]
    objective: float
    displacement: float


def distance(x: Vector, y: Vector) -> float:
    return math.sqrt(sum((b - a) ** 2 for a, b in zip(x, y, strict=True)))


def _force(system: System, x: int, positions: list[Vector]) -> Vector:
    """F_a / inertia + F_r on one particle."""
    here = positions[x]
    force = [0.0] * len(here)
    springs = system.attractors[x]
    inertia = sum(springs.values()) if system.mass == "stiffness" and springs else 1.0
    for y, sigma in springs.items():
        for i, there in enumerate(positions[y]):
            force[i] += sigma * (there - here[i]) / inertia
    for y in system.repellers[x]:
        square = max(TINY, distance(here, positions[y]) ** 2)
        for i, there in enumerate(positions[y]):
            difference = there - here[i]
            force[i] -= (
                system.omega
                * difference
                / (square if system.repulsion == "radial" else max(TINY, difference**2))
            )
    return force


def objective(system: System, positions: list[Vector], who: Collection[int]) -> float:
    """J = Σ d over P − Σ d over N, of some particles."""
    j = 0.0
    for x in who:
        here = positions[x]
        j += sum(distance(here, positions[y]) for y in system.attractors[x])
        j -= sum(distance(here, positions[y]) for y in system.repellers[x])
    return j


def rescaled(positions: list[Vector]) -> list[Vector]:
    """Scale every dimension to [0, 1]; one with equal values becomes 0."""
    lowest, highest = (
        [min(column) for column in zip(*positions, strict=True)],
        [max(column) for column in zip(*positions, strict=True)],
    )
    return [
        [
            (a - low) / (high - low) if high > low else 0.0
            for a, low, high in zip(x, lowest, highest, strict=True)
        ]
        for x in positions
    ]


def step(
    system: System, positions: list[Vector], energy: float, moving: Collection[int] | None = None
) -> Step:
    """One iteration: x ← x + E · force, where all forces use the positions before it.

    Only the `moving` particles move, if given; J counts them alone.
    """
    who = set(range(len(positions)) if moving is None else moving)
    moves = [
        [energy * f if x in who else 0.0 for f in _force(system, x, positions)]
        for x in range(len(positions))
    ]
    after = [
        [a + move for a, move in zip(x, moved, strict=True)]
        for x, moved in zip(positions, moves, strict=True)
    ]
    moved = sum(math.sqrt(sum(move**2 for move in moved)) for moved in moves)
    j = objective(system, positions, who)
    return Step(rescaled(after) if system.rescale else after, j, moved)


def alternating_step(system: System, positions: list[Vector], energy: float, terms: int) -> Step:
    """One iteration: contexts move first, and then terms, which see the contexts' new positions."""
    free = replace(system, rescale=False)
    first = step(free, positions, energy, range(terms, len(positions)))
    second = step(system, first.positions, energy, range(terms))
    return Step(
        second.positions,
        first.objective + second.objective,
        first.displacement + second.displacement,
    )


def leading_singular_values(rows: list[dict[int, float]], terms: int) -> list[float]:
    """Singular values of the springs of terms and contexts, divided by the roots of their sums.

    The first one, 1, belongs to the mode in which all particles of a connected graph are alike.
    """
    sums = [sum(row.values()) for row in rows]
    matrix = np.zeros((terms, len(rows) - terms))
    for x in range(terms):
        for c, sigma in rows[x].items():
            matrix[x, c - terms] = sigma / math.sqrt(sums[x] * sums[c])
    return [float(value) for value in np.linalg.svd(matrix, compute_uv=False)]


def run(
    system: System, positions: list[Vector], energy_release: float, iterations: int
) -> list[Step]:
    """Algorithm 1, for a fixed number of iterations."""
    steps: list[Step] = []
    for t in range(iterations):
        steps.append(
            step(system, steps[-1].positions if steps else positions, 1 - t * energy_release)
        )
    return steps


# --------------------------------------------------------------------------------------------------
# Uses of embeddings
# --------------------------------------------------------------------------------------------------


def nearest(vectors: Sequence[Vector], query: Vector, k: int, without: int = -1) -> list[int]:
    """The k rows nearest to a query; the smaller id first if distances are equal."""
    others = [y for y in range(len(vectors)) if y != without]
    return sorted(
        others, key=lambda y: (sum((a - b) ** 2 for a, b in zip(vectors[y], query, strict=True)), y)
    )[:k]


def nearest_centroid(centroids: Sequence[Vector], point: Vector) -> int:
    """The number of the nearest centroid; the smaller one wins ties."""
    return min(range(len(centroids)), key=lambda c: (distance(centroids[c], point), c))


def moved_centroids(
    points: Sequence[Vector], clusters: Sequence[int], centroids: Sequence[Vector]
) -> list[Vector]:
    """The mean of the points of each cluster; a centroid without points stays."""
    moved = []
    for number, centroid in enumerate(centroids):
        own = [point for point, c in zip(points, clusters, strict=True) if c == number]
        moved.append([sum(x) / len(own) for x in zip(*own, strict=True)] if own else list(centroid))
    return moved


def cosine_of_types(own: Collection[str], found: Counter[str]) -> float:
    """cos(type(x), a sum of type vectors); 0 if one of them is 0."""
    length = math.sqrt(len(own)) * math.sqrt(sum(n**2 for n in found.values()))
    return sum(found[name] for name in own) / length if length else 0.0


def type_prediction(
    vectors: Sequence[Vector], types_of: Sequence[set[str]], mu: int, only: int | None = None
) -> float:
    """Mean over x ∈ S, or of one x, of cos(type(x), Σ type(y) over the μ nearest y)."""
    asked = range(len(types_of)) if only is None else [only]
    score = 0.0
    for x in asked:
        voters = nearest(vectors, vectors[x], mu, x)
        score += cosine_of_types(types_of[x], Counter(name for y in voters for name in types_of[y]))
    return score / len(asked)


def ties(vectors: Sequence[Vector], mu: int) -> int:
    """Members of S whose μ-th and next neighbour have the same distance."""
    count = 0
    for x, here in enumerate(vectors):
        *_, last, after = (distance(here, vectors[y]) for y in nearest(vectors, here, mu + 1, x))
        count += last == after
    return count


@dataclass(frozen=True)
class Withheld:
    """Members of S with known types, and queries with withheld ones.

    A query has no vector if all of its triples gave types.
    """

    points: Sequence[Vector]
    known: Sequence[set[str]]
    queries: Sequence[Vector | None]
    truth: Sequence[set[str]]

    def votes(self, x: int, mu: int) -> Counter[str]:
        """How many of the μ nearest have each class."""
        query = self.queries[x]
        return (
            Counter()
            if query is None
            else Counter(name for y in nearest(self.points, query, mu) for name in self.known[y])
        )

    def score(self, mu: int) -> float:
        """The paper's score over all queries; 0 for a query without a vector."""
        return sum(
            cosine_of_types(own, self.votes(x, mu)) for x, own in enumerate(self.truth)
        ) / len(self.truth)

    def top_1(self, mu: int) -> float:
        """Fraction of queries whose most frequent class is correct; ties: the first class."""
        right = 0
        for x, own in enumerate(self.truth):
            votes = self.votes(x, mu)
            right += bool(votes) and min(votes, key=lambda name: (-votes[name], name)) in own
        return right / len(self.truth)

    def f1(self, mu: int) -> tuple[float, float]:
        """Micro and macro F1 of the classes that at least half of the neighbours have."""
        guessed = {
            (x, name)
            for x in range(len(self.truth))
            for name, n in self.votes(x, mu).items()
            if 2 * n >= mu
        }
        true = {(x, name) for x, own in enumerate(self.truth) for name in own}

        def f1_of(guesses: set[tuple[int, str]], truths: set[tuple[int, str]]) -> float:
            if not guesses & truths:
                return 0.0
            precision, recall = (
                len(guesses & truths) / len(guesses),
                len(guesses & truths) / len(truths),
            )
            return 2 * precision * recall / (precision + recall)

        each = [
            f1_of(
                {pair for pair in guessed if pair[1] == name},
                {pair for pair in true if pair[1] == name},
            )
            for name in sorted({name for _, name in guessed | true})
        ]
        return f1_of(guessed, true), sum(each) / len(each)


@dataclass(frozen=True)
class Purity:
    """Purity of a clustering: the mean over clusters, weighted by size, and the sum."""

    mean: float
    weighted: float
    total: float


def purity(labels: Sequence[int], types_of: Sequence[set[str]], with_noise: bool) -> Purity:
    """1/|ζ|² Σ cos(type(x), type(y)) over x, y ∈ ζ, for each cluster ζ.

    Noise (−1) is one cluster, or is ignored.
    """
    sizes, each = [], []
    for cluster in sorted(set(labels) - (set() if with_noise else {-1})):
        members = [types_of[x] for x, label in enumerate(labels) if label == cluster]
        sizes.append(len(members))
        each.append(
            sum(cosine_of_types(x, Counter(y)) for x in members for y in members)
            / len(members) ** 2
        )
    if not each:
        return Purity(0.0, 0.0, 0.0)
    return Purity(
        sum(each) / len(each),
        sum(n * p for n, p in zip(sizes, each, strict=True)) / sum(sizes),
        sum(each),
    )


def core_distance(points: Sequence[Vector], x: int, min_samples: int) -> float:
    """The distance to the min_samples-th neighbour; the point itself is the first."""
    return sorted(distance(points[x], y) for y in points)[min_samples - 1]


def spanning_tree_weights(points: Sequence[Vector], min_samples: int) -> list[float]:
    """Ascending weights of a minimum spanning tree under mutual reachability (Kruskal)."""
    core = [core_distance(points, x, min_samples) for x in range(len(points))]
    edges = sorted(
        (max(core[x], core[y], distance(points[x], points[y])), x, y)
        for x, y in combinations(range(len(points)), 2)
    )
    part = list(range(len(points)))
    weights = []
    for weight, x, y in edges:
        if part[x] != part[y]:
            gone = part[y]
            part = [part[x] if p == gone else p for p in part]
            weights.append(weight)
    return weights


def roles(graph: Iterable[Triple], term: str) -> set[tuple[str, str]]:
    """(predicate, side) of all statements about a term, except type statements."""
    ordinary = [(s, p, o) for s, p, o in graph if p != RDF_TYPE or is_literal(o)]
    return {(p, "subject") for s, p, _ in ordinary if s == term} | {
        (p, "object") for _, p, o in ordinary if o == term
    }


def role_counts(graph: Iterable[Triple], term: str) -> Counter[tuple[str, str]]:
    """n(x, r): in how many statements a term has each role, except type statements."""
    ordinary = [(s, p, o) for s, p, o in graph if p != RDF_TYPE or is_literal(o)]
    return Counter((p, "subject") for s, p, _ in ordinary if s == term) + Counter(
        (p, "object") for _, p, o in ordinary if o == term
    )


def class_shares(graph: Sequence[Triple], subjects: Collection[str]) -> dict[str, Fraction]:
    """Share of some subjects that have each class."""
    found = Counter(kind for s, kind in types(graph) if s in subjects)
    return {kind: Fraction(n, len(subjects)) for kind, n in found.items()}


def sdtype(graph: Sequence[Triple], term: str) -> dict[str, float]:
    """SDType's scores of classes, from all typed subjects but the term itself.

    Σ n(x, r) w(r) P(c | r) / Σ n(x, r) w(r) with w(r) = Σ (P(c) − P(c | r))². If this is 0 / 0,
    the scores are P(c).
    """
    others = typed_subjects(graph) - {term}
    prior = class_shares(graph, others)
    sums: dict[str, Fraction] = {}
    total = Fraction(0)
    for role, n in role_counts(graph, term).items():
        members = {x for x in others if role in roles(graph, x)}
        shares = class_shares(graph, members)
        weight = n * sum((p - shares.get(kind, 0)) ** 2 for kind, p in prior.items())
        weight = weight if members else Fraction(0)
        total += weight
        for kind, share in shares.items():
            sums[kind] = sums.get(kind, Fraction(0)) + weight * share
    scores = {kind: value / total for kind, value in sums.items()} if total else prior
    return {kind: float(value) for kind, value in scores.items() if value > 0}


# --------------------------------------------------------------------------------------------------
# Types that are predicted from evidence without types
# --------------------------------------------------------------------------------------------------

NEARNESS = 0.02
BINS, CLASS_WEIGHT, KIND_WEIGHT = 20, 20, 30


def without_types(graph: Iterable[Triple]) -> list[Triple]:
    """The statements that do not state a type."""
    return [(s, p, o) for s, p, o in graph if p != RDF_TYPE or is_literal(o)]


def role_of(context: Particle) -> tuple[str, str]:
    """(predicate, side) of a role or context."""
    return context[1], context[2]


@dataclass(frozen=True)
class ReadOut:
    """Contexts at the mean of their members, and terms at the mean of their contexts.

    Terms without contexts have no vector. Contexts without members have no place.
    """

    contexts: dict[Particle, dict[Particle, float]]  # the K strongest of each term, with σ
    places: dict[Particle, Vector]
    vectors: dict[Particle, Vector]


def weighted_mean(weights: Mapping[Particle, float], at: Mapping[Particle, Vector]) -> Vector:
    total = sum(weights.values())
    dimensions = range(len(next(iter(at.values()))))
    return [sum(w * at[y][i] for y, w in weights.items()) / total for i in dimensions]


def read_out(
    graph: Iterable[Triple], positions: Mapping[Particle, Vector], names: Sequence[Particle], k: int
) -> ReadOut:
    """Terms by their contexts in the graph without types.

    `positions` are those of terms; `names` lists all particles by id.
    """
    number = {name: i for i, name in enumerate(names)}
    contexts: dict[Particle, dict[Particle, float]] = {}
    places: dict[Particle, Vector] = {}
    for x, row in context_similarities(without_types(graph)).items():
        if isinstance(x, str):
            kept = attractors({number[y]: float(sigma) for y, sigma in row.items()}, k)
            contexts[x] = {names[y]: float(row[names[y]]) for y in kept}
        else:
            places[x] = weighted_mean({y: float(sigma) for y, sigma in row.items()}, positions)
    vectors = {x: weighted_mean(row, places) for x, row in contexts.items()}
    return ReadOut(contexts, places, vectors)


@dataclass(frozen=True)
class Ballot:
    """The votes for a class: their number, and their part of the weight of all neighbours."""

    votes: int
    share: float


def neighbour_weights(squares: Sequence[float]) -> list[float]:
    """1 / (d² / d_last² + 0.02) for ascending d², with a sum of 1."""
    last = squares[-1] or 1.0  # all are 0
    weights = [1 / (square / last + NEARNESS) for square in squares]
    return [weight / sum(weights) for weight in weights]


def role_overlap(graph: Sequence[Triple], one: str, other: str) -> float:
    """Σ min / Σ max over all roles of ln(1 + triples in which a term has the role)."""
    sizes = [
        {role: math.log(1 + number) for role, number in role_counts(graph, term).items()}
        for term in (one, other)
    ]
    every = {*sizes[0], *sizes[1]}
    shared = sum(min(own.get(role, 0) for own in sizes) for role in every)
    return shared / sum(max(own.get(role, 0) for own in sizes) for role in every) if shared else 0.0


def weighted_votes(
    graph: Sequence[Triple],
    vectors: Mapping[str, Vector],
    typed: Sequence[str],
    query: str,
    mu: int,
) -> dict[str, Ballot]:
    """Votes of the μ nearest typed subjects; those that share no role with the query do not vote.

    The weights of the others keep their sum. Each is multiplied by the cube of the overlap of
    roles. `typed` are the subjects with a vector; the first one wins ties.
    """
    others = [name for name in typed if name != query]
    found = [others[y] for y in nearest([vectors[name] for name in others], vectors[query], mu)]
    near = neighbour_weights([distance(vectors[y], vectors[query]) ** 2 for y in found])
    overlaps = [role_overlap(graph, query, voter) for voter in found]
    voting = sum(weight for weight, overlap in zip(near, overlaps, strict=True) if overlap)
    total = sum(weight * overlap**3 for weight, overlap in zip(near, overlaps, strict=True))
    ballots = dict[str, Ballot]()
    for voter, weight, overlap in zip(found, near, overlaps, strict=True):
        for subject, kind in types(graph):
            if subject == voter and overlap:
                before = ballots.get(kind, Ballot(0, 0.0))
                share = before.share + weight * overlap**3 * voting / total
                ballots[kind] = Ballot(before.votes + 1, share)
    return ballots


@dataclass(frozen=True)
class Guess:
    """A measured prediction: its share of the votes, its class, the kind of its term."""

    share: float
    type: int
    kind: int
    right: bool


def confidences(measured: Sequence[Guess], asked: Iterable[Guess]) -> list[float]:
    """How often measured predictions like the asked ones are correct, on three levels."""
    shares = [one.share for one in measured]
    edges = sorted(set(statistics.quantiles(shares, n=BINS, method="inclusive")))

    def bin_of(one: Guess) -> int:
        return sum(edge <= one.share for edge in edges)

    in_bins: list[list[Guess]] = [[] for _ in range(len(edges) + 1)]
    for one in measured:
        in_bins[bin_of(one)].append(one)
    base = increasing(
        [(1 + sum(one.right for one in row)) / (2 + len(row)) for row in in_bins],
        [2 + len(row) for row in in_bins],
    )
    found = []
    for one in asked:
        confidence = base[bin_of(one)]
        level = in_bins[bin_of(one)]
        for name, weight in (("type", CLASS_WEIGHT), ("kind", KIND_WEIGHT)):
            level = [other for other in level if getattr(other, name) == getattr(one, name)]
            right = sum(other.right for other in level)
            confidence = (right + weight * confidence) / (len(level) + weight)
        found.append(confidence)
    return found


def increasing(values: Sequence[float], weights: Sequence[int]) -> list[float]:
    """Isotonic regression: the largest of the smallest weighted means around each value."""
    size = range(len(values))
    means = {}
    for a in size:
        total, mass = 0.0, 0
        for b in size[a:]:
            total, mass = total + values[b] * weights[b], mass + weights[b]
            means[a, b] = total / mass
    return [max(min(means[a, b] for b in size[i:]) for a in size[: i + 1]) for i in size]
