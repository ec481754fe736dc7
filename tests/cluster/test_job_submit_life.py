# SPDX-License-Identifier: GPL-2.0-or-later
"""job_submit during the life of slurmctld: deployments, start, end, reconfiguration, memory, other plugins."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench import memory
from tests.bench.rows import SHORT
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import CONF, FOLDER, HOOKS_D, NOT_LOADED, TOML, UNANSWERED, Site, lend, prepare
from tests.cluster.turns import moved, moved_from

pytestmark = pytest.mark.stopped

REVIEW = Path(__file__).parents[2] / "contrib/examples/held_for_review.py"
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
    cluster.put(LUA, "/etc/slurm/job_submit.lua")
    return prepare(cluster, CONF_LINES.format(plugins="python"))


@pytest.fixture
def site(module_site: Site) -> Iterator[Site]:
    """Start each test without hooks and jobs."""
    yield from lend(module_site)


# Deployments


def test_another_set_is_noticed(site: Site) -> None:
    """An edit changes nothing; the supervisor notices by itself that another set is in force, and logs it."""
    site.hooks("@hook.job_submit\ndef say(job): raise Reject('before')\n")
    folder = site.shell("readlink /etc/slurm/slurmhooks.set", user="root").strip()
    site.hooks("@hook.job_submit\ndef say(job): raise Reject('after')\n")
    assert "after" in site.refused()
    site.mark()
    site.shell(f"ln -s {folder} /etc/slurm/new; mv -T /etc/slurm/new /etc/slurm/slurmhooks.set", user="root")
    site.cluster.wait(lambda: "before" in site.refused(), what="the other set")
    assert "loaded changed hooks: 1 handlers" in site.logged()


def test_added_and_renamed_files_are_taken_up(site: Site) -> None:
    """A new file takes effect under any name."""
    site.hooks("@hook.job_submit\ndef first(job): log.user('first')\n", "a.py")
    assert "second" not in site.said("sbatch", "--test-only", "--wrap=true")
    site.hooks("@hook.job_submit\ndef second(job): log.user('second')\n", "b.py")
    assert re.search("first.*second", site.said("sbatch", "--test-only", "--wrap=true"), re.DOTALL)
    site.shell(f"mv {HOOKS_D}/a.py {HOOKS_D}/c.py", user="root")
    site.cluster.deploy()
    assert re.search("second.*first", site.said("sbatch", "--test-only", "--wrap=true"), re.DOTALL)


@pytest.mark.moved
def test_a_changed_package_is_taken_up(site: Site) -> None:
    """A module of an installed package, which no set has, is imported again by each deployment."""
    place = site.shell("ls -d /opt/slurmhooks/lib/python3.*/site-packages", user="root").strip() + "/sitehooks"
    site.cluster.put("from sitehooks import rules\n", f"{place}/__init__.py")
    rule = "from slurmhooks import hook, Reject\n@hook.job_submit\ndef rule(job):\n    raise Reject('rule {}')\n"
    site.cluster.put(rule.format(1), f"{place}/rules.py")
    site.cluster.put('[hooks]\nmodules = ["sitehooks"]\n', TOML)
    assert "rule 1" in site.refused()
    for number in (2, 3):
        site.cluster.put(rule.format(number), f"{place}/rules.py")
        site.cluster.deploy()
        assert f"rule {number}" in site.refused()
    site.shell(f"rm -r {place}", user="root")
    assert "sitehooks" in site.cluster.refusal()
    assert "rule 3" in site.refused()


def test_a_changed_configuration_is_taken_up(site: Site) -> None:
    """Other paths in slurmhooks.toml take effect; an unknown key, or no such file, changes nothing."""
    site.hooks("@hook.job_submit\ndef first(job): raise Reject('first')\n")
    assert "first" in site.refused()
    site.cluster.put(
        "from slurmhooks import hook, Reject\n@hook.job_submit\ndef other(job): raise Reject('other')\n",
        "/etc/slurm/other.d/other.py",
    )
    site.cluster.put('[hooks]\npaths = ["other.d/*.py"]\n', TOML)
    assert "other" in site.refused()
    site.cluster.put('[hooks]\npfade = ["hooks.d/*.py"]\n', TOML)
    assert f"{TOML}: hooks.pfade: unknown key" in site.cluster.refusal()
    assert "other" in site.refused()
    site.shell(f"rm {TOML}", user="root")
    assert TOML in site.cluster.refusal()
    assert "other" in site.refused()


BROKEN = {
    "syntax": ("def broken(:\n", "SyntaxError"),
    "raises": ("raise RuntimeError('while loading')\n", "RuntimeError: while loading"),
    "exits": ("raise SystemExit(0)\n", "SystemExit"),
    "argument": ("@hook.job_submit\ndef broken(jbo): pass\n", "jbo"),
}


@pytest.mark.parametrize("kind", moved_from(1, BROKEN))
def test_a_broken_file_is_refused(site: Site, kind: str) -> None:
    """With a broken file the whole previous set stays in force; a repair takes effect."""
    source, words = BROKEN[kind]
    site.hooks("@hook.job_submit\ndef good(job): raise Reject('good 1')\n", "a.py")
    assert "good 1" in site.refused()
    site.hooks(source, "b.py")
    site.hooks("@hook.job_submit\ndef good(job): raise Reject('good 2')\n", "a.py")
    said = site.cluster.refusal()
    assert f"{HOOKS_D}/b.py:" in said
    assert words in said
    assert "good 1" in site.refused()
    site.shell(f"rm {HOOKS_D}/b.py", user="root")
    site.cluster.deploy()
    assert "good 2" in site.refused()


# Start and end


LATER = f"{FOLDER}/later"
"""A file whose existence makes the hooks below fail, as a machine may change after a deployment."""
FAILS_LATER = {
    "loading": (f"if os.path.exists('{LATER}'): raise RuntimeError('at start')\n", "life.py:8: RuntimeError: at start"),
    "init refuses": (
        f"@hook.job_submit.init\ndef start():\n    if os.path.exists('{LATER}'): raise Reject('no scratch here')\n",
        "no scratch here",
    ),
    "init raises": (
        f"@hook.job_submit.init\ndef start():\n    if os.path.exists('{LATER}'): 1 / 0\n",
        "ZeroDivisionError",
    ),
}


@pytest.mark.parametrize("what", moved_from(1, FAILS_LATER))
def test_what_fails_at_start(site: Site, what: str) -> None:
    """slurmctld starts and refuses every request with one line; its log says what is wrong, and a repair is enough."""
    source, words = FAILS_LATER[what]
    site.hooks(source)
    job_id = site.submit()
    site.shell(f"touch {LATER}")
    site.cluster.restart()
    said = site.refused().splitlines()
    told = UNANSWERED if what.startswith("init") else NOT_LOADED  # an init handler runs in each worker
    assert said[0].startswith(f"sbatch: error: {told}"), said
    assert len(said) == 2  # and Slurm's own
    assert site.run("scontrol", "update", f"jobid={job_id}", "comment=x").returncode != 0
    logged = site.logged()
    assert words in logged, logged
    error_id = said[0].partition("(error ")[2].partition(")")[0]
    assert f"error {error_id}: " in logged
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


@pytest.mark.each_release
def test_init(site: Site) -> None:
    """init handlers run in each worker, in order, before its first request, and fini handlers when it ends regularly.

    Their texts for a user are in the log.
    """
    _start_life(site)
    assert site.events() == ["earlier", "init"]
    for replace in (site.cluster.deploy, site.cluster.restart):
        before = len(site.events())
        replace()
        assert "nobody" not in site.said("sbatch", "--test-only", "--wrap=true")
        _wait_for_events(site, before, "earlier", "init", "submit")
    logged = site.logged()
    assert "slurmhooks: logged at start" in logged
    assert "nobody is there" in logged


@pytest.mark.moved
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


@pytest.mark.moved
def test_texts_beside_slurms_lua(site: Site) -> None:
    """What users read of handlers comes after the texts of Slurm's own plugin lua, which replaces what came before."""
    site.hooks("@hook.job_submit\ndef told(): log.user('of a handler')\n")
    script = "function slurm_job_submit() slurm.log_user('of lua') return 0 end\nslurm_job_modify = slurm_job_submit\n"
    file = "/etc/slurm/job_submit.lua"
    before = site.cluster.root("cat", file).stdout
    site.cluster.put(script, file)
    try:
        for plugins, texts in (("lua,python", ["of lua", "of a handler"]), ("python,lua", ["of lua"])):
            site.cluster.put(CONF_LINES.format(plugins=plugins), CONF)
            site.cluster.restart("slurmctld")
            said = site.said("sbatch", "--hold", "--wrap=true").splitlines()
            assert said[1:] == [f"sbatch: {text}" for text in texts]
    finally:
        site.cluster.put(before, file)
        site.cluster.put(CONF_LINES.format(plugins="python"), CONF)
        site.cluster.restart("slurmctld")


def _start_life(site: Site) -> None:
    """Put the handlers of LIFE in force, in one worker."""
    site.hooks(LIFE)
    site.cluster.deploy()


def _wait_for_events(site: Site, before: int, *wanted: str) -> None:
    """Wait for the end of an old worker and the events of its successor, in order; the two overlap."""
    site.cluster.wait(lambda: len(site.events()) > before + len(wanted), what="end of the old worker")
    events = site.events()[before:]
    assert sorted(events) == sorted((*wanted, "fini"))
    assert [event for event in events if event != "fini"] == [*wanted]


@pytest.mark.moved
def test_init_that_may_fail(site: Site) -> None:
    """With on_error="ignore" a bug in an init handler does not keep slurmctld from starting."""
    site.hooks("@hook.job_submit.init(on_error='ignore')\ndef start(): 1 / 0\n")
    site.cluster.restart()
    site.submit()
    assert "ZeroDivisionError" in site.logged()


@pytest.mark.each_release
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


@pytest.mark.one_release("22.05", "24.11")
def test_a_job_is_held_for_review(site: Site) -> None:
    """The user of a job that a handler holds cannot release it, also a task of it; root can, and then it is theirs."""
    if not site.cluster.has_sources:
        pytest.skip("needs the records of jobs")
    site.hooks(REVIEW.read_text().replace("MOST = 100", "MOST = 1"))
    assert site.run("scontrol", "release", site.submit()).returncode == 0
    for options in ((), ("--array=1-2",)):
        job_id = site.submit("--nodes=2", *options)
        for words in (("release", job_id), ("update", f"jobid={job_id}", "priority=10")):
            assert site.run("scontrol", *words).returncode != 0
        assert site.run("scontrol", "update", f"jobid={job_id}", "name=other").returncode == 0
        shown = site.show(job_id)
        assert (shown["Priority"], shown["AdminComment"]) == ("0", "held for review")
        site.cluster.root("scontrol", "release", job_id, check=True)
        assert site.show(job_id)["AdminComment"] == "reviewed"


@pytest.mark.parametrize("how", ["SIGHUP", *moved("scontrol reconfigure")])
def test_reconfigure(site: Site, how: str) -> None:
    """Handlers answer before and after a restart, and slurmctld keeps its jobs."""
    site.hooks("@hook.job_submit\ndef say(job): log.user('still here')\n")
    job_id = site.submit()
    _reconfigure(site, how)
    assert "still here" in site.said("sbatch", "--test-only", "--wrap=true")
    assert site.show(job_id)["JobState"] == "PENDING"
    site.hooks("@hook.job_submit\ndef say(job): log.user('reloaded')\n")
    assert "reloaded" in site.said("sbatch", "--test-only", "--wrap=true")


@pytest.mark.moved
@pytest.mark.parametrize("how", ["scontrol reconfigure", *moved("SIGHUP")])
def test_reconfigure_with_broken_hooks(site: Site, how: str) -> None:
    """slurmctld continues with its handlers, although the set does not load any more."""
    site.hooks(f"{FAILS_LATER['loading'][0]}@hook.job_submit\ndef say(job): raise Reject('good')\n")
    assert "good" in site.refused()
    site.shell(f"touch {LATER}")
    _reconfigure(site, how)
    assert "good" in site.refused()
    if site.release >= (23, 11):  # before, slurmctld stays the same process, and loads nothing
        assert "RuntimeError: at start" in site.logged()


def _reconfigure(site: Site, how: str) -> None:
    before = site.logged().count("econfigur")
    if how == "SIGHUP":
        site.shell("kill -HUP $(cat /run/slurmctld.pid)", user="root")
    else:
        site.said("scontrol", "reconfigure", user="root")
    site.cluster.wait(lambda: site.logged().count("econfigur") > before, what="reconfiguration")
    site.cluster.wait(lambda: "UP" in site.said("scontrol", "ping"), what="slurmctld that answers")


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


@pytest.mark.moved
@pytest.mark.parametrize(("first", "second"), [("lua", "python"), *moved(("python", "lua"))])
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
