# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm's own tests of C plugins, with handlers: the results must be the same."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from docs.spank_callbacks import PLACES
from docs.spank_functions import FUNCTIONS
from slurmhooks.spank.fields import ITEMS
from tests.cluster.spank.site import HERE, PLUGSTACK, SLURM_CONF, Site, job_id_of
from tests.cluster.test_spank_failures import ROWS, Result

pytestmark = pytest.mark.moved

ALICE = 2001
COUNTING = (HERE / "counting.py").read_text()
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


def batch(lent: Site, script: str, options: str) -> tuple[int, str, str]:
    """Submit a script and wait for it.

    Returns:
        the job's id, sbatch's output and the job's.
    """
    lent.root("rm -f /home/alice/job.out")
    lent.cluster.put(f"#!/bin/sh\n{script}\n", "/home/alice/job.sh", mode=0o755)
    done = lent.shell(f"cd; sbatch -o job.out {options} job.sh")
    assert done.returncode == 0, done.stdout
    job_id = job_id_of(done.stdout)
    assert job_id is not None
    lent.wait_until_idle()
    lent.wait_for_job(job_id)
    return job_id, done.stdout, lent.root("cat /home/alice/job.out")


def count(text: str, pattern: str) -> int:
    """Return how often a pattern occurs."""
    return len(re.findall(pattern, text))


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


# test7.11: options.


@pytest.mark.parametrize("mode", MODES)
def test_options_in_help(lent: Site, mode: str) -> None:
    """srun has both options; salloc and sbatch lack the option for steps."""
    use(lent, COUNTING, mode)
    for command, step in (("srun", 1), ("salloc", 0), ("sbatch", 0)):
        text = lent.shell(f"{command} --help").stdout
        assert count(text, "--count-step=") == step, command
        assert count(text, "--count-job=") == 1, command


@pytest.mark.parametrize("mode", MODES)
def test_options_travel(lent: Site, mode: str) -> None:
    """The batch step, the srun in it and the step of that have sbatch's options.

    srun's own options exist only from srun on.
    """
    use(lent, COUNTING, mode)
    _, submitted, output = batch(lent, "srun --count-step=5 true", "--count-job=4 -n1")
    assert count(submitted, "taken: count-job=4") == 1
    assert count(submitted, r"exit: counts=\[4, None\]") == 1
    assert "error:" not in output
    assert count(output, "taken: count-job=4") == 1
    assert count(output, "taken: count-step=5") == 1
    assert count(output, r"local_user_init: counts=\[4, 5\]") == 1
    assert count(output, r"exit: counts=\[4, 5\]") == 1
    for text in (submitted, output):
        assert count(text, "control: upper case lower None") == 1

    lent.wait_for_records(callback="exit", step="0")
    lent.wait_for_records(callback="exit", step="batch")
    tasks = {str(record["counts"]): record for record in lent.records() if record["callback"] == "task_init"}
    assert set(tasks) == {"[4, None]", "[4, 5]"}
    assert {record["uid"] for record in tasks.values()} == {ALICE}
    assert tasks["[4, None]"]["argv"][0].endswith(("/slurm_script", "/job.sh"))
    assert tasks["[4, 5]"]["argv"] == ["true"]
    ends = {record["step"]: record["counts"] for record in lent.records() if record["callback"] == "exit"}
    assert ends["batch"] == [4, None]
    assert ends["0"] == [4, 5]
    (prolog,) = [record for record in lent.records() if record["callback"] == "job_prolog"]
    assert prolog["control"] == ["upper case", "lower", None]


@pytest.mark.parametrize("mode", MODES)
def test_a_value_is_refused(lent: Site, mode: str) -> None:
    """Each command ends at once with the text of the check."""
    use(lent, COUNTING, mode)
    for command in ("sbatch --wrap true", "salloc true", "srun true"):
        name, _, rest = command.partition(" ")
        zero = lent.shell(f"{name} --count-job=0 {rest}")
        assert zero.returncode != 0
        assert re.search(f"{name}: error: .*--count-job: a number other than zero is required", zero.stdout)
        assert "Traceback" not in zero.stdout
        text = lent.shell(f"{name} --count-job=NaN {rest}")
        assert text.returncode != 0
        assert re.search(f"{name}: error: .*--count-job takes a whole number", text.stdout)
    assert lent.records() == []


# test38.6: heterogeneous jobs.


@pytest.mark.parametrize("mode", MODES)
def test_heterogeneous_job(lent: Site, mode: str) -> None:
    """Each component has its options, its calls and its step, in sbatch, in srun and on the nodes."""
    use(lent, COUNTING, mode)
    _, submitted, output = batch(
        lent, "srun --mpi=none --count-step=5 --het-group=0,1 true", "--count-job=4 -w n1 -n1 : -w n2 -n1"
    )
    assert count(submitted, r"exit: counts=\[4, None\]") == 1
    assert count(submitted, "taken: count-job=4") >= 1
    assert "error:" not in output
    assert count(output, "taken: count-job=4") == 2
    assert count(output, "taken: count-step=5") == 2
    assert count(output, "local_user_init:") == 1
    assert count(output, r"exit: counts=\[4, 5\]") == 1

    lent.cluster.wait(
        lambda: sum(record["callback"] == "exit" for record in lent.records()) >= 3, what="end of three steps"
    )
    tasks = [record for record in lent.records() if record["callback"] == "task_init"]
    assert sorted(str(record["counts"]) for record in tasks) == ["[4, 5]", "[4, 5]", "[4, None]"]
    assert {record["uid"] for record in tasks} == {ALICE}
    ends = [(record["step"], record["counts"]) for record in lent.records() if record["callback"] == "exit"]
    assert sorted(ends) == [("0", [4, 5]), ("0", [4, 5]), ("batch", [4, None])]


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
    first, _, _ = batch(lent, "srun echo IT_RAN", f"{options} -n1 -W")
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


# test7.24: the effects of a refusal.

FAILURES = """
srun   init                 local     1 - -
srun   init_post_opt        local     1 - -
srun   local_user_init      local     1 - fails
srun   user_init            remote    1 - fails
srun   task_init_privileged remote    1 - fails
srun   task_post_fork       remote    1 - fails
srun   task_init            remote    1 - fails
srun   task_exit            remote    0 - -
srun   exit                 local     0 - -
salloc init                 allocator 1 - -
salloc init_post_opt        allocator 1 - -
salloc init                 local     1 - fails
salloc init_post_opt        local     1 - fails
salloc local_user_init      local     1 - fails
salloc user_init            remote    1 - fails
salloc task_init_privileged remote    1 - fails
salloc task_post_fork       remote    1 - fails
salloc task_init            remote    1 - fails
salloc task_exit            remote    0 - -
salloc exit                 local     0 - -
salloc exit                 allocator 0 - -
sbatch init                 allocator 1 - -
sbatch init_post_opt        allocator 1 - -
sbatch init                 local     0 - fails
sbatch init_post_opt        local     0 - fails
sbatch local_user_init      local     0 - fails
sbatch user_init            remote    0 drains fails
sbatch task_init_privileged remote    0 - fails
sbatch task_post_fork       remote    0 drains fails
sbatch task_init            remote    0 - fails
sbatch task_exit            remote    0 - -
sbatch exit                 local     0 - -
sbatch exit                 allocator 0 - -
"""
"""Command, callback, context, exit code, node drained, job failed; of sbatch without ``--wait``, so 0 if it submits."""


@pytest.mark.parametrize("row", FAILURES.strip().splitlines(), ids=lambda row: "-".join(row.split()[:3]))
def test_matrix_of_failures(row: str) -> None:
    """test_spank_failures.py plays each cell of Slurm's own matrix, and expects the same results."""
    command, callback, context, code, drains, fails = row.split()
    (found,) = [r.result for r in ROWS if (r.command, r.callback, r.context) == (command, callback, context)]
    assert isinstance(found, Result)
    assert found.exit == int(code)
    assert found.drains == (drains == "drains")
    assert (found.job in ("FAILED", "CANCELLED")) == (fails == "fails")


# test_147_1: contain_spank.

CONTAINED = """
import os
from slurmhooks import hook

def leave(spank):
    with open("/opt/private/" + spank.callback, "w") as file:
        file.write(str(os.getpid()))

for callback in ("user_init", "task_post_fork", "task_exit"):
    getattr(hook.spank, callback)(leave)
"""
PRIVATE = "/opt/private"
CONTAINER_CONF = "/etc/slurm/job_container.conf"


@pytest.fixture
def contained(lent: Site) -> Iterator[Site]:
    """A site with private folders for jobs, in which step handlers run."""
    if lent.since < (24, 5):
        pytest.skip("SlurmdParameters=contain_spank came with 24.05")
    new = lent.since >= (25, 11)
    kind = "NamespaceType=namespace/tmpfs" if new else "JobContainerType=job_container/tmpfs"
    before = lent.root(f"cat {SLURM_CONF}")
    rows = [row for row in before.splitlines() if not row.startswith("SlurmdParameters=")]
    rows += ["PrologFlags=contain", "SlurmdParameters=config_overrides,contain_spank", kind, ""]
    use(lent, "")
    lent.root(f"mkdir -p {PRIVATE}; chmod 1777 {PRIVATE}; rm -f {PRIVATE}/*; touch {PRIVATE}/of_the_host")
    lent.cluster.put(f"AutoBasePath=true\nBasePath=/var/spool/own\nDirs={PRIVATE}\n", CONTAINER_CONF)
    lent.cluster.put("\n".join(rows), SLURM_CONF)
    lent.cluster.restart()
    try:
        yield lent
    finally:
        lent.wait_until_idle()
        lent.cluster.put(before, SLURM_CONF)
        lent.root(f"rm -rf {PRIVATE} {CONTAINER_CONF}")
        lent.cluster.restart()


def test_contain_spank(contained: Site) -> None:
    """Three callbacks write files that the job can see and the host cannot, with and without a manifest."""
    for mode in MODES:
        use(contained, CONTAINED, mode)
        _, _, output = batch(contained, f"srun true\nls {PRIVATE}", "-n1")
        assert sorted(output.split()) == ["task_exit", "task_post_fork", "user_init"], mode
        assert contained.root(f"ls {PRIVATE}").split() == ["of_the_host"], mode


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
    use(lent, COUNTING)
    lent.cluster.deploy()
    lent.root(f"echo required spank_python.so init_failure_mode=jobs > {PLUGSTACK}")
    assert lent.shell("srun true").returncode == 0
    report = lent.cluster.root("slurmhooks", "check")
    assert report.returncode == 1
    assert "init_failure_mode=jobs: it can be init_failure_mode=node or init_failure_mode=job" in report.stderr
