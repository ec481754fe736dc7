# SPDX-License-Identifier: GPL-2.0-or-later
"""Values of options: the newest release's parser and the testing kit accept, refuse and print the same."""

import json
import os
import time
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from slurmhooks.cli_filter.model import EARLY
from slurmhooks.fields.rows import NEWEST
from slurmhooks.workshop.testing.cli_filter import FakeCliFilterModule
from tests.cluster.kit_pairs import FOLDER, prepare
from tests.cluster.option_values import values_by_option
from tests.cluster.spank.site import Site, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = [pytest.mark.stopped, pytest.mark.one_release("26.05"), pytest.mark.moved]

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
"""
COMMANDS = {"sbatch": "--wrap true", "srun": "true", "salloc": "true"}
ANY = frozenset({
    "accel-bind", "acctg-freq", "compress", "cpu-bind", "cpu_bind", "cpu-freq", "distribution", "extra-node-info",
    "gpu-bind", "gpu-freq", "gres-flags", "ignore-signals", "jobid", "kill-command", "mem-bind", "mem-update",
    "oom-kill-step", "power", "pty", "segment", "send-libs", "slurmd-debug", "treewidth", "wait-all-nodes", "x11",
})  # fmt: skip
"""Options of which the kit takes any text."""


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """A site whose commands try values."""
    if cluster.version != NEWEST:
        pytest.skip("compared with the newest release")
    made = site(cluster)
    made.plugstack("required spank_python.so")
    cluster.put(CONF, "/etc/slurm/local.conf")
    cluster.restart()
    made.hooks(tries=HOOK)
    prepare(cluster)
    return made


@pytest.mark.parametrize("command", COMMANDS)
def test_values(lent: Site, command: str) -> None:
    """A value that Slurm refuses, or that ends the command, does so in the kit; each other one is printed the same."""
    values = {name: texts for name, texts in values_by_option().items() if name not in ANY}
    lent.cluster.put(json.dumps(values), f"{FOLDER}/values")
    lent.root(f"chmod a+r {FOLDER}/values; rm -f {FOLDER}/results")
    done = lent.shell(f"cd /tmp; timeout 550 {command} {COMMANDS[command]}")
    results = json.loads(lent.root(f"cat {FOLDER}/results || true") or "{}")
    assert results, done.stdout
    wrong = []
    for name, by_value in results.items():
        for value, real in by_value.items():
            if not is_of_now(name, value):
                ours = in_kit(command, name, value)
                wrong += [f"--{name}={value!r}: kit {ours}, Slurm {real}"] if ours != real else []
    assert not wrong, "\n".join(wrong)


def is_of_now(name: str, value: str) -> bool:
    """Tell whether the clock decides what a value means."""
    return name in ("begin", "deadline") and ("now" in value.lower() or time.strftime("%m") in value)


def in_kit(command: str, name: str, value: str) -> str | list[str]:
    """Return what the kit makes of a value for an ordinary user."""
    slurm, early = FakeCliFilterModule(command, {}, {}), name in EARLY.get(command, ())
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
