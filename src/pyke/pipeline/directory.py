"""Embed into a directory, with checkpoints from which an interrupted run resumes."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyke.config import Config
from pyke.core import files
from pyke.core.progress import Progress
from pyke.embedding import store
from pyke.embedding.embedding import Embedding, load
from pyke.errors import Interrupted, OutputExists, PykeError, UsageError
from pyke.pipeline.refusal import refuse_hopeless
from pyke.pipeline.spilling import needs_everything

if TYPE_CHECKING:
    from pyke.pipeline.checkpoints import Checkpoints
    from pyke.pipeline.embed import Run
    from pyke.read.objects import Inputs


def embed_to(
    output: str | os.PathLike[str],
    inputs: Inputs,
    config: Config,
    *,
    force: bool = False,
    resume: bool = False,
    progress: Progress | None = None,
) -> Embedding:
    """Embed some inputs and write the embedding directory `output`.

    Checkpoints are kept beside it until it is complete; `resume=True` continues from the last one.

    Examples
    --------
    >>> import tempfile
    >>> from pyke.config import Config
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     e = embed_to(f"{folder}/out", "examples/father.ttl", Config(dimensions=10))
    ...     sorted(os.listdir(f"{folder}/out"))[:2]
    ['label_offsets.npy', 'labelled.npy']
    """
    target = Path(output).resolve()
    if not resume:
        files.check_output_directory(target, force)  # before anything is read
        refuse_hopeless(inputs, config)  # before Numba is loaded
    from pyke.pipeline.checkpoints import Checkpoints
    from pyke.pipeline.embed import Run

    run = Run(inputs, config, progress)
    can_resume = not (run.rows or any(document.name == "-" for document in run.documents))
    if resume and not can_resume:
        raise UsageError(
            "`resume=True` needs files as inputs, to check that they are unchanged. "
            "Save the input to a file first"
        )
    note, fingerprint = run.stages.progress.note, run.fingerprint()
    if resume:
        if not force and (finished := _finished(target, fingerprint)):
            note(f"{output} is complete; there is nothing to resume.")
            with suppress(PykeError), files.work_directory(target):
                pass  # removes what a run leaves that is killed when its output is complete
            return finished
        files.check_output_directory(target, force)
    with files.work_directory(target) as work:
        if not resume and any((*work.glob("*positions"), *work.glob("reading-*"))):
            note("Discarded the checkpoint of an earlier run. `resume=True` continues from one.")
        try:
            every = config.checkpoint_seconds
            with Checkpoints(work, fingerprint, every, resume, note) as checkpoints:
                checkpoints.can_resume &= can_resume
                embedding = _embed(run, checkpoints, work, resume, target, force)
        except Interrupted as stopped:
            if not can_resume:
                raise
            advice = "Run the same command with `resume=True` to continue from the last checkpoint."
            raise Interrupted(stopped.signal_number, advice) from None
    embedding.manifest["stages"] = run.stages.as_dicts()
    return embedding


def _embed(
    run: Run, checkpoints: Checkpoints, work: Path, resume: bool, target: Path, force: bool
) -> Embedding:
    """Embed in memory, or on disk if `memory` is too small for that, and write the directory."""
    known = []
    if run.config.memory is not None and not run.rows and not needs_everything(run.config):
        from pyke.pipeline.spilled import SpilledFlow, SpilledReading

        reading = SpilledReading(run, checkpoints, work, resume)
        known = reading.read()
        if not known:
            SpilledFlow(run, reading, checkpoints).embed(target, force)
            return load(target)
    embedding = run.embed(checkpoints, known)
    embedding.manifest["fingerprint"] = run.fingerprint()
    with run.stages.stage("writing"):
        embedding.save(target, force)
    return embedding


def _finished(target: Path, fingerprint: dict[str, Any]) -> Embedding | None:
    """The embedding in a directory if it is valid and a run with this fingerprint wrote it.

    If another run wrote it: OutputExists.
    """
    from pyke.pipeline.checkpoints import difference

    wanted = json.loads(json.dumps(fingerprint))
    try:
        found = load(target)
        if found.manifest.get("fingerprint") == wanted:
            store.verify(target)
            return found
    except PykeError:
        return None
    if isinstance(other := found.manifest.get("fingerprint"), dict):
        raise OutputExists(
            f"{target} is the result of another run: {difference(other, wanted)}. "
            "Pass `force=True` to replace it"
        )
    return None
