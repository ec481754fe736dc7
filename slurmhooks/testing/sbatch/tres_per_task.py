# SPDX-License-Identifier: GPL-2.0-or-later
"""Join ``--tres-per-task`` with ``--gpus-per-task`` and ``--cpus-per-task``, and bind tasks to their GRES.

Source: slurm_opt.c:_validate_tres_per_task, _set_tres_per_task_from_sibling_opt and _implicitly_bind_tres_per_task.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slurmhooks.fields.rows import release_of
from slurmhooks.testing.options.numbers import strtol
from slurmhooks.testing.options.values import SbatchError
from slurmhooks.testing.sbatch.releases import LAST_SINCE, LAYOUT_SINCE

if TYPE_CHECKING:
    from collections.abc import Container

    from slurmhooks.testing.sbatch.setters import Fields

LONGEST = 64 << 10
"""Maximum length of a list of TRES in characters."""
OTHERS = ("mem", "energy", "node", "billing", "fs", "vmem", "pages", "bb")
"""TRES that no task has."""


def join(fields: Fields, release: str, variables: Container[str]) -> None:
    """Set the fields that follow from all options about TRES per task.

    Args:
        fields: of all options, with ``_gpus_per_task`` and ``_cpus_given``; they are changed.
        release: of Slurm.
        variables: the options that a variable of the environment sets.

    Raises:
        SbatchError: the command would refuse the options.
    """
    version = release_of(release)
    if len(fields.get("tres_per_task", "")) + len(fields.get("tres_bind", "")) > LONGEST:
        raise SbatchError(f"lists of TRES have more than {LONGEST} characters")  # each is compared with all others
    given = [re.sub("^(gres|license):", r"\1/", part) for part in fields.get("tres_per_task", "").split(",") if part]
    for part in given:
        if part.lower().startswith(OTHERS):
            raise SbatchError(f"--tres-per-task: no task has {part}")
    kinds = [part.rpartition(":") for part in fields.get("_gpus_per_task", "").split(",") if part]
    if version < LAYOUT_SINCE:
        kinds.reverse()  # each one is put before the others
    elif version < LAST_SINCE:
        kinds = kinds[:1]
    for kind, colon, count in kinds:
        own = _Sibling("gpus-per-task", f"gres/gpu{colon}{kind}", strtol(count)[0])
        _join_sibling(given, own, fields, version, variables)
    if "_cpus_given" in fields or "cpus_per_task" not in fields:
        cpus = _Sibling("cpus-per-task", "cpu", fields.get("cpus_per_task"))
        number = _join_sibling(given, cpus, fields, version, variables)
        if number:
            fields["cpus_per_task"] = number
    if given:
        fields["tres_per_task"] = ",".join(given)
        _bind(given, fields, version)


@dataclass(frozen=True)
class _Sibling:
    """An option that sets a number of one TRES; ``count`` is None if it is not given."""

    option: str
    name: str
    count: int | None


def _join_sibling(
    given: list[str], own: _Sibling, fields: Fields, version: tuple[int, ...], variables: Container[str]
) -> int | None:
    """Add the number of another option to TRES, and return the number that is in force.

    A written option wins over a variable.
    """
    same = next((place for place, part in enumerate(given) if own.name.lower() in part.lower()), None)
    if same is None:
        if own.count:
            given.insert(0, f"{own.name}={own.count}")
        return own.count
    after = given[same][given[same].lower().index(own.name.lower()) + len(own.name) + 1 :]
    number = strtol(after)[0]
    if own.count is not None and own.option not in variables:
        if "tres-per-task" not in variables:
            raise SbatchError(f"--tres-per-task={own.name}= and --{own.option} are mutually exclusive")
        if number != own.count:
            given[same] = f"{own.name}={own.count}"
        return own.count
    if number <= 0:
        raise SbatchError(f"--tres-per-task: {given[same]!r} has no number")
    # Before LAST_SINCE, Slurm compares also a number of GPUs with that of CPUs.
    compared = own.count is not None and "tres-per-task" in variables and (own.name == "cpu" or version < LAST_SINCE)
    if compared and number != fields.get("cpus_per_task", 0):
        raise SbatchError(f"variables set {own.name} to {own.count} and {number}")
    return number


def _bind(given: list[str], fields: Fields, version: tuple[int, ...]) -> None:
    """Bind tasks to their GRES, unless options bind them."""
    bound, gpus = fields.get("tres_bind", ""), 0
    for part in given:
        match = re.fullmatch(r"gres/([^:=]+)(?:[:=](?!\d)[^:=]+)?(?:[:=](\d+))?", part)
        if match and match[1] not in bound:
            if match[1] == "gpu" and version >= LAST_SINCE:
                gpus += int(match[2] or 1)
            else:
                bound += f"{'+' if bound else ''}gres/{match[1]}:per_task:{match[2] or 1}"
    if gpus:
        bound += f"{'+' if bound else ''}gres/gpu:per_task:{gpus}"
    if bound:
        fields["tres_bind"] = bound
