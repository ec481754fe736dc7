# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of SPANK that handlers of job_submit read and set, and what then reaches each part of the job."""

from typing import TYPE_CHECKING

import pytest

from tests.cluster.spank import requests
from tests.cluster.spank.site import HERE, Site, site
from tests.cluster.turns import moved, moved_from

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.one_release("22.05", "24.11")

GIVEN = "--req-word='x y' --req-number=3 --req-flag --req-maybe=z"
GIVEN_VALUES = {"req-word": "x y", "req-number": 3, "req-flag": True, "req-maybe": "z"}
SET_VALUES = {"req-word": requests.WORD, "req-number": 7, "req-flag": True, "req-maybe": True}
CLIENT = "/opt/submit"


@pytest.fixture(scope="module")
def requested(cluster: "Cluster") -> Site:
    """A site whose hook file serves slurmctld, commands and nodes."""
    lent = site(cluster)
    lent.hooks(requests=(HERE / "requests.py").read_text())
    lent.plugstack("required spank_python.so")
    cluster.put((HERE / "submit.c").read_text(), f"{CLIENT}.c")
    lent.root(f"gcc {CLIENT}.c -o {CLIENT} -lslurm")
    return lent


def everywhere(lent: Site) -> list[object]:
    """Return the different values that batch script, step, prolog and epilog have."""
    lent.wait_for_records(callback="job_epilog")
    parts = [{"step": "batch"}, {"step": "0"}, {"callback": "job_prolog"}, {"callback": "job_epilog"}]
    found: list[object] = []
    for part in parts:
        for record in lent.wait_for_records(1, **part):
            if record["values"] not in found:
                found.append(record["values"])
    return found


def run(lent: Site, command: str) -> str:
    """Run a command that submits a batch job, and wait for the job's end; return its output."""
    lent.wait_until_idle()
    lent.forget_records()
    done = lent.shell(f"cd; {command}")
    assert done.returncode == 0, done.stdout
    lent.wait_for_job(int(done.stdout.split()[-1]))
    return done.stdout


@pytest.mark.parametrize(
    ("arguments", "read", "values"),
    moved_from(
        2,
        [
            pytest.param("--comment=set", {}, SET_VALUES, id="set"),
            pytest.param(f"--comment=set {GIVEN}", GIVEN_VALUES, SET_VALUES, id="changed"),
            pytest.param(f"--comment=set --export=NONE {GIVEN}", GIVEN_VALUES, SET_VALUES, id="without-environment"),
            pytest.param(f"--comment=unset {GIVEN}", GIVEN_VALUES, {}, id="unset"),
            pytest.param("--req-flag --req-maybe", {"req-flag": True, "req-maybe": True}, None, id="read"),
        ],
    ),
)
def test_sbatch(requested: Site, arguments: str, read: dict[str, object], values: dict[str, object] | None) -> None:
    """A handler reads the values that the user gave; those that it sets are the same in every part of the job."""
    run(requested, f"sbatch --parsable -o /dev/null {arguments} --wrap 'srun -Q true'")
    assert requested.wait_for_records(hook="job_submit")[0]["values"] == read
    assert everywhere(requested) == [read if values is None else values]


def test_other_clients(requested: Site) -> None:
    """The same for a job that sbatch did not submit, so that it has no variables of options."""
    run(requested, f"{CLIENT} set '#!/bin/sh\nsrun -Q true\n'")
    assert requested.wait_for_records(hook="job_submit")[0]["values"] == {}
    assert everywhere(requested) == [SET_VALUES]


@pytest.mark.parametrize("command", ["srun", "salloc"])
def test_commands_without_a_script(requested: Site, command: str) -> None:
    """The options of srun and salloc can be read, but not changed, since their steps would not see the change."""
    requested.wait_until_idle()
    requested.forget_records()
    done = requested.shell(f"cd; {command} -Q {GIVEN} true")
    assert done.returncode == 0, done.stdout
    assert requested.wait_for_records(hook="job_submit")[0]["values"] == GIVEN_VALUES
    done = requested.shell(f"cd; {command} --comment=set true")
    assert done.returncode != 0
    assert "slurmhooks: job_submit handler requests:change failed" in done.stdout
    assert "--req-word cannot be set: only batch jobs carry their environment" in requested.cluster.log("slurmctld")


def test_values_of_processes(requested: Site) -> None:
    """slurmctld does not know the value of a process of the job: reading it fails, and the log says why."""
    done = requested.shell(f"cd; sbatch --comment=value {GIVEN} --wrap true")
    assert done.returncode != 0
    assert "slurmhooks: job_submit handler requests:change failed" in done.stdout
    assert "--req-word has no .value here" in requested.cluster.log("slurmctld")


def test_forged_values(requested: Site) -> None:
    """Variables that a user forged are refused where the parts of the job would differ, or a value is invalid."""
    name = "_SLURM_SPANK_OPTION_python_req_number"
    done = requested.shell(f"cd; sbatch --export=ALL,{name}=x --wrap true")
    assert done.returncode != 0
    assert "--req-number takes a whole number, not 'x'" in done.stdout
    done = requested.shell("cd; sbatch --req-word=w --wrap true", FORGE="yes")
    assert done.returncode != 0
    assert "--req-word has different values in the environment of this job: 'forged' for prolog" in done.stdout


def test_records(requested: Site) -> None:
    """The options of a job in slurmctld can be read from its record."""
    if not requested.cluster.has_sources:
        pytest.skip("without Slurm's sources slurmctld sends no jobs")
    text = (HERE / "requests.py").read_text()
    reader = '@hook.job_modify\ndef read(record):\n    write_down(hook="job_modify", word=word.of(record))\n'
    requested.hooks(requests=f"{text}\n\n{reader}")
    requested.forget_records()
    done = requested.shell("cd; sbatch --parsable -H -o /dev/null --req-word='x y' --wrap true")
    requested.shell(f"scontrol update jobid={done.stdout.strip()} comment=other")
    assert requested.wait_for_records(hook="job_modify")[0]["word"] == "x y"
    requested.shell(f"scancel {done.stdout.strip()}")


@pytest.mark.parametrize("mode", ["manifest", *moved("python")])
def test_a_node_without_the_option(requested: Site, mode: str) -> None:
    """A node whose files lack an option of the job says so in its log; on request it refuses the job's tasks."""
    text = (HERE / "requests.py").read_text()

    def files(content: str, line: str) -> None:
        requested.hooks(requests=content)
        requested.plugstack(line)
        if mode == "python":
            requested.without_manifest()

    gone = text + '\n\nhook.spank.option("req-gone", "WORD", usage="on login nodes only")\n'
    for line, ran in (("", True), ("missing_options=refuse", False)):
        requested.wait_until_idle()
        files(gone, "required spank_python.so")
        submit = "cd; rm -f out; sbatch --parsable -H -o out --req-gone=x --req-flag --wrap 'echo RAN; srun -Q true'"
        job_id = int(requested.shell(submit).stdout)
        before = len(requested.cluster.log("n1"))
        files(text, f"required spank_python.so {line}")
        requested.shell(f"scontrol release {job_id}")
        state = requested.wait_for_job(job_id)
        output = requested.shell("cd; cat out").stdout
        assert ((state == "COMPLETED"), "RAN" in output) == (ran, ran), output
        assert ("this node does not have the option req_gone of the job" in output) != ran
        logs = requested.cluster.log("n1")[before:]
        assert "no hook file of this node has the option of the job in _SLURM_SPANK_OPTION_python_req_gone" in logs
        assert "python_req_flag: the job runs" not in logs
        assert requested.drained() == []
    files(text, "required spank_python.so")


def test_components(requested: Site) -> None:
    """Each component of a heterogeneous job has its own values."""
    requested.hooks(requests=(HERE / "requests.py").read_text())
    requested.forget_records()
    done = requested.shell("cd; sbatch --parsable -H -o /dev/null --req-word=a : --req-word=b --req-flag --wrap true")
    assert done.returncode == 0, done.stdout
    records = requested.wait_for_records(2, hook="job_submit")
    assert [record["values"] for record in records] == [{"req-word": "a"}, {"req-word": "b", "req-flag": True}]
    requested.shell(f"scancel {done.stdout.strip()}")
