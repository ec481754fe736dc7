# SPDX-License-Identifier: GPL-2.0-or-later
"""``make release``: its refusals and its files. It runs on copies of the checkout."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
VERSION = "7.8.9"
NEEDED = ("git", "dpkg-source", "rpmbuild")

pytestmark = pytest.mark.skipif(not (PROJECT / ".git").exists(), reason="needs the checkout")


class Clone:
    """A repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run("git", "init", "--quiet")
        for name, value in {"user.name": "x", "user.email": "x@localhost"}.items():
            self.run("git", "config", name, value)

    def run(self, *command: str | Path, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the repository."""
        return subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=check, env=os.environ | environment
        )

    def write(self, name: str, text: str) -> None:
        """Write a file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self) -> None:
        """Commit everything."""
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--message=x", GIT_COMMITTER_DATE="2026-01-02T03:04:05Z")

    def release(self) -> subprocess.CompletedProcess[str]:
        """Run tools/release."""
        return self.run("tools/release", sys.executable, check=False)


def prepare(clone: Clone, version: str = VERSION) -> None:
    """Write what RELEASING.md requires: the version and its section of the changelog."""
    clone.write("slurmhooks/_version.py", f'"""The version."""\n\n__version__ = "{version}"\n')
    clone.write("CHANGELOG.md", f"# Changelog\n\n## [{version}] - 2026-01-02\n")
    for path in (clone.folder / "changelog.d").glob("*.*.md"):
        path.unlink()


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """A repository with little more than the script."""
    made = Clone(tmp_path)
    made.write("changelog.d/README.md", "")
    (tmp_path / "tools").mkdir()
    shutil.copy(PROJECT / "tools" / "release", tmp_path / "tools")
    prepare(made)
    return made


def test_refusals(clone: Clone) -> None:
    """All obstacles to a release are reported at once, before anything is built."""
    prepare(clone, "7.9.0.dev1")
    clone.write("CHANGELOG.md", f"## [{VERSION}] - 2026-01-02\n")
    clone.write("changelog.d/1.fixed.md", "x")
    done = clone.release()
    assert done.returncode == 1
    for finding in (
        "slurmhooks/_version.py: '7.9.0.dev1' is no version",
        "the tree has changes that are not committed",
        f"CHANGELOG.md: the first section is '## [{VERSION}] - 2026-01-02', not that of 7.9.0.dev1",
        "changelog.d has fragments, such as changelog.d/1.fixed.md: towncrier build --version 7.9.0.dev1",
    ):
        assert f"release: {finding}" in done.stderr
    assert not (clone.folder / "dist").exists()


def test_a_tag_is_never_moved(clone: Clone) -> None:
    """The version of an earlier tag is refused; everything else is in order."""
    clone.commit()
    clone.run("git", "tag", f"v{VERSION}")
    clone.write("file", "")
    clone.commit()
    lines = [line for line in clone.release().stderr.splitlines() if "is missing: install" not in line]
    assert lines == [f"release: v{VERSION} is the tag of another commit: choose the next version"]


def test_another_day(clone: Clone) -> None:
    """The day in the changelog is that of the commit, so that the tag has it, too."""
    clone.write("CHANGELOG.md", f"# Changelog\n\n## [{VERSION}] - 2026-01-01\n")
    clone.commit()
    heading = f"## [{VERSION}] - 2026-01-01"
    assert f"release: CHANGELOG.md: '{heading}' has another day than the commit: " in clone.release().stderr


def test_sections_stay_as_released() -> None:
    """What the changelog says of a release is what the commit of the release says, and has its day."""
    command = ["git", "log", "--format=%H %cd %s", "--date=format-local:%F", "--grep", "^Release [0-9.]*$"]
    utc = {**os.environ, "TZ": "UTC"}
    log = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True, env=utc).stdout
    now = sections((PROJECT / "CHANGELOG.md").read_text())
    for line in log.splitlines():  # a shallow clone may lack them
        commit, day, _, version = line.split(" ")
        then = subprocess.run(
            ["git", "show", f"{commit}:CHANGELOG.md"], cwd=PROJECT, capture_output=True, text=True, check=True
        )
        heading = f"## [{version}] - {day}"
        assert now[heading] == sections(then.stdout)[heading]


def sections(changelog: str) -> dict[str, str]:
    """Return the sections of a changelog by their headings."""
    heading, *texts = re.split(r"^(## .*)$", changelog, flags=re.MULTILINE)
    assert heading
    return {title: text.strip() for title, text in zip(texts[::2], texts[1::2], strict=True)}


def test_fragments_can_be_folded() -> None:
    """towncrier reads all fragments of the changelog; changelog.d/README.md says how they are named."""
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", VERSION]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr.splitlines()[-1]
    assert f"## [{VERSION}] - " in done.stdout
    for path in (PROJECT / "changelog.d").glob("*.*.md"):
        line = path.read_text().splitlines()[0]
        assert line in done.stdout, path


@pytest.mark.soak
def test_release(tmp_path: Path) -> None:
    """All files of a release are built twice from a prepared commit, with equal results; the installed wheel works."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        pytest.skip(f"NO RELEASE WAS TESTED: {', '.join(missing)} is not installed")
    folder = tmp_path / "clone"
    folder.mkdir()
    clone = Clone(folder)
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, names.split("\0")):
        if (PROJECT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PROJECT / name, folder / name)
    prepare(clone)
    clone.commit()
    done = clone.release()
    assert done.returncode == 0, done.stderr
    dist = folder / "dist" / VERSION
    sums = {
        name: value for value, name in (line.split("  ") for line in (dist / "SHA256SUMS").read_text().splitlines())
    }
    assert set(sums) == {
        f"slurmhooks-{VERSION}-py3-none-any.whl",
        f"slurmhooks-{VERSION}.tar.gz",
        f"slurmhooks-{VERSION}.cdx.json",
        f"slurmhooks_{VERSION}.orig.tar.gz",
        f"slurmhooks_{VERSION}-1.dsc",
        f"slurmhooks_{VERSION}-1.debian.tar.xz",
        f"slurmhooks-{VERSION}-1.src.rpm",
    }
    assert {path.name for path in dist.iterdir()} == {*sums, "SHA256SUMS"}
    for name, value in sums.items():
        assert hashlib.sha256((dist / name).read_bytes()).hexdigest() == value
    bill = json.loads((dist / f"slurmhooks-{VERSION}.cdx.json").read_text())
    assert bill["metadata"]["component"]["version"] == VERSION
    assert clone.run("git", "status", "--porcelain").stdout == ""
