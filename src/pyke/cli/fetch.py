"""`pyke fetch`: download the triples of a SPARQL endpoint."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from pyke.cli import terminal
from pyke.cli.options import AsJson, Force, Settings, with_settings
from pyke.cli.tables import print_table

if TYPE_CHECKING:
    from pyke.read.sparql.fetch import Fetched


_Endpoint = Annotated[
    str,
    typer.Argument(metavar="ENDPOINT", help="Address of a SPARQL endpoint.", show_default=False),
]
_Output = Annotated[
    str,
    typer.Option(
        "--output", "-o", help="File to write: .nt, or .nt.gz, .nt.zst …", show_default=False
    ),
]
_Query = Annotated[
    str | None,
    typer.Option(
        help="CONSTRUCT { … } WHERE { … } without LIMIT, or a file with it. [all triples]"
    ),
]
_Graph = Annotated[
    list[str] | None,
    typer.Option(help="IRI of a named graph; can be repeated. [the default graph]"),
]
_NoLiterals = Annotated[
    bool, typer.Option("--no-literals", help="Skip triples with literals, labels included.")
]
_Order = Annotated[
    str | None,
    typer.Option(
        metavar="[none|query|subquery]",
        help="How pages are sorted. [none, with a check; with --query: query]",
    ),
]
_PageSize = Annotated[int, typer.Option(help="Rows per request.")]
_MaxTriples = Annotated[int | None, typer.Option(help="Stop after this many triples. [all]")]
_KeepBlankLabels = Annotated[
    bool,
    typer.Option(
        "--keep-blank-labels",
        help="The endpoint uses the same blank node labels in every response.",
    ),
]
_Timeout = Annotated[float, typer.Option(help="Seconds to wait for a complete response.")]
_Retries = Annotated[int, typer.Option(help="Retries per page.")]
_Pause = Annotated[float, typer.Option(help="Seconds between requests.")]
_UserAgent = Annotated[
    str | None,
    typer.Option(help="User-Agent header; some endpoints require a contact address."),
]
_Resume = Annotated[bool, typer.Option("--resume", help="Continue an interrupted download.")]


@with_settings(["on_error"])
def fetch(
    endpoint: _Endpoint,
    output: _Output,
    settings: Settings,
    query: _Query = None,
    graph: _Graph = None,
    no_literals: _NoLiterals = False,
    order: _Order = None,
    page_size: _PageSize = 10_000,
    max_triples: _MaxTriples = None,
    keep_blank_labels: _KeepBlankLabels = False,
    timeout: _Timeout = 120.0,
    retries: _Retries = 5,
    pause: _Pause = 0.0,
    user_agent: _UserAgent = None,
    resume: _Resume = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Download the triples of a SPARQL endpoint, page by page."""
    from pyke.read.sparql.endpoint import USER_AGENT
    from pyke.read.sparql.fetch import fetch as run

    with terminal.ShownProgress() as progress:
        fetched = run(
            endpoint,
            output,
            resume=resume,
            force=force,
            progress=progress,
            query=query,
            graphs=tuple(graph or ()),
            literals=not no_literals,
            order=order,
            keep_blank_labels=keep_blank_labels,
            page_size=page_size,
            max_triples=max_triples,
            user_agent=user_agent or USER_AGENT,
            timeout=timeout,
            retries=retries,
            pause=pause,
            **settings.changes,
        )
    if as_json:
        terminal.print_json(asdict(fetched))
        return
    _show(fetched, keep_blank_labels)
    terminal.say(f"Wrote N-Triples to {output}.")


def _show(fetched: Fetched, keep_blank_labels: bool) -> None:
    from pyke.config import format_size

    scope = "counted once per page" if keep_blank_labels else "each within one page"
    counts = [
        ("  of these on two pages", fetched.repeats),
        ("rows counted by the endpoint", fetched.expected),
        ("pages", fetched.pages),
        ("  from an earlier run", fetched.resumed_from),
        ("repeated requests", fetched.asked_again),
        ("invalid lines, skipped", fetched.skipped),
        (f"blank nodes, {scope}", fetched.blank_nodes),
    ]
    rows = [("triples", f"{fetched.triples:,}")]
    rows += [(title, f"{number:,}") for title, number in counts if number]
    rows += [
        ("received", format_size(fetched.bytes_received)),
        ("written", format_size(fetched.bytes_written)),
    ]
    print_table(("download", "count"), rows, right=(1,))
