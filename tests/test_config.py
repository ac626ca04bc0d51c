"""Parameters: bounds, presets, sizes."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pyke.config import PRESETS, Config, format_size, parse_size
from pyke.errors import UsageError


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dimensions", 0),
        ("dimensions", -1),
        ("dimensions", 2.5),
        ("dimensions", True),
        ("k", 0),
        ("repellers", -1),
        ("omega", math.nan),
        ("omega", math.inf),
        ("omega", -0.1),
        ("energy_release", 0.0),
        ("energy_release", math.nan),
        ("max_iterations", 0),
        ("epsilon", math.nan),
        ("seed", -1),
        ("seed", 2**64),
        ("threads", -1),
        ("memory", 0),
        ("mass", "heavy"),
        ("repulsion", "none"),
        ("init", "zeros"),
        ("on_error", "ignore"),
    ],
)
def test_a_value_out_of_bounds_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=name):
        Config.preset("default", **{name: value})


def test_unknown_presets_and_parameters_are_refused_with_a_list_of_those_there_are() -> None:
    with pytest.raises(UsageError, match="default, paper"):
        Config.preset("papre")
    with pytest.raises(UsageError, match="dimensions"):
        Config.preset("default", dimension=3)


def test_the_paper_preset_has_the_papers_values() -> None:
    config = Config.preset("paper")
    assert (config.similarity, config.mass, config.repulsion, config.rescale) == ("ppmi", "unit", "elementwise", True)
    assert (config.k, config.repellers, config.omega, config.energy_release, config.dimensions) == (45, 45, 1.45557, 0.0414, 50)


def test_a_parameter_given_as_none_keeps_the_presets_value() -> None:
    assert Config.preset("paper", omega=None, k=3) == Config(**{**PRESETS["paper"], "k": 3})


def test_the_paper_preset_has_as_many_repellers_as_springs() -> None:
    assert Config.preset("paper", k=3).repellers == 3
    assert Config.preset("paper", k=3, repellers=4).repellers == 4


def test_threads_and_memory_do_not_belong_to_what_decides_the_result() -> None:
    assert Config(threads=1, memory=10**9, checkpoint_seconds=1.0).effective() == Config(threads=2).effective()
    assert Config(seed=1).effective() != Config(seed=2).effective()


@pytest.mark.parametrize(("text", "size"), [("8GB", 8 * 10**9), ("512MiB", 512 * 2**20), ("1.5 gb", 1_500_000_000), ("1000", 1000), ("1e9", 10**9)])
def test_sizes_are_read_with_their_units(text: str, size: int) -> None:
    assert parse_size(text) == size
    assert Config.preset("default", memory=text).memory == size


@pytest.mark.parametrize("text", ["", "GB", "8 GBB", "-1GB", "8,5GB", "nan"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="size"):
        parse_size(text)


def test_sizes_are_written_for_people() -> None:
    assert [format_size(size) for size in (12, 1500, 2_340_000, 8e9, 3e12)] == ["12 B", "1.5 kB", "2.34 MB", "8 GB", "3 TB"]
