"""Every compiled function. Plain loops over arrays; nothing here knows of users, files or progress.

One file on purpose: Numba's cache does not see a change in a callee that lives in another file.

Glossary (the paper's letters): x, y particles; σ spring constant; ω repulsive constant; E system energy;
P(x) the particles that attract x; N(x) those that repel it; J the objective; d Euclidean distance.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numba
import numba.core.config
import numba.core.event
import numpy as np
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])
Bytes = NDArray[np.uint8]

# ---------------------------------------------------------------------------------------------------------------------
# Compilation: cached in a directory of our own, which repairs itself
# ---------------------------------------------------------------------------------------------------------------------


_CONTENT = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
VERSION = f"numba-{numba.__version__}-py{sys.version_info[0]}{sys.version_info[1]}-{_CONTENT}"


def _cache_directory() -> Path:
    """A private directory named after this file's content and Numba's version: stale code cannot be in it."""
    try:
        root = Path(os.environ.get("PYKE_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pyke")
        directory = root / VERSION
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = directory.stat()
        # The cache holds executable code: a directory that others may write to is not used.
        if state.st_uid != os.getuid() or stat.S_IMODE(state.st_mode) & 0o022 or not os.access(directory, os.W_OK):
            raise PermissionError
    except (OSError, RuntimeError):  # no home, or none to write to: compile for this run alone
        directory = Path(tempfile.mkdtemp(prefix="pyke-cache-"))
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


CACHE_DIRECTORY = _cache_directory()


def on_compiling(tell: Callable[[], None]) -> Any:
    """A context in which `tell` is called whenever a kernel has to be compiled instead of loaded."""

    class Listener(numba.core.event.Listener):
        def on_start(self, _event: Any) -> None:
            tell()

        def on_end(self, _event: Any) -> None:
            """Nobody waits for the end."""

    return numba.core.event.install_listener("numba:compile", Listener())


def _heal(dispatcher: Any) -> None:
    """Treat a cache file that cannot be read or written as absent: Numba itself would fail, for ever."""
    cache = dispatcher._cache
    load, save = cache.load_overload, cache.save_overload

    def save_if_possible(signature: Any, data: Any) -> None:
        with contextlib.suppress(OSError):  # a full disk costs a compilation next time, no more
            save(signature, data)

    cache.save_overload = save_if_possible

    def load_or_forget(signature: Any, target: Any) -> Any:
        try:
            return load(signature, target)
        except Exception:  # whatever a damaged file makes of unpickling: compile again
            cache.flush()
            return None

    cache.load_overload = load_or_forget


def _compiler(**options: Any) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        settings: Any = numba.core.config
        previous = settings.CACHE_DIR
        settings.CACHE_DIR = str(CACHE_DIRECTORY)  # read once, while decorating
        try:
            dispatcher: Any = numba.njit(nogil=True, cache=True, **options)(function)
        finally:
            settings.CACHE_DIR = previous
        _heal(dispatcher)
        return dispatcher

    return decorate


kernel = _compiler()
# Sums may be reordered and fused, so that loops over dimensions use vector instructions; NaN and infinity keep their meaning.
float_kernel = _compiler(fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")

# ---------------------------------------------------------------------------------------------------------------------
# Dictionary: terms ↔ dense ids in order of first appearance
# ---------------------------------------------------------------------------------------------------------------------


class Dictionary(NamedTuple):
    """Open addressing over term hashes. size = (terms, bytes); table entries are tag << 32 | id, or −1."""

    size: NDArray[np.int64]
    table: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    offsets: NDArray[np.int64]
    blob: Bytes  # each term followed by a newline


_FNV = np.uint64(0x100000001B3)
_NEWLINE = np.uint8(10)


@kernel
def mix(value: np.uint64) -> np.uint64:
    """uint64 → uint64: the finaliser of splitmix64, a bijection in which every input bit flips half of the output's."""
    z = np.uint64(value)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def hash_bytes(text: Bytes, start: int, stop: int, seed: np.uint64) -> np.uint64:
    """text[start:stop] → its unfinished hash, which the scanners below compute while they read."""
    h = np.uint64(seed)
    for i in range(start, stop):
        h = (h ^ np.uint64(text[i])) * _FNV
    return h


@kernel
def _same_bytes(a: Bytes, i: int, b: Bytes, j: int, length: int) -> bool:
    # Unsigned positions (Numba looks whether signed ones are negative) and no way out of the loop: so it becomes vector instructions.
    x, y = np.uintp(i), np.uintp(j)
    different = np.uint8(0)
    for k in range(length):
        different |= a[x + np.uintp(k)] ^ b[y + np.uintp(k)]
    return different == 0


@kernel
def find_or_add(dictionary: Dictionary, text: Bytes, start: int, stop: int, h: np.uint64) -> int:
    """The id of text[start:stop], whose finished hash is h; new terms get the next id. Needs room for one more."""
    table, hashes, offsets, blob = dictionary.table, dictionary.hashes, dictionary.offsets, dictionary.blob
    mask = np.uint64(table.shape[0] - 1)
    tag = np.int64(h >> np.uint64(33))
    slot = h & mask
    length = stop - start
    while True:
        entry = table[slot]
        if entry < 0:
            break
        if entry >> 32 == tag:
            found = entry & 0xFFFFFFFF
            first = offsets[found]
            if hashes[found] == h and offsets[found + 1] - first - 1 == length and _same_bytes(blob, first, text, start, length):
                return found
        slot = (slot + np.uint64(1)) & mask
    new, at = dictionary.size[0], dictionary.size[1]
    table[slot] = tag << 32 | new
    hashes[new] = h
    for k in range(length):
        blob[at + k] = text[start + k]
    blob[at + length] = _NEWLINE
    offsets[new + 1] = at + length + 1
    dictionary.size[0] = new + 1
    dictionary.size[1] = at + length + 1
    return new


@kernel
def rehash(dictionary: Dictionary) -> None:
    """Fills the (all −1) table anew from the stored hashes."""
    table = dictionary.table
    mask = np.uint64(table.shape[0] - 1)
    for i in range(dictionary.size[0]):
        h = dictionary.hashes[i]
        slot = h & mask
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = np.int64(h >> np.uint64(33)) << 32 | i


@kernel
def merge_terms(local: Dictionary, whole: Dictionary, ids: NDArray[np.int32]) -> None:
    """ids[i] = id in `whole` of the i-th term of `local`, which is added where it is new."""
    for i in range(local.size[0]):
        ids[i] = find_or_add(whole, local.blob, local.offsets[i], local.offsets[i + 1] - 1, local.hashes[i])


TAIL = 16  # bytes at the end of a term, where IRIs differ most


@kernel
def _tail(blob: Bytes, start: int, stop: int, seed: np.uint64) -> np.uint64:
    return mix(hash_bytes(blob, max(start, stop - TAIL), stop, seed))


@kernel
def hash_terms(dictionary: Dictionary, seed: np.uint64, tails: NDArray[np.bool_]) -> None:
    """Fills the hashes of terms that are there already, and marks those of their last few bytes."""
    mask = np.uint64(tails.shape[0] - 1)
    for i in range(dictionary.size[0]):
        start, stop = dictionary.offsets[i], dictionary.offsets[i + 1] - 1
        dictionary.hashes[i] = mix(hash_bytes(dictionary.blob, start, stop, seed))
        tails[_tail(dictionary.blob, start, stop, seed) & mask] = True


@kernel
def find_terms(
    dictionary: Dictionary,
    tails: NDArray[np.bool_],
    blob: Bytes,
    offsets: NDArray[np.int64],
    seed: np.uint64,
    begin: int,
    end: int,
    ids: NDArray[np.int32],
) -> None:
    """Terms begin … end of another list → ids[i] = the id of the i-th in the dictionary, or −1; most of those are told by their tail."""
    mask, tails_mask = np.uint64(dictionary.table.shape[0] - 1), np.uint64(tails.shape[0] - 1)
    for i in range(begin, end):
        ids[i] = -1
        if not tails[_tail(blob, offsets[i], offsets[i + 1] - 1, seed) & tails_mask]:
            continue
        h = mix(hash_bytes(blob, offsets[i], offsets[i + 1] - 1, seed))
        slot, length = h & mask, offsets[i + 1] - offsets[i]
        while dictionary.table[slot] >= 0 and ids[i] < 0:
            found = dictionary.table[slot] & 0xFFFFFFFF
            first = dictionary.offsets[found]
            if (
                dictionary.hashes[found] == h
                and dictionary.offsets[found + 1] - first == length
                and _same_bytes(dictionary.blob, first, blob, offsets[i], length)
            ):
                ids[i] = found
            slot = (slot + np.uint64(1)) & mask


# ---------------------------------------------------------------------------------------------------------------------
# N-Triples and N-Quads
# ---------------------------------------------------------------------------------------------------------------------


class Batch(NamedTuple):
    """What was read from a stretch of text: its own small dictionary, and statements over its ids.

    state is indexed by the constants below. A statement with a literal has its row in `literals` and the literal's hash in
    `literal_keys`; one that names its subject also leaves the text in `label_blob`.
    """

    terms: Dictionary
    state: NDArray[np.int64]
    triples: NDArray[np.int32]  # (n, 3)
    literals: NDArray[np.int32]  # (n, 2): subject, predicate
    literal_keys: NDArray[np.uint64]
    labels: NDArray[np.int64]  # (n, 3): subject, rank of its language, end of its text
    label_blob: Bytes
    habits: NDArray[np.int32]  # (terms, 2): what came after a predicate last time, or −1


class Dialect(NamedTuple):
    """How to read: the seed of the hashes, and the hashes of the IRIs that mean something to the reader."""

    seed: np.uint64
    quads: bool
    trusted: bool  # the text was written by pyoxigraph: only find the borders
    blank_prefix: Bytes
    label_hashes: NDArray[np.uint64]  # finished
    string_hash: np.uint64  # xsd:string, unfinished
    forbidden_hashes: NDArray[np.uint64]  # rdf:langString, rdf:dirLangString, unfinished


# Batch.state
LINES, TRIPLES, LITERALS, LABELS, LABEL_BYTES, TRIPLE_TERMS = range(6)
STATE_SIZE = 6
# Batch.habits
NEXT, OBJECT = 0, 1


def _class_table(characters: bytes) -> Bytes:
    table = np.zeros(256, np.uint8)
    table[np.frombuffer(characters, np.uint8)] = 1
    return table


_ALPHA = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DIGITS = b"0123456789"
_IS_ALPHA = _class_table(_ALPHA)
_IS_DIGIT = _class_table(_DIGITS)
_IS_HEX = _class_table(_DIGITS + b"abcdefABCDEF")
_IS_SCHEME = _class_table(_ALPHA + _DIGITS + b"+-.")
_IS_HOST = _class_table(_ALPHA + _DIGITS + b"-._~!$&'()*+,;=")
_IS_IRI = _class_table(_ALPHA + _DIGITS + b"-._~!$&'()*+,;=:@/?")
_IS_LABEL_START = _class_table(_ALPHA + _DIGITS + b"_")
_IS_LABEL = _class_table(_ALPHA + _DIGITS + b"_-.")
_IS_TAG = _class_table(_ALPHA + _DIGITS + b"-")

_TAB, _CR, _SPACE, _QUOTE, _HASH, _PERCENT = 9, 13, 32, 34, 35, 37
_DOT, _SLASH, _COLON, _LESS, _GREATER, _QUERY, _AT, _BACKSLASH, _CARET, _UNDERSCORE = 46, 47, 58, 60, 62, 63, 64, 92, 94, 95


@kernel
def _sequence_length(text: Bytes, k: int) -> int:
    """Length of the well-formed UTF-8 sequence of two to four bytes at k, or 0."""
    c, d = text[k], text[k + 1]
    if c < 0xC2 or d < 0x80 or d > 0xBF:
        return 0
    if c < 0xE0:
        return 2
    e = text[k + 2]
    if e < 0x80 or e > 0xBF:
        return 0
    if c < 0xF0:
        return 0 if (c == 0xE0 and d < 0xA0) or (c == 0xED and d > 0x9F) else 3
    f = text[k + 3]
    if f < 0x80 or f > 0xBF or c > 0xF4:
        return 0
    return 0 if (c == 0xF0 and d < 0x90) or (c == 0xF4 and d > 0x8F) else 4


@kernel
def _scan_iri(text: Bytes, k: int, seed: np.uint64) -> tuple[int, np.uint64]:
    """text[k] is '<'. (position behind '>', hash of what is between), or (−1, 0) unless it is surely an absolute IRI."""
    bad = (-1, np.uint64(0))
    h = np.uint64(seed)
    k += 1
    if not _IS_ALPHA[text[k]]:
        return bad
    while _IS_SCHEME[text[k]]:
        h = (h ^ np.uint64(text[k])) * _FNV
        k += 1
    if text[k] != _COLON:
        return bad
    h = (h ^ np.uint64(_COLON)) * _FNV
    k += 1
    if text[k] == _SLASH and text[k + 1] == _SLASH:
        h = (h ^ np.uint64(_SLASH)) * _FNV
        h = (h ^ np.uint64(_SLASH)) * _FNV
        k += 2
        if not _IS_HOST[text[k]]:
            return bad
        while _IS_HOST[text[k]]:
            h = (h ^ np.uint64(text[k])) * _FNV
            k += 1
        if text[k] == _COLON:
            h = (h ^ np.uint64(_COLON)) * _FNV
            k += 1
            while _IS_DIGIT[text[k]]:
                h = (h ^ np.uint64(text[k])) * _FNV
                k += 1
        c = text[k]
        if c != _SLASH and c != _QUERY and c != _HASH and c != _GREATER:
            return bad
    fragment = False
    while True:
        c = text[k]
        if _IS_IRI[c]:
            h = (h ^ np.uint64(c)) * _FNV
            k += 1
        elif c == _GREATER:
            return k + 1, h
        elif c == _HASH and not fragment:
            fragment = True
            h = (h ^ np.uint64(c)) * _FNV
            k += 1
        elif c == _PERCENT and _IS_HEX[text[k + 1]] and _IS_HEX[text[k + 2]]:
            h = (h ^ np.uint64(c)) * _FNV
            k += 1
        elif c >= 0xC2 and c < 0xEE:  # U+00A0 to U+D7FF; the rest of Unicode has gaps that pyoxigraph knows
            length = _sequence_length(text, k)
            if length == 0 or (c == 0xC2 and text[k + 1] < 0xA0):
                return bad
            for _ in range(length):
                h = (h ^ np.uint64(text[k])) * _FNV
                k += 1
        else:
            return bad


@kernel
def _scan_trusted_iri(text: Bytes, k: int, seed: np.uint64) -> tuple[int, np.uint64]:
    """As _scan_iri, for text that is known to be well-formed."""
    h = np.uint64(seed)
    k += 1
    while text[k] != _GREATER:
        if text[k] == _NEWLINE:
            return -1, h
        h = (h ^ np.uint64(text[k])) * _FNV
        k += 1
    return k + 1, h


@kernel
def _scan_label(text: Bytes, k: int, seed: np.uint64, trusted: bool) -> tuple[int, np.uint64]:
    """text[k] is '_'. (position behind the blank node's label, hash of the label), or (−1, 0) where in doubt."""
    bad = (-1, np.uint64(0))
    if text[k + 1] != _COLON:
        return bad
    k += 2
    if not trusted and not _IS_LABEL_START[text[k]]:
        return bad
    stop = k
    while _IS_LABEL[text[stop]] or (trusted and (text[stop] >= 0x80 or text[stop] == _COLON)):
        stop += 1
    if text[stop] >= 0x80 or text[stop] == _COLON:
        return bad
    while text[stop - 1] == _DOT:
        stop -= 1
    if stop == k:
        return bad
    return stop, hash_bytes(text, k, stop, seed)


@kernel
def _scan_node(text: Bytes, k: int, dialect: Dialect, blank_seed: np.uint64) -> tuple[int, np.uint64]:
    """An IRI or a blank node at k: (position behind it, unfinished hash), or (−1, 0)."""
    if text[k] == _LESS:
        if dialect.trusted:
            return _scan_trusted_iri(text, k, dialect.seed)
        return _scan_iri(text, k, dialect.seed)
    if text[k] == _UNDERSCORE:
        return _scan_label(text, k, blank_seed, dialect.trusted)
    return -1, np.uint64(0)


@kernel
def _hex_value(c: int) -> int:
    if c <= 57:
        return c - 48
    return (c | 32) - 87


@kernel
def _read_escape(text: Bytes, k: int) -> tuple[int, int]:
    r"""text[k] is '\'. (position behind the escape, code point), or (−1, 0)."""
    c = text[k + 1]
    if c == 116:  # t
        return k + 2, 9
    if c == 110:  # n
        return k + 2, 10
    if c == 114:  # r
        return k + 2, 13
    if c == 98:  # b
        return k + 2, 8
    if c == 102:  # f
        return k + 2, 12
    if c == _QUOTE or c == 39 or c == _BACKSLASH:
        return k + 2, c
    digits = 4 if c == 117 else 8 if c == 85 else 0  # u, U
    point = 0
    for i in range(digits):
        if not _IS_HEX[text[k + 2 + i]]:
            return -1, 0
        point = point << 4 | _hex_value(text[k + 2 + i])
    if digits == 0 or point > 0x10FFFF or (0xD800 <= point and point <= 0xDFFF):
        return -1, 0
    return k + 2 + digits, point


@kernel
def _encode(point: int, out: Bytes, at: int) -> int:
    """Writes a code point as UTF-8 at out[at:]; returns the position behind it."""
    if point < 0x80:
        out[at] = point
        return at + 1
    if point < 0x800:
        out[at] = 0xC0 | point >> 6
        out[at + 1] = 0x80 | point & 0x3F
        return at + 2
    if point < 0x10000:
        out[at] = 0xE0 | point >> 12
        out[at + 1] = 0x80 | point >> 6 & 0x3F
        out[at + 2] = 0x80 | point & 0x3F
        return at + 3
    out[at] = 0xF0 | point >> 18
    out[at + 1] = 0x80 | point >> 12 & 0x3F
    out[at + 2] = 0x80 | point >> 6 & 0x3F
    out[at + 3] = 0x80 | point & 0x3F
    return at + 4


@kernel
def _scan_string(text: Bytes, k: int, seed: np.uint64, scratch: Bytes) -> tuple[int, np.uint64]:
    """text[k] is '"'. (position behind the closing '"', hash of the value without escapes), or (−1, 0)."""
    bad = (-1, np.uint64(0))
    h = np.uint64(seed)
    k += 1
    while True:
        c = text[k]
        if c == _QUOTE:
            return k + 1, h
        if c == _BACKSLASH:
            k, point = _read_escape(text, k)
            if k < 0:
                return bad
            h = hash_bytes(scratch, 0, _encode(point, scratch, 0), h)
        elif c >= 0x80:
            length = _sequence_length(text, k)
            if length == 0:
                return bad
            h = hash_bytes(text, k, k + length, h)
            k += length
        elif c == _NEWLINE or c == _CR:
            return bad
        else:
            h = (h ^ np.uint64(c)) * _FNV
            k += 1


@kernel
def decode_string(text: Bytes, k: int, out: Bytes, at: int) -> int:
    """text[k] is '"' of a valid string: writes its value at out[at:]; returns the position behind it."""
    k += 1
    while text[k] != _QUOTE:
        if text[k] == _BACKSLASH:
            k, point = _read_escape(text, k)
            at = _encode(point, out, at)
        else:
            out[at] = text[k]
            at += 1
            k += 1
    return at


@kernel
def _scan_tag(text: Bytes, k: int, trusted: bool) -> int:
    """text[k] is '@'. Position behind a language tag of the form ll(l)(-ssss)(-rr), or −1 where in doubt."""
    k += 1
    start = k
    if trusted:
        while _IS_TAG[text[k]]:
            k += 1
        return k
    while _IS_ALPHA[text[k]]:
        k += 1
    if k - start < 2 or k - start > 3:
        return -1
    for wanted in (4, 2):  # script, region
        if text[k] == 45:
            end = k + 1
            while _IS_ALPHA[text[end]]:
                end += 1
            if end - k - 1 == wanted:
                k = end
    if text[k] == 45 or _IS_DIGIT[text[k]]:
        return -1
    return k


@kernel
def _scan_literal(text: Bytes, k: int, dialect: Dialect, scratch: Bytes) -> tuple[int, np.uint64]:
    """A literal at k: (position behind it, key that is equal for equal literals), or (−1, 0) where in doubt."""
    bad = (-1, np.uint64(0))
    k, value = _scan_string(text, k, dialect.seed, scratch)
    if k < 0:
        return bad
    kind = np.uint64(0)
    if text[k] == _AT:
        stop = _scan_tag(text, k, dialect.trusted)
        if stop < 0:
            return bad
        kind = np.uint64(1)
        for i in range(k, stop):
            c = text[i]
            kind = (kind ^ np.uint64(c | 32 if _IS_ALPHA[c] else c)) * _FNV
        k = stop
    elif text[k] == _CARET:
        if text[k + 1] != _CARET or text[k + 2] != _LESS:
            return bad
        if dialect.trusted:
            k, kind = _scan_trusted_iri(text, k + 2, dialect.seed)
        else:
            k, kind = _scan_iri(text, k + 2, dialect.seed)
        if k < 0:
            return bad
        for i in range(dialect.forbidden_hashes.shape[0]):
            if kind == dialect.forbidden_hashes[i] and not dialect.trusted:
                return bad
        if kind == dialect.string_hash:
            kind = np.uint64(0)
    return k, mix(value + mix(kind))


@kernel
def _language_rank(text: Bytes, start: int, stop: int) -> int:
    """English labels first, then those without a language, then the others; text[start:stop] is the whole literal."""
    k = stop - 1
    while _IS_TAG[text[k]]:
        k -= 1
    if text[k] != _AT or k == start:
        return 1
    if text[k + 1] | 32 == 101 and text[k + 2] | 32 == 110 and (k + 3 == stop or text[k + 3] == 45):
        return 0
    return 2


@kernel
def _skip_blanks(text: Bytes, k: int) -> int:
    while text[k] == _SPACE or text[k] == _TAB:
        k += 1
    return k


@kernel
def _scan_line_end(text: Bytes, k: int) -> int:
    """Position behind blanks, a comment and the line break that end a line at k, or −1 where in doubt."""
    k = _skip_blanks(text, k)
    if text[k] == _HASH:
        while text[k] != _NEWLINE and text[k] != _CR and text[k] < 0x80:
            k += 1
    if text[k] == _CR:
        k += 1
    if text[k] != _NEWLINE:
        return -1
    return k + 1


@kernel
def _add_node(terms: Dictionary, text: Bytes, start: int, stop: int, h: np.uint64, prefix: Bytes) -> int:
    """The id of the IRI or blank node at text[start:stop], whose unfinished hash is h."""
    if text[start] == _LESS:
        return find_or_add(terms, text, start + 1, stop - 1, mix(h))
    # A blank node's name is put together behind the last term, and stays there if it is new.
    at = terms.size[1]
    terms.blob[at] = _UNDERSCORE
    terms.blob[at + 1] = _COLON
    end = at + 2
    for i in range(prefix.shape[0]):
        terms.blob[end] = prefix[i]
        end += 1
    for i in range(start + 2, stop):
        terms.blob[end] = text[i]
        end += 1
    return find_or_add(terms, terms.blob, at, end, mix(h))


@kernel
def _spelled(text: Bytes, k: int, end: int, offsets: NDArray[np.int64], blob: Bytes, guess: int) -> int:
    """Position behind `<IRI>` if text[k:] spells the IRI with the id that was guessed, else −1."""
    if guess < 0 or text[k] != _LESS:
        return -1
    start = offsets[guess]
    if blob[start] == _UNDERSCORE:  # a blank node, which nothing in angle brackets spells
        return -1
    length = offsets[guess + 1] - 1 - start
    stop = k + length + 2
    if stop > end or text[stop - 1] != _GREATER or not _same_bytes(blob, start, text, k + 1, length):
        return -1
    return stop


@kernel
def _add_label(batch: Batch, text: Bytes, s: int, start: int, stop: int) -> None:
    """Keeps the literal at text[start:stop] as a label of s."""
    state = batch.state
    row = state[LABELS]
    batch.labels[row, 0] = s
    batch.labels[row, 1] = _language_rank(text, start, stop)
    state[LABEL_BYTES] = decode_string(text, start, batch.label_blob, state[LABEL_BYTES])
    batch.labels[row, 2] = state[LABEL_BYTES]
    state[LABELS] = row + 1


@kernel
def _scan_statement_end(text: Bytes, k: int, dialect: Dialect, blank_seed: np.uint64) -> int:
    """Position of the next line behind an optional graph name, the dot and what may follow it, or −1 where in doubt."""
    k = _skip_blanks(text, k)
    if dialect.quads and text[k] != _DOT:
        k, _ = _scan_node(text, k, dialect, blank_seed)
        if k < 0:
            return -1
        k = _skip_blanks(text, k)
    return _scan_line_end(text, k + 1) if text[k] == _DOT else -1


@kernel
def tokenize(text: Bytes, begin: int, end: int, dialect: Dialect, batch: Batch) -> int:
    """uint8 text[begin:end] of whole lines → statements in the batch; position of the first line that is not done.

    Stops before a line whose validity is not plain to see here, so that pyoxigraph decides it; a batch whose dictionary is
    half full stops too. A line leaves nothing in the batch until all of it is accepted. Lines follow habits: the subject is mostly
    that of the line before, a predicate is followed by the one that followed it last time, and has the object it had last time.
    Such a guess is checked at the speed of a comparison; what it spells has been validated before.
    """
    scratch = np.empty(4, np.uint8)
    blank_seed = hash_bytes(dialect.blank_prefix, 0, dialect.blank_prefix.shape[0], (((dialect.seed ^ np.uint64(95)) * _FNV) ^ np.uint64(58)) * _FNV)
    terms, state, habits = batch.terms, batch.state, batch.habits
    offsets, blob = terms.offsets, terms.blob
    full = terms.table.shape[0] // 2 - 3
    s = p = -1
    line = begin
    while line < end and terms.size[0] < full:
        k = _skip_blanks(text, line)
        if text[k] != _LESS and text[k] != _UNDERSCORE:
            k = _scan_line_end(text, k)
            if k < 0:
                return line
            state[LINES] += 1
            line = k
            continue

        subject, subject_id, subject_hash = k, s, np.uint64(0)
        k = _spelled(text, subject, end, offsets, blob, subject_id)
        if k < 0:
            subject_id = -1
            k, subject_hash = _scan_node(text, subject, dialect, blank_seed)
            if k < 0:
                return line
        subject_end = k
        predicate = _skip_blanks(text, k)
        if text[predicate] != _LESS:
            return line
        predicate_id, predicate_hash = habits[p, NEXT] if p >= 0 else -1, np.uint64(0)
        k = _spelled(text, predicate, end, offsets, blob, predicate_id)
        if k < 0:
            predicate_id = -1
            k, predicate_hash = _scan_node(text, predicate, dialect, blank_seed)
            if k < 0:
                return line
        predicate_end = k
        k = _skip_blanks(text, k)
        if dialect.trusted and text[k] == _LESS and text[k + 1] == _LESS:
            state[TRIPLE_TERMS] += 1
            state[LINES] += 1
            while text[k] != _NEWLINE:
                k += 1
            line = k + 1
            continue
        target, target_hash = k, np.uint64(0)
        is_literal = text[target] == _QUOTE
        o = habits[predicate_id, OBJECT] if predicate_id >= 0 and not is_literal else -1
        k = _spelled(text, target, end, offsets, blob, o)
        if k < 0:
            o = -1
            if is_literal:
                k, target_hash = _scan_literal(text, target, dialect, scratch)
            else:
                k, target_hash = _scan_node(text, target, dialect, blank_seed)
            if k < 0:
                return line
        target_end = k
        k = _scan_statement_end(text, k, dialect, blank_seed)
        if k < 0:
            return line

        s = subject_id if subject_id >= 0 else _add_node(terms, text, subject, subject_end, subject_hash, dialect.blank_prefix)
        before = p
        p = predicate_id if predicate_id >= 0 else _add_node(terms, text, predicate, predicate_end, predicate_hash, dialect.blank_prefix)
        if before >= 0:
            habits[before, NEXT] = p
        if is_literal:
            row = state[LITERALS]
            batch.literals[row, 0], batch.literals[row, 1], batch.literal_keys[row] = s, p, target_hash
            state[LITERALS] = row + 1
            if terms.hashes[p] == dialect.label_hashes[0] or terms.hashes[p] == dialect.label_hashes[1]:
                _add_label(batch, text, s, target, target_end)
        else:
            if o < 0:
                o = _add_node(terms, text, target, target_end, target_hash, dialect.blank_prefix)
            habits[p, OBJECT] = o
            row = state[TRIPLES]
            batch.triples[row, 0], batch.triples[row, 1], batch.triples[row, 2] = s, p, o
            state[TRIPLES] = row + 1
        state[LINES] += 1
        line = k
    return line


@kernel
def translate_rows(rows: NDArray[np.int32], ids: NDArray[np.int32], out: NDArray[np.int32]) -> None:
    """int32 (n, c) rows over a batch's ids → out, the same rows over the ids of the whole."""
    for i in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            out[i, c] = ids[rows[i, c]]


@kernel
def gather_texts(blob: Bytes, starts: NDArray[np.int64], stops: NDArray[np.int64], out: Bytes) -> None:
    """Copies blob[starts[i] : stops[i]] one behind the other, a newline after each."""
    at = 0
    for i in range(starts.shape[0]):
        for k in range(starts[i], stops[i]):
            out[at] = blob[k]
            at += 1
        out[at] = _NEWLINE
        at += 1


# ---------------------------------------------------------------------------------------------------------------------
# Triples
# ---------------------------------------------------------------------------------------------------------------------


@kernel
def pack(a: NDArray[np.int32], b: NDArray[np.int32], c: NDArray[np.int32], bits: NDArray[np.int64], out: NDArray[np.uint64]) -> None:
    """int32 columns (c ≥ −1) → uint64 keys that sort as (a, b, c); bits = widths of b and of c + 1."""
    for i in range(out.shape[0]):
        out[i] = (np.uint64(a[i]) << np.uint64(bits[0] + bits[1])) | (np.uint64(b[i]) << np.uint64(bits[1])) | np.uint64(c[i] + 1)


@kernel
def unpack(keys: NDArray[np.uint64], bits: NDArray[np.int64], a: NDArray[np.int32], b: NDArray[np.int32], c: NDArray[np.int32]) -> None:
    """The columns that pack() made the keys of."""
    low, middle = (np.uint64(1) << np.uint64(bits[1])) - np.uint64(1), (np.uint64(1) << np.uint64(bits[0])) - np.uint64(1)
    for i in range(keys.shape[0]):
        c[i] = np.int64(keys[i] & low) - 1
        b[i] = np.int64((keys[i] >> np.uint64(bits[1])) & middle)
        a[i] = np.int64(keys[i] >> np.uint64(bits[0] + bits[1]))


@kernel
def drop_repeated(keys: NDArray[np.uint64]) -> int:
    """Moves the different values of sorted keys to the front; their number."""
    kept = 0
    for i in range(keys.shape[0]):
        if i == 0 or keys[i] != keys[i - 1]:
            keys[kept] = keys[i]
            kept += 1
    return kept


@kernel
def literal_triple_keys(rows: NDArray[np.int32], literals: NDArray[np.uint64], out: NDArray[np.uint64]) -> None:
    """int32 (n, 2) subjects and predicates, uint64 literal keys → keys of the triples."""
    for i in range(rows.shape[0]):
        out[i] = mix(literals[i] ^ mix(np.uint64(rows[i, 0]) << np.uint64(32) | np.uint64(rows[i, 1])))


# ---------------------------------------------------------------------------------------------------------------------
# Springs
# ---------------------------------------------------------------------------------------------------------------------


@kernel
def ppmi(joint: int, x: int, y: int, total: int) -> np.float32:
    """Counts → σ, float32: max(0, ln(P(x, y) / (P(x) P(y)))). One division, so that equal ratios give equal values."""
    return _sigma(_ratio(joint, x, y, total))


@kernel
def _sigma(ratio: float) -> np.float32:
    return np.float32(max(0.0, np.log(ratio)))


@kernel
def _ratio(joint: int, x: int, y: int, total: int) -> np.float64:
    return np.float64((np.float64(joint) * np.float64(total)) / (np.float64(x) * np.float64(y)))


@kernel
def count_occurrences(subjects: NDArray[np.int32], predicates: NDArray[np.int32], objects: NDArray[np.int32], out: NDArray[np.int64]) -> None:
    """int32 columns of term ids (object −1: literal) → out[x] = |{(s, p, o) : x ∈ {s, p, o}}|."""
    for i in range(subjects.shape[0]):
        s, p, o = subjects[i], predicates[i], objects[i]
        out[s] += 1
        if p != s:
            out[p] += 1
        if o >= 0 and o != s and o != p:
            out[o] += 1


@kernel
def pair_keys(subjects: NDArray[np.int32], predicates: NDArray[np.int32], objects: NDArray[np.int32], out: NDArray[np.uint64]) -> int:
    """int32 columns → uint64 keys min << 32 | max of each pair of different terms in a triple, once per triple; their number."""
    n = 0
    for i in range(subjects.shape[0]):
        s, p, o = subjects[i], predicates[i], objects[i]
        if s != p:
            out[n] = np.uint64(min(s, p)) << np.uint64(32) | np.uint64(max(s, p))
            n += 1
        if o >= 0 and o != s and o != p:
            out[n] = np.uint64(min(s, o)) << np.uint64(32) | np.uint64(max(s, o))
            n += 1
        if o >= 0 and o != s and o != p and s != p:
            out[n] = np.uint64(min(p, o)) << np.uint64(32) | np.uint64(max(p, o))
            n += 1
    return n


@kernel
def pair_similarities(
    keys: NDArray[np.uint64],
    occurrences: NDArray[np.int64],
    total: int,
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    values: NDArray[np.float32],
) -> int:
    """Sorted pair keys → the pairs with a positive PPMI; their number."""
    n = 0
    start = 0
    for i in range(1, keys.shape[0] + 1):
        if i == keys.shape[0] or keys[i] != keys[start]:
            x, y = np.int64(keys[start] >> np.uint64(32)), np.int64(keys[start] & np.uint64(0xFFFFFFFF))
            sigma = ppmi(i - start, occurrences[x], occurrences[y], total)
            if sigma > 0:
                first[n], second[n], values[n] = x, y, sigma
                n += 1
            start = i
    return n


@kernel
def _run_from(first: NDArray[np.int32], middle: NDArray[np.int32], i: int) -> int:
    """Sorted columns → the first position from i on where a run of equal (first, middle) begins."""
    while 0 < i < first.shape[0] and first[i] == first[i - 1] and middle[i] == middle[i - 1]:
        i += 1
    return i


@kernel
def count_contexts(first: NDArray[np.int32], middle: NDArray[np.int32], last: NDArray[np.int32], begin: int, end: int) -> tuple[int, int, int]:
    """Sorted columns → runs of equal (first, middle) that begin in begin … end; those with two or more different `last`; these in all."""
    runs = contexts = members = 0
    i = _run_from(first, middle, begin)
    while i < end:
        different = 0
        start = i
        while i < first.shape[0] and first[i] == first[start] and middle[i] == middle[start]:
            if last[i] >= 0 and (i == start or last[i] != last[i - 1]):
                different += 1
            i += 1
        runs += 1
        if different > 1:
            contexts += 1
            members += different
    return runs, contexts, members


class Events(NamedTuple):
    """Pairs (term, context) with their σ, as they are found; size[0] of them."""

    size: NDArray[np.int64]
    terms: NDArray[np.int32]
    contexts: NDArray[np.int32]
    values: NDArray[np.float32]


@kernel
def _add_event(events: Events, term: int, context: int, sigma: np.float32) -> None:
    if sigma > 0:
        n = events.size[0]
        events.terms[n], events.contexts[n], events.values[n] = term, context, sigma
        events.size[0] = n + 1


class Counts(NamedTuple):
    """What σ is counted from: n(x) of each term, N, the terms that are predicates, and how many triples of each have this side."""

    occurrences: NDArray[np.int64]
    total: int
    predicates: NDArray[np.int32]
    triples_of: NDArray[np.int64]


class Strongest(NamedTuple):
    """Heaps, whose roots are the weakest, of the strongest members of some contexts; a ratio of `refused` or less is too small."""

    sizes: NDArray[np.int64]
    members: NDArray[np.int32]  # (contexts, k)
    values: NDArray[np.float32]  # (contexts, k)
    refused: NDArray[np.float64]


@kernel
def _consider(strongest: Strongest, c: int, x: int, ratio: float) -> None:
    """Keeps x among the strongest members of context c if it is one; members come by rising ids, so that of equals the first stay."""
    if ratio <= strongest.refused[c]:
        return
    sigma, k = np.float32(np.log(ratio)), strongest.members.shape[1]
    members, values, size = strongest.members[c], strongest.values[c], strongest.sizes[c]
    if size < k:
        members[size], values[size] = x, sigma
        strongest.sizes[c] = size + 1
        if size + 1 == k:
            for i in range(k // 2, -1, -1):
                _sink(values, members, k, i)
    elif sigma > values[0]:
        members[0], values[0] = x, sigma
        _sink(values, members, k, 0)
    else:
        strongest.refused[c] = ratio


@kernel
def _add_strongest(strongest: Strongest, c: int, context: int, events: Events) -> None:
    for i in range(strongest.sizes[c]):
        _add_event(events, strongest.members[c, i], context, strongest.values[c, i])


class Choice(NamedTuple):
    """The terms whose events are all looked for, and the strongest other members of contexts that they are in; other contexts are passed over."""

    terms: NDArray[np.bool_]
    others: Strongest


@kernel
def role_events(
    first: NDArray[np.int32], middle: NDArray[np.int32], counts: Counts, choice: Choice, base: int, begin: int, end: int, events: Events
) -> None:
    """Sorted columns (term, predicate) → σ of "term stands on this side of the predicate", for the runs that begin in begin … end.

    The role of predicate p is base + p. The predicate itself belongs to it, as often as the role has members: n(role) = 2 n(p).
    """
    chosen, others = choice.terms, choice.others
    tied = np.zeros(counts.predicates.shape[0], np.bool_)
    i = _run_from(first, middle, begin)
    while i < end:
        start, x, p = i, first[i], middle[i]
        while i < first.shape[0] and first[i] == x and middle[i] == p:
            i += 1
        joint = i - start + (counts.triples_of[p] if x == counts.predicates[p] else 0)
        ratio = _ratio(joint, counts.occurrences[x], 2 * counts.triples_of[p], counts.total)
        if chosen[x]:
            tied[p] = True
            _add_event(events, x, base + p, _sigma(ratio))
        else:
            _consider(others, p, x, ratio)
    for p in range(counts.predicates.shape[0]):
        if tied[p] or chosen[counts.predicates[p]]:
            _add_strongest(others, p, base + p, events)


@kernel
def predicate_events(first: NDArray[np.int32], middle: NDArray[np.int32], counts: Counts, base: int, events: Events) -> None:
    """σ of predicates in their own roles, of those that stand in no triple of their own: these have been seen by `role_events`."""
    for p in range(counts.predicates.shape[0]):
        x, n = counts.predicates[p], counts.triples_of[p]
        i = np.searchsorted(first, x)
        while i < first.shape[0] and first[i] == x and middle[i] < p:
            i += 1
        seen = i < first.shape[0] and first[i] == x and middle[i] == p
        if n > 0 and not seen:
            _add_event(events, x, base + p, ppmi(n, counts.occurrences[x], 2 * n, counts.total))


@kernel
def context_events(
    first: NDArray[np.int32],
    middle: NDArray[np.int32],
    last: NDArray[np.int32],
    counts: Counts,
    choice: Choice,
    base: int,
    begin: int,
    end: int,
    events: Events,
) -> None:
    """Sorted columns → σ of "term stands beside this predicate and this other term", for the runs that begin in begin … end.

    Contexts have two members or more; the first of them is base.
    """
    context, chosen, others = base, choice.terms, choice.others
    i = _run_from(first, middle, begin)
    while i < end:
        start = i
        different = literals = 0
        near = False
        while i < first.shape[0] and first[i] == first[start] and middle[i] == middle[start]:
            if last[i] < 0:
                literals += 1
            elif i == start or last[i] != last[i - 1]:
                different += 1
                near |= chosen[last[i]]
            i += 1
        if different < 2:
            continue
        others.sizes[0], others.refused[0] = 0, 1
        few, size = different <= others.members.shape[1], i - start - literals
        j = start + literals if near else i
        while j < i:
            x, k = last[j], j
            while j < i and last[j] == x:
                j += 1
            ratio = _ratio(j - k, counts.occurrences[x], size, counts.total)
            if few or chosen[x]:
                _add_event(events, x, context, _sigma(ratio))
            else:
                _consider(others, 0, x, ratio)
        if near:
            _add_strongest(others, 0, context, events)
        context += 1


@kernel
def close_gaps(starts: NDArray[np.int64], sizes: NDArray[np.int64], events: Events) -> None:
    """Stretches of events, the used part of each → one behind the other, from the beginning on."""
    n = 0
    for stretch in range(starts.shape[0]):
        start = starts[stretch]
        for i in range(sizes[stretch]):
            events.terms[n], events.contexts[n], events.values[n] = events.terms[start + i], events.contexts[start + i], events.values[start + i]
            n += 1
    events.size[0] = n


@kernel
def count_rows(rows: NDArray[np.int32], out: NDArray[np.int64]) -> None:
    """out[x] += how often x is among the rows; −1 is counted at the end of out."""
    for i in range(rows.shape[0]):
        out[rows[i]] += 1


@kernel
def fill_rows(
    rows: NDArray[np.int32],
    others: NDArray[np.int32],
    values: NDArray[np.float32],
    ends: NDArray[np.int64],
    columns: NDArray[np.int32],
    out: NDArray[np.float32],
) -> None:
    """Pairs (x, y) → y and its value at ends[x], which moves on by one."""
    for i in range(rows.shape[0]):
        end = ends[rows[i]]
        columns[end], out[end] = others[i], values[i]
        ends[rows[i]] = end + 1


@kernel
def _weaker(value: float, column: int, other_value: float, other_column: int) -> bool:
    """Whether a spring comes after another in P(x): smaller σ, or a larger id at the same σ."""
    return value < other_value or (value == other_value and column > other_column)


@kernel
def _sink(heap_values: NDArray[np.float32], heap_columns: NDArray[np.int32], size: int, i: int) -> None:
    """Restores the heap, whose root is the weakest spring, below i."""
    while True:
        weakest = i
        for child in (2 * i + 1, 2 * i + 2):
            if child < size and _weaker(heap_values[child], heap_columns[child], heap_values[weakest], heap_columns[weakest]):
                weakest = child
        if weakest == i:
            return
        heap_values[i], heap_values[weakest] = heap_values[weakest], heap_values[i]
        heap_columns[i], heap_columns[weakest] = heap_columns[weakest], heap_columns[i]
        i = weakest


@kernel
def keep_strongest(
    offsets: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: NDArray[np.float32],
    k: int,
    begin_row: int,
    end_row: int,
    new_offsets: NDArray[np.int64],
    new_columns: NDArray[np.int32],
    new_values: NDArray[np.float32],
) -> None:
    """Rows begin_row … end_row → P(x): the k largest σ of each row, ties by smaller id, in the row's own order; linear in the row's length."""
    heap_values, heap_columns = np.empty(k, np.float32), np.empty(k, np.int32)
    for x in range(begin_row, end_row):
        begin, end, at = offsets[x], offsets[x + 1], new_offsets[x]
        cut = end - begin > k
        if cut:
            for i in range(k):
                heap_values[i], heap_columns[i] = values[begin + i], columns[begin + i]
            for i in range(k // 2, -1, -1):
                _sink(heap_values, heap_columns, k, i)
            for i in range(begin + k, end):
                if _weaker(heap_values[0], heap_columns[0], values[i], columns[i]):
                    heap_values[0], heap_columns[0] = values[i], columns[i]
                    _sink(heap_values, heap_columns, k, 0)
        for i in range(begin, end):
            if not cut or not _weaker(values[i], columns[i], heap_values[0], heap_columns[0]):
                new_columns[at], new_values[at] = columns[i], values[i]
                at += 1


# ---------------------------------------------------------------------------------------------------------------------
# Random numbers: pure functions of (seed, purpose, row, counter)
# ---------------------------------------------------------------------------------------------------------------------

START, POOL, MEMBER, HUB = 1, 2, 3, 4  # purposes


@kernel
def random_bits(seed: np.uint64, purpose: int, row: int, counter: int) -> np.uint64:
    """64 random bits."""
    z = mix(np.uint64(seed) + np.uint64(purpose) * np.uint64(0x9E3779B97F4A7C15))
    z = mix(z ^ (np.uint64(row) + np.uint64(0xD1B54A32D192ED03)))
    return mix(z + np.uint64(counter) * np.uint64(0x9E3779B97F4A7C15))


@kernel
def random_keys(seed: np.uint64, purpose: int, row: int, counters: NDArray[np.int32], out: NDArray[np.uint64]) -> None:
    """uint64 out[i] = random bits for counters[i]."""
    for i in range(counters.shape[0]):
        out[i] = random_bits(seed, purpose, row, counters[i])


@kernel
def random_below(bits: np.uint64, n: int) -> int:
    """0 … n − 1 from 64 random bits, n < 2³²: the upper half of a product, as even as 32 bits allow."""
    return np.int64(((bits >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@kernel
def uniform_start(seed: np.uint64, dimensions: int, begin: int, end: int, out: NDArray[np.float32]) -> None:
    """float32 out[begin:end, :dimensions] = uniform in [0, 1); the rest of a row is 0."""
    for x in range(begin, end):
        for i in range(dimensions):
            out[x, i] = np.float32(random_bits(seed, START, x, i) >> np.uint64(40)) * np.float32(2.0**-24)
        out[x, dimensions:] = 0


@kernel
def normal_start(seed: np.uint64, dimensions: int, begin: int, end: int, out: NDArray[np.float32]) -> None:
    """float32 out[begin:end, :dimensions] = normal with mean 0 and deviation 1 (Box and Muller); the rest of a row is 0."""
    for x in range(begin, end):
        for i in range(0, dimensions, 2):
            bits = random_bits(seed, START, x, i)
            u = (np.float32(bits >> np.uint64(40)) + np.float32(1)) * np.float32(2.0**-24)  # in (0, 1]
            angle = np.float32((bits >> np.uint64(8)) & np.uint64(0xFFFFFF)) * np.float32(2.0 * np.pi * 2.0**-24)
            radius = np.sqrt(np.float32(-2) * np.log(u))
            out[x, i] = radius * np.cos(angle)
            if i + 1 < dimensions:
                out[x, i + 1] = radius * np.sin(angle)
        out[x, dimensions:] = 0


# ---------------------------------------------------------------------------------------------------------------------
# Repulsion
# ---------------------------------------------------------------------------------------------------------------------


@kernel
def _draw_pool(seed: np.uint64, block: int, particles: int, pool: NDArray[np.int32], slots: NDArray[np.int32]) -> None:
    """Fills the pool with different particles, all equally likely; slots, a hash table, holds their positions."""
    mask = slots.shape[0] - 1
    slots[:] = -1
    size = pool.shape[0]
    n = counter = 0
    while n < size:
        y = n if size == particles else random_below(random_bits(seed, POOL, block, counter), particles)
        counter += 1
        slot = y & mask
        while slots[slot] >= 0 and pool[slots[slot]] != y:
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot] = n
            pool[n] = y
            n += 1


@kernel
def draw_repellers(
    seed: np.uint64,
    offsets: NDArray[np.int64],
    columns: NDArray[np.int32],
    block_rows: int,
    begin: int,
    end: int,
    pools: NDArray[np.int32],
    members: NDArray[np.unsignedinteger[Any]],
    count: NDArray[np.uint16],
) -> None:
    """For the blocks begin … end: a pool each, int32 (blocks, size), and N(x) ⊂ pool for its rows: y ≠ x with σ(x, y) = 0.

    offsets, columns: all positive similarities, not only the K that are kept. Σ of the row lengths bounds the work.
    """
    particles = offsets.shape[0] - 1
    size, wanted = pools.shape[1], members.shape[1]
    slots_size = 16
    while slots_size < 4 * size:
        slots_size *= 2
    slots = np.empty(slots_size, np.int32)
    free = np.empty(size, np.bool_)
    choice = np.empty(size, np.int32)
    for block in range(begin, end):
        pool = pools[block]
        _draw_pool(seed, block, particles, pool, slots)
        for x in range(block * block_rows, min(particles, (block + 1) * block_rows)):
            free[:] = True
            for i in range(offsets[x] - 1, offsets[x + 1]):
                y = x if i < offsets[x] else columns[i]
                slot = y & (slots_size - 1)
                while slots[slot] >= 0:
                    if pool[slots[slot]] == y:
                        free[slots[slot]] = False
                        break
                    slot = (slot + 1) & (slots_size - 1)
            n = 0
            for i in range(size):
                if free[i]:
                    choice[n] = i
                    n += 1
            taken = min(n, wanted)
            for i in range(taken):
                j = i + random_below(random_bits(seed, MEMBER, x, i), n - i)
                choice[i], choice[j] = choice[j], choice[i]
                members[x, i] = choice[i]
            count[x] = taken


# ---------------------------------------------------------------------------------------------------------------------
# Simulation
# ---------------------------------------------------------------------------------------------------------------------

_TINY = np.float32(1e-24)  # below a distance of 1e-12 repulsion stops growing; two particles at one place do not repel


class System(NamedTuple):
    """The particles' springs and repellers, and the laws' constants."""

    offsets: NDArray[np.int64]
    columns: NDArray[np.int32]
    sigma: NDArray[np.float32]
    ease: NDArray[np.float32]  # one over a particle's inertia against its springs
    pool_offsets: NDArray[np.int64]
    pool: NDArray[np.int32]
    members: NDArray[np.unsignedinteger[Any]]
    counts: NDArray[np.uint16]
    block_rows: int
    omega: np.float32


# The helpers take arrays, not the System: taking it apart counts references, and threads that count the same ones wait for one another.


@float_kernel
def _attract(
    offsets: NDArray[np.int64],
    columns: NDArray[np.int32],
    sigma: NDArray[np.float32],
    ease: np.float32,
    x: int,
    positions: NDArray[np.float32],
    force: NDArray[np.float32],
) -> np.float32:
    """force = ease · Σ σ(x, y) (y − x) over P(x), Hooke's law; returns Σ d(x, y)."""
    stride = positions.shape[1]
    distances = np.float32(0)
    for i in range(stride):
        force[i] = 0
    for j in range(offsets[x], offsets[x + 1]):
        y = columns[j]
        square = np.float32(0)
        for i in range(stride):
            difference = positions[y, i] - positions[x, i]
            square += difference * difference
            force[i] += sigma[j] * difference
        distances += np.sqrt(square)
    for i in range(stride):
        force[i] *= ease
    return distances


@float_kernel
def _repel_radial(
    members: NDArray[np.unsignedinteger[Any]],
    count: int,
    omega: np.float32,
    x: int,
    positions: NDArray[np.float32],
    pool: NDArray[np.float32],
    force: NDArray[np.float32],
) -> np.float32:
    """force −= Σ ω (y − x) / d² over N(x), each of size ω / d along the line between the two; returns Σ d(x, y)."""
    stride = positions.shape[1]
    distances = np.float32(0)
    for j in range(count):
        m = members[x, j]
        square = np.float32(0)
        for i in range(stride):
            difference = pool[m, i] - positions[x, i]
            square += difference * difference
        strength = omega / max(square, _TINY)
        for i in range(stride):
            force[i] -= strength * (pool[m, i] - positions[x, i])
        distances += np.sqrt(square)
    return distances


@float_kernel
def _repel_elementwise(
    members: NDArray[np.unsignedinteger[Any]],
    count: int,
    omega: np.float32,
    x: int,
    positions: NDArray[np.float32],
    pool: NDArray[np.float32],
    force: NDArray[np.float32],
) -> np.float32:
    """force −= Σ ω / (y − x) in each dimension over N(x), as the paper's Algorithm 1 is printed; returns Σ d(x, y)."""
    distances = np.float32(0)
    for j in range(count):
        m = members[x, j]
        square = np.float32(0)
        for i in range(positions.shape[1]):
            difference = pool[m, i] - positions[x, i]
            squared = difference * difference
            square += squared
            force[i] -= omega * difference / max(squared, _TINY)
        distances += np.sqrt(square)
    return distances


@float_kernel
def _gather_pool(system: System, block: int, positions: NDArray[np.float32]) -> NDArray[np.float32]:
    """The positions of a block's pool, together where the cache keeps them."""
    first = system.pool_offsets[block]
    pool = np.empty((system.pool_offsets[block + 1] - first, positions.shape[1]), np.float32)
    for m in range(pool.shape[0]):
        for i in range(positions.shape[1]):
            pool[m, i] = positions[system.pool[first + m], i]
    return pool


@float_kernel
def _move(x: int, energy: np.float32, force: NDArray[np.float32], positions: NDArray[np.float32], out: NDArray[np.float32]) -> float:
    """x ← x + E · force; returns how far it moved."""
    square = np.float32(0)
    for i in range(positions.shape[1]):
        change = energy * force[i]
        square += change * change
        out[x, i] = positions[x, i] + change
    return np.sqrt(square)


@float_kernel
def step_radial(
    system: System, energy: np.float32, begin: int, end: int, positions: NDArray[np.float32], out: NDArray[np.float32], sums: NDArray[np.float64]
) -> None:
    """float32 (particles, stride) positions → out, for the blocks begin … end; sums[block] = (J, displacement) of its rows.

    x ← x + E · ( Σ σ (y − x) / inertia − ω Σ (y − x) / d² ), all from the positions before.
    """
    offsets, columns, sigma, ease = system.offsets, system.columns, system.sigma, system.ease
    members, counts, omega = system.members, system.counts, system.omega
    force = np.empty(positions.shape[1], np.float32)
    for block in range(begin, end):
        pool = _gather_pool(system, block, positions)
        objective = displacement = 0.0
        for x in range(block * system.block_rows, min(positions.shape[0], (block + 1) * system.block_rows)):
            objective += _attract(offsets, columns, sigma, ease[x], x, positions, force)
            objective -= _repel_radial(members, counts[x], omega, x, positions, pool, force)
            displacement += _move(x, energy, force, positions, out)
        sums[block, 0], sums[block, 1] = objective, displacement


@float_kernel
def step_elementwise(
    system: System, energy: np.float32, begin: int, end: int, positions: NDArray[np.float32], out: NDArray[np.float32], sums: NDArray[np.float64]
) -> None:
    """As step_radial, with the paper's element-wise reciprocal: x ← x + E · ( Σ σ (y − x) / inertia − ω Σ 1 / (y − x) )."""
    offsets, columns, sigma, ease = system.offsets, system.columns, system.sigma, system.ease
    members, counts, omega = system.members, system.counts, system.omega
    force = np.empty(positions.shape[1], np.float32)
    for block in range(begin, end):
        pool = _gather_pool(system, block, positions)
        objective = displacement = 0.0
        for x in range(block * system.block_rows, min(positions.shape[0], (block + 1) * system.block_rows)):
            objective += _attract(offsets, columns, sigma, ease[x], x, positions, force)
            objective -= _repel_elementwise(members, counts[x], omega, x, positions, pool, force)
            displacement += _move(x, energy, force, positions, out)
        sums[block, 0], sums[block, 1] = objective, displacement


@float_kernel
def put_to_the_middle(
    offsets: NDArray[np.int64],
    columns: NDArray[np.int32],
    sigma: NDArray[np.float32],
    placed: NDArray[np.bool_],
    begin: int,
    end: int,
    positions: NDArray[np.float32],
    found: NDArray[np.bool_],
) -> None:
    """float32 positions[x] of the rows begin … end that are not placed; found[x] = whether x is tied to anything that is.

    x ← Σ σ(x, y) y / Σ σ(x, y) over the placed y of P(x).
    """
    stride = positions.shape[1]
    middle = np.empty(stride, np.float32)
    for x in range(begin, end):
        if placed[x]:
            continue
        stiffness = np.float32(0)
        for i in range(stride):
            middle[i] = 0
        for j in range(offsets[x], offsets[x + 1]):
            y = columns[j]
            if placed[y]:
                stiffness += sigma[j]
                for i in range(stride):
                    middle[i] += sigma[j] * positions[y, i]
        found[x] = stiffness > 0
        if found[x]:
            for i in range(stride):
                positions[x, i] = middle[i] / stiffness


@float_kernel
def multiply(first: NDArray[np.float64], second: NDArray[np.float64], begin: int, end: int, out: NDArray[np.float64]) -> None:
    """float64 out[begin:end] = first[begin:end] · second; unlike those of BLAS, its sums do not change with the threads."""
    for x in range(begin, end):
        out[x] = 0
        for j in range(second.shape[0]):
            for i in range(second.shape[1]):
                out[x, i] += first[x, j] * second[j, i]


@kernel
def extremes(positions: NDArray[np.float32], begin: int, end: int, out: NDArray[np.float32]) -> None:
    """float32 out (2, stride) = least and greatest of each dimension over the rows begin … end."""
    out[0], out[1] = positions[begin], positions[begin]
    for x in range(begin + 1, end):
        for i in range(positions.shape[1]):
            out[0, i] = min(out[0, i], positions[x, i])
            out[1, i] = max(out[1, i], positions[x, i])


@kernel
def rescale(positions: NDArray[np.float32], least: NDArray[np.float32], width: NDArray[np.float32], begin: int, end: int) -> None:
    """Moves each dimension of the rows begin … end into [0, 1]; a dimension without width becomes 0."""
    for x in range(begin, end):
        for i in range(positions.shape[1]):
            positions[x, i] = (positions[x, i] - least[i]) / width[i] if width[i] > 0 else 0


# ---------------------------------------------------------------------------------------------------------------------
# Neighbours, votes and spanning trees
# ---------------------------------------------------------------------------------------------------------------------

TILE = 512  # points whose distances to one query are held at a time: they stay in the first-level cache


@float_kernel
def _tile_squares(
    points: NDArray[np.float32], first: np.uintp, size: np.uintp, query: NDArray[np.float32], row: np.uintp, out: NDArray[np.float32]
) -> None:
    """out[t] = |points[:, first + t] − query[row]|²; the points stand in columns, so that the loop over them uses vector instructions."""
    dimensions = np.uintp(points.shape[0])
    for t in range(size):
        out[np.uintp(t)] = np.float32(0)
    j = np.uintp(0)
    while j + np.uintp(4) <= dimensions:  # four dimensions at a time: the sums are loaded and stored a quarter as often
        a, b = query[row, j], query[row, j + np.uintp(1)]
        c, d = query[row, j + np.uintp(2)], query[row, j + np.uintp(3)]
        for t in range(size):
            at = first + np.uintp(t)
            u, v = points[j, at] - a, points[j + np.uintp(1), at] - b
            w, z = points[j + np.uintp(2), at] - c, points[j + np.uintp(3), at] - d
            out[np.uintp(t)] += (u * u + v * v) + (w * w + z * z)
        j += np.uintp(4)
    while j < dimensions:
        a = query[row, j]
        for t in range(size):
            u = points[j, first + np.uintp(t)] - a
            out[np.uintp(t)] += u * u
        j += np.uintp(1)


class Tiles(NamedTuple):
    """Points in groups that lie close together. `leading` are the coordinates in which they differ most, and only serve to pass points over."""

    rows: NDArray[np.float32]  # (n, d)
    leading: NDArray[np.float32]  # (l, n)
    names: NDArray[np.int32]  # (n,): the point's number among those that the tiles were made of
    starts: NDArray[np.int64]  # (tiles + 1,)
    low: NDArray[np.float32]  # (tiles, l): the box around a tile's leading coordinates
    high: NDArray[np.float32]


@float_kernel
def _outside(low: NDArray[np.float32], high: NDArray[np.float32], tile: int, leading: NDArray[np.float32], q: int) -> np.float32:
    """The squared distance of a query from the box of a tile."""
    total = np.float32(0)
    for j in range(low.shape[1]):
        gap = max(low[tile, j] - leading[q, j], leading[q, j] - high[tile, j], np.float32(0))
        total += gap * gap
    return total


@float_kernel
def _square(a: NDArray[np.float32], i: int, b: NDArray[np.float32], j: int) -> np.float32:
    """|a[i] − b[j]|²."""
    total = np.float32(0)
    x, y = np.uintp(i), np.uintp(j)
    for c in range(np.uintp(a.shape[1])):
        u = a[x, np.uintp(c)] - b[y, np.uintp(c)]
        total += u * u
    return total


@kernel
def _insert(square: np.float32, name: int, filled: int, ids: NDArray[np.int32], squares: NDArray[np.float32]) -> int:
    """Puts a neighbour in its place among the `filled` nearest so far, equals by name; the number filled then."""
    k = ids.shape[0]
    if filled == k and (square > squares[k - 1] or (square == squares[k - 1] and name > ids[k - 1])):
        return filled
    at = min(filled, k - 1)
    while at > 0 and (squares[at - 1] > square or (squares[at - 1] == square and ids[at - 1] > name)):
        squares[at], ids[at] = squares[at - 1], ids[at - 1]
        at -= 1
    squares[at], ids[at] = square, name
    return min(filled + 1, k)


@float_kernel
def nearest_in_tiles(
    tiles: Tiles,
    visits: NDArray[np.int64],
    queries: NDArray[np.float32],
    leading: NDArray[np.float32],
    own: NDArray[np.int64],
    asked: NDArray[np.int64],
    slack: np.float32,
    ids: NDArray[np.int32],
    squares: NDArray[np.float32],
) -> None:
    """Rows `asked` of ids and squares (m, k): the names of the k nearest points of those queries, nearest first, ties by name.

    Tiles are visited in the order given. What is left out is further than the k-th neighbour so far by the leading coordinates alone,
    `slack` being more than these can be wrong by. The point own[q] is passed over.
    """
    rows, columns, names, starts, low, high = tiles.rows, tiles.leading, tiles.names, tiles.starts, tiles.low, tiles.high
    k = ids.shape[1]
    partial = np.empty(TILE, np.float32)
    filled = np.zeros(asked.shape[0], np.int64)
    limits = np.full(asked.shape[0], np.float32(np.inf))
    for tile in visits:
        first, size = starts[tile], starts[tile + 1] - starts[tile]
        for i in range(asked.shape[0]):
            q = asked[i]
            if _outside(low, high, tile, leading, q) > limits[i]:
                continue
            _tile_squares(columns, np.uintp(first), np.uintp(size), leading, np.uintp(q), partial)
            count, limit = filled[i], limits[i]
            for t in range(size):
                if partial[t] > limit or names[first + t] == own[q]:
                    continue
                square = _square(rows, first + t, queries, q)
                if count < k or square <= squares[q, k - 1]:
                    count = _insert(square, names[first + t], count, ids[q], squares[q])
                    if count == k:
                        reach = np.sqrt(squares[q, k - 1]) * np.float32(1.00001) + slack
                        limit = reach * reach
            filled[i], limits[i] = count, limit


class Growth(NamedTuple):
    """A least spanning tree that grows: the points that are not in it yet stand first. state = (their number, which of them came last)."""

    points: NDArray[np.float32]  # (d, n)
    core: NDArray[np.float32]  # (n,): squared core distances
    names: NDArray[np.int64]  # (n,): which point stands there
    best: NDArray[np.float32]  # (n,): the weight of the best edge to the tree, and where in the tree it begins
    source: NDArray[np.int64]
    state: NDArray[np.int64]


@float_kernel
def grow_tree(growth: Growth, begin: int, end: int, left: NDArray[np.int64], right: NDArray[np.int64], weights: NDArray[np.float32]) -> None:
    """Edges begin:end of the least spanning tree, squared weights; all that is in `growth` changes.

    Prim's algorithm under mutual reachability, max(core(x), core(y), d(x, y)); points in the tree are swapped out behind the rest.
    """
    points, core, names, best, source = growth.points, growth.core, growth.names, growth.best, growth.source
    tile = np.empty(TILE, np.float32)
    query = np.empty((1, points.shape[0]), np.float32)
    rest, newest = growth.state[0], growth.state[1]
    for edge in range(begin, end):
        query[0] = points[:, newest]
        name, reach = names[newest], core[newest]
        rest -= 1
        points[:, newest] = points[:, rest]
        names[newest], core[newest], best[newest], source[newest] = names[rest], core[rest], best[rest], source[rest]
        newest, least = 0, np.float32(np.inf)
        for first in range(0, rest, TILE):
            size = min(TILE, rest - first)
            _tile_squares(points, np.uintp(first), np.uintp(size), query, np.uintp(0), tile)
            for t in range(size):
                x = first + t
                value = max(tile[t], core[x], reach)
                if value < best[x]:
                    best[x], source[x] = value, name
                if best[x] < least:
                    newest, least = x, best[x]
        left[edge], right[edge], weights[edge] = source[newest], names[newest], least
    growth.state[0], growth.state[1] = rest, newest


@kernel
def vote_scores(
    neighbours: NDArray[np.int32],
    point_offsets: NDArray[np.int64],
    point_classes: NDArray[np.int32],
    query_offsets: NDArray[np.int64],
    query_classes: NDArray[np.int32],
    sizes: NDArray[np.int64],
    begin: int,
    end: int,
    out: NDArray[np.float64],
) -> None:
    """neighbours (m, k), types by rows → out (m, sizes): cos(type(x), Σ type(y) over the μ nearest y), for each ascending μ in sizes.

    The length of the sum is kept while classes are added: |v + e_c|² = |v|² + 2 v_c + 1.
    """
    classes = 0
    for c in point_classes:
        classes = max(classes, c + 1)
    for c in query_classes:
        classes = max(classes, c + 1)
    votes, known = np.zeros(classes, np.int64), np.zeros(classes, np.bool_)
    for q in range(begin, end):
        truth = query_classes[query_offsets[q] : query_offsets[q + 1]]
        for c in truth:
            known[c] = True
        dot, square, seen = 0, 0, 0
        for m in range(sizes.shape[0]):
            while seen < sizes[m]:
                y = neighbours[q, seen]
                for c in point_classes[point_offsets[y] : point_offsets[y + 1]]:
                    square += 2 * votes[c] + 1
                    votes[c] += 1
                    dot += known[c]
                seen += 1
            out[q, m] = dot / np.sqrt(np.float64(square) * truth.shape[0]) if square and truth.shape[0] else 0.0
        for y in neighbours[q, :seen]:
            votes[point_classes[point_offsets[y] : point_offsets[y + 1]]] = 0
        known[truth] = False


@kernel
def have_in_common(
    offsets: NDArray[np.int64],
    roles: NDArray[np.int32],
    asked: NDArray[np.int32],
    others: NDArray[np.int32],
    begin: int,
    end: int,
    out: NDArray[np.bool_],
) -> None:
    """Roles by rows, ascending in each; asked (m), others (m, k) → out (m, k): whether the two have a role in common."""
    for q in range(begin, end):
        for j in range(others.shape[1]):
            a, b = offsets[asked[q]], offsets[others[q, j]]
            last_a, last_b = offsets[asked[q] + 1], offsets[others[q, j] + 1]
            while a < last_a and b < last_b and roles[a] != roles[b]:
                if roles[a] < roles[b]:
                    a += 1
                else:
                    b += 1
            out[q, j] = a < last_a and b < last_b


@kernel
def _root(parents: NDArray[np.int64], x: int) -> int:
    while parents[x] != x:
        parents[x] = parents[parents[x]]
        x = parents[x]
    return x


@kernel
def spanning_forest(
    near: NDArray[np.int64],
    far: NDArray[np.int64],
    ascending: NDArray[np.float32],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    weights: NDArray[np.float32],
) -> None:
    """Edges by ascending weight → n − 1 edges of the least tree (Kruskal); parts that no edge joins are joined at infinity."""
    n = left.shape[0] + 1
    parents, used = np.arange(n), 0
    for edge in range(near.shape[0]):
        a, b = _root(parents, near[edge]), _root(parents, far[edge])
        if a != b:
            parents[b] = a
            left[used], right[used], weights[used] = near[edge], far[edge], ascending[edge]
            used += 1
    for x in range(1, n):
        a, b = _root(parents, 0), _root(parents, x)
        if a != b:
            parents[b] = a
            left[used], right[used], weights[used] = 0, x, np.float32(np.inf)
            used += 1
