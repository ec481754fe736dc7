# SPDX-License-Identifier: GPL-2.0-or-later
"""Tries a job_submit.lua with many requests, in plain Lua and under slurmhooks, in a process of its own."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from slurmhooks.adopt.answers import Answer, Request, difference
from slurmhooks.adopt.ours import Ours
from slurmhooks.adopt.reference import Reference
from slurmhooks.errors import SlurmhooksError
from slurmhooks.fields.rows import release_of
from slurmhooks.lua import finding
from slurmhooks.lua.job_constants import table_constants
from slurmhooks.lua.runtime import read_script

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from slurmhooks.fields.rows import Release

PATIENCE = 10.0
"""Seconds that a script may take to load or to answer a request."""
EXAMPLES = 5
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

    def add(self, request: Request, theirs: Answer, ours: Answer, uses: frozenset[str]) -> None:
        """Compare the answers to a request."""
        self.requests += 1
        self.refused += bool(ours.code)
        if ours.error is not None:
            self.errors[ours.error] += 1
        stopped = [*theirs.stopped, *ours.stopped]
        missing = sorted(request.unknown & uses)
        if missing:
            stopped.insert(0, f"{missing[0]}, which was not recorded")
        if stopped:
            self.unknown[stopped[0]] += 1
            return
        found = difference(theirs, ours)
        if found is None:
            self.same += 1
            return
        self.different += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append((f"{request.hook} with {request.label}", found))


def run(path: str, release: Release, version: str, requests: Sequence[Request], uses: frozenset[str]) -> Outcome:
    """Try a script with requests.

    Raises:
        TrialError: it does not load, or does not end.
    """
    outcome = Outcome("plain Lua " + version)
    task = {"path": path, "release": f"{release[0]}.{release[1]:02d}", "version": version}
    with _child(task) as child:
        for request in requests:
            theirs, ours = child.ask(request)
            outcome.add(request, theirs, ours, uses)
    return outcome


class _child:  # noqa: N801 - a context manager that reads as a function
    """The process that runs the script: it can hang, or end."""

    def __init__(self, task: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "slurmhooks.adopt.trial", json.dumps(task)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def __enter__(self) -> _child:
        answer = json.loads(self._line("the script was not loaded"))
        if "failure" in answer:
            raise TrialError(answer["failure"])
        return self

    def __exit__(self, *failure: object) -> None:
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()
        self._process.wait()

    def ask(self, request: Request) -> tuple[Answer, Answer]:
        """Return the answers of plain Lua and of slurmhooks."""
        assert self._process.stdin is not None
        shown = {**asdict(request), "unknown": [], "members": _to_json(request.members)}
        shown["fields"] = _to_json(request.fields)
        try:
            self._process.stdin.write(json.dumps(shown).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            self._fail(request.label)
        answer = json.loads(self._line(f"no answer to {request.hook} with {request.label}"))
        return Answer(**answer["theirs"]), Answer(**answer["ours"])

    def _line(self, what: str) -> bytes:
        stream = self._process.stdout
        assert stream is not None
        ready, _, _ = select.select([stream], [], [], PATIENCE * 3)
        if not ready:
            raise TrialError(f"{what} within {PATIENCE * 3:g} s: does the script have an endless loop?")
        line = stream.readline()
        if not line:
            self._fail(what)
        return line

    def _fail(self, what: str) -> None:
        self._process.wait()
        assert self._process.stderr is not None
        last = self._process.stderr.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise TrialError(f"{what}: the process ended with exit code {self._process.returncode}: {last}")


def _to_json(values: Any) -> Any:
    from slurmhooks.values import UNLIMITED

    return {
        name: {"unlimited": True} if value is UNLIMITED
        else {"bytes": value.decode("latin-1")} if isinstance(value, bytes)
        else {"list": [item.decode("latin-1") for item in value]} if isinstance(value, list)
        else value
        for name, value in values.items()
    }  # fmt: skip


def _from_json(values: dict[str, Any]) -> dict[str, Any]:
    from slurmhooks.values import UNLIMITED

    result = {}
    for name, value in values.items():
        if isinstance(value, dict):
            if "unlimited" in value:
                value = UNLIMITED
            elif "bytes" in value:
                value = value["bytes"].encode("latin-1")
            else:
                value = [item.encode("latin-1") for item in value["list"]]
        result[name] = value
    return result


def main(task: dict[str, str]) -> None:
    """Answer requests from standard input, until it ends."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the script prints
    release = release_of(task["release"])
    try:
        reference = Reference(
            task["path"], read_script(task["path"]), finding.find(task["version"]), table_constants(release), IN_LUA
        )
        ours = Ours(task["path"], task["release"], task["version"], PARTITIONS)
    except (SlurmhooksError, ValueError) as error:
        out.write(json.dumps({"failure": str(error)}) + "\n")
        return
    out.write(json.dumps({}) + "\n")
    for request in _requests():
        answers = {"theirs": asdict(reference.answer(request)), "ours": asdict(ours.answer(request))}
        out.write(json.dumps(answers) + "\n")


def _requests() -> Iterator[Request]:
    for line in sys.stdin:
        given = json.loads(line)
        given["unknown"] = frozenset()
        given["fields"] = _from_json(given["fields"])
        given["members"] = _from_json(given["members"])
        yield Request(**given)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
