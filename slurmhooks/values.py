# SPDX-License-Identifier: GPL-2.0-or-later
"""Converts values between Slurm's C structs and Python.

Unset (``NO_VAL`` of each width, a null pointer) is None in both directions; ``INFINITE`` is :data:`UNLIMITED`. Text is
UTF-8 with ``surrogateescape``. Nothing is truncated: a value that C cannot hold raises an exception.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeVar

    Item = TypeVar("Item")

ENCODING = "utf-8"
ERRORS = "surrogateescape"

# slurm.h: NO_VAL and INFINITE of each width in bits.
NO_VAL = {bits: (1 << bits) - 2 for bits in (8, 16, 32, 64)}
INFINITE = {bits: (1 << bits) - 1 for bits in (8, 16, 32, 64)}


class ExitStatus(int):
    """How a job or a task ended: a wait status, as waitpid(2) returns it."""

    __slots__ = ()

    @property
    def raw(self) -> int:
        """The wait status as a plain int."""
        return int(self)

    @property
    def exit_code(self) -> int | None:
        """The exit code, 0 to 255; None if a signal ended the process."""
        return None if self & 0x7F else self >> 8 & 0xFF

    @property
    def signal(self) -> int | None:
        """The number of the signal that ended the process; None if it exited."""
        return self & 0x7F or None

    @property
    def core_dumped(self) -> bool:
        """Whether the process dumped core."""
        return bool(self & 0x80 and self & 0x7F)

    def __repr__(self) -> str:
        """Return the exit code or the signal."""
        end = f"exit code {self.exit_code}" if self.signal is None else f"signal {self.signal}"
        return f"<ExitStatus {end}>"


class Unlimited:
    """The type of :data:`UNLIMITED`, which is equal only to itself and greater than every number."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the name."""
        return "UNLIMITED"

    def __lt__(self, other: object) -> bool:
        """Return False for every number."""
        return False if isinstance(other, (int, float, Unlimited)) else NotImplemented

    def __le__(self, other: object) -> bool:
        """Return True for itself only."""
        return other is self if isinstance(other, (int, float, Unlimited)) else NotImplemented

    def __gt__(self, other: object) -> bool:
        """Return True for every number."""
        return other is not self if isinstance(other, (int, float, Unlimited)) else NotImplemented

    def __ge__(self, other: object) -> bool:
        """Return True for every number and itself."""
        return True if isinstance(other, (int, float, Unlimited)) else NotImplemented

    def __reduce__(self) -> str:
        """Copy and unpickle to the same object."""
        return "UNLIMITED"


UNLIMITED = Unlimited()
"""No limit: Slurm's ``INFINITE`` of any width; greater than every number."""


def text_from_c(raw: bytes) -> str:
    """Return the text of a C string."""
    return raw.decode(ENCODING, ERRORS)


def text_to_c(field: str, value: object) -> bytes:
    """Encode a text for C, without the NUL at the end.

    Raises:
        TypeError: it is not a str.
        ValueError: it contains a NUL byte, or a surrogate that does not represent a byte.
    """
    if not isinstance(value, str):
        raise TypeError(f"{field} takes a str, not {value!r}")
    # The methods of str itself: a subclass may have others, which C would not know.
    if str.__contains__(value, "\0"):
        raise ValueError(f"{field} must not hold a NUL byte: {value!r}")
    try:
        return str.encode(value, ENCODING, ERRORS)
    except UnicodeEncodeError as error:
        raise ValueError(f"{field} must be text that {ENCODING} can hold: {value!r}") from error


def several(name: str, value: Iterable[Item]) -> tuple[Item, ...]:
    """Return the items of an argument that takes several texts.

    Raises:
        TypeError: it is a single text, which would be split into letters.
    """
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name} takes a list of texts: write {name}=[{value!r}]")
    return tuple(value)


def variable_size(name: object, value: object) -> int:
    """Return the size of an environment variable in bytes, including the ``=`` and the NUL at the end.

    Raises:
        TypeError: as :func:`text_to_c`.
        ValueError: as :func:`text_to_c`; or the name is empty or contains ``=``.
    """
    key = text_to_c("the name of an environment variable", name)
    if not key or b"=" in key:
        raise ValueError(f"the name of an environment variable must not be empty nor hold '=': {name!r}")
    if type(value) is str and value.isascii() and "\0" not in value:
        return len(key) + len(value) + 2
    return len(key) + len(text_to_c(f"environment variable {name}", value)) + 2


def number_from_c(raw: int, bits: int) -> int | Unlimited | None:
    """Return the value of an unsigned C integer with a width in bits: a number, None or UNLIMITED."""
    if raw == NO_VAL[bits]:
        return None
    if raw == INFINITE[bits]:
        return UNLIMITED
    return raw


def number_to_c(field: str, value: object, bits: int) -> int:
    """Return the C value of a number, None or UNLIMITED, for an unsigned member of so many bits.

    Raises:
        TypeError: it is none of the three. (A bool is a number.)
        ValueError: it does not fit, or is one of the two largest numbers, which mean unset and unlimited.
    """
    if value is None:
        return NO_VAL[bits]
    if value is UNLIMITED:
        return INFINITE[bits]
    if not isinstance(value, int):
        raise TypeError(f"{field} takes an int, None or UNLIMITED, not {value!r}")
    if not 0 <= value < NO_VAL[bits]:
        raise ValueError(f"{field} takes 0 to {NO_VAL[bits] - 1}, None or UNLIMITED, not {value}")
    return int(value)


def signed_to_c(field: str, value: object, bits: int) -> int:
    """Return the C value of a signed integer.

    Raises:
        TypeError: it is not an int.
        ValueError: it does not fit into the width.
    """
    if not isinstance(value, int):
        raise TypeError(f"{field} takes an int, not {value!r}")
    limit = 1 << (bits - 1)
    if not -limit <= value < limit:
        raise ValueError(f"{field} takes {-limit} to {limit - 1}, not {value}")
    return int(value)


def strings_from_c(ffi: Any, array: Any) -> list[str]:
    """Return the texts of a ``char **``, which ends with NULL or is NULL."""
    texts: list[str] = []
    while array != ffi.NULL and array[len(texts)] != ffi.NULL:
        texts.append(text_from_c(ffi.string(array[len(texts)])))
    return texts
