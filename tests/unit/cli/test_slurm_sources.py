# SPDX-License-Identifier: GPL-2.0-or-later
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from slurmhooks.cli import slurm, slurm_sources
from slurmhooks.cli.findings import Finding

from .conftest import Machine

VERSION = "24.11.5"
CHANGELOG = f"""slurm-wlm ({VERSION}-4) stable; urgency=low

  * New.

 -- A <a@example.org>  Mon, 1 Jan 2024 00:00:00 +0000
"""
CONTROL = "Source: slurm-wlm\nMaintainer: A <a@example.org>\n\nPackage: slurmctld\nArchitecture: all\nDescription: x\n"
SPEC = f"""Name: slurm
Version: {VERSION}
Release: 1
Summary: x
License: GPL
Source: slurm-{VERSION}.tar.bz2
%description
x
"""


def needs(*programs: str) -> None:
    """Skip the test where a program is missing."""
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f"no {program}")


def archive(tree: Path, folder: Path) -> Path:
    """Pack sources as SchedMD does."""
    path = folder / f"slurm-{VERSION}.tar.bz2"
    with tarfile.open(path, "w:bz2") as file:
        file.add(tree, f"slurm-{VERSION}")
    return path


def debian(tree: Path, folder: Path) -> Path:
    """Pack sources as Debian does."""
    needs("dpkg-source")
    archive(tree, folder).rename(folder / f"slurm-wlm_{VERSION}.orig.tar.bz2")
    copy = folder / f"slurm-{VERSION}"
    shutil.copytree(tree, copy)
    (copy / "debian/source").mkdir(parents=True)
    (copy / "debian/source/format").write_text("3.0 (quilt)\n")
    (copy / "debian/changelog").write_text(CHANGELOG)
    (copy / "debian/control").write_text(CONTROL)
    subprocess.run(["dpkg-source", "--build", copy.name], cwd=folder, check=True, capture_output=True)
    return folder / f"slurm-wlm_{VERSION}-4.dsc"


def rpm(tree: Path, folder: Path) -> Path:
    """Pack sources as `rpmbuild -ta` does."""
    needs("rpmbuild", "rpm2cpio", "cpio")
    archive(tree, folder)
    (folder / "slurm.spec").write_text(SPEC)
    place = ["--define", f"_topdir {folder}/rpm", "--define", f"_sourcedir {folder}"]
    subprocess.run(["rpmbuild", "-bs", *place, "slurm.spec"], cwd=folder, check=True, capture_output=True)
    return folder / f"rpm/SRPMS/slurm-{VERSION}-1.src.rpm"


@pytest.mark.parametrize("pack", [archive, debian, rpm])
def test_forms_of_sources(machine: Machine, tmp_path: Path, pack: Callable[[Path, Path], Path]) -> None:
    """Each form gives the tree that was packed."""
    folder = tmp_path / "files"
    folder.mkdir()
    source = pack(machine.sources(VERSION), folder)
    tree = slurm_sources.unpacked(source, tmp_path / "tree")
    assert slurm.source_version(tree) == slurm.Version.find(VERSION)
    assert (tree / "configure").is_file()


def test_a_folder_stays(machine: Machine, tmp_path: Path) -> None:
    """A folder is used as it is."""
    tree = machine.sources(VERSION)
    assert slurm_sources.unpacked(tree, tmp_path / "tree") == tree


@pytest.mark.parametrize("name", ["slurm.tar.bz2", "slurm.dsc", "slurm.src.rpm", "slurm.zip"])
def test_damaged_files(machine: Machine, tmp_path: Path, name: str) -> None:
    """Something else, a damaged file and no file are one line that names the file or the program that is missing."""
    source = tmp_path / name
    for text in (None, "no archive"):
        if text:
            source.write_text(text)
        with pytest.raises(Finding) as caught:
            slurm_sources.unpacked(source, tmp_path / "tree")
        assert "\n" not in str(caught.value)
        assert name in str(caught.value) or "install" in str(caught.value)


def test_the_reason_of_tar(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in an earlier line than the last one, as where bzip2 is not installed."""
    source = archive(machine.sources(VERSION), tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tar").symlink_to(shutil.which("tar") or "/bin/tar")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(Finding, match="bzip2"):
        slurm_sources.unpacked(source, tmp_path / "tree")


def test_an_archive_of_something_else(tmp_path: Path) -> None:
    """An archive without META is refused."""
    (tmp_path / "README").touch()
    with tarfile.open(tmp_path / "other.tar.gz", "w:gz") as file:
        file.add(tmp_path / "README", "other/README")
    with pytest.raises(Finding, match="no folder with a META file"):
        slurm_sources.unpacked(tmp_path / "other.tar.gz", tmp_path / "tree")


@pytest.mark.parametrize("package", ["slurm-wlm=24.11.5-4", "slurm-smd=24.11.5-1", ""])
def test_download(machine: Machine, tmp_path: Path, package: str) -> None:
    """Debian's Slurm comes with its source package, all others with the archive of its release."""
    machine.program("dpkg-query", f'[ "$1" = -W ] && echo "{package}" || echo "libslurm-dev:amd64: $2"')
    machine.program("apt-get", "touch slurm-wlm_24.11.5.orig.tar.gz slurm-wlm_24.11.5-4.dsc")
    machine.program("curl", "touch $(basename $2)")
    machine.headers(VERSION)
    version = slurm.header_version(machine.include)
    assert version is not None
    (tmp_path / "files").mkdir()
    file = slurm_sources.fetched(machine.include, version, tmp_path / "files")
    assert file.suffix == (".dsc" if "wlm" in package else ".bz2")
    machine.program("apt-get", "echo E: no source >&2; exit 100")
    machine.program("curl", "echo 'curl: (22) 404' >&2; exit 22")
    with pytest.raises(Finding, match=r"no source|404"):
        slurm_sources.fetched(machine.include, version, tmp_path / "files")
