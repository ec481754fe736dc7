# SPDX-License-Identifier: GPL-2.0-or-later
"""The value of a SPANK option in a request or a record of slurmctld.

slurmctld does not know options, but a request contains their values as variables: one for prolog and epilog, one for
the batch step, and one for srun in the batch script. Source: Slurm's spank.c (before 24.11 plugstack.c), _option_setenv
and _spank_stack_get_remote_options_env; sbatch.c, _set_spank_env.
"""

from __future__ import annotations

from slurmhooks.errors import Reject, UnknownError
from slurmhooks.hooks.points import CONTROL_PREFIX, INHERITED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Protocol, TypeVar

    Value = TypeVar("Value", covariant=True)

    class Option(Protocol[Value]):
        """What is read of an option."""

        @property
        def name(self) -> str:
            """Its name."""

        @property
        def arginfo(self) -> str | None:
            """The word for its argument."""

        @property
        def optional(self) -> bool:
            """Whether the argument may be omitted."""

        @property
        def type(self) -> Callable[[str], Value]:
            """What converts the argument."""

        @property
        def variable(self) -> str:
            """The variable with its value."""

        def argument(self, text: str | None) -> str | None:
            """Return the argument that a text stands for."""

        def convert(self, text: str | None) -> Value:
            """Convert and check an argument."""

        def refusal(self, error: ValueError) -> str:
            """Return the text for an argument that is refused."""

    class Variables(Protocol):
        """The environment of a request."""

        @property
        def frozen(self) -> str | None:
            """Why it cannot be changed; None if it can."""

        def get(self, name: str, /) -> str | None:
            """Return a variable, or None."""

        def pop(self, name: str, default: None, /) -> str | None:
            """Remove a variable."""

        def __setitem__(self, name: str, value: str, /) -> None:
            """Set a variable."""

    class Request(Protocol):
        """A request of job_submit or job_modify."""

        @property
        def environment(self) -> Variables:
            """The environment of the batch script."""

        @property
        def spank_job_env(self) -> Variables:
            """The job control environment."""

    class Record(Protocol):
        """A job in slurmctld."""

        @property
        def spank_job_env(self) -> Sequence[str] | None:
            """The job control environment."""


OMITTED = "(null)"
"""How Slurm passes on an option without an argument."""


def variables_of(option: Option[Any], text: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the variables of a request that has an option, as sbatch sets them: of job control, and of the job.

    ``text`` is :data:`OMITTED` if the option has no argument.
    """
    key = option.variable
    return {key: text}, {key: "" if text == OMITTED else text, INHERITED + key: text}


def value_of(option: Option[Value], job: Request | Record) -> Value | None:
    """Return the value of an option in a request or record; see :meth:`slurmhooks.hooks.option.Option.of`."""
    given = {place: option.argument(text) for place, text in _texts(option, job).items()}
    if not given:
        return None
    if len(set(given.values())) > 1:
        each = "; ".join(
            f"{'no argument' if text is None else repr(text)} for {place}" for place, text in given.items()
        )
        raise Reject(f"--{option.name} has different values in the environment of this job: {each}")
    try:
        return option.convert(next(iter(given.values())))
    except Reject as reject:
        raise _named(option, reject) from reject
    except ValueError as error:
        raise Reject(option.refusal(error)) from error


def _texts(option: Option[Any], job: Request | Record) -> dict[str, str]:
    """Return the texts that a request or record has for an option, by who reads them."""
    key = option.variable
    control = job.spank_job_env
    if control is None or isinstance(control, (list, tuple)):
        pairs = [entry.removeprefix(CONTROL_PREFIX).partition("=") for entry in control or ()]
        of_scripts = [text for name, _, text in pairs if name == key]
        return {"prolog and epilog": of_scripts[0]} if of_scripts else {}
    environment: Mapping[str, str]
    try:
        environment = job.environment  # type: ignore[union-attr, assignment]
    except UnknownError:  # hook.job, at an update
        environment = {}
    texts = {
        "prolog and epilog": control.get(key),  # type: ignore[union-attr]
        "the batch script": environment.get(key),
        "srun in it": environment.get(INHERITED + key),
    }
    return {place: text for place, text in texts.items() if text is not None}


def put(option: Option[Any], job: Request, value: object) -> None:
    """Set an option in a request, or remove it; see :meth:`slurmhooks.hooks.option.Option.set`."""
    text = None if value is None else _text(option, value)
    key = option.variable
    environment: Any = job.environment
    control: Any = job.spank_job_env
    before = control.get(key)
    if environment.frozen is not None:
        if before == text and control.frozen is None:
            return  # of srun or salloc, which have already given this value to their steps
        raise ValueError(f"--{option.name} cannot be set: {environment.frozen}{_advice(control)}")
    for_scripts, for_job = variables_of(option, "" if text is None else text)
    for target, variables in ((environment, for_job), (control, for_scripts)):
        for name, each in variables.items():
            if text is None:
                target.pop(name, None)
            else:
                target[name] = each


def _advice(control: Any) -> str:
    return "" if control.frozen is not None else "; hook.cli_filter.setup_defaults can give them the option"


def _text(option: Option[Any], value: object) -> str:
    """Return the text for a value, which must pass the type and the checks of its option."""
    if value is True and (option.arginfo is None or option.optional):
        text = OMITTED
    elif option.arginfo is None:
        raise TypeError(f"--{option.name} has no argument: it takes True or None, not {value!r}")
    elif isinstance(value, str):
        text = value
    elif option.type is str or isinstance(value, bool):
        raise TypeError(f"--{option.name} takes a str or None, not {value!r}")
    else:
        text = str(getattr(value, "value", value))  # of an enum.Enum
    if value is not True and option.argument(text) is None:
        raise ValueError(f"--{option.name}: Slurm takes the argument {text!r} as omitted")
    try:
        option.convert(text)
    except Reject as reject:
        raise _named(option, reject) from reject
    except ValueError as error:
        raise ValueError(option.refusal(error)) from error
    return text


def _named(option: Option[Any], reject: Reject) -> Reject:
    return Reject(f"--{option.name}: {reject.text}", code=reject.code)
