# SPDX-License-Identifier: GPL-2.0-or-later
"""slurmd and slurmstepd, as root, run only files that only root can write; slurmctld also files of SlurmUser."""

import re
from typing import TYPE_CHECKING

import pytest

from tests.cluster.job_submit_site import NOT_LOADED
from tests.cluster.spank.site import RECORDS, Site, site
from tests.cluster.turns import moved_from

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

SET = "/etc/slurm/slurmhooks.set"
MANIFEST = f"{SET}/.manifest"
FILE = f"{SET}/hooks.d/a.py"
WITHOUT_CALLS = f"""
from slurmhooks.site.manifest_writer import sealed
with open({MANIFEST!r}, "rb") as file:
    first, _, rest = file.read().partition(b"\\n")
rows = b"".join(row for row in rest.splitlines(True) if not row.startswith(b"call"))
with open({MANIFEST!r}, "wb") as file:
    file.write(sealed(first.rpartition(b" ")[0].decode() + " ", rows))
"""
"""Take the handlers of tasks out of the manifest, as somebody would who knows its checksum."""
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
os.chdir("{SET}")
libc = ctypes.CDLL(None)
while True:
    libc.renameat2(-100, b"hooks.d", -100, b"evil.d", 2)
"""


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """A site with a line of plugstack.conf."""
    lent_site = site(cluster)
    lent_site.plugstack("required spank_python.so")
    return lent_site


def settle(lent: Site) -> None:
    """Put one hook file in force, in a new store, and remove records.

    Jobs of an earlier test end first: without a set a prolog fails, and holds its job.
    """
    lent.root("scancel --user=alice")
    lent.wait_until_idle()
    lent.root("chmod 755 /etc/slurm; rm -rf /etc/slurm/slurmhooks.*d /etc/slurm/slurmhooks.set")
    lent.hooks(a=HOOKS.replace("TAG", "good"))
    lent.cluster.put('[hooks]\npaths = ["hooks.d/*.py"]\n', "/etc/slurm/slurmhooks.toml")
    lent.cluster.deploy()
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
    repairs = re.findall(r"what they put there would run: (.*)", lent.cluster.log("n1")[before:])
    assert len(set(repairs)) == 1, lent.cluster.log("n1")[before:]
    return str(repairs[0])


EXPOSED = {
    "the folder of sets": "chown alice /etc/slurm/slurmhooks.d/sets",
    "a file of a group": f"chgrp alice {FILE}; chmod g+w {FILE}",
    "a file of SlurmUser": f"chown slurm {FILE}",
}


@pytest.mark.parametrize("exposed", moved_from(1, EXPOSED))
def test_what_root_does_not_run(lent: Site, exposed: str) -> None:
    """The step fails, root runs nothing, and the command in slurmd's log repairs it."""
    settle(lent)
    lent.root(f"rm {MANIFEST}; {EXPOSED[exposed]}")  # so that launches read the file
    command = refused(lent)
    assert command.startswith(("chown root /etc/slurm", "chmod g-w /etc/slurm", "chmod o-w /etc/slurm"))
    lent.root(command)
    lent.wait_until_idle()
    lent.resume()
    lent.cluster.wait(lambda: launch(lent) == "RAN good", what="step with the policy")
    assert ("good", "0") in imports(lent)


def test_byte_code_that_somebody_has_planted(lent: Site) -> None:
    """Planted byte code runs in none of Slurm's processes."""
    settle(lent)
    lent.root(f"rm {MANIFEST}")  # so that all processes read the file
    lent.cluster.root(PYTHON, "-c", PLANT, check=True)
    assert launch(lent) == "RAN good"
    lent.cluster.restart("slurmctld")
    assert lent.shell("sbatch -w n1 --wrap true").returncode == 0
    slurm = lent.root("id -u slurm").strip()
    alice = lent.root("id -u alice").strip()
    assert imports(lent) >= {("good", "0"), ("good", slurm), ("good", alice)}
    assert {tag for tag, _ in imports(lent)} == {"good"}


def test_a_manifest_of_a_user(lent: Site) -> None:
    """A user's manifest that claims that tasks have no handlers is ignored by root's processes."""
    settle(lent)
    assert launch(lent) == "RAN good"
    lent.cluster.root(PYTHON, "-c", WITHOUT_CALLS, check=True)
    assert launch(lent) == "RAN"
    lent.root(f"chown alice {MANIFEST}")
    before = len(lent.cluster.log("n1"))
    assert launch(lent) == "RAN good"
    logged = lent.cluster.log("n1")[before:]
    assert re.search(r"it cannot be trusted: /etc/slurm/\S*/\.manifest belongs to a user who is not root", logged)


def test_slurmctld_runs_what_is_slurm_users_or_roots(lent: Site) -> None:
    """slurmctld runs no file of a user, and refuses what has no policy; the same file of SlurmUser is loaded."""
    settle(lent)

    def submit() -> str:
        lent.cluster.restart("slurmctld")
        return lent.shell("sbatch --parsable -H --wrap true").stdout

    slurm = lent.root("id -u slurm").strip()
    lent.root(f"chown alice {FILE}")
    assert NOT_LOADED in submit()
    assert ("good", slurm) not in imports(lent)
    assert re.search(r"/hooks\.d/a\.py: it belongs to alice \(user id ", lent.cluster.log())
    lent.root(f"chown slurm {FILE}")
    job = int(submit())
    assert lent.job(job)["Comment"] == "good"
    assert ("good", slurm) in imports(lent)
    lent.root(f"scancel {job}")


@pytest.mark.moved
def test_folders_that_are_swapped(lent: Site) -> None:
    """A user who can write a folder above, and constantly swaps those below it, cannot make root run anything."""
    settle(lent)
    folder = lent.root(f"readlink -f {SET}").strip()
    lent.cluster.put(HOOKS.replace("TAG", "evil"), "/tmp/evil.py")
    lent.root(f"mkdir {folder}/evil.d; mv /tmp/evil.py {folder}/evil.d/a.py; chown -R alice {folder}/evil.d")
    lent.root(f"chown alice {folder}")
    pid = lent.shell(f"nohup {PYTHON} -c '{SWAP}' >/dev/null 2>&1 & echo $!").stdout.strip()
    try:
        for _ in range(5):
            assert refused(lent) == f"chown root {folder}"
            lent.wait_until_idle()
            lent.resume()
    finally:
        lent.shell(f"kill {pid}")
