"""`pyke lubm`: generate LUBM data."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated

import typer

from pyke.cli import terminal
from pyke.cli.options import AsJson, Force, Threads

_Universities = Annotated[
    int, typer.Argument(metavar="N", help="Number of universities.", show_default=False)
]
_Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        help="File to write: .nt, or .nt.gz, .nt.zst …; - for standard output.",
    ),
]
_Seed = Annotated[int, typer.Option(help="Seed of the benchmark.")]
_Index = Annotated[int, typer.Option(help="Number of the first university.")]
_Ontology = Annotated[
    str | None, typer.Option(help="IRI of the ontology, without #. [the benchmark's own]")
]
_NoLiterals = Annotated[bool, typer.Option("--no-literals", help="Skip lines with literals.")]
_Header = Annotated[
    bool,
    typer.Option(
        "--header", help="Write the benchmark's two header lines, which are invalid N-Triples."
    ),
]


def lubm(
    universities: _Universities,
    output: _Output,
    seed: _Seed = 0,
    index: _Index = 0,
    ontology: _Ontology = None,
    no_literals: _NoLiterals = False,
    header: _Header = False,
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
            f"{written.lines / seconds:,.0f} lines/s."
        )
        if output == "-":
            progress.note(message)
            return
    if as_json:
        terminal.print_json({"output": output, **asdict(written), "seconds": seconds})
    else:
        terminal.say(message)
