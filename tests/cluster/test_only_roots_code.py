# SPDX-License-Identifier: GPL-2.0-or-later
"""slurmd and slurmstepd, as root, run only files that only root can write; slurmctld also files of SlurmUser."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.cluster.spank.site import RECORDS, Site, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

TOML = "/etc/slurm/slurmhooks.toml"
MANIFEST = "/etc/slurm/slurmhooks.manifest"
FOLDER = "/opt/site"
FILE = f"{FOLDER}/hooks.d/a.py"
PYTHON = "/opt/slurmhooks/bin/python3"
HOOKS = f"""
import os
from slurmhooks import hook

with open("{RECORDS}", "a") as file:
    file.write(f"TAG {{os.getuid()}}\\n")

@hook.job_submit
def comment(job):
    job.comment = "TAG"

@hook.spank.task_init
def policy(spank):
    spank.env["POLICY"] = "TAG"
"""
PLANT = f"""
import importlib.util, marshal, os, struct
path = importlib.util.cache_from_source("{FILE}")
os.makedirs(os.path.dirname(path), exist_ok=True)
code = compile({HOOKS.replace("TAG", "planted")!r}, "{FILE}", "exec")
with open(path, "wb") as file:
    file.write(importlib.util.MAGIC_NUMBER + struct.pack("<I", 1) + bytes(8) + marshal.dumps(code))
os.chown(path, 65534, 65534)
os.utime("{FILE}", (1, 1))
"""
"""Writes old byte code that Python would accept without checking the file."""
SWAP = f"""
import ctypes, os
os.chdir("{FOLDER}")
libc = ctypes.CDLL(None)
while True:
    libc.renameat2(-100, b"hooks.d", -100, b"evil.d", 2)
"""


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Iterator[Site]:
    """A site with hook files in a separate folder."""
    lent_site = site(cluster)
    toml = lent_site.root(f"cat {TOML}")
    lent_site.plugstack("required spank_python.so")
    lent_site.root(
        f"mkdir -p {FOLDER}/hooks.d {FOLDER}/evil.d {FOLDER}/links; ln -s ../hooks.d/a.py {FOLDER}/links/a.py"
    )
    try:
        yield lent_site
    finally:
        lent_site.root(f"rm -rf {FOLDER} {MANIFEST}")
        cluster.put(toml, TOML)


def settle(lent: Site, glob: str = "hooks.d/*.py") -> None:
    """Install one working hook file, and remove records."""
    lent.root(
        f"chown -R root:root {FOLDER}; chmod -R go-w {FOLDER}; rm -rf {MANIFEST} {FOLDER}/*/__pycache__ {FOLDER}/*.d/*"
    )
    lent.cluster.put(HOOKS.replace("TAG", "good"), FILE)
    lent.cluster.put(f'[hooks]\npaths = ["{FOLDER}/{glob}"]\n', TOML)
    lent.root("slurmhooks reload")
    lent.wait_until_idle()
    lent.resume()
    lent.cluster.wait(lambda: launch(lent) == "RAN good", what="node that takes jobs")
    lent.wait_until_idle()  # and its epilog has ended
    lent.forget_records()


def launch(lent: Site) -> str:
    """Run a step that prints the variable of the policy; return its output, because 22.05 always exits with 0."""
    return lent.shell("srun -Q --immediate=10 -w n1 sh -c 'echo RAN $POLICY' 2>/dev/null").stdout.strip()


def imports(lent: Site) -> set[tuple[str, str]]:
    """Return which contents of the hook file were run, and by which user."""
    rows = lent.root(f"cat {RECORDS}").splitlines()
    return {(tag, uid) for tag, uid in (row.split() for row in rows)}


def refused(lent: Site) -> str:
    """Run a step that must fail before root runs anything; return the command from slurmd's log that repairs it."""
    before = len(lent.cluster.log("n1"))
    assert launch(lent) == ""
    assert not {uid for _, uid in imports(lent)} & {"0"}
    repairs = re.findall(r"would run what they put there: (.*)", lent.cluster.log("n1")[before:])
    assert len(set(repairs)) == 1, lent.cluster.log("n1")[before:]
    return str(repairs[0])


EXPOSED = {
    "a folder above": ("hooks.d/*.py", f"chown alice {FOLDER}"),
    "a file of a group": ("hooks.d/*.py", f"chgrp alice {FILE}; chmod g+w {FILE}"),
    "a file of SlurmUser": ("hooks.d/*.py", f"chown slurm {FILE}"),
    "the folder of a link": ("links/*.py", f"chmod o+w {FOLDER}/links"),
}


@pytest.mark.one_release("26.05")
@pytest.mark.parametrize("exposed", EXPOSED)
def test_what_root_does_not_run(lent: Site, exposed: str) -> None:
    """The step fails, root runs nothing, and the command in slurmd's log repairs it."""
    glob, expose = EXPOSED[exposed]
    settle(lent, glob)
    lent.root(expose)
    command = refused(lent)
    assert command.startswith(("chown root /opt/site", "chmod g-w /opt/site", "chmod o-w /opt/site"))
    lent.root(command)
    lent.wait_until_idle()
    lent.resume()
    lent.cluster.wait(lambda: launch(lent) == "RAN good", what="step with the policy")
    assert ("good", "0") in imports(lent)


def test_byte_code_that_somebody_has_planted(lent: Site) -> None:
    """Planted byte code runs in none of Slurm's processes."""
    settle(lent)
    lent.cluster.root(PYTHON, "-c", PLANT, check=True)
    assert launch(lent) == "RAN good"
    lent.root("slurmhooks reload")
    assert lent.shell("sbatch -w n1 --wrap true").returncode == 0
    slurm = lent.root("id -u slurm").strip()
    alice = lent.root("id -u alice").strip()
    assert imports(lent) >= {("good", "0"), ("good", slurm), ("good", alice)}
    assert {tag for tag, _ in imports(lent)} == {"good"}


@pytest.mark.one_release("26.05")
def test_a_manifest_of_a_user(lent: Site) -> None:
    """A user's manifest that claims that tasks have no handlers is ignored by root's processes."""
    settle(lent)
    lent.compile()
    assert launch(lent) == "RAN good"
    lent.root(f"sed -i '/^call/d' {MANIFEST}")
    assert launch(lent) == "RAN"
    lent.root(f"chown alice {MANIFEST}")
    before = len(lent.cluster.log("n1"))
    assert launch(lent) == "RAN good"
    assert f"it cannot be trusted: {MANIFEST} belongs to a user who is not root" in lent.cluster.log("n1")[before:]


@pytest.mark.one_release("26.05")
def test_slurmctld_runs_what_is_slurm_users_or_roots(lent: Site) -> None:
    """slurmctld ignores a user's file, and the previous policy stays in force; the same file of SlurmUser is loaded."""
    settle(lent)
    slurm = lent.root("id -u slurm").strip()

    def comment() -> str:
        done = lent.shell("sbatch --parsable -H --wrap true")
        assert done.returncode == 0, done.stdout
        text = lent.job(int(done.stdout))["Comment"]
        lent.root(f"scancel {done.stdout.strip()}")
        return text

    assert comment() == "good"
    before = len(lent.cluster.log())
    lent.cluster.put(HOOKS.replace("TAG", "evil"), f"{FILE}.new")
    lent.root(f"chown alice {FILE}.new && mv {FILE}.new {FILE} && slurmhooks reload 2>&1 || true")
    assert comment() == "good"
    assert ("evil", slurm) not in imports(lent)
    assert f"{FILE}: it belongs to alice (user id " in lent.cluster.log()[before:]
    lent.cluster.put(HOOKS.replace("TAG", "repaired"), f"{FILE}.new")
    lent.root(f"chown slurm {FILE}.new && mv {FILE}.new {FILE}")
    lent.cluster.wait(lambda: comment() == "repaired", what="the new policy")


@pytest.mark.one_release("26.05")
def test_folders_that_are_swapped(lent: Site) -> None:
    """A user who can write a folder above, and constantly swaps those below it, cannot make root run anything."""
    settle(lent)
    lent.cluster.put(HOOKS.replace("TAG", "evil"), f"{FOLDER}/evil.d/a.py")
    lent.root(f"chown -R alice {FOLDER}/evil.d {FOLDER}")
    lent.root(f"chown root {FOLDER}/hooks.d {FILE}")
    pid = lent.shell(f"nohup {PYTHON} -c '{SWAP}' >/dev/null 2>&1 & echo $!").stdout.strip()
    try:
        for _ in range(5):
            assert refused(lent) == f"chown root {FOLDER}"
            lent.wait_until_idle()
            lent.resume()
    finally:
        lent.shell(f"kill {pid}")
