# SPDX-License-Identifier: GPL-2.0-or-later
"""What a job_submit.lua uses that only a build with Slurm's sources provides, for loading and for `check`."""

from __future__ import annotations

from slurmhooks.fields import JobFields
from slurmhooks.fields.rows import Computed, rows
from slurmhooks.lua import source

OF_SLURM = ("jobs", "reservations")
OF_ASSOCIATIONS = frozenset(
    name
    for name, row in rows(JobFields).items()
    if isinstance(row, Computed) and row.private and row.facts["lua"].read is not None
)
"""The fields of a request that slurmctld looks up in its records of users and accounts."""


def sources(content: bytes) -> dict[str, int]:
    """Return what a script uses that a build with only public headers lacks, each with the first line that does.

    A call that uses it is refused in such a build.
    """
    uses = source.Script(content.decode("utf-8", "surrogateescape")).uses
    wanted: dict[str, int] = {}
    for use in uses:
        if use.of in ("part_list", "job_rec"):
            wanted.setdefault(use.of, use.line)
        elif (use.of == "slurm" and use.name in OF_SLURM) or (use.of == "job_desc" and use.name in OF_ASSOCIATIONS):
            wanted.setdefault(f"{use.of}.{use.name}", use.line)
    return wanted
