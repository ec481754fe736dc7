# SPDX-License-Identifier: GPL-2.0-or-later
"""The page about `slurmhooks adopt` shows what the command prints, and lists all rules.

``python -m tests.project.test_adopt_page`` updates the output on the page.
"""

import ast
import os
import re
import shlex
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from click.testing import CliRunner

from slurmhooks import cli
from slurmhooks.cli import slurm
from slurmhooks.workshop.cli.commands import adopt

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).resolve().parents[2]
PAGE = PROJECT / "docs" / "adopt.md"
EXAMPLE = re.compile(r"(?s)```lua\n(?P<script>.*?)```.*?```console\n\$ (?P<command>[^\n]*)\n(?P<output>.*?)```")


def played(page: str, folder: Path) -> str:
    """Return the page with the output of its command, run in a folder that stands for /etc/slurm."""
    found = EXAMPLE.search(page)
    assert found is not None
    (folder / "job_submit.lua").write_text(found["script"])
    _, *words = shlex.split(found["command"])
    with mock.patch.object(slurm, "library", return_value=None):
        done = CliRunner().invoke(cli.main, [*words, "--sysconfdir", str(folder)])
    assert done.exit_code == 1, done.output
    output = done.stdout.replace(str(folder), "/etc/slurm").replace(f"{adopt.NO_LIBLUA}\n", "")  # as on the controller
    output = re.sub(r"\.\.\.\S+/job_submit\.lua:", "/etc/slurm/job_submit.lua:", output)  # Lua shortens long paths
    return page[: found.start("output")] + output + page[found.end("output") :]


def test_the_page_shows_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example on the page is what the command prints."""
    monkeypatch.chdir(tmp_path)
    assert played(PAGE.read_text(), tmp_path) == PAGE.read_text()


def test_the_page_lists_all_rules() -> None:
    """The table on the page has the rules that remarks in the code have."""
    kinds = set()
    for path in (PROJECT / "slurmhooks" / "workshop" / "adopt").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Remark", "_remark"):
                texts = [part.value for part in node.args if isinstance(part, ast.Constant) and part.value is not None]
                kinds.add(next((text for text in texts if isinstance(text, str)), ""))
    rows = re.findall(r"(?m)^\| `([\w-]+)` \|", PAGE.read_text())
    assert {kind for kind in kinds if re.fullmatch(r"[\w-]+", kind)} == set(rows)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        PAGE.write_text(played(PAGE.read_text(), Path(folder)))
