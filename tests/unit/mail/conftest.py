# SPDX-License-Identifier: GPL-2.0-or-later
"""Sites with mail handlers, and stand-ins for servers."""

import json
import os
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from slurmhooks.handover import process, program
from slurmhooks.jobcomp.spool import Spool
from slurmhooks.mail.delivery import MailDelivery
from slurmhooks.processes import deliverer
from tests.sets import put_in_force


class Site:
    """A configuration with mail handlers, and the spool of mails."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.spool, self._patch = folder, folder / "state/slurmhooks/mail", monkeypatch
        (folder / "state").mkdir()
        (folder / "slurm.conf").write_text(f"StateSaveLocation={folder}/state\nSlurmUser={os.geteuid()}\n")
        self.configure()
        put_in_force(folder)
        monkeypatch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
        self._keys = 0

    def configure(self, text: str = "backoff = 0.01\n") -> None:
        """Write ``[mail]``."""
        (self.folder / "slurmhooks.toml").write_text(f'[hooks]\npaths = ["hooks.py"]\n[mail]\n{text}')

    def hooks(self, body: str) -> None:
        """Write a hook file whose handlers may call ``note``."""
        (self.folder / "hooks.py").write_text(
            "import json\nfrom slurmhooks import Reject, hook\n\n"
            f"def note(*words):\n    with open('{self.folder}/notes', 'a') as file:\n"
            "        file.write(json.dumps(words) + '\\n')\n\n" + body
        )

    def notes(self) -> list[list[object]]:
        """Return what the handlers noted."""
        path = self.folder / "notes"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def mail(self, subject: str, to: str = "alice", began: int = 0, **variables: object) -> None:
        """Keep a mail as a MailProg does that began at a time, by default now."""
        with self._patch.context() as patch:
            patch.setattr(program, "_began", lambda: began or time.time_ns())
            for name, value in variables.items():
                patch.setenv(f"SLURM_{name}", str(value))
            program.keep(str(self.spool), "mail", "-s", subject, to)

    def run(self, subject: str, to: str = "alice", **variables: object) -> None:
        """Run the program, which starts a process that delivers."""
        given = {f"SLURM_{name}": str(value) for name, value in variables.items()}
        command = (sys.executable, "-m", "slurmhooks.handover.program", "mail", "-s", subject, to)
        subprocess.run(command, check=True, env={**os.environ, **given})

    def deliver(self) -> float:
        """Deliver all that is due, without a process of its own."""
        return process.turn(self.spool, MailDelivery, None, lambda _: None)

    def letters(self) -> list[str]:
        """Return the reasons of dead letters."""
        return [reason for letter in Spool(self.spool).letters() for reason in letter["reasons"].values()]

    def waiting(self) -> int:
        """Return how many mails wait."""
        return len(list(self.spool.glob(f"*{deliverer.SEGMENT}")))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site."""
    return Site(tmp_path, monkeypatch)


class Smtp(socketserver.ThreadingTCPServer):
    """An SMTP server: it refuses ``gone`` for good, and ``busy`` for now.

    Attributes:
        received: the recipients and the text of each mail.
        hangs_up: without an answer to QUIT; otherwise, that is not the one of a good server.
        refusals: the answer after a command that begins with this word, in place of a good one.
    """

    allow_reuse_address = daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Session)
        self.hangs_up = False
        self.refusals: dict[str, str] = {}
        self.received: list[tuple[list[str], str]] = []
        self.port: int = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Go away."""
        self.shutdown()
        self.server_close()


class _Session(socketserver.StreamRequestHandler):
    server: Smtp

    def handle(self) -> None:
        self.say("220 stand-in")
        to: list[str] = []
        while line := self.rfile.readline().decode().strip():
            word = line.upper()
            if word.startswith("RCPT"):
                name = line.partition("<")[2].partition("@")[0].rstrip(">")
                if answer := {"gone": "550 5.1.1 no such user", "busy": "451 later"}.get(name):
                    self.say(answer)
                    continue
                to.append(line.partition("<")[2].rstrip(">"))
            if word == "DATA":
                self.say("354 go on")
                text = ""
                while (part := self.rfile.readline().decode()) != ".\r\n":
                    text += part
                if "DATA" not in self.server.refusals:
                    self.server.received.append((to, text.replace("\r\n", "\n")))
            if word == "QUIT" and self.server.hangs_up:
                return
            self.say(self.server.refusals.get(word.partition(" ")[0], "250 fine"))

    def say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@pytest.fixture
def smtp() -> Iterator[Smtp]:
    """An SMTP server."""
    server = Smtp()
    yield server
    server.stop()


class Chat(HTTPServer):
    """A chat service: path and body of each call; ``statuses`` are those of the next ones, 200 once none is left."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Call)
        self.hangs_up = False
        self.received: list[tuple[str, object]] = []
        self.statuses: list[int] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Call(BaseHTTPRequestHandler):
    server: Chat

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        if status == 200:
            self.server.received.append((self.path, body))
        self.send_response(status)
        if status // 100 == 3:
            self.send_header("Location", f"{self.server.url}/page")
        self.end_headers()

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Be silent."""


@pytest.fixture
def chat() -> Iterator[Chat]:
    """A chat service."""
    server = Chat()
    yield server
    server.shutdown()
    server.server_close()
