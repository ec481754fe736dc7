# SPDX-License-Identifier: GPL-2.0-or-later
"""The files and folders that name the hook files, and installed modules, are checked like hook files."""

import importlib.util
import sys
from pathlib import Path

import pytest

from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import slurm_conf
from slurmhooks.handlers import loader
from slurmhooks.handlers.loader import Source
from slurmhooks.site import sources as site
from tests.sets import put_in_force
from tests.unit.files.trusted.conftest import EVIL, EXPOSURES, Write, give_away, make_world_writable, root
from tests.unit.site.conftest import launched, of_config, of_line


@root
@pytest.mark.parametrize("exposure", EXPOSURES)
def test_a_configuration_in_an_exposed_folder(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exposure: str
) -> None:
    """A configuration below a folder that others can write to is refused."""
    path = write("site/slurm/slurmhooks.toml", "")
    monkeypatch.setenv("SLURM_CONF", str(path.with_name("slurm.conf")))
    put_in_force(path.parent)
    assert of_config()[1] == []
    EXPOSURES[exposure][0](tmp_path / "site")
    for read in (launched, of_config, site.lua_version):
        with pytest.raises((ConfigError, LoadError), match=f"{EXPOSURES[exposure][2]} {tmp_path}/site$"):
            read()
    path.unlink()
    with pytest.raises(ConfigError):
        launched()


def test_hook_files_that_others_could_take_away(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A glob is refused if others could remove the files that it matches."""
    monkeypatch.setenv("SLURM_CONF", str(write("slurm.conf", "")))
    write("slurmhooks.toml", '[hooks]\npaths = ["site/hooks.d/*.py"]\n')
    put_in_force(tmp_path)
    (tmp_path / "site" / "hooks.d").mkdir(parents=True)
    assert of_config()[1] == []
    make_world_writable(tmp_path / "site")
    for read in (launched, of_config, lambda: of_line("site/hooks.d/*.lua")):
        with pytest.raises(LoadError, match=f"chmod o-w {tmp_path}/site$"):
            read()


def test_a_relative_slurm_conf(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative SLURM_CONF is relative to the current folder."""
    put_in_force(write("site/slurmhooks.toml", "").parent)
    for folder, conf in ((tmp_path, "site/slurm.conf"), (tmp_path / "site", "slurm.conf")):
        monkeypatch.chdir(folder)
        monkeypatch.setenv("SLURM_CONF", conf)
        assert slurm_conf.directory() == str(tmp_path / "site")
        assert site.config_path() == tmp_path / "site" / "slurmhooks.toml"


@root
@pytest.mark.parametrize("what", ["source", "package", "byte code", "folder of byte code"])
def test_an_installed_module_that_others_can_write(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """A module of the configuration and its byte code are checked before the import."""
    name = f"trusted_site_{what.replace(' ', '_')}"
    source = write(f"lib/{name}/inner/__init__.py", EVIL)
    write(f"lib/{name}/__init__.py", "")
    cached = Path(importlib.util.cache_from_source(str(source)))
    cached.parent.mkdir()
    if what == "byte code":
        cached.touch()
    places = {"source": source, "package": source.parents[1], "byte code": cached, "folder of byte code": cached.parent}
    monkeypatch.syspath_prepend(tmp_path / "lib")
    give_away(places[what])
    with pytest.raises(LoadError) as caught:
        loader.load([Source(module=f"{name}.inner")])
    assert caught.value.findings[0].endswith(f": chown root {places[what]}")
    assert f"{name}.inner" not in sys.modules
