# SPDX-License-Identifier: GPL-2.0-or-later
"""Read lists of licenses."""

from __future__ import annotations

import re
from typing import NamedTuple

from slurmhooks.job_submit.strings.notation import NotationError

COUNT = re.compile(r"(?:\s*\+?0*(\d{1,10}))?", re.ASCII)
NAME = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
"""The name of a variable, which licenses.yaml may define instead of a count."""
MOST = (1 << 31) - 1
"""Slurm counts in 32 bits, and larger numbers wrap around."""


class Licenses(NamedTuple):
    """The licenses that a job asks for.

    Attributes:
        counts: the number of each; None if the cluster's administrators decide it.
        any: one of them is enough: from Slurm 25.05 on, ``a|b`` separates them.
    """

    counts: dict[str, int | None]
    any: bool = False


def read_licenses(text: str | None) -> Licenses:
    """Read a list such as ``ansys:2,matlab``, as _build_license_list() of licenses.c does; None is an empty list.

    Raises:
        NotationError: Slurm refuses the text, or a count is larger than Slurm's numbers.
    """
    if not text:
        return Licenses({})
    counts: dict[str, int | None] = {}
    either = "|" in text
    if either and re.search(r"[,;(]", text):
        raise NotationError(
            f"not a list of licenses: {text!r}; use either commas or '|'", code="ESLURM_INVALID_LICENSES"
        )
    for word in filter(None, re.split(r"\|" if either else "[,;]", text)):
        name, sign, rest = re.fullmatch(r"([^:=]*)([:=]?)(.*)", word, re.DOTALL).groups()  # type: ignore[union-attr]
        match = COUNT.fullmatch(rest)
        count = (int(match[1] or 0) if sign else 1) if match else None
        if not name and count == 0:
            continue  # from Slurm 26.05 on
        if not name or re.search(r"\s", name) or (not match and not NAME.fullmatch(rest)) or (count or 0) > MOST:
            raise NotationError(
                f"not a list of licenses: {text!r}; {word!r} is not a license with a number",
                code="ESLURM_INVALID_LICENSES",
            )
        before = counts.get(name, 0)
        counts[name] = None if count is None or before is None else before + count
    return Licenses(counts, either and len(counts) > 1)
