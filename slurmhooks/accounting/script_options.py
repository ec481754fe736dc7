# SPDX-License-Identifier: GPL-2.0-or-later
"""The options in a batch script that sbatch has read, as far as accounting says which lines it has read.

sbatch reads no options in a script that it has made itself for ``--wrap``, and ``--ignore-pbs`` or a variable keeps it
from reading ``#PBS`` and ``#BSUB`` lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.testing import sbatch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slurmhooks.accounting import words
    from slurmhooks.testing.options.command_lines import Given

BEFORE, AFTER = sbatch.WRAPPED.split("{}")


def wrapped(script: str | None) -> str | None:
    """Return the command in a script that has the form of those that sbatch makes for ``--wrap``; None: it has not."""
    if script is None or not (script.startswith(BEFORE) and script.endswith(AFTER)):
        return None
    return script[len(BEFORE) : -len(AFTER)]


def options(
    script: str, line: words.Line, variables: Mapping[str, str] | None, release: str, notes: list[str]
) -> tuple[list[list[Given]], set[str]]:
    """Return the options of each component in a script, and the names of those that sbatch may not have read.

    Args:
        script: its text.
        line: the command line.
        variables: of sbatch; None: not known.
        release: of Slurm.
        notes: list to which notes on unknown options are added.

    Raises:
        SbatchError: sbatch would refuse an option.
    """
    names = {each.name for each in line.given} - line.possible
    if "wrap" in names:
        return [[]], set()
    everything = sbatch.options_in(script, notes, (), release)
    own = sbatch.options_in(script, [], (), release, foreign_lines=False)
    ignores = "ignore-pbs" in names or not sbatch.reads_foreign_lines([], variables or {})
    read = own if ignores else everything
    unsure: set[str] = set()
    if not ignores and (variables is None or "ignore-pbs" in line.possible):
        unsure = _differing(own, everything)
    if wrapped(script) is not None:  # the command line does not say whether sbatch has made it
        unsure |= _differing([], everything)
    return read or [[]], unsure


def _differing(some: Sequence[Sequence[Given]], others: Sequence[Sequence[Given]]) -> set[str]:
    """Return the names of the options that are not the same in two readings."""
    one, other = ([(each.name, each.text) for part in parts for each in part] for parts in (some, others))
    names = {name for name, _ in (*one, *other)}
    return {
        name
        for name in names
        if [each for each in one if each[0] == name] != [each for each in other if each[0] == name]
    }
