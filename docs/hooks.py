"""What MkDocs asks when it builds the site: the list of how-to pages, the reference of the commands, and how docstrings are to be read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import griffe

# As people come to need them; pages that are not named here follow.
ORDER = ("embed", "info", "plan", "verify", "nearest", "types", "cluster", "plot", "export", "update", "fetch", "lubm", "evaluate", "compare", "tune",
         "python", "scikit-learn")  # fmt: skip
HOW_TO = Path(__file__).parent / "how-to"
MARK = "<!-- commands -->"


class OneLiners(griffe.Extension):
    """Parameters are described as `name : text` here; NumPy has a type there, and the text in a line of its own."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Told of everything that has a docstring."""
        if obj.docstring:
            obj.docstring.value = re.sub(r"(?<=-----\n)(?:.+\n?)+", _spread, obj.docstring.value)


def _spread(section: re.Match[str]) -> str:
    return re.sub(r"^(\*{0,2}\w[\w, …*]*) : (.+)", r"\1\n    \2", section[0], flags=re.MULTILINE)


def on_config(config: Any) -> Any:
    """Lists the how-to pages."""
    found = {path.stem for path in HOW_TO.glob("*.md")} - {"index"}
    pages = [name for name in ORDER if name in found] + sorted(found - set(ORDER))
    (how_to,) = (entry for entry in config["nav"] if "How to" in entry)
    how_to["How to"] = [
        {"Overview": "how-to/index.md"},
        *({name: f"how-to/{name}.md"} for name in pages),
    ]
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Puts the reference where a page has the mark for it."""
    return (
        markdown.replace(
            MARK, "\n".join(_section(name, command) for name, command in _commands().items())
        )
        if MARK in markdown
        else markdown
    )


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
    """Where the default is not told in the help."""
    shown = (
        option.required
        or option.is_flag
        or option.default is None
        or callable(option.default)
        or "[" in (option.help or "")
    )
    return " **Required.**" if option.required else "" if shown else f" [{option.default}]"


def _cell(text: str) -> str:
    """Text in a table of Markdown."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
