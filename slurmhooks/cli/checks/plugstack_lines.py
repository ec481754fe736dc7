# SPDX-License-Identifier: GPL-2.0-or-later
"""Find lines of plugstack.conf that Slurm ignores, or reads otherwise than they look."""

import re
from collections.abc import Iterator
from pathlib import Path

from slurmhooks.files import plugstack_conf
from slurmhooks.files.paths import has_magic

KEYWORDS = ("required", "optional", "include")


def notes(path: Path) -> Iterator[str]:
    """Yield a note for each such line of a file, and of those that it includes."""
    for file, number, text in plugstack_conf.lines(path):
        for note in _of_line(file, text):
            yield f"{file}:{number}: {note}"


def _of_line(file: Path, text: str) -> Iterator[str]:
    words = text.split("#")[0].split()
    if not words:
        return
    if words[0] not in KEYWORDS:
        alike = next((f"; write {each}" for each in KEYWORDS if each == words[0].lower()), "")
        yield f"Slurm ignores this line: it begins with {words[0]!r}, not with required, optional or include{alike}"
        return
    if len(words) < 2:
        yield f"Slurm ignores this line: nothing follows {words[0]}"
        return
    pattern = plugstack_conf.included(file, text)
    if pattern and not has_magic(pattern) and not Path(pattern).exists():
        yield f"{pattern} does not exist: Slurm includes nothing, and does not say so"
    if not plugstack_conf.OURS.match(text):
        return
    if quoted := [word for word in words[2:] if '"' in word or "'" in word]:
        yield f"Slurm keeps quotes, and blanks in them separate arguments: the line has {', '.join(quoted)}"
    if cut := re.match(r"[^#]*?(\S+)(#\S*)", text):
        yield f"Slurm reads nothing from {cut[2]} on: the argument is {cut[1]}; a comment needs a blank before its #"
