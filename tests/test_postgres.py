"""Export to PostgreSQL with pgvector: a real server, its own answers, and all that it can refuse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Command
from graphs import made_up
from postgres_server import Server, running_server
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import DataError, Interrupted, OutputExists, UsageError, WriteError
from pyke.graph.terms import Terms

SECRET = "open%20sesame"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """PostgreSQL with pgvector. The user `guest` needs a password, and may do little."""
    with running_server() as made:
        made.ask("CREATE ROLE guest LOGIN PASSWORD 'open sesame'")
        yield made


@pytest.fixture
def database(server: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    """An empty database, gone afterwards."""
    name = f"db{abs(hash(request.node.name)) % 10**9}"
    server.ask(f"CREATE DATABASE {name}")
    yield name
    server.ask(f"DROP DATABASE {name} WITH (FORCE)")


def vector(text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    """pgvector's text, back in numbers."""
    return np.array(text.strip("[]").split(","), np.float32)


def test_what_is_in_the_table_is_what_was_in_the_embedding(server: Server, database: str) -> None:
    e = made_up()
    written = e.export(to="postgres", dsn=server.dsn(database), table="terms")
    rows = server.ask(
        "SELECT id, term, label, types, embedding::text FROM terms ORDER BY id", database
    )
    assert written.terms == len(rows) == len(e)
    assert [row[0] for row in rows] == list(range(len(e)))
    assert [row[1] for row in rows] == [term.replace("\0", "?") for term in e.terms]
    labels = [e.label(i) for i in range(len(e))]
    assert [row[2] for row in rows] == [label and label.replace("\0", "?") for label in labels]
    types = [[e.terms[int(kind)] for who, kind in e.types if who == i] for i in range(len(e))]
    assert [row[3] for row in rows] == types
    assert np.array_equal(
        np.stack([vector(row[4]) for row in rows]).view(np.int32), e.vectors.view(np.int32)
    )


def test_texts_with_a_character_of_code_0_are_counted(server: Server, database: str) -> None:
    e = made_up()
    terms = Terms.of(["http://e/nul\0nul\0", *list(e.terms)[1:]])
    written = replace(e, terms=terms).export(to="postgres", dsn=server.dsn(database), table="terms")
    assert written.altered == 2  # a term and a label
    assert "question marks" in written.note
    assert "http://e/nul?nul?" in written.query
    assert server.ask("SELECT label FROM terms WHERE term = 'http://e/nul?nul?'", database) == [
        (e.label(0),)
    ]


def test_nearest_neighbours_of_pgvector_are_ours(server: Server, database: str) -> None:
    e = made_up(rows=400, extreme=False)
    e.export(to="postgres", dsn=server.dsn(database), table="terms")
    for term in list(e.terms)[50:70]:
        own = f"(SELECT embedding FROM terms WHERE term = '{term}')"
        theirs = server.ask(
            f"SELECT term, embedding <-> {own} AS d FROM terms WHERE term <> '{term}' ORDER BY d LIMIT 9",
            database,
        )
        ours = e.nearest(term, 9)
        assert np.allclose([row[1] for row in theirs], [n.distance for n in ours], rtol=1e-5)
        gaps = np.diff([n.distance for n in e.nearest(term, 10)])
        if gaps.min() > 1e-5:  # no ties
            assert [row[0] for row in theirs] == [n.term for n in ours]


def test_the_query_that_is_shown_can_be_asked(
    server: Server, database: str, tmp_path: Path, pyke: Command
) -> None:
    e = made_up(extreme=False)
    e.save(tmp_path / "e")
    run = pyke(
        "export",
        tmp_path / "e",
        "--to",
        "postgres",
        "--dsn",
        server.dsn(database),
        "--table",
        'public.odd "name"',
        "--only",
        "typed",
    )
    assert run.returncode == 0, run.stderr
    query = run.stdout[run.stdout.index("SELECT") :]
    first = e.terms[int(e.types[:, 0].min())]
    typed = sorted(set(e.types[:, 0].tolist()))
    distances = sorted(float(np.linalg.norm(e.vectors[i] - e[first])) for i in typed[1:])
    assert np.allclose([row[2] for row in server.ask(query, database)], distances[:10], rtol=1e-5)


def test_the_index_is_made_and_used(server: Server, database: str) -> None:
    e = made_up(rows=2000)
    written = e.export(to="postgres", dsn=server.dsn(database), table="terms", index="hnsw")
    plan = "\n".join(row[0] for row in server.ask(f"EXPLAIN {written.query}", database))
    assert "terms_embedding_idx" in plan


def test_terms_too_long_for_a_tree_have_a_hash_index(server: Server, database: str) -> None:
    e = made_up(longest=50_000)
    e.export(to="postgres", dsn=server.dsn(database), table="terms")
    (longest,) = [term for term in e.terms if len(term) > 40_000]
    assert server.ask(f"SELECT count(*) FROM terms WHERE term = '{longest}'", database) == [(1,)]
    assert "USING hash (term)" in str(
        server.ask("SELECT indexdef FROM pg_indexes WHERE tablename = 'terms'", database)
    )


def test_a_table_that_exists_is_replaced_only_by_force_and_only_if_it_is_ours(
    server: Server, database: str
) -> None:
    e, dsn = made_up(), server.dsn(database)
    e.export(to="postgres", dsn=dsn, table="terms", only="predicates")
    with pytest.raises(OutputExists, match="--force"):
        e.export(to="postgres", dsn=dsn, table="terms")
    assert server.ask("SELECT count(*) FROM terms", database) == [(len(e.predicates),)]
    e.export(to="postgres", dsn=dsn, table="terms", force=True)
    assert server.ask("SELECT count(*) FROM terms", database) == [(len(e),)]
    server.ask("CREATE TABLE salaries (name text)", database)
    with pytest.raises(OutputExists, match="not written by pyke"):
        e.export(to="postgres", dsn=dsn, table="salaries", force=True)
    assert server.ask("SELECT count(*) FROM salaries", database) == [(0,)]


def test_an_interrupted_export_leaves_nothing_and_what_it_would_replace(
    server: Server, database: str
) -> None:
    class Impatient(Progress):
        def advance(self, done: int) -> None:
            raise Interrupted(2)

    e, dsn = made_up(), server.dsn(database)
    with pytest.raises(Interrupted):
        e.export(to="postgres", dsn=dsn, table="terms", progress=Impatient())
    assert server.ask("SELECT count(*) FROM pg_class WHERE relname = 'terms'", database) == [(0,)]
    e.export(to="postgres", dsn=dsn, table="terms")
    with pytest.raises(Interrupted):
        e.export(to="postgres", dsn=dsn, table="terms", force=True, progress=Impatient())
    assert server.ask("SELECT count(*) FROM terms", database) == [(len(e),)]


def test_a_user_without_rights_is_told_who_must_help(server: Server, database: str) -> None:
    dsn = server.dsn(database, f"guest:{SECRET}")
    with pytest.raises(WriteError, match="CREATE EXTENSION vector"):
        made_up().export(to="postgres", dsn=dsn, table="terms")
    server.ask("CREATE EXTENSION vector", database)
    with pytest.raises(WriteError, match="permission denied for schema public"):
        made_up().export(to="postgres", dsn=dsn, table="terms")
    server.ask("CREATE SCHEMA guest AUTHORIZATION guest", database)
    made_up().export(to="postgres", dsn=dsn, table="guest.terms")
    assert server.ask("SELECT count(*) > 0 FROM guest.terms", database) == [(True,)]


def test_a_server_without_pgvector_is_told_apart(server: Server, database: str) -> None:
    control = server.folder / "pginstall" / "share" / "postgresql" / "extension" / "vector.control"
    control.rename(control.with_suffix(".away"))
    try:
        with pytest.raises(WriteError, match="no pgvector"):
            made_up().export(to="postgres", dsn=server.dsn(database), table="terms")
    finally:
        control.with_suffix(".away").rename(control)


@pytest.mark.parametrize(
    ("user", "host", "code", "words"),
    [
        ("postgres", "/nowhere", 74, "/nowhere"),
        ("guest:swordfish", "", 74, "password authentication failed"),
        ("nobody-known", "", 74, "nobody-known"),
        ("guest:swordfish", "no..host", 74, "cannot write to PostgreSQL"),
    ],
)
def test_a_database_that_cannot_be_reached_is_one_line_without_the_password(
    server: Server, tmp_path: Path, pyke: Command, user: str, host: str, code: int, words: str
) -> None:
    made_up().save(tmp_path / "e")
    dsn = f"postgresql://{user}@/postgres?host={host or server.folder}"
    run = pyke("export", tmp_path / "e", "--to", "postgres", "--table", "terms", "--dsn", dsn)
    assert run.returncode == code
    assert words in run.stderr.splitlines()[-1]
    assert "swordfish" not in run.stderr


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql:/guest:swordfish@host",
        "host=x swordfish",
        "postgresql://guest:swordfish@/x?nonsense=1",
        "host=\udcff",
    ],
)
def test_a_string_that_is_no_dsn_is_not_repeated(dsn: str) -> None:
    with pytest.raises(UsageError, match="no connection string") as caught:
        made_up().export(to="postgres", dsn=dsn, table="terms")
    assert "swordfish" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_the_environment_can_name_the_database(
    server: Server, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGHOST", str(server.folder))
    monkeypatch.setenv("PGUSER", "postgres")
    monkeypatch.setenv("PGDATABASE", database)
    assert (
        made_up().export(to="postgres", table="terms").target == f"terms of the database {database}"
    )


@pytest.mark.parametrize("table", ["", ".", "a.b.c", "a.", "x" * 64, "a\0b", "a\nb"])
def test_names_that_no_table_can_have_are_refused(table: str) -> None:
    with pytest.raises(UsageError, match="--table"):
        made_up().export(to="postgres", table=table)


def test_a_table_in_a_schema_that_is_missing_is_refused_by_the_database(
    server: Server, database: str
) -> None:
    with pytest.raises(WriteError, match='schema "attic" does not exist'):
        made_up().export(to="postgres", dsn=server.dsn(database), table="attic.terms")


@pytest.mark.parametrize(("dimensions", "options"), [(16_001, {}), (2_001, {"index": "hnsw"})])
def test_more_dimensions_than_pgvector_takes_are_refused(
    dimensions: int, options: dict[str, str]
) -> None:
    e: Embedding = made_up()
    wide = replace(e, vectors=np.zeros((len(e), dimensions), np.float32))
    with pytest.raises(DataError, match="dimensions; "):
        wide.export(to="postgres", table="terms", **options)


def test_an_unknown_index_is_refused() -> None:
    with pytest.raises(UsageError, match="hnsw"):
        made_up().export(to="postgres", table="terms", index="tree")
