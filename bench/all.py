"""Run every benchmark, each in its own process. Arguments are passed on.

Exits with 1 if a benchmark misses its target or fails.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

NAMES = (
    "house", "startup", "reading", "resuming", "export", "gather", "choices", "memory",
    "end_to_end", "determinism", "kills", "checkpoints", "lubm_speed", "lubm_counts",
    "lubm_scaling", "scale", "paper_variants", "evaluation",
    "springs", "calibration", "update", "neighbours", "maps", "comparisons", "sources", "fetching",
    "literals", "predictors", "facts", "purity", "starts", "serve", "links", "ceiling",
    "workers", "cost_model",
)  # fmt: skip


def main() -> None:
    codes = []
    for name in NAMES:
        print(f"\n## {name}\n", flush=True)
        codes.append(
            subprocess.run(
                [sys.executable, Path(__file__).with_name(f"{name}.py"), *sys.argv[1:]], check=False
            ).returncode
        )
    print(
        "\n"
        + "\n".join(
            f"{name}: {'ok' if code == 0 else f'exit code {code}'}"
            for name, code in zip(NAMES, codes, strict=True)
        )
    )
    raise SystemExit(any(codes))


if __name__ == "__main__":
    main()
