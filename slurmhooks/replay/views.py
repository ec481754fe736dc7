# SPDX-License-Identifier: GPL-2.0-or-later
"""The views of recorded requests. If a script was not recorded, only its use is an error, not a comparison with None.

Rules use ``job.script is None`` to recognize an interactive job, and whether a script exists is recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from slurmhooks.job_submit.views import Views
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
    """Replaces a text that exists but was not recorded: it is not None, and true; any other use is noted, and raises.

    Passing it to code in C raises TypeError. Therefore a bug in a handler that got such an object also counts as a use.
    """

    __slots__ = ("_answers", "_what")

    def __init__(self, answers: Answers, what: str) -> None:
        """Store what it replaces.

        Args:
            answers: notes the use.
            what: the name of the text in the report.
        """
        object.__setattr__(self, "_answers", answers)
        object.__setattr__(self, "_what", what)

    def _used(self, *arguments: object, **named: object) -> NoReturn:
        raise object.__getattribute__(self, "_answers").missing(object.__getattribute__(self, "_what"))

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
