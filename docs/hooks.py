"""What MkDocs asks when it builds the site: the list of how-to pages, and the reference of the commands, made from the commands themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

HOW_TO = Path(__file__).parent / "how-to"
MARK = "<!-- commands -->"


def on_config(config: Any) -> Any:
    """Lists the how-to pages: the overview, those of commands in the order of `pyke --help`, then the others."""
    found = {path.stem for path in HOW_TO.glob("*.md")} - {"index"}
    commands = [name for name in _commands() if name in found]
    pages = ["index", *commands, *sorted(found - set(commands))]
    for entry in config["nav"]:
        if "How to" in entry:
            entry["How to"] = [f"how-to/{page}.md" for page in pages]
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Puts the reference where a page has the mark for it."""
    return markdown.replace(MARK, "\n".join(_section(name, command) for name, command in _commands().items())) if MARK in markdown else markdown


def _commands() -> dict[str, Any]:
    from typer.main import get_command

    from pyke.cli import app

    commands: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    return commands


def _section(name: str, command: Any) -> str:
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    usage = " ".join([f"pyke {name}", *(_argument(argument) for argument in arguments), "[OPTIONS]"])
    lines = [f"## pyke {name}", "", _cell(command.help or ""), "", "```text", usage, "```", "", "| | |", "|---|---|"]
    lines += [f"| `{_argument(argument)}` | {_cell(argument.help or '')} |" for argument in arguments]
    lines += [f"| {_names(option)} | {_cell(option.help or '')}{_default(option)} |" for option in options]
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
    shown = option.required or option.is_flag or option.default is None or callable(option.default) or "[" in (option.help or "")
    return " **Required.**" if option.required else "" if shown else f" [{option.default}]"


def _cell(text: str) -> str:
    """Text in a table of Markdown."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
