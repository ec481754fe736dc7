# SPDX-License-Identifier: GPL-2.0-or-later
"""How refusals name the handler that they come from."""

from __future__ import annotations

from slurmhooks.log import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmhooks.handlers.registry import Handler


def labelled(text: str | None, handler: Handler) -> str | None:
    """Return the text of a refusal with the label of its handler at the end of the first line.

    Texts of Lua scripts stay as they are: they are what users would read without slurmhooks.
    """
    if handler.path.endswith(".lua"):
        return text
    first, line_feed, others = (text or "").partition("\n")
    return f"{first} [{visible(handler.label)}]".lstrip() + line_feed + others
