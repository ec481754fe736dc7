# SPDX-License-Identifier: GPL-2.0-or-later
"""Records what a process has loaded, and tells whether another set is in force by now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from slurmhooks.files import home, paths

if TYPE_CHECKING:
    from collections.abc import Mapping


class LoadedHandler(NamedTuple):
    """A handler that some process has loaded.

    ``label`` is ``module:qualname``, ``mode`` is in words; empty: the handler is enforced for all requests.
    """

    hook: str
    label: str
    path: str
    mode: str = ""


class Watch:
    """What a process has loaded.

    Attributes:
        place: where the link to the set in force led, before anything was read.
        configuration: the path of slurmhooks.toml in the set, once it is known.
        handlers: the handlers of each source.
    """

    def __init__(
        self,
        place: str | None = None,
        configuration: str | None = None,
        handlers: Mapping[str, list[LoadedHandler]] | None = None,
    ) -> None:
        self.place = in_force() if place is None else place
        self.configuration = configuration
        self.handlers: Mapping[str, list[LoadedHandler]] = {} if handlers is None else handlers

    def changed(self) -> bool:
        """Tell whether another set is in force. This is the only name that is looked at: sets do not change."""
        return in_force() != self.place

    def plain(self) -> dict[str, Any]:
        """Return everything as values that JSON can represent."""
        return {"place": self.place, "configuration": self.configuration, "handlers": self.handlers}

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Watch:
        """Return the watch from what :meth:`plain` returned, after JSON has turned its tuples into lists."""
        handlers = {name: [LoadedHandler(*each) for each in loaded] for name, loaded in plain["handlers"].items()}
        return cls(plain["place"], plain["configuration"], handlers)


def in_force() -> str:
    """Return where the link to the set in force leads; the path of the link itself if there is none."""
    return paths.real(f"{home.folder()}/{home.SET}")
