"""Words of the command line: messages of the library, and numbers with nouns."""

from __future__ import annotations

import re

# Parameters of the Python functions whose options have another name.
_OPTIONS = {
    "added": "FILES",
    "count": "N",
    "fraction": "--held-out",
    "graphs": "--graph",
    "literals=False": "--no-literals",
    "only_untyped=False": "--also-typed",
    "removed": "--remove",
    "source": "INPUTS",
    "target": "--output",
}
_PARAMETER = re.compile(r"`([a-z][a-z0-9_]*)(?:=([^`]+))?`")


def as_options(message: str) -> str:
    """Replace parameters in backticks by options.

    Examples
    --------
    >>> as_options('`k` is 0. Use `on_error="skip"` or `force=True`.')
    '--k is 0. Use --on-error skip or --force.'
    """
    return _PARAMETER.sub(_as_option, message)


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the plural unless the number is 1.

    Examples
    --------
    >>> counted(1, "fact"), counted(2000, "fact")
    ('1 fact', '2,000 facts')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _as_option(match: re.Match[str]) -> str:
    name, value = match[1], match[2]
    whole = f"{name}={value}"
    if whole in _OPTIONS:
        return _OPTIONS[whole]
    option = _OPTIONS.get(name, f"--{name.replace('_', '-')}")
    if value is None or value == "True":
        return option
    if value == "False":
        return f"--no-{option.removeprefix('--')}"
    return f"{option} {value.strip(chr(34) + chr(39))}"
