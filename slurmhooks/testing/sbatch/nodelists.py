# SPDX-License-Identifier: GPL-2.0-or-later
"""Read lists of nodes from files: ``--nodefile``, ``--nodelist`` and ``--exclude`` with a "/", and SLURM_HOSTFILE.

Source: slurm_opt.c:_validate_nodelist, proc_args.c:verify_node_list and allocate.c:slurm_read_hostfile.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from slurmhooks.fields.constants import TaskDist
from slurmhooks.fields.rows import release_of
from slurmhooks.job_submit.strings import collapse_nodes
from slurmhooks.testing.options.bindings import MOST_REPEATED
from slurmhooks.testing.options.numbers import strtol
from slurmhooks.testing.options.values import SbatchError
from slurmhooks.testing.sbatch.releases import LAYOUT_SINCE
from slurmhooks.testing.sbatch.setters import text_in

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from slurmhooks.testing.sbatch.setters import Fields

HOSTFILE = "SLURM_HOSTFILE"
"""The variable that names a file with the nodes of an arbitrary distribution."""


def read_files(
    fields: Fields,
    program: str,
    release: str,
    variables: Container[str],
    environment: Mapping[str, str],
    work_dir: str,
) -> None:
    """Replace the names of files in fields by the nodes in them.

    Args:
        fields: those that options have set; they are changed.
        program: the command.
        release: of Slurm.
        variables: the options that a variable of the environment sets.
        environment: of the command.
        work_dir: where the command runs.

    Raises:
        SbatchError: a file cannot be read, or has too few names.
    """
    old = release_of(release) < LAYOUT_SINCE
    if "_nodefile" in fields:
        fields["req_nodes"] = _nodes_in(os.path.join(work_dir, fields["_nodefile"]), 0, old=old)
    elif "req_nodes" not in fields and environment.get(HOSTFILE) is not None:
        name = environment[HOSTFILE]
        fields["req_nodes"] = name if "/" in name else f"./{name}"
        fields["task_dist"] = int(TaskDist.SLURM_DIST_ARBITRARY)
    for field in ("req_nodes", "exc_nodes"):
        if "/" in (fields.get(field) or ""):
            most = _tasks_or_nodes(fields, program, variables) if _is_arbitrary(fields) else None
            fields[field] = _nodes_in(os.path.join(work_dir, fields[field]), most, old=old)


def _is_arbitrary(fields: Fields) -> bool:
    return bool(fields.get("task_dist") == TaskDist.SLURM_DIST_ARBITRARY)


def _tasks_or_nodes(fields: Fields, program: str, variables: Container[str]) -> int | None:
    """Return how many names an arbitrary distribution needs: as many as tasks, or else nodes, are given."""
    own = {"ntasks", "nodes"} if program != "srun" else {name for name in ("ntasks", "nodes") if name not in variables}
    if "num_tasks" in fields and "ntasks" in own:
        return int(fields["num_tasks"])
    if "min_nodes" in fields and "nodes" in own:
        return fields.get("max_nodes") or fields["min_nodes"] or None
    return None


def _nodes_in(path: str, most: int | None, *, old: bool) -> str:
    """Return the names in a file, of which ``most`` are read and needed; None: all.

    ``n1*3`` stands for three times n1; ``#`` begins a comment. Old releases read whole lines.
    """
    names: list[str] = []
    for line in text_in(path).split("\n"):
        line = re.sub(r"(?<!\\)#.*", "", line).replace("\\#", "#")
        if line and not (line[0].isalnum() and line[0].isascii()):
            raise SbatchError(f"{path}: {line!r} is not a list of nodes")
        for word in filter(None, map(str.strip, line.split(","))):
            name, _, times = word.partition("*")
            count = strtol(times)[0]
            if count > MOST_REPEATED:
                raise SbatchError(f"{path}: {word!r} is too often the same node")
            if count:
                names += [name] * (count if most is None or old else min(count, most - len(names)))
            else:
                names.append(word)
            if len(names) == most and not old:
                break
        if line and len(names) == most:
            break
    if len(names) < max(most or 0, 1):
        raise SbatchError(f"{path}: too few names of nodes")
    return collapse_nodes(names)
