# SPDX-License-Identifier: GPL-2.0-or-later
"""The functions that Slurm calls in Lua scripts, and the words of a script, without running it."""

from __future__ import annotations

import re
from typing import NamedTuple

from slurmhooks.hooks.points import POINTS

ENTRIES = {
    "slurm_job_submit": ("job_desc", "part_list", "uid"),
    "slurm_job_modify": ("job_desc", "job_rec", "part_list", "uid"),
    "slurm_cli_setup_defaults": ("options",),
    "slurm_cli_pre_submit": ("options", "offset"),
    "slurm_cli_post_submit": ("offset", "job_id", "step_id"),
    "slurm_scrun_stage_in": (
        "id", "bundle", "spool_dir", "config_file", "job_id", "user_id", "group_id", "job_env",
    ),
    "slurm_scrun_stage_out": (
        "id", "bundle", "orig_bundle", "root_path", "orig_root_path", "spool_dir", "config_file", "job_id", "user_id",
        "group_id",
    ),
    **{
        f"slurm_spank_{name}": ("spank",)
        for name in (*POINTS["spank"].functions, "slurmd_init")
    },
}  # fmt: skip
"""The functions that Slurm calls, with the meaning of each argument."""

ESCAPE = r"\\(?:z\s*(?=\S)|\r\n|[^z])"
"""An escape sequence in a string; that of z skips all blanks, and one way to match them keeps the search linear."""
TOKEN = re.compile(
    r"--\[(=*)\[.*?\]\1\]|--[^\n]*|\[(=*)\[(.*?)\]\2\]"
    rf"|\"((?:{ESCAPE}|[^\"\\\n])*)\"|'((?:{ESCAPE}|[^'\\\n])*)'"
    r"|([A-Za-z_]\w*)|(0[xX][\da-fA-F.]+|\d[\d.]*(?:[eE][+-]?\d+)?)|(\.\.\.?|[=~<>]=|::|[^\sA-Za-z_])",
    re.DOTALL,
)

KEYWORDS = frozenset(
    {"and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local", "nil"}
    | {"not", "or", "repeat", "return", "then", "true", "until", "while"}
)


class Token(NamedTuple):
    """A token of the script.

    Attributes:
        kind: ``name``, ``word`` (a keyword), ``string``, ``number`` or ``sign``.
        text: the token; a string without its quotation marks.
        line: its line, counted from 1.
    """

    kind: str
    text: str
    line: int


def tokens(source: str) -> list[Token]:
    """Return the tokens of a script, without comments."""
    result = []
    line = 1
    at = max(source.find("\n"), 0) if source.startswith("#") else 0
    for match in TOKEN.finditer(source, at):
        line += source.count("\n", at, match.start())
        at = match.start()
        text = match.group()
        _, _, long, double, single, name, number, _ = match.groups()
        if text.startswith("--"):
            continue
        if name is not None:
            result.append(Token("word" if name in KEYWORDS else "name", name, line))
        elif number is not None:
            result.append(Token("number", number, line))
        elif (string := next((part for part in (long, double, single) if part is not None), None)) is not None:
            result.append(Token("string", string, line))
        else:  # among others, a quotation mark of a string without an end
            result.append(Token("sign", text, line))
    return result


def entries(source: str) -> dict[str, int]:
    """Return the functions of a script that Slurm calls, with the lines on which they are named first."""
    found: dict[str, int] = {}
    words = tokens(source)
    for before, word, after in zip([None, *words], words, [*words[1:], None], strict=False):
        defines = (before is not None and before.text == "function") or (after is not None and after.text == "=")
        if word.kind == "name" and word.text in ENTRIES and defines:
            found.setdefault(word.text, word.line)
    return found
