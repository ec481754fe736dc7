# SPDX-License-Identifier: GPL-2.0-or-later
"""Facts about a job that no SPANK item has, and that handlers find in the environment."""

from typing import TYPE_CHECKING

import pytest

from tests.cluster.spank.site import Site, site
from tests.cluster.turns import moved_from

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

HOOKS = """
import json
from slurmhooks import hook

def write_down(spank):
    fields = {"callback": spank.callback, "context": spank.context}
    fields |= {name: spank.env.get(name) for name in ("SLURM_NODELIST", "SLURM_JOB_PARTITION", "SLURM_JOB_ACCOUNT")}
    if spank.context == "remote":
        fields["step"] = spank.step_name
    with open("/opt/spank/records", "a") as file:
        file.write(json.dumps(fields) + "\\n")

for name in ("init", "user_init", "task_init", "local_user_init", "job_prolog", "job_epilog"):
    getattr(hook.spank, name)(write_down)
"""


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """A site whose handlers record variables."""
    made = site(cluster)
    made.hooks(variables=HOOKS)
    made.plugstack("required spank_python.so")
    return made


@pytest.mark.parametrize(
    "command",
    moved_from(
        1,
        [
            "srun -Q -N2 -A physics true",
            "salloc -Q -N2 -A physics srun -Q true",
            "sbatch -W -Q -N2 -A physics -o /dev/null --wrap 'srun -Q true'",
        ],
    ),
    ids=["srun", "salloc", "sbatch"],
)
def test_nodes_partition_and_account(lent: Site, command: str) -> None:
    """Nodes, partition, account: in srun's local_user_init, in slurmstepd from init on, in prolog and epilog."""
    lent.wait_until_idle()
    lent.forget_records()
    assert lent.shell(f"cd; {command}").returncode == 0
    lent.wait_for_records(2, callback="job_epilog")
    remote = [{"context": "remote", "callback": name, "step": "0"} for name in ("init", "user_init", "task_init")]
    places: list[dict[str, str]] = [{"callback": "local_user_init"}, {"callback": "job_prolog"}, *remote]
    for place in (*places, {"callback": "job_epilog"}):
        for record in lent.wait_for_records(1, **place):
            facts = (record["SLURM_NODELIST"], record["SLURM_JOB_PARTITION"], record["SLURM_JOB_ACCOUNT"])
            assert facts == ("n[1-2]", "debug", "physics"), (place, record)


EXEC = """
import os
from slurmhooks import hook

@hook.spank.task_init(order=1)
def first(spank):
    spank.env["FIRST"] = "1"

@hook.spank.task_init
def become(spank):
    os.execve("/opt/wrapper", ["/opt/wrapper", *spank.job_argv], dict(spank.env))

@hook.spank.task_init(order=99)
def never(spank):
    spank.env["NEVER"] = "1"
"""
WRAPPER = """#!/bin/sh
echo "wrapped $SLURM_PROCID $FIRST $NEVER"
exec "$@"
"""


def test_a_task_that_becomes_another_program(lent: Site) -> None:
    """os.execve in task_init replaces the program, with the task's streams, signals and exit code."""
    lent.cluster.put(WRAPPER, "/opt/wrapper", 0o755)
    lent.hooks(become=EXEC)
    try:
        done = lent.shell("echo in | srun -Q -n2 --input=0 sh -c 'cat; exit $SLURM_PROCID' 2>/dev/null")
        assert (done.returncode, sorted(done.stdout.splitlines())) == (1, ["in", "wrapped 0 1 ", "wrapped 1 1 "])
        done = lent.shell("cd; sbatch -Q -W -o out --wrap 'echo body; srun -Q echo step'; cat out")
        assert done.stdout.splitlines() == ["wrapped 0 1 ", "body", "wrapped 0 1 ", "step"]
        started = lent.shell("srun -Q sleep 60 >/dev/null 2>&1 & sleep 1; scancel --user=alice; wait $!; echo $?")
        assert started.stdout.split()[-1] != "0"
        lent.wait_until_idle()
        assert lent.root("pgrep -x sleep --uid alice || true") == ""
    finally:
        lent.hooks(variables=HOOKS)


TASK_PROLOG = """#!/bin/sh
echo "print rank $SLURM_PROCID, $ORDER"
echo export MINE=1
echo export "ORDER=$ORDER script"
echo unset HOME
[ -z "$FAIL" ]
"""
TASK_INIT = """
import os
from slurmhooks import Reject, hook

@hook.spank.task_init
def task_prolog(spank):
    order = spank.env.get("ORDER", "")
    os.write(1, f"rank {spank.env['SLURM_PROCID']}, {order}\\n".encode())
    spank.env["MINE"] = "1"
    spank.env["ORDER"] = f"{order} handler"
    spank.env.pop("HOME", None)
    if spank.env.get("FAIL"):
        raise Reject("why")
"""
LAUNCHES = (
    "ORDER=user srun -n2 -l sh -c 'echo $MINE $ORDER ${HOME-none}' 2>/dev/null | sort",
    "cd; sbatch -Q -W -o out --wrap 'echo $MINE ${HOME-none}'; cat out",
    "FAIL=1 srun true >/dev/null 2>&1 || echo failed",
)


@pytest.mark.moved
def test_a_task_prolog_as_a_handler(lent: Site) -> None:
    """A handler of task_init gives tasks what a TaskProlog gives them, as docs/scripts.md says, and runs before one."""
    outputs = {}
    lent.cluster.put(TASK_PROLOG, "/opt/task-prolog", 0o755)
    conf = lent.root("cat /etc/slurm/slurm.conf")
    try:
        for name in ("script", "handler", "both"):
            lent.hooks(**({} if name == "script" else {"task": TASK_INIT}))
            lines = "" if name == "handler" else "TaskProlog=/opt/task-prolog\n"
            lent.cluster.put(f"{conf}\n{lines}", "/etc/slurm/slurm.conf")
            lent.cluster.restart()
            outputs[name] = [lent.shell(launch).stdout for launch in LAUNCHES]
    finally:
        lent.cluster.put(conf, "/etc/slurm/slurm.conf")
        lent.hooks(variables=HOOKS)
        lent.cluster.restart()
    in_script = [text.replace(" script", " handler") for text in outputs["script"]]
    assert outputs["handler"] == in_script
    assert "0: rank 0, user\n" in in_script[0]
    assert "1 user handler none\n" in in_script[0]
    assert in_script[1].endswith("1 none\n")
    assert in_script[2] == "failed\n"
    assert "1 user handler script none\n" in outputs["both"][0]
