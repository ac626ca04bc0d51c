"""A real PostgreSQL with pgvector, from the wheel of pgserver, for tests and benchmarks."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

ACCESS_RULES = "local all guest scram-sha-256\nlocal all all trust\n"


@dataclass(frozen=True)
class Server:
    """A server that listens on a socket in its folder."""

    folder: Path

    def dsn(self, database: str = "postgres", user: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def ask(self, query: str, database: str = "postgres") -> list[Any]:
        with psycopg.connect(self.dsn(database), autocommit=True) as connection:
            answer = connection.execute(query)
            return list(answer) if answer.description else []


@contextmanager
def running_server() -> Iterator[Server]:
    """Start a server in a temporary folder; stop it and delete the folder afterwards.

    It runs a copy of the package's programs: the package itself would add a user to the system and
    make folders writable for everyone. PostgreSQL refuses to run as root; then it runs as nobody.
    """
    spec = find_spec("pgserver")
    assert spec is not None
    assert spec.submodule_search_locations
    package = Path(spec.submodule_search_locations[0])
    folder = Path(
        tempfile.mkdtemp(prefix="pyke-postgres-", dir="/tmp")
    )  # names of sockets must be short
    home, data = folder / "pginstall", folder / "data"
    account: dict[str, Any] = {}
    if os.geteuid() == 0:
        account = {"user": "nobody", "group": "nogroup", "extra_groups": []}
        folder.chmod(0o755)
        shutil.chown(folder, "nobody")

    def run(program: str, *arguments: str) -> None:
        command = [str(home / "bin" / program), "-D", str(data), *arguments]
        environment = {"LD_LIBRARY_PATH": str(home / "lib")}
        done = subprocess.run(
            command,
            **account,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, done.stdout

    try:
        shutil.copytree(package / "pginstall", home)
        shutil.copytree(package.with_name("pgserver.libs"), home / "lib", dirs_exist_ok=True)
        run(
            "initdb",
            "--username=postgres",
            "--auth=trust",
            "--encoding=utf8",
            "--locale=C",
            "--no-sync",
        )
        (data / "pg_hba.conf").write_text(ACCESS_RULES)
        run(
            "pg_ctl",
            "--wait",
            "--log",
            str(folder / "log"),
            "-o",
            f"-k {folder} -c listen_addresses='' -c fsync=off",
            "start",
        )
        try:
            yield Server(folder)
        finally:
            run("pg_ctl", "--wait", "--mode=immediate", "stop")
    finally:
        shutil.rmtree(folder)
