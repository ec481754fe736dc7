# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm's constants and error codes, with their names in slurm.h and slurm_errno.h.

In slurmctld's workers, names and numbers are those of the running release, which the build reads from its headers. In
other processes (tests, ``slurmhooks try``) they are those in the source files of this package, which are of the newest
release that slurmhooks supports; there an error code is its own name, which ``Reject`` accepts.

Each constant is also an attribute of the module: ``constants.MAIL_JOB_END``, ``constants.ESLURM_INVALID_QOS``.
"""

from __future__ import annotations

from enum import Enum, IntEnum, IntFlag
from typing import TYPE_CHECKING, Any, Protocol

from slurmhooks.fields.constants.records import (
    JobState,
    JobStateFlag,
    NodeState,
    NodeStateFlag,
    PartitionFlag,
    PartitionState,
    PreemptMode,
    QosFlag,
    ReservationFlag,
    StateReason,
)
from slurmhooks.fields.constants.release import GROUPS
from slurmhooks.fields.constants.requests import (
    AllocHold,
    CpuBind,
    CpuFreq,
    JobFlag,
    MailType,
    MemBind,
    OpenMode,
    PowerFlag,
    Profile,
    Shared,
    TaskDist,
    TaskDistFlag,
    WarnFlag,
    X11Flag,
)
from slurmhooks.handlers.codes import unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ESLURM",
    "KINDS",
    "NUMBERS",
    "AllocHold",
    "CpuBind",
    "CpuFreq",
    "JobFlag",
    "JobState",
    "JobStateFlag",
    "MailType",
    "MemBind",
    "NodeState",
    "NodeStateFlag",
    "OpenMode",
    "PartitionFlag",
    "PartitionState",
    "PowerFlag",
    "PreemptMode",
    "Profile",
    "QosFlag",
    "ReservationFlag",
    "Shared",
    "StateReason",
    "TaskDist",
    "TaskDistFlag",
    "WarnFlag",
    "X11Flag",
]


class _Codes(Protocol):
    """Error codes by name: numbers in workers, elsewhere the names themselves."""

    def __getattr__(self, name: str) -> int | str: ...


class _CodeNumbers:
    """Returns the number of an error code for the attribute with its name. An enumeration would take longer to make."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self.__members__ = numbers

    def __getattr__(self, name: str) -> int:
        try:
            return self.__members__[name]
        except KeyError:
            raise AttributeError(f"this release has no error code {name!r}{unknown(name) or ''}") from None


class _CodeNames:
    """Returns the name of an error code for the attribute with this name."""

    def __getattr__(self, name: str) -> str:
        similar = unknown(name)
        if similar is not None:
            raise AttributeError(f"no error code of Slurm is called {name!r}{similar}")
        return name


ESLURM: _Codes = _CodeNumbers(GROUPS["ESLURM"]) if GROUPS else _CodeNames()
"""The error codes of slurm_errno.h, for ``Reject(text, code=ESLURM.ESLURM_INVALID_ACCOUNT)``."""

KINDS: dict[str, type[Enum]] = {
    name: kind
    for name, kind in vars().items()
    if isinstance(kind, type) and issubclass(kind, (IntEnum, IntFlag)) and kind.__module__ != "enum"
}
"""The enumerations, by name."""

NUMBERS = {
    "CORE_SPEC_THREAD": 1 << 15,
    "MEM_PER_CPU": 1 << 63,
    "NICE_OFFSET": 1 << 31,
    **{f"NO_VAL{width}": (1 << bits) - 2 for width, bits in (("8", 8), ("16", 16), ("", 32), ("64", 64))},
    **{f"INFINITE{width}": (1 << bits) - 1 for width, bits in (("8", 8), ("16", 16), ("", 32), ("64", 64))},
}
"""Special numbers of slurm.h, which views convert: handlers see None, UNLIMITED or plain numbers instead."""


def __getattr__(name: str) -> Any:
    """Return a constant by its name, without its enumeration."""
    for kind in KINDS.values():
        if name in kind.__members__:
            return kind[name]
    if name in NUMBERS:
        return NUMBERS[name]
    if not name.startswith("_"):
        try:
            return getattr(ESLURM, name)
        except AttributeError:
            pass
    raise AttributeError(f"no constant of Slurm is called {name!r}")
