# SPDX-License-Identifier: GPL-2.0-or-later
"""Sites with power handlers, and a stand-in for scontrol."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.sets import put_in_force

HOOKS = """
import os, time
from slurmhooks import Reject, hook

def note(text):
    fd = os.open("{folder}/notes", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(fd, (text + "\\n").encode())
    os.close(fd)

@hook.power.resume
def resume(nodes, jobs, event, features):
    note(f"begin {{event.id}} {{os.getpid()}}")
    time.sleep({pause})
    if "pool" in nodes and not os.fork():
        note(f"forked {{os.getpid()}}")
        time.sleep(1000)
    while os.path.exists("{folder}/hold"):
        time.sleep(0.01)
    if "lost" in nodes:
        raise Reject("no capacity\\nin this region")
    if "bug" in nodes:
        nodes["absent"]
    if "gone" in nodes:
        os._exit(3)
    first = nodes[next(iter(nodes))]
    more = f" {{features}}" if features else ""
    note(f"resume {{nodes.hostlist}} {{first.features}} {{[job.job_id for job in jobs]}}{{more}}")

@hook.power.suspend
def suspend(nodes, event):
    note(f"suspend {{nodes.hostlist}}")

@hook.power.reboot
def reboot(nodes, features):
    if "lost" in nodes:
        raise Reject("no power")
    note(f"reboot {{nodes.hostlist}} {{features}}")
"""
SCONTROL = """#!/bin/sh
echo "$@" >> {folder}/asked
case "$1 $2" in
"show hostnames") echo "$3" | tr , '\\n' ;;
"show node")
    # Like scontrol, which fails for a node that slurmctld does not show.
    case "$4" in *hidden*) echo "Node $4 not found"; exit 1 ;; esac
    for node in c1 c2 c3; do
        echo "NodeName=$node AvailableFeatures=big,gpu Partitions=debug Reason=no AvailableFeatures=x"
    done ;;
esac
"""


class Site:
    """A configuration with power handlers, and a stand-in for scontrol."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.spool = folder, folder / "state/slurmhooks/power"
        (folder / "state").mkdir()
        conf = f"StateSaveLocation={folder}/state\nSlurmUser={os.geteuid()}\n"
        (folder / "slurm.conf").write_text(conf)
        (folder / "slurmhooks.toml").write_text('[hooks]\npaths = ["hooks.py"]\n[power]\nbackoff = 0.05\n')
        self.hooks()
        self.scontrol(SCONTROL.format(folder=folder))
        put_in_force(folder)
        monkeypatch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def hooks(self, pause: float = 0.0) -> None:
        """Write the hook file."""
        (self.folder / "hooks.py").write_text(HOOKS.format(folder=self.folder, pause=pause))

    def scontrol(self, text: str) -> None:
        """Replace the stand-in, which may be running: a program that runs cannot be written."""
        new = self.folder / "scontrol.new"
        new.write_text(text)
        new.chmod(0o755)
        new.rename(self.folder / "scontrol")

    def call(self, hook: str, *arguments: str, code: int = 0) -> None:
        """Run a program as slurmctld does."""
        done = subprocess.run(
            (sys.executable, "-m", "slurmhooks.handover.program", f"power.{hook}", *arguments), check=False
        )
        assert done.returncode == code

    def start(self) -> None:
        """Start a process that delivers, as each call does."""
        code = "from slurmhooks.processes import deliverer; deliverer.start(deliverer.folder('power'))"
        subprocess.run((sys.executable, "-W", "ignore", "-c", code), check=True)

    def notes(self) -> list[str]:
        """Return what the handlers noted."""
        path = self.folder / "notes"
        return path.read_text().splitlines() if path.exists() else []

    def done(self) -> list[str]:
        """Return the calls that handlers have finished."""
        return [line for line in self.notes() if not line.startswith("begin")]

    def wait(self, condition: Callable[[], object]) -> None:
        """Wait for a condition."""
        until = time.monotonic() + 60
        while not condition():
            log = self.spool / "log"
            assert time.monotonic() < until, log.read_text() if log.exists() else "no log"
            time.sleep(0.02)

    def empty(self) -> bool:
        """Tell whether no call waits."""
        return not list(self.spool.glob("*.spool"))

    def processes(self) -> list[int]:
        """Return the processes that deliver calls of this site."""
        found = []
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = entry.read_bytes().split(b"\0")
            except OSError:
                continue
            if b"slurmhooks.power.process" in words and os.fsencode(self.spool) in words:
                found.append(int(entry.parent.name))
        return found

    def kill(self, *spared: int) -> None:
        """Kill every process that delivers, except those with some ids."""
        killed = [pid for pid in self.processes() if pid not in spared]
        for pid in killed:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.wait(lambda: not set(killed).intersection(self.processes()))
