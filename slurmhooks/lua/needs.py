# SPDX-License-Identifier: GPL-2.0-or-later
"""What a job_submit.lua uses that only a build with Slurm's sources provides, for loading and for `check`."""

from __future__ import annotations

from slurmhooks.fields import JobFields
from slurmhooks.fields.rows import Computed, rows
from slurmhooks.lua import source

OF_SLURM = ("jobs", "reservations")
OF_ASSOCIATIONS = frozenset(
    name
    for name, row in rows(JobFields).items()
    if isinstance(row, Computed) and row.private and row.facts["lua"].read is not None
)
"""The fields of a request that slurmctld looks up in its records of users and accounts."""


def sources(content: bytes) -> dict[str, int]:
    """Return what a script uses that a build with only public headers lacks, each with the first line that does.

    A call that uses it is refused in such a build. A text that is the name of a field may be a key of the request.
    """
    words = source.tokens(content.decode("utf-8", "surrogateescape"))
    wanted: dict[str, int] = {}
    roles: dict[str, str] = {}
    entry, in_parameters = "", False
    of_slurm = {"slurm"}
    for at, word in enumerate(words):
        before, after = (words[place].text if 0 <= place < len(words) else "" for place in (at - 1, at + 1))
        member = before in (".", "[")
        if word.kind == "name" and word.text in source.ENTRIES:
            entry = word.text
        elif word == ("word", "function", word.line):
            in_parameters = True
            parameters: list[str] = []
            entry = entry if before == "=" else ""
        elif in_parameters:
            parameters += [word.text] if word.kind == "name" else []
            if word.text == ")":
                in_parameters = False
                roles |= zip(parameters, source.ENTRIES.get(entry, ()), strict=False)
        elif (member or word.kind == "string") and word.text in OF_ASSOCIATIONS:
            wanted.setdefault(f"job_desc.{word.text}", word.line)
        elif member and word.text in OF_SLURM and _is_variable(words, at - 2) and words[at - 2].text in of_slurm:
            wanted.setdefault(f"slurm.{word.text}", word.line)
        elif before == "=" and word.kind == "name" and word.text in of_slurm and after not in (".", "["):
            of_slurm.add(words[at - 2].text)
        elif word.kind == "name" and not member and roles.get(word.text) in ("part_list", "job_rec"):
            wanted.setdefault(roles[word.text], word.line)
    return wanted


def _is_variable(words: list[source.Token], at: int) -> bool:
    """Tell whether a token is a name that is no member of a table."""
    return words[at].kind == "name" and (at == 0 or words[at - 1].text not in (".", ":"))
