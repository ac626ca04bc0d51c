"""Rows that pyarrow writes: Parquet, and text with numbers as short as they can be without losing a bit."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.files import Content, new_file, write_directory, write_stream
from pyke.core.parallel import in_order
from pyke.core.progress import Progress
from pyke.errors import DamagedStore, DataError
from pyke.graph.terms import Texts
from pyke.use.export.rows import (
    Options,
    Outcome,
    Part,
    Rows,
    all_bytes,
    need_pyarrow,
    of_width,
    side_by_side,
    texts_as_binary,
)
from pyke.use.figures import project
from pyke.use.neighbours import search

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_BYTES = 32 << 20  # of a row group of Parquet


# ---------------------------------------------------------------------------------------------------------------------
# Parquet
# ---------------------------------------------------------------------------------------------------------------------


def parquet(rows: Rows, target: str, options: Options) -> Outcome:
    """Term, label, types and vector."""
    need_pyarrow()

    def columns(part: Part) -> dict[str, Any]:
        return {
            "term": _strings(part.terms),
            "label": _labels(part),
            "types": _types(part),
            "vector": _lists(part.vectors),
        }

    _write_parquet(rows, target, options, columns)
    return Outcome()


def atlas(rows: Rows, target: str, options: Options) -> Outcome:
    """What Embedding Atlas shows: a text and a class, a place on the map, and the nearest rows by number."""
    need_pyarrow()
    import pyarrow.compute as pc

    prepared: dict[str, Any] = {}

    def columns(part: Part) -> dict[str, Any]:
        if not prepared:  # when the target is known to be writable
            prepared.update(_map_of(rows, options))
        at = slice(*np.searchsorted(rows.ids, [part.ids[0], part.ids[-1] + 1]))
        terms = _strings(part.terms)
        made = {
            "term": terms,
            "label": pc.coalesce(_labels(part), terms),
            "type": _first_types(part),
        }
        return (
            made
            | {name: column[at] for name, column in prepared.items()}
            | {"vector": _lists(part.vectors)}
        )

    _write_parquet(rows, target, options, columns)
    return Outcome()


def _map_of(rows: Rows, options: Options) -> dict[str, Any]:
    """Two principal components of all rows, and their neighbours if they are wanted."""
    import pyarrow as pa

    vectors = rows.vectors
    rows.progress.stage("projection")
    places = project(vectors)
    made = {"x": pa.array(places[:, 0]), "y": pa.array(places[:, 1])}
    k = min(options.neighbours, len(rows) - 1)
    if k:
        rows.progress.stage("neighbours", len(rows), "terms")
        nearest = search.nearest_of_many(
            vectors,
            vectors,
            k,
            np.arange(len(rows)),
            threads=options.threads,
            progress=rows.progress,
        )
        ids, distances = (_lists(part) for part in (nearest.ids, np.sqrt(nearest.squares)))
        made["neighbors"] = pa.StructArray.from_arrays(
            [ids, distances], ["ids", "distances"]
        )  # spelt as Embedding Atlas does
    rows.progress.stage("writing", len(rows), "terms")
    return made


def _write_parquet(
    rows: Rows, target: str, options: Options, columns: Callable[[Part], dict[str, Any]]
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with new_file(target, options.force) as file:
        # Arrow does not look at how much was written: a buffered file writes all or raises.
        buffered = io.BufferedWriter(file)
        groups = (pa.table(columns(part)) for part in rows.parts(GROUP_BYTES))
        first = next(groups)
        # Vectors have no numbers that come again and again, and no least or greatest one that anybody asks for; split by bytes they pack better.
        texts = [
            name
            for name in ("term", "label", "type", "types.list.element")
            if name.split(".")[0] in first.column_names
        ]
        how = {
            "use_dictionary": texts[1:],
            "write_statistics": texts,
            "use_byte_stream_split": ["vector.list.element"],
        }
        with pq.ParquetWriter(buffered, first.schema, compression="zstd", **how) as writer:
            for group in chain([first], groups):
                writer.write_table(group, row_group_size=len(group))
        buffered.detach()  # flushes; the file is closed by its owner


def _strings(texts: Texts) -> pa.Array:
    import pyarrow as pa

    try:
        return texts_as_binary(texts).cast(pa.string())
    except pa.ArrowInvalid as error:  # our reader lets no such text in
        raise DamagedStore(f"a term or a label is no text: {error}") from None


def _labels(part: Part) -> pa.Array:
    """One per row, or null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    labels, present = part.labels
    return pc.if_else(pa.array(present), _strings(labels), None)


def _types(part: Part) -> pa.Array:
    """A list per row."""
    import pyarrow as pa

    classes, offsets = part.types
    return pa.ListArray.from_arrays(offsets.astype(np.int32), _strings(classes))


def _first_types(part: Part) -> pa.Array:
    """One per row, or null."""
    import pyarrow as pa

    classes, offsets = part.types
    starts, present = offsets[:-1], np.diff(offsets) > 0
    return _strings(classes).take(pa.array(starts, mask=~present))


def _lists(numbers: NDArray[Any]) -> pa.Array:
    """The rows of an array as lists, however many there are: those of equal sizes have no offsets."""
    import pyarrow as pa

    return pa.FixedSizeListArray.from_arrays(pa.array(numbers.reshape(-1)), numbers.shape[1])


# ---------------------------------------------------------------------------------------------------------------------
# Text
# ---------------------------------------------------------------------------------------------------------------------


def csv(rows: Rows, target: str, options: Options, separator: str = ",") -> Outcome:
    """A line per term: the term, and a column per dimension."""
    need_pyarrow()
    header = separator.join(["term", *(f"d{i}" for i in range(rows.dimensions))]) + "\n"

    def lines(part: Part) -> memoryview:
        return _lines(part, separator, _quoted(texts_as_binary(part.terms), separator))

    _write_text(rows, target, options, header, lines)
    return Outcome()


def tsv(rows: Rows, target: str, options: Options) -> Outcome:
    """The same with tabs."""
    return csv(rows, target, options, "\t")


def word2vec(rows: Rows, target: str, options: Options) -> Outcome:
    """The text format of word2vec."""
    return _word2vec(rows, target, options, lambda part, keys: _lines(part, " ", keys))


def word2vec_binary(rows: Rows, target: str, options: Options) -> Outcome:
    """The binary format of word2vec, byte by byte as gensim writes it."""
    return _word2vec(
        rows,
        target,
        options,
        lambda part, keys: all_bytes(
            side_by_side(keys, b" ", of_width(part.vectors.astype("<f4")))
        ),
    )


def _word2vec(
    rows: Rows, target: str, options: Options, render: Callable[[Part, Any], memoryview]
) -> Outcome:
    need_pyarrow()
    keys = _Keys()
    _write_text(
        rows,
        target,
        options,
        f"{len(rows)} {rows.dimensions}\n",
        lambda part: render(part, keys.of(part)),
        keys.check,
    )
    note = (
        f"{keys.altered:,} keys had spaces or control characters, which are written as %20 and the like."
        if keys.altered
        else ""
    )
    return Outcome(keys.altered, note)


class _Keys:
    """Terms as keys that end at a space: characters up to the space are percent-encoded, and counted."""

    def __init__(self) -> None:
        self._altered: list[int] = []  # by part: threads do not add to one number
        self._with_percent: list[Any] = []

    def of(self, part: Part) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        keys = texts_as_binary(part.terms)
        data = np.frombuffer(all_bytes(keys), np.uint8)
        odd = np.unique(data[data <= ord(" ")])
        if len(odd):
            before = keys
            for code in odd.tolist():
                keys = pc.replace_substring(
                    keys, pattern=bytes([code]), replacement=b"%%%02X" % code
                )
            self._altered.append(pc.sum(pc.not_equal(before, keys)).as_py())
        self._with_percent.append(
            keys.filter(pc.match_substring(keys, pattern=b"%")).cast(pa.large_binary())
        )
        return keys

    @property
    def altered(self) -> int:
        return sum(self._altered)

    def check(self) -> None:
        """Refuses keys that are equal now: what reads them would keep one."""
        import pyarrow as pa

        if self.altered:
            keys = pa.concat_arrays(self._with_percent)
            if len(keys.unique()) < len(keys):
                raise DataError(
                    "two terms differ only in how a space is written: in word2vec they would have one key. Other formats keep them apart."
                )


def projector(rows: Rows, target: str, options: Options) -> Outcome:
    """What TensorFlow's Embedding Projector loads: tensors, metadata, and the file that names them."""
    need_pyarrow()
    import pyarrow.compute as pc

    altered = 0

    def metadata() -> Iterator[memoryview | bytes]:
        nonlocal altered
        yield b"term\tlabel\ttype\n"
        for part in replace(rows, progress=Progress()).parts():
            terms = _strings(part.terms)
            columns = []
            for column in (
                terms,
                pc.coalesce(_labels(part), terms),
                pc.fill_null(_first_types(part), ""),
            ):
                cleaned = pc.replace_substring_regex(column, pattern="[\t\r\n]", replacement=" ")
                altered += pc.sum(pc.not_equal(column, cleaned)).as_py()
                columns.append(cleaned.cast("large_binary"))
            term, label, kind = columns
            yield all_bytes(side_by_side(term, b"\t", label, b"\t", kind, b"\n"))

    contents: dict[str, Content] = {
        "tensors.tsv": in_order(lambda part: _lines(part, "\t"), rows.parts(), options.threads),
        "metadata.tsv": metadata(),
        "projector_config.pbtxt": b'embeddings {\n  tensor_name: "pyke"\n  tensor_path: "tensors.tsv"\n  metadata_path: "metadata.tsv"\n}\n',
    }
    write_directory(
        Path(target),
        contents,
        {"format": "tensorflow-projector", "terms": len(rows), "dimensions": rows.dimensions},
        options.force,
    )
    note = (
        f"{altered:,} texts had tabs or line breaks, which are written as spaces."
        if altered
        else ""
    )
    return Outcome(altered, note)


def _nothing() -> None:
    pass


def _write_text(
    rows: Rows,
    target: str,
    options: Options,
    header: str,
    lines: Callable[[Part], memoryview],
    check: Callable[[], None] = _nothing,
) -> None:
    def blocks() -> Iterator[bytes | memoryview]:
        yield header.encode()
        yield from in_order(lines, rows.parts(), options.threads)
        check()

    write_stream(target, blocks(), options.force, options.threads)


def _lines(part: Part, separator: str, keys: pa.Array | None = None) -> memoryview:
    """A line per row: the key, if there are keys, and the numbers, each as short as it can be to read back as it was."""
    import pyarrow as pa
    import pyarrow.compute as pc

    count, dimensions = part.vectors.shape
    numbers = pa.array(part.vectors.reshape(-1)).cast(pa.large_string()).cast(pa.large_binary())
    rows = pa.LargeListArray.from_arrays(np.arange(count + 1) * dimensions, numbers)
    joined = pc.binary_join(rows, pa.scalar(separator.encode(), pa.large_binary()))
    return all_bytes(
        side_by_side(*((keys, separator.encode()) if keys is not None else ()), joined, b"\n")
    )


def _quoted(texts: pa.Array, separator: str) -> pa.Array:
    """Fields of CSV: in quotes where they would not be read back otherwise."""
    import pyarrow.compute as pc

    odd = pc.match_substring_regex(texts, pattern=f'[{separator}"\r\n]')
    if not pc.any(odd).as_py():
        return texts
    return pc.if_else(
        odd,
        side_by_side(b'"', pc.replace_substring(texts, pattern=b'"', replacement=b'""'), b'"'),
        texts,
    )
