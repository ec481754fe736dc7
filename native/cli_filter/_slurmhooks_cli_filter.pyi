# SPDX-License-Identifier: GPL-2.0-or-later
"""Gives command-line filters access to Slurm (native/cli_filter/module.c). An address is that of a ``slurm_opt_t``."""

RELEASE: tuple[int, int]
"""Of Slurm: (24, 11)."""

def get(address: int, name: bytes, /) -> str | None:
    """Return the text of an option, or None."""

def assign(address: int, name: bytes, value: bytes, early: bool, /) -> bool:
    """Set an option; tell whether Slurm took the text."""

def reset(address: int, name: bytes, /) -> bool:
    """Reset an option to its default; tell whether Slurm knows the option."""

def rehearse(
    address: int, writes: list[tuple[bytes, bytes | None]], early: bool, /
) -> tuple[bool, str, list[tuple[str, str | None]] | None]:
    """Try writes in a forked child; None as a value resets the option.

    Returns:
        whether Slurm accepted the last write, Slurm's messages, and the options that are then set; None in place of the
        options if the command would end.

    Raises:
        OSError: no process can be created.
    """

def names(address: int, /) -> list[str]:
    """Return the long options of the command, those of SPANK plugins included."""

def given(address: int, /) -> list[tuple[str, str | None]]:
    """Return names and texts of the options that are set."""

def spank() -> dict[str, dict[str, str | None]]:
    """Return the options of SPANK plugins, by plugin and name."""

def first_word() -> int:
    """Return getopt's optind."""

def get_variable(name: bytes, /) -> str | None:
    """Return a variable of the environment, or None."""

def set_variable(name: bytes, value: bytes | None, /) -> None:
    """Set a variable of the environment, or with None delete it."""

def variables() -> list[str]:
    """Return the entries of the environment."""

def log(level: int, line: bytes, /) -> None:
    """Write a line to Slurm's log."""

def syslog(line: bytes, /) -> None:
    """Write a line to the system's log."""
