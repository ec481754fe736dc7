# SPDX-License-Identifier: GPL-2.0-or-later
"""Values of options: Slurm's parser and the testing kit accept, refuse and print the same, in each release."""

import json
import os
import random
import re
import time
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from slurmhooks.cli_filter.model import EARLY
from slurmhooks.testing.cli_filter import Slurm
from tests.cluster.drawn_values import draw
from tests.cluster.kit_pairs import FOLDER, prepare
from tests.cluster.spank.site import Site, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.stopped

HOOK = f"""
import json
from slurmhooks import Reject, hook
from slurmhooks.cli_filter.model import EARLY

@hook.cli_filter.pre_submit(timeout=600)
def tries(options):
    results = {{}}
    with open("{FOLDER}/values") as file:
        given = json.load(file)
    for name, values in given.items():
        for value in values if name in options else ():
            write = (name.encode(), value.encode("utf-8", "surrogateescape"))
            early = name in EARLY.get(options.command, ())
            accepted, _, after = options._native.rehearse(options._address, [write], early)
            result = "ENDS" if after is None else [dict(after).get(name) or ""] if accepted else "REFUSED"
            results.setdefault(name, {{}})[value] = result
    with open("{FOLDER}/results", "w") as file:
        json.dump(results, file)
    raise Reject("the end")
"""
CONF = """
JobSubmitPlugins=python
CliFilterPlugins=python
CpuFreqGovernors=Conservative,OnDemand,Performance,PowerSave,UserSpace,SchedUtil
"""
COMMANDS = {"sbatch": "--wrap true", "srun": "true", "salloc": "true"}
NUMBER, LONG = 3, 60
"""How many changed values of each option `make test` and `make soak` compare."""
OF_SITE = ("one-task-per-sharing",)
"""Values that a parameter of slurm.conf must permit."""
ARBITRARY = ("ignore-signals", "jobid")
"""Options for which Slurm's result is arbitrary if the value is negative or a number that is too large."""


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """A site whose commands try values."""
    made = site(cluster)
    made.plugstack("required spank_python.so")
    cluster.put(CONF, "/etc/slurm/local.conf")
    cluster.restart()
    made.hooks(tries=HOOK)
    prepare(cluster)
    return made


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "number", [pytest.param(NUMBER, id="few"), pytest.param(LONG, id="many", marks=pytest.mark.soak)]
)
def test_values(lent: Site, command: str, number: int) -> None:
    """A value that Slurm refuses, or that ends the command, does so in the kit; each other one is printed the same."""
    new = 1 if number == NUMBER else random.randrange(1 << 32)  # `make test` tries the same values each time
    seed = int(os.environ.get("SLURMHOOKS_SEED") or new)
    print(f"SLURMHOOKS_SEED={seed}")  # noqa: T201
    chance = random.Random(seed)
    values = draw(number, chance)
    if number == NUMBER:
        values = {name: chance.sample(pool, min(len(pool), 12)) for name, pool in values.items()}
    lent.cluster.put(json.dumps(values), f"{FOLDER}/values")
    lent.root(f"chmod a+r {FOLDER}/values; rm -f {FOLDER}/results")
    done = lent.shell(f"cd /tmp; timeout 550 {command} {COMMANDS[command]}")
    results = json.loads(lent.root(f"cat {FOLDER}/results || true") or "{}")
    assert results, done.stdout
    wrong = []
    for name, by_value in results.items():
        for value, real in by_value.items():
            if not (any(word in value for word in OF_SITE) or is_arbitrary(name, value) or is_of_now(name, value)):
                ours = in_kit(command, lent.since, name, value)
                wrong += [f"--{name}={value!r}: kit {ours}, Slurm {real}"] if ours != real else []
    assert not wrong, "\n".join(wrong)


def is_arbitrary(name: str, value: str) -> bool:
    """Tell whether Slurm's result is arbitrary."""
    return name in ARBITRARY and re.search(r"-|[0-9]{10}", value) is not None


def is_of_now(name: str, value: str) -> bool:
    """Tell whether the clock decides what a value means."""
    return name in ("begin", "deadline") and ("now" in value.lower() or time.strftime("%m") in value)


def in_kit(command: str, release: tuple[int, ...], name: str, value: str) -> str | list[str]:
    """Return what the kit makes of a value for an ordinary user."""
    slurm, early = Slurm(command, {}, {}, release), name in EARLY.get(command, ())
    words = (name.encode(), value.encode("utf-8", "surrogateescape"))
    before = os.getcwd()
    os.chdir("/tmp")
    try:
        with mock.patch("os.getuid", return_value=1000):
            if slurm.ends(*words, early):
                return "ENDS"
            return [slurm.values[name] or ""] if slurm.assign(1, *words, early) else "REFUSED"
    finally:
        os.chdir(before)
