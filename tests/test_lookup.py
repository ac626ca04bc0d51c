"""What people call a term, beside plain loops over all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import many
from pyke.embedding import lookup as lookup_module
from pyke.embedding.lookup import PREFIXES, Lookup, local_name, parse_prefixes, texts_at
from pyke.errors import UnknownTerm, UsageError
from pyke.graph.terms import Terms, Texts

KNOWS = "http://xmlns.com/foaf/0.1/knows"
TERMS = [
    "http://e/anna",
    KNOWS,
    "_:anna",
    "http://e/Köln",
    "https://schema.org/Person",
    "http://e/ns#",
    "http://e/paris/texas",
    "http://e/paris/france",
    "anna:lena",
]
LABELS = {0: "Anna", 3: "STRASSE", 5: "two\nlines", 6: "Paris", 7: "paris", 8: "http://e/anna"}


def lookup(terms: list[str] = TERMS, labels: dict[int, str] = LABELS, **prefixes: str) -> Lookup:
    return Lookup(
        Terms.of(terms), Texts.of(labels.values()), np.array(list(labels), np.int32), prefixes
    )


@pytest.mark.parametrize(
    ("name", "term"),
    [
        ("http://e/anna", "http://e/anna"),
        ("<http://e/anna>", "http://e/anna"),
        ("_:anna", "_:anna"),
        ("foaf:knows", KNOWS),
        ("schema:Person", "https://schema.org/Person"),
        ("anna", "http://e/anna"),
        ("ANNA", "http://e/anna"),
        ("straße", "http://e/Köln"),
        ("two lines", "http://e/ns#"),
        ("two\nlines", "http://e/ns#"),
        ("http://e/Köln", "http://e/Köln"),
    ],
)
def test_a_term_is_found_by_what_people_call_it(name: str, term: str) -> None:
    found = lookup()
    assert found.terms[found.find(name)] == term


def test_what_is_written_in_full_comes_before_prefixes_and_labels() -> None:
    """anna:lena is a term, and a prefixed name; http://e/anna is a term, and the label of another."""
    found = lookup(anna="http://e/paris/")
    assert found.find("anna:lena") == 8
    assert found.find("anna:texas") == 6
    assert found.find("http://e/anna") == 0


def test_prefixes_that_are_given_come_before_the_well_known() -> None:
    assert lookup(foaf="http://e/").find("foaf:anna") == 0
    with pytest.raises(UnknownTerm):
        lookup(foaf="http://e/").find("foaf:knows")


def test_a_prefix_alone_is_no_prefixed_name() -> None:
    found = lookup(["http://xmlns.com/foaf/0.1/", "http://e/friends"], {1: "foaf"})
    assert (found.find("foaf"), found.find("foaf:")) == (1, 0)


def test_a_namespace_of_the_graph_is_not_guessed() -> None:
    with pytest.raises(UnknownTerm, match="texas"):
        lookup().find("paris:texas")


@pytest.mark.parametrize(
    "name", ["<anna>", "<foaf:knows>", "_:ANNA", "", ":", "<>", "_:", "\n", "\x00", "a\ud800"]
)
def test_what_is_no_term_is_unknown(name: str) -> None:
    with pytest.raises(UnknownTerm):
        lookup().find(name)


def test_several_terms_with_one_label_are_listed() -> None:
    with pytest.raises(
        UsageError,
        match=r"2 terms have the label 'PARIS': <http://e/paris/texas>, <http://e/paris/france>\. Name one by its IRI",
    ):
        lookup().find("PARIS")
    same = lookup([f"http://e/{i}" for i in range(30)], dict.fromkeys(range(30), "x"))
    with pytest.raises(UsageError, match=r"30 terms .* and 20 more"):
        same.find("x")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("http://e/ana", "http://e/anna"),
        ("http://other/anna", "http://e/anna"),
        ("http://schema.org/Person", "https://schema.org/Person"),
        ("http://e/ns", "http://e/ns#"),
        ("http://e/köln", "http://e/Köln"),
        ("foaf:knws", KNOWS),
        ("Strase", "http://e/Köln"),
        ("<http://e/paris/texsa>", "http://e/paris/texas"),
        ("_:ann", "_:anna"),
    ],
)
def test_a_term_that_is_unknown_is_refused_with_those_that_look_like_it(
    name: str, meant: str
) -> None:
    with pytest.raises(UnknownTerm) as caught:
        lookup().find(name)
    assert "Did you mean" in str(caught.value)
    assert (meant if meant.startswith("_:") else f"<{meant}>") in str(caught.value)
    assert "<_:" not in str(caught.value)


def test_what_looks_like_nothing_is_refused_with_a_hint() -> None:
    with pytest.raises(UnknownTerm, match="--prefix zz=IRI"):
        lookup().find("zz:qqqqqq")
    with pytest.raises(UnknownTerm, match="--count-literals"):
        lookup().find("http://zz/qqqqqq")


def test_a_blank_node_is_no_prefixed_name() -> None:
    with pytest.raises(UnknownTerm, match="_:zz") as refused:
        lookup().find("_:zz")
    assert "--prefix" not in str(refused.value)


@pytest.mark.parametrize("size", [1, 2, 3, 1 << 16])
def test_the_likeliest_comes_first_however_the_terms_are_cut_into_blocks(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup_module, "TEXTS_AT_ONCE", size)
    terms = [
        f"http://e/{word}" for word in ("apple", "apples", "applet", "maple", "grape", "a", "")
    ]
    with pytest.raises(UnknownTerm, match=r"Did you mean <http://e/apples> or"):
        lookup(terms, {}).find("http://e/aples")


def test_texts_that_are_very_long_are_compared_in_a_moment() -> None:
    long = "http://e/" + "ab" * 100_000
    found = lookup([long, long + "c"], {0: "x" * 100_000})
    with pytest.raises(UnknownTerm):
        found.find(long + "d")


NAMES = st.text(st.sampled_from("aAbß:/#\né<>_"), max_size=4)


@given(st.lists(NAMES, max_size=12, unique=True), st.data())
@many(150)
def test_many_names_are_found_as_a_plain_loop_finds_them(
    terms: list[str], data: st.DataObject
) -> None:
    terms = [term.replace("\n", "") for term in terms if term.replace("\n", "")]
    terms = list(dict.fromkeys(terms))
    labels = {i: data.draw(NAMES) for i in range(len(terms)) if data.draw(st.booleans())}
    asked = data.draw(
        st.lists(st.sampled_from([*terms, *labels.values(), "a:b"]) | NAMES, max_size=20)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup_module, "TEXTS_AT_ONCE", 3)
        patch.setattr(lookup_module, "FEW", data.draw(st.sampled_from([0, 8])))
        found = lookup(terms, labels, a="/").find_all(asked)
    assert [term if isinstance(term, int) else None for term in found] == [
        plainly(name, terms, labels) for name in asked
    ]


def plainly(name: str, terms: list[str], labels: dict[int, str]) -> int | None:
    explicit = name.startswith("_:") or (name.startswith("<") and name.endswith(">"))
    if explicit:
        bare = name if name.startswith("_:") else name[1:-1]
        return terms.index(bare) if bare in terms else None
    for reading in (name, "/" + name[2:] if name.startswith("a:") else name):
        if reading in terms:
            return terms.index(reading)
    same = [
        i
        for i, label in labels.items()
        if label.replace("\n", " ").casefold() == name.replace("\n", " ").casefold()
    ]
    return same[0] if len(same) == 1 else None


@given(st.lists(st.text(max_size=5), max_size=8), st.data())
@many(100)
def test_texts_and_labels_of_many_are_those_of_each(texts: list[str], data: st.DataObject) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    packed = Texts.of(texts)
    positions = data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=9)) if texts else []
    assert texts_at(packed, positions) == [texts[at] for at in positions]
    labelled = sorted(
        data.draw(st.sets(st.integers(0, 9), min_size=len(texts), max_size=len(texts)))
    )
    found = Lookup(Terms.of([f"e:{i}" for i in range(10)]), packed, np.array(labelled, np.int32))
    asked = data.draw(st.lists(st.integers(0, 9), max_size=9))
    assert found.labels_of(np.array(asked, np.int32)) == [found.label(term) for term in asked]


@pytest.mark.parametrize(
    ("iri", "name"),
    [
        ("http://e/a#b", "b"),
        ("http://e/a/", "a"),
        ("urn:x:y", "y"),
        ("_:b", "b"),
        ("plain", "plain"),
        ("///", "///"),
    ],
)
def test_the_local_name_is_what_stands_last(iri: str, name: str) -> None:
    assert local_name(iri) == name


def test_a_term_is_read_by_its_label_or_else_by_its_local_name() -> None:
    found = lookup(["http://e/a", "http://e/K%C3%B6ln"], {0: "Anna"})
    assert [found.readable(term) for term in (0, 1)] == ["Anna", "Köln"]


def test_prefixes_are_given_as_name_and_iri() -> None:
    assert parse_prefixes(["a=http://a/", "b:=<http://b#>", "=http://c/?q=1"]) == {
        "a": "http://a/",
        "b": "http://b#",
        "": "http://c/?q=1",
    }
    for bad in ("a", "a=", "=", ""):
        with pytest.raises(UsageError, match="name=IRI"):
            parse_prefixes([bad])


def test_the_well_known_prefixes_are_namespaces() -> None:
    for name, namespaces in PREFIXES.items():
        assert name == name.lower()
        assert all(
            namespace.startswith("http") and namespace[-1] in "/#"
            for namespace in namespaces.split()
        )
