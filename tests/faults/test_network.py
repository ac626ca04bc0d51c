"""No command but `fetch` and the export to a database uses the network.

The audit hook of all tests does not watch child processes and libraries in other languages, such as
the parser. Here the main commands run in a network namespace without any connection, and `strace`
records the system calls of all their processes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from faults.conftest import Figure
from graphs import crafts

RDF_XML = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF SYSTEM "http://192.0.2.1/evil.dtd">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://192.0.2.1/">
<e:smith rdf:about="http://192.0.2.1/anna"><e:uses rdf:resource="http://192.0.2.1/anvil"/></e:smith>
</rdf:RDF>"""
JSON_LD = """{"@context": {"e": "http://192.0.2.1/"}, "@id": "e:a", "e:p": {"@id": "e:b"}}"""
REMOTE = """{"@context": "http://192.0.2.1/context.json", "@id": "http://e/a"}"""

# One process runs all commands: each start would take seconds under strace.
COMMANDS = """
import socket, sys
from pyke import cli

def run(line, code=0):
    sys.argv = ["pyke", *line.split()]
    try:
        cli.main()
    except SystemExit as stop:
        assert (stop.code or 0) == code, line

run("info graph.nt graph.rdf graph.jsonld")
run("info remote.jsonld", 65)
run("embed graph.nt graph.rdf graph.jsonld -o out --dimensions 3")
run("verify out")
run("nearest out http://192.0.2.1/anna")
run("types out --mu 3 -o types.nt --report types.html")
run("cluster out -o clusters.csv --min-cluster-size 5 --min-samples 3")
run("plot out -o map.html --method pca")
run("plot out -o map.svg --method pca")
for to in FORMATS:
    run(f"export out --to {to} -o vectors-{to}")
run("evaluate out --mu 3 --report scores.html")
run("update out graph.rdf -o updated")
socket.socket().connect_ex(("127.0.0.1", 9))  # strace must see this one
"""
FORMATS = ("csv", "parquet", "npy", "word2vec", "safetensors", "projector", "atlas")
CALLS = "connect,bind,listen,sendto,sendmsg,sendmmsg"


def _available(folder: Path, *command: str) -> bool:
    if not shutil.which(command[0]):
        return False
    return subprocess.run([*command, "true"], cwd=folder, capture_output=True).returncode == 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "graph.nt").write_text(crafts())
    (tmp_path / "graph.rdf").write_text(RDF_XML)
    (tmp_path / "graph.jsonld").write_text(JSON_LD)
    (tmp_path / "remote.jsonld").write_text(REMOTE)
    return tmp_path


def test_commands_make_no_connection_and_need_none(folder: Path, figure: Figure) -> None:
    unshare = ("unshare", "--map-root-user", "--net")
    strace = ("strace", "-f", "-qq", "--seccomp-bpf", "-e", f"trace={CALLS}", "-o", "trace")
    if not _available(folder, *strace):
        pytest.skip("strace is not available here")
    before = (*unshare, *strace) if _available(folder, *unshare, *strace) else strace
    command = [*before, sys.executable, "-c", f"FORMATS = {FORMATS}{COMMANDS}"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    # Other calls are within this machine: they have a path (AF_UNIX) or no address.
    calls = (folder / "trace").read_text().splitlines()
    remote = [line for line in calls if "AF_INET" in line or "AF_NETLINK" in line]
    assert len(remote) == 1, remote
    assert "htons(9)" in remote[0], "the last line of COMMANDS connects"
    number = COMMANDS.count("\nrun(") + len(FORMATS)
    figure("T5", f"{number} commands under strace, without a network: 0 connections, 0 packets")
