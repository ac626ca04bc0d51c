"""All settings in one table: name, symbol, default, bounds and help.

The fields of `Config` are the table. The options of the command line, the parameters of
`PykeEmbedder` and docs/reference/settings.md are derived from it.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from typing import Any, get_type_hints

from pyke.core.system import core_count
from pyke.errors import NoInput, UsageError

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

MODEL, READING, RUNNING = "Model", "Reading", "Running"  # groups of settings
SYNTAXES = ("ntriples", "nquads", "turtle", "trig", "rdfxml", "jsonld", "tsv", "csv")
MAX_CLUSTERS = 10_000
MAX_FILE_BYTES = 1 << 16  # of a file of settings
_SAME = object()  # the preset `paper` keeps the default


def _setting(default: Any, group: str, help: str, **more: Any) -> Any:  # noqa: A002
    """Declare a field of Config; `more` are fields of Setting."""
    return field(default=default, metadata={"group": group, "help": help, **more})


@dataclass(frozen=True, kw_only=True)
class Config:
    """All settings of a run.

    Settings of the group "Running" do not change the result.

    Examples
    --------
    >>> Config(dimensions=10).k
    45
    """

    dimensions: int = _setting(
        50, MODEL, "Length of each vector.", symbol="n", minimum=1, maximum=4096
    )
    similarity: str = _setting(
        "context",
        MODEL,
        "How springs are found: context, or ppmi as in the paper.",
        symbol="σ",
        paper="ppmi",
    )
    clusters: int = _setting(
        0, MODEL, "Clusters for coarse contexts, which cost a second simulation; 0 for none.",
        minimum=0, maximum=MAX_CLUSTERS,
    )  # fmt: skip
    k: int = _setting(
        45, MODEL, "Springs per particle; the strongest are kept.",
        symbol="K", minimum=1, maximum=10_000,
    )  # fmt: skip
    type_weight: float = _setting(
        1.0, MODEL, "Factor for the springs of terms and their types; above 1, classes are denser.",
        minimum=0.001, maximum=1000,
    )  # fmt: skip
    repellers: int = _setting(
        5, MODEL, "Repelling particles per particle.",
        minimum=0, maximum=10_000, paper=None, paper_text="K",
    )  # fmt: skip
    mass: str = _setting(
        "stiffness", MODEL, "Inertia of a particle: the sum of its springs, or 1.",
        choices=("stiffness", "unit"), paper="unit",
    )  # fmt: skip
    repulsion: str = _setting(
        "radial", MODEL,
        "Repulsion: strength / distance along the line, or the reciprocal of each coordinate.",
        choices=("radial", "elementwise"), paper="elementwise",
    )  # fmt: skip
    omega: float = _setting(
        1.0, MODEL, "Strength of repulsion.", symbol="ω", minimum=0, maximum=1e30, paper=1.45557
    )
    repel_above: float = _setting(
        0.0, MODEL, "Energy below which particles no longer repel each other.",
        minimum=0, maximum=1,
    )  # fmt: skip
    energy_release: float = _setting(
        0.0414, MODEL, "Energy released per iteration; the run starts with 1.",
        symbol="Δe", minimum=1e-9,
    )  # fmt: skip
    max_iterations: int = _setting(
        1000, MODEL, "Maximum number of iterations.", symbol="T", minimum=1, maximum=1_000_000
    )
    epsilon: float = _setting(
        1e-3, MODEL, "Stop when all particles together move less than this.", symbol="ε", minimum=0
    )
    stop_when_j_rises: bool = _setting(False, MODEL, "Stop when the objective J stops falling.")
    rescale: bool = _setting(
        False, MODEL, "Rescale every dimension to [0, 1] after each iteration.", paper=True
    )
    init: str = _setting(
        "normal", MODEL, "Start: random numbers, or the leading singular vectors of the springs.",
        choices=("normal", "uniform", "svd"), paper="uniform",
    )  # fmt: skip
    updates: str = _setting(
        "simultaneous", MODEL,
        "Who moves: all at once, contexts and then terms, or a random half in each iteration.",
        choices=("simultaneous", "alternating", "stochastic"),
    )  # fmt: skip
    seed: int = _setting(0, MODEL, "Seed of all random numbers.", minimum=0, maximum=2**64 - 1)

    format: str | None = _setting(
        None, READING, f"Syntax of the inputs: {', '.join(SYNTAXES)}.", default_text="by extension"
    )
    base: str | None = _setting(None, READING, "Base IRI of relative IRIs.")
    on_error: str = _setting(
        "stop", READING, "At an invalid line: stop, or skip it and count it.",
        choices=("stop", "skip"),
    )  # fmt: skip
    lenient: bool = _setting(False, READING, "Accept IRIs that violate RFC 3987.")
    keep_duplicates: bool = _setting(
        False, READING, "Count a triple as often as it occurs in the inputs."
    )
    count_literals: bool = _setting(
        False, READING, "Count triples with literals for their subjects and predicates."
    )
    literals: str = _setting(
        "", READING, "Literals as contexts: values, words, numbers, or several with commas.",
        parts=("values", "words", "numbers"), default_text="none",
    )  # fmt: skip
    type_predicate: str = _setting(
        RDF_TYPE, READING, "IRI of the predicate that states types.", default_text="rdf:type"
    )

    threads: int = _setting(
        0, RUNNING, "Number of threads.", minimum=0, maximum=1024, default_text="all cores"
    )
    memory: int | None = _setting(
        None, RUNNING, "Maximum memory, for example 8GB.",
        minimum=1, is_size=True, default_text="unlimited",
    )  # fmt: skip
    checkpoint_seconds: float = _setting(
        30.0, RUNNING, "Minimum time between checkpoints.", minimum=0
    )

    def __post_init__(self) -> None:
        if self.repellers is None:  # in a preset: as many as springs
            object.__setattr__(self, "repellers", self.k)
        for setting in SETTINGS:
            setting.check(value := getattr(self, setting.name))
            if setting.parts:  # in the same order, however they were written
                given = [part for part in setting.parts if part in _split(value)]
                object.__setattr__(self, setting.name, ",".join(given))
        if self.updates == "alternating" and self.similarity == "ppmi":  # known before reading
            raise UsageError("`updates` is 'alternating', but `similarity` 'ppmi' has no contexts")
        if self.type_weight != 1 and self.similarity != "context":
            raise UsageError(
                f"`type_weight` is {self.type_weight:g}, but `similarity` is "
                f'{self.similarity!r}. Use `similarity="context"`, or omit `type_weight`.'
            )
        if self.threads == 0:
            object.__setattr__(self, "threads", core_count())

    @classmethod
    def preset(cls, name: str = "default", **changes: Any) -> Config:
        """The named preset with some settings changed; None keeps the value of the preset."""
        if name not in PRESETS:
            raise UsageError(f"`preset` is {name!r}; it must be one of: {', '.join(PRESETS)}")
        known = [setting.name for setting in SETTINGS]
        for key in changes:
            if key not in known:
                raise UsageError(f"unknown setting {key!r}{_suggestion(key, known)}")
        if isinstance(changes.get("memory"), str):
            changes["memory"] = parse_size(changes["memory"])
        given = {key: value for key, value in changes.items() if value is not None}
        return cls(**{**PRESETS[name], **given})

    @classmethod
    def read(cls, path: str | os.PathLike[str], preset: str = "default", **changes: Any) -> Config:
        """Settings from a TOML file; changes that are not None override the file."""
        import tomllib  # here, because `pyke --help` needs the table of settings only

        try:
            with open(path, "rb") as file:
                content = file.read(MAX_FILE_BYTES + 1)
            if len(content) > MAX_FILE_BYTES:
                raise UsageError(f"{os.fspath(path)} is too large for a file of settings")
            found = tomllib.loads(content.decode())
        except OSError as error:
            raise NoInput(f"cannot open {os.fspath(path)}: {error.strerror}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"{os.fspath(path)}: invalid TOML: {error}") from None
        named = str(found.pop("preset", "default"))
        try:
            cls.preset(named, **found)
        except UsageError as error:
            raise UsageError(f"{os.fspath(path)}: {error}") from None
        given = {key: value for key, value in changes.items() if value is not None}
        return cls.preset(preset if preset != "default" else named, **{**found, **given})

    def as_toml(self, always: Iterable[str] = ()) -> str:
        """Settings that differ from the defaults, and those named in `always`, for `read`."""
        default = Config()
        chosen = {
            name: value
            for name, value in self.effective().items()
            if value is not None and (name in always or value != getattr(default, name))
        }
        return "".join(f"{name} = {_as_toml(value)}\n" for name, value in chosen.items())

    def as_dict(self) -> dict[str, Any]:
        """All settings, for the manifest."""
        return asdict(self)

    def effective(self) -> dict[str, Any]:
        """The settings that decide the result: equal settings give equal bits."""
        deciding = [setting.name for setting in SETTINGS if setting.group != RUNNING]
        return {name: getattr(self, name) for name in deciding}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One row of the table of settings."""

    name: str
    kind: type  # int, float, bool or str
    optional: bool  # None is a value
    default: Any
    group: str
    help: str
    symbol: str = ""  # the paper's letter
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()  # any of them, separated by commas
    is_size: bool = False  # may be written like 8GB
    paper: Any = _SAME  # value in the preset `paper`
    default_text: str = ""
    paper_text: str = ""

    @property
    def shown_default(self) -> str:
        """The default as people read it."""
        return self.default_text or _shown(self.default)

    @property
    def shown_paper(self) -> str:
        """The value in the preset `paper` as people read it; empty if it is the default."""
        return "" if self.paper is _SAME else self.paper_text or _shown(self.paper)

    @property
    def shown_bounds(self) -> str:
        """The allowed values as people read them."""
        if self.choices or self.parts:
            return " or ".join(self.choices) or ", ".join(self.parts)
        if self.minimum is None:
            return ""
        if self.maximum is None:
            return f"at least {_shown(self.minimum)}"
        return f"from {_shown(self.minimum)} to {_shown(self.maximum)}"

    def check(self, value: Any) -> None:
        """Raise UsageError unless the value has the right type and is within the bounds."""
        if value is None and self.optional:
            return
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        valid, wanted = {
            int: (is_number and isinstance(value, int), "a whole number"),
            float: (is_number and -math.inf < value < math.inf, "a finite number"),
            bool: (isinstance(value, bool), "true or false"),
            str: (isinstance(value, str), "a string"),
        }[self.kind]
        if valid and self.choices:
            valid, wanted = value in self.choices, f"one of: {', '.join(self.choices)}"
        if valid and self.parts:
            valid, wanted = _split(value) <= {*self.parts}, f"some of: {', '.join(self.parts)}"
        if valid and self.minimum is not None:
            above = self.maximum is not None and value > self.maximum
            valid, wanted = value >= self.minimum and not above, self.shown_bounds
        if not valid:
            raise UsageError(f"`{self.name}` is {value!r}; it must be {wanted}")


def _settings() -> tuple[Setting, ...]:
    """The fields of Config as rows of the table."""
    hints = get_type_hints(Config)
    rows = []
    for one in fields(Config):
        kinds = getattr(hints[one.name], "__args__", (hints[one.name],))
        optional = type(None) in kinds
        rows.append(
            Setting(name=one.name, kind=kinds[0], optional=optional, default=one.default,
                    **one.metadata)
        )  # fmt: skip
    return tuple(rows)


SETTINGS = _settings()

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    # The paper as printed, with the rescaling that its published code needs to stay finite.
    "paper": {one.name: one.paper for one in SETTINGS if one.paper is not _SAME},
    # One simulation.
    "fast": {"clusters": 0},
    # Purer clusters (bench/purity.py): more iterations, and no repulsion in the last fifth of them.
    "clusters": {"energy_release": 0.03, "repel_above": 0.2},
}


def _suggestion(name: str, known: list[str]) -> str:
    """The most similar name if there is one, else all of them."""
    from difflib import get_close_matches

    if similar := get_close_matches(name, known, 1):
        return f". Did you mean {similar[0]!r}?"
    return f"; the settings are: {', '.join(known)}"


def _split(value: str) -> set[str]:
    """The parts of a value with commas; spaces around them do not count."""
    return {part.strip() for part in value.split(",")} if value.strip() else set()


def _as_toml(value: Any) -> str:
    """A value as TOML: the same as JSON except for one character."""
    import json

    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _shown(value: Any) -> str:
    """A value in help texts and tables."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value == 2**64 - 1:
        return "2⁶⁴ − 1"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def thread_count(wanted: int | None) -> int:
    """The number of threads: the wanted number, or one per core for None and 0."""
    return Config(threads=wanted or 0).threads


_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}  # fmt: skip


def parse_size(text: str) -> int:
    """Bytes in a size such as 8GB, 512MiB or 1e9.

    Examples
    --------
    >>> parse_size("1.5GB")
    1500000000
    """
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:[eE][0-9]+)?)\s*([A-Za-z]*)\s*", text)
    unit = match and _UNITS.get(match[2].upper())
    size = float(match[1]) * unit if match and unit else math.nan
    if not math.isfinite(size):
        raise UsageError(f"invalid size {text!r}; write it like 8GB, 512MiB or 1500000000")
    return int(size)


def parse_duration(text: str) -> float:
    """Seconds in a duration such as 90s, 30m or 2h.

    Examples
    --------
    >>> parse_duration("1.5h")
    5400.0
    """
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([smhd]?)\s*", text)
    units = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
    seconds = float(match[1]) * units[match[2]] if match else 0.0
    if seconds <= 0:
        raise UsageError(f"invalid duration {text!r}; write it like 90s, 30m or 2h")
    return seconds


def format_size(count: float) -> str:
    """A size as people read it.

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
