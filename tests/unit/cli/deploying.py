# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of ``deploy`` and ``rollback`` share: sources of a policy, and the two commands."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call, Site

HANDLER = "@hook.job_submit\ndef version_{}(job): pass\n"


@pytest.fixture
def make(site: "Site", run: "Call", open_folder: Path) -> Callable[..., Path]:
    """Give a function that makes a bundle of a folder with one hook file; returns its path."""

    def make(name: str, text: str, config: str = '[hooks]\npaths = ["hooks.d/*.py"]\n', **files: str) -> Path:
        folder = open_folder / "sources" / name
        (folder / "hooks.d").mkdir(parents=True)
        (folder / "slurmhooks.toml").write_text(config)
        (folder / "hooks.d" / "a.py").write_text("from slurmhooks import hook\n" + text)
        for path, content in files.items():
            (folder / path).write_text(content)
        bundle = open_folder / f"{name}.tar"
        result = run("bundle", folder, "--output", bundle)
        assert result.exit_code == 0, result.output
        return bundle

    return make


@pytest.fixture
def deploy(site: "Site", run: "Call") -> Callable[..., Any]:
    """Give a function that deploys a bundle and returns the report."""

    def deploy(bundle: Path) -> Any:
        result = run("deploy", bundle, "--sysconfdir", site.etc, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return deploy


def rollback(site: "Site", run: "Call", *arguments: str) -> Any:
    """Go back; return the report."""
    result = run("rollback", *arguments, "--sysconfdir", site.etc, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def handlers(site: "Site") -> list[str]:
    """Return the labels of the handlers that the daemons would load."""
    result = site.check("--json")
    return [row["handler"] for row in json.loads(result.stdout)["handlers"]]
