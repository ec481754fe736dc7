# SPDX-License-Identifier: GPL-2.0-or-later
"""How long 10,000 mails of an array take until the last one is delivered; needs no cluster."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from slurmhooks.jobcomp.layout import segment

from .rows import Row

GROUP = "mails"
MAILS = 10_000
HOOKS = "from slurmhooks import hook\n\n\n@hook.mail\ndef handle(mail):\n    pass\n"
CASES = {"each delivered alone, to one user": "", "as digests": '[mail]\ndigest = "1s"\n'}


def measure() -> Iterator[Row]:
    """Measure the rows of this group: a spool as MailProg leaves it, and the process that delivers."""
    for name, more in CASES.items():
        with tempfile.TemporaryDirectory(dir="/var/cache") as folder:
            yield Row(GROUP, f"{MAILS:,} mails, {name}", 180.0, "s", deliver(Path(folder), more))


def deliver(folder: Path, more: str) -> float:
    """Return the seconds that it takes."""
    (folder / "hooks.py").write_text(HOOKS)
    (folder / "slurmhooks.toml").write_text(f'[hooks]\npaths = ["hooks.py"]\n{more}')
    (folder / "slurm.conf").write_text(f"StateSaveLocation={folder}\nSlurmUser={os.geteuid()}\n")
    spool = folder / "slurmhooks/mail"
    spool.mkdir(parents=True)
    now = time.time_ns() - 10**9
    for number in range(MAILS):
        parts = ["3", "-s", f"Slurm Job_id={number} Ended", "alice", f"SLURM_JOB_ID={number}", *["SLURM_JOB_X=y"] * 30]
        message = segment("mail", now + number, "\0".join(parts).encode(), number)
        (spool / f"{now + number:020}{number:010}.spool").write_bytes(message)
    began = time.monotonic()
    environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    with (spool / "log").open("w") as log:
        command = (sys.executable, "-m", "slurmhooks.mail.process", str(spool))
        subprocess.run(command, check=True, env=environment, stdout=log, stderr=log)
    assert not list(spool.glob("*.spool"))
    return time.monotonic() - began
