# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of slurmhooks.toml after they have been checked: plain classes, so that what serves imports no pydantic.

Annotations of keys are texts with the names of slurmhooks.rules.value_types; slurmhooks.rules.checking makes a model of
each class from them, checks what the file has, and makes the instances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable


class Key:
    """A key of a table.

    Attributes:
        default: its value if the file does not have it; ``...``: the file must have it.
        description: a text for the reference.
        check: called with the class and a value of the right type; raises ValueError for an invalid one.
        limits: what its type leaves open, as keywords of pydantic's Field.
    """

    def __init__(
        self, default: Any, description: str = "", check: Callable[[Any, Any], None] | None = None, **limits: Any
    ) -> None:
        self.default = default
        self.description = description
        self.check = check
        self.limits = limits


key: Callable[..., Any] = Key
"""The same; type checkers take its result for a value."""


class Table:
    """A checked table: its keys are attributes, and those that the file does not have are attributes of the class.

    Attributes:
        keys: all keys by name, those of its bases first.
    """

    keys: ClassVar[dict[str, Key]] = {}

    def __init_subclass__(cls) -> None:
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Key)}
        cls.keys = {**cls.keys, **own}
        for name, row in own.items():
            setattr(cls, name, row.default)

    def __init__(self, **given: Any) -> None:
        """Take values of the right types.

        Raises:
            ValueError: they do not fit together.
        """
        vars(self).update(given)
        self.settle()

    def settle(self) -> None:
        """Check the keys as a whole, and work out what follows from them.

        Raises:
            ValueError: they do not fit together.
        """

    def __getstate__(self) -> dict[str, Any]:
        """Return the values that were given."""
        return {name: value for name, value in vars(self).items() if name in self.keys}

    def __setstate__(self, given: dict[str, Any]) -> None:
        """Take them again."""
        vars(self).update(given)
        self.settle()

    def __repr__(self) -> str:
        """Return the values that were given: equal for tables with the same ones."""
        return f"{type(self).__name__}({self.__getstate__()})"
