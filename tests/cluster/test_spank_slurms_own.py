# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm's own tests of C plugins, with handlers: the results must be the same."""

import re
from typing import Any

import pytest

from docs.spank_callbacks import PLACES
from docs.spank_functions import FUNCTIONS
from slurmhooks.spank.fields import ITEMS
from tests.cluster.spank.site import PLUGSTACK, Site, job_id_of

pytestmark = pytest.mark.moved

MODES = ("python", "manifest")


def use(lent: Site, text: str, mode: str = "manifest", line: str = "required spank_python.so") -> None:
    """Put one hook file in force, with or without a manifest, and remove records."""
    lent.root("scancel --user=alice")
    lent.wait_until_idle()
    lent.resume()
    lent.hooks(hooks=text)
    lent.plugstack(line)
    lent.forget_records()
    if mode == "python":
        lent.without_manifest()


# spank.h: the tables of the documentation.


def test_tables_are_the_header(lent: Site) -> None:
    """Every callback, item and function of this release's spank.h has a row, and no row belongs to a later release."""
    text = lent.root("cat /usr/include/slurm/spank.h")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    functions = set(re.findall(r"\b((?:spank|slurm)_\w+)\s*\(", text))
    symbols = set(re.findall(r"\bextern (?:spank_f|int) (\w+);", text))
    items = re.findall(r"\bS_(?:JOB|TASK|STEP|SLURM)_\w+", text)
    names = {row.name for row in FUNCTIONS if tuple(map(int, row.since.split("."))) <= lent.since}
    assert names == functions | (symbols & {"slurm_spank_init_failure_mode"})
    assert {f"slurm_spank_{place.callback}" for place in PLACES} == symbols - names
    assert [item.item for item in ITEMS] == items


# test7.21: ids of a job array in SPANK and in Slurm.

ASKING = """
import json, subprocess
from slurmhooks import hook

@hook.spank.task_init
def ask(spank):
    asked = subprocess.run(["/usr/bin/scontrol", "--oneliner", "show", "job", str(spank.job_id)],
                           capture_output=True, text=True)
    # Of the first task's id Slurm tells the whole array.
    (row,) = [row for row in asked.stdout.splitlines() if row.startswith(f"JobId={spank.job_id} ")]
    told = dict(word.split("=", 1) for word in row.split() if "=" in word)
    fields = {"step": spank.step_name, "job": spank.job_id, "array": spank.job_array_id,
              "task": spank.job_array_task_id, "exit": asked.returncode,
              "told": [told.get(name) for name in ("JobId", "ArrayJobId", "ArrayTaskId", "JobState")]}
    with open("/opt/spank/records", "a") as file:
        file.write(json.dumps(fields) + "\\n")
"""


@pytest.mark.parametrize("options", ["", "--array=1-2"], ids=["job", "array"])
def test_job_array(lent: Site, options: str) -> None:
    """In each step the ids are the same as in Slurm's answer to a query of the handler."""
    use(lent, ASKING)
    done = lent.shell(f"sbatch -o /dev/null {options} -n1 -W --wrap 'srun true'")
    first = job_id_of(done.stdout)
    assert first is not None, done.stdout
    records: list[dict[str, Any]] = lent.records()
    tasks = [1, 2] if options else [None]
    assert sorted((str(record["task"]), record["step"]) for record in records) == [
        (str(task), step) for task in tasks for step in ("0", "batch")
    ]
    for record in records:
        assert record["exit"] == 0
        assert record["array"] == (first if options else None)
        task = str(record["task"]) if options else None
        assert record["told"] == [str(record["job"]), str(first) if options else None, task, "RUNNING"]
    assert len({record["job"] for record in records}) == len(tasks)


# test_147_2: slurm_spank_init_failure_mode.

FAILS_IN = """
from slurmhooks import Reject, hook

@hook.spank.init(contexts=["remote"])
def refuse(spank):
    raise Reject("refused in init")
"""
LOADS_NOWHERE_BUT_LOCALLY = """
from slurmhooks import hook

with open("/proc/self/comm") as name, open("/proc/self/cmdline") as words:
    # The processes of prolog and epilog are called slurmstepd, too.
    if name.read().strip() == "slurmstepd" and "spank" not in words.read().split(chr(0)):
        raise OSError("a file server is gone")

@hook.spank.task_init
def task(spank):
    pass
"""
NAMES_ITS_CODE = FAILS_IN.replace('"refused in init"', '"refused in init", code="ESPANK_NODE_FAILURE"')
CASES = {
    "default": (FAILS_IN, "", "node"),
    "node": (FAILS_IN, "init_failure_mode=node", "node"),
    "job": (FAILS_IN, "init_failure_mode=job", "job"),
    "job, before a glob": (FAILS_IN, "init_failure_mode=job hooks.d/hooks.py", "job"),
    "an argument of handlers": (FAILS_IN, "hooks.d/hooks.py init_failure_mode=job", "node"),
    "job, but a handler says node": (NAMES_ITS_CODE, "init_failure_mode=job", "node"),
    "hook file that does not load": (LOADS_NOWHERE_BUT_LOCALLY, "init_failure_mode=job", "job"),
}
"""Hook file, arguments on the line of plugstack.conf, and what a failure affects."""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_init_failure_mode(lent: Site, case: str, mode: str) -> None:
    """The site chooses whether a batch step that cannot start drains the node and is requeued, or fails the job."""
    if lent.since < (25, 5):
        pytest.skip("Slurm has the choice from 25.05 on; test_init_failure_mode_of_old_releases")
    text, arguments, fault = CASES[case]
    use(lent, text, mode, f"required spank_python.so {arguments}")
    done = lent.shell("sbatch -w n1 -o /dev/null --wrap 'srun true'")
    job = job_id_of(done.stdout)
    assert job is not None, done.stdout
    if fault == "node":
        lent.cluster.wait(lambda: lent.job(job)["Restarts"] == "1", what="requeue of the job")
        lent.cluster.wait(lambda: "n1" in lent.drained(), what="drain of the node")
        # A requeued job is in COMPLETING until its node is done with it.
        lent.cluster.wait(lambda: lent.job(job)["JobState"] == "PENDING", what="job that waits")
    else:
        assert lent.wait_for_job(job) == "FAILED"
        assert lent.job(job)["Restarts"] == "0"
        lent.wait_until_idle()
        assert lent.drained() == []


def test_init_failure_mode_of_old_releases(lent: Site) -> None:
    """Before 25.05 slurmd logs at its start that it ignores the choice, and the node is drained."""
    if lent.since >= (25, 5):
        pytest.skip("this release has the choice; test_init_failure_mode")
    use(lent, FAILS_IN, line="required spank_python.so init_failure_mode=job")
    lent.cluster.restart()
    assert "init_failure_mode is ignored: it takes Slurm 25.05 or later" in lent.cluster.log("n1")
    lent.shell("sbatch -w n1 --no-requeue -o /dev/null --wrap 'srun true'")
    lent.cluster.wait(lambda: "n1" in lent.drained(), what="drain of the node")


def test_a_wrong_init_failure_mode(lent: Site) -> None:
    """An unknown value stops no command, and `check` has a list of the valid ones."""
    use(lent, "from slurmhooks import hook\n\n@hook.spank.task_init\ndef task(spank): ...\n")
    lent.cluster.deploy()
    lent.root(f"echo required spank_python.so init_failure_mode=jobs > {PLUGSTACK}")
    assert lent.shell("srun true").returncode == 0
    report = lent.cluster.root("slurmhooks", "check")
    assert report.returncode == 1
    assert "init_failure_mode=jobs: it can be init_failure_mode=node or init_failure_mode=job" in report.stderr
