# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs use the slurm.conf of the slurmctld that has started them."""

import os
from pathlib import Path

import pytest

from slurmhooks.processes import daemon

CONTROLLER = ("slurmctld", "slurmctld\0-D\0-f\0/b/slurm.conf\0", "")


def write(proc: Path, chain: list[tuple[str, str, str]]) -> None:
    """Write ancestors of this process, the parent first: name, command line and environment."""
    pid = os.getppid()
    for name, command, variables in chain:
        folder = proc / str(pid)
        folder.mkdir()
        (folder / "status").write_text(f"Name:\t{name}\nState:\tS\nPPid:\t{pid + 1}\n")
        (folder / "cmdline").write_text(command)
        (folder / "environ").write_text(variables)
        pid += 1


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        ([CONTROLLER], "/b/slurm.conf"),
        (
            [("sh", "sh\0-fx\0", "SLURM_CONF=/x\0"), ("slurmscriptd", ": slurmscriptd\0", ""), CONTROLLER],
            "/b/slurm.conf",
        ),
        ([("slurmscriptd", ": slurmscriptd", "A=1\0SLURM_CONF=/c/slurm.conf\0"), CONTROLLER], "/c/slurm.conf"),
        ([("slurmctld", "slurmctld\0-f/d/slurm.conf\0", "SLURM_CONF=/x\0")], "/d/slurm.conf"),
        ([("slurmctld", "slurmctld\0-f\0slurm.conf\0", "")], None),
        ([("slurmctld", "slurmctld\0", "")], None),
        ([("sh", "sh\0-f\0/x\0", "SLURM_CONF=/x\0")], None),
        ([], None),
    ],
)
def test_what_slurmctld_was_started_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chain: list[tuple[str, str, str]], expected: str | None
) -> None:
    """Its option or variable counts, whatever has other options between it and the program; a relative one cannot."""
    monkeypatch.delenv("SLURM_CONF", raising=False)
    write(tmp_path, chain)
    daemon.follow(str(tmp_path))
    assert os.environ.get("SLURM_CONF") == expected


def test_what_was_passed_on_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read if the program has been told."""
    monkeypatch.setenv("SLURM_CONF", "/a/slurm.conf")
    write(tmp_path, [CONTROLLER])
    daemon.follow(str(tmp_path))
    assert os.environ["SLURM_CONF"] == "/a/slurm.conf"
