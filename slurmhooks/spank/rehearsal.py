# SPDX-License-Identifier: GPL-2.0-or-later
"""What slurmstepd does once before it forks many tasks, so that each of them, which starts as a copy of it, does less.

A task has a page fault for each page that it is the first to write to. CPython writes where nobody would think so: it
counts references, notes how often code has run and what it has found on the way, and looks for garbage.
"""

from __future__ import annotations

from slurmhooks import dispatch
from slurmhooks.hook import CONTEXTS, HOOKS
from slurmhooks.registry import Handler, Registry
from slurmhooks.spank.model import Spank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping, Sequence
    from typing import Any

    from slurmhooks.outcome import Outcome

    Answer = tuple[int, None, int]
    Finish = Callable[[Outcome], Answer]
    Store = MutableMapping[tuple[int, str], "Prepared"]

CONTEXT = "remote"
CALLBACKS = ("task_init_privileged", "task_init")
"""Those that run in the task's own process, once each."""
TIMES = 12
"""After so many calls CPython (3.11: 8, later fewer) has replaced the instructions of a function by faster ones."""
VARIABLE = "SLURMHOOKS_REHEARSAL"


class Prepared:
    """One callback of a task, as far as it can be made before there is a task."""

    __slots__ = ("_arguments", "_cast", "_finish", "_handlers", "_view", "_what")

    def __init__(self, native: Any, handlers: Sequence[Handler], view: Spank, finish: Finish) -> None:
        """Keep what the task will need.

        Args:
            native: the module that holds ffi and lib.
            handlers: to run.
            view: for them, without a handle.
            finish: makes the entry point's answer of an outcome.
        """
        self._cast = native.ffi.cast
        self._handlers = handlers
        self._view = view
        self._arguments: dict[str, object] = {"spank": view}
        self._finish = finish
        self._what = f"spank {view.callback}"

    def at(self, handle: int) -> tuple[str, Callable[[], Answer]]:
        """Take the address of the ``spank_t``; return what this is, for the log, and what runs the handlers."""
        self._view.begin(self._cast("struct spank_handle *", handle))
        return self._what, self._run

    def _run(self) -> Answer:
        return self._finish(dispatch.run(self._handlers, self._arguments, self._view))


def prepare(native: Any, registry: Registry, args: Sequence[str], argv: int, store: Store, finish: Finish) -> None:
    """Make what the tasks need for the handlers of one line of plugstack.conf.

    Args:
        native: the module that holds ffi and lib.
        registry: the line's handlers; those of Lua scripts are left to be called as ever.
        args: the line's, for handlers.
        argv: the address of all its arguments.
        store: keeps it, by ``argv`` and the name of the callback.
        finish: see :class:`Prepared`.
    """
    for name in CALLBACKS:
        handlers = [handler for handler in registry.handlers(f"spank.{name}") if CONTEXT in handler.contexts]
        if handlers and not any(handler.scripted for handler in handlers):
            view = Spank(native, native.ffi.NULL, CONTEXT, name, args)
            store[argv, name] = Prepared(native, handlers, view, finish)


def _write(spank: Spank) -> None:
    spank.env[VARIABLE] = "1"


def _delete(spank: Spank) -> None:
    del spank.env[VARIABLE]


def rehearse(
    native: Any, handle: Any, callback: Callable[..., tuple[int, None, int]], store: Store, finish: Finish
) -> None:
    """Do what tasks will do; nothing of it remains for them to see.

    Args:
        native: see :func:`prepare`.
        handle: the ``spank_t`` of init_post_opt in slurmstepd, where the environment of the tasks can be written.
        callback: the entry point.
        store: see :func:`prepare`.
        finish: see :class:`Prepared`.
    """
    ffi = native.ffi
    name = ffi.new("char[]", b"task_init")
    # No line of plugstack.conf has its arguments there.
    name_at, handle_at = (int(ffi.cast("intptr_t", pointer)) for pointer in (name, handle))
    spec, context = HOOKS["spank.task_init"], CONTEXTS.index(CONTEXT) + 1
    for function, times in ((_write, TIMES), (_delete, 1)):
        handler = Handler(function, ("spank",), spec, 50, False, (CONTEXT,), __name__, __file__, 0)
        registry = Registry([handler], [])
        for _ in range(times):
            prepare(native, registry, (), name_at, store, finish)
            callback(name_at, handle_at, context, 0, name_at, 1, 0, 0, 0)
