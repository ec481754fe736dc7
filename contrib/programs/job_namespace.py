#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""CloneNSScript and CloneNSEpilog: show each job a folder of its own, on the node's disk, as /scratch.

Slurm gives no arguments: name links to this file there, job_namespace_begin and job_namespace_end.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

DISK = Path("/local/scratch")
"""Belongs to root, and only root writes to it."""
SEEN_AS = "/scratch"
"""An empty folder of the node."""


def main() -> None:
    """Raise an exception if the folder cannot be made: the job does not start, and the node stays as it is."""
    folder = DISK / os.environ["SLURM_JOB_ID"]
    if Path(sys.argv[0]).name == "job_namespace_end":
        shutil.rmtree(folder)
        return
    folder.mkdir(0o700, parents=True)
    os.chown(folder, int(os.environ["SLURM_JOB_UID"]), int(os.environ["SLURM_JOB_GID"]))
    # Only the mount is made in the namespace of the job, where this file may not exist.
    command = ["/usr/bin/nsenter", f"--mount={os.environ['SLURM_NS']}", "/bin/mount", "--bind", folder, SEEN_AS]
    subprocess.run(command, check=True, timeout=8)


if __name__ == "__main__":
    main()
