# SPDX-License-Identifier: GPL-2.0-or-later
"""`try job_submit` on a machine with Slurm: handlers see what slurmctld's handlers see of the same command."""

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster import kit_pairs
from tests.cluster.kit_pairs import ENVIRONMENT, FOLDER, USER, Command, Done, in_slurm
from tests.cluster.spank.site import site
from tests.cluster.test_kit_pairs_commands import HOOKS, SCRIPT, sbatch

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = [pytest.mark.stopped, pytest.mark.moved]

TRY = f"""
import json, os, sys
from unittest import mock
from click.testing import CliRunner
from slurmhooks.cli import main

os.chdir("{FOLDER}")
done = []
for case in json.load(sys.stdin):
    for name, text in case["files"].items():
        with open(name, "w", newline="") as file:
            file.write(text)
    with open("records", "w"):
        pass
    with mock.patch.dict(os.environ, case["env"], clear=True):
        result = CliRunner().invoke(main, case["words"], input=case["stdin"])
    with open("records") as file:
        rows = [json.loads(line) for line in file]
    done.append([result.exit_code, result.stdout, result.stderr, rows])
json.dump(done, sys.stdout)
"""
OWN = ("alloc_node", "alloc_sid", "alloc_resp_port", "other_port", "user_id", "group_id")
"""Fields that differ in each call, that sending sets, or that slurmctld takes from its connection."""
COMMANDS = [
    sbatch("a.sh", "one", "two words", "--three", script=SCRIPT),
    sbatch("--wrap=echo a", "-n", "3", "-J", "wrapped"),
    sbatch("-n", "4", stdin=SCRIPT),
    sbatch("a.sh", script="#!/bin/sh\n#PBS -l nodes=2:ppn=3\n#PBS -l walltime=1:00:00\n"),
    sbatch("-n2", "-A", "x", ":", "-n4", "--kit-word=second", "a.sh", script=SCRIPT),
    sbatch(
        "-a",
        "1-10%2",
        "--gpus=2",
        "--cpus-per-gpu=1",
        "--mem-per-gpu=10",
        "-N2-4",
        "--hint=nomultithread",
        "--wrap=true",
    ),
    sbatch("--tres-per-task=cpu=2", "-n4", "-m", "plane=2", "-B", "2:2:1", "--wrap=true", SBATCH_TIMELIMIT="7"),
    sbatch("--export=SITE,MADE=1", "-w", "n[1-2]", "--signal=B:USR1@30", "--wrap=true", OTHER="x"),
    sbatch("--nonesuch", "--wrap", "true"),
    sbatch("--mem=1", "--mem-per-cpu=2", "--wrap", "true"),
    sbatch("a.sh", script="#!/bin/sh\r\ntrue\r\n"),
    sbatch("--wrap", "true", KIT_REFUSE="pre_submit"),
    sbatch("--comment=mine", "--wrap", "true", KIT_DEFAULT="1"),
    sbatch("--kit-word=bad", "--wrap", "true"),
    sbatch("--test-only", "--wrap", "true"),
    Command(("srun", "-lun2", "--kit-wor=a", "--ntasks-per-core=1", "true")),
    Command(("srun", "-n1", "true", ":", "-n2", "false")),
    Command(("salloc", "--kit-words= 7 ", "--kit-flag", "-t1:00:00", "true")),
    Command(("salloc", "-n1", ":", "-n2", "true")),
]
"""Options of several kinds together, of scripts, variables, plugins and filters, and what commands refuse."""


@pytest.fixture(scope="module")
def asked(cluster: "Cluster") -> "Cluster":
    """Return a cluster whose handlers record what they see."""
    prepared = site(cluster)
    prepared.hooks(kit=HOOKS.replace("@FOLDER@", FOLDER))
    prepared.plugstack("required spank_python.so")
    kit_pairs.prepare(cluster)
    before = prepared.root("cat /etc/slurm/local.conf")
    more = "CliFilterPlugins=python\nGresTypes=gpu,nic\nAllowSpecResourcesUsage=yes\n"
    cluster.put(f"{before}\n{more}", "/etc/slurm/local.conf")
    cluster.restart()
    return cluster


def tried(cluster: "Cluster", commands: list[Command]) -> list[Done]:
    """Return what `try job_submit` does with the same commands, as alice in the cluster."""
    cases = []
    for each in commands:
        program, *words = each.argv
        source = ["-"] if each.stdin else []
        cases.append({
            "words": ["try", "job_submit", "--json", "--command", program, *source, "--", *words],
            "env": {**ENVIRONMENT, **USER, **each.env}, "files": each.files, "stdin": each.stdin,
        })  # fmt: skip
    python = cluster.root("sh", "-c", "head -1 $(which slurmhooks)", check=True).stdout.strip().removeprefix("#!")
    done = cluster.user("alice", *python.split(), "-c", TRY, input=json.dumps(cases), check=True, timeout=500)
    return [Done(*row) for row in json.loads(done.stdout.replace(FOLDER, "@FOLDER@"))]


def requests(done: Done) -> list[dict[str, Any]]:
    """Return what handlers of job_submit saw, without what differs between two calls."""
    rows = done.of("job_submit")
    for row in rows:
        for name in OWN:
            row["fields"].pop(name, None)
    return rows


def test_same_requests(asked: "Cluster") -> None:
    """Each field, variable and argument is the same, and what the command refuses, `try` refuses."""
    wrong = []
    for command, real, ours in zip(COMMANDS, in_slurm(asked, COMMANDS), tried(asked, COMMANDS), strict=True):
        mine, theirs = (dict(enumerate(requests(done))) for done in (ours, real))
        found = list(kit_pairs.differences(mine, theirs, ()))
        if not requests(real) and ours.code == 0:
            found.append("the command refuses this")
        if "approximate" in ours.out + ours.err:
            found.append("the command was not asked")
        wrong += [f"{command}: {text}" for text in found]
    assert not wrong, "\n".join(wrong)


def test_a_command_that_asks_a_daemon_first(asked: "Cluster") -> None:
    """It ends, no step of a job starts, and a note says that the fields are approximate."""
    (done,) = tried(asked, [Command(("srun", "--jobid=7", "touch", f"{FOLDER}/started"))])
    assert "approximate" in done.out
    assert "would connect to a network" in done.out
    assert asked.root("test", "-e", f"{FOLDER}/started").returncode
