# SPDX-License-Identifier: GPL-2.0-or-later
"""Every callback of SPANK in every process, log lines and scrontab: the same in Slurm and in `slurmhooks.testing`."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from slurmhooks.testing import FakeJob, FakeSpank, run
from tests.cluster import kit_pairs
from tests.cluster.kit_pairs import Allowed, differences
from tests.cluster.spank.site import Site, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.moved

HOOKS = (
    kit_pairs.RECORDER
    + """
from slurmhooks import hook, log
from slurmhooks.errors import SpankError
from slurmhooks.spank.fields import ITEMS

option = hook.spank.option("kit-option", usage="for a test")

def outcome(function):
    try:
        value = function()
    except KeyError:
        return "KeyError"
    except SpankError as error:
        return str(error)
    return type(value).__name__ if value is None or isinstance(value, (int, str)) else sorted(map(str, value))

def item_of(spank, item):
    value = getattr(spank, item.name)
    return value(0) if item.argument is not None else value

def assign(mapping, name, value):
    mapping[name] = value

def at(spank):
    seen = {f"item.{item.name}": outcome(lambda: type(item_of(spank, item)).__name__) for item in ITEMS}
    seen |= {
        "env.get": outcome(lambda: spank.env["NO_SUCH_NAME"]),
        "env.set": outcome(lambda: assign(spank.env, "KIT_SET", "1")),
        "env.read": outcome(lambda: spank.env["KIT_SET"]),
        "control.get": outcome(lambda: spank.job_control_env["NO_SUCH_NAME"]),
        "control.set": outcome(lambda: assign(spank.job_control_env, "KIT_SET", "1")),
        "control.list": outcome(lambda: type(list(spank.job_control_env)).__name__),
        "state.get": outcome(lambda: spank.state.get("x")),
        "state.set": outcome(lambda: assign(spank.state, "x", None)),
        "step_name": outcome(lambda: spank.step_name),
        "option": [option.value, option.given, list(option.values)],
        "supported": [spank.symbol_supported(f"slurm_spank_{name}") for name in ("task_init", "init", "nonesuch")],
        "args": list(spank.args), "callback": spank.callback, "context": spank.context,
    }
    record(place=f"{spank.context} {spank.callback}", seen=seen, slurm={"SLURM_JOB_ID": str(job_of(spank))})

def job_of(spank):
    try:
        return spank.job_id
    except SpankError:
        return None

for name in @NAMES@:
    exec(f"def at_{name}(spank): at(spank)")
    getattr(hook.spank, name)(globals()[f"at_{name}"])
"""
)
NAMES = (
    *("init", "init_post_opt", "local_user_init", "job_prolog", "user_init", "task_init_privileged", "task_init"),
    *("task_post_fork", "task_exit", "exit", "job_epilog", "slurmd_exit"),
)
PLACES = {
    *(f"local {name}" for name in ("init", "init_post_opt", "local_user_init", "exit")),
    *(f"allocator {name}" for name in ("init", "init_post_opt", "exit")),
    *(f"remote {name}" for name in ("init", "init_post_opt", "user_init", "task_init_privileged", "task_init")),
    *(f"remote {name}" for name in ("task_post_fork", "task_exit", "exit")),
    *("job_script job_prolog", "job_script job_epilog", "slurmd init", "slurmd slurmd_exit"),
}
LOGS = (
    kit_pairs.RECORDER
    + r"""
from slurmhooks import hook, log

@hook.job_submit
def texts(job):
    log.info("KIT plain")
    log.info("KIT %s %d%%", "two words", 5)
    log.info("KIT fields", name="x", number=7, text="two words", none=None, path="a=b", items=[1, "b"])
    log.info("KIT first\nsecond\nthird\n")
    log.info("KIT user %s", job.comment)
    log.info("KIT field", comment=job.comment)
    log.info("KIT \u00e4\udcff\x07\x1b[31m")
    log.info("KIT long %s", "x" * 5000)
    log.info("")
    log.error("KIT error")
    log.error("KIT error\nsecond %s", "a\nb")
    log.verbose("KIT verbose")
    log.debug("KIT debug", x=1)
    log.info("KIT wrong %d", "x")
    log.info("KIT last")
"""
)
COMMENT = "a\nb\t\\n %s"
LEVELS = r"(?:error|debug3|debug2|debug|verbose|info): +"


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """Prepare a cluster."""
    prepared = site(cluster)
    kit_pairs.prepare(cluster)
    return prepared


def install(lent: Site, text: str, folder: Path) -> Path:
    """Install a hook file in the cluster and here; return the latter."""
    lent.hooks(kit=text.replace("@FOLDER@", kit_pairs.FOLDER))
    lent.root(f": > {kit_pairs.FOLDER}/records")
    (folder / "records").touch()
    hooks = folder / "kit.py"
    hooks.write_text(text.replace("@FOLDER@", str(folder)))
    return hooks


def records(lent: Site) -> list[dict[str, Any]]:
    """Return what handlers in the cluster have recorded."""
    return [json.loads(line) for line in lent.root(f"cat {kit_pairs.FOLDER}/records").splitlines()]


def test_every_callback_in_every_process(lent: Site, tmp_path: Path) -> None:
    """Items, environments, state and options have the same types, and are refused with the same text."""
    hooks = install(lent, HOOKS.replace("@NAMES@", repr(NAMES)), tmp_path)
    lent.plugstack("required spank_python.so hooks.d/kit.py one")
    lent.cluster.restart("n1", "n2")
    for command in ("srun -Q true", "salloc -Q true", "sbatch -Q -o /dev/null --wrap true"):
        assert lent.shell(f"cd; {command}").returncode == 0
        lent.wait_until_idle()
    lent.cluster.wait(lambda: "job_script job_epilog" in {row["place"] for row in records(lent)}, what="the epilog")
    lent.cluster.restart("n1", "n2")
    lent.cluster.wait(lambda: "slurmd slurmd_exit" in {row["place"] for row in records(lent)}, what="the end of slurmd")
    seen = records(lent)
    assert {row["place"] for row in seen} == PLACES
    allowed = Allowed("Callbacks", lent.cluster.version)
    wrong = set()
    for row in seen:
        context, callback = row["place"].split()
        (tmp_path / "records").write_text("")
        result = run(hooks, f"spank.{callback}", spank=FakeSpank(context, args=["one"]))
        assert result.accepted, result
        (mine,) = [json.loads(line) for line in (tmp_path / "records").read_text().splitlines()]
        wrong |= {f"{row['place']} {text}" for text in differences(mine["seen"], row["seen"], allowed)}
    assert not wrong, "\n".join(sorted(wrong))
    assert not allowed.unseen, f"no longer different: {allowed.unseen}"


def test_log_lines(lent: Site, tmp_path: Path) -> None:
    """Texts, fields, levels and marks of further lines are the same in Slurm's log and in the result of the kit."""
    hooks = install(lent, LOGS, tmp_path)
    lent.cluster.user("alice", "sbatch", "-H", f"--comment={COMMENT}", "--wrap", "true", check=True)
    lines = [re.sub(r"^\[[^]]*\] ", "", line) for line in lent.cluster.log("slurmctld").splitlines()]
    ours = [re.sub(rf"^({LEVELS})?slurmhooks: ", r"\1", line) for line in lines if "slurmhooks: " in line]
    first = max(number for number, line in enumerate(ours) if line == "KIT plain")
    last = max(number for number, line in enumerate(ours) if line == "KIT last")
    result = run(hooks, "job_submit", job=FakeJob(comment=COMMENT, script="#!/bin/sh\n"))
    kit = [line.removeprefix("info: ").removeprefix("verbose: ") for line in result.log]
    theirs = [re.sub(r"^(debug\d?|error): +", r"\1: ", line) for line in ours[first : last + 1]]
    assert kit == theirs
