# SPDX-License-Identifier: GPL-2.0-or-later
"""``spank``, the argument of SPANK handlers."""

from __future__ import annotations

from slurmhooks.errors import SpankError
from slurmhooks.handlers.similar import nearest
from slurmhooks.handlers.view import OfACall
from slurmhooks.spank.calls import PREPEND, Calls
from slurmhooks.spank.environments import Environment
from slurmhooks.spank.fields import ITEMS, STEP_NAMES
from slurmhooks.values import text_from_c, text_to_c

TYPE_CHECKING: bool = False  # annotated, so that editors look into both branches
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from slurmhooks.hooks.points import Context
    from slurmhooks.spank.control import ControlEnvironment
    from slurmhooks.spank.fields import Item
    from slurmhooks.spank.items import Items  # written by tools/make_stubs.py
    from slurmhooks.spank.state import State
else:
    Items = object

_FOR_DISPATCH = frozenset({"savepoint", "rollback", "commit", "close", "bind"})


class Spank(OfACall, Items):
    """The handle of one SPANK callback.

    The items of ``spank_item_t`` are attributes, with the names of spank.h without ``S_`` and in lower case; items that
    take an argument are methods. Where Slurm does not have an item, reading it raises SpankError.

    Attributes:
        context: "local" (srun), "remote" (slurmstepd), "allocator" (sbatch, salloc, scrontab, scrun), "slurmd" or
            "job_script".
        args: the arguments on the line of plugstack.conf, without those for slurmhooks itself.
        callback: Slurm's name of the running callback, without ``slurm_spank_``.
        env: the environment: of the job in slurmstepd, of the process elsewhere.
        job_control_env: variables that srun, sbatch and salloc set for prolog and epilog. The user who submits the job
            can set them, too: prolog and epilog run as root and must not trust them.
        state: JSON values that handlers of the job's prolog, steps and epilog on this node leave for each other. Only
            root can read and change them; tasks and user_init see what they were after init_post_opt.
    """

    def __init__(
        self,
        native: Any,
        handle: Any,
        context: Any,
        callback: str,
        args: Sequence[str],
        state: Callable[[Calls], State] | None = None,
        control_lost: bool = False,
    ) -> None:
        """Wrap a handle. For the entry module.

        ``state`` returns the state, at its first use; None for Lua scripts, which cannot use it. ``control_lost``:
        Slurm itself has lost the job control environment, and must not be asked for it.
        """
        self._calls = calls = Calls(native, handle, context, callback)
        self._alive = True
        self._prepended: list[bytes] = []
        self._context = context
        self._callback = callback
        self._args = tuple(args)
        self._env = Environment(calls)
        self._control_lost = control_lost
        self._control: ControlEnvironment | None = None
        self._make_state = state
        self._state: State | None = None

    def bind(self, handle: Any) -> None:
        """Use another ``spank_t``. For the entry module, which creates the view of a task before it forks the task."""
        self._calls.handle = handle

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Raise an error with similar names."""
            names = (each for each in dir(self) if not each.startswith("_") and each not in _FOR_DISPATCH)
            raise AttributeError(f"spank has no {name!r}{nearest(name, names)}")

        def __setattr__(self, name, value):
            """Refuse assignments: a handler can write only to the environments and to the state."""
            if not name.startswith("_"):
                if name not in dir(self):
                    self.__getattr__(name)
                if name in ("env", "job_control_env", "state") and value is getattr(self, name):
                    return  # spank.env |= ... ends with this assignment
                raise AttributeError(f"spank.{name} is read-only")
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        """Return callback and context."""
        return f"<Spank {self.callback} in {self.context}>"

    @property
    def context(self) -> Context:
        """Where the callback runs; see the class."""
        context: Context = self._context
        return context

    @property
    def callback(self) -> str:
        """The running callback; see the class."""
        return self._callback

    @property
    def args(self) -> tuple[str, ...]:
        """The arguments on the line of plugstack.conf; see the class."""
        return self._args

    @property
    def env(self) -> Environment:
        """The environment; see the class."""
        return self._env

    @property
    def job_control_env(self) -> ControlEnvironment:
        """The variables for prolog and epilog; see the class."""
        if self._control is None:
            from slurmhooks.spank.control import ControlEnvironment  # few handlers use it

            self._control = ControlEnvironment(self._calls, self._control_lost)
            if not self._alive:
                self._control.close()
        return self._control

    @property
    def state(self) -> State:
        """What handlers of the job leave for each other; see the class.

        Where: in slurmstepd, prolog and epilog. Tasks and user_init can only read.
        """
        if self._state is None:
            self._living()
            assert self._make_state is not None
            self._state = self._make_state(self._calls)
        return self._state

    @property
    def step_name(self) -> str:
        """The name of the step, as in Slurm's tools: a number, "batch", "extern" or "interactive".

        Where: as job_stepid.
        """
        return STEP_NAMES.get(self.job_stepid, str(self.job_stepid))

    def prepend_task_argv(self, argv: Iterable[str]) -> None:
        """Insert words before the command of the task, after all handlers have passed.

        Args:
            argv: the words. Those of a later call are inserted before those of an earlier one.

        Raises:
            SpankError: outside task_init_privileged and task_init, or before Slurm 23.11.

        Source: spank.h spank_prepend_task_argv, since 23.11.
        """
        self._living()
        if not hasattr(self._calls.lib, "spank_prepend_task_argv"):
            self._calls.refuse("spank_prepend_task_argv", "ESPANK_NOT_AVAIL", "in Slurm 23.11 and later")
        if not PREPEND.includes(self.context, self.callback):
            self._calls.refuse("spank_prepend_task_argv", "ESPANK_NOT_TASK", PREPEND.text)
        if isinstance(argv, str):
            raise TypeError(f"prepend_task_argv takes a list of str, not {argv!r}")
        self._prepended[:0] = [text_to_c("argv", word) for word in argv]

    def symbol_supported(self, symbol: str) -> bool:
        """Tell whether the running Slurm calls a function, such as ``slurm_spank_task_init``.

        Source: spank.h spank_symbol_supported.
        """
        self._living()
        return bool(self._calls.lib.spank_symbol_supported(text_to_c("symbol", symbol)) == 1)

    def _item(self, item: Item) -> Any:
        self._living()
        if not item.ctype:
            return READERS[item.item](self, item)
        ffi = self._calls.ffi
        result = ffi.new(f"{item.ctype} *")
        self._calls.get_item(item.item, item.where, result, ffi.NULL)
        return item.convert(self, self._calls.text(result[0]) if item.ctype == "char *" else result[0])

    def _argv(self, item: Item) -> list[str]:
        ffi = self._calls.ffi
        count = ffi.new("int *")
        argv = ffi.new("char ***")
        self._calls.get_item(item.item, item.where, count, argv)
        return [text_from_c(ffi.string(argv[0][index])) for index in range(count[0])]

    def _gids(self, item: Item) -> list[int]:
        ffi = self._calls.ffi
        gids = ffi.new("gid_t **")
        count = ffi.new("int *")
        self._calls.get_item(item.item, item.where, gids, count)
        return [int(gids[0][index]) for index in range(count[0])]

    def _environment(self, item: Item) -> dict[str, str]:
        if self.context != "remote":
            # In srun's local_user_init Slurm reports success and gives a null pointer.
            self._calls.refuse(item.item, "ESPANK_NOT_REMOTE", item.where.text)
        return dict(self.env)

    def _convert(self, item: Item, value: int) -> Any:
        self._living()
        if not isinstance(value, int):
            raise TypeError(f"{item.argument} takes an int, not {value!r}")
        if not 0 <= value < 1 << 32:
            raise ValueError(f"{item.argument} takes 0 to {(1 << 32) - 1}, not {value}")
        calls = self._calls
        result = calls.ffi.new(f"{item.ctype} *")
        if item.argument == "local_id" and self.context == "remote" and value >= self.job_local_task_count:
            # Slurm would read past the end of its array of tasks.
            code = calls.lib.ESPANK_NOEXIST
        else:
            code = calls.lib.slurmhooks_convert(calls.handle, getattr(calls.lib, item.item), value, result)
        if code and item.where.includes(self.context, self.callback):
            raise SpankError(calls.code_name(code), item.item, f"no answer for {item.argument} {value}")
        if code:
            calls.refuse(item.item, calls.code_name(code), item.where.text)
        return item.convert(self, result[0])

    def savepoint(self) -> object:
        """Return the staged writes. For dispatch."""
        state = None if self._state is None else self._state.savepoint()
        control = {} if self._control is None else self._control.savepoint()
        return self.env.savepoint(), control, state, list(self._prepended)

    def rollback(self, savepoint: object) -> None:
        """Discard the writes since a savepoint. For dispatch."""
        assert isinstance(savepoint, tuple)
        env, job_control, state, self._prepended[:] = savepoint
        if self._state is not None:
            self._state.rollback(state)
        self.env.rollback(env)
        if self._control is not None:
            self._control.rollback(job_control)

    def commit(self) -> None:
        """Apply the staged writes. For dispatch."""
        if self._state is not None:
            self._state.commit()
        self.env.commit()
        if self._control is not None:
            self._control.commit()
        if self._prepended:
            calls = self._calls
            words = [calls.ffi.new("char[]", word) for word in self._prepended]
            argv = calls.ffi.new("const char *[]", [*words, calls.ffi.NULL])
            code = calls.lib.spank_prepend_task_argv(calls.handle, len(words), argv)
            if code:
                raise SpankError(
                    calls.code_name(code), "spank_prepend_task_argv", "cannot prepend to the task's command"
                )

    def close(self) -> None:
        """Make every later use raise StaleHandleError. For dispatch."""
        self._alive = False
        if self._state is not None:
            self._state.close()
        self.env.close()
        if self._control is not None:
            self._control.close()


def _attribute(item: Item) -> Any:
    doc = f"{item.doc}\n\nWhere: {item.where.text}. Source: spank.h {item.item}."
    if item.argument is None:
        return property(lambda self: self._item(item), doc=doc)

    def method(self: Spank, value: int) -> Any:
        return self._convert(item, value)

    method.__name__ = item.name
    method.__doc__ = doc
    return method


READERS: dict[str, Callable[[Spank, Item], Any]] = {
    "S_JOB_ARGV": Spank._argv,
    "S_JOB_ENV": Spank._environment,
    "S_JOB_SUPPLEMENTARY_GIDS": Spank._gids,
}
"""Readers of the items that need one; for type checkers, their return type is the type of the item."""

for _item in ITEMS:
    setattr(Spank, _item.name, _attribute(_item))
