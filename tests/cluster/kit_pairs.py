# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairs of one thing in a real Slurm and in the testing kit: the same hook file, the same command.

A handler writes what it sees to a file. In the cluster a process of alice runs the commands; the kit runs here.
"""

import fnmatch
import json
import os
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from click.testing import CliRunner

from slurmhooks.cli import main

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

FOLDER = "/var/tmp/kit"
"""The current folder of commands in the cluster."""
PAGE = Path(__file__).parents[2] / "docs" / "testing.md"
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/home/alice", "SITE": "here", "LANG": "C.UTF-8"}
USER = {"USER": "alice", "LOGNAME": "alice"}

RECORDER = """
import json
from slurmhooks.values import UNLIMITED

def plain(value):
    if value is UNLIMITED:
        return "UNLIMITED"
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return value
    if hasattr(value, "items"):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return repr(value)

def record(**row):
    with open("@FOLDER@/records", "a") as file:
        file.write(json.dumps(plain(row)) + "\\n")
"""

DRIVER = """
import json, os, subprocess, sys, time
os.chdir("@FOLDER@")

def records():
    with open("records") as file:
        return [json.loads(line) for line in file if line.endswith("\\n")]  # not one that is being written

def wait_for_the_end():
    late = time.monotonic() + 30
    while time.monotonic() < late:
        rows = records()
        places = [row["place"] for row in rows]
        jobs = {where: {row["slurm"]["SLURM_JOB_ID"] for row in rows if row["place"] == f"job_script job_{where}"}
                for where in ("prolog", "epilog")}
        if jobs["prolog"] <= jobs["epilog"]:
            if places.count("remote init") <= places.count("remote exit"):
                return
            late = min(late, time.monotonic() + 2)  # a step that has failed may have no exit, or a late one
        time.sleep(0.02)

done = []
for case in json.load(sys.stdin):
    for name, text in case["files"].items():
        with open(name, "w", newline="") as file:
            file.write(text)
    with open("records", "w"):
        pass
    try:
        ended = subprocess.run(case["argv"], env=case["env"], input=case["stdin"], capture_output=True, text=True,
                               timeout=60)
        row = [ended.returncode, ended.stdout, ended.stderr]
    except subprocess.TimeoutExpired as error:
        row = [None, "", f"after 60 s: {error.stderr}"]
    wait_for_the_end()
    done.append([*row, records()])
json.dump(done, sys.stdout)
"""


@dataclass(frozen=True)
class Command:
    """One command line.

    ``env`` are variables, in addition to :data:`ENVIRONMENT`.
    """

    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    stdin: str = ""

    def __str__(self) -> str:
        """Return the command, its variables and the options of its files, for the report of a difference."""
        files = [f"{name}: {text!r}" for name, text in self.files.items()]
        return " ".join([*(f"{name}={value}" for name, value in self.env.items()), *self.argv, *files])


@dataclass(frozen=True)
class Done:
    """What a command did, and what handlers have recorded; without an exit code, it did not end."""

    code: int | None
    out: str
    err: str
    records: list[dict[str, Any]]

    def of(self, place: str) -> list[dict[str, Any]]:
        """Return the records of one hook."""
        return [row for row in self.records if row["place"] == place]


def prepare(cluster: "Cluster") -> None:
    """Make the folder of commands in the cluster."""
    script = f"rm -rf {FOLDER}; mkdir -p {FOLDER}; chmod 777 {FOLDER}; : > {FOLDER}/records; chmod 666 {FOLDER}/records"
    cluster.root("sh", "-ec", script, check=True)


def in_slurm(cluster: "Cluster", commands: Iterable[Command]) -> list[Done]:
    """Run commands in the cluster, as alice, one after the other."""
    cases = [
        {"argv": each.argv, "env": {**ENVIRONMENT, **USER, **each.env}, "files": each.files, "stdin": each.stdin}
        for each in commands
    ]
    driver = DRIVER.replace("@FOLDER@", FOLDER)
    done = cluster.user("alice", "python3", "-c", driver, input=json.dumps(cases), check=True, timeout=500)
    return [Done(*row) for row in json.loads(done.stdout.replace(FOLDER, "@FOLDER@"))]


def in_kit(folder: Path, words: Iterable[str], command: Command) -> Done:
    """Run `slurmhooks try` here, in a folder, with the environment of a command."""
    for name, text in command.files.items():
        (folder / name).write_bytes(text.encode())
    records = folder / "records"
    records.write_text("")
    before = os.getcwd()
    os.chdir(folder)
    try:
        with mock.patch.dict(os.environ, {**ENVIRONMENT, **USER, **command.env}, clear=True):
            done = CliRunner().invoke(main, ["try", *words], input=command.stdin)
    finally:
        os.chdir(before)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    lines = records.read_text().replace(str(folder), "@FOLDER@").splitlines()
    err = done.stderr.replace(str(folder), "@FOLDER@")
    return Done(done.exit_code, done.stdout.replace(str(folder), "@FOLDER@"), err, [json.loads(each) for each in lines])


def rows_of_page(title: str) -> Iterator[list[str]]:
    """Yield the cells of the rows of the first table below a heading of docs/testing.md."""
    text = PAGE.read_text().partition(f"\n### {title}\n")[2]
    assert text, f"no heading {title!r}"
    lines = text.partition("\n|")[2].partition("\n\n")[0].splitlines()
    for line in lines[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


class Allowed(Container[str]):
    """The differences that docs/testing.md lists; those in ``unseen`` were no difference in this run."""

    def __init__(self, title: str, version: tuple[int, ...]) -> None:
        """Read the table below a heading for a release.

        The first column names the parts, in backquotes; the second one is the first release with this difference, or
        ``only`` and the single one.
        """
        self._parts: list[str] = []
        for names, since, _ in rows_of_page(title):
            release = tuple(map(int, since.removeprefix("only ").split("."))) if since else (0,)
            if version == release or (version > release and not since.startswith("only")):
                self._parts += re.findall(r"`([^`]+)`", names)
        self.unseen = set(self._parts)

    def __contains__(self, part: object) -> bool:
        """Tell whether a part may differ: a name, or a pattern with ``*``."""
        for name in self._parts:
            if fnmatch.fnmatchcase(str(part), name):
                self.unseen.discard(name)
                return True
        return False

    def excuse(self, found: list[str], row: str | None) -> list[str]:
        """Return differences, or nothing if there are some and a row allows them for this command."""
        return [] if found and row is not None and row in self else found


def differences(ours: Any, theirs: Any, allowed: Container[str], path: str = "") -> Iterator[str]:
    """Yield the parts that differ, each with both values; mappings are compared entry by entry."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted({*ours, *theirs}):
            inner = f"{path}.{name}" if path else name
            yield from differences(ours.get(name, "(none)"), theirs.get(name, "(none)"), allowed, inner)
    elif ours != theirs and path not in allowed:
        yield f"{path}: kit {ours!r}, Slurm {theirs!r}"
