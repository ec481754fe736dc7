# SPDX-License-Identifier: GPL-2.0-or-later
"""The testing kit runs a launch as Slurm does: the same hook file sees the same in both."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from slurmhooks.testing import Launch, launch
from tests.cluster.spank.site import RECORDS, Site, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.stopped

HOOKS = """
import json
import os

from slurmhooks import hook, log
from slurmhooks.errors import SpankError
from slurmhooks.spank.fields import ITEMS

NAMES = (
    "init", "init_post_opt", "local_user_init", "job_prolog", "user_init", "task_init_privileged", "task_init",
    "task_post_fork", "task_exit", "exit", "job_epilog",
)
word = hook.spank.option("kit-word", "WORD", usage="for a test")
maybe = hook.spank.option("kit-maybe", "WORD", usage="for a test", optional=True)
state = []


class Kept:
    text = ""


def item_of(spank, item):
    try:
        value = getattr(spank, item.name)
        if item.argument is not None:
            value = value(0)
    except SpankError as error:
        return error.code
    return type(value).__name__


def record(spank):
    place = f"{spank.context} {spank.callback}"
    log.user(f"told {place}")
    try:
        task = spank.task_global_id
    except SpankError:
        task = None
    row = {
        "place": place,
        "task": task,
        "env": sorted(name for name in spank.env if name.startswith("SLURM")),
        "procid": spank.env.get("SLURM_PROCID"),
        "state": [sorted(state), "".join(sorted(Kept.text)), os.environ.get("KIT_STATE")],
        "options": [word.value, maybe.value],
        "items": {item.name: item_of(spank, item) for item in ITEMS},
        "task_is_process": spank.callback.startswith("task_init") and spank.task_pid == os.getpid(),
    }
    # In the order of tasks, so that processes of several tasks have the same.
    state.append(spank.callback)
    Kept.text += spank.callback[0]
    os.environ["KIT_STATE"] = "set"
    file = os.open(spank.args[0], os.O_WRONLY | os.O_APPEND)
    os.write(file, (json.dumps(row) + "\\n").encode())
    os.close(file)


for name in NAMES:
    exec(f"def at_{name}(spank): record(spank)")
    mark = getattr(hook.spank, name)
    # slurmd has no part in a launch, but its environment is that of slurmstepd.
    mark = mark(contexts=["local", "remote"]) if name == "init" else mark
    mark(globals()[f"at_{name}"])
"""
MORE = {
    *("SLURM_CONF", "SLURM_MPI_TYPE", "SLURM_WORKING_CLUSTER"),
    *("SLURM_JOB_SLUID", "SLURM_JOB_EXCLUSIVE", "SLURM_EXCLUSIVE"),
}
"""Variables of the lab, or of other releases than 24.11, which the kit leaves out."""
SINCE_23_11 = {
    *("SLURM_JOB_CORE_SPEC_COUNT", "SLURM_JOB_CORE_SPEC_TYPE", "SLURM_JOB_END_TIME", "SLURM_JOB_NODELIST"),
    *("SLURM_JOB_OVERSUBSCRIBE", "SLURM_JOB_START_TIME", "SLURMD_DEBUG", "SLURM_JOB_GID", "SLURM_JOB_GROUP"),
    "SLURM_OOM_KILL_STEP",
}
"""Variables of the kit that 22.05 does not set everywhere."""

IN_ORDER = f"[ $SLURM_PROCID = 0 ] || until grep -q 'remote task_exit' {RECORDS}; do sleep 0.05; done"
"""What the tasks run, so that they end in the order of their ids, as in the kit; otherwise, any may end first."""

Rows = dict[tuple[str, int | None], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """A cluster whose only line of plugstack.conf has the hook file, with an argument."""
    prepared = site(cluster)
    prepared.hooks(kit=HOOKS)
    prepared.plugstack(f"required spank_python.so hooks.d/kit.py {RECORDS}")
    prepared.cluster.restart()
    return prepared


def by_place(records: list[dict[str, Any]]) -> Rows:
    """Return records by place and task, without what is compared by itself."""
    rows: Rows = {}
    for record in records:
        rows.setdefault((record["place"], record["task"]), []).append(record)
    return rows


def in_kit(folder: Path) -> tuple[Launch, list[dict[str, Any]]]:
    """Return the launch of the kit, and its records."""
    hooks, records = folder / "kit.py", folder / "records"
    hooks.write_text(HOOKS)
    records.touch()
    options: dict[str, str | bool] = {"kit-word": "a", "kit-maybe": ""}
    done = launch(hooks, ["true"], args=[str(records)], options=options, tasks=2)
    return done, [json.loads(line) for line in records.read_text().splitlines()]


def test_the_kit_is_like_slurm(lent: Site, tmp_path: Path) -> None:
    """Callbacks, globals, options, items, variables, and what the user reads are the same in Slurm and in the kit."""
    lent.forget_records()
    said = lent.shell(f"srun -n2 --kit-word=a --kit-maybe= sh -c {shlex.quote(IN_ORDER)}").stdout
    real = lent.wait_for_records(1, place="job_script job_epilog") and lent.records()
    done, found = in_kit(tmp_path)
    assert done.accepted, done
    slurms, kits = by_place(real), by_place(found)
    assert slurms.keys() == kits.keys()
    for key, rows in slurms.items():
        assert len(rows) == len(kits[key]), key
        for row, other in zip(rows, kits[key], strict=True):
            for name in ("state", "options", "procid", "task_is_process", "items"):
                assert row[name] == other[name], (key, name)
            older = SINCE_23_11 if lent.since < (23, 11) else set()
            assert set(row["env"]) - set(other["env"]) <= MORE, key
            assert set(other["env"]) - set(row["env"]) <= older, key
    told = [line.partition("told ")[2] for line in said.splitlines() if "told " in line]
    assert sorted(told) == sorted(text.removeprefix("told ") for text in done.user_messages)
