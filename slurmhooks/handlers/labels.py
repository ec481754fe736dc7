# SPDX-License-Identifier: GPL-2.0-or-later
"""How texts that leave slurmhooks name the handler that they come from.

The label stands in parentheses: programs that show the errors of commands by a library for terminals, such as rich,
take words in brackets for styles, and leave them out.
"""

from __future__ import annotations

from slurmhooks.log import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from slurmhooks.handlers.registry import Handler


def ending(label: str) -> str:
    """Return what ends the first line of a refusal, or a reason that stays at a job or node."""
    return f" ({visible(label)})"


def shown_label(handler: Handler) -> str | None:
    """Return the label that the refusals of a handler end with.

    Texts of Lua scripts stay as they are: they are what users would read without slurmhooks.
    """
    return None if handler.path.endswith(".lua") else handler.label


def labelled(text: str | None, label: str | None) -> str | None:
    """Return the text of a refusal with a label at the end of the first line; None: without one."""
    if label is None:
        return text
    first, line_feed, others = (text or "").partition("\n")
    return (first + ending(label)).lstrip() + line_feed + others
