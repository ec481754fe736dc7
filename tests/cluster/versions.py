# SPDX-License-Identifier: GPL-2.0-or-later
"""A policy in versions: refusals and tasks tell which of them is in force."""

TOML = '[hooks]\npaths = ["hooks.d/*.py"]\n'
HOOKS = """
from slurmhooks import Reject, hook

@hook.job_submit
def refuse(job):
    if job.comment == "refuse":
        raise Reject("version {version}")

@hook.spank.task_init
def mark(spank):
    spank.env["POLICY"] = "version {version}"
"""
