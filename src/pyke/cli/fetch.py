"""An endpoint's triples to a file."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from pyke.cli import terminal
from pyke.cli.options import AsJson, Force, OnError, app


@app.command()
def fetch(
    endpoint: Annotated[
        str,
        typer.Argument(
            metavar="SPARQL_ENDPOINT", help="Its address, http or https.", show_default=False
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="The file to write: .nt, compressed if .gz, .zst … follows.",
            show_default=False,
        ),
    ],
    query: Annotated[
        str | None,
        typer.Option(
            help="CONSTRUCT { … } WHERE { … } without LIMIT, or a file with it. [all triples]"
        ),
    ] = None,
    graph: Annotated[
        list[str] | None,
        typer.Option(help="IRI of a named graph; may be given more than once. [the default graph]"),
    ] = None,
    no_literals: Annotated[
        bool,
        typer.Option(
            "--no-literals", help="Leave out the triples with literals, and labels with them."
        ),
    ] = False,
    order: Annotated[
        str | None,
        typer.Option(
            help="How pages are sorted: none, query, subquery. [none, and checked; with --query: query]"
        ),
    ] = None,
    page_size: Annotated[int, typer.Option(help="Rows to ask for at once.")] = 10_000,
    max_triples: Annotated[
        int | None, typer.Option(help="Stop when so many have come. [all]")
    ] = None,
    keep_blank_labels: Annotated[
        bool,
        typer.Option(
            "--keep-blank-labels", help="Blank nodes have the same labels in every answer."
        ),
    ] = False,
    on_error: OnError = None,
    timeout: Annotated[float, typer.Option(help="Seconds that an answer may take.")] = 120.0,
    retries: Annotated[int, typer.Option(help="How often a page is asked for again.")] = 5,
    pause: Annotated[float, typer.Option(help="Seconds between requests.")] = 0.0,
    user_agent: Annotated[
        str | None,
        typer.Option(help="What to be called; some endpoints want an address of yours in it."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the pages of an interrupted fetch.")
    ] = False,
    force: Force = False,
    json_: AsJson = False,
) -> None:
    """Fetch the triples of a SPARQL endpoint, page by page."""
    from pyke.config import format_size
    from pyke.read.sparql.endpoint import USER_AGENT
    from pyke.read.sparql.fetch import fetch as fetch_to

    with terminal.Shown() as progress:
        fetched = fetch_to(
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
            on_error=on_error or "stop",
            user_agent=user_agent or USER_AGENT,
            timeout=timeout,
            retries=retries,
            pause=pause,
        )
    if json_:
        terminal.print_json(asdict(fetched))
        return
    table = terminal.new_table("fetched", "", right=(1,))
    table.add_row("triples", f"{fetched.triples:,}")
    rows = [
        ("  of them with two pages", fetched.repeats),
        ("rows that the endpoint counted", fetched.expected),
        ("pages", fetched.pages),
        ("  of them by an earlier run", fetched.resumed_from),
        ("requests made again", fetched.asked_again),
        ("lines that broke the grammar, skipped", fetched.skipped),
        (
            "blank nodes, each of one page"
            if not keep_blank_labels
            else "blank nodes, counted once per page",
            fetched.blank_nodes,
        ),
    ]
    for title, number in rows:
        if number:
            table.add_row(title, f"{number:,}")
    table.add_row("received", format_size(fetched.bytes_received))
    table.add_row("written", format_size(fetched.bytes_written))
    terminal.out().print(table)
    terminal.out().print(f"N-Triples in [bold]{terminal.inert(output)}[/].", highlight=False)
