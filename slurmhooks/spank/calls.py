# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm's C functions, called for one SPANK callback."""

from __future__ import annotations

from slurmhooks.errors import SpankError
from slurmhooks.spank.fields import ANYWHERE
from slurmhooks.values import ENCODING, ERRORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from slurmhooks.spank.fields import Where


class Calls:
    """The functions of spank.h, for one callback.

    Attributes:
        native: the compiled module (native/spank/module.c).
        handle: the address of the ``spank_t``.
        context: the context of the callback.
        callback: its name, without ``slurm_spank_``.
    """

    __slots__ = ("callback", "context", "handle", "native")

    def __init__(self, native: Any, handle: Any, context: str, callback: str) -> None:
        """Store the arguments; see the class."""
        self.native = native
        self.handle = handle
        self.context = context
        self.callback = callback

    def refuse(self, item: str, code: str, where: str) -> NoReturn:
        """Raise SpankError for an item or function that does not work in this callback.

        Args:
            item: its name in spank.h.
            code: name of an ESPANK code.
            where: completes "it works ...".
        """
        raise SpankError(code, item, f"not available in {self.callback} ({self.context}); it works {where}")

    def code_name(self, code: int) -> str:
        """Return the name of an ESPANK code in this release of Slurm; its number if it has none."""
        for name in dir(self.native):
            if name.startswith("ESPANK_") and getattr(self.native, name) == abs(code):
                return name
        return str(code)

    def ask(self, item: str, where: Where, function: Callable[..., tuple[int, Any]], *arguments: object) -> Any:
        """Return an item.

        Args:
            item: its name in spank.h.
            where: where Slurm has it.
            function: of the compiled module.
            arguments: of the function, after the handle.

        Raises:
            SpankError: Slurm does not have it here.
        """
        if self.context == "allocator" and where is not ANYWHERE:
            # Slurm has no items there, but in exit its answer depends on what a register holds.
            self.refuse(item, "ESPANK_NOT_AVAIL", where.text)
        code, value = function(self.handle, *arguments)
        if code:
            self.refuse(item, self.code_name(code), where.text)
        return value

    def job_environment(self, where: Where) -> list[str]:
        """Return S_JOB_ENV: ``NAME=VALUE`` of each variable."""
        variables: list[str] = self.ask("S_JOB_ENV", where, self.native.job_env)
        return variables

    def read_variable(self, function: str, name: str, where: str) -> str | None:
        """Return a variable of any length; None if it is not set.

        Args:
            function: spank_getenv or spank_job_control_getenv.
            name: of the variable.
            where: completes "it works ...".

        Raises:
            SpankError: the function does not work here.
        """
        value: str | None
        code, value = getattr(self.native, function)(self.handle, name.encode(ENCODING, ERRORS))
        if code and code != self.native.ESPANK_ENV_NOEXIST:
            self.refuse(function, self.code_name(code), where)
        return value

    def write_variable(self, function: str, name: str, value: str | None) -> None:
        """Set a variable, or unset it.

        Args:
            function: spank_setenv or spank_job_control_setenv; the one that unsets has a similar name.
            name: of the variable.
            value: None: unset it.

        Raises:
            SpankError: Slurm refuses.
        """
        key = name.encode(ENCODING, ERRORS)
        if value is None:
            code = getattr(self.native, function.replace("setenv", "unsetenv"))(self.handle, key)
        else:
            code = getattr(self.native, function)(self.handle, key, value.encode(ENCODING, ERRORS), 1)
        if code:
            text = f"cannot write {name} in {self.callback} ({self.context})"
            raise SpankError(self.code_name(code), function, text)

    def process_variable(self, name: str) -> str | None:
        """Return a variable of this process; None if it is not set."""
        value: str | None = self.native.get_variable(name.encode(ENCODING, ERRORS))
        return value

    def process_environment(self) -> list[str]:
        """Return ``NAME=VALUE`` of each variable of this process."""
        variables: list[str] = self.native.variables()
        return variables

    def write_process_variable(self, name: str, value: str | None) -> None:
        """Set a variable of this process, or unset it (None)."""
        raw = None if value is None else value.encode(ENCODING, ERRORS)
        self.native.set_variable(name.encode(ENCODING, ERRORS), raw)
