# SPDX-License-Identifier: GPL-2.0-or-later
"""The view ``options``, the argument of cli_filter handlers."""

from __future__ import annotations

from posix import isatty

from slurmhooks.cli_filter.fields import FIELDS
from slurmhooks.errors import SlurmhooksError
from slurmhooks.handlers.similar import nearest
from slurmhooks.handlers.view import OfACall, StagedMapping
from slurmhooks.hooks.option import inherited
from slurmhooks.values import text_to_c

TYPE_CHECKING: bool = False  # annotated, so that editors look into both branches
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, MutableMapping
    from typing import Protocol

    from slurmhooks.cli_filter.option_fields import OptionFields  # written by tools/make_stubs.py

    class Native(Protocol):
        """The module _slurmhooks_cli_filter, or a stand-in."""

        def get(self, options: int, name: bytes, /) -> str | None:
            """Return the text of an option, or None."""

        def assign(self, options: int, name: bytes, value: bytes, early: bool, /) -> bool:
            """Set an option; tell whether Slurm accepted the text."""

        def reset(self, options: int, name: bytes, /) -> bool:
            """Reset an option to its default; tell whether Slurm knows the option."""

        def rehearse(
            self, options: int, writes: list[tuple[bytes, bytes | None]], early: bool, /
        ) -> tuple[bool, str, list[tuple[str, str | None]] | None]:
            """Try writes in a copy of the command.

            Returns:
                whether Slurm accepted the last write, Slurm's messages, and the options that are then set; None in
                place of the options if the command would end.
            """

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

    OptionFields = object

EARLY = {"sbatch": ("help", "quiet", "usage", "verbose", "version", "wrap"), "srun": ("het-group", "pack-group")}
"""Options that a command accepts only in the early call of setup_defaults; later Slurm silently ignores them."""
NAMELESS = ("argv",)
"""Entries of Slurm's table of options that are not options."""


class Environment(StagedMapping):
    """The environment of the command; writes are staged, and applied after all handlers have passed."""

    __slots__ = ("_native",)

    def __init__(self, native: Native) -> None:
        super().__init__()
        self._native = native

    def _load(self, name: str) -> str | None:
        return self._native.get_variable(text_to_c("the name of an environment variable", name))

    def _names(self) -> list[str]:
        return [entry.partition("=")[0] for entry in self._native.variables()]

    def _apply(self, name: str, value: str | None) -> None:
        raw = None if value is None else text_to_c(name, value)
        self._native.set_variable(text_to_c("the name of an environment variable", name), raw)


class Options(OfACall, Mapping[str, str | None], OptionFields):
    """The options of one command, or of one component of a heterogeneous job: by their long names, as text.

    They come from the user, the environment, the batch script, and handlers. None means not given; setting an option to
    None, or deleting it, resets it to its default. Slurm's own parser checks each write at once, in a copy of the
    command; the writes are applied after all handlers have passed.

    Attributes:
        command: ``salloc``, ``sbatch``, ``srun`` or ``scrontab``.
        interactive: it is srun or salloc.
        terminal: its errors go to a terminal.
        environment: of the command, a mutable mapping, which sbatch, salloc and srun read and pass on.
    """

    __slots__ = (
        "_address", "_alive", "_argv", "_defaults", "_early", "_given", "_known", "_native", "_writes", "command",
        "environment",
    )  # fmt: skip

    def __init__(
        self,
        native: Native,
        address: int,
        command: str,
        early: bool,
        argv: Callable[[], tuple[str, ...]],
        defaults: set[tuple[str, str]] | None = None,
    ) -> None:
        """Store Slurm's functions.

        ``early``: this is the early call of setup_defaults. ``argv`` returns the words after the options. ``defaults``
        are the variables, with their values, that handlers have set as defaults of SPANK plugins; None outside
        setup_defaults.
        """
        self._defaults = defaults
        self._native = native
        self._address = address
        self._early = early
        self._argv = argv
        self._alive = True
        self._writes: list[tuple[bytes, bytes | None]] = []
        self._given: dict[str, str | None] | None = None  # with the staged writes; None: not read yet
        self._known: tuple[str, ...] | None = None
        self.command = command
        self.environment = Environment(native)

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Raise an error that explains why a field does not exist."""
            names = [*FIELDS, "argv", "command", "environment", "given", "interactive", "script", "spank", "terminal"]
            hint = nearest(name, names)
            raise AttributeError(f'options has no {name!r}{hint}; any long option is options["name"]')

    def __getitem__(self, name: str) -> str | None:
        """Return the text of an option, in Slurm's spelling: times as ``01:00:00``, flags as ``set``.

        Raises:
            KeyError: the command has no such option.
        """
        self._name(name)
        given = self._texts()
        if name in given:
            return given[name] or ""
        if name not in FIELD_OPTIONS:  # a field's option counts as not given in other commands
            self._must_know(name)
        return None

    def __setitem__(self, name: str, value: str | None) -> None:
        """Set an option through Slurm's parser; None resets it to its default.

        Raises:
            KeyError: the command has no such option.
            TypeError: the value is neither text nor None.
            ValueError: Slurm refuses the value, with Slurm's message; or the command would end.
            OSError: no process can be created in which to try the write.
        """
        raw = self._name(name)
        self._must_know(name)
        if name in EARLY.get(self.command, ()) and not self._early:
            raise ValueError(f"{self.command} takes --{name} only from setup_defaults, with early=True")
        text = None if value is None else text_to_c(f"--{name}", value)
        shown = f"a reset of --{name}" if value is None else f"--{name}={value}"
        writes = [*self._writes, (raw, text)]
        try:
            accepted, said, given = self._native.rehearse(self._address, writes, self._early)
        except OSError as error:
            what = f"cannot create the process in which {shown} is tried"
            raise OSError(error.errno, f"{what}: {error.strerror}") from error
        if given is None:
            raise ValueError(f"{shown} would end {self.command}{self._reason(said)}")
        if not accepted:
            raise ValueError(f"{self.command} refuses {shown}{self._reason(said)}")
        texts = dict(given)
        if (name in texts) is (value is None):
            raise ValueError(f"{self.command} ignores {shown}")
        self._writes, self._given = writes, texts

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
        return dict(self._texts())

    @property
    def interactive(self) -> bool:
        """Whether the command is srun or salloc, which wait for what they start; as ``job.interactive``."""
        return self.command in ("srun", "salloc")

    @property
    def terminal(self) -> bool:
        """Whether the errors and messages of the command go to a terminal, where a person may read them."""
        return isatty(2)

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
    def spank(self) -> Mapping[str, MutableMapping[str, str | None]]:
        """The options of SPANK plugins, by plugin, then by name; None means not given, ``set`` a given flag.

        In setup_defaults an assignment gives an option a default: ``options.spank["python"]["greet"] = "you"``. A
        variable of the user, an option of the job in which the command runs, and the command line take precedence.
        """
        self._living()
        from slurmhooks.cli_filter.plugins import PluginOptions, SpankOptions

        return SpankOptions(
            (plugin, PluginOptions(self._of_plugin(plugin, values), self._assigns(plugin)))
            for plugin, values in self._native.spank().items()
        )

    def _of_plugin(self, plugin: str, values: Mapping[str, str | None]) -> dict[str, str | None]:
        """Return the values of the options of a plugin; in setup_defaults Slurm has not read the environment yet."""
        texts = {name: None if value == "unset" else value for name, value in values.items()}
        if self._defaults is None:
            return texts
        return {
            name: self.environment.get(inherited(plugin, name)) if value is None else value
            for name, value in texts.items()
        }

    def _assigns(self, plugin: str) -> Callable[[str, str | None], None]:
        def assign(name: str, value: str | None) -> None:
            self._living()
            if self._defaults is None:
                raise ValueError(
                    f"--{name}: Slurm has read it already: a handler of setup_defaults can give it a default"
                )
            if value is not None and not isinstance(value, str):
                raise TypeError(f"--{name} takes a str or None, not {value!r}")
            key = inherited(plugin, name)
            before = self.environment.get(key)
            if before is not None and (key, before) not in self._defaults:
                return  # the user's
            if value is None:
                self.environment.pop(key, None)
            else:
                self.environment[key] = value
                self._defaults.add((key, value))

        return assign

    # For Lua scripts, which may keep their options after a call: the struct belongs to the command, and remains valid.

    def raw_get(self, name: str) -> str | None:
        """Return what Slurm's function returns, even for an option that is not given."""
        return self._native.get(self._address, text_to_c("the name of an option", name))

    def raw_set(self, name: str, value: str) -> bool:
        """Set an option at once, as Slurm's own plugin does; tell whether Slurm reports success."""
        raw = text_to_c("the name of an option", name)
        self._given = None
        return self._native.assign(self._address, raw, text_to_c(name, value), self._early)

    def raw_spank(self) -> dict[str, dict[str, str | None]]:
        """Return the options of SPANK plugins as Slurm gives them."""
        return self._native.spank()

    def raw_argv(self) -> tuple[str, ...]:
        """Return the words after the options."""
        return self._argv()

    def savepoint(self) -> object:
        """Return the staged writes; for dispatch."""
        return self._writes, self._given, self.environment.savepoint()

    def rollback(self, savepoint: object) -> None:
        """Discard the writes since a savepoint; for dispatch."""
        assert isinstance(savepoint, tuple)
        self._writes, self._given, environment = savepoint
        self.environment.rollback(environment)

    def commit(self) -> None:
        """Apply the staged writes; for dispatch, and for scripts, which see Slurm's own options.

        Raises:
            SlurmhooksError: Slurm refuses what it has accepted in the copy.
        """
        writes, self._writes, self._given = self._writes, [], None
        for raw, value in writes:
            if value is None:
                done = self._native.reset(self._address, raw)
            else:
                done = self._native.assign(self._address, raw, value, self._early)
            if not done:
                raise SlurmhooksError(f"{self.command} refuses --{raw.decode()}={value!r}, which it accepted before")
        self.environment.commit()

    def close(self) -> None:
        """Make every later use raise StaleHandleError; for dispatch."""
        self._alive = False
        self.environment.close()

    def _reason(self, said: str) -> str:
        """Return Slurm's error messages for the end of a message."""
        prefix = f"{self.command}: error: "
        lines = [line for line in said.splitlines() if line.strip()]
        errors = [line.removeprefix(prefix) for line in lines if line.startswith(prefix)]
        text = "; ".join(errors or lines)
        return f": {text}" if text else ""

    def _texts(self) -> dict[str, str | None]:
        """Return the texts of the options that are given. Slurm's functions for one option do not find all of them."""
        if self._given is None:
            self._given = dict(self._native.given(self._address))
        return self._given

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
        names = self._names()
        if name not in names:
            for plugin, values in self._native.spank().items():
                if name in values:
                    raise KeyError(f'--{name} belongs to a SPANK plugin: options.spank["{plugin}"]["{name}"]')
            raise KeyError(f"{self.command} has no option --{name}{nearest(name, names)}")


FIELD_OPTIONS = frozenset(field.option for field in FIELDS.values())


for _name, _field in FIELDS.items():
    setattr(Options, _name, _field)
