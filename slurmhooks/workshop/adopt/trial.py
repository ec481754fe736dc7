# SPDX-License-Identifier: GPL-2.0-or-later
"""Tries a job_submit.lua with many requests, in plain Lua and under slurmhooks, in a process of its own."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from slurmhooks.errors import SlurmhooksError
from slurmhooks.fields.rows import release_of
from slurmhooks.lua import finding
from slurmhooks.lua.runtime import read_script
from slurmhooks.workshop.adopt import answers, commands, steps
from slurmhooks.workshop.adopt.answers import Answer, difference
from slurmhooks.workshop.adopt.reference import Reference
from slurmhooks.workshop.adopt.slurms_plugin import LIBRARY, SlurmsPlugin
from slurmhooks.workshop.adopt.under_slurmhooks import UnderSlurmhooks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slurmhooks.fields.rows import Release

    Tried = answers.TrialRequest | commands.Command | steps.Step

PATIENCE = 30.0
"""Seconds that a script may take to load or to answer a request."""
EXAMPLES = 5
OF_LUPA = " as lupa builds it (not that of this machine, which has no liblua of this version for Slurm)"
PARTITIONS: dict[str, dict[str, Any]] = {
    "debug": {"flag_default": True, "max_time": 60, "default_time": 30, "max_nodes": 2, "total_nodes": 2},
    "long": {"max_time": 10080, "default_time": 60, "max_nodes": 8, "total_nodes": 8},
}
"""The partitions of a trial, as handlers see them."""
IN_LUA: dict[str, dict[str, Any]] = {
    "debug": {"name": "debug", "flag_default": 1.0, "max_time": 60.0, "default_time": 30.0, "max_nodes": 2.0},
    "long": {"name": "long", "flag_default": 0.0, "max_time": 10080.0, "default_time": 60.0, "max_nodes": 8.0},
}
"""The same, as Slurm gives them to Lua; other fields are not compared."""


class Family(NamedTuple):
    """How a family of scripts is tried without Slurm.

    Attributes:
        table: what plain Lua has of Slurm.
        sides: plain Lua and slurmhooks, see SIDES.
    """

    table: str
    sides: tuple[str, str]


FAMILIES = {
    "job_submit": Family("a table of fields like that of job_submit/lua", ("plain", "ours")),
    "cli_filter": Family("a table of options like that of cli_filter/lua", ("plain command", "our command")),
    "spank": Family("a handle like that of spank-lua", ("plain step", "our step")),
}


class TrialError(SlurmhooksError):
    """A script cannot be tried."""


@dataclass
class Outcome:
    """The result of a trial.

    Attributes:
        oracle: what slurmhooks was compared with.
        requests: number of requests.
        same: number of those whose answers are equal.
        different: number of those whose answers differ.
        unknown: number of those that could not be compared, by the reason.
        refused: number of those that were refused, with errors.
        errors: number of those on which the script failed, by the message.
        examples: some of those that differ: the request, and in what the answers differ.
    """

    oracle: str
    requests: int = 0
    same: int = 0
    different: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    examples: list[tuple[str, str]] = field(default_factory=list)

    def add(self, request: Tried, theirs: Answer, ours: Answer, uses: frozenset[str]) -> None:
        """Compare the answers to a request."""
        self.requests += 1
        stopped = [*theirs.stopped, *ours.stopped]
        self.refused += bool(ours.code) and not stopped
        if ours.error is not None and not stopped:
            self.errors[ours.error if theirs.error is not None else f"only under slurmhooks: {ours.error}"] += 1
        missing = sorted(request.unknown & uses)
        if missing:
            stopped.insert(0, f"{missing[0]}, which was not recorded")
        if stopped:
            self.unknown[stopped[0]] += 1
            return
        text = difference(theirs, ours)
        if text is None:
            self.same += 1
            return
        self.different += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append((f"{request.hook} with {request.label}", text))


@dataclass(frozen=True)
class SlurmsOwn:
    """Where Slurm's own plugin is.

    Attributes:
        build: the folder of the build with slurmhooks_own_lua.so.
        plugin: job_submit_lua.so.
        library: libslurmfull.so.
        release: of Slurm.
    """

    build: str
    plugin: str
    library: str
    release: str


def run(
    path: str,
    release: Release,
    version: str,
    requests: Sequence[Tried],
    uses: frozenset[str],
    progress: Callable[[int, int], None] | None = None,
    family: str = "job_submit",
) -> Outcome:
    """Try a script with requests, in plain Lua and under slurmhooks.

    Args:
        path: of the script.
        release: of Slurm.
        version: of Lua.
        requests: submissions and updates, or commands.
        uses: the members of a request that the script uses.
        progress: called with the number of requests that are done, and the number of all requests.
        family: of the script, see slurmhooks.workshop.adopt.script.

    Raises:
        TrialError: it does not load, or does not end.
    """
    plain, ours = FAMILIES[family].sides
    whose = "" if finding.find(version).own else OF_LUPA
    outcome = Outcome(f"plain Lua {version}{whose}, with {FAMILIES[family].table}")
    task = _task(path, release, version)
    with _Child({**task, "sides": [plain, ours], "partitions": True}) as child:
        for number, request in enumerate(requests, 1):
            answers = child.ask(request)
            outcome.add(request, answers[plain], answers[ours], uses)
            if progress is not None:
                progress(number, len(requests))
    return outcome


def run_own(
    path: str,
    own: SlurmsOwn,
    release: Release,
    version: str,
    requests: Sequence[answers.TrialRequest],
    uses: frozenset[str],
) -> Outcome:
    """Try a script with requests, in Slurm's own plugin and under slurmhooks.

    Raises:
        TrialError: it does not load, or does not end.
    """
    outcome = Outcome(f"Slurm's own job_submit/lua ({own.release}, without partitions and jobs)")
    task = _task(path, release, version)
    with (
        tempfile.TemporaryDirectory(prefix="slurmhooks-") as folder,
        # Before the C library, which also has a function error().
        _Child({**task, "sides": ["own"], "own": asdict(own), "folder": folder}, f"{own.build}/{LIBRARY}") as theirs,
        _Child({**task, "sides": ["ours"], "partitions": False}) as ours,
    ):
        for request in requests:
            outcome.add(request, theirs.ask(request)["own"], ours.ask(request)["ours"], uses)
    return outcome


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

    def ask(self, request: Tried) -> dict[str, Answer]:
        """Return the answers of the sides that this process has."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request.to_json()).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            self._fail(request.label)
        answers = json.loads(self._line(f"no answer to {request.hook} with {request.label}"))
        return {side: Answer(**answer) for side, answer in answers.items()}

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
        sides = {name: SIDES[name](task) for name in task["sides"]}
    except (SlurmhooksError, ValueError, OSError) as error:
        out.write(json.dumps({"failure": str(error)}) + "\n")
        return
    out.write(json.dumps({}) + "\n")
    for request in _requests():
        out.write(json.dumps({name: asdict(answer(request)) for name, answer in sides.items()}) + "\n")


def _slurms_plugin(task: dict[str, Any]) -> Callable[[answers.TrialRequest], Answer]:
    own, content = SlurmsOwn(**task["own"]), read_script(task["path"])
    return SlurmsPlugin(
        content, task["folder"], Path(own.build), Path(own.plugin), Path(own.library), task["now"]
    ).answer


def _plain(path: str, release: str, version: str, now: int) -> Callable[[answers.TrialRequest], Answer]:
    return Reference(path, read_script(path), finding.find(version), release_of(release), IN_LUA, now).answer


def _under_slurmhooks(
    path: str, release: str, version: str, now: int, partitions: bool
) -> Callable[[answers.TrialRequest], Answer]:
    return UnderSlurmhooks(path, release, version, PARTITIONS if partitions else {}, now).answer


SIDES: dict[str, Callable[[dict[str, Any]], Callable[[Any], Answer]]] = {
    "plain": lambda task: _plain(*_script(task)),
    "ours": lambda task: _under_slurmhooks(*_script(task), task["partitions"]),
    "own": _slurms_plugin,
    "plain command": lambda task: commands.plain(*_script(task)),
    "our command": lambda task: commands.ours(*_script(task)),
    "plain step": lambda task: steps.plain(task["path"], task["version"], task["now"]),
    "our step": lambda task: steps.ours(task["path"], task["version"], task["now"]),
}
"""Functions that load a script, and return the function that answers."""
READ: dict[str, Callable[[dict[str, Any]], Tried]] = {"cli_filter": commands.from_json, "spank": steps.from_json}


def _script(task: dict[str, Any]) -> tuple[str, str, str, int]:
    return task["path"], task["release"], task["version"], task["now"]


def _requests() -> Iterator[Tried]:
    for line in sys.stdin:
        given = json.loads(line)
        yield READ.get(given["hook"], answers.from_json)(given)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
