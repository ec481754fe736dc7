# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm's C functions, called for one SPANK callback; and the contexts and callbacks in which they work."""

from __future__ import annotations

from slurmhooks.errors import SpankError
from slurmhooks.hooks.points import POINTS
from slurmhooks.values import ENCODING, ERRORS, strings_from_c, text_from_c

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

FIRST_BUFFER = 4096
"""Initial size of the buffer in bytes; each retry uses four times as much."""
LAST_BUFFER = 1 << 28


class Where:
    """The contexts and callbacks in which a function or an item works.

    Attributes:
        text: description for messages and the documentation; completes "it works ...".
        places: the callbacks of each context; None for all callbacks of a context.
    """

    __slots__ = ("places", "text")

    def __init__(self, text: str, **places: tuple[str, ...] | None) -> None:
        self.text = text
        self.places = places

    def includes(self, context: str, callback: str) -> bool:
        """Tell whether these places include a callback in a context."""
        if context not in self.places:
            return False
        callbacks = self.places[context]
        return callbacks is None or callback in callbacks


_LAUNCH = ("local_user_init",)
_TASK = tuple(name for name in POINTS["spank"].functions if name.startswith("task_"))

REMOTE = Where("in slurmstepd (context remote)", remote=None)
USER = Where("in slurmstepd, srun's local_user_init, prolog and epilog", remote=None, local=_LAUNCH, job_script=None)
LAUNCH = Where("in slurmstepd and srun's local_user_init", remote=None, local=_LAUNCH)
TASK = Where("in the task callbacks of slurmstepd, but not of an extern step", remote=_TASK)
EXIT = Where("in task_exit", remote=("task_exit",))
FORKED = Where("in slurmstepd's task_post_fork, task_exit and exit", remote=("task_post_fork", "task_exit", "exit"))
ANYWHERE = Where("everywhere", local=None, remote=None, allocator=None, slurmd=None, job_script=None)
CONTROL_WRITE = Where(
    "in sbatch's and salloc's init and init_post_opt, and in srun's init_post_opt; srun forgets what init writes, and"
    " later calls come after the job was submitted",
    allocator=("init", "init_post_opt"),
    local=("init_post_opt",),
)
STATE = Where("in slurmstepd, prolog and epilog", remote=None, job_script=None)
STATE_WRITE = Where(
    "in prolog and epilog, and in slurmstepd's init, init_post_opt, task_post_fork, task_exit and exit",
    remote=("init", "init_post_opt", "task_post_fork", "task_exit", "exit"),
    job_script=None,
)
PREPEND = Where("in task_init_privileged and task_init", remote=("task_init_privileged", "task_init"))


class Calls:
    """The functions of spank.h, for one callback, named without ``slurm_spank_``, and its context."""

    __slots__ = ("callback", "context", "ffi", "handle", "lib")

    def __init__(self, native: Any, handle: Any, context: str, callback: str) -> None:
        """Store the arguments; ``native`` is the compiled module."""
        self.ffi = native.ffi
        self.lib = native.lib
        self.handle = handle
        self.context = context
        self.callback = callback

    def refuse(self, item: str, code: str, where: str) -> NoReturn:
        """Raise SpankError for an item or function that does not work in this callback.

        ``code`` is the name of an ESPANK code; ``where`` completes "it works ...".
        """
        raise SpankError(code, item, f"not available in {self.callback} ({self.context}); it works {where}")

    def code_name(self, code: int) -> str:
        """Return the name of an ESPANK code in this release of Slurm; its number if it has none."""
        for name in dir(self.lib):
            if name.startswith("ESPANK_") and getattr(self.lib, name) == abs(code):
                return name
        return str(code)

    def text(self, pointer: Any) -> str | None:
        """Return the text at a ``char *``; None for a null pointer."""
        return None if pointer == self.ffi.NULL else text_from_c(self.ffi.string(pointer))

    def get_item(self, item: str, where: Where, first: Any, second: Any) -> None:
        """Call spank_get_item().

        ``where`` are the callbacks in which Slurm has it; ``second`` is for the second result of items that have two.

        Raises:
            SpankError: Slurm does not have the item in this callback.
        """
        if self.context == "allocator" and where is not ANYWHERE:
            # Slurm has no items there, but in exit its answer depends on the content of a register.
            self.refuse(item, "ESPANK_NOT_AVAIL", where.text)
        code = self.lib.slurmhooks_get_item(self.handle, getattr(self.lib, item), first, second)
        if code:
            self.refuse(item, self.code_name(code), where.text)

    def job_environment(self, where: Where) -> list[str]:
        """Return S_JOB_ENV: ``NAME=VALUE`` of each variable."""
        environment = self.ffi.new("char ***")
        self.get_item("S_JOB_ENV", where, environment, self.ffi.NULL)
        return strings_from_c(self.ffi, environment[0])

    def read_variable(self, function: str, name: str, where: str) -> str | None:
        """Return a variable of any length; None if it is not set. ``where`` completes "it works ...".

        Raises:
            SpankError: the function does not work here.
        """
        size = FIRST_BUFFER
        while True:
            buffer = self.ffi.new("char[]", size)
            code = getattr(self.lib, function)(self.handle, name.encode(ENCODING, ERRORS), buffer, size)
            if not code:
                return text_from_c(self.ffi.string(buffer))
            if code == self.lib.ESPANK_ENV_NOEXIST:
                return None
            if code != self.lib.ESPANK_NOSPACE or size >= LAST_BUFFER:
                self.refuse(function, self.code_name(code), where)
            size *= 4

    def write_variable(self, function: str, name: str, value: str | None) -> None:
        """Set a variable, or unset it.

        The function is spank_setenv or spank_job_control_setenv; the one that unsets, for None, has a similar name.

        Raises:
            SpankError: Slurm refuses.
        """
        key = name.encode(ENCODING, ERRORS)
        if value is None:
            code = getattr(self.lib, function.replace("setenv", "unsetenv"))(self.handle, key)
        else:
            code = getattr(self.lib, function)(self.handle, key, value.encode(ENCODING, ERRORS), 1)
        if code:
            text = f"cannot write {name} in {self.callback} ({self.context})"
            raise SpankError(self.code_name(code), function, text)

    def process_variable(self, name: str) -> str | None:
        """Return a variable of this process; None if it is not set."""
        return self.text(self.lib.getenv(name.encode(ENCODING, ERRORS)))

    def process_environment(self) -> list[str]:
        """Return ``NAME=VALUE`` of each variable of this process."""
        return strings_from_c(self.ffi, self.lib.environ)

    def write_process_variable(self, name: str, value: str | None) -> None:
        """Set a variable of this process, or unset it (None)."""
        key = name.encode(ENCODING, ERRORS)
        if value is None:
            self.lib.unsetenv(key)
        else:
            self.lib.setenv(key, value.encode(ENCODING, ERRORS), 1)
