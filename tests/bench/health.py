# SPDX-License-Identifier: GPL-2.0-or-later
"""Ten health checks of a healthy node: slurmhooks_health, and LBNL Node Health Check with the same ten."""

import os
import statistics
from collections.abc import Iterator
from pathlib import Path

from .machine import Machine
from .rows import Row, spread

GROUP = "health"
WHERE_NHC_IS = "SLURMHOOKS_NHC"
"""The environment variable with the folder of the sources of https://github.com/mej/nhc."""
ROUNDS = 30
LIMIT = 0.5
TOML = "/etc/slurm/slurmhooks.toml"
PROGRAM = "/usr/local/lib/slurm/slurmhooks/slurmhooks_health"
CHECKS = """
[[node.checks]]
check = "mount"
path = "/"
[[node.checks]]
check = "mount"
path = "/proc"
type = "proc"
[[node.checks]]
check = "space"
path = "/"
free = "1%"
[[node.checks]]
check = "memory"
total = "1MiB"
[[node.checks]]
check = "swap"
total = "0"
[[node.checks]]
check = "cpus"
least = 1
[[node.checks]]
check = "process"
program = "slurmd"
[[node.checks]]
check = "file"
path = "/etc/passwd"
[[node.checks]]
check = "command"
run = ["/bin/true"]
[[node.checks]]
check = "link"
interface = "lo"
"""
SAME_CHECKS = """
* || check_fs_mount -f /
* || check_fs_mount -t proc -f /proc
* || check_fs_free / 1%
* || check_hw_physmem 1MB 1000TB
* || check_hw_swap 0 1000TB
* || check_hw_cpuinfo
* || check_ps_service slurmd
* || check_file_test -r /etc/passwd
* || check_cmd_status -r 0 /bin/true
* || check_hw_eth lo
"""
RUN_NHC = "/opt/nhc/nhc -c /opt/nhc/ten.conf INCDIR=/opt/nhc/scripts HELPERDIR=/opt/nhc MARK_OFFLINE=0 NHC_RM=slurm"


def measure(machine: Machine) -> Iterator[Row]:
    """Measure the row about health checks."""
    what = "ten health checks of a healthy node: wall time, relative to LBNL Node Health Check"
    place = os.environ.get(WHERE_NHC_IS)
    before = machine.root(f"cat {TOML}")
    cases = {"slurmhooks": ["env", "-i", "SLURMD_NODENAME=n1", PROGRAM]}
    if place is not None:
        _put_nhc(machine, Path(place))
        cases["NHC"] = ["env", "-i", "PATH=/usr/sbin:/usr/bin", "HOSTNAME=n1", *RUN_NHC.split()]
    machine.put(f"{before}\n{CHECKS}", TOML)
    try:
        # slurmd runs the program once, when it starts: deploy refuses checks that it would never run.
        machine.site({}, local=f"HealthCheckProgram={PROGRAM}\nHealthCheckInterval=30000\n")
        requests = {name: {"plugstack": None, "user": "root", "command": words} for name, words in cases.items()}
        measured = machine.inside("interleave.py", request={"rounds": ROUNDS, "cases": requests})
    finally:
        machine.put(before, TOML)
        machine.root("rm -rf /var/lib/slurmhooks-health")
    assert isinstance(measured, dict)
    times = {name: [value / 1e6 for value in values] for name, values in measured.items()}
    parts = {f"{name}, ms": spread(values) for name, values in times.items()}
    if place is None:
        yield Row(GROUP, what, LIMIT, "x", None, parts=parts, note=f"NHC is absent: ${WHERE_NHC_IS} says where it is")
        return
    ratio = statistics.median(ours / theirs for ours, theirs in zip(times["slurmhooks"], times["NHC"], strict=True))
    yield Row(GROUP, what, LIMIT, "x", ratio, parts=parts)


def _put_nhc(machine: Machine, place: Path) -> None:
    """Install NHC in the cluster."""
    machine.root("install -d /opt/nhc/scripts")
    for path in (place / "nhc", *sorted((place / "scripts").glob("*.nhc"))):
        machine.lab("put", str(path), f"/opt/nhc/{path.relative_to(place)}")
    machine.put(SAME_CHECKS, "/opt/nhc/ten.conf")
    machine.root("chmod 755 /opt/nhc/nhc")
