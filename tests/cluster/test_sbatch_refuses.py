# SPDX-License-Identifier: GPL-2.0-or-later
"""What sbatch itself refuses of random options for GRES and tasks, `slurmhooks try` refuses, too, and nothing else."""

import json
import random
from typing import TYPE_CHECKING

import pytest

from slurmhooks.testing import sbatch
from tests.cluster.job_submit_site import place

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

HOOK_FILE = "/etc/slurm/hooks.d/asked.py"
HOOK = """
from slurmhooks import Reject, hook

@hook.job_submit
def asked(job):
    raise Reject("slurmctld was ASKED")
"""
SUBMIT = """
import json, subprocess, sys
for line in json.load(sys.stdin):
    done = subprocess.run(["sbatch", *line.split(), "--wrap", "true"], capture_output=True, text=True,
                          cwd="/tmp", stdin=subprocess.DEVNULL)
    print(json.dumps(done.stdout + done.stderr))
"""
GROUPS = (
    ("", "", "-G1", "-G2", "-G3", "-G4", "-Ga100:2", "-Ga100:1,v100:1", "-G0"),
    ("", "", "--gpus-per-node=1", "--gpus-per-node=2", "--gpus-per-node=a100:1", "--gres=gpu:1", "--gres=gpu:2,nic:1"),
    ("", "", "--gpus-per-task=1", "--gpus-per-task=2", "--gpus-per-task=a100:1"),
    ("", "", "", "--gpus-per-socket=1", "--gpus-per-socket=2"),
    ("", "", "--sockets-per-node=1", "--sockets-per-node=2"),
    ("", "", "-n1", "-n2", "-n4"),
    ("", "", "-N1", "-N2", "-N1-2", "-wn1"),
    ("", "", "", "--ntasks-per-node=1", "--ntasks-per-node=2"),
    ("", "", "", "--mem-per-gpu=10"),
    ("", "", "", "--cpus-per-gpu=1"),
    ("", "", "", "", "--ntasks-per-gpu=1", "--ntasks-per-gpu=2"),
    ("", "", "", "-c2"),
    ("", "", "", "", "-s", "--exclusive"),
)
"""Options by topic, one of each of which is drawn."""
HAND = (
    "--gres=gpu:a100:1,gpu:1",
    "--gpus-per-task=1",
    "--mem-per-gpu=10",
    "-S1 --thread-spec=1",
    "-c0",
    "-s --exclusive",
)
NUMBER, LONG = 40, 500
"""How many drawn command lines `make test` and `make soak` compare."""


@pytest.fixture(scope="module")
def asked(cluster: "Cluster") -> "Cluster":
    """Return a cluster whose slurmctld refuses each submission, with GPUs in slurm.conf."""
    cluster.without_spank()
    before = cluster.root("cat", "/etc/slurm/local.conf", check=True).stdout
    cluster.put(f"{before}\nGresTypes=gpu,nic\nAllowSpecResourcesUsage=yes\n", "/etc/slurm/local.conf")
    cluster.restart()
    place(cluster, HOOK, HOOK_FILE)
    return cluster


def drawn(number: int, seed: int) -> list[str]:
    """Return random command lines."""
    chance = random.Random(seed)
    return [" ".join(filter(None, map(chance.choice, GROUPS))) for _ in range(number)]


def refused(release: str, line: str) -> str | None:
    """Return why the kit refuses a command line; None if it does not."""
    try:
        sbatch.submission(
            None, "#!/bin/sh\n", line.split(), [], release=release, environment={"PATH": "/bin"}, work_dir="/tmp"
        )
    except sbatch.SbatchError as error:
        return str(error)
    return None


@pytest.mark.parametrize(("number", "seed"), [(NUMBER, 1), pytest.param(LONG, 2, marks=pytest.mark.soak)])
def test_what_sbatch_refuses(asked: "Cluster", number: int, seed: int) -> None:
    """The kit refuses what sbatch refuses, and nothing else."""
    lines = [*HAND, *drawn(number, seed)]
    done = asked.root("python3", "-c", SUBMIT, input=json.dumps(lines), check=True, timeout=500)
    said = dict(zip(lines, map(json.loads, done.stdout.splitlines()), strict=True))
    ours = {line: refused(asked.release, line) for line in lines}
    passed = {line for line, text in said.items() if "ASKED" in text}
    assert passed, said
    wrong = {line: ours[line] for line in passed if ours[line] is not None}
    assert not wrong
    missed = {line: text for line, text in said.items() if line not in passed and ours[line] is None}
    assert not missed
