# SPDX-License-Identifier: GPL-2.0-or-later
"""Command line options on their way between Slurm and ``Option.value``."""

from __future__ import annotations

from slurmhooks import dispatch
from slurmhooks.errors import Reject
from slurmhooks.log import log
from slurmhooks.outcome import Outcome
from slurmhooks.values import text_from_c

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmhooks.hook import Option
    from slurmhooks.registry import Registry

LIMIT = 256
"""MOST_OPTIONS of native/spank/lines.h."""


class Options:
    """The options of all lines of plugstack.conf in this process.

    Attributes:
        pending: a value that was refused in slurmstepd, where Slurm only logs our answer: the next callback carries it.
    """

    __slots__ = ("_ffi", "_keep", "_lib", "pending")

    def __init__(self, native: Any) -> None:
        """Take the compiled view."""
        self._ffi = native.ffi
        self._lib = native.lib
        self._keep: list[Any] = []
        self.pending: Outcome | None = None

    def register(self, registry: Registry, handle: Any, context: str, callback: int, base: int) -> bool:
        """Register the options of a line with Slurm; tell whether that went well.

        Args:
            registry: the line's handlers and options.
            handle: the ``spank_t``.
            context: its name.
            callback: address of the stub's function for options.
            base: the number of the line's first option; the others follow.
        """
        if context not in ("local", "remote", "allocator"):
            return True
        if len(registry.options) > LIMIT:
            log.error("a line of plugstack.conf may have %d options, not %d", LIMIT, len(registry.options))
            return False
        for index, option in enumerate(registry.options):
            if context not in option.contexts:
                continue
            code = self._lib.spank_option_register(handle, self._struct(option, base + index, callback))
            if code:
                reason = text_from_c(self._ffi.string(self._lib.spank_strerror(code)))
                log.error("%r: spank_option_register: %s", option, reason)
                return False
        return True

    def _struct(self, option: Option, value: int, callback: int) -> Any:
        """Return the ``struct spank_option``; Slurm copies it, but promises that nowhere, so it is kept."""
        struct = self._ffi.new("struct spank_option *")
        for member, text in (("name", option.name), ("arginfo", option.arginfo), ("usage", option.usage)):
            if text is not None:
                string = self._ffi.new("char[]", text.encode())
                self._keep.append(string)
                setattr(struct, member, string)
        struct.has_arg = has_arg(option)
        struct.val = value
        struct.cb = self._ffi.cast("int (*)(int, const char *, int)", callback)
        self._keep.append(struct)
        return struct

    def take(self, option: Option, text: str | None, remote: bool) -> bool:
        """Take a value that the user gave; tell whether it was accepted.

        Args:
            option: which.
            text: the argument; None if there is none.
            remote: this is slurmstepd, prolog or epilog: a refusal is kept for the next callback.
        """
        if option.arginfo is None or (option.optional and (text is None or text in ("", "(null)"))):
            text = None
        refused = self._convert(option, text)
        if refused is None:
            return True
        if remote:
            self.pending = self.pending or refused
        elif refused.error_id is None:
            log.error("%s", refused.text)
        else:
            log.user(refused.text or "")
        return False

    @staticmethod
    def _convert(option: Option, text: str | None) -> Outcome | None:
        """Convert and keep a value; the outcome if that fails."""
        try:
            option.accept(option.convert(text))
        except Reject as reject:
            return Outcome(passed=False, code=reject.code, text=f"--{option.name}: {reject.text}")
        except ValueError as error:
            return Outcome(passed=False, code="ESPANK_BAD_ARG", text=f"--{option.name}: {error}")
        except BaseException as error:  # noqa: BLE001 - a bug in a site's check must not end srun without a word
            message, error_id = dispatch.report_bug(f"check of {option!r}", error)
            return Outcome(passed=False, text=message, error_id=error_id)
        return None

    def of_script(self, registry: Registry, handle: Any) -> None:
        """Fetch the options in prolog and epilog, where Slurm makes no callback for them."""
        for option in registry.options:
            if option.given or "job_script" not in option.contexts:
                continue
            argument = self._ffi.new("char **")
            if self._lib.spank_option_getopt(handle, self._struct(option, 0, 0), argument):
                continue
            pointer = argument[0]
            self.take(option, None if pointer == self._ffi.NULL else text_from_c(self._ffi.string(pointer)), True)


def has_arg(option: Option) -> int:
    """Return ``has_arg`` of ``struct spank_option``: 0 none, 1 required, 2 optional."""
    return 0 if option.arginfo is None else 2 if option.optional else 1
