# SPDX-License-Identifier: GPL-2.0-or-later
"""A real browser without a window: Chromium, controlled by its DevTools protocol through two pipes."""

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
EVENTS = {"Network.requestWillBeSent", "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"}


def path() -> str | None:
    """Return the browser of this machine; None if it has none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """A browser with one tab.

    Attributes:
        requests: addresses that the browser has asked for.
        complaints: what it has written to its console.
    """

    def __init__(self, program: str, folder: Path) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._log = (folder / "browser.log").open("wb")
        commands, self._commands = os.pipe()
        answers, theirs = os.pipe()
        words = [
            *(program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *("--remote-debugging-pipe", "--no-first-run", f"--user-data-dir={folder / 'profile'}", "about:blank"),
        ]
        # Chromium reads commands from descriptor 3 and writes answers to 4. dash knows only descriptors of one digit.
        shell = ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{theirs}', "bash", *words]
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
        self._process = subprocess.Popen(
            shell, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, pass_fds=(commands, theirs),
            env=environment,
        )  # fmt: skip
        os.close(commands)
        os.close(theirs)
        self._answers = open(answers, "rb")  # noqa: SIM115 - closed by __exit__
        self._number = 0
        self._session: str | None = None

    def __enter__(self) -> "Browser":
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *failure: object) -> None:
        self._process.kill()
        self._process.wait()
        self._answers.close()
        os.close(self._commands)
        self._log.close()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the result of a command."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            continue
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def show(self, page: Path, width: int, *, dark: bool) -> None:
        """Load a page on a screen."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=page.as_uri())
        while self._next().get("method") != "Page.loadEventFired":
            continue

    def value(self, expression: str) -> Any:
        """Return the value of an expression in JavaScript."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def picture(self, width: int = 0, height: int = 0) -> bytes:
        """Return the whole page as PNG, or its upper left part of this size in pixels."""
        part = {"clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}} if width else {}
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True, **part)["data"])

    def paper(self) -> bytes:
        """Return the page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])

    def _next(self) -> dict[str, Any]:
        data = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            assert byte, "the browser has ended"
            data += byte
        message: dict[str, Any] = json.loads(data)
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        elif message.get("method") in EVENTS:
            self.complaints.append(json.dumps(message["params"]))
        return message
