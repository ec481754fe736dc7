# SPDX-License-Identifier: GPL-2.0-or-later
"""Launches: the callbacks of SPANK see and do the same in Slurm and in `slurmhooks try spank`.

Differences that remain are rows of a table in docs/testing.md; each row must still be one.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster import kit_pairs
from tests.cluster.kit_pairs import Allowed, Command, Done, in_kit, in_slurm
from tests.cluster.spank.site import site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = [pytest.mark.stopped, pytest.mark.moved]

HOOKS = (
    kit_pairs.RECORDER
    + """
from slurmhooks import Reject, hook, log
from slurmhooks.errors import SpankError

flag = hook.spank.option("kit-flag", usage="for a test")
word = hook.spank.option("kit-word", arginfo="WORD", usage="for a test")
number = hook.spank.option("number", arginfo="N", usage="for a test", type=int)
maybe = hook.spank.option("maybe", arginfo="WORD", usage="for a test", optional=True)

@word.check
def check(value):
    if value == "bad":
        raise Reject("KIT a bad word")
    return value.upper()

def at(spank):
    place = f"{spank.context} {spank.callback}"
    try:
        task = spank.task_global_id
    except SpankError:
        task = None
    log.user(f"KIT told by {place}")
    seen = {name: value for name, value in spank.env.items() if name.startswith(("KIT_", "SPANK_KIT"))}
    options = [flag.value, word.value, number.value, maybe.value]
    slurm = {name: value for name, value in spank.env.items() if name.startswith("SLURM")}
    record(place=place, task=task, options=options, env=seen, args=spank.args, slurm=slurm)
    what, _, where = spank.env.get("KIT_ACT", "").partition(":")
    if where not in ("everywhere", place):
        return
    if what == "reject":
        raise Reject(f"KIT no in {place}")
    if what == "bug":
        raise RuntimeError("KIT bug")
    if what == "env":
        spank.env["KIT_" + spank.callback.upper()] = place
        spank.env.pop("KIT_GIVEN", None)
    if what == "prepend":
        spank.prepend_task_argv(["env", "KIT_PREPENDED=yes"])
    if what == "control":
        spank.job_control_env["KIT_CONTROL"] = place

for name in ("init", "init_post_opt", "local_user_init", "user_init", "task_init_privileged", "task_init",
             "task_post_fork", "task_exit", "exit"):
    exec(f"def at_{name}(spank): at(spank)")
    mark = getattr(hook.spank, name)
    mark(contexts=["local", "remote"])(globals()[f"at_{name}"]) if name in ("init", "exit") else mark(
        globals()[f"at_{name}"])

@hook.spank.job_prolog
def prolog(spank):
    at(spank)

@hook.spank.job_epilog
def epilog(spank):
    at(spank)
"""
)
PROGRAM = ("sh", "-c", "env | grep ^KIT_ | sort")


def srun(*words: str, program: tuple[str, ...] = PROGRAM, **env: str) -> Command:
    """Return a command of srun."""
    return Command(("srun", *words, *program), env)


FAILING = (
    *("local init", "local init_post_opt", "local local_user_init", "remote user_init", "remote task_init_privileged"),
    *("remote task_post_fork", "remote task_init", "remote task_exit", "remote exit", "local exit"),
)
ROWS = {
    **dict.fromkeys(("remote task_exit", "remote exit", "local exit"), "exit code"),
    **dict.fromkeys(("remote user_init", "remote task_post_fork"), "exit code of srun"),
}
"""The row that allows another exit code after a failure at a place."""
LAST = ("SLURM_LOCALID", "SLURM_PROCID")
"""Of the task that has ended last, which is any."""
OF_THE_JOB = (
    ("-w", "n2", "-p", "debug", "-J", "mine", "-A", "physics"),
    ("-n2", "-N1", "-c2", "--mem=20", "-t", "5"),
    ("--mem-per-cpu=10", "--comment=two words", "--qos=normal", "--wckey=w"),
    ("--chdir=/tmp", "--export=ALL,MORE=1", "--ntasks-per-node=2"),
    ("--cpu-bind=none", "--distribution=cyclic", "--label", "--overcommit", "-n3"),
)
COMMANDS = (
    srun(),
    *(srun(*words, program=("true",)) for words in OF_THE_JOB),
    srun("-n2"),
    srun("-n", "3", "--kit-flag", "--kit-word=a", "--number=7", "--maybe"),
    srun("--kit-f", "--kit-w", "a", "--num=4", "--maybe=b"),
    srun("--maybe=", "--kit-word="),
    srun("--maybe", "--kit-word=a", "--kit-word=b"),
    srun("--kit-word=(null)", "--maybe=(null)"),
    srun("--kit-word=bad"),
    srun("--number=x"),
    srun("--kit-flag=x"),
    srun("--kit=x"),
    srun("--nonesuch"),
    srun("--kit-word"),
    srun("-n2", "--label", "-t5", "--mem=10", program=("true",)),
    srun("--", "true", program=()),
    srun(SLURM_SPANK__SLURM_SPANK_OPTION_python_kit_word="inherited"),
    srun("--kit-word=line", SLURM_SPANK__SLURM_SPANK_OPTION_python_kit_word="inherited"),
    srun(SLURM_SPANK__SLURM_SPANK_OPTION_python_kit_word="bad"),
    srun(SLURM_NTASKS="2"),
    srun("-n1", SLURM_NTASKS="2"),
    srun(KIT_GIVEN="1", KIT_ACT="env:everywhere"),
    *(srun(KIT_GIVEN="1", KIT_ACT=f"env:{place}") for place in FAILING),
    *(srun(KIT_ACT=f"reject:{place}") for place in FAILING),
    *(srun(KIT_ACT=f"bug:{place}") for place in FAILING),
    srun("-n2", KIT_ACT="control:local init_post_opt"),
    srun("-n2", KIT_ACT="control:local local_user_init"),
)


class Pairs:
    """A cluster whose hooks record, and the same hook file here."""

    def __init__(self, cluster: "Cluster", folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.hooks = folder / "kit.py"
        self.hooks.write_text(HOOKS.replace("@FOLDER@", str(folder)))

    def of_command(self, command: Command) -> Done:
        """Return what the kit does with a command."""
        own = ["spank", "--hooks", str(self.hooks), "--arg", "one", "--arg", "two", "--json", "--really"]
        given = [f"--env={name}={value}" for name, value in command.env.items()]
        return in_kit(self.folder, [*own, *given, "--", *command.argv[1:]], command)


@pytest.fixture(scope="module")
def pairs(cluster: "Cluster", tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    """Prepare a cluster."""
    prepared = site(cluster)
    prepared.hooks(kit=HOOKS.replace("@FOLDER@", kit_pairs.FOLDER))
    prepared.plugstack("required spank_python.so hooks.d/kit.py one two")
    kit_pairs.prepare(cluster)
    cluster.restart()
    return Pairs(cluster, tmp_path_factory.mktemp("kit"))


def calls_of(records: list[dict[str, Any]]) -> list[str]:
    """Return the calls in a fixed order, without prolog and epilog, whose time depends on the daemons."""
    kept = [{**row, "slurm": None} for row in records if not row["place"].startswith("job_script")]
    return sorted(json.dumps(row, sort_keys=True) for row in kept)


def slurms_variables(real: Done, kit: Done, allowed: Allowed, since: tuple[int, ...]) -> Iterator[str]:
    """Yield differences of the variables that Slurm sets, by callback and task.

    The kit has those of 24.11; of other releases, variables that both have are compared.
    """
    ours, theirs = ({(row["place"], row["task"]): row["slurm"] for row in done.records} for done in (kit, real))
    of_job = next((row.get("SLURM_JOB_ID") for (place, _), row in theirs.items() if place == "local exit"), None)
    for place in [place for place in ours if place in theirs]:
        mine, other = ours[place], theirs[place]
        if place[0].startswith("job_script") and other["SLURM_JOB_ID"] != of_job:
            continue  # the epilog of the job before
        if place == ("remote exit", None) and ("remote task_exit", 1) in ours:
            mine = {name: value for name, value in mine.items() if name not in LAST}
        names = mine.keys() & other.keys() if since[:2] != (24, 11) or mine is not ours[place] else None
        mine, other = ({name: row[name] for name in row if names is None or name in names} for row in (mine, other))
        for text in kit_pairs.differences(mine, other, allowed, "slurm"):
            yield f"variables in {place[0]}: {text}"


def differing(command: Command, real: Done, kit: Done, allowed: Allowed, since: tuple[int, ...]) -> Iterator[str]:
    """Yield what differs for one command."""
    if (kit.code == 0) != (real.code == 0):
        place = command.env.get("KIT_ACT", "").partition(":")[2]
        yield from allowed.excuse([f"exit code: kit {kit.code}, Slurm {real.code}"], ROWS.get(place))
    ours, theirs = calls_of(kit.records), calls_of(real.records)
    if ours != theirs:
        missing = [row for row in theirs if row not in ours]
        more = [row for row in ours if row not in theirs]
        yield from allowed.excuse(
            [f"calls: only Slurm {missing}; only kit {more}"], "wrong use" if kit.code == 2 else None
        )
    yield from slurms_variables(real, kit, allowed, since)
    if kit.code == 2:
        return
    result = json.loads(kit.out)
    told = sorted(re.findall(r"KIT told by [\w ]+", real.err))
    said = sorted(text for text in result["user_messages"] if not text.startswith("KIT told by job_script"))
    if told != said:
        yield f"messages: kit {said}, Slurm {told}"
    text = result["text"] or ""
    if "KIT" in text and text.partition("KIT ")[2] not in real.err:
        yield from allowed.excuse(
            [f"text: kit {text!r}, Slurm {real.err!r}"], "text" if "remote exit" in text else None
        )
    seen = sorted(line for line in real.out.splitlines() if line.startswith("KIT_"))
    made = sorted(
        f"{name}={value}"
        for task in result["tasks"]
        for name, value in task["env"].items()
        if name.startswith("KIT_") and "env" in " ".join(task["argv"])
    )
    if made != seen:
        yield f"variables of tasks: kit {made}, Slurm {seen}"


def test_launches(pairs: Pairs) -> None:
    """Callbacks see the same options and variables; refusals and bugs have the same effect."""
    allowed = Allowed("Launches", pairs.cluster.version)
    wrong = []
    for command, real in zip(COMMANDS, in_slurm(pairs.cluster, COMMANDS), strict=True):
        found = list(differing(command, real, pairs.of_command(command), allowed, pairs.cluster.version))
        wrong += [f"{command}\n    {text}" for text in found]
    assert not wrong, "\n".join(wrong)
    of_another = {
        name for name in allowed.unseen if name.startswith("slurm.") and pairs.cluster.version[:2] != (24, 11)
    }
    assert not allowed.unseen - of_another, f"no longer different: {allowed.unseen - of_another}"
