# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for Slurm's commands and their options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slurmhooks.cli_filter.command_options import NAMES
from slurmhooks.cli_filter.fields import FIELDS
from slurmhooks.cli_filter.model import EARLY, Options
from slurmhooks.fields.rows import release_of
from slurmhooks.handlers.similar import nearest
from slurmhooks.workshop.testing.job_submit import RELEASE
from slurmhooks.workshop.testing.options.texts import EndedError, joint, printed
from slurmhooks.workshop.testing.options.variables import NAMELESS

if TYPE_CHECKING:
    from collections.abc import Iterable

UNWRITABLE = ("srun", "wait")
"""A handler cannot set it: slurm_option_set() takes it for the option of sbatch."""
ADDRESS = 1
"""The address of the options, which the stand-in does not use."""


class FakeCliFilterModule:
    """Implements the functions of the module _slurmhooks_cli_filter.

    ``values`` are those of the options that are given. For ``defaults`` see slurmhooks.cli_filter.model.Options.
    """

    def __init__(
        self,
        command: str,
        spank: Mapping[str, Mapping[str, str | None]],
        environment: Mapping[str, str],
    ) -> None:
        self._command = command
        self._spank = {plugin: dict(values) for plugin, values in spank.items()}
        self.values: dict[str, str | None] = {}
        self.environment = dict(environment)
        self.defaults: set[tuple[str, str]] = set()

    def get(self, options: int, name: bytes, /) -> str | None:
        """Return the text of an option, or None."""
        return self.values.get(name.decode())

    def assign(self, options: int, name: bytes, value: bytes, early: bool, /) -> bool:
        """Set an option; tell whether Slurm would accept the text, as far as the stand-in knows."""
        option = name.decode()
        if (self._command, option) == UNWRITABLE:
            return False
        if early or option not in EARLY.get(self._command, ()):
            try:
                self.values[option] = printed(option, value.decode("utf-8", "surrogateescape"), self._command)
            except ValueError:
                return False
        return True

    def reset(self, options: int, name: bytes, /) -> bool:
        """Reset an option to its default."""
        self.values.pop(name.decode(), None)
        return True

    def rehearse(
        self, options: int, writes: list[tuple[bytes, bytes | None]], early: bool, /
    ) -> tuple[bool, str, list[tuple[str, str | None]] | None]:
        """Try writes in a copy; return whether the last one is accepted, no message, and what is then given."""
        copy = FakeCliFilterModule(self._command, {}, {})
        copy.values, accepted = dict(self.values), True
        for name, value in writes:
            if value is None:
                accepted = copy.reset(options, name)
            elif copy.ends(name, value, early):
                return False, "", None
            else:
                accepted = copy.assign(options, name, value, early)
        return accepted, "", copy.given(options)

    def ends(self, name: bytes, value: bytes, early: bool) -> bool:
        """Tell whether Slurm's parser would end the command."""
        if not early and name.decode() in EARLY.get(self._command, ()):
            return False
        if (self._command, name.decode()) == UNWRITABLE:
            return False
        if name == b"wait-for-children":
            return True  # Slurm reads a value that an option without one does not have
        try:
            printed(name.decode(), value.decode("utf-8", "surrogateescape"), self._command)
        except EndedError:
            return True
        except ValueError:
            pass
        return False

    def names(self, options: int, /) -> list[str]:
        """Return the long options of the command."""
        return list(NAMES[self._command])

    def given(self, options: int, /) -> list[tuple[str, str | None]]:
        """Return names and texts of the options that are set."""
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


class FakeOptions(Options):
    """``options`` without Slurm.

    Args:
        command: ``salloc``, ``sbatch``, ``srun`` or ``scrontab``.
        options: what the user has given, by the long names of options, as text; or pairs of them, of which later ones
            replace earlier ones, and None stands for an option that is given without a value.
        argv: the words after the options.
        script: the text of sbatch's batch script.
        environment: of the command.
        spank: the options of SPANK plugins, by plugin and name.
        early: this is the early call of setup_defaults.
        defaults: the options after setup_defaults; those of the user replace them.
        release: of Slurm; the texts are those of the newest one.
        terminal: the errors of the command go to a terminal.
        fields: what the user has given, by the names of properties: ``time_limit=60``.

    Pass it to a handler or to :func:`run`; afterwards it has the values that the handlers wrote.
    """

    def __init__(
        self,
        command: str = "sbatch",
        *,
        options: Mapping[str, str] | Iterable[tuple[str, str | None]] = (),
        argv: Iterable[str] = (),
        script: str | None = None,
        environment: Mapping[str, str] | None = None,
        spank: Mapping[str, Mapping[str, str | None]] | None = None,
        early: bool = False,
        defaults: FakeOptions | None = None,
        release: str = RELEASE,
        terminal: bool = False,
        **fields: Any,
    ) -> None:
        release_of(release)
        if command not in NAMES:
            raise ValueError(f"command takes one of {', '.join(NAMES)}, not {command!r}")
        words = tuple(argv)
        slurm = FakeCliFilterModule(command, spank or {}, environment or {})
        super().__init__(slurm, ADDRESS, command, early, lambda: words, slurm.defaults)
        self._fake = (slurm, words, script, terminal)
        if defaults is not None:
            slurm.values |= defaults.texts
        given = list(options.items() if isinstance(options, Mapping) else options)
        for name, _ in given:
            if name not in NAMELESS:
                self._must_know(name)
        slurm.values |= joint(given, command)
        for name, value in fields.items():
            if name not in FIELDS:
                raise TypeError(f"options has no {name!r}{nearest(name, FIELDS)}")
            setattr(self, name, value)
        self.commit()

    @property
    def script(self) -> str | None:
        """The text of sbatch's batch script."""
        return super().script if self._fake[2] is None else self._fake[2]

    @property
    def terminal(self) -> bool:
        """Whether the errors of the command go to a terminal."""
        return self._fake[3]

    def _texts(self) -> dict[str, str | None]:
        """Return the texts of the options that are given; handlers may have changed them through another view."""
        if not self._writes:
            self._given = None
        return super()._texts()

    def _view(self, hook: str) -> FakeOptions:
        """Return the view for the handlers of one call."""
        self.commit()
        view = FakeOptions.__new__(FakeOptions)
        slurm, words, *_ = view._fake = self._fake
        defaults = slurm.defaults if hook == "cli_filter.setup_defaults" else None
        Options.__init__(view, slurm, ADDRESS, self.command, self._early, lambda: words, defaults)
        return view

    def _state(self) -> dict[str, Any]:
        """Return the values that handlers can change: options by name, and the environment."""
        slurm = self._fake[0]
        return {**slurm.values, "environment": dict(slurm.environment)}

    def _restore(self, state: dict[str, Any]) -> None:
        """Put back an earlier state."""
        slurm = self._fake[0]
        slurm.values = {name: text for name, text in state.items() if name != "environment"}
        slurm.environment = dict(state["environment"])

    @property
    def texts(self) -> dict[str, str]:
        """The options that are given, as text."""
        return {name: text or "" for name, text in self.given.items()}
