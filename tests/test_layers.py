"""The rules of the house: which folder imports which, and what no module does."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from conftest import ROOT
from pyke.core import compile as compiling

SOURCE = ROOT / "src" / "pyke"

# A folder imports only from folders in earlier rows; folders in one row do not import each other.
LAYERS = [
    ["errors"],
    ["core"],
    ["config"],
    ["graph"],
    ["read", "springs", "simulation"],
    ["embedding"],
    ["pipeline"],
    ["use"],
    ["evaluate"],
    ["cli"],
    ["__main__"],
]
LAYER_OF = {folder: number for number, folders in enumerate(LAYERS) for folder in folders}
MODULES = sorted(SOURCE.rglob("*.py"))
KERNEL_DECORATORS = {"kernel", "float_kernel", "exact_kernel"}

# Methods of the embedding call functions that build on it; these imports are inside the methods.
FACADE = SOURCE / "embedding" / "embedding.py"


def _name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


def _folder(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def _imported_folders(path: Path) -> set[str]:
    """Folders that a module imports, anywhere in it; the facade only counts at its top."""
    tree = ast.parse(path.read_text())
    names = set()
    for node in tree.body if path == FACADE else ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "pyke":
            names |= {f"pyke.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    folders = {name.split(".")[1] for name in names if name.startswith("pyke.")}
    return folders & LAYER_OF.keys()


def test_every_entry_of_the_package_has_a_layer() -> None:
    entries = {
        path.name.removesuffix(".py")
        for path in SOURCE.iterdir()
        if path.name not in ("__init__.py", "__pycache__", "py.typed")
    }
    assert entries == LAYER_OF.keys()


def test_contributing_shows_the_layers() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    rows = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    assert [re.findall(r"`(\w+)`", row) for row in rows] == LAYERS


@pytest.mark.parametrize("path", [path for path in MODULES if path.parent != SOURCE], ids=_name)
def test_a_folder_imports_only_from_the_layers_above_it(path: Path) -> None:
    own = _folder(path)
    wrong = {other for other in _imported_folders(path) - {own} if LAYER_OF[other] >= LAYER_OF[own]}
    assert not wrong, f"{_name(path)} imports {wrong}"


@pytest.mark.parametrize("end", ["pipeline.distributed", "use.serve"])
def test_only_commands_import_the_ends_of_the_flow(end: str) -> None:
    inside = SOURCE / end.replace(".", "/")
    outside = [path for path in MODULES if inside not in path.parents]
    users = {_folder(path) for path in outside if f"from pyke.{end}" in path.read_text()}
    assert users == {"cli"}


def test_the_package_has_at_most_a_dozen_entries() -> None:
    assert len(LAYER_OF.keys() - {"__main__"}) <= 12


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_files_and_functions_fit_a_reader(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
    lines = {f.name: (f.end_lineno or 0) - f.lineno + 1 for f in functions}
    if path == SOURCE / "read" / "_kernels.py":
        del lines["tokenize"]  # says itself why it is long
    assert not {name: length for name, length in lines.items() if length > 60}


def _has_kernels(path: Path) -> bool:
    functions = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef)]
    decorators = {ast.unparse(d) for function in functions for d in function.decorator_list}
    return bool(decorators & KERNEL_DECORATORS)


def _constants_of_kernels(kernels: set[Path]) -> set[Path]:
    """Other modules of the package that kernel files import values from."""
    names = {
        node.module
        for path in kernels
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ImportFrom) and node.module
    }
    names -= {"pyke.core.arrays", "pyke.core.compile"}  # types, and the compiler itself
    paths = {SOURCE.parent / f"{name.replace('.', '/')}.py" for name in names}
    return {path for path in paths if path in MODULES} - kernels


def test_the_compile_cache_is_keyed_by_all_files_that_determine_machine_code() -> None:
    listed = {SOURCE / name for name in (*compiling.VECTOR_KERNELS, *compiling.OTHER_KERNELS)}
    kernels = {path for path in MODULES if _has_kernels(path)}
    assert listed == kernels | _constants_of_kernels(kernels)


def test_coverage_omits_the_kernel_files_and_no_others() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = settings["tool"]["coverage"]["run"]["omit"]
    omitted = {path for path in MODULES if any(fnmatch(str(path), p) for p in patterns)}
    assert omitted == {path for path in MODULES if _has_kernels(path)}


def test_the_kernels_that_decide_vectors_are_those_of_the_stages() -> None:
    folders = {"core", "read", "graph", "springs", "simulation"}
    assert {name.split("/")[0] for name in compiling.VECTOR_KERNELS} == folders
    assert not {name.split("/")[0] for name in compiling.OTHER_KERNELS} & folders


CODE_IN_DATA = {"pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle", "yaml"}
RUN_CODE = {
    "eval", "exec", "compile", "__import__", "builtins.eval", "builtins.exec", "os.system",
    "os.popen", "np.fromfile", "np.loadtxt", "np.genfromtxt", "pd.read_pickle",
}  # fmt: skip


def _runs_code(text: str) -> list[str]:
    """Statements that may run code from data, or a shell, or read arrays without any check."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names} | {getattr(node, "module", "") or ""}
            if {name.split(".")[0] for name in names} & CODE_IN_DATA:
                found.append(ast.unparse(node))
        elif isinstance(node, ast.Call):
            options = {one.arg: ast.unparse(one.value) for one in node.keywords}
            function = ast.unparse(node.func).replace("numpy.", "np.")
            unpickles = function == "np.load" and options.get("allow_pickle") != "False"
            unpickles |= options.get("allow_pickle", "False") != "False"
            if function in RUN_CODE or unpickles or options.get("shell", "False") != "False":
                found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_nothing_runs_code_from_data(path: Path) -> None:
    assert _runs_code(path.read_text()) == []


@pytest.mark.parametrize(
    "statement",
    [
        "import pickle",
        "from marshal import loads",
        "import joblib.numpy_pickle",
        "yaml.load(file); import yaml",
        "eval(text)",
        "builtins.exec(text)",
        "np.load(path)",
        "numpy.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=choice)",
        "np.lib.format.read_array(file, allow_pickle=True)",
        "np.fromfile(path)",
        "subprocess.run(text, shell=True)",
    ],
)
def test_every_way_to_run_code_from_data_is_found(statement: str) -> None:
    assert _runs_code(statement)


def test_help_loads_nothing_heavy() -> None:
    code = "import sys, pyke.cli; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "numba", "pyoxigraph", "matplotlib", "zstandard", "starlette", "uvicorn"}
    assert not set(run.stdout.split()) & heavy


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("export", "use.export"),
        ("lubm", "evaluate.lubm"),
        ("maps", "use.maps"),
        ("progress", "core.progress"),
        ("sklearn", "use.sklearn"),
        ("store", "embedding.store"),
    ],
)
def test_a_module_has_one_identity_under_its_short_name(short: str, long: str) -> None:
    code = f"import pyke.{short}, pyke.{long}; assert pyke.{short} is pyke.{long}"
    code += f"; assert pyke.{long}.__spec__.name == 'pyke.{long}'"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_oracle_knows_nothing_of_the_package() -> None:
    tree = ast.parse((ROOT / "tests" / "oracle.py").read_text())
    names = [
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for name in [alias.name for alias in node.names]
    ]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [name for name in names if name.split(".")[0] in {"pyke", "numba"}]


def test_no_test_file_imports_from_another() -> None:
    for path in sorted((ROOT / "tests").glob("*.py")):
        nodes = [*ast.walk(ast.parse(path.read_text()))]
        names = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
        names |= {a.name for node in nodes if isinstance(node, ast.Import) for a in node.names}
        shared = {name for name in names if name.startswith("test_")}
        assert not shared, f"{path.name}: move what it imports from {shared} into graphs.py"


def test_test_files_are_named_after_folders() -> None:
    others = {"audit", "contributing", "docs", "kernels", "layers"}
    for path in (ROOT / "tests").glob("test_*.py"):
        assert path.stem.split("_")[1] in LAYER_OF.keys() | others, path.name
