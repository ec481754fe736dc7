# SPDX-License-Identifier: GPL-2.0-or-later
"""What slurmstepd does once before it forks many tasks, so that each of them, which starts as a copy of it, does less.

A task has a page fault for each page that it is the first to write to. CPython writes where nobody would think so: it
counts references, notes how often code has run and what it has found on the way, and looks for garbage.
"""

from __future__ import annotations

from slurmhooks.hook import CONTEXTS, HOOKS
from slurmhooks.registry import Handler, Registry
from slurmhooks.spank import model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

CONTEXT = "remote"
CALLBACKS = ("task_init_privileged", "task_init")
"""Those that run in the task's own process, once each."""
VARIABLE = "SLURMHOOKS_REHEARSAL"


class Spank(model.Spank):
    """A handle that is known only once there is a task, when native/core/tasks.c tells it the environment."""

    @property
    def _handle(self) -> Any:
        return self._ffi.cast("struct spank_handle *", self.env._handle)  # type: ignore[attr-defined]

    @_handle.setter
    def _handle(self, handle: None) -> None:
        """Leave it to C."""

    def __getattr__(self, name: str) -> Any:
        """Explain an attribute that does not exist; looked up at each that does, and so better close to the rest."""
        return super().__getattr__(name)


def prepare(native: Any, tasks: Any, registry: Registry, args: Sequence[str], argv: int) -> None:
    """Make what the tasks need for the handlers of one line of plugstack.conf.

    Args:
        native: the module that holds ffi and lib.
        tasks: the entry point, of native/core/tasks.c.
        registry: the line's handlers; those of Lua scripts are left to be called as ever.
        args: the line's, for handlers.
        argv: the address of all its arguments.
    """
    set_at, unset_at = (
        int(native.ffi.cast("intptr_t", native.ffi.addressof(native.lib, name)))
        for name in ("spank_setenv", "spank_unsetenv")
    )
    for name in CALLBACKS:
        handlers = [handler for handler in registry.handlers(f"spank.{name}") if CONTEXT in handler.contexts]
        if handlers and not any(handler.scripted for handler in handlers):
            bound = tuple(handler.bound(handler.spec.arguments) for handler in handlers)
            tasks.prepare(argv, name, bound, Spank(native, None, CONTEXT, name, args), set_at, unset_at)


def _write(spank: model.Spank) -> None:
    spank.env[VARIABLE] = "1"


def _delete(spank: model.Spank) -> None:
    del spank.env[VARIABLE]


def rehearse(native: Any, tasks: Any, handle: Any) -> None:
    """Do what tasks will do; nothing of it remains for them to see.

    Args:
        native: see :func:`prepare`.
        tasks: see :func:`prepare`.
        handle: the ``spank_t`` of init_post_opt in slurmstepd, where the environment of the tasks can be written.
    """
    ffi = native.ffi
    name = ffi.new("char[]", b"task_init")
    # No line of plugstack.conf has its arguments there.
    name_at, handle_at = (int(ffi.cast("intptr_t", pointer)) for pointer in (name, handle))
    spec, context = HOOKS["spank.task_init"], CONTEXTS.index(CONTEXT) + 1
    for function in (_write, _delete):
        handler = Handler(function, ("spank",), spec, 50, False, (CONTEXT,), __name__, __file__, 0)
        prepare(native, tasks, Registry([handler], []), (), name_at)
        tasks(name_at, handle_at, context, 0, name_at, 1, 0, 0, 0)
