# SPDX-License-Identifier: GPL-2.0-or-later
"""What a running slurmctld has in force, which is not always what the files say."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel

from slurmhooks import slurm_conf
from slurmhooks.worker import requests

PATIENCE = 5.0
"""Seconds that a supervisor has to answer: it never waits for anything itself."""


class Fault(BaseModel):
    """Why the files as they are now are not in force."""

    since: datetime
    findings: list[str]


class Running(BaseModel):
    """What the worker processes of one plugin of a slurmctld have in force.

    Attributes:
        point: the plugin point, such as job_submit.
        generation: its number; None: no hooks are in force.
        handlers: hook, label and file of each.
        fault: None if the files as they are now are in force.
    """

    point: str
    supervisor: int
    generation: int | None
    workers: list[int]
    handlers: list[tuple[str, str, str]]
    fault: Fault | None


def look(sysconfdir: Path) -> tuple[list[Running], list[str]]:
    """Ask each slurmctld of this machine that has a configuration what it has in force.

    Args:
        sysconfdir: where slurm.conf is.

    Returns:
        the answers, and lines that say why there are none.
    """
    if not requests.names(str(sysconfdir)):
        return [], [f"{sysconfdir}: no slurmctld with a plugin of slurmhooks runs on this machine"]
    os.environ["SLURM_CONF"] = str(sysconfdir / "slurm.conf")
    running, notes = [], []
    for answer in requests.ask("status", str(sysconfdir), slurm_conf.slurm_user(), PATIENCE):
        if "supervisor" in answer:
            running.append(Running.model_validate(answer))
        else:
            notes += [f"what slurmctld has in force is not known: {finding}" for finding in answer["findings"]]
    return running, notes


def lines(running: list[Running]) -> list[str]:
    """Return what is in force, one line for each process and handler."""
    found = []
    for each in running:
        workers = ", ".join(map(str, each.workers)) or "none"
        processes = f"generation {each.generation}, supervisor {each.supervisor}, workers {workers}"
        found.append(f"slurmctld, {each.point}: {processes}")
        found += [f"in force: {hook} handler {label} ({file})" for hook, label, file in each.handlers]
    return found


def findings(running: list[Running]) -> list[str]:
    """Return why the files as they are now are not in force."""
    found = []
    for each in running:
        if each.fault is not None:
            since = each.fault.since.astimezone().strftime("%Y-%m-%d %H:%M:%S")
            state = "no hooks are in force" if each.generation is None else "keeps the hooks from before in force"
            found += [f"slurmctld, {each.point}, since {since}: {state}: {finding}" for finding in each.fault.findings]
    return found
