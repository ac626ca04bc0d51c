"""Documents made to harm: whatever they contain, a run ends soon and with an error of ours."""

from __future__ import annotations

import math
import random
import resource
import time
import traceback
from pathlib import Path

import numpy as np
import pytest

from conftest import DATA
from faults.conftest import LONG, Figure, times
from faults.runs import call
from mutations import mutated
from pyke.config import Config
from pyke.core import hashing
from pyke.errors import EmptyGraph
from pyke.pipeline import Run, embed_graph

AT_ONCE = 100  # documents
MAX_SECONDS = 60.0  # for these documents of some kilobytes, on a busy machine
SUFFIXES = (".nt", ".nq", ".ttl", ".trig", ".rdf", ".jsonld")


# -- malformed documents ----------------------------------------------------------------------


def test_mutated_documents_are_read_or_refused_with_an_error_of_ours(
    tmp_path: Path, rng: random.Random, figure: Figure
) -> None:
    if not (DATA / "w3c-rdf11").is_dir():
        pytest.skip("the test suites of the W3C are missing")
    documents = times(250, 100_000)
    process = call(_read_mutants, tmp_path, rng.randrange(1 << 30), documents)
    process.join()
    assert process.exitcode == 0, (tmp_path / "error").read_text()
    figure("T1", (tmp_path / "figure").read_text())


def _read_mutants(folder: Path, seed: int, documents: int) -> None:
    """Runs in a process of its own: a crash is a failed test."""
    rng = random.Random(seed)
    originals = [
        (path.suffix, path.read_bytes())
        for path in sorted((DATA / "w3c-rdf11").rglob("*"))
        if path.suffix in SUFFIXES and path.stat().st_size < 1 << 14
    ]
    refused, slowest = 0, 0.0
    try:
        for _ in range(0, documents, AT_ONCE):
            paths: list[Path] = []
            for suffix, text in rng.choices(originals, k=AT_ONCE):
                for _ in range(rng.randrange(1, 4)):
                    text = mutated(text, rng)
                paths.append(folder / f"{len(paths)}{suffix}")
                paths[-1].write_bytes(text)
            began = time.monotonic()
            refused += _problems(paths)
            slowest = max(slowest, time.monotonic() - began)
        assert refused / documents > 0.1, refused
        assert slowest < MAX_SECONDS, slowest
        (folder / "figure").write_text(
            f"{documents:,} mutated documents: {refused:,} problems reported, 0 crashes, "
            f"at most {slowest:.1f} s for {AT_ONCE}"
        )
    except BaseException:
        (folder / "error").write_text(traceback.format_exc())
        raise


def _problems(paths: list[Path]) -> int:
    """Number of problems in documents that are read in one run."""
    try:
        return Run(paths, Config(threads=1, on_error="skip")).read().census.errors
    except EmptyGraph:
        return len(paths)


# -- algorithmic complexity -------------------------------------------------------------------


def test_time_and_memory_of_a_star_are_linear_in_its_leaves(tmp_path: Path, figure: Figure) -> None:
    sizes = (100_000, 1_000_000, 10_000_000) if LONG else (20_000, 200_000)
    seconds, peaks = zip(*(_star(tmp_path, leaves) for leaves in sizes), strict=True)
    factor = math.log(sizes[-1] / sizes[0])
    slope = math.log(seconds[-1] / seconds[0]) / factor
    growth = math.log(peaks[-1] / peaks[0]) / factor
    assert slope <= 1.1
    assert growth <= 1.1
    figure("T9", f"star of {sizes[-1]:,} leaves: log-log slope {slope:.2f}, memory {growth:.2f}")


def _star(folder: Path, leaves: int) -> tuple[float, int]:
    """CPU seconds and peak memory to embed a star, without those of an empty process."""
    result = folder / "star.txt"
    process = call(_embed_star, folder / "star.nt", leaves, result)
    process.join()
    assert process.exitcode == 0
    seconds, peak = result.read_text().split()
    return float(seconds), int(peak)


def _embed_star(path: Path, leaves: int, result: Path) -> None:
    with path.open("w") as file:
        file.writelines(f"<http://e/{i}> <http://e/p> <http://e/hub> .\n" for i in range(leaves))
    config = Config(dimensions=8)
    before = _usage()
    embed_graph(Run(path, config).read(), config)
    after = _usage()
    result.write_text(f"{after[0] - before[0]} {after[1] - before[1]}")


def _usage() -> tuple[float, int]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def test_iris_that_collide_under_one_seed_are_read_as_fast_as_others(
    tmp_path: Path, figure: Figure
) -> None:
    """Each run draws its own seed of the hash, so collisions cannot be planned."""
    wanted = 20_000
    colliding = _colliding(wanted)
    usual = [b"http://e/%d" % (7919 * i) for i in range(wanted)]
    files = {}
    for name, iris in {"colliding": colliding, "usual": usual}.items():
        files[name] = tmp_path / f"{name}.nt"
        files[name].write_bytes(b"".join(b"<%s> <http://e/p> <http://e/o> .\n" % i for i in iris))
    seconds = {name: min(_reading_seconds(path) for _ in range(5)) for name, path in files.items()}
    ratio = seconds["colliding"] / seconds["usual"]
    assert ratio < 1.5
    figure("T10", f"{wanted:,} IRIs that collide under another seed: {ratio:.2f} × the usual time")


def _colliding(wanted: int) -> list[bytes]:
    """IRIs whose hashes under the seed 0 are equal in their last six bits."""
    found: list[bytes] = []
    number = 0
    while len(found) < wanted:
        iri = b"http://e/%d" % number
        text = np.frombuffer(iri, np.uint8)
        if int(hashing.hash_bytes(text, 0, len(text), np.uint64(0))) & 63 == 0:
            found.append(iri)
        number += 1
    return found


def _reading_seconds(path: Path) -> float:
    began = time.process_time()
    Run(path, Config(threads=1)).read()
    return time.process_time() - began
