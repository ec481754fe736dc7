# SPDX-License-Identifier: GPL-2.0-or-later
"""`slurmhooks try` runs slurmctld's handlers on submissions, updates and records, without Slurm."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Call
from tests.unit.workshop.cli.try_site import answer, write_site


@pytest.fixture
def hooks(tmp_path: Path) -> Path:
    """A site's folder with both hook files."""
    return write_site(tmp_path)


def test_accepted_script(run: Call, hooks: Path, script: Path) -> None:
    """The verdict, messages, changed fields and unknown values are shown; the exit code is 0."""
    result = run.passed("try", "job_submit", script, "--sysconfdir", hooks, "--uid", 4711)
    assert result.stdout.startswith("accepted\nto the user:\n  limited\n")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["time_limit", "-", "60", "minutes"] in lines
    assert ["environment[SITE]", "-", "here"] in lines
    assert "uid=4711" in result.stdout
    assert "note: --greet=Ada" in result.stderr
    assert "limits takes partitions, which is empty here" in result.stderr


def test_refused(run: Call, hooks: Path, script: Path) -> None:
    """A refusal is shown with its code; the exit code is 1. Options of sbatch follow a double dash."""
    script.write_text("#!/bin/sh\n")
    result = run.refused("try", "job_submit", "--sysconfdir", hooks, script, "--", "--time", "5")
    assert result.stdout.startswith("refused (ESLURM_INVALID_ACCOUNT): no account (hooks:limits)\n")


def test_a_bug(run: Call, hooks: Path, script: Path) -> None:
    """A bug in a handler is shown with its traceback; the exit code is 1."""
    result = run.refused("try", "job_submit", script, "--hooks", hooks / "hooks.py", "--", "-Jbug")
    assert "please tell your administrators" in result.stdout
    assert "RuntimeError: disk on fire" in result.stdout


LUA = """
function slurm_job_submit(job, partitions, uid)
    slurm.log_debug4("account %s", tostring(job.account))
    if job.account == nil then
        slurm.log_user("give an account")
        return slurm.ESLURM_INVALID_ACCOUNT
    end
    job.comment = "by lua"
    job.environment.SITE = "here"
    return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, uid)
    job.time_limit = 60
    return slurm.ERROR
end
return slurm.SUCCESS
"""


@pytest.mark.parametrize("release", ["22.05", "26.05"])
def test_a_lua_script(run: Call, tmp_path: Path, script: Path, release: str) -> None:
    """Refusals of a Lua script have its code, its writes are shown, and it may log at its lowest level."""
    (tmp_path / "job_submit.lua").write_text(LUA)
    (tmp_path / "slurmhooks.toml").write_text('[job_submit]\nlua = "job_submit.lua"\n')
    call = ("try", "job_submit", script, "--sysconfdir", tmp_path, "--release", release, "--json")
    accepted = run(*call)
    assert (accepted.exit_code, answer(accepted)["changes"]) == (
        0,
        {
            "comment": {"before": None, "after": "by lua"},
            "environment": {"before": {"SITE": None}, "after": {"SITE": "here"}},
        },
    )
    assert answer(accepted)["log"] == ["debug4: lua: account physics"]
    script.write_text("#!/bin/sh\n")
    refused = run.refused(*call)
    assert answer(refused)["code"] == "ESLURM_INVALID_ACCOUNT"
    assert answer(refused)["user_messages"] == ["give an account"]
    record = tmp_path / "record.json"
    record.write_text('{"job_id": 7}')
    update = run(*call, "--modify", record)
    assert (update.exit_code, answer(update)["code"]) == (1, None)


def test_json(run: Call, hooks: Path, tmp_path: Path) -> None:
    """The input has fields by name, the output changed fields and messages."""
    (tmp_path / "job.json").write_text('{"account": "x", "time_limit": "UNLIMITED", "script": "#!/bin/sh"}')
    (tmp_path / "tables.json").write_text('{"partitions": {"debug": {"max_time": 5}}}')
    result = run.passed(
        *("try", "job_submit", tmp_path / "job.json", "--hooks", hooks / "hooks.py", "--json"),
        *("--user", "root", "--tables", tmp_path / "tables.json"),
    )
    found = answer(result)
    assert found["accepted"] is True
    assert found["changes"] == {"environment": {"before": {"SITE": None}, "after": {"SITE": "here"}}}
    assert found["log"] == ["info: seen user='root' uid=0 partitions=['debug']"]
    assert found["notes"] == []


def test_tables(run: Call, tmp_path: Path) -> None:
    """Handlers look up records in a file with slurmctld's tables; a note names the tables that the file lacks."""
    (tmp_path / "hooks.py").write_text(
        """
from slurmhooks import hook, log

@hook.job_submit
def handler(job, nodes, licenses, qos, associations):
    mine = associations.of_user(job.user_id)
    log.info("%s %s %s", nodes["n1"].partitions, qos["high"].max_wall_pj, [found.qos for found in mine])
    assert qos["long"].max_wall_pj > qos["high"].max_wall_pj
    assert len(licenses) == 0
"""
    )
    (tmp_path / "job.json").write_text("{}")
    tables = {
        "nodes": {"n1": {"partitions": ["debug", "gpu"]}},
        "qos": {"high": {"max_wall_pj": 60}, "long": {"max_wall_pj": "UNLIMITED"}},
        "associations": [{"user_id": 0, "qos": ["high"]}, {"user_id": 1, "qos": ["low"]}],
    }
    (tmp_path / "tables.json").write_text(json.dumps(tables))
    result = run(
        *("try", "job_submit", tmp_path / "job.json", "--hooks", tmp_path / "hooks.py", "--json"),
        *("--user", "root", "--tables", tmp_path / "tables.json"),
    )
    found = answer(result)
    assert found["accepted"] is True
    assert found["log"] == ["info: ['debug', 'gpu'] 60 [['high']]"]
    assert found["notes"] == ["hooks:handler takes licenses, which is empty here: fill it with --tables"]


@pytest.mark.parametrize(("uid", "code"), [(1000, 1), (0, 0)])
def test_update(run: Call, hooks: Path, tmp_path: Path, uid: int, code: int) -> None:
    """With a record, the handlers of job_modify run."""
    (tmp_path / "update.json").write_text('{"time_limit": 120}')
    (tmp_path / "record.json").write_text('{"time_limit": 60, "user_id": 1000}')
    arguments = ("try", "job_submit", tmp_path / "update.json", "--modify", tmp_path / "record.json", "--uid", uid)
    result = run(*arguments, "--hooks", hooks / "hooks.py")
    assert result.exit_code == code
    assert ("no extension" in result.stdout) == bool(code)


def test_a_field_of_another_release(run: Call, hooks: Path, script: Path) -> None:
    """Fields that an older release lacks are named, and so is that its commands may read options otherwise."""
    result = run(
        "try", "job_submit", script, "--hooks", hooks / "hooks.py", "--release", "22.05", "--", "--container-id=x"
    )
    assert "Slurm 22.05 has no container_id: ignored" in result.stderr
    assert "options are read as in Slurm 26.05: 22.05 may lack some" in result.stderr
    assert result.exit_code == 0
    assert "options are read" not in run("try", "job_submit", script, "--sysconfdir", hooks).stderr


@pytest.mark.parametrize(
    ("content", "more", "says"),
    [
        ("{", (), "not JSON"),
        ('{"tme_limit": 5}', (), "nearest: time_limit"),
        ('{"time_limit": "x"}', (), "time_limit"),
        ("echo", (), "begins with #!"),
        ("#!/bin/sh\n", ("--user", "no such user"), "does not exist here"),
        ("#!/bin/sh\n", ("--user", "root", "--uid", "0"), "exclude each other"),
        ("#!/bin/sh\n", ("--", "--time=soon"), "--time"),
    ],
)
def test_wrong_use(run: Call, hooks: Path, script: Path, content: str, more: tuple[str, ...], says: str) -> None:
    """Invalid input ends with 2, before a handler runs."""
    script.write_text(content)
    result = run("try", "job_submit", script, "--hooks", hooks / "hooks.py", *more)
    assert result.exit_code == 2, result.output
    assert says in result.stderr


def test_hooks_that_do_not_load(run: Call, tmp_path: Path, script: Path) -> None:
    """Findings are the same as those of check; without a configuration, the user reads which option to give."""
    (tmp_path / "bad.py").write_text("raise RuntimeError('no')")
    result = run.refused("try", "job_submit", script, "--hooks", tmp_path / "bad.py")
    assert "bad.py:1: RuntimeError: no" in result.stderr
    result = run.refused("try", "job_submit", script, "--sysconfdir", tmp_path)
    assert "--hooks" in result.stderr


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ('require = ["hooks:gone"]', "[hooks] require of slurmhooks.toml names this handler"),
        ('[rules.modes."hooks:gone"]\nmode = "off"', "no hook file, package or script has this handler"),
        (
            'require = ["hooks:limits"]\n[rules.modes."hooks:limits"]\nmode = "off"',
            "it must be enforced for all requests",
        ),
        ("[job_submit]\ntimeout = -1", "timeout"),
    ],
)
def test_what_check_refuses_try_refuses(run: Call, hooks: Path, script: Path, table: str, says: str) -> None:
    """A configuration that daemons do not load has no trial either, for the same reason."""
    (hooks / "slurmhooks.toml").write_text(f'[hooks]\npaths = ["hooks.py"]\n{table}\n')
    refused = run.refused("try", "job_submit", script, "--sysconfdir", hooks)
    assert says in refused.stderr
    assert says in run("check", "--hooks", hooks).stderr


def test_what_is_wrong_is_said_without_a_traceback(run: Call, hooks: Path, script: Path, tmp_path: Path) -> None:
    """A micro release stands for its release; an unknown release or a wrong table is wrong use."""
    for release, code in (("24.11.5", 0), ("24.11", 0), ("24", 2), ("24.1", 2), ("x.y", 2), ("26.05.0-0rc1", 0)):
        assert run("try", "job_submit", script, "--sysconfdir", hooks, "--release", release).exit_code == code
    path = tmp_path / "tables.json"
    for tables, said in (
        ({"partitions": {"debug": {"max_tim": 1}}}, "max_time"),
        ({"partitions": ["debug"]}, "--tables: partitions: "),
        ({"jobs": [{"job_id": "seven"}]}, "job_id"),
        ({"jobs": [7]}, "--tables: jobs: "),
        ({"nodes": {"n1": {"partitions": "debug"}}}, "partitions takes a list of str, not 'debug'"),
        ({"associations": [7]}, "--tables: associations: "),
        ({"qos": {"high": {"usage_factor": "2"}}}, "usage_factor takes a float, UNLIMITED or None"),
        ({"partition": {}}, "no table 'partition'; there are: partitions, reservations, jobs"),
    ):
        path.write_text(json.dumps(tables))
        result = run("try", "job_submit", script, "--sysconfdir", hooks, "--tables", path)
        assert result.exit_code == 2
        assert said in result.output


@pytest.mark.parametrize("option", ["--tables", "--modify"])
@pytest.mark.parametrize("content", [bytes(range(256)), b'{"x":' * 100_000])
def test_a_file_that_is_not_json(
    run: Call, hooks: Path, script: Path, tmp_path: Path, option: str, content: bytes
) -> None:
    """A binary file, and one that is nested too deeply, are wrong use."""
    (tmp_path / "given").write_bytes(content)
    result = run("try", "job_submit", script, "--sysconfdir", hooks, option, tmp_path / "given")
    assert result.exit_code == 2
    assert f"{tmp_path / 'given'}: not JSON" in result.output


def test_what_handlers_say_does_not_act_on_the_terminal(run: Call, hooks: Path, script: Path) -> None:
    """Messages, lines of the log and changed fields are escaped; the lines of a message stay."""
    (hooks / "hooks.py").write_text(
        "from slurmhooks import hook, log\n\n@hook.job_submit\ndef submit(job):\n"
        "    log.user('one\\n\\x1b[2Jtwo')\n    log.info(job.name)\n    job.comment = 'a[red]\\x1b[0m'\n"
    )
    result = run.passed("try", "job_submit", script, "--sysconfdir", hooks, "--", "--job-name", "x\n\x1b[H")
    assert "\x1b" not in result.output
    assert "to the user:\n  one\n    \\x1b[2Jtwo\n" in result.output
    assert "info: x\n  info: | \\x1b[H" in result.output
    assert r"a[red]\x1b[0m" in result.output


RECORD_HOOKS = """
from slurmhooks import Reject, hook

@hook.priority
def points(record):
    return 2 * record.site_factor

@hook.controller_prolog
def starts(record):
    if record.licenses:
        raise Reject("no licence server")
"""


def test_a_job_that_slurmctld_knows(run: Call, tmp_path: Path) -> None:
    """The handlers of priority and of controller_prolog run on a record; an unknown field is wrong use."""
    (tmp_path / "hooks.py").write_text(RECORD_HOOKS)
    job = tmp_path / "job.json"
    job.write_text('{"site_factor": 21, "licenses": "matlab"}')
    options = (job, "--hooks", tmp_path / "hooks.py", "--json")
    assert answer(run("try", "record", "priority", *options))["changes"] == {"site_factor": {"before": 21, "after": 42}}
    refused = run("try", "record", "controller_prolog", *options)
    assert (refused.exit_code, answer(refused)["text"]) == (1, "no licence server")
    ended = answer(run("try", "record", "controller_epilog", *options))
    assert ended["notes"] == ["no handler of hook.controller_epilog: no effect"]
    job.write_text('{"colour": 1}')
    wrong = run("try", "record", "priority", *options)
    assert wrong.exit_code == 2
    assert "record has no 'colour'" in wrong.output


def test_numbers_with_names(run: Call, tmp_path: Path) -> None:
    """In JSON, names of choices and flags stand for their numbers; an unknown name is wrong use."""
    (tmp_path / "hooks.py").write_text(
        "from slurmhooks import hook, log\n\n@hook.controller_epilog\ndef f(record):\n"
        "    log.user('%s %d', record.job_state.name, record.mail_type)\n"
    )
    job = tmp_path / "job.json"
    job.write_text('{"job_state": "JOB_FAILED", "mail_type": "MAIL_JOB_END|MAIL_JOB_FAIL"}')
    done = answer(run("try", "record", "controller_epilog", job, "--hooks", tmp_path / "hooks.py", "--json"))
    assert done["user_messages"] == ["JOB_FAILED 6"]
    job.write_text('{"job_state": "JOB_FAILD"}')
    wrong = run("try", "record", "controller_epilog", job, "--hooks", tmp_path / "hooks.py")
    assert (wrong.exit_code, "takes JobState, not 'JOB_FAILD'; nearest: JOB_FAILED" in wrong.output) == (2, True)


def test_what_handlers_without_effect_would_do(tmp_path: Path, run: Call) -> None:
    """Handlers that warn or observe change nothing; what they would do is shown, and is part of the JSON."""
    (tmp_path / "hooks.py").write_text(
        "from slurmhooks import Reject, hook\n"
        "@hook.job_submit(mode='warn')\ndef refuses(job):\n    raise Reject('no', code='ESLURM_INVALID_QOS')\n"
        "@hook.job_submit(mode='observe')\ndef changes(job):\n    job.comment = 'seen'\n"
        "@hook.job_submit(mode='observe')\ndef has_a_bug(job):\n    raise ValueError\n"
        "@hook.job_submit(mode='observe')\ndef passes(job):\n    pass\n"
    )
    (tmp_path / "job.json").write_text("{}")
    words = ("try", "job_submit", tmp_path / "job.json", "--hooks", tmp_path / "hooks.py", "--uid", "4294967")
    result = run.passed(*words)
    assert "\nno field changed\nhooks:refuses (warn): would refuse (ESLURM_INVALID_QOS): no\n" in result.output
    assert "\nhooks:changes (observe): would change comment to seen\nhooks:has_a_bug (observe): has a bug (error " in (
        result.output
    )
    assert "\nhooks:passes (observe): would pass\n" in result.output
    content = json.loads(run(*words, "--json").stdout)
    assert content["changes"] == {}
    assert [each["accepted"] for each in content["observed"]] == [False, True, True, True]
    assert content["observed"][1]["changes"] == {"comment": "seen"}


def test_a_code_that_does_not_exist(run: Call, tmp_path: Path, script: Path) -> None:
    """A misspelt error code is found, even if the handler accepts the request."""
    path = tmp_path / "hooks.py"
    path.write_text(
        "from slurmhooks import Reject, hook\n\n@hook.job_submit\ndef f(job):\n    if job.account == 'x':\n"
        "        raise Reject('no', code='ESLURM_INVALID_ACOUNT')\n"
    )
    run.refused("try", "job_submit", script, "--hooks", path, says="hooks.py:6: Reject(code='ESLURM_INVALID_ACOUNT')")


@pytest.mark.parametrize(
    ("conf", "line", "more", "code", "words"),
    [
        ("PartitionName=debug Default=YES\n", "job.partitions", (), 1, "refused (ESLURM_ACCESS_DENIED): debug only"),
        ("", "job.partitions", (), 1, "not known here (default partition)"),
        ("", "job.partitions", ("--", "-p", "day"), 0, "accepted"),
        ("", "job.account", (), 1, "not known here (default account)"),
        ("", "job.account", ("--", "-A", "day"), 0, "accepted"),
        ("", "job.name", (), 0, "accepted"),
    ],
)
def test_what_slurmctld_would_choose(
    run: Call, tmp_path: Path, conf: str, line: str, more: tuple[str, ...], code: int, words: str
) -> None:
    """The default partition is that of slurm.conf; what a handler asks for and nothing says is noted, with code 1."""
    (tmp_path / "slurm.conf").write_text(conf)
    (tmp_path / "hooks.py").write_text(
        "from slurmhooks import Reject, hook\n@hook.job\ndef rule(job):\n"
        f'    if {line} and "debug" in {line}:\n        raise Reject("debug only")\n    job.time_limit = 5\n'
    )
    (tmp_path / "job.sh").write_text("#!/bin/sh\n")
    words_of = ("try", "job_submit", tmp_path / "job.sh", "--hooks", tmp_path / "hooks.py", "--sysconfdir", tmp_path)
    result = run(*words_of, "--uid", "4294967", *more)
    assert result.exit_code == code, result.output
    assert words in result.output


def test_an_exempt_administrator_is_noted(run: Call, tmp_path: Path) -> None:
    """What root may do says nothing about users: a note names the rules that did not look."""
    (tmp_path / "hooks.py").write_text(
        "from slurmhooks import Reject, hook\n@hook.job\ndef rule(job): raise Reject('x')\n"
    )
    (tmp_path / "job.sh").write_text("#!/bin/sh\n")
    result = run("try", "job_submit", tmp_path / "job.sh", "--hooks", tmp_path / "hooks.py", "--uid", "0")
    assert "note: hooks:rule did not look at this request: exempt (administrator)" in result.output


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("", "name a time limit with --time (rule:require_time_limit)"),
        ("rule_ids = false", "name a time limit with --time"),
        (
            'refusals = "all"',
            "name a time limit with --time (rule:require_time_limit)\n"
            "the job name sys-x is reserved: choose another one with --job-name (rule:forbid_name)",
        ),
    ],
)
def test_refusals_are_as_users_read_them(run: Call, tmp_path: Path, keys: str, text: str) -> None:
    """Labels, and whether a request gets all refusals, are as `[rules]` says."""
    rules = ('rule = "require"\nfield = "time_limit"', 'rule = "forbid"\nfield = "name"\nforbidden = ["sys-*"]')
    config = "".join(f"[[rule]]\n{rule}\n" for rule in rules)
    (tmp_path / "slurmhooks.toml").write_text(f"[rules]\n{keys}\n{config}")
    words = ("--uid", 4711, "--json", "--", "--job-name=sys-x", "--wrap=true")
    result = run("try", "job_submit", "--sysconfdir", tmp_path, *words)
    assert json.loads(result.stdout)["text"] == text
