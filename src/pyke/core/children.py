"""Start Python in a child process that loads code only from where this process loads it.

`python -m` and `python -c` search the working directory first. A folder of data with a file
`json.py` would then run in the child. Children start isolated (`-I`): they ignore the working
directory and the PYTHON variables of the environment, and get their import path from here.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib.util import find_spec

_START = (
    "import json, runpy, sys; sys.path{} json.loads(sys.argv.pop(1)); "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)
# What the interpreter itself and `core/system.py` need.
_MINIMAL = ("DYLD_LIBRARY_PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "PYKE_PORTABLE")


def isolated_python(module: str, arguments: Iterable[str], folders: Iterable[str]) -> list[str]:
    """Command that runs a module with the standard library and, after it, the given folders."""
    return _command(["-S"], " +=", module, arguments, folders)


def isolated_python_with_packages(
    module: str, arguments: Iterable[str], folders: Iterable[str]
) -> list[str]:
    """Command that runs a module with this process's import path and, after it, given folders."""
    return _command([], "[:] =", module, arguments, [*_import_folders(), *folders])


def _command(
    flags: list[str], change: str, module: str, arguments: Iterable[str], folders: Iterable[str]
) -> list[str]:
    if sys.dont_write_bytecode:
        flags = [*flags, "-B"]
    path = json.dumps(list(dict.fromkeys(folders)))
    return [sys.executable, "-I", *flags, "-c", _START.format(change), path, module, *arguments]


def minimal_environment() -> dict[str, str]:
    """The variables that an isolated interpreter without installed packages needs."""
    return {name: os.environ[name] for name in _MINIMAL if name in os.environ}


def folders_of(*modules: str) -> list[str]:
    """The folders in which this process finds some modules, as absolute paths."""
    folders = []
    for module in modules:
        with suppress(ImportError, ValueError):  # a module without a file
            spec = find_spec(module.partition(".")[0])
            if spec is not None:
                file = [spec.origin] if spec.origin and spec.has_location else []
                inside = [*(spec.submodule_search_locations or file)][:1]
                folders += [os.path.dirname(os.path.abspath(place)) for place in inside]
    return folders


def _import_folders() -> list[str]:
    """The absolute folders of this process's import path.

    Without the working directory, which `python -m` adds on its own.
    """
    main = sys.modules.get("__main__")
    implicit = getattr(main, "__spec__", None) is not None and not sys.flags.safe_path
    here = os.getcwd() if implicit else None
    return [
        folder
        for place, folder in enumerate(sys.path)
        if isinstance(folder, str) and os.path.isabs(folder) and not (place == 0 and folder == here)
    ]
