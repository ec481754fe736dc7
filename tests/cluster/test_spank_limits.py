# SPDX-License-Identifier: GPL-2.0-or-later
"""What Slurm itself does not give to SPANK handlers: options in extern steps, and time for programs that they start."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.cluster.spank.site import RECORDS, RECORDS_D, Site, settle, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.stopped

HEAD = f"""
import json
import os
import signal
import subprocess
from slurmhooks import Reject, hook, log

word = hook.spank.option("limits-word", "WORD", usage="for a test")

def note(**values):
    file = os.open({RECORDS!r}, os.O_WRONLY | os.O_APPEND)
    os.write(file, (json.dumps(values) + "\\n").encode())
    os.close(file)
"""


@pytest.fixture(scope="module")
def lent_for_module(cluster: "Cluster") -> Site:
    """A cluster whose jobs have extern steps."""
    prepared = site(cluster, PrologFlags="Contain")
    prepared.plugstack("required spank_python.so")
    return prepared


@pytest.fixture
def lent(lent_for_module: Site) -> Iterator[Site]:
    """The cluster without hooks, jobs and records."""
    settle(lent_for_module)
    lent_for_module.forget_records()
    yield lent_for_module
    lent_for_module.hooks()
    settle(lent_for_module)


def test_extern_steps_have_neither_options_nor_variables(lent: Site) -> None:
    """In an extern step an option has no value and spank.env is empty; the job's own step has both."""
    lent.hooks(
        limits=HEAD
        + """
@hook.spank.init_post_opt(contexts="remote")
def step(spank):
    note(step=spank.step_name, word=word.value, variables=sorted(spank.env), job=spank.env.get("SLURM_JOB_ID"))
"""
    )
    done = lent.shell("srun --limits-word=x true")
    assert done.returncode == 0, done.stdout
    (extern,) = lent.wait_for_records(step="extern")
    (own,) = lent.wait_for_records(step="0")
    assert (extern["word"], extern["job"]) == (None, None)
    assert [name for name in extern["variables"] if not name.startswith("SLURM_TOPOLOGY")] == []
    assert (own["word"], own["job"] is None, "HOME" in own["variables"]) == ("x", False, True)


def test_a_refusal_in_an_extern_step_is_a_failed_prolog(lent: Site) -> None:
    """The program does not run, and the prolog counts as failed."""
    lent.hooks(
        limits=HEAD
        + """
@hook.spank.init_post_opt(contexts="remote")
def step(spank):
    if spank.step_name == "extern":
        raise Reject("not in extern steps")
"""
    )
    lent.root(f"rm -f {RECORDS_D}/ran")
    lent.shell(f"sbatch --parsable --no-requeue -o /dev/null --wrap 'touch {RECORDS_D}/ran'")
    lent.cluster.wait(lambda: "not in extern steps" in lent.cluster.log("slurmd"), what="refusal in the log")
    lent.cluster.wait(
        lambda: any(text in lent.cluster.log("slurmctld") for text in ("prolog", "Prolog")), what="effect of the prolog"
    )
    assert lent.root(f"ls {RECORDS_D}").split() == ["records"]


def test_programs_of_slurmstepd_end_before_exit(lent: Site) -> None:
    """A program that a handler has started in slurmstepd gets SIGKILL before exit; in task_exit it still runs."""
    lent.hooks(
        limits=HEAD
        + """
programs = []

@hook.spank.task_post_fork
def start(spank):
    if spank.step_name != "extern":
        programs.append(subprocess.Popen(["sleep", "600"]))

@hook.spank.task_exit
def task_exit(spank):
    note(place="task_exit", status=programs[0].poll())

@hook.spank.exit(contexts="remote")
def end(spank):
    if programs:
        programs[0].wait(30)
        note(place="exit", status=programs[0].returncode)
"""
    )
    assert lent.shell("srun sleep 1").returncode == 0
    (last,) = lent.wait_for_records(place="exit")
    (before,) = lent.wait_for_records(place="task_exit")
    assert (before["status"], last["status"]) == (None, -9)


def test_programs_of_srun_need_a_signal_mask_of_their_own(lent: Site) -> None:
    """srun before 26.05 blocks signals, which its children inherit; the line of docs/spank.md lets them be ended."""
    lent.hooks(
        limits=HEAD
        + """
@hook.spank.local_user_init
def start(spank):
    free = lambda: signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for name, preexec in (("plain", None), ("free", free)):
        program = subprocess.Popen(["sleep", "600"], preexec_fn=preexec)
        program.terminate()
        try:
            program.wait(2)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()
        note(name=name, status=program.returncode)
"""
    )
    assert lent.shell("srun true").returncode == 0
    statuses = {record["name"]: record["status"] for record in lent.wait_for_records(2)}
    assert statuses["free"] == -15
    if lent.since <= (24, 11) or lent.since >= (26, 5):
        assert statuses["plain"] == (-9 if lent.since <= (24, 11) else -15)
