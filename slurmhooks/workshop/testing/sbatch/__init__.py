# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for sbatch: compute the fields of a submission from a batch script and options.

Source: slurm_opt.c:slurm_opt_create_job_desc and sbatch.c:_fill_job_desc_from_opts.

slurmhooks.workshop.testing.options reads options as text. The modules here make fields of a request from them:
``options`` says which field each option sets, with the functions in ``setters``; ``derive`` and those it calls compute
the fields that depend on several options.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence

from slurmhooks.cli_filter.model import EARLY
from slurmhooks.hooks.option import Option
from slurmhooks.job_submit.strings import NotationError
from slurmhooks.workshop.testing.job_submit import RELEASE, missing_fields
from slurmhooks.workshop.testing.options import command_lines
from slurmhooks.workshop.testing.options.command_lines import CommandLineError, Given
from slurmhooks.workshop.testing.options.texts import ENDING, LOWEST, printed
from slurmhooks.workshop.testing.options.values import SEPARATOR, OperandError, SbatchError, words_of
from slurmhooks.workshop.testing.sbatch import spank
from slurmhooks.workshop.testing.sbatch.derive import ALWAYS, WRAPPED, derive, external, insert, join
from slurmhooks.workshop.testing.sbatch.environment import export
from slurmhooks.workshop.testing.sbatch.options import OPTIONS
from slurmhooks.workshop.testing.sbatch.setters import Fields

__all__ = [
    "WRAPPED",
    "OperandError",
    "SbatchError",
    "apply",
    "check_script",
    "components",
    "compute",
    "exclude_nodes",
    "options_in",
    "script_options",
    "submission",
    "text_with_options",
]

LONGEST_LINE = 16 << 10
"""Maximum length of a line with options, in characters."""
FOREIGN = re.compile("^#(?:PBS|BSUB)", re.MULTILINE)
MEMORY = frozenset({"mem", "mem-per-cpu", "mem-per-gpu"})
"""Options that exclude each other; one that is written replaces that of a variable."""
MAGIC = re.compile(r"#(?:SBATCH|SLURM)[ \t\r\v\f]*(.*)")


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
        if SEPARATOR.match(match.group(1)):
            parts_of_job.append([])
        parts_of_job[-1] += words_of(match.group(1))
    return parts_of_job


def components(text: str, words: Sequence[str] = (), options: Sequence[Option] = ()) -> int:
    """Return how many components the job of a script and options has; with more than one it is heterogeneous."""
    parts = _parts(words, [], options)
    return max(len(script_options(text_with_options(text, parts))), len(parts))


def text_with_options(text: str, parts: Iterable[Iterable[Given]]) -> str:
    """Return the text whose lines may have options: that of a script, but not that which ``--wrap`` makes."""
    return "" if any(each.name == "wrap" for part in parts for each in part) else text


def apply(words: Sequence[str], fields: Fields, notes: list[str], options: Iterable[Option] = ()) -> None:
    """Apply options of sbatch to fields; notes on unknown options are added to ``notes``.

    Raises:
        SbatchError: sbatch would refuse an option, too.
    """
    by_name = {option.name: option for option in options}
    _set([each for part in _parts(words, notes, list(options)) for each in part], fields, notes)
    spank.insert(fields, by_name, inherit=False)
    join(fields)


def _parts(words: Sequence[str], notes: list[str], options: Sequence[Option]) -> list[list[Given]]:
    """Return the options of each component on a command line."""
    try:
        lines = command_lines.read_components("sbatch", words, options, notes)
    except CommandLineError as error:
        raise SbatchError(str(error)) from error
    if lines[-1].rest:
        raise OperandError(f"{lines[-1].rest[0]!r} is not an option")
    return [line.given for line in lines]


def options_in(text: str, notes: list[str], options: Sequence[Option]) -> list[list[Given]]:
    """Return the options of each component in a script, without those that sbatch reads on its command line only.

    Notes on unknown options, and on lines for other batch systems, are added to ``notes``.

    Raises:
        SbatchError: sbatch would refuse an option.
    """
    if FOREIGN.search(text):
        notes.append("#PBS and #BSUB lines are read on a machine with Slurm only")
    return [
        [each for each in _parts(words, notes, options)[0] if each.name not in EARLY["sbatch"]]
        for words in script_options(text)
    ]


def _set(given: Iterable[Given], fields: Fields, notes: list[str], program: str = "sbatch") -> None:
    kept: list[Given] = []
    given = list(given)
    written = MEMORY & {each.name for each in given if each.how.startswith("-")}
    for each in given:
        if written and each.name in MEMORY - written:
            continue
        if each.resets:
            kept = [other for other in kept if other.name != each.name]
        else:
            kept.append(each)
    for each in kept:
        if each.plugin:
            fields.setdefault("_spank", {})[each.name] = each.text
            continue
        if each.name in ENDING:
            raise SbatchError(f"{each.how}: {program} prints something and ends")
        if each.name not in OPTIONS:
            notes.append(f"{each.how}: no effect here")
            continue
        try:
            if each.text is not None:
                printed(each.name, each.text, program)
            OPTIONS[each.name](fields, each.text or "")
        except SbatchError as error:
            raise SbatchError(f"{each.how}: {error}") from error
        except ValueError as error:
            reason = f": it is not a number of at least {LOWEST[each.name]}" if each.name in LOWEST else ""
            raise SbatchError(f"{each.how}: {program} refuses {each.text!r}{reason}") from error


def check_script(script: str, text: str) -> None:
    """Raise SbatchError if sbatch refuses the text of a script."""
    if not text.startswith("#!"):
        raise SbatchError(f"{script}: a batch script begins with #! and an interpreter, or sbatch refuses it")
    if "\r\n" in text:
        raise SbatchError(
            f"{script}: Batch script contains DOS line breaks (\\r\\n), which sbatch refuses: dos2unix {script}"
        )


def submission(
    script: str | None,
    text: str,
    words: Sequence[str],
    notes: list[str],
    *,
    arguments: Sequence[str] = (),
    release: str = RELEASE,
    work_dir: str | None = None,
    component: int = 0,
    environment: Mapping[str, str] | None = None,
    options: Iterable[Option] = (),
    submit_line: str | None = None,
) -> Fields:
    """Return the fields of the submission that sbatch would send.

    Without a name, the script comes from standard input, or is the argument of ``--wrap``. ``words`` override its
    options; ":" is between those of components. By default, sbatch runs in the folder and with the environment of this
    process. Notes on unknown options are added to ``notes``. ``submit_line`` is the whole command, if not that of the
    other arguments.

    Raises:
        SbatchError: sbatch would refuse the script or an option.
    """
    check_script(script or "standard input", text)
    work_dir = os.getcwd() if work_dir is None else work_dir
    environment = os.environ if environment is None else environment
    options = list(options)
    by_name = {option.name: option for option in options}
    of_words: list[str] = []
    parts = _parts(words, of_words, options)
    fields: Fields = {"script": text, "argv": [], "submit_line": submit_line or " ".join(["sbatch", *words])}
    if script is not None:
        if any(each.name == "external" for part in parts for each in part):
            raise SbatchError("--external excludes a script")
        path = command_lines.path_in_argv(script, parts, environment, work_dir)
        fields |= {"name": os.path.basename(script), "argv": [path, *arguments]}
        fields["submit_line"] = submit_line or " ".join(["sbatch", *words, script, *arguments])
    remarks: list[str] = []
    lines = options_in(text_with_options(text, parts), remarks, options)
    remarks += of_words
    variables = command_lines.of_environment("sbatch", environment, by_name.values())
    given = command_lines.in_force("sbatch", lines, variables, parts, component)
    compute(fields, given, remarks, environment=environment, work_dir=work_dir, release=release, options=by_name)
    notes += dict.fromkeys(remarks)
    if max(len(lines), len(parts)) > 1:
        fields["het_job_offset"] = component
        if component:
            fields["script"] = None
    return fields


def exclude_nodes(components: Sequence[Fields]) -> None:
    """Exclude the nodes of the other components from each one of a heterogeneous job, before handlers see them.

    Source: proc_req.c:_exclude_het_job_nodes of slurmctld.
    """
    named = [fields.get("req_nodes") for fields in components]
    for number, fields in enumerate(components):
        others = [nodes for other, nodes in enumerate(named) if nodes and other != number]
        if others:
            fields["exc_nodes"] = ",".join(filter(None, [fields.get("exc_nodes"), *others]))


def compute(
    fields: Fields,
    given: Sequence[Given],
    notes: list[str],
    *,
    environment: Mapping[str, str],
    work_dir: str,
    release: str,
    options: Mapping[str, Option],
    program: str = "sbatch",
) -> None:
    """Compute the fields of a submission from its options.

    ``fields`` are known without the options; to be completed. Notes on options without effect are added to ``notes``.

    Raises:
        SbatchError: the command would refuse an option.
    """
    _set(given, fields, notes, program)
    if "_wrap" in fields:
        fields.setdefault("name", "wrap")
    export(fields, environment, work_dir)
    fields.setdefault("name", "sbatch")
    spank.insert(fields, options, inherit=True)
    if "script" in fields:
        insert(fields)
    try:
        derive(fields, work_dir, program)
    except NotationError as error:
        raise SbatchError(f"--nodelist: {error}") from error
    external(fields)
    for name in missing_fields(release).intersection(ALWAYS):
        del fields[name]
