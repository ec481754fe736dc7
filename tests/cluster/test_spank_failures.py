# SPDX-License-Identifier: GPL-2.0-or-later
"""The effect of a refusal, for each callback and each of srun, salloc and sbatch: spank(8), section Errors.

The manual's table has exit code, node drained and job failed; these tests also check whether the program ran and
whether the user sees the text.
"""

import contextlib
import queue
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from tests.cluster import reporting
from tests.cluster.spank.site import HERE, Site, site
from tests.cluster.turns import moved_from

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster


@dataclass(frozen=True)
class Result:
    """The result of one command.

    Attributes:
        exit: exit code of srun or salloc; of sbatch 0 if it submitted.
        job: final state of the job; None: no job was made.
        drains: whether the node was drained.
        ran: whether the user's program ran.
        says: whether the user saw the text of the refusal.
    """

    exit: int
    job: str | None
    drains: bool = False
    ran: bool = False
    says: bool = True


@dataclass(frozen=True)
class Row:
    """One cell of the manual's table.

    ``before`` is the result before 23.11, if it differs.
    """

    command: str
    callback: str
    context: str
    result: Result
    before: Result | None = None

    def expected(self, release: tuple[int, int]) -> Result:
        """Return the result on a release."""
        return self.before if self.before is not None and release < (23, 11) else self.result

    @property
    def fail(self) -> str:
        """Where the handlers refuse, as failing.py reads it."""
        return f"{self.callback}@{self.context}"


ENDS = Result(1, None)
FINE = Result(0, "COMPLETED", ran=True)
FAILS = Result(1, "FAILED")
SILENT = replace(FAILS, says=False)
LOGGED = replace(FINE, says=False)
# 22.05: the launch fails, and srun says so but exits with 0.
IGNORED = Result(0, "COMPLETED")
IGNORED_SILENT = replace(IGNORED, says=False)
PROLOG = Result(182, "gone", drains=True, says=False)
EPILOG = replace(LOGGED, drains=True)
# The exit code of sbatch says whether it submitted.
BATCH_FAILS = Result(0, "FAILED")
BATCH_DRAINS = replace(BATCH_FAILS, drains=True)
BATCH_DRAINS_SILENT = replace(BATCH_DRAINS, says=False)
BATCH_IGNORED_DRAINS = replace(IGNORED, drains=True)

ROWS = (
    Row("srun", "init", "local", ENDS),
    Row("srun", "init_post_opt", "local", ENDS),
    Row("srun", "local_user_init", "local", Result(1, "CANCELLED")),
    # The job that srun created counts as completed, because no step of the job has run.
    Row("srun", "init", "remote", Result(1, "COMPLETED", says=False), IGNORED_SILENT),
    Row("srun", "init_post_opt", "remote", Result(1, "COMPLETED", says=False), IGNORED_SILENT),
    Row("srun", "user_init", "remote", FAILS, IGNORED),
    Row("srun", "task_init_privileged", "remote", FAILS),
    Row("srun", "task_init", "remote", FAILS),
    Row("srun", "task_post_fork", "remote", FAILS, IGNORED),
    Row("srun", "task_exit", "remote", FINE),
    Row("srun", "exit", "remote", LOGGED),
    Row("srun", "exit", "local", FINE),
    Row("srun", "job_prolog", "job_script", PROLOG),
    Row("srun", "job_epilog", "job_script", EPILOG),
    Row("salloc", "init", "allocator", ENDS),
    Row("salloc", "init_post_opt", "allocator", ENDS),
    Row("salloc", "exit", "allocator", FINE),
    Row("salloc", "init", "local", FAILS),
    Row("salloc", "init_post_opt", "local", FAILS),
    Row("salloc", "local_user_init", "local", FAILS),
    Row("salloc", "init", "remote", SILENT, IGNORED_SILENT),
    Row("salloc", "init_post_opt", "remote", SILENT, IGNORED_SILENT),
    Row("salloc", "user_init", "remote", FAILS, IGNORED),
    Row("salloc", "task_init_privileged", "remote", FAILS),
    Row("salloc", "task_init", "remote", FAILS),
    Row("salloc", "task_post_fork", "remote", FAILS, IGNORED),
    Row("salloc", "task_exit", "remote", FINE),
    Row("salloc", "exit", "remote", LOGGED),
    Row("salloc", "exit", "local", FINE),
    Row("salloc", "job_prolog", "job_script", PROLOG),
    Row("salloc", "job_epilog", "job_script", EPILOG),
    Row("sbatch", "init", "allocator", ENDS),
    Row("sbatch", "init_post_opt", "allocator", ENDS),
    Row("sbatch", "exit", "allocator", FINE),
    Row("sbatch", "init", "local", BATCH_FAILS),
    Row("sbatch", "init_post_opt", "local", BATCH_FAILS),
    Row("sbatch", "local_user_init", "local", BATCH_FAILS),
    Row("sbatch", "init", "remote", BATCH_DRAINS_SILENT, replace(BATCH_IGNORED_DRAINS, says=False)),
    Row("sbatch", "init_post_opt", "remote", BATCH_DRAINS_SILENT, replace(BATCH_IGNORED_DRAINS, says=False)),
    Row("sbatch", "user_init", "remote", BATCH_DRAINS, BATCH_IGNORED_DRAINS),
    Row("sbatch", "task_init_privileged", "remote", BATCH_FAILS),
    Row("sbatch", "task_init", "remote", BATCH_FAILS),
    Row("sbatch", "task_post_fork", "remote", BATCH_DRAINS, BATCH_IGNORED_DRAINS),
    Row("sbatch", "task_exit", "remote", FINE),
    # The batch step's own text still reaches the job's output.
    Row("sbatch", "exit", "remote", FINE),
    Row("sbatch", "exit", "local", FINE),
    Row("sbatch", "job_prolog", "job_script", Result(0, "gone", drains=True, says=False)),
    Row("sbatch", "job_epilog", "job_script", EPILOG),
)

COMMANDS = {
    "srun": "timeout 60 srun --quiet --kill-on-bad-exit -w {node} -J {name} echo IT_RAN",
    "salloc": "timeout -k 5 60 salloc --quiet -w {node} -J {name} timeout -k 5 30 srun --quiet echo IT_RAN",
    "sbatch": "sbatch --no-requeue -w {node} -J {name} -o {name}.out --wrap 'srun --quiet echo IT_RAN'",
}
STUCK = (124, 137)
"""Exit codes of timeout: on 22.05 srun may hang if its job is cancelled while it launches the step."""
MOST_BROKEN = 2
"""How often a command may be broken by Slurm itself; the next result counts."""
OVER = ("COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL", "TIMEOUT")


@dataclass
class Played:
    """What one command did.

    ``broken`` has the output of each run before this one that Slurm itself broke.
    """

    result: Result
    output: str
    job: str | None
    broken: list[str] = field(default_factory=list)


def play(lent: Site, command: str, fail: str, node: str, drains: bool = False) -> Played:
    """Run one command on one node with a refusal in one place.

    If the node is expected to drain, wait for it, because it may drain late and disturb the next row.
    """
    name = f"{command}-{fail}".replace("@", "-")
    done = lent.shell(f"cd; {COMMANDS[command].format(node=node, name=name)}", FAIL=fail)
    output = done.stdout
    row: dict[str, str] = {}

    def over() -> bool:
        rows = [text for text in lent.root("scontrol --oneliner show jobs").splitlines() if f" JobName={name} " in text]
        row.update(
            {word.split("=", 1)[0]: word.split("=", 1)[1] for word in " ".join(rows[-1:]).split() if "=" in word}
        )
        return not row or row["JobState"] in OVER

    if done.returncode == 0 or "llocated" in output or command != "sbatch":
        lent.cluster.wait(over, what=f"end of {name}: {output}")
    state = row.get("JobState")
    # A node is drained, and an epilog ends, a little after the job.
    lent.cluster.wait(
        lambda: "COMPLETING" not in lent.root(f"scontrol --oneliner show node {node}"),
        what=f"end of {name}",
    )
    if drains:
        with contextlib.suppress(AssertionError):  # ignored here: the comparison of the row gives a better message
            lent.cluster.wait(lambda: node in lent.drained(), what=f"drained {node}")
    drains = node in lent.drained()
    if drains:
        lent.root(f"scontrol update nodename={node} state=resume")
    if command == "sbatch":
        output += lent.shell(f"cat {name}.out 2> /dev/null").stdout
    stuck = lent.since < (23, 11) and "prolog" in fail and done.returncode in STUCK
    result = Result(
        exit=PROLOG.exit if stuck else done.returncode,
        # Slurm's word for it depends on timing.
        job="gone" if "prolog" in fail and state in ("FAILED", "CANCELLED", "NODE_FAIL") else state,
        drains=drains,
        ran="IT_RAN" in output.split("\n"),
        says=refusal(fail) in output,
    )
    return Played(result, output, row.get("JobId"))


def refusal(fail: str) -> str:
    """Return the text of a refusal in one place."""
    return "refused in " + fail.replace("@", " of ")


def is_broken(row: Row, played: Played, lent: Site, node: str) -> bool:
    """Tell whether Slurm itself broke the command; two ways are known, both rare and only on a busy machine.

    srun, also in salloc, may lack the first lines that slurmstepd logs; with sbatch, slurmstepd itself writes them to
    the job's output. After a prolog that failed, salloc never ends if it hears of the end of its job just when its
    command ends: a thread then reaps the command, and the main thread goes on waiting for it.
    """
    if row.command == "salloc" and row.callback == "job_prolog" and played.result.exit in STUCK:
        return True
    if row.command == "sbatch" or played.result.says or not row.expected(lent.since).says:
        return False
    by_step = re.compile(rf"\[{played.job}\.[^]]+\] {refusal(row.fail)}$", re.MULTILINE)
    return by_step.search(lent.cluster.log(node)) is not None


Found = dict[Row, Played]


@pytest.fixture(scope="module")
def refusing(cluster: "Cluster") -> Site:
    """A site whose handlers refuse on request."""
    lent = site(cluster)
    lent.hooks(failing=(HERE / "failing.py").read_text())
    lent.plugstack("required spank_python.so")
    return lent


@pytest.fixture(scope="module")
def found(refusing: Site) -> Found:
    """All rows, played on all nodes in parallel."""
    nodes: queue.Queue[str] = queue.Queue()
    for node in refusing.root("sinfo --noheader --Node --format %N").split():
        if node not in nodes.queue:
            nodes.put(node)

    def one(row: Row) -> Played:
        node = nodes.get()
        broken: list[str] = []
        try:
            drains = row.expected(refusing.since).drains
            while True:
                played = play(refusing, row.command, row.fail, node, drains)
                if len(broken) == MOST_BROKEN or not is_broken(row, played, refusing, node):
                    return replace(played, broken=broken)
                broken.append(played.output)
        finally:
            nodes.put(node)

    with ThreadPoolExecutor(nodes.qsize()) as pool:
        return dict(zip(ROWS, pool.map(one, ROWS), strict=True))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.command}-{row.callback}-{row.context}")
def test_required(found: Found, refusing: Site, row: Row, record_property: Callable[[str, object], None]) -> None:
    """With a required plugin, a refusal has the effect of the manual; rows that differ have a comment."""
    played = found[row]
    for output in played.broken:
        record_property(reporting.BROKEN, output)
    assert played.result == row.expected(refusing.since), played.output
    if played.result.says:
        assert f"{row.callback}() failed with rc=" in played.output
        assert "Traceback" not in played.output


@pytest.mark.parametrize("command", moved_from(1, COMMANDS))
def test_optional(refusing: Site, command: str) -> None:
    """With an optional plugin, refusals everywhere change nothing, and the user still reads the texts."""
    refusing.plugstack("optional spank_python.so")
    try:
        played = play(refusing, command, "everywhere", "n1")
    finally:
        refusing.plugstack("required spank_python.so")
    assert played.result == replace(FINE, says=False), played.output
    assert "refused in task_init of remote" in played.output
    assert "failed with rc" not in played.output
