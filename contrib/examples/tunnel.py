# SPDX-License-Identifier: GPL-2.0-or-later
"""--tunnel=8888:8889 forwards port 8888 of the submission host to port 8889 of the job's first node while srun runs."""

import os
import signal

from slurmhooks import Reject, hook
from slurmhooks.types import Spank

tunnel = hook.spank.option(
    "tunnel", "HERE:THERE[,...]", usage="[site] forward ports to the job's first node", contexts=["local"]
)
control: list[str] = []  # the beginning of the commands that start and end ssh


@tunnel.check
def ports(text: str) -> str:
    """Refuse anything but pairs of unprivileged ports."""
    for pair in text.split(","):
        numbers = [int(word) if word.isdecimal() else 0 for word in pair.split(":")]
        if len(numbers) != 2 or not all(1024 <= number <= 65535 for number in numbers):
            raise Reject(f"{pair!r} is not a pair of ports from 1024 to 65535, as in 8888:8889")
    return text


def unblock() -> None:
    """Runs in the child: srun of 22.05 and 24.11 blocks signals, so that Ctrl-C would not end ssh."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


@hook.spank.local_user_init
def start(spank: Spank) -> None:
    """Runs in srun, as the user, when the job has its nodes; ssh returns when the ports are open."""
    if tunnel.value is None:
        return
    from subprocess import DEVNULL, check_output, run

    nodes = check_output(["squeue", "--noheader", f"--jobs={spank.job_id}", "--format=%N"], text=True).strip()
    node = check_output(["scontrol", "show", "hostnames", nodes], text=True).split()[0]
    control[:] = ["ssh", "-S", f"/tmp/tunnel-{os.urandom(8).hex()}", node]
    command = [*control, "-M", "-f", "-N", "-o", "ExitOnForwardFailure=yes"]
    for pair in tunnel.value.split(","):
        command += ["-L", pair.replace(":", ":localhost:")]
    if run(command, stdin=DEVNULL, stdout=DEVNULL, check=False, preexec_fn=unblock).returncode != 0:
        control.clear()
        raise Reject(f"--tunnel: ssh to {node} failed; see its message above")


@hook.spank.exit(contexts=["local"])
def stop(spank: Spank) -> None:
    """Runs in srun, when the tasks have ended."""
    if control:
        from subprocess import DEVNULL, run

        run([*control, "-O", "exit"], stderr=DEVNULL, check=False, preexec_fn=unblock)
