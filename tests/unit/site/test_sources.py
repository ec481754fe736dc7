# SPDX-License-Identifier: GPL-2.0-or-later
"""Which hook files a configuration names."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files.watch import Watch
from slurmhooks.handlers import loader
from slurmhooks.log import log
from slurmhooks.site import loading
from slurmhooks.site import sources as site
from tests.unit.site.conftest import Write, launched, names, of_config, of_line

pytestmark = pytest.mark.usefixtures("place_slurm_conf")


def test_files_come_before_modules(write: Write, tmp_path: Path) -> None:
    """Sources are the files of the configuration, then its modules, each in order."""
    write("hooks.d/b.py", "")
    write("hooks.d/a.py", "")
    write("slurmhooks.toml", '[hooks]\nmodules = ["m", "a"]\npaths = ["hooks.d/*.py", "c.py"]\n')
    read, sources = of_config()
    assert names(sources) == ["a.py", "b.py", "c.py", "m", "a"]
    assert read.hooks.modules == ("m", "a")
    assert sources[2].path == str(tmp_path / "c.py")


@pytest.mark.parametrize(
    "text",
    [
        "",
        '[hooks]\npaths = ["hooks.d/*.py", "c.py"]  # two\n',
        '[hooks]\nmodules = ["m"]\n[job_submit]\nno_new_privs = false\nlua = "a.lua"\n[scrun]\nlua = "b"\n',
        "[spank]\n",
        '[hooks]\npaths = ["a.py"]\nrequire = ["a:f"]\n',
        '[hooks]\nrequire = ["a:f"]\n[lua]\n',
        '[hooks]\npaths = ["\\u0063.py"]\n[log]\nlevel = "info"\n',
    ],
)
def test_sources_alone(write: Write, text: str) -> None:
    """A launch without a manifest reads the same as slurmctld."""
    write("hooks.d/a.py", "")
    path = write("slurmhooks.toml", text)
    config, sources = of_config(path)
    found = launched()
    assert [(each.path, each.module) for each in found.sources] == [(each.path, each.module) for each in sources]
    assert tuple(found.require) == config.hooks.require


def test_sources_without_a_configuration() -> None:
    """A missing configuration is empty."""
    assert (launched().sources, launched().require) == ([], ())


@pytest.mark.parametrize(
    "text",
    [
        "not toml",
        '[hooks]\npath = ["a"]',
        "[hooks]\npaths = true",
        '[job_submit]\nno_new_privs = "no"',
        "[hocks]\na = true",
        '[scrun]\nlua = ""',
    ],
)
def test_wrong_sources(write: Write, text: str) -> None:
    """Errors are reported by the model."""
    path = write("slurmhooks.toml", text)
    with pytest.raises(ConfigError) as expected:
        of_config(path)
    with pytest.raises(ConfigError) as raised:
        launched()
    assert raised.value.findings == expected.value.findings


def test_another_configuration(write: Write, tmp_path: Path) -> None:
    """Paths in a configuration are relative to its own folder."""
    path = write("else/where.toml", '[hooks]\npaths = ["*.py"]\n')
    write("else/x.py", "")
    write("y.py", "")
    assert names(of_config(path)[1]) == ["x.py"]


def test_a_configuration_that_others_may_write(write: Write) -> None:
    """A configuration that others can write is refused."""
    path = write("slurmhooks.toml", "", 0o666)
    for read in (launched, of_config):
        with pytest.raises(ConfigError, match="writable by everybody"):
            read()
    path.unlink()
    assert launched().sources == []


@pytest.mark.parametrize("text", ['[log]\nlevel = "error"\n', 'log.level = "error"\n'], ids=["plain", "not plain"])
def test_the_level_of_the_log(write: Write, said: SimpleNamespace, text: str) -> None:
    """Lines below the configured level are not passed on to Slurm."""
    write("slurmhooks.toml", text)
    try:
        launched()
        log.info("dropped")
        log.error("said")
    finally:
        log.limit("debug3")
    assert [line for _, line in said.lines] == ["slurmhooks: said"]


def test_a_wrong_level_of_the_log(write: Write) -> None:
    """An invalid level is refused."""
    write("slurmhooks.toml", '[log]\nlevel = "user"\n')
    with pytest.raises(ConfigError) as caught:
        launched()
    assert "log.level" in caught.value.findings[0]


@pytest.mark.parametrize(
    ("conf", "built_for", "expected"),
    [
        (None, None, "/etc/slurm/slurmhooks.set"),
        ("", None, "/etc/slurm/slurmhooks.set"),
        (None, "/opt/slurm/etc", "/opt/slurm/etc/slurmhooks.set"),
        ("/a/slurm.conf", "/opt/slurm/etc", "/a/slurmhooks.set"),
    ],
)
def test_the_link_lies_beside_slurm_conf(
    monkeypatch: pytest.MonkeyPatch, conf: str | None, built_for: str | None, expected: str
) -> None:
    """The link to the set in force is in the folder of SLURM_CONF, otherwise in the one that the build was made for."""
    if conf is None:
        monkeypatch.delenv("SLURM_CONF", raising=False)
    else:
        monkeypatch.setenv("SLURM_CONF", conf)
    if built_for is not None:
        monkeypatch.setitem(sys._xoptions, "slurmhooks_sysconfdir", built_for)
    assert Watch().place == expected


def test_packages(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hook files import packages of a folder beside the configuration."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for text in ('packages = ["packages"]', 'packages = ["packages"]\n[log]\nlimit = 5000'):
        write("slurmhooks.toml", f'[hooks]\npaths = ["a.py"]\n{text}\n')
        sources = launched().sources
        assert [source.packages for source in sources] == [str(tmp_path / "packages"), None]
    package = write("packages/shared_by_site/__init__.py", "LIMIT = 7")
    write("a.py", "from shared_by_site import LIMIT\nfrom slurmhooks import hook\nhook.job_submit(lambda job: None)\n")
    path = tmp_path / "slurmhooks.toml"
    _, found = of_config(path)
    try:
        assert len(loader.load(found).all_handlers()) == 1
        assert sys.modules["shared_by_site"].__file__ == str(package)
    finally:
        sys.modules.pop("shared_by_site", None)
    for name in ("json.py", "pydantic/__init__.py"):
        file = write(f"packages/{name}", "")
        wrong = (
            rf"packages/{name.partition('.')[0].partition('/')[0]}: Python or slurmhooks needs a module of this name"
        )
        with pytest.raises(LoadError, match=wrong):
            loader.load(found)
        file.unlink()
        if "/" in name:
            file.parent.rmdir()
    path.write_text('[hooks]\npackages = ["gone"]\n')
    with pytest.raises(LoadError, match=r"gone: No such file or directory; \[hooks\] packages names this folder"):
        loader.load(of_config(path)[1])


READERS: dict[str, Callable[[Path], list[str | None]]] = {
    "slurmctld": lambda path: names(of_config(path)[1]),
    "a launch": lambda path: names(launched().sources),
    "a line with config=": lambda path: of_line(f"config={path}")[0],
}


@pytest.mark.parametrize("more", ["", "[log]\nlimit = 5000\n"], ids=["plain", "by the model"])
@pytest.mark.parametrize("reader", READERS)
def test_a_folder_that_is_not_mounted_yet(write: Write, tmp_path: Path, reader: str, more: str) -> None:
    """A folder of hook files that does not exist is an error in each process; an empty one is not."""
    path = write("slurmhooks.toml", f'[hooks]\npaths = ["late/hooks.d/*.py"]\n{more}')
    read, missing = READERS[reader], f"{tmp_path}/late/hooks.d: does not exist; hook files are expected in it"
    with pytest.raises(LoadError, match=missing):
        read(path)
    (tmp_path / "late" / "hooks.d").mkdir(parents=True)
    assert read(path) == []


def readers() -> Iterator[Callable[[], object]]:
    """Yield what reads the set in force."""
    yield of_config
    yield launched
    yield site.lua_version
    yield lambda: of_line("")
    yield lambda: of_line("hooks.d/*.py")
    yield lambda: of_line("config=slurmhooks.toml")


def test_the_home_has_the_set(write: Write, tmp_path: Path) -> None:
    """slurmhooks.home names the folder of sets; what is beside slurm.conf does not count, and no set is an error."""
    place = tmp_path / "home"
    place.mkdir()
    write("slurmhooks.home", f"{place}\n")
    for read in readers():
        with pytest.raises(LoadError, match=r"slurmhooks\.home names its folder: mount what has it, or deploy"):
            read()
    write("home/slurmhooks.d/sets/1/slurmhooks.toml", '[hooks]\nmodules = ["deployed"]\n')
    write("home/slurmhooks.d/sets/1/a.py", "")
    (place / "slurmhooks.set").symlink_to("slurmhooks.d/sets/1")
    assert names(of_config()[1]) == ["deployed"]
    for line in ("*.py x", "slurmhooks.d/current/*.py x"):
        assert of_line(line) == (["a.py"], ["x"])


def test_a_set_without_a_link(write: Write, tmp_path: Path) -> None:
    """Where something was deployed, a link that is missing or leads nowhere is refused, whatever sources there are."""
    write("slurmhooks.toml", '[hooks]\nmodules = ["source"]\n')
    write("hooks.d/a.py", "")
    write("slurmhooks.d/sets/1/slurmhooks.toml", '[hooks]\nmodules = ["deployed"]\n')
    write("slurmhooks.d/events", "[]")
    link = tmp_path / "slurmhooks.set"
    link.unlink()
    for target in (None, "slurmhooks.d/sets/2"):
        if target is not None:
            link.symlink_to(target)
        for read in readers():
            with pytest.raises(LoadError, match="leads to no set, but sets were deployed here"):
                read()
    link.unlink()
    link.symlink_to("slurmhooks.d/sets/1")
    assert names(launched().sources) == ["deployed"]


def test_sources_that_were_never_deployed(write: Write, tmp_path: Path, said: SimpleNamespace) -> None:
    """slurmctld's processes refuse them, because an earlier release may have run them; launches have no hooks."""
    (tmp_path / "slurmhooks.set").unlink()
    for read in readers():
        read()
    assert said.lines == []
    toml, hook_file = tmp_path / "slurmhooks.toml", write("hooks.d/a.py", "")
    assert of_line("hooks.d/*.py x") == ([], ["x"])
    assert "plugstack.conf: hooks.d/*.py x: was never deployed, so it has no hooks" in str(said.lines)
    never = f"{toml}: was never deployed, so no hooks are in force: 'slurmhooks deploy'"
    for target in (hook_file, Path("nowhere")):
        toml.symlink_to(target)
        for read in (of_config, site.read_config):
            with pytest.raises(LoadError, match=re.escape(never)):
                read()
        for line in ("", "hooks.d/*.py", "config=slurmhooks.toml"):
            said.lines.clear()
            assert of_line(line) == ([], [])
            assert never in str(said.lines)
        assert launched().sources == []
        toml.unlink()


def test_what_an_earlier_release_has_left(write: Write, tmp_path: Path) -> None:
    """Where it has written a manifest beside slurm.conf, it ran files, so launches without a set are refused."""
    (tmp_path / "slurmhooks.set").unlink()
    write("slurmhooks.manifest", "")
    for read in readers():
        with pytest.raises(LoadError, match="an earlier release ran files that were never deployed"):
            read()


def test_a_set_that_has_lost_its_configuration(write: Write, tmp_path: Path) -> None:
    """It is refused, and does not count as one without hooks."""
    write("slurmhooks.d/sets/1/a.py", "")
    (tmp_path / "slurmhooks.set").unlink()
    (tmp_path / "slurmhooks.set").symlink_to("slurmhooks.d/sets/1")
    for read in (of_config, launched):
        with pytest.raises(ConfigError, match=r"slurmhooks\.toml: is lost"):
            read()


def test_absolute_names_in_a_set(write: Write, tmp_path: Path) -> None:
    """A set has its own copies of what its configuration and lines of plugstack.conf name by absolute names."""
    write("slurmhooks.toml", "")
    source = write("hooks.d/a.py", "")
    copy = write(f"slurmhooks.d/sets/1/absolute{source}", "")
    hooks = f'[hooks]\npaths = ["{source.parent}/*.py"]\npackages = ["{tmp_path}/p"]\n'
    write("slurmhooks.d/sets/1/slurmhooks.toml", f'{hooks}[cli_filter]\nlua = "{tmp_path}/c.lua"\n')
    (tmp_path / "slurmhooks.set").unlink()
    (tmp_path / "slurmhooks.set").symlink_to("slurmhooks.d/sets/1")
    packages, hook_file = launched().sources
    assert (hook_file.path, packages.packages) == (str(copy), f"{tmp_path}/slurmhooks.d/sets/1/absolute{tmp_path}/p")
    script = site.script_of("cli_filter", *site.located_config(site.config_path()))
    assert script == f"{tmp_path}/slurmhooks.d/sets/1/absolute{tmp_path}/c.lua"
    assert [each.path for each in loading.of_line([f"{source.parent}/*.py"]).sources] == [str(copy)]


@pytest.mark.parametrize("text", ["", "home\n", "/home\n/other\n", "\0"])
def test_a_home_that_is_no_path(write: Write, tmp_path: Path, text: str) -> None:
    """Unless slurmhooks.home has one absolute path, there is no configuration, and the error names the file."""
    write("slurmhooks.toml", "")
    file = write("slurmhooks.home", text)
    with pytest.raises(LoadError, match=f"{file}: must have one line, the absolute path"):
        launched()
