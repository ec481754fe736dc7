# SPDX-License-Identifier: GPL-2.0-or-later
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.cli import build_record
from slurmhooks.cli.commands import install
from slurmhooks.files import home

from .conftest import Call, Machine, Site
from .fake_plugin import plugin


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """Give an empty plugin folder."""
    folder = tmp_path / "plugins"
    folder.mkdir()
    return folder


def test_everything_lands_in_the_plugin_folder(run: Call, machine: Machine, build: Path, plugins: Path) -> None:
    """Plugins, library and record are copied with fitting modes; the template is not."""
    run.passed("install", "--from", build, "--plugin-dir", plugins, "--sysconfdir", machine.etc)
    installed = {str(path.relative_to(plugins)) for path in plugins.rglob("*") if path.is_file()}
    record = build_record.BuildRecord.load(plugins)
    assert record is not None
    assert installed == {*record.files, "slurmhooks/build.json"} - {"scrun.lua.in"}
    assert (plugins / "spank_python.so").stat().st_mode & 0o777 == 0o755
    assert (plugins / "slurmhooks/build.json").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("umask", [0o027, 0o077])
def test_root_may_have_any_umask(run: Call, machine: Machine, build: Path, tmp_path: Path, umask: int) -> None:
    """Users can enter all folders that are made, and read all files."""
    before = os.umask(umask)
    try:
        places = ("--plugin-dir", "/usr/lib/plugins", "--destdir", tmp_path / "dest", "--sysconfdir", machine.etc)
        result = run("install", "--from", build, *places)
    finally:
        os.umask(before)
    assert result.exit_code == 0, result.output
    made = list((tmp_path / "dest").rglob("*"))
    assert any(path.name == "spank_python.so" for path in made)
    for path in made:
        wanted = 0o055 if path.is_dir() else 0o044
        assert path.stat().st_mode & wanted == wanted, path


def test_files_are_replaced_never_rewritten(run: Call, machine: Machine, build: Path, plugins: Path) -> None:
    """A file that a daemon has open keeps its content; an unchanged file is left alone."""
    arguments = ["install", "--from", build, "--plugin-dir", plugins, "--sysconfdir", machine.etc]
    run(*arguments)
    same = (plugins / "job_submit_python.so").stat()
    former = (build / "spank_python.so").read_bytes()
    (build / "spank_python.so").write_bytes(former + b"new")
    with (plugins / "spank_python.so").open("rb") as opened:
        result = run(*arguments)
        assert opened.read() == former
    assert (plugins / "spank_python.so").read_bytes() == former + b"new"
    assert (plugins / "job_submit_python.so").stat().st_ino == same.st_ino
    assert "files written: 1, unchanged: 3" in result.output


def test_what_an_older_build_had_more_goes(run: Call, machine: Machine, build: Path, plugins: Path) -> None:
    """A plugin that this build no longer contains is removed; other files are not."""
    arguments = ["install", "--from", build, "--plugin-dir", plugins, "--sysconfdir", machine.etc]
    run(*arguments)
    (plugins / "auth_munge.so").touch()
    record = build_record.BuildRecord.load(build)
    assert record is not None
    files = [name for name in record.files if not name.startswith("scrun")]
    replace(record, files=files, lua=None).save(build)
    run(*arguments)
    assert not (plugins / "scrun_python.so").exists()
    assert (plugins / "auth_munge.so").exists()


@pytest.mark.parametrize("linked", [False, True])
def test_programs_at_their_former_place(run: Call, machine: Machine, build: Path, plugins: Path, linked: bool) -> None:
    """A program in the PluginDir becomes a link to the new place while slurm.conf names it, and goes otherwise."""
    record = build_record.BuildRecord.load(build)
    assert record is not None
    arguments = ["install", "--from", build, "--plugin-dir", plugins, "--sysconfdir", machine.etc]
    names = [f"slurmhooks_{name}" for name in ("health", "power_resume")]
    conf, before = machine.etc / "slurm.conf", f"PluginDir={plugins}\n"
    named = plugins
    if linked:  # as /lib64 is a link to /usr/lib64
        named = machine.etc / "linked"
        named.symlink_to(plugins)
    for folder in ("", "slurmhooks/"):
        for name in names:
            (build / folder / name).write_text(folder)
        replace(record, files=[*record.files, *(folder + name for name in names)]).save(build)
        run(*arguments)
        conf.write_text(f"{before}HealthCheckProgram={named}/slurmhooks_health\n")
    assert (plugins / names[0]).resolve() == plugins / "slurmhooks" / names[0]
    assert not (plugins / names[1]).exists()
    assert f"HealthCheckProgram={named}/slurmhooks_health" in run("uninstall", "--sysconfdir", machine.etc).stderr
    conf.write_text(before)
    run(*arguments)
    assert not (plugins / names[0]).exists()
    assert (plugins / "slurmhooks" / names[0]).stat().st_mode & 0o777 == 0o755


def test_programs_where_slurm_conf_is_elsewhere(run: Call, machine: Machine, build: Path, plugins: Path) -> None:
    """As on a node that gets it from slurmctld: it may name any program where that has been."""
    record = build_record.BuildRecord.load(build)
    assert record is not None
    (machine.etc / "slurm.conf").unlink(missing_ok=True)
    for folder in ("", "slurmhooks/"):
        (build / folder / "slurmhooks_health").write_text(folder)
        replace(record, files=[*record.files, f"{folder}slurmhooks_health"]).save(build)
        run("install", "--from", build, "--plugin-dir", plugins, "--sysconfdir", machine.etc)
    assert (plugins / "slurmhooks_health").read_text() == "slurmhooks/"


def test_the_lean_plugin(run: Call, machine: Machine, build: Path, plugins: Path) -> None:
    """--lean chooses the plugin that leaves callbacks out; without it, the one with all of them is installed again."""
    record = build_record.BuildRecord.load(build)
    assert record is not None
    lean = "slurmhooks/spank_python-lean.so"
    (build / lean).write_bytes(plugin("24.11.5") + b"lean")
    replace(record, files=[*record.files, lean]).save(build)
    words = ("install", "--from", build, "--plugin-dir", plugins, "--sysconfdir", machine.etc)
    for options, is_lean in ((("--lean",), True), ((), False), (("--lean",), True)):
        assert run(*words, *options).exit_code == 0
        assert (plugins / "spank_python.so").read_bytes().endswith(b"lean") == is_lean
    assert (plugins / lean).read_bytes().endswith(b"lean")


def test_whether_a_set_is_expected(run: Call, machine: Machine, build: Path, plugins: Path) -> None:
    """It is after --expects-set, and where slurmctld is installed, until --no-expects-set."""
    words = ("install", "--from", build, "--plugin-dir", plugins, "--sysconfdir", machine.etc)
    marker = plugins / "slurmhooks" / home.EXPECTS_SET

    def expected(*options: str) -> bool:
        assert run(*words, *options).exit_code == 0
        return marker.exists()

    assert not expected()
    assert expected("--expects-set")
    assert expected("--expects-set")
    assert marker.read_text() == f"{machine.etc}\n"
    marker.write_text("/of/another/cluster\n")
    assert expected()
    assert expected("--expects-set")
    assert marker.read_text() == f"/of/another/cluster\n{machine.etc}\n"
    assert expected("--no-expects-set")
    assert marker.read_text() == "/of/another/cluster\n"
    marker.write_text("")
    assert not expected("--no-expects-set")
    machine.program("slurmctld", "echo slurm-wlm 24.11.5")
    assert expected()
    run("uninstall", "--plugin-dir", plugins, "--sysconfdir", machine.etc)
    assert not (plugins / "slurmhooks").exists()


def test_lean_where_callbacks_are_needed(site: Site, build: Path) -> None:
    """--lean is refused while a handler is in force that the plugin would leave out: launches would be refused."""
    site.file("@hook.spank.job_prolog\ndef prolog(spank): pass\n")
    lacking = f"{site.hooks}/a.py:2: --lean leaves out what handler a:prolog of hook.spank.job_prolog needs"
    site.refused("install", "--from", build, "--plugin-dir", site.plugins, "--lean", says=lacking)
    assert not (site.plugins / "spank_python.so").is_symlink()


def test_lean_where_hooks_do_not_load(site: Site, build: Path) -> None:
    """--lean is refused while hooks do not load: nobody knows what they need once they are repaired."""
    site.file("@hook.spank.job_prolog\ndef prolog(spank): pass\n", name="b.py")
    site.file("def (")
    site.refused("install", "--from", build, "--plugin-dir", site.plugins, "--lean", says=f"{site.hooks}/a.py:2: ")
    assert not (site.plugins / "spank_python.so").is_symlink()


def test_lean_before_anything_is_configured(run: Call, machine: Machine, build: Path, plugins: Path) -> None:
    """--lean needs no hooks: the first installation comes before them."""
    (machine.etc / "slurm.conf").write_text(f"PluginDir={plugins}\n")
    run.passed("install", "--from", build, "--plugin-dir", plugins, "--sysconfdir", machine.etc, "--lean")


def test_plugin_folder_comes_from_slurm_conf(run: Call, machine: Machine, build: Path, plugins: Path) -> None:
    """Without --plugin-dir, the first existing folder of PluginDir is used."""
    (machine.etc / "slurm.conf").write_text(f"PluginDir=/no/such:{plugins}\n")
    assert run("install", "--from", build, "--sysconfdir", machine.etc).exit_code == 0
    assert (plugins / "spank_python.so").exists()


def test_unknown_plugin_folder_is_asked_for(run: Call, machine: Machine, build: Path) -> None:
    """If no PluginDir can be found, the error names the option, and nothing is written."""
    result = run.refused("install", "--from", build, "--sysconfdir", machine.etc)
    assert "--plugin-dir" in result.stderr


def test_build_for_another_release_is_refused(run: Call, machine: Machine, build: Path, plugins: Path) -> None:
    """Plugins of another micro release are not installed, and all mistakes are reported at once."""
    programs = [machine.program(name, "echo slurm-wlm 24.11.4") for name in ("slurmctld", "slurmd")]
    (build / "scrun_python.so").unlink()
    record = build_record.BuildRecord.load(build)
    assert record is not None
    Path(record.python.libpython).unlink()
    paths = [str(plugins), "/no/lib/python3.13"]
    replace(record, python=replace(record.python, paths=paths)).save(build)
    result = run.refused("install", "--from", build, "--plugin-dir", plugins)
    for words in (
        f"the plugins are built for Slurm 24.11.5, not for 24.11.4 ({programs[0]}, {programs[1]}): "
        "run 'slurmhooks build' and 'slurmhooks install' again",
        "scrun_python.so is missing",
        "libpython.so no longer exists",
        "/no/lib/python3.13 no longer exists: run 'slurmhooks build' and 'slurmhooks install' again",
    ):
        assert words in result.stderr
    assert list(plugins.iterdir()) == []


@pytest.mark.parametrize("record_is_of", ["24.11.4", "24.11.5"])
def test_what_counts_is_in_the_plugins(
    run: Call, machine: Machine, build: Path, plugins: Path, record_is_of: str
) -> None:
    """Plugins that were compiled for another Slurm are refused, whatever the record of the build says."""
    machine.program("slurmctld", f"echo slurm-wlm {record_is_of}")
    record = build_record.BuildRecord.load(build)
    assert record is not None
    replace(record, slurm=record_is_of).save(build)
    (build / "job_submit_python.so").write_bytes(plugin("22.5.8"))
    result = run.refused("install", "--from", build, "--plugin-dir", plugins, "--sysconfdir", machine.etc)
    assert f"built for Slurm 22.05.8, and the record of the build says {record_is_of}" in result.stderr
    assert f"the plugins are built for Slurm 22.05.8, not for {record_is_of}" in result.stderr
    assert list(plugins.iterdir()) == []


def test_an_upgrade_goes_where_the_plugins_are(run: Call, machine: Machine, build: Path, tmp_path: Path) -> None:
    """Without --plugin-dir, plugins are replaced where they are; two installations that Slurm would mix are refused."""
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    (machine.etc / "slurm.conf").write_text(f"PluginDir={first}:{second}\n")
    arguments = ["install", "--from", build, "--sysconfdir", machine.etc]
    assert run(*arguments, "--plugin-dir", second).exit_code == 0
    (build / "spank_python.so").write_bytes(plugin("24.11.5") + b"new")
    assert run(*arguments).exit_code == 0
    assert (second / "spank_python.so").read_bytes().endswith(b"new")
    assert list(first.iterdir()) == []
    result = run.refused(*arguments, "--plugin-dir", first)
    assert f"{second} has plugins of slurmhooks, too" in result.stderr
    assert list(first.iterdir()) == []


def test_what_the_new_build_lacks_is_said(run: Call, machine: Machine, build: Path, plugins: Path) -> None:
    """A build without job records, or without scrun, that replaces one with them is installed with a warning."""
    arguments = ["install", "--from", build, "--plugin-dir", plugins, "--sysconfdir", machine.etc]
    assert "warning" not in run(*arguments).stderr
    record = build_record.BuildRecord.load(build)
    assert record is not None
    replace(record, tiers=build_record.Tiers(private=False), lua=None).save(build)
    result = run.passed(*arguments)
    assert "warning: the installed plugins have job records" in result.stderr
    assert "warning: the installed plugins include that for scrun" in result.stderr


def test_folder_without_build_is_refused(run: Call, tmp_path: Path) -> None:
    """A folder that slurmhooks build has not created is refused."""
    result = run.refused("install", "--from", tmp_path, "--plugin-dir", "/x")
    assert "contains no build" in result.stderr


def test_relative_plugin_folder_is_wrong_use(run: Call, build: Path) -> None:
    """Paths must be absolute, because daemons have other working directories."""
    assert run("install", "--from", build, "--plugin-dir", "plugins").exit_code == 2


def test_scrun_lua_names_the_plugin_folder(run: Call, machine: Machine, build: Path, plugins: Path) -> None:
    """scrun.lua is written beside slurm.conf.

    An install to another folder replaces it, the same install leaves it alone.
    """
    target = machine.etc / "scrun.lua"
    for folder in (plugins / "old", plugins):
        run("install", "--from", build, "--plugin-dir", folder, "--sysconfdir", machine.etc)
        assert f"load('{folder}/scrun_python.so')" in target.read_text()
    inode = target.stat().st_ino
    run("install", "--from", build, "--plugin-dir", plugins, "--sysconfdir", machine.etc)
    assert target.stat().st_ino == inode


def test_scrun_lua_of_a_person_is_left_alone(run: Call, machine: Machine, build: Path, plugins: Path) -> None:
    """A scrun.lua of the site stays; ours is written beside it, and the output says so."""
    (machine.etc / "scrun.lua").write_text("-- mine\n")
    result = run.passed("install", "--from", build, "--plugin-dir", plugins, "--sysconfdir", machine.etc)
    assert (machine.etc / "scrun.lua").read_text() == "-- mine\n"
    assert str(plugins) in (machine.etc / "scrun.lua.slurmhooks").read_text()
    assert "was not made by this command and is unchanged" in result.output
    assert '[scrun]\n      lua = "scrun.site.lua"' in result.output


def test_what_remains_is_said_until_it_is_done(
    run: Call, machine: Machine, build: Path, plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exact missing lines are printed, and what comes before a restart; when a site has them all, that is said."""
    arguments = ["install", "--from", build, "--plugin-dir", plugins, "--sysconfdir", machine.etc]
    output = run(*arguments).output
    for line in (
        "JobSubmitPlugins=python",
        "CliFilterPlugins=python",
        "required spank_python.so",
        'paths = ["hooks.d/*.py"]',
    ):
        assert f"      {line}\n" in output
    assert output.endswith(
        f"Then create {machine.etc}/hooks.d, run 'slurmhooks deploy --sysconfdir {machine.etc}',"
        " and restart slurmctld and slurmd once it has succeeded.\n"
    )
    (machine.etc / "slurmhooks.toml").write_text("")
    assert f"Then run 'slurmhooks deploy --sysconfdir {machine.etc}', and restart" in run(*arguments).output
    monkeypatch.setenv("SLURM_CONF", str(machine.etc / "slurm.conf"))
    assert "Then run 'slurmhooks deploy', and restart" in run(*arguments).output
    monkeypatch.delenv("SLURM_CONF")
    (machine.etc / "slurm.conf").write_text(f"PluginDir={plugins}\nJobSubmitPlugins=python\nCliFilterPlugins=python\n")
    (machine.etc / "plugstack.conf").write_text("required spank_python.so\n")
    output = run(*arguments).output
    assert "Add these lines" not in output
    assert f"{machine.etc}/plugstack.conf: has required spank_python.so" in output


def test_failed_write_names_the_file(
    run: Call, machine: Machine, build: Path, plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the right to write, the file that could not be made is named, not its temporary stand-in."""

    def denied(old: str, new: Path) -> None:
        raise PermissionError(13, "Permission denied", "/tmp/.random")

    monkeypatch.setattr("os.replace", denied)
    result = run.refused("install", "--from", build, "--plugin-dir", plugins, "--sysconfdir", machine.etc)
    assert result.stderr == f"error: {plugins}/slurmhooks/libcore.so: Permission denied\n"


def test_staging_for_a_package(run: Call, machine: Machine, build: Path, tmp_path: Path) -> None:
    """With --destdir, files go below it, their contents name the final paths, and this machine is not checked."""
    machine.program("slurmctld", "echo slurm-wlm 1.2.3")
    root = tmp_path / "root"
    run.passed("install", "--from", build, "--destdir", root, "--plugin-dir", "/usr/lib/slurm")
    assert (root / "usr/lib/slurm/spank_python.so").exists()
    assert "load('/usr/lib/slurm/scrun_python.so')" in (root / "etc/slurm/scrun.lua").read_text()


def test_nothing_half_written_stays(
    run: Call, machine: Machine, build: Path, plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a copy fails, no temporary file is left and the old file is whole."""

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device", "x")

    monkeypatch.setattr("os.replace", full)
    run.refused("install", "--from", build, "--plugin-dir", plugins, "--sysconfdir", machine.etc)
    assert [path for path in plugins.rglob("*") if path.is_file()] == []


def test_search_path_that_others_can_change_is_warned_of(
    run: Call, machine: Machine, build: Path, plugins: Path, tmp_path: Path
) -> None:
    """A folder on the embedded search path that everybody may write to is pointed out."""
    tmp_path.chmod(0o777)
    record = build_record.BuildRecord.load(build)
    assert record is not None
    python = replace(record.python, paths=[str(tmp_path)])
    replace(record, python=python).save(build)
    result = run.passed("install", "--from", build, "--plugin-dir", plugins, "--sysconfdir", machine.etc)
    assert f"warning: {tmp_path}: it is writable by everybody" in result.stderr


def test_the_first_deployment(run: Call, site: Site, build: Path) -> None:
    """Where hooks are configured, an installation puts them in force as a set; the next one fits it to the build.

    So it is if Slurm would not call them yet, because its configuration lacks lines that the command prints.
    """
    site.conf(f"PluginDir={site.plugins}")
    words = ("install", "--from", build, "--plugin-dir", site.plugins, "--sysconfdir", site.etc)
    source = site.file("@hook.job_submit\ndef one(job): pass\n")
    result = run.passed(*words)
    assert "in force; before: none" in result.output
    [event] = json.loads(site.call("status", "--json").stdout)["history"]
    assert (event["verb"], event["message"]) == ("install", "by 'slurmhooks install'")
    before = os.readlink(site.etc / "slurmhooks.set")
    source.write_text("def (")
    (site.etc / "slurmhooks.set" / ".manifest").unlink()
    assert run(*words).exit_code == 0
    assert os.readlink(site.etc / "slurmhooks.set") == before
    assert (site.etc / "slurmhooks.set" / ".manifest").exists()
    assert [row["handler"] for row in json.loads(site.check("--json").stdout)["handlers"]] == ["a:one"]


def test_a_first_set_without_hooks(site: Site, build: Path) -> None:
    """Where nothing is configured, a set without hooks is in force, so that what is written later has no effect."""
    (site.etc / "slurmhooks.toml").unlink()
    site.passed("install", "--from", build, "--plugin-dir", site.plugins)
    (site.etc / "slurmhooks.toml").write_text("def (")
    assert json.loads(site.check("--json").stdout)["handlers"] == []
    [event] = json.loads(site.call("status", "--json").stdout)["history"]
    assert (event["verb"], event["first"]) == ("install", True)


def test_a_deployment_during_the_first_installation(
    site: Site, build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another command puts in force meanwhile stays: it is not replaced by a set without hooks."""
    (site.etc / "slurmhooks.toml").unlink()
    policy = tmp_path / "policy"
    (policy / "hooks.d").mkdir(parents=True)
    (policy / "slurmhooks.toml").write_text('[hooks]\npaths = ["hooks.d/*.py"]\n')
    (policy / "hooks.d" / "a.py").write_text("from slurmhooks import hook\n@hook.job_submit\ndef rule(job): pass\n")
    real = install.copy_plugins

    def copy(*arguments: Any) -> int:
        site.passed("deploy", policy, "--plugin-dir", site.plugins)
        return real(*arguments)

    monkeypatch.setattr(install, "copy_plugins", copy)
    site.passed("install", "--from", build, "--plugin-dir", site.plugins)
    assert (site.etc / "slurmhooks.set" / "hooks.d" / "a.py").exists()


def test_no_first_deployment_of_what_is_wrong(run: Call, site: Site, build: Path) -> None:
    """Where an earlier release may have had files in force that do not load, nothing is installed."""
    path = site.file("def (")
    words = ("install", "--from", build, "--plugin-dir", site.plugins, "--sysconfdir", site.etc)
    before = {path: path.read_bytes() for path in site.plugins.rglob("*") if path.is_file()}
    run.refused(*words, says=(f"{path}:2: ", "nothing is installed: what is in force would not load"))
    site.file("")
    (site.etc / "slurmhooks.toml").unlink()
    site.plugstack("required spank_python.so hooks.d/*.py")
    run.refused(*words, says="plugstack.conf: hooks.d/*.py: names files, and")
    assert not os.path.lexists(site.etc / "slurmhooks.set")
    assert before == {path: path.read_bytes() for path in site.plugins.rglob("*") if path.is_file()}


def test_what_an_earlier_release_has_deployed_becomes_a_set(site: Site, build: Path) -> None:
    """Its files are in force as before, but from a set, and the next deployment needs a source."""
    place = site.etc / "slurmhooks.d" / "bundles" / "0123456789abcdef"
    place.mkdir(parents=True)
    site.file("@hook.job_submit\ndef one(job): pass\n")
    for name in ("slurmhooks.toml", "hooks.d"):
        (site.etc / name).rename(place / name)
    (site.etc / "slurmhooks.toml").symlink_to("slurmhooks.d/current/slurmhooks.toml")
    (site.etc / "slurmhooks.d" / "current").symlink_to("bundles/0123456789abcdef")
    site.passed("install", "--from", build, "--plugin-dir", site.plugins)
    assert (site.etc / "slurmhooks.set" / "hooks.d" / "a.py").is_file()
    assert [row["handler"] for row in json.loads(site.check("--json").stdout)["handlers"]] == ["a:one"]
