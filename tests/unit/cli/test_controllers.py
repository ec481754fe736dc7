# SPDX-License-Identifier: GPL-2.0-or-later
"""Output of ``slurmhooks check`` and ``info`` about a running slurmctld; its answers: tests/native/test_workers.py."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from click.testing import Result

from slurmhooks import identity
from slurmhooks.cli import child, embedded_python
from slurmhooks.worker import commands
from tests.sets import put_in_force
from tests.unit.cli.conftest import Machine, Site
from tests.unit.cli.test_embedded_python import python

ANSWER: dict[str, Any] = {
    "point": "job_submit",
    "supervisor": 100,
    "generation": 3,
    "workers": [102, 103],
    "configuration": None,
    "handlers": [["job_submit", "limits:require_account", "/etc/slurm/hooks.d/limits.py", "warn"]],
    "fault": None,
    "periodic": None,
    "log": None,
    "build": identity.here(),
}

Call = Callable[..., Result]


@pytest.fixture(params=["check", "info"])
def verb(
    site: Site, machine: Machine, run: Call, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Call:
    """Return a function that runs one of the two verbs, on a machine without other findings."""
    machine.program("slurmctld", "echo slurm-wlm 24.11.5")
    monkeypatch.setattr(embedded_python, "inspect", lambda executable: python(version="3.11.2", executable=executable))
    (site.plugins / "slurmhooks" / "libcore.so").touch()
    put_in_force(site.etc)
    return partial(run, request.param, "--sysconfdir", site.etc)


def answers(monkeypatch: pytest.MonkeyPatch, *found: dict[str, Any]) -> list[str]:
    """Simulate answers of supervisors, and return the requests that they get, also from `check`'s own process."""
    asked: list[str] = []

    def ask(text: str, folder: str, slurm_user: int, seconds: float) -> list[dict[str, Any]]:
        asked.append(f"{text} {folder}")
        return list(found)

    monkeypatch.setattr(commands, "ask", ask)
    monkeypatch.setattr(commands, "names", lambda folder: ["name"])
    monkeypatch.setattr(child, "in_child", lambda function, *arguments: function(*arguments))
    return asked


def test_in_force(site: Site, monkeypatch: pytest.MonkeyPatch, verb: Call) -> None:
    """The handlers in force in a running slurmctld, and its processes, are shown, and are not a finding."""
    asked = answers(monkeypatch, ANSWER)
    result = verb()
    assert result.exit_code == 0, result.output
    assert "slurmctld, job_submit: generation 3, supervisor 100, workers 102, 103\n" in result.output
    assert "in force: job_submit handler limits:require_account (/etc/slurm/hooks.d/limits.py), warn\n" in result.output
    assert asked == [f"status {site.etc}"]
    assert json.loads(verb("--json").stdout)["running"] == [ANSWER]


@pytest.mark.parametrize("loaded", ["0123456789abcdef", None])
def test_another_build_is_loaded(monkeypatch: pytest.MonkeyPatch, verb: Call, loaded: str | None) -> None:
    """A slurmctld that runs since before an upgrade of slurmhooks is a finding, which says what to do."""
    answers(monkeypatch, ANSWER | {"build": loaded})
    result = verb()
    assert result.exit_code == 1
    assert f"another build of slurmhooks ({loaded or 'an older one'})" in result.stderr
    assert "restart slurmctld" in result.stderr


def test_kept_in_force(monkeypatch: pytest.MonkeyPatch, verb: Call) -> None:
    """Files that are not in force are a finding, even if check finds no other mistake in the files."""
    fault = {"since": 1700000000.0, "findings": ["/etc/slurm/hooks.d/limits.py: is gone"]}
    answers(monkeypatch, ANSWER | {"fault": fault})
    result = verb()
    assert result.exit_code == 1
    start = "error: slurmctld, job_submit, since 2023-11-1"
    (line,) = [line for line in result.output.split("\n") if line.startswith(start)]
    assert line.endswith(": keeps the hooks from before in force: /etc/slurm/hooks.d/limits.py: is gone")
    answers(monkeypatch, ANSWER | {"fault": fault, "generation": None, "workers": [], "handlers": []})
    result = verb()
    assert result.exit_code == 1
    assert ": no hooks are in force: /etc/slurm/hooks.d/limits.py: is gone" in result.output


def test_periodic_rules_that_do_not_run(monkeypatch: pytest.MonkeyPatch, verb: Call) -> None:
    """What keeps periodic handlers from running, or decisions from the log, is a finding."""
    lost = {"log": "/var/log/x: the decision log cannot be written: No space left on device"}
    answers(monkeypatch, ANSWER | lost | {"periodic": "another slurmctld runs the periodic handlers: that on ctl2"})
    result = verb()
    assert result.exit_code == 1
    assert "error: slurmctld, job_submit: another slurmctld runs the periodic handlers: that on ctl2\n" in result.output
    assert f"error: slurmctld, job_submit: {lost['log']}\n" in result.output


def test_nobody_answers(site: Site, monkeypatch: pytest.MonkeyPatch, verb: Call) -> None:
    """Where no slurmctld runs, or this user may not ask it, one line says so."""
    result = verb()
    assert result.exit_code == 0, result.output
    assert f"{site.etc}: no slurmctld on this machine has loaded a plugin of slurmhooks\n" in result.output
    answers(monkeypatch, {"findings": ["only root and SlurmUser may do this"]})
    result = verb()
    assert result.exit_code == 0, result.output
    assert "the hooks in force in slurmctld are unknown: only root and SlurmUser may do this\n" in result.output
