"""Parameters in messages of the library become options of the command line."""

from __future__ import annotations

import pytest

from pyke.cli.messages import as_options


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("`k` is 0", "--k is 0"),
        ("`max_iterations` is 0", "--max-iterations is 0"),
        ('use `on_error="skip"`', "use --on-error skip"),
        ("pass `force=True`", "pass --force"),
        ("`lenient=False`", "--no-lenient"),
        ("`only_untyped=False`", "--also-typed"),
        ("`removed` and `added`", "--remove and FILES"),
        ("run `pyke verify out`", "run `pyke verify out`"),
    ],
)
def test_parameters_are_shown_as_options(message: str, shown: str) -> None:
    assert as_options(message) == shown
