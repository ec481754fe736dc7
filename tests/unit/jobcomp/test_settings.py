# SPDX-License-Identifier: GPL-2.0-or-later
"""The settings of ``[jobcomp]`` that C gets."""

from pathlib import Path

import pytest

from slurmhooks.config.sections import JobComp
from slurmhooks.jobcomp import settings
from tests.sets import put_in_force


def test_lines() -> None:
    """Every setting is a line that C knows, and the last one says that nothing is missing."""
    assert settings.lines(JobComp(), "/state") == [
        "next=",
        "spool=/state/slurmhooks",
        f"limit={256 << 20}",
        "fsync=1",
        "end",
    ]
    given = JobComp(next="filetxt", spool="/fast/spool", spool_size="1GiB", fsync="always")  # type: ignore[arg-type]
    assert settings.lines(given, "/state") == [
        "next=filetxt",
        "spool=/fast/spool",
        f"limit={1 << 30}",
        "fsync=2",
        "end",
    ]


def test_a_wrong_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Each finding is a line, and no line marks the output as complete."""
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    put_in_force(tmp_path)
    (tmp_path / "slurmhooks.toml").write_text('[jobcomp]\nnext = "../x"\nspool = "here"\ntries = 0\n')
    assert settings.main(["/state"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[1] for line in lines] == ["jobcomp.tries", "jobcomp.next", "jobcomp.spool"]


@pytest.mark.parametrize("key", ["next", "spool"])
def test_nothing_can_be_put_into_other_lines(key: str) -> None:
    """A value with a line feed is refused: C would read two settings."""
    with pytest.raises(ValueError, match=key):
        JobComp.model_validate({key: "/a\nlimit=1"})
