# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a page of 100,000 jobs holds slurmctld's read locks, with simulated jobs; needs no cluster."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .machine import HERE, BenchError
from .rows import Row, spread

GROUP = "paging"
LIMIT = 2000.0
"""Microseconds: slurmctld's writers wait so long."""
JOBS = 100_000
ROUNDS = 5
NATIVE, FAKEHOST = HERE.parents[1] / "native", HERE.parent / "fakehost"
PARTS = ("pages", "selection", "groups", "cursors")
SOURCES = (*(f"slurmctld/{part}.c" for part in PARTS), "wire/pack.c", "wire/apply.c")
STAND_INS = ("paging.c", "memory.c", "output.c")


def measure() -> Iterator[Row]:
    """Measure the rows of this group."""
    with tempfile.TemporaryDirectory() as folder:
        write = [sys.executable, str(NATIVE / "generate" / "protocol.py"), f"{folder}/protocol.h"]
        files = [*(NATIVE / name for name in SOURCES), *(FAKEHOST / name for name in STAND_INS)]
        build = ["cc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-pthread", "-o", f"{folder}/paging", *map(str, files)]
        build += [f"-I{each}" for each in (NATIVE, FAKEHOST, Path(folder))]
        for command in (write, build):
            if subprocess.run(command).returncode:
                raise BenchError(f"{command[0]} failed; see above")
        command = [f"{folder}/paging", str(JOBS), "0", "1", "iterate"]
        rounds = [json.loads(subprocess.check_output(command)) for _ in range(ROUNDS)]
    note = f"{rounds[0]['pages']} pages"
    for key, what in (("median", "median page"), ("slowest", "slowest page, best of the runs")):
        values = [each[key] for each in rounds]
        value = min(values) if key == "slowest" else spread(values).median
        parts = {f"{key}, us": spread(values)}
        yield Row(GROUP, f"{JOBS:,} jobs: processor time of the {what}", LIMIT, "us", value, parts=parts, note=note)
