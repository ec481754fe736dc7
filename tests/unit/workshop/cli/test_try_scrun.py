# SPDX-License-Identifier: GPL-2.0-or-later
"""`slurmhooks try scrun` stages a bundle, and shows what handlers made of it."""

import json
import os
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Call
from tests.unit.workshop.cli.try_site import answer, write_site

CONFIG = {"ociVersion": "1.0.2", "process": {"cwd": "/", "args": ["sh"]}, "root": {"path": "rootfs"}}


@pytest.fixture
def hooks(tmp_path: Path) -> Path:
    """A site's folder with both hook files."""
    return write_site(tmp_path)


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle with one file, and a place to stage it to."""
    monkeypatch.setenv("PLACE", str(tmp_path / "staged"))
    made = tmp_path / "a bundle"
    (made / "rootfs").mkdir(parents=True)
    (made / "rootfs" / "file").write_text("original")
    (made / "config.json").write_text(json.dumps(CONFIG))
    return made


def test_stage_in(run: Call, hooks: Path, bundle: Path, tmp_path: Path) -> None:
    """The assigned paths, the changed configuration and the messages are shown; the bundle itself is left alone."""
    before = (bundle / "config.json").read_text()
    arguments = ("--sysconfdir", hooks, "--bundle", bundle, "--env", "NAME=ship")
    result = run.passed("try", "scrun", "stage-in", *arguments)
    assert f"bundle: {tmp_path / 'staged'}\nroot path: {tmp_path / 'staged' / 'rootfs'}\n" in result.stdout
    assert '+  "hostname": "ship"' in result.stdout
    assert "  staged\n" in result.stdout
    assert f"remains: {tmp_path / 'staged'}" in result.stderr
    assert (bundle / "config.json").read_text() == before


def test_stage_out(run: Call, hooks: Path, bundle: Path, tmp_path: Path) -> None:
    """`try scrun stage-out` runs stage_in first, in the same process, and leaves nothing behind."""
    arguments = ("--sysconfdir", hooks, "--bundle", bundle, "--env", "NAME=ship", "--json")
    result = run.passed("try", "scrun", "stage-out", *arguments)
    found = answer(result)
    assert (found["stage_in"]["passed"], found["stage_out"]["passed"]) == (True, True)
    assert found["stage_in"]["bundle"] == str(tmp_path / "staged")
    assert found["stage_out"]["log"] == ["info: gone"]
    assert not (tmp_path / "staged").exists()


def test_the_script_of_scrun_is_not_tried(run: Call, hooks: Path, bundle: Path) -> None:
    """A note says that the site's Lua script, which scrun would run, has not run."""
    with (hooks / "slurmhooks.toml").open("a") as file:
        file.write('[scrun]\nlua = "site.lua"\n')
    (hooks / "site.lua").write_text("function slurm_scrun_stage_in() return -1 end\n")
    result = run.passed("try", "scrun", "stage-in", "--sysconfdir", hooks, "--bundle", bundle, "--env", "NAME=ship")
    assert f"{hooks}/site.lua is not tried" in result.stderr


def test_a_refused_container(run: Call, hooks: Path, bundle: Path) -> None:
    """A refusal shows its text, with exit code 1, and so does a bug; stage_out still runs."""
    arguments = ("--sysconfdir", hooks, "--bundle", bundle)
    result = run.refused("try", "scrun", "stage-out", *arguments, "--id", "refused")
    assert "stage_in: failed: not today\n" in result.stdout
    assert "stage_out: passed\n" in result.stdout
    result = run.refused("try", "scrun", "stage-in", *arguments)
    assert "KeyError" in result.stdout


@pytest.mark.parametrize(("change", "code"), [("missing", 1), ("not JSON", 1), ("no folder", 2), ("env", 2)])
def test_wrong_bundles(run: Call, hooks: Path, bundle: Path, change: str, code: int) -> None:
    """A bundle that scrun itself would refuse is a finding; a folder that is not a bundle is wrong use."""
    more: tuple[str, ...] = ()
    if change == "missing":
        os.unlink(bundle / "config.json")
    elif change == "not JSON":
        (bundle / "config.json").write_text("{")
    elif change == "env":
        more = ("--env", "NAME")
    else:
        bundle = bundle / "nothing"
    result = run("try", "scrun", "stage-in", "--sysconfdir", hooks, "--bundle", bundle, *more)
    assert result.exit_code == code, result.output
