# SPDX-License-Identifier: GPL-2.0-or-later
"""SPANK's functions and constants (native/spank/module.c).

A handle is the address of a ``spank_t``. Functions return a ``spank_err_t``; those with a result return it with the
result, which is None after a failure.
"""

def get_item(handle: int, item: int, ctype: str, /) -> tuple[int, int | str | None]:
    """Return an item with one value, of a C type."""

def convert_item(handle: int, item: int, number: int, ctype: str, /) -> tuple[int, int | None]:
    """Return the number that an item has for another number."""

def job_argv(handle: int, /) -> tuple[int, list[str] | None]:
    """Return S_JOB_ARGV."""

def job_env(handle: int, /) -> tuple[int, list[str] | None]:
    """Return S_JOB_ENV."""

def job_gids(handle: int, /) -> tuple[int, list[int] | None]:
    """Return S_JOB_SUPPLEMENTARY_GIDS."""

def spank_getenv(handle: int, name: bytes, /) -> tuple[int, str | None]: ...
def spank_setenv(handle: int, name: bytes, value: bytes, overwrite: int, /) -> int: ...
def spank_unsetenv(handle: int, name: bytes, /) -> int: ...
def spank_job_control_getenv(handle: int, name: bytes, /) -> tuple[int, str | None]: ...
def spank_job_control_setenv(handle: int, name: bytes, value: bytes, overwrite: int, /) -> int: ...
def spank_job_control_unsetenv(handle: int, name: bytes, /) -> int: ...
def spank_strerror(code: int, /) -> str | None:
    """Return the message of a code."""

def spank_symbol_supported(symbol: bytes, /) -> bool:
    """Tell whether Slurm calls a function."""

def spank_prepend_task_argv(handle: int, words: list[bytes], /) -> int:
    """Insert words before the command of the task; the module has it from Slurm 23.11 on."""

def spank_option_register(
    handle: int, name: str, arginfo: str | None, usage: str, has_arg: int, value: int, callback: int, /
) -> int:
    """Register an option; ``callback`` is the address of the C function that Slurm calls with ``value``."""

def spank_option_getopt(handle: int, name: bytes, has_arg: int, /) -> tuple[int, str | None]:
    """Return the argument of an option that the user gave; None if it has none."""

def text_at(address: int, /) -> str | None:
    """Return the text at an address; None for 0."""

def texts_at(address: int, count: int, /) -> list[str]:
    """Return the texts of an array."""

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

def __getattr__(name: str, /) -> int:
    """Return a constant of this release, such as ESPANK_ERROR or S_JOB_ID."""
