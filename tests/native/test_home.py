# SPDX-License-Identifier: GPL-2.0-or-later
"""C and Python find the same home, with and without slurmhooks.home."""

import os
import shutil
from pathlib import Path

import pytest

from slurmhooks.files import home
from tests.native.hosting import Host
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
    assert not is_taken(launch(host, str(conf / "slurm.conf")))
    for text, names_it in TEXTS.items():
        written = text.format(home=place, link=host.folder / "link")
        (conf / home.FILE_NAME).write_text(written)
        run = launch(host, str(conf / "slurm.conf"))
        found = os.path.realpath(home.folder()) == str(place)
        assert (is_taken(run), found) == (names_it, names_it), repr(text)
        if not names_it:
            missing = home.fault(f"{home.folder()}/slurmhooks.toml")
            assert missing is not None
            assert str(conf / home.FILE_NAME) in missing


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
    run = launch(host, str(conf / "slurm.conf"))
    assert not is_taken(run)
    assert f"it cannot be trusted: {file} {why}{file}" in run


def test_what_is_no_file(host: Host) -> None:
    """A FIFO, a folder or a link that leads nowhere names no home."""
    place, conf = split(host)
    file = conf / home.FILE_NAME
    shutil.copy(place / "slurmhooks.manifest", conf)
    for make in (os.mkfifo, os.mkdir, lambda path: os.symlink("nowhere", path)):
        make(file)
        assert not is_taken(launch(host, str(conf / "slurm.conf")))
        assert home.of(str(conf)) == str(file)
        if file.is_dir() and not file.is_symlink():
            file.rmdir()
        else:
            file.unlink()
