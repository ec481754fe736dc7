# SPDX-License-Identifier: GPL-2.0-or-later
"""Constants of the running release."""

import subprocess
import sys
from pathlib import Path

from slurmhooks.wire.tables import FILE_NAME, Tables

RELEASE = Tables(
    "27.02.0", "public", (), {"ESLURM": {"ESLURM_INVALID_QOS": 7, "ESLURM_NEW": 8}, "Shared": {"ONE": 3, "OTHER": 4}}
)
SHOW = """
from slurmhooks.fields import constants
from slurmhooks.fields.constants import ESLURM, JobFlag, Shared

assert {name: int(member) for name, member in Shared.__members__.items()} == {"ONE": 3, "OTHER": 4}
assert Shared(3) is Shared.ONE is constants.ONE
assert (Shared.__doc__, Shared.__module__) == (DOC, "slurmhooks.fields.constants.requests")
assert len(JobFlag) > 20  # the build did not find it
assert (ESLURM.ESLURM_NEW, constants.ESLURM_INVALID_QOS, dict(ESLURM.__members__)["ESLURM_NEW"]) == (8, 7, 8)
assert not hasattr(ESLURM, "ESLURM_OLD")
"""


def test_workers_have_those_of_the_release(tmp_path: Path) -> None:
    """Names and numbers are those that the build has found; others are as in the source."""
    from slurmhooks.fields.constants import Shared

    (tmp_path / FILE_NAME).write_text(RELEASE.text)
    code = SHOW.replace("DOC", repr(Shared.__doc__))
    subprocess.run([sys.executable, "-I", "-X", f"slurmhooks_plugins={tmp_path}", "-c", code], check=True)
