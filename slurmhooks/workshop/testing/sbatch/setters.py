# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions that set fields of a submission from the argument of an option: makers of such functions, then single ones.

Most texts that a command refuses end before, in :func:`~slurmhooks.workshop.testing.options.texts.printed`.

Source: slurm_opt.c:slurm_opt_create_job_desc, sbatch.c:_fill_job_desc_from_opts, cpu_frequency.c and proc_args.c.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slurmhooks.fields.constants import JobFlag, Profile, WarnFlag
from slurmhooks.values import NO_VAL, UNLIMITED
from slurmhooks.workshop.testing.options.numbers import NEVER, megabytes, minutes, seconds
from slurmhooks.workshop.testing.options.texts import printed
from slurmhooks.workshop.testing.options.values import SbatchError, number
from slurmhooks.workshop.testing.options.words import profiles, signal_parts

Fields = dict[str, Any]
Setter = Callable[[Fields, str], None]

LIMITS = ("CPU", "FSIZE", "DATA", "STACK", "CORE", "RSS", "NPROC", "NOFILE", "MEMLOCK", "AS")
PROFILES = {name.removeprefix("ACCT_GATHER_PROFILE_"): int(value) for name, value in Profile.__members__.items()}
_HINTS: Mapping[str, Mapping[str, Any]] = {
    "compute_bound": {"threads_per_core": 1},
    "memory_bound": {"cores_per_socket": 1, "threads_per_core": 1},
    "multithread": {"ntasks_per_core": UNLIMITED},
    "nomultithread": {"threads_per_core": 1},
}


@dataclass(frozen=True)
class Sets:
    """A setter of one field; names with an underscore are those of values that other options need."""

    field: str
    read: Callable[[str], Any]

    def __call__(self, fields: Fields, text: str) -> None:
        """Store the converted argument."""
        value = self.read(text)
        if value is None:
            fields.pop(self.field, None)
        else:
            fields[self.field] = value


@dataclass(frozen=True)
class Alternative(Sets):
    """A setter that unsets another field, of which only the last option counts."""

    other: str

    def __call__(self, fields: Fields, text: str) -> None:
        """Store the converted argument."""
        super().__call__(fields, text)
        fields.pop(self.other, None)


def text_of(field: str) -> Sets:
    """Return a setter that stores the argument as it is."""
    return Sets(field, lambda text: text)


def always(field: str, value: Any) -> Sets:
    """Return a setter that stores a value, regardless of the argument."""
    return Sets(field, lambda _: value)


def names_of(field: str, values: Mapping[str, Any], read: Callable[[str], str]) -> Sets:
    """Return a setter that combines flags, whose names a function reads, with commas between."""
    return Sets(field, lambda text: sum(int(values[word.upper()]) for word in read(text).split(",")))


def tres(field: str, prefix: str = "") -> Sets:
    """Return a setter that stores TRES, without empty items; the last option of several counts."""
    return Sets(field, lambda text: ",".join(f"{prefix}{part}" for part in text.split(",") if part) or None)


def flag(name: str, *others: str) -> Callable[[Fields, str], None]:
    """Return a setter that sets a flag of the request, and clears the flags that it excludes."""

    def set_field(fields: Fields, text: str) -> None:
        flags = int(fields.get("bitflags", 0))
        for other in others:
            flags &= ~int(JobFlag[other])
        fields["bitflags"] = flags | int(JobFlag[name])

    return set_field


def profile(text: str) -> int:
    """Return the flags of ``--profile``; all of them are more than the known ones."""
    names = profiles(text).upper().split(",")
    return PROFILES["ALL"] if len(names) > 1 and "all" in text.lower() else sum(PROFILES[name] for name in names)


def memory_per_gpu(fields: Fields, text: str) -> None:
    """``--mem-per-gpu``."""
    tres("mem_per_tres", "gres/gpu:")(fields, str(megabytes(text)))


def generic_resources(fields: Fields, text: str) -> None:
    """``--gres``."""
    words = (word if "/" in word.split(":")[0] else f"gres/{word}" for word in text.split(","))
    fields["_gres"] = "" if text.lower() == "none" else ",".join(words)


def signal(fields: Fields, text: str) -> None:
    """``--signal=[{R|B}:]SIGNAL[@SECONDS]``."""
    letters, number, seconds = signal_parts(text)
    flags = {"B": WarnFlag.KILL_JOB_BATCH, "R": WarnFlag.KILL_JOB_RESV}
    given = sum(int(flags[letter]) for letter in letters)
    # The flags of an earlier option remain.
    fields.update(warn_signal=number, warn_time=seconds, warn_flags=fields.get("warn_flags", 0) | given)


def no_kill(fields: Fields, text: str) -> None:
    """``--no-kill[=off]``."""
    fields.pop("kill_on_node_fail", None)
    if text.lower() in ("", "set"):
        fields["kill_on_node_fail"] = 0


def file_name(text: str) -> str:
    """Return the name of a file for input or output."""
    return "/dev/null" if text.lower() == "none" else text


def switches(fields: Fields, text: str) -> None:
    """``--switches=COUNT[@TIME]``."""
    count, _, wait = text.partition("@")
    fields["req_switch"] = number(count)
    if wait and printed("switches", text).endswith(tuple("0123456789")) and seconds(wait) != NEVER:
        fields["wait4switch"] = seconds(wait)


def limit(text: str) -> Any:
    """Return a time limit in minutes."""
    value = minutes(text) % (1 << 32)
    return UNLIMITED if value in (0, NEVER) else value


def period(text: str) -> Any:
    """Return a period in seconds."""
    value = seconds(text) % (1 << 32)
    return UNLIMITED if value == NEVER else value


def text_in(path: str) -> str:
    """Return the text of a file."""
    try:
        # A device or a FIFO may have no end.
        text = Path(path).read_text(errors="surrogateescape") if Path(path).is_file() else None
    except (OSError, ValueError) as error:
        raise SbatchError(f"{path}: {error}") from error
    if text is None:
        raise SbatchError(f"{path}: not a file")
    return text


def identity(field: str, kind: str) -> Sets:
    """Return a setter that stores the id of a user or group, given by name or number."""

    def read(text: str) -> int:
        import grp
        import pwd

        try:
            if text.isdecimal() and text.isascii() and number(text) < NO_VAL[32]:
                return number(text)
            return pwd.getpwnam(text).pw_uid if kind == "user" else grp.getgrnam(text).gr_gid
        except (KeyError, ValueError):
            raise SbatchError(f"{kind} {text!r} does not exist here") from None

    return Sets(field, read)


def nothing(fields: Fields, text: str) -> None:
    """Ignore an option that sets no field of the submission."""


class Priority(Sets):
    """``--priority``; 0 is not sent, and ``--hold``, which stores 0, comes first."""

    def __call__(self, fields: Fields, text: str) -> None:
        """Store the priority."""
        if fields.get("priority") != 0 and self.read(text):
            super().__call__(fields, text)


class Requeue(Sets):
    """``--requeue[=expedite]``."""

    def __call__(self, fields: Fields, text: str) -> None:
        """Store 1, and the flag."""
        super().__call__(fields, text)
        if text.lower() == "expedite":
            flag("EXPEDITED_REQUEUE")(fields, text)


def propagated(fields: Fields, text: str) -> None:
    """Check ``--propagate``, as parse_rlimits() of slurm_rlimits_info.c does."""
    for word in re.split(r"[, \t\n]+", text) if text not in ("ALL", "NONE") else ():
        if word and word.removeprefix("RLIMIT_") not in LIMITS:
            raise SbatchError(f"{word!r} is not a limit such as STACK")


def dependency_end(fields: Fields, text: str) -> None:
    """``--kill-on-invalid-dep``."""
    flag("KILL_INV_DEP" if text.lower() == "yes" else "NO_KILL_INV_DEP")(fields, text)


def hint(fields: Fields, text: str) -> None:
    """``--hint``, which stands for other options."""
    for word in text.lower().split(","):
        if word not in _HINTS:
            raise SbatchError(f"{word!r} is not one of {', '.join(_HINTS)}")
        fields |= _HINTS[word]
