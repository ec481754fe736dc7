# SPDX-License-Identifier: GPL-2.0-or-later
"""Keep a copy of each batch script, as TARGET/2026-11-25/job1234.

Arguments of the line in plugstack.conf: target=TARGET [uid=N] [gid=N]; the folder TARGET must exist.
"""

import os
import time

from slurmhooks import hook, log
from slurmhooks.types import Spank


@hook.spank.init(contexts="remote")
def keep(spank: Spank) -> None:
    """Runs as root before the script; a bug here would drain the node, so that no job runs without a copy."""
    if spank.step_name != "batch":
        return
    site = {"uid": "0", "gid": "0"} | dict(word.split("=", 1) for word in spank.args)
    folder = f"{site['target']}/{time.strftime('%Y-%m-%d')}"
    copy = f"{folder}/job{spank.job_id}"
    with open(spank.job_argv[0], "rb") as file:
        script = file.read()
    try:
        os.setegid(int(site["gid"]))  # for a file server that does not trust root
        os.seteuid(int(site["uid"]))
        os.stat(site["target"])  # an error if a file system is missing, which makedirs would not notice
        os.makedirs(folder, 0o750, exist_ok=True)
        with open(f"{copy}.part", "wb") as file:
            file.write(script)
        os.rename(f"{copy}.part", copy)
    finally:
        os.seteuid(0)
        os.setegid(0)
    log.info("the batch script is kept as %s", copy)
