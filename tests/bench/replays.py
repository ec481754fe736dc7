# SPDX-License-Identifier: GPL-2.0-or-later
"""How many recorded requests `slurmhooks replay` runs hooks over in a second; needs no cluster."""

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from slurmhooks.recording import recorder
from slurmhooks.workshop.replay.run import Options, replay
from tests.unit.workshop.replay.recordings import record

from .rows import Row, spread

GROUP = "replays"
REQUESTS = 100_000
ROUNDS = 3
GOAL = REQUESTS / 60
"""Requests in a second."""
HOOKS = """
from slurmhooks import Reject, hook

@hook.job_submit
def limits(job, partitions):
    if job.account is None:
        raise Reject("name an account", code="ESLURM_INVALID_ACCOUNT")
    most = partitions[job.partition].max_time
    if job.time_limit is None or job.time_limit > most:
        job.time_limit = most
"""


def measure() -> Iterator[Row]:
    """Measure the rows of this group."""
    with tempfile.TemporaryDirectory(dir="/var/cache", prefix="slurmhooks-bench-") as folder:
        file, hooks = Path(folder, "file"), Path(folder, "new.py")
        hooks.write_text(HOOKS)
        write(file)
        with file.open("rb") as opened:
            for what, old in (("new hooks", None), ("old and new hooks", str(hooks))):
                rates = []
                for _ in range(ROUNDS):
                    begun = time.monotonic()
                    report = replay(opened.fileno(), Options(str(hooks), old, processes=2))
                    rates.append(report.requests / (time.monotonic() - begun))
                found = spread(rates)
                name = f"replay of {what} in two processes each: requests"
                note = f"{REQUESTS} requests with scripts and environments, {file.stat().st_size >> 20} MiB"
                yield Row(GROUP, name, GOAL, "1/s", found.median, at_least=True, parts={"1/s": found}, note=note)


def write(file: Path) -> None:
    """Record requests that repeat after each thousand, which handlers cannot notice."""
    variables = {f"VARIABLE_{number}": "a value of usual length" for number in range(60)}
    jobs = [
        {
            "account": f"a{number % 7}" if number % 10 else None,
            "partition": "debug",
            "time_limit": number % 90,
            "name": f"job{number}",
            "script": f"#!/bin/sh\n{os.urandom(500).hex()}",
            "environment": variables,
        }
        for number in range(1000)
    ]
    reports: list[bytes] = []
    take = recorder.Recorder.take

    def keep(self: recorder.Recorder, report: bytes) -> None:
        reports.append(report)
        take(self, report)

    recorder.Recorder.take = keep  # type: ignore[method-assign]
    try:
        kept = ("script", "environment")
        recording = record(file, HOOKS, jobs, kept=kept, partitions={"debug": {"max_time": 60}})
    finally:
        recorder.Recorder.take = take  # type: ignore[method-assign]
    for _ in range(REQUESTS // len(reports) - 1):
        for report in reports:
            recording.take(report)
    recording.end("it is long enough")
