# SPDX-License-Identifier: GPL-2.0-or-later
"""Which hook files a configuration names."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.handlers import loader
from slurmhooks.log import log
from slurmhooks.site import dependencies, loading
from slurmhooks.site import sources as site
from tests.unit.site.conftest import Write, names, of_config, of_line

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
        '[hooks]\nmodules = ["m"]\n[job_submit]\nreload = false\nlua = "a.lua"\n[scrun]\nlua = "b"\n',
        "[spank]\n",
        '[hooks]\npaths = ["a.py"]\nrequire = ["a:f"]\n',
        '[hooks]\nrequire = ["a:f"]\n[lua]\n',
        '[hooks]\npaths = ["\\u0063.py"]\n[log]\nlevel = "info"\n',
    ],
)
def test_sources_alone(write: Write, text: str) -> None:
    """sources() returns the same as the model, also for files that it reads without the model."""
    write("hooks.d/a.py", "")
    path = write("slurmhooks.toml", text)
    config, sources = of_config(path)
    expected = [(source.path, source.module) for source in sources]
    for sources, require in (site.sources(), site.sources(str(path))):
        assert [(source.path, source.module) for source in sources] == expected
        assert tuple(require) == config.hooks.require


def test_launches_leave_rules_alone(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ready-made rules concern slurmctld only: a launch reads a file with them without the model, right or wrong."""
    text = '[hooks]\npaths = ["a.py"]\n[policy_defaults]\nhelp_url = 5\n[[policies]]\nrule = "nosuch"\n'
    path = write("slurmhooks.toml", text)
    monkeypatch.setattr(site, "read_config", None)
    assert names(site.sources(str(path))[0]) == ["a.py"]


def test_sources_without_a_configuration() -> None:
    """A missing configuration is empty."""
    assert site.sources() == ([], ())


@pytest.mark.parametrize(
    "text",
    [
        "not toml",
        '[hooks]\npath = ["a"]',
        "[hooks]\npaths = true",
        '[job_submit]\nreload = "no"',
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
        site.sources()
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
    for read in (site.sources, of_config):
        with pytest.raises(ConfigError, match="writable by everybody"):
            read()
    path.unlink()
    assert site.sources() == ([], ())


@pytest.mark.parametrize("text", ['[log]\nlevel = "error"\n', 'log.level = "error"\n'], ids=["plain", "not plain"])
def test_the_level_of_the_log(write: Write, said: SimpleNamespace, text: str) -> None:
    """Lines below the configured level are not passed on to Slurm."""
    write("slurmhooks.toml", text)
    try:
        site.sources()
        log.info("dropped")
        log.error("said")
    finally:
        log.limit("debug3")
    assert [line for _, line in said.lines] == ["slurmhooks: said"]


def test_a_wrong_level_of_the_log(write: Write) -> None:
    """An invalid level is refused."""
    write("slurmhooks.toml", '[log]\nlevel = "user"\n')
    with pytest.raises(ConfigError) as caught:
        site.sources()
    assert "log.level" in caught.value.findings[0]


@pytest.mark.parametrize(
    ("conf", "built_for", "expected"),
    [
        (None, None, "/etc/slurm/slurmhooks.toml"),
        ("", None, "/etc/slurm/slurmhooks.toml"),
        (None, "/opt/slurm/etc", "/opt/slurm/etc/slurmhooks.toml"),
        ("/a/slurm.conf", "/opt/slurm/etc", "/a/slurmhooks.toml"),
    ],
)
def test_the_configuration_lies_beside_slurm_conf(
    monkeypatch: pytest.MonkeyPatch, conf: str | None, built_for: str | None, expected: str
) -> None:
    """The file is in the folder of SLURM_CONF, otherwise in the folder that the plugins were built for."""
    if conf is None:
        monkeypatch.delenv("SLURM_CONF", raising=False)
    else:
        monkeypatch.setenv("SLURM_CONF", conf)
    if built_for is not None:
        monkeypatch.setitem(sys._xoptions, "slurmhooks_sysconfdir", built_for)
    assert site.config_path() == Path(expected)


def test_packages(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hook files import packages of a folder beside the configuration, and these are watched with them."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for text in ('packages = ["packages"]', 'packages = ["packages"]\n[log]\nlimit = 5000'):
        write("slurmhooks.toml", f'[hooks]\npaths = ["a.py"]\n{text}\n')
        sources, _ = site.sources(str(tmp_path / "slurmhooks.toml"))
        assert [source.packages for source in sources] == [str(tmp_path / "packages"), None]
    package = write("packages/shared_by_site/__init__.py", "LIMIT = 7")
    write("a.py", "from shared_by_site import LIMIT\nfrom slurmhooks import hook\nhook.job_submit(lambda job: None)\n")
    path = tmp_path / "slurmhooks.toml"
    read, found = of_config(path)
    try:
        assert len(loader.load(found).all_handlers()) == 1
        assert str(package) in dependencies.watched(path, read, found)
        assert dependencies.modules_of(path, read) == ["shared_by_site"]
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
    "a launch": lambda path: names(site.sources(str(path))[0]),
    "a line with config=": lambda path: of_line(f"config={path}")[0],
    "a line with a GLOB": lambda path: of_line("late/hooks.d/*.py")[0],
    "info": lambda path: [*loading.problems(path)],
}


@pytest.mark.parametrize("more", ["", "[log]\nlimit = 5000\n"], ids=["plain", "by the model"])
@pytest.mark.parametrize("reader", READERS)
def test_a_folder_that_is_not_mounted_yet(write: Write, tmp_path: Path, reader: str, more: str) -> None:
    """A folder of hook files that does not exist is an error in each process; an empty one is not."""
    path = write("slurmhooks.toml", f'[hooks]\npaths = ["late/hooks.d/*.py"]\n{more}')
    read, missing = READERS[reader], f"{tmp_path}/late/hooks.d: does not exist; hook files are expected in it"
    if reader == "info":
        assert missing in "".join(loading.problems(path))
    else:
        with pytest.raises(LoadError, match=missing):
            read(path)
    (tmp_path / "late" / "hooks.d").mkdir(parents=True)
    assert read(path) == []


def test_the_home_has_the_configuration(write: Write, tmp_path: Path) -> None:
    """slurmhooks.home names the folder of the configuration and of sets; a file beside slurm.conf does not count."""
    write("slurmhooks.toml", '[hooks]\nmodules = ["beside"]\n')
    place = tmp_path / "home"
    place.mkdir()
    write("slurmhooks.home", f"{place}\n")
    for read in (of_config, site.sources, lambda: site.values(site.config_name()), site.lua_version):
        with pytest.raises((ConfigError, LoadError), match=r"slurmhooks\.home names its folder: deploy a set"):
            read()
    write("home/slurmhooks.d/sets/1/slurmhooks.toml", '[hooks]\nmodules = ["deployed"]\n')
    write("home/slurmhooks.d/sets/1/a.py", "")
    (place / "slurmhooks.set").symlink_to("slurmhooks.d/sets/1")
    assert names(of_config()[1]) == ["deployed"]
    for line in ("*.py x", "slurmhooks.d/current/*.py x"):
        assert of_line(line) == (["a.py"], ["x"])
    (place / "slurmhooks.set").unlink()
    (place / "slurmhooks.toml").symlink_to(tmp_path / "slurmhooks.toml")
    assert names(site.sources()[0]) == ["beside"]


def test_a_set_without_a_link(write: Write, tmp_path: Path) -> None:
    """Where something was deployed, a link that is missing or leads nowhere is refused: live files do not come back."""
    write("slurmhooks.toml", '[hooks]\nmodules = ["live"]\n')
    write("hooks.d/a.py", "")
    write("slurmhooks.d/sets/1/slurmhooks.toml", '[hooks]\nmodules = ["deployed"]\n')
    write("slurmhooks.d/events", "[]")
    link = tmp_path / "slurmhooks.set"
    for target in (None, "slurmhooks.d/sets/2"):
        if target is not None:
            link.symlink_to(target)
        for read in (
            of_config,
            site.sources,
            lambda: of_line("hooks.d/*.py"),
            lambda: of_line("config=slurmhooks.toml"),
        ):
            with pytest.raises((ConfigError, LoadError)):
                read()
    link.unlink()
    link.symlink_to("slurmhooks.d/sets/1")
    assert names(site.sources()[0]) == ["deployed"]


def test_absolute_names_in_a_set(write: Write, tmp_path: Path) -> None:
    """A set has its own copies of what its configuration and lines of plugstack.conf name by absolute names."""
    write("slurmhooks.toml", "")
    live = write("hooks.d/a.py", "")
    copy = write(f"slurmhooks.d/sets/1/absolute{live}", "")
    hooks = f'[hooks]\npaths = ["{live.parent}/*.py"]\npackages = ["{tmp_path}/p"]\n'
    write("slurmhooks.d/sets/1/slurmhooks.toml", f'{hooks}[cli_filter]\nlua = "{tmp_path}/c.lua"\n')
    (tmp_path / "slurmhooks.set").symlink_to("slurmhooks.d/sets/1")
    packages, hook_file = site.sources()[0]
    assert (hook_file.path, packages.packages) == (str(copy), f"{tmp_path}/slurmhooks.d/sets/1/absolute{tmp_path}/p")
    assert site.script_of("cli_filter") == f"{tmp_path}/slurmhooks.d/sets/1/absolute{tmp_path}/c.lua"
    assert [each.path for each in site.of_plugstack([f"{live.parent}/*.py"])[0]] == [str(copy)]


@pytest.mark.parametrize("text", ["", "home\n", "/home\n/other\n", "\0"])
def test_a_home_that_is_no_path(write: Write, tmp_path: Path, text: str) -> None:
    """Unless slurmhooks.home has one absolute path, there is no configuration, and the error names the file."""
    write("slurmhooks.toml", "")
    file = write("slurmhooks.home", text)
    with pytest.raises(ConfigError, match=f"{file}: must have one line, the absolute path"):
        site.sources()
