# SPDX-License-Identifier: GPL-2.0-or-later
"""The arguments of a line of plugstack.conf.

These are ``[config=FILE] [failonerror] [init_failure_mode=MODE] [missing_options=EFFECT] [GLOB ARGS...]``. With ``--``
in place of the GLOB, the handlers that the configuration names get ARGS.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

END = "--"
"""Replaces the GLOB on a line that has arguments but no GLOB."""
MODE = "init_failure_mode="
MODES = ("node", "job")
"""What Slurm blames for a failure in slurmstepd. Only native/spank/lines.c uses the value."""
MISSING = "missing_options="
EFFECTS = ("log", "refuse")
"""What an option of the job has for an effect on a node that lacks it. Only native/spank/lines.c uses the value."""


def split(args: Sequence[str]) -> tuple[str | None, str | None, list[str]]:
    """Split the arguments of a line of plugstack.conf.

    Returns:
        the value of ``config=``, the GLOB (None if there is none or "--"), and the arguments for handlers.
    """
    rest = list(args)
    config = None
    while rest and (rest[0].startswith(("config=", MODE, MISSING)) or rest[0] == "failonerror"):
        word = rest.pop(0)
        if word.startswith("config="):
            config = word.removeprefix("config=")
    return config, rest[0] if rest and rest[0] != END else None, rest[1:]


def unknown(args: Sequence[str]) -> list[str]:
    """Return a finding for each value of ``init_failure_mode=`` and ``missing_options=`` that does not exist.

    A line with such a value loads all the same: plugstack.conf is not part of what has been checked and deployed, and a
    mistake in it must not fail launches. It counts as the value that lets least pass.
    """
    own = args[: len(args) - len(split(args)[2])]
    return [
        f"plugstack.conf: {word}: it can be {' or '.join(key + name for name in values)}"
        for word in own
        for key, values in ((MODE, MODES), (MISSING, EFFECTS))
        if word.startswith(key) and word.removeprefix(key) not in values
    ]


def fails_on_error(args: Sequence[str]) -> bool:
    """Tell whether an error in a Lua script fails the callback: the line has ``failonerror`` before the GLOB."""
    own = len(args) - len(split(args)[2])  # up to the GLOB, and including it
    return "failonerror" in args[:own]
