# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs staging handlers on a bundle without Slurm; for `try scrun`."""

import json
import os
from typing import Any

import click

from slurmhooks.cli import _trial
from slurmhooks.cli._findings import shown
from slurmhooks.outcome import Outcome
from slurmhooks.scrun.errors import StagingError
from slurmhooks.scrun.trial import Trial


class Staged:
    """What came of one staging function.

    Attributes:
        function: stage_in or stage_out.
        passed: all handlers passed.
        text: what the user reads of a refusal or a bug.
        bundle: its path as set by the handlers.
        root_path: that of the root file system, or None.
        diff: of config.json, as the lines of a unified diff.
        heard: what the handlers said.
    """

    def __init__(self, trial: Trial, function: str) -> None:
        """Run the handlers of a function."""
        self.function = function
        self.heard = _trial.Heard()
        self.diff: list[str] = []
        with self.heard.listening():
            try:
                outcome: Outcome = getattr(trial, function)()
                self.passed, self.text = outcome.passed, outcome.text
                if function == "stage_in" and self.passed:
                    self.diff = trial.config_diff()
            except StagingError as error:
                self.passed, self.text = False, error.text
        self.bundle, self.root_path = trial.bundle, trial.root_path

    def show(self) -> None:
        """Print it."""
        state = (
            click.style("passed", fg="green", bold=True) if self.passed else click.style("failed", fg="red", bold=True)
        )
        click.echo(f"{self.function}: {state}" + (f": {shown(self.text)}" if self.text else ""))
        _trial.show("to the user", self.heard.messages)
        _trial.show("log", self.heard.log)
        if self.function == "stage_in" and self.passed:
            click.echo(f"bundle: {shown(self.bundle)}")
            click.echo(f"root path: {'-' if self.root_path is None else shown(self.root_path)}")
            _trial.show("config.json", self.diff or ["not changed"])

    def content(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "passed": self.passed,
            "text": self.text,
            "user_messages": self.heard.messages,
            "log": self.heard.log,
            "bundle": self.bundle,
            "root_path": self.root_path,
            "config_diff": self.diff,
        }


def report(stages: list[Staged], bundle: str, in_json: bool) -> None:
    """Print what came of all functions."""
    if in_json:
        click.echo(json.dumps(_trial.plain({stage.function: stage.content() for stage in stages}), indent=2))
        return
    for stage in stages:
        stage.show()
    left = stages[-1].bundle
    if left != bundle and os.path.exists(left):
        click.echo(f"{click.style('note:', bold=True)} what the handlers staged stays: {shown(left)}", err=True)
