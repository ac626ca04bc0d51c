"""The application: commands grouped by job, options grouped by topic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from pyke.cli.streams import encodable
from pyke.core.system import missing_address_space
from pyke.errors import OverBudget, UsageError

MAKE, USE, DATA, MEASURE, SETUP = (
    "Make an embedding",
    "Use an embedding",
    "Get and inspect data",
    "Measure",
    "Set up",
)
# In the order of `pyke --help`: the first sentence of each command's help. The module of a command
# is imported when the command runs, so `pyke --help` needs none of them.
COMMANDS = {
    MAKE: {
        "embed": "Embed the graph in RDF files.",
        "update": "Add or remove triples without embedding the graph again; other vectors stay "
        "unchanged.",
        "plan": "Estimate the memory and time of `pyke embed`; exit code 75 if --memory is too "
        "low.",
    },
    USE: {
        "nearest": "Find the nearest neighbours of terms, or write those of many terms to a table.",
        "types": "Predict missing types, each with a measured confidence, and write them as RDF.",
        "complete": "Predict facts that entities lack but similar entities have, and write them as "
        "RDF.",
        "cluster": "Find clusters of similar terms and describe them; predicates and classes are "
        "excluded.",
        "plot": "Draw a map of an embedding, coloured by type: a figure, a web page or an "
        "animation.",
        "serve": "Open a web page to explore an embedding: map, search, neighbours, predictions.",
        "export": "Write an embedding for another program: a table, arrays, word2vec, a viewer, a "
        "database.",
        "verify": "Check the files of an embedding directory: sizes, checksums, contents.",
    },
    DATA: {
        "info": "Count what RDF files contain, without embedding them.",
        "fetch": "Download the triples of a SPARQL endpoint, page by page.",
        "lubm": "Generate the Lehigh University Benchmark, line for line as its own generator.",
    },
    MEASURE: {
        "evaluate": "Score an embedding: type prediction and cluster purity, as in the paper or "
        "held-out.",
        "compare": "Compare PYKE with other methods on a graph: scores, purity, time and memory.",
        "tune": "Search for springs, repulsion, energy release and dimensions that suit a graph.",
    },
    SETUP: {
        "warm-up": "Compile everything that other commands need, once; they then start without "
        "delay."
    },
}


class _Help:
    """A help text in characters that standard output can encode."""

    def get_help(self, ctx: Any) -> str:
        return encodable(super().get_help(ctx))  # type: ignore[misc]


class _Command(_Help, TyperCommand):
    """A command whose help groups options by topic."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line. An empty word is a mistake: as a path, it is this folder."""
        if "" in args:
            at = args.index("")
            after = f" after {args[at - 1]}" if at else ""
            raise UsageError(f"there is an empty word{after}; give a value, or omit it")
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed

    def invoke(self, ctx: Any) -> Any:
        """Run the command, unless libraries would abort: before they are imported."""
        if too_low := missing_address_space():
            from pyke.config import format_size  # `pyke --help` starts faster without it

            limit, needed = too_low
            raise OverBudget(
                f"the limit of the address space (ulimit -v) is {format_size(limit)}; PYKE needs "
                f"at least {format_size(needed)} on this machine. Increase the limit."
            )
        return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The arguments without the braces that some versions of typer write around them."""
        return [
            piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)
        ]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                topic = getattr(parameter, "rich_help_panel", None)
                is_argument = parameter.param_type_name == "argument"
                title = "Arguments" if is_argument else topic or "Options"
                name, text = record
                name = name.partition(" <")[0] if is_argument else name.replace("list[str]", "str")
                sections.setdefault(title, []).append((name, text))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


class _Commands(Mapping[str, Any]):
    """The commands by name. A command's module is imported when the command is looked up."""

    def __getitem__(self, name: str) -> Any:
        if name not in list(self):
            raise KeyError(name)
        return _loaded(name)

    def __iter__(self) -> Iterator[str]:
        return (name for commands in COMMANDS.values() for name in commands)

    def __len__(self) -> int:
        return sum(map(len, COMMANDS.values()))


@cache
def _loaded(name: str) -> Any:
    module = name.replace("-", "_")
    function = getattr(import_module(f"pyke.cli.{module}"), module)
    alone = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=SETTINGS,
    )
    alone.command(name, cls=_Command)(function)
    return typer.main.get_command(alone)


class _Group(_Help, TyperGroup):
    """A group whose help lists commands by job, with complete descriptions."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _Commands()  # type: ignore[assignment]

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        for job, commands in COMMANDS.items():
            with formatter.section(job):
                formatter.write_dl(list(commands.items()))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.format_commands(ctx, formatter)
        records = [parameter.get_help_record(ctx) for parameter in self.get_params(ctx)]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record is not None])


SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
    help="Turn an RDF knowledge graph into vectors by simulating physics, and use them.",
)
