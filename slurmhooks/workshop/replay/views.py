# SPDX-License-Identifier: GPL-2.0-or-later
"""The views of recorded requests. If a script was not recorded, only its use is an error, not a comparison with None.

Rules use ``job.script is None`` to recognize an interactive job, and whether a script exists is recorded. To read a
member whose value is not known, such as those of a job from accounting, is always an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from slurmhooks.fields.rows import release_of, stored
from slurmhooks.job_submit.model import VIEWS
from slurmhooks.job_submit.views import Views
from slurmhooks.slurmctld.asking import Struct
from slurmhooks.workshop.replay.answers import NotRecordedError, computations

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.wire.tables import Table, Tables
    from slurmhooks.workshop.replay.answers import Answers


def views_of(tables: Tables, answers: Answers) -> Views:
    """Return the classes of views for a recording."""
    views = Views(tables, computations(answers, private="record" in tables))
    views.sparse = False
    recorded = views.job.script.fget

    def script(job: Any) -> Any:
        needs = list(answers.needs)
        try:
            return recorded(job)
        except NotRecordedError:
            if "script" in answers.unknown:  # there may be none
                raise
            answers.needs[:] = needs
            answers.withheld.append("script")
            return Unrecorded(answers)

    begin = views.job.__init__
    names = field_names(tables)

    def guarded(job: Any, struct: Struct, *others: Any, **named: Any) -> None:
        begin(job, Partial(struct, answers, names) if answers.unknown else struct, *others, **named)

    members = {"__slots__": (), "__init__": guarded, "script": property(script)}
    views.job = type(views.job.__name__, (views.job,), members)
    return views


def field_names(tables: Tables) -> dict[str, str]:
    """Return the names of fields of ``job`` by their members: of several, the first one in the struct's description."""
    names: dict[str, str] = {}
    for row, member in stored(VIEWS["job"], release_of(tables.release), tables["job"].places):
        names.setdefault(member, row.name)
    return {**names, **{member: member for member in names if member in names.values()}}


class Partial(Struct):
    """A request of which only a part is known: to read another member is noted, and raises."""

    __slots__ = ()

    def __init__(self, struct: Struct, answers: Answers, names: dict[str, str]) -> None:
        """Wrap the struct of a request; values of unknown members mean nothing. ``answers`` notes what is read."""
        super().__init__(struct.table, struct.data, struct.asking, struct._fetch)
        self.written = struct.written  # the answer is made from the struct
        self.slots = _Known(self.slots, partial(_check, struct.table, answers, names))


def _check(table: Table, answers: Answers, names: dict[str, str], place: int) -> None:
    """Raise an error if the value of a member is not known."""
    member = table.members[place].name
    if member in answers.unknown:
        raise answers.missing(names.get(member, member))


class _Known(Sequence[int]):
    """The slots of a request of which only a part is known."""

    def __init__(self, slots: Sequence[int], check: Callable[[int], None]) -> None:
        """Take the slots, and the function that raises for a member whose value is not known."""
        self._slots = slots
        self._check = check

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self._slots)

    def __getitem__(self, place: Any) -> Any:
        """Return the slot of a member."""
        self._check(place)
        return self._slots[place]


class Unrecorded:
    """Replaces a script that exists but was not recorded: it is not None, and true; any other use is noted, and raises.

    Passing it to code in C raises TypeError. Therefore a bug in a handler that got such an object also counts as a use.
    """

    __slots__ = ("_answers",)

    def __init__(self, answers: Answers) -> None:
        object.__setattr__(self, "_answers", answers)

    def _used(self, *arguments: object, **named: object) -> NoReturn:
        raise object.__getattribute__(self, "_answers").missing("script")

    @property
    def __class__(self) -> type:
        """``str``, for isinstance()."""
        return str

    @__class__.setter
    def __class__(self, value: type) -> None:
        self._used()

    def __bool__(self) -> bool:
        """Return true: Slurm has no empty script."""
        return True

    def __getattr__(self, name: str) -> Any:
        """Note a use of a method of texts."""
        self._used()

    __len__ = __iter__ = __contains__ = __getitem__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _used
    __add__ = __radd__ = __mul__ = __rmul__ = __mod__ = __rmod__ = __hash__ = _used
    __str__ = __repr__ = __format__ = __bytes__ = __index__ = __int__ = _used
