# SPDX-License-Identifier: GPL-2.0-or-later
"""`slurmhooks compile` and `check` on a site that changes, and the hook manifest in real launches."""

from typing import TYPE_CHECKING

import pytest

from tests.cluster.spank.site import HOOKS_D, Site, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

MANIFEST = "/etc/slurm/slurmhooks.manifest"
HOOKS = """
from slurmhooks import hook

word = hook.spank.option("compiled", "WORD", usage="any word")

@hook.spank.task_init
def task(spank):
    spank.env["WORD"] = word.value or "none"
"""
NO_MANIFEST = "no hook manifest"


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """A site with one hook file."""
    lent_site = site(cluster)
    lent_site.plugstack("required spank_python.so")
    lent_site.hooks(a=HOOKS)
    return lent_site


def complaints(lent: Site) -> int:
    """Run a launch that must succeed; return how often slurmstepd has logged that there is no manifest."""
    before = lent.cluster.log("n1").count(NO_MANIFEST)
    done = lent.shell("srun -Q -w n1 --compiled=given sh -c 'echo WORD=$WORD'")
    assert done.returncode == 0, done.stdout
    assert "WORD=given" in done.stdout.splitlines()
    lent.wait_until_idle()
    return lent.cluster.log("n1").count(NO_MANIFEST) - before


def test_what_makes_a_manifest_void(lent: Site) -> None:
    """Added, removed or changed hook files invalidate the manifest, editors' backups do not; launches still work."""
    lent.hooks(a=HOOKS)
    assert complaints(lent) > 0
    lent.compile()
    assert complaints(lent) == 0
    lent.root(f"touch {HOOKS_D}/.a.py.swp {HOOKS_D}/a.py~; mkdir -p {HOOKS_D}/old")
    assert complaints(lent) == 0
    assert "up to date" in lent.root("slurmhooks check")
    lent.cluster.put("", f"{HOOKS_D}/b.py")
    assert complaints(lent) > 0
    assert "stale" in lent.root("slurmhooks check")
    lent.root(f"rm {HOOKS_D}/b.py")
    assert complaints(lent) == 0
    lent.root(f"touch {HOOKS_D}/a.py")
    assert complaints(lent) > 0


def test_two_compile_at_once(lent: Site) -> None:
    """Two simultaneous runs succeed, and leave one valid manifest."""
    lent.hooks(a=HOOKS)
    done = lent.shell("slurmhooks compile & slurmhooks compile; wait $!", user="root")
    assert done.returncode == 0, done.stdout
    assert lent.root(f"ls /etc/slurm | grep -c {MANIFEST.rpartition('/')[2]}").strip() == "1"
    assert "up to date" in lent.root("slurmhooks check")
    assert complaints(lent) == 0


PACKAGE = """
@hook.spank.init(contexts=("allocator",))
def allocates(spank):
    with open("/opt/spank/records", "a") as file:
        file.write("{}\\n")
"""


def test_handlers_of_a_package(lent: Site) -> None:
    """Handlers of an installed package run, also with a manifest, which becomes invalid when the package changes.

    The line of plugstack.conf is in an included file, and scrontab is an allocator like sbatch.
    """
    lent.hooks()
    place = lent.root("ls -d /opt/slurmhooks/lib/python3.*/site-packages").strip() + "/spankhooks"
    toml = "/etc/slurm/slurmhooks.toml"
    before = lent.root(f"cat {toml}")
    try:
        lent.cluster.put("from spankhooks import rules\n", f"{place}/__init__.py")
        lent.cluster.put(HOOKS + PACKAGE, f"{place}/rules.py")
        lent.cluster.put('[hooks]\nmodules = ["spankhooks"]\n', toml)
        lent.plugstack("include /etc/slurm/plugstack.conf.d/*")
        lent.cluster.put("required spank_python.so\n", "/etc/slurm/plugstack.conf.d/hooks.conf")
        assert complaints(lent) > 0
        lent.compile()
        report = lent.root("slurmhooks check")
        assert "spankhooks:task" in report
        assert "up to date" in report
        assert complaints(lent) == 0
        if lent.shell("command -v scrontab").returncode == 0:
            lent.forget_records()
            # slurmctld does not accept this; only the command matters here.
            lent.root("(cat /etc/slurm/slurm.conf; echo ScronParameters=enable) > /etc/slurm/scron.conf")
            command = "printf '0 0 1 1 * true\\n' | scrontab -"
            done = lent.shell(command, SLURM_CONF="/etc/slurm/scron.conf")
            assert lent.records(), done.stdout
        lent.cluster.put(HOOKS, f"{place}/rules.py")
        assert "stale" in lent.root("slurmhooks check")
        assert complaints(lent) > 0
    finally:
        lent.cluster.put(before, toml)
        lent.plugstack("required spank_python.so")
        lent.root(f"rm -rf {place} /etc/slurm/plugstack.conf.d /etc/slurm/scron.conf")


TALKS = """
import sys
if "click" in sys.modules:
    print("x" * 200000)
"""
"""What makes a hook file print more, while a command loads it, than slurmd logs, and than a pipe holds."""
WRITES = "/etc/default/slurmd"
"""The lab reads it as systemd does; the variable is set to "manual" in other tests."""


def test_slurmd_writes_the_manifest(lent: Site) -> None:
    """A slurmd that starts writes a missing or outdated manifest, and from 23.11 on one that is reconfigured, too.

    It then does without Python.
    """
    lent.hooks(a=HOOKS)
    before = lent.root(f"cat {WRITES} 2>/dev/null || true")
    lent.cluster.put(f"{before}SLURMHOOKS_MANIFEST=\n", WRITES)
    try:
        lent.cluster.restart("n1", "n2")
        assert f"compile: {MANIFEST}: handlers: 1" in lent.cluster.log("n1")
        assert complaints(lent) == 0
        assert not lent.root("grep -l libpython $(pgrep -x slurmd | sed 's|.*|/proc/&/maps|') || true").strip()
        assert "is not used" not in lent.shell("slurmhooks status", user="root").stdout
        lent.cluster.put(f"{HOOKS}{TALKS}", f"{HOOKS_D}/a.py")
        assert complaints(lent) > 0
        assert f"{HOOKS_D}/a.py has changed since" in lent.shell("slurmhooks status", user="root").stdout
        if lent.cluster.version >= (23, 11):
            lent.root("scontrol reconfigure")
            lent.cluster.wait(lambda: "up to date" in lent.root("slurmhooks check"), what="an up-to-date manifest")
        else:
            lent.cluster.restart("n1", "n2")
        assert complaints(lent) == 0
    finally:
        lent.cluster.put(before, WRITES)
        lent.hooks(a=HOOKS)
        lent.cluster.restart("n1", "n2")
