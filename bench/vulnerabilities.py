"""Known vulnerabilities of the installed libraries, by pip-audit.

A mirror of a package index may know advisories of the newest version of a library only. Libraries
that are not at their newest version are then looked up in a copy of the PyPA advisory database
(`--advisories DIR`, a checkout). Target: each library has data, and none is vulnerable.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from pip_audit._service import pypi
from pip_audit._service.interface import ResolvedDependency

import common

NOT_AUDITED = {"pyke-embeddings", "pip", "setuptools"}  # tools of the environment, not libraries


def installed() -> list[ResolvedDependency]:
    """All libraries of this environment but our own, without local labels such as +cpu."""
    found = {
        canonicalize_name(one.name): Version(Version(one.version).public)
        for one in importlib.metadata.distributions()
    }
    return [
        ResolvedDependency(name, version)
        for name, version in sorted(found.items())
        if name not in NOT_AUDITED
    ]


def newest_too(get: Callable[..., Any]) -> Callable[..., Any]:
    """Ask for the page of a version, or for that of the library if it is about this version."""

    def ask(url: str, timeout: int | None) -> Any:
        answer = get(url=url, timeout=timeout)
        if answer.status_code != 404:
            return answer
        library, version, name = url.rsplit("/", 2)
        newest = get(url=f"{library}/{name}", timeout=timeout)
        is_asked = newest.ok and newest.json()["info"]["version"] == version
        return newest if is_asked else answer

    return ask


def parsed(text: str) -> Version:
    """A version; some advisories name builds such as 2.6.0-cu124."""
    try:
        return Version(text)
    except InvalidVersion:
        return Version(text.partition("-")[0])


def concerns(affected: dict[str, Any], version: Version) -> bool:
    """Whether an entry of an advisory names the version, or has it in a range."""
    if str(version) in affected.get("versions", []):
        return True
    for span in affected.get("ranges", []):
        if span["type"] != "ECOSYSTEM":
            continue
        inside = False
        for event in span["events"]:
            if "introduced" in event:
                inside |= parsed(event["introduced"]) <= version
            elif "fixed" in event:
                inside &= version < parsed(event["fixed"])
            elif "last_affected" in event:
                inside &= version <= parsed(event["last_affected"])
        if inside:
            return True
    return False


def advisories_of(folder: Path, library: ResolvedDependency) -> Iterator[str]:
    """The advisories of a library in a checkout of the database."""
    for path in sorted((folder / "vulns" / library.canonical_name).glob("*.yaml")):
        advisory = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not advisory.get("withdrawn") and any(
            concerns(affected, library.version) for affected in advisory["affected"]
        ):
            yield advisory["id"]


def date_of(folder: Path) -> str:
    """The date of the newest commit of a checkout."""
    command = ["git", "-C", str(folder), "log", "-1", "--format=%cs"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--advisories", type=Path, help="checkout of the PyPA advisory database")
    options = parser.parse_args()
    service = pypi.PyPIService(timeout=60)
    service.session.get = newest_too(service.session.get)
    database = date_of(options.advisories) if options.advisories else ""
    rows: list[dict[str, Any]] = []
    for library in installed():
        answer, found = service.query(library)
        source, ids = "index", [one.id for one in found]
        if answer.is_skipped():
            source = f"database of {database}" if database else "none"
            ids = list(advisories_of(options.advisories, library)) if database else []
        row = {"library": library.name, "version": str(library.version)}
        rows.append(row | {"source": source, "advisories": ", ".join(ids)})
    misses = [f"{row['library']}: {row['advisories']}" for row in rows if row["advisories"]]
    misses += [f"{row['library']}: no data" for row in rows if row["source"] == "none"]
    columns = dict.fromkeys(("library", "version", "source", "advisories"), "")
    common.finish(columns, rows, misses, options.json)


if __name__ == "__main__":
    main()
