"""`pyke embed`: RDF files to an embedding directory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyke.cli import terminal
from pyke.cli.info import show_census
from pyke.cli.options import (
    MODEL_SETTINGS,
    READING_SETTINGS,
    RUNNING_SETTINGS,
    AsJson,
    Force,
    Inputs,
    Settings,
    with_settings,
)
from pyke.cli.tables import print_table

if TYPE_CHECKING:
    from pyke.config import Config

_CLUSTER = "Cluster"
_STOP_REASONS = {
    "energy": "energy reached 0",
    "iterations": "reached the maximum number of iterations",
    "displacement": "the particles stopped moving",
    "objective": "the objective J stopped falling",
}


_Output = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="PATH", help="Embedding directory to write.", show_default=False
    ),
]
_Resume = Annotated[
    bool, typer.Option("--resume", help="Continue an interrupted run from its checkpoint.")
]
_Workers = Annotated[
    int | None,
    typer.Option(
        help="Use this many worker processes on this computer.",
        rich_help_panel=_CLUSTER,
        show_default=False,
    ),
]
_Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Use the workers of a Dask scheduler, such as tls://host:8786.",
        rich_help_panel=_CLUSTER,
    ),
]
_TlsCa = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Certificate of who signed those of the cluster.",
        rich_help_panel=_CLUSTER,
    ),
]
_TlsCert = Annotated[
    str | None, typer.Option(metavar="FILE", help="Your certificate.", rich_help_panel=_CLUSTER)
]
_TlsKey = Annotated[
    str | None, typer.Option(metavar="FILE", help="Your private key.", rich_help_panel=_CLUSTER)
]


@with_settings([*MODEL_SETTINGS, *READING_SETTINGS, *RUNNING_SETTINGS])
def embed(
    inputs: Inputs,
    output: _Output,
    settings: Settings,
    force: Force = False,
    resume: _Resume = False,
    as_json: AsJson = False,
    workers: _Workers = None,
    scheduler: _Scheduler = None,
    tls_ca: _TlsCa = None,
    tls_cert: _TlsCert = None,
    tls_key: _TlsKey = None,
) -> None:
    """Embed the graph in RDF files."""
    config = settings.config()
    cluster = _Cluster(workers, scheduler, (tls_ca, tls_cert, tls_key))
    with terminal.ShownProgress() as progress:
        if cluster.wanted:
            manifest = cluster.embed(
                output, inputs, config, force=force, resume=resume, progress=progress
            )
        else:
            from pyke.pipeline import embed_to

            manifest = embed_to(
                output, inputs, config, force=force, resume=resume, progress=progress
            ).manifest
    if as_json:
        shown = {key: value for key, value in manifest.items() if key != "history"}
        terminal.print_json({"output": str(output), **shown})
        return
    show_census(manifest["census"])
    _show_stages(manifest["stages"])
    iterations, reason = len(manifest["history"]), _STOP_REASONS[manifest["stop_reason"]]
    terminal.say(f"Finished after {iterations} iterations ({reason}).")
    terms = manifest["census"]["terms"]
    terminal.say(f"Wrote {terms:,} vectors of {config.dimensions} dimensions to {output}.")


@dataclass(frozen=True)
class _Cluster:
    """The cluster that the options describe."""

    workers: int | None
    scheduler: str | None
    tls: tuple[str | None, str | None, str | None]

    @property
    def wanted(self) -> bool:
        """Whether the run is to use a cluster."""
        from pyke.errors import UsageError

        if self.workers is not None and self.scheduler is not None:
            raise UsageError("give `scheduler` or `workers`, not both")
        if any(self.tls) and self.scheduler is None:
            raise UsageError("certificates are for a `scheduler`; `workers` makes its own")
        return self.workers is not None or self.scheduler is not None

    def embed(
        self, output: str, inputs: list[str], config: Config, **options: Any
    ) -> dict[str, Any]:
        """Embed there, and return the manifest."""
        from pyke.pipeline.distributed import embed_to
        from pyke.pipeline.distributed.cluster import local_cluster, remote_cluster

        opened = (
            remote_cluster(self.scheduler, *self.tls)
            if self.scheduler
            else local_cluster(self.workers or 0, config.memory)
        )
        with opened as client:
            return embed_to(output, inputs, config, client, **options)


def _show_stages(stages: list[dict[str, Any]]) -> None:
    from pyke.config import format_size

    rows = [
        (stage["name"], f"{stage['seconds']:.2f}", format_size(stage["peak_bytes"]))
        for stage in stages
    ]
    print_table(("stage", "seconds", "peak memory"), rows, right=(1, 2))
