# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for sbatch: compute the fields of a submission from a batch script and options.

Source: slurm_opt.c:slurm_opt_create_job_desc and sbatch.c:_fill_job_desc_from_opts.
"""

import os
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from slurmhooks.job_submit.strings import NotationError
from slurmhooks.option import Option
from slurmhooks.testing.job_submit import missing_fields
from slurmhooks.testing.sbatch import spank
from slurmhooks.testing.sbatch.derive import ALWAYS, derive, export, external, insert, join
from slurmhooks.testing.sbatch.options import ALIASES, ARGUMENT, FLAG, OF_COMPONENT, OPTIONAL, OPTIONS, SHORT, Fields
from slurmhooks.testing.sbatch.values import SbatchError, words_of

__all__ = ["SbatchError", "apply", "check_script", "components", "script_options", "submission"]

MAGIC = re.compile(r"#(?:SBATCH|SLURM)(.*)")
LONGEST_LINE = 16 << 10
"""Maximum length of a line with options, in characters."""
HETEROGENEOUS = ("hetjob", "packjob")
"""Words that end the options of a component of a heterogeneous job."""
SEPARATOR = ":"
"""Separates the options of components on the command line."""


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


def components(text: str, words: Sequence[str] = ()) -> int:
    """Return how many components the job of a script and options has; with more than one it is heterogeneous."""
    return max(len(script_options(text)), len(_parts(words)))


def _parts(words: Sequence[str]) -> list[list[str]]:
    """Return the options of each component on a command line."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word == SEPARATOR:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def apply(words: Sequence[str], fields: Fields, notes: list[str], options: Iterable[Option] = ()) -> None:
    """Apply options of sbatch to fields.

    Args:
        words: the options, as on the command line.
        fields: the fields to change.
        notes: list to which notes on unknown options are added.
        options: of SPANK plugins.

    Raises:
        SbatchError: sbatch would refuse an option, too.
    """
    known = {option.name: option for option in options}
    _set(_read(words, notes, known), fields, known)
    spank.insert(fields, known, None)
    join(fields)


Given = list[tuple[str, str, str]]
"""Options: the long name, how it was given, and the argument, which is empty if it was omitted."""


def _of_component(
    lines: list[list[str]], words: Sequence[str], component: int, notes: list[str], known: Mapping[str, Option]
) -> Given:
    """Return the options that are in force for a component.

    sbatch reads all options of the command line, then those of each component: of the script, and of the command line.
    What a component does not give is that of the component before, except for resources.
    """
    parts = _parts(words)
    given: Given = []
    if max(len(lines), len(parts)) > 1:
        for part in parts:
            given = _kept(given) + _read(part, [], known)
    for number in range(component + 1):
        here = lines[number] if number < len(lines) else []
        there = parts[0] if len(parts) == 1 else parts[number] if number < len(parts) else []
        found: list[str] = []
        given = _kept(given) + _read(here, found, known) + _read(there, found, known)
    notes += dict.fromkeys(found)
    return given


def _kept(given: Given) -> Given:
    return [each for each in given if each[0] not in OF_COMPONENT]


def _read(words: Sequence[str], notes: list[str], known: Mapping[str, Option]) -> Given:
    rest = deque(words)
    given: Given = []
    while rest:
        word = rest.popleft()
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word[2:].partition("=")
            given += _long(name, value if equals else None, rest, notes, known)
        elif word.startswith("-") and len(word) > 1:
            given += _short(word[1:], rest, notes)
        else:
            raise SbatchError(f"{word!r} is not an option")
    return given


def _long(given: str, value: str | None, rest: deque[str], notes: list[str], known: Mapping[str, Option]) -> Given:
    names = [name for name in (*OPTIONS, *ALIASES, *known) if name.startswith(given)]
    names = [given] if given in names else sorted(set(names))
    if len({ALIASES.get(name, name) for name in names}) > 1:
        raise SbatchError(f"--{given} is ambiguous: it may be --{', --'.join(names)}")
    if not names:
        if value is None and rest and not rest[0].startswith("-"):
            value = rest.popleft()
        shown = f"--{given}" if value is None else f"--{given}={value}"
        notes.append(f"{shown}: unknown here, ignored")
        return []
    name = ALIASES.get(names[0], names[0])
    takes = OPTIONS[name][1] if name in OPTIONS else (FLAG, ARGUMENT, OPTIONAL)[known[name].has_arg]
    if takes == FLAG and value is not None:
        raise SbatchError(f"--{names[0]} takes no argument")
    if takes == ARGUMENT and value is None:
        if not rest:
            raise SbatchError(f"--{names[0]} needs an argument")
        value = rest.popleft()
    if name in known and value is None:
        value = spank.OMITTED
    return [(name, f"--{names[0]}", value or "")]


def _short(letters: str, rest: deque[str], notes: list[str]) -> Given:
    given: Given = []
    while letters:
        letter, letters = letters[0], letters[1:]
        if letter not in SHORT:
            notes.append(f"-{letter}{letters}: unknown here, ignored")
            break
        name = SHORT[letter]
        value = ""
        if OPTIONS[name][1] != FLAG:
            value, letters = letters, ""
        if OPTIONS[name][1] == ARGUMENT and not value:
            if not rest:
                raise SbatchError(f"-{letter} needs an argument")
            value = rest.popleft()
        given.append((name, f"-{letter}", value))
    return given


def _set(given: Given, fields: Fields, known: Mapping[str, Option]) -> None:
    for name, how, value in given:
        if name in known:
            fields.setdefault("_spank", {})[name] = value
            continue
        try:
            OPTIONS[name][2](fields, value)
        except (NotationError, SbatchError) as error:
            raise SbatchError(f"{how}: {error}") from error


def check_script(script: str, text: str) -> None:
    """Raise SbatchError if sbatch refuses the text of a script."""
    if not text.startswith("#!"):
        raise SbatchError(f"{script}: a batch script begins with #! and an interpreter, or sbatch refuses it")
    if "\r\n" in text:
        raise SbatchError(
            f"{script}: Batch script contains DOS line breaks (\\r\\n), which sbatch refuses: dos2unix {script}"
        )


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
    options: Iterable[Option] = (),
) -> Fields:
    """Return the fields of the submission that sbatch would send.

    Args:
        script: name of the batch script.
        text: content of the script.
        words: options of the command line, which override those in the script; ":" between those of components.
        notes: list to which notes on unknown options are added.
        arguments: of the script.
        release: of Slurm; some values differ.
        work_dir: where sbatch runs; by default the folder of this process.
        component: of a heterogeneous job.
        environment: of sbatch; by default that of this process.
        options: of SPANK plugins.

    Raises:
        SbatchError: sbatch would refuse the script or an option.
    """
    check_script(script, text)
    work_dir = os.getcwd() if work_dir is None else work_dir
    fields: Fields = {
        "name": os.path.basename(script),
        "script": text,
        "argv": [os.path.join(work_dir, script), *arguments],
        "submit_line": " ".join(["sbatch", *words, script, *arguments]),
    }
    known = {option.name: option for option in options}
    lines = script_options(text)
    _set(_of_component(lines, words, component, notes, known), fields, known)
    environment = os.environ if environment is None else environment
    export(fields, environment)
    spank.insert(fields, known, environment)
    insert(fields)
    try:
        derive(fields, work_dir, release)
    except NotationError as error:
        raise SbatchError(f"--nodelist: {error}") from error
    external(fields)
    if components(text, words) > 1:
        fields["het_job_offset"] = component
    for name in missing_fields(release).intersection(ALWAYS):
        del fields[name]
    return fields
