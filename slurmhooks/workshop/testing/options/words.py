# SPDX-License-Identifier: GPL-2.0-or-later
"""How Slurm's commands read signals, types of mail and profiles, and print them again.

Source: proc_args.c and acct_gather_profile.c. A function raises ValueError for a text that the command refuses.
"""

from __future__ import annotations

import re
import signal

from slurmhooks.workshop.testing.options.numbers import SPACE, int32, strtol

MAIL = (
    *("ARRAY_TASKS", "INVALID_DEPEND", "BEGIN", "END", "FAIL", "REQUEUE", "STAGE_OUT"),
    *("TIME_LIMIT_50", "TIME_LIMIT_80", "TIME_LIMIT_90", "TIME_LIMIT"),
)
"""Types of mail, in the order in which Slurm prints them."""
MAIL_ALL = MAIL[1:7]
"""The types that ALL stands for."""
PROFILES = ("Energy", "Lustre", "Network", "Task")
SIGNALS = [
    "HUP",
    "INT",
    "QUIT",
    "ABRT",
    "KILL",
    "ALRM",
    "TERM",
    "CHLD",
    "USR1",
    "USR2",
    "PIPE",
    "URG",
    "CONT",
    "STOP",
    "TSTP",
    "TTIN",
    "TTOU",
    "XCPU",
]
"""The signals that Slurm knows by name."""
SIGNAL_SECONDS = 60
"""The time of ``--signal`` by default."""


def mail_types(text: str) -> str:
    """Return the types of ``--mail-type``: Slurm ignores unknown words."""
    given: set[str] = set()
    words = text.upper().split(",")
    if "NONE" in words:
        return "NONE"
    for word in words:
        given |= {*MAIL_ALL} if word == "ALL" else {word} & {*MAIL}
    if not given:
        raise ValueError(text)
    return ",".join(name for name in MAIL if name in given)


def profiles(text: str) -> str:
    """Return the names of ``--profile``, which may occur anywhere in the text."""
    lower = text.lower()
    given = [name for name in PROFILES if name.lower() in lower or "all" in lower]
    if "none" in lower:
        return "None"
    if not given:
        raise ValueError(text)
    return ",".join(given)


def signal_number(text: str) -> int:
    """Return what sig_name2num() makes of a text; 0 for no signal."""
    value, rest = strtol(text)
    if rest != text:
        return 0 if rest.strip(SPACE) else int32(value)
    return _NUMBERS.get(text.strip(SPACE).upper().removeprefix("SIG"), 0)


def signal_name(number: int) -> str:
    """Return what sig_num2name() makes of a number."""
    return next((name for name, value in _NUMBERS.items() if value == number), str(number))


_NUMBERS = {name: int(signal.Signals[f"SIG{name}"]) for name in SIGNALS}


def signal_parts(text: str) -> tuple[str, int, int]:
    """Return the flags, the signal, and the seconds before the end of the job of ``--signal``."""
    match = re.match("[rR]?[bB]?[rR]?", text)
    assert match is not None
    name, at, when = text[match.end() :].removeprefix(":").partition("@")
    number = signal_number(name) % (1 << 16)
    seconds, rest = strtol(when) if at else (SIGNAL_SECONDS, "")
    if not number or rest or not 0 <= seconds < 1 << 16:
        raise ValueError(text)
    return "".join(flag for flag in "RB" if flag in match[0].upper()), number, seconds


def warning(text: str) -> str:
    """Return ``--signal``, with the signal by its name; 60 seconds are the default."""
    flags, number, seconds = signal_parts(text)
    shown = f"{flags}{':' * bool(flags)}{signal_name(number)}"
    return shown if seconds == SIGNAL_SECONDS else f"{shown}@{seconds}"
