"""Options that several commands share, and those derived from the table of settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from pyke.config import MODEL, PRESETS, READING, RUNNING, SETTINGS, Config, Setting

Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUTS",
        help="RDF files, directories or globs, compressed or not; - for standard input.",
        show_default=False,
    ),
]
Files = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUTS",
        help="RDF files, directories or globs, compressed or not.",
        show_default=False,
    ),
]
Directory = Annotated[
    Path, typer.Argument(metavar="DIRECTORY", help="An embedding directory.", show_default=False)
]
OutputDirectory = Annotated[
    Path,
    typer.Option("--output", "-o", help="Embedding directory to write.", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing output.")]
Prefixes = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=IRI", help="Additional prefix for names; can be repeated."),
]
Report = Annotated[
    Path | None,
    typer.Option(help="Write tables and figure to .html, or the figure to .png, .svg or .pdf."),
]

# Neighbours and held-out types, for the commands that measure.
HeldOut = Annotated[
    float, typer.Option(help="Fraction of the typed subjects whose types are withheld.")
]
NeighbourCounts = Annotated[
    str | None,
    typer.Option(
        "--mu",
        metavar="NUMBERS",
        help="Numbers of neighbours (μ). [1,3,5,10,15,30,50,100]",
        show_default=False,
    ),
]
ExactNeighbours = Annotated[
    bool, typer.Option("--exact", help="Exact neighbours and clusters, also on large graphs.")
]
MostSubjects = Annotated[
    int | None,
    typer.Option(
        "--subjects",
        min=1,
        help="Predict the types of at most this many subjects, evenly spaced. [all]",
        show_default=False,
    ),
]
NoPurity = Annotated[bool, typer.Option("--no-purity", help="Skip cluster purity.")]

_PRESET = Annotated[
    str,
    typer.Option(
        metavar=f"[{'|'.join(PRESETS)}]",
        help="Start from these settings; paper is the method as published.",
        rich_help_panel=MODEL,
        show_default=False,
        autocompletion=lambda: list(PRESETS),
    ),
]
_CONFIG_FILE = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Read settings from a TOML file; command-line options override it.",
        rich_help_panel=MODEL,
        show_default=False,
    ),
]
MODEL_SETTINGS, READING_SETTINGS, RUNNING_SETTINGS = (
    tuple(one.name for one in SETTINGS if one.group == group) for group in (MODEL, READING, RUNNING)
)
_BY_NAME = {one.name: one for one in SETTINGS}


@dataclass(frozen=True)
class Settings:
    """The settings given on a command line."""

    changes: dict[str, Any]  # only those that were given
    preset: str = "default"
    file: Path | None = None

    def config(self) -> Config:
        """The preset or the file, changed by the given options."""
        if self.file:
            return Config.read(self.file, self.preset, **self.changes)
        return Config.preset(self.preset, **self.changes)

    @property
    def given(self) -> list[str]:
        """Names of the options that were given."""
        names = [*self.changes, *(["config"] if self.file else [])]
        return names + (["preset"] if self.preset != "default" else [])


def with_settings(names: Iterable[str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of some settings; it receives them as `settings`.

    Settings of the model come with --preset and --config.
    """
    chosen = [_BY_NAME[name] for name in names]
    has_model = any(one.group == MODEL for one in chosen)

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def command(**arguments: Any) -> None:
            values = {one.name: arguments.pop(one.name) for one in chosen}
            given = {name: value for name, value in values.items() if value is not None}
            start = (arguments.pop("preset"), arguments.pop("config")) if has_model else ()
            function(**arguments, settings=Settings(given, *start))

        own = inspect.signature(function, eval_str=True).parameters.values()
        parameters = [one for one in own if one.name != "settings"]
        if has_model:
            parameters += [_parameter("preset", _PRESET, "default")]
            parameters += [_parameter("config", _CONFIG_FILE, None)]
        parameters += [_parameter(one.name, option_of(one), None) for one in chosen]
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [one.replace(kind=keyword) for one in parameters]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        return command

    return decorate


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=default, annotation=annotation)


def option_of(setting: Setting) -> Any:
    """The option for a setting; None means that it was not given."""
    name = setting.name.replace("_", "-")
    symbol = f" ({setting.symbol})" if setting.symbol else ""
    paper = f"; paper: {setting.shown_paper}" if setting.shown_paper else ""
    text = f"{setting.help.removesuffix('.')}{symbol}. [{setting.shown_default}{paper}]"
    more: dict[str, Any] = {}
    if setting.choices:
        more["metavar"] = f"[{'|'.join(setting.choices)}]"
        more["autocompletion"] = lambda: list(setting.choices)
    kind = str if setting.is_size else setting.kind
    if setting.is_size:
        more["metavar"] = "SIZE"
    declared = f"--{name}/--no-{name}" if kind is bool else f"--{name}"
    option = typer.Option(
        declared, help=text, show_default=False, rich_help_panel=setting.group, **more
    )
    return Annotated[kind | None, option]


Threads = option_of(_BY_NAME["threads"])


def parse_numbers(text: str | None) -> list[int] | None:
    """1,3,10 → [1, 3, 10]."""
    from pyke.errors import UsageError

    try:
        return None if text is None else [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"`mu` is {text!r}; it must be numbers like 1,3,10") from None
