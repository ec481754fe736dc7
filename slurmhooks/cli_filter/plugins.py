# SPDX-License-Identifier: GPL-2.0-or-later
"""``options.spank``: the options of SPANK plugins."""

from __future__ import annotations

from slurmhooks.handlers.similar import nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    Value = TypeVar("Value")


class SpankOptions(dict[str, "Value"]):
    """All options of SPANK plugins, by plugin. Only those of one plugin can be set."""

    __slots__ = ()

    if not TYPE_CHECKING:

        def _refuse(self, *_, **__):
            raise TypeError('options.spank itself is read-only: set options.spank["PLUGIN"]["NAME"]')

        __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse


class PluginOptions(SpankOptions["str | None"]):
    """The options of one SPANK plugin. In setup_defaults an assignment gives an option a default."""

    __slots__ = ("_assign",)

    def __init__(self, values: Mapping[str, str | None], assign: Callable[[str, str | None], None]) -> None:
        dict.__init__(self, values)
        self._assign = assign

    def __setitem__(self, name: str, value: str | None) -> None:
        """Give an option a default: the user's variable and command line take precedence. None removes the default.

        Raises:
            KeyError: the plugin has no such option.
            TypeError: the value is neither text nor None.
            ValueError: this is not setup_defaults, or the text has a NUL byte.
        """
        if name not in self:
            raise KeyError(f"no such option: --{name}{nearest(str(name), self)}")
        self._assign(name, value)

    def update(self, *others: Any, **more: str | None) -> None:
        """Set several options."""
        for name, value in dict(*others, **more).items():
            self[name] = value

    def __reduce__(self) -> Any:
        """Copy as a dictionary."""
        return dict, (dict(self),)
