# SPDX-License-Identifier: GPL-2.0-or-later
"""A real slurmctld under load: many submissions while files, processes and slurmctld itself are replaced."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.conftest import Cluster

LOAD = Path(__file__).parent / "load"
PART = int(os.environ.get("SLURMHOOKS_SOAK_SUBMISSIONS", "1000000")) // 10
"""A tenth of the submissions; there are figures for each. One part more follows without ``scontrol reconfigure``, which
replaces slurmctld, and what it had lost, by a new process."""
RELEASE = os.environ.get("SLURMHOOKS_SOAK_RELEASE", "24.11")
CLIENTS, RECONFIGURE = 6, 60
HOURS = 4 * 3600.0
CONF = """
JobSubmitPlugins=python
JobCompType=jobcomp/python
MaxJobCount=100000
MinJobAge=2
SlurmctldDebug=info
"""
TOML = """
[hooks]
paths = ["hooks.d/*.py"]
[job_submit]
workers = 2
[jobcomp]
backoff = 1.0
"""
GROWTH = {"MiB": 1.4, "descriptors": 1.4, "threads": 1.2, "processes": 2.5}
"""How much more of each the last parts may have than the first ones, at most. The numbers of processes are those of a
moment, with generations and workers that end."""
NEVER = (
    *("without exactly one answer", "wrong", "accepted without the policy", "accepted, but not created"),
    *("created, and the client knows nothing", "neither ended nor there", "without the comment of the policy"),
)


@pytest.mark.soak
def test_load(cluster: Cluster) -> None:
    """Of a million submissions, none is lost or accepted against the policy, and no process grows."""
    if cluster.release != RELEASE:
        pytest.skip(f"takes most of an hour: only for {RELEASE}, see SLURMHOOKS_SOAK_RELEASE")
    install(cluster)
    parts = [
        *fire(cluster, 10, RECONFIGURE),
        *fire(cluster, 1, 0),
    ]
    total = parts[-1]["jobs"]
    cluster.wait(
        lambda: " 0 records wait" in cluster.root("slurmhooks", "spool").stdout, 600, "delivery of all records"
    )
    compared = json.loads(cluster.root("python3", "/opt/load/compare.py", str(total), check=True, timeout=HOURS).stdout)
    print(json.dumps(compared, indent=1))  # noqa: T201
    assert {name: compared[name] for name in NEVER if compared[name]} == {}
    assert compared["accepted"] + compared["created, and the client had an error"] == compared["created by slurmctld"]
    # Killed processes cost only the requests that they were serving, and requests of a short time afterwards.
    unserved = sum(count for name, count in compared["answers"].items() if "without an answer" in name)
    assert unserved < total / 10
    assert sum(part["counts"].get("clients failed", 0) for part in parts) == 0
    for name in parts[0]["highest"]:
        allowed = GROWTH.get(name.split()[-1])
        if allowed is not None:
            before, after = (max(part["highest"].get(name, 0) for part in some) for some in (parts[:3], parts[-3:]))
            assert after <= before * allowed + 4, (name, before, after)


def install(cluster: Cluster) -> None:
    """Put the policy in force."""
    for path in LOAD.iterdir():
        cluster.put(path, f"/opt/load/{path.name}")
    cluster.root("gcc", "-O1", "/opt/load/client.c", "-o", "/opt/load/client", "-lslurm", check=True)
    cluster.root("install", "-d", "-o", "slurm", "-m", "777", "/var/lib/slurm/load", check=True)
    cluster.put(CONF, "/etc/slurm/local.conf")
    cluster.put(TOML, "/etc/slurm/slurmhooks.toml")
    cluster.put(LOAD / "policy.py", "/etc/slurm/hooks.d/policy.py")
    cluster.restart()


def fire(cluster: Cluster, parts: int, reconfigure: int) -> list[dict[str, Any]]:
    """Submit parts of jobs, print the figures of each, and return them."""
    began = time.monotonic()
    command = ["python3", "/opt/load/fire.py", *map(str, (PART, parts, CLIENTS, reconfigure))]
    output = cluster.root(*command, check=True, timeout=HOURS).stdout
    print(f"\nSlurm {cluster.release}: {parts * PART} submissions in {time.monotonic() - began:.0f} s\n{output}")  # noqa: T201
    return [json.loads(line) for line in output.splitlines()]
