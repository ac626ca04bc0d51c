"""Every compiled function. Plain loops over arrays; nothing here knows of users, files or progress.

One file on purpose: Numba's cache does not see a change in a callee that lives in another file.

Glossary (the paper's letters): x, y particles; σ spring constant; ω repulsive constant; E system energy;
P(x) the particles that attract x; N(x) those that repel it; J the objective; d Euclidean distance.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])
Bytes = NDArray[np.uint8]

# ---------------------------------------------------------------------------------------------------------------------
# Compilation: cached in a directory of our own, which repairs itself
# ---------------------------------------------------------------------------------------------------------------------


def _cache_directory() -> Path:
    """A private directory named after this file's content and Numba's version: stale code cannot be in it."""
    root = Path(os.environ.get("PYKE_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pyke")
    content = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
    directory = root / f"numba-{numba.__version__}-py{sys.version_info[0]}{sys.version_info[1]}-{content}"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = directory.stat()
        # The cache holds executable code: a directory that others may write to is not used.
        if state.st_uid != os.getuid() or stat.S_IMODE(state.st_mode) & 0o022 or not os.access(directory, os.W_OK):
            raise PermissionError
    except OSError:
        directory = Path(tempfile.mkdtemp(prefix="pyke-cache-"))
    return directory


CACHE_DIRECTORY = _cache_directory()


def compiled_before() -> bool:
    """Whether an earlier run has left compiled kernels to load."""
    return any(CACHE_DIRECTORY.rglob("*.nbi"))


def _heal(dispatcher: Any) -> None:
    """Treat a cache file that cannot be read as absent: Numba itself would fail for ever."""
    cache = dispatcher._cache
    load = cache.load_overload

    def load_or_forget(signature: Any, target: Any) -> Any:
        try:
            return load(signature, target)
        except Exception:  # whatever a damaged file makes of unpickling: compile again
            cache.flush()
            return None

    cache.load_overload = load_or_forget


def _compiler(**options: Any) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        previous = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(CACHE_DIRECTORY)
        try:
            dispatcher: Any = numba.njit(nogil=True, cache=True, **options)(function)
        finally:
            numba.config.CACHE_DIR = previous
        _heal(dispatcher)
        return dispatcher  # type: ignore[no-any-return]

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
    for k in range(length):
        if a[i + k] != b[j + k]:
            return False
    return True


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


class Dialect(NamedTuple):
    """How to read: the seed of the hashes, and the (unfinished) hashes of the IRIs that mean something to the reader."""

    seed: np.uint64
    quads: bool
    trusted: bool  # the text was written by pyoxigraph: only find the borders
    blank_prefix: Bytes
    label_hashes: NDArray[np.uint64]
    string_hash: np.uint64  # xsd:string
    forbidden_hashes: NDArray[np.uint64]  # rdf:langString, rdf:dirLangString


# Batch.state
LINES, TRIPLES, LITERALS, LABELS, LABEL_BYTES, TRIPLE_TERMS = range(6)
# What tokenize() stops at. UNSURE: a line outside the part of the grammar that is decided here.
STATE_SIZE = 6


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
def _add_node(batch: Batch, text: Bytes, start: int, stop: int, h: np.uint64, prefix: Bytes) -> int:
    """The batch's id of the IRI or blank node at text[start:stop], whose unfinished hash is h."""
    terms = batch.terms
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
def tokenize(text: Bytes, begin: int, end: int, dialect: Dialect, batch: Batch) -> int:
    """uint8 text[begin:end] of whole lines → statements in the batch; position of the first line that is not done.

    Stops before a line whose validity is not plain to see here, so that pyoxigraph decides it; a batch whose dictionary is
    half full stops too. A line leaves nothing in the batch until all of it is accepted.
    """
    scratch = np.empty(4, np.uint8)
    blank_seed = hash_bytes(dialect.blank_prefix, 0, dialect.blank_prefix.shape[0], (((dialect.seed ^ np.uint64(95)) * _FNV) ^ np.uint64(58)) * _FNV)
    full = batch.terms.table.shape[0] // 2 - 3
    state = batch.state
    line = begin
    while line < end and batch.terms.size[0] < full:
        k = _skip_blanks(text, line)
        if text[k] != _LESS and text[k] != _UNDERSCORE:
            k = _scan_line_end(text, k)
            if k < 0:
                return line
            state[LINES] += 1
            line = k
            continue

        subject = k
        k, subject_hash = _scan_node(text, k, dialect, blank_seed)
        if k < 0:
            return line
        subject_end = k
        k = _skip_blanks(text, k)
        predicate = k
        if text[k] != _LESS:
            return line
        k, predicate_hash = _scan_node(text, k, dialect, blank_seed)
        if k < 0:
            return line
        predicate_end = k
        k = _skip_blanks(text, k)
        target = k
        is_literal = text[k] == _QUOTE
        if dialect.trusted and text[k] == _LESS and text[k + 1] == _LESS:
            state[TRIPLE_TERMS] += 1
            state[LINES] += 1
            while text[k] != _NEWLINE:
                k += 1
            line = k + 1
            continue
        if is_literal:
            k, target_hash = _scan_literal(text, k, dialect, scratch)
        else:
            k, target_hash = _scan_node(text, k, dialect, blank_seed)
        if k < 0:
            return line
        target_end = k
        k = _skip_blanks(text, k)
        if dialect.quads and text[k] != _DOT:
            k, _ = _scan_node(text, k, dialect, blank_seed)
            if k < 0:
                return line
            k = _skip_blanks(text, k)
        if text[k] != _DOT:
            return line
        k = _scan_line_end(text, k + 1)
        if k < 0:
            return line

        s = _add_node(batch, text, subject, subject_end, subject_hash, dialect.blank_prefix)
        p = _add_node(batch, text, predicate, predicate_end, predicate_hash, dialect.blank_prefix)
        if is_literal:
            row = state[LITERALS]
            batch.literals[row, 0] = s
            batch.literals[row, 1] = p
            batch.literal_keys[row] = target_hash
            state[LITERALS] = row + 1
            for i in range(dialect.label_hashes.shape[0]):
                if predicate_hash == dialect.label_hashes[i]:
                    row = state[LABELS]
                    batch.labels[row, 0] = s
                    batch.labels[row, 1] = _language_rank(text, target, target_end)
                    state[LABEL_BYTES] = decode_string(text, target, batch.label_blob, state[LABEL_BYTES])
                    batch.labels[row, 2] = state[LABEL_BYTES]
                    state[LABELS] = row + 1
        else:
            row = state[TRIPLES]
            batch.triples[row, 0] = s
            batch.triples[row, 1] = p
            batch.triples[row, 2] = _add_node(batch, text, target, target_end, target_hash, dialect.blank_prefix)
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
