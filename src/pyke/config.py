"""One frozen Config: every parameter, its bounds declared as data, validated once."""

from __future__ import annotations

import json
import math
import os
import re
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

from pyke.errors import NoInput, UsageError

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}  # fmt: skip

# name: (type, least, greatest); None means unbounded. Whole numbers do not pass as bool.
_RANGES: dict[str, tuple[type, float | None, float | None]] = {
    "dimensions": (int, 1, 4096),
    "k": (int, 1, 10_000),
    "repellers": (int, 0, 10_000),
    "omega": (float, 0.0, 1e30),
    "energy_release": (float, 1e-9, None),
    "max_iterations": (int, 1, 1_000_000),
    "epsilon": (float, 0.0, None),
    "seed": (int, 0, 2**64 - 1),
    "threads": (int, 1, 1024),
    "memory": (int, 1, None),
    "checkpoint_seconds": (float, 0.0, None),
}
_CHOICES: dict[str, tuple[str, ...]] = {
    "mass": ("stiffness", "unit"),
    "repulsion": ("radial", "elementwise"),
    "init": ("normal", "uniform"),
    "on_error": ("stop", "skip"),
}
_KINDS: dict[str, Any] = {
    **dict.fromkeys(
        ("stop_when_j_rises", "rescale", "lenient", "keep_duplicates", "count_literals"), bool
    ),
    **dict.fromkeys(("similarity", "mass", "repulsion", "init", "on_error", "type_predicate"), str),
    **dict.fromkeys(("format", "base"), (str, type(None))),
}
# What may differ between two runs that end with the same bits.
_WITHOUT_EFFECT = ("threads", "memory", "checkpoint_seconds")


@dataclass(frozen=True, kw_only=True)
class Config:
    """All parameters of a run. The paper's letters: n dimensions, K k, ω omega, Δe energy_release, T max_iterations, ε epsilon.

    Examples
    --------
    >>> Config(dimensions=10).k
    45
    """

    # The model
    dimensions: int = 50
    similarity: str = "context"
    k: int = 45
    repellers: int = 5  # None, in a preset: as many as k
    mass: str = "stiffness"
    repulsion: str = "radial"
    omega: float = 1.0
    energy_release: float = 0.0414
    max_iterations: int = 1000
    epsilon: float = 1e-3
    stop_when_j_rises: bool = False
    rescale: bool = False
    init: str = "normal"
    seed: int = 0

    # Reading
    format: str | None = None
    base: str | None = None
    on_error: str = "stop"
    lenient: bool = False
    keep_duplicates: bool = False
    count_literals: bool = False
    type_predicate: str = RDF_TYPE

    # Running: changes no bit of the result
    threads: int = 0
    memory: int | None = None
    checkpoint_seconds: float = 30.0

    def __post_init__(self) -> None:
        if self.repellers is None:
            object.__setattr__(self, "repellers", self.k)
        if self.threads == 0:
            object.__setattr__(self, "threads", len(os.sched_getaffinity(0)))
        for name, (kind, least, greatest) in _RANGES.items():
            _check_range(name, getattr(self, name), kind, least, greatest)
        for name, kinds in _KINDS.items():
            if not isinstance(getattr(self, name), kinds):
                wanted = "true or false" if kinds is bool else "a text"
                raise UsageError(f"{name} is {getattr(self, name)!r}; it must be {wanted}")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise UsageError(
                    f"{name} is {getattr(self, name)!r}; it must be one of: {', '.join(choices)}"
                )

    @classmethod
    def preset(cls, name: str = "default", **changes: Any) -> Config:
        """The named preset with some parameters changed; a change of None keeps the preset's value."""
        if name not in PRESETS:
            raise UsageError(f"there is no preset {name!r}; there are: {', '.join(PRESETS)}")
        known = {field.name for field in fields(cls)}
        for key in changes:
            if key not in known:
                raise UsageError(
                    f"there is no parameter {key!r}; there are: {', '.join(sorted(known))}"
                )
        if isinstance(changes.get("memory"), str):
            changes["memory"] = parse_size(changes["memory"])
        given = {key: value for key, value in changes.items() if value is not None}
        return cls(**{**PRESETS[name], **given})

    @classmethod
    def read(cls, path: str | os.PathLike[str], preset: str = "default", **changes: Any) -> Config:
        """Parameters from a TOML file, such as `pyke tune` writes; changes that are not None go before it."""
        try:
            with open(path, "rb") as file:
                found = tomllib.load(file)
        except OSError as error:
            raise NoInput(f"cannot open {os.fspath(path)}: {error.strerror}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{os.fspath(path)} is not TOML: {error}") from None
        named = found.pop("preset", "default")
        try:
            cls.preset(str(named), **found)
        except UsageError as error:
            raise UsageError(f"{os.fspath(path)}: {error}") from None
        given = {key: value for key, value in changes.items() if value is not None}
        return cls.preset(preset if preset != "default" else str(named), **{**found, **given})

    def as_toml(self, always: Iterable[str] = ()) -> str:
        """What differs from the defaults, and what is named in `always`, for `read`."""
        default = Config()
        deciding = [field.name for field in fields(self) if field.name not in _WITHOUT_EFFECT]
        chosen = [
            name
            for name in deciding
            if name in always or getattr(self, name) != getattr(default, name)
        ]
        return "".join(
            f"{name} = {_as_toml(getattr(self, name))}\n"
            for name in chosen
            if getattr(self, name) is not None
        )

    def as_dict(self) -> dict[str, Any]:
        """All parameters, for the manifest."""
        return asdict(self)

    def effective(self) -> dict[str, Any]:
        """The parameters that decide the result: two runs that agree on them end with the same bits."""
        return {name: value for name, value in asdict(self).items() if name not in _WITHOUT_EFFECT}


def _as_toml(value: Any) -> str:
    """A value as TOML writes it, which is as JSON does but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    # The paper as printed, with the rescaling that its published code needs to stay finite.
    "paper": {
        "similarity": "ppmi",
        "repellers": None,
        "mass": "unit",
        "repulsion": "elementwise",
        "omega": 1.45557,
        "rescale": True,
        "init": "uniform",
    },
}


def _check_range(
    name: str, value: Any, kind: type, least: float | None, greatest: float | None
) -> None:
    if value is None and name == "memory":
        return
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or (kind is int and not isinstance(value, int)) or not math.isfinite(value):
        raise UsageError(
            f"{name} is {value!r}; it must be a {'whole' if kind is int else 'finite'} number"
        )
    if (least is not None and value < least) or (greatest is not None and value > greatest):
        bounds = f"at least {least}" if greatest is None else f"from {least} to {greatest}"
        raise UsageError(f"{name} is {value}; it must be {bounds}")


def thread_count(wanted: int | None) -> int:
    """As many threads as are wanted, or one for each core."""
    return Config(threads=wanted or 0).threads


def parse_size(text: str) -> int:
    """Bytes in a size such as 8GB, 512MiB or 1e9.

    Examples
    --------
    >>> parse_size("1.5GB")
    1500000000
    """
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:[eE][0-9]+)?)\s*([A-Za-z]*)\s*", text)
    unit = match and _UNITS.get(match[2].upper())
    if not match or not unit:
        raise UsageError(f"{text!r} is no size; write it like 8GB, 512MiB or 1500000000")
    return int(float(match[1]) * unit)


def parse_duration(text: str) -> float:
    """Seconds in a time such as 90s, 30m or 2h.

    Examples
    --------
    >>> parse_duration("1.5h")
    5400.0
    """
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([smhd]?)\s*", text)
    seconds = (
        float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[match[2]]
        if match
        else 0.0
    )
    if seconds <= 0:
        raise UsageError(f"{text!r} is no time; write it like 90s, 30m or 2h")
    return seconds


def format_size(count: float) -> str:
    """A size people read.

    Examples
    --------
    >>> format_size(1_500_000_000)
    '1.5 GB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
