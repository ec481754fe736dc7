# SPDX-License-Identifier: GPL-2.0-or-later
"""Random calls of spank.h in random launches have the same results in a C plugin and in a hook file."""

import random
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.cluster.own_readers import seeded
from tests.cluster.spank.site import HERE, Site, settle, site
from tests.cluster.turns import moved

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.moved

PLANS = 5
FILE = "/etc/slurm/spank/plans.py"
LINES = {"C": "/opt/plans.so", "Python": f"spank_python.so {FILE}"}
PLACES = {
    "local": ("init", "init_post_opt", "local_user_init", "exit"),
    "allocator": ("init", "init_post_opt", "exit"),
    "remote": (
        *("init", "init_post_opt", "user_init", "task_init_privileged", "task_init"),
        *("task_post_fork", "task_exit", "exit"),
    ),
    "job_script": ("job_prolog", "job_epilog"),
}
CONTROL_WRITE = {("allocator", "init"), ("allocator", "init_post_opt"), ("local", "init_post_opt")}
"""Elsewhere Slurm accepts a write that has no effect, and slurmhooks refuses it."""
AFTER_OPTIONS = {("local", "local_user_init"), ("local", "exit")}
OPTIONS = {"flag": 0, "need": 1, "may.be-x": 2}
GIVEN = {0: ("",), 1: ("=v", "=", "='a b'", " w"), 2: ("", "=q", "=")}
NAMES = ("A", "B", "DUP", "NOEQ", "sp ace", "f%%", "1", "SLURM_PROCID", "SPANK_A", "SLURM_SPANK_A", "\udcff", "AB")
VALUES = ("", "1", "a b", "x=y", "\u00e4\udcff", "two\nlines", "%s%n", "y" * 1500, "(null)")
VARIABLES = (
    *("NOEQ", "A=1", "DUP=1", "DUP=2", "DUP=3", "sp ace=1", "f%%=() {\n}", "AB=ab", "EMPTY=", "SPANK_A=user"),
    *("\udcff=\udcfe", "SLURM_SPANK_A=user", "SLURM_SPANK__SLURM_SPANK_OPTION_python_need=variable"),
    "SLURM_SPANK__SLURM_SPANK_OPTION_python_flag=",
)
SHOW = "od -An -v -tx1 /proc/self/environ"
CHANGING = ("_ID=", "_JOBID=", "_PORT=", "_TIME=", "_PID=", "SLUID=", "PACK_GROUP", "HET_GROUP", "SET=")
"""Parts of variables that differ from job to job."""
EMPTY, NULL = b"-", b"(null)".hex().encode()
START = """
import os, sys
variables, *command = sys.argv[1:]
import ctypes
texts = [bytes.fromhex(text) for text in variables.split(",")]
array = (ctypes.c_char_p * (len(texts) + 1))(*texts)
words = (ctypes.c_char_p * (len(command) + 1))(*map(os.fsencode, command))
ctypes.CDLL(None).execve(words[0], words, array)
"""
"""Starts a program with any variables: the same name several times, and texts without "="."""


def digits(text: str) -> str:
    """Write a text as plans read it."""
    return text.encode("utf-8", "surrogateescape").hex() or "-"


@dataclass
class Seen:
    """What a launch has shown.

    The records of a heterogeneous job have no order, and its environments are those of all tasks.
    """

    code: int
    drained: bool
    records: dict[str, list[str]]
    environments: dict[str, list[str]]


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """A cluster with both plugins."""
    prepared = site(cluster)
    prepared.hooks()
    cluster.put((HERE / "plans.py").read_text(), FILE)
    cluster.put((HERE / "plans.c").read_text(), "/opt/plans.c")
    cluster.put(START, "/opt/start.py")
    prepared.root("gcc -Wall -Werror -shared -fPIC -o /opt/plans.so /opt/plans.c && : > /opt/spank/plan")
    prepared.plugstack(f"required {LINES['Python']}")
    cluster.restart()
    return prepared


def plan(generator: random.Random) -> str:
    """Return what both plugins do: options, then calls in callbacks, and perhaps a failing callback."""
    rows = [f"option {digits(name)} {kind}" for name, kind in OPTIONS.items()]
    failing = None
    if generator.random() < 0.4:
        context = generator.choice(list(PLACES))
        failing = (context, generator.choice(PLACES[context]))
    for context, callbacks in PLACES.items():
        for callback in callbacks:
            ops = ["get", "get"] + (["options"] if callback != "init" else [])
            if (context, callback) not in AFTER_OPTIONS:  # only slurmhooks gives these a meaning
                ops.append("control_get")
            if failing != (context, callback):  # a failing handler writes nothing
                ops += ["set", "put", "del"]
                ops += ["control_set", "control_del"] if (context, callback) in CONTROL_WRITE else []
            rows += [
                f"{callback} {context} {generator.choice(ops)}"
                f" {digits(generator.choice(NAMES))} {digits(generator.choice(VALUES))}"
                for _ in range(generator.randint(0, 4))
            ]
    return "\n".join([*rows, f"{failing[1]} {failing[0]} fail" if failing else ""])


def launch(generator: random.Random) -> str:
    """Return a command for the shell, with options in random places."""

    def some() -> str:
        chosen = [name for name in OPTIONS if generator.random() < 0.4]
        return " ".join(f"--{name}{generator.choice(GIVEN[OPTIONS[name]])}" for name in chosen)

    step = f"/usr/bin/srun -Q --mpi=none {some()} -o task.%t"
    kind = generator.choice(["srun", "nodes", "sbatch", "script", "salloc", "het"])
    if kind == "salloc":
        return f"/usr/bin/salloc -Q -w n1 {some()} {step} {SHOW}"
    if kind == "het":
        return f"{step} -w n1 -n1 {SHOW} : {some()} -w n2 -n1 {SHOW}"
    if kind == "sbatch":
        return f"/usr/bin/sbatch -Q -W --no-requeue -w n1 {some()} -o batch --wrap {shlex.quote(f'{step} {SHOW}')}"
    if kind == "script":
        return f"/usr/bin/sbatch -Q -W --no-requeue -w n1 {some()} -o batch script {some()} {step}"
    return f"{step} -w n1 -n2 {SHOW}" if kind == "srun" else f"{step} -N2 -n3 {SHOW}"


def play(lent: Site, command: str, variables: list[str]) -> Seen:
    """Run a command to the end of its job."""
    settle(lent)
    lent.forget_records()
    lent.root("rm -rf /opt/shown; mkdir -m 777 /opt/shown")
    lent.cluster.put(
        f"#!/bin/sh\n#SBATCH --need=script\n#SBATCH --may.be-x\nsrun -Q -o task.%t {SHOW}\n", "/opt/script"
    )
    base = ["PATH=/usr/bin:/bin", "HOME=/home/alice", *variables]
    words = ",".join(digits(text) for text in base)
    command = command.replace(" script ", " /opt/script ")
    done = lent.shell(f"cd /opt/shown; timeout 60 python3 /opt/start.py {words} {command}")
    lent.wait_until_idle()
    # Its step may not have called exit yet.
    lent.cluster.wait(lambda: not lent.root("pgrep -f '^slurmstepd: ' || true").strip(), what="the end of the step")
    records: dict[str, list[str]] = {}
    for line in lent.root("cat /opt/spank/records").splitlines():
        callback, context, step, node, task = line.partition(":")[0].split()
        process = "task" if callback.startswith("task_init") else callback if callback.startswith("task_") else ""
        records.setdefault(f"{context} {step} {node} {task if process else ''} {process}", []).append(
            line.replace(NULL.decode(), EMPTY.decode())
        )
    environments = {}
    for name in lent.root("ls /opt/shown").split():
        if name.startswith("task."):
            shown = bytes.fromhex("".join(lent.root(f"grep '^ ' /opt/shown/{name} || true").split()))
            texts = shown.decode("utf-8", "surrogateescape").split("\0")
            environments[name] = sorted(text for text in texts if not any(part in text for part in CHANGING))
    if " : " in command:
        # The ids of both components are the same, and which of them has what local_user_init writes is by chance.
        records = {process: sorted(lines) for process, lines in records.items()}
        environments = {"all": sorted(text for texts in environments.values() for text in texts)}
    return Seen(done.returncode, bool(lent.drained()), records, environments)


def test_as_in_c(lent: Site) -> None:
    """Exit codes, nodes, results of calls, their order in each process, and tasks' variables are the same."""
    _, generator = seeded()
    shown = 0
    for number in range(PLANS):
        lent.cluster.put(plan(generator), "/opt/spank/plan")
        command = launch(generator)
        variables = generator.sample(VARIABLES, generator.randint(0, 6))
        seen = {}
        for language, line in LINES.items():
            lent.hooks()
            lent.plugstack(f"required {line}")
            if language == "Python" and number % 2:
                lent.without_manifest()
            seen[language] = play(lent, command, variables)
        for part in ("code", "drained", "records", "environments"):
            in_python, in_c = getattr(seen["Python"], part), getattr(seen["C"], part)
            assert in_python == in_c, f"{number}: {command} with {variables}"
        shown += len(seen["C"].environments)
    assert shown


@pytest.mark.parametrize(
    ("context", "callback"),
    [("local", "init"), ("remote", "task_init"), *moved(("local", "init_post_opt"), ("local", "local_user_init"))],
)
def test_positive_codes(lent: Site, context: str, callback: str) -> None:
    """A positive code of a C plugin fails a callback from 25.05 on only; a refusal in Python fails it before, too."""
    codes = {}
    for language, line in LINES.items():
        lent.hooks()
        lent.plugstack(f"required {line}")
        lent.cluster.put(f"{callback} {context} fail positive\n", "/opt/spank/plan")
        codes[language] = play(lent, "/usr/bin/srun -Q --mpi=none -w n1 true", []).code
    assert codes["Python"]
    assert bool(codes["C"]) == (lent.since >= (25, 5))


@pytest.mark.parametrize("lines", [("C", "Python"), *moved((("Python", "C"),), (("Python",),))])
def test_jobs_of_the_former_plugin(lent: Site, lines: tuple[str, ...]) -> None:
    """A waiting job keeps the options of the C plugin on nodes that also have its line, and loses them on others."""
    settle(lent)
    lent.forget_records()
    source = (HERE / "plans.c").read_text().replace("SPANK_PLUGIN(python,", "SPANK_PLUGIN(former,")
    lent.cluster.put(source, "/opt/former.c")
    lent.root("gcc -Wall -Werror -shared -fPIC -o /opt/former.so /opt/former.c")
    lent.hooks()
    written = LINES | {"C": "/opt/former.so"}
    lent.plugstack(f"required {written['C']}")
    lent.cluster.put(f"option {digits('need')} 1\ntask_init remote options - -\n", "/opt/spank/plan")
    job = int(lent.shell("sbatch -H --parsable --need=v -o /dev/null --wrap true").stdout)
    lent.plugstack(*(f"required {written[line]}" for line in lines))
    lent.forget_records()
    lent.root(f"scontrol release {job}")
    assert lent.wait_for_job(job) == "COMPLETED"
    values = [row.partition("options=")[2].split(",")[0] for row in lent.root("cat /opt/spank/records").splitlines()]
    assert [value for value in values if value not in ("", "none")] == [digits("v")] * ("C" in lines)
