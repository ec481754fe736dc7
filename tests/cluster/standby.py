# SPDX-License-Identifier: GPL-2.0-or-later
"""A second controller, ctl2: another host of the cluster, with its own network, processes, logs and /run."""

import contextlib
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

    from tests.cluster.conftest import Cluster

SLURM_CONF = "/etc/slurm/slurm.conf"
LOGS = "/var/log/slurm/ctl2"
PRIMARY, STANDBY = "10.98.0.1", "10.98.0.2"
MARK = "sleep 100042"
"""The first process of the host, by which it is found."""
HOST = f"""\
hostname ctl2
mkdir -p /var/tmp/munge && {{ mount --bind /run/munge /var/tmp/munge 2>/dev/null || true; }}
mount -t tmpfs none /run
mkdir -p /run/munge && mount --rbind /var/tmp/munge /run/munge
install -d -o slurm /run/slurmctld
mount --bind {LOGS} /var/log/slurm
ip link set lo up
ip addr add {STANDBY}/24 dev ctl2
ip link set ctl2 up
"""
MAKE = """\
set -e
ip netns add ctl2
ip link add ctl type veth peer name ctl2 netns ctl2
ip addr add {primary}/24 dev ctl
ip link set ctl up
install -d -o slurm {logs}
setsid nsenter --net=/run/netns/ctl2 unshare --uts --mount --pid --fork --kill-child --mount-proc \\
    sh -ec {host} </dev/null >/var/log/slurm/ctl2.log 2>&1 &
until pgrep -xf '{mark}' >/dev/null; do sleep 0.02; done
"""
END = f"pkill -9 -xf '{MARK}'; ip netns del ctl2; ip link del ctl; true"


class Standby:
    """The host ctl2."""

    def __init__(self, cluster: "Cluster") -> None:
        self.cluster = cluster

    def run(self, command: str, *, check: bool = True) -> "subprocess.CompletedProcess[str]":
        """Run a shell command there, as root."""
        enter = f"exec nsenter -t $(pgrep -xf '{MARK}') -n -u -m -p -- sh -c {shlex.quote(command)}"
        return self.cluster.root("sh", "-c", enter, check=check)

    def start(self) -> None:
        """Start slurmctld there, and wait until it stands by."""
        self.run("slurmctld")
        self.cluster.wait(lambda: "UP" in self.pings().get("backup", ""), what="standby")

    def lend_ssh(self) -> None:
        """Give the primary a stand-in for ssh, which runs its last argument on ctl2."""
        enter = (
            f"#!/bin/sh\nfor words; do :; done\nexec nsenter -t $(pgrep -xf '{MARK}') -n -u -m -p -- sh -c \"$words\"\n"
        )
        self.cluster.put(enter, "/usr/local/bin/ssh", 0o755)

    def pings(self) -> dict[str, str]:
        """Return what `scontrol ping` says of each controller: "primary" and "backup"."""
        lines = self.cluster.root("scontrol", "ping").stdout.splitlines()
        return {line.split("(")[1].split(")")[0]: line for line in lines if "(" in line}

    def log(self) -> str:
        """Return the log of its slurmctld."""
        return self.cluster.root("cat", f"{LOGS}/slurmctld.log").stdout

    def serves(self) -> bool:
        """Tell whether its slurmctld is in control."""
        return "Running as primary controller" in self.log().rpartition("slurmctld running in background mode")[2]


@contextlib.contextmanager
def standby(cluster: "Cluster", mount: str = "") -> Iterator[Standby]:
    """Lend a cluster a second controller; afterwards it has one again.

    ``mount`` is a shell command by which the other host mounts what it shares with the first one.
    """
    before = cluster.root("cat", SLURM_CONF, check=True).stdout
    conf = before.replace("(127.0.0.1)", f"({PRIMARY})\nSlurmctldHost=ctl2({STANDBY})")
    conf = conf.replace("NodeAddr=127.0.0.1", f"NodeAddr={PRIMARY}").replace(
        "SlurmctldTimeout=30", "SlurmctldTimeout=10"
    )
    other = Standby(cluster)
    try:
        host = shlex.quote(f"{HOST}{mount}\nexec {MARK}\n")
        cluster.root("sh", "-c", MAKE.format(primary=PRIMARY, logs=LOGS, mark=MARK, host=host), check=True)
        cluster.put(conf, SLURM_CONF)
        cluster.restart()
        other.start()
        yield other
    finally:
        cluster.root("sh", "-c", END)
        cluster.put(before, SLURM_CONF)
        cluster.restart()
