# SPDX-License-Identifier: GPL-2.0-or-later
"""What options of sbatch mean in one release and not in another; compared on clusters of 22.05, 24.11, 26.05."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slurmhooks.fields.rows import release_of
from slurmhooks.testing.command_lines import is_set
from slurmhooks.testing.option_values import SbatchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmhooks.testing.command_lines import Given

LAYOUT_SINCE = (23, 11)
"""Since then sbatch knows lists of numbers of nodes, binds tasks to their GPUs, and leaves more to slurmctld."""
LAST_SINCE = (26, 5)
"""Since then the last --mail-type counts, more options exclude --hint, and --export-file needs another --export."""
MEMORY = ("mem", "mem-per-cpu", "mem-per-gpu")
"""Options that exclude each other."""
EXCLUDING = {("exclusive", "oversubscribe"): LAYOUT_SINCE, ("core-spec", "thread-spec"): (0, 0)}
"""Options of which a command or script may give only one, and since when."""
OLD_GRES_FLAGS = ("disable-binding", "enforce-binding")


def as_in(given: Sequence[Given], release: str) -> list[Given]:
    """Return options as a release understands them.

    Raises:
        SbatchError: the release would refuse one.
    """
    version, names = release_of(release), {each.name for each in given}
    written = {each.name for each in given if each.how.startswith("-")}
    for pair, since in EXCLUDING.items():
        if version >= since and written.issuperset(pair):
            raise SbatchError(f"--{pair[0]} and --{pair[1]} are mutually exclusive")
    excluding = {"ntasks-per-core", "threads-per-core", "extra-node-info"}
    layout = {"sockets-per-node", "cores-per-socket"}
    dropped: set[str] = set()
    if "hint" in names:
        excluding |= layout if version >= LAST_SINCE else set()
        dropped = {"hint"} if names & excluding else layout
    last = {each.name: each.how for each in given if each.name in MEMORY}
    options = {name for name, how in last.items() if how.startswith("-")}
    if options:  # the variables of the others no longer count
        given = [each for each in given if each.name not in MEMORY or each.name in options]
    kept = []
    types: list[str] = []
    for each in given:
        if each.name in dropped:
            continue
        if each.name == "mail-type" and version < LAST_SINCE:
            types.append(each.text or "")
            each = replace(each, text=",".join(types))
        if each.name == "requeue" and version < LAST_SINCE:
            each = replace(each, text=None, resets=each.text is not None and not is_set(each.text))
        if version < LAYOUT_SINCE:
            _refuse(each)
        kept.append(each)
    return kept


def _refuse(given: Given) -> None:
    text = given.text or ""
    if given.name == "nodes" and {*",:"} & {*text}:
        raise SbatchError(f"{given.how}: {text!r} is not a valid node count in this release")
    if given.name == "exclusive" and text.lower() == "topo":
        raise SbatchError(f"{given.how}: {text!r} does not exist in this release")
    if given.name == "gres-flags" and text.lower() not in OLD_GRES_FLAGS:
        raise SbatchError(f"{given.how}: {text!r} is not one of {', '.join(OLD_GRES_FLAGS)} in this release")
