"""Run one method: `python -m pyke.evaluate.rivals REQUEST OUTPUT [MODULE]`."""

from __future__ import annotations

import sys

from pyke.errors import PykeError
from pyke.evaluate.rivals.process import main

if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except PykeError as error:
        print(error, file=sys.stderr)  # noqa: T201
        raise SystemExit(error.exit_code) from None
