# SPDX-License-Identifier: GPL-2.0-or-later
"""``container.job_env``: a mapping that stages writes to a dictionary until all handlers have passed."""

from __future__ import annotations

from slurmhooks.handlers.view import StagedMapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class JobEnv(StagedMapping):
    """The environment of the container's job."""

    __slots__ = ("_base",)

    def __init__(self, base: dict[str, str]) -> None:
        super().__init__()
        self._base = base

    def _load(self, name: str) -> str | None:
        return self._base.get(name)

    def _names(self) -> Iterable[str]:
        return self._base

    def _apply(self, name: str, value: str | None) -> None:
        self._base.pop(name, None)
        if value is not None:
            self._base[name] = value
