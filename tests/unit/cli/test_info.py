# SPDX-License-Identifier: GPL-2.0-or-later
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from slurmhooks._version import __version__
from slurmhooks.cli import build_record, embedded_python

from .conftest import Call, Machine
from .test_embedded_python import python


@pytest.fixture
def healthy(build: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a plugin folder with a build that fits the machine and the Python."""
    machine.program("slurmctld", "echo slurm-wlm 24.11.5")
    monkeypatch.setattr(embedded_python, "inspect", lambda executable: python(version="3.11.2", executable=executable))
    return build


def test_healthy_installation(run: Call, machine: Machine, healthy: Path) -> None:
    """A fitting installation has no findings, and versions, tier and search path are shown."""
    result = run.passed("info", "--plugin-dir", healthy, "--sysconfdir", machine.etc)
    for words in ("24.11.5", "Python 3.11.2", "Lua 5.1", "yes: record, partitions, reservations", str(healthy)):
        assert words in result.stdout


def test_json_is_the_whole_report(run: Call, machine: Machine, healthy: Path) -> None:
    """With --json, standard output is one object with the versions of both sides, without decoration."""
    report = json.loads(run("info", "--plugin-dir", healthy, "--sysconfdir", machine.etc, "--json").stdout)
    assert report["slurmhooks"] == __version__
    assert report["programs"] == {str(machine.bin / "slurmctld"): "24.11.5"}
    assert report["build"]["tiers"] == {"private": True}
    assert report["findings"] == []
    assert {setting["present"] for setting in report["settings"]} == {False}


def test_public_tier_says_what_is_lacking(run: Call, machine: Machine, healthy: Path) -> None:
    """For a build from public headers, info says which arguments it lacks and how to get them.

    This is not a finding.
    """
    record = build_record.BuildRecord.load(healthy)
    assert record is not None
    replace(record, tiers=build_record.Tiers(private=False)).save(healthy)
    result = run.passed("info", "--plugin-dir", healthy, "--sysconfdir", machine.etc)
    assert "no record, partitions, reservations, jobs, nodes" in result.stdout
    assert "slurmhooks build --fetch-source" in result.stdout


def test_installation_is_found_by_plugin_dir(run: Call, machine: Machine, healthy: Path) -> None:
    """Of the folders in PluginDir, info uses the one with our plugins, not the first."""
    (machine.etc / "slurm.conf").write_text(f"PluginDir={machine.bin}:{healthy}\n")
    assert json.loads(run("info", "--sysconfdir", machine.etc, "--json").stdout)["plugin_dir"] == str(healthy)


def test_no_installation_is_a_finding(run: Call, machine: Machine) -> None:
    """On a machine without plugins, info says what to run."""
    result = run.refused("info", "--sysconfdir", machine.etc)
    assert "run 'slurmhooks build' and 'slurmhooks install'" in result.stderr


def test_everything_that_does_not_fit_is_told(
    run: Call, machine: Machine, healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Slurm, a Python or a slurmhooks that was upgraded since the build, and lost files, are all reported."""
    machine.program("slurmctld", "echo slurm-wlm 24.11.6")
    (healthy / "spank_python.so").unlink()
    monkeypatch.setattr(embedded_python, "inspect", lambda executable: python(version="3.11.9", slurmhooks="7.0.0"))
    result = run.refused("info", "--plugin-dir", healthy, "--sysconfdir", machine.etc)
    for words in ("24.11.6", "spank_python.so is missing", "3.11.9", "7.0.0"):
        assert words in result.stderr


def test_python_that_is_gone(run: Call, machine: Machine, build: Path) -> None:
    """A Python that was removed after the build is a finding."""
    result = run.refused("info", "--plugin-dir", build, "--sysconfdir", machine.etc)
    assert "/no/python does not run" in result.stderr


def test_hooks_that_were_never_deployed(run: Call, machine: Machine, healthy: Path) -> None:
    """Sources without a set in force are a finding."""
    call = ("info", "--plugin-dir", healthy, "--sysconfdir", machine.etc, "--json")
    toml = machine.etc / "slurmhooks.toml"
    toml.symlink_to("gone")
    (finding,) = json.loads(run(*call).stdout)["findings"]
    assert finding == f"{toml}: was never deployed, so no hooks are in force: 'slurmhooks deploy'"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("break_it", "wanted"),
    [
        (lambda machine, plugins: None, "the installed plugins fit"),
        (lambda machine, plugins: machine.program("slurmctld", "echo slurm-wlm 26.05.5"), "lacks slurm/slurm.h"),
        (lambda machine, plugins: (plugins / "spank_python.so").unlink(), "lacks slurm/slurm.h"),
        (lambda machine, plugins: (plugins / "slurmhooks/build.json").write_text("{"), "lacks slurm/slurm.h"),
    ],
    ids=["fit", "other Slurm", "lost plugin", "damaged record"],
)
def test_build_if_needed_builds_only_what_does_not_fit(
    run: Call, machine: Machine, healthy: Path, tmp_path: Path, break_it: Callable[[Machine, Path], object], wanted: str
) -> None:
    """With fitting plugins, build --if-needed does nothing, not even look for headers; with others the build begins."""
    (machine.etc / "slurm.conf").write_text(f"PluginDir={healthy}\n")
    break_it(machine, healthy)
    where = ("--slurm-include", machine.include, "--sysconfdir", machine.etc, "--output", tmp_path / "new")
    result = run("build", "--if-needed", *where)
    assert wanted in result.output
    assert result.exit_code == (wanted != "the installed plugins fit")
    assert not (tmp_path / "new").exists()
