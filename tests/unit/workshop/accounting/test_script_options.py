# SPDX-License-Identifier: GPL-2.0-or-later
"""What an import takes for known of options in a batch script: those that sbatch has read."""

from typing import Any

import pytest

from slurmhooks.workshop.accounting.submission import Computing, kept

COLUMNS = dict.fromkeys(("Comment", "Account", "QOS", "Constraints", "Reservation", "WCKey"), "") | {
    "JobID": "1",
    "UID": "2001",
    "GID": "2001",
    "JobName": "j.sh",
    "WorkDir": "/",
}
PBS = "#!/bin/sh\n#PBS -l walltime=00:04:00\n#PBS -A acc\n#SBATCH --qos=high\n"
WRAP = "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{}\n"
OF_PBS = "#PBS -l walltime=00:04:00\ntrue"
OF_SBATCH = "#SBATCH --time=9\ntrue"
NOTHING = {"time_limit": None, "account": None, "qos": None}


def known(line: str, script: str, environment: str | None, release: str = "24.11") -> dict[str, Any]:
    """Return the values of those of three fields that are known."""
    request = Computing(release).request({**COLUMNS, "SubmitLine": line}, kept(script, environment))
    return {name: request.raws.get(name) for name in NOTHING if name not in request.unknown}


@pytest.mark.parametrize(
    ("line", "script", "environment", "expected"),
    [
        ("sbatch j.sh", PBS, "A=1\n", {}),
        (f"sbatch --wrap={OF_PBS}", WRAP.format(OF_PBS), "A=1\n", NOTHING),
        (f"sbatch --wrap={OF_SBATCH}", WRAP.format(OF_SBATCH), "A=1\n", NOTHING),
        ("sbatch --export=NONE j.sh", PBS, "A=1\n", {}),
        ("sbatch j.sh", PBS, None, {}),
    ],
)
def test_lines_that_sbatch_has_not_read_decide_nothing(
    line: str, script: str, environment: str | None, expected: dict[str, Any]
) -> None:
    """With #PBS lines, only the command line is known; lines of --wrap give no option."""
    assert known(line, script, environment) == expected


@pytest.mark.parametrize(("release", "is_known"), [("22.05", False), ("24.11", True)])
def test_a_blank_behind_a_backslash(release: str, is_known: bool) -> None:
    """Releases end a word at it or not, so an older one may have read other options than those that it shows."""
    script = "#!/bin/sh\n#SBATCH --comment=a\\  --qos=high\n"
    assert ("qos" in known("sbatch j.sh", script, "A=1\n", release)) == is_known
    assert known("sbatch j.sh", script.replace("\\", ""), "A=1\n", release)["qos"] == b"high"
