"""The paper's table of data sets: LUBM(100), (200), (500) and (1000), generated and counted.

Runs `pyke lubm N -o - | pyke info - --keep-duplicates`. Triples (|G|) include duplicates, as in the
paper. The paper's last row has 27 fewer terms (|V|) and typed subjects (|S|) than the data:
27 = 14 classes + 13 predicates, which seem to have been subtracted twice. LUBM(1000) needs about
10 GB of memory.
"""

from __future__ import annotations

import json
import subprocess
import time
from typing import Any

import common

PAPER = {
    100: (9_425_190, 2_179_793, 2_179_766, 14),
    200: (18_770_356, 4_341_336, 4_341_309, 14),
    500: (46_922_188, 10_847_210, 10_847_183, 14),
    1000: (93_927_191, 21_715_108, 21_715_081, 14),
}
COUNTS_1000 = (93_927_191, 21_715_135, 21_715_108, 14)


def count(universities: int) -> tuple[tuple[int, ...], float]:
    began = time.perf_counter()
    with subprocess.Popen(
        common.pyke("lubm", str(universities), "-o", "-"),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as source:
        options = ("--format", "ntriples", "--keep-duplicates", "--json")
        counted = subprocess.run(
            common.pyke("info", "-", *options),
            stdin=source.stdout,
            capture_output=True,
            text=True,
            check=True,
        )
    found = json.loads(counted.stdout)
    return tuple(
        found[key] for key in ("triples", "terms", "typed_subjects", "classes")
    ), time.perf_counter() - began


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(PAPER), choices=list(PAPER))
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    misses = []
    for size in options.sizes:
        found, seconds = count(size)
        paper = (
            "equal" if found == PAPER[size] else " / ".join(f"{number:,}" for number in PAPER[size])
        )
        rows.append(
            {
                "graph": f"LUBM{size}",
                **dict(
                    zip(
                        ("triples", "terms", "typed subjects", "classes"),
                        found,
                        strict=True,
                    )
                ),
                "paper": paper,
                "seconds": seconds,
            }
        )
        if found != (COUNTS_1000 if size == 1000 else PAPER[size]):
            misses.append(f"LUBM({size}): counted {found}")
    common.finish(
        {
            "graph": "",
            "triples": ",",
            "terms": ",",
            "typed subjects": ",",
            "classes": ",",
            "paper": "",
            "seconds": ".0f",
        },
        rows,
        misses,
        options.json,
    )


if __name__ == "__main__":
    main()
