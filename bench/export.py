"""Seconds of `pyke export` to each format, compared with the format's own library.

Seconds are from a loaded embedding to a synced file (pyke) or a closed file (library). The
libraries get terms as Python strings and vectors as an array in advance, and write only these. Runs
alternate; the best of each counts. MB are those of the vectors. PostgreSQL runs locally and does
not sync. `executemany` inserts the first rows; its seconds are scaled to all of them.
Targets: CSV and word2vec at least 4 times as fast, binary word2vec and PostgreSQL at least twice.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import common
from pyke.embedding.embedding import Embedding, load

MIN_TEXT, MIN_BINARY, MIN_COPY = 4.0, 2.0, 2.0  # times as fast
INSERTED = 20_000


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def libraries(
    e: Embedding, terms: list[str], folder: Path
) -> dict[str, tuple[str, Callable[[], object], float]]:
    """By format: the library, a function that writes, and the target: how many times as fast."""
    import pandas as pd
    from gensim.models import KeyedVectors
    from safetensors.numpy import save_file

    vectors = np.array(e.vectors)
    keyed = KeyedVectors(vectors.shape[1])
    keyed.add_vectors(terms, vectors)
    wide = pd.DataFrame(vectors, index=pd.Index(terms, name="term"))
    blob = np.frombuffer("\n".join(terms).encode(), np.uint8)

    def save_arrays() -> None:
        np.save(folder / "theirs.npy", vectors)
        (folder / "theirs.txt").write_text("\n".join(terms))

    def save_frame() -> None:
        pd.DataFrame({"term": terms, "vector": list(vectors)}).to_parquet(
            folder / "theirs", compression="zstd"
        )

    return {
        "parquet": ("pandas.to_parquet", save_frame, 0),
        "csv": ("pandas.to_csv", lambda: wide.to_csv(folder / "theirs"), MIN_TEXT),
        "npy": ("numpy.save", save_arrays, 0),
        "word2vec": (
            "gensim",
            lambda: keyed.save_word2vec_format(str(folder / "theirs")),
            MIN_TEXT,
        ),
        "word2vec-binary": (
            "gensim",
            lambda: keyed.save_word2vec_format(str(folder / "theirs"), binary=True),
            MIN_BINARY,
        ),
        "safetensors": (
            "safetensors",
            lambda: save_file({"vectors": vectors, "terms": blob}, folder / "theirs"),
            0,
        ),
        "projector": (
            "numpy.savetxt",
            lambda: np.savetxt(folder / "theirs", vectors, "%.9g", "\t"),
            0,
        ),
    }


def row(name: str, e: Embedding, ours: float, library: str, theirs: float) -> dict[str, Any]:
    megabytes = e.vectors.nbytes / 1e6
    return {
        "format": name,
        "seconds": ours,
        "MB/s": megabytes / ours,
        "library": library,
        "its seconds": theirs,
        "times as fast": theirs / ours,
    }


def files(
    e: Embedding, terms: list[str], threads: int, repeat: int
) -> tuple[list[dict[str, Any]], list[str]]:
    rows, misses = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for form, (library, theirs, target) in libraries(e, terms, folder).items():
            pairs = [
                (
                    seconds(partial(e.export, folder / form, form, force=True, threads=threads)),
                    seconds(theirs),
                )
                for _ in range(repeat)
            ]
            rows.append(
                row(
                    form, e, min(pair[0] for pair in pairs), library, min(pair[1] for pair in pairs)
                )
            )
            if rows[-1]["times as fast"] < target:
                misses.append(
                    f"{form}: {rows[-1]['times as fast']:.1f} times as fast, target {target:g}"
                )
    return rows, misses


def database(e: Embedding, terms: list[str], repeat: int) -> tuple[list[dict[str, Any]], list[str]]:
    sys.path.append(str(common.ROOT / "tests"))
    import psycopg

    from postgres_server import running_server

    columns = f"id int PRIMARY KEY, term text UNIQUE, embedding vector({e.vectors.shape[1]})"
    make = f"DROP TABLE IF EXISTS plain; CREATE TABLE plain ({columns})"
    with (
        running_server() as server,
        psycopg.connect(server.dsn(), autocommit=True) as connection,
        connection.cursor() as cursor,
    ):

        def by_copy() -> None:
            with connection.transaction(), cursor.copy("COPY plain FROM STDIN") as copy:
                for i, (term, vector) in enumerate(zip(terms, e.vectors, strict=True)):
                    copy.write_row((i, term, str(vector.tolist())))

        def by_rows() -> None:
            some = (
                (i, terms[i], str(e.vectors[i].tolist())) for i in range(min(INSERTED, len(terms)))
            )
            with connection.transaction():
                cursor.executemany("INSERT INTO plain VALUES (%s, %s, %s)", some)

        ours, copied, inserted = [], [], []
        for _ in range(repeat):
            ours.append(
                seconds(lambda: e.export(to="postgres", dsn=server.dsn(), table="ours", force=True))
            )
            cursor.execute(make)
            copied.append(seconds(by_copy))
            cursor.execute(make)
            inserted.append(seconds(by_rows) * max(1, len(terms) / INSERTED))
    rows = [
        row("postgres", e, min(ours), library, min(took))
        for library, took in (("COPY, write_row", copied), ("executemany", inserted))
    ]
    misses = (
        [f"{rows[0]['library']}: {rows[0]['times as fast']:.1f}, target {MIN_COPY:g}"]
        if rows[0]["times as fast"] < MIN_COPY
        else []
    )
    return rows, misses


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--graph", default="wordnet30")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        common.run(
            common.pyke(
                "embed", common.graph(options.data, options.graph), "-o", out, "--on-error", "skip"
            )
        )
        e = load(out)
        terms = list(e.terms)
        found = [
            files(e, terms, options.threads, options.repeat),
            database(e, terms, options.repeat),
        ]
    columns = {
        "format": "",
        "seconds": ".2f",
        "MB/s": ".0f",
        "library": "",
        "its seconds": ".2f",
        "times as fast": ".1f",
    }
    common.finish(
        columns,
        [r for rows, _ in found for r in rows],
        [miss for _, misses in found for miss in misses],
        options.json,
    )


if __name__ == "__main__":
    main()
