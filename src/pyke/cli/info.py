"""`pyke info`: count what RDF files contain."""

from __future__ import annotations

from pyke.cli import terminal
from pyke.cli.options import (
    AsJson,
    Base,
    CountLiterals,
    Format,
    Inputs,
    KeepDuplicates,
    Lenient,
    OnError,
    Threads,
    TypePredicate,
    app,
    config_of,
)


@app.command()
def info(
    inputs: Inputs,
    format: Format = None,  # noqa: A002
    base: Base = None,
    on_error: OnError = None,
    lenient: Lenient = False,
    keep_duplicates: KeepDuplicates = False,
    count_literals: CountLiterals = False,
    type_predicate: TypePredicate = None,
    threads: Threads = None,
    json_: AsJson = False,
) -> None:
    """Count what is in some RDF files."""
    parameters = {
        name: value for name, value in locals().items() if name not in ("inputs", "json_")
    }
    config = config_of(**parameters)
    from pyke.pipeline import read_census

    with terminal.Shown() as progress:
        census = read_census(inputs, config, progress)
    if json_:
        terminal.print_json(census.as_dict())
    else:
        terminal.show_census(census.as_dict())
