"""Who is answered: hosts (W1), origins and tokens (W2), paths (T7), limits (W4), errors (W6)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

from asking import LOCAL, Client
from graphs import crafts, graph_of
from pyke.config import Config
from pyke.pipeline.embed import embed_graph
from pyke.use.serve import limits
from pyke.use.serve.application import application
from pyke.use.serve.explorer import Explorer
from pyke.use.serve.guard import SECURITY_HEADERS, Access, Guard
from pyke.use.serve.pages import files

TOKEN = "0123456789abcdef0123"
GOOD_HOSTS = [
    "127.0.0.1:8000", "localhost:8000", "LOCALHOST:8000", "[::1]:8000", "LocalHost:8000",
    "127.0.0.1:08000",
]  # fmt: skip
FOREIGN_HOSTS = [
    "evil.example", "evil.example:8000", "127.0.0.1", "localhost", "[::1]", "127.0.0.1:80",
    "127.0.0.1:8001", "localhost:9000", "[::1]:8001", "127.0.0.1:8000.evil.example",
    "127.0.0.1.evil.example:8000", "localhost.evil.example:8000", "localhost.:8000",
    "evil.example@127.0.0.1:8000", "127.0.0.1:8000@evil.example", "127.0.0.1:8000/evil",
    "127.0.0.1:8000#evil", "127.0.0.1:8000?evil", "http://127.0.0.1:8000", "127.0.0.1:8000:8000",
    "127.1:8000", "2130706433:8000", "0x7f000001:8000", "0177.0.0.1:8000", "127.0.0.2:8000",
    "0.0.0.0:8000", "::1:8000", "[::1:8000", "[0:0:0:0:0:0:0:1]:8000", "[::ffff:127.0.0.1]:8000",
    "[::]:8000", "[fe80::1%25lo]:8000", "", " 127.0.0.1:8000", "127.0.0.1:8000 ", "127.0.0.1: 8000",
    "127.0.0.1:", "127.0.0.1:eight", "localhost:8000,evil.example", "127.0.0.1:8000\tevil",
    "xn--localhost:8000", "lоcalhost:8000".encode().decode("latin-1"),
]  # fmt: skip


@pytest.fixture(scope="module")
def explorer() -> Iterator[Explorer]:
    explorer = Explorer(embed_graph(graph_of(crafts()), Config(dimensions=8)))
    yield explorer
    explorer.stop()


@pytest.fixture(scope="module")
def client(explorer: Explorer) -> Iterator[Client]:
    client = Client(application(explorer, Access(8000)))
    yield client
    client.close()


@pytest.fixture(scope="module")
def locked(explorer: Explorer) -> Iterator[Client]:
    client = Client(application(explorer, Access(8000, TOKEN)))
    yield client
    client.close()


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_a_name_of_this_computer_with_the_port_is_answered(client: Client, host: str) -> None:
    assert client.get("/api/info", {"host": host}).status == 200


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_a_foreign_host_is_refused(client: Client, host: str) -> None:
    answer = client.get("/api/info", {"host": host})
    assert (answer.status, answer.json["error"]["code"]) == (403, "unknown_host")


def test_there_are_forty_foreign_hosts_and_six_good_ones() -> None:
    assert len(set(FOREIGN_HOSTS)) >= 40
    assert len(set(GOOD_HOSTS)) == 6


def test_a_request_without_or_with_two_hosts_is_refused(client: Client) -> None:
    two = [("host", "127.0.0.1:8000"), ("host", "evil.example")]
    same = [("host", "127.0.0.1:8000"), ("host", "127.0.0.1:8000")]
    found = [client.get("/api/info", hosts).status for hosts in ([], two, same)]
    assert found == [403] * 3


def test_on_a_network_addresses_are_answered_and_names_are_not(explorer: Explorer) -> None:
    access = Access(8000, TOKEN, frozenset({"my-machine"}), any_address=True)
    known = ["192.168.0.7:8000", "[2001:db8::1]:8000", "my-machine:8000", "MY-MACHINE:8000"]
    unknown = ["evil.example:8000", "192.168.0.7:80", "[2001:db8::zz]:8000", "300.1.1.1:8000"]
    assert [access.knows_host(host.encode()) for host in known] == [True] * 4
    assert [access.knows_host(host.encode()) for host in unknown] == [False] * 4


METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE")
OWN = ("http://127.0.0.1:8000", "http://localhost:8000", "http://[::1]:8000")
ORIGINS = (
    None, *OWN, "null", "https://127.0.0.1:8000", "http://127.0.0.1:8001", "http://evil.example",
    "http://127.0.0.1:8000.evil.example", "file://", "",
)  # fmt: skip
SITES = (None, "same-origin", "none", "same-site", "cross-site", "Same-Origin", "")
TOKENS = (None, "wrong", TOKEN, TOKEN.upper(), TOKEN[:-1], "")


def test_every_combination_of_method_origin_site_and_token_is_answered_as_specified(
    client: Client, locked: Client
) -> None:
    count = 0
    for method, origin, site, token in itertools.product(METHODS, ORIGINS, SITES, TOKENS):
        headers = dict(LOCAL)
        headers |= {} if origin is None else {"origin": origin}
        headers |= {} if site is None else {"sec-fetch-site": site}
        headers |= {} if token is None else {"authorization": f"Bearer {token}"}
        own = origin in (None, *OWN) and site in (None, "same-origin", "none")
        for one, needs_token in ((client, False), (locked, True)):
            status = one.get("/static/docs.css", headers, method).status
            if method not in ("GET", "HEAD"):
                expected = 405
            elif not own:
                expected = 403
            else:
                expected = 401 if needs_token and token != TOKEN else 200
            assert status == expected, (method, origin, site, token, needs_token)
            count += 1
    assert count == 2 * len(METHODS) * len(ORIGINS) * len(SITES) * len(TOKENS)


@pytest.mark.parametrize(
    ("path", "mode", "dest", "status"),
    [
        ("/", "navigate", "document", 200),
        ("/", "navigate", "iframe", 403),
        ("/", "no-cors", "image", 403),
        ("/api/info", "navigate", "document", 403),
        ("/static/docs.js", "no-cors", "script", 403),
    ],
)
def test_another_site_may_link_to_the_page_and_to_nothing_else(
    client: Client, path: str, mode: str, dest: str, status: int
) -> None:
    fetched = {"sec-fetch-site": "cross-site", "sec-fetch-mode": mode, "sec-fetch-dest": dest}
    assert client.get(path, LOCAL | fetched).status == status


def test_the_token_in_the_address_becomes_a_cookie_that_scripts_cannot_read(
    locked: Client,
) -> None:
    assert locked.get("/api/info").status == 401
    first = locked.get(f"/api/nearest?term=1&token={TOKEN}&k=2")
    assert (first.status, first.headers["location"]) == (303, "/api/nearest?term=1&k=2")
    cookie = first.headers["set-cookie"]
    assert cookie == f"pyke-8000={TOKEN}; Path=/; HttpOnly; SameSite=Strict"
    assert locked.get("/api/info", LOCAL | {"cookie": cookie.split(";")[0]}).status == 200
    for wrong in (f"pyke-8001={TOKEN}", "pyke-8000=wrong", "pyke-8000=", "\x7f=;=", TOKEN):
        assert locked.get("/api/info", LOCAL | {"cookie": wrong}).status == 401
    assert locked.get("/api/info?token=wrong").status == 401
    assert locked.get(f"/api/info?token={TOKEN}&token=wrong").status == 401


def test_the_token_never_leads_to_another_server(locked: Client) -> None:
    answer = locked.get(f"//evil.example/?token={TOKEN}")
    assert (answer.status, answer.headers["location"]) == (303, "/evil.example/")


def test_every_answer_has_the_security_headers_and_allows_no_other_origin(client: Client) -> None:
    for target in ("/", "/api/info", "/api/nothing", "/static/docs.js", "/api/points"):
        for headers in (LOCAL, {"host": "evil.example"}):
            found = client.get(target, headers).headers
            for name, value in SECURITY_HEADERS:
                assert found[name.decode()] == value.decode()
            assert "cache-control" in found
            assert not [name for name in found if name.startswith("access-control")]


def test_the_policy_allows_no_inline_code_and_no_other_server() -> None:
    policy = dict(SECURITY_HEADERS)[b"content-security-policy"].decode()
    assert policy.startswith("default-src 'self';")
    assert not [word for word in ("unsafe", "http:", "https:", "*", "data:") if word in policy]


ODD_PATHS = [
    "/etc/passwd", "etc/passwd", "C:\\Windows\\win.ini", "file:///etc/passwd", "docs.js%00.html",
    "docs.js/", "docs.js/..", "./docs.js", "DOCS.JS",
]  # fmt: skip


def traversals() -> Iterator[str]:
    """Paths that try to leave a folder, in many spellings."""
    dots = ["..", "%2e%2e", "%252e%252e", ".%2e", "..%00", "%c0%ae%c0%ae", "..;", "．．", "....//"]
    slashes = ["/", "%2f", "%252f", "\\", "%5c", "%255c", "//", "∕", "%c0%af"]
    targets = ["etc/passwd", "manifest.json", "proc/self/environ"]
    for dot, slash, target in itertools.product(dots, slashes, targets):
        yield f"/static/{(dot + slash) * 3}{target}"
        yield f"/api/terms/{(dot + slash) * 2}{target}"
    for start in ("/static/", "/api/terms/", "/static//", "//"):
        yield from (start + path for path in ODD_PATHS)


def test_no_path_of_a_request_reaches_the_file_system(client: Client) -> None:
    from urllib.parse import unquote

    known = {*files(), "/api/info"}
    tried = 0
    for path in traversals():
        for form in (path, unquote(path)):
            if form in known:
                continue
            tried += 1
            answer = client.get(form)
            assert answer.status in (400, 404), form
            assert b"root:" not in answer.body
    assert tried >= 500


def test_requests_with_a_body_or_a_long_address_are_refused(client: Client) -> None:
    assert client.get("/api/info", LOCAL | {"content-length": "5"}).status == 413
    assert client.get("/api/info", LOCAL | {"transfer-encoding": "chunked"}).status == 413
    assert client.get("/api/info", LOCAL | {"content-length": "0"}).status == 200
    assert client.get("/api/search?q=" + "a" * limits.MAX_TARGET).status == 414


def test_a_range_is_ignored(client: Client) -> None:
    whole = client.get("/static/docs.js")
    ranges = "bytes=" + ",".join(f"{n}-" for n in range(500))
    part = client.get("/static/docs.js", LOCAL | {"range": ranges})
    assert (part.status, part.body) == (200, whole.body)


@pytest.mark.parametrize(
    "target",
    [
        f"/api/nearest?term=0&k={limits.MAX_NEIGHBOURS + 1}",
        "/api/nearest?term=0&k=0",
        "/api/nearest?term=-1",
        "/api/nearest?term=1e3",
        "/api/nearest?term=٣",
        "/api/nearest?term=99999999999",
        "/api/nearest",
        "/api/nearest?term=0&term=1",
        "/api/nearest?term=0&callback=x",
        "/api/terms/0&limit=3",
        f"/api/terms/0?limit={limits.MAX_PAGE + 1}",
        f"/api/search?q=a&limit={limits.MAX_FOUND + 1}",
        f"/api/search?q={'a' * (limits.MAX_QUERY + 1)}",
        "/api/search?q=%ff",
        "/api/names?ids=" + ",".join(map(str, range(limits.MAX_NAMES + 1))),
        "/api/names?ids=",
        f"/api/points?limit={limits.MAX_POINTS + 1}",
        "/api/points?box=1,2,3",
        "/api/points?box=nan,0,1,1",
        "/api/points?box=0,0,1,inf",
        "/api/points?layout=other",
        "/api/points?dimensions=4",
        "/api/points?dimensions=3&box=0,0,1,1",
    ],
)
def test_values_beyond_a_limit_are_refused(client: Client, target: str) -> None:
    assert client.get(target).status == 400


def test_more_waiting_requests_than_the_limit_are_refused_and_the_others_answered(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_WAITING", 10)
    found = [answer.status for answer in client.together(["/api/nearest?term=0"] * 30)]
    assert (found.count(200), found.count(429)) == (10, 20)
    assert client.get("/api/nearest?term=0").status == 200


def test_an_answer_that_takes_too_long_is_given_up(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    ended = threading.Event()
    monkeypatch.setattr(limits, "SECONDS", 0.02)
    monkeypatch.setattr(Explorer, "nearest", lambda *_: ended.wait(10))
    answer = client.get("/api/nearest?term=0")
    ended.set()
    assert (answer.status, answer.json["error"]["code"]) == (429, "too_slow")


def test_errors_contain_no_path_no_trace_and_no_version(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    import starlette
    import uvicorn

    words = ["Traceback", "/src/", "/site-packages", ".py", sys.version.split()[0]]
    words += [starlette.__version__, uvicorn.__version__, "starlette", "uvicorn", "numpy"]
    drawn = random.Random(0)
    alphabet = "abc0189/%&?=.,-_~'\"<>\\\0\x1bé;()[]{}"
    refused = 0
    for _ in range(500):
        text = "".join(drawn.choice(alphabet) for _ in range(drawn.randrange(1, 40)))
        start = drawn.choice(["/", "/api/", "/api/nearest?term=", "/api/search?q=", "/static/"])
        answer = client.get(start + text)
        refused += answer.status >= 400
        assert answer.status < 500, (start + text, answer.body)
        if answer.status >= 400:
            shown = answer.body.decode()
            assert not [word for word in words if word in shown], shown
    assert refused > 400


def test_an_error_in_pyke_is_a_number_for_the_reader_and_details_for_the_log(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("/secret/path")

    monkeypatch.setattr(Explorer, "nearest", broken)
    answer = client.get("/api/nearest?term=0")
    assert answer.status == 500
    assert b"secret" not in answer.body
    number = answer.json["error"]["message"].split()[-1].rstrip(".")
    assert number in caplog.text
    assert "/secret/path" in caplog.text


def test_websockets_are_not_answered(explorer: Explorer) -> None:
    import asyncio

    async def refuse(*_: object) -> None:
        pytest.fail("the application was called")

    asyncio.run(Guard(refuse, Access(8000))({"type": "websocket"}, refuse, refuse))  # type: ignore[arg-type]
