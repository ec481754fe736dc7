# SPDX-License-Identifier: GPL-2.0-or-later
"""A job_submit.lua in workers, with each version of Lua that lupa has."""

import pytest

from slurmhooks.lua import finding
from tests.native.hosting import Host, Run

pytestmark = pytest.mark.slow

VERSIONS = list(filter(finding.is_installed, finding.VERSIONS))
END = "function slurm_job_modify() return slurm.SUCCESS end\nreturn slurm.SUCCESS\n"
HOSTS_OWN = "5.1"
"""The version that the host is linked to. With sanitizers no other version can be loaded."""
FIELDS = """
assert(type(getmetatable(job).__index) == "function")
local kept = job
for _ = 1, 2 do
   assert(job.account == "physics" and job.comment == nil and job.time_limit == 30 and job.cpus_per_task == 2)
end
assert(job.min_nodes == slurm.NO_VAL and job.begin_time == 1700000000 and job.no_such_field == nil)
job.comment = "first"
job.comment = "second"
job.account = ""
job.time_limit = "60"
job.min_nodes = 2.5
job.min_mem_per_node = 2 ^ 40
assert(job.comment == "second" and job.account == nil and job.time_limit == 60 and job.min_nodes == 2)
assert(job.pn_min_memory == 2 ^ 40 and job.min_mem_per_node == 2 ^ 40 and job.min_mem_per_cpu == nil)
job.name = 7
job.work_dir = ("x"):rep(5000)
collectgarbage()
assert(#job.work_dir == 5000)
job.cpus_per_task = 65536 + 3
job.priority = -1
assert(job.cpus_per_task == 3 and job.priority == 4294967295)
assert(job.comment == "second" and kept.work_dir == job.work_dir)
return slurm.SUCCESS
"""
REQUEST = (
    "account=physics script=x time_limit=30 cpus_per_task=2 begin_time=1700000000 environment=A=1 environment=AB=2"
)


def submit(host: Host, body: str, *requests: str, lua: str = HOSTS_OWN, hooks: str | None = None) -> Run:
    """Run some requests through slurm_job_submit(), and assert that they leak nothing."""
    (host.folder / "job_submit.lua").write_text(f"function slurm_job_submit(job, partitions, uid)\n{body}\nend\n{END}")
    if hooks is not None:
        host.site(hooks)
    paths = "paths = ['hooks.py']" if hooks is not None else "paths = []"
    script = "[job_submit]\nlua = 'job_submit.lua'\nlua_on_error = 'reject'"
    host.config(f"[hooks]\n{paths}\n{script}\n[lua]\nversion = {lua!r}\n")
    calls = "\n".join(f"job_submit js {request}" for request in requests)
    run = host.run(f"open js $job_submit\n{calls}\nbalance")
    assert run.one("balance")["alive"] == 0
    return run


def verify_fields(run: Run) -> None:
    """Assert that the script FIELDS has changed each request as it should."""
    for result in run.of("job_submit"):
        assert result.rc == 0, run.log
        assert (result["account"], result["comment"], result["work_dir"]) == (None, "second", "x" * 5000)
        assert (result["time_limit"], result["min_nodes"], result["cpus_per_task"]) == (60, 2, 3)
        assert str(result["name"]).startswith("7")
        assert result["priority"] == "INFINITE"


@pytest.mark.parametrize("version", VERSIONS)
def test_fields_in_every_lua(host: Host, version: str) -> None:
    """A script reads and writes fields with the conversions of job_submit/lua, in each version of Lua."""
    verify_fields(submit(host, FIELDS, REQUEST, REQUEST, lua=version))


def test_fields(each_host: Host) -> None:
    """The same with sanitizers."""
    verify_fields(submit(each_host, FIELDS, REQUEST, REQUEST))


@pytest.mark.parametrize("version", VERSIONS)
def test_what_does_not_fit(host: Host, version: str) -> None:
    """A value of a wrong type is an error in the script, with its line, and the request is unchanged."""
    for value, wanted in (("nil", "string expected, got nil"), ("{}", "string expected, got table")):
        run = submit(host, f"job.time_limit = 5\njob.comment = {value}\nreturn 0", REQUEST, lua=version)
        assert run.one("job_submit").rc != 0
        assert run.one("job_submit")["time_limit"] == 30
        assert any("job_submit.lua:3: bad argument #3 to '" in line and wanted in line for line in run.lines()), run.log


def test_the_environment(each_host: Host) -> None:
    """Variables can be read and written; without an environment each variable is nil."""
    run = submit(
        each_host,
        """
        local environment = job.environment
        if job.script == nil then
           assert(environment.A == nil)
           return slurm.SUCCESS
        end
        assert(environment.A == "1" and environment.AB == "2" and environment.B == nil and environment[""] == nil)
        assert(environment["A=1"] == nil and environment[1] == nil)
        environment.B = "3"
        environment.A = 4
        assert(environment.A == "4" and environment.AB == "2" and job.environment.B == "3")
        return slurm.SUCCESS
        """,
        REQUEST,
        "account=physics",
    )
    written, without = run.of("job_submit")
    assert (written.rc, without.rc) == (0, 0), run.log
    assert sorted(map(str, written.lists["environment"])) == ["A=4", "AB=2", "B=3"]
    assert any("only accessible for batch jobs" in line for line in run.lines())


def test_among_handlers_in_python(each_host: Host) -> None:
    """The script reads the writes of earlier Python handlers, and later handlers read the writes of the script."""
    run = submit(
        each_host,
        """
        assert(job.comment == "before" and job.account == nil and job.time_limit == 5 and job.min_nodes == slurm.NO_VAL)
        assert(job.environment.A == "9" and job.environment.AB == "2")
        job.comment = job.comment .. ", lua"
        job.time_limit = job.time_limit + 1
        job.min_mem_per_cpu = 7
        assert(job.min_mem_per_cpu == 7 and job.pn_min_memory > 2 ^ 62)
        job.begin_time = -5
        assert(job.begin_time == -5 and job.time_limit == 6 and job.comment == "before, lua")
        job.begin_time = 1
        return slurm.SUCCESS
        """,
        f"{REQUEST} min_nodes=3",
        hooks="""
        @hook.job_submit(order=1)
        def before(job):
            job.comment, job.account, job.time_limit, job.min_nodes = "before", None, 5, None
            job.environment["A"] = "9"

        @hook.job_submit(order=99)
        def after(job):
            job.comment = f"{job.comment}, after {job.time_limit}"
        """,
    )
    result = run.one("job_submit")
    assert result.rc == 0, run.log
    assert (result["comment"], result["time_limit"], result["begin_time"]) == ("before, lua, after 6", 6, 1)
    assert result["pn_min_memory"] == 2**63 + 7


def test_nothing_is_left_for_the_next_request(host: Host) -> None:
    """The writes of a script that fails do not appear in the next request."""
    body = """
    assert(job.comment == nil and job.time_limit == 30)
    job.comment = "written"
    job.time_limit = 1
    if job.account == "fails" then error("on purpose") end
    return slurm.SUCCESS
    """
    run = submit(host, body, "account=fails time_limit=30", "account=physics time_limit=30")
    failed, passed = run.of("job_submit")
    assert (failed["comment"], failed["time_limit"]) == (None, 30)
    assert (passed["comment"], passed["time_limit"]) == ("written", 1)
