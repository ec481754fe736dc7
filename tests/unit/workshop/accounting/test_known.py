# SPDX-License-Identifier: GPL-2.0-or-later
"""What is taken as known does not depend on anything that is not known."""

import random
import shlex

import pytest

from slurmhooks.cli_filter.command_options import NAMES
from slurmhooks.testing import FakeJob
from slurmhooks.workshop.accounting.known import DECISIVE, OTHERS, OWN, PER_GPU
from slurmhooks.workshop.accounting.submission import Computing, Kept, kept
from slurmhooks.workshop.testing import sbatch
from slurmhooks.workshop.testing.job_submit import struct_of
from slurmhooks.workshop.testing.options.variables import VARIABLES
from slurmhooks.workshop.testing.tables import tables_of
from tests.cluster.sbatch_scripts import LINES, SCRIPTS
from tests.cluster.turns import moved_from

pytestmark = pytest.mark.slow

WORDS = [line for line in LINES if not set("@#\\") & set(line) and line != "--external"]
OF_VARIABLES = {
    **dict.fromkeys(("SBATCH_ACCOUNT", "SBATCH_QOS", "SBATCH_JOB_NAME", "SBATCH_OUTPUT", "SBATCH_GRES"), ("x", "y")),
    **dict.fromkeys(("SBATCH_TIMELIMIT", "SBATCH_MEM_PER_NODE", "SBATCH_MEM_PER_CPU", "SBATCH_GPUS"), ("7", "9")),
    **dict.fromkeys(("SBATCH_OVERCOMMIT", "SBATCH_REQUEUE", "SBATCH_EXCLUSIVE", "SBATCH_NO_KILL"), ("", "set")),
    "SBATCH_HINT": ("nomultithread",),
    "SBATCH_DISTRIBUTION": ("cyclic",),
    "SBATCH_TRES_PER_TASK": ("cpu=3",),
    "SBATCH_CPUS_PER_GPU": ("2",),
    "SBATCH_THREADS_PER_CORE": ("1",),
    "SBATCH_GPUS_PER_TASK": ("1",),
}


def test_names() -> None:
    """The tables name options of sbatch and members of a request."""
    members = {*tables_of("26.05")["job"].places, *tables_of("22.05")["job"].places}
    assert {*OWN, *DECISIVE, *OTHERS} <= members
    options = {option for options in (*OWN.values(), *DECISIVE.values()) for option in options}
    assert options <= {*NAMES["sbatch"]}


@pytest.mark.parametrize("option", ["--distribution=plane=2", "--cpu-freq=high", "-B1:1:1", "--gres-flags=x"])
@pytest.mark.parametrize("of_script", [False, True])
def test_options_that_are_left_to_slurm(option: str, of_script: bool) -> None:
    """What only Slurm computes is not known of a request with such an option, wherever it was given."""
    line, script = ("", f"#SBATCH {option}\n") if of_script else (f" {option}", "")
    columns = {"SubmitLine": f"sbatch{line} /x.sh", "UID": "1", "GID": "1", "JobID": "1"}
    given = Computing("26.05").request(columns, kept(f"#!/bin/sh\n{script}", "HOME=/"))
    assert {"task_dist", "plane_size", "cpu_freq_max", "threads_per_core", "bitflags"} <= given.unknown
    assert "time_limit" not in given.unknown


@pytest.mark.parametrize("number", [1000, pytest.param(10000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("release", moved_from(1, ["22.05", "24.11", "26.05"]))
def test_known_members_do_not_change(release: str, number: int) -> None:
    """Whatever script and variables turn out to be, the members that are known without them have these values."""
    drawing = random.Random(release)
    computing = Computing(release)
    variables = {name for name, _ in VARIABLES["sbatch"]}
    assert set(OF_VARIABLES) <= variables
    compared = members = 0
    for count in range(number):
        line = shlex.split(" ".join(drawing.sample(WORDS, drawing.randint(0, 3))))
        if any(set(word) & set(" '\"") for word in line):
            continue
        script = drawing.choice(list(SCRIPTS.values()))
        if drawing.random() < 0.5:
            script = "".join(["#!/bin/sh\n", *(f"#SBATCH {each}\n" for each in drawing.sample(WORDS, 2))])
        if any(word in script for word in ("@", "hetjob", "packjob", "--external", *PER_GPU)):
            continue
        given = {name: drawing.choice(OF_VARIABLES[name]) for name in drawing.sample(sorted(OF_VARIABLES), 1)}
        given = given if drawing.random() < 0.5 else {}
        try:
            fields = sbatch.submission(
                f"/s{count}.sh", script, line, [], release=release, work_dir="/w", environment=given
            )
            theirs = struct_of(FakeJob(release=release, **fields)).raws
        except (AttributeError, ValueError):  # refused, or not in this release
            continue
        text = " ".join(["sbatch", *line, f"/s{count}.sh"])
        environment = "".join(f"{name}={value}\n" for name, value in {"A": "1", **given}.items())
        columns = {"JobID": "1", "UID": "1000", "GID": "1000", "SubmitLine": text}
        for texts in (Kept(), kept(script, None), kept(None, environment), kept(script, environment)):
            ours = computing.request(columns, texts)
            compared += 1
            for member in set(theirs) - ours.unknown - {"environment", "env_size"}:
                value = ours.raws.get(member, computing.slots[tables_of(release)["job"].places[member]] or None)
                assert (value or None) == (theirs[member] or None), (member, text, script, given, texts)
                members += 1
    assert compared > number
    assert members / compared > 20
