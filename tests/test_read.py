"""Reading: every syntax gives the same graph, and the tokenizer agrees with pyoxigraph.

Errors name the file and line of invalid input.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import os
import re
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest
import zstandard
from pyoxigraph import NamedNode, Quad, RdfFormat

from documents import (
    LINES,
    PACK,
    QUADS,
    REFUSED,
    Statement,
    assert_agrees,
    canonical,
    read,
    written,
)
from pyke.config import Config
from pyke.core.progress import Progress
from pyke.errors import DataError, EmptyGraph, NoInput, PykeError, SyntaxProblem, UsageError
from pyke.graph import batches
from pyke.graph.graph import Census
from pyke.pipeline import Run, embed_to, read_census
from pyke.pipeline.embed import embed
from pyke.read import find, problems, tokenize
from pyke.read import lines as lines_module


@pytest.fixture
def fixed_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the same seed each time, which makes the keys of literals comparable."""
    monkeypatch.setattr("secrets.randbits", lambda bits: 12345)


# --------------------------------------------------------------------------------------------------
# The tokenizer agrees with pyoxigraph
# --------------------------------------------------------------------------------------------------

AGREEING = [(name, text, "nt") for name, text in LINES.items()] + [
    (name, text, "nq") for name, text in (LINES | QUADS).items()
]
FORMATS = {"nt": RdfFormat.N_TRIPLES, "nq": RdfFormat.N_QUADS}


@pytest.mark.parametrize(
    ("text", "extension"),
    [row[1:] for row in AGREEING],
    ids=[f"{name}, {extension}" for name, _, extension in AGREEING],
)
def test_the_tokenizer_agrees_with_pyoxigraph(text: str, extension: str, tmp_path: Path) -> None:
    content = text.encode(errors="surrogateescape")
    assert_agrees(
        read(written(tmp_path / f"x.{extension}", content)),
        pyoxigraph.parse(content, format=FORMATS[extension]),
    )


@pytest.mark.parametrize("extension", ["nt", "nq"])
@pytest.mark.parametrize("line", REFUSED.values(), ids=REFUSED)
def test_lines_that_pyoxigraph_refuses_are_errors_with_their_line_number(
    line: str | bytes, extension: str, tmp_path: Path
) -> None:
    bad = line.encode() if isinstance(line, str) else line
    with pytest.raises(SyntaxError):
        list(pyoxigraph.parse(bad, format=FORMATS[extension]))
    path = written(
        tmp_path / f"x.{extension}", b"<a:> <b:> <c:> .\n# two\n" + bad + b"\n<a:> <b:> <d:> .\n"
    )
    with pytest.raises(SyntaxProblem, match=re.escape(f"{path}:3: ")):
        read(path)
    reading = read(path, on_error="skip")
    assert reading.nodes == [("a:", "b:", "c:"), ("a:", "b:", "d:")]
    assert [problem.place for problem in reading.census.problems] == [f"{path}:3"]


@pytest.mark.parametrize(
    "text", ["<a:> <b:> <c:> <g:> .", "<a:> <b:> <c:> <g:> <h:> .", '<a:> <b:> <c:> "g" .']
)
def test_graph_names_are_invalid_in_ntriples(text: str, tmp_path: Path) -> None:
    with pytest.raises(SyntaxProblem, match=r"x\.nt:1: "):
        read(written(tmp_path / "x.nt", text))


def test_a_byte_order_mark_is_skipped_in_every_syntax(tmp_path: Path) -> None:
    for extension, content in _family_in_every_syntax().items():
        plain = read(written(tmp_path / f"plain{extension}", content))
        marked = read(written(tmp_path / f"marked{extension}", b"\xef\xbb\xbf" + content))
        assert marked.nodes == plain.nodes, extension
        assert plain.nodes, extension
    assert read(written(tmp_path / "only.nt", b"\xef\xbb\xbf")).statements == []


@pytest.mark.parametrize("length", [(1 << 19) - 10, 1 << 19, 3 << 19, (1 << 24) - 100])
def test_very_long_lines_are_read(length: int, tmp_path: Path) -> None:
    iri, string = "http://e/" + "x" * length, "é" * (length // 2)
    text = f'<a:> <b:> <{iri}> .\n<a:> <b:> <c:> .\n<a:> <b:> "{string}" .\n<a:> <b:> <d:> .\n'
    reading = read(written(tmp_path / "x.nt", text))
    assert reading.nodes == [("a:", "b:", iri), ("a:", "b:", "c:"), ("a:", "b:", "d:")]
    assert len(reading.literals) == 1


def _many_lines(count: int) -> str:
    """Lines of all kinds, some for pyoxigraph, with more terms than fit into one batch."""
    kinds = (
        "<http://e/s{0}> <http://e/p{1}> <http://e/o{0}> .",
        '_:b{0} <http://e/p{1}> "value {1}"@en .',
        "<http://e/\\u00e9{0}> <http://e/p{1}> _:é{1} . # ü",
        "# ünï {0}",
        "<a:> <b:> <<( <a:> <b:> <c:{0}> )>> .",
        '<http://e/s{1}> <http://e/p> "{0}"^^<http://e/d> .\r',
        "<a:r{0}> <b:> <c:{0}> .\r<a:t{0}> <b:> <c:u{0}> .",
    )
    return "".join(kinds[i % len(kinds)].format(i, i % 11) + "\n" for i in range(count))


@pytest.mark.parametrize(
    ("block", "threads"), [(64, 1), (4096, 2), (1 << 19, 1), (1 << 19, 2), (1 << 19, 4)]
)
def test_block_size_and_threads_do_not_change_the_result(
    block: int, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = _many_lines(2_000 if block < 1 << 19 else 25_000)
    monkeypatch.setattr(lines_module, "BLOCK_SIZE", block)
    reading = read(written(tmp_path / "x.nt", text), threads=threads)
    assert_agrees(reading, pyoxigraph.parse(text.encode(), format=RdfFormat.N_TRIPLES))


SHORTEST = {
    "triples": ("_:c<b:>_:c.\n", {}),
    "literals": ('_:c<b:>"".\n', {}),
    "literals in carriage returns": ('_:c<b:>"".\r', {}),
    "lenient": ("<a><b><c>.\n", {"lenient": True}),
    "lenient literals": ('<a><b>"".\n', {"lenient": True}),
    "blank nodes": ("".join(f"_:{i:x}<b:>_:{i:x}.\n" for i in range(20)), {}),
    "columns": ("a\tb\tc\n", {"format": "tsv"}),
    "words of literals": ('_:c<b:>"aa bb cc dd".\n', {"literals": "values,words"}),
    "numbers": (
        '_:c<b:>"1"^^<http://www.w3.org/2001/XMLSchema#int>.\n',
        {"literals": "values,numbers"},
    ),
    "labels": ('_:c<http://www.w3.org/2000/01/rdf-schema#label>"\x7f".\n', {}),
}


@pytest.mark.parametrize(("line", "parameters"), SHORTEST.values(), ids=SHORTEST)
def test_the_shortest_statements_fit_into_a_batch(
    line: str, parameters: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Kernels do not check bounds. Larger batches detect a write beyond the end of the normal ones.
    batches = _with_larger_batches(monkeypatch)
    written(tmp_path / "x.nt", line * 500)
    written(tmp_path / "y.nt", line * 500)
    # With two documents, blank nodes get a prefix.
    read(tmp_path / "x.nt", tmp_path / "y.nt", **parameters)
    _assert_batches_were_large_enough(batches)


@pytest.mark.parametrize("shift", range(4))
def test_a_batch_that_becomes_full_within_a_line_has_space_for_the_line(
    shift: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = _with_larger_batches(monkeypatch)
    # Lines that end in a carriage return come as one line, which pyoxigraph parses. The batch
    # becomes full at such a line. `shift` moves that place to each of four positions.
    text = (
        "".join(f"<a:{i}> <b:> <c:{i}> .\r<a:x{i}> <b:> <c:x{i}> .\n" for i in range(4_500))
        + "<a:> <b:> <c:> .\n" * 1_000
    )
    text = "".join(f"<a:> <b:> <y:{i}> .\n" for i in range(shift)) + text
    reading = read(written(tmp_path / "x.nt", text))
    assert_agrees(reading, pyoxigraph.parse(text.encode(), format=RdfFormat.N_TRIPLES))
    assert len(batches) > 1
    _assert_batches_were_large_enough(batches)


def _with_larger_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> list[tuple[batches.Batch, batches.Batch]]:
    """Make batches larger; the list pairs each with a batch of the normal size."""
    made: list[tuple[batches.Batch, batches.Batch]] = []
    new_batch = tokenize.new_batch

    def spacious(size: int, *options: Any) -> batches.Batch:
        made.append((new_batch(size + (1 << 20), *options), new_batch(size, *options)))
        return made[-1][0]

    monkeypatch.setattr(tokenize, "new_batch", spacious)
    return made


def _assert_batches_were_large_enough(made: Sequence[tuple[batches.Batch, batches.Batch]]) -> None:
    assert made
    for used, planned in made:
        state = used.state
        assert state[batches.TRIPLES] <= len(planned.triples)
        assert state[batches.LITERALS] <= min(len(planned.literals), len(planned.literal_keys))
        assert state[batches.LABELS] <= len(planned.labels)
        assert state[batches.LABEL_BYTES] <= len(planned.label_blob)
        assert used.terms.size[1] <= len(planned.terms.blob)
        assert used.events.size[0] <= len(planned.events.keys)
        assert used.events.size[1] <= len(planned.events.values)


def test_blank_nodes_belong_to_their_document(tmp_path: Path) -> None:
    contents = {
        "a.nt": "_:x <p:> _:y .\n_:x <p:> _:é .\n",
        "b.ttl": "_:x <p:> _:y . _:x <p:> _:é .",
        "c.tsv": "_:x\tp:\t_:y\n_:x\tp:\t_:é\n",
    }
    paths = [written(tmp_path / name, text) for name, text in contents.items()]
    subjects = {s for s, _, _ in read(*paths).statements}
    assert len(subjects) == 3
    assert read_census([str(path) for path in paths], Config()).blank_nodes == 9
    assert {s for s, _, _ in read(paths[0]).statements} == {"_:x"}
    # A label that looks like a prefixed label of another document is a different blank node.
    first = written(tmp_path / "d.nt", "_:d1_x <p:> _:y .\n")
    assert (
        len(
            {
                s
                for s, _, _ in read(
                    first, written(tmp_path / "e.nt", "_:x <p:> _:y .\n_:d1_x <p:> _:y .\n")
                ).statements
            }
        )
        == 3
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.ttl", "[] <p:> <o:> .\n" * 200),
        ("x.jsonld", "[" + ",".join(['{"http://e/p": {"@id": "http://e/o"}}'] * 200) + "]"),
    ],
)
def test_blank_nodes_without_a_label_get_the_same_names_each_time(
    name: str, text: str, tmp_path: Path
) -> None:
    path = written(tmp_path / name, text)
    first, second = (list(Run(path, Config()).read().terms) for _ in range(2))
    assert first == second
    assert len(first) == 202


def test_triple_terms_are_counted_and_skipped(tmp_path: Path) -> None:
    text = "<a:> <b:> <<( <c:> <d:> <e:> )>> .\n<a:> <b:> <c:> .\n"
    for name in ("x.nt", "x.nq", "x.ttl", "x.trig"):
        census = read_census(written(tmp_path / name, text), Config())
        assert (census.statements, census.triples, census.triple_terms, census.errors) == (
            2,
            1,
            1,
            0,
        ), name


# --------------------------------------------------------------------------------------------------
# Syntaxes, compressions and kinds of inputs
# --------------------------------------------------------------------------------------------------

GRAPH = """<http://e/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/C> .
<http://e/a> <http://e/knows> <http://e/b> .
<http://e/b> <http://e/knows> <http://e/é漢😀> .
<http://e/b> <http://e/knows> _:n .
_:n <http://e/knows> _:m .
_:m <http://e/knows> <http://e/a> .
<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "A, \\"quoted\\""@en .
<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "A, \\"quoted\\"" .
<http://e/b> <http://e/age> "7"^^<http://www.w3.org/2001/XMLSchema#integer> .
_:n <http://e/note> "one\\ntwo\\t\\u00e9" .
"""


def _family_in_every_syntax() -> dict[str, bytes]:
    quads = list(pyoxigraph.parse(GRAPH.encode(), format=RdfFormat.N_TRIPLES))
    contents = {
        extension: pyoxigraph.serialize((quad.triple for quad in quads), format=form) or b""
        for extension, form in (
            (".nt", RdfFormat.N_TRIPLES),
            (".ttl", RdfFormat.TURTLE),
            (".rdf", RdfFormat.RDF_XML),
        )
    }
    for extension, form in (
        (".nq", RdfFormat.N_QUADS),
        (".trig", RdfFormat.TRIG),
        (".jsonld", RdfFormat.JSON_LD),
    ):
        contents[extension] = (
            pyoxigraph.serialize(
                (
                    Quad(quad.subject, quad.predicate, quad.object, NamedNode("http://e/g"))
                    for quad in quads
                ),
                format=form,
            )
            or b""
        )
    rows = [[str(node) for node in quad.triple] for quad in quads]
    contents[".tsv"] = "".join("\t".join(row) + "\n" for row in rows).encode()
    table = io.StringIO()
    csv.writer(table).writerows(
        [cell.removeprefix("<").removesuffix(">") if cell.startswith("<") else cell for cell in row]
        for row in rows
    )
    contents[".csv"] = table.getvalue().encode()
    return contents


def _graph_of(*inputs: str | Path, **parameters: Any) -> set[Statement]:
    """The triples of the graph, by name."""
    graph = Run(list(inputs), Config(**parameters)).read()
    terms = list(graph.terms)
    return {
        (terms[s], terms[graph.predicates[p]], terms[o])
        for s, p, o in zip(graph.subjects, graph.predicate_positions, graph.objects, strict=True)
    }


@pytest.mark.usefixtures("fixed_hashes")
@pytest.mark.parametrize(
    "extension", [".nt", ".nq", ".ttl", ".trig", ".rdf", ".jsonld", ".tsv", ".csv"]
)
def test_every_syntax_and_compression_gives_the_same_graph(extension: str, tmp_path: Path) -> None:
    expected = read(written(tmp_path / "expected.nt", GRAPH))
    assert (len(expected.nodes), len(expected.literals)) == (6, 4)
    content = _family_in_every_syntax()[extension]
    for suffix, pack in PACK.items():
        for name in (f"x{extension}{suffix}", f"X{extension}{suffix}".upper()):
            path = written(tmp_path / name, pack(content))
            assert canonical(read(path).statements) == canonical(expected.statements), name
        assert canonical(_graph_of(path)) == canonical(expected.nodes), path
    # The first bytes determine the compression if the name does not.
    assert canonical(
        read(written(tmp_path / f"hidden{extension}", gzip.compress(content))).statements
    ) == canonical(expected.statements)


@pytest.mark.parametrize("suffix", [suffix for suffix in PACK if suffix])
def test_archives_with_several_members_are_read_completely(suffix: str, tmp_path: Path) -> None:
    members = [
        PACK[suffix](f"<a:{i}> <b:> <c:".encode()) + PACK[suffix](f"{i}> .\n".encode())
        for i in range(5)
    ]
    assert [
        s for s, _, _ in read(written(tmp_path / f"x.nt{suffix}", b"".join(members))).nodes
    ] == [f"a:{i}" for i in range(5)]


def test_all_extensions_of_a_syntax_are_recognised(tmp_path: Path) -> None:
    contents = _family_in_every_syntax()
    others = {
        ".ntriples": ".nt",
        ".nquads": ".nq",
        ".turtle": ".ttl",
        ".owl": ".rdf",
        ".xml": ".rdf",
        ".rdfs": ".rdf",
        ".json": ".jsonld",
    }
    for other, extension in others.items():
        assert len(read(written(tmp_path / f"x{other}", contents[extension])).nodes) == 6, other


def test_the_format_overrides_the_extension(tmp_path: Path) -> None:
    contents = _family_in_every_syntax()
    for form, extension in (
        ("turtle", ".ttl"),
        ("NTriples", ".nt"),
        ("rdf", ".rdf"),
        ("jsonld", ".jsonld"),
        ("tsv", ".tsv"),
    ):
        for name in ("x.txt", "x", "x.csv", "x.nq"):
            assert (
                len(read(written(tmp_path / name, contents[extension]), format=form).nodes) == 6
            ), (form, name)


def test_directories_are_read_recursively_and_globs_match_several_files(
    tmp_path: Path,
) -> None:
    for name, content in (
        ("b.nt", "<b:> <p:> <o:> ."),
        ("a.ttl", "<a:> <p:> <o:> ."),
        ("sub/deep/c.tsv", "c:\tp:\to:"),
        ("sub/d.nq.gz", gzip.compress(b"<d:> <p:> <o:> <g:> .")),
    ):
        written(tmp_path / "in" / name, content)
    written(tmp_path / "in" / "README.md", "no RDF")
    folder = str(tmp_path / "in")

    def subjects(*inputs: str) -> list[str]:
        return [s for s, _, _ in read(*inputs).nodes]

    assert subjects(folder) == ["a:", "b:", "d:", "c:"]
    assert subjects(f"{folder}/*.nt", f"{folder}/sub") == ["b:", "d:", "c:"]
    assert subjects(f"{folder}/**/*.[tn][sq]*") == ["d:", "c:"]
    assert subjects(f"{folder}/b.nt", f"{folder}/a.ttl", f"{folder}/b.nt") == ["b:", "a:", "b:"]


def test_an_existing_file_name_takes_precedence_over_a_glob(tmp_path: Path) -> None:
    assert read(written(tmp_path / "x[1]*.nt", "<a:> <b:> <c:> .")).nodes == [("a:", "b:", "c:")]


@pytest.mark.parametrize("extension", [".nt", ".ttl", ".rdf", ".jsonld", ".csv"])
def test_standard_input_is_read_with_a_format(
    extension: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(_family_in_every_syntax()[extension]))
    )
    assert len(read("-", format=extension[1:]).nodes) == 6


def test_standard_input_needs_a_format_and_is_named_in_errors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(UsageError, match='`format="ntriples"`'):
        read("-")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"<a:> <b:> <c:> .\nx\n")))
    with pytest.raises(SyntaxProblem, match="standard input:2: "):
        read("-", format="nt")


def test_a_named_pipe_is_read_from_its_first_byte() -> None:
    # A shell passes such a pipe for <(zcat x.nt.gz). Its first bytes can be read only once.
    out, into = os.pipe()
    with open(into, "wb") as pipe:
        pipe.write(b"<a:> <b:> <c:> .\n")
    try:
        assert read(f"/dev/fd/{out}", format="nt").nodes == [("a:", "b:", "c:")]
    finally:
        os.close(out)


def test_files_of_different_syntaxes_form_one_graph_in_any_order(tmp_path: Path) -> None:
    contents = _family_in_every_syntax()
    paths = [
        written(tmp_path / f"x{extension}", contents[extension])
        for extension in (".rdf", ".nt", ".tsv", ".jsonld")
    ]
    named = {row for row in _graph_of(paths[1]) if "_:" not in "".join(row)}
    assert len(named) == 3
    for order in itertools.islice(itertools.permutations(paths), 0, 24, 7):
        triples = _graph_of(*order)
        assert {row for row in triples if "_:" not in "".join(row)} == named
        assert len(triples) == 3 + 4 * 3  # files do not share blank nodes
    assert (
        read_census([str(path) for path in paths], Config()).duplicates == 3 * 3 + 3 * 3
    )  # and the literals beside IRIs are not


# Two have relative IRIs and need a base. None needs lenient reading.
NEED_BASE = ("iswc-2012-complete.rdf", "w3c-turtle-earl.jsonld.gz", "w3c-turtle-earl.ttl")
SAMPLES = {
    "Brick-1.4.ttl": 60_604,
    "dbpedia-eunis_links.nt": 11_235,
    "dbpedia-wordnet_links.nt.bz2": 437_797,
    "iswc-2005-complete.ttl": 9_713,
    "iswc-2012-complete.rdf": 16_941,
    "nomisma-rome.rdf": 205,
    "schema.org.nq": 17_823,
    "w3c-turtle-earl.jsonld.gz": 38_226,
    "w3c-turtle-earl.ttl": 38_268,
    "wikipathways-20201210_full.trig.gz": 394_342,
}


def test_every_sample_is_in_the_list(data: Path) -> None:
    assert {path.name for path in (data / "rdf-samples").iterdir()} == set(SAMPLES)


@pytest.mark.parametrize("name", SAMPLES)
def test_real_files_are_read(name: str, data: Path) -> None:
    base = "http://example.com/" if name in NEED_BASE else None
    census = read_census(data / "rdf-samples" / name, Config(base=base))
    assert (census.statements, census.errors) == (SAMPLES[name], 0)
    assert (
        census.triples + census.literals + census.duplicates + census.triple_terms
        == census.statements
    )


@pytest.mark.parametrize("name", ["schema.org.nq", "dbpedia-eunis_links.nt"])
def test_real_lines_agree_with_pyoxigraph(name: str, data: Path) -> None:
    path = data / "rdf-samples" / name
    assert_agrees(read(path), pyoxigraph.parse(path=path))


# --------------------------------------------------------------------------------------------------
# Invalid input
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["missing.nt", "missing/*.nt", "-missing"])
def test_a_missing_file_is_an_error(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoInput, match=re.escape(name)) as caught:
        read(name)
    assert caught.value.exit_code == 66


def test_no_input_is_an_error() -> None:
    with pytest.raises(NoInput, match="no input: pass a file"):
        read()


def test_an_unreadable_file_is_an_error(family: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = find.find_documents([family])
    family.unlink()
    with pytest.raises(NoInput, match=re.escape(str(family))):
        list(tokenize.read_batches(found, Config(), Census(), Progress()))


def test_a_broken_link_in_a_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.nt").symlink_to(tmp_path / "gone.nt")
    with pytest.raises(NoInput, match=re.escape("x.nt")):
        read(tmp_path)


@pytest.mark.parametrize("content", ["", "# nothing\n", "\n\n", '<a:> <b:> "only a literal" .\n'])
def test_a_file_without_triples_cannot_be_embedded(content: str, tmp_path: Path) -> None:
    path = written(tmp_path / "x.nt", content)
    with pytest.raises(EmptyGraph, match=re.escape(str(path))) as caught:
        embed(path)
    assert caught.value.exit_code == 65


def _pseudo_random(count: int) -> bytes:
    """Lines that compress badly: their archives have several blocks."""
    return b"".join(
        b"<a:%x> <b:> <c:%x> .\n" % (i * 2654435761 % 2**32, i * 40503 % 65537)
        for i in range(count)
    )


@pytest.mark.parametrize("extension", [".nt", ".ttl", ".tsv", ".jsonld", ".rdf"])
@pytest.mark.parametrize("suffix", [suffix for suffix in PACK if suffix])
def test_a_truncated_archive_is_an_error(suffix: str, extension: str, tmp_path: Path) -> None:
    content = {
        ".tsv": _pseudo_random(5000).replace(b" .\n", b"\n").replace(b" ", b"\t"),
        ".jsonld": b"["
        + b",".join(
            b'{"@id":"a:%x","b:":{"@id":"c:%x"}}' % (i * 2654435761 % 2**32, i) for i in range(5000)
        )
        + b"]",
        ".rdf": _family_in_every_syntax()[".rdf"],
    }.get(extension, _pseudo_random(5000))
    packed = PACK[suffix](content)
    path = tmp_path / f"x{extension}{suffix}"
    for length in (len(packed) // 2, len(packed) - 1):
        for on_error in ("stop", "skip"):  # a truncated archive is more than an invalid line
            with pytest.raises(DataError, match=re.escape(str(path))) as caught:
                read(written(path, packed[:length]), on_error=on_error)
            assert not isinstance(caught.value, SyntaxProblem), (
                f"blamed on the text: {caught.value}"
            )
            assert caught.value.exit_code == 65


@pytest.mark.parametrize("suffix", [suffix for suffix in PACK if suffix])
@pytest.mark.parametrize("extension", [".nt", ".ttl"])
def test_a_damaged_archive_is_an_error(suffix: str, extension: str, tmp_path: Path) -> None:
    pack = (
        PACK[suffix] if suffix != ".zst" else zstandard.ZstdCompressor(write_checksum=True).compress
    )
    packed = bytearray(pack(_pseudo_random(5000)))
    for i in range(len(packed) // 2, len(packed) // 2 + 200):
        packed[i] ^= 0xA5
    path = written(tmp_path / f"x{extension}{suffix}", bytes(packed))
    with pytest.raises(DataError, match=re.escape(str(path))) as caught:
        read(path, on_error="skip")
    assert caught.value.exit_code == 65


@pytest.mark.parametrize("suffix", [suffix for suffix in PACK if suffix])
def test_a_plain_file_with_the_name_of_an_archive_is_an_error(suffix: str, tmp_path: Path) -> None:
    path = written(tmp_path / f"x.nt{suffix}", GRAPH)
    with pytest.raises(DataError, match=re.escape(str(path))):
        read(path)


@pytest.mark.parametrize(
    "extension", [".nt", ".nq", ".ttl", ".trig", ".rdf", ".jsonld", ".tsv", ".csv"]
)
def test_a_binary_file_is_refused(extension: str, tmp_path: Path) -> None:
    content = bytes(i * i * 31 % 251 for i in range(10_000))
    path = written(tmp_path / f"x{extension}", b"\x7fELF\x02\x01\x01\x00" + content)
    with pytest.raises(DataError, match=re.escape(str(path))):
        read(path)


@pytest.mark.parametrize("name", ["x.txt", "x", "x.gz", "x.nt.zip", "x.nt.bak"])
def test_an_unknown_extension_is_an_error(name: str, tmp_path: Path) -> None:
    path = written(tmp_path / name, GRAPH)
    with pytest.raises(UsageError, match=re.escape(str(path)) + ".*`format`") as caught:
        read(path)
    assert caught.value.exit_code == 2


def test_an_unknown_format_is_an_error(family: Path) -> None:
    with pytest.raises(UsageError, match=r"'n3'.*turtle"):
        read(family, format="n3")


def test_turtle_with_the_extension_of_ntriples_is_an_error_that_suggests_format(
    tmp_path: Path,
) -> None:
    path = written(tmp_path / "x.nt", "# a comment\n@prefix e: <http://e/> .\ne:a e:b e:c .\n")
    with pytest.raises(
        SyntaxProblem, match=re.escape(f"{path}:2: ") + ".*Read as ntriples; set `format`"
    ):
        read(path)


def test_an_empty_directory_is_an_error(tmp_path: Path) -> None:
    written(tmp_path / "sub" / "notes.txt", "x")
    with pytest.raises(NoInput, match=re.escape(str(tmp_path))):
        read(tmp_path)


def test_an_unreadable_directory_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Root, who may run the tests, can read every directory.
    written(tmp_path / "x.nt", GRAPH)
    (tmp_path / "locked").mkdir()
    scandir = os.scandir

    def guarded(path: str) -> Any:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    with pytest.raises(NoInput, match="locked: Permission denied"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("extension", "text"),
    [
        (".nt", b'<a:> <b:> <c:> .\n<a:> <b:> "'),
        (".ttl", b'<a:> <b:> <c:> .\n<a:> <b:> "'),
        (".nt", b""),
    ],
)
def test_a_line_over_16_mib_is_refused(extension: str, text: bytes, tmp_path: Path) -> None:
    path = written(tmp_path / f"x{extension}", text + b"x" * (17 << 20))
    with pytest.raises(DataError, match=re.escape(str(path)) + ".*16 MiB"):
        read(path)


XML = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
    '<rdf:Description rdf:about="a"><e:p rdf:resource="b"/></rdf:Description></rdf:RDF>'
)
RELATIVE = {
    ".ttl": "\n<a> <http://e/p> <b> .",
    ".trig": "\n<g> { <a> <http://e/p> <b> }",
    ".rdf": "<?xml version='1.0'?>\n" + XML,
}


@pytest.mark.parametrize("extension", RELATIVE)
def test_relative_iris_need_a_base(extension: str, tmp_path: Path) -> None:
    path = written(tmp_path / f"x{extension}", RELATIVE[extension])
    with pytest.raises(SyntaxProblem, match=re.escape(f"{path}:2: ")):
        read(path)
    assert read(path, base="http://base/x/").nodes == [
        ("http://base/x/a", "http://e/p", "http://base/x/b")
    ]


def test_relative_iris_of_jsonld_are_resolved_with_the_base(tmp_path: Path) -> None:
    path = written(tmp_path / "x.jsonld", '{"@id": "a", "http://e/p": {"@id": "b"}}')
    assert read(path, base="http://base/x/").nodes == [
        ("http://base/x/a", "http://e/p", "http://base/x/b")
    ]


@pytest.mark.parametrize("extension", [".ttl", ".trig", ".rdf", ".jsonld"])
def test_a_base_that_is_not_an_iri_is_refused(extension: str, tmp_path: Path) -> None:
    content = RELATIVE.get(extension, '{"@id": "a", "http://e/p": {"@id": "b"}}')
    with pytest.raises(PykeError, match="not an iri"):
        read(written(tmp_path / f"x{extension}", content), base="not an iri")


def test_lenient_reading_keeps_invalid_iris(tmp_path: Path) -> None:
    for name, content in (
        ("x.nt", "<http://e/a b> <b:> <c> .\n"),
        ("x.ttl", "<http://e/a b> <b:> <http://e/%> ."),
        ("x.rdf", XML),
    ):
        path = written(tmp_path / name, content)
        with pytest.raises(SyntaxProblem):
            read(path)
        assert (
            len(read(path, lenient=True, base=None if name == "x.nt" else "http://base/").nodes)
            == 1
        ), name


@pytest.mark.parametrize("threads", [1, 2])
def test_skipping_counts_invalid_lines_and_lists_the_first_with_their_numbers(
    threads: int, tmp_path: Path
) -> None:
    lines = [f"<http://e/s{i}> <http://e/p> <http://e/o{i}> ." for i in range(60_000)]
    bad = [0, 1, 17, 9_999, 10_000, 30_000, 30_001, 45_678, 59_998, 59_999]
    for i in bad:
        lines[i] = "this is no triple"
    path = written(tmp_path / "x.nt", "\n".join(lines))
    assert path.stat().st_size > 4 * lines_module.BLOCK_SIZE
    reading = read(path, on_error="skip", threads=threads)
    assert len(reading.nodes) == 60_000 - len(bad)
    assert [problem.place for problem in reading.census.problems] == [
        f"{path}:{i + 1}" for i in bad
    ]
    assert reading.census.errors == len(bad)
    with pytest.raises(SyntaxProblem, match=re.escape(f"{path}:45679: ")):
        read(
            written(
                path,
                "\n".join(
                    line if i == 45_678 else f"<a:{i}> <b:> <c:> ." for i, line in enumerate(lines)
                ),
            ),
            threads=threads,
        )


def test_only_the_first_problems_are_kept_but_all_are_counted(tmp_path: Path) -> None:
    census = read(
        written(tmp_path / "x.nt", "bad\n" * 1_000),
        written(tmp_path / "y.ttl", "<a:> <b:> <c d> .\n" * 3),
        on_error="skip",
    ).census
    assert census.errors == 1_003
    assert [problem.place for problem in census.problems] == [
        f"{tmp_path / 'x.nt'}:{i}" for i in range(1, problems.PROBLEMS_KEPT + 1)
    ]


@pytest.mark.parametrize("extension", [".ttl", ".trig"])
def test_skipping_continues_after_an_error_in_turtle(extension: str, tmp_path: Path) -> None:
    path = written(
        tmp_path / f"x{extension}",
        "@prefix e: <http://e/> .\ne:a e:p e:b .\ne:a e:p <a b> .\ne:c e:p e:d .\n",
    )
    reading = read(path, on_error="skip")
    assert reading.nodes == [
        ("http://e/a", "http://e/p", "http://e/b"),
        ("http://e/c", "http://e/p", "http://e/d"),
    ]
    assert [problem.place for problem in reading.census.problems] == [f"{path}:3"]


def test_skipping_keeps_statements_before_an_error_in_xml(tmp_path: Path) -> None:
    text = (
        XML.replace('"a"', '"http://e/a"')
        .replace('"b"', '"http://e/b"')
        .replace("</rdf:RDF>", "\n<rdf:li/>\n</rdf:RDF>")
    )
    path = written(tmp_path / "x.rdf", text)
    with pytest.raises(SyntaxProblem, match=re.escape(f"{path}:2: ")):
        read(path)
    reading = read(path, on_error="skip")
    assert (reading.nodes, reading.census.errors) == (
        [("http://e/a", "http://e/p", "http://e/b")],
        1,
    )


TABLES = {
    "two columns": ("a\tb\tc\nd\te\n", "two.tsv:2: 2 columns"),
    "four columns": ("a\tb\tc\n\nd\te\tf\tg\n", "four.tsv:3: 4 columns"),
    "spaces for tabs": ("a b c\n", "spaces.tsv:1: 1 columns"),
    "empty cell": ("a\t\tc\n", "empty.tsv:1: "),
    "blank predicate": ("a\t_:b\tc\n", "blank.tsv:1: "),
    "literal subject": ('"a"\tb\tc\n', "literal.tsv:1: "),
    "literal predicate": ('a\t"b"\tc\n', "literal.tsv:1: "),
    "open literal": ('a\tb\t"c\n', "open.tsv:1: "),
    "open IRI": ("a\tb\t<c\n", "open.tsv:1: "),
    "invalid escape": ('s\tp\to\n\na\tb\t"\\q"\n', "invalid.tsv:3: "),
    "invalid language": ('a\tb\t"c"@e1\n', "invalid.tsv:1: "),
    "invalid blank node": ("a\tb\t_:-\n", "invalid.tsv:1: "),
    "comma, two columns": ("a,b,c\nd,e\n", "comma,.csv:2: 2 columns"),
    "comma, open quotation": ('a,b,c\na,b,"c\n', "comma,.csv:2: "),
}


@pytest.mark.parametrize(("text", "message"), TABLES.values(), ids=TABLES)
def test_invalid_tables_are_errors_with_a_line_number(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(SyntaxProblem, match=re.escape(str(tmp_path / message))):
        read(written(tmp_path / message.partition(":")[0], text))


@pytest.mark.parametrize(
    "header", ["subject\tpredicate\tobject", "Head\tRelation\tTail", "\ufeffs\tp\to", "h\tr\tt\r"]
)
def test_the_header_of_a_table_is_skipped(header: str, tmp_path: Path) -> None:
    assert read(written(tmp_path / "x.tsv", f"{header}\na\tb\tc\n")).nodes == [("a", "b", "c")]
    # A header in a later line is a row.
    assert len(read(written(tmp_path / "y.tsv", "a\tb\tc\ns\tp\to\n")).nodes) == 2


@pytest.mark.parametrize("character", ["\u2028", "\u0085", "\x0b", "\x0c", "\x1c", "\u00a0"])
def test_only_line_breaks_end_the_lines_of_a_table(character: str, tmp_path: Path) -> None:
    reading = read(written(tmp_path / "x.tsv", f'a\tb\t"x{character}y"\na\tb\tx{character}y\n'))
    assert (reading.nodes, len(reading.literals)) == ([("a", "b", f"x{character}y")], 1)


def test_tables_take_long_cells(tmp_path: Path) -> None:
    text = "x" * 200_000
    assert len(read(written(tmp_path / "x.tsv", f'a\tb\t"{text}"\n')).literals) == 1
    assert read(written(tmp_path / "x.csv", f"a,b,{text}\n")).nodes == [("a", "b", text)]


BAD_BYTES = {
    ".nt": b'<a:> <b:> <c:> .\n<a:> <b:> "\xff" .\n',
    ".ttl": b'<a:> <b:> <c:> .\n<a:> <b:> "\xff" .\n',
    ".tsv": b"a\tb\tc\na\tb\t\xff\n",
}


@pytest.mark.parametrize("extension", BAD_BYTES)
def test_invalid_utf8_is_an_error_with_a_line_number(extension: str, tmp_path: Path) -> None:
    path = written(tmp_path / f"x{extension}", BAD_BYTES[extension])
    with pytest.raises(SyntaxProblem, match=re.escape(f"{path}:2: ")):
        read(path)
    reading = read(path, on_error="skip")
    assert len(reading.nodes) == 1
    assert reading.census.problems[0].place == f"{path}:2"


@pytest.mark.parametrize("extension", [".nt", ".ttl", ".rdf", ".jsonld", ".tsv"])
def test_no_thread_outlives_an_error(extension: str, tmp_path: Path) -> None:
    before = set(threading.enumerate())
    path = written(tmp_path / f"x{extension}", b"\xff\n" + _pseudo_random(100_000))
    with pytest.raises(DataError):
        read(path)
    assert set(threading.enumerate()) <= before


def test_reading_can_stop_early(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    for name in ("x.nt", "x.ttl"):
        batches = tokenize.read_batches(
            find.find_documents([written(tmp_path / name, _pseudo_random(200_000))]),
            Config(),
            Census(),
            Progress(),
        )
        assert next(batches) is not None
        batches.close()  # type: ignore[attr-defined]
    assert set(threading.enumerate()) <= before


UNWRITABLE = {
    "an IRI like a blank node": "<_:x>",
    "an empty IRI": "<>",
    "an IRI that ends its line": "<a:o\\u003E\\u0020.\\u0020#>",
}


@pytest.mark.parametrize("iri", UNWRITABLE.values(), ids=UNWRITABLE)
@pytest.mark.parametrize("name", ["x.nt", "x.nq", "x.ttl", "x.trig"])
def test_iris_that_nquads_cannot_represent_are_refused_also_if_lenient(
    name: str, iri: str, tmp_path: Path
) -> None:
    path = written(tmp_path / name, f"_:x <a:p> <a:o> .\n<a:s> <a:p> {iri} .\n")
    with pytest.raises(SyntaxProblem):
        read(path, lenient=True)
    assert read(path, lenient=True, on_error="skip").census.errors == 1


def test_the_validity_of_a_line_does_not_depend_on_earlier_lines(tmp_path: Path) -> None:
    """The tokenizer guesses terms of earlier lines, but <_:x> is not the blank node _:x."""
    path = written(
        tmp_path / "x.nt",
        "_:x <a:p> _:x .\n<_:x> <a:p> <_:x> .\n_:x <a:p> <_:x> .\n_:x <_:x> _:x .\n",
    )
    assert read(path, on_error="skip").census.errors == 3


def test_hidden_files_and_embeddings_in_a_directory_are_ignored_and_other_files_counted(
    family: Path, tmp_path: Path
) -> None:
    for name in (".hidden.nt", "package.json", "notes.md"):
        (tmp_path / name).write_text("not RDF")
    embed_to(tmp_path / "out", family, Config(dimensions=2))
    assert [document.name for document in find.find_documents([tmp_path])] == [str(family)]
    assert find.count_skipped_files([tmp_path]) == 2
    assert read_census(tmp_path, Config()).files_passed_over == 2


def test_pipes_devices_and_sockets_in_a_directory_are_skipped(family: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.nt")
    os.mkfifo(tmp_path / "pipe.nt.gz")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device.ttl").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "socket.nq"))
        for inputs in ([tmp_path], [f"{tmp_path}/*.nt"], [f"{tmp_path}/**"]):
            assert [document.name for document in find.find_documents(inputs)] == [str(family)]
        assert find.count_skipped_files([tmp_path]) == 5
    (tmp_path / "broken.nt").symlink_to("missing")
    with pytest.raises(NoInput, match="No such file"):
        find.find_documents([tmp_path])


def test_a_pipe_that_the_user_names_is_read(family: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.nt")
    writer = threading.Thread(
        target=lambda: (tmp_path / "pipe.nt").write_bytes(family.read_bytes())
    )
    writer.start()
    assert read(tmp_path / "pipe.nt").nodes == read(family).nodes
    writer.join()
