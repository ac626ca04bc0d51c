"""Export to PostgreSQL: one table with a pgvector column, filled by binary COPY."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrow import (
    byte_strings,
    concatenated,
    join_columns,
    require_pyarrow,
    rows_as_bytes,
)
from pyke.errors import DataError, MissingLibrary, OutputExists, UsageError, WriteError
from pyke.graph.terms import Texts
from pyke.use.export.rows import Options, Outcome, Part, Rows, texts_as_bytes

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa
    from psycopg import sql

PURPOSE = "export to PostgreSQL"
MAX_DIMENSIONS, MAX_INDEXED_DIMENSIONS = 16_000, 2_000  # of pgvector, and of its HNSW index
MAX_INDEXED_BYTES = 2_600  # of a text in a B-tree: a third of a page
MAX_NAME_BYTES = 63
CONNECT_SECONDS = 10
COMMENT = "Written by pyke export."  # of the table; tables with another comment are never replaced
COLUMNS = """id int PRIMARY KEY, term text NOT NULL, label text, types text[] NOT NULL,
embedding vector({}) NOT NULL"""

# COPY's binary format: a signature, flags and the length of an extension; then tuples; then a count
# of −1.
HEADER, TRAILER = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
FIELDS = 5
TEXT_TYPE = 25  # the object id of `text` in every PostgreSQL


def postgres(
    rows: Rows, _target: str, options: Options, *, dsn: str = "", table: str = "", index: str = ""
) -> Outcome:
    """Create the table and fill it, in one transaction."""
    require_pyarrow(PURPOSE)
    table = table or default_table(options.name)
    name = _identifier(table)
    _check(rows.dimensions, index)
    nuls = _Nuls()
    with _transaction(dsn) as connection:
        _create_extension(connection)
        if options.force:
            _drop_own(connection, name, table)
        _create_table(connection, name, rows.dimensions)
        with (
            connection.cursor() as cursor,
            cursor.copy(_sql("COPY {} FROM STDIN (FORMAT BINARY)", name)) as copy,
        ):
            copy.write(HEADER)
            for part in rows.parts():
                copy.write(_tuples(part, nuls))
            copy.write(TRAILER)
        rows.progress.stage("indexing")
        _create_indexes(connection, name, rows, index)
        place = f"{table} of the database {connection.info.dbname}"
        query = _query(connection, name, rows)
    note = ""
    if nuls.texts:
        note = f"{nuls.texts:,} texts had NUL characters; they are replaced by question marks."
    return Outcome(nuls.texts, note, place, query)


def default_table(name: str) -> str:
    """A table name made of the name of an embedding directory; it needs no quotes in SQL.

    Examples
    --------
    >>> default_table("Codex-M"), default_table("2024")
    ('codex_m', '_2024')
    """
    table = re.sub(r"\W+", "_", name.lower()).strip("_")
    table = f"_{table}" if table[:1].isdigit() else table
    return table.encode()[:MAX_NAME_BYTES].decode("utf-8", "ignore")


# --------------------------------------------------------------------------------------------------
# The database
# --------------------------------------------------------------------------------------------------


def _check(dimensions: int, index: str) -> None:
    """Raise an error if pgvector cannot store or index the vectors."""
    if dimensions > MAX_DIMENSIONS:
        raise DataError(
            f"the vectors have {dimensions:,} dimensions; pgvector takes at most "
            f"{MAX_DIMENSIONS:,}. Embed with fewer `dimensions`."
        )
    if index not in ("", "hnsw"):
        raise UsageError(f'`index` is {index!r}; the only index is "hnsw"')
    if index and dimensions > MAX_INDEXED_DIMENSIONS:
        raise DataError(
            f"the vectors have {dimensions:,} dimensions; an HNSW index takes at most "
            f"{MAX_INDEXED_DIMENSIONS:,}. Omit `index`."
        )


def _identifier(table: str) -> sql.Identifier:
    """The quoted name of a table, or of a schema and a table."""
    try:
        from psycopg import sql
    except ImportError:
        raise MissingLibrary("psycopg", PURPOSE, "export") from None
    if not table:
        raise UsageError('`to="postgres"` needs `table`, the table to create')
    parts = table.split(".")
    if len(parts) > 2 or not all(
        0 < len(part.encode("utf-8", "replace")) <= MAX_NAME_BYTES and part.isprintable()
        for part in parts
    ):
        raise UsageError(
            f"`table` is {table!r}; it must be a table or schema.table, each name with 1 to "
            f"{MAX_NAME_BYTES} bytes"
        )
    return sql.Identifier(*parts)


def _sql(text: str, *parts: Any) -> sql.Composed:
    from psycopg import sql

    return sql.SQL(text).format(*parts)


@contextmanager
def _transaction(dsn: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection that commits at the end of the block; errors never show the password."""
    import psycopg
    from psycopg import errors

    try:
        parameters = {
            "connect_timeout": CONNECT_SECONDS,
            **psycopg.conninfo.conninfo_to_dict(dsn),
            "client_encoding": "utf8",
        }
    except (psycopg.Error, UnicodeError):  # its text may contain the password
        raise UsageError(
            "`dsn` is not a connection string of PostgreSQL; an example is "
            "postgresql://user@host:5432/database"
        ) from None
    try:
        with psycopg.connect(**parameters) as connection:
            yield connection
    except errors.DuplicateTable as error:
        message = f"{error.diag.message_primary}; pass `force=True` to replace it"
        raise OutputExists(message) from None
    except (psycopg.Error, UnicodeError) as error:  # UnicodeError: an invalid host name
        text = " ".join(str(error).split())
        if password := parameters.get("password"):
            text = text.replace(str(password), "…")
        raise WriteError(
            f"cannot write to PostgreSQL: {text.rstrip('.?')}. The database is unchanged."
        ) from None


def _create_extension(connection: psycopg.Connection[Any]) -> None:
    """Add pgvector to the database."""
    from psycopg import errors

    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except errors.InsufficientPrivilege:
        raise WriteError(
            "this user may not add pgvector to the database; ask its owner to run "
            "CREATE EXTENSION vector"
        ) from None
    except (errors.UndefinedFile, errors.FeatureNotSupported):
        raise WriteError(
            "the server does not have pgvector; install it there "
            "(its packages are named postgresql-NN-pgvector)"
        ) from None


def _create_table(
    connection: psycopg.Connection[Any], table: sql.Identifier, dimensions: int
) -> None:
    from psycopg import sql

    connection.execute(_sql(f"CREATE TABLE {{}} ({COLUMNS})", table, sql.Literal(dimensions)))
    connection.execute(_sql("COMMENT ON TABLE {} IS {}", table, sql.Literal(COMMENT)))


def _drop_own(connection: psycopg.Connection[Any], table: sql.Identifier, name: str) -> None:
    """Drop the table if it exists; an error if `pyke export` did not write it."""
    find = "SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE oid = to_regclass(%s)"
    found = connection.execute(find, [table.as_string(connection)]).fetchone()
    if found and found[0] != COMMENT:
        raise OutputExists(
            f"{name} exists and was not written by pyke export; it is not replaced. "
            "Choose another `table`."
        )
    connection.execute(_sql("DROP TABLE IF EXISTS {}", table))


def _create_indexes(
    connection: psycopg.Connection[Any], table: sql.Identifier, rows: Rows, index: str
) -> None:
    """Create the indexes; faster after all rows are inserted."""
    longest = int(np.diff(rows.term_offsets).max())
    if longest > MAX_INDEXED_BYTES:
        connection.execute(_sql("CREATE INDEX ON {} USING hash (term)", table))
    else:
        connection.execute(_sql("ALTER TABLE {} ADD UNIQUE (term)", table))
    if index:
        connection.execute(_sql("CREATE INDEX ON {} USING hnsw (embedding vector_l2_ops)", table))
    connection.execute(_sql("ANALYZE {}", table))


def _query(connection: psycopg.Connection[Any], table: sql.Identifier, rows: Rows) -> str:
    """SQL for the neighbours of the first term."""
    from psycopg import sql

    term = sql.Literal(rows.embedding.terms[rows.ids[0]].replace("\0", "?"))
    query = (
        "SELECT term, label, "
        "embedding <-> (SELECT embedding FROM {0} WHERE term = {1}) AS distance\n"
        "FROM {0} WHERE term <> {1} ORDER BY distance LIMIT 10;"
    )
    return str(_sql(query, table, term).as_string(connection))


# --------------------------------------------------------------------------------------------------
# Bytes of COPY: a tuple is a count of fields, then each field: its length (−1 for null) and bytes.
# Numbers are big-endian.
# --------------------------------------------------------------------------------------------------


class _Nuls:
    """Replaces NUL characters, which PostgreSQL rejects, by question marks; counts the texts."""

    def __init__(self) -> None:
        self.texts = 0

    def replaced(self, texts: Texts) -> pa.Array:
        """Texts without NUL characters, as Arrow byte strings."""
        places = np.flatnonzero(texts.blob == 0)
        if len(places):
            self.texts += len(np.unique(np.searchsorted(texts.offsets, places, "right")))
            blob = texts.blob.copy()
            blob[places] = ord("?")
            texts = Texts(blob, texts.offsets)
        return texts_as_bytes(texts)


def _tuples(part: Part, nuls: _Nuls) -> memoryview:
    """The rows of a part as tuples: id, term, label, types, vector."""
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
    terms = nuls.replaced(part.terms)
    labels, labelled = part.labels
    names = nuls.replaced(labels)
    label_sizes = np.where(labelled, _sizes(names), -1)
    columns = (
        rows_as_bytes(begin),
        _number(_sizes(terms)),
        terms,
        _number(label_sizes),
        names,
        *_arrays(part, nuls),
        rows_as_bytes(vectors),
    )
    return concatenated(join_columns(*columns))


def _arrays(part: Part, nuls: _Nuls) -> tuple[pa.Array, pa.Array]:
    """The types as arrays of texts, in two columns: array headers, and elements with lengths."""
    classes, offsets = part.types
    texts = nuls.replaced(classes)
    elements = join_columns(_number(_sizes(texts)), texts) if len(texts) else texts
    ends = np.append(np.int64(0), np.cumsum(_sizes(elements)))
    by_row = byte_strings(np.frombuffer(concatenated(elements), np.uint8), ends[offsets])
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
    return rows_as_bytes(heads), by_row


def _number(values: NDArray[Any]) -> pa.Array:
    """Numbers of four bytes."""
    return rows_as_bytes(values.astype(">i4"))


def _sizes(strings: pa.Array) -> NDArray[np.int64]:
    """The number of bytes of each string."""
    return np.diff(np.frombuffer(strings.buffers()[1], np.int64)[: len(strings) + 1])
