"""The house: who may import whom, who may write, and what nobody may do."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

SOURCE = ROOT / "src" / "pyke"

# A module imports only from earlier lines; modules of one line do not import one another.
LEVELS = [
    ["errors", "version", "progress"],
    ["config", "memory", "parallel"],
    ["kernels", "graph"],
    ["files", "search"],
    ["sandbox", "ids", "store", "clusters", "endpoint", "queries", "lookup", "tables"],
    ["documents", "parts", "springs.ppmi", "springs.contexts", "repulsion"],
    ["rdf", "springs", "simulation", "embedding"],
    ["checkpoints", "planning", "plots", "sources", "lubm.university", "fetching", "cluster_tables", "export.rows"],
    ["export.tables", "export.arrays", "export.postgres"],
    ["pipeline", "reports", "lubm", "export"],
    ["evaluate.type_prediction", "update", "maps", "sklearn"],
    ["evaluate.purity", "evaluate.held_out", "animation"],
    ["evaluate", "calibration"],
    ["evaluate.rivals", "evaluate.tune", "predictions"],
    ["evaluate.compare", "prediction"],
    ["evaluate.tables", "terminal", "explanation"],
    ["cli.options"],
    ["cli.embedding", "cli.experiments", "cli.nearest", "cli.types", "cli.cluster", "cli.plot", "cli.export", "cli.update", "cli.fetch"],
    ["cli"],
    ["__main__", "__init__"],
]
LEVEL_OF = {module: number for number, modules in enumerate(LEVELS) for module in modules}
MODULES = sorted(SOURCE.rglob("*.py"))


def _name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


# Methods of what a user holds hand over to modules that build on it: these imports stand in the methods.
FACADE = "embedding"


def _imported(path: Path) -> set[str]:
    """Modules of ours that a module imports, anywhere in it; at its top, if it is the facade."""
    found = set()
    tree = ast.parse(path.read_text())
    for node in tree.body if _name(path) == FACADE else ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    names = {name.removeprefix("pyke.") for name in found if name.startswith("pyke.")}
    return {name for name in names if name in LEVEL_OF}


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_a_module_imports_only_from_the_levels_above_it(path: Path) -> None:
    name = _name(path)
    wrong = {other for other in _imported(path) - {name} if LEVEL_OF[other] >= LEVEL_OF[name]}
    assert not wrong, f"{name} (level {LEVEL_OF[name]}) imports {wrong}"


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_only_files_py_writes(path: Path) -> None:
    writing = {"save", "savez", "tofile", "write_text", "write_bytes", "rename", "mkdir", "unlink", "rmtree", "ftruncate", "makedirs"}
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
        owner = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        allowed = (
            _name(path) == "files"
            or (owner == "store" and called == "save")
            or (owner == "embedding" and called == "save")
            or (_name(path) == "kernels" and called in ("mkdir", "rmtree", "save"))  # Numba's own cache
            or (_name(path) == "plots" and called == "save")  # Pillow, into memory
        )
        assert allowed or called not in writing, f"{path.name}:{node.lineno} calls {called}"
        modes = [argument.value for argument in node.args[1:2] if isinstance(argument, ast.Constant)]
        assert allowed or called != "open" or all("w" not in str(mode) and "a" not in str(mode) for mode in modes), (
            f"{path.name}:{node.lineno} writes"
        )


def _compiled(path: Path) -> list[ast.FunctionDef]:
    """The functions of a module that Numba compiles."""
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    return [function for function in functions if {ast.unparse(decorator).split(".")[-1] for decorator in function.decorator_list} & KERNELS]


KERNELS = {"kernel", "float_kernel"}


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_a_compiled_function_calls_none_of_another_file(path: Path) -> None:
    # Numba's cache would go on with the old one when that file changes.
    imported = {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pyke"
        for alias in node.names
    }
    for function in _compiled(path):
        called = {ast.unparse(node.func).split(".")[0] for statement in function.body for node in ast.walk(statement) if isinstance(node, ast.Call)}
        assert not called & imported, f"{path.name}: {function.name} calls {called & imported}"


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_nothing_runs_code_from_data(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names} | {getattr(node, "module", "") or ""}
            assert not names & {"pickle", "marshal", "shelve", "dill", "joblib"}, path
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"eval", "exec", "compile", "__import__"}, f"{path.name}:{node.lineno}"
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert isinstance(node.value, ast.Constant)
            assert node.value.value is False


def test_help_loads_nothing_heavy() -> None:
    code = "import sys, pyke.cli; print(*sys.modules)"
    loaded = set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())
    assert not loaded & {"numpy", "numba", "pyoxigraph", "matplotlib", "zstandard"}


def test_the_oracle_knows_nothing_of_the_package() -> None:
    tree = ast.parse((ROOT / "tests" / "oracle.py").read_text())
    names = [name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in [alias.name for alias in node.names]]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [name for name in names if name.split(".")[0] in {"pyke", "numba"}]
