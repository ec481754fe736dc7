# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks spool``: its output, and its actions on dead letters."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from slurmhooks.cli import main
from slurmhooks.files import regular
from slurmhooks.jobcomp.spool import Spool
from slurmhooks.jobcomp.waiting import Watched
from tests.unit.jobcomp.spools import SpoolFolder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpoolFolder:
    """A site's spool, where slurm.conf has it."""
    monkeypatch.setenv("SLURM_CONF", "")
    (tmp_path / "slurm.conf").write_text(f"StateSaveLocation={tmp_path}\n")
    return SpoolFolder(tmp_path / "slurmhooks")


def call(folder: SpoolFolder, *arguments: str) -> Result:
    """Run the command for a spool."""
    return CliRunner().invoke(main, ["spool", "--sysconfdir", str(folder.path.parent), *arguments])


def test_without_a_spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a spool, the command says which plugin would create one."""
    monkeypatch.setenv("SLURM_CONF", "")
    (tmp_path / "slurm.conf").write_text(f"StateSaveLocation={tmp_path}\n")
    done = CliRunner().invoke(main, ["spool", "--sysconfdir", str(tmp_path)])
    assert done.exit_code == 1
    assert "JobCompType=jobcomp/python" in done.output


def test_what_waits(folder: SpoolFolder) -> None:
    """It counts the waiting records and those that have failed."""
    folder.append(7)
    folder.append(8)
    spool = folder.read()
    first = next(spool.records())
    first.segment.note(first, "retry", 1, 0.0)
    done = call(folder, "--json")
    assert done.exit_code == 0
    shown = json.loads(done.output)
    assert (shown["waiting"], shown["failing"], shown["dead"], shown["lost"]) == (2, 1, [], [])
    assert "2 records wait, 1 of them after a failure, the oldest for" in call(folder).output


def test_each_dead_letter_is_read_once(folder: SpoolFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an outage there may be thousands: `redeliver` reads none for each other one, and metrics count them."""
    for job_id in range(1, 21):
        folder.append(job_id)
    spool = folder.read()
    for record in list(spool.records()):
        spool.bury(record)
    read: list[object] = []
    real = regular.read

    def note(path: Path, *more: int) -> bytes:
        read.append(path)
        return real(path, *more)

    monkeypatch.setattr(regular, "read", note)
    assert Watched(str(folder.path)).look().dead == 20
    assert read == []
    assert call(folder, "redeliver").exit_code == 0
    assert len(read) < 100
    assert spool.letters() == []


@pytest.mark.parametrize("action", ["redeliver", "discard"])
def test_two_commands_at_once(folder: SpoolFolder, monkeypatch: pytest.MonkeyPatch, action: str) -> None:
    """What the other command has taken meanwhile is left to it."""
    for job_id in (1, 2):
        folder.append(job_id)
    spool = folder.read()
    for record in list(spool.records()):
        spool.bury(record)
    first, second = (letter["id"] for letter in spool.letters())
    real = getattr(Spool, action)

    def after_another(self: Spool, letter: str) -> None:
        if letter == first:
            real(self, letter)
        real(self, letter)

    monkeypatch.setattr(Spool, action, after_another)
    done = call(folder, action, first, second)
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[:1] == (["queued for delivery: 1"] if action == "redeliver" else [])
    assert spool.letters() == []
    assert len(list(folder.read().records())) == (2 if action == "redeliver" else 0)


def test_a_pause_ends(folder: SpoolFolder) -> None:
    """It shows why a record waits and for how long, and `retry` ends the pause."""
    folder.append(7)
    folder.append(8)
    first = next(folder.read().records())
    first.segment.note(first, "failed", "site:handler", "no network")
    first.segment.note(first, "retry", 1, 4e9)
    shown = call(folder).output
    assert "last failure: site:handler: no network" in shown
    assert "next attempt in " in shown
    assert call(folder, "retry").exit_code == 0
    assert [(record.due, record.tries) for record in folder.read().records()] == [(0.0, 1), (0.0, 0)]
    assert "next attempt in 0 s" in call(folder).output
    shutil.rmtree(folder.path)
    assert "there is no spool" in call(folder, "retry").output


def test_dead_letters(folder: SpoolFolder) -> None:
    """It shows each dead letter with its reason, and redelivers or discards those that are named."""
    for job_id in (7, 8, 9):
        folder.append(job_id)
    spool = folder.read()
    for record in list(spool.records()):
        record.reasons["site:handler"] = "no network"
        spool.bury(record)
    done = call(folder)
    assert done.exit_code == 1
    assert "site:handler: no network" in done.output
    assert "3 dead letters" in done.output
    first, second, third = (letter["id"] for letter in spool.letters())
    assert "no dead letter 1.2" in call(folder, "discard", first, "1.2").output
    assert len(spool.letters()) == 3
    assert call(folder, "discard", first).exit_code == 0
    assert call(folder, "redeliver", second).exit_code == 0
    assert [letter["id"] for letter in spool.letters()] == [third]
    assert call(folder, "redeliver").exit_code == 0
    assert [record.frame.job_id for record in folder.read().records()] == [8, 9]
    assert call(folder).exit_code == 0


@pytest.mark.parametrize(
    "about",
    [
        *("", "[]", "5", "null", "{}", "[" * 100_000, '{"id": 5}', '{"id": "../../x"}', '{"id": "a\\u0000"}'),
        *('{"reasons": [1]}', '{"reasons": {"a": 5}}', '{"time": 1e30}', '{"time": "x"}', '{"time": -1}'),
        *('{"passed": 5}', '{"passed": [5]}', '{"hook": 5}', f'{{"tries": {"9" * 400}}}'),
    ],
    ids=lambda about: about[:20],
)
def test_damaged_dead_letters(folder: SpoolFolder, about: str) -> None:
    """Whatever is left of what is known about a letter, it is shown, can be delivered again, and be discarded."""
    for job_id in (7, 8):
        folder.append(job_id)
    spool = folder.read()
    for record in list(spool.records()):
        spool.bury(record)
    for letter in spool.letters():
        (folder.path / "dead" / f"{letter['id']}.json").write_text(about)
    first, second = (letter["id"] for letter in folder.read().letters())
    assert [row["id"] for row in json.loads(call(folder, "--json").stdout)["dead"]] == [first, second]
    assert first in call(folder).output
    assert call(folder, "discard", first).exit_code == 0
    assert call(folder, "redeliver").exit_code == 0
    assert [record.frame.job_id for record in folder.read().records()] == [8]


def test_lost_records(folder: SpoolFolder) -> None:
    """Records that were not kept are a finding, as long as the file that names them is there."""
    folder.append(7)
    (folder.path / "lost.jsonl").write_text(
        '{"job_id": 5, "hook": "job_end", "time": 1, "reason": "full"}\n5\n[]\n{"job'
    )
    done = call(folder)
    assert done.exit_code == 1
    assert "1 records were not kept" in done.output


NAMES = ("0000000000.spool", "dead/1.1.json", "dead/2.2.spool", "lost.jsonl")


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_file(name: str, folder: SpoolFolder) -> None:
    """A FIFO in place of a file is never waited for, by no action; what is known without it is shown."""
    folder.append(7)
    spool = folder.read()
    spool.bury(next(spool.records()))
    path = folder.path / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    for arguments in ((), ("redeliver",)):
        done = call(folder, *arguments)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.output


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_root_works_as_slurm_user() -> None:
    """What root writes belongs to SlurmUser, whose workers deliver it."""
    with tempfile.TemporaryDirectory() as name:
        site = Path(name)
        site.chmod(0o755)
        (site / "slurm.conf").write_text(f"StateSaveLocation={site}\nSlurmUser=nobody\n")
        folder = SpoolFolder(site / "slurmhooks")
        folder.append(7)
        spool = folder.read()
        record = next(spool.records())
        record.passed.add("site:handler")
        spool.bury(record)
        for path in (folder.path, *folder.path.rglob("*")):
            shutil.chown(path, "nobody")
        command = [sys.executable, "-m", "slurmhooks.cli", "spool", "--sysconfdir", name, "redeliver"]
        subprocess.run(command, env=os.environ | {"SLURM_CONF": ""}, check=True, timeout=60)
        owners = {path.owner() for path in folder.path.glob("again-*")}
        assert owners == {"nobody"}
