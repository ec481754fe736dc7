# SPDX-License-Identifier: GPL-2.0-or-later
"""Command line options that a site adds to srun, sbatch and salloc."""

from __future__ import annotations

from slurmhooks.errors import HandlerError
from slurmhooks.hooks.decorator import collect_check
from slurmhooks.hooks.points import INHERITED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Generic

    from typing_extensions import TypeVar

    from slurmhooks.hooks.requested import Record, Request

    Value = TypeVar("Value", default=Any)

    class _Of(Generic[Value]):
        """Base class that makes Option generic for type checkers."""

else:
    Value, _Of = None, {None: object}  # at run time, without importing typing

KINDS = (
    ("invalid literal for int()", "a whole number"),
    ("Exceeds the limit", "a whole number"),  # of digits
    ("could not convert string to float", "a number"),
    ("Invalid literal for Fraction", "a number"),
    ("complex() arg", "a number"),
    ("[<class 'decimal.", "a number"),
)
"""What to write in place of errors of Python's own types, by their beginnings: users read the text."""


PREFIX = "_SLURM_SPANK_OPTION_"
"""Slurm's SPANK_OPTION_ENV_PREFIX."""


def canonical(name: str) -> str:
    """Return a name as Slurm writes it in names of variables: all but letters and digits of ASCII becomes ``_``."""
    # As isalnum(3) in the C locale.
    raw = name.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if byte < 128 and chr(byte).isalnum() else "_" for byte in raw)


def passed_on(plugin: str, name: str) -> str:
    """Return the variable in which Slurm passes on an option of a plugin."""
    return PREFIX + canonical(f"{plugin}_{name}")


def inherited(plugin: str, name: str) -> str:
    """Return the variable in which commands read an option of a plugin."""
    return INHERITED + passed_on(plugin, name)


class UnfitError(ValueError):
    """A text that the type of an option does not take. The message follows the name of the option."""


class Option(_Of[Value]):
    """A command line option of srun, sbatch and salloc that a site adds.

    Attributes:
        name: without the dashes.
        arginfo: one word that names the argument in ``--help``; None for a flag, which takes no argument.
        usage: the help text.
        optional: the argument may be omitted.
        type: converts the text of the argument.
        contexts: the contexts in which the option exists.
        sequence: number in the order of definition.
        owner: name of the module that defined it, see slurmhooks.hooks.decorator.running_module.
        where: file and line, for messages.
        scripted: a Lua script defined it, see slurmhooks.lua.
    """

    scripted = False

    __slots__ = (
        "_checks",
        "_values",
        "arginfo",
        "contexts",
        "name",
        "optional",
        "owner",
        "sequence",
        "type",
        "usage",
        "where",
    )

    def __init__(
        self,
        name: str,
        arginfo: str | None,
        usage: str,
        optional: bool,
        type: Callable[[str], Value],
        contexts: tuple[str, ...],
        sequence: int,
        owner: str,
        where: str = "",
    ) -> None:
        self.name = name
        self.arginfo = arginfo
        self.usage = usage
        self.optional = optional
        self.type = type
        self.contexts = contexts
        self.sequence = sequence
        self.owner = owner
        self.where = where
        self._checks: list[Callable[[Value], Value | None]] = []
        self._values: tuple[Value, ...] | None = None

    def __repr__(self) -> str:
        """Return the option as a hook file spells it."""
        return f"hook.spank.option({self.name!r})"

    @property
    def value(self) -> Value | None:
        """The value that the user gave: None if the option was not given, True if it was given without an argument.

        Raises:
            SlurmhooksError: Slurm tells this process nothing of options, such as a worker of slurmctld; see ``of``.
        """
        values = self._known("value")
        return values[-1] if values else None

    @property
    def given(self) -> bool:
        """Whether the user gave the option, on the command line or in its environment variable.

        Raises:
            SlurmhooksError: see :attr:`value`.
        """
        return bool(self._known("given"))

    @property
    def values(self) -> tuple[Value, ...]:
        """Every value that the option was given, in Slurm's order: the last one is :attr:`value`.

        In srun, sbatch and salloc: those of ``#SBATCH`` lines, then those of the command line; if there are none, that
        of the environment variable. Elsewhere Slurm passes on only the last one. In a heterogeneous job, each
        component has its own.

        Raises:
            SlurmhooksError: see :attr:`value`.
        """
        return self._known("values")

    def _known(self, attribute: str) -> tuple[Value, ...]:
        if self._values is None:
            raise HandlerError(
                f"the option --{self.name} has no .{attribute} here: only handlers of hook.spank have it, when they"
                " run; of a request or a record of slurmctld, use option.of(job); in cli_filter, options.spank"
            )
        return self._values

    def of(self, job: Request | Record) -> Value | None:
        """Return the value that a request has, converted and checked; in job_submit, and for records of slurmctld.

        Args:
            job: ``job`` of job_submit, or a record. A request for an update has no options; its ``record`` has them.

        Returns:
            None if the option is not given, True if it has no argument.

        Raises:
            Reject: the type or a check refuses the value, or the parts of the job would see different values. The user
                reads which.
        """
        from slurmhooks.hooks import requested

        return requested.value_of(self, job)

    def set(self, job: Request, value: Value | None) -> None:
        """Set the value in a request, for the batch script, its steps, prolog and epilog; in job_submit.

        It also works for jobs that do not come from sbatch, such as those of slurmrestd.

        Args:
            job: ``job`` of job_submit, for a batch job.
            value: the value, whose ``str()`` the type must accept; True for an option without an argument; None removes
                the option.

        Raises:
            TypeError: the value is of the wrong type.
            ValueError: the type or a check refuses the value, or the request is not of a batch job: srun and salloc
                pass their options on without slurmctld.
            Reject: a check refuses the value with this exception.
        """
        from slurmhooks.hooks import requested

        requested.put(self, job, value)

    def unset(self, job: Request) -> None:
        """Remove the option from a request, as ``set(job, None)``."""
        self.set(job, None)

    @property
    def variable(self) -> str:
        """The variable in which Slurm passes on the value. Names that differ only in punctuation share a variable."""
        return passed_on("python", self.name)

    @property
    def made(self) -> str:
        """The variable in which srun passes on what its checks have made of the value; slurmstepd removes it."""
        return "_SLURMHOOKS_OPTION_" + self.variable.removeprefix(PREFIX)

    @property
    def has_arg(self) -> int:
        """``has_arg`` of ``struct spank_option``: 0 none, 1 required, 2 optional."""
        return 0 if self.arginfo is None else 2 if self.optional else 1

    @property
    def checked(self) -> bool:
        """Whether a value must be converted or checked before anything is submitted."""
        return bool(self._checks) or self.type is not str

    def check(self, function: Callable[[Value], Value | None]) -> Callable[[Value], Value | None]:
        """Decorate a function that checks the value, and may return another one to use.

        It runs in srun, sbatch and salloc before anything is submitted, as the user, and again in slurmstepd, as root.
        If it raises ``Reject`` or ``ValueError``, the command ends and the user sees the text of the exception.

        Raises:
            TypeError: the function cannot be called with one argument.
            SlurmhooksError: a handler is running.
        """
        collect_check(f"@{self!r}.check")
        if not _takes_one(function):
            raise TypeError(f"{self!r}: a check takes one argument, the value")
        self._checks.append(function)
        return function

    def argument(self, text: str | None) -> str | None:
        """Return the argument that Slurm's text for an option stands for; None if it has none.

        Slurm passes an omitted argument as an empty text or as "(null)", so that these texts count as omitted if the
        argument is optional.
        """
        return None if self.arginfo is None or (self.optional and text in ("", "(null)")) else text

    def convert(self, text: str | None) -> Value:
        """Convert and check an argument. For the SPANK plugin.

        ``text`` is as Slurm passes it; None if the option was given without an argument.

        Raises:
            Exception: whatever the type or a check raises; UnfitError in place of errors of Python's own types.
        """
        argument = self.argument(text)
        try:
            value: Any = True if argument is None else self.type(argument)
            result: Value = value
            for check in self._checks:
                changed = check(result)
                if changed is not None:  # which would mean that the option is not given
                    result = changed
        except (ValueError, ArithmeticError) as error:  # decimal's is of the latter kind
            kind = self._kind(str(error))
            if kind is None:
                raise
            raise UnfitError(f"takes {kind}, not {argument!r}") from error
        return result

    def as_text(self, text: str | None) -> str | None:
        """Return the text that stands for the value of an option. For the SPANK plugin.

        It is what the type and the checks have made of the text that the user gave, if they make the same of it again,
        wherever they run; otherwise it is that text.
        """
        return self.standing_for(text, self._values[-1]) if self._values else text

    def standing_for(self, text: str | None, value: Value) -> str | None:
        """Return the text that stands for a value, see :meth:`as_text`."""
        if value is True:
            return text
        made = str(value)
        return made if made == text or (made and "\0" not in made and self.convert(made) == value) else text

    def _kind(self, text: str) -> str | None:
        """Return what the option takes, in the words of users, if that is known from an error of Python's types."""
        members = getattr(self.type, "__members__", None)  # of an enum.Enum
        if members and text.endswith(f"is not a valid {getattr(self.type, '__qualname__', '')}"):
            return f"one of {', '.join(str(member.value) for member in members.values())}"
        return next((kind for start, kind in KINDS if text.startswith(start)), None)

    def refusal(self, error: ValueError) -> str:
        """Return the text for users about an exception of :meth:`convert`."""
        return f"--{self.name} {error}" if isinstance(error, UnfitError) else f"--{self.name}: {error}"

    def accept(self, value: Value, again: bool = False) -> None:
        """Store a converted value. For the SPANK plugin.

        ``again`` keeps the values that the option had before in :attr:`values`.
        """
        self._values = (*(self._values or ()), value) if again else (value,)

    def reset(self) -> None:
        """Reset the option, as if it had not been given. For the SPANK plugin and for tests."""
        self._values = ()

    def detach(self) -> None:
        """Let the option have no value at all, as outside of SPANK. For tests."""
        self._values = None


def _takes_one(function: Callable[..., object]) -> bool:
    """Tell whether a function can be called with one argument; True if it is not a plain function."""
    code = getattr(function, "__code__", None)
    if code is None or hasattr(function, "__self__"):
        return True
    least = code.co_argcount - len(function.__defaults__ or ())
    any_number = code.co_flags & 4  # CO_VARARGS
    named = code.co_kwonlyargcount - len(function.__kwdefaults__ or ())
    return bool(least <= 1 and (code.co_argcount or any_number) and not named)
