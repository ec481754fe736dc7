# SPDX-License-Identifier: GPL-2.0-or-later
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest

from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import plugstack
from slurmhooks.handlers import loader
from slurmhooks.handlers.loader import Source
from slurmhooks.log import log
from slurmhooks.site import dependencies
from slurmhooks.site import sources as site

Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def place_slurm_conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let SLURM_CONF point into tmp_path."""
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))


def names(sources: Iterable[Source]) -> list[str | None]:
    """Return the names of files and modules."""
    return [Path(source.path).name if source.path else source.module for source in sources]


def of_line(line: str) -> tuple[list[str | None], list[str]]:
    """Return the sources of a line of plugstack.conf, and the arguments for handlers."""
    sources, rest, _ = site.of_plugstack(line.split())
    return names(sources), rest


def test_files_come_before_modules(write: Write, tmp_path: Path) -> None:
    """Sources are the files of the configuration, then its modules, each in order."""
    write("hooks.d/b.py", "")
    write("hooks.d/a.py", "")
    write("slurmhooks.toml", '[hooks]\nmodules = ["m", "a"]\npaths = ["hooks.d/*.py", "c.py"]\n')
    read, sources = site.of_config()
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
    config, sources = site.of_config(path)
    expected = [(source.path, source.module) for source in sources]
    for sources, require in (site.sources(), site.sources(str(path))):
        assert [(source.path, source.module) for source in sources] == expected
        assert tuple(require) == config.hooks.require


def test_launches_leave_rules_alone(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ready-made rules concern slurmctld only: a launch reads a file with them without the model, right or wrong."""
    text = '[hooks]\npaths = ["a.py"]\n[policy_defaults]\nhelp_url = 5\n[[policies]]\nrule = "nosuch"\n'
    path = write("slurmhooks.toml", text)
    monkeypatch.setattr(site, "of_config", None)
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
        site.of_config(path)
    with pytest.raises(ConfigError) as raised:
        site.sources()
    assert raised.value.findings == expected.value.findings


def test_another_configuration(write: Write, tmp_path: Path) -> None:
    """Paths in a configuration are relative to its own folder."""
    path = write("else/where.toml", '[hooks]\npaths = ["*.py"]\n')
    write("else/x.py", "")
    write("y.py", "")
    assert names(site.of_config(path)[1]) == ["x.py"]


def test_a_line_without_arguments_loads_what_the_configuration_says(write: Write) -> None:
    """``required spank_python.so`` is enough."""
    write("slurmhooks.toml", '[hooks]\npaths = ["a.py"]\n')
    assert of_line("") == (["a.py"], [])
    assert of_line("failonerror") == (["a.py"], [])
    assert of_line("failonerror -- fast=1") == (["a.py"], ["fast=1"])


def test_a_line_with_a_glob_keeps_its_own_arguments(write: Write) -> None:
    """A line with a glob has its own files and arguments, and does not read the configuration."""
    write("slurmhooks.toml", "not toml")
    write("lustre.d/b.py", "")
    write("lustre.d/a.py", "")
    assert of_line("lustre.d/*.py /scratch quota=5") == (["a.py", "b.py"], ["/scratch", "quota=5"])
    assert of_line("failonerror lustre.d/a.py config=x") == (["a.py"], ["config=x"])


def test_a_line_may_name_a_configuration(write: Write) -> None:
    """config=FILE is relative to slurm.conf, or absolute."""
    path = write("other.toml", '[hooks]\npaths = ["o.py"]\n')
    assert of_line("config=other.toml failonerror") == (["o.py"], [])
    assert of_line(f"config={path}") == (["o.py"], [])


def test_a_wrong_configuration_is_a_load_error(write: Write) -> None:
    """An invalid configuration raises LoadError with all findings."""
    write("slurmhooks.toml", "[nope]\n[neither]\n")
    with pytest.raises(LoadError) as caught:
        site.of_plugstack([])
    assert len(caught.value.findings) == 2
    with pytest.raises(ConfigError):
        site.of_config()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", (None, None, [])),
        ("config=x", ("x", None, [])),
        ("config=x failonerror", ("x", None, [])),
        ("failonerror config=x *.py", ("x", "*.py", [])),
        ("init_failure_mode=job failonerror a.py", (None, "a.py", [])),
        ("a.py init_failure_mode=rest", (None, "a.py", ["init_failure_mode=rest"])),
        ("-- fast=1 --", (None, None, ["fast=1", "--"])),
        ("config=x failonerror -- fast=1", ("x", None, ["fast=1"])),
        ("a.py -- x", (None, "a.py", ["--", "x"])),
        ("a.py failonerror config=x", (None, "a.py", ["failonerror", "config=x"])),
    ],
)
def test_a_line_taken_apart(line: str, expected: tuple[str | None, str | None, list[str]]) -> None:
    """Arguments for slurmhooks come first; all arguments after the GLOB are for handlers."""
    assert plugstack.split(line.split()) == expected


def test_what_is_watched(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The configuration, its files and the modules of its packages are watched."""
    write("slurmhooks.toml", '[hooks]\npaths = ["hooks.d/*.py", "/gone/x.py"]\nmodules = ["watched_package"]\n')
    hooks = write("hooks.d/a.py", "")
    inside = write("lib/watched_package/inside.py", "")
    package = write("lib/watched_package/__init__.py", "import watched_package.inside")
    path = tmp_path / "slurmhooks.toml"
    read, sources = site.of_config()
    before = dependencies.watched(path, read, sources)
    assert before == [str(path), str(hooks), "/gone/x.py"]
    monkeypatch.syspath_prepend(tmp_path / "lib")
    __import__("watched_package")
    try:
        assert set(dependencies.watched(path, read, sources)) == {*before, str(package), str(inside)}
        assert set(dependencies.modules_below(["watched_package"])) == {"watched_package", "watched_package.inside"}
    finally:
        for name in dependencies.modules_below(["watched_package"]):
            del sys.modules[name]


def test_a_configuration_that_others_may_write(write: Write) -> None:
    """A configuration that others can write is refused."""
    path = write("slurmhooks.toml", "", 0o666)
    for read in (site.sources, site.of_config):
        with pytest.raises(ConfigError, match="writable by everybody"):
            read()
    path.unlink()
    assert site.sources() == ([], ())


def test_folders_where_files_may_come(write: Write, tmp_path: Path) -> None:
    """folders() returns the folders of globs; if the folder is a glob, those that match and the one above."""
    write("slurmhooks.toml", '[hooks]\npaths = ["hooks.d/*.py", "/gone/x.py", "of/*/hook?.py"]\n')
    write("of/physics/hook1.py", "")
    write("hooks.d/a.py", "")
    path = tmp_path / "slurmhooks.toml"
    read, _ = site.of_config()
    expected = {"hooks.d", "of", "of/physics"}
    assert set(dependencies.folders(path, read)) == {str(tmp_path / name) for name in expected}


def test_a_wrong_init_failure_mode(write: Write) -> None:
    """An invalid value is refused; the error lists the valid values."""
    with pytest.raises(LoadError, match="init_failure_mode=jobs: it can be init_failure_mode=node or"):
        site.of_plugstack(["init_failure_mode=jobs"])


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


def test_a_configuration_that_is_a_link(write: Write, tmp_path: Path) -> None:
    """Names are relative to the file that the link leads to; a dangling link is an error."""
    write("real/slurmhooks.toml", '[hooks]\npaths = ["*.py"]\n[scrun]\nlua = "scrun.site.lua"\n')
    inside = write("real/a.py", "")
    link = tmp_path / "slurmhooks.toml"
    link.symlink_to("real/slurmhooks.toml")
    _, sources = site.of_config(link)
    assert [source.path for source in sources] == [str(inside)]
    assert [source.path for source in site.sources(str(link))[0]] == [str(inside)]
    assert site.script_of("scrun", str(link)) == str(tmp_path / "real" / "scrun.site.lua")
    (tmp_path / "real" / "slurmhooks.toml").unlink()
    for read in (lambda: site.of_config(link), lambda: site.sources(str(link))):
        with pytest.raises(ConfigError, match="a symbolic link on the way leads nowhere"):
            read()


def test_a_line_whose_folder_is_a_link(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of a line all come from the folder that the link leads to."""
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    inside = write("one/hooks.d/a.py", "")
    (tmp_path / "current").symlink_to("one")
    sources, rest, _ = site.of_plugstack(["current/hooks.d/*.py", "x"])
    assert ([source.path for source in sources], rest) == ([str(inside)], ["x"])


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
    read, found = site.of_config(path)
    try:
        assert len(loader.load(found).all_handlers()) == 1
        assert str(package) in dependencies.watched(path, read, found)
        assert dependencies.modules_of(path, read) == ["shared_by_site"]
    finally:
        sys.modules.pop("shared_by_site", None)
    write("packages/json.py", "")
    with pytest.raises(LoadError, match=r"packages/json: Python or slurmhooks has a module of this name"):
        loader.load(found)
    path.write_text('[hooks]\npackages = ["gone"]\n')
    with pytest.raises(LoadError, match=r"gone: No such file or directory; \[hooks\] packages names this folder"):
        loader.load(site.of_config(path)[1])


NAMES_BESIDE = {
    "a glob": ('[hooks]\npaths = ["hooks.d/*.py"]\n', "hooks.d/a.py"),
    "a file": ('[hooks]\npaths = ["a.py"]\n', "a.py"),
    "packages": ('[hooks]\npackages = ["lib"]\n', "lib/inner.py"),
    "a script of job_submit": ('[job_submit]\nlua = "job_submit.site.lua"\n', "job_submit.site.lua"),
    "a script of scrun": ('[scrun]\nlua = "scrun.site.lua"\n', "scrun.site.lua"),
    "a script of cli_filter": ('[cli_filter]\nlua = "cli_filter.site.lua"\n', "cli_filter.site.lua"),
}
LAYOUTS = {
    "a link": {"slurmhooks.toml": "data/slurmhooks.toml"},
    "the volume of a container": {"slurmhooks.toml": "..data/slurmhooks.toml", "..data": "data"},
    "nested links": {"slurmhooks.toml": "two/slurmhooks.toml", "two/slurmhooks.toml": "../data/slurmhooks.toml"},
}


@pytest.mark.parametrize("both", [False, True], ids=["only there", "in both places"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES_BESIDE)
def test_names_that_seem_to_be_beside_a_link(write: Write, tmp_path: Path, name: str, layout: str, both: bool) -> None:
    """A relative name that leads to other files beside a link than beside its target is an error that names both."""
    text, file = NAMES_BESIDE[name]
    write("data/slurmhooks.toml", text)
    write(file, "")
    if both:
        write(f"data/{file}", "")
    for link, target in LAYOUTS[layout].items():
        (tmp_path / link).parent.mkdir(exist_ok=True)
        (tmp_path / link).symlink_to(target)
    point = next((point for point in ("scrun", "cli_filter") if f"[{point}]" in text), None)
    launch = site.sources if point is None else (lambda: site.script_of(point))
    reads = [site.of_config, *([launch] if "job_submit" not in text else [])]
    for read in reads:
        with pytest.raises(LoadError, match="is relative to the file that this is a link to, so it means") as caught:
            read()
        assert f"write {tmp_path}/" in caught.value.findings[0]


def test_names_that_seem_to_be_beside_a_link_on_the_way(write: Write, tmp_path: Path) -> None:
    """Files beside each link are found, wherever it is on the way to the configuration."""
    write("data/slurmhooks.toml", '[hooks]\npaths = ["hooks.d/*.py"]\n')
    write("data/hooks.d/a.py", "")
    write("two/hooks.d/b.py", "")
    (tmp_path / "two" / "slurmhooks.toml").symlink_to("../data/slurmhooks.toml")
    (tmp_path / "slurmhooks.toml").symlink_to("two/slurmhooks.toml")
    for read in (site.of_config, site.sources):
        with pytest.raises(LoadError, match=f"and not {tmp_path}/two/hooks.d/b.py: write {tmp_path}/two/hooks"):
            read()


def test_the_link_of_a_bundle(write: Write, tmp_path: Path) -> None:
    """Files beside the link to a deployed bundle are those of the time before, and are no error."""
    write("slurmhooks.d/bundles/0123/slurmhooks.toml", '[hooks]\npaths = ["hooks.d/*.py"]\n')
    write("slurmhooks.d/bundles/0123/hooks.d/a.py", "")
    write("hooks.d/b.py", "")
    (tmp_path / "slurmhooks.d" / "current").symlink_to("bundles/0123")
    (tmp_path / "slurmhooks.toml").symlink_to("slurmhooks.d/current/slurmhooks.toml")
    assert names(site.of_config()[1]) == names(site.sources()[0]) == ["a.py"]


def test_a_configuration_beside_the_target_of_slurm_conf(write: Write, tmp_path: Path) -> None:
    """A configuration beside the file that slurm.conf is a link to is an error while none is beside the link."""
    write("shared/slurm.conf", "")
    write("shared/slurmhooks.toml", "")
    (tmp_path / "slurm.conf").symlink_to("shared/slurm.conf")
    for read in (site.of_config, site.sources):
        with pytest.raises(ConfigError, match=r"slurmhooks.toml: does not exist, but .*shared/slurmhooks.toml does"):
            read()
    write("slurmhooks.toml", "")
    assert site.sources()[0] == site.of_config()[1] == []


READERS: dict[str, Callable[[Path], list[str | None]]] = {
    "slurmctld": lambda path: names(site.of_config(path)[1]),
    "a launch": lambda path: names(site.sources(str(path))[0]),
    "a line with config=": lambda path: of_line(f"config={path}")[0],
    "a line with a GLOB": lambda path: of_line("late/hooks.d/*.py")[0],
    "info": lambda path: [*site.problems(path)],
}


@pytest.mark.parametrize("more", ["", "[log]\nlimit = 5000\n"], ids=["plain", "by the model"])
@pytest.mark.parametrize("reader", READERS)
def test_a_folder_that_is_not_mounted_yet(write: Write, tmp_path: Path, reader: str, more: str) -> None:
    """A folder of hook files that does not exist is an error in each process; an empty one is not."""
    path = write("slurmhooks.toml", f'[hooks]\npaths = ["late/hooks.d/*.py"]\n{more}')
    read, missing = READERS[reader], f"{tmp_path}/late/hooks.d: does not exist; hook files are expected in it"
    if reader == "info":
        assert missing in "".join(site.problems(path))
    else:
        with pytest.raises(LoadError, match=missing):
            read(path)
    (tmp_path / "late" / "hooks.d").mkdir(parents=True)
    assert read(path) == []


def test_a_line_before_the_first_deployment(tmp_path: Path) -> None:
    """A line that names files of the deployed bundle has no hooks until one is deployed; then its folder must exist."""
    for pattern in ("slurmhooks.d/current/hooks.d/*.py", f"{tmp_path}/slurmhooks.d/current/hooks.d/*.py"):
        assert of_line(f"{pattern} x") == ([], ["x"])
    (tmp_path / "slurmhooks.d").mkdir()
    (tmp_path / "slurmhooks.d" / "current").symlink_to("bundles/1")
    for _ in range(2):
        with pytest.raises(LoadError, match=f"{tmp_path}/slurmhooks.d/bundles/1/hooks.d: does not exist"):
            of_line("slurmhooks.d/current/hooks.d/*.py x")
        (tmp_path / "slurmhooks.d" / "bundles" / "1").mkdir(parents=True, exist_ok=True)


def test_a_line_whose_configuration_does_not_exist() -> None:
    """A configuration that a line of plugstack.conf names must exist."""
    with pytest.raises(LoadError, match=r"gone\.toml: does not exist; config= in plugstack\.conf names it"):
        site.of_plugstack(["config=gone.toml"])


def test_the_home_has_the_configuration(write: Write, tmp_path: Path) -> None:
    """slurmhooks.home names the folder of the configuration and of bundles; a file beside slurm.conf does not count."""
    write("slurmhooks.toml", '[hooks]\nmodules = ["beside"]\n')
    place = tmp_path / "home"
    place.mkdir()
    write("slurmhooks.home", f"{place}\n")
    for read in (site.of_config, site.sources, lambda: site.values(site.config_name()), site.lua_version):
        with pytest.raises((ConfigError, LoadError), match=r"slurmhooks\.home names its folder: deploy a bundle"):
            read()
    assert site.awaits_deployment("slurmhooks.d/current/*.py")
    write("home/slurmhooks.d/bundles/1/slurmhooks.toml", '[hooks]\nmodules = ["deployed"]\n')
    write("home/slurmhooks.d/bundles/1/a.py", "")
    (place / "slurmhooks.d" / "current").symlink_to("bundles/1")
    (place / "slurmhooks.toml").symlink_to("slurmhooks.d/current/slurmhooks.toml")
    assert names(site.of_config()[1]) == ["deployed"]
    assert of_line("slurmhooks.d/current/*.py x") == (["a.py"], ["x"])
    (place / "slurmhooks.toml").unlink()
    (place / "slurmhooks.toml").symlink_to(tmp_path / "slurmhooks.toml")
    assert names(site.sources()[0]) == ["beside"]


@pytest.mark.parametrize("text", ["", "home\n", "/home\n/other\n", "\0"])
def test_a_home_that_is_no_path(write: Write, tmp_path: Path, text: str) -> None:
    """Unless slurmhooks.home has one absolute path, there is no configuration, and the error names the file."""
    write("slurmhooks.toml", "")
    file = write("slurmhooks.home", text)
    with pytest.raises(ConfigError, match=f"{file}: must have one line, the absolute path"):
        site.sources()


def test_a_volume_that_is_replaced_meanwhile(write: Write, tmp_path: Path) -> None:
    """If the link to the configuration changes after it was resolved, an error is raised.

    Kubernetes replaces a volume by another link, and then removes the old folder.
    """
    text = '[hooks]\npaths = ["*.py"]\n[scrun]\nlua = "a.lua"\n'
    for version in ("1", "2"):
        write(f"{version}/slurmhooks.toml", text)
        write(f"{version}/a.py", "")
        write(f"{version}/a.lua", "")
    (tmp_path / "data").symlink_to("1")
    for name in ("slurmhooks.toml", "a.py"):
        (tmp_path / name).symlink_to(f"data/{name}")
    link = site.config_name()
    resolved = site.located(link)
    (tmp_path / "data").unlink()
    (tmp_path / "data").symlink_to("2")
    # The old file exists, but others beside it may be gone already.
    for _ in range(2):
        for read in (site.sources, lambda path, link: site.script_of("scrun", path, link)):
            with pytest.raises(LoadError, match="was replaced while it was read"):
                read(resolved, link)
        (tmp_path / "1" / "slurmhooks.toml").unlink(missing_ok=True)
