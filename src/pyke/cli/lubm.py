"""`pyke lubm`: generate LUBM data."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated

import typer

from pyke.cli import terminal
from pyke.cli.options import AsJson, Force, Threads, app


@app.command()
def lubm(
    universities: Annotated[
        int, typer.Argument(metavar="N", help="How many universities: LUBM(N).", show_default=False)
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="The file to write: .nt, compressed if .gz, .zst … follows; - for standard output.",
        ),
    ],
    seed: Annotated[int, typer.Option(help="The benchmark's seed.")] = 0,
    index: Annotated[int, typer.Option(help="Number of the first university.")] = 0,
    ontology: Annotated[
        str | None,
        typer.Option(help="IRI of the ontology, without #. [that of the benchmark's home page]"),
    ] = None,
    no_literals: Annotated[
        bool, typer.Option("--no-literals", help="Leave out the lines with literals.")
    ] = False,
    header: Annotated[
        bool,
        typer.Option(
            "--header",
            help="Write the benchmark's two lines about the file, which are no legal N-Triples.",
        ),
    ] = False,
    threads: Threads = None,
    force: Force = False,
    json_: AsJson = False,
) -> None:
    """Write the data of the Lehigh University Benchmark, line by line that of its own generator."""
    from pyke.config import format_size
    from pyke.evaluate.lubm import ONTOLOGY, Universities, write

    which = Universities(universities, seed, index, ontology or ONTOLOGY)
    with terminal.Shown() as progress:
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
        speed = f"{seconds:.1f} s: {written.lines / seconds / 1e6:.1f} M lines/s"
        place = "standard output" if output == "-" else output
        told = f"{written.lines:,} lines of LUBM({universities}) in {place}, {format_size(written.file_bytes)}, {speed}"
        if output == "-":
            progress.note(told)
            return
    if json_:
        terminal.print_json({"output": output, **asdict(written), "seconds": seconds})
    else:
        terminal.out().print(terminal.inert(told), highlight=False)
