# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for sbatch: compute the fields of a submission from a batch script and options.

Source: slurm_opt.c:slurm_opt_create_job_desc and sbatch.c:_fill_job_desc_from_opts.

slurmhooks.testing.options reads options as text. The modules here make fields of a request from them: ``options`` says
which field each option sets, with the functions in ``setters``; ``derive`` and those it calls compute the fields that
depend on several options.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence

from slurmhooks.cli_filter.model import EARLY
from slurmhooks.fields.constants import TaskDist
from slurmhooks.fields.rows import release_of
from slurmhooks.hooks.option import Option
from slurmhooks.job_submit.strings import NotationError
from slurmhooks.testing.job_submit import RELEASE, missing_fields
from slurmhooks.testing.options import command_lines
from slurmhooks.testing.options.command_lines import CommandLineError, Given
from slurmhooks.testing.options.texts import ENDING, LOWEST, EndedError, printed
from slurmhooks.testing.options.values import SEPARATOR, OperandError, SbatchError, words_of
from slurmhooks.testing.sbatch import foreign, hints, nodelists, spank
from slurmhooks.testing.sbatch.derive import ALWAYS, WRAPPED, derive, external, insert, join
from slurmhooks.testing.sbatch.environment import export, variables_of
from slurmhooks.testing.sbatch.foreign import LONGEST_LINE
from slurmhooks.testing.sbatch.options import OPTIONS
from slurmhooks.testing.sbatch.releases import LAYOUT_SINCE, as_in
from slurmhooks.testing.sbatch.setters import Fields

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
    "reads_foreign_lines",
    "script_options",
    "submission",
    "text_with_options",
]

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
    """Apply options of sbatch to fields.

    Args:
        words: the options, as on the command line.
        fields: the fields to change.
        notes: list to which notes on unknown options are added.
        options: of SPANK plugins.

    Raises:
        SbatchError: sbatch would refuse an option, too.
    """
    by_name = {option.name: option for option in options}
    _set([each for part in _parts(words, notes, list(options)) for each in part], fields, notes)
    spank.insert(fields, by_name, inherit=False)
    nodelists.read_files(fields, "sbatch", RELEASE, (), {}, os.getcwd())
    hints.apply(fields, "sbatch", RELEASE)
    join(fields, RELEASE)


def _parts(
    words: Sequence[str], notes: list[str], options: Sequence[Option], release: str = RELEASE
) -> list[list[Given]]:
    """Return the options of each component on a command line."""
    try:
        lines = command_lines.read_components("sbatch", words, options, notes, release_of(release))
    except CommandLineError as error:
        raise SbatchError(str(error)) from error
    if lines[-1].rest:
        raise OperandError(f"{lines[-1].rest[0]!r} is not an option")
    return [line.given for line in lines]


def options_in(
    text: str, notes: list[str], options: Sequence[Option], release: str = RELEASE, *, foreign_lines: bool = True
) -> list[list[Given]]:
    """Return the options of each component in a script, without those that sbatch reads on its command line only.

    Args:
        text: of the script.
        notes: list to which notes on unknown options are added.
        options: of SPANK plugins.
        release: of Slurm.
        foreign_lines: ``#PBS`` and ``#BSUB`` lines count, unless the script has ``--ignore-pbs``.

    Raises:
        SbatchError: sbatch would refuse an option.
    """
    lines = []
    for words in script_options(text):
        given = [each for each in _parts(words, notes, options, release)[0] if each.name not in EARLY["sbatch"]]
        foreign_lines = foreign_lines and all(each.name != "ignore-pbs" for each in given)
        before = command_lines.texts(given, plugin=False)
        lines.append([*given, *(foreign.options_of(text, before, release_of(release)) if foreign_lines else [])])
    return lines


def reads_foreign_lines(parts: Iterable[Iterable[Given]], environment: Mapping[str, str]) -> bool:
    """Tell whether a command line and an environment of sbatch let it read ``#PBS`` and ``#BSUB`` lines."""
    text = environment.get("SBATCH_IGNORE_PBS")
    return not (text is not None and command_lines.is_set(text)) and all(
        each.name != "ignore-pbs" for part in parts for each in part
    )


def _set(
    given: Iterable[Given], fields: Fields, notes: list[str], release: str = RELEASE, program: str = "sbatch"
) -> None:
    kept: list[Given] = []
    for each in given:
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
                printed(each.name, each.text, release_of(release), program)
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

    Args:
        script: name of the batch script; None: it comes from standard input, or is the argument of ``--wrap``.
        text: content of the script.
        words: options of the command line, which override those in the script; ":" between those of components.
        notes: list to which notes on unknown options are added.
        arguments: of the script.
        release: of Slurm; some values differ.
        work_dir: where sbatch runs; by default the folder of this process.
        component: of a heterogeneous job.
        environment: of sbatch, including variables such as SBATCH_ACCOUNT; by default that of this process.
        options: of SPANK plugins.
        submit_line: the whole command, if not that of the other arguments.

    Raises:
        SbatchError: sbatch would refuse the script or an option.
    """
    check_script(script or "standard input", text)
    work_dir = os.getcwd() if work_dir is None else work_dir
    environment = os.environ if environment is None else environment
    options = list(options)
    by_name = {option.name: option for option in options}
    of_words: list[str] = []
    parts = _parts(words, of_words, options, release)
    fields: Fields = {"script": text, "argv": [], "submit_line": submit_line or " ".join(["sbatch", *words])}
    if script is not None:
        if any(each.name == "external" for part in parts for each in part):
            raise SbatchError("--external excludes a script")
        path = command_lines.path_in_argv(script, parts, environment, work_dir)
        fields |= {"name": os.path.basename(script), "argv": [path, *arguments]}
        fields["submit_line"] = submit_line or " ".join(["sbatch", *words, script, *arguments])
    remarks: list[str] = []
    read_all = reads_foreign_lines(parts, environment)
    lines = options_in(text_with_options(text, parts), remarks, options, release, foreign_lines=read_all)
    remarks += of_words
    variables = command_lines.of_environment("sbatch", environment, by_name.values(), release_of(release))
    given = as_in(command_lines.in_force("sbatch", lines, variables, parts, component), release)
    of_options = compute(
        fields, given, remarks, environment=environment, work_dir=work_dir, release=release, options=by_name
    )
    notes += dict.fromkeys(remarks)
    if max(len(lines), len(parts)) > 1:
        fields["het_job_offset"] = component
        if (hint := command_lines.texts(given, plugin=False).get("hint")) is not None:
            fields["environment"][command_lines.HINT] = hint
        if component:
            fields["script"] = None
    else:
        try:
            fields["environment"] |= variables_of(of_options, command_lines.texts(given, plugin=False), release)
        except EndedError as error:
            raise SbatchError(f"{str(error)!r}: sbatch would end with this value of an option") from error
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
) -> Fields:
    """Compute the fields of a submission from its options, except the variables that follow from its fields.

    Args:
        fields: what is known without the options; to be completed.
        given: the options in force.
        notes: list to which notes on options without effect are added.
        environment: of sbatch.
        work_dir: where sbatch runs.
        release: of Slurm.
        options: of SPANK plugins, by name.
        program: the command that submits.

    Returns:
        the fields before GRES change them; the variables follow from these.

    Raises:
        SbatchError: the command would refuse an option.
    """
    _set(given, fields, notes, release, program)
    if "_wrap" in fields:
        fields.setdefault("name", "wrap")
    export(fields, environment, work_dir, release)
    fields.setdefault("name", "sbatch")
    kept = release_of(release) >= LAYOUT_SINCE or "ALL" in fields.get("_export", "ALL").upper().split(",")
    spank.insert(fields, options, inherit=True, of_step=kept)
    if "script" in fields:
        insert(fields)
    last = {each.name: each.how for each in given}
    variables = {name for name, how in last.items() if not how.startswith("-")}
    try:
        of_options = derive(fields, work_dir, release, program, variables, environment)
    except NotationError as error:
        raise SbatchError(f"--nodelist: {error}") from error
    if program == "sbatch" and fields["task_dist"] == TaskDist.SLURM_DIST_ARBITRARY:
        fields["environment"]["SLURM_ARBITRARY_NODELIST"] = fields["req_nodes"]
    external(fields)
    for name in missing_fields(release).intersection(ALWAYS):
        del fields[name]
    return of_options
