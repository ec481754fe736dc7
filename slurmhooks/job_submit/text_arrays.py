# SPDX-License-Identifier: GPL-2.0-or-later
"""The arrays of texts of a request: its environments as mappings, its arguments as a list."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import TYPE_CHECKING, Any

from slurmhooks.errors import StaleHandleError
from slurmhooks.handlers.view import StagedMapping
from slurmhooks.values import ENCODING, ERRORS, text_from_c

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from slurmhooks.job_submit.state import JobState

OF_AN_UPDATE = "an update of a job carries no environment, so none can be set"
OF_NO_BATCH_JOB = "only batch jobs carry their environment in the request; that of srun and salloc cannot be set"
"""Why an environment cannot be changed: Slurm would ignore the change."""


class Environment(StagedMapping):
    """An environment of the request as a mapping; read on use, and written into the answer after all handlers pass."""

    __slots__ = ("_base", "_job", "_member")

    def __init__(self, job: JobState, member: str) -> None:
        self._alive = True  # not by super().__init__(), which takes as long as the rest
        self._staged = {}
        self._base: dict[str, str] | None = None
        self._job = job
        self._member = member

    @property
    def frozen(self) -> str | None:
        """Why it cannot be changed; None if it can."""
        if self._job.modify:
            return OF_AN_UPDATE
        # Of a heterogeneous job, only the first component has a script; all have an environment.
        sent = self._member != "environment" or self._job.is_set("script") or self._job.is_set("environment")
        return None if sent else OF_NO_BATCH_JOB

    def _check(self, name: object, value: object = "") -> None:
        super()._check(name, value)
        frozen = self.frozen
        if frozen is not None:
            raise ValueError(frozen)

    def _load(self, name: str) -> str | None:
        if self._base is not None:
            return self._base.get(name)
        try:
            start = name.encode(ENCODING, ERRORS) + b"="
        except UnicodeEncodeError:  # half of a surrogate pair, which represents no byte
            return None
        rest = self._job.struct.find(self._member, start)
        return None if rest is None else rest.decode(ENCODING, ERRORS)

    def _names(self) -> Iterable[str]:
        base = self._base
        if base is None:
            base = {}
            for item in self._job.struct.array(self._member):
                name, equals, value = text_from_c(item).partition("=")
                if equals:
                    base.setdefault(name, value)  # of two variables with one name the first counts, as for getenv()
            self._base = base
        return base

    def commit(self) -> None:
        """Replace the array if anything was written; other entries keep their places, even invalid ones."""
        if not self._staged:
            return
        changes = {name.encode(ENCODING, ERRORS): value for name, value in self._staged.items()}
        items = []
        for item in self._job.struct.array(self._member):
            name, equals, _ = item.partition(b"=")
            if not equals or name not in changes:
                items.append(item)
        for name, value in changes.items():
            if value is not None:
                items.append(name + b"=" + value.encode(ENCODING, ERRORS))
        self._job.struct.written[self._member] = items
        self._staged = {}
        self._base = None


class Words(MutableSequence[str]):
    """``job.argv``: a list, whose changes are staged until all handlers have passed."""

    __slots__ = ("_read", "_write")

    def __init__(self, read: Callable[[], list[bytes]], write: Callable[[list[str]], None]) -> None:
        self._read = read
        self._write = write

    def _list(self) -> list[str]:
        return [text_from_c(word) for word in self._read()]

    def __getitem__(self, index: Any) -> Any:
        """Return a word, or a list of them."""
        return self._list()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        """Change a word, or several."""
        words = self._list()
        words[index] = value
        self._write(words)

    def __delitem__(self, index: Any) -> None:
        """Remove a word, or several."""
        words = self._list()
        del words[index]
        self._write(words)

    def insert(self, index: int, value: str) -> None:
        """Insert a word before another."""
        words = self._list()
        words.insert(index, value)
        self._write(words)

    def __iter__(self) -> Iterator[str]:
        """Iterate over a copy, which is made when the loop begins."""
        return iter(self._list())

    def __reversed__(self) -> Iterator[str]:
        """Iterate over a copy from its end."""
        return reversed(self._list())

    def index(self, value: Any, *bounds: int) -> int:
        """Return the index of the first word that is equal; ValueError if there is none."""
        return self._list().index(value, *bounds)

    def copy(self) -> list[str]:
        """Return the words as a list, which stays valid after the call."""
        return self._list()

    def __add__(self, other: list[str] | Words) -> list[str]:
        """Return these words and then others, as a list."""
        if not isinstance(other, (list, Words)):
            return NotImplemented
        return [*self._list(), *other]

    def __radd__(self, other: list[str]) -> list[str]:
        """Return other words and then these, as a list."""
        if not isinstance(other, list):
            return NotImplemented
        return [*other, *self._list()]

    def sort(self, *, key: Callable[[str], Any] | None = None, reverse: bool = False) -> None:
        """Sort the words, as list.sort() does."""
        self._write(sorted(self._list(), key=key, reverse=reverse))

    def __len__(self) -> int:
        """Return how many words there are."""
        return len(self._read())

    def __eq__(self, other: object) -> bool:
        """Compare with a list."""
        return self._list() == list(other) if isinstance(other, (list, Words)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the words, or that the call is over."""
        try:
            return repr(self._list())
        except StaleHandleError:
            return "<Words of a call that is over>"
