# SPDX-License-Identifier: GPL-2.0-or-later
"""Ask slurmhooks on other machines, by ssh."""

import re
import shlex
import subprocess

from slurmhooks.cli.findings import Finding

HOST = re.compile(r"(?!-)[\w.@:%-]+")
PATIENCE = 60.0
"""Seconds that another machine may take."""


def ask(host: str, *words: str) -> str:
    """Return what `slurmhooks` prints on another machine, which ssh reaches without a password; also with exit code 1.

    Raises:
        Finding: ssh fails, or the command is not there.
    """
    if not HOST.fullmatch(host):
        raise Finding(f"{host!r} is neither a file nor the name of a machine")
    command = ["ssh", "-o", "BatchMode=yes", host, shlex.join(["slurmhooks", *words])]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=PATIENCE
        )
    except FileNotFoundError:
        raise Finding(f"{host}: it cannot be asked, because this machine has no ssh") from None
    except subprocess.TimeoutExpired:
        raise Finding(f"{host}: no answer within {PATIENCE:g} s: does 'ssh {host} true' work?") from None
    if done.returncode > 1 or (done.returncode and not done.stdout):
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise Finding(f"{host}: {lines[-1].removeprefix('error: ')}")
    return done.stdout
