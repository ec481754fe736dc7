# SPDX-License-Identifier: GPL-2.0-or-later
"""The environment that sbatch sends with a job.

Source: sbatch.c:_fill_job_desc_from_opts and opt.c:set_envs.
"""

from __future__ import annotations

import os
import re
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.workshop.testing.sbatch.setters import Fields

WORD = re.compile(r"""(?:'[^']*(?:'|$)|"[^"]*(?:"|$)|[^,'"])+,?|,""")
"""A word of --export, with the comma after it."""
KEPT = ("SLURM_", "_SLURM_SPANK_OPTION_")
"""Begins the names of variables that --export does not remove."""


def export(fields: Fields, environment: Mapping[str, str], work_dir: str) -> None:
    """Compute the environment of the job, without the variables that follow from options about its tasks."""
    given = fields.get("_export", "ALL")
    # With --export-file, sbatch has emptied its own environment by then.
    own = {} if "_export_file" in fields else environment
    environment = {**own, **_of_process(environment, work_dir)}
    if given.upper() != "ALL" and "_export_file" not in fields:
        environment = {"SLURM_EXPORT_ENV": given, **environment}
    if "dependency" in fields and fields["dependency"] is not None:
        environment["SLURM_JOB_DEPENDENCY"] = fields["dependency"]
    for name in ("container", "container_id", "container_type"):
        if fields.get(name):
            environment.setdefault(f"SLURM_{name.upper()}", fields[name])
    kept = {name: value for name, value in environment.items() if name.startswith(KEPT)}
    if given.upper() == "ALL":
        kept = dict(environment)
    elif given.upper() not in ("NONE", "NIL"):
        for word in exported(given):
            name, equals, value = word.partition("=")
            if word.upper() == "ALL":
                kept.update(environment)
            elif equals or name in environment:
                kept[name] = value if equals else environment[name]
    if "_export_file" in fields and given.upper() != "ALL":
        pairs = (line.partition("=") for line in fields["_export_file"].split("\0"))
        of_file = {name: value for name, _, value in pairs if name}
        kept = of_file | kept
    if fields.pop("_user_environment", False) or given.upper() not in ("ALL", "NIL"):
        kept["SLURM_GET_USER_ENV"] = "1"
    fields["environment"] = kept


def exported(text: str) -> list[str]:
    """Return the words of ``--export``: a comma within quotes is part of a value, which keeps the quotes.

    Only quotes around a whole word are removed. The text after a quote that is not closed is one word.
    """
    words: list[str] = []
    for match in WORD.finditer(text):
        word = match[0].removesuffix(",")
        words.append(word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" else word)
    return words


def _of_process(environment: Mapping[str, str], work_dir: str) -> dict[str, str]:
    mask = os.umask(0)
    os.umask(mask)
    return {
        "SLURM_PRIO_PROCESS": str(os.getpriority(os.PRIO_PROCESS, 0)),
        "SLURM_SUBMIT_DIR": work_dir,
        "SLURM_SUBMIT_HOST": socket.gethostname(),
        "SLURM_UMASK": environment.get("SLURM_UMASK", f"{mask:04o}"),
    }
