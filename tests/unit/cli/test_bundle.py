# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks bundle``: the contents of a bundle, and signatures."""

import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slurmhooks.cli.bundles import archive, signature
from slurmhooks.cli.bundles.archive import File
from slurmhooks.cli.bundles.store import Store
from slurmhooks.cli.findings import Finding

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call, Site

CONFIG = """
[hooks]
paths = ["hooks.d/*.py"]
packages = ["packages"]
modules = ["shared.more", "elsewhere"]
[job_submit]
lua = "job_submit.site.lua"
"""


@pytest.fixture
def folder(write: Callable[..., Path], tmp_path: Path) -> Path:
    """A folder with a configuration, hook files, a package and a script."""
    write("site/slurmhooks.toml", CONFIG)
    write("site/hooks.d/b.py", "b")
    write("site/hooks.d/a.py", "a")
    write("site/hooks.d/README", "no hook file")
    write("site/packages/shared/__init__.py", "")
    write("site/packages/shared/__pycache__/__init__.cpython-311.pyc", "byte code")
    write("site/packages/.git/config", "hidden")
    write("site/job_submit.site.lua", "-- Lua")
    return tmp_path / "site"


def test_the_same_files_make_the_same_bytes(folder: Path, run: "Call", tmp_path: Path) -> None:
    """The id depends on names and contents, but not on times, owners or the order of folders."""
    first, second = tmp_path / "one.tar", tmp_path / "two.tar"
    result = run("bundle", folder, "--output", first, "--json")
    report = json.loads(result.stdout)
    assert report["files"] == [
        *("hooks.d/a.py", "hooks.d/b.py", "job_submit.site.lua", "packages/shared/__init__.py", "slurmhooks.toml")
    ]
    assert "[hooks] modules: elsewhere is not in the set" in result.stderr
    assert "shared" not in result.stderr
    os.utime(folder / "hooks.d" / "a.py", (1, 1))
    (folder / "hooks.d" / "b.py").chmod(0o755)
    run("bundle", folder, "--output", second)
    assert first.read_bytes() == second.read_bytes()
    assert archive.identity(first.read_bytes()) == report["bundle"]
    (folder / "hooks.d" / "b.py").chmod(0o600)
    run("bundle", folder, "--output", second)
    private = archive.identity(second.read_bytes())
    assert private != report["bundle"]
    (folder / "hooks.d" / "b.py").chmod(0o644)
    (folder / "hooks.d" / "a.py").write_text("A")
    run("bundle", folder, "--output", second)
    assert archive.identity(second.read_bytes()) != report["bundle"]


def test_what_no_set_can_hold(folder: Path, write: Callable[..., Path], run: "Call") -> None:
    """Missing files, hidden files and names outside are findings, all at once, and nothing is written."""
    write(
        "site/slurmhooks.toml",
        '[hooks]\npaths = ["/no/hooks.d/*.py", "../x.py", ".hidden.py"]\npackages = ["gone"]\n'
        '[scrun]\nlua = "gone.lua"\n',
    )
    write("site/plugstack.conf", "required spank_python.so hooks.d/*.py\noptional spank_python.so config=/x/y.toml\n")
    result = run.refused("bundle", folder, "--output", folder / "b.tar")
    for words in (
        "/no/hooks.d: does not exist; hook files are expected in it",
        "[hooks] paths names ../x.py: that is outside of the folder of slurmhooks.toml: write an absolute name",
        "[hooks] paths names .hidden.py: a set has no hidden files",
        "gone: No such file or directory; [hooks] packages names it",
        "gone.lua: No such file or directory; [scrun] lua names it",
        "/x/y.toml: No such file or directory; config= of plugstack.conf names it",
    ):
        assert words in result.output, result.output
    assert not (folder / "b.tar").exists()


def test_special_files(folder: Path, run: "Call", monkeypatch: pytest.MonkeyPatch) -> None:
    """A FIFO in place of a file is a finding; nothing waits for its writer."""
    path = folder / "job_submit.site.lua"
    path.unlink()
    os.mkfifo(path)
    monkeypatch.setenv("SLURM_CONF", os.devnull)
    result = run.refused("bundle", folder)
    assert f"{path}: not a regular file; [job_submit] lua names it" in result.stderr


@pytest.mark.parametrize(
    ("options", "finding"),
    [
        ("--output nowhere/x", "nowhere/x: its folder does not exist"),
        ("--output .", ".: Device or resource busy"),
        ("--output site", "site: Is a directory"),
        (f"--output {'x' * 300}", "x: File name too long"),
        ("--output loop/x", "loop/x: Too many levels of symbolic links"),
    ],
)
def test_what_cannot_be_written(
    folder: Path, run: "Call", tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str, finding: str
) -> None:
    """A path that cannot be written is a finding."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    result = run.refused("bundle", folder, *options.split())
    assert finding in result.stderr


def test_a_folder_that_was_removed(folder: Path, run: "Call", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder that no longer exists, nothing can be written."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    result = run.refused("bundle", folder)
    assert "its folder does not exist" in result.stderr


def long_name() -> bytes:
    """Return a header of GNU tar for the name of the next member."""
    member = tarfile.TarInfo("././@LongLink")
    member.type, member.size = tarfile.GNUTYPE_LONGNAME, 2
    return member.tobuf(tarfile.GNU_FORMAT) + b"a".ljust(tarfile.BLOCKSIZE, b"\0")


@pytest.mark.parametrize("name", ["../a", "/a", "a//b", "./a", "a/../b"])
def test_names_outside_of_the_folder(name: str) -> None:
    """An archive with such a name is refused."""
    with pytest.raises(Finding, match="it is not a file of a bundle"):
        archive.unpack(archive.pack({"slurmhooks.toml": File(b""), name: File(b"")}), "x.tar")


def test_archives_of_others(folder: Path, tmp_path: Path) -> None:
    """Links, special files, damage, and a file in place of a folder are refused."""
    (folder / "link").symlink_to("/etc/shadow")
    subprocess.run(["tar", "-C", folder, "-cf", tmp_path / "link.tar", "link", "slurmhooks.toml"], check=True)
    subprocess.run(["tar", "-C", folder, "-cf", tmp_path / "plain.tar", "slurmhooks.toml"], check=True)
    good = archive.pack({"slurmhooks.toml": File(b""), "a": File(b"x" * 1000)})
    archives = {
        "not a file of a bundle": (tmp_path / "link.tar").read_bytes(),
        "not a bundle": b"",
        "as 'slurmhooks bundle' makes it": (tmp_path / "plain.tar").read_bytes(),
        "or damaged": good + b"more",
        "a": good[:700],
        "not a bundle as": archive.pack({"slurmhooks.toml": File(b""), "a": File(b""), "a/b": File(b"")}),
        "bundle as": archive.pack({"a": File(b"")}),
        "recursion": long_name() * 3000 + good,
    }
    for words, data in archives.items():
        with pytest.raises(Finding, match=words):
            archive.unpack(data, "x.tar")


@pytest.fixture
def keys(open_folder: Path) -> Path:
    """A folder with two keys."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("NO SIGNATURE WAS TESTED: install openssh-client")
    for name in ("alice", "mallory"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", open_folder / name]
        subprocess.run(command, check=True)
    return open_folder


def test_signatures(site: "Site", run: "Call", keys: Path) -> None:
    """With a list of signers, a bundle is deployed only if one of them has signed it, whoever could have written it."""
    allowed = site.etc / signature.ALLOWED
    public = (keys / "alice.pub").read_text().split()
    allowed.write_text(f'alice@site namespaces="slurmhooks" {public[0]} {public[1]}\n')
    bundle = keys / "b.tar"

    def deployed() -> str:
        result = site.call("deploy", bundle)
        assert (result.exit_code == 0) == (Store(site.etc).deployed is not None)
        return result.output

    run("bundle", site.etc, "--output", bundle)
    assert f"refused: {allowed} exists, so it must be signed" in deployed()
    run("bundle", site.etc, "--output", bundle, "--sign", keys / "mallory")
    assert "does not have the key that has signed it" in deployed()
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", keys / "alice", f"{bundle}"],
                   input=b"y\n", check=True, capture_output=True)  # fmt: skip
    assert "refused" in deployed()
    run("bundle", site.etc, "--output", bundle, "--sign", keys / "alice")
    good = bundle.read_bytes()
    bundle.write_bytes(good[:-1] + b"x")
    assert "its signature is not valid" in deployed()
    bundle.write_bytes(good)
    allowed.chmod(0o666)
    assert "is writable by everybody" in deployed()
    allowed.chmod(0o644)
    bundle.chmod(0o666)
    assert "signed by alice@site: in force; before: none" in deployed()


def test_another_ssh_keygen(site: "Site", run: "Call", keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program of this name, in front in the caller's PATH, does not decide who has signed a bundle."""
    public = (keys / "alice.pub").read_text().split()
    (site.etc / signature.ALLOWED).write_text(f'alice@site namespaces="slurmhooks" {public[0]} {public[1]}\n')
    bundle = keys / "b.tar"
    run("bundle", site.etc, "--output", bundle, "--sign", keys / "mallory")
    (keys / "ssh-keygen").write_text("#!/bin/sh\necho alice@site\n")
    (keys / "ssh-keygen").chmod(0o755)
    monkeypatch.setenv("PATH", f"{keys}:{os.environ['PATH']}")
    assert "does not have the key that has signed it" in site.call("deploy", bundle).output


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["", signature.SUFFIX])
@pytest.mark.parametrize("what", ["FIFO", "device", "sparse"])
def test_files_without_an_end(site: "Site", run: "Call", keys: Path, suffix: str, what: str) -> None:
    """A signed bundle may be in a folder of any user: nothing there makes root wait, or fills the memory."""
    public = (keys / "alice.pub").read_text().split()
    (site.etc / signature.ALLOWED).write_text(f"alice@site {public[0]} {public[1]}\n")
    bundle = keys / "b.tar"
    run("bundle", site.etc, "--output", bundle, "--sign", keys / "alice")
    hostile = bundle.with_name(bundle.name + suffix)
    hostile.unlink()
    if what == "FIFO":
        os.mkfifo(hostile)
    elif what == "device":
        hostile.symlink_to("/dev/zero")
    else:
        hostile.touch()
        os.truncate(hostile, 1 << 40)
    result = site.refused("deploy", bundle)
    assert ("more than" if what == "sparse" else "not a regular file") in result.output
    assert Store(site.etc).deployed is None


def test_a_list_that_cannot_be_read(site: "Site", run: "Call", keys: Path) -> None:
    """A list of signers that is a dangling link does not count as absent."""
    (site.etc / signature.ALLOWED).symlink_to("gone")
    run("bundle", site.etc, "--output", keys / "b.tar")
    site.refused("deploy", keys / "b.tar", says="without it no bundle is accepted")
