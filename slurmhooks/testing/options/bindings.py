# SPDX-License-Identifier: GPL-2.0-or-later
"""How Slurm's commands read options whose value is a small language of its own, and print them again.

Source: slurm_resource_info.c, tres_bind.c, tres_frequency.c, cpu_frequency.c, acct_gather.c and proc_args.c. Each
function raises ValueError for a text that the command refuses.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slurmhooks.fields.constants import CpuBind, CpuFreq
from slurmhooks.testing.options.numbers import INT_MAX, LONG_MAX, int32, minutes, strtol

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_REPEATED = 1 << 16
"""No list of CPUs or memory is repeated more often; Slurm would run out of memory."""
_MEMORY = {
    "p": "prefer",
    "prefer": "prefer",
    "sort": "sort",
    "v": "verbose",
    "verbose": "verbose",
    "no": "none",
    "none": "none",
    "rank": "rank",
    "local": "local",
}
_MEMORY_FLAGS = ("verbose", "prefer", "sort")
_MEMORY_CLEARED = {"nosort": "sort", "q": "verbose", "quiet": "verbose"}
_LISTS = {"map_mem": "map_mem", "mapmem": "map_mem", "mask_mem": "mask_mem", "maskmem": "mask_mem"}
_CPU_LISTS = {
    "map_cpu": CpuBind.CPU_BIND_MAP,
    "mask_cpu": CpuBind.CPU_BIND_MASK,
    "map_ldom": CpuBind.CPU_BIND_LDMAP,
    "mask_ldom": CpuBind.CPU_BIND_LDMASK,
}
NOT_BOUND = CpuBind(0)
CPUS_NAMED = sum(_CPU_LISTS.values(), CpuBind.CPU_BIND_NONE | CpuBind.CPU_BIND_LDRANK)
"""The flags of which ``--cpu-bind`` sets one."""
CPUS_OF_KIND = (
    CpuBind.CPU_BIND_TO_SOCKETS | CpuBind.CPU_BIND_TO_CORES | CpuBind.CPU_BIND_TO_THREADS | CpuBind.CPU_BIND_TO_LDOMS
)
"""The same for socket, core, thread and ldom."""
_GPU_LISTS = {"map_gpu:": 8, "map:": 8, "mask_gpu:": 9, "mask:": 9}
MAP_SINCE, MAP_FIXED = (23, 11), (26, 5)
"""Since when ``--gpu-bind`` has map and mask, and reads their lists as documented."""
_GOVERNORS = {
    "co": "Conservative", "perf": "Performance", "pow": "PowerSave", "user": "UserSpace", "onde": "OnDemand",
    "sche": "SchedUtil",
}  # fmt: skip
_LEVELS = {"lo": "Low", "him1": "Highm1", "highm1": "Highm1", "hi": "High", "med": "Medium"}


def accelerators(text: str) -> str:
    """Return the letters of ``--accel-bind``."""
    letters = "".join(letter for letter in "vgn" if letter in text)
    if not letters:
        raise ValueError(text)
    return letters


def memory(text: str, before: str = "unset") -> str:
    """Return ``--mem-bind``, which keeps what an earlier one has set, except its list; ``before`` is that one."""
    words = before.partition(":")[0].split(",")
    flags = {word for word in words if word in _MEMORY_FLAGS}
    place, values = next((word for word in words if word not in ("unset", *_MEMORY_FLAGS)), ""), None
    for word in _words(text):
        lower = word.lower()
        listed = next((kind for begin, kind in _LISTS.items() if lower.startswith(begin)), None)
        if listed is not None:
            parts = re.split("[:=]", word)
            place, values = listed, _expanded(parts[1] if len(parts) > 1 else "", hexadecimal=listed == "mask_mem")
        elif lower in _MEMORY_CLEARED:
            flags.discard(_MEMORY_CLEARED[lower])
        elif lower not in _MEMORY:
            raise ValueError(text)
        elif _MEMORY[lower] in _MEMORY_FLAGS:
            flags.add(_MEMORY[lower])
        else:
            place, values = _MEMORY[lower], None
    shown = ",".join([*(flag for flag in _MEMORY_FLAGS if flag in flags), *filter(None, [place])])
    return (shown or "unset") + (f":{values}" if values else "")


def _words(text: str) -> list[str]:
    """Split a text at its commas, unless a number follows."""
    return re.split(r",(?![0-9]|[0-9a-fA-F]*(?:,|\Z))", text)


def cpus(text: str, flags: CpuBind = NOT_BOUND) -> tuple[str | None, CpuBind]:
    """Return what slurm_verify_cpu_bind() makes of ``--cpu-bind``: the list, or the text without one, and the flags.

    Args:
        text: the argument.
        flags: those from before.
    """
    values: str | None = text
    for word in _words(text):
        lower = word.lower()
        listed = next((name for name in _CPU_LISTS if lower.startswith((name, name.replace("_", "", 1)))), None)
        if listed is not None:
            parts = re.split("[:=]", word)
            values = _expanded(parts[1] if len(parts) > 1 else "", hexadecimal=listed.startswith("mask"))
            flags = flags & ~CPUS_NAMED | _CPU_LISTS[listed]
        elif lower in ("q", "quiet"):
            flags &= ~CpuBind.CPU_BIND_VERBOSE
        elif lower in ("v", "verbose", "one_thread"):
            flags |= CpuBind.CPU_BIND_ONE_THREAD_PER_CORE if lower == "one_thread" else CpuBind.CPU_BIND_VERBOSE
        elif lower in ("no", "none", "rank", "rank_ldom"):
            values = None
            if lower != "rank":
                flags = flags & ~CPUS_NAMED | CpuBind[f"CPU_BIND_{'LDRANK' if lower == 'rank_ldom' else 'NONE'}"]
        elif lower.removesuffix("s") in ("socket", "core", "thread", "ldom"):
            flags = flags & ~CPUS_OF_KIND | CpuBind[f"CPU_BIND_TO_{lower.removesuffix('s').upper()}S"]
        else:
            raise ValueError(text)
    return values or None, flags


def _expanded(text: str, *, hexadecimal: bool) -> str:
    """Return a list in which an item may be repeated, as in ``0*2``."""
    items: list[str] = []
    if not text:
        raise ValueError(text)
    for word in filter(None, text.split(",")):
        item, star, times = (word.removeprefix("0x") if hexadecimal else word).partition("*")
        if not re.fullmatch("[0-9a-fA-F]*" if hexadecimal else "[0-9]*", item):
            raise ValueError(text)
        if star and not (re.fullmatch("[0-9]+", times) and 0 < int(times) < MOST_REPEATED):
            raise ValueError(text)
        items += [item] * (int(times) if star else 1)
    return ",".join(items)


def gpus(text: str, release: tuple[int, ...]) -> str:
    """Check ``--gpu-bind``."""
    binding, *others = text.split("+") if release >= MAP_SINCE else [text]
    lower = binding.lower().removeprefix("verbose,")
    rest = binding[len(binding) - len(lower) :]
    kind = next((kind for kind in _GPU_LISTS if lower.startswith(kind)), None)
    number = next((rest[len(kind) :] for kind in ("per_task:", "single:") if lower.startswith(kind)), None)
    words = ("closest", "none") if release >= MAP_SINCE else ("c", "n")
    if number is not None:
        if not 0 <= strtol(number)[0] < LONG_MAX:
            raise ValueError(text)
    elif kind is not None and (release >= MAP_SINCE or kind.endswith("_gpu:")):
        # Releases before MAP_FIXED skip as many characters of "map:" as of "map_gpu:".
        begin = len(kind) if release >= MAP_FIXED else _GPU_LISTS[kind]
        _check_numbers(rest[begin:], 16 if kind.startswith("mask") else 10)
    elif not lower.startswith(words):
        raise ValueError(text)
    for other in filter(None, others):
        resource, colon, binding = other.partition(":")
        if not colon or resource != "gres/gpu":
            raise ValueError(text)
        gpus(binding, release)
    return text


def _check_numbers(text: str, base: int) -> None:
    for word in filter(None, text.split(",")):
        word = word.removeprefix("0x") if base == 16 else word
        value, rest = strtol(word, base)
        if not re.fullmatch("[0-9*]*" if base == 10 else "[0-9a-fA-F*]*", word) or value == LONG_MAX:
            raise ValueError(text)
        if rest.startswith("*"):
            value, rest = strtol(rest[1:])
        if rest or value == LONG_MAX:
            raise ValueError(text)


def gpu_frequency(text: str) -> str:
    """Check ``--gpu-freq``."""
    for number, word in enumerate(filter(None, f"gpu:{text}".split(";"))):
        name, colon, rates = word.partition(":")
        if not colon or name != "gpu" or not rates:
            raise ValueError((text, number))
        for rate in filter(None, rates.split(",")):
            kind, equals, value = rate.partition("=")
            if not (rate == "verbose" or (not equals and _is_rate(rate)) or (kind == "memory" and _is_rate(value))):
                raise ValueError(text)
    return text


def _is_rate(text: str) -> bool:
    if text[:1].isdigit() and text[:1].isascii():
        value, rest = strtol(text)
        return value < LONG_MAX and not rest
    return text in ("low", "medium", "high", "highm1")


def cpu_frequency(text: str, *, strict: bool) -> str:
    """Return ``--cpu-freq=P1[-P2][:P3]``, for any slurm.conf that permits all governors.

    Args:
        text: the argument.
        strict: a range needs a governor other than UserSpace, and nothing may follow a number.
    """
    head, colon, governor = text.partition(":")
    first, dash, second = text.partition("-")
    first, second = first if dash else head, second.partition(":")[0]
    alone = _by_begin(first, _GOVERNORS)
    if alone is not None:
        if colon or dash:
            raise ValueError(text)
        return alone
    least = _rate(first, strict=strict)
    if not dash and not colon:
        return _shown(least)
    chosen = _by_begin(governor, _GOVERNORS)
    if chosen is None and (colon or strict):
        raise ValueError(text)
    if (strict and chosen == "UserSpace") if dash else not strict or chosen != "UserSpace":
        raise ValueError(text)
    if not dash:
        return _shown(least)
    most = _rate(second, strict=strict)
    if most < least:
        raise ValueError(text)
    return f"{_shown(least)}-{_shown(most)}" + (f":{chosen}" if chosen else "")


def _by_begin(text: str, names: Mapping[str, str]) -> str | None:
    return next((name for begin, name in names.items() if text.lower().startswith(begin)), None)


def _rate(text: str, *, strict: bool) -> int:
    level = _by_begin(text, _LEVELS)
    value, rest = (int(CpuFreq[f"CPU_FREQ_{level.upper()}"]), "") if level else strtol(text)
    if (rest and strict) or not value % (1 << 32):
        raise ValueError(text)
    return value % (1 << 32)


def _shown(rate: int) -> str:
    names = {int(CpuFreq[f"CPU_FREQ_{level.upper()}"]): level for level in _LEVELS.values()}
    return names.get(rate, "Unknown" if rate >> 31 else str(rate))


def memory_update(text: str) -> tuple[int, int]:
    """Return the margin, and the delay in minutes, of ``--mem-update=MARGIN@DELAY``."""
    margin, at, delay = text.partition("@")
    values = strtol(margin)[0], minutes(delay)
    if not at or strtol(margin)[1] or not all(0 < value < 1 << 16 for value in values):
        raise ValueError(text)
    return values


def account_frequency(text: str) -> str:
    """Check ``--acctg-freq``."""
    for word in filter(None, text.split(",")):
        numbers = [word]
        for kind in ("energy=", "task=", "filesystem=", "network="):
            _, found, number = word.lower().partition(kind)
            numbers += [number] if found else []
        if not any(int32(strtol(number)[0]) != -1 and strtol(number)[1] != number for number in numbers):
            raise ValueError(text)
    return text


def distribution(text: str, environment: Mapping[str, str]) -> str:
    """Return ``--distribution``."""
    if text.lower().startswith("plane"):
        given = text.partition("=")[2] if "=" in text else environment.get("SLURM_DIST_PLANESIZE", "")
        size, rest = strtol(given)
        if rest or not 0 < size <= INT_MAX:
            raise ValueError(text)
        return f"plane={size}"
    kind, _, flag = text.lstrip(",").partition(",") if not text.startswith(",") else ("", "", "")
    parts = [part for part in kind.lower().split(":") if part]
    for place, part in enumerate(parts[:3]):
        if part == "*":
            parts[place] = parts[1] if place == 2 else ("block", "cyclic")[place]
    flag = flag.lower()
    if parts in (["pack"], ["nopack"]) and not flag:
        return parts[0]
    parts = ["arbitrary"] if parts == ["hostfile"] else parts
    named = parts == ["arbitrary"] or (
        0 < len(parts) < 4
        and parts[0] in ("block", "cyclic")
        and all(part in ("block", "cyclic", "fcyclic") for part in parts[1:])
    )
    if not named or flag not in ("", "pack", "nopack"):
        raise ValueError(text)
    return ":".join(parts) + (f",{flag}" if flag else "")


def layout(text: str) -> list[int | None]:
    """Return the sockets, cores and threads of ``--extra-node-info``; None: any number.

    Raises:
        ValueError: the command ends.
    """
    return [_least(part) for part in (*text.split(":"), "", "", "")[:3]]


def _least(text: str) -> int | None:
    """Return the least number of ``2``, ``2-4`` or ``*``."""
    if not text or text.startswith("*"):
        return None
    least, rest = _scaled(text)
    if (rest and not rest.startswith("-")) or not 0 <= least <= INT_MAX:
        raise ValueError(text)
    if rest:
        most, rest = _scaled(rest[1:])
        if (rest and not rest.startswith("-")) or not 0 < most <= INT_MAX:
            raise ValueError(text)
    return least


def _scaled(text: str) -> tuple[int, str]:
    value, rest = strtol(text)
    factor = {"k": 1 << 10, "m": 1 << 20}.get(rest[:1].lower(), 1)
    return value * factor, rest[1:] if factor > 1 else rest
