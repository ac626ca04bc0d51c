"""`pyke lubm`: generate LUBM data."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated

import typer

from pyke.cli import terminal
from pyke.cli.app import DATA, command
from pyke.cli.options import AsJson, Force, Threads


@command(DATA)
def lubm(
    universities: Annotated[
        int, typer.Argument(metavar="N", help="Number of universities.", show_default=False)
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="File to write: .nt, or .nt.gz, .nt.zst …; - for standard output.",
        ),
    ],
    seed: Annotated[int, typer.Option(help="Seed of the benchmark.")] = 0,
    index: Annotated[int, typer.Option(help="Number of the first university.")] = 0,
    ontology: Annotated[
        str | None, typer.Option(help="IRI of the ontology, without #. [the benchmark's own]")
    ] = None,
    no_literals: Annotated[
        bool, typer.Option("--no-literals", help="Skip lines with literals.")
    ] = False,
    header: Annotated[
        bool,
        typer.Option(
            "--header", help="Write the benchmark's two header lines, which are invalid N-Triples."
        ),
    ] = False,
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Generate the Lehigh University Benchmark, line for line as its own generator."""
    from pyke.config import format_size
    from pyke.evaluate.lubm import ONTOLOGY, Universities, write

    which = Universities(universities, seed, index, ontology or ONTOLOGY)
    with terminal.ShownProgress() as progress:
        began = time.perf_counter()
        written = write(
            which,
            output,
            literals=not no_literals,
            header=header,
            threads=threads,
            force=force,
            progress=progress,
        )
        seconds = time.perf_counter() - began
        place = "standard output" if output == "-" else output
        message = (
            f"Wrote {written.lines:,} lines of LUBM({universities}) to {place}: "
            f"{format_size(written.file_bytes)}, {seconds:.1f} s, "
            f"{written.lines / seconds / 1e6:.1f} M lines/s."
        )
        if output == "-":
            progress.note(message)
            return
    if as_json:
        terminal.print_json({"output": output, **asdict(written), "seconds": seconds})
    else:
        terminal.say(message)
