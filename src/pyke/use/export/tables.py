"""Export with pyarrow: Parquet, and text with the shortest decimals that lose no bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pyke.core.arrow import concatenated, join_columns, require_pyarrow, rows_as_bytes
from pyke.core.compress import Block
from pyke.core.files import Content, write_directory, write_stream
from pyke.core.parallel import ordered_map
from pyke.core.tables import number_lines, parquet_blocks, quoted, separated_text
from pyke.errors import DamagedStore, DataError
from pyke.graph.terms import Texts
from pyke.use.export.rows import Options, Outcome, Part, Rows, texts_as_bytes

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_BYTES = 32 << 20  # of a row group of Parquet
PURPOSE = "this export format"

PROJECTOR_CONFIG = b"""embeddings {
  tensor_name: "pyke"
  tensor_path: "tensors.tsv"
  metadata_path: "metadata.tsv"
}
"""


# --------------------------------------------------------------------------------------------------
# Parquet
# --------------------------------------------------------------------------------------------------


def parquet(rows: Rows, target: str, options: Options) -> Outcome:
    """Write term, label, types and vector as Parquet."""
    require_pyarrow(PURPOSE)

    def columns(part: Part) -> dict[str, Any]:
        return {
            "term": strings(part.terms),
            "label": _labels(part),
            "types": _types(part),
            "vector": lists(part.vectors),
        }

    write_stream(target, parquet_groups(rows, columns), options.force)
    return Outcome()


def parquet_groups(rows: Rows, columns: Callable[[Part], dict[str, Any]]) -> Iterator[Block]:
    """The bytes of a Parquet file with the columns of each part."""
    import pyarrow as pa

    groups = (pa.table(columns(part)) for part in rows.parts(GROUP_BYTES))
    first = next(groups)
    texts = [
        name
        for name in ("term", "label", "type", "cluster", "types.list.element")
        if name.split(".")[0] in first.column_names
    ]
    # The numbers of vectors hardly repeat, and nobody filters by them: no dictionary and no
    # statistics. Split by bytes they compress better.
    yield from parquet_blocks(
        first.schema,
        chain([first], groups),
        use_dictionary=texts[1:],
        write_statistics=texts,
        use_byte_stream_split=["vector.list.element"],
    )


def strings(texts: Texts) -> pa.Array:
    """Texts as Arrow strings."""
    import pyarrow as pa

    try:
        return texts_as_bytes(texts).cast(pa.string())
    except pa.ArrowInvalid as error:  # the reader accepts valid UTF-8 only
        raise DamagedStore(f"a term or a label is not valid UTF-8: {error}") from None


def _labels(part: Part) -> pa.Array:
    """The label of each row, or null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    labels, present = part.labels
    return pc.if_else(pa.array(present), strings(labels), None)


def _types(part: Part) -> pa.Array:
    """A list of classes per row."""
    import pyarrow as pa

    classes, offsets = part.types
    return pa.ListArray.from_arrays(offsets.astype(np.int32), strings(classes))


def _first_types(part: Part) -> pa.Array:
    """The first class of each row, or null."""
    import pyarrow as pa

    classes, offsets = part.types
    starts, present = offsets[:-1], np.diff(offsets) > 0
    return strings(classes).take(pa.array(starts, mask=~present))


def lists(numbers: NDArray[Any]) -> pa.Array:
    """The rows of an array as lists of fixed size, which need no offsets of 32 bits."""
    import pyarrow as pa

    return pa.FixedSizeListArray.from_arrays(pa.array(numbers.reshape(-1)), numbers.shape[1])


# --------------------------------------------------------------------------------------------------
# Text
# --------------------------------------------------------------------------------------------------


def csv(rows: Rows, target: str, options: Options) -> Outcome:
    """Write a line per term: the term, and a column per dimension."""
    return _separated(",", rows, target, options)


def tsv(rows: Rows, target: str, options: Options) -> Outcome:
    """Write the same as `csv`, separated by tabs."""
    return _separated("\t", rows, target, options)


def _separated(separator: str, rows: Rows, target: str, options: Options) -> Outcome:
    require_pyarrow(PURPOSE)

    def lines(part: Part) -> memoryview:
        terms = quoted(separator, texts_as_bytes(part.terms))
        return number_lines(separator, part.vectors, terms)

    names = ["term", *(f"d{i}" for i in range(rows.dimensions))]
    blocks = separated_text(separator, names, rows.parts(), lines, options.threads)
    write_stream(target, blocks, options.force, options.threads)
    return Outcome()


def word2vec(rows: Rows, target: str, options: Options) -> Outcome:
    """Write the text format of word2vec."""
    return _word2vec(
        rows, target, options, lambda part, keys: number_lines(" ", part.vectors, keys)
    )


def word2vec_binary(rows: Rows, target: str, options: Options) -> Outcome:
    """Write the binary format of word2vec; the bytes equal those that gensim writes."""

    def records(part: Part, keys: pa.Array) -> memoryview:
        vectors = rows_as_bytes(part.vectors.astype("<f4"))
        return concatenated(join_columns(keys, b" ", vectors))

    return _word2vec(rows, target, options, records)


def _word2vec(
    rows: Rows, target: str, options: Options, render: Callable[[Part, pa.Array], memoryview]
) -> Outcome:
    require_pyarrow(PURPOSE)
    keys = _Keys()

    def lines(part: Part) -> memoryview:
        return render(part, keys.of(part))

    def blocks() -> Iterator[Block]:
        yield f"{len(rows)} {rows.dimensions}\n".encode()
        yield from ordered_map(lines, rows.parts(), options.threads)
        keys.check()

    write_stream(target, blocks(), options.force, options.threads)
    note = ""
    if keys.altered:
        note = f"{keys.altered:,} keys had spaces or control characters; they are percent-encoded."
    return Outcome(keys.altered, note)


class _Keys:
    """Keys of word2vec, which end at a space: spaces and control characters are percent-encoded."""

    def __init__(self) -> None:
        self._altered: list[int] = []  # per part: threads must not add to one number
        self._with_percent: list[Any] = []

    def of(self, part: Part) -> pa.Array:
        """The keys of a part's terms."""
        import pyarrow as pa
        import pyarrow.compute as pc

        keys = texts_as_bytes(part.terms)
        data = np.frombuffer(concatenated(keys), np.uint8)
        special = np.unique(data[data <= ord(" ")])
        if len(special):
            before = keys
            for code in special.tolist():
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
        """The number of keys that differ from their terms."""
        return sum(self._altered)

    def check(self) -> None:
        """Raise an error if two terms got the same key: readers would keep one of them."""
        import pyarrow as pa

        if self.altered:
            keys = pa.concat_arrays(self._with_percent)
            if len(keys.unique()) < len(keys):
                raise DataError(
                    "two terms differ only in how a space is encoded; in word2vec they would "
                    "share one key. Choose another format."
                )


def projector(rows: Rows, target: str, options: Options) -> Outcome:
    """Write a directory for TensorFlow's Embedding Projector: tensors, metadata and its config."""
    require_pyarrow(PURPOSE)
    altered: list[int] = []
    tensors = ordered_map(
        lambda part: number_lines("\t", part.vectors), rows.parts(), options.threads
    )
    contents: dict[str, Content] = {
        "tensors.tsv": tensors,
        "metadata.tsv": _metadata(rows, altered),
        "projector_config.pbtxt": PROJECTOR_CONFIG,
    }
    manifest = {"format": "tensorflow-projector", "terms": len(rows), "dimensions": rows.dimensions}
    write_directory(Path(target), contents, manifest, options.force)
    count = sum(altered)
    note = ""
    if count:
        note = f"{count:,} texts had tabs or line breaks; they are replaced by spaces."
    return Outcome(count, note)


def _metadata(rows: Rows, altered: list[int]) -> Iterator[Block]:
    """Lines of term, label and first type; appends the number of altered texts to `altered`."""
    import pyarrow.compute as pc

    yield b"term\tlabel\ttype\n"
    for part in rows.silent.parts():  # a second pass, after the tensors
        terms = strings(part.terms)
        labels, types = pc.coalesce(_labels(part), terms), pc.fill_null(_first_types(part), "")
        columns = []
        for column in (terms, labels, types):
            cleaned = pc.replace_substring_regex(column, pattern="[\t\r\n]", replacement=" ")
            altered.append(pc.sum(pc.not_equal(column, cleaned)).as_py())
            columns.append(cleaned.cast("large_binary"))
        term, label, kind = columns
        yield concatenated(join_columns(term, b"\t", label, b"\t", kind, b"\n"))
