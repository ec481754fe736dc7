# SPDX-License-Identifier: GPL-2.0-or-later
from pathlib import Path

import pytest

from slurmhooks.cli import build_record
from slurmhooks.cli.findings import Finding


def test_record_survives_the_file(build: Path) -> None:
    """A record read back is the one that was written, and writing it again leaves the file untouched."""
    record = build_record.BuildRecord.load(build)
    assert record is not None
    path = build_record.BuildRecord.path_in(build)
    before = path.stat().st_mtime_ns
    record.save(build)
    assert path.stat().st_mtime_ns == before
    assert build_record.BuildRecord.load(build) == record


def test_record_that_makes_no_sense_is_a_finding(build: Path) -> None:
    """A damaged record is a finding, and the next build can replace it."""
    build_record.BuildRecord.path_in(build).write_text('{"slurm": 3')
    with pytest.raises(Finding, match="run 'slurmhooks build' and"):
        build_record.BuildRecord.load(build)
    assert build_record.files_of(build) == set()


def test_no_record_is_none(tmp_path: Path) -> None:
    """A folder without a build has no record and no files."""
    assert build_record.BuildRecord.load(tmp_path) is None
    assert build_record.files_of(tmp_path) == set()
