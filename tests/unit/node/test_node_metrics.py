# SPDX-License-Identifier: GPL-2.0-or-later
"""The metrics of a node."""

import os
import re
import resource
import stat
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from slurmhooks.node import metrics
from slurmhooks.node.state import CheckState, NodeMemory
from tests.unit.node.making import check

NAMES = ["mount /home", 'a "quoted" \\ name\nin two lines']


def test_prometheus_reads_them() -> None:
    """Each check has its row, whatever its name is; a line feed in it is visible."""
    state = NodeMemory()
    state.reasons = [("disk is full", 1)]
    state.checks[NAMES[1]] = CheckState(1, "disk is full")
    text = metrics.text([check(lambda: None, name, mode="warn") for name in NAMES], state, 1e9)
    rows = {
        (sample.name, sample.labels.get("check")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert rows == {
        ("slurmhooks_health_check_failing", NAMES[0]): 0,
        ("slurmhooks_health_check_failing", NAMES[1].replace("\n", "\\n")): 1,
        ("slurmhooks_health_drained", None): 1,
        ("slurmhooks_health_run_timestamp_seconds", None): 1e9,
    }
    page = (Path(__file__).parents[3] / "docs" / "node.md").read_text()
    assert set(re.findall(r"^\| `(slurmhooks_\w+)`", page, re.MULTILINE)) == {name for name, _ in rows}


def test_the_file_is_replaced(tmp_path: Path) -> None:
    """Everybody may read it, a link in its place is replaced and not followed, and nothing else remains."""
    victim = tmp_path / "victim"
    victim.write_text("keep")
    (tmp_path / metrics.FILE).symlink_to(victim)
    before = os.umask(0o077)
    try:
        metrics.write(str(tmp_path), "metrics\n")
    finally:
        os.umask(before)
    assert victim.read_text() == "keep"
    found = (tmp_path / metrics.FILE).lstat()
    assert stat.S_ISREG(found.st_mode)
    assert stat.S_IMODE(found.st_mode) == 0o644
    assert sorted(path.name for path in tmp_path.iterdir()) == [metrics.FILE, "victim"]


def test_a_disk_that_becomes_full(tmp_path: Path) -> None:
    """A file that cannot be written as a whole does not replace the old one."""
    metrics.write(str(tmp_path), "old\n")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))  # as on a disk, the first write writes what fits
    try:
        with pytest.raises(OSError, match="File too large"):
            metrics.write(str(tmp_path), "x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old\n"]
