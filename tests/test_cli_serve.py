"""`pyke serve`: a real server on a socket, and clear errors."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import pyke as package
from conftest import Command
from pyke.embedding.embedding import load
from pyke.errors import UsageError
from pyke.use.serve import limits
from pyke.use.serve.run import Address
from serving import serving

TOKEN = "0123456789abcdef0123"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory, typed: Path) -> Path:
    path = tmp_path_factory.mktemp("served") / "out"
    package.embed(typed, dimensions=8).save(path)
    return path


@pytest.fixture(scope="module")
def port(directory: Path) -> Iterator[int]:
    """The port of a running server."""
    with serving(load(directory)) as number:
        yield number


def ask(port: int, request: str) -> bytes:
    """Send bytes to the server; return its answer until it hangs up."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request.replace("PORT", str(port)).encode("latin-1"))
        received = b""
        while part := connection.recv(1 << 16):
            received += part
    return received


def test_a_server_answers_on_loopback_only(port: int) -> None:
    answer = ask(
        port, "GET /api/info HTTP/1.1\r\nHost: localhost:PORT\r\nConnection: close\r\n\r\n"
    )
    head, body = answer.split(b"\r\n\r\n", 1)
    assert head.startswith(b"HTTP/1.1 200")
    assert json.loads(body)["classes"] == 3
    assert b"uvicorn" not in head.lower()


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        ("GET http://evil.example/api/info HTTP/1.1\r\nHost: localhost:PORT\r\n", 404),
        ("GET http://localhost:PORT/api/info HTTP/1.1\r\nHost: evil.example\r\n", 403),
        ("GET /api/info HTTP/1.1\r\nHost: evil.example\r\n", 403),
        ("GET /api/info HTTP/1.1\r\nHost: localhost:PORT\r\nHost: evil.example\r\n", 400),
        ("GET /api/info HTTP/1.0\r\n", 403),
        ("GET /../../etc/passwd HTTP/1.1\r\nHost: localhost:PORT\r\n", 404),
        ("GET /static/..%2f..%2frun.py HTTP/1.1\r\nHost: localhost:PORT\r\n", 404),
        ("GET /static/%00 HTTP/1.1\r\nHost: localhost:PORT\r\n", 404),
        ("POST /api/info HTTP/1.1\r\nHost: localhost:PORT\r\nContent-Length: 0\r\n", 405),
        ("nonsense\r\n", 400),
    ],
)
def test_raw_requests_are_answered_as_specified(port: int, request_text: str, status: int) -> None:
    answer = ask(port, request_text + "Connection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 %d" % status)


def test_very_long_headers_are_refused(port: int) -> None:
    header = "X: " + "a" * 200_000
    request = f"GET /api/info HTTP/1.1\r\nHost: localhost:PORT\r\n{header}\r\n\r\n"
    answer = b""
    with suppress(ConnectionError):  # the server hangs up while the header is being sent
        answer = ask(port, request)
    assert not answer.startswith(b"HTTP/1.1 200")


def test_a_client_that_sends_slowly_is_disconnected_and_others_are_not(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HEADER_SECONDS", 0.1)
    slow = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(20)]
    for connection in slow:
        connection.sendall(b"GET /api/info HTTP/1.1\r\nHost:")
    request = "GET /api/info HTTP/1.1\r\nHost: localhost:PORT\r\nConnection: close\r\n\r\n"
    began = time.monotonic()
    assert ask(port, request).startswith(b"HTTP/1.1 200")
    assert time.monotonic() - began < 5
    for connection in slow:
        with connection, suppress(ConnectionError):
            assert connection.recv(10) == b""


def test_a_connection_beyond_the_limit_is_closed(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_CONNECTIONS", 0)
    assert ask(port, "") == b""


def test_a_taken_port_is_an_error(pyke: Command, directory: Path, port: int) -> None:
    run = pyke("serve", directory, "--port", str(port))
    assert run.returncode == 2
    assert f"port {port} is taken by another program" in run.stderr
    assert "--port" in run.stderr


def test_a_damaged_directory_is_an_error_before_the_server_starts(
    pyke: Command, tmp_path: Path, typed: Path
) -> None:
    package.embed(typed, dimensions=8).save(tmp_path / "out")
    types = tmp_path / "out" / "types.npy"
    content = bytearray(types.read_bytes())
    content[-1] ^= 1
    types.write_bytes(content)
    run = pyke("serve", tmp_path / "out", "--port", "0")
    assert run.returncode == 65
    assert "types.npy" in run.stderr


def test_no_directory_is_an_error(pyke: Command, tmp_path: Path) -> None:
    assert pyke("serve", tmp_path / "nothing").returncode == 66


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.com"])
def test_a_network_needs_a_token(pyke: Command, directory: Path, host: str) -> None:
    run = pyke("serve", directory, "--host", host)
    assert run.returncode == 2
    assert "PYKE_TOKEN" in run.stderr


@pytest.mark.parametrize("token", ["", "short", "spaces are not allowed", "ä" * 20, "a;b" * 10])
def test_a_weak_token_is_refused(directory: Path, token: str) -> None:
    with pytest.raises(UsageError, match="at least 16"):
        Address(token=token).check()


def test_an_address_that_this_computer_does_not_have_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"cannot listen on 192\.0\.2\.7"):
        Address("192.0.2.7", 0, TOKEN).listen()


@pytest.mark.parametrize(
    ("address", "url"),
    [
        (Address(), "http://127.0.0.1:8000/"),
        (Address("::1"), "http://[::1]:8000/"),
        (Address("localhost"), "http://localhost:8000/"),
        (Address("0.0.0.0", token=TOKEN), f"http://127.0.0.1:8000/?token={TOKEN}"),
        (Address("::", token=TOKEN), f"http://[::1]:8000/?token={TOKEN}"),
        (Address("10.0.0.1", token=TOKEN), f"http://10.0.0.1:8000/?token={TOKEN}"),
    ],
)
def test_the_printed_address_is_one_that_is_answered(address: Address, url: str) -> None:
    address.check()
    assert address.url(8000) == url
    host = url.removeprefix("http://").split("/")[0]
    assert address.access(8000).knows_host(host.encode())


def test_on_loopback_only_its_names_are_known() -> None:
    access = Address().access(8000)
    assert not access.knows_host(b"10.0.0.1:8000")
    assert not access.knows_host(socket.gethostname().encode() + b":8000") or (
        socket.gethostname() == "localhost"
    )


def test_the_server_of_the_command_stops_on_a_signal(
    pyke: Command, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import uvicorn

    started = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: started.append(sockets))
    done = pyke("serve", directory, "--port", "0", "--token", TOKEN)
    assert (done.returncode, len(started)) == (0, 1)
    assert f"?token={TOKEN}" in done.stdout
