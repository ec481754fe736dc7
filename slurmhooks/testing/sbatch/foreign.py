# SPDX-License-Identifier: GPL-2.0-or-later
"""Translate ``#PBS`` and ``#BSUB`` lines of a batch script to options, as sbatch does.

Source: xlate.c of sbatch. The texts are those that sbatch gives to its own options, right or wrong.
"""

from __future__ import annotations

import re
from getopt import GetoptError, getopt
from typing import TYPE_CHECKING

from slurmhooks.job_submit.strings import collapse_nodes
from slurmhooks.testing.options.command_lines import Given
from slurmhooks.testing.options.numbers import strtol
from slurmhooks.testing.options.values import SbatchError, words_of
from slurmhooks.testing.sbatch.releases import LAYOUT_SINCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LONGEST_LINE = 16 << 10
"""Maximum length of a line with options, in characters."""
MOST_COMMANDS = 100
"""sbatch stops reading after so many lines that are no comments."""
BSUB = {"c": "chdir", "e": "error", "J": "job-name", "m": "nodelist", "M": "mem-per-cpu", "n": "ntasks", "o": "output",
        "q": "partition", "W": "time", "x": "exclusive"}  # fmt: skip
"""Options of sbatch by letters of bsub."""
BSUB_NAMES = {"cwd=": "c", "error_file=": "e", "job_name=": "J", "hostname=": "m", "memory_limit=": "M",
              "output_file=": "o", "queue_name=": "q", "time=": "W", "exclusive": "x"}  # fmt: skip
PBS = {"a": "begin", "A": "account", "e": "error", "o": "output", "w": "chdir", "d": "chdir", "h": "hold", "J": "array",
       "t": "array", "m": "mail-type", "M": "mail-user", "N": "job-name", "p": "nice", "q": "partition",
       "v": "export"}  # fmt: skip
"""Options of sbatch by letters of qsub; ``l`` and ``W`` are read apart, and the others are ignored."""
PBS_NAMES = {"start_time=": "a", "account=": "A", "checkpoint=": "c", "working_dir=": "C", "error=": "e", "hold": "h",
             "interactive": "I", "join": "j", "job_array=": "J", "keep=": "k", "resource_list=": "l",
             "mail_options=": "m", "mail_user_list=": "M", "job_name=": "N", "out=": "o", "priority=": "p",
             "destination=": "q", "rerunable=": "r", "script_path=": "S", "array=": "t", "running_user=": "u",
             "variable_list=": "v", "all_env": "V", "attributes=": "W", "no_std": "z"}  # fmt: skip
PBS_LETTERS = "a:A:c:C:e:hIj:J:k:l:m:M:N:o:p:q:r:S:t:u:v:VW:z"
MAIL = {"b": "BEGIN", "e": "END", "a": "FAIL"}
RESOURCES = {"cput": "time", "file": "tmp", "mem": "mem", "mpiprocs": "ntasks-per-node", "ncpus": "mincpus",
             "nice": "nice", "pcput": "time", "proc": "constraint", "select": "nodes", "walltime": "time"}  # fmt: skip
"""Options of sbatch by resources of ``-l``."""
OTHERS = ("arch", "host", "opsys", "other", "pmem", "pvmem", "software", "vmem")
"""Resources that are ignored, with their values."""
BEFORE_COLON = ("mpiprocs", "ncpus", "select")
"""Resources whose value ends at a colon."""
RESOURCE = re.compile(
    r"(?:(?i:(accelerator|mpiprocs|naccelerators|ncpus|select))"
    r"|(arch|cput|file|host|mem|nice|nodes|opsys|other|pcput|pmem|proc|pvmem|software|vmem|walltime))="
)


def options_of(text: str, before: Mapping[str, str | None], release: tuple[int, ...]) -> list[Given]:
    """Return the options of the ``#BSUB`` lines of a script, or of its ``#PBS`` lines if it has no others.

    Args:
        text: of the script.
        before: the texts of the options of its ``#SBATCH`` lines, by name.
        release: of Slurm.

    Raises:
        SbatchError: sbatch would refuse a line.
    """
    if words := _words(text, "#BSUB"):
        return list(_of_bsub([word for line in words for word in line]))
    return _of_pbs([word for line in _words(text, "#PBS") for word in line], before, release)


def _words(text: str, magic: str) -> list[list[str]]:
    lines, commands = [], 0
    for line in text.split("\n"):
        if line.startswith(magic):
            if len(line) > LONGEST_LINE:
                raise SbatchError(f"a line of {len(line)} characters; at most {LONGEST_LINE} are read")
            lines.append(words_of(line[len(magic) :]))
            continue
        commands += not line.startswith("#")
        if commands > MOST_COMMANDS:
            break
    return lines


def _read(kind: str, words: list[str], letters: str, names: Mapping[str, str]) -> list[tuple[str, str]]:
    try:
        given, rest = getopt(words, letters, list(names))
    except GetoptError as error:
        raise SbatchError(f"#{kind}: {error}") from error
    if rest:
        raise SbatchError(f"#{kind}: {rest[0]!r} is no option")
    by_name = {name.rstrip("="): letter for name, letter in names.items()}
    return [(by_name[option[2:]] if option.startswith("--") else option[1:], text) for option, text in given]


def _of_bsub(words: list[str]) -> Iterator[Given]:
    # sbatch looks only at each second word.
    words = ["-c" if word == "-cwd" and not place % 2 else word for place, word in enumerate(words)]
    for letter, given in _read("BSUB", words, "c:e:J:m:M:n:o:q:W:x", BSUB_NAMES):
        text = given
        if letter == "m":
            text = given.replace(" ", ",")
        elif letter == "M" and given[-1:].isdigit():
            text = f"{given}K"
        elif letter == "n":
            text = given.partition(",")[2] if "," in given else given
            if not text:
                raise SbatchError(f"#BSUB -n: {given!r} is no number of tasks")
        yield Given(BSUB[letter], f"-{letter} of #BSUB", None if letter == "x" else text)


def _of_pbs(words: list[str], before: Mapping[str, str | None], release: tuple[int, ...]) -> list[Given]:
    given: list[Given] = []
    known = dict(before)
    letters = f"{PBS_LETTERS}{'d:w:' if release >= LAYOUT_SINCE else ''}"
    for letter, own in _read("PBS", words, letters, PBS_NAMES):
        how = f"-{letter} of #PBS"
        text: str | None = own
        name = PBS.get(letter)
        if letter == "l":
            options = list(_resources(own, known))
            given += [Given(option, how, value) for option, value in options]
            known.update(options)
        elif letter == "W":
            name, text = ("dependency", own[7:]) if own.lower().startswith("depend=") else (None, own)
        elif letter == "m":
            words_of_mail = [word for sign, word in MAIL.items() if sign in own.lower()]
            text = "NONE" if "n" in own.lower() else ",".join(words_of_mail)
        elif letter == "v":
            text = ",".join(filter(None, [known.get("export"), own]))
        if name is not None:
            given.append(Given(name, how, None if letter == "h" else text))
            known[name] = text
    return given


def _resources(text: str, known: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    """Yield the options of a list of resources, as sbatch finds their names anywhere in it."""
    known = dict(known)
    place, gpus, pro = 0, 0, set()
    while place < len(text):
        match = RESOURCE.match(text, place)
        if match is None:
            place += 1
            continue
        name = (match[1] or match[2]).lower()
        place = match.end()
        if name == "accelerator":
            gpus = max(gpus, 1) if text[place:].lower().startswith("true") else gpus
            continue
        value = text[place:].partition(":" if name in BEFORE_COLON else ",")[0]
        place += len(value) + 1
        if name in OTHERS:
            continue
        if name == "naccelerators":
            gpus = strtol(value)[0]
            continue
        if name == "nodes":
            options = list(_nodes(value))
        else:
            value = value[:-1] if name in ("file", "mem") and value[-1:] in ("b", "B") else value
            value = ",".join(filter(None, [value, known.get("constraint")])) if name == "proc" else value
            place = len(text[:place] + text[place:].partition(",")[0]) + 1 if name == "proc" else place
            options = [(RESOURCES[name], value)]
        pro |= {name} & {*BEFORE_COLON}
        known |= options
        yield from options
    cpus, tasks = (strtol(known.get(name) or "")[0] for name in ("mincpus", "ntasks-per-node"))
    if pro == {*BEFORE_COLON} and cpus > tasks > 0:
        yield "cpus-per-task", str(cpus // tasks)
    if gpus > 0:
        yield "gres", ",".join(filter(None, [known.get("gres"), f"gpu:{gpus}"]))


def _nodes(text: str) -> Iterator[tuple[str, str]]:
    """Yield the options of ``nodes=``: numbers and names of nodes, ``ppn=`` and ``gpus=``, with "+" or ":" between."""
    tasks = nodes = 0
    names: list[str] = []
    for part in re.split("[+:]", text):
        word = re.sub("^[^0-9A-Za-z]+", "", part)
        if word.startswith("gpus="):
            yield "gpus-per-node", word[5:]
        elif word.startswith("ppn="):
            tasks += strtol(word[4:])[0]
        elif word[:1].isdigit():
            nodes += strtol(word)[0]
        elif word:
            names.append(word)
    if nodes:
        yield "nodes", str(nodes)
    if tasks:
        yield "ntasks", str(tasks * (nodes or 1))
    if names:
        yield "nodelist", collapse_nodes(names)
