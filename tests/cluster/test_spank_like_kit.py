# SPDX-License-Identifier: GPL-2.0-or-later
"""The testing kit runs a launch in processes as Slurm does: what callbacks leave to each other, and items.

test_kit_pairs_launch.py compares options, variables, messages and refusals.
"""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from slurmhooks.testing import launch
from tests.cluster.spank.site import RECORDS, Site, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.stopped

HOOKS = """
import json
import os

from slurmhooks import hook
from slurmhooks.errors import SpankError
from slurmhooks.spank.fields import ITEMS

NAMES = (
    "init", "init_post_opt", "local_user_init", "job_prolog", "user_init", "task_init_privileged", "task_init",
    "task_post_fork", "task_exit", "exit", "job_epilog",
)
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
    try:
        task = spank.task_global_id
    except SpankError:
        task = None
    row = {
        "place": f"{spank.context} {spank.callback}",
        "task": task,
        "state": [sorted(state), "".join(sorted(Kept.text)), os.environ.get("KIT_STATE")],
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
    """Return records by place and task."""
    rows: Rows = {}
    for record in records:
        rows.setdefault((record["place"], record["task"]), []).append(record)
    return rows


def test_the_kit_is_like_slurm(lent: Site, tmp_path: Path) -> None:
    """Callbacks, globals, items and processes are the same in Slurm and in the kit."""
    lent.forget_records()
    lent.shell(f"srun -n2 sh -c {shlex.quote(IN_ORDER)}")
    real = lent.wait_for_records(1, place="job_script job_epilog") and lent.records()
    hooks, records = tmp_path / "kit.py", tmp_path / "records"
    hooks.write_text(HOOKS)
    records.touch()
    done = launch(hooks, ["true"], args=[str(records)], tasks=2)
    assert done.accepted, done
    found = [json.loads(line) for line in records.read_text().splitlines()]
    slurms, kits = by_place(real), by_place(found)
    assert slurms.keys() == kits.keys()
    assert {key: row for key, row in slurms.items() if row != kits[key]} == {}
