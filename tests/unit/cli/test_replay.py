# SPDX-License-Identifier: GPL-2.0-or-later
import json
import os
from pathlib import Path

from click.testing import CliRunner

from slurmhooks.cli import main
from tests.unit.replay.recordings import recording
from tests.unit.replay.test_replay import ACCOUNT, JOBS, NEW, hook_file


def test_exit_codes(tmp_path: Path) -> None:
    """0: fine, even with differences; 1: something differs and --expect-same; 2: the file or the hooks are unusable."""
    os.close(recording(tmp_path / "file", ACCOUNT, JOBS))
    same, new = hook_file(tmp_path, ACCOUNT, "same.py"), hook_file(tmp_path, NEW)
    bad = hook_file(tmp_path, "import nothing_of_the_kind", "bad.py")

    def call(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(main, ["replay", str(tmp_path / "file"), *arguments])
        return result.exit_code, result.output

    assert call("--hooks", same, "--expect-same")[0] == 0
    assert call("--hooks", new)[0] == 0
    code, text = call("--hooks", new, "--expect-same")
    assert code == 1
    assert "new:limit_time refuses 1 more" in text
    assert "seen -> SEEN" in text
    code, text = call("--hooks", bad)
    assert code == 2
    assert "nothing_of_the_kind" in text
    assert call("--hooks", new, "--release", "no release")[0] == 2
    os.chmod(tmp_path / "file", 0o644)
    code, text = call("--hooks", new)
    assert code == 2
    assert "chmod 600" in text


def test_json(tmp_path: Path) -> None:
    """With --json, the output is the report."""
    os.close(recording(tmp_path / "file", ACCOUNT, JOBS))
    arguments = ["replay", str(tmp_path / "file"), "--hooks", hook_file(tmp_path, NEW), "--json"]
    report = json.loads(CliRunner().invoke(main, arguments).stdout)
    assert report["more_refused"] == 1
    assert report["rules"][0]["rule"] == "new:limit_time"
