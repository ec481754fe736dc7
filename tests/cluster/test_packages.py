# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages on a machine whose Slurm is upgraded and downgraded, with running daemons.

The packages, their scripts, dpkg, systemd and Slurm's daemons are real. systemd runs inside the cluster in a pid
namespace of its own.
"""

import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cluster import reporting
from tests.cluster.conftest import NAME, Cluster, running
from tests.cluster.downloads import download
from tests.cluster.lab.errors import UnreachableError
from tests.cluster.test_upgrade import HOOKS, hooked

pytestmark = [pytest.mark.cluster, pytest.mark.soak]

PROJECT = Path(__file__).resolve().parents[2]
BUILD = ("debhelper", "dh-python", "pybuild-plugin-pyproject", "python3-hatchling", "python3-all")
RUNTIME = (
    "python3-cffi", "python3-click", "python3-lupa", "python3-prometheus-client", "python3-pydantic", "python3-rich",
    "python3-structlog", "meson", "ninja-build",
)  # fmt: skip
SLURM = ("slurmctld", "slurmd", "slurm-client", "slurm-wlm-basic-plugins", "libslurm-dev")
OLD, NEW = "24.11.", "26.05."
PLUGINS = "/usr/lib/*-linux-gnu/slurm-wlm"
LONG = 1500.0
"""Seconds for a step, which compiles while other clusters share the machine."""

SYSTEMD = """
mkdir -p /sys/fs/cgroup/$1
echo $$ >/sys/fs/cgroup/$1/cgroup.procs
# What it starts at first is a unit without dependencies.
printf '[Unit]\nAllowIsolate=yes\n' >/etc/systemd/system/nothing.target
exec unshare --pid --fork --mount --cgroup sh -c '
    mount -t proc proc /proc && mount -t cgroup2 cgroup2 /sys/fs/cgroup
    container=lxc exec /lib/systemd/systemd --system --unit=nothing.target
'
"""
UNITS = ("slurmctld.service", "slurmd.service")


class Site(NamedTuple):
    """A machine with slurmctld and slurmd."""

    cluster: Cluster

    def inside(self, *command: str, check: bool = False) -> subprocess.CompletedProcess[str]:
        """Run a command as root where systemd is."""
        pid = self.cluster.root("pgrep", "--oldest", "--exact", "systemd", check=True).stdout.strip()
        enter = ("nsenter", f"--target={pid}", "--mount", "--pid", "--cgroup", "--")
        env = {"DEBIAN_FRONTEND": "noninteractive"}
        return self.cluster.root(*enter, *command, check=check, timeout=LONG, env=env)

    def dpkg(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run dpkg through a shell, which expands the names of files."""
        return self.inside("sh", "-c", " ".join(("exec", "dpkg", *arguments, "2>&1")))

    def hooked(self) -> list[str]:
        """Run a job; return the hooks' effects on it, and errors."""
        return hooked(self.cluster)

    def daemons(self) -> list[str]:
        """Return the process ids and states of slurmctld and slurmd."""
        done = self.inside("systemctl", "show", "-p", "MainPID", "-p", "ActiveState", "--value", *UNITS, check=True)
        return done.stdout.split()

    def wait(self) -> None:
        """Wait until the node is idle."""
        self.cluster.wait(lambda: "idle" in self.cluster.root("sinfo", "-h").stdout, what="idle node")

    def built_for(self) -> str:
        """Return the release of Slurm that the installed plugins are for."""
        return self.cluster.root("sh", "-c", f"grep '\"slurm\"' {PLUGINS}/slurmhooks/build.json").stdout

    def unpack(self, folder: Path, target: str, scratch: Path) -> None:
        """Copy the packages of a folder into the cluster."""
        archive = scratch / "packages.tar"
        with tarfile.open(archive, "w") as tar:
            tar.add(folder, arcname=".")
        self.cluster.put(archive, "/opt/packages.tar")
        self.cluster.root("sh", "-c", f"mkdir -p {target} && tar -C {target} -xf /opt/packages.tar", check=True)


def fetch(release: str, packages: tuple[str, ...], suite: str = "") -> Path:
    """Download packages, or skip the test if the mirror cannot be reached."""
    try:
        return download(release, packages, suite)
    except UnreachableError as error:
        pytest.skip(f"{reporting.SKIPPED} PACKAGES WERE TESTED: {error}")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Give a machine with Slurm 24.11 and our packages, made from the working tree."""
    scratch = tmp_path_factory.mktemp("packages")
    release = OLD.rstrip(".")
    with running(release, f"{NAME}-packages", 1) as cluster:
        made = Site(cluster)
        for target, folder in {
            "/opt/build": fetch(release, BUILD),
            "/opt/runtime": fetch(release, RUNTIME),
            "/opt/new": fetch(release, SLURM, "forky"),
            "/opt/old": fetch(release, ("--reinstall", *SLURM)),
        }.items():
            made.unpack(folder, target, scratch)
        cluster.root(
            "sh", "-c", "exec dpkg --install /opt/build/*.deb /opt/runtime/*.deb 2>&1", timeout=LONG, check=True
        )

        source = scratch / "source"
        subprocess.run([PROJECT / "contrib/packaging/make-deb", sys.executable, source], check=True)
        made.unpack(source, "/opt/source", scratch)
        # -d: without build-essential, which brings a C++ compiler.
        build = "cd /opt/source && dpkg-source -x *.dsc tree && cd tree && dpkg-buildpackage -b -d --no-sign 2>&1"
        cluster.root("sh", "-c", build, timeout=LONG, check=True)

        needed = "cd /opt/source && exec dpkg --install slurmhooks_*.deb slurmhooks-plugins_*.deb 2>&1"
        cluster.root("sh", "-c", needed, timeout=LONG, check=True)
        cluster.put(HOOKS, "/etc/slurm/hooks.d/hooks.py")
        cluster.put('[hooks]\npaths = ["hooks.d/*.py"]\n', "/etc/slurm/slurmhooks.toml")
        cluster.put("JobSubmitPlugins=python\n", "/etc/slurm/local.conf")
        cluster.put("required spank_python.so\n", "/etc/slurm/plugstack.conf")
        cluster.put("SLURMD_OPTIONS=-N n1\n", "/etc/default/slurmd")
        cluster.deploy()
        # From now on packages start daemons, and systemd runs them.
        cluster.root(
            "sh", "-c", "rm /usr/sbin/policy-rc.d; kill $(cat /run/slurmctld.pid /run/slurmd-n1.pid)", check=True
        )
        cluster.wait(lambda: cluster.root("pgrep", "-x", "slurmctld|slurmd").returncode == 1, what="end of the daemons")
        cluster.put(SYSTEMD, "/opt/systemd.sh")
        start = f"sh /opt/systemd.sh {cluster.name} </dev/null >/var/log/systemd.log 2>&1 &"
        cluster.root("sh", "-c", start, check=True)
        cluster.wait(lambda: cluster.root("test", "-S", "/run/systemd/private").returncode == 0, what="systemd")
        made.inside("systemctl", "start", *UNITS, check=True)
        made.wait()
        yield made
        # The folders of cgroups are not the cluster's own.
        group = f"/sys/fs/cgroup/{cluster.name}"
        cluster.root("pkill", "-KILL", "--oldest", "--exact", "systemd")
        cluster.wait(lambda: "populated 0" in cluster.root("cat", f"{group}/cgroup.events").stdout, what="empty group")
        cluster.root("find", group, "-depth", "-type", "d", "-exec", "rmdir", "{}", "+", check=True)


def test_installed_packages_run_hooks(site: Site) -> None:
    """Two packages are all that a machine needs: slurmhooks finds nothing wrong, and the hooks run."""
    assert site.cluster.root("slurmhooks", "info", check=True).stderr == ""
    assert OLD in site.built_for()
    assert site.hooked() == ["hooked", "hooked"]


def test_the_workshop_is_a_package_of_its_own(site: Site) -> None:
    """Where it is missing, a command says so; it may come and go while daemons run, which then start as before."""
    done = site.cluster.root("slurmhooks", "demo", "--without-slurm")
    assert (done.returncode, "slurmhooks-workshop" in done.stderr) == (1, True)
    assert site.dpkg("--install", "/opt/source/slurmhooks-workshop_*.deb").returncode == 0
    site.cluster.root("slurmhooks", "demo", "--without-slurm", check=True)
    site.inside("systemctl", "restart", *UNITS, check=True)
    site.wait()
    assert site.hooked() == ["hooked", "hooked"]
    assert site.dpkg("--purge", "slurmhooks-workshop").returncode == 0
    assert site.cluster.root("slurmhooks", "info", check=True).stderr == ""


SHARED = (
    "man/man1/slurmhooks.1.gz", "man/man1/slurmhooks-check.1.gz",
    "man/man5/slurmhooks.toml.5.gz", "man/man7/slurmhooks-hooks.7.gz",
    "bash-completion/completions/slurmhooks", "zsh/site-functions/_slurmhooks",
    "fish/vendor_completions.d/slurmhooks.fish",
)  # fmt: skip
"""Manual pages and completion, below /usr/share."""


def test_manual_pages_and_completion(site: Site) -> None:
    """The packages have the manual pages, and completion where shells look for it."""
    # dpkg may be configured to leave out manual pages, as in containers.
    listed = site.cluster.root("dpkg", "--listfiles", "slurmhooks", check=True).stdout.split()
    # Debian's zsh has a folder of its own for packages.
    ours = {f"/usr/share/{name}".replace("site-functions", "vendor-completions") for name in SHARED}
    assert ours <= set(listed)


def test_used_plugins_are_not_removed(site: Site) -> None:
    """dpkg refuses to remove the plugins while slurm.conf names them, and says which line; nothing changes."""
    done = site.dpkg("--remove", "slurmhooks-plugins")
    assert done.returncode == 1
    # dpkg remembers the requested removal.
    site.cluster.root("dpkg", "--set-selections", input="slurmhooks-plugins install\n", check=True)
    assert "JobSubmitPlugins=python" in done.stdout
    assert site.hooked() == ["hooked", "hooked"]


@pytest.fixture(scope="module")
def stopped(site: Site) -> subprocess.CompletedProcess[str]:
    """Upgrade Slurm on a machine without a compiler; check that nothing has changed, and return dpkg's output."""
    before = site.daemons()
    site.cluster.root("mv", "/usr/bin/cc", "/usr/bin/cc.away", check=True)
    done = site.dpkg("--install", "/opt/new/*.deb")
    site.cluster.root("mv", "/usr/bin/cc.away", "/usr/bin/cc", check=True)
    assert site.daemons() == before
    assert OLD in site.built_for()
    return done


def test_failed_build_stops_the_upgrade_before_the_restart(
    site: Site, stopped: subprocess.CompletedProcess[str]
) -> None:
    """Without a compiler dpkg ends with an error that says why, and neither daemon is restarted."""
    assert stopped.returncode == 1
    assert "no C compiler" in stopped.stdout
    assert "dpkg --configure -a" in stopped.stdout
    assert "systemd refuses to restart slurmctld.service" in stopped.stdout


@pytest.fixture(scope="module")
def upgraded(site: Site, stopped: subprocess.CompletedProcess[str]) -> Site:
    """Continue the upgrade."""
    before = site.daemons()
    done = site.dpkg("--configure", "-a")
    assert done.returncode == 0, done.stdout
    assert not set(before[::2]) & set(site.daemons()[::2])
    return site


def test_upgrade_builds_before_the_daemons_start(upgraded: Site) -> None:
    """With a compiler the upgrade completes: both daemons are restarted, and have hooks."""
    assert NEW in upgraded.built_for()
    assert upgraded.daemons()[1::2] == ["active", "active"]
    upgraded.wait()
    assert upgraded.hooked() == ["hooked", "hooked"]
    assert upgraded.cluster.root("slurmhooks", "info", check=True).stderr == ""


@pytest.fixture(scope="module")
def downgraded(upgraded: Site) -> Site:
    """Go back to the old Slurm, which cannot read the new one's state."""
    upgraded.inside("systemctl", "stop", "slurmctld.service", check=True)
    upgraded.inside("sh", "-c", "rm -r /var/lib/slurm/slurmctld/*", check=True)
    # In two steps, as apt calls dpkg.
    for step in (("--unpack", "/opt/old/*.deb"), ("--configure", "-a")):
        done = upgraded.dpkg(*step)
        assert done.returncode == 0, done.stdout
    return upgraded


def test_downgrade_builds_before_the_daemons_start(downgraded: Site) -> None:
    """A downgrade, in which no build fails, is like an upgrade: dpkg itself restarts daemons that have plugins."""
    assert OLD in downgraded.built_for()
    assert downgraded.daemons()[1::2] == ["active", "active"]
    downgraded.wait()
    assert downgraded.hooked() == ["hooked", "hooked"]


def test_daemon_builds_before_it_starts(downgraded: Site) -> None:
    """If slurmctld starts with plugins of another release, as after a power failure, these are built again first."""
    record = f"{PLUGINS}/slurmhooks/build.json"
    downgraded.cluster.root("sh", "-c", f'sed -i \'s/"slurm": .*,/"slurm": "23.11.1",/\' {record}', check=True)
    assert OLD not in downgraded.built_for()
    downgraded.inside("systemctl", "restart", "slurmctld.service", check=True)
    assert OLD in downgraded.built_for()


def test_removed_packages_leave_nothing(downgraded: Site) -> None:
    """Once the configuration does not name the plugins, the packages can be removed, and Slurm runs without them."""
    cluster = downgraded.cluster
    cluster.put("", "/etc/slurm/local.conf")
    cluster.put("", "/etc/slurm/plugstack.conf")
    downgraded.inside("systemctl", "restart", *UNITS, check=True)
    done = downgraded.dpkg("--purge", "slurmhooks-plugins", "slurmhooks")
    assert done.returncode == 0, done.stdout
    ours = ("/usr/libexec", "/var/cache", "/usr/lib/systemd", PLUGINS, "/usr/lib/python3/dist-packages", "/usr/bin")
    left = f"find {' '.join(ours)} -name '*slurmhooks*' -o -name '*_python.so'"
    assert cluster.root("sh", "-c", left).stdout == ""
    downgraded.inside("systemctl", "restart", *UNITS, check=True)
    downgraded.wait()
    assert cluster.user("alice", "srun", "echo", "there", check=True).stdout == "there\n"


RPM_OF_SLURM = """
Name: slurm-devel
Version: 1
Release: 1
Summary: In place of a part of Slurm
License: none
BuildArch: noarch
%description
%install
mkdir -p %{buildroot}/usr/include/slurm
touch %{buildroot}/usr/include/slurm/another.h
%files
/usr/include/slurm/another.h
%post
cp RECORD /var/log/record-at-post
"""


@pytest.fixture(scope="module")
def with_rpm(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Replace the Debian packages by RPM packages, made and installed with rpm."""
    site.cluster.put("", "/etc/slurm/local.conf")
    site.cluster.put("", "/etc/slurm/plugstack.conf")
    site.dpkg("--purge", "slurmhooks-plugins", "slurmhooks")
    site.unpack(fetch(OLD.rstrip("."), ("rpm",)), "/opt/rpm", tmp_path_factory.mktemp("rpm"))
    assert site.dpkg("--install", "/opt/rpm/*.deb").returncode == 0
    # rpm does not know the packages that dpkg has installed.
    commands = (
        "/opt/source/tree/contrib/packaging/make-rpm /usr/bin/python3 /opt/rpm",
        "rpmbuild --rebuild --nodeps --define 'python3_sitelib /usr/lib/python3/dist-packages' /opt/rpm/*.src.rpm",
        "rpm --install --nodeps ~/rpmbuild/RPMS/noarch/slurmhooks-*.rpm",
    )
    env = {"SOURCE_DATE_EPOCH": "1700000000"}
    site.cluster.root("sh", "-c", f"exec 2>&1; {' && '.join(commands)}", timeout=LONG, env=env, check=True)
    return site


def test_rpm_builds_the_plugins(with_rpm: Site) -> None:
    """The installed RPM packages have built plugins that fit, manual pages, completion, and each its own part."""
    assert OLD in with_rpm.built_for()
    listed = with_rpm.cluster.root("rpm", "--query", "--list", "slurmhooks", check=True).stdout
    # Whether rpm compresses manual pages depends on the distribution.
    listed = listed.replace(".gz", "")
    assert {f"/usr/share/{name.removesuffix('.gz')}" for name in SHARED} <= set(listed.split())
    assert "/slurmhooks/workshop" not in listed
    listed = with_rpm.cluster.root("rpm", "--query", "--list", "slurmhooks-workshop", check=True).stdout
    assert not [name for name in listed.split() if "/slurmhooks/workshop" not in name]
    assert with_rpm.cluster.root("slurmhooks", "info", check=True).stderr == ""


def test_rpm_builds_before_the_next_scripts(with_rpm: Site) -> None:
    """Plugins of another release are built again when a part of Slurm is installed, before that part's own script."""
    cluster = with_rpm.cluster
    record = cluster.root("sh", "-c", f"echo {PLUGINS}/slurmhooks/build.json", check=True).stdout.strip()
    cluster.root("sed", "-i", 's/"slurm": .*,/"slurm": "23.11.1",/', record, check=True)
    cluster.put(RPM_OF_SLURM.replace("RECORD", record), "/opt/part.spec")
    cluster.root("rpmbuild", "--quiet", "-bb", "/opt/part.spec", check=True)
    installed = "exec rpm --install --nodeps ~/rpmbuild/RPMS/noarch/slurm-devel-1-1.noarch.rpm 2>&1"
    done = cluster.root("sh", "-c", installed, check=True, timeout=LONG)
    assert OLD in with_rpm.built_for(), done.stdout
    assert OLD in cluster.root("cat", "/var/log/record-at-post", check=True).stdout


def test_rpm_does_not_remove_used_plugins(with_rpm: Site) -> None:
    """rpm refuses to remove the plugins while slurm.conf names them, and removes everything afterwards."""
    cluster = with_rpm.cluster
    cluster.put("JobSubmitPlugins=python\n", "/etc/slurm/local.conf")
    done = cluster.root("rpm", "--erase", "slurmhooks-plugins")
    assert done.returncode != 0
    assert "JobSubmitPlugins=python" in done.stderr
    assert OLD in with_rpm.built_for()
    cluster.put("", "/etc/slurm/local.conf")
    cluster.root("rpm", "--erase", "slurmhooks-plugins", "slurmhooks-workshop", "slurmhooks", check=True)
    assert with_rpm.built_for() == ""
