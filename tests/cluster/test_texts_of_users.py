# SPDX-License-Identifier: GPL-2.0-or-later
"""A text that a user has written, through every hook of real commands and daemons, to terminals, logs and nodes."""

import re
import subprocess
import unicodedata

import pytest

from slurmhooks.hooks.points import POINTS
from tests.cluster.conftest import Cluster
from tests.cluster.turns import moved

pytestmark = pytest.mark.stopped

TEXT = "odd\x1b]0;owned\x07\x1b[31m\n[2026-01-01T00:00:00.000] error: forged\r\u202e\u009b31m\udc9b end"
"""What would set the title of a terminal, color it, begin a record of a log, and change the direction of text."""
CALLED = ("job_submit", "site_factor", "prep", "jobcomp", "spank", "cli_filter", "node")
"""Plugin points that srun, sbatch and daemons reach here; power programs and scrun have tests of their own."""
START = """
import os
from slurmhooks import Reject, hook, log

def let_out(name):
    text = open("/tmp/text", "rb").read().decode("utf-8", "surrogateescape")
    way = open("/tmp/way").read().split()
    log.info("%s: %s", name, text)
    log.info(text, name=text)
    log.user(text)
    if name in way:
        raise (Reject if "refuse" in way else RuntimeError)(text)
"""
CONF = """
JobSubmitPlugins=python
PrioritySiteFactorPlugin=site_factor/python
PriorityType=priority/multifactor
PriorityWeightAge=1
PrEpPlugins=prep/script,prep/python
JobCompType=jobcomp/python
CliFilterPlugins=python
HealthCheckProgram=/usr/local/lib/slurm/slurmhooks/slurmhooks_health
HealthCheckInterval=3000
"""
PROGRAM = "/usr/local/lib/slurm/slurmhooks/slurmhooks_health"
LOGS = "/var/log/slurm"


def names_of(cluster: Cluster) -> list[str]:
    """Return the hooks that this build of this release can have."""
    absent = () if cluster.has_sources else ("site_factor", "prep", "jobcomp")
    names = [
        spec.name for point in CALLED if point not in absent for spec in POINTS[point].hooks if not spec.is_periodic
    ]
    # Without records, a handler of hook.job that names no field does not load.
    return [
        name
        for name in names
        if (name != "job_start" or cluster.version >= (25, 5)) and (name != "job" or cluster.has_sources)
    ]


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Cluster:
    """A cluster whose hooks let a text out in every way."""
    lines = CONF.splitlines()
    if not cluster.has_sources:
        lines = [line for line in lines if line.startswith(("JobSubmit", "CliFilter", "HealthCheck"))]
    cluster.put("\n".join(lines) + "\n", "/etc/slurm/local.conf")
    cluster.put('[hooks]\npaths = ["hooks.d/*.py"]\n', "/etc/slurm/slurmhooks.toml")
    handlers = [f"@hook.{name}\ndef {name.replace('.', '_')}():\n    let_out({name!r})\n" for name in names_of(cluster)]
    cluster.put("\n".join([START, *handlers]), "/etc/slurm/hooks.d/texts.py")
    cluster.put("", "/tmp/way")
    cluster.root("python3", "-", input=f"open('/tmp/text', 'wb').write({TEXT.encode('utf-8', 'surrogateescape')!r})")
    cluster.deploy()
    cluster.restart()
    return cluster


def acting(text: str) -> set[str]:
    """Return what acts on a terminal, but for layout: by Unicode, not by our own rule."""
    return {
        repr(char)
        for char in text
        if char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    }


def acting_on_user(done: subprocess.CompletedProcess[str]) -> set[str]:
    """Return what acts on the terminal of who ran a command, but for colours, which end with the text."""
    said = done.stdout + done.stderr
    assert said.rpartition("\x1b[")[2].startswith("0m") or "\x1b[" not in said, said
    return acting(re.sub(r"\x1b\[[0-9;]*m", "", said))


def read(cluster: Cluster) -> dict[str, str]:
    """Return all logs of the daemons and of slurmhooks."""
    names = cluster.root("sh", "-c", f"ls {LOGS}/*.log {LOGS}/slurmhooks/*").stdout.split()
    return {name: cluster.root("cat", name).stdout for name in names}


STEP = ("timeout", "20", "srun", "-N1", "-w", "n1", "-D", "/tmp", "true")
BATCH = ("timeout", "20", "sbatch", "-w", "n2", "-D", "/tmp", "-o", "/tmp/alice.out", "--wrap", "true")
WAYS = ("", "job_submit", "spank.init", "spank.local_user_init", "spank.task_init", "spank.job_prolog",
        "spank.user_init", "cli_filter.pre_submit", "cli_filter.setup_defaults", "controller_prolog",
        "node.health_check")  # fmt: skip
OFTEN = [
    ("", "refuse"),
    ("job_submit", "bug"),
    ("spank.init", "bug"),
    ("spank.task_init", "refuse"),
    ("spank.job_prolog", "bug"),
    ("cli_filter.pre_submit", "refuse"),
    ("controller_prolog", "refuse"),
    ("node.health_check", "bug"),
]
"""One hook of each process that shows texts."""


@pytest.mark.parametrize(
    ("name", "how"),
    [*OFTEN, *moved(*((name, how) for name in WAYS for how in ("refuse", "bug") if (name, how) not in OFTEN))],
)
def test_nothing_acts(site: Cluster, name: str, how: str) -> None:
    """Whatever hook a text passes, the user's terminal, all logs and the reasons of nodes have it escaped."""
    site.put(f"{name} {how}", "/tmp/way")
    done = site.user("alice", *STEP)
    assert not acting_on_user(done), done.stdout + done.stderr
    assert "odd\\x1b]0;owned" in done.stderr or name in ("cli_filter.setup_defaults", "spank.init"), done.stderr
    batch = site.user("alice", *BATCH)
    assert not acting_on_user(batch), batch.stdout + batch.stderr
    checked = site.root("env", "-i", "SLURMD_NODENAME=n2", PROGRAM)
    assert not acting(checked.stdout + checked.stderr)
    assert "node.health_check: odd\\x1b]0;owned" in checked.stdout + checked.stderr
    shown = site.root("scontrol", "show", "node").stdout
    assert not acting(shown), shown
    for file, text in read(site).items():
        assert not acting(text), (file, acting(text))
        assert not any(line.startswith("[2026-01-01T00:00:00.000] error: forged") for line in text.splitlines()), file
    assert not acting(site.root("cat", "/tmp/alice.out").stdout)
    site.root("scancel", "-u", "alice")
    site.put("", "/tmp/way")
    if "DRAIN" in shown:
        site.root("scontrol", "update", "nodename=n[1-2]", "state=resume")


@pytest.mark.each_release
def test_each_hook_of_a_daemon_was_called(site: Cluster) -> None:
    """The logs have the text from each of them."""
    site.user("alice", *STEP)
    site.user("alice", *BATCH)
    job = site.user("alice", "sbatch", "--parsable", "--begin=now+1day", "-D", "/tmp", "--wrap", "true").stdout.strip()
    changed = site.user("alice", "scontrol", "update", f"jobid={job}", "comment=x")
    assert not acting_on_user(changed)
    elsewhere = (
        "job_submit.init",
        "job_submit.fini",
        "spank.local_user_init",
        "spank.slurmd_exit",
        "node.health_check",
    )
    found = [name for name in names_of(site) if name not in (*elsewhere, "spank.init_post_opt")]
    names = [name for name in found if not name.startswith("cli_filter")]

    def missing() -> list[str]:
        logs = "".join(read(site).values())
        return [name for name in names if f"{name}: odd\\x1b]0;owned" not in logs]

    site.wait(lambda: not missing(), what=f"texts of {missing()}")
