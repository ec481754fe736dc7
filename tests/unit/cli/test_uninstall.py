# SPDX-License-Identifier: GPL-2.0-or-later
import shutil
from pathlib import Path

import pytest

from slurmhooks.cli import controllers, slurm
from tests.sets import put_in_force

from .conftest import Call, Machine


@pytest.fixture
def plugins(run: Call, machine: Machine, build: Path, tmp_path: Path) -> Path:
    """Give a plugin folder of Slurm's own, in which the plugins are installed."""
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "auth_munge.so").touch()
    (machine.etc / "slurm.conf").write_text(f"PluginDir={folder}\n")
    assert run("install", "--from", build, "--sysconfdir", machine.etc).exit_code == 0
    return folder


def test_everything_of_the_build_goes(run: Call, machine: Machine, plugins: Path) -> None:
    """Plugins, library, record and our scrun.lua are removed, but not Slurm's own plugin and the configuration."""
    run.passed("uninstall", "--sysconfdir", machine.etc)
    assert [path.name for path in plugins.rglob("*")] == ["auth_munge.so"]
    assert {path.name for path in machine.etc.iterdir()} == {"slurm.conf", "slurmhooks.d", "slurmhooks.set"}


def test_what_stays_is_listed(run: Call, machine: Machine, plugins: Path, tmp_path: Path) -> None:
    """Each file of the site and each folder with records that exists is in the output, and not removed; no other is."""
    log, saved = tmp_path / "log", tmp_path / "state"
    with (machine.etc / "slurm.conf").open("a") as conf:
        conf.write(f"SlurmctldLogFile={log}/slurmctld.log\nStateSaveLocation={saved}\n")
    other, spool = tmp_path / "other.py", tmp_path / "spool"
    shutil.rmtree(machine.etc / "slurmhooks.d")
    (machine.etc / "slurmhooks.set").unlink()
    put_in_force(machine.etc)
    (machine.etc / "slurmhooks.toml").write_text(f'[hooks]\npaths = ["{other}"]\n[jobcomp]\nspool = "{spool}"\n')
    folders = [log / "slurmhooks", saved / "slurmhooks", spool, machine.etc / "hooks.d", machine.etc / "slurmhooks.d"]
    for folder in folders:
        folder.mkdir(parents=True)
    other.touch()
    result = run.passed("uninstall", "--sysconfdir", machine.etc)
    stays = {*map(str, folders), str(other), f"{machine.etc}/slurmhooks.toml", f"{machine.etc}/slurmhooks.set"}
    listed = {line.strip() for line in result.output.partition("what stays")[2].splitlines()[1:]}
    assert listed - {"/var/lib/slurmhooks-health", "/run/slurmhooks-state"} == stays
    assert all(Path(name).exists() for name in listed)


def test_a_second_time_is_fine(run: Call, machine: Machine, plugins: Path) -> None:
    """Without plugins there is nothing to do, which is not an error: a package may be removed after a failed build."""
    run("uninstall", "--sysconfdir", machine.etc)
    result = run("uninstall", "--sysconfdir", machine.etc)
    assert (result.exit_code, result.output) == (0, "no plugins are installed\n")


def test_a_scrun_lua_of_the_site_stays(run: Call, machine: Machine, plugins: Path) -> None:
    """A script that a person wrote is not removed."""
    (machine.etc / "scrun.lua").write_text("-- the site's own\n")
    assert run("uninstall", "--sysconfdir", machine.etc).exit_code == 0
    assert (machine.etc / "scrun.lua").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("slurm.conf", "JobSubmitPlugins=lua,python"),
        ("slurm.conf", "CliFilterPlugins=cli_filter/python"),
        ("slurm.conf", "JobCompType=jobcomp/python"),
        ("slurm.conf", "PrEpPlugins=prep/script,prep/python"),
        ("slurm.conf", "PrioritySiteFactorPlugin=site_factor/python"),
        ("plugstack.conf", "required spank_python.so"),
    ],
)
def test_plugins_that_the_configuration_names_stay(
    run: Call, machine: Machine, plugins: Path, file: str, line: str
) -> None:
    """Slurm's programs do not start without a configured plugin, so uninstall refuses and names the line."""
    with (machine.etc / file).open("a") as opened:
        opened.write(f"{line}\n")
    result = run.refused("uninstall", "--sysconfdir", machine.etc)
    assert f"{machine.etc / file} has '{line}'" in result.stderr
    assert (plugins / "job_submit_python.so").exists()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("SuspendProgram={}", "has 'SuspendProgram={}'"),
        ('PowerAction=off Location=slurmctld Program="{}"', "has a PowerAction with {}"),
    ],
)
def test_programs_that_the_configuration_names_stay(
    run: Call, machine: Machine, plugins: Path, line: str, told: str
) -> None:
    """Slurm could not stop nodes without the program."""
    program = plugins / "slurmhooks/slurmhooks_power_suspend"
    with (machine.etc / "slurm.conf").open("a") as opened:
        opened.write(line.format(program) + "\n")
    result = run.refused("uninstall", "--sysconfdir", machine.etc)
    assert told.format(program) in result.stderr


def test_the_script_of_burst_buffers_stays(run: Call, machine: Machine, plugins: Path) -> None:
    """slurmctld does not start without it, and jobs could not bring their data without what it runs."""
    link = machine.etc / "burst_buffer.lua"
    link.symlink_to(machine.etc / "slurmhooks.set/.burst_buffer.lua")
    result = run.refused("uninstall", "--sysconfdir", machine.etc)
    assert f"{link} leads to the script of a set: take BurstBufferType out of" in result.stderr
    assert (plugins / "job_submit_python.so").exists()


def test_a_slurmctld_that_has_loaded_them(
    run: Call, machine: Machine, plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While slurmctld runs with the plugins, they stay, although no file names them any more."""
    found = controllers.Running("job_submit", 4711, 1, [], [], fault=None)
    monkeypatch.setattr(controllers, "find_running", lambda sysconfdir: ([found], []))
    result = run.refused("uninstall", "--sysconfdir", machine.etc)
    assert "job_submit/python (supervisor 4711): restart it without that plugin" in result.stderr
    assert (plugins / "job_submit_python.so").exists()


def test_every_installation_goes(run: Call, machine: Machine, build: Path, plugins: Path, tmp_path: Path) -> None:
    """Plugins in two folders of PluginDir are both removed; one that is named can go while the other stays in use."""
    second = tmp_path / "second"
    second.mkdir()
    run("install", "--from", build, "--sysconfdir", machine.etc / "other", "--plugin-dir", second)
    conf = machine.etc / "slurm.conf"
    conf.write_text(f"PluginDir={plugins}:{second}\nJobSubmitPlugins=python\n")
    assert run("uninstall", "--sysconfdir", machine.etc).exit_code == 1
    assert run("uninstall", "--sysconfdir", machine.etc, "--plugin-dir", second).exit_code == 0
    assert [(plugins / "spank_python.so").exists(), (second / "spank_python.so").exists()] == [True, False]
    conf.write_text(f"PluginDir={plugins}:{second}\n")
    run("install", "--from", build, "--sysconfdir", machine.etc / "other", "--plugin-dir", second)
    assert run("uninstall", "--sysconfdir", machine.etc).exit_code == 0
    assert [(plugins / "spank_python.so").exists(), (second / "spank_python.so").exists()] == [False, False]


def test_a_folder_without_plugins_is_told(run: Call, machine: Machine, tmp_path: Path) -> None:
    """--plugin-dir with another folder is a mistake, not a success."""
    result = run.refused("uninstall", "--plugin-dir", tmp_path, "--sysconfdir", machine.etc)
    assert "has no plugins of slurmhooks" in result.stderr


@pytest.mark.parametrize("count", [1, 2])
def test_install_finds_the_only_usual_folder(
    run: Call, machine: Machine, build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Without PluginDir, plugins go into the folder of the distribution's Slurm, unless there are two such folders."""
    folders = [tmp_path / f"usual{number}" for number in range(count)]
    for folder in folders:
        folder.mkdir()
        (folder / "auth_munge.so").touch()
    monkeypatch.setattr(slurm, "DEFAULT_PLUGIN_DIRS", tuple(map(str, folders)))
    result = run("install", "--from", build, "--sysconfdir", machine.etc)
    assert result.exit_code == count - 1, result.output
    assert (folders[0] / "spank_python.so").exists() == (count == 1)
