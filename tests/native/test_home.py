# SPDX-License-Identifier: GPL-2.0-or-later
"""C and Python find the same home, with and without slurmhooks.home."""

import os
import shutil
from pathlib import Path

import pytest

from slurmhooks.errors import LoadError
from slurmhooks.files import home
from slurmhooks.site import manifest
from tests.native.hosting import Host
from tests.native.manifests import deployed
from tests.native.test_trusted_manifest import EXPOSURES, is_taken, launch, write_manifest

TEXTS = {
    "{home}\n": True,
    "{home}": True,
    "{home}//\n": True,
    "{home}/../home": True,
    "{link}\n": True,
    "\n{home}": False,
    "{home}\n\n": False,
    " {home}": False,
    "{home}\t": False,
    "{home}\x7f": False,
    "home": False,
    "./home\n": False,
    "": False,
    "\n": False,
    "{home}/none\n": False,
    "/" * 5000: False,
}
"""Contents of slurmhooks.home, and whether they name the home."""


def split(host: Host) -> tuple[Path, Path]:
    """Write a manifest into a home; return it, and the folder of slurm.conf."""
    conf, place = host.folder / "conf", host.folder / "home"
    write_manifest(host, place)
    conf.mkdir()
    (host.folder / "link").symlink_to("home")
    return place, conf


def test_both_read_it_alike(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the file has, C takes the manifest of the home exactly if Python finds the home."""
    place, conf = split(host)
    monkeypatch.setenv("SLURM_CONF", str(conf / "slurm.conf"))
    assert home.folder() == str(conf)
    assert not is_taken(launch(host, str(conf / "slurm.conf"), rc=None))
    for text, names_it in TEXTS.items():
        written = text.format(home=place, link=host.folder / "link")
        (conf / home.FILE_NAME).write_text(written)
        run = launch(host, str(conf / "slurm.conf"), rc=None)
        found = os.path.realpath(home.folder()) == str(place)
        assert (is_taken(run), found) == (names_it, names_it), repr(text)
        if not names_it:
            with pytest.raises(LoadError) as missing:
                home.set_in_force()
            assert str(conf / home.FILE_NAME) in str(missing.value)


@pytest.mark.parametrize("name", ["slurm.conf", "conf/slurm.conf", "../conf/slurm.conf"])
def test_relative_to_the_current_folder(host: Host, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The file is beside the slurm.conf that a relative SLURM_CONF names."""
    place, conf = split(host)
    (conf / home.FILE_NAME).write_text(f"{place}\n")
    cwd = conf if "/" not in name or name.startswith("..") else host.folder
    monkeypatch.chdir(cwd)
    monkeypatch.setenv("SLURM_CONF", name)
    assert home.folder() == str(place)
    assert is_taken(launch(host, name, cwd))


@pytest.mark.skipif(os.geteuid() != 0, reason="only processes of root check whole paths")
@pytest.mark.parametrize("exposure", EXPOSURES)
def test_only_root_names_the_home(host: Host, exposure: str) -> None:
    """A slurmhooks.home that others could have written names no home."""
    place, conf = split(host)
    file = conf / home.FILE_NAME
    file.write_text(f"{place}\n")
    assert is_taken(launch(host, str(conf / "slurm.conf")))
    expose, why = EXPOSURES[exposure]
    expose(file)
    run = launch(host, str(conf / "slurm.conf"), rc=None)
    assert not is_taken(run)
    assert f"it cannot be trusted: {file} {why}{file}" in run


def test_what_is_no_file(host: Host) -> None:
    """A FIFO, a folder or a link that leads nowhere names no home."""
    place, conf = split(host)
    file = conf / home.FILE_NAME
    shutil.copy(place / manifest.FILE_NAME, deployed(conf))
    for make in (os.mkfifo, os.mkdir, lambda path: os.symlink("nowhere", path)):
        make(file)
        run = launch(host, str(conf / "slurm.conf"), rc=None)
        assert run.one("call").failed
        assert not is_taken(run)
        assert home.of(str(conf)) == str(file)
        if file.is_dir() and not file.is_symlink():
            file.rmdir()
        else:
            file.unlink()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sign", "why"),
    [
        (None, None),
        ("slurmhooks/expects-set", "this machine expects a set: 'slurmhooks deploy'"),
        ("slurmhooks.manifest", "an earlier release ran files that were never deployed: 'slurmhooks deploy'"),
    ],
)
def test_no_sign_of_a_set(host: Host, sign: str | None, why: str | None) -> None:
    """Without a set, launches are refused if one is expected, or an earlier release ran files; but slurmd starts.

    slurmctld also refuses requests if there are sources.
    """
    host.deploys = False
    plugins = host.use_copy_of_plugins()
    if sign is not None:
        (plugins if "/" in sign else host.folder).joinpath(sign).touch()
    run = host.run("open js $job_submit\njob_submit js\nclose js")
    assert (run.one("job_submit").rc != 0) == (why is not None)
    host.site("hook.spank.init(lambda spank: None)")
    for arguments in ("", "hooks.py", "config=slurmhooks.toml"):
        run = host.run(f"open sp $spank {arguments}\ncontext slurmd\ncall sp init\ncontext remote\ncall sp init")
        assert [result.rc for result in run.of("call")] == [0, 0], run  # what slurmd has loaded stays
        run = host.run(f"open sp $spank {arguments}\ncontext remote\ncall sp init")
        assert run.one("call").failed == (why is not None)
        assert (why or "slurmhooks.toml: was never deployed, so no hooks are in force: 'slurmhooks deploy'") in run
    run = host.run("open js $job_submit\njob_submit js\nclose js")
    assert run.one("job_submit").rc
    assert (why or "slurmhooks.toml: was never deployed") in run
