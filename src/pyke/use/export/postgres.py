"""Rows into a table of PostgreSQL with a column of pgvector, by binary COPY: all of them or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pyke.errors import DataError, MissingLibrary, OutputExists, UsageError, WriteError
from pyke.graph.terms import Texts
from pyke.use.export.rows import (
    Options,
    Outcome,
    Part,
    Rows,
    all_bytes,
    as_binary,
    need_pyarrow,
    of_width,
    side_by_side,
    texts_as_binary,
)

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa
    from psycopg import sql

MOST_DIMENSIONS, MOST_INDEXED = 16_000, 2_000  # of pgvector's type, and of its HNSW
LONGEST_INDEXED = 2_600  # bytes of a text in a B-tree, which takes a third of a page
LONGEST_NAME = 63
SECONDS_TO_CONNECT = 10
MARK = "Written by pyke export."  # the table's comment: what has another one is not replaced

# COPY's binary format: a signature, flags and the length of an extension; then tuples; then a count of −1.
HEADER, TRAILER = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
FIELDS = 5
TEXT_TYPE = 25  # its number in every PostgreSQL


def postgres(rows: Rows, _target: str, options: Options) -> Outcome:
    """Makes the table and fills it, in one transaction."""
    need_pyarrow()
    table = _table_name(options.table)
    _check(rows, options)
    nuls = _Nuls()
    with _transaction(options.dsn) as connection:
        _make_table(connection, table, rows.dimensions, options)
        with (
            connection.cursor() as cursor,
            cursor.copy(_sql("COPY {} FROM STDIN (FORMAT BINARY)", table)) as copy,
        ):
            copy.write(HEADER)
            for part in rows.parts():
                copy.write(_tuples(part, nuls))
            copy.write(TRAILER)
        _index(connection, table, rows, options)
        place = f"{options.table} of the database {connection.info.dbname}"
        query = _query(connection, table, rows)
    note = (
        f"{nuls.texts:,} texts had characters of code 0, which are written as question marks."
        if nuls.texts
        else ""
    )
    return Outcome(nuls.texts, note, place, query)


# ---------------------------------------------------------------------------------------------------------------------
# The database
# ---------------------------------------------------------------------------------------------------------------------


def _check(rows: Rows, options: Options) -> None:
    if rows.dimensions > MOST_DIMENSIONS:
        raise DataError(
            f"the vectors have {rows.dimensions:,} dimensions; pgvector takes at most {MOST_DIMENSIONS:,}. Embed with fewer of them."
        )
    if options.index not in ("", "hnsw"):
        raise UsageError(f"--index is {options.index!r}; it can be: hnsw")
    if options.index and rows.dimensions > MOST_INDEXED:
        raise DataError(
            f"the vectors have {rows.dimensions:,} dimensions; an HNSW index takes at most {MOST_INDEXED:,}. Leave --index out."
        )


def _table_name(name: str) -> sql.Identifier:
    try:
        from psycopg import sql
    except ImportError:
        raise MissingLibrary("psycopg", "export to PostgreSQL", "export") from None
    parts = name.split(".")
    if len(parts) > 2 or not all(
        0 < len(part.encode("utf-8", "replace")) <= LONGEST_NAME and part.isprintable()
        for part in parts
    ):
        raise UsageError(
            f"--table is {name!r}; it must be a table, or schema.table, each name of 1 to {LONGEST_NAME} bytes"
        )
    return sql.Identifier(*parts)


def _sql(text: str, *parts: Any) -> sql.Composed:
    from psycopg import sql

    return sql.SQL(text).format(*parts)


@contextmanager
def _transaction(dsn: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection whose work counts when the block ends well. Errors of the database come out as ours, without the password."""
    import psycopg
    from psycopg import errors

    try:
        parameters = {
            "connect_timeout": SECONDS_TO_CONNECT,
            **psycopg.conninfo.conninfo_to_dict(dsn),
            "client_encoding": "utf8",
        }
    except (psycopg.Error, UnicodeError):  # whose text may hold the password
        raise UsageError(
            "--dsn is no connection string of PostgreSQL; it looks like postgresql://user@host:5432/database"
        ) from None
    try:
        with psycopg.connect(**parameters) as connection:
            yield connection
    except errors.DuplicateTable as error:
        raise OutputExists(f"{error.diag.message_primary}; --force replaces it") from None
    except (psycopg.Error, UnicodeError) as error:  # the latter for names of hosts that cannot be
        text = " ".join(str(error).split())
        if password := parameters.get("password"):
            text = text.replace(str(password), "…")
        raise WriteError(
            f"cannot write to PostgreSQL: {text.rstrip('.?')}. Nothing was changed in it."
        ) from None


def _make_table(
    connection: psycopg.Connection[Any], table: sql.Identifier, dimensions: int, options: Options
) -> None:
    from psycopg import errors, sql

    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except errors.InsufficientPrivilege:
        raise WriteError(
            "this user may not add pgvector to the database: let its owner run CREATE EXTENSION vector"
        ) from None
    except (errors.UndefinedFile, errors.FeatureNotSupported):
        raise WriteError(
            "the server has no pgvector: install it there (packages are called postgresql-NN-pgvector)"
        ) from None
    if options.force:
        _drop_own(connection, table, options.table)
    columns = "id int PRIMARY KEY, term text NOT NULL, label text, types text[] NOT NULL, embedding vector({}) NOT NULL"
    connection.execute(_sql(f"CREATE TABLE {{}} ({columns})", table, sql.Literal(dimensions)))
    connection.execute(_sql("COMMENT ON TABLE {} IS {}", table, sql.Literal(MARK)))


def _drop_own(connection: psycopg.Connection[Any], table: sql.Identifier, name: str) -> None:
    """Drops the table if it is there and ours."""
    find = "SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE oid = to_regclass(%s)"
    found = connection.execute(find, [table.as_string(connection)]).fetchone()
    if found and found[0] != MARK:
        raise OutputExists(
            f"{name} exists and was not written by pyke export; it is not replaced. Choose another --table."
        )
    connection.execute(_sql("DROP TABLE IF EXISTS {}", table))


def _index(
    connection: psycopg.Connection[Any], table: sql.Identifier, rows: Rows, options: Options
) -> None:
    """After the rows are there, which is faster than row by row."""
    rows.progress.stage("indexing")
    longest = int(np.diff(rows.term_offsets).max())
    connection.execute(
        _sql(
            "CREATE INDEX ON {} USING hash (term)"
            if longest > LONGEST_INDEXED
            else "ALTER TABLE {} ADD UNIQUE (term)",
            table,
        )
    )
    if options.index:
        connection.execute(_sql("CREATE INDEX ON {} USING hnsw (embedding vector_l2_ops)", table))
    connection.execute(_sql("ANALYZE {}", table))


def _query(connection: psycopg.Connection[Any], table: sql.Identifier, rows: Rows) -> str:
    """How to ask for the neighbours of a term, the first one here."""
    from psycopg import sql

    term = sql.Literal(rows.embedding.terms[rows.ids[0]].replace("\0", "?"))
    query = """SELECT term, label, embedding <-> (SELECT embedding FROM {0} WHERE term = {1}) AS distance
FROM {0} WHERE term <> {1} ORDER BY distance LIMIT 10;"""
    return str(_sql(query, table, term).as_string(connection))


# ---------------------------------------------------------------------------------------------------------------------
# Bytes of COPY: a tuple is a count of fields, and each field a length, −1 for null, and its bytes. All numbers have their high byte first.
# ---------------------------------------------------------------------------------------------------------------------


class _Nuls:
    """Texts of PostgreSQL have no character of code 0: a question mark takes its place, and the text is counted."""

    def __init__(self) -> None:
        self.texts = 0

    def without(self, texts: Texts) -> pa.Array:
        places = np.flatnonzero(texts.blob == 0)
        if len(places):
            self.texts += len(np.unique(np.searchsorted(texts.offsets, places, "right")))
            blob = texts.blob.copy()
            blob[places] = ord("?")
            texts = Texts(blob, texts.offsets)
        return texts_as_binary(texts)


def _tuples(part: Part, nuls: _Nuls) -> memoryview:
    """The rows of a part: id, term, label, types, vector."""
    count, dimensions = part.vectors.shape
    begin = np.tile(
        np.array([(FIELDS, 4, 0)], [("fields", ">i2"), ("size", ">i4"), ("id", ">i4")]), count
    )
    begin["id"] = part.ids
    vectors = np.zeros(
        count,
        [
            ("size", ">i4"),
            ("dimensions", ">i2"),
            ("unused", ">i2"),
            ("numbers", ">f4", (dimensions,)),
        ],
    )
    vectors["size"], vectors["dimensions"], vectors["numbers"] = (
        4 + 4 * dimensions,
        dimensions,
        part.vectors,
    )
    terms = nuls.without(part.terms)
    labels, labelled = part.labels
    names = nuls.without(labels)
    label_sizes = np.where(labelled, _sizes(names), -1)
    columns = (
        of_width(begin),
        _number(_sizes(terms)),
        terms,
        _number(label_sizes),
        names,
        *_arrays(part, nuls),
        of_width(vectors),
    )
    return all_bytes(side_by_side(*columns))


def _arrays(part: Part, nuls: _Nuls) -> tuple[pa.Array, pa.Array]:
    """The types as arrays of texts, in two columns: sizes, and the elements, each with its length before it."""
    classes, offsets = part.types
    texts = nuls.without(classes)
    elements = side_by_side(_number(_sizes(texts)), texts) if len(texts) else texts
    ends = np.append(np.int64(0), np.cumsum(_sizes(elements)))
    by_row = as_binary(np.frombuffer(all_bytes(elements), np.uint8), ends[offsets])
    counts = np.diff(offsets)
    names = ("size", "axes", "nulls", "type", "count", "first")
    heads = np.zeros(len(counts), [(name, ">i4") for name in names])
    heads["size"], heads["axes"], heads["type"], heads["count"], heads["first"] = (
        _sizes(by_row) + 20,
        1,
        TEXT_TYPE,
        counts,
        1,
    )
    return of_width(heads), by_row


def _number(values: NDArray[Any]) -> pa.Array:
    """Four bytes each."""
    return of_width(values.astype(">i4"))


def _sizes(strings: pa.Array) -> NDArray[np.int64]:
    """How many bytes each string has."""
    return np.diff(np.frombuffer(strings.buffers()[1], np.int64)[: len(strings) + 1])
