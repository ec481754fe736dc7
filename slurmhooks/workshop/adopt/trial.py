# SPDX-License-Identifier: GPL-2.0-or-later
"""Tries a script with many requests under slurmhooks, and in Slurm's own plugin, in processes of their own."""

from __future__ import annotations

import json
import os
import pickle
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from slurmhooks.errors import SlurmhooksError
from slurmhooks.lua.runtime import read_script
from slurmhooks.workshop.adopt import answers, commands
from slurmhooks.workshop.adopt.answers import Answer, difference
from slurmhooks.workshop.adopt.slurms_plugin import LIBRARY, SlurmsPlugin
from slurmhooks.workshop.adopt.under_slurmhooks import UnderSlurmhooks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slurmhooks.fields.rows import Release

    Request = answers.TrialRequest | commands.Command

PATIENCE = 30.0
"""Seconds that a script may take to load or to answer a request."""
EXAMPLES = 5
PARTITIONS: dict[str, dict[str, Any]] = {
    "debug": {"flag_default": True, "max_time": 60, "default_time": 30, "max_nodes": 2, "total_nodes": 2},
    "long": {"max_time": 10080, "default_time": 60, "max_nodes": 8, "total_nodes": 8},
}
"""The partitions of a trial without Slurm's own plugin, as handlers see them."""


class TrialError(SlurmhooksError):
    """A script cannot be tried."""


@dataclass(kw_only=True)
class Tried:
    """What a script did under slurmhooks.

    Attributes:
        requests: number of requests.
        refused: number of those that it refused.
        errors: number of those on which it failed, by Lua's message.
        not_tried: number of those on which it cannot be tried, by the reason.
    """

    requests: int = 0
    refused: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    not_tried: dict[str, int] = field(default_factory=dict)

    def add(self, request: Request, answer: Answer, uses: frozenset[str]) -> None:
        """Count the answer to a request."""
        self.requests += 1
        if reason := _not_tried(request, uses, answer):
            self.not_tried[reason] = self.not_tried.get(reason, 0) + 1
            return
        self.refused += bool(answer.code)
        if answer.error is not None:
            self.errors[answer.error] = self.errors.get(answer.error, 0) + 1


@dataclass(kw_only=True)
class Differs:
    """A request whose answers differ."""

    request: str
    difference: str


@dataclass(kw_only=True)
class Compared:
    """The answers of slurmhooks, compared with those of Slurm's own plugin.

    Attributes:
        plugin: the plugin and its release.
        requests: number of requests.
        same: number of those whose answers are equal.
        different: number of those whose answers differ.
        not_compared: number of those that could not be compared, by the reason.
        examples: some of those that differ.
    """

    plugin: str
    requests: int = 0
    same: int = 0
    different: int = 0
    not_compared: dict[str, int] = field(default_factory=dict)
    examples: list[Differs] = field(default_factory=list)

    def add(self, request: Request, theirs: Answer, ours: Answer, uses: frozenset[str]) -> None:
        """Compare the answers to a request."""
        self.requests += 1
        if reason := _not_tried(request, uses, theirs, ours):
            self.not_compared[reason] = self.not_compared.get(reason, 0) + 1
            return
        text = difference(theirs, ours)
        if text is None:
            self.same += 1
            return
        self.different += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(Differs(request=f"{request.hook} with {request.label}", difference=text))


def _not_tried(request: Request, uses: frozenset[str], *given: Answer) -> str | None:
    """Return why answers say nothing; None if they do."""
    missing = sorted(request.unknown & uses)
    if missing:
        return f"{missing[0]}, which was not recorded"
    return next((what for answer in given for what in answer.stopped), None)


@dataclass(frozen=True)
class SlurmsOwn:
    """Where Slurm's own plugin, libslurmfull.so, and the folder of the build with slurmhooks_own_lua.so are."""

    build: str
    plugin: str
    library: str
    release: str


def run(
    path: str,
    release: Release,
    version: str,
    requests: Sequence[Request],
    uses: frozenset[str],
    progress: Callable[[int, int], None] | None = None,
    family: str = "job_submit",
) -> Tried:
    """Try a script with requests under slurmhooks.

    ``uses`` are the members of a request that the script uses. ``progress`` gets the number of requests that are done,
    and the number of all. ``family`` is job_submit or cli_filter.

    Raises:
        TrialError: it does not load, or does not end.
    """
    tried = Tried()
    side = "commands" if family == "cli_filter" else "ours"
    with _Child({**_task(path, release, version), "side": side, "partitions": True}) as child:
        for number, request in enumerate(requests, 1):
            tried.add(request, child.ask(request), uses)
            if progress is not None:
                progress(number, len(requests))
    return tried


def compare(
    path: str,
    own: SlurmsOwn,
    release: Release,
    version: str,
    requests: Sequence[answers.TrialRequest],
    uses: frozenset[str],
) -> Compared:
    """Compare the answers of slurmhooks with those of Slurm's own plugin; for the arguments, see :func:`run`.

    Raises:
        TrialError: the script does not load, or does not end.
    """
    compared = Compared(plugin=f"Slurm's own job_submit/lua ({own.release}, without partitions and jobs)")
    task = _task(path, release, version)
    with (
        tempfile.TemporaryDirectory(prefix="slurmhooks-") as folder,
        # Before the C library, which also has a function error().
        _Child({**task, "side": "own", "own": asdict(own), "folder": folder}, f"{own.build}/{LIBRARY}") as theirs,
        _Child({**task, "side": "ours", "partitions": False}) as ours,
    ):
        for request in requests:
            compared.add(request, theirs.ask(request), ours.ask(request), uses)
    return compared


def _task(path: str, release: Release, version: str) -> dict[str, Any]:
    return {"path": path, "release": f"{release[0]}.{release[1]:02d}", "version": version, "now": int(time.time())}


class _Child:
    """A process that runs the script: it can hang, or end."""

    def __init__(self, task: dict[str, Any], preload: str | None = None) -> None:
        environment = dict(os.environ) if preload is None else {**os.environ, "LD_PRELOAD": preload}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "slurmhooks.workshop.adopt.trial", json.dumps(task)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
        )  # fmt: skip

    def __enter__(self) -> _Child:
        try:
            answer = json.loads(self._line("the script was not loaded"))
            if "failure" in answer:
                raise TrialError(answer["failure"])
        except TrialError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *failure: object) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()

    def ask(self, request: Request) -> Answer:
        """Return the answer to a request."""
        assert self._process.stdin is not None
        try:
            pickle.dump(request, self._process.stdin)
            self._process.stdin.flush()
        except OSError:
            self._fail(request.label)
        return Answer(**json.loads(self._line(f"no answer to {request.hook} with {request.label}")))

    def _line(self, what: str) -> bytes:
        stream = self._process.stdout
        assert stream is not None
        ready, _, _ = select.select([stream], [], [], PATIENCE)
        if not ready:
            raise TrialError(f"{what} within {PATIENCE:g} s: does the script have an endless loop?")
        line = stream.readline()
        if not line:
            self._fail(what)
        return line

    def _fail(self, what: str) -> NoReturn:
        self._process.wait()
        assert self._process.stderr is not None
        last = self._process.stderr.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise TrialError(f"{what}: the process ended with exit code {self._process.returncode}: {last}")


def main(task: dict[str, Any]) -> None:
    """Answer requests from standard input, until it ends."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the script prints
    try:
        answer = SIDES[task["side"]](task)
    except (SlurmhooksError, ValueError, OSError) as error:
        out.write(json.dumps({"failure": str(error)}) + "\n")
        return
    out.write(json.dumps({}) + "\n")
    for request in _requests():
        out.write(json.dumps(asdict(answer(request))) + "\n")


def _own(task: dict[str, Any]) -> Callable[[answers.TrialRequest], Answer]:
    own, content = SlurmsOwn(**task["own"]), read_script(task["path"])
    return SlurmsPlugin(
        content, task["folder"], Path(own.build), Path(own.plugin), Path(own.library), task["now"]
    ).answer


def _ours(task: dict[str, Any]) -> Callable[[answers.TrialRequest], Answer]:
    partitions = PARTITIONS if task["partitions"] else {}
    return UnderSlurmhooks(task["path"], task["release"], task["version"], partitions, task["now"]).answer


def _commands(task: dict[str, Any]) -> Callable[[commands.Command], Answer]:
    return commands.under_slurmhooks(task["path"], task["release"], task["version"], task["now"])


SIDES: dict[str, Callable[[dict[str, Any]], Callable[[Any], Answer]]] = {
    "own": _own, "ours": _ours, "commands": _commands,
}  # fmt: skip
"""Functions that load a script, and return the function that answers."""


def _requests() -> Iterator[Request]:
    with suppress(EOFError):
        while True:
            yield pickle.load(sys.stdin.buffer)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
