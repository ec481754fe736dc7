# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of sbatch whose argument is a small language of its own.

Source: cpu_frequency.c, proc_args.c and slurm_opt.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.fields.constants import CpuFreq, JobFlag, MemBind
from slurmhooks.testing import option_bindings
from slurmhooks.testing.option_printers import GRES_FLAGS_KEPT
from slurmhooks.testing.option_values import SbatchError, number

if TYPE_CHECKING:
    from collections.abc import Callable

Fields = dict[str, Any]

_GOVERNORS = ("CONSERVATIVE", "ONDEMAND", "PERFORMANCE", "POWERSAVE", "USERSPACE", "SCHEDUTIL")
_LEVELS = ("LOW", "MEDIUM", "HIGHM1", "HIGH")
_GRES_FLAGS = {
    "allow-task-sharing": "GRES_ALLOW_TASK_SHARING",
    "disable-binding": "GRES_DISABLE_BIND",
    "enforce-binding": "GRES_ENFORCE_BIND",
    "multiple-tasks-per-sharing": "GRES_MULT_TASKS_PER_SHARING",
    "one-task-per-sharing": "GRES_ONE_TASK_PER_SHARING",
}


def flag(name: str, *others: str) -> Callable[[Fields, str], None]:
    """Return a setter that sets a flag of the request, and clears the flags that it excludes."""

    def set_field(fields: Fields, text: str) -> None:
        flags = int(fields.get("bitflags", 0))
        for other in others:
            flags &= ~int(JobFlag[other])
        fields["bitflags"] = flags | int(JobFlag[name])

    return set_field


def dependency_end(fields: Fields, text: str) -> None:
    """``--kill-on-invalid-dep``."""
    if text.lower() not in ("yes", "no"):
        raise SbatchError(f"{text!r} is neither yes nor no")
    flag("KILL_INV_DEP" if text.lower() == "yes" else "NO_KILL_INV_DEP")(fields, text)


def gres_flags(fields: Fields, text: str) -> None:
    """``--gres-flags``."""
    cleared = sum(int(JobFlag[name]) for word, name in _GRES_FLAGS.items() if word not in GRES_FLAGS_KEPT)
    fields["bitflags"] = int(fields.get("bitflags", 0)) & ~cleared
    for word in filter(None, text.lower().split(",")):
        if word not in _GRES_FLAGS:
            raise SbatchError(f"{word!r} is not one of {', '.join(_GRES_FLAGS)}")
        flag(_GRES_FLAGS[word])(fields, word)


def threads(fields: Fields, text: str) -> None:
    """``--threads-per-core``, from which srun also derives how tasks are bound."""
    fields.update(threads_per_core=number(text), _threads=True)


def cpu_frequency(fields: Fields, text: str) -> None:
    """``--cpu-freq=P1[-P2][:P3]``: a frequency, a range and a governor, or a governor."""
    rates, _, governor = option_bindings.cpu_frequency(text, strict=False).upper().partition(":")
    for name in ("cpu_freq_min", "cpu_freq_max", "cpu_freq_gov"):
        fields.pop(name, None)
    governor = rates if rates in _GOVERNORS else governor
    values = [_rate(rate) for rate in rates.split("-") if rate not in _GOVERNORS]
    if len(values) == 1:
        governor = "USERSPACE"
    fields |= dict(zip(("cpu_freq_min", "cpu_freq_max")[-len(values) :], values, strict=False)) if values else {}
    if governor:
        fields["cpu_freq_gov"] = int(CpuFreq[f"CPU_FREQ_{governor}"])


def _rate(word: str) -> int:
    return int(CpuFreq[f"CPU_FREQ_{word}"]) if word in _LEVELS else int(word)


def memory_binding(fields: Fields, text: str) -> None:
    """``--mem-bind``."""
    fields["_mem_bind"] = option_bindings.memory(text, fields.get("_mem_bind", "unset"))
    words, _, values = fields["_mem_bind"].partition(":")
    names = [word.upper().removesuffix("_MEM") for word in words.split(",") if word != "unset"]
    fields["mem_bind_type"] = sum(int(MemBind[f"MEM_BIND_{name}"]) for name in names)
    fields.pop("mem_bind", None)
    if values:
        fields["mem_bind"] = values


def node_layout(fields: Fields, text: str) -> None:
    """``--extra-node-info=SOCKETS[:CORES[:THREADS]]``."""
    names = ("sockets_per_node", "cores_per_socket", "threads_per_core")
    for name, count in zip(names, option_bindings.layout(text), strict=True):
        fields[name] = count
        if count is None:
            del fields[name]
    # The first one decides how srun binds tasks.
    fields.setdefault("_extra", text.count(":"))


def gpu_binding(fields: Fields, text: str) -> None:
    """``--gpu-bind``."""
    fields["tres_bind"] = f"gres/gpu:{text}"


def memory_update(fields: Fields, text: str) -> None:
    """``--mem-update=MARGIN@DELAY``."""
    margin, delay = option_bindings.memory_update(text)
    fields.update(mem_update_margin=margin, mem_update_delay=delay)
