"""Terms are found by IRI, prefixed name, label or local name, as plain loops find them."""

from __future__ import annotations

import re
from urllib.parse import unquote

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphs import many
from pyke.embedding import scan, similar
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
        ("texas", "http://e/paris/texas"),
        ("KÖLN", "http://e/Köln"),
        ("K%C3%B6ln", "http://e/Köln"),
        ("ns", "http://e/ns#"),
        ("person", "https://schema.org/Person"),
        ("lena", "anna:lena"),
    ],
)
def test_a_term_is_found_by_iri_prefixed_name_label_or_local_name(name: str, term: str) -> None:
    found = lookup()
    assert found.terms[found.find(name)] == term


@pytest.mark.parametrize("name", ["Albert_Einstein", "Albert Einstein", "albert einstein"])
def test_a_space_stands_for_an_underscore_in_a_local_name(name: str) -> None:
    terms = ["http://e/Albert", "http://dbpedia.org/resource/Albert_Einstein", "http://e/Einstein"]
    assert lookup(terms, {}).find(name) == 1


def test_percent_escapes_in_local_names_are_undone() -> None:
    found = lookup(["http://e/K%C3%B6ln", "http://e/AC%2FDC", "http://e/100%"], {})
    for name, term in (("köln", 0), ("K%C3%B6ln", 0), ("ac/dc", 1), ("AC%2FDC", 1), ("100%", 2)):
        assert found.find(name) == term


def test_the_end_of_a_path_is_not_a_local_name() -> None:
    with pytest.raises(UnknownTerm):
        lookup().find("paris/texas")


def test_several_terms_with_the_same_local_name_are_listed() -> None:
    found = lookup(["http://a/x_y", "http://b#x%20y", "http://c/z", "_:z", "http://d/Z/"], {})
    with pytest.raises(
        UsageError,
        match=r"2 terms have the local name 'x y': <http://a/x_y>, <http://b#x%20y>\. Use the IRI",
    ):
        found.find("x y")
    assert found.find("z") == 2
    assert found.find("Z") == 4


def test_case_decides_between_local_names_that_differ_in_nothing_else() -> None:
    found = lookup(["http://e/Person", "http://e/person"], {})
    assert (found.find("Person"), found.find("person")) == (0, 1)
    with pytest.raises(UsageError, match="2 terms have the local name 'PERSON'"):
        found.find("PERSON")


def test_a_label_comes_before_a_local_name() -> None:
    assert lookup(["http://e/anna", "http://e/a17"], {1: "Anna"}).find("anna") == 1


def test_blank_nodes_are_not_found_by_a_bare_name() -> None:
    with pytest.raises(UnknownTerm):
        lookup(["_:b1", "http://e/a"], {}).find("b1")


def test_a_complete_iri_comes_before_prefixed_names_and_labels() -> None:
    """anna:lena is a term and a prefixed name; http://e/anna is a term and another one's label."""
    found = lookup(anna="http://e/paris/")
    assert found.find("anna:lena") == 8
    assert found.find("anna:texas") == 6
    assert found.find("http://e/anna") == 0


def test_given_prefixes_override_the_well_known_ones() -> None:
    assert lookup(foaf="http://e/").find("foaf:anna") == 0
    with pytest.raises(UnknownTerm):
        lookup(foaf="http://e/").find("foaf:knows")


def test_a_prefix_needs_its_colon() -> None:
    found = lookup(["http://xmlns.com/foaf/0.1/", "http://e/friends"], {1: "foaf"})
    assert (found.find("foaf"), found.find("foaf:")) == (1, 0)


def test_an_unknown_prefix_does_not_match_a_namespace_of_the_graph() -> None:
    with pytest.raises(UnknownTerm, match="texas"):
        lookup().find("paris:texas")


@pytest.mark.parametrize(
    "name", ["<anna>", "<foaf:knows>", "_:ANNA", "", ":", "<>", "_:", "\n", "\x00", "a\ud800"]
)
def test_a_name_that_is_not_in_the_graph_is_unknown(name: str) -> None:
    with pytest.raises(UnknownTerm):
        lookup().find(name)


def test_several_terms_with_the_same_label_are_listed() -> None:
    with pytest.raises(
        UsageError,
        match=r"2 terms have the label 'PARIS': <http://e/paris/texas>, <http://e/paris/france>\.",
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
def test_the_error_for_an_unknown_name_suggests_similar_ones(name: str, meant: str) -> None:
    with pytest.raises(UnknownTerm) as caught:
        lookup().find(name)
    assert "Did you mean" in str(caught.value)
    assert (meant if meant.startswith("_:") else f"<{meant}>") in str(caught.value)
    assert "<_:" not in str(caught.value)


def test_suggestions_compare_complete_names() -> None:
    terms = [f"http://e/{name}" for name in ("house_cat", "housecraft", "houseboat", "cat", "hous")]
    with pytest.raises(UnknownTerm, match=r"Did you mean <http://e/house_cat>"):
        lookup(terms, {}).find("hous cat")
    with pytest.raises(UnknownTerm, match=r"Did you mean <http://e/x> \(Albert Einstein\)\?"):
        lookup(["http://e/x", "http://e/Bernstein"], {0: "Albert Einstein"}).find("Albrt Einstien")


def test_the_iri_decides_between_suggestions_with_the_same_local_name() -> None:
    terms = [f"http://e/{craft}/3" for craft in ("smith", "baker", "weaver")]
    with pytest.raises(UnknownTerm, match=r"Did you mean <http://e/baker/3> or"):
        lookup(terms, {}).find("http://e/bakr/3")


def test_an_unknown_name_without_similar_ones_gives_advice() -> None:
    with pytest.raises(UnknownTerm, match=r'`prefix="zz=IRI"`'):
        lookup().find("zz:qqqqqq")
    with pytest.raises(UnknownTerm, match="`count_literals=True`"):
        lookup().find("http://zz/qqqqqq")


def test_a_blank_node_does_not_count_as_a_prefixed_name() -> None:
    with pytest.raises(UnknownTerm, match="_:zz") as error:
        lookup().find("_:zz")
    assert "prefix=" not in str(error.value)


@pytest.mark.parametrize("size", [1, 2, 3, 1 << 16])
def test_the_best_suggestion_comes_first_for_any_size_of_blocks(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similar, "TEXTS_AT_ONCE", size)
    terms = [
        f"http://e/{word}" for word in ("apple", "apples", "applet", "maple", "grape", "a", "")
    ]
    with pytest.raises(UnknownTerm, match=r"Did you mean <http://e/apples>"):
        lookup(terms, {}).find("http://e/aples")


def test_very_long_names_are_compared_quickly() -> None:
    long = "http://e/" + "ab" * 100_000
    found = lookup([long, long + "c"], {0: "x" * 100_000})
    with pytest.raises(UnknownTerm):
        found.find(long + "d")


@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
@many(200)
def test_edits_are_counted_as_a_plain_loop_counts_them(one: str, other: str) -> None:
    table = {(i, -1): i + 1 for i in range(-1, len(one))}
    table |= {(-1, j): j + 1 for j in range(-1, len(other))}
    for i in range(len(one)):
        for j in range(len(other)):
            changed = table[i - 1, j - 1] + (one[i] != other[j])
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, changed)
            if i and j and one[i - 1 : i + 1] == other[j - 1 : j + 1][::-1]:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    length = max(len(one), len(other), 1)
    assert similar.likeness(one, other) == 1 - table[len(one) - 1, len(other) - 1] / length


NAMES = st.text(st.sampled_from("aAbß:/#\né<>_% "), max_size=4) | st.sampled_from(
    ["%41", "/%41", "%2Fa", "a%5fb", "a b", "/a_b", "a/", "a//", "b#A"]
)


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
        patch.setattr(scan, "TEXTS_AT_ONCE", data.draw(st.sampled_from([3, 100])))
        patch.setattr(scan, "FEW", data.draw(st.sampled_from([0, 8])))
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
    if "://" in name:
        return None
    same = [
        i
        for i, label in labels.items()
        if label.replace("\n", " ").casefold() == name.replace("\n", " ").casefold()
    ]
    return same[0] if len(same) == 1 else None if same else by_local_name(name, terms)


def by_local_name(name: str, terms: list[str]) -> int | None:
    def spaced(text: str) -> str:
        return unquote(text).replace("\n", " ").replace("_", " ")

    last = [re.split("[/#:]", re.sub("[/#:]{1,3}$", "", term))[-1] for term in terms]
    own = [i for i, term in enumerate(terms) if not term.startswith("_:") and spaced(last[i])]
    folded = [i for i in own if spaced(last[i]).casefold() == spaced(name).casefold()]
    exact = [i for i in folded if spaced(last[i]) == spaced(name)]
    return folded[0] if len(folded) == 1 else exact[0] if len(exact) == 1 else None


@given(st.lists(st.text(max_size=5), max_size=8), st.data())
@many(100)
def test_many_texts_and_labels_equal_those_found_one_by_one(
    texts: list[str], data: st.DataObject
) -> None:
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
def test_the_local_name_follows_the_last_separator(iri: str, name: str) -> None:
    assert local_name(iri) == name


def test_a_term_without_label_is_shown_by_its_local_name() -> None:
    found = lookup(["http://e/a", "http://e/K%C3%B6ln"], {0: "Anna"})
    assert [found.readable(term) for term in (0, 1)] == ["Anna", "Köln"]


def test_prefixes_are_written_as_name_and_iri() -> None:
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


PEOPLE = [
    "http://e/lassila/0",  # a namespace is not a part of a name
    "http://e/person/ora-lassila/",
    "http://e/x1",
    "http://e/Classilanus",
    "http://e/the_very_long_Lassila_family",
    "_:lassila7",
]


def test_a_part_of_a_name_suggests_names_that_contain_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terms, labels = Terms.of(PEOPLE), Texts.of(["Ora Lassila", "Ann"])
    lookup = Lookup(terms, labels, np.array([2, 3], np.int32))
    with pytest.raises(UnknownTerm) as caught:
        lookup.find("lassila")
    message = str(caught.value)
    # Words that begin with it first, then short names; labels count as well.
    assert re.findall("<(.*?)>", message) == [PEOPLE[1], PEOPLE[2], PEOPLE[4]]
    assert message.endswith("(Ora Lassila) or <http://e/the_very_long_Lassila_family>? "
                            "1 more with 'lassila' in their names.")  # fmt: skip
    monkeypatch.setattr("pyke.embedding.lookup.MAX_PARTS", 4)
    with pytest.raises(UnknownTerm, match=r"At least 1 more with 'LASSILA' in their names\.$"):
        lookup.find("LASSILA")
    for name in ("la", "http://e/lass"):  # too short; an IRI
        with pytest.raises(UnknownTerm) as caught:
            lookup.find(name)
        assert "Did you mean" not in str(caught.value)


def test_a_part_of_a_name_suggests_classes_and_predicates() -> None:
    terms = Terms.of(["http://e/a", "http://e/InProceedings", "http://e/isPartOf"])
    lookup = Lookup(terms, Texts.of([]), np.zeros(0, np.int32))
    with pytest.raises(UnknownTerm, match=r"'proceed'\. Did you mean <http://e/InProceedings>\?$"):
        lookup.find_class("proceed", np.array([[0, 1]], np.int32))
    with pytest.raises(UnknownTerm, match=r"'part' .*\. Did you mean <http://e/isPartOf>\?$"):
        lookup.find_predicate("part", np.array([[0, 2, 1]], np.int32))
    with pytest.raises(UnknownTerm, match="Frequent predicates: isPartOf"):
        lookup.find_predicate("none", np.array([[0, 2, 1]], np.int32))
