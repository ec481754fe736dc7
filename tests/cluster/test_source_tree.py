# SPDX-License-Identifier: GPL-2.0-or-later
"""The checks of `rootfs --source` on a source tree, without building it."""

import tarfile
from pathlib import Path

import pytest

from tests.cluster.lab import source
from tests.cluster.lab.errors import UsageError
from tests.cluster.lab.releases import find, from_source, known, on_file, version

META = "  Name:\t\tslurm\n  Major:\t{0}\n  Version:\t{0}\n  Release:\t{1}\n"


@pytest.fixture(params=["directory", "tarball"])
def kind(request: pytest.FixtureRequest) -> str:
    """Return the argument that names the source."""
    text: str = request.param
    return text


def tree(folder: Path, kind: str, number: str, candidate: str) -> str:
    """Return a directory or a tarball with a META, and with another one below it."""
    top = folder / f"slurm-{number}"
    (top / "deeper").mkdir(parents=True)
    (top / "deeper" / "META").write_text(META.format("1.2.3", "1"))
    (top / "META").write_text(META.format(number, candidate))
    if kind == "directory":
        return str(top)
    tarball = folder / "slurm.tar.bz2"
    with tarfile.open(tarball, "w:bz2") as archive:
        archive.add(top, top.name)
    return str(tarball)


@pytest.mark.parametrize(
    ("number", "candidate", "name"), [("25.05.8", "1", "25.05.8"), ("26.11.0", "0rc1", "26.11.0-0rc1")]
)
def test_a_release_is_called_by_its_version(tmp_path: Path, kind: str, number: str, candidate: str, name: str) -> None:
    """The name is the version that slurmctld will report.

    Tests that depend on the release use its first two numbers.
    """
    assert source.read_version(tree(tmp_path, kind, number, candidate)) == name
    assert version(name) == tuple(int(part) for part in name.split(".")[:2])


@pytest.mark.parametrize("name", ["23.02.8", "22.05", "", "../x"])
def test_a_release_without_its_own_authentication_is_refused(name: str) -> None:
    """Only 23.11 and later can be built, and only under the name of a version."""
    with pytest.raises(UsageError, match=r"only 23\.11 and later"):
        from_source(name, "24.11")


def test_what_is_no_source_is_refused(tmp_path: Path) -> None:
    """A directory without META, a file that is not a tarball, and a missing path are refused in one line."""
    (tmp_path / "file").write_text("text")
    for path in (tmp_path, tmp_path / "file", tmp_path / "nothing"):
        with pytest.raises(UsageError, match="not a source tree of Slurm"):
            source.read_version(str(path))


def test_a_built_release_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verbs find it by name, on the Debian on which it was built; its ports are its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(UsageError, match=r"22\.05, 24\.11, 26\.05$"):
        find("25.05.99")
    marker = Path(on_file("25.05.99"))
    marker.parent.mkdir(parents=True)
    marker.write_text("22.05")
    release = find("25.05.99")
    assert (release.suite, release.python, release.plugins) == ("bookworm", "3.11", "slurm")
    assert list(known()) == ["22.05", "24.11", "26.05", "25.05.99"]
    assert len({each.ctld_port for each in known().values()}) == 4
