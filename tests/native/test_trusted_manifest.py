# SPDX-License-Identifier: GPL-2.0-or-later
"""A process of root does not use a manifest that other users could have written, which could turn handlers off."""

import ctypes
import multiprocessing
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from slurmhooks.files import home
from tests.native.hosting import Host, Run
from tests.native.manifests import compile_manifest, deployed

NOBODY = 65534
ROUNDS = 25
RENAME_EXCHANGE = 2
AT_FDCWD = -100

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only processes of root check whole paths")


def write_manifest(host: Host, folder: Path) -> Path:
    """Write a manifest into a folder; with it init does not start Python."""
    host.site("hook.spank.task_exit(lambda spank: None)")
    manifest = compile_manifest(host, args=(str(host.folder / "hooks.py"),))
    folder.mkdir(parents=True, exist_ok=True)
    return manifest.rename(deployed(folder))


def launch(host: Host, conf: str, cwd: Path | None = None, wrapper: Sequence[str] = (), rc: int | None = 0) -> Run:
    """Call init with SLURM_CONF set to a path. Python starts only if the manifest is not used."""
    env = {"SLURM_CONF": conf}
    script = "open sp $spank $dir/hooks.py\ncontext remote\ncall sp init\nmapped libpython"
    run = host.run(script, env=env, cwd=cwd, wrapper=wrapper)
    assert rc is None or run.one("call").rc == rc
    return run


def is_taken(run: Run) -> bool:
    """Tell whether the manifest was used."""
    return not run.one("mapped")["found"]


EXPOSURES: dict[str, tuple[Callable[[Path], object], str]] = {
    "world": (lambda path: path.chmod(0o757), "is writable by everybody: chmod o-w "),
    "group": (lambda path: path.chmod(0o775), "is writable by its group: chmod g-w "),
    "owner": (lambda path: os.chown(path, NOBODY, -1), "belongs to a user who is not root: chown -h root "),
}


@pytest.mark.parametrize("exposure", EXPOSURES)
@pytest.mark.parametrize("component", ["site", "site/slurm", "site/slurm/.manifest"])
def test_every_component_is_judged(each_host: Host, component: str, exposure: str) -> None:
    """If others can write a component of its path, the manifest is not used, and the log has the command for repair."""
    folder = each_host.folder / "site" / "slurm"
    write_manifest(each_host, folder)
    conf = str(folder / "slurm.conf")
    assert is_taken(launch(each_host, conf))
    expose, why = EXPOSURES[exposure]
    expose(each_host.folder / component)
    run = launch(each_host, conf)
    assert not is_taken(run)
    place = each_host.folder / component
    assert f"it cannot be trusted: {place} {why}{place}" in run


def test_links_are_judged(each_host: Host) -> None:
    """Relative and absolute links to files and folders are followed if they and their folders belong to root alone."""
    folder = each_host.folder / "site" / "slurm"
    write_manifest(each_host, folder)
    links = each_host.folder / "links"
    (links / "file").mkdir(parents=True)
    (links / "relative").symlink_to("../site/./slurm/")
    (links / "absolute").symlink_to(folder)
    (links / "back").symlink_to("absolute/../slurm")
    (links / "file" / home.SET).symlink_to("../relative")
    names = ("relative", "absolute", "back", "file")
    for name in names:
        assert is_taken(launch(each_host, str(links / name / "slurm.conf"))), name
    os.chown(links / "relative", NOBODY, -1, follow_symlinks=False)
    run = launch(each_host, str(links / "file" / "slurm.conf"))
    assert not is_taken(run)
    assert f"it cannot be trusted: {links}/file/../relative belongs to a user who is not root: chown -h root " in run
    links.chmod(0o1777)
    for name in names:
        run = launch(each_host, str(links / name / "slurm.conf"))
        assert f"it cannot be trusted: {links} is writable by everybody: keep it elsewhere" in run


def test_links_without_end(each_host: Host) -> None:
    """With a path of too many links, nobody knows whether a set is in force, so the launch is refused."""
    write_manifest(each_host, each_host.folder)
    (each_host.folder / "loop").symlink_to("loop/" * 100)
    run = launch(each_host, str(each_host.folder / "loop" / "slurm.conf"), rc=-3000)
    assert not is_taken(run)
    assert "it cannot be read" in run


@pytest.mark.parametrize(("conf", "cwd"), [("slurm.conf", "site"), ("site/slurm.conf", "."), ("../site/x", "other")])
def test_a_relative_slurm_conf(each_host: Host, conf: str, cwd: str) -> None:
    """A relative SLURM_CONF starts at the current folder, and the whole path is checked."""
    write_manifest(each_host, each_host.folder / "site")
    (each_host.folder / "other").mkdir()
    assert is_taken(launch(each_host, conf, each_host.folder / cwd))
    (each_host.folder / "site").chmod(0o777)
    assert not is_taken(launch(each_host, conf, each_host.folder / cwd))


def test_what_is_no_file(host: Host) -> None:
    """A FIFO in place of the manifest does not block, and a file in place of its folder is an error."""
    folder = host.folder / "site"
    manifest = write_manifest(host, folder)
    assert not is_taken(launch(host, str(manifest / "slurm.conf"), rc=-3000))
    manifest.unlink()
    os.mkfifo(manifest)
    assert not is_taken(launch(host, str(folder / "slurm.conf")))


def test_a_process_of_a_user(host: Host) -> None:
    """A process of a user uses a manifest of root in any folder, but none that others can write."""
    folder = host.folder / "site"
    manifest = write_manifest(host, folder)
    folder.chmod(0o1777)
    # Only root may search the folders above.
    reading = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    wrapper = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *reading]
    assert is_taken(launch(host, str(folder / "slurm.conf"), wrapper=wrapper))
    manifest.chmod(0o666)
    assert not is_taken(launch(host, str(folder / "slurm.conf"), wrapper=wrapper))


def attack(one: bytes, other: bytes) -> None:
    """Exchange two folders repeatedly until killed, as an ordinary user."""
    libc = ctypes.CDLL(None, use_errno=True)
    os.setgroups([])
    os.chdir(os.path.dirname(one))
    os.setresuid(NOBODY, NOBODY, NOBODY)
    names = os.path.basename(one), os.path.basename(other)
    while not libc.renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE):
        pass


@pytest.mark.slow
def test_folders_that_are_swapped(host: Host) -> None:
    """A user who owns a folder in the path, and exchanges its folders, cannot make root use the user's manifest."""
    theirs = host.folder / "theirs"
    good, evil = theirs / "slurm", theirs / "evil"
    manifest = write_manifest(host, good)
    evil.mkdir()
    deployed(evil).write_bytes(manifest.read_bytes())
    manifest.unlink()
    for place in (theirs, evil, evil / manifest.name):
        os.chown(place, NOBODY, NOBODY)
    process = multiprocessing.get_context("fork").Process(
        target=attack, args=(os.fsencode(good), os.fsencode(evil)), daemon=True
    )
    process.start()
    try:
        for _ in range(ROUNDS):
            run = launch(host, str(good / "slurm.conf"))
            assert not is_taken(run)
            assert f"it cannot be trusted: {theirs} belongs to" in run
        assert process.is_alive()
    finally:
        process.kill()
        process.join()
