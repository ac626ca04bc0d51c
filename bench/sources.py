"""About a million rows in memory to a graph, from each kind of source.

The reference writes the rows as N-Triples and reads the file. Target: no source is slower.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from common import finish, parser
from pyke.config import Config
from pyke.evaluate.lubm import Universities, lines
from pyke.pipeline import Run

COLUMNS = {"source": "", "rows": ",", "seconds": ".2f", "ratio": ".2f"}


def seconds_of(work: Callable[[], Any]) -> float:
    """Seconds of the better of two runs."""
    times = []
    for _ in range(2):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def read(source: Any) -> None:
    Run(source, Config()).read()


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--universities", type=int, default=8, help="universities of LUBM [8]")
    given = arguments.parse_args()
    text = b"".join(bytes(block) for block in lines(Universities(given.universities))).decode()
    cells = [line.removesuffix(" .").split(" ", 2) for line in text.splitlines()]
    frame = pd.DataFrame(cells, columns=["s", "p", "o"])
    numbers: dict[str, int] = {}
    ids = np.array([[numbers.setdefault(cell, len(numbers)) for cell in row] for row in cells])
    sources = {
        "pandas DataFrame": frame,
        "polars DataFrame": pl.from_pandas(frame),
        "pyarrow Table": pa.Table.from_pandas(frame, preserve_index=False),
        "array of strings": np.array(cells, object),
        "(ids, terms)": (ids, list(numbers)),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.nt"

        def through_file() -> None:
            with path.open("w") as file:
                file.writelines(
                    f"{s} {p} {o} .\n"
                    for s, p, o in zip(frame["s"], frame["p"], frame["o"], strict=True)
                )
            read(path)

        took = {"a DataFrame, written as N-Triples and read": seconds_of(through_file)}
    took |= {name: seconds_of(partial(read, source)) for name, source in sources.items()}
    limit, *_ = took.values()
    rows: list[dict[str, Any]] = [
        {"source": name, "rows": len(cells), "seconds": seconds, "ratio": seconds / limit}
        for name, seconds in took.items()
    ]
    finish(
        COLUMNS,
        rows,
        [
            f"{row['source']} takes longer than writing and reading a file"
            for row in rows
            if row["ratio"] > 1
        ],
        given.json,
    )


if __name__ == "__main__":
    main()
