"""MkDocs hooks: list the how-to pages, write the command reference, adapt docstrings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import griffe

# The order of the pages. Pages that are missing here come last.
ORDER = (
    *("embed", "info", "plan", "verify"),
    *("nearest", "types", "complete", "cluster", "plot", "serve", "export", "update"),
    *("fetch", "lubm", "evaluate", "compare", "tune", "warm-up"),
    *("python", "scikit-learn"),
)
HOW_TO = Path(__file__).parent / "how-to"
MARK = "<!-- commands -->"


class OneLiners(griffe.Extension):
    """Convert our `name : text` parameters into NumPy style, with the text on its own line."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Convert the docstring of one object."""
        if obj.docstring:
            obj.docstring.value = re.sub(r"(?<=-----\n)(?:.+\n?)+", _spread, obj.docstring.value)


def _spread(section: re.Match[str]) -> str:
    return re.sub(r"^(\*{0,2}\w[\w, …*]*) : (.+)", r"\1\n    \2", section[0], flags=re.MULTILINE)


def on_config(config: Any) -> Any:
    """List the how-to pages in the navigation."""
    found = {path.stem for path in HOW_TO.glob("*.md")} - {"index"}
    pages = [name for name in ORDER if name in found] + sorted(found - set(ORDER))
    (how_to,) = (entry for entry in config["nav"] if "How to" in entry)
    how_to["How to"] = [
        {"Overview": "how-to/index.md"},
        *({name: f"how-to/{name}.md"} for name in pages),
    ]
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the mark of a page by the command reference."""
    if MARK not in markdown:
        return markdown
    sections = [_section(name, command) for name, command in _commands().items()]
    return markdown.replace(MARK, "\n".join(sections))


def _commands() -> dict[str, Any]:
    from typer.main import get_command

    from pyke.cli import app

    commands: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    place = {name: number for number, name in enumerate(ORDER)}
    return dict(sorted(commands.items(), key=lambda entry: place.get(entry[0], len(place))))


def _section(name: str, command: Any) -> str:
    arguments = [
        parameter for parameter in command.params if parameter.param_type_name == "argument"
    ]
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    usage = " ".join(
        [f"pyke {name}", *(_argument(argument) for argument in arguments), "[OPTIONS]"]
    )
    lines = [
        f"## pyke {name}",
        "",
        _cell(command.help or ""),
        "",
        "```text",
        usage,
        "```",
        "",
        "| argument or option | meaning [default] |",
        "|---|---|",
    ]
    lines += [
        f"| `{_argument(argument)}` | {_cell(argument.help or '')} |" for argument in arguments
    ]
    lines += [
        f"| {_names(option)} | {_cell(option.help or '')}{_default(option)} |" for option in options
    ]
    page = HOW_TO / f"{name}.md"
    if page.exists():
        lines += ["", f"How to use it: [{name}](../how-to/{name}.md)."]
    return "\n".join([*lines, ""])


def _argument(argument: Any) -> str:
    name = (argument.metavar or argument.name).upper()
    return f"{name}…" if argument.nargs == -1 else name


def _names(option: Any) -> str:
    value = f" {option.metavar}" if option.metavar else ""
    return ", ".join(f"`{name}{value}`" for name in (*option.opts, *option.secondary_opts))


def _default(option: Any) -> str:
    """Return the default, unless the help text already contains it."""
    shown = (
        option.required
        or option.is_flag
        or option.default is None
        or callable(option.default)
        or "[" in (option.help or "")
    )
    return " **Required.**" if option.required else "" if shown else f" [{option.default}]"


def _cell(text: str) -> str:
    """Return text that fits into a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
