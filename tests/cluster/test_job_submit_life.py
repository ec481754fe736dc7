# SPDX-License-Identifier: GPL-2.0-or-later
"""job_submit during the life of slurmctld: start, reload, simultaneous callers, kinds of jobs, other plugins, end."""

import json
import re
from collections.abc import Iterator

import pytest

from slurmhooks.reload import STAYS
from tests.bench import memory
from tests.bench.rows import SHORT
from tests.cluster.accounting import MAKE_SECONDS
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import CONF, DEFAULT_TOML, FOLDER, HOOKS_D, TOML, UNANSWERED, Site

CONF_LINES = "JobSubmitPlugins={plugins}\nScronParameters=enable\n"

LUA = """
function slurm_job_submit(job, partitions, uid)
    if job.name ~= "stacked" then return slurm.SUCCESS end
    slurm.log_user("lua saw %s", tostring(job.comment))
    if job.comment == "lua refuses" then return slurm.ERROR end
    job.comment = (job.comment or "") .. "+lua"
    return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, uid)
    return slurm.SUCCESS
end
"""


@pytest.fixture(scope="module")
def module_site(cluster: Cluster) -> Site:
    """The cluster, with Slurm's crontabs enabled and no hooks."""
    site = Site(cluster)
    # With the SPANK plugin, commands would load the same hook files, and fail on broken ones before they contact
    # slurmctld.
    cluster.without_spank()
    cluster.put(LUA, "/etc/slurm/job_submit.lua")
    site.reset()
    site.conf(CONF_LINES.format(plugins="python"))
    return site


@pytest.fixture
def site(module_site: Site) -> Iterator[Site]:
    """Start each test without hooks and jobs."""
    module_site.reset()
    yield module_site
    assert "error: slurmhooks: job_submit raised" not in module_site.logged()


# Reload


def test_a_change_is_in_force_after_reload(site: Site) -> None:
    """Ten versions of the same size, written or moved into place within seconds, all take effect."""
    script = f"""
    for number in 11 12 13 14 15; do
        for way in over move; do
            text="from slurmhooks import hook, Reject
    @hook.job_submit
    def say(job):
        raise Reject('$way $number')"
            printf '%s\\n' "$text" > /tmp/new.py
            if [ $way = over ]; then cat /tmp/new.py > {HOOKS_D}/say.py; else mv /tmp/new.py {HOOKS_D}/say.py; fi
            slurmhooks reload
            sbatch --wrap true 2>&1 | grep -q "$way $number" || {{ echo "missed $way $number"; exit 1; }}
        done
    done
    """
    site.shell(script, user="root")


def test_a_change_counts_without_reload(site: Site) -> None:
    """The supervisor notices a changed file by itself, and the log says that it is in force."""
    site.hooks("@hook.job_submit\ndef say(job): raise Reject('before')\n")
    assert "before" in site.refused()
    site.hooks("@hook.job_submit\ndef say(job): raise Reject('after')\n", reload=False)
    site.cluster.wait(lambda: "after" in site.refused(), what="the changed handler")
    assert "loaded changed hooks: 1 handlers" in site.logged()


def test_added_and_renamed_files_are_taken_up(site: Site) -> None:
    """A new file takes effect under any name; test_policy_stays tests files that disappear."""
    site.hooks("@hook.job_submit\ndef first(job): log.user('first')\n", "a.py")
    assert "second" not in site.said("sbatch", "--test-only", "--wrap=true")
    site.hooks("@hook.job_submit\ndef second(job): log.user('second')\n", "b.py")
    assert re.search("first.*second", site.said("sbatch", "--test-only", "--wrap=true"), re.DOTALL)
    site.reload(f"mv {HOOKS_D}/a.py {HOOKS_D}/c.py")
    assert re.search("second.*first", site.said("sbatch", "--test-only", "--wrap=true"), re.DOTALL)


def test_a_changed_package_is_taken_up(site: Site) -> None:
    """A module of a package under [hooks] modules, changed twice within two seconds, is imported again."""
    place = site.shell("ls -d /opt/slurmhooks/lib/python3.*/site-packages", user="root").strip() + "/sitehooks"
    site.cluster.put("from sitehooks import rules\n", f"{place}/__init__.py")
    rule = "from slurmhooks import hook, Reject\n@hook.job_submit\ndef rule(job):\n    raise Reject('rule {}')\n"
    site.cluster.put(rule.format(1), f"{place}/rules.py")
    site.cluster.put('[hooks]\nmodules = ["sitehooks"]\n', TOML)
    site.reload()
    assert "rule 1" in site.refused()
    for number in (2, 3):
        site.cluster.put(rule.format(number), f"{place}/rules.py")
        site.reload()
        assert f"rule {number}" in site.refused()
    site.reload(f"rm -r {place}")
    assert "rule 3" in site.refused()
    assert STAYS in site.logged()


def test_a_changed_configuration_is_taken_up(site: Site) -> None:
    """Other paths in slurmhooks.toml take effect once it is complete; an unknown key changes nothing."""
    site.hooks("@hook.job_submit\ndef first(job): raise Reject('first')\n")
    assert "first" in site.refused()
    site.cluster.put(
        "from slurmhooks import hook, Reject\n@hook.job_submit\ndef other(job): raise Reject('other')\n",
        "/etc/slurm/other.d/other.py",
    )
    site.cluster.put('[hooks]\npaths = ["other.d/*.py"]\n', TOML)
    site.cluster.wait(lambda: "other" in site.refused(), what="other handler")
    site.cluster.put(f'[hooks]\npfade = ["{HOOKS_D}/*.py"]\n', TOML)
    assert "hooks.pfade" in site.reload()
    assert "other" in site.refused()
    assert f"{TOML}: hooks.pfade: unknown key" in site.logged()
    assert "is gone" in site.reload(f"rm {TOML}")
    assert "other" in site.refused()
    assert f"{TOML}: is gone" in site.logged()


BROKEN = {
    "syntax": ("def broken(:\n", "SyntaxError"),
    "raises": ("raise RuntimeError('while loading')\n", "RuntimeError: while loading"),
    "exits": ("raise SystemExit(0)\n", "SystemExit"),
    "argument": ("@hook.job_submit\ndef broken(jbo): pass\n", "jbo"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_leaves_the_last_good_set(site: Site, kind: str) -> None:
    """With a broken file the whole previous set stays, which is logged once; a repair takes effect."""
    source, words = BROKEN[kind]
    site.hooks("@hook.job_submit\ndef good(job): raise Reject('good 1')\n", "a.py")
    assert "good 1" in site.refused()
    site.hooks(source, "b.py", reload=False)
    site.hooks("@hook.job_submit\ndef good(job): raise Reject('good 2')\n", "a.py")
    assert "good 1" in site.refused()
    logged = site.logged()
    assert STAYS in logged
    assert f"{HOOKS_D}/b.py:" in logged
    assert words in logged
    for _ in range(3):
        assert "good 1" in site.refused()
    assert site.logged().count(STAYS) == logged.count(STAYS)
    site.reload(f"rm {HOOKS_D}/b.py")
    assert "good 2" in site.refused()


# Start and end


@pytest.mark.parametrize("what", ["file", "configuration", "init refuses", "init raises"])
def test_what_is_broken_at_start(site: Site, what: str) -> None:
    """slurmctld starts and refuses every request with one line; its log says what is wrong, and a repair is enough."""
    bad = {
        "file": ("raise RuntimeError('at start')\n", f"{HOOKS_D}/life.py:8: RuntimeError: at start"),
        "configuration": ("", f"{TOML}: hooks.paths"),
        "init refuses": ("@hook.job_submit.init\ndef start(): raise Reject('no scratch here')\n", "no scratch here"),
        "init raises": ("@hook.job_submit.init\ndef start(): 1 / 0\n", "ZeroDivisionError"),
    }
    source, words = bad[what]
    job_id = site.submit()
    site.hooks(source, reload=False)
    if what == "configuration":
        site.cluster.put("[hooks]\npaths = 7\n", TOML)
    site.cluster.restart()
    said = site.refused().splitlines()
    assert said[0].startswith(f"sbatch: error: {UNANSWERED}"), said
    assert len(said) == 2  # and Slurm's own
    assert site.run("scontrol", "update", f"jobid={job_id}", "comment=x").returncode != 0
    logged = site.logged()
    assert words in logged, logged
    error_id = said[0].partition("(error ")[2].partition(")")[0]
    assert f"error {error_id}: job_submit of user " in logged
    site.clear()
    site.submit()


LIFE = """
@hook.job_submit.init
def start(): tell(event="init"); log.user("nobody is there"); log.info("logged at start")
@hook.job_submit.init(order=1)
def earlier(): tell(event="earlier")
@hook.job_submit
def submit(job): tell(event="submit")
@hook.job_submit.fini
def end(): tell(event="fini")
"""


def test_init(site: Site) -> None:
    """init handlers run in each worker, in order, before its first request, and fini handlers when it ends regularly.

    Their texts for a user are in the log.
    """
    _start_life(site)
    assert site.events() == ["earlier", "init"]
    for replace in (site.reload, site.cluster.restart):
        before = len(site.events())
        replace()
        assert "nobody" not in site.said("sbatch", "--test-only", "--wrap=true")
        _wait_for_events(site, before, "earlier", "init", "submit")
    logged = site.logged()
    assert "slurmhooks: logged at start" in logged
    assert "nobody is there" in logged


def test_other_plugins_by_reconfigure(site: Site) -> None:
    """After a reconfiguration with other JobSubmitPlugins the plugin is loaded again, with new workers.

    22.05 unloads it first, in the same process; later releases start another process.
    """
    _start_life(site)
    try:
        for plugins in ("lua,python", "python"):
            site.cluster.put(CONF_LINES.format(plugins=plugins), CONF)
            before = len(site.events())
            _reconfigure(site, "scontrol reconfigure")
            site.said("sbatch", "--test-only", "--wrap=true")
            _wait_for_events(site, before, "earlier", "init", "submit")
    finally:
        site.cluster.put(CONF_LINES.format(plugins="python"), CONF)


def _start_life(site: Site) -> None:
    """Put the handlers of LIFE in force, in one worker, with only one reload."""
    site.cluster.put(f"{DEFAULT_TOML}[job_submit]\nreload = false\n", TOML)
    site.reload()
    site.hooks(LIFE)


def _wait_for_events(site: Site, before: int, *wanted: str) -> None:
    """Wait for the end of an old worker and the events of its successor, in order; the two overlap.

    Args:
        site: with the handlers of LIFE.
        before: number of earlier events.
        wanted: events of the new worker.
    """
    site.cluster.wait(lambda: len(site.events()) > before + len(wanted), what="end of the old worker")
    events = site.events()[before:]
    assert sorted(events) == sorted((*wanted, "fini"))
    assert [event for event in events if event != "fini"] == [*wanted]


def test_init_that_may_fail(site: Site) -> None:
    """With on_error="ignore" a bug in an init handler does not keep slurmctld from starting."""
    site.hooks("@hook.job_submit.init(on_error='ignore')\ndef start(): 1 / 0\n")
    site.cluster.restart()
    site.submit()
    assert "ZeroDivisionError" in site.logged()


def test_queued_jobs_outlive_a_restart(site: Site) -> None:
    """Values that handlers gave to a job remain, and job_modify reads them."""
    site.hooks("""
        @hook.job_submit
        def give(job): job.comment, job.admin_comment = "given", "by us"
        @hook.job_modify
        def see(job): raise Reject("refused")
    """)
    job_id = site.submit()
    site.cluster.restart()
    assert site.show(job_id)["Comment"] == "given"
    assert site.show(job_id)["AdminComment"] == "by us"
    assert site.run("scontrol", "update", f"jobid={job_id}", "comment=other").returncode != 0
    assert site.show(job_id)["Comment"] == "given"


@pytest.mark.parametrize("how", ["scontrol reconfigure", "SIGHUP"])
def test_reconfigure(site: Site, how: str) -> None:
    """Handlers answer before and after a restart, and slurmctld keeps its jobs."""
    site.hooks("@hook.job_submit\ndef say(job): log.user('still here')\n")
    job_id = site.submit()
    _reconfigure(site, how)
    assert "still here" in site.said("sbatch", "--test-only", "--wrap=true")
    assert site.show(job_id)["JobState"] == "PENDING"
    site.hooks("@hook.job_submit\ndef say(job): log.user('reloaded')\n")
    assert "reloaded" in site.said("sbatch", "--test-only", "--wrap=true")


@pytest.mark.parametrize("how", ["scontrol reconfigure", "SIGHUP"])
def test_reconfigure_with_broken_hooks(site: Site, how: str) -> None:
    """slurmctld continues with its handlers."""
    site.hooks("@hook.job_submit\ndef say(job): raise Reject('good')\n")
    assert "good" in site.refused()
    site.hooks("def broken(:\n")
    _reconfigure(site, how)
    assert "good" in site.refused()
    assert "SyntaxError" in site.logged()


def _reconfigure(site: Site, how: str) -> None:
    before = site.logged().count("econfigur")
    if how == "SIGHUP":
        site.shell("kill -HUP $(cat /run/slurmctld.pid)", user="root")
    else:
        site.said("scontrol", "reconfigure", user="root")
    site.cluster.wait(lambda: site.logged().count("econfigur") > before, what="reconfiguration")
    site.cluster.wait(lambda: "UP" in site.said("scontrol", "ping"), what="slurmctld that answers")


# Callers


def test_many_at_once(site: Site) -> None:
    """Calls of many RPC threads, and updates between them, do not mix: each user reads only their own messages."""
    site.hooks("""
        import time
        @hook.job_submit
        def slow(job):
            log.user("one %s", job.name)
            job.comment = job.name
            time.sleep(0.01)            # lets go of Python's lock
            assert job.comment == job.name
            log.user("two %s", job.name)
        @hook.job_modify
        def modify(job):
            job.comment = f"{job.comment} modified"
    """)
    script = """
    one() {
        sbatch --hold --output=/dev/null --job-name=j$1 --wrap true > said.$1 2>&1
        job=$(sed -n 's/Submitted batch job //p' said.$1)
        scontrol update jobid=$job comment=j$1
    }
    rm -f said.*
    for number in $(seq 30); do one $number & done
    wait
    for number in $(seq 30); do
        grep -o -E '(one|two) j[0-9]+' said.$number | tr '\\n' ' '; echo "of j$number"
    done
    squeue -h -o '%j %k'
    """
    lines = site.shell(script).splitlines()
    assert lines[:30] == [f"one j{number} two j{number} of j{number}" for number in range(1, 31)]
    assert sorted(lines[30:]) == sorted(f"j{number} j{number} modified" for number in range(1, 31))


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_deeply_nested_text_of_a_user(site: Site, opening: str) -> None:
    """A user's text cannot overflow the stack of slurmctld's threads, an eighth of the size that CPython expects."""
    site.hooks("""
        import json
        @hook.job_submit
        def read(job):
            json.loads(job.script.partition("#DATA ")[2])
    """)
    before = site.shell("pidof slurmctld")
    program = f"print('#!/bin/sh', '#DATA ' + {opening!r} * 50000, sep=chr(10))"
    site.cluster.put(program, "/tmp/deep.py")
    said = site.shell("python3 /tmp/deep.py > deep.sh; sbatch deep.sh || true")
    assert "job_submit handler life:read failed" in said
    # CPython 3.14 checks the stack itself, and slurmctld 26.05 has enough for this.
    assert re.search("RecursionError|JSONDecodeError", site.logged())
    assert site.shell("pidof slurmctld") == before


def test_a_child_that_comes_back(site: Site) -> None:
    """A handler that forks and does not end its child does not create a second slurmctld."""
    site.hooks("""
        import os
        @hook.job_submit
        def forks(job):
            child = os.fork()
            if child:
                log.user("the child ended with %d", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            job.comment = "child" if not child else "parent"
    """)
    before = site.shell("pidof slurmctld")
    said = site.said("sbatch", "--hold", "--job-name=forks", "--output=/dev/null", "--wrap=true")
    assert "the child ended with 1" in said
    assert "a handler has forked and its child came back" in site.logged()
    assert site.shell("squeue -h -n forks -o %k").split() == ["parent"]
    assert site.shell("pidof slurmctld") == before


def _private(site: Site) -> bool:
    return site.cluster.has_sources


MESSENGER = """
@hook.job_submit
def submit(job):
    log.user("first line\\nsecond line")
    if job.comment == "refuse":
        raise Reject("third line", code="ESLURM_INVALID_QOS")
@hook.job_modify
def modify(job):
    log.user("first of update")
    if job.comment == "refuse":
        raise Reject("second of update", code="ESLURM_INVALID_QOS")
"""


@pytest.mark.parametrize("command", ["sbatch", "srun", "salloc"])
def test_messages_of_a_submission(site: Site, command: str) -> None:
    """All lines reach the user in order, whether the job is accepted or not; a refusal has its code and text."""
    site.hooks(MESSENGER)
    tail = ["--wrap=true"] if command == "sbatch" else ["true"]
    done = site.run(command, *tail)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"(\w+) line", done.stderr) == ["first", "second"]
    done = site.run(command, "--comment=refuse", *tail)
    assert done.returncode == 1
    assert re.findall(r"(\w+) line", done.stderr) == ["first", "second", "third"]
    assert "Invalid qos" in done.stderr


def test_messages_of_an_update(site: Site) -> None:
    """The same for scontrol; 22.05 cannot show texts there, so the log has them."""
    site.hooks(MESSENGER)
    job_id = site.submit()
    accepted = site.run("scontrol", "update", f"jobid={job_id}", "comment=x")
    refused = site.run("scontrol", "update", f"jobid={job_id}", "comment=refuse")
    assert accepted.returncode == 0, accepted.stderr
    assert refused.returncode == 1
    assert "Invalid qos" in refused.stderr
    seen = [re.findall(r"(\w+) of update", done.stdout + done.stderr) for done in (accepted, refused)]
    if site.release < (23, 2):
        assert seen == [[], []]
        lines = [line for line in site.logged().splitlines() if "not shown to the user" in line or "of update" in line]
        assert re.findall(r"(\w+) of update", "\n".join(lines)) == ["first", "first", "second"]
        assert "not shown to the user by this release of Slurm" in lines[0]
    else:
        assert seen == [["first"], ["first", "second"]]


# Kinds of jobs


@pytest.mark.parametrize("command", ["sbatch", "srun", "salloc"])
def test_test_only(site: Site, command: str) -> None:
    """--test-only calls the handlers too, shows their messages or refusal, and leaves no job."""
    site.hooks(MESSENGER)
    tail = ["--wrap=true"] if command == "sbatch" else ["true"]
    if command != "salloc":
        assert "second line" in site.said(command, "--test-only", *tail)
        done = site.run(command, "--test-only", "--comment=refuse", *tail)
        assert done.returncode != 0
        assert "third line" in done.stderr
    assert site.said("squeue", "-h") == ""


def test_het_jobs(site: Site) -> None:
    """Each component has its own call and offset; writes apply to that component."""
    site.hooks("""
        @hook.job_submit
        def component(job):
            tell(offset=job.het_job_offset, tasks=job.num_tasks)
            job.comment = f"component {job.het_job_offset} of {job.num_tasks} tasks"
    """)
    job_id = site.submit("-n2", ":", "-n1", ":", "-n3")
    assert site.told() == [{"offset": 0, "tasks": 2}, {"offset": 1, "tasks": 1}, {"offset": 2, "tasks": 3}]
    shown = site.said("scontrol", "show", "job", "-o", job_id)
    assert re.findall(r"Comment=(component \d of \d tasks)", shown) == [
        "component 0 of 2 tasks",
        "component 1 of 1 tasks",
        "component 2 of 3 tasks",
    ]


@pytest.mark.parametrize("command", ["sbatch", "srun", "salloc"])
def test_a_refused_component(site: Site, command: str) -> None:
    """A refused component refuses the whole job: no component remains, and later ones are not called."""
    site.hooks("""
        @hook.job_submit
        def component(job):
            tell(offset=job.het_job_offset)
            if job.het_job_offset == 1:
                raise Reject("not the second")
    """)
    tail = ["--wrap=true"] if command == "sbatch" else ["true"]
    done = site.run(command, "-n1", ":", "-n1", ":", "-n1", *tail)
    assert done.returncode != 0
    assert "not the second" in done.stderr
    assert site.told() == [{"offset": 0}, {"offset": 1}]
    assert site.said("squeue", "-h") == ""


def test_array_jobs(site: Site) -> None:
    """The whole array has one call, which may change its indices; an update of one task says which."""
    private = _private(site)
    site.hooks(f"""
        @hook.job_submit
        def array(job):
            tell(array_inx=job.array_inx)
            job.array_inx = "0-3%2"
        @hook.job_modify
        def task(job{", record" if private else ""}):
            tell({"task=record.array_task_id" if private else "task=None"}, job_id=job.job_id_str)
    """)
    job_id = site.submit("--array=0-9")
    assert site.told() == [{"array_inx": "0-9"}]
    assert site.show(job_id)["ArrayTaskId"] == "0-3%2"
    done = site.run("scontrol", "update", f"jobid={job_id}_1", "comment=one")
    assert done.returncode == 0, done.stderr
    records = site.told()
    assert records[-1]["job_id"] == f"{job_id}_1"
    if private:
        assert records[-1]["task"] == 1


def test_scrontab(site: Site) -> None:
    """Handlers see jobs of a crontab and can recognize them; a refusal refuses the crontab.

    If it is accepted, the user reads the handlers' texts; if it is refused, scrontab prints no message.
    """
    if site.run("sh", "-c", "command -v scrontab").returncode != 0:
        pytest.skip("Debian's Slurm of this release has no scrontab")
    site.hooks("""
        @hook.job_submit
        def cron(job):
            tell(cron=job.cron_job, script=job.script.splitlines()[-1])
            if job.name == "refuse":
                raise Reject("no such crontab", code="ESLURM_INVALID_QOS")
            job.comment = "from a crontab"
            log.user("welcome, crontab")
    """)
    table = "/home/alice/table"
    site.cluster.put("#SCRON --job-name=nightly\n0 0 1 1 * true\n", table)
    assert "welcome, crontab" in site.shell(f"scrontab {table}")
    assert site.told() == [{"cron": True, "script": "true"}]
    shown = site.said("scontrol", "show", "job", "-o")
    assert "JobName=nightly" in shown
    assert "Comment=from a crontab" in shown
    site.cluster.put("#SCRON --job-name=refuse\n0 0 1 1 * true\n", table)
    done = site.run("scrontab", table)
    assert done.returncode != 0
    assert "Invalid qos" in done.stdout + done.stderr
    assert "JobName=refuse" not in site.said("scontrol", "show", "job", "-o")
    site.shell("scrontab -r")


REST = {
    "22.05": ("v0.0.38", "openapi/v0.0.38"),
    "24.11": ("v0.0.42", "openapi/slurmctld"),
    "26.05": ("v0.0.45", "openapi/slurmctld"),
}
"""The newest version of slurmrestd's interface, and its plugin."""


def _submission(site: Site, comment: str) -> dict[str, object]:
    """Return the body of a submission for slurmrestd."""
    job: dict[str, object] = {"name": "rest", "comment": comment, "current_working_directory": "/tmp"}
    script = "#!/bin/sh\ntrue\n"
    # A list since 23.11.
    job["environment"] = {"PATH": "/bin"} if site.release < (23, 11) else ["PATH=/bin"]
    return {"job": job, "script": script} if site.release < (23, 11) else {"job": {**job, "script": script}}


def _post(site: Site, where: str, content: dict[str, object]) -> str:
    """Post a request to slurmrestd, and return its answer."""
    version, plugin = REST[site.cluster.release]
    body = json.dumps(content)
    head = (
        f"POST /slurm/{version}/job/{where} HTTP/1.1",
        "Host: ctl",
        "Content-Type: application/json",
        "Accept: application/json",
        "Connection: close",
        f"Content-Length: {len(body)}",
    )
    request = "\r\n".join((*head, "", body))
    # Through pipes of alice: slurmrestd checks the owner of its standard input.
    command = f"cat | timeout 60 slurmrestd -a rest_auth/local -s {plugin} 2>&1 | cat"
    return site.cluster.user("alice", "sh", "-c", command, input=request).stdout


def test_slurmrestd(site: Site) -> None:
    """slurmrestd's submissions and updates call the handlers; its answer has their messages and refusals."""
    if site.cluster.release not in REST:
        pytest.skip("only Debian's slurmrestd is tested")
    site.cluster.tool("add", "slurmrestd", timeout=MAKE_SECONDS)
    site.hooks("""
        @hook.job_submit
        def rest(job):
            tell(script=job.script, path=job.environment["PATH"])
            if job.comment == "refuse":
                raise Reject("not by this way", code="ESLURM_INVALID_QOS")
            job.comment = f"{job.comment} by rest"
            log.user("welcome, rest")

        @hook.job_modify
        def update(job):
            if job.comment == "refuse":
                raise Reject("no such update")
            job.comment = f"{job.comment} by update"
    """)
    said = _post(site, "submit", _submission(site, "accept"))
    assert site.told() == [{"script": "#!/bin/sh\ntrue\n", "path": "/bin"}], said
    assert "welcome, rest" in said
    job_id = re.findall(r'"job_id": (\d+)', said)[0]
    assert site.show(job_id)["Comment"] == "accept by rest"
    said = _post(site, "submit", _submission(site, "refuse"))
    assert re.search("Invalid qos|ESLURM_INVALID_QOS", said), said
    assert "not by this way" in said
    # Only a job that has not ended can be updated.
    held = site.submit("--comment=old")
    said = _post(site, held, {"comment": "new"})
    assert site.show(held)["Comment"] == "new by update", said
    said = _post(site, held, {"comment": "refuse"})
    assert site.show(held)["Comment"] == "new by update", said
    site.shell(f"scancel {held}")


@pytest.mark.soak
def test_memory(site: Site) -> None:
    """Five thousand submissions that a handler, or Slurm after it, refuses use no more memory than without handlers."""

    def lab(verb: str, /, *arguments: str, stdin: str | None = None) -> str:
        return site.cluster.tool(verb, *arguments, stdin=stdin, timeout=300)

    try:
        rows = list(memory.measure(lab, 5000))
    finally:
        site.conf(CONF_LINES.format(plugins="python"))
    assert [row for row in rows if row.verdict == SHORT] == []


CONSTANTS = """
from slurmhooks.job_submit import constants

@hook.job_submit
def look(job):
    kinds = [kind.__members__ for kind in constants.KINDS.values()]
    names = [*constants.NUMBERS, *constants.ESLURM.__members__, *(name for kind in kinds for name in kind)]
    tell(**{name: int(getattr(constants, name)) for name in names})
"""


def test_constants(site: Site) -> None:
    """Every error code of the release exists by name, and every constant has the number that a C compiler computes."""
    site.hooks(CONSTANTS)
    site.said("sbatch", "--test-only", "--wrap=true")
    (python,) = site.told()
    headers = site.shell("cat /usr/include/slurm/slurm.h /usr/include/slurm/slurm_errno.h")
    words = set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", re.sub(r"/\*.*?\*/", "", headers, flags=re.DOTALL)))
    assert {word for word in words if word.startswith("ESLURM_")} - set(python) == set()
    # The other codes are in headers that Slurm does not install.
    public = sorted(words & set(python))
    assert len(public) > 300
    lines = "".join(f'printf("{name}=%llu\\n", (unsigned long long)({name}));' for name in public)
    includes = "#include <slurm/slurm.h>\n#include <slurm/slurm_errno.h>\n#include <stdio.h>\n"
    site.cluster.put(f"{includes}int main(void) {{{lines} return 0;}}\n", f"{FOLDER}/constants.c")
    compiled = site.shell(f"cd {FOLDER}; gcc -w -o constants constants.c; ./constants", user="root")
    numbers = {name: int(value) for name, value in (line.split("=") for line in compiled.splitlines())}
    assert {
        name: (python[name], number) for name, number in numbers.items() if python[name] % (1 << 64) != number
    } == {}


# Neighbours

STACKED = """
@hook.job_submit
def stacked(job):
    if job.name == "stacked":
        log.user("python saw %s", job.comment)
        if job.comment == "python refuses":
            raise Reject("python refuses")
        job.comment = f"{job.comment}+python"
"""


@pytest.mark.parametrize(("first", "second"), [("lua", "python"), ("python", "lua")])
def test_stacked_plugins(site: Site, first: str, second: str) -> None:
    """Beside job_submit/lua, in either order, each sees the writes of the previous one, and users read all messages."""
    site.hooks(STACKED)
    site.conf(CONF_LINES.format(plugins=f"{first},{second}"))
    said = site.said("sbatch", "--hold", "--job-name=stacked", "--comment=user", "--wrap=true")
    seen = re.findall(r"(\w+) saw (\S+)", said)
    # job_submit/lua replaces the messages before its own.
    assert seen[-1] == (second, f"user+{first}")
    if second == "python":
        assert seen[0] == (first, "user")
    job_id = re.findall(r"batch job (\d+)", said)[0]
    assert site.show(job_id)["Comment"] == f"user+{first}+{second}"
    refused = site.refused("--job-name=stacked", f"--comment={first} refuses")
    assert f"{first} saw {first} refuses" in refused
    assert f"{second} saw" not in refused
    site.conf(CONF_LINES.format(plugins="python"))
