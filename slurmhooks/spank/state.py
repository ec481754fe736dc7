# SPDX-License-Identifier: GPL-2.0-or-later
"""``spank.state``: what the handlers of a job on a node leave for each other, from its prolog to its epilog."""

from __future__ import annotations

from slurmhooks.errors import ConfigError, SpankError
from slurmhooks.files import slurm_conf
from slurmhooks.handlers.view import OfACall
from slurmhooks.log import log
from slurmhooks.spank.calls import STATE, STATE_WRITE
from slurmhooks.spank.state_file import NO_PROLOG, StateFile, frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
    from typing import Any, Protocol, Self

    from slurmhooks.handlers.registry import Registry
    from slurmhooks.spank.calls import Calls

    class Storage(Protocol):
        """Where the values are."""

        def read(self) -> dict[str, Any] | None:
            """Return the values; None if there is no state."""

        def write(self, values: Mapping[str, Any], removed: Sequence[str], /) -> None:
            """Change some values, and remove others."""
else:
    from _collections_abc import MutableMapping

__all__ = ["LineState", "Snapshot", "State", "missing_handlers"]

_GONE = object()


class State(OfACall, MutableMapping[str, "Any"]):
    """A mapping from names to JSON values, which a root-only file of the node keeps for the job.

    Writes are applied after all handlers of the call have passed. They change only the names that they are for: steps
    that write at the same time do not disturb each other as long as their names differ.

    A list that is read is a tuple, a dict a read-only mapping: assign a new value to change one.
    """

    __slots__ = ("_alive", "_base", "_calls", "_missing", "_no_prolog", "_staged", "_storage")

    def __init__(self, calls: Calls, storage: Callable[[], Storage], missing: Sequence[str] = ()) -> None:
        """Read nothing yet.

        ``storage`` returns where the values are; ``missing`` are the callbacks without a handler that the state needs.
        """
        self._alive = True
        self._base: dict[str, Any] | None = None
        self._calls = calls
        self._missing = missing
        self._no_prolog = False
        self._staged: dict[str, Any] = {}
        self._storage = storage

    def _values(self) -> dict[str, Any]:
        """Return the values without the staged writes."""
        self._living()
        calls = self._calls
        if not STATE.includes(calls.context, calls.callback):
            calls.refuse("spank.state", "ESPANK_NOT_AVAIL", STATE.text)
        if self._missing:
            return {}
        if self._base is None:
            try:
                base = self._storage().read()
            except (OSError, ValueError) as error:
                raise SpankError("ESPANK_ERROR", "spank.state", f"cannot read it: {error}") from error
            if base is None and calls.callback != "job_epilog":  # which has nothing to clean up then
                raise SpankError("ESPANK_NOEXIST", "spank.state", NO_PROLOG)
            self._no_prolog = base is None
            self._base = base or {}
        return self._base

    def _stage(self, name: str, value: object) -> None:
        calls = self._calls
        self._values()
        if not STATE_WRITE.includes(calls.context, calls.callback):
            text = f"read-only in {calls.callback} ({calls.context}); it can be written {STATE_WRITE.text}"
            raise SpankError("ESPANK_NOT_AVAIL", "spank.state", text)
        if self._missing:
            text = (
                f"needs a handler of {' and of '.join(self._missing)} in the hook files of this line: the state of a"
                " job begins empty with job_prolog, and is removed after job_epilog"
            )
            raise SpankError("ESPANK_NOT_AVAIL", "spank.state", text)
        self._staged[name] = value

    def __getitem__(self, name: str) -> Any:
        """Return a value; KeyError if it is not set."""
        value = self._values().get(name, _GONE)
        value = self._staged.get(name, value)
        if value is _GONE:
            raise KeyError(f"{name}: {NO_PROLOG}" if self._no_prolog else name)
        return value

    def __setitem__(self, name: str, value: object) -> None:
        """Set a value."""
        if not isinstance(name, str):
            raise TypeError(f"names of spank.state are str, not {name!r}")
        self._stage(name, frozen(value, name))

    def __delitem__(self, name: str) -> None:
        """Delete a name; KeyError if it is not set."""
        self[name]
        self._stage(name, _GONE)

    def __iter__(self) -> Iterator[str]:
        """Iterate over a copy of the names, so that a loop may delete some."""
        names = {**self._values(), **self._staged}
        return iter([name for name, value in names.items() if value is not _GONE])

    def __len__(self) -> int:
        """Return how many names are set."""
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        """Return the content, or the reason why it cannot be read."""
        if not self._alive:
            return f"<{type(self).__name__} of a call that is over>"
        try:
            return repr(dict(self))
        except SpankError as error:
            return f"<{type(self).__name__}: {error}>"

    def __ior__(self, other: Mapping[str, object]) -> Self:
        """Set all values of another mapping; if one is invalid, set none."""
        for name, value in {name: frozen(value, name) for name, value in other.items()}.items():
            self[name] = value
        return self

    def savepoint(self) -> dict[str, Any]:
        """Return the staged writes."""
        return dict(self._staged)

    def rollback(self, savepoint: dict[str, Any] | None) -> None:
        """Discard the writes since a savepoint; None is one from before the first use."""
        self._staged = dict(savepoint or {})

    def commit(self) -> None:
        """Apply the staged writes.

        Raises:
            SpankError: the file cannot be written.
        """
        if not self._staged or self._calls.callback == "job_epilog":  # the file is removed right after it
            return
        removed = [name for name, value in self._staged.items() if value is _GONE]
        values = {name: value for name, value in self._staged.items() if value is not _GONE}
        try:
            self._storage().write(values, removed)
        except (OSError, ValueError) as error:
            raise SpankError("ESPANK_ERROR", "spank.state", f"cannot write it: {error}") from error
        self._staged, self._base = {}, None

    def close(self) -> None:
        """Make every later use raise StaleHandleError."""
        self._alive = False


class LineState:
    """The state of this process's job, for one line of plugstack.conf.

    Attributes:
        missing: see :class:`State`.
        file: its file; None until a callback knows the job.
        snapshot: what tasks and user_init see, which may not open the file.
    """

    __slots__ = ("_words", "file", "missing", "snapshot")

    def __init__(self, words: Sequence[str], registry: Registry) -> None:
        """Touch nothing yet."""
        self._words = words
        self.missing = missing_handlers(registry)
        self.file: StateFile | None = None
        self.snapshot: Snapshot | None = None

    def of(self, calls: Calls) -> State:
        """Return the state for one callback."""
        return State(calls, lambda: self.storage(calls), self.missing)

    def storage(self, calls: Calls) -> Storage:
        """Return where a callback reads the state."""
        if self.snapshot is not None and not STATE_WRITE.includes(calls.context, calls.callback):
            return self.snapshot
        return self.open(calls)

    def enter(self, calls: Calls) -> None:
        """Prepare for the handlers of a callback that may open the file.

        A prolog begins the state, and removes that of a job of the same number whose epilog did not run.

        Raises:
            OSError: such a file cannot be removed.
        """
        if self.missing:
            return
        if calls.callback == "job_prolog":
            try:
                file = self.open(calls)
            except OSError as error:  # fails where a handler uses the state
                log.debug("no state of the job: %s", error)
                return
            file.remove()
            try:
                file.begin()
            except OSError as error:
                log.debug("no state of the job: %s", error)
        elif calls.context == "remote" and calls.callback in ("init", "init_post_opt"):
            try:
                self.open(calls).hold()
            except OSError as error:
                log.debug("no state of the job: %s", error)

    def leave(self, calls: Calls) -> None:
        """Clean up after the handlers of a callback, whether or not they have failed."""
        if self.missing:
            return
        if calls.callback == "job_epilog":
            try:
                self.open(calls).remove()
            except OSError as error:
                log.error("the state of the job stays, in %s: %s", self.file, error)
        elif calls.context == "remote" and calls.callback == "init_post_opt":
            self.take_snapshot()

    def open(self, calls: Calls) -> StateFile:
        """Return the file of the job; ``calls`` are those of a callback that knows the job."""
        if self.file is None:
            node = calls.process_variable("SLURMD_NODENAME")
            if not node or "/" in node:
                raise OSError("SLURMD_NODENAME is not set in this process")
            job = calls.ffi.new("uint32_t *")
            calls.get_item("S_JOB_ID", STATE, job, calls.ffi.NULL)
            file = StateFile(slurm_conf.name_here(node), job[0], self._words)
            if calls.callback != "job_prolog":  # begins the state
                file.find(_lines)
            self.file = file
        return self.file

    def take_snapshot(self) -> None:
        """Read the file for tasks and user_init; what cannot be read fails where it is used."""
        try:
            self.snapshot = Snapshot(None if self.file is None else self.file.read())
        except (OSError, ValueError) as error:
            self.snapshot = Snapshot(None, error)


class Snapshot:
    """Values that were read before."""

    __slots__ = ("_error", "_values")

    def __init__(self, values: dict[str, Any] | None, error: Exception | None = None) -> None:
        self._values = values
        self._error = error

    def read(self) -> dict[str, Any] | None:
        """Return the values."""
        if self._error is not None:
            raise self._error
        return self._values

    def write(self, values: Mapping[str, Any], removed: Sequence[str]) -> None:
        """Refuse: callbacks with a snapshot do not write."""
        raise NotImplementedError


def _lines() -> list[tuple[str, ...]]:
    """Return the arguments of all lines of plugstack.conf that load the plugin."""
    from pathlib import Path

    from slurmhooks.files import plugstack_conf, slurm_conf

    folder = slurm_conf.directory()
    try:
        path = plugstack_conf.path_of(slurm_conf.file_in(folder), Path(folder))
        return [plugstack_conf.arguments(line) for line in plugstack_conf.of_plugin(path)]
    except ConfigError:  # Slurm itself could not have read it
        return []


def missing_handlers(registry: Registry) -> list[str]:
    """Return the callbacks that a state needs and for which there is no handler."""
    return [
        name
        for name in ("job_prolog", "job_epilog")
        if all(handler.scripted for handler in registry.handlers(f"spank.{name}"))
    ]
