# SPDX-License-Identifier: GPL-2.0-or-later
"""A decision log of a million lines: `why` against grep, and `report` against duckdb; needs no cluster."""

import datetime
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

from .inside.interleave import turn
from .machine import BenchError
from .rows import Row, Spread, spread

GROUP = "logs"
LINES = 1_000_000
WHY_TURNS = 6
REPORT_TURNS = 2
"""Even, see turn()."""
SIZE = 64 << 20
"""Bytes at which a file is rotated by default."""
MEBI = 1 << 20
INTERPRETER = [sys.executable, "-I", "-S", "-c", "pass"]
# A process begins with the memory of the one that has forked it, as far as its maximum is concerned.
RUN = """
import os, sys
pid = os.fork()
if not pid:
    os.execvp(sys.argv[1], sys.argv[1:])
status, used = os.wait4(pid, 0)[1:]
print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)
sys.exit(status != 0)
"""
"""Run a command, and print the seconds and the KiB that it has used."""
COUNT = """
import sys, duckdb
connection = duckdb.connect()
connection.execute("set threads = 1; set enable_progress_bar = false")
steps = "STRUCT(handler VARCHAR, outcome VARCHAR, microseconds INT, mode VARCHAR)[]"
names = ("user", "account", "hooks", "verdict", "event", "hook")
columns = {"time": "TIMESTAMP", **dict.fromkeys(names, "VARCHAR"), "handlers": steps}
connection.execute(
    "create temp table lines as select * from read_json($file, format = 'newline_delimited', columns = $columns)",
    {"file": sys.argv[1], "columns": columns},
)
connection.execute(
    "select step.handler, step.outcome, step.mode, count(*), sum(step.microseconds), max(step.microseconds)"
    " from (select unnest(handlers) step from lines) group by all"
).fetchall()
for key in ("date_trunc('day', time)", '"user"', "account", "hooks"):
    found = connection.execute(f"select {key}, verdict, count(*), min(time), max(time) from lines group by all")
    total = sum(row[2] for row in found.fetchall())
print(total)
"""


class Used(NamedTuple):
    """What a command used: seconds of processor time, MiB of memory at most; and what it printed."""

    seconds: float
    memory: float
    output: str


def measure() -> Iterator[Row]:
    """Measure the rows of this group."""
    with tempfile.TemporaryDirectory(dir="/var/cache", prefix="slurmhooks-bench-") as folder:
        whole, rotated = Path(folder, "whole"), Path(folder, "rotated")
        file = site(whole)
        newest, oldest = write(file)
        rotate(file, site(rotated))
        yield from _why(file, {"one file": whole, "rotated files": rotated}, {"newest": newest, "oldest": oldest})
        yield _report(file)


def site(folder: Path) -> Path:
    """Make a configuration; return the name of its decision log."""
    (folder / "slurmhooks").mkdir(parents=True)
    (folder / "slurm.conf").write_text(f"SlurmctldLogFile={folder}/slurmctld.log\n")
    (folder / "slurmhooks.toml").write_text("[hooks]\npaths = []\n")
    return folder / "slurmhooks" / "job_submit.jsonl"


def write(file: Path) -> tuple[str, str]:
    """Write a log; return the ids of its newest and its oldest request."""
    random, time = Random(4), datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC)
    ids = []
    with file.open("w") as opened:
        for number in range(LINES):
            time += datetime.timedelta(seconds=random.random() * 4)
            user, is_refused = random.randrange(400), random.random() < 0.05
            ids.append(f"{random.getrandbits(48):012x}")
            changes = {"time_limit": [None, 60]}
            limit = {"handler": "limits:time_limit", "outcome": "passed", "microseconds": random.randrange(20, 200)}
            account = {"handler": "limits:account", "outcome": "refused" if is_refused else "passed"}
            verdict = {"code": "ESLURM_INVALID_ACCOUNT", "text": "please name a project with --account"}
            line = {
                "time": time.isoformat(),
                "event": "decision",
                "id": ids[-1],
                "hook": "job_submit",
                "verdict": "refused" if is_refused else "accepted",
                "user_id": 2000 + user,
                "user": f"user{user}",
                "account": f"account{user % 40}",
                "partition": "batch",
                "name": f"job{number % 1000}",
                "by": 2000 + user,
                "handlers": [{**limit, "changes": changes}, {**account, "microseconds": 30}],
                "microseconds": 105,
                "generation": 1,
                "hooks": "94471b5130fb",
                **(verdict if is_refused else {}),
            }
            opened.write(f"{json.dumps(line)}\n")
    return ids[-1], ids[0]


def rotate(whole: Path, file: Path) -> None:
    """Write the same log as rotated files."""
    with whole.open("rb") as opened:
        parts: list[Path] = []
        while lines := opened.readlines(SIZE):
            parts.append(file.with_name(f"part{len(parts)}"))
            parts[-1].write_bytes(b"".join(lines))
    for number, part in enumerate(reversed(parts)):
        part.rename(f"{file}.{number}" if number else file)


def used(command: list[str]) -> Used:
    """Run a command.

    Raises:
        BenchError: it failed.
    """
    done = subprocess.run([*INTERPRETER[:-1], RUN, *command], capture_output=True, text=True)
    if done.returncode:
        raise BenchError(f"{' '.join(command[:4])}: {done.stderr[-2000:]}")
    seconds, kibi = done.stderr.split()[-2:]
    return Used(float(seconds), int(kibi) / 1024, done.stdout)


def in_turns(cases: Mapping[str, list[str]], turns: int) -> dict[str, list[Used]]:
    """Return what each command used; the same index is the same turn."""
    found: dict[str, list[Used]] = {name: [] for name in cases}
    for number in range(turns):
        for name in turn(list(cases), number):
            found[name].append(used(cases[name]))
    return found


def _why(file: Path, sites: Mapping[str, Path], ids: Mapping[str, str]) -> Iterator[Row]:
    """Yield the rows about `why`."""
    command = [sys.executable, "-m", "slurmhooks.cli"]
    for age, which in ids.items():
        cases = {
            name: [*command, "why", "--json", "--sysconfdir", str(folder), which] for name, folder in sites.items()
        }
        cases |= {"grep -F": ["grep", "-F", which, str(file)], "interpreter": INTERPRETER}
        found = in_turns(cases, WHY_TURNS)
        parts = _parts(found)
        for name in sites:
            if [each["id"] for each in json.loads(found[name][0].output)] != [which]:
                raise BenchError(f"why: {found[name][0].output}")
            what = f"why ID, the {age} of {LINES:,} lines, {name}"
            ratios = [
                ours.seconds / (grep.seconds + bare.seconds)
                for ours, grep, bare in zip(found[name], found["grep -F"], found["interpreter"], strict=True)
            ]
            words = f"{what}: processor time, relative to 'grep -F' and a bare interpreter"
            yield Row(GROUP, words, 3, "x", spread(ratios).median, parts=parts)
            yield Row(GROUP, f"{what}: memory", 30, "MiB", max(each.memory for each in found[name]))


def _report(file: Path) -> Row:
    """Return the row about `report`."""
    what = f"report of {LINES:,} lines: processor time, relative to duckdb with one thread and the same counts"
    if importlib.util.find_spec("duckdb") is None:
        return Row(GROUP, what, 2, "x", None, note="duckdb is absent: 'pip install -e .[bench]' brings it")
    ours = [sys.executable, "-m", "slurmhooks.cli", "report", "--json", str(file)]
    found = in_turns({"report": ours, "duckdb": [sys.executable, "-c", COUNT, str(file)]}, REPORT_TURNS)
    for name, counted in (
        ("report", json.loads(found["report"][0].output)["total"]["requests"]),
        ("duckdb", int(found["duckdb"][0].output)),
    ):
        if counted != LINES:
            raise BenchError(f"{name} counts {counted} of {LINES} lines")
    ratios = [mine.seconds / theirs.seconds for mine, theirs in zip(found["report"], found["duckdb"], strict=True)]
    return Row(GROUP, what, 2, "x", spread(ratios).median, parts=_parts(found))


def _parts(found: Mapping[str, list[Used]]) -> dict[str, Spread]:
    """Return what the commands used."""
    seconds = {f"{name}, s": spread([each.seconds for each in runs]) for name, runs in found.items()}
    return seconds | {f"{name}, MiB": spread([each.memory for each in runs]) for name, runs in found.items()}
