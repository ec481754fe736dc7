# SPDX-License-Identifier: GPL-2.0-or-later
"""What options of sbatch mean in one release and not in another; compared on clusters of 22.05, 24.11, 26.05."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slurmhooks.fields.constants import CpuBind
from slurmhooks.fields.rows import release_of
from slurmhooks.testing import option_bindings
from slurmhooks.testing.command_lines import is_set
from slurmhooks.testing.option_values import SbatchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmhooks.testing.command_lines import Given

LAYOUT_SINCE = (23, 11)
"""Since then sbatch knows lists of numbers of nodes, binds tasks to their GPUs, and leaves more to slurmctld."""
LAST_SINCE = (26, 5)
"""Since then the last --mail-type counts, more options exclude --hint, and --export-file needs another --export."""
OVERRIDING = (
    ("mem", "mem-per-cpu", "mem-per-gpu"),
    ("ntasks-per-gpu", "ntasks-per-tres"),
    ("cpus-per-task", "cpus-per-gpu"),
)
"""Options that exclude each other, or that of a variable if another one is written."""
WITHOUT_HINT = frozenset({"ntasks-per-core", "threads-per-core", "extra-node-info"})
"""Options that exclude --hint, as do --cpu-bind and, since LAST_SINCE, the others about sockets and cores."""
SOCKETS = frozenset({"sockets-per-node", "cores-per-socket"})
EXCLUDING = {("exclusive", "oversubscribe"): LAYOUT_SINCE, ("core-spec", "thread-spec"): (0, 0)}
"""Options of which a command or script may give only one, and since when."""
OLD_GRES_FLAGS = ("disable-binding", "enforce-binding")


def as_in(given: Sequence[Given], release: str) -> list[Given]:
    """Return options as a release understands them.

    Raises:
        SbatchError: the release would refuse one.
    """
    version = release_of(release)
    written = {name for name, how in {each.name: each.how for each in given}.items() if how.startswith("-")}
    for pair, since in EXCLUDING.items():
        if version >= since and written.issuperset(pair):
            raise SbatchError(f"--{pair[0]} and --{pair[1]} are mutually exclusive")
    tres = {each.name: each.text or "" for each in given}.get("tres-per-task", "")
    if version >= LAYOUT_SINCE and "cpu" in tres.lower() and written.issuperset(("cpus-per-task", "tres-per-task")):
        raise SbatchError("--tres-per-task=cpu= and --cpus-per-task are mutually exclusive")
    dropped = _hint_or_layout(given, version)
    for group in OVERRIDING if version >= LAYOUT_SINCE else OVERRIDING[:1]:
        if written.intersection(group):  # the variables of the others no longer count
            dropped |= {*group} - written
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


def _hint_or_layout(given: Sequence[Given], version: tuple[int, ...]) -> set[str]:
    """Return the options that do not count because of --hint, or --hint because of one of them."""
    last = {each.name: each for each in given}
    if "hint" not in last:
        return set()
    binding = last.get("cpu-bind")
    flags = CpuBind(0)
    if binding is not None:
        try:
            _, flags = option_bindings.cpus(binding.text or "")
        except ValueError as error:
            raise SbatchError(f"{binding.how}: {binding.text!r} is no way to bind tasks") from error
    excluding = {*WITHOUT_HINT, *(SOCKETS if version >= LAST_SINCE else ())}
    bound = bool(flags & ~CpuBind.CPU_BIND_VERBOSE)
    binds = {"cpu-bind"}
    written = {name for name, each in last.items() if each.how.startswith("-")}
    if "hint" in written:
        if written & (excluding | (binds if bound else set())):
            return {"hint"}
        return {*excluding, *SOCKETS, *(binds if bound or version < LAYOUT_SINCE else ())}
    counts = excluding | (binds if bound or version < LAYOUT_SINCE else set())
    return {"hint"} if counts & written or last.keys() & (counts - SOCKETS) else set()


def _refuse(given: Given) -> None:
    text = given.text or ""
    if given.name == "nodes" and {*",:"} & {*text}:
        raise SbatchError(f"{given.how}: {text!r} is not a valid node count in this release")
    if given.name == "exclusive" and text.lower() == "topo":
        raise SbatchError(f"{given.how}: {text!r} does not exist in this release")
    if given.name == "gres-flags" and text.lower() not in OLD_GRES_FLAGS:
        raise SbatchError(f"{given.how}: {text!r} is not one of {', '.join(OLD_GRES_FLAGS)} in this release")
