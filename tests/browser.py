"""A Chromium browser for tests of pages, controlled by the DevTools protocol over a pipe."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium is missing; on Debian: apt-get install chromium"
)

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--window-size=1000,700", "--remote-debugging-pipe",
]  # fmt: skip
TIMEOUT = 30.0  # seconds
# The browser reads commands from descriptor 3 and writes answers to 4.
LAUNCH = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page in its own browser, with the errors and the requested addresses."""

    def __init__(self, folder: Path) -> None:
        assert CHROMIUM
        (commands, self._send), (self._receive, answers) = (_high_pipe(), _high_pipe())
        self._number, self._rest = 0, b""
        self._session: str | None = None
        self.errors: list[str] = []
        self.requests: list[str] = []
        launch = [
            sys.executable,
            "-c",
            LAUNCH,
            str(commands),
            str(answers),
            CHROMIUM,
            *FLAGS,
            f"--user-data-dir={folder}",
            "about:blank",
        ]
        self._child = subprocess.Popen(
            launch,
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        target = next(
            target
            for target in self.call("Target.getTargets")["targetInfos"]
            if target["type"] == "page"
        )
        self._session = self.call(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """Close the browser."""
        self._session = None
        self.call("Browser.close")
        self._child.wait(TIMEOUT)
        os.close(self._send)
        os.close(self._receive)

    def call(self, method: str, **parameters: Any) -> Any:
        """Send a command and return its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters} | (
            {"sessionId": self._session} if self._session else {}
        )
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._receive, 1 << 16)
            assert more, "the browser has exited"
            self._rest += more
        text, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(message["params"]["exceptionDetails"]))
        elif (
            message.get("method") == "Log.entryAdded"
            and message["params"]["entry"]["level"] == "error"
        ):
            self.errors.append(message["params"]["entry"]["text"])
        elif message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        return message

    def open(self, page: Path) -> None:
        """Open a page and wait until it is ready."""
        self.run("window.isPrevious = true")
        self.call("Page.navigate", url=page.resolve().as_uri())
        self.wait(
            "!window.isPrevious && document.documentElement?.dataset.ready === 'yes' "
            "&& document.documentElement.dataset.drawn"
        )

    def visit(self, address: str) -> None:
        """Open a page of a server and wait until it is ready."""
        self.run("window.isPrevious = true")
        self.call("Page.navigate", url=address)
        self.wait("!window.isPrevious && document.documentElement?.dataset.ready === 'yes'")

    def press(self, key: str, code: int = 0) -> None:
        """Press and release a key."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            more = text if kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **more
            )

    def resize(self, width: int, height: int, mobile: bool = False) -> None:
        """Show the page in a window of this size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )

    def screenshot(self, path: Path) -> None:
        """Write a picture of the page."""
        self.settle()
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def run(self, script: str) -> Any:
        """Return the value of a JavaScript expression."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, script: str) -> None:
        """Wait until an expression is true."""
        _until(lambda: bool(self.run(script)), script)

    def settle(self) -> None:
        """Wait until the page has drawn the latest changes."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """Move, press, release or scroll the mouse."""
        self.call("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        """Click at a position."""
        for kind in ("Pressed", "Released"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def type(self, text: str) -> None:
        """Type into the focused element."""
        self.call("Input.insertText", text=text)


def _high_pipe() -> tuple[int, int]:
    """A pipe whose descriptors differ from those that the browser uses."""
    ends = os.pipe()
    high = (
        fcntl.fcntl(ends[0], fcntl.F_DUPFD_CLOEXEC, 10),
        fcntl.fcntl(ends[1], fcntl.F_DUPFD_CLOEXEC, 10),
    )
    for end in ends:
        os.close(end)
    return high


def _until(condition: Callable[[], bool], text: str) -> None:
    limit = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < limit, f"not true within {TIMEOUT:.0f} s: {text}"
