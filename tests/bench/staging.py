# SPDX-License-Identifier: GPL-2.0-or-later
"""scrun's staging compared with `rsync -a`, on the file systems that can be made here; needs no cluster."""

import json
import subprocess
import sys
from collections.abc import Iterator

from .machine import HERE, BenchError
from .rows import Row, number, spread

GROUP = "staging"
SIZES = ["--files", "10000", "--gigabytes", "2", "--rounds", "3"]


def measure() -> Iterator[Row]:
    """Measure the rows of this group."""
    command = [sys.executable, str(HERE / "file_systems.py"), "--json", *SIZES]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    if not rows:
        raise BenchError("tests/bench/file_systems.py measured nothing; see above")
    for row in rows:
        parts = {"rsync -a, s": spread(row["base_values"]), "here, s": spread(row["values"])}
        note = f"processor time: {number(row['processor_ratio'])} of rsync's"
        yield Row(
            GROUP, f"{row['name']}: time relative to 'rsync -a'", row["goal"], "x", row["ratio"], parts=parts, note=note
        )
