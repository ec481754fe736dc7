# SPDX-License-Identifier: GPL-2.0-or-later
"""Read arguments of sbatch's options as values of fields; ``texts`` has what commands print of them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from itertools import groupby
from typing import Any

from slurmhooks.workshop.testing.options.numbers import node_count, strtol

NO_BIT = -1
"""What bit_ffs() and bit_fls() return for a list without counts, which commands refuse only later."""
MOST_NODES = 1 << 14
"""slurm.h MAX_JOB_SIZE_BITMAP: the largest number in a list of counts."""
PERIODS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
"""Units of time, in seconds."""


class SbatchError(ValueError):
    """An option is invalid; sbatch would refuse it, too."""


class OperandError(SbatchError):
    """A word that is neither an option nor its value, where only options are read."""


def moment(text: str, now: float | None = None) -> int:
    """Return a point in time as seconds since the epoch, as parse_time() of Slurm does.

    Args:
        text: date and time in any order, such as ``2030-01-31T12:00``, ``01/31/30-16:00``, ``tomorrow``, ``now+1hour``.
        now: the present time; by default that of the clock.
    """
    present = time.localtime(now)
    date: tuple[int, int, int] | None = None
    clock: tuple[int, int, int] | None = None
    rest = text.partition("\n")[0]
    if match := re.fullmatch(r"uts([0-9]{7,12})", text, re.ASCII | re.IGNORECASE):
        return int(match.group(1))
    while rest := rest.lstrip(" \t-T"):
        matches = ((re.match(pattern, rest, re.ASCII | re.IGNORECASE), reader) for pattern, reader in _PARTS)
        match, reader = next(((match, reader) for match, reader in matches if match), (None, _day))
        if match is None:
            raise SbatchError(f"{text!r} is not a time; write 2030-01-31T12:00, 01/31/30, 16:00, tomorrow, now+2hours")
        rest = rest[match.end() :]
        try:
            found_date, found_clock = reader(match, present)
        except (OverflowError, ValueError, OSError) as error:
            raise SbatchError(f"{text!r} is not a time") from error
        date, clock = found_date or date, found_clock or clock
    if date is None and clock is None:
        return 0
    if date is None:
        assert clock is not None
        later = clock[:2] > (present.tm_hour, present.tm_min)
        date = _date_of(present if later else time.localtime(time.mktime(present) + PERIODS["day"]))
    if not date[0]:
        given = (*date[1:], *(clock or (0, 0, 0))[:2])
        later = given > (present.tm_mon, present.tm_mday, present.tm_hour, present.tm_min)
        date = (present.tm_year + (not later), *date[1:])
    try:
        return int(time.mktime((*date, *(clock or (0, 0, 0)), 0, 0, -1)))
    except (OverflowError, ValueError) as error:
        raise SbatchError(f"{text!r} is not a time") from error


_Read = tuple["tuple[int, int, int] | None", "tuple[int, int, int] | None"]


def _date_of(moment: time.struct_time) -> tuple[int, int, int]:
    return moment.tm_year, moment.tm_mon, moment.tm_mday


def _now(match: re.Match[str], present: time.struct_time) -> _Read:
    change = int(match[2] or 0) * PERIODS[(match[3] or "second").lower()]
    later = time.localtime(time.mktime(present) + (-change if match[1] == "-" else change))
    return _date_of(later), (later.tm_hour, later.tm_min, later.tm_sec)


def _day(match: re.Match[str], present: time.struct_time) -> _Read:
    days = 1 if match[0].lower() == "tomorrow" else 0
    return _date_of(time.localtime(time.mktime(present) + days * PERIODS["day"])), None


def _named(match: re.Match[str], present: time.struct_time) -> _Read:
    return None, (HOURS[match[0].lower()], 0, 0)


def _clock(match: re.Match[str], present: time.struct_time) -> _Read:
    hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
    if match[4] and hour > 12:
        raise SbatchError(f"{match[0]!r} is not a time")
    if match[4]:
        hour = hour % 12 + (12 if match[4].lower() == "pm" else 0)
    if hour > 23 or minute > 59 or second > 59:
        raise SbatchError(f"{match[0]!r} is not a time")
    return None, (hour, minute, second)


def _iso(match: re.Match[str], present: time.struct_time) -> _Read:
    return _valid(int(match[1]), int(match[2]), int(match[3])), None


def _american(match: re.Match[str], present: time.struct_time) -> _Read:
    """MM/DD[/YY] with ``/``, ``.`` or nothing; without a year, the next such moment, for which the year is 0."""
    return _valid(2000 + int(match[3]) if int(match[3] or 0) else 0, int(match[1]), int(match[2])), None


def _valid(year: int, month: int, day: int) -> tuple[int, int, int]:
    if not (1 <= month <= 12 and 1 <= day <= 31):
        raise SbatchError(f"{year}-{month}-{day} is not a date")
    return year, month, day


HOURS = {"midnight": 0, "elevenses": 11, "noon": 12, "fika": 15, "teatime": 16}
_PARTS: tuple[tuple[str, Callable[[re.Match[str], time.struct_time], _Read]], ...] = (
    (r"now\s*(?:([+-])\s*([0-9]{1,10})\s*(second|minute|hour|day|week)?s?)?", _now),
    ("today|tomorrow", _day),
    ("|".join(HOURS), _named),
    (r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?\s*(am|pm)?", _clock),
    (r"([0-9]{4})-([0-9]{2})-([0-9]{1,2})", _iso),
    (r"([0-9]{2}|[0-9](?![0-9]))[/.]?([0-9]{2}|[0-9](?![0-9]))(?:[/.]?([0-9]{2})|[/.])?", _american),
)


PIECE = re.compile(r"""\\.?|["'#]|[ \t\n\r\v\f]+|[^\\"'# \t\n\r\v\f]+""", re.DOTALL)
"""A backslash with what follows it, a quote, a "#", white space, or anything else."""
SEPARATOR = re.compile(r"(?:hetjob|packjob)(?=[ \t\n\r\v\f]|$)", re.ASCII | re.IGNORECASE)
"""A word that ends the options of a component of a heterogeneous job."""


def words_of(line: str) -> list[str]:
    """Return the words of a line as sbatch splits it: with quotes, backslashes and ``#`` comments.

    Words after an empty one, such as ``""``, and after ``hetjob`` are not read: get_argument() of sbatch takes these
    for the end of the line.

    Raises:
        SbatchError: a quote is not closed, or a word begins with ":".
    """
    words: list[str] = []
    word = quote = ""
    begins = True
    for piece in PIECE.finditer(line):
        sign = piece[0][0]
        if begins and sign not in " \t\n\r\v\f":
            begins = False
            if SEPARATOR.match(line, piece.start()):
                return words
            if sign == ":":
                raise SbatchError(f"{line.strip()}: unexpected ':'")
        if sign == "\\":
            word += piece[0][1:]
        elif quote:
            quote, word = ("", word) if sign == quote else (quote, word + piece[0])
        elif sign in "\"'":
            quote = sign
        elif sign == "#":
            break
        elif sign not in " \t\n\r\v\f":
            word += piece[0]
        elif not begins:
            if not word:
                return words
            words.append(word)
            word, begins = "", True
    if quote:
        raise SbatchError(f"{line.strip()}: no closing {quote}")
    return words + ([word] if word else [])


def number(text: str) -> int:
    """Return a number as C reads it.

    Raises:
        SbatchError: something follows it.
    """
    value, rest = strtol(text)
    if rest:
        raise SbatchError(f"{text!r} is not a number")
    return value


def nodes(fields: dict[str, Any], text: str) -> None:
    """``--nodes``: a number, a range, or a list of acceptable numbers."""
    fields.pop("job_size_str", None)
    if "," in text or ":" in text:
        counts = node_counts(text)
        runs = [[count for _, count in run] for _, run in groupby(enumerate(counts), lambda pair: pair[1] - pair[0])]
        shown = ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
        first, last = (counts[0], counts[-1]) if counts else (NO_BIT, NO_BIT)
        fields.update(min_nodes=first, max_nodes=last, job_size_str=shown)
        return
    least, dash, most = text.partition("-")
    fields["min_nodes"] = node_count(least)
    if dash:
        fields["min_nodes"] = max(1, fields["min_nodes"]) if fields["min_nodes"] < 0 else fields["min_nodes"]
    fields["max_nodes"] = node_count(most) if dash else fields["min_nodes"]
    if fields["min_nodes"] < 0 or (fields["max_nodes"] and fields["max_nodes"] < fields["min_nodes"]):
        raise SbatchError(f"{text!r} is not a number of nodes")


def node_counts(text: str) -> list[int]:
    """Return the numbers of ``1,4-8`` or ``4-8:2``, which Slurm does not combine; a step never reaches the last one."""
    words = [word for word in re.split("[-,:]", text) if word]
    if not all(not strtol(word)[1] and strtol(word)[0] < MOST_NODES for word in words):
        raise SbatchError(f"{text!r} is not a list of counts of nodes")
    if ":" in text:
        match = re.fullmatch(r"([0-9]+)-([0-9]+):([0-9]+)", text)
        if match is None or int(match[2]) < int(match[1]) or not int(match[3]):
            raise SbatchError(f"{text!r} is not LEAST-MOST:STEP")
        return list(range(int(match[1]), int(match[2]), int(match[3])))
    counts: set[int] = set()
    for item in () if text.startswith(",") else text.split(","):
        bounds = [int(re.sub("[^0-9]", "", part) or 0) for part in item.split("-")]
        counts.update(range(bounds[-2] if len(bounds) > 1 else bounds[0], bounds[-1] + 1))
    return sorted(counts)
