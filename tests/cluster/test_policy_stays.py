# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers in force in slurmctld stay in force unless their files are edited."""

from collections.abc import Iterator

import pytest

from slurmhooks.site.reload import STAYS
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import DEFAULT_TOML, HOOKS_D, NOT_LOADED, TOML, Site, lend, prepare

pytestmark = [pytest.mark.one_release("26.05"), pytest.mark.stopped]

HANDLER = "@hook.job_submit\ndef limit(job): raise Reject('version {}')\n"
GONE = "is gone, and with it job_submit handler life:limit; to remove this on purpose: touch /etc/slurm/slurmhooks.toml"
LINK = f"mv {HOOKS_D} /etc/slurm/aside; ln -s {{}} {HOOKS_D}"
UNLINK = f"rm {HOOKS_D}; mv /etc/slurm/aside {HOOKS_D}"

ACCIDENTS = {
    "unreadable folder": (f"chmod 700 {HOOKS_D}", f"{HOOKS_D}: Permission denied", f"chmod 755 {HOOKS_D}"),
    "unlistable folder": (f"chmod 711 {HOOKS_D}", f"{HOOKS_D}: Permission denied", f"chmod 755 {HOOKS_D}"),
    "closed folder": (f"chmod 744 {HOOKS_D}", f"{HOOKS_D}/life.py: Permission denied", f"chmod 755 {HOOKS_D}"),
    "renamed folder": (f"mv {HOOKS_D} /etc/slurm/aside", "hooks.d: does not exist", f"mv /etc/slurm/aside {HOOKS_D}"),
    "mounted over": (f"mount -t tmpfs -o mode=755 none {HOOKS_D}", GONE, f"umount {HOOKS_D}"),
    "link to nowhere": (LINK.format("/not/mounted"), "a symbolic link on the way leads nowhere", UNLINK),
    "link to itself": (LINK.format("hooks.d"), "Too many levels of symbolic links", UNLINK),
    "link elsewhere": (LINK.format("/usr"), GONE, UNLINK),
    "unreadable file": (f"chmod 600 {HOOKS_D}/life.py", "life.py: Permission denied", f"chmod 644 {HOOKS_D}/life.py"),
    "truncated file": (f": > {HOOKS_D}/life.py", f"{HOOKS_D}/life.py: is empty", "true"),
    "deleted file": (f"rm {HOOKS_D}/life.py", GONE, "true"),
    "FIFO": (f"rm {HOOKS_D}/life.py; mkfifo {HOOKS_D}/life.py", "life.py: not a file", f"rm {HOOKS_D}/life.py"),
    "folder instead": (f"rm {HOOKS_D}/life.py; mkdir {HOOKS_D}/life.py", "not a file", f"rmdir {HOOKS_D}/life.py"),
    "missing configuration": (f"mv {TOML} {TOML}.aside", f"{TOML}: is gone", f"mv {TOML}.aside {TOML}"),
    "empty configuration": (f"cp {TOML} {TOML}.aside; : > {TOML}", f"{TOML}: is empty", f"mv {TOML}.aside {TOML}"),
    "unreadable configuration": (f"chmod 600 {TOML}", "Permission denied", f"chmod 644 {TOML}"),
    "half a configuration": (f"truncate -s -4 {TOML}", f"{TOML}: not TOML", f"printf %s '{DEFAULT_TOML}' > {TOML}"),
}


@pytest.fixture(scope="module")
def module_site(cluster: Cluster) -> Site:
    """The cluster without SPANK, because users' commands would fail on files that they cannot read."""
    return prepare(cluster, "JobSubmitPlugins=python\n")


@pytest.fixture
def site(module_site: Site) -> Iterator[Site]:
    """Start each test without hooks and jobs."""
    yield from lend(module_site)


class Standing:
    """A handler in force, whose version each accident raises; setting it up again for each would take twice as long.

    Attributes:
        site: with the handler.
        version: of the handler in force; 0: none yet, or an accident was not repaired.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        self.version = 0

    def replace(self, version: int) -> None:
        """Put another version in force."""
        self.site.hooks(HANDLER.format(version))
        assert f"version {version}" in self.site.refused()
        self.version = version


@pytest.fixture(scope="module")
def standing(module_site: Site) -> Standing:
    """A handler for all accidents."""
    return Standing(module_site)


@pytest.mark.parametrize("accident", ACCIDENTS)
def test_an_accident_takes_no_handler_away(standing: Standing, accident: str) -> None:
    """slurmctld continues with the set that SlurmUser could read before, and says why; a repair takes effect."""
    spoil, words, repair = ACCIDENTS[accident]
    site = standing.site
    if not standing.version:
        site.reset()
        standing.replace(1)
    number, standing.version = standing.version, 0
    site.mark()
    try:
        said = site.reload(spoil)
        assert f"version {number}" in site.refused()
        logged = site.logged()
        assert f"version {number}" in site.refused()
        assert site.logged().count(STAYS) == logged.count(STAYS)
    finally:
        site.shell(repair, user="root")
    assert words in said, said
    assert words in logged, logged
    assert STAYS in logged
    assert "loaded changed hooks" not in logged
    standing.replace(number + 1)
    assert "error: slurmhooks: job_submit raised" not in site.logged()


def test_a_repaired_mode_counts(site: Site) -> None:
    """After the chmod that an error names, an unreadable change takes effect."""
    site.hooks(HANDLER.format(1))
    assert "version 1" in site.refused()
    site.shell(f"umask 077; sed 's/version 1/version 2/' {HOOKS_D}/life.py > /root/new.py", user="root")
    assert "Permission denied" in site.reload(f"mv /root/new.py {HOOKS_D}/life.py")
    assert "version 1" in site.refused()
    site.shell(f"chmod 644 {HOOKS_D}/life.py", user="root")
    site.cluster.wait(lambda: "version 2" in site.refused(), what="the file that can be read")


def test_removal_on_purpose(site: Site) -> None:
    """A deleted file is out of force after slurmhooks.toml is saved again, and the log names the removed handlers."""
    site.hooks(HANDLER.format(1))
    assert "version 1" in site.refused()
    site.reload(f"rm {HOOKS_D}/life.py")
    assert "version 1" in site.refused()
    site.shell(f"touch {TOML}", user="root")
    site.cluster.wait(lambda: "Submitted" in site.said("sbatch", "--hold", "--wrap=true"), what="removed handler")
    assert f"{HOOKS_D}/life.py: no longer in force: job_submit handler life:limit" in site.logged()


def test_a_late_mount_is_seen(site: Site) -> None:
    """A file system that is mounted over the folder after the start takes effect, although no file has changed."""
    site.submit()
    site.shell(f"mount -t tmpfs none {HOOKS_D}; chmod 755 {HOOKS_D}", user="root")
    try:
        site.hooks(HANDLER.format(1))
        assert "version 1" in site.refused()
    finally:
        site.shell(f"umount {HOOKS_D}", user="root")
    assert "version 1" in site.refused()


@pytest.mark.parametrize("what", ["unreadable", "missing", "required"])
def test_nothing_is_accepted_without_policy(site: Site, what: str) -> None:
    """Without a readable folder or a required handler, slurmctld refuses everything until it is repaired."""
    site.hooks(HANDLER.format(1))
    if what == "unreadable":
        site.shell(f"chmod 700 {HOOKS_D}", user="root")
        words = f"{HOOKS_D}: Permission denied"
    elif what == "missing":
        site.shell(f"mv {HOOKS_D} /etc/slurm/aside", user="root")
        words = f"{HOOKS_D}: does not exist; hook files are expected in it"
    else:
        site.cluster.put(f'{DEFAULT_TOML}require = ["limits:account"]\n', TOML)
        words = "limits:account: [hooks] require of slurmhooks.toml names this handler"
    site.cluster.restart()
    assert NOT_LOADED in site.refused()
    logged = site.logged()
    if what == "missing":
        for command in ("check", "compile"):
            done = site.cluster.root("slurmhooks", command)
            assert done.returncode == 1
            assert words in done.stderr
        site.shell(f"mv /etc/slurm/aside {HOOKS_D}", user="root")
    site.shell(f"chmod 755 {HOOKS_D}; printf %s '{DEFAULT_TOML}' > {TOML}", user="root")
    assert words in logged, logged
    site.cluster.wait(lambda: "version 1" in site.refused(), what="the policy")
