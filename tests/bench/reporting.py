# SPDX-License-Identifier: GPL-2.0-or-later
"""What decision log and metrics cost: a burst of submissions to the same policy, with and without them, in turns."""

import statistics
from collections.abc import Iterator

from .burst import COUNT, burst
from .inside.interleave import turn
from .machine import FILES, Lab
from .rows import Row

GROUP = "controller"
PAIRS = 8
"""Even, see turn()."""
LIMIT = 1.03
TOML = "/etc/slurm/slurmhooks.toml"
CASES = {
    "without": "[decisions]\nenabled = false\n",
    "with": '[metrics]\nsockets = "/var/lib/slurmhooks"\ntextfiles = "/var/lib/slurmhooks"\ninterval = 1.0\n',
}


def measure(lab: Lab) -> Iterator[Row]:
    """Measure the rows about reports, in a cluster that is up and has slurmhooks installed."""
    lab("exec", "--", "sh", "-c", "rm -rf /etc/slurm/hooks.d/*; : > /etc/slurm/plugstack.conf")
    lab("put", str(FILES / "policy.py"), "/etc/slurm/hooks.d/policy.py")
    before = lab("exec", "--", "cat", TOML)
    names = list(CASES)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    try:
        for pair in range(PAIRS):
            for name in turn(names, pair):
                lab("put", "-", TOML, stdin=f"{before}\n{CASES[name]}")
                lab("exec", "--", "install", "-d", "-o", "slurm", "/var/lib/slurmhooks")
                seconds[name].append(burst(lab, "python"))
    finally:
        lab("put", "-", TOML, stdin=before)
    ratios = [after / without for without, after in zip(seconds["without"], seconds["with"], strict=True)]
    what = f"{COUNT:,} sbatch commands with decision log and metrics: time relative to none (median of {PAIRS} pairs)"
    yield Row(GROUP, what, LIMIT, "x", statistics.median(ratios))
