# SPDX-License-Identifier: GPL-2.0-or-later
"""The options in a batch script that sbatch has read, as far as accounting says which lines it has read.

sbatch reads no options in a script that it has made itself for ``--wrap``. What it makes of lines for other batch
systems is not known here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slurmhooks.workshop.testing import sbatch

if TYPE_CHECKING:
    from slurmhooks.fields.rows import Release
    from slurmhooks.workshop.accounting import words
    from slurmhooks.workshop.testing.options.command_lines import Given

BEFORE, AFTER = sbatch.WRAPPED.split("{}")
ESCAPES_BLANKS = (24, 11)
"""In this release a backslash keeps a blank from ending a word of a script's line, and in 22.05 it does not."""
ESCAPED_BLANK = re.compile(r"^#SBATCH.*\\[ \t]", re.MULTILINE)


def wrapped(script: str | None) -> str | None:
    """Return the command in a script that has the form of those that sbatch makes for ``--wrap``; None: it has not."""
    if script is None or not (script.startswith(BEFORE) and script.endswith(AFTER)):
        return None
    return script[len(BEFORE) : -len(AFTER)]


def options(
    script: str, line: words.SubmitLine, notes: list[str], release: Release
) -> tuple[list[list[Given]], set[str]]:
    """Return the options of each component in a script, and the names of those that sbatch may not have read.

    Notes on options and lines that cannot be read are added to ``notes``.

    Raises:
        SbatchError: sbatch would refuse an option, or this release may read it otherwise.
    """
    if "wrap" in {each.name for each in line.given} - line.possible:
        return [[]], set()
    if release < ESCAPES_BLANKS and ESCAPED_BLANK.search(script):
        raise sbatch.SbatchError("a blank behind a backslash")
    read = sbatch.options_in(script, notes, ())
    if wrapped(script) is None:
        return read or [[]], set()
    return read or [[]], {each.name for part in read for each in part}  # perhaps sbatch has made the script
