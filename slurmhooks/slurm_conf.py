# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads values of slurm.conf."""

import re

INCLUDE = re.compile(r"\s*include\s+(\S+)\s*", re.IGNORECASE)


def value(path: str, key: str) -> str | None:
    """Return a top-level value of slurm.conf, following its Include lines; the last one counts.

    Args:
        path: of slurm.conf; a relative Include starts from its folder.
        key: the parameter; Slurm does not distinguish upper and lower case.

    Returns:
        the text without quotation marks; None if the parameter is not set, or the file cannot be read.
    """
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
    except OSError:
        return None
    assignment = re.compile(rf'(?:^|\s){re.escape(key)}\s*=\s*(?:"([^"]*)"|(\S+))', re.IGNORECASE)
    result = None
    for line in text.replace("\\\n", "").split("\n"):
        line = line.partition("#")[0]
        include = INCLUDE.fullmatch(line)
        if include is not None:
            name = include.group(1)
            included = name if name.startswith("/") else f"{path.rpartition('/')[0] or '.'}/{name}"
            result = value(included, key) or result
        match = assignment.search(line)
        if match is not None:
            result = match.group(1) or match.group(2)
    return result
