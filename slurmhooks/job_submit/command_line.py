# SPDX-License-Identifier: GPL-2.0-or-later
"""What the command line of a request says about the command itself: its options that Slurm does not send.

``submit_line`` has the words of the command, separated by spaces and without quotes, so words with spaces cannot be
told from several words. A user may send any text: nothing that is forbidden may depend on it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slurmhooks.errors import StaleHandleError
from slurmhooks.wire.message import MessageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.job_submit.model import Job

PARSABLE = re.compile(r"--pars(a(b(le?)?)?)?")
TEST_ONLY = re.compile(r"--te(s(t(-(o(n(ly?)?)?)?)?)?)?")
"""The options, also abbreviated as getopt_long() permits."""
TEST_MARK = b"--te"
"""A request that does not contain this does not give TEST_ONLY."""
_DIRECTIVE = re.compile(r"^#SBATCH\s(.*)$", re.MULTILINE)


def gives(job: Job, option: re.Pattern[str]) -> bool:
    """Tell whether the command line, or a line ``#SBATCH`` of the script, has an option without a value.

    Args:
        job: the request.
        option: matches the option and its abbreviations.
    """
    return any(option.fullmatch(word) for words in (_options, _directives) for word in _known(words, job))


def _known(words: Callable[[Job], list[str]], job: Job) -> list[str]:
    """Return words; none if the text was too long to be sent with the request, and slurmctld no longer answers."""
    try:
        return words(job)
    except (StaleHandleError, MessageError):
        return []


def _directives(job: Job) -> list[str]:
    """Return the words of the lines of the script that sbatch reads."""
    return [word for text in _DIRECTIVE.findall(job.script or "") for word in text.partition(" #")[0].split()]


def _options(job: Job) -> list[str]:
    """Return the words of the command line in front of the script, or the program, and its arguments."""
    line, words = job.submit_line or "", list(job.argv)
    after = " ".join(words[1:])
    if words and after and line.endswith(f" {after}"):
        line = line[: -len(after) - 1]
    return line.split()[1:]
