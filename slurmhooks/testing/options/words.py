# SPDX-License-Identifier: GPL-2.0-or-later
"""How Slurm's commands read signals, types of mail and profiles, and print them again.

Source: proc_args.c and acct_gather_profile.c. A function raises ValueError for a text that the command refuses.
"""

from __future__ import annotations

import re
import signal

from slurmhooks.testing.options.numbers import SPACE, int32, strtol

Release = tuple[int, ...]
SINCE_26_05 = (26, 5)
NEW_SIGNALS, NEW_SIGNALS_SINCE = ("CHLD", "PIPE"), (23, 11)
"""Signals that have names since then."""
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


def signal_number(text: str, release: Release) -> int:
    """Return what sig_name2num() makes of a text; 0 for no signal."""
    value, rest = strtol(text)
    if rest != text:
        return 0 if rest.strip(SPACE) else int32(value)
    return _signals(release).get(text.strip(SPACE).upper().removeprefix("SIG"), 0)


def signal_name(number: int, release: Release) -> str:
    """Return what sig_num2name() makes of a number."""
    return next((name for name, value in _signals(release).items() if value == number), str(number))


def _signals(release: Release) -> dict[str, int]:
    left_out = NEW_SIGNALS if release < NEW_SIGNALS_SINCE else ()
    return {name: int(signal.Signals[f"SIG{name}"]) for name in SIGNALS if name not in left_out}


def signal_parts(text: str, release: Release, command: str) -> tuple[str, int, int]:
    """Return the flags, the signal, and the seconds before the end of the job of ``--signal``."""
    match = re.match("[rR]?[bB]?[rR]?" if command == "sbatch" or release >= SINCE_26_05 else "[rR]?", text)
    assert match is not None
    name, at, when = text[match.end() :].removeprefix(":").partition("@")
    number = signal_number(name, release) % (1 << 16)
    seconds, rest = strtol(when) if at else (SIGNAL_SECONDS, "")
    if not number or rest or not 0 <= seconds < 1 << 16:
        raise ValueError(text)
    return "".join(flag for flag in "RB" if flag in match[0].upper()), number, seconds


def warning(text: str, release: Release, command: str) -> str:
    """Return ``--signal``, with the signal by its name; 60 seconds are the default."""
    flags, number, seconds = signal_parts(text, release, command)
    shown = f"{flags}{':' * bool(flags)}{signal_name(number, release)}"
    return shown if seconds == SIGNAL_SECONDS else f"{shown}@{seconds}"


def kill_command(text: str, release: Release, command: str) -> str:
    """Return the signal of ``--kill-command``."""
    if not (number := signal_number(text, release)):
        raise ValueError(text)
    return signal_name(number, release)


def ignored_signals(text: str, release: Release, command: str) -> str:
    """Return ``--ignore-signals``."""
    numbers = {signal_number(word, release) for word in text.split(",") if word}
    if not numbers or not all(0 < number < 64 for number in numbers):
        raise ValueError(text)
    return ",".join(signal_name(number, release) for number in sorted(numbers))
