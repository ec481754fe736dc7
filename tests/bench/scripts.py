# SPDX-License-Identifier: GPL-2.0-or-later
"""A job_submit.lua inside a real slurmctld, under job_submit/lua and under slurmhooks."""

from collections.abc import Iterator

from . import submissions
from .machine import FILES, Machine
from .rows import Row

GROUP = "scripts"
LIMIT = 1.0
"""Relative to job_submit/lua: a site that only switches the plugin should lose nothing."""
SCRIPTS = {"policy.lua": "job_submit.lua", "partitions.lua": "one that walks through the partitions"}
NEEDS_SOURCES = ("partitions.lua",)
"""A build with only Slurm's public headers has no partitions."""
TOML = "/etc/slurm/slurmhooks.toml"
SCRIPT = '[hooks]\npaths = []\n[job_submit]\nlua = "job_submit.lua"\n'


def measure(machine: Machine) -> Iterator[Row]:
    """Measure the rows of this group."""
    before = machine.root(f"cat {TOML}")
    machine.lab("put", str(FILES / "job_submit_bench.c"), "/opt/bench.c")
    machine.root(submissions.BUILD)
    machine.site({}, local="JobSubmitPlugins=bench\n", plugstack="")
    machine.put(SCRIPT, TOML)
    try:
        has_sources = bool(machine.root("test -d /usr/src/slurm && echo yes || true").strip())
        for script, what in SCRIPTS.items():
            if script in NEEDS_SOURCES and not has_sources:
                continue
            machine.lab("put", str(FILES / script), "/etc/slurm/job_submit.lua")
            machine.deploy()
            machine.lab("restart")
            for mode, thread in submissions.modes(machine).items():
                row = f"{what}, 2 partitions, {thread}: time of a call, relative to job_submit/lua"
                yield submissions.compare(machine, GROUP, row, LIMIT, mode)
    finally:
        machine.put(before, TOML)
