# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kind of lock each file has."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CALL = re.compile(r"(?<!\w)(flock|lockf|F_OFD_SETLK\w*)(?=\(|, )")

KINDS = {
    "native/jobcomp/delivery.c": {"flock"},
    "native/jobcomp/spool.c": {"flock"},
    "slurmhooks/cli/bundles/store.py": {"lockf"},
    "slurmhooks/files/bounded.py": {"flock"},
    "slurmhooks/files/locks.py": {"flock", "F_OFD_SETLK"},
    "slurmhooks/jobcomp/segment.py": {"flock"},
    "slurmhooks/node/state.py": {"lockf"},
    "slurmhooks/spank/state_file.py": {"lockf"},
    "slurmhooks/worker/accepted.py": {"lockf"},
    "slurmhooks/worker/claims.py": {"lockf"},
}
"""The kinds of the releases before. During an upgrade processes of two releases run, and flock() and record locks do
not exclude each other: a lock whose kind has to change uses slurmhooks/files/locks.py from then on."""


def test_no_lock_changes_its_kind() -> None:
    """Each file has the kind of lock that it had in the releases before, or both kinds."""
    found = {}
    for path in sorted((*(ROOT / "slurmhooks").rglob("*.py"), *(ROOT / "native").rglob("*.c"))):
        lines = (line.partition("#")[0] for line in path.read_text().splitlines())
        if kinds := {match[1] for line in lines for match in CALL.finditer(line) if '"""' not in line}:
            found[str(path.relative_to(ROOT))] = kinds
    assert found == KINDS
