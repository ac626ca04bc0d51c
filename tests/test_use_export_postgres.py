"""Export to PostgreSQL with pgvector, on a real server: the rows, the errors, the privileges."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import ROOT, Command
from graphs import made_up
from postgres_server import Server, running_server
from pyke.core.progress import Progress
from pyke.embedding.embedding import Embedding
from pyke.errors import DataError, Interrupted, OutputExists, UsageError, WriteError
from pyke.graph.terms import Terms

SECRET = "open%20sesame"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """PostgreSQL with pgvector. The user `guest` has a password and few privileges."""
    with running_server() as made:
        made.ask("CREATE ROLE guest LOGIN PASSWORD 'open sesame'")
        yield made


@pytest.fixture
def database(server: Server, request: pytest.FixtureRequest) -> Iterator[str]:
    """An empty database, dropped afterwards."""
    name = f"db{abs(hash(request.node.name)) % 10**9}"
    server.ask(f"CREATE DATABASE {name}")
    yield name
    server.ask(f"DROP DATABASE {name} WITH (FORCE)")


def vector(text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    """The numbers in a text of pgvector."""
    return np.array(text.strip("[]").split(","), np.float32)


def test_the_table_equals_the_embedding(server: Server, database: str) -> None:
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


def test_texts_with_nul_characters_are_counted(server: Server, database: str) -> None:
    e = made_up()
    terms = Terms.of(["http://e/nul\0nul\0", *list(e.terms)[1:]])
    written = replace(e, terms=terms).export(to="postgres", dsn=server.dsn(database), table="terms")
    assert written.altered == 2  # a term and a label
    assert "question marks" in written.note
    assert "http://e/nul?nul?" in written.query
    assert server.ask("SELECT label FROM terms WHERE term = 'http://e/nul?nul?'", database) == [
        (e.label(0),)
    ]


def test_pgvector_finds_the_same_neighbours(server: Server, database: str) -> None:
    e = made_up(rows=400, extreme=False)
    e.export(to="postgres", dsn=server.dsn(database), table="terms")
    for term in list(e.terms)[50:70]:
        own = f"(SELECT embedding FROM terms WHERE term = '{term}')"
        theirs = server.ask(
            f"SELECT term, embedding <-> {own} AS d FROM terms WHERE term <> '{term}' "
            "ORDER BY d LIMIT 9",
            database,
        )
        ours = e.nearest(term, 9)
        assert np.allclose([row[1] for row in theirs], [n.distance for n in ours], rtol=1e-5)
        gaps = np.diff([n.distance for n in e.nearest(term, 10)])
        if gaps.min() > 1e-5:  # no ties
            assert [row[0] for row in theirs] == [n.term for n in ours]


def test_the_printed_query_runs(
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


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("out", "out"),
        ("Codex-M v2", "codex_m_v2"),
        ("2024", "_2024"),
        ("Übersicht.1", "übersicht_1"),
    ],
)
def test_the_table_has_the_name_of_the_directory_by_default(
    server: Server, database: str, tmp_path: Path, pyke: Command, name: str, table: str
) -> None:
    e = made_up()
    e.save(tmp_path / name)
    run = pyke("export", tmp_path / name, "--to", "postgres", "--dsn", server.dsn(database))
    assert run.returncode == 0, run.stderr
    assert f"{table} of the database {database}" in run.stdout
    assert server.ask(f"SELECT count(*) FROM {table}", database) == [(len(e),)]


def test_an_embedding_without_a_directory_needs_a_table(server: Server) -> None:
    with pytest.raises(UsageError, match='`to="postgres"` needs `table`, the table to create'):
        made_up().export(to="postgres", dsn=server.dsn())


def export_commands() -> list[str]:
    """The `pyke export` command lines in the README and in its guide, without what follows |."""
    texts = [(ROOT / name).read_text() for name in ("README.md", "docs/how-to/export.md")]
    return re.findall(r"^ *(?:\$ )?pyke (export [^#|\n]+)", "\n".join(texts), re.MULTILINE)


@pytest.mark.parametrize("command", export_commands())
def test_the_export_commands_in_the_documents_run(
    server: Server,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pyke: Command,
    command: str,
) -> None:
    arguments = [
        server.dsn(database) if argument.startswith("postgresql://") else argument
        for argument in shlex.split(command)
    ]
    made_up(extreme=False).save(tmp_path / arguments[1])
    monkeypatch.chdir(tmp_path)
    run = pyke(*arguments)
    assert run.returncode == 0, run.stderr


def test_the_documents_export_to_postgres() -> None:
    assert any("--to postgres" in command for command in export_commands())


def test_the_index_is_created_and_used(server: Server, database: str) -> None:
    e = made_up(rows=2000)
    written = e.export(to="postgres", dsn=server.dsn(database), table="terms", index="hnsw")
    plan = "\n".join(row[0] for row in server.ask(f"EXPLAIN {written.query}", database))
    assert "terms_embedding_idx" in plan


def test_terms_too_long_for_a_b_tree_get_a_hash_index(server: Server, database: str) -> None:
    e = made_up(longest=50_000)
    e.export(to="postgres", dsn=server.dsn(database), table="terms")
    (longest,) = [term for term in e.terms if len(term) > 40_000]
    assert server.ask(f"SELECT count(*) FROM terms WHERE term = '{longest}'", database) == [(1,)]
    assert "USING hash (term)" in str(
        server.ask("SELECT indexdef FROM pg_indexes WHERE tablename = 'terms'", database)
    )


def test_force_replaces_only_tables_that_pyke_wrote(server: Server, database: str) -> None:
    e, dsn = made_up(), server.dsn(database)
    e.export(to="postgres", dsn=dsn, table="terms", only="predicates")
    with pytest.raises(OutputExists, match="`force=True`"):
        e.export(to="postgres", dsn=dsn, table="terms")
    assert server.ask("SELECT count(*) FROM terms", database) == [(len(e.predicates),)]
    e.export(to="postgres", dsn=dsn, table="terms", force=True)
    assert server.ask("SELECT count(*) FROM terms", database) == [(len(e),)]
    server.ask("CREATE TABLE salaries (name text)", database)
    with pytest.raises(OutputExists, match="not written by pyke"):
        e.export(to="postgres", dsn=dsn, table="salaries", force=True)
    assert server.ask("SELECT count(*) FROM salaries", database) == [(0,)]


def test_an_interrupted_export_leaves_the_database_unchanged(server: Server, database: str) -> None:
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


def test_the_error_of_a_user_without_privileges_says_what_to_do(
    server: Server, database: str
) -> None:
    dsn = server.dsn(database, f"guest:{SECRET}")
    with pytest.raises(WriteError, match="CREATE EXTENSION vector"):
        made_up().export(to="postgres", dsn=dsn, table="terms")
    server.ask("CREATE EXTENSION vector", database)
    with pytest.raises(WriteError, match="permission denied for schema public"):
        made_up().export(to="postgres", dsn=dsn, table="terms")
    server.ask("CREATE SCHEMA guest AUTHORIZATION guest", database)
    made_up().export(to="postgres", dsn=dsn, table="guest.terms")
    assert server.ask("SELECT count(*) > 0 FROM guest.terms", database) == [(True,)]


def test_a_server_without_pgvector_is_an_error_of_its_own(server: Server, database: str) -> None:
    control = server.folder / "pginstall" / "share" / "postgresql" / "extension" / "vector.control"
    control.rename(control.with_suffix(".away"))
    try:
        with pytest.raises(WriteError, match="does not have pgvector"):
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
def test_a_failed_connection_prints_one_line_without_the_password(
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
def test_the_error_of_an_invalid_dsn_does_not_repeat_it(dsn: str) -> None:
    with pytest.raises(UsageError, match="not a connection string") as caught:
        made_up().export(to="postgres", dsn=dsn, table="terms")
    assert "swordfish" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_environment_variables_can_name_the_database(
    server: Server, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGHOST", str(server.folder))
    monkeypatch.setenv("PGUSER", "postgres")
    monkeypatch.setenv("PGDATABASE", database)
    assert (
        made_up().export(to="postgres", table="terms").target == f"terms of the database {database}"
    )


@pytest.mark.parametrize("table", ["", ".", "a.b.c", "a.", "x" * 64, "a\0b", "a\nb"])
def test_invalid_table_names_are_errors(table: str) -> None:
    with pytest.raises(UsageError, match="`table`"):
        made_up().export(to="postgres", table=table)


def test_a_table_in_a_missing_schema_is_an_error(server: Server, database: str) -> None:
    with pytest.raises(WriteError, match='schema "attic" does not exist'):
        made_up().export(to="postgres", dsn=server.dsn(database), table="attic.terms")


@pytest.mark.parametrize(("dimensions", "options"), [(16_001, {}), (2_001, {"index": "hnsw"})])
def test_more_dimensions_than_pgvector_takes_are_an_error(
    dimensions: int, options: dict[str, str]
) -> None:
    e: Embedding = made_up()
    wide = replace(e, vectors=np.zeros((len(e), dimensions), np.float32))
    with pytest.raises(DataError, match="dimensions; "):
        wide.export(to="postgres", table="terms", **options)


def test_an_unknown_index_is_an_error() -> None:
    with pytest.raises(UsageError, match="hnsw"):
        made_up().export(to="postgres", table="terms", index="tree")
