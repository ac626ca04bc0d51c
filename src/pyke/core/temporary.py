"""Names of temporary files. Runs that are killed leave such files; later runs find them by name."""

from __future__ import annotations

import glob
import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from pyke.core.system import process_exists
from pyke.errors import OutputExists

WRITING, REPLACED = "writing", "replaced"  # a new output; an old one that was moved aside


def temporary_name(target: Path, kind: str) -> Path:
    """A name beside a target. Its last part is a checksum: no file of a user is named like this."""
    if not target.name:
        raise OutputExists(f"cannot replace {target}; choose a name below it")
    stem = f".{target.name}.{kind}-{os.getpid()}-{secrets.token_hex(4)}"
    return target.with_name(f"{stem}-{_checksum(stem)}")


def leftovers(target: Path, kind: str) -> Iterator[Path]:
    """Temporary files beside a target whose process has ended."""
    for path in target.parent.glob(f".{glob.escape(target.name)}.{kind}-*"):
        match = re.fullmatch(rf"(.*\.{kind}-([0-9]+)-[0-9a-f]+)-([0-9a-f]+)", path.name)
        if match and match[3] == _checksum(match[1]) and not process_exists(int(match[2])):
            yield path


def _checksum(stem: str) -> str:
    return hashlib.sha256(os.fsencode(stem)).hexdigest()[:12]
