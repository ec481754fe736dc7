# SPDX-License-Identifier: GPL-2.0-or-later
"""The views of recorded requests, which tell that a script was not recorded only from whoever reads it.

Rules ask ``job.script is None`` to know an interactive job, and that is recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from slurmhooks.job_submit.service import Views
from slurmhooks.replay.answers import NotRecordedError, computations

if TYPE_CHECKING:
    from slurmhooks.replay.answers import Answers
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
            answers.needs[:] = needs
            answers.withheld.append("script")
            return Unrecorded(answers, "script")

    views.job = type(views.job.__name__, (views.job,), {"__slots__": (), "script": property(script)})
    return views


class Unrecorded:
    """Stands for a text that exists and was not recorded: it is not None, and true; any other use is noted and raises.

    Whoever passes it to code in C gets a TypeError. So a bug of a handler that had one counts as such a use, too.
    """

    __slots__ = ("_answers", "_what")

    def __init__(self, answers: Answers, what: str) -> None:
        """Stand for something.

        Args:
            answers: notes the use.
            what: as in the report.
        """
        object.__setattr__(self, "_answers", answers)
        object.__setattr__(self, "_what", what)

    def _used(self, *arguments: object, **named: object) -> NoReturn:
        raise object.__getattribute__(self, "_answers").missing(object.__getattribute__(self, "_what"))

    @property
    def __class__(self) -> type:
        """A text, for isinstance()."""
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
