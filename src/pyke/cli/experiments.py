"""The paper's experiments: data, scores, rivals, settings."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from pyke import terminal
from pyke.cli.options import (
    AsJson,
    Base,
    ConfigFile,
    CountLiterals,
    Dimensions,
    Files,
    Force,
    Format,
    Inputs,
    KeepDuplicates,
    Lenient,
    OnError,
    Preset,
    Seed,
    Threads,
    TypePredicate,
    app,
    config_of,
)

HeldOut = Annotated[float, typer.Option(help="The part of the typed subjects whose types are withheld before the embedding.")]
Mu = Annotated[str | None, typer.Option(help="Numbers of neighbours, like 1,3,10. [1,3,5,10,15,30,50,100]", show_default=False)]
Exact = Annotated[bool, typer.Option("--exact", help="Exact neighbours and clusters, however many points there are.")]
NoPurity = Annotated[bool, typer.Option("--no-purity", help="Leave the clusters out.")]


@app.command()
def lubm(
    universities: Annotated[int, typer.Argument(metavar="N", help="How many universities: LUBM(N).", show_default=False)],
    output: Annotated[str, typer.Option("--output", "-o", help="The file to write: .nt, compressed if .gz, .zst … follows; - for standard output.")],
    seed: Annotated[int, typer.Option(help="The benchmark's seed.")] = 0,
    index: Annotated[int, typer.Option(help="Number of the first university.")] = 0,
    ontology: Annotated[str | None, typer.Option(help="IRI of the ontology, without #. [that of the benchmark's home page]")] = None,
    no_literals: Annotated[bool, typer.Option("--no-literals", help="Leave out the lines with literals.")] = False,
    header: Annotated[bool, typer.Option("--header", help="Write the benchmark's two lines about the file, which are no legal N-Triples.")] = False,
    threads: Threads = None,
    force: Force = False,
    json_: AsJson = False,
) -> None:
    """Write the data of the Lehigh University Benchmark, line by line that of its own generator."""
    from pyke.config import format_size
    from pyke.lubm import ONTOLOGY, Universities, write

    which = Universities(universities, seed, index, ontology or ONTOLOGY)
    with terminal.Shown() as progress:
        began = time.perf_counter()
        written = write(which, output, literals=not no_literals, header=header, threads=threads, force=force, progress=progress)
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


@app.command()
def evaluate(
    inputs: Annotated[list[str], typer.Argument(help="An embedding directory; or RDF files, to be embedded first.", show_default=False)],
    held_out: Annotated[float | None, typer.Option(help="Withhold the types of this part of the subjects, like 0.2, and predict them.")] = None,
    mu: Mu = None,
    exact: Exact = False,
    no_purity: NoPurity = False,
    report: Annotated[Path | None, typer.Option(help="Write tables and figure to .html, or the figure to .png, .svg or .pdf.")] = None,
    preset: Preset = "default",
    config: ConfigFile = None,
    dimensions: Dimensions = None,
    seed: Seed = None,
    format: Format = None,  # noqa: A002
    base: Base = None,
    on_error: OnError = None,
    lenient: Lenient = False,
    keep_duplicates: KeepDuplicates = False,
    count_literals: CountLiterals = False,
    type_predicate: TypePredicate = None,
    threads: Threads = None,
    force: Force = False,
    json_: AsJson = False,
) -> None:
    """Score an embedding: type prediction and cluster purity, as in the paper, or for types that were withheld."""
    settings = config_of(
        preset, config, dimensions=dimensions, seed=seed, format=format, base=base, on_error=on_error, lenient=lenient,
        keep_duplicates=keep_duplicates, count_literals=count_literals, type_predicate=type_predicate, threads=threads,
    )  # fmt: skip
    from pyke import evaluate as scores
    from pyke.embedding import load
    from pyke.errors import UsageError
    from pyke.evaluate import tables
    from pyke.plots import scores_over_mu
    from pyke.reports import check_report, write_report

    if report:
        check_report(report, force)
    measures = scores.Measures(_numbers(mu), purity=not no_purity, exact=True if exact else None, threads=settings.threads)
    is_embedding = len(inputs) == 1 and (Path(inputs[0]) / "manifest.json").is_file()
    if is_embedding and held_out is not None:
        raise UsageError(f"{inputs[0]} is an embedding that has seen all types; --held-out needs the RDF files, to embed them without some")
    given = {"dimensions": dimensions, "seed": seed, "config": config, "format": format, "type-predicate": type_predicate}
    if is_embedding and (odd := [f"--{name}" for name, value in given.items() if value is not None]):
        raise UsageError(f"{inputs[0]} is an embedding that is made already; {', '.join(odd)} would change nothing")
    with terminal.Shown() as progress:
        if held_out is not None:
            found = scores.evaluate_held_out(inputs, settings, held_out, measures, progress)
        else:
            found = (
                scores.evaluate(load(inputs[0]), measures, progress) if is_embedding else scores.evaluate_graph(inputs, settings, measures, progress)
            )
    shown = tables.evaluation_tables(found)
    if json_:
        terminal.print_json(found.as_dict())
    else:
        terminal.show_tables(shown)
    if report:  # after the scores are shown: a full disk must not lose them
        name = ", ".join(Path(given).name or given for given in inputs)
        write_report(report, f"Evaluation of {name}", shown, scores_over_mu({found.protocol: {name: found.types.scores}}))


@app.command()
def compare(
    inputs: Files,
    methods: Annotated[str | None, typer.Option(help="Methods, like pyke,paper,transe. [all]", show_default=False)] = None,
    time_limit: Annotated[str, typer.Option(help="Most time for one embedding, like 90s, 30m or 2h.")] = "30m",
    report: Annotated[Path, typer.Option(help="The page to write; rows are kept in a .json beside it, and not computed again.")] = Path(
        "comparison.html"
    ),
    held_out: HeldOut = 0.2,
    mu: Mu = None,
    exact: Exact = False,
    no_purity: NoPurity = False,
    preset: Preset = "default",
    config: ConfigFile = None,
    dimensions: Dimensions = None,
    seed: Seed = None,
    format: Format = None,  # noqa: A002
    base: Base = None,
    on_error: OnError = None,
    lenient: Lenient = False,
    keep_duplicates: KeepDuplicates = False,
    type_predicate: TypePredicate = None,
    threads: Threads = None,
    force: Force = False,
    json_: AsJson = False,
) -> None:
    """Compare PYKE with other methods on a graph: both protocols, purity, seconds and memory."""
    settings = config_of(
        preset, config, dimensions=dimensions, seed=seed, format=format, base=base, on_error=on_error, lenient=lenient,
        keep_duplicates=keep_duplicates, type_predicate=type_predicate, threads=threads,
    )  # fmt: skip
    from pyke.config import parse_duration
    from pyke.evaluate import Measures, tables
    from pyke.evaluate.compare import Contest
    from pyke.evaluate.compare import compare as run
    from pyke.evaluate.rivals import METHODS
    from pyke.reports import check_report, write_report

    check_report(report, force=True)  # it grows with the rows that are kept beside it
    measures = Measures(_numbers(mu), purity=not no_purity, exact=True if exact else None, threads=settings.threads)
    chosen = [name.strip() for name in methods.split(",") if name.strip()] if methods else list(METHODS)
    contest = Contest(chosen, held_out, parse_duration(time_limit), measures)
    with terminal.Shown() as progress:
        found = run(inputs, settings, contest, report.with_suffix(".json"), force, progress)
    table = tables.comparison_table(found)
    write_report(report, table.title, [table], tables.curves(found))
    if json_:
        terminal.print_json(found.as_dict())
    else:
        terminal.show_tables([table])
        terminal.out().print(terminal.inert(f"{report} has the figure; {report.with_suffix('.json')} keeps the rows."), highlight=False)


@app.command()
def tune(
    inputs: Inputs,
    trials: Annotated[int, typer.Option(help="How many settings to try.")] = 64,
    output: Annotated[Path, typer.Option("--output", "-o", help="The best settings, for `embed --config`.")] = Path("tuned.toml"),
    report: Annotated[Path | None, typer.Option(help="Write table and figure to .html, or the figure to .png, .svg or .pdf.")] = None,
    held_out: HeldOut = 0.2,
    mu: Annotated[int, typer.Option(help="Neighbours that vote.")] = 10,
    preset: Preset = "default",
    config: ConfigFile = None,
    seed: Seed = None,
    format: Format = None,  # noqa: A002
    base: Base = None,
    on_error: OnError = None,
    lenient: Lenient = False,
    type_predicate: TypePredicate = None,
    threads: Threads = None,
    force: Force = False,
    json_: AsJson = False,
) -> None:
    """Find settings that suit a graph: a Sobol sequence over K, ω, Δe and n, scored on withheld types."""
    settings = config_of(
        preset, config, seed=seed, format=format, base=base, on_error=on_error, lenient=lenient, type_predicate=type_predicate, threads=threads
    )
    from pyke.evaluate import tables
    from pyke.evaluate.tune import SPACE, Trial
    from pyke.evaluate.tune import tune as run
    from pyke.files import check_file, write_file
    from pyke.plots import trials_figure
    from pyke.reports import check_report, write_report

    check_file(output, force)
    if report:
        check_report(report, force)
    with terminal.Shown() as progress:

        def tell(trial: Trial) -> None:
            progress.note(tables.trial_line(trial))

        found = run(inputs, settings, trials, held_out, mu, progress, tell)
    write_file(output, found.config.as_toml(always=SPACE).encode())
    table = tables.tuning_table(found)
    if report:
        write_report(report, table.title, [table], trials_figure([asdict(trial) for trial in found.trials], list(SPACE), found.base_score))
    if json_:
        terminal.print_json({"output": str(output), **found.as_dict()})
    else:
        terminal.show_tables([table])
        terminal.out().print(terminal.inert(f"The best settings are in {output}: pyke embed --config {output} …"), highlight=False)


def _numbers(text: str | None) -> list[int] | None:
    """1,3,10 → [1, 3, 10]."""
    from pyke.errors import UsageError

    try:
        return None if text is None else [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"--mu is {text!r}; it must be numbers like 1,3,10") from None
