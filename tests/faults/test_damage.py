"""Damaged and forged embedding directories: an error of the package, never a crash or wrong data.

Damage leaves the checksums as they were. A forgery has valid checksums: its answers may differ, but
every use ends with an answer or an error of the package.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyke
from faults.conftest import Figure, times
from faults.runs import call
from forge import forge, forge_array
from graphs import LABEL, crafts
from pyke.core.progress import Progress
from pyke.core.stored import MANIFEST, seal
from pyke.embedding import store
from pyke.errors import DamagedStore, PykeError
from pyke.use.types.evidence import find_evidence
from pyke.use.types.votes import TypeTable, Voters, require_classes

PER_PROCESS = 200
TESTS = Path(__file__).parents[1]
GRAPH = crafts(8) + "".join(
    f'<http://e/baker/{m}> <{LABEL}> "Bäcker {m}"@de ; <http://e/p> _:b{m} .\n' for m in range(8)
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damage")
    (folder / "graph.ttl").write_text(GRAPH)
    pyke.embed(folder / "graph.ttl", dimensions=4, threads=1).save(folder / "saved")
    return folder / "saved"


def use(directory: Path) -> list[Any]:
    """Everything that users do with an embedding, as numbers and texts."""
    e = pyke.load(directory)
    answers: list[Any] = [repr(e), e.dimensions, list(e.terms), list(e.labels)]
    answers.append(e.nearest_of_many(np.arange(min(9, len(e))), k=5).ids.tolist())
    answers.append([str(one) for one in e.nearest("http://e/baker/1", k=3)])
    answers.append(e.lookup().labels_of(np.arange(len(e), dtype=np.int32)))
    answers.append(e.clusters(4, 4, threads=1).labels.tolist())
    graph, config = e.graph(), e.config(threads=1)
    answers.append([len(graph), graph.census.as_dict(), e.classes.tolist(), e.entities.tolist()])
    table = TypeTable.of(e.types)
    require_classes(table)
    voters = Voters.of(find_evidence(graph, config, Progress()), table, 3, 1, exact=True)
    votes, _ = voters.votes(voters.queries(e.entities), Progress())
    answers.append([column.tolist() for column in votes])
    answers.append(e.explain("http://e/baker/1", mu=3).shared)
    added = np.array([["http://e/baker/1", "http://e/p", "http://e/new"]])
    answers.append(e.update(added, threads=1).vectors.tolist())
    return answers


# -- random damage -------------------------------------------------------------------------------


def damaged(original: dict[str, bytes], rng: random.Random) -> tuple[str, bytes]:
    """One file with flipped bits, cut, extended, overwritten, swapped, or with a changed header."""
    name = rng.choice([name for name, content in original.items() if content])
    data = bytearray(original[name])
    match rng.randrange(7):
        case 0 | 1:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        case 2:
            del data[rng.randrange(len(data)) :]
        case 3:
            data += rng.randbytes(rng.randrange(1, 200))
        case 4:
            begin = rng.randrange(len(data))
            data[begin : begin + 512] = bytes(len(data[begin : begin + 512]))
        case 5:
            data = bytearray(rng.choice(list(original.values())))
        case 6:  # the header of an array, or the beginning of a text
            data[rng.randrange(min(128, len(data)))] = rng.randrange(256)
    return name, bytes(data)


def check_damage(saved: Path, copy: Path, seed: str, number: int) -> None:
    """Damage a copy of a directory again and again."""
    rng = random.Random(seed)
    original = {path.name: path.read_bytes() for path in saved.iterdir()}
    expected = use(saved)
    shutil.copytree(saved, copy)
    done = 0
    while done < number:
        name, content = damaged(original, rng)
        if content == original[name]:
            continue
        done += 1
        (copy / name).write_bytes(content)
        with suppress(DamagedStore):
            assert use(copy) == expected, f"other answers after damage in {name}"
        with pytest.raises(DamagedStore):
            store.verify(copy)
        (copy / name).write_bytes(original[name])


def test_damage_is_found_or_changes_nothing(
    saved: Path, tmp_path: Path, rng: random.Random, figure: Figure
) -> None:
    mutants = times(400, 100_000)
    for batch in range(mutants // PER_PROCESS):
        seed = f"{rng.random()} {batch}"
        process = call(check_damage, saved, tmp_path / str(batch), seed, PER_PROCESS)
        process.join()
        assert process.exitcode == 0, f"exit code {process.exitcode}, seed {seed!r}"
    figure("F8", f"{mutants:,} damaged directories: `verify` found all, 0 crashes, 0 other answers")


# -- forgeries -----------------------------------------------------------------------------------

NUMBERS = (0, 1, -1, 2, 7, 79, 80, 2**15, 2**31 - 1, -(2**31), 2**40, 2**63 - 1, -(2**63))
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1.5,
    10**30,
    "",
    "x",
    "\udcff",
    [],
    {},
    [[]],
    {"a": 1},
    [None],
)


def forged_array(array: Any, rng: random.Random) -> Any:
    """An array with other numbers, another order, another length or another type."""
    array = array.copy()
    if not array.size or rng.random() < 0.3:
        changes: tuple[Callable[[Any], Any], ...] = (
            lambda a: a[: rng.randrange(len(a) + 1)],
            lambda a: a[::-1],
            lambda a: a[np.array([rng.randrange(len(a)) for _ in range(len(a))], int)],
            lambda a: a.astype(rng.choice(["<i4", "<i8", ">i4", "<f4", "<f8", "|u1"])),
            np.asfortranarray,
            lambda a: a.reshape(-1),
            lambda a: np.concatenate([a, a]),
            lambda a: a[..., :1],
        )
        return rng.choice(changes)(array)
    flat = array.reshape(-1)
    for _ in range(rng.choice([1, 1, 2, 20])):
        at = rng.randrange(len(flat))
        with np.errstate(over="ignore"):
            number = np.array([rng.choice(NUMBERS)]).astype(array.dtype)[0]
            flat[at] = rng.choice([number, flat[rng.randrange(len(flat))], flat[at] + number])
    if array.dtype.kind == "f" and rng.random() < 0.5:
        flat[rng.randrange(len(flat))] = rng.choice([np.nan, np.inf, 1e38, -1e38, 1e-40])
    return array


def forged_json(value: Any, rng: random.Random) -> Any:
    """A manifest with one other value, anywhere in it."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        if rng.random() < 0.1:
            return {other: value[other] for other in value if other != key}
        return value | {key: forged_json(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        return [*value[:at], forged_json(value[at], rng), *value[at + 1 :]]
    return rng.choice(VALUES)


def check_forgeries(saved: Path, copy: Path, seed: str, number: int) -> None:
    """Forge a copy of a directory again and again."""
    rng = random.Random(seed)
    original = {path.name: path.read_bytes() for path in saved.iterdir()}
    manifest = json.loads(original[MANIFEST])
    shutil.copytree(saved, copy)
    for _ in range(number):
        name = rng.choice(list(original))
        if name.endswith(".npy"):
            forge_array(copy / name, forged_array(np.load(saved / name), rng))
        elif name == MANIFEST:
            key = rng.choice([key for key in manifest if key != "sha256"])
            (copy / MANIFEST).write_bytes(seal(manifest | {key: forged_json(manifest[key], rng)}))
        else:
            text = bytearray(original[name])
            for _ in range(rng.choice([1, 5])):
                text[rng.randrange(len(text))] = rng.randrange(256)
            (copy / name).write_bytes(text)
            forge(copy)
        with suppress(PykeError):
            use(copy)
        for one in (name, MANIFEST):
            (copy / one).write_bytes(original[one])


def test_forgeries_do_not_crash(
    saved: Path, tmp_path: Path, rng: random.Random, figure: Figure
) -> None:
    mutants = times(200, 20_000)
    for batch in range(mutants // PER_PROCESS):
        seed = f"{rng.random()} {batch}"
        process = call(check_forgeries, saved, tmp_path / str(batch), seed, PER_PROCESS)
        process.join()
        assert process.exitcode == 0, f"exit code {process.exitcode}, seed {seed!r}"
    figure("F8", f"{mutants:,} forged directories with valid checksums: 0 crashes")


def test_kernels_stay_within_bounds_on_forgeries(
    saved: Path, tmp_path: Path, rng: random.Random, figure: Figure
) -> None:
    """Without the compiler, kernels run in Python: an index that is too large raises IndexError."""
    mutants = times(30, 5000)
    code = (
        "from pathlib import Path; from faults.test_damage import check_forgeries; "
        f"check_forgeries(Path({str(saved)!r}), Path({str(tmp_path / 'x')!r}), "
        f"{str(rng.random())!r}, {mutants})"
    )
    path = os.pathsep.join([str(TESTS), *filter(None, sys.path)])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    figure("F8", f"{mutants:,} forged directories, kernels with bounds checks: 0 violations")


# -- names in manifests --------------------------------------------------------------------------

TRAVERSALS = [
    "..", ".", "", "/", "../vectors.npy", "../../etc/passwd", "/etc/passwd", "a/../../b", "a/b",
    "..\\x", "C:\\x", "%2e%2e%2fx", "%252e%252e", "x\0y", "x\ny", "‥/x", "．．/x", "~/x", "\udcff",
    "vectors.npy/", "./vectors.npy", "vectors.npy\0", "file:///etc/passwd", "x" * 300,
]  # fmt: skip


def names(rng: random.Random, number: int) -> Iterator[str]:
    """Names that lead out of a directory, and mixtures of them."""
    yield from TRAVERSALS
    for _ in range(number):
        yield rng.choice(("/", "\\", "%2f")).join(rng.choices(TRAVERSALS, k=rng.randrange(2, 5)))


def test_names_in_a_manifest_do_not_lead_out_of_the_directory(
    saved: Path, tmp_path: Path, rng: random.Random, figure: Figure
) -> None:
    copy = shutil.copytree(saved, tmp_path / "copy")
    manifest = json.loads((copy / MANIFEST).read_bytes())
    files = manifest["files"]
    refused = 0
    for name in names(rng, 500):
        for listed in (files | {name: files["vectors.npy"]}, {name: files["vectors.npy"]}):
            (copy / MANIFEST).write_bytes(seal(manifest | {"files": listed}))
            with pytest.raises(DamagedStore):
                pyke.load(copy)
        refused += 1
    figure("T7", f"{refused} names of files that lead out of a directory: all refused")
