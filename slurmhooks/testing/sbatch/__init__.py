# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for sbatch: compute the fields of a submission from a batch script and options.

Source: slurm_opt.c:slurm_opt_create_job_desc and sbatch.c:_fill_job_desc_from_opts.
"""

import os
import re
from collections import deque
from collections.abc import Mapping, Sequence

from slurmhooks.job_submit.strings import NotationError
from slurmhooks.testing.job_submit import missing_fields
from slurmhooks.testing.sbatch.derive import ALWAYS, derive, export, external, insert, join
from slurmhooks.testing.sbatch.options import ARGUMENT, FLAG, OPTIONS, SHORT, Fields, Setter
from slurmhooks.testing.sbatch.values import SbatchError, words_of

__all__ = ["SbatchError", "apply", "components", "script_options", "submission"]

MAGIC = re.compile(r"#(?:SBATCH|SLURM)(.*)")
LONGEST_LINE = 16 << 10
"""Maximum length of a line with options, in characters."""
HETEROGENEOUS = ("hetjob", "packjob")
"""Words that end the options of a component of a heterogeneous job."""


def script_options(text: str) -> list[list[str]]:
    """Return the words of the ``#SBATCH`` lines before the first command of a script, for each component of the job."""
    parts_of_job: list[list[str]] = [[]]
    for line in text.split("\n"):
        match = MAGIC.match(line)
        if match is None:
            if line.strip() and not line.lstrip().startswith("#"):
                break
            continue
        if len(line) > LONGEST_LINE:
            raise SbatchError(f"a line of {len(line)} characters; at most {LONGEST_LINE} are read")
        parts = words_of(match.group(1))
        if parts and parts[0].lower() in HETEROGENEOUS:
            parts_of_job.append([])
            continue
        parts_of_job[-1] += parts
    return parts_of_job


def components(text: str) -> int:
    """Return how many components the job of a script has; with more than one it is heterogeneous."""
    return len(script_options(text))


def apply(words: Sequence[str], fields: Fields, notes: list[str]) -> None:
    """Apply options of sbatch to fields.

    Args:
        words: the options, as on the command line.
        fields: the fields to change.
        notes: list to which notes on unknown options are added.

    Raises:
        SbatchError: sbatch would refuse an option, too.
    """
    _read(words, fields, notes)
    join(fields)


def _read(words: Sequence[str], fields: Fields, notes: list[str]) -> None:
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
    if len(names) > 1:
        raise SbatchError(f"--{given} is ambiguous: it may be --{', --'.join(sorted(names))}")
    if not names:
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


def submission(
    script: str,
    text: str,
    words: Sequence[str],
    notes: list[str],
    *,
    arguments: Sequence[str] = (),
    release: str = "26.05",
    work_dir: str | None = None,
    component: int = 0,
    environment: Mapping[str, str] | None = None,
) -> Fields:
    """Return the fields of the submission that sbatch would send.

    Args:
        script: name of the batch script.
        text: content of the script.
        words: options of the command line, which override those in the script.
        notes: list to which notes on unknown options are added.
        arguments: of the script.
        release: of Slurm; some values differ.
        work_dir: where sbatch runs; by default the folder of this process.
        component: of a heterogeneous job.
        environment: of sbatch; by default that of this process.

    Raises:
        SbatchError: sbatch would refuse the script or an option.
    """
    if not text.startswith("#!"):
        raise SbatchError(f"{script}: a batch script begins with #! and an interpreter, or sbatch refuses it")
    work_dir = os.getcwd() if work_dir is None else work_dir
    fields: Fields = {
        "name": os.path.basename(script),
        "script": text,
        "argv": [os.path.join(work_dir, script), *arguments],
        "submit_line": " ".join(["sbatch", *words, script, *arguments]),
    }
    options = script_options(text)
    _read(options[component], fields, notes)
    _read(words, fields, notes)
    export(fields, os.environ if environment is None else environment)
    insert(fields)
    try:
        derive(fields, work_dir, release)
    except NotationError as error:
        raise SbatchError(f"--nodelist: {error}") from error
    external(fields)
    if len(options) > 1:
        fields["het_job_offset"] = component
    for name in missing_fields(release).intersection(ALWAYS):
        del fields[name]
    return fields
