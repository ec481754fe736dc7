# SPDX-License-Identifier: GPL-2.0-or-later
"""What options of sbatch mean in one release and not in another; compared on clusters of 22.05, 24.11, 26.05."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slurmhooks.fields.constants import CpuBind
from slurmhooks.fields.rows import release_of
from slurmhooks.testing.options import bindings
from slurmhooks.testing.options.command_lines import WITHOUT_HINT, is_set
from slurmhooks.testing.options.values import SbatchError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slurmhooks.testing.options.command_lines import Given

LAYOUT_SINCE = (23, 11)
"""Since then sbatch knows lists of numbers of nodes, binds tasks to their GPUs, and leaves more to slurmctld."""
LAST_SINCE = (26, 5)
"""Since then the last --mail-type counts, more options exclude --hint, and --export-file needs another --export."""
OVERRIDING = (("mem", "mem-per-cpu", "mem-per-gpu"), ("ntasks-per-gpu", "ntasks-per-tres"))
"""Options that exclude each other, or that of a variable if another one is written."""
CPUS_SINCE = (24, 5)
"""Since then --cpus-per-task is also a TRES per task."""
SOCKETS = frozenset({"sockets-per-node", "cores-per-socket"})
WRITTEN_ALONE = {
    ("exclusive", "oversubscribe"): LAYOUT_SINCE,
    ("core-spec", "thread-spec"): (0, 0),
    ("exclusive", "overlap"): (0, 0),
}
"""Options of which a command or script may give only one, and since when."""
ALONE = (("exact", "whole"), ("pty", "output"), ("pty", "error"), ("pty", "input"))
"""Options that exclude each other even if variables give them."""
OLD_GRES_FLAGS = ("disable-binding", "enforce-binding")


def as_in(given: Sequence[Given], release: str) -> list[Given]:
    """Return options as a release understands them.

    Raises:
        SbatchError: the release would refuse one.
    """
    version = release_of(release)
    written = {name for name, how in {each.name: each.how for each in given}.items() if how.startswith("-")}
    last = {each.name: each for each in given if not each.resets}
    _refuse_together(last, written, version)
    dropped, changed = _hint_or_layout(last, written, version)
    if version >= LAYOUT_SINCE:
        unused, without = _cpus_per_task_or_gpu(last, version)
        dropped, changed = dropped | unused, changed | without
    for group in OVERRIDING if version >= LAYOUT_SINCE else OVERRIDING[:1]:
        if written.intersection(group):  # the variables of the others no longer count
            dropped |= {*group} - written
    kept = []
    types: list[str] = []
    for each in given:
        if each.name in dropped:
            continue
        each = replace(each, text=changed.get(each.name, each.text))
        if each.name == "mail-type" and version < LAST_SINCE:
            if "NONE" not in (each.text or "").upper().split(","):
                types.append(each.text or "")
            each = replace(each, text=",".join(types) or "NONE")
        if each.name == "requeue" and version < LAST_SINCE:
            each = replace(each, text=None, resets=each.text is not None and not is_set(each.text))
        if version < LAYOUT_SINCE:
            _refuse(each)
        kept.append(each)
    return kept


def _refuse_together(last: Mapping[str, Given], written: set[str], version: tuple[int, ...]) -> None:
    """Refuse options that exclude each other."""
    pairs = [pair for pair, since in WRITTEN_ALONE.items() if version >= since and written.issuperset(pair)]
    pairs += [pair for pair in ALONE if last.keys() >= {*pair}]
    whole = ("exclusive", "whole")  # --exclusive is --exact, too
    if last.keys() >= {*whole} and (last["exclusive"].text or "exclusive").lower() == "exclusive":
        pairs.append(whole)
    specialized = ("core-spec", "thread-spec")
    if last.keys() >= {*specialized} and not written.intersection(specialized):
        pairs.append(specialized)
    for one, other in pairs:
        raise SbatchError(f"--{one} and --{other} are mutually exclusive")


def _cpus_per_task_or_gpu(last: Mapping[str, Given], version: tuple[int, ...]) -> tuple[set[str], dict[str, str]]:
    """Return the options that do not count because of --cpus-per-gpu, or that option, and texts that change.

    Source: slurm_opt.c:_validate_cpus_per_tres.
    """
    if "cpus-per-gpu" not in last:
        return set(), {}
    tres = last["tres-per-task"].text or "" if "tres-per-task" in last else ""
    as_tres = "cpu" in tres.lower() or ("cpus-per-task" in last and version >= CPUS_SINCE)
    names = {"cpus-per-task", *(["tres-per-task"] if as_tres else [])} & last.keys()
    written = {name for name in names if last[name].how.startswith("-")}
    if written if last["cpus-per-gpu"].how.startswith("-") else names - written:
        raise SbatchError("--cpus-per-task, --tres-per-task=cpu= and --cpus-per-gpu are mutually exclusive")
    if written:
        return {"cpus-per-gpu"}, {}
    kept = ",".join(part for part in tres.split(",") if "cpu" not in part.lower())
    return {"cpus-per-task"}, {"tres-per-task": kept} if tres else {}


def _hint_or_layout(
    last: Mapping[str, Given], written: set[str], version: tuple[int, ...]
) -> tuple[set[str], dict[str, str]]:
    """Return the options that do not count because of --hint, or --hint because of one of them, and texts that change.

    Source: slurm_opt.c:validate_hint_option.
    """
    if "hint" not in last:
        return set(), {}
    binding = last.get("cpu-bind")
    flags = CpuBind(0)
    if binding is not None:
        try:
            _, flags = bindings.cpus(binding.text or "")
        except ValueError as error:
            raise SbatchError(f"{binding.how}: {binding.text!r} is no way to bind tasks") from error
    excluding = {*WITHOUT_HINT, *(SOCKETS if version >= LAST_SINCE else ())}
    bound = bool(flags & ~CpuBind.CPU_BIND_VERBOSE)
    binds = {"cpu-bind"}
    if "hint" in written:
        if written & (excluding | (binds if bound else set())):
            return {"hint"}, {}
        if bound and flags & CpuBind.CPU_BIND_VERBOSE and version >= LAYOUT_SINCE:
            return {*excluding, *SOCKETS}, {"cpu-bind": "verbose"}
        return {*excluding, *SOCKETS, *(binds if bound or version < LAYOUT_SINCE else ())}, {}
    counts = excluding | (binds if bound or version < LAYOUT_SINCE else set())
    return ({"hint"} if counts & written or last.keys() & (counts - SOCKETS) else set()), {}


def _refuse(given: Given) -> None:
    text = given.text or ""
    if given.name == "nodes" and {*",:"} & {*text}:
        raise SbatchError(f"{given.how}: {text!r} is not a valid node count in this release")
    if given.name == "exclusive" and text.lower() == "topo":
        raise SbatchError(f"{given.how}: {text!r} does not exist in this release")
    if given.name == "gres-flags" and text.lower() not in OLD_GRES_FLAGS:
        raise SbatchError(f"{given.how}: {text!r} is not one of {', '.join(OLD_GRES_FLAGS)} in this release")
