"""The cost model: planned bytes are those of a run, and what does not fit is refused."""

from __future__ import annotations

import json
from itertools import pairwise

import fsspec
import pytest

from conftest import Command
from graphs import random_graph
from pyke.config import Config
from pyke.errors import OverBudget, UsageError
from pyke.pipeline.distributed.costs import Counts, check_memory, halo_rows, plan_cluster
from pyke.pipeline.distributed.directory import embed_with
from pyke.pipeline.partitions.executor import InProcess

HUGE = Counts.like_lubm(150e9, 3e9)


def test_a_run_exchanges_no_more_than_the_worst_case() -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe_file("memory://costs.nt", random_graph(3000).encode())
    config = Config(threads=1)
    made = embed_with(InProcess(), 4, "memory://costs", "memory://costs.nt", config)
    used, census = made["cluster"], made["census"]
    counts = Counts.like_lubm(census["triples"], census["terms"])
    counts = counts.with_springs(used["pairs"], made["particles"], made["springs"])
    planned = plan_cluster(counts, config, 4)
    assert used["halo_bytes"] <= planned.worst_halo_bytes <= planned.all_gather_bytes
    memory.store.clear()


def test_one_worker_exchanges_nothing() -> None:
    assert halo_rows(HUGE, Config(), 1) == (0, 0)


def test_more_workers_need_less_time_and_less_memory_each() -> None:
    plans = [plan_cluster(HUGE, Config(), workers) for workers in (64, 128, 256)]
    for fewer, more in pairwise(plans):
        assert more.memory_bytes < fewer.memory_bytes
        assert more.halo_bytes < more.worst_halo_bytes < more.all_gather_bytes
        assert more.stages[0].seconds < fewer.stages[0].seconds
    assert all(plan.wide_ids for plan in plans)


def test_a_refusal_says_how_many_workers_would_do() -> None:
    counts = Counts.like_lubm(1e9, 2e8)
    planned = plan_cluster(counts, Config(), 4)
    with pytest.raises(OverBudget, match=r"each of 4 workers needs .*Use `workers=\d+`") as refused:
        check_memory(planned, Config(), 8_000_000_000)
    enough = int(str(refused.value).split("workers=")[1].split("`")[0])
    check_memory(plan_cluster(counts, Config(), enough), Config(), 8_000_000_000)
    with pytest.raises(OverBudget, match="a worker needs more than 286 MB"):
        check_memory(planned, Config(), 200_000_000)


def test_no_workers_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        plan_cluster(HUGE, Config(), 0)


def test_the_command_plans_a_graph_that_nobody_has(pyke: Command) -> None:
    size = ("--triples", "150e9", "--terms", "3e9", "--workers", "256")
    shown = pyke("plan", *size, "--memory-per-worker", "64GB")
    assert shown.returncode == 75
    assert "--memory-per-worker is 64 GB" in shown.stderr
    assert "ids of 64 bits" in shown.stdout
    planned = pyke("plan", *size, "--json")
    assert planned.returncode == 75
    assert "more than 2,147,483,646 terms and contexts" in planned.stderr
    found = json.loads(planned.stdout)
    assert found["workers"] == 256
    assert found["seconds"] == pytest.approx(sum(one["seconds"] for one in found["stages"]))


def test_more_triples_than_32_bits_can_count_are_planned(pyke: Command) -> None:
    size = ("--triples", "6e9", "--terms", "3e8", "--workers", "64")
    planned = pyke("plan", *size, "--memory-per-worker", "64GB", "--json")
    assert planned.returncode == 0
    assert not json.loads(planned.stdout)["wide_ids"]


def test_the_command_plans_files_for_workers(pyke: Command) -> None:
    found = json.loads(pyke("plan", "examples/father.ttl", "--workers", "2", "--json").stdout)
    assert found["counts"]["triples"] == 18


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["examples/father.ttl", "--triples", "5", "--workers", "2"],
        ["--triples", "5", "--terms", "3"],
        ["--triples", "5", "--workers", "2"],
    ],
)
def test_incomplete_options_are_refused(pyke: Command, options: list[str]) -> None:
    assert pyke("plan", *options).returncode == 2
