# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for Slurm's commands and their options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.cli_filter.fields import FIELDS, Memory, Minutes, NodeCount, Number
from slurmhooks.cli_filter.model import Options
from slurmhooks.job_submit import strings
from slurmhooks.similar import nearest
from slurmhooks.testing.option_names import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ADDRESS = 1
"""The address of the options, which the stand-in does not use."""
BY_OPTION = {field.option: field for field in FIELDS.values()}
_FLAGS = """
    bell contiguous disable-status exact external-launcher hold ignore-pbs label multi-prog no-allocate no-bell no-kill
    no-requeue no-shell overcommit oversubscribe parsable preserve-env quit-on-interrupt reboot requeue spread-job
    test-only unbuffered use-min-nodes wait-for-children
"""
FLAGS = frozenset(_FLAGS.split())
"""Options without an argument."""


class Slurm:
    """Implements the functions of the module _slurmhooks_cli_filter.

    Attributes:
        values: of the options that are given.
        environment: of the command.
    """

    def __init__(
        self, command: str, spank: Mapping[str, Mapping[str, str | None]], environment: Mapping[str, str]
    ) -> None:
        """Start without options."""
        self._names = NAMES[command]
        self._spank = {plugin: dict(values) for plugin, values in spank.items()}
        self.values: dict[str, str] = {}
        self.environment = dict(environment)

    def get(self, options: int, name: bytes, /) -> str | None:
        """Return the text of an option, or None."""
        del options
        return self.values.get(name.decode())

    def is_set(self, options: int, name: bytes, /) -> bool:
        """Tell whether an option was given or set."""
        del options
        return name.decode() in self.values

    def assign(self, options: int, name: bytes, value: bytes, early: bool, /) -> bool:
        """Set an option; tell whether Slurm would accept the text, as far as the stand-in knows."""
        del options, early
        try:
            self.values[name.decode()] = printed(name.decode(), value.decode("utf-8", "surrogateescape"))
        except ValueError:
            return False
        return True

    def reset(self, options: int, name: bytes, /) -> bool:
        """Reset an option to its default."""
        del options
        self.values.pop(name.decode(), None)
        return True

    def names(self, options: int, /) -> list[str]:
        """Return the long options of the command."""
        del options
        return list(self._names)

    def given(self, options: int, /) -> list[tuple[str, str | None]]:
        """Return names and texts of the options that are set."""
        del options
        return sorted(self.values.items())

    def spank(self) -> dict[str, dict[str, str | None]]:
        """Return the options of SPANK plugins, by plugin and name."""
        return self._spank

    def get_variable(self, name: bytes, /) -> str | None:
        """Return a variable of the environment, or None."""
        return self.environment.get(name.decode("utf-8", "surrogateescape"))

    def set_variable(self, name: bytes, value: bytes | None, /) -> None:
        """Set a variable of the environment; None deletes it."""
        key = name.decode("utf-8", "surrogateescape")
        if value is None:
            self.environment.pop(key, None)
        else:
            self.environment[key] = value.decode("utf-8", "surrogateescape")

    def variables(self) -> list[str]:
        """Return the entries of the environment."""
        return [f"{name}={value}" for name, value in self.environment.items()]


def printed(name: str, text: str) -> str:
    """Return how Slurm prints the value of an option.

    Raises:
        ValueError: Slurm does not accept the value.
    """
    field = BY_OPTION.get(name)
    if isinstance(field, Minutes):
        return strings.mins_to_time_str(strings.time_str2mins(text))
    if isinstance(field, Memory):
        return strings.mib_to_mem_str(strings.mem_str_to_mib(text))
    if isinstance(field, NodeCount):
        ends = [int(end) for end in text.split("-")]
        if len(ends) > 2 or min(ends) < 1 or ends[0] > ends[-1]:
            raise ValueError(text)
        return str(ends[0]) if ends[0] == ends[-1] else f"{ends[0]}-{ends[1]}"
    if isinstance(field, Number):
        return str(int(text))
    return "set" if name in FLAGS else text


class FakeOptions(Options):
    """``options`` without Slurm.

    Args:
        command: ``salloc``, ``sbatch``, ``srun`` or ``scrontab``.
        options: what the user has given, by the long names of options, as text.
        argv: the words after the options.
        script: the text of sbatch's batch script.
        environment: of the command.
        spank: the options of SPANK plugins, by plugin and name.
        early: this is the early call of setup_defaults.
        fields: what the user has given, by the names of properties: ``time_limit=60``.

    Pass it to a handler or to :func:`run`; afterwards it has the values that the handlers wrote.
    """

    def __init__(
        self,
        command: str = "sbatch",
        *,
        options: Mapping[str, str] | None = None,
        argv: Iterable[str] = (),
        script: str | None = None,
        environment: Mapping[str, str] | None = None,
        spank: Mapping[str, Mapping[str, str | None]] | None = None,
        early: bool = False,
        **fields: Any,
    ) -> None:
        """Create the stand-in; see the class."""
        if command not in NAMES:
            raise ValueError(f"command takes one of {', '.join(NAMES)}, not {command!r}")
        words = tuple(argv)
        slurm = Slurm(command, spank or {}, environment or {})
        super().__init__(slurm, ADDRESS, command, early, lambda: words)
        self._fake = (slurm, words, script)
        for name, text in (options or {}).items():
            self._must_know(name)
            slurm.values[name] = printed(name, text)
        for name, value in fields.items():
            if name not in FIELDS:
                raise TypeError(f"options has no {name!r}{nearest(name, FIELDS)}")
            setattr(self, name, value)
        self._journal.clear()

    @property
    def script(self) -> str | None:
        """The text of sbatch's batch script."""
        return super().script if self._fake[2] is None else self._fake[2]

    def _view(self) -> FakeOptions:
        """Return the view for the handlers of one call."""
        made = FakeOptions.__new__(FakeOptions)
        slurm, words, _ = made._fake = self._fake
        Options.__init__(made, slurm, ADDRESS, self.command, self._early, lambda: words)
        return made

    def _state(self) -> dict[str, Any]:
        """Return the values that handlers can change: options by name, and the environment."""
        slurm = self._fake[0]
        return {**slurm.values, "environment": dict(slurm.environment)}

    @property
    def texts(self) -> dict[str, str]:
        """The options that are given, as text."""
        return dict(self._fake[0].values)
