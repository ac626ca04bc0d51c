"""Kinds: which typed subjects look like the asked terms, and how much evidence they keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import fields
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from graphs import (
    CRAFTS,
    GRAPHS,
    TYPE,
    TYPED,
    as_meant,
    as_text,
    graph_of,
    many,
    noisy_crafts,
    partly_typed,
)
from oracle import RDF_TYPE, Triple
from pyke.config import Config
from pyke.core.arrays import Floats, Ids, Offsets
from pyke.core.progress import Progress
from pyke.graph.graph import Graph
from pyke.graph.roles import SUBJECT, Numbers
from pyke.pipeline import embed_graph
from pyke.use.types import kinds as module
from pyke.use.types import namespaces
from pyke.use.types.evidence import Evidence, find_evidence
from pyke.use.types.kinds import MIN_ALIKE, Kinds, Status
from pyke.use.types.namespaces import Namespaces
from pyke.use.types.predict import predict_types
from pyke.use.types.predictions import Predictions, namespace
from pyke.use.types.votes import Queries, TypeTable, Voters

CONFIG = Config(dimensions=3, max_iterations=3, threads=1)
EXACT_MATCH = "http://www.w3.org/2004/02/skos/core#exactMatch"


class Watched(Evidence):
    """Evidence that remembers which contexts each owner kept."""

    def mean_places(
        self,
        owners: Offsets,
        contexts: Ids,
        sigma: Floats,
        number: int,
        without: tuple[Ids, Floats] | None = None,
    ) -> Floats:
        kept: list[list[int]] = [[] for _ in range(number)]
        for owner, context in zip(owners.tolist(), contexts.tolist(), strict=True):
            kept[owner].append(context)
        object.__setattr__(self, "kept", kept)
        object.__setattr__(self, "sigma", sigma)
        return super().mean_places(owners, contexts, sigma, number, without)


def watched(graph: Graph) -> Watched:
    found = find_evidence(graph, CONFIG, Progress())
    return Watched(*(getattr(found, field.name) for field in fields(found)))


def kept_by(evidence: Evidence) -> list[list[int]]:
    kept: list[list[int]] = vars(evidence)["kept"]
    return kept


def asked_in(graph: Graph, evidence: Evidence) -> Ids:
    """Untyped terms with a vector, also predicates."""
    terms = np.setdiff1d(np.arange(len(graph.terms), dtype=np.int32), graph.types[:, 0])
    return terms[evidence.has_vector(terms)]


def role_name(graph: Graph, evidence: Evidence, role: int) -> tuple[str, str]:
    side = "subject" if role & 1 == SUBJECT else "object"
    return graph.terms[int(evidence.predicates[role >> 1])], side


def kinds_of(graph: Graph, asked: Iterable[str] | None = None, seed: int = 1) -> Kinds:
    evidence = watched(graph)
    known = Voters.of(evidence, TypeTable.of(graph.types), None, 1).known
    chosen = (
        asked_in(graph, evidence)
        if asked is None
        else np.array(sorted(graph.terms.find(name) for name in asked), np.int32)
    )
    spaces = Namespaces(graph, known.subjects, chosen, 1)
    return Kinds(evidence, spaces, known.subjects, chosen, seed)


def stripped(kinds: Kinds) -> tuple[Queries, Numbers]:
    """All twins with as much evidence as their asked terms have, and their kinds."""
    return kinds.stripped(kinds.evidence, np.ones(len(kinds.twins.subjects), bool))


def status(kinds: Kinds, graph: Graph, name: str) -> Status:
    return kinds.kind_of(graph.terms.find(name))[1]


def predictions(text: str, unmeasured: bool = False) -> Predictions:
    made = embed_graph(graph_of(text), Config(dimensions=5, threads=1))
    return predict_types(made, min_confidence=0, unmeasured=unmeasured)


# -- Namespaces -------------------------------------------------------------------------------

NAMES = st.text(st.sampled_from("ab_:/#é"), max_size=8)


@given(st.lists(NAMES, min_size=1, max_size=8, unique=True))
@many(80)
def test_terms_have_the_same_namespace_if_their_texts_say_so(names: list[str]) -> None:
    graph = graph_of("".join(f"<e:{n}> <e:p> <e:o> .\n" for n in range(len(names))))
    graph = Graph(**{**vars(graph), "terms": type(graph.terms).of(names)})
    nothing = np.zeros(0, np.int32)
    for smallest, of_host in ((0, False), (10, True)):
        with patch.object(namespaces, "SMALL_NAMESPACE", smallest):
            found = Namespaces(graph, nothing, nothing, 1).of_terms.tolist()
        for one, first in zip(names, found, strict=True):
            for other, second in zip(names, found, strict=True):
                same = namespace(one, of_host) == namespace(other, of_host)
                assert same == (first == second)


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("http://e/a/b", "http://e/a/"),
        ("http://e/a#b", "http://e/a#"),
        ("http://e/a#b/c", "http://e/a#b/"),
        ("http://e/", "http://e/"),
        ("urn:isbn:1", "urn:isbn:"),
        ("mailto:a@b", "mailto:"),
        ("_:b0", "_:"),
        ("_:a/b#c", "_:"),
        ("anna", ""),
        ("", ""),
    ],
)
def test_a_namespace_ends_at_the_last_slash_number_sign_or_colon(term: str, expected: str) -> None:
    assert namespace(term) == expected


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("http://e.org/a/b", "http://e.org/"),
        ("http://e.org/b", "http://e.org/"),
        ("http://e.org#b", "http://e.org#"),
        ("urn:isbn:1", "urn:isbn:"),
        ("_:a/b/c/d", "_:"),
    ],
)
def test_a_host_ends_at_the_third_slash(term: str, expected: str) -> None:
    assert namespace(term, of_host=True) == expected


def in_namespaces(*groups: tuple[str, int, int]) -> tuple[Graph, Namespaces, dict[str, int]]:
    """Namespaces with this many typed and this many untyped terms, and a term of each."""
    typed: list[str] = []
    asked: list[str] = []
    lines, first = [], {}
    for prefix, known, unknown in groups:
        for n in range(known + unknown):
            name = f"{prefix}{n}"
            lines.append(f"{name if name[0] == '_' else f'<{name}>'} <e:p> <e:o> .\n")
            (typed if n < known else asked).append(name)
        first[prefix] = len(lines) - 1
    graph = graph_of("".join(lines))
    known_ids, asked_ids = (
        np.array(sorted(graph.terms.find(name) for name in some), np.int32)
        for some in (typed, asked)
    )
    found = Namespaces(graph, known_ids, asked_ids, 1)
    return graph, found, {prefix: graph.terms.find(f"{prefix}0") for prefix in first}


def test_namespaces_are_small_new_or_known() -> None:
    """A small one has fewer than 10 entities; fewer than a tenth of a new one are typed.

    The host decides whether a small one is new.
    """
    _, found, first = in_namespaces(
        ("http://e/known/", 1, 9),
        ("http://e/new/", 1, 10),
        ("http://e/small/", 0, 9),
        ("http://known.org/a/", 0, 9),
        ("http://known.org/b/", 1, 0),
        ("http://new.org/a/", 0, 3),
        ("http://e/ten/", 0, 10),
        ("urn:isbn:", 0, 12),
        ("urn:issn:", 6, 6),
        ("_:b", 0, 15),
    )
    terms = np.array(list(first.values()), np.int32)
    by_known_host = {"http://known.org/a/", "http://known.org/b/"}
    small = {"http://e/small/", "http://new.org/a/"} | by_known_host
    assert dict(zip(first, found.are_small(terms).tolist(), strict=True)) == {
        name: name in small for name in first
    }
    new = {"http://e/new/", "http://e/ten/", "urn:isbn:", "_:b"} | small - by_known_host
    assert dict(zip(first, found.are_new(terms).tolist(), strict=True)) == {
        name: name in new for name in first
    }


def test_any_number_of_threads_gives_the_same_namespaces() -> None:
    graph = graph_of(noisy_crafts(50))
    nothing = np.zeros(0, np.int32)
    one, three = (Namespaces(graph, nothing, nothing, threads).of_terms for threads in (1, 3))
    assert (one == three).all()


# -- Kinds and twins --------------------------------------------------------------------------


def random_typed(triples: list[Triple]) -> list[Triple]:
    """A random graph in which twelve typed subjects have some of its roles."""
    return [
        *((s, RDF_TYPE if n % 5 == 0 else p, o) for n, (s, p, o) in enumerate(triples)),
        *TYPED,
        *((f"e:u{i}", RDF_TYPE, "e:c" if i % 2 else "e:d") for i in range(12)),
        *((f"e:u{i}", "e:p", f"e:o{i % 3}") for i in range(12)),
        *((f"e:v{i % 4}", "e:q", f"e:u{i}") for i in range(9)),
        *((f"e:x{i}", "e:p", f"e:o{i}") for i in range(3)),
        ("e:v0", "e:q", "e:x0"),
    ]


@given(GRAPHS)
@many(40)
def test_terms_of_a_kind_have_the_same_roles_and_namespaces_alike(triples: list[Triple]) -> None:
    graph = graph_of(as_text(random_typed(triples)))
    truth = oracle.counted(as_meant(random_typed(triples)))
    kinds = kinds_of(graph)
    keys = [
        (frozenset(oracle.roles(truth, graph.terms[int(x)])), bool(small))
        for x, small in zip(kinds.asked, kinds.namespaces.are_small(kinds.asked), strict=True)
    ]
    pairs = set(zip(keys, kinds.of_asked.tolist(), strict=True))
    assert len(pairs) == len(set(keys)) == len(kinds)
    assert kinds.sizes.tolist() == [n for _, n in sorted(Counter(kinds.of_asked.tolist()).items())]


def expected_alike(truth: list[Triple], typed: list[str], own: set[tuple[str, str]]) -> set[str]:
    """Typed subjects with the more frequent half of some roles; none if it is not unique."""
    roles = {name: oracle.roles(truth, name) for name in typed}
    counts = {role: sum(role in roles[name] for name in typed) for role in own}
    half = (len(own) + 1) // 2
    least = sorted(counts.values(), reverse=True)[half - 1] if own else 0  # no roles: no twins
    wanted = {role for role in own if counts[role] >= least}
    return {name for name in typed if 0 < half == len(wanted) and wanted <= roles[name]}


@given(GRAPHS)
@many(40)
def test_twins_have_the_roles_of_their_asked_terms(triples: list[Triple]) -> None:
    graph = graph_of(as_text(random_typed(triples)))
    truth = oracle.counted(as_meant(random_typed(triples)))
    kinds = kinds_of(graph)
    typed = oracle.typed_subjects(truth)
    twins = kinds.twins
    for subject, kind in zip(twins.subjects.tolist(), twins.kinds.tolist(), strict=True):
        asked = int(kinds.asked[kinds.first[kind]])
        own, other = (oracle.roles(truth, graph.terms[x]) for x in (asked, subject))
        assert graph.terms[subject] in typed
        assert 2 * len(own & other) >= len(own) > 0
        pair = np.array([subject, asked], np.int32)
        assert len(set(kinds.namespaces.are_small(pair).tolist())) == 1
        assert kinds.kind_of(asked)[0] == kind
    pairs = list(zip(twins.subjects.tolist(), twins.kinds.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs), "a subject is a twin of a kind once"


@given(GRAPHS)
@many(40)
def test_twins_keep_only_evidence_of_their_kind_and_at_most_as_much(triples: list[Triple]) -> None:
    graph = graph_of(as_text(random_typed(triples)))
    truth = oracle.counted(as_meant(random_typed(triples)))
    kinds = kinds_of(graph)
    e, twins = kinds.evidence, kinds.twins
    queries, of_queries = stripped(kinds)
    role_of = e.context_roles.tolist()
    usable, roles = [], []
    for at, subject in enumerate(twins.subjects.tolist()):
        entries = slice(*twins.offsets[at : at + 2])
        assert twins.roles[entries].tolist() == kinds.roles(int(twins.kinds[at])).tolist()
        allowed = dict(
            zip(twins.roles[entries].tolist(), twins.triples[entries].tolist(), strict=True)
        )
        has = e.contexts.columns[slice(*e.contexts.offsets[subject : subject + 2])].tolist()
        kept = kept_by(e)[at]
        assert set(kept) <= set(has)
        assert [c for c in has if e.is_role[c] and role_of[c] in allowed] == [
            c for c in kept if e.is_role[c]
        ], "the roles themselves always stay"
        classes = dict(
            zip(twins.roles[entries].tolist(), twins.classes[entries].tolist(), strict=True)
        )
        for level, limit in (
            (e.is_of_class, classes),
            (e.is_coarse & ~e.is_of_class, allowed),
            (~e.is_coarse & ~e.is_role, allowed),
        ):
            number = Counter(role_of[c] for c in kept if level[c])
            most = Counter(role_of[c] for c in has if level[c])
            expected = {role: min(n, most[role]) for role, n in limit.items()}
            assert number == {role: n for role, n in expected.items() if n}
        if kept:
            usable.append(at)
            own = oracle.role_counts(truth, graph.terms[subject])
            assert all(n <= own[role_name(graph, e, role)] for role, n in allowed.items())
            roles.append({role: np.log1p(n) for role, n in allowed.items() if n})
    assert queries.own.tolist() == twins.subjects[usable].tolist()
    found = queries.roles
    assert [
        dict(
            zip(
                found.roles[slice(*found.offsets[q : q + 2])].tolist(),
                found.sizes[slice(*found.offsets[q : q + 2])].tolist(),
                strict=True,
            )
        )
        for q in range(len(queries))
    ] == roles, "a twin has the roles of its kind, as often as it keeps them"
    assert of_queries.tolist() == twins.kinds[usable].tolist()
    assert len(queries.vectors) == len(usable)


@given(GRAPHS)
@many(40)
def test_a_kind_is_measured_if_enough_twins_have_evidence_left(triples: list[Triple]) -> None:
    graph = graph_of(as_text(random_typed(triples)))
    truth = oracle.counted(as_meant(random_typed(triples)))
    kinds = kinds_of(graph)
    left = np.bincount(stripped(kinds)[1], minlength=len(kinds))
    assert (kinds.is_measured == (left >= MIN_ALIKE)).all()
    typed = [graph.terms[int(x)] for x in TypeTable.of(graph.types).subjects]
    typed = [x for x in typed if kinds.evidence.has_vector(np.array([graph.terms.find(x)]))[0]]
    for kind, tried in enumerate(np.bincount(kinds.twins.kinds, minlength=len(kinds)).tolist()):
        name = graph.terms[int(kinds.asked[kinds.first[kind]])]
        alike = expected_alike(truth, typed, oracle.roles(truth, name))
        ids = np.array([graph.terms.find(x) for x in alike], np.int32)
        small = kinds.namespaces.are_small(kinds.asked[kinds.first[kind : kind + 1]])
        same = int((kinds.namespaces.are_small(ids) == small).sum()) if len(ids) else 0
        if same >= MIN_ALIKE:
            assert tried >= MIN_ALIKE


def test_a_full_twin_keeps_the_vector_of_the_subject() -> None:
    """Asked terms with the same statements as the twins: nothing is set aside."""
    graph = graph_of(partly_typed())
    kinds = kinds_of(graph, [f"http://e/{craft}/0" for craft in CRAFTS])
    queries, _ = stripped(kinds)
    kept, e = kept_by(kinds.evidence), kinds.evidence
    whole = [
        at
        for at, subject in enumerate(kinds.twins.subjects.tolist())
        if len(kept[at]) == e.contexts.offsets[subject + 1] - e.contexts.offsets[subject]
    ]
    assert whole
    vectors = queries.vectors[np.isin(queries.own, kinds.twins.subjects[whole])]
    assert vectors == pytest.approx(e.vectors[kinds.twins.subjects[whole]], rel=1e-4, abs=1e-5)


def many_roles(extra: int) -> str:
    """Twelve typed subjects with four roles; the asked term has `extra` roles of its own."""
    subjects = "".join(
        f"<http://e/s{n}> <http://e/p{p}> <http://e/o{p}/{n % 3}> .\n"
        for n in range(12)
        for p in range(4)
    )
    types = "".join(f"<http://e/s{n}> {TYPE} <http://e/C{n % 2}> .\n" for n in range(12))
    asked = "".join(f"<http://e/x> <http://e/p{p}> <http://e/o{p}/0> .\n" for p in range(4))
    rare = "".join(
        f"<http://e/{w}> <http://e/q{p}> <http://e/o> .\n" for p in range(extra) for w in "xy"
    )
    return subjects + types + asked + rare


@pytest.mark.parametrize(("extra", "measured"), [(0, True), (1, True), (4, True), (5, False)])
def test_rare_roles_are_ignored_up_to_half(extra: int, measured: bool) -> None:
    graph = graph_of(many_roles(extra))
    kinds = kinds_of(graph, ["http://e/x"])
    found = status(kinds, graph, "http://e/x")
    assert found == (Status.MEASURED if measured else Status.NO_TWINS)
    assert len(kinds.twins.subjects) == (12 if measured else 0)


@pytest.mark.parametrize(("subjects", "measured"), [(4, False), (5, True)])
def test_a_kind_needs_five_typed_subjects(subjects: int, measured: bool) -> None:
    graph = graph_of(
        noisy_crafts(10)
        + "".join(
            f"<http://e/baker/{n}> <http://e/visits> <http://e/town{n % 2}> .\n"
            for n in range(subjects)
        )
        + "<http://e/baker/x> <http://e/visits> <http://e/town0> .\n"
    )
    kinds = kinds_of(graph, ["http://e/baker/x"])
    assert (status(kinds, graph, "http://e/baker/x") == Status.MEASURED) == measured


def test_twins_without_other_roles_come_first() -> None:
    """Twelve twins are chosen; fifteen members of each craft have a second role."""
    text = noisy_crafts(20) + "".join(
        f"<http://e/{craft}/{m}> <http://e/visits> <http://e/town> .\n"
        for craft in CRAFTS
        for m in range(15)
    )
    graph = graph_of(text + "<http://e/baker/x> <http://e/uses> <http://e/baker/tool1> .\n")
    with patch.object(module, "TWINS", 12):
        kinds = kinds_of(graph, ["http://e/baker/x"])
    names = [graph.terms[x] for x in kinds.twins.subjects.tolist()]
    assert len(names) == 12
    assert all(int(name.rpartition("/")[2]) >= 15 for name in names)


def test_twins_without_other_roles_as_an_object_come_before_others() -> None:
    """An external reference: things that the graph describes too, but refers to in the same way."""
    lines = [f"<http://e/a{n}> <http://e/cites> <http://e/s{n}> .\n" for n in range(20)]
    lines += [f"<http://e/s{n}> <http://e/cites> <http://e/a{n}> .\n" for n in range(20)]
    lines += [f"<http://e/a{n}> <http://e/sells> <http://e/s{n}> .\n" for n in range(10)]
    lines += [f"<http://e/s{n}> {TYPE} <http://e/C{n % 2}> .\n" for n in range(20)]
    lines += [f"<http://e/b{n}> <http://e/likes> <http://e/d{n % 9}> .\n" for n in range(99)]
    graph = graph_of("".join(lines) + "<http://e/a0> <http://e/cites> <http://e/x> .\n")
    with patch.object(module, "TWINS", 8), patch.object(module, "MIN_TWINS", 8):
        kinds = kinds_of(graph, ["http://e/x"])
    names = {graph.terms[x] for x in kinds.twins.subjects.tolist()}
    assert len(names) == 8
    assert names <= {f"http://e/s{n}" for n in range(10, 20)}


@pytest.mark.parametrize(("needed", "expected"), [(10, 10), (11, 20)])
def test_subjects_with_other_roles_are_no_twins_if_enough_have_none(
    needed: int, expected: int
) -> None:
    """Ten subjects are cited and nothing else, ten are sold, too; many twins are asked for."""
    lines = [f"<http://e/a{n % 7}> <http://e/cites> <http://e/s{n}> .\n" for n in range(20)]
    lines += [f"<http://e/s{n}> <http://e/cites> <http://e/a{n}> .\n" for n in range(20)]
    lines += [f"<http://e/a{n}> <http://e/sells> <http://e/s{n}> .\n" for n in range(10)]
    lines += [f"<http://e/s{n}> {TYPE} <http://e/C{n % 2}> .\n" for n in range(20)]
    lines += [f"<http://e/a{n}> <http://e/cites> <http://e/x{n}> .\n" for n in range(9)]
    lines += [f"<http://e/b{n}> <http://e/likes> <http://e/d{n % 9}> .\n" for n in range(99)]
    graph = graph_of("".join(lines))
    with patch.object(module, "MIN_EXACT", needed):
        kinds = kinds_of(graph, [f"http://e/x{n}" for n in range(9)])
    names = {graph.terms[x] for x in kinds.twins.subjects.tolist()}
    assert names == {f"http://e/s{n}" for n in range(20 - expected, 20)}


def test_subjects_that_lack_a_role_are_no_twins_if_enough_have_all() -> None:
    """Many asked terms would get many twins; sixty subjects have both roles."""
    lines = [f"<http://e/s{n}> <http://e/cites> <http://e/o{n % 9}> .\n" for n in range(300)]
    lines += [f"<http://e/s{n}> <http://e/sells> <http://e/o{n % 7}> .\n" for n in range(60)]
    lines += [f"<http://e/s{n}> {TYPE} <http://e/C{n % 2}> .\n" for n in range(300)]
    for predicate in ("cites", "sells"):
        lines += [f"<http://e/x{n}> <http://e/{predicate}> <http://e/o{n}> .\n" for n in range(9)]
    lines += [f"<http://e/b{n}> <http://e/likes> <http://e/d{n % 9}> .\n" for n in range(99)]
    kinds = kinds_of(graph := graph_of("".join(lines)), [f"http://e/x{n}" for n in range(9)])
    names = {graph.terms[x] for x in kinds.twins.subjects.tolist()}
    assert names == {f"http://e/s{n}" for n in range(60)}


def test_each_twin_keeps_what_the_asked_term_of_the_same_rank_has() -> None:
    """Twins use 2 to 24 tools and like 24 to 2 people; asked terms have half of that."""

    def lines_of(name: str, n: int, factor: int) -> list[str]:
        tools = [f"<http://e/uses> <http://e/tool{x}>" for x in range(factor * (n + 1))]
        people = [f"<http://e/likes> <http://e/person{x}>" for x in range(factor * (12 - n))]
        return [f"<http://e/{name}{n}> {rest} .\n" for rest in (*tools, *people)]

    lines = [line for n in range(12) for line in lines_of("s", n, 2) + lines_of("t", n, 1)]
    lines += [f"<http://e/s{n}> {TYPE} <http://e/C{n % 2}> .\n" for n in range(12)]
    graph = graph_of("".join(lines))
    asked = [f"http://e/t{n}" for n in range(12)]
    kinds = kinds_of(graph, asked)
    twins = kinds.twins
    assert len(twins.subjects) == 12
    for at, subject in enumerate(twins.subjects.tolist()):
        n = int(graph.terms[subject].removeprefix("http://e/s"))
        row = slice(*twins.offsets[at : at + 2])
        names = [role_name(graph, kinds.evidence, role) for role in twins.roles[row].tolist()]
        assert dict(zip(names, twins.triples[row].tolist(), strict=True)) == {
            ("http://e/uses", "subject"): n + 1,
            ("http://e/likes", "subject"): 12 - n,
        }


@pytest.mark.parametrize("tools", [2, 4])
def test_a_twin_has_the_similarities_of_a_term_with_as_few_triples(tools: int) -> None:
    """Asked terms lack a role of the twins, and use two of the same tools, or two of the four."""
    lines = [
        f"<http://e/{kind}{n}> <http://e/uses> <http://e/tool{(n + step) % 5}> .\n"
        for kind, number in (("s", tools), ("t", 2))
        for n in range(12)
        for step in range(number)
    ]
    lines += [f"<http://e/s{n}> <http://e/likes> <http://e/p{n % 3}> .\n" for n in range(12)]
    lines += [f"<http://e/s{n}> {TYPE} <http://e/C{n % 2}> .\n" for n in range(12)]
    graph = graph_of("".join(lines))
    kinds = kinds_of(graph, [f"http://e/t{n}" for n in range(12)])
    stripped(kinds)
    found, checked = iter(vars(kinds.evidence)["sigma"].tolist()), 0
    e = kinds.evidence
    for kept, twin in zip(kept_by(e), kinds.twins.subjects.tolist(), strict=True):
        asked = graph.terms.find(graph.terms[twin].replace("/s", "/t"))
        row = slice(*e.contexts.offsets[asked : asked + 2])
        own = zip(e.contexts.columns[row].tolist(), e.contexts.values[row].tolist(), strict=True)
        expected = dict(own)
        for context in kept:
            value = next(found)
            if context in expected and not e.is_coarse[context]:
                assert value == pytest.approx(expected[context], rel=1e-5)
                checked += 1
    assert checked >= 12


def test_subjects_that_differ_in_few_roles_are_the_twins_of_a_term_with_many_roles() -> None:
    """No typed subject has all roles of the term: those that lack one come before a rich one."""
    lines = [
        f"<http://e/s{n}> <http://e/p{p}> <http://e/o{p}> .\n"
        for n in range(20)
        for p in ([0, 1, 2, 3] if n < 10 else [0, 1, 2, 5, 6, 7])
    ]
    lines += [f"<http://e/x> <http://e/p{p}> <http://e/o{p}> .\n" for p in range(5)]
    lines += [f"<http://e/y> <http://e/p{p}> <http://e/o{p}> .\n" for p in range(8)]
    lines += [f"<http://e/s{n}> {TYPE} <http://e/C{n % 2}> .\n" for n in range(20)]
    with patch.object(module, "MIN_TWINS", 8), patch.object(module, "TWINS", 8):
        graph = graph_of("".join(lines))
        kinds = kinds_of(graph, ["http://e/x"])
    names = {graph.terms[x] for x in kinds.twins.subjects.tolist()}
    assert len(names) == 8
    assert names <= {f"http://e/s{n}" for n in range(10)}


def test_the_last_kinds_have_a_few_twins_although_the_limit_is_reached() -> None:
    """A kind without twins would be measured on others alone."""
    text = noisy_crafts(20) + "".join(
        f"<http://e/{craft}/{m}> <http://e/has{p}> <http://e/o{p}> .\n"
        for craft in CRAFTS
        for m in range(20)
        for p in range(3)
    )
    asked = [
        f"<http://e/baker/x{n}> <http://e/has{p}> <http://e/o{p}> .\n"
        for n in range(9)
        for p in range(1 + n // 3)
    ]
    graph = graph_of(text + "".join(asked))
    with patch.multiple(module, TWINS=10, MIN_TWINS=10):
        kinds = kinds_of(graph, [f"http://e/baker/x{n}" for n in range(9)])
    assert len(kinds) == 3
    assert sorted(np.bincount(kinds.twins.kinds)) == [MIN_ALIKE, MIN_ALIKE, 10]
    assert kinds.is_measured.all()


def test_the_number_of_twins_is_limited() -> None:
    graph = graph_of(partly_typed())
    with patch.multiple(module, TWINS=7, CANDIDATES=20):
        kinds = kinds_of(graph)
    assert len(kinds.twins.subjects) == 7
    assert kinds_of(graph).twins.subjects.size > 7


def test_the_seed_decides_the_twins() -> None:
    graph = graph_of(
        noisy_crafts(30) + "<http://e/baker/x> <http://e/uses> <http://e/baker/tool1> .\n"
    )
    with patch.object(module, "TWINS", 12):
        first, again, other = (
            kinds_of(graph, ["http://e/baker/x"], seed).twins.subjects.tolist()
            for seed in (1, 1, 2)
        )
    assert first == again != other


def test_no_asked_terms_have_no_kinds() -> None:
    kinds = kinds_of(graph_of(noisy_crafts(5)), [])
    assert (len(kinds), len(stripped(kinds)[0]), kinds.not_measured()) == (0, 0, [])
    assert kinds.status.tolist() == []


# -- Populations that are unlike all typed subjects -------------------------------------------


def coins(matches: int, external: str) -> str:
    """Typed coins and mints; coins match external IRIs, about which nothing else is known."""
    lines = []
    for n in range(30):
        coin = f"<http://e/coin{n}>"
        lines.append(f"{coin} {TYPE} <http://e/{'Denarius' if n % 2 else 'Drachma'}> .\n")
        lines.append(f"{coin} <http://e/mint> <http://e/mint{n % 2}> .\n")
    lines += [
        f"<http://e/coin{n}> <{EXACT_MATCH}> <{external.format(n)}> .\n" for n in range(matches)
    ]
    lines += [f"<http://e/mint{n}> {TYPE} <http://e/Mint> .\n" for n in range(2)]
    return "".join([*lines, "<http://e/untyped> <http://e/mint> <http://e/mint1> .\n"])


@pytest.mark.parametrize("external", ["http://external.org/{}", "http://e{}.org/x", "http://e/{}"])
def test_external_iris_in_one_generic_role_are_not_measured(external: str) -> None:
    """In a namespace of their own, each in another one, and in that of the coins."""
    text = coins(20, external)
    found = predictions(text)
    assert {one.term for one in found} == {"http://e/untyped"}
    groups = found.not_measured()
    assert sum(group.terms for group in groups) == 20
    assert {(group.namespace, group.roles) for group in groups} == {(None, ((EXACT_MATCH, False),))}


def test_the_object_side_of_a_typed_population_is_measured_only_in_a_known_namespace() -> None:
    """Coins match other coins, and a catalogue of which nothing has a type."""
    text = coins(10, "http://catalogue.org/{}") + "".join(
        f"<http://e/coin{n + 10}> <{EXACT_MATCH}> <http://e/coin{n}> .\n" for n in range(10)
    )
    found = predictions(text, unmeasured=True)
    external = [one for one in found if one.term.startswith("http://catalogue.org/")]
    assert external
    assert not any(one.measured for one in external)
    assert [(one.terms, one.namespace) for one in found.not_measured()] == [
        (10, "http://catalogue.org/")
    ]
    assert len(found.select(0)) == len(found) - len(external)


def test_home_pages_are_not_predicted_to_be_people() -> None:
    """They lie near people, but no typed subject is the object of `homepage`."""
    found = predictions(noisy_crafts(40, homepages=10), unmeasured=True)
    assert len(found) == 0
    assert found.asked == found.without_voters == 30 + 36, "nobody with a type is used as a tool"
    assert found.calibration.measured.subjects == 0
    assert [(one.terms, one.roles) for one in found.not_measured()] == [
        (36, (("http://e/uses", False),)),
        (30, (("http://e/homepage", False),)),
    ]


@pytest.mark.parametrize(("typed", "measured"), [(1, False), (2, True)])
def test_typed_home_pages_vote_for_the_others(typed: int, measured: bool) -> None:
    """Three typed pages are too few to measure, six are enough."""
    text = noisy_crafts(40, homepages=10) + "".join(
        f"<http://e/{craft}/{m}.html> {TYPE} <http://e/Page> .\n"
        for craft in CRAFTS
        for m in range(typed)
    )
    found = predictions(text, unmeasured=True)
    pages = [one for one in found if one.term.endswith(".html")]
    assert {one.type for one in pages} == {"http://e/Page"}
    assert {one.measured for one in pages} == {measured}
