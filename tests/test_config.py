"""Parameters: bounds, presets, sizes."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import ROOT, Command
from graphs import many
from pyke.config import PRESETS, SETTINGS, Config, Setting, format_size, parse_duration, parse_size
from pyke.errors import NoInput, UsageError
from pyke.simulation.anneal import energy_of, planned_iterations


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dimensions", 0),
        ("dimensions", -1),
        ("dimensions", 2.5),
        ("dimensions", True),
        ("clusters", -1),
        ("clusters", 10_001),
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


def test_unknown_presets_and_parameters_are_refused_with_known_ones() -> None:
    with pytest.raises(UsageError, match="default, paper"):
        Config.preset("papre")
    with pytest.raises(UsageError, match="Did you mean 'dimensions'"):
        Config.preset("default", dimension=3)
    with pytest.raises(UsageError, match="the settings are: dimensions, "):
        Config.preset("default", qqq=3)


def test_the_paper_preset_has_the_papers_values() -> None:
    config = Config.preset("paper")
    assert (config.similarity, config.mass, config.repulsion, config.rescale) == (
        "ppmi",
        "unit",
        "elementwise",
        True,
    )
    assert (config.k, config.repellers, config.omega, config.energy_release, config.dimensions) == (
        45,
        45,
        1.45557,
        0.0414,
        50,
    )


def test_the_preset_for_clusters_ends_repulsion_in_the_last_fifth() -> None:
    config = Config.preset("clusters")
    planned = planned_iterations(config)
    quiet = sum(energy_of(n, config) < config.repel_above for n in range(planned))
    assert (planned, quiet) == (34, 7)


def test_a_parameter_given_as_none_keeps_the_presets_value() -> None:
    assert Config.preset("paper", omega=None, k=3) == Config(**{**PRESETS["paper"], "k": 3})


def test_the_paper_preset_has_as_many_repellers_as_springs() -> None:
    assert Config.preset("paper", k=3).repellers == 3
    assert Config.preset("paper", k=3, repellers=4).repellers == 4


def test_threads_and_memory_do_not_decide_the_result() -> None:
    assert (
        Config(threads=1, memory=10**9, checkpoint_seconds=1.0).effective()
        == Config(threads=2).effective()
    )
    assert Config(seed=1).effective() != Config(seed=2).effective()


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8GB", 8 * 10**9),
        ("512MiB", 512 * 2**20),
        ("1.5 gb", 1_500_000_000),
        ("1000", 1000),
        ("1e9", 10**9),
    ],
)
def test_sizes_are_read_with_their_units(text: str, size: int) -> None:
    assert parse_size(text) == size
    assert Config.preset("default", memory=text).memory == size


@pytest.mark.parametrize("text", ["", "GB", "8 GBB", "-1GB", "8,5GB", "nan"])
def test_an_invalid_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="size"):
        parse_size(text)


def test_sizes_are_formatted_for_people() -> None:
    assert [format_size(size) for size in (12, 1500, 2_340_000, 8e9, 3e12)] == [
        "12 B",
        "1.5 kB",
        "2.34 MB",
        "8 GB",
        "3 TB",
    ]


# --------------------------------------------------------------------------------------------------
# Durations
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), (" 30 m ", 1800), ("1.5h", 5400), (".5m", 30), ("2d", 172_800)],
)
def test_durations_are_read_with_their_units(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "soon", "m", "0", "0s", "-1s", "1,5h", "5 weeks", "1h30m", "nan", "inf", "1e3", "٣s"],
)
def test_an_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="90s, 30m or 2h"):
        parse_duration(text)


# --------------------------------------------------------------------------------------------------
# Files
# --------------------------------------------------------------------------------------------------

CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "dimensions": st.integers(1, 4096),
        "similarity": st.sampled_from(["context", "ppmi"]),
        "clusters": st.integers(0, 10_000),
        "k": st.integers(1, 10_000),
        "repellers": st.integers(0, 10_000),
        "mass": st.sampled_from(["stiffness", "unit"]),
        "omega": st.floats(0, 1e30),
        "energy_release": st.floats(1e-9, 1e300),
        "epsilon": st.floats(0, 1e300),
        "stop_when_j_rises": st.booleans(),
        "rescale": st.booleans(),
        "seed": st.integers(0, 2**64 - 1),
        "format": st.sampled_from(["turtle", None]),
        "base": st.text(),
        "type_predicate": st.text(),
        "threads": st.integers(1, 64),
        "memory": st.integers(1, 2**60),
        "checkpoint_seconds": st.floats(0, 1e6),
    },
)


@given(changes=CHANGES, always=st.sets(st.sampled_from([field.name for field in fields(Config)])))
@many(150)
def test_settings_survive_toml(
    tmp_path_factory: pytest.TempPathFactory, changes: dict[str, Any], always: set[str]
) -> None:
    path = tmp_path_factory.getbasetemp() / "settings.toml"
    config = Config(**changes)
    path.write_text(config.as_toml(always), encoding="utf-8")
    assert Config.read(path).effective() == config.effective(), (
        "threads and memory belong to a machine, and are not written"
    )


def test_toml_has_changed_settings_and_requested_ones() -> None:
    assert Config().as_toml() == ""
    assert Config(k=7, rescale=True).as_toml(["omega"]) == "k = 7\nomega = 1.0\nrescale = true\n"


def test_the_papers_preset_survives_toml(tmp_path: Path) -> None:
    path = tmp_path / "paper.toml"
    path.write_text(Config.preset("paper").as_toml())
    assert Config.read(path) == Config.preset("paper")


def test_a_file_overrides_the_preset_and_a_change_overrides_the_file(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('k = 7\nomega = 2\nmemory = "2GB"\n')
    config = Config.read(path, "paper", omega=3.0, seed=None)
    assert (config.k, config.repellers, config.omega, config.rescale, config.memory) == (
        7,
        7,
        3.0,
        True,
        2 * 10**9,
    )


def test_a_file_can_name_its_preset(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('preset = "paper"\nk = 7\n')
    assert Config.read(path) == Config.preset("paper", k=7)


def test_a_missing_settings_file_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.toml", tmp_path):
        with pytest.raises(NoInput, match="cannot open"):
            Config.read(path)


BAD_FILES = {
    "no TOML": b"k = = 3",
    "no TOML, but JSON": b'{"k": 3}',
    "a key twice": b"k = 3\nk = 4",
    "no UTF-8": b'base = "\xff"',
    "an unknown key": b"kk = 3",
    "a table": b"[k]\nvalue = 3",
    "an unknown preset": b'preset = "x"',
    "out of bounds": b"k = 0",
    "no number": b'k = "3"',
    "a date": b"seed = 2024-01-01",
    "not finite": b"omega = inf",
    "no size": b'memory = "lots"',
    "no choice": b'mass = "heavy"',
    "a list for a choice": b'mass = ["unit"]',
    "a text for a switch": b'rescale = "no"',
    "a number for a switch": b"lenient = 7",
    "a number for a text": b"type_predicate = 5",
    "a list for a text": b'similarity = ["ppmi"]',
    "a number for a syntax": b"format = 3",
    "a list for a base": b'base = ["a:"]',
}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES)
def test_invalid_settings_are_refused_with_the_name_of_their_file(
    content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "settings.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"settings\.toml"):
        Config.read(path)


# --------------------------------------------------------------------------------------------------
# The table of settings
# --------------------------------------------------------------------------------------------------


def test_the_settings_page_has_the_table_of_the_code() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    spec = importlib.util.spec_from_file_location("settings", ROOT / "docs" / "settings.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.updated(page) == page, "run: python docs/settings.py"


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: one.name)
def test_every_setting_is_an_option_of_embed_and_a_parameter_of_the_transformer(
    setting: Setting, pyke: Command
) -> None:
    from pyke.use.sklearn import PykeEmbedder

    assert f"--{setting.name.replace('_', '-')}" in pyke("embed", "--help").stdout
    assert setting.name in {*PykeEmbedder().get_params(), "seed"}


def test_every_default_is_within_its_own_bounds() -> None:
    for setting in SETTINGS:
        setting.check(setting.default)
