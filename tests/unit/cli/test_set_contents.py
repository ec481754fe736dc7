# SPDX-License-Identifier: GPL-2.0-or-later
"""What is in a set: the modes of its files, data beside hook files, files with absolute names, and what is not."""

import os
import re
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slurmhooks.cli.bundles import archive, history, retention
from slurmhooks.cli.bundles.store import Store
from slurmhooks.cli.commands import check
from slurmhooks.cli.commands.install import put_in_force
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import sums
from slurmhooks.files.watch import Watch
from slurmhooks.site import reload, sources
from tests.cluster.turns import moved_from
from tests.unit.cli.deploying import HANDLER

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call, Site

pytestmark = pytest.mark.slow

CONFIG = '[hooks]\npaths = ["hooks.d/*.py"]\n'


def in_force(site: "Site") -> Path:
    """Return the folder of the set in force."""
    return site.etc / "slurmhooks.set"


def in_place_of(path: Path, make: Callable[[Path], None]) -> None:
    """Replace a file by something else."""
    path.unlink()
    make(path)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "lost": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "one bit": lambda path: path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\n"),
    "another file": lambda path: path.with_name(f"x{path.name}").write_bytes(b""),
    "a folder": lambda path: in_place_of(path, Path.mkdir),
    "a FIFO": lambda path: in_place_of(path, os.mkfifo),
}


@pytest.mark.parametrize(
    ("name", "how"),
    moved_from(
        3,
        [
            *(("hooks.d/b.py", how) for how in DAMAGES),
            ("slurmhooks.toml", "lost"),
            ("slurmhooks.toml", "one bit"),
            ("tables/data.json", "longer"),
        ],
    ),
)
def test_a_damaged_set_is_not_loaded(site: "Site", monkeypatch: pytest.MonkeyPatch, name: str, how: str) -> None:
    """Processes of slurmctld refuse a set that is not what was deployed; another deployment ends that.

    What the configuration says about such a case counts if the configuration itself is intact.
    """
    monkeypatch.setenv("SLURM_CONF", str(site.etc / "slurm.conf"))
    (site.etc / "slurmhooks.toml").write_text(f'{CONFIG}data = ["tables/*.json"]\n')
    (site.etc / "tables").mkdir()
    (site.etc / "tables" / "data.json").write_text("{}")
    site.file(HANDLER.format(1))
    site.file(HANDLER.format(2), "b.py")
    site.report("deploy")
    prepared: list[object] = []

    def load() -> None:
        reload.load(sources.config_path(), Watch(), lambda registry: [], prepare=prepared.append)

    load()
    path = in_force(site).resolve() / name
    DAMAGES[how](path)
    with pytest.raises((LoadError, ConfigError), match=re.escape(f"{site.etc}/slurmhooks.")):
        load()
    assert len(prepared) == (1 if name == "slurmhooks.toml" else 2)
    site.file(HANDLER.format(3))
    site.report("deploy")
    load()


def test_sums_of_large_data(site: "Site") -> None:
    """A set is compared without holding its files in memory, of which workers have little."""
    (site.etc / "slurmhooks.toml").write_text(f'{CONFIG}data = ["large"]\n')
    (site.etc / "large").write_bytes(bytes(32 << 20))
    site.file(HANDLER.format(1))
    site.report("deploy")
    tracemalloc.start()
    try:
        damaged, _ = sums.damage(f"{in_force(site).resolve()}/slurmhooks.toml")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert damaged == []
    assert most < 8 << 20


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"slurmhooks.toml": 1}'])
def test_damaged_sums(site: "Site", monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """A set that cannot be compared with what was deployed is not loaded; one of an earlier release has no sums."""
    monkeypatch.setenv("SLURM_CONF", str(site.etc / "slurm.conf"))
    site.report("deploy")
    path = in_force(site) / ".sums"
    path.chmod(0o644)
    path.write_bytes(content)
    with pytest.raises(LoadError):
        reload.load(sources.config_path(), Watch(), lambda registry: [])
    path.unlink()
    reload.load(sources.config_path(), Watch(), lambda registry: [])


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: groups of files need root")
@pytest.mark.parametrize("way", ["folder", "archive"])
@pytest.mark.parametrize(
    ("file", "folder", "private"), [(0o640, 0o755, True), (0o644, 0o750, True), (0o664, 0o755, False)]
)
def test_modes_are_kept(
    site: "Site", run: "Call", open_folder: Path, way: str, file: int, folder: int, private: bool
) -> None:
    """What users cannot read stays so in the set, its group can read it, and nobody can write it."""
    site.plugstack()  # its line would make each srun load the file
    hook_file = site.file(HANDLER.format(1))
    os.chown(hook_file, 0, 1)
    os.chown(site.hooks, 0, 1)
    hook_file.chmod(file)
    site.hooks.chmod(folder)
    if way == "archive":
        assert run("bundle", site.etc, "--output", open_folder / "b.tar").exit_code == 0
        site.report("deploy", open_folder / "b.tar")
        place = in_force(site)
    else:
        site.report("deploy")
        place = in_force(site)
    status = (place / "hooks.d" / "a.py").stat()
    assert status.st_mode & 0o777 == (0o440 if private else 0o444)
    assert (status.st_uid, status.st_gid) == (0, 1 if private else 0)
    assert site.call("status").exit_code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: groups of files need root")
@pytest.mark.parametrize(
    ("file", "inner", "outer", "group"),
    [
        ((0o640, 1), (0o755, 0), (0o755, 0), "daemon"),
        ((0o640, 1), (0o750, 1), (0o755, 0), "daemon"),
        ((0o640, 1), (0o700, 1), (0o755, 0), ""),
        ((0o640, 1), (0o750, 2), (0o755, 0), ""),
        ((0o644, 0), (0o750, 1), (0o750, 2), ""),
        ((0o644, 0), (0o755, 0), (0o750, 1), "daemon"),
        ((0o644, 0), (0o754, 1), (0o755, 0), "daemon"),
    ],
)
@pytest.mark.parametrize("link", ["", "file", "folder"])
def test_who_may_read(
    open_folder: Path, link: str, file: tuple[int, int], inner: tuple[int, int], outer: tuple[int, int], group: str
) -> None:
    """A copy lets in a group only if nothing on the way to the file keeps it out, links or not."""
    base, elsewhere = open_folder / "base", open_folder / "elsewhere"
    for each in (base, elsewhere):
        each.mkdir(mode=0o755)
    place = (elsewhere if link else base) / "outer" / "inner"
    place.mkdir(parents=True)
    (place / "a.py").write_text("")
    for path, (mode, gid) in ((place / "a.py", file), (place, inner), (place.parent, outer)):
        os.chown(path, 0, gid)
        path.chmod(mode)
    named = place / "a.py"
    if link == "file":
        named = base / "a.py"
        (elsewhere / "link").symlink_to("outer/inner/a.py")
        named.symlink_to("../elsewhere/link")
    elif link == "folder":
        (base / "hooks.d").symlink_to(place)
        named = base / "hooks.d" / "a.py"
    assert archive.File.read(named, base) == archive.File(b"", True, group)


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: groups of files need root")
@pytest.mark.parametrize(("mode", "group"), [(0o600, 0), (0o600, 2), (0o640, 0), (0o640, 1)])
def test_private_files_of_a_slurm_user(site: "Site", mode: int, group: int) -> None:
    """Whatever SlurmUser is, a private file deploys, its set is intact, and another group counts as a change."""
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=python", "SlurmUser=daemon")
    site.plugstack()
    site.file(HANDLER.format(1))
    os.chown(site.hooks / "a.py", 0, group)
    (site.hooks / "a.py").chmod(mode)
    deployed = site.report("deploy")["bundle"]
    copy = in_force(site) / "hooks.d" / "a.py"
    assert (copy.stat().st_mode & 0o777, copy.stat().st_gid) == (0o440, 1)  # that of the user daemon
    assert site.report("deploy")["before"] == deployed
    site.passed("status")
    assert site.call("off", "--all").exit_code == 0
    assert site.call("on").exit_code == 0
    assert copy.stat().st_gid == 1
    os.chown(copy, 0, 3)
    site.refused("status", says="changed by hand")


def test_archives_of_private_files(site: "Site", run: "Call", open_folder: Path) -> None:
    """Neither an archive nor a Prolog shows users what they cannot read in the folder."""
    site.file(HANDLER.format(1))
    path, script = open_folder / "b.tar", open_folder / "prolog"
    assert run("bundle", site.etc, "--output", path).exit_code == 0
    assert path.stat().st_mode & 0o777 == 0o644
    (site.hooks / "a.py").chmod(0o640)
    assert run("bundle", site.etc, "--output", path).exit_code == 0
    assert path.stat().st_mode & 0o777 == 0o600
    for source in (path, site.etc):
        private = "every user can read a Prolog, and users may not read hooks.d/a.py"
        site.refused("deploy", source, "--prolog", script, says=private)
    assert Store(site.etc).deployed is None
    assert not script.exists()


def test_private_files_for_launches(site: "Site", run: "Call", open_folder: Path) -> None:
    """A file that launches load and users cannot read is refused by its source's name, whatever handlers it has."""
    archive = open_folder / "b.tar"
    for text in ("@hook.spank.init\ndef init(spank): pass\n", HANDLER.format(1)):
        site.file(text).chmod(0o600)
        assert run("bundle", site.etc, "--output", archive).exit_code == 0
        for source, name in ((site.etc, site.hooks / "a.py"), (archive, "hooks.d/a.py")):
            result = site.refused("deploy", source)
            why = "ordinary users cannot read it, so srun, sbatch and salloc fail for them"
            assert f"error: {name}: {why}: chmod o+r {name}\n" in result.output, result.output
            assert Store(site.etc).deployed is None
    site.plugstack("required spank_python.so launches.d/*.py")
    (site.etc / "launches.d").mkdir()
    site.report("deploy")


def test_data_beside_hook_files(site: "Site") -> None:
    """Files that [hooks] data names are in the set; a hook file that looks for another one beside itself is noted."""
    text = "import json, pathlib\nLIMITS = json.loads((pathlib.Path(__file__).parent / 'limits.json').read_text())\n"
    site.file(f"{text}{HANDLER.format(1)}")
    (site.hooks / "limits.json").write_text('{"a": 1}')
    site.refused("deploy", says="No such file or directory")
    (site.etc / "slurmhooks.toml").write_text(f'{CONFIG}data = ["hooks.d/*.json"]\n')
    report = site.report("deploy")
    assert (in_force(site) / "hooks.d" / "limits.json").exists()
    assert any("a.py:3: uses __file__" in text for text in report["notes"])
    assert site.handlers() == ["a:version_1"]


def test_data_that_is_not_named(site: "Site") -> None:
    """What a hook file reads beside itself, and the set lacks, is named with what to do, before the error about it."""
    (site.etc / "slurmhooks.toml").write_text(CONFIG)
    site.file('open(__file__.replace("a.py", "limits.json")).close()\n' + HANDLER.format(1))
    beside = site.etc / "hooks.d" / "limits.json"
    beside.write_text("{}")

    result = site.refused("deploy")
    said = [line for line in result.stderr.splitlines() if str(beside) in line]
    assert said[0] == f"error: {beside}: not in the set: name it in [hooks] data", result.stderr
    assert "FileNotFoundError" in said[1]

    beside.unlink()
    assert "not in the set" not in site.call("deploy").stderr

    site.file('open(__file__[:-3] + "x" * 300)\n' + HANDLER.format(1))
    result = site.call("deploy")
    assert "hooks.d/a.py:2: " in result.stderr, result.stderr
    assert "is not deployed" in result.stderr


def test_constant_names_outside(site: "Site") -> None:
    """A name of a file beside the sources, in a hook file or as package.path of a Lua script, is noted."""
    site.file(f"LIMITS = '{site.etc}/limits.json'\n{HANDLER.format(1)}")
    (site.etc / "slurmhooks.toml").write_text(f'{CONFIG}[job_submit]\nlua = "job_submit.lua"\n')
    (site.etc / "job_submit.lua").write_text(
        f"package.path = '{site.etc}/lua/?.lua'\n"
        "function slurm_job_submit() return 0 end\nfunction slurm_job_modify() return 0 end\n"
    )
    notes = "\n".join(site.report("deploy")["notes"])
    assert f"a.py:2: names {site.etc}/limits.json, which is not part of the set" in notes
    assert f"job_submit.lua: package.path names {site.etc}/lua/" in notes


def test_absolute_names(site: "Site", open_folder: Path) -> None:
    """Files that slurmhooks.toml or plugstack.conf names by absolute names are in the set; edits of them are not."""
    elsewhere = open_folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "b.py").write_text("from slurmhooks import hook\n@hook.spank.init\ndef init(spank): pass\n")
    (elsewhere / "other.toml").write_text('[hooks]\npaths = ["b.py"]\n')
    hook_file = site.file(HANDLER.format(1))
    (site.etc / "slurmhooks.toml").write_text(f'[hooks]\npaths = ["{site.hooks}/*.py"]\n')
    for line in (f"{elsewhere}/*.py one", f"config={elsewhere}/other.toml"):
        site.plugstack(f"required spank_python.so {line}")
        site.report("deploy")
        assert site.handlers() == ["a:version_1", "b:init"]
        for path in (hook_file, elsewhere / "b.py"):
            before = path.read_text()
            path.write_text("def (")
            assert site.handlers() == ["a:version_1", "b:init"]
            path.write_text(before)


def test_one_file_by_two_names(site: "Site", open_folder: Path) -> None:
    """A hook file that is named by its relative and its absolute name would be loaded twice, and is refused."""
    site.file("@hook.spank.init\ndef init(spank): pass\n")
    (open_folder / "link").symlink_to(site.etc)
    for absolute, line in (
        (f"{site.hooks}/*.py", "hooks.d/*.py"),
        (f"{open_folder}/link/hooks.d/a.py", "hooks.d/a.py"),
        ("hooks.d/*.py", f"{site.hooks}/*.py"),
    ):
        (site.etc / "slurmhooks.toml").write_text(f'[hooks]\npaths = ["{absolute}"]\n')
        site.plugstack(f"required spank_python.so {line}")
        site.refused("deploy", says="hooks.d/a.py: is named absolute and relative, as hooks.d/a.py")
    (site.etc / "slurmhooks.toml").write_text(f'[hooks]\npaths = ["{site.hooks}/*.py"]\n')
    site.report("deploy")


@pytest.mark.skipif(os.getuid() != 0, reason="NOT TESTED: only root can give files away")
@pytest.mark.parametrize("command", ["check", "deploy"])
def test_sources_of_slurm_user(site: "Site", command: str) -> None:
    """Root is told who else can write to the files that root deploys, although none of them is in force."""
    path = site.file(HANDLER.format(1))
    site.report("deploy")
    os.chown(path, 65534, 65534)
    note = f"{path}: it belongs to nobody (user id 65534), and what they put there would run: chown root {path};"
    result = site.call(command)
    assert f"{note} whoever can write there decides what you deploy" in result.output
    os.chown(path, 0, 0)
    assert "whoever can write there" not in site.call(command).output


@pytest.mark.skipif(os.getuid() != 0, reason="NOT TESTED: root deploys the files")
def test_check_reads_no_data(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    """To say who could write to the files of the next set, `check` looks for them only: data may be large."""
    (site.etc / "slurmhooks.toml").write_text(f'{CONFIG}data = ["limits.json"]\n')
    path = site.etc / "limits.json"
    path.write_text("{}")
    os.chown(path, 65534, 65534)
    site.file(HANDLER.format(1))
    monkeypatch.setattr(archive.File, "read", None)
    (note,) = check.exposed_sources(site.etc)
    assert note.startswith(f"{path}: it belongs to nobody")
    path.unlink()
    assert check.exposed_sources(site.etc) == []  # `deploy` says that it is missing


def test_sources_may_be_broken(site: "Site") -> None:
    """Whatever happens to the sources, what was deployed is in force; the same files again are no change."""
    site.file(HANDLER.format(1))
    first = site.report("deploy", "--message", "the first")
    assert site.report("deploy")["before"] == first["bundle"]
    assert len(Store(site.etc).events()) == 1
    assert Store(site.etc).events()[-1].message == "the first"
    site.file("def (")
    (site.etc / "slurmhooks.toml").write_text("[hooks]\nunknown = 1\n")
    assert site.handlers() == ["a:version_1"]
    assert site.call("deploy").exit_code == 1
    (site.etc / "slurmhooks.toml").unlink()
    assert site.handlers() == ["a:version_1"]


def test_a_dry_run(site: "Site") -> None:
    """--dry-run says what would change, refuses what would be refused, and changes nothing."""
    site.file(HANDLER.format(1))
    site.report("deploy")
    assert "unchanged, it is in force already" in site.call("deploy", "--dry-run").stdout
    site.file(HANDLER.format(2))
    (site.hooks / "b.py").write_text("")
    result = site.passed("deploy", "--dry-run")
    assert "could be put in force" in result.output
    assert "hooks.d/a.py: changed\n  hooks.d/b.py: added\n" in result.output
    assert site.handlers() == ["a:version_1"]
    site.file("def (")
    result = site.call("deploy", "--dry-run")
    assert result.exit_code == 1
    assert f"{site.hooks}/a.py" in result.output  # and not the copy
    assert len(Store(site.etc).events()) == 1


def test_what_an_earlier_release_has_deployed(site: "Site") -> None:
    """Its files are refused until something is deployed, and its link is no source."""
    place = site.etc / "slurmhooks.d" / "bundles" / "0123456789abcdef"
    (place / "hooks.d").mkdir(parents=True)
    (place / "slurmhooks.toml").write_text(CONFIG)
    (place / "hooks.d" / "a.py").write_text(f"from slurmhooks import hook\n{HANDLER.format(1)}")
    (site.etc / "slurmhooks.toml").unlink()
    (site.etc / "slurmhooks.toml").symlink_to("slurmhooks.d/current/slurmhooks.toml")
    (site.etc / "slurmhooks.d" / "current").symlink_to("bundles/0123456789abcdef")
    (site.etc / "slurmhooks.d" / "history").write_text('["0123456789abcdef"]\n')
    (site.etc / "slurmhooks.d" / "unfinished").write_text('["0123456789abcdef", null]\n')
    site.refused("check", says="was never deployed")
    site.refused("deploy", says="an earlier release has made it a link")
    site.report("deploy", site.make("two", HANDLER.format(2)))
    assert site.handlers() == ["a:version_2"]
    assert site.call("status").exit_code == 0


def test_libraries_of_a_lua_script(site: "Site") -> None:
    """A script requires a library that is in the set, and not the one beside the source."""
    (site.etc / "slurmhooks.toml").write_text(
        f'{CONFIG}data = ["lua/*.lua"]\n[job_submit]\nlua = "lua/job_submit.lua"\n'
    )
    (site.etc / "lua").mkdir()
    (site.etc / "lua" / "job_submit.lua").write_text(
        "local limits = require 'limits'\nfunction slurm_job_submit() return limits.code end\n"
        "function slurm_job_modify() return 0 end\n"
    )
    library = site.etc / "lua" / "limits.lua"
    library.write_text("return {code = 0}\n")
    site.report("deploy")
    library.write_text("return nil +\n")
    assert [label.rpartition(":")[2] for label in site.handlers()] == ["slurm_job_submit", "slurm_job_modify"]


def test_followed_sets_count_as_one() -> None:
    """Of old sets in a row that --watch has deployed, only the last one is among those that are kept in any case."""
    verbs = ["deploy", "deploy", *["watch"] * 20, "deploy", "watch", "watch"]
    old = datetime(2026, 1, 1, tzinfo=UTC)
    events = [history.Event(bundle=str(number), verb=verb, at=old) for number, verb in enumerate(verbs)]
    assert retention.needed(events, timedelta(days=1), datetime(2026, 2, 1, tzinfo=UTC)) == {"0", "1", "21", "22", "24"}


@pytest.mark.parametrize("loss", ["lost", "changed"])
def test_what_a_set_has_lost_stays_an_error(site: "Site", loss: str) -> None:
    """Files of the set in force that are lost or changed are a finding of `check`, and no new set or manifest has that.

    By the manifest, launches refuse a set that lacks one of its files.
    """
    site.file("@hook.job_submit\ndef one(job): pass\n")
    site.file("@hook.spank.init\ndef two(spank): pass\n", "b.py")
    site.deploy()
    assert site.found() == []
    place = (site.etc / "slurmhooks.set").resolve()
    manifest = (place / ".manifest").read_bytes()
    path = place / "hooks.d" / "b.py"
    path.unlink()
    if loss == "changed":
        path.write_text("")
    wrong = f"{place}: its files were changed by hand; put another set in force, then deploy it again"
    assert site.found() == [wrong]
    off = site.call("off", "a:one")
    assert (off.exit_code, wrong in off.output) == (1, True)
    put_in_force(site.etc, site.plugins, None, first=False)
    assert (place / ".manifest").read_bytes() == manifest
    assert site.call("off", "--all").exit_code == 0
    site.deploy()
    assert site.found() == []


def test_patterns_that_match_nothing_are_noted_once(site: "Site") -> None:
    """`deploy` names each pattern without files once, although the sources and their copy lack them."""
    site.plugstack("required spank_python.so lustre.d/*.py fast")
    (site.etc / "lustre.d").mkdir()
    (site.etc / "slurmhooks.toml").write_text('[hooks]\npaths = ["hooks.d/*.py", "/etc/no*.py"]\ndata = ["x*.csv"]\n')
    notes = [line for line in site.deploy().output.splitlines() if "no file matches" in line]
    toml = f"{site.etc}/slurmhooks.toml: no file matches"
    assert sorted(notes) == sorted([
        f"{toml} {site.hooks}/*.py", f"{toml} /etc/no*.py", f"{toml} {site.etc}/x*.csv",
        f"plugstack.conf: no file matches {site.etc}/lustre.d/*.py",
    ])  # fmt: skip


def test_a_wrong_table_hides_no_rule(site: "Site") -> None:
    """`deploy` shows errors of rules with those of other tables, as `check` does."""
    (site.etc / "slurmhooks.toml").write_text('[metrics]\nfoo = 1\n[[rule]]\nrule = "time_limit"\n')
    site.refused("deploy", says=("metrics.foo: unknown key", "there is no 'time_limit'"))


@pytest.mark.parametrize("name", ["other.toml", "more/other.toml", "{etc}/more/other.toml"])
def test_an_empty_folder_of_another_configuration(site: "Site", name: str) -> None:
    """A set has the folders in which a configuration of a line of plugstack.conf looks, as it has those of its own."""
    config = site.etc / name.format(etc=site.etc)
    (config.parent / "empty.d").mkdir(parents=True)
    config.write_text('[hooks]\npaths = ["empty.d/*.py"]\n')
    site.plugstack(f"required spank_python.so config={name.format(etc=site.etc)}")
    assert f"{config}: no file matches {config.parent}/empty.d/*.py" in site.deploy().output


@pytest.mark.parametrize("name", ["site-a.toml", ".site.toml"])
def test_a_configuration_behind_a_link(site: "Site", name: str) -> None:
    """slurmhooks.toml may be a link to a file of any name: in the set it is slurmhooks.toml."""
    (site.hooks / "a.py").write_text("from slurmhooks import hook\n" + HANDLER.format(1))
    (site.etc / "slurmhooks.toml").unlink(missing_ok=True)
    (site.etc / name).write_text(CONFIG)
    (site.etc / "slurmhooks.toml").symlink_to(name)
    site.report("deploy")
    assert site.handlers() == ["a:version_1"]
    assert (in_force(site) / "slurmhooks.toml").read_text() == CONFIG
    assert "differ" not in site.call("status").output
