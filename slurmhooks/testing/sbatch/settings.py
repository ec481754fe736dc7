# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of sbatch whose argument is a small language of its own.

Source: cpu_frequency.c, proc_args.c and slurm_opt.c.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from slurmhooks.fields.constants import CpuFreq, JobFlag, MemBind
from slurmhooks.testing.option_values import SbatchError, number
from slurmhooks.values import UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Callable

Fields = dict[str, Any]

_GOVERNORS = ("CONSERVATIVE", "ONDEMAND", "PERFORMANCE", "POWERSAVE", "USERSPACE", "SCHEDUTIL")
_LEVELS = ("LOW", "MEDIUM", "HIGHM1", "HIGH")
_HINTS: dict[str, dict[str, Any]] = {
    "compute_bound": {"threads_per_core": 1},
    "memory_bound": {"cores_per_socket": 1, "threads_per_core": 1},
    "multithread": {"ntasks_per_core": UNLIMITED},
    "nomultithread": {"threads_per_core": 1},
}
_GRES_FLAGS = {
    "disable-binding": "GRES_DISABLE_BIND",
    "enforce-binding": "GRES_ENFORCE_BIND",
    "multiple-tasks-per-sharing": "GRES_MULT_TASKS_PER_SHARING",
    "one-task-per-sharing": "GRES_ONE_TASK_PER_SHARING",
}
_MEMORY = {"none": "NONE", "no": "NONE", "rank": "RANK", "local": "LOCAL", "sort": "SORT", "nosort": "", "p": "PREFER",
           "prefer": "PREFER", "v": "VERBOSE", "verbose": "VERBOSE", "q": "", "quiet": "", "map_mem": "MAP",
           "mask_mem": "MASK"}  # fmt: skip
_WHERE = ("NONE", "RANK", "LOCAL", "MAP", "MASK")
"""Of these, the last one counts."""


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
    names = list(_GRES_FLAGS.values())
    fields["bitflags"] = int(fields.get("bitflags", 0)) & ~sum(int(JobFlag[name]) for name in names)
    words = [word for word in text.lower().split(",") if word]
    for word in words:
        if word not in _GRES_FLAGS:
            raise SbatchError(f"{word!r} is not one of {', '.join(_GRES_FLAGS)}")
        flag(_GRES_FLAGS[word])(fields, word)
    for pair in (("one-task-per-sharing", "multiple-tasks-per-sharing"), ("disable-binding", "enforce-binding")):
        if {*pair} <= {*words}:
            raise SbatchError(f"{pair[0]} and {pair[1]} are mutually exclusive")


def frequencies(text: str) -> str:
    """Return the argument of ``--acctg-freq``."""
    for word in filter(None, text.split(",")):
        if not re.match(r"(?:.*(?:energy|task|filesystem|network)=)?[0-9]", word, re.ASCII | re.IGNORECASE):
            raise SbatchError(f"{word!r} is not a number of seconds, such as task=30")
    return text


def hint(fields: Fields, text: str) -> None:
    """``--hint``."""
    for word in text.split(","):
        if word.lower() not in _HINTS:
            raise SbatchError(f"{word!r} is not one of {', '.join(_HINTS)}")
        fields.update(_HINTS[word.lower()])


def cpu_frequency(fields: Fields, text: str) -> None:
    """``--cpu-freq=P1[-P2][:P3]``: a frequency, a range and a governor, or a governor."""
    rate, colon, governor = text.partition(":")
    first, dash, second = rate.partition("-")
    chosen = _governor(governor) if colon else None
    if _is_governor(first):
        fields["cpu_freq_gov"] = _governor(first)
        return
    if dash and chosen is None:
        raise SbatchError("a range of frequencies needs a governor, as low-high:performance")
    fields["cpu_freq_max"] = _rate(second or first)
    if dash:
        fields["cpu_freq_min"] = _rate(first)
    fields["cpu_freq_gov"] = int(CpuFreq["CPU_FREQ_USERSPACE"]) if chosen is None else chosen


def _is_governor(word: str) -> bool:
    return len(word) > 1 and any(name.startswith(word.upper()) for name in _GOVERNORS)


def _governor(word: str) -> int:
    names = [name for name in _GOVERNORS if name.startswith(word.upper())]
    if not names:
        raise SbatchError(f"{word!r} is not a governor such as performance")
    return int(CpuFreq[f"CPU_FREQ_{names[0]}"])


def _rate(word: str) -> int:
    return int(CpuFreq[f"CPU_FREQ_{word.upper()}"]) if word.upper() in _LEVELS else number(word)


def memory_binding(fields: Fields, text: str) -> None:
    """``--mem-bind``."""
    kind = 0
    words = re.split(r",(?![0-9])", text)
    for word in words:
        name, _, values = word.partition(":")
        if name.lower() not in _MEMORY:
            raise SbatchError(f"{name!r} is not one of {', '.join(_MEMORY)}")
        flag = _MEMORY[name.lower()]
        if flag in _WHERE:
            kind &= ~sum(int(MemBind[f"MEM_BIND_{other}"]) for other in _WHERE)
        if flag in ("MAP", "MASK"):
            if not values:
                raise SbatchError(f"{name} needs a list, as {name}:0,1")
            fields["mem_bind"] = values
        if flag:
            kind |= int(MemBind[f"MEM_BIND_{flag}"])
    fields["mem_bind_type"] = kind


def node_layout(fields: Fields, text: str) -> None:
    """``--extra-node-info=SOCKETS[:CORES[:THREADS]]``."""
    names = ("sockets_per_node", "cores_per_socket", "threads_per_core")
    parts = text.split(":")
    if len(parts) > len(names):
        raise SbatchError(f"{text!r} is not SOCKETS[:CORES[:THREADS]]")
    for name, part in zip(names, parts, strict=False):
        if part not in ("", "*"):
            fields[name] = number(part.partition("-")[0])
    fields["_extra"] = True


def gpu_binding(fields: Fields, text: str) -> None:
    """``--gpu-bind``; source: tres_bind.c."""
    counted, ids = r"(single|per_task):[0-9]*[1-9][0-9]*", r"[0-9]+(\*[0-9]+)?"
    masks = r"(0x)?[0-9a-f]+(\*[0-9]+)?"
    kinds = rf"closest.*|none.*|{counted}|map(_gpu)?:{ids}(,{ids})*|mask(_gpu)?:{masks}(,{masks})*"
    if not re.fullmatch(rf"(verbose,)?({kinds})", text, re.ASCII | re.IGNORECASE):
        raise SbatchError(f"{text!r} is not a binding of GPUs such as closest, single:2, map_gpu:0,1")
    fields["tres_bind"] = f"gres/gpu:{text}"


def memory_update(fields: Fields, text: str) -> None:
    """``--mem-update=MARGIN@DELAY``."""
    margin, at, delay = text.partition("@")
    if not at:
        raise SbatchError("--mem-update requires MARGIN@DELAY format")
    fields.update(mem_update_margin=number(margin), mem_update_delay=number(delay))
