# SPDX-License-Identifier: GPL-2.0-or-later
"""The view ``options``, the argument of cli_filter handlers."""

from __future__ import annotations

from slurmhooks.cli_filter.fields import FIELDS, NUMBERS, OptionFields
from slurmhooks.similar import nearest
from slurmhooks.values import text_to_c
from slurmhooks.view import StagedMapping, stale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Protocol

    class Native(Protocol):
        """The module _slurmhooks_cli_filter, or a stand-in."""

        def get(self, options: int, name: bytes, /) -> str | None:
            """Return the text of an option, or None."""

        def is_set(self, options: int, name: bytes, /) -> bool:
            """Tell whether an option was given or set."""

        def assign(self, options: int, name: bytes, value: bytes, early: bool, /) -> bool:
            """Set an option; tell whether Slurm accepted the text."""

        def reset(self, options: int, name: bytes, /) -> bool:
            """Reset an option to its default; tell whether Slurm knows the option."""

        def names(self, options: int, /) -> list[str]:
            """Return the long options of the command, including those of SPANK plugins."""

        def given(self, options: int, /) -> list[tuple[str, str | None]]:
            """Return names and texts of the options that are set."""

        def spank(self) -> dict[str, dict[str, str | None]]:
            """Return the options of SPANK plugins, by plugin and name."""

        def get_variable(self, name: bytes, /) -> str | None:
            """Return a variable of the environment, or None."""

        def set_variable(self, name: bytes, value: bytes | None, /) -> None:
            """Set a variable of the environment; None deletes it."""

        def variables(self) -> list[str]:
            """Return the entries of the environment."""

else:
    from _collections_abc import Mapping  # collections.abc, without the imports of the package collections

EARLY = {"sbatch": ("quiet", "verbose", "wrap"), "srun": ("het-group", "pack-group")}
"""Options that a command accepts only in the early call of setup_defaults; later Slurm silently ignores them."""
ENDING = ("autocomplete", "help", "usage", "version")
"""Options with which the command prints something and ends."""
NAMELESS = ("argv",)
"""Entries of Slurm's table of options that are not options."""


class Environment(StagedMapping):
    """The environment of the command; writes are staged, and applied after all handlers have passed."""

    __slots__ = ("_native",)

    def __init__(self, native: Native) -> None:
        """Read and write by the functions of one call."""
        super().__init__()
        self._native = native

    def _load(self, name: str) -> str | None:
        return self._native.get_variable(text_to_c("the name of an environment variable", name))

    def _names(self) -> list[str]:
        return [entry.partition("=")[0] for entry in self._native.variables()]

    def _apply(self, name: str, value: str | None) -> None:
        raw = None if value is None else text_to_c(name, value)
        self._native.set_variable(text_to_c("the name of an environment variable", name), raw)


class Options(OptionFields, Mapping[str, str | None]):
    """The options of one command, or of one component of a heterogeneous job: by their long names, as text.

    They come from the user, the environment, the batch script, and handlers. None means not given; setting an option to
    None, or deleting it, resets it to its default. Writes go through Slurm's own parser at once, and are undone if the
    handler fails and its bugs are to be ignored.

    Attributes:
        command: ``salloc``, ``sbatch``, ``srun`` or ``scrontab``.
        environment: of the command, a mutable mapping, which sbatch, salloc and srun read and pass on.
    """

    __slots__ = ("_address", "_alive", "_argv", "_early", "_journal", "_known", "_native", "command", "environment")

    def __init__(
        self, native: Native, address: int, command: str, early: bool, argv: Callable[[], tuple[str, ...]]
    ) -> None:
        """Store Slurm's functions.

        Args:
            native: the module that calls them.
            address: of the ``slurm_opt_t``.
            command: see the class.
            early: this is the early call of setup_defaults.
            argv: returns the words after the options.
        """
        self._native = native
        self._address = address
        self._early = early
        self._argv = argv
        self._alive = True
        self._journal: list[tuple[str, str | None]] = []
        self._known: tuple[str, ...] | None = None
        self.command = command
        self.environment = Environment(native)

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Raise an error that explains why a field does not exist."""
            known = [*FIELDS, "argv", "command", "environment", "given", "script", "spank"]
            hint = nearest(name, known)
            raise AttributeError(f'options has no {name!r}{hint}; any long option is options["name"]')

    def __getitem__(self, name: str) -> str | None:
        """Return the text of an option, in Slurm's spelling: times as ``01:00:00``, flags as ``set``.

        Raises:
            KeyError: the command has no such option.
        """
        raw = self._name(name)
        if not self._native.is_set(self._address, raw):
            if name not in FIELD_OPTIONS:  # an option of another command counts as not given
                self._must_know(name)
            return None
        return self._native.get(self._address, raw) or ""

    def __setitem__(self, name: str, value: str | None) -> None:
        """Set an option through Slurm's parser; None resets it to its default.

        Raises:
            KeyError: the command has no such option.
            TypeError: the value is neither text nor None.
            ValueError: Slurm refuses the value; Slurm's own message is on the user's terminal.
        """
        raw = self._name(name)
        self._must_know(name)
        if name in ENDING:
            raise ValueError(f"--{name} ends {self.command}: it cannot be set")
        if name in EARLY.get(self.command, ()) and not self._early:
            raise ValueError(f"{self.command} takes --{name} only from setup_defaults, with early=True")
        before = self[name]
        if value is None:
            self._native.reset(self._address, raw)
        else:
            text = text_to_c(f"--{name}", value)
            if name in NUMBERS and not value.isdecimal():
                raise ValueError(f"--{name} takes a number, not {value!r}")
            if not self._native.assign(self._address, raw, text, self._early):
                raise ValueError(f"{self.command} refuses --{name}={value}")
        self._journal.append((name, before))

    def __delitem__(self, name: str) -> None:
        """Reset an option to its default."""
        self[name] = None

    def __contains__(self, name: object) -> bool:
        """Tell whether the command has an option."""
        return name in self._names()

    def __iter__(self) -> Iterator[str]:
        """Return the long options of the command."""
        return iter(self._names())

    def __len__(self) -> int:
        """Return how many options the command has."""
        return len(self._names())

    def __repr__(self) -> str:
        """Return the command with the options that are given."""
        if not self._alive:
            return "<Options of a call that is over>"
        return f"<Options of {self.command}: {self.given}>"

    @property
    def given(self) -> dict[str, str | None]:
        """The options that are given or set, by name, in Slurm's order."""
        self._living()
        return dict(self._native.given(self._address))

    @property
    def argv(self) -> tuple[str, ...]:
        """The words after the options: the program or batch script, perhaps with its full path, and its arguments.

        Empty before the command line is read, and for a script on standard input.
        """
        self._living()
        return self._argv()

    @property
    def script(self) -> str | None:
        """The text of sbatch's batch script; None if it comes from standard input, and in other commands."""
        self._living()
        if self.command != "sbatch":
            return None
        wrapped = self["wrap"]
        if wrapped is not None:
            return f"#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{wrapped}\n"
        words = self.argv
        if not words:
            return None
        try:
            with open(words[0], encoding="utf-8", errors="surrogateescape") as file:
                return file.read()
        except OSError:  # this release does not give its path; sbatch has read the script already
            return None

    @property
    def spank(self) -> Mapping[str, Mapping[str, str | None]]:
        """The options of SPANK plugins, by plugin, then by option; None means not given, ``set`` a given flag."""
        self._living()
        return {
            plugin: {name: None if value == "unset" else value for name, value in values.items()}
            for plugin, values in self._native.spank().items()
        }

    # For Lua scripts, which may keep their options after a call: the struct belongs to the command, and remains valid.

    def raw_get(self, name: str) -> str | None:
        """Return what Slurm's function returns, even for an option that is not given."""
        return self._native.get(self._address, text_to_c("the name of an option", name))

    def raw_set(self, name: str, value: str) -> bool:
        """Set an option; tell whether Slurm reports success."""
        raw = text_to_c("the name of an option", name)
        before = self._native.get(self._address, raw) or "" if self._native.is_set(self._address, raw) else None
        done = self._native.assign(self._address, raw, text_to_c(name, value), self._early)
        if done:
            self._journal.append((name, before))
        return done

    def raw_spank(self) -> dict[str, dict[str, str | None]]:
        """Return the options of SPANK plugins as Slurm gives them."""
        return self._native.spank()

    def raw_argv(self) -> tuple[str, ...]:
        """Return the words after the options."""
        return self._argv()

    def savepoint(self) -> object:
        """Return the writes so far; for dispatch."""
        return len(self._journal), self.environment.savepoint()

    def rollback(self, savepoint: object) -> None:
        """Undo the writes since a savepoint; for dispatch."""
        assert isinstance(savepoint, tuple)
        count, environment = savepoint
        while len(self._journal) > count:
            name, before = self._journal.pop()
            raw = name.encode()
            if before is None:
                self._native.reset(self._address, raw)
            else:
                self._native.assign(self._address, raw, text_to_c(name, before), self._early)
        self.environment.rollback(environment)

    def commit(self) -> None:
        """Apply the writes that are still staged; for dispatch."""
        self.environment.commit()

    def close(self) -> None:
        """Make every later use raise StaleHandleError; for dispatch."""
        self._alive = False
        self.environment.close()

    def _living(self) -> None:
        if not self._alive:
            raise stale(self)

    def _name(self, name: object) -> bytes:
        self._living()
        if not isinstance(name, str):
            raise TypeError(f"options are named by their long names, not {name!r}")
        return text_to_c("the name of an option", name)

    def _names(self) -> tuple[str, ...]:
        self._living()
        if self._known is None:
            others = {name for values in self._native.spank().values() for name in values}
            others.update(NAMELESS)
            self._known = tuple(name for name in self._native.names(self._address) if name not in others)
        return self._known

    def _must_know(self, name: str) -> None:
        known = self._names()
        if name not in known:
            raise KeyError(f"{self.command} has no option --{name}{nearest(name, known)}")


FIELD_OPTIONS = frozenset(field.option for field in FIELDS.values())
