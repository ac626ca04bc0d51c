"""Compile kernels with Numba, and cache the machine code in a private directory.

Numba's own cache does not notice a change in a callee that lives in another file. The name of our
cache directory contains a hash of all kernel files, so any change recompiles everything. Numba does
not notice damaged files either: ours have checksums.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import io
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

from pyke.core import progress
from pyke.core.system import away_from

# Numba reads its settings from this file in the working directory, which is not trusted: when it is
# imported, and again when it compiles.
with away_from(".numba_config.yaml"):
    import numba
    import numba.core.caching
    import numba.core.config
    import numba.core.event
setattr(numba.core.config, "_config_fname", os.devnull)  # noqa: B010  unknown to the type checker

Function = TypeVar("Function", bound=Callable[..., Any])

# Kernel files, and files with constants that kernels use. Those in VECTOR_KERNELS determine the
# vectors: a checkpoint is only valid for the same ones.
VECTOR_KERNELS = (
    "core/counts.py",
    "core/hashing.py",
    "core/random.py",
    "read/_characters.py",
    "read/_scanners.py",
    "read/_numbers.py",
    "read/_literals.py",
    "read/_kernels.py",
    "graph/_kernels.py",
    "graph/batches.py",
    "springs/_kernels.py",
    "springs/_selection.py",
    "springs/_events.py",
    "springs/_kmeans.py",
    "simulation/_lanes.py",
    "simulation/forces.py",
    "simulation/_quarters.py",
    "simulation/_kernels.py",
)
OTHER_KERNELS = (
    "use/neighbours/_kernels.py",
    "use/types/_kernels.py",
    "use/clusters/_kernels.py",
    "use/search/_kernels.py",
    "evaluate/rivals/_kernels.py",
    "evaluate/lubm/_batches.py",
    "evaluate/lubm/_kernels.py",
    "evaluate/lubm/_tables.py",
    "evaluate/lubm/_text.py",
)
PACKAGE = Path(__file__).parents[1]


def content_hash(files: Iterable[str], package: Path = PACKAGE) -> str:
    """Hash of the content of some files of the package."""
    digest = hashlib.sha256()
    for name in files:
        digest.update((package / name).read_bytes())
    return digest.hexdigest()[:16]


def version(files: Iterable[str]) -> str:
    """Version of the machine code that these files compile to."""
    python = f"py{sys.version_info[0]}{sys.version_info[1]}"
    return f"numba-{numba.__version__}-{python}-{content_hash(files)}"


def _cache_directory() -> Path:
    """Private directory for machine code, named after the content of all kernel files."""
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        root = Path(os.environ.get("PYKE_CACHE") or Path(home) / "pyke")
        directory = root / version((*VECTOR_KERNELS, *OTHER_KERNELS))
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = directory.stat()
        # The cache holds executable code: do not use a directory that others can write to.
        writable_by_others = stat.S_IMODE(state.st_mode) & 0o022
        if state.st_uid != os.getuid() or writable_by_others or not os.access(directory, os.W_OK):
            raise PermissionError
    except (OSError, RuntimeError):  # no writable home: compile for this process only
        directory = Path(tempfile.mkdtemp(prefix="pyke-cache-"))
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


CACHE_DIRECTORY = _cache_directory()


class _Listener(numba.core.event.Listener):
    """Reports each compilation to `progress.compiling`."""

    def on_start(self, _event: Any) -> None:
        for report in progress.compiling:
            report()

    def on_end(self, _event: Any) -> None:
        """Ignore the end of a compilation."""


_events: Any = numba.core.event
_events.register("numba:compile", _Listener())


_CacheFile: Any = numba.core.caching.IndexDataCacheFile


class _CheckedFile(_CacheFile):  # type: ignore[misc]  # Numba has no types
    """The cache files of a function, with checksums: damaged machine code crashes the process.

    Each file ends with a hash of its name and content; pickles ignore what follows them. A file
    without a valid hash counts as missing. Numba numbers data files in the order of compilation,
    which differs between processes that start together; here they are named after their key.
    """

    def _load_index(self) -> Any:
        return super()._load_index() if _is_intact(Path(self._index_path)) else {}

    def _load_data(self, name: str) -> Any:
        if not _is_intact(Path(self._data_path(name))):
            raise OSError  # Numba compiles again
        return super()._load_data(name)

    def save(self, key: Any, data: Any) -> None:
        """Write the data before the index, which then never names a file that is not there."""
        number = int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], "little")
        self._save_data(self._data_name(number), data)
        self._save_index(self._load_index() | {key: self._data_name(number)})

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        with super()._open_for_write(filepath) as file:
            content = io.BytesIO()
            yield content
            file.write(content.getvalue() + _seal(Path(filepath), content.getvalue()))


def _seal(path: Path, content: bytes) -> bytes:
    """Hash of the name and the content of a cache file."""
    return hashlib.sha256(path.name.encode() + b"\0" + content).digest()


def _is_intact(path: Path) -> bool:
    """Whether a cache file ends with its hash."""
    try:
        data = path.read_bytes()
    except OSError:
        return False
    size = len(data) - hashlib.sha256().digest_size
    return size > 0 and data[size:] == _seal(path, data[:size])


def _check_files(dispatcher: Any) -> None:
    """Treat a cache file that cannot be read or written as missing; Numba would fail every time."""
    cache = dispatcher._cache
    stamp = cache._impl.locator.get_source_stamp()
    cache._cache_file = _CheckedFile(cache.cache_path, cache._impl.filename_base, stamp)
    load, save = cache.load_overload, cache.save_overload

    def save_if_possible(signature: Any, data: Any) -> None:
        with contextlib.suppress(OSError):  # a full disk only costs a compilation next time
            save(signature, data)

    cache.save_overload = save_if_possible

    def load_or_compile(signature: Any, target: Any) -> Any:
        try:
            return load(signature, target)
        except Exception:  # unpickling the file of another version can raise anything
            return None

    cache.load_overload = load_or_compile


def _compiler(**options: Any) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        settings: Any = numba.core.config
        if settings.DISABLE_JIT:  # NUMBA_DISABLE_JIT=1: kernels run as plain Python
            return function
        previous = settings.CACHE_DIR
        settings.CACHE_DIR = str(CACHE_DIRECTORY)  # Numba reads it once, while decorating
        try:
            dispatcher: Any = numba.njit(nogil=True, cache=True, **options)(function)
        finally:
            settings.CACHE_DIR = previous
        _check_files(dispatcher)
        return cast(Function, dispatcher)

    return decorate


kernel = _compiler()
# Sums may be reordered and fused, which lets loops over dimensions use vector instructions.
# NaN and infinity keep their meaning.
float_kernel = _compiler(fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
# Sums stay in the order of the code: the same bits on every processor.
exact_kernel = _compiler(error_model="numpy")
