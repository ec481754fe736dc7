# SPDX-License-Identifier: GPL-2.0-or-later
"""Make a TMPDIR for each job, on its nodes or on shared storage.

Arguments of the line in plugstack.conf: local_prefix=PATH shared_prefix=PATH [no_rm_shared_only].
Only root may write to the folders of both prefixes, because prolog and epilog make and remove folders there.
"""

import os

from slurmhooks import hook, log
from slurmhooks.types import Spank


def per_node(text: str) -> str:
    """Refuse any other argument; without one, the option's value is True."""
    if text != "per-node":
        raise ValueError(f"{text!r} is not per-node")
    return text


keep = hook.spank.option("no-rm-tmpdir", usage="[site] keep the job's TMPDIR after its end")
shared = hook.spank.option(
    "use-shared-tmpdir", "per-node", optional=True, type=per_node, usage="[site] put the job's TMPDIR on shared storage"
)


def folder(spank: Spank) -> str:
    """Return the TMPDIR of a job, in its prolog, tasks and epilog."""
    site = dict(word.partition("=")[::2] for word in spank.args)
    prefixes = (site["local_prefix"], site["shared_prefix"])  # both, so that the first job shows that one is missing
    node = f".{spank.env['SLURMD_NODENAME']}" if shared.value == "per-node" else ""
    return f"{prefixes[shared.given]}{spank.job_id}{node}"


@hook.spank.job_prolog
def make(spank: Spank) -> None:
    """Runs as root on each node of the job; another node, or an earlier run of the job, may have made the folder."""
    os.makedirs(folder(spank), 0o700, exist_ok=True)
    if os.stat(folder(spank)).st_uid not in (0, spank.job_uid):
        raise FileExistsError(f"{folder(spank)} is another user's: move it")
    os.chown(folder(spank), spank.job_uid, spank.job_gid)


@hook.spank.task_init
def use(spank: Spank) -> None:
    """Runs in each task."""
    spank.env["TMPDIR"] = folder(spank)


@hook.spank.job_epilog(on_error="ignore")
def remove(spank: Spank) -> None:
    """Runs as root on each node of the job."""
    from shutil import rmtree

    if keep.given and (shared.given or "no_rm_shared_only" not in spank.args):
        log.info("kept %s", folder(spank))
    else:
        rmtree(folder(spank), ignore_errors=True)
