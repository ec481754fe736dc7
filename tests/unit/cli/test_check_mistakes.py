# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks check`` notes statements that are bugs when they run, or have no effect."""

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from slurmhooks.cli import main
from slurmhooks.cli.checks import evaded, mistakes
from slurmhooks.fields import JobFields, RecordFields
from slurmhooks.fields.rows import rows
from slurmhooks.handlers import loader
from slurmhooks.spank.fields import ITEMS
from slurmhooks.testing import FakeBurstBuffer, FakeContainer, FakeMail, FakeOptions

ROOT = Path(__file__).parents[3]


def notes(folder: Path, text: str, head: str = "@hook.job_submit\ndef check(job):\n    ") -> list[str]:
    """Return the notes about a hook file, without its path and line."""
    file = folder / "site.py"
    file.write_text(
        "from slurmhooks import Reject, hook\nSUCCESS = 0; UNSET = 2**64 - 2\n" + head + textwrap.dedent(text)
    )
    registry = loader.load([loader.Source(path=str(file))])
    found = [note for kind in mistakes.notes(registry.all_handlers()) for note in kind]
    assert all(note.startswith(f"{file}:5: ") for note in found), found
    return [note.removeprefix(f"{file}:5: ") for note in found]


WRONG = {
    "return 0": "returning 0 is a bug; to refuse, raise Reject(text)",
    "return -1": "returning -1 is a bug; ",
    "return SUCCESS": "returning SUCCESS is a bug; ",
    "return False": "returning False is a bug; ",
    "return f'no {job.name}'": "returning f'no {job.name}' is a bug; ",
    "return job.name == 'a'": "returning job.name == 'a' is a bug; ",
    "return Reject('no')": "nothing is refused: write raise Reject(...)",
    "Reject('no')": "nothing is refused: write raise Reject(...)",
    "raise Reject": "Reject without a text: ",
    "raise Reject()": "Reject without a text: ",
    "raise Reject('no', 'ESLURM_INVALID_ACCOUNT')": "Reject takes one text, such as an f-string, and code= for a code",
    "raise Reject('no %s', job.name)": "Reject takes one text, ",
    "job.acount = 'physics'": "job has no 'acount'; nearest: account; this line is a bug if it runs",
    "if job.name and job.timelimit: pass": "job has no 'timelimit'; nearest: time_limit, ",
    "job.name = [each for each in job.argvs]": "job has no 'argvs'; nearest: argv; ",
    "if job.begin_time == UNSET: pass": "Slurm's NO_VAL, 18446744073709551614, is None in handlers",
    "job.time_limit = '1:00:00'": "time_limit (minutes) takes an int, None or UNLIMITED, not '1:00:00'; this ",
    "job.nice = 1 << 40 if job.name else job.nise": "job has no 'nise'; nearest: nice; ",
    "job.user_id = 0": "job.user_id is read-only; this line is a bug if it runs",
    "job.partition = 5": "partition takes ",
    "if job.time_limit == 0xfffffffe: pass": "Slurm's NO_VAL, 4294967294, is None in handlers, when read and when",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_mistake(tmp_path: Path, text: str) -> None:
    """Each has one note with its line, which says what to write instead."""
    (note,) = notes(tmp_path, text)
    assert note.startswith(WRONG[text])


FINE = [
    "return None",
    "return",
    "raise Reject('no', code='ESLURM_INVALID_ACCOUNT')",
    "raise Reject(f'no {job.name}')",
    "return other(object())\ndef other(job):\n    return job.anything",
    "return other(job)\ndef other(asked):\n    asked = asked.name\n    return asked.anything",
    "return other(job)\ndef other(asked, job=None):\n    return asked.name or job.anything",
    "job = object()\n    job.anything",
    "def inner():\n        return 1\n    inner()",
    "try:\n        job.anything\n    except AttributeError:\n        pass",
    "print(job.name)",  # slurmctld's log has it
    "print(job.name, file=open('/dev/null'))",
    "job._anything",
    "SUCCESS = None\n    return SUCCESS",
    "job.time_limit = None",
    "job.time_limit = 5; job.partition = 'a'; job.requeue = True; job.shared = 1",
]


@pytest.mark.parametrize("text", FINE)
def test_no_mistake(tmp_path: Path, text: str) -> None:
    """What may be right has no note."""
    assert notes(tmp_path, text) == []


ROWS = {
    "for each in jobs.values(): each.cancelx('x')": "each has no 'cancelx'; nearest: cancel; ",
    "for each in jobs.where(user_id=5): each.timelimit": "each has no 'timelimit'; nearest: time_limit",
    "nodes['n1'].drian('x')": "nodes['n1'] has no 'drian'; nearest: drain; ",
    "[each.nowhere for each in partitions.values()]": "each has no 'nowhere'",
    "log.usr('x')": "log has no 'usr'; nearest: user; ",
    "constants.JobState.JOB_RUNING": "constants.JobState has no 'JOB_RUNING'; nearest: JOB_RUNNING",
    "constants.JobStat.JOB_RUNNING": "constants has no 'JobStat'; nearest: JobState",
    "for each in jobs.values():\n        each = 5\n        each.nowhere": "",
    "for each in jobs.values(): each.cancel(each.name)": "",
    "log = object()\n    log.usr": "",
    "nodes['n1'].drain('x'); log.user('x'); constants.JobState.JOB_RUNNING; jobs.nowhere": "",
}


@pytest.mark.parametrize("text", ROWS)
def test_a_mistake_about_rows_and_names(tmp_path: Path, text: str) -> None:
    """Rows of tables, the log and constants have no attribute that does not exist."""
    file = tmp_path / "site.py"
    file.write_text(
        "from slurmhooks import hook, log\nfrom slurmhooks.job_submit import constants\n"
        f"@hook.every('1m')\ndef check(jobs, nodes, partitions):\n    {text}\n"
    )
    found, doubtful = mistakes.notes(loader.load([loader.Source(path=str(file))]).all_handlers())
    assert doubtful == []
    assert ROWS[text] in "".join(found)
    assert bool(found) == bool(ROWS[text])


def test_nodes_of_a_power_hook_are_no_rows(tmp_path: Path) -> None:
    """They are no records of slurmctld, and have other methods."""
    assert notes(tmp_path, "nodes['c1'].down('x')", "@hook.power.resume\ndef check(nodes):\n    ") == []


HANDED = {
    "job.bounds.gpu.most": "job.bounds has no 'gpu'; nearest: gpus",
    "return late(job)\ndef late(asked): return asked.timelimit": "job has no 'timelimit'; nearest: time_limit",
    "if late(5, job): pass\ndef late(n, asked): return other(asked)\ndef other(it): return it.nise": "no 'nise'",
    "job.sets('timelimit')": "job has no 'timelimit'; nearest: time_limit",
    "late(job)\ndef late(j): return j.leaves_out('acount')": "job has no 'acount'; nearest: account; ",
}


@pytest.mark.parametrize("text", HANDED)
def test_a_mistake_where_the_job_is_handed_to(tmp_path: Path, text: str) -> None:
    """The functions of the file that get the job from a handler are looked through, whatever they call it."""
    file = tmp_path / "site.py"
    file.write_text(f"from slurmhooks import hook\n@hook.job\ndef check(job):\n    {text}\n")
    registry = loader.load([loader.Source(path=str(file))])
    (note,), doubtful = mistakes.notes(registry.all_handlers())
    assert (HANDED[text] in note, doubtful) == (True, [])


def test_what_a_priority_returns_is_no_mistake(tmp_path: Path) -> None:
    """A hook whose handlers return a value has no note on it."""
    assert notes(tmp_path, "return 5", "@hook.priority\ndef check(record):\n    ") == []


def test_print_in_slurmstepd(tmp_path: Path) -> None:
    """What a handler of SPANK prints is in the output of the job, or nowhere."""
    (note,) = notes(tmp_path, "print(spank.job_id)", "@hook.spank.task_init\ndef check(spank):\n    ")
    assert note.startswith("use log.user() or log.info() instead of print(): ")
    assert notes(tmp_path, "print(1, file=x)", "@hook.spank.task_init\ndef check(spank):\n    ") == []


@pytest.mark.parametrize(
    ("decorator", "name", "fields"),
    [
        ("job_submit", "job", [*rows(JobFields)]),
        ("job_modify", "record", [*rows(RecordFields)]),
        ("job_end", "record", [*rows(RecordFields)]),
        ("spank.task_init", "spank", [*(item.name for item in ITEMS), "context", "env", "args", "callback", "state"]),
    ],
)
def test_each_field_is_known(tmp_path: Path, decorator: str, name: str, fields: list[str]) -> None:
    """No field of any release has a note."""
    text = "; ".join(f"{name}.{field}" for field in fields)
    assert notes(tmp_path, text, f"@hook.{decorator}\ndef check({name}):\n    ") == []
    assert notes(tmp_path, f"{name}.nowhere", f"@hook.{decorator}\ndef check({name}):\n    ")


@pytest.mark.parametrize(
    ("decorator", "name", "made"),
    [
        ("cli_filter.pre_submit", "options", lambda: FakeOptions("sbatch")),
        ("scrun.stage_in", "container", lambda: FakeContainer(bundle="/b")),
        ("mail", "mail", FakeMail),
        ("burst_buffer.setup", "buffer", FakeBurstBuffer),
    ],
)
def test_each_attribute_is_known(tmp_path: Path, decorator: str, name: str, made: Callable[[], object]) -> None:
    """No attribute that an argument of a hook has when it is called has a note; another one has."""
    of_kit = {"sent", "texts", "commands"}
    attributes = {each for each in dir(made()) if not each.startswith("_")} - of_kit
    text = "; ".join(f"{name}.{each}" for each in sorted(attributes))
    assert notes(tmp_path, text, f"@hook.{decorator}\ndef check({name}):\n    ") == []
    assert notes(tmp_path, f"{name}.nowhere", f"@hook.{decorator}\ndef check({name}):\n    ")


def test_our_own_files_have_none() -> None:
    """No example has a note."""
    for folder in ("examples", "first_light"):
        for file in sorted((ROOT / "contrib" / folder).glob("*.py")):
            registry = loader.load([loader.Source(path=str(file))])
            assert mistakes.notes(registry.all_handlers()) == ([], []), file
            assert not list(evaded.notes(registry.all_handlers())), file


HELD = {
    "@hook.job_submit": "refuses submissions by time_limit, and no handler looks at that in updates",
    "@hook.job_submit\n@hook.job_modify": "",
    "@hook.job": "",
}


@pytest.mark.parametrize("decorators", HELD)
def test_a_rule_that_an_update_passes(tmp_path: Path, decorators: str) -> None:
    """A handler that refuses submissions by a field which no handler looks at in updates has a note, with its line."""
    file = tmp_path / "site.py"
    body = '    if job.time_limit and job.time_limit > 60:\n        raise Reject("no")\n    job.nice = 5\n'
    file.write_text(f"from slurmhooks import Reject, hook\n{decorators}\ndef limit(job):\n{body}")
    registry = loader.load([loader.Source(path=str(file))])
    found = list(evaded.notes(registry.all_handlers()))
    assert bool(found) == bool(HELD[decorators])
    assert all(note.startswith(f"{file}:2: handler site:limit ") and HELD[decorators] in note for note in found)
    file.write_text(file.read_text() + "@hook.job_modify\ndef other(job):\n    job.time_limit\n")
    assert not list(evaded.notes(loader.load([loader.Source(path=str(file))]).all_handlers()))


def test_a_rule_in_several_functions_that_an_update_passes(tmp_path: Path) -> None:
    """What functions of the file read and refuse, to which a handler hands the job, counts as its own."""
    file = tmp_path / "site.py"
    file.write_text(
        "from slurmhooks import Reject, hook\n@hook.job_submit\ndef limit(job):\n    if long(job): refuse('no')\n"
        "def long(asked): return asked.time_limit and asked.time_limit > 60\ndef refuse(text): raise Reject(text)\n"
    )
    (note,) = evaded.notes(loader.load([loader.Source(path=str(file))]).all_handlers())
    assert "site:limit refuses submissions by time_limit, and no handler looks at that in updates" in note


def test_a_rule_that_only_fills_in_values_has_no_note(tmp_path: Path) -> None:
    """It refuses nothing, so an update passes nothing."""
    file = tmp_path / "site.py"
    file.write_text("from slurmhooks import hook\n@hook.job_submit\ndef fill(job):\n    job.nice = job.time_limit\n")
    assert not list(evaded.notes(loader.load([loader.Source(path=str(file))]).all_handlers()))


@pytest.mark.parametrize(("condition", "noted"), [("True", True), ("not job.is_update", False)])
def test_what_is_unknown_at_updates(tmp_path: Path, condition: str, noted: bool) -> None:
    """A handler of hook.job that reads the environment without a look at job.is_update has a note."""
    file = tmp_path / "site.py"
    body = f'    if {condition} and "X" in job.environment and job.qos == "x":\n        raise Reject("no")\n'
    file.write_text(f"from slurmhooks import Reject, hook\n@hook.job\ndef limit(job):\n{body}")
    found = list(evaded.notes(loader.load([loader.Source(path=str(file))]).all_handlers()))
    assert bool(found) == noted
    assert all("job.environment is not known at an update" in note for note in found)


@pytest.mark.parametrize(
    ("condition", "noted"),
    [
        ("job.is_update", True),
        ("record is not None and record.job_id", True),
        ("not job.is_update", False),
        ("job.is_update and job.time_limit", False),
        ("job.is_update and job.sets('time_limit')", False),
        ("record is not None and record.time_limit != 5", False),
        ("record is None", False),
    ],
)
def test_what_refuses_no_update(tmp_path: Path, condition: str, noted: bool) -> None:
    """A handler of hook.job that refuses updates by nothing that they can change has a note, which names the hook."""
    file = tmp_path / "site.py"
    file.write_text(
        "from slurmhooks import Reject, hook\n@hook.job\ndef frozen(job, record):\n"
        f'    if {condition}:\n        raise Reject("no")\n'
    )
    found = list(evaded.notes(loader.load([loader.Source(path=str(file))]).all_handlers()))
    assert bool(found) == noted, found
    assert all("site:frozen" in note and "write it with @hook.job_modify" in note for note in found)


def test_the_fields_of_a_rule_about_jobs(tmp_path: Path) -> None:
    """In handlers of hook.job, fields and what they have besides are known."""
    head = "@hook.job\ndef check(job):\n    "
    assert notes(tmp_path, "job.is_update, job.partitions, job.sets('name'), job.leaves_out('name')", head) == []
    (note,) = notes(tmp_path, "job.partition_s", head)
    assert "job has no 'partition_s'; nearest: partition" in note


BUGS = {
    "nothing defines a name": "    if job.name == LIMTI:\n        job.comment = 'x'\n",
    "a field does not exist": "    job.timelimit\n",
    "a text is returned": "    return 'too long'\n",
}


@pytest.mark.parametrize("bug", BUGS)
def test_strict_counts_certain_bugs(tmp_path: Path, bug: str) -> None:
    """check notes a certain bug, and with --strict it is an error with file and line."""
    file = tmp_path / "site.py"
    file.write_text(f"from slurmhooks import hook\n@hook.job\ndef check(job):\n{BUGS[bug]}")
    noted = CliRunner().invoke(main, ["check", "--hooks", str(file)])
    assert (noted.exit_code, "note: " in noted.output) == (0, True), noted.output
    strict = CliRunner().invoke(main, ["check", "--strict", "--hooks", str(file)])
    assert strict.exit_code == 1
    assert f"error: {file}:4: " in strict.output
    assert "note: " not in strict.output


def test_strict_leaves_notes_that_are_no_bugs(tmp_path: Path) -> None:
    """A note about what may be intended stays one."""
    file = tmp_path / "site.py"
    file.write_text("from slurmhooks import Reject, hook\n@hook.job\ndef check(job):\n    raise Reject\n")
    done = CliRunner().invoke(main, ["check", "--strict", "--hooks", str(file)])
    assert (done.exit_code, "note: " in done.output) == (0, True)


def test_lines_of_handlers_are_not_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The place of each handler can be copied, however narrow the terminal; columns without content are left out."""
    file = tmp_path / "a_rather_long_name_of_a_site_s_file_with_rules_of_the_whole_center.py"
    file.write_text("from slurmhooks import hook\n@hook.job\ndef check(job):\n    pass\n")
    monkeypatch.setenv("COLUMNS", "40")
    lines = CliRunner().invoke(main, ["check", "--hooks", str(file)]).output.splitlines()
    assert lines[1].endswith(f" {file}:2")
    assert lines[1].startswith("hook.job ")
    assert "contexts" not in lines[0]
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("wrong", ["[hook]\npaths = []", "[metrics]\nfoo = 1", "[log]\nlevel = 5"])
def test_a_wrong_table_hides_no_rule(tmp_path: Path, wrong: str) -> None:
    """Errors of rules are shown with those of other tables, and an unknown rule with those that have similar names."""
    toml = tmp_path / "slurmhooks.toml"
    toml.write_text(
        f'{wrong}\n[[rule]]\nrule = "time_limit"\n[[rule]]\nrule = "time_ceiling"\nlimit = 5\nunsett = "set"\n'
    )
    result = CliRunner().invoke(main, ["check", "--hooks", str(toml)])
    assert result.exit_code == 1
    assert f"{toml}: {wrong.partition(']')[0][1:]}" in result.output
    assert "there is no 'time_limit'; nearest: interactive_limit, limit, time_ceiling" in result.output
    assert "unsett: unknown key; nearest: unset" in result.output


def test_a_key_without_effect_is_a_note(tmp_path: Path) -> None:
    """A key of 1.0.0 that does nothing any more is named, and is no error."""
    toml = tmp_path / "slurmhooks.toml"
    toml.write_text("[job_submit]\nreload = true\n")
    result = CliRunner().invoke(main, ["check", "--hooks", str(toml)])
    assert result.exit_code == 0, result.output
    assert f"{toml}: job_submit.reload: has no effect any more: remove it" in result.output
