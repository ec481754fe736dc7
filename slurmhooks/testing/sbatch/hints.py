# SPDX-License-Identifier: GPL-2.0-or-later
"""Apply ``--hint`` and what srun derives from options about sockets, cores and threads: how tasks are bound to CPUs.

Source: proc_args.c:verify_hint, slurm_opt.c:_validate_threads_per_core_option and validate_hint_option, opt.c of srun.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.fields.constants import CpuBind
from slurmhooks.fields.rows import release_of
from slurmhooks.testing.options import bindings
from slurmhooks.testing.options.values import SbatchError
from slurmhooks.testing.sbatch.releases import LAYOUT_SINCE
from slurmhooks.values import UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Mapping

Fields = dict[str, Any]

NONE = -1
_LEVELS = {0: CpuBind.CPU_BIND_TO_SOCKETS, 1: CpuBind.CPU_BIND_TO_CORES, 2: CpuBind.CPU_BIND_TO_THREADS}
"""How srun binds tasks with ``--extra-node-info``, by the number of its colons."""
_HINTS: Mapping[str, tuple[dict[str, Any], CpuBind]] = {
    "compute_bound": (
        {"sockets_per_node": None, "cores_per_socket": None, "threads_per_core": 1},
        CpuBind.CPU_BIND_TO_CORES,
    ),
    "memory_bound": ({"cores_per_socket": 1, "threads_per_core": 1}, CpuBind.CPU_BIND_TO_CORES),
    "multithread": ({"threads_per_core": None, "ntasks_per_core": UNLIMITED}, CpuBind.CPU_BIND_TO_THREADS),
    "nomultithread": (
        {"threads_per_core": 1},
        CpuBind.CPU_BIND_TO_THREADS | CpuBind.CPU_BIND_ONE_THREAD_PER_CORE,
    ),
}
"""The fields that each hint sets, or unsets, and how it binds tasks."""


def check(fields: Fields, text: str) -> None:
    """Check ``--hint``, which :func:`apply` applies after all other options."""
    for word in text.lower().split(","):
        if word not in _HINTS:
            raise SbatchError(f"{word!r} is not one of {', '.join(_HINTS)}")
    fields["_hint"] = text.lower()


def cpus(text: str, flags: CpuBind = bindings.NOT_BOUND) -> tuple[str | None, CpuBind]:
    """Read ``--cpu-bind`` as :func:`bindings.cpus`, which srun does once all options are known.

    Raises:
        SbatchError: srun would refuse it.
    """
    try:
        return bindings.cpus(text, flags)
    except ValueError as error:
        raise SbatchError(f"--cpu-bind: srun refuses {text!r}") from error


def apply(fields: Fields, program: str, release: str) -> None:
    """Apply the hint to fields, and set those of srun that say how tasks are bound.

    Args:
        fields: those of all options, with ``_hint`` and ``_cpu_bind``.
        program: ``sbatch``, ``srun`` or ``salloc``.
        release: of Slurm.

    Raises:
        SbatchError: srun would refuse ``--cpu-bind``.
    """
    binding, old = fields.get("_cpu_bind"), release_of(release) < LAYOUT_SINCE
    flags = _LEVELS.get(fields.get("_extra", NONE), CpuBind(0))
    if "_threads" in fields and (binding in (None, "verbose") or (not old and binding.lower() in ("v", "verbose"))):
        flags = CpuBind.CPU_BIND_TO_THREADS
    values, flags = (None, flags) if binding is None else cpus(binding, flags)
    for word in fields.get("_hint", "").lower().split(",") if "_hint" in fields else ():
        of_hint, bound = _HINTS[word]
        fields |= of_hint
        for name in [name for name, value in of_hint.items() if value is None]:
            del fields[name]
        flags |= bound
        if word == "multithread":
            flags &= ~CpuBind.CPU_BIND_ONE_THREAD_PER_CORE
    if program != "srun":
        return
    per_core = fields.get("ntasks_per_core")
    if per_core is not None and not flags & bindings.CPUS_OF_KIND:
        flags |= CpuBind.CPU_BIND_TO_CORES if old or per_core == 1 else CpuBind.CPU_BIND_TO_THREADS
    if fields.get("ntasks_per_socket") and not flags & bindings.CPUS_OF_KIND:
        flags |= CpuBind.CPU_BIND_TO_SOCKETS
    if values:
        fields["cpu_bind"] = values
    if flags:
        fields["cpu_bind_type"] = int(flags)
