"""The application: commands grouped by job, options grouped by topic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from pyke.cli.streams import encodable
from pyke.config import format_size
from pyke.core.system import missing_address_space
from pyke.errors import OverBudget

MAKE, USE, DATA, MEASURE, SETUP = (
    "Make an embedding",
    "Use an embedding",
    "Get and inspect data",
    "Measure",
    "Set up",
)


class _Help:
    """A help text in characters that standard output can encode."""

    def get_help(self, ctx: Any) -> str:
        return encodable(super().get_help(ctx))  # type: ignore[misc]


class _Command(_Help, TyperCommand):
    """A command whose help groups options by topic."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command, unless libraries would abort: before they are imported."""
        if too_low := missing_address_space():
            limit, needed = too_low
            raise OverBudget(
                f"the limit of the address space (ulimit -v) is {format_size(limit)}; PYKE needs "
                f"at least {format_size(needed)} on this machine. Increase the limit."
            )
        return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                topic = getattr(parameter, "rich_help_panel", None)
                is_argument = parameter.param_type_name == "argument"
                title = "Arguments" if is_argument else topic or "Options"
                sections.setdefault(title, []).append(record)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


class _Group(_Help, TyperGroup):
    """A group whose help lists commands by job, with complete descriptions."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        for job in (MAKE, USE, DATA, MEASURE, SETUP):
            found = {name: one for name, one in self.commands.items() if job == _job(one)}
            with formatter.section(job):
                formatter.write_dl([(name, _summary(one)) for name, one in found.items()])

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.format_commands(ctx, formatter)
        records = [parameter.get_help_record(ctx) for parameter in self.get_params(ctx)]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record is not None])


def _job(command: Any) -> str:
    return str(command.rich_help_panel)


def _summary(command: Any) -> str:
    """The first sentence of a command's help."""
    return " ".join((command.help or "").split("\n\n")[0].split())


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Turn an RDF knowledge graph into vectors by simulating physics, and use them.",
)


def command(job: str, name: str | None = None) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function as a command that `pyke --help` lists under this job."""
    return app.command(name, cls=_Command, rich_help_panel=job)
