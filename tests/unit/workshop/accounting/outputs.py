# SPDX-License-Identifier: GPL-2.0-or-later
"""Outputs of the script that asks sacct."""

from collections.abc import Iterable, Mapping

from slurmhooks.workshop.accounting.export import COLUMNS, SCRIPTS, VARIABLES
from slurmhooks.workshop.accounting.saved import base_of

SEPARATOR = "<fedcba9876543210>"
DEFAULTS = {
    **dict.fromkeys(COLUMNS, ""),
    "User": "alice",
    "UID": "1000",
    "GID": "1000",
    "Submit": "1790000000",
    "State": "COMPLETED",
    "Account": "physics",
    "Partition": "long",
    "QOS": "normal",
    "JobName": "a.sh",
    "SubmitLine": "sbatch a.sh",
}


def output(
    jobs: Iterable[Mapping[str, str]],
    *,
    scripts: Mapping[str, str] = {},
    environments: Mapping[str, str] = {},
    version: str = "24.11.5",
    extra: str = "",
    windows: int = 1,
    at_once: int = 0,
) -> bytes:
    """Return what sacct prints.

    ``extra`` follows each script and environment; sacct is asked for the same records ``windows`` times, and for
    ``at_once`` scripts at once, as the output says; 0: as in earlier releases.
    """
    records = [{**DEFAULTS, "JobIDRaw": job["JobID"], **job} for job in jobs]
    header = SEPARATOR.join(COLUMNS)
    table = "".join(
        f"{line}\n" for line in (header, *(SEPARATOR.join(job[name] for name in COLUMNS) for job in records))
    )
    text = f"slurm {version}\n" + table * windows
    line = "-" * 80
    for number, (job, each) in enumerate(scripts.items()):
        if number % (at_once or len(scripts)) == 0:
            asked = list(scripts)[number : number + at_once]
            text += " ".join([SEPARATOR, SCRIPTS, *(f"{each}:{base_of(each.encode(), 0)}" for each in asked)]) + "\n"
        text += f"Batch Script for {job}\n{line}\n{each}{extra}"
    if environments:
        title = "Environment used for {} (must be batch to display)"
        text += f"{SEPARATOR} {VARIABLES}\n"
        text += "".join(f"{title.format(job)}\n{line}\n{each}{extra}" for job, each in environments.items())
    return f"{text}{SEPARATOR} end\n".encode("utf-8", "surrogateescape")
