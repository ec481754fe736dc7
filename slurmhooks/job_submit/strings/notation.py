# SPDX-License-Identifier: GPL-2.0-or-later
"""What all parsers of notations have in common: the error, the numbers, and the base of what they return."""

from __future__ import annotations

from slurmhooks.errors import NotationError

__all__ = ("MAX_AMOUNT", "NUMBER", "NotationError", "Parsed")

NUMBER = r"\d{1,18}"
"""Pattern of a number: Slurm's have at most 64 bits, and the conversion of longer ones takes quadratic time."""
MAX_AMOUNT = 10**18 - 1
"""The largest amount, with its unit: one that is written without the unit is such a number, and fits into 64 bits."""


class Parsed:
    """What a text stands for: equal to another one of its class with the same attributes, which never change.

    A dataclass would be the same; each process with rules would import dataclasses and inspect for it.
    """

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} does not change: make another one")

    __delattr__ = __setattr__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        """Return whether both are of the same class and have the same attributes."""
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        """Return the same for equal ones."""
        return hash(tuple(vars(self).values()))

    def __repr__(self) -> str:
        """Return it as it is written in Python."""
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"
