# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for sbatch: compute the fields of a submission from a batch script and options.

Source: slurm_opt.c:slurm_opt_create_job_desc and sbatch.c:_fill_job_desc_from_opts.
"""

import os
import re
import shlex
from collections import deque
from collections.abc import Sequence

from slurmhooks.job_submit.strings import NotationError
from slurmhooks.testing.sbatch.options import ARGUMENT, FLAG, OPTIONS, SHORT, Fields, Setter
from slurmhooks.testing.sbatch.values import SbatchError

__all__ = ["SbatchError", "apply", "script_options", "submission"]

MAGIC = re.compile(r"#(?:SBATCH|SLURM)(.*)")
LONGEST_LINE = 16 << 10
"""The longest line with options, in characters: shlex takes quadratic time."""
HETEROGENEOUS = ("hetjob", "packjob")
"""Words that end the options of a component of a heterogeneous job."""


def script_options(text: str) -> list[str]:
    """Return the words of the ``#SBATCH`` lines before the first command of a script."""
    words: list[str] = []
    for line in text.split("\n"):
        match = MAGIC.match(line)
        if match is None:
            if line.strip() and not line.lstrip().startswith("#"):
                break
            continue
        if len(line) > LONGEST_LINE:
            raise SbatchError(f"a line of {len(line)} characters; at most {LONGEST_LINE} are read")
        try:
            parts = shlex.split(match.group(1))
        except ValueError as error:
            raise SbatchError(f"{line}: {error}") from error
        if parts and parts[0].lower() in HETEROGENEOUS:
            break
        for part in parts:
            if part.startswith("#"):
                break
            words.append(part)
    return words


def apply(words: Sequence[str], fields: Fields, notes: list[str]) -> None:
    """Set the fields that options of sbatch set.

    Args:
        words: the options, as on the command line.
        fields: the fields to change.
        notes: list to which notes on unknown options are added.

    Raises:
        SbatchError: sbatch would refuse an option, too.
    """
    rest = deque(words)
    while rest:
        word = rest.popleft()
        if word.startswith("--") and len(word) > 2:
            given, equals, value = word[2:].partition("=")
            _long(given, value if equals else None, rest, fields, notes)
        elif word.startswith("-") and len(word) > 1:
            _short(word[1:], rest, fields, notes)
        else:
            raise SbatchError(f"{word!r} is not an option")


def _long(given: str, value: str | None, rest: deque[str], fields: Fields, notes: list[str]) -> None:
    names = [given] if given in OPTIONS else [name for name in OPTIONS if name.startswith(given)]
    if len(names) != 1:
        if value is None and rest and not rest[0].startswith("-"):
            value = rest.popleft()
        shown = f"--{given}" if value is None else f"--{given}={value}"
        notes.append(f"{shown}: unknown here, ignored")
        return
    name = names[0]
    _, takes, set_field = OPTIONS[name]
    if takes == FLAG and value is not None:
        raise SbatchError(f"--{name} takes no argument")
    if takes == ARGUMENT and value is None:
        if not rest:
            raise SbatchError(f"--{name} needs an argument")
        value = rest.popleft()
    _set(f"--{name}", set_field, value or "", fields)


def _short(letters: str, rest: deque[str], fields: Fields, notes: list[str]) -> None:
    while letters:
        letter, letters = letters[0], letters[1:]
        if letter not in SHORT:
            notes.append(f"-{letter}{letters}: unknown here, ignored")
            return
        _, takes, set_field = OPTIONS[SHORT[letter]]
        if takes == FLAG:
            _set(f"-{letter}", set_field, "", fields)
            continue
        value, letters = letters, ""
        if takes == ARGUMENT and not value:
            if not rest:
                raise SbatchError(f"-{letter} needs an argument")
            value = rest.popleft()
        _set(f"-{letter}", set_field, value, fields)


def _set(option: str, set_field: Setter, value: str, fields: Fields) -> None:
    try:
        set_field(fields, value)
    except (NotationError, SbatchError) as error:
        raise SbatchError(f"{option}: {error}") from error


def submission(script: str, text: str, words: Sequence[str], notes: list[str]) -> Fields:
    """Return the fields of the submission that sbatch would send.

    Args:
        script: name of the batch script.
        text: content of the script.
        words: options of the command line, which override those in the script.
        notes: list to which notes on unknown options are added.

    Raises:
        SbatchError: sbatch would refuse the script or an option.
    """
    if not text.startswith("#!"):
        raise SbatchError(f"{script}: a batch script begins with #! and an interpreter, or sbatch refuses it")
    fields: Fields = {
        "name": os.path.basename(script),
        "script": text,
        "argv": [script],
        "work_dir": os.getcwd(),
        "environment": dict(os.environ),
    }
    apply(script_options(text), fields, notes)
    apply(words, fields, notes)
    _derive(fields)
    return fields


def _derive(fields: Fields) -> None:
    """Set the fields that depend on several options."""
    tasks, per_node, least = fields.get("num_tasks"), fields.get("ntasks_per_node"), fields.get("min_nodes")
    if tasks is not None and per_node and least is None:
        least = fields["min_nodes"] = -(-tasks // per_node)
    if tasks is None:
        tasks = least * per_node if per_node and least and least == fields.get("max_nodes") else 1
    fields["min_cpus"] = (least or 1) if fields.get("overcommit") else tasks * fields.get("cpus_per_task", 1)
