# SPDX-License-Identifier: GPL-2.0-or-later
"""The views of recorded requests. If a script was not recorded, only its use is an error, not a comparison with None.

Rules use ``job.script is None`` to recognize an interactive job, and whether a script exists is recorded. To read a
member whose value is not known, such as those of a job from accounting, is always an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from slurmhooks.fields.rows import release_of, stored
from slurmhooks.job_submit.model import VIEWS
from slurmhooks.job_submit.views import Views
from slurmhooks.replay.answers import NotRecordedError, computations
from slurmhooks.slurmctld.asking import Struct

if TYPE_CHECKING:
    from slurmhooks.replay.answers import Answers
    from slurmhooks.wire.message import Raw
    from slurmhooks.wire.tables import Tables


def views_of(tables: Tables, answers: Answers) -> Views:
    """Return the classes of views for a recording.

    Args:
        tables: of the messages.
        answers: of the recording.
    """
    views = Views(tables, computations(answers, private="record" in tables))
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

    def guarded(job: Any, struct: Struct, **others: Any) -> None:
        begin(job, Partial(struct, answers, names) if answers.unknown else struct, **others)

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

    __slots__ = ("_answers", "_names")

    def __init__(self, struct: Struct, answers: Answers, names: dict[str, str]) -> None:
        """Wrap a struct.

        Args:
            struct: the request; values of unknown members mean nothing.
            answers: notes what is read.
            names: see :func:`field_names`.
        """
        super().__init__(struct.table, struct.data, struct.asking, struct._fetch)
        self.written = struct.written  # the answer is made from the struct
        self._answers = answers
        self._names = names

    def _check(self, member: str) -> None:
        if member in self._answers.unknown:
            raise self._answers.missing(self._names.get(member, member))

    def raw(self, member: str) -> Raw:
        """Return a member of any kind; see Packed."""
        self._check(member)
        return super().raw(member)

    def is_set(self, member: str) -> bool:
        """Tell whether a member is set; see Packed."""
        self._check(member)
        return super().is_set(member)

    def value(self, place: int) -> bytes | None:
        """Return the item's value for a text or texts; see Packed."""
        self._check(self.table.members[place].name)
        return super().value(place)


class Unrecorded:
    """Replaces a script that exists but was not recorded: it is not None, and true; any other use is noted, and raises.

    Passing it to code in C raises TypeError. Therefore a bug in a handler that got such an object also counts as a use.
    """

    __slots__ = ("_answers",)

    def __init__(self, answers: Answers) -> None:
        """Store what notes the use."""
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
