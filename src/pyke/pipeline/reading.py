"""Checkpoints of reading: the dictionary and the statements so far, and how far they go."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from pyke.config import Config
from pyke.core.checks import check, check_finite, check_ids, check_offsets, check_texts
from pyke.core.stored import Kind
from pyke.graph.build import Collector
from pyke.graph.graph import Census
from pyke.pipeline.checkpoints import READING, Arrays, Checkpoints, census_of
from pyke.read.tokenize import Place
from pyke.simulation.keeping import MAX_CHECKPOINT_SHARE

WRITTEN_PER_SECOND = 1e9  # bytes, until it has been measured
LARGE = 100_000_000  # bytes

_IDS: Kind = (("<i4",), None)
_KEYS: Kind = (("<u8",), None)
_BYTES: Kind = (("|u1",), None)
_KINDS: dict[str, Kind] = {  # what the collector holds
    "hashes": _KEYS,
    "offsets": (("<i8",), None),
    "blob": _BYTES,
    "triples": (("<i4",), 3),
    "literals": (("<i4",), 2),
    "literal_keys": _KEYS,
    "labels": (("<i8",), 3),
    "label_blob": _BYTES,
    "subjects": _IDS,
    "keys": _KEYS,
    "number_subjects": _IDS,
    "groups": _KEYS,
    "values": (("<f8",), None),
}


class Reading:
    """What a run has read so far. It only grows, so each checkpoint contains what is new.

    Checkpoints take at most 5 % of the time. An interrupted run leaves one. If parts are put on
    disk, each of them is a checkpoint, and there are no others.
    """

    def __init__(
        self,
        checkpoints: Checkpoints,
        config: Config,
        census: Census,
        start: Place | None = None,
    ) -> None:
        """`start` is the end of the parts that are on disk; their census is `census`."""
        self._checkpoints, self._every = checkpoints, config.checkpoint_seconds
        self._last, self._rate = time.monotonic(), WRITTEN_PER_SECOND
        self.collector, self.census = Collector(), census
        self.start = start
        self._used = self._saved = self._sizes()
        self._extra: dict[str, Any] = {}  # at the last place that was passed, until it is saved
        self._place: dict[str, Any] = {}  # the same, until the next place
        self._parts = 0
        self._saves = checkpoints.can_resume and start is None
        if self._saves:
            self._load(census)
            checkpoints.remove_parts(READING, self._parts)

    def _sizes(self) -> dict[str, int]:
        return {name: one.used for name, one in self.collector.growing().items()}

    def _load(self, census: Census) -> None:
        """Continue after the checkpoints of another run, if there are valid ones."""
        while part := self._checkpoints.load(f"{READING}{self._parts}", _KINDS, _part_of):
            arrays, self.census, self.start = part
            for name, growing in self.collector.growing().items():
                more = arrays.pop(name.strip("_"))
                growing.take(len(more))[:] = more
            self._parts += 1
        try:
            _check({name.strip("_"): one.rows for name, one in self.collector.growing().items()})
        except ValueError:
            self.collector, self.census, self.start, self._parts = Collector(), census, None, 0
        self.collector.find_terms_again()
        self.collector.triple_terms = self.census.triple_terms
        self._used = self._saved = self._sizes()

    def passed(self, place: Place) -> None:
        """Save what was collected up to a place, if it is time to."""
        self._used = self._sizes()
        counts = asdict(self.census) | {"triple_terms": self.collector.triple_terms}
        self._extra = self._place = {"census": counts, "place": asdict(place)}
        began, size = time.monotonic(), sum(part.nbytes for part in self._new().values())
        if began - self._last >= max(self._every, size / self._rate / MAX_CHECKPOINT_SHARE):
            self.save()
            self._last = time.monotonic()
            if size > LARGE:  # the time of a small one says nothing about a large one
                self._rate = size / (self._last - began)

    def _new(self) -> Arrays:
        """What was collected since the last checkpoint, up to the last place."""
        return {
            name.strip("_"): one.array[self._saved[name] : self._used[name]]
            for name, one in self.collector.growing().items()
        }

    def save(self) -> None:
        """Save what was collected up to the last place that was passed."""
        if self._extra and self._saves:
            name = f"{READING}{self._parts}"
            self._checkpoints.save(name, self._new(), self._extra, now=True)
            if self._checkpoints.has(name):  # not if the disk is full
                self._saved, self._extra, self._parts = self._used, {}, self._parts + 1

    def put_on_disk(self, write: Callable[[Collector, dict[str, Any]], None]) -> None:
        """Pass on what was collected, and the place if it is one to start from; then forget it."""
        at_a_place = self._place and self._used == self._sizes()
        write(self.collector, self._place if at_a_place else {})
        self._saves, self._extra = False, {}
        self.collector = Collector()
        self._used = self._saved = self._sizes()


def place_of(extra: dict[str, Any]) -> tuple[Census, Place]:
    """Where a part ends that was put on disk, and the census up to there."""
    place = Place(**extra["place"])
    check(all(type(one) is int and 0 <= one < 2**64 for one in vars(place).values()), "no place")
    return census_of(extra), place


def _part_of(arrays: Arrays, extra: dict[str, Any]) -> tuple[Arrays, Census, Place]:
    """What a checkpoint contains."""
    return arrays, *place_of(extra)


def _check(arrays: Arrays) -> None:
    """Raise ValueError unless all ids and offsets are in range, and columns have one length."""
    terms = len(arrays["hashes"])
    check(len(arrays["offsets"]) == terms + 1, "not one hash per term")
    check_texts(arrays["blob"], arrays["offsets"])
    for name in ("triples", "literals", "subjects", "number_subjects"):
        check_ids(arrays[name], 0, terms)
    check_ids(arrays["labels"][:, 0], 0, terms)
    ends = arrays["labels"][:, 2]
    check_offsets(np.append(0, ends), len(arrays["label_blob"]))
    check_finite(arrays["values"])
    numbers = ("number_subjects", "groups", "values")
    for names in (("literals", "literal_keys"), ("subjects", "keys"), numbers):
        check(len({len(arrays[name]) for name in names}) == 1, "columns differ in length")
