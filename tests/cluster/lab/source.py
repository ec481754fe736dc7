# SPDX-License-Identifier: GPL-2.0-or-later
"""Make the root file system of a release from Slurm's source tree, on a copy of that of a Debian release."""

import os
import shutil
import tarfile

from . import mirror, namespace, places, rootfs
from .errors import LabError, UnreachableError, UsageError
from .releases import SOURCE_PACKAGES, STAMPS, Release, from_source

CONFIGURE = (
    "./configure -q --prefix=/usr --libdir=/usr/lib/$(gcc -print-multiarch) --sysconfdir=/etc/slurm --disable-debug "
    "--enable-multiple-slurmd --without-munge --disable-slurmrestd CFLAGS=-O1"
)
"""Without debugging information and with little optimization, because both cost minutes."""


def make(tree: str, on: Release) -> None:
    """Build the release from a directory or a tarball; replace an earlier build of the same version.

    Raises:
        UsageError: `tree` is not a source of Slurm, or is too old.
        LabError: a step failed, or a cluster is up on the root file system.
    """
    release = from_source(read_version(tree), on.name)
    rootfs.make(on)
    root = places.rootfs(release.name)
    with places.locked(root, f"rootfs {release.name}"):
        rootfs.refuse_in_use(release)
        _SourceMaker(release, root).build(tree)


def read_version(tree: str) -> str:
    """Return the version in META, such as "25.05.8", or "26.11.0-0rc1" for a release candidate.

    Raises:
        UsageError: there is no META.
    """
    try:
        if os.path.isdir(tree):
            with open(os.path.join(tree, "META"), encoding="utf-8") as file:
                text = file.read()
        else:
            text = _meta(tree)
    except (OSError, tarfile.TarError) as error:
        raise UsageError(f"{tree}: not a source tree of Slurm: {error}") from None
    rows = (line.partition(":") for line in text.splitlines())
    fields = {key.strip(): value.strip() for key, _, value in rows}
    version, candidate = fields.get("Version", ""), fields.get("Release", "")
    # As configure does for SLURM_VERSION_STRING.
    return f"{version}-{candidate}" if "rc" in candidate or "pre" in candidate else version


def _meta(tarball: str) -> str:
    with tarfile.open(tarball) as archive:
        for member in archive:
            if member.isfile() and member.name.removeprefix("./").count("/") == 1 and member.name.endswith("/META"):
                content = archive.extractfile(member)
                assert content is not None
                return content.read().decode()
    raise tarfile.TarError("no META in its top directory")


class _SourceMaker(rootfs.Maker):
    def build(self, tree: str) -> None:
        release, report = self.release, self.report
        with open(report.log, "w", encoding="ascii"):
            pass
        report.say(f"copying the root file system of {release.on}")
        shutil.rmtree(self.root, ignore_errors=True)
        report.host("copy", ["cp", "-a", "--reflink=auto", places.rootfs(release.on), self.root])
        shutil.rmtree(os.path.join(self.root, STAMPS))
        self.stamp("on", release.on)
        self.configure_apt()
        with self.keeper() as keeper:
            self.exchange_packages(keeper)
            self.unpack(tree)
            self.compile(keeper)
        self.stamp("ident", os.urandom(8).hex())
        self.complete()

    def exchange_packages(self, keeper: namespace.Keeper) -> None:
        """Remove Debian's Slurm, and install the packages that the build needs."""
        self.report.say("packages")
        env = {**mirror.proxies(), "DEBIAN_FRONTEND": "noninteractive"}
        get = ["apt-get", "-qq", "-y"]
        self.report.inside("remove Debian's Slurm", keeper, [*get, "purge", "?and(?installed,?name(slurm))"], env)
        try:
            self.report.inside("apt-get update", keeper, [*get, "update"], env)
        except LabError as error:
            raise UnreachableError(str(error)) from error
        self.report.inside("apt-get install", keeper, [*get, "install", *SOURCE_PACKAGES], env)
        self.report.inside("clean", keeper, ["apt-get", "clean"])
        user = "id slurm || useradd --system --home-dir /nonexistent --shell /usr/sbin/nologin slurm"
        self.report.inside("user slurm", keeper, ["sh", "-c", user])

    def unpack(self, tree: str) -> None:
        """Copy the source to /usr/src/slurm."""
        name = f"slurm-{self.release.name}"
        directory, link = f"{self.root}/usr/src/{name}", f"{self.root}/usr/src/slurm"
        if os.path.lexists(link):
            old = os.path.realpath(link)
            if os.path.dirname(old) == f"{self.root}/usr/src":
                shutil.rmtree(old)
            os.unlink(link)
        os.makedirs(directory)
        os.symlink(name, link)
        extract = ["tar", "-C", directory, "--no-same-owner", "-xf"]
        if os.path.isdir(tree):
            copy = 'tar -C "$0" --exclude-vcs -cf - . | "$@" -'
            self.report.host("copy the source", ["bash", "-o", "pipefail", "-c", copy, tree, *extract])
        else:
            self.report.host("unpack the source", [*extract, tree, "--strip-components=1"])

    def compile(self, keeper: namespace.Keeper) -> None:
        """Configure, build and install; keep the configured source, because plugins need its headers."""
        source = "/usr/src/slurm"
        jobs = len(os.sched_getaffinity(0))
        for label, command in (
            ("configure", CONFIGURE),
            ("make", f"make -s -j{jobs}"),
            ("make install", "make -s install"),
            ("make clean", "make -s clean"),
            ("ldconfig", "ldconfig"),
        ):
            self.report.say(label)
            self.report.inside(label, keeper, ["sh", "-c", f"cd {source} && {command}"])
