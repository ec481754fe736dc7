# SPDX-License-Identifier: GPL-2.0-or-later
"""Make the root file system of one release: Debian, Slurm, its source and our Python packages.

Each step writes a stamp with its inputs, so a step is repeated when its inputs change, and an interrupted run continues
where it stopped.
"""

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from . import mirror, namespace, places
from .errors import LabError, UnreachableError
from .releases import PACKAGES, PYTHON_PACKAGES, STAMPS, USERS, Release
from .steps import Reporter

FORMAT = "1"
"""Increased when a change of this module makes older root file systems useless."""

APT_INSTALL = os.path.join(places.PROJECT, "tools", "apt-install")
SLURM_CONFIGURE = "./configure -q --sysconfdir=/etc/slurm --disable-debug --enable-multiple-slurmd --without-munge"


def ready(release: Release) -> bool:
    """Return whether the root file system is complete and made by this version."""
    return _stamp(release, "complete") == _recipe(release)


def ident(release: Release) -> str:
    """Return a text that distinguishes this root file system from earlier and later ones."""
    return _stamp(release, "ident")


def make(release: Release, refresh_source: bool = False) -> None:
    """Make the missing parts of the root file system.

    Raises:
        LabError: a step failed, or a cluster is up on it.
    """
    root = places.rootfs(release.name)
    if ready(release) and not refresh_source:
        return
    with places.locked(root, f"rootfs {release.name}"):
        if ready(release) and not refresh_source:
            return
        if release.on:
            raise LabError(
                f"its root file system is incomplete or outdated: repeat 'rootfs --source' for {release.name}"
            )
        refuse_in_use(release)
        Maker(release, root).make(refresh_source)


def make_all(releases: Sequence[Release], refresh_source: bool) -> int:
    """Make several in parallel, because each mostly waits for one processor or for the network.

    Returns:
        The exit code of the first that failed, else 0.
    """
    if len(releases) == 1:
        make(releases[0], refresh_source)
        return 0

    def body(release: Release) -> int:
        namespace.die_with_parent()
        try:
            make(release, refresh_source)
        except LabError as error:
            places.say(f"run: rootfs {release.name}: {error}")
            return error.code
        return 0

    children = [namespace.fork(functools.partial(body, release), places.say) for release in releases]
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    return next((code if code > 0 else 1 for code in codes if code), 0)


def mebibytes(release: Release) -> int:
    """Return the disk space that the root file system takes."""
    text = subprocess.run(["du", "-sxm", places.rootfs(release.name)], capture_output=True, text=True).stdout
    return int(text.split()[0]) if text else 0


def _recipe(release: Release) -> str:
    return f"{FORMAT} {_packages(release)} {' '.join(PYTHON_PACKAGES)} {USERS} {SLURM_CONFIGURE}"


def _packages(release: Release) -> str:
    return " ".join((*PACKAGES, *release.packages))


def _stamp(release: Release, step: str) -> str:
    try:
        with open(os.path.join(places.rootfs(release.name), STAMPS, step), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def refuse_in_use(release: Release) -> None:
    """Raise LabError if a cluster is up on this root file system."""
    names = os.listdir(places.clusters()) if os.path.isdir(places.clusters()) else []
    for name in names:
        if places.read_keeper(os.path.join(places.clusters(), name, release.name)):
            raise LabError(
                f"cluster {name}/{release.name} is up on this root file system: "
                f"run 'SLURMHOOKS_CLUSTER={name} tests/cluster/run down {release.name}' first"
            )


class Maker:
    """Makes the root file system of a release of Debian's."""

    def __init__(self, release: Release, root: str) -> None:
        self.release = release
        self.root = root
        self.mirror = mirror.find_mirror()
        self.report = Reporter(f"rootfs {release.name}", root + ".log")
        self.changed = False

    def make(self, refresh_source: bool) -> None:
        """Take the missing steps."""
        release, report = self.release, self.report
        with open(report.log, "w", encoding="ascii"):
            pass
        if _stamp(release, "base") != FORMAT:
            self.base()
        self.configure_apt()
        with self.keeper() as keeper:
            if _stamp(release, "packages") != _packages(release):
                self.packages(keeper)
            if _stamp(release, "users") != str(USERS):
                self.users(keeper)
            if _stamp(release, "python") != " ".join(PYTHON_PACKAGES):
                self.python(keeper)
            if _stamp(release, "source") != SLURM_CONFIGURE and (refresh_source or not _stamp(release, "no-source")):
                self.source(keeper)
            report.inside("clean", keeper, ["apt-get", "clean"])
        if self.changed or not ident(release):
            # Layers over the previous contents are no longer valid: cluster.py refuses them.
            self.stamp("ident", os.urandom(8).hex())
        self.complete()

    def complete(self) -> None:
        """Say that nothing is missing."""
        self.stamp("complete", _recipe(self.release))
        self.report.say(f"complete, {mebibytes(self.release)} MiB in {self.root}")

    def stamp(self, step: str, content: str) -> None:
        """Note that a step has been taken."""
        directory = os.path.join(self.root, STAMPS)
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, step + ".new"), "w", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.rename(os.path.join(directory, step + ".new"), os.path.join(directory, step))

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Write a file inside."""
        full = self.root + path
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(full, mode)

    @contextmanager
    def keeper(self) -> Iterator[namespace.Keeper]:
        """Yield a process inside, for commands."""

        def attach() -> str:
            namespace.mount(self.root, self.root, "", namespace.MS_BIND)
            return self.root

        keeper = namespace.start(f"slurmhooks rootfs {self.release.name}", attach, isolated=False, lasting=False)
        try:
            yield keeper
        finally:
            namespace.end(keeper)

    # -- the steps, in order

    def base(self) -> None:
        """Make the base system."""
        _install_debootstrap(self.report)
        shutil.rmtree(self.root, ignore_errors=True)
        os.makedirs(self.root)
        # debootstrap needs a script for each suite. All of them are the same, but older versions lack newer suites.
        script = "/usr/share/debootstrap/scripts/sid"
        # In an lxc container, as in a user namespace, debootstrap binds devices that it cannot create.
        command = [
            "unshare", "--mount", "--pid", "--fork", "--kill-child", "env", "container=lxc",
            "debootstrap", "--variant=minbase", self.release.suite, self.root, self.mirror, script,
        ]  # fmt: skip
        self.report.say(f"base system of Debian {self.release.suite}")
        try:
            self.report.host("debootstrap", command)
        except LabError as error:
            if not mirror.reachable(f"{self.mirror}/dists/{self.release.suite}/InRelease"):
                raise UnreachableError(f"the Debian mirror of this machine's apt cannot be reached; {error}") from error
            raise
        self.stamp("base", FORMAT)
        self.changed = True

    def configure_apt(self) -> None:
        """Give apt the host's mirror and settings."""
        suite = self.release.suite
        self.write("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n", 0o755)  # no daemon starts from a package
        self.write("/etc/dpkg/dpkg.cfg.d/slurmhooks", "force-unsafe-io\n")
        settings = 'APT::Install-Recommends "false";\nAcquire::Languages "none";\n' + mirror.apt_settings(self.root)
        self.write("/etc/apt/apt.conf.d/90slurmhooks", settings)
        self.write(
            "/etc/apt/sources.list", "".join(f"{kind} {self.mirror} {suite} main\n" for kind in ("deb", "deb-src"))
        )
        self.write("/etc/hosts", f"127.0.0.1 localhost {namespace.HOSTNAME}\n")
        self.write("/etc/hostname", namespace.HOSTNAME + "\n")
        self.write("/etc/resolv.conf", "# no name server can be reached from inside a cluster\n")

    def packages(self, keeper: namespace.Keeper) -> None:
        """Install Debian's packages, among them Slurm."""
        self.report.say("packages")
        env = mirror.proxies()
        env["DEBIAN_FRONTEND"] = "noninteractive"
        try:
            self.report.inside("apt-get update", keeper, ["apt-get", "-qq", "update"], env)
        except LabError as error:
            raise UnreachableError(str(error)) from error
        # An interrupted run may have left packages half configured.
        self.report.inside("dpkg --configure", keeper, ["dpkg", "--configure", "-a"], env)
        command = ["apt-get", "-qq", "-y", "install", *_packages(self.release).split()]
        self.report.inside("apt-get install", keeper, command, env)
        self.stamp("packages", _packages(self.release))
        self.changed = True

    def users(self, keeper: namespace.Keeper) -> None:
        """Create alice and bob."""
        for name, uid in USERS.items():
            if not os.path.isdir(f"{self.root}/home/{name}"):
                command = ["useradd", "-m", "-u", str(uid), "-s", "/bin/bash", name]
                self.report.inside(f"user {name}", keeper, command)
        self.stamp("users", str(USERS))
        self.changed = True

    def python(self, keeper: namespace.Keeper) -> None:
        """Install the Python packages that slurmhooks and its tests need."""
        wheels = os.path.join(places.cache(), "wheels", self.release.name)
        os.makedirs(wheels, exist_ok=True)
        self.report.say(f"Python packages for {self.release.python}")
        tag = "cp" + self.release.python.replace(".", "")
        command = [
            *_host_pip(), "download", "--quiet", "--only-binary=:all:", "--dest", wheels, "--find-links", wheels,
            "--python-version", self.release.python, "--implementation", "cp",
        ]  # fmt: skip
        for abi in (tag, "abi3", "none"):
            command += ["--abi", abi]
        for libc in ("2014", "_2_17", "_2_24", "_2_27", "_2_28", "_2_31", "_2_34", "_2_35"):
            command += ["--platform", f"manylinux{libc}_{os.uname().machine}"]
        try:
            # Packages in the cache need no index.
            self.report.host("pip download", [*command, "--no-index", *PYTHON_PACKAGES])
        except LabError:
            try:
                self.report.host("pip download", [*command, *PYTHON_PACKAGES])
            except LabError as error:
                raise UnreachableError(f"this machine's pip cannot download the Python packages; {error}") from error
        inside = "/opt/wheels"
        shutil.copytree(wheels, self.root + inside, dirs_exist_ok=True)
        shutil.rmtree(self.root + "/opt/slurmhooks", ignore_errors=True)
        self.report.inside("venv", keeper, ["python3", "-m", "venv", "/opt/slurmhooks"])
        pip = ["/opt/slurmhooks/bin/pip", "install", "-q", "--no-index", "--find-links", inside, *PYTHON_PACKAGES]
        self.report.inside("pip install", keeper, pip)
        shutil.rmtree(self.root + inside)
        self.stamp("python", " ".join(PYTHON_PACKAGES))
        self.changed = True

    def source(self, keeper: namespace.Keeper) -> None:
        """Unpack Slurm's source of exactly the installed version, if the mirror has it."""
        report, work = self.report, "/usr/src/download"
        installed = _output(keeper, ["slurmctld", "-V"]).split()[-1]
        debian = _output(keeper, ["dpkg-query", "-W", "-f", "${source:Version}", "slurmctld"])
        report.say(f"Slurm's source, {installed}")
        shutil.rmtree(self.root + work, ignore_errors=True)
        os.makedirs(self.root + work)
        command = f"cd {work} && apt-get -qq source --download-only --tar-only slurm-wlm={debian}"
        try:
            report.inside("apt-get source", keeper, ["sh", "-c", command], mirror.proxies())
        except LabError:
            self.stamp("no-source", debian)
            report.say(
                f"WARNING: NO SOURCE of slurm-wlm {debian} is on the mirror: going on without /usr/src/slurm. "
                "'rootfs --refresh-source' tries again"
            )
            shutil.rmtree(self.root + work)
            return
        tree = f"/usr/src/slurm-{installed}"
        shutil.rmtree(self.root + tree, ignore_errors=True)
        os.makedirs(self.root + tree)
        unpack = f"tar -xf {work}/slurm-wlm_*.orig.tar.* --strip-components=1 -C {tree}"
        report.inside("unpack the source", keeper, ["sh", "-c", unpack])
        shutil.rmtree(self.root + work)
        self.check_version(tree, installed)
        report.say("configuring the source")
        report.inside("configure", keeper, ["sh", "-c", f"cd {tree} && {SLURM_CONFIGURE}"])
        link = self.root + "/usr/src/slurm"
        if os.path.lexists(link):
            os.unlink(link)
        os.symlink(os.path.basename(tree), link)
        self.stamp("source", SLURM_CONFIGURE)

    def check_version(self, tree: str, installed: str) -> None:
        """Raise LabError if the source is not of the installed version."""
        with open(f"{self.root}{tree}/META", encoding="utf-8") as file:
            fields = (line.partition(":") for line in file)
            version = next(value.strip() for key, _, value in fields if key.strip() == "Version")
        if version != installed:
            # slurmctld refuses plugins of another micro release, because its structs may differ.
            raise LabError(f"the source is of {version}, slurmctld of {installed}: refused")


def _install_debootstrap(report: Reporter) -> None:
    # Root file systems are made in parallel, and none may use a debootstrap that is only half unpacked.
    with places.locked(os.path.join(places.cache(), "debootstrap"), "install debootstrap"):
        if shutil.which("debootstrap"):
            return
        report.say("installing debootstrap on this machine, the only change outside the cache directory")
        try:
            report.host("apt-get install debootstrap, or its wait for another apt-get", [APT_INSTALL, "debootstrap"])
        except LabError as error:
            raise UnreachableError(f"debootstrap cannot be installed: install it by hand; {error}") from error


def _host_pip() -> list[str]:
    """Return a pip of the host with the host's configuration, from a venv if the host has none."""
    command = [sys.executable, "-m", "pip"]
    if subprocess.run([*command, "--version"], capture_output=True).returncode == 0:
        return command
    venv = os.path.join(places.cache(), "pip")
    python = os.path.join(venv, "bin", "python3")
    if not os.path.exists(python) or subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode:
        created = subprocess.run([sys.executable, "-m", "venv", "--clear", venv], capture_output=True, text=True)
        if created.returncode != 0:
            raise LabError(f"{sys.executable} has neither pip nor a working venv: install python3-venv or python3-pip")
    return [python, "-m", "pip"]


def _output(keeper: namespace.Keeper, command: list[str]) -> str:
    def body() -> str:
        done = subprocess.run(command, capture_output=True, text=True, env={"PATH": namespace.PATH, "LANG": "C.UTF-8"})
        if done.returncode != 0:
            raise LabError(f"{command[0]}: {done.stderr.strip()}")
        return done.stdout.strip()

    return namespace.call(keeper, body)
