# SPDX-License-Identifier: GPL-2.0-or-later
"""A site with one hook file for slurmctld and one for scrun, for `slurmhooks try`."""

import json
from pathlib import Path
from typing import Any

from click.testing import Result

HOOKS = """
from slurmhooks import Reject, hook, log

@hook.job_submit
def limits(job, submit_uid, partitions):
    log.info("seen", user=job.user_name, uid=submit_uid, partitions=sorted(partitions))
    if job.account is None:
        raise Reject("no account", code="ESLURM_INVALID_ACCOUNT")
    if job.name == "bug":
        raise RuntimeError("disk on fire")
    if job.time_limit is None:
        job.time_limit = 60
        log.user("limited")
    job.environment["SITE"] = "here"

@hook.job_modify
def keep(job, record, modify_uid):
    if modify_uid == record.user_id and job.time_limit > record.time_limit:
        raise Reject("no extension")
"""
STAGING = """
import os, shutil
from slurmhooks import Reject, hook, log

@hook.scrun.stage_in
def stage_in(container):
    if container.id == "refused":
        raise Reject("not today")
    place = os.environ["PLACE"]
    shutil.copytree(container.bundle, place)
    container.bundle = place
    container.root_path = place + "/rootfs"
    container.config.hostname = container.job_env["NAME"]
    container.save_config()
    log.user("staged")

@hook.scrun.stage_out
def stage_out(container):
    if container.bundle != container.orig_bundle:
        shutil.rmtree(container.bundle)
    log.info("gone")
"""


def write_site(folder: Path) -> Path:
    """Write a site's configuration and both hook files into a folder; return the folder."""
    (folder / "hooks.py").write_text(HOOKS)
    (folder / "staging.py").write_text(STAGING)
    (folder / "slurmhooks.toml").write_text('[hooks]\npaths = ["*.py"]\n')
    return folder


def answer(result: Result) -> dict[str, Any]:
    """Return what was printed as JSON."""
    found: dict[str, Any] = json.loads(result.stdout)
    return found
