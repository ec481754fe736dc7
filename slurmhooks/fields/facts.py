# SPDX-License-Identifier: GPL-2.0-or-later
"""What is true of a field for others than its view: arguments of its row, so that a new row cannot be forgotten.

A view names the facts that each of its rows must state (``ASKED_FOR``). These have no default, because a wrong one
fails open: scripts could write a field that Slurm keeps from them, or a password would be recorded.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypedDict

Secret = Literal["script", "environment"]
"""The name with which a site asks for the values of a secret field; see ``SECRETS`` of slurmhooks.fields.secrets."""


class InLua(NamedTuple):
    """Whether Lua scripts have a field, as job_submit_lua.c and slurm_lua.c have it.

    Attributes:
        read: first release, such as "23.02", in which scripts read it; None: in none; "" if all releases that have the
            field.
        write: first release in which scripts write it, likewise.
    """

    read: str | None
    write: str | None

    def since(self, release: str) -> InLua:
        """Return the same for a field that scripts have only from a release on, although the member is older."""
        return InLua(release if self.read == "" else None, release if self.write == "" else None)

    def reads(self, release: tuple[int, int]) -> bool:
        """Return whether scripts read the field in a release that has the member."""
        return _reached(self.read, release)

    def writes(self, release: tuple[int, int]) -> bool:
        """Return whether scripts write the field in a release that has the member."""
        return _reached(self.write, release)


NO_LUA = InLua(None, None)
R = InLua("", None)
RW = InLua("", "")


class Facts(TypedDict, total=False):
    """The facts that a row may state.

    Attributes:
        lua: see :class:`InLua`.
        secret: whether the text may hold a password: then it is neither recorded nor logged, unless a site asks for it
            by this name; None: it may not.
        in_updates: the number that scontrol sends in an update that does not name the field, as long as updates cannot
            change it; without it, the field is unset then.
        zero_leaves: an update leaves the field as it is by 0.
        in_record: names of the field in the record of the job, of which the first that is set counts; without it, the
            record has the same name.
    """

    lua: InLua
    secret: Secret | None
    in_updates: int
    zero_leaves: bool
    in_record: tuple[str, ...]


def _reached(first: str | None, release: tuple[int, int]) -> bool:
    if not first:
        return first == ""
    year, month = first.split(".")
    return (int(year), int(month)) <= release
