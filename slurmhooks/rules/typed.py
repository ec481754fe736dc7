# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of a job that slurmhooks.toml names, and their values: typed by the rows of ``job``."""

from __future__ import annotations

import re
import unicodedata
from datetime import date, datetime
from enum import IntFlag
from functools import cache, partial
from typing import TYPE_CHECKING, Any, get_origin

from slurmhooks.fields import JobFields, RecordFields
from slurmhooks.fields.constants import TaskDist
from slurmhooks.fields.flag_rows import Enumerated, Flag
from slurmhooks.fields.number_rows import Number, Offset, Plain, Tagged, Time
from slurmhooks.fields.rows import NEWEST, Computed, Text, Tres, rows
from slurmhooks.handlers.similar import nearest
from slurmhooks.job_submit import updates
from slurmhooks.job_submit.strings import Dependencies, expand_nodes, mem_str_to_mib, time_str2mins
from slurmhooks.job_submit.strings import Tres as TresList
from slurmhooks.job_submit.strings.licenses import read_licenses
from slurmhooks.job_submit.users import split_names
from slurmhooks.rules.kinds import matches, shown_memory, shown_moment, shown_time
from slurmhooks.values import UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

ROWS = rows(JobFields)
WHOLE_NODES = ("shared", "oversubscribe")
"""Fields of which a record has only whether the job has whole nodes."""
READABLE = [name for name, row in ROWS.items() if row.facts.get("secret") is None]
"""The fields that rules may look at: not those that may hold passwords, which messages would show."""
NUMBERS = [name for name in READABLE if isinstance(ROWS[name], Number | Offset | Plain | Tagged)]
AMOUNTS_NAMED = ("gpus", "memory")
"""Amounts that `require` takes in place of a field."""
AMOUNTS_LIMITED = ("nodes", "tasks", "cpus", "gpus")
"""Amounts that `limit` takes in place of a field: Slurm works them out of several fields."""
WRITABLE = [name for name in READABLE if ROWS[name].writable]
_RECORD = rows(RecordFields)
NOT_IN_RECORDS = frozenset(
    name
    for name, row in ROWS.items()
    if row.members and not any(other in _RECORD for other in row.names_in_record) and name not in WHOLE_NODES
)
"""Fields of a request that cannot be seen of the job that an update changes."""
NAMES = frozenset({"partition", "qos", "reservation", "clusters"})
"""Fields with names between commas, each of which counts."""
FEATURES = frozenset({"features", "prefer", "batch_features", "cluster_features"})
"""Fields with names of features, of which one that matches is enough."""
FEATURE = re.compile(r"[^\s&|,()\[\]*!]+")
"""A name in --constraint; a count may follow a star."""
CHOICES = FEATURES | {"licenses"}
"""Fields with names of which Slurm chooses one if "|" separates them."""


LONGEST, LONGEST_DEPENDENCY = 1024, 128 << 10
"""The most bytes of SHORT lists, and of dependencies: slurmctld refuses more, but after plugins have run."""


def _parts(text: str, separators: str = ",") -> list[str]:
    return [part for each in re.split(f"[{separators}]", text) if (part := each.strip())]


def _licenses(text: str) -> list[str]:
    """Return licenses with their numbers; of one that is named several times, Slurm adds them."""
    counts = read_licenses(text).counts
    return _parts(text, ",;|") if None in counts.values() else [f"{name}:{count}" for name, count in counts.items()]


def _dependencies(text: str) -> list[str]:
    """Return each kind with each job: ``afterok:1:2`` is ``afterok:1,afterok:2``, and ``1`` is ``afterany:1``."""
    parts = list(dict.fromkeys(_parts(text, ",?")))
    if len(text) > LONGEST_DEPENDENCY:
        return parts
    return [
        f"{each.kind}:{job if job.state is None else job._replace(state=None)}" if job else each.kind
        for each in Dependencies.parse(",".join(parts))
        for job in dict.fromkeys(each.jobs) or (None,)
    ]


TRES_FIELDS = frozenset(name for name, row in ROWS.items() if isinstance(row, Tres))
SEPARATED: dict[str, Callable[[str], Sequence[str]]] = {
    **dict.fromkeys(TRES_FIELDS, lambda text: list(map(str, TresList.parse(text)))),
    **dict.fromkeys(("acctg_freq", "mail_user", "network"), _parts),
    "dependency": _dependencies,
    "licenses": _licenses,
}
"""Fields with other lists, and what returns their parts, each of which counts."""
NODES = frozenset({"req_nodes", "exc_nodes"})
"""Fields with lists of nodes, each of which counts."""
SPLIT: dict[str, Callable[[str], Sequence[Any]]] = {
    **dict.fromkeys(NAMES, split_names),
    **dict.fromkeys(FEATURES, FEATURE.findall),
    **dict.fromkeys(NODES, expand_nodes),
    **SEPARATED,
    "wckey": lambda text: [name] if (name := text.removeprefix("*")) else [],  # "*name": by default
}
"""What returns the parts of a list."""
SHORT = TRES_FIELDS | {"cluster_features", "features", "mail_user", "network", "prefer", "wckey"}
"""Lists that must not be longer than LONGEST. From 24.11 on, slurmctld takes licenses of any length."""
ANY_CASE = frozenset({
    "account", "acctg_freq", "assoc_qos", "charged_account", "default_account", "default_qos", "dependency",
    "mail_user", "qos", "wckey",
})  # fmt: skip
"""Fields whose texts Slurm, or a mail server, compares without regard to case."""
UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Characters that Python considers printable, but that Unicode lets programs ignore; NFKC leaves no others."""
BLANK = "\u2800"
"""A Braille pattern without dots."""


def typed(name: str, value: Any) -> Any:
    """Return the value of a field from that in slurmhooks.toml.

    Times may have the notation of --time, amounts of memory that of --mem, enumerations the names of Slurm; a set of
    flags is a name or a list of names; a moment is a date and time.

    Raises:
        ValueError: the field cannot have this value.
    """
    row = ROWS[name]
    if isinstance(row, Flag) and not isinstance(value, int):
        value = row.kind(sum({_member(name, row, each) for each in _listed(value)}))
    elif isinstance(row, Enumerated) and isinstance(value, str):
        value = _member(name, row, value)
    elif isinstance(row, Time) and isinstance(value, date):
        value = int(moment(value))
    elif isinstance(row, Number) and value == "UNLIMITED":
        value = UNLIMITED
    elif isinstance(value, str) and row.unit in ("minutes", "MiB"):
        value = time_str2mins(value) if row.unit == "minutes" else mem_str_to_mib(value)
    elif isinstance(value, bool) and isinstance(row, Number):
        value = int(value)
    if isinstance(row, Computed):
        if not isinstance(value, get_origin(row.kind) or row.kind):
            raise ValueError(f"{name} takes no {type(value).__name__}, as {value!r} is")
        return value
    if isinstance(value, bool) and not isinstance(row, Number):
        raise ValueError(f"{name} does not take {str(value).lower()}")
    try:
        row.encoder(NEWEST)(value)
    except NotImplementedError:
        raise ValueError(f"{name} is compared with no values: write users or groups") from None
    except TypeError as error:  # ValueError is what a check raises
        raise ValueError(str(error)) from None
    return value


def _listed(value: Any) -> Iterable[Any]:
    return value if isinstance(value, tuple) else (value,)


def _member(name: str, row: Enumerated[Any], value: Any) -> Any:
    names = row.kind.__members__
    if value not in names:
        raise ValueError(f"{name} has no value {value!r}{nearest(str(value), names) or f': {names_of(row)}'}")
    return names[value]


def names_of(row: Enumerated[Any]) -> str:
    """Return the names of an enumeration."""
    return ", ".join(row.kind.__members__)


def moment(value: date) -> float:
    """Return a date, or a date and time, in seconds since 1970; without a zone, in that of this process."""
    whole = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    return whole.timestamp()


def shown(name: str, value: Any) -> str:
    """Return a value of a field as users read it."""
    row = ROWS[name]
    if isinstance(row, Time):
        return shown_moment(value)
    if row.unit == "minutes":
        return shown_time(value)
    if row.unit == "MiB" and isinstance(value, int):
        return shown_memory(value)
    return str(getattr(value, "name", None) or value)


def is_unset(name: str, value: Any) -> bool:
    """Tell whether the value of a field means that it is not set."""
    return value is None or (value == 0 and isinstance(ROWS[name], Time))


SENT = {
    **dict.fromkeys(("boards_per_node", "contiguous", "immediate", "ntasks_per_board", "open_mode", "profile"), 0),
    **dict.fromkeys(("mem_update_delay", "mem_update_margin", "segment_size", "sockets_per_board"), 0),
    **dict.fromkeys(("warn_signal", "warn_time"), 0),
    **dict.fromkeys(("fed_siblings_active", "fed_siblings_viable", "restart_cnt", "spank_job_env_size"), 0),
    **dict.fromkeys(("cron_job", "interactive", "x11_target_port"), False),
    "std_in": "/dev/null",
    "task_dist": TaskDist.SLURM_DIST_UNKNOWN,
}
"""What commands send in fields that their users do not name."""


def is_named(name: str, value: Any) -> bool:
    """Tell whether the value of a field is one that a user has named: not one that commands send for nothing."""
    return has_value(name, value) and value != SENT.get(name)


def is_never_unset(name: str) -> bool:
    """Tell whether a field always has a value."""
    row = ROWS[name]
    return isinstance(row, Plain) or (isinstance(row, Enumerated) and not row.optional)


class Pattern:
    """Values of a field in slurmhooks.toml, with which those of jobs are compared: texts are shell patterns.

    Attributes:
        given: the values as they are written.
    """

    def __init__(self, name: str, given: Iterable[Any]) -> None:
        """Read the values.

        Raises:
            ValueError: the field cannot have one of them.
        """
        self.given = tuple(given)
        self._name = name
        self._is_text = is_text(ROWS[name])
        if self._is_text and not all(isinstance(each, str) for each in self.given):
            raise ValueError(f"{name} takes texts")
        row = ROWS[name]
        self._is_flags = isinstance(row, Flag)
        self._values: tuple[Any, ...] = tuple(map(self._folded if self._is_text else partial(typed, name), self.given))
        if isinstance(row, Flag):
            self._values = tuple(map(row.kind, self._values))

    def __bool__(self) -> bool:
        """Return whether there is any value."""
        return bool(self.given)

    def words(self) -> list[str]:
        """Return the values as users read them."""
        return list(self.given) if self._is_text else [shown(self._name, each) for each in self._values]

    def _folded(self, text: str) -> str:
        return text.lower() if self._name in ANY_CASE else folded(text) if self._name == "name" else text

    def has(self, item: Any, *, loosely: bool = False) -> bool:
        """Tell whether one of the values is, or perhaps is, meant by an item; see :func:`items` and :func:`spelled`."""
        if loosely and self._name in NODES and "{" in item:  # feature{ib}, from Slurm 23.11 on: which nodes that are?
            return bool(self.given)
        if self._is_flags:
            return any(item & each for each in self._values)
        if not self._is_text:
            return item in self._values
        return any(matches(self._folded(each), self._values) for each in spelled(self._name, item, loosely=loosely))

    def allows(self, value: Any) -> bool:
        """Tell whether a value of the field is none but these; of features, one that matches is enough."""
        return (any if self._name in FEATURES else all)(map(self.has, items(self._name, value)))

    def meets(self, value: Any, *, sure: bool = False) -> bool:
        """Tell whether a value of the field is, or has, one of these; of flags in one of these, it must have all.

        ``sure``: of names among which Slurm chooses, all must be meant; the name of a license or TRES means one of it,
        and otherwise any number.
        """
        if self._is_flags:
            return any(bool(value) == bool(each) and value & each == each for each in self._values)
        parts = items(self._name, value)
        if sure and (self._name in NAMES or (self._name in CHOICES and "|" in value)):
            return bool(parts) and all(map(self.has, parts))
        return any(self.has(each, loosely=not sure) for each in parts) or (self._name in SEPARATED and self.has(value))


def has_value(name: str, value: Any) -> bool:
    """Tell whether a value of a field is one: a list without names is none."""
    return value is not None and (name in NODES or bool(items(name, value)))


def is_text(row: Any) -> bool:
    """Tell whether the values of a field are texts."""
    return isinstance(row, Text) or getattr(row, "kind", None) is str


@cache
def same_member(name: str) -> tuple[str, ...]:
    """Return the other names of the member of a field: setting one of them replaces all of them."""
    members = set(ROWS[name].members)
    return tuple(other for other, row in ROWS.items() if other != name and members & set(row.members))


@cache
def set_by(name: str) -> tuple[str, ...]:
    """Return the fields by which an update changes a field; none for what slurmctld knows of the user."""
    own = (name, *same_member(name)) if ROWS[name].members else ()
    return tuple(dict.fromkeys((*own, *updates.DEPENDS.get(name, ()))))


def items(name: str, value: Any) -> Sequence[Any]:
    """Return the parts of a value that are compared: names of a list, flags, or the value itself.

    Raises:
        NotationError: a list is invalid.
    """
    if isinstance(value, IntFlag):
        return [value.__class__(1 << bit) for bit in range(value.bit_length()) if value & 1 << bit]
    split = SPLIT.get(name) if isinstance(value, str) and not (name in SHORT and len(value) > LONGEST) else None
    return (value,) if split is None else split(value)


def spelled(name: str, item: str, *, loosely: bool = False) -> set[str]:
    """Return a part of a list as it is, and in the other notations that mean the same to Slurm.

    ``loosely``: also return the name of a license or TRES alone if that means another number, or any type.

    Raises:
        NotationError: Slurm refuses the text, or could read it in another way.
    """
    if len(item) > LONGEST:
        return {item}
    if name == "licenses":
        counts = [(key, key, count) for key, count in read_licenses(item).counts.items()]
    elif name in TRES_FIELDS:
        counts = [(each.name, each.key, each.count) for each in TresList.parse(item)]
    else:
        return {item}
    words = {
        word
        for kind, key, count in counts
        for word in (f"{key}:{count}", f"{key}={count}", *({kind, key} if loosely else [key] if count == 1 else []))
    }
    prefix = "gres/"
    return {
        item,
        *words,
        *(other + word.removeprefix(prefix) for word in words if word.startswith(prefix) for other in ("gres:", "")),
    }


def folded(name: str) -> str:
    """Return a name as a reader may take it: without case, characters that cannot be seen, and blanks around it."""
    if name.isascii() and name.isprintable():
        return " ".join(name.split()).casefold()
    text = UNSEEN.sub("", unicodedata.normalize("NFKC", name)).replace(BLANK, " ")
    return " ".join("".join(each for each in text if each.isprintable() or each.isspace()).split()).casefold()
