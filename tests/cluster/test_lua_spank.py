# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripts of spank-lua in each callback: the handle, options, items and environments."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.spank.scripts import lua_site, rows, scripts
from tests.cluster.spank.site import Site
from tests.cluster.turns import moved

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.stopped

PROBE = {"probe": (Path(__file__).parent / "lua" / "spank_probe.lua").read_text()}
NOT_AVAILABLE = "nil:nil string:Item not available from this callback"
ONLY_REMOTE = "nil:nil string:Valid only in remote context"

Facts = dict[str, dict[str, list[str]]]
"""By place, such as task_init@remote, then by function: the results, in order."""


@pytest.fixture(scope="module")
def lua(cluster: "Cluster") -> Site:
    """A site without hook files."""
    return lua_site(cluster)


def wait_for(lent: Site, *starts: str) -> None:
    """Wait for records of scripts that begin like this, because some callbacks run after the command has ended."""
    lent.cluster.wait(
        lambda: all(any(row.startswith(start) for row in rows(lent)) for start in starts), what=f"rows {starts}"
    )


def facts(lent: Site) -> Facts:
    """Return the records of the probe script."""
    found: Facts = {}
    for row in rows(lent):
        place, what, answers = row.split(" | ", 2)
        found.setdefault(place, {}).setdefault(what, []).append(answers)
    return found


ENDS = "test $SLURM_PROCID = 0 && kill -9 $$; exit 3"
OPTIONS = "--probe-word=w --probe-maybe --probe-flag --probe-quiet --probe-dynamic=d"
PLACES = (
    *("init@local", "init_post_opt@local", "local_user_init@local", "exit@local"),
    *("job_prolog@job_script", "job_epilog@job_script"),
    *("init@remote", "init_post_opt@remote", "user_init@remote", "task_init_privileged@remote", "task_init@remote"),
    *("task_post_fork@remote", "task_exit@remote", "exit@remote"),
)


@pytest.fixture(scope="module", params=["manifest", *moved("python")])
def probed(lua: Site, request: pytest.FixtureRequest) -> Facts:
    """The probe's records of a step of two tasks, without a hook manifest and with one."""
    scripts(lua, PROBE)
    if request.param == "python":
        lua.without_manifest()
        lua.forget_records()
    done = lua.shell(f"cd; PROBE=value timeout 60 srun -w n1 -n2 --mem=64 {OPTIONS} sh -c '{ENDS}'")
    assert done.returncode != 0
    wait_for(lua, "exit@remote", "job_epilog@job_script")
    lua.wait_until_idle()
    return facts(lua)


def test_every_callback_is_called(probed: Facts) -> None:
    """All functions of spank(7) that belong to the step are called, once for each task or each process."""
    assert set(PLACES) <= set(probed)
    for place in ("task_init_privileged@remote", "task_init@remote", "task_exit@remote"):
        assert len(probed[place]["logs"]) == 2, place


def test_the_handle(lua: Site, probed: Facts) -> None:
    """The handle is a table with context, the script's own arguments, version, and remote() as text."""
    version = lua.root("sinfo --version").split()[1]
    for place in PLACES:
        remote = "yes" if place.endswith("@remote") else "no"
        seen = {row.rsplit(" ", 1)[0] for row in probed[place]["handle"]}
        assert seen == {f"string:table {{a=1,b=2}} string:{version} string:{remote}"}, place
        assert set(probed[place]["logs"]) == {"number:0 number:-1 nil:nil number:-1"}


def test_a_state_lasts_as_long_as_its_process(probed: Facts) -> None:
    """Globals last between the callbacks of a process; forked tasks have copies made at the fork."""
    for place in ("init_post_opt@local", "exit@local", "task_init@remote", "exit@remote"):
        assert {row.rsplit(" ", 1)[1] for row in probed[place]["handle"]} == {"boolean:true"}, place
    for place in ("init@local", "job_prolog@job_script", "job_epilog@job_script"):
        assert {row.rsplit(" ", 1)[1] for row in probed[place]["handle"]} == {"boolean:false"}, place


def test_option_callbacks(probed: Facts) -> None:
    """The function of an option gets val, the argument or nil, and whether this is slurmstepd."""
    for context, remote in (("local", "false"), ("remote", "true")):
        # The same for options from the table and from init; of two options with the same name the first is used.
        answers = {
            row for place, found in probed.items() if place.endswith(f"@{context}") for row in found.get("option", ())
        }
        assert answers == {
            f"number:11 string:w boolean:{remote}",
            f"number:12 nil:nil boolean:{remote}",
            f"number:0 nil:nil boolean:{remote}",
            f"number:2 string:d boolean:{remote}",
        }


def test_registering(probed: Facts) -> None:
    """register_option works in init, returns nil and a reason later, and raises for an invalid option."""
    assert probed["init@local"]["register"] == ["boolean:true", "boolean:true"]
    assert set(probed["task_exit@remote"]["register late"]) == {"nil:nil string:Bad argument"}
    for place in PLACES:
        assert sorted(set(probed[place]["register wrong"])) == [
            "boolean:false string:Expected table argument to spank_option_register",
            'boolean:false string:Required field "name" missing from spank option table',
            'boolean:false string:Required field "usage" missing from spank option table',
            "boolean:false string:Unable to find spank option cb function nobody",
        ]


@pytest.mark.parametrize(
    "place",
    [
        "local_user_init@local",
        "user_init@remote",
        "task_init_privileged@remote",
        "task_init@remote",
        "task_exit@remote",
        "job_prolog@job_script",
        "job_epilog@job_script",
    ],
)
def test_getopt(probed: Facts, place: str) -> None:
    """getopt returns the argument, or true without one, wherever Slurm has options, also without a callback."""
    options = {what.removeprefix("getopt "): set(rows) for what, rows in probed[place].items() if "getopt" in what}
    assert options == {
        "probe-word": {"string:w"},
        "probe-maybe": {"boolean:true"},
        "probe-flag": {"boolean:true"},
        "probe-quiet": {"boolean:true"},
        "dynamic": {"string:d"},
        "wrong": {"boolean:false string:Expected table argument to spank_option_getopt"},
    }


def test_getopt_where_slurm_knows_none(probed: Facts) -> None:
    """A failing function returns nil and Slurm's text."""
    for place in ("init@local", "init_post_opt@local", "task_post_fork@remote", "exit@remote"):
        assert set(probed[place]["getopt probe-word"]) == {NOT_AVAILABLE}, place


def test_items_of_a_task(lua: Site, probed: Facts) -> None:
    """get_item returns every item of the manual page, as numbers, texts and arrays."""
    answers = probed["task_exit@remote"]
    assert sorted(answers["S_TASK_EXIT_STATUS"]) == [
        "boolean:true number:768 number:3 nil:nil nil:nil",
        "boolean:true number:9 nil:nil number:9 number:0",
    ]
    assert sorted(answers["S_TASK_ID"]) == ["boolean:true number:0", "boolean:true number:1"]
    once = {
        "S_JOB_UID": "number:2001",
        "S_JOB_GID": "number:2001",
        "S_JOB_STEPID": "number:0",
        "S_JOB_NNODES": "number:1",
        "S_JOB_NODEID": "number:0",
        "S_JOB_LOCAL_TASK_COUNT": "number:2",
        "S_JOB_TOTAL_TASK_COUNT": "number:2",
        "S_JOB_NCPUS": "number:2",
        "S_JOB_ARGV": f"{{sh,-c,{ENDS}}}",
        "S_JOB_SUPPLEMENTARY_GIDS": "{2001}",
        "S_STEP_CPUS_PER_TASK": "number:1",
        "S_JOB_ALLOC_CORES": "string:0-1",
        "S_STEP_ALLOC_CORES": "string:0-1",
        "S_SLURM_RESTART_COUNT": "number:0",
        "S_JOB_ARRAY_TASK_ID": "nil:nil",
        "S_JOB_LOCAL_TO_GLOBAL_ID,0": "number:0",
        "S_JOB_GLOBAL_TO_LOCAL_ID,0": "number:0",
    }
    for item, answer in once.items():
        assert set(answers[item]) == {f"boolean:true {answer}"}, item
    for item in ("S_JOB_ALLOC_MEM", "S_STEP_ALLOC_MEM"):
        assert re.fullmatch(r"boolean:true number:\d+", answers[item][0]), item
    assert re.fullmatch(r"boolean:true nil:nil string:.+", answers["S_JOB_LOCAL_TO_GLOBAL_ID,99"][0])
    assert set(answers["S_NO_SUCH"]) == {"boolean:false string:Invalid spank item S_NO_SUCH"}
    assert set(answers["S_JOB_ENV"]) == {"string:table string:/home/alice string:value"}
    assert set(probed["init@local"]["S_JOB_ID"]) == {f"boolean:true {NOT_AVAILABLE}"}
    assert set(probed["job_prolog@job_script"]["S_JOB_UID"]) == {"boolean:true number:2001"}


def test_the_jobs_environment(probed: Facts) -> None:
    """The environment is read and written in slurmstepd, and overwritten only on request; elsewhere it is missing."""
    answers = probed["user_init@remote"]
    assert [answers[what] for what in ("get unset", "set", "set again", "get", "set 0", "set 1", "unset")] == [
        ["nil:nil string:No such environment variable"],
        ["boolean:true"],
        ["nil:nil string:Environment variable exists"],
        ["string:one", "string:4"],
        ["nil:nil string:Environment variable exists"],
        ["boolean:true"],
        ["boolean:true"],
    ]
    assert answers["no name"] == ["boolean:false string:bad argument #1 to 'getenv' (string expected, got no value)"]
    assert answers["no handle"] == ["boolean:false string:Invalid argument expected table got string"]
    assert set(probed["task_init@remote"]["get kept"]) == {"string:remote"}
    for place in ("init_post_opt@local", "job_prolog@job_script"):
        assert {*probed[place]["get"], *probed[place]["set"], *probed[place]["unset"]} == {ONLY_REMOTE}


def test_the_job_control_environment(probed: Facts) -> None:
    """srun passes the job control environment to prolog and epilog, which can read it; slurmstepd has none."""
    found = probed["init_post_opt@local"]
    # Slurm always overwrites here.
    answers = [found[f"job_control_{what}"] for what in ("get unset", "set", "get", "set 0", "set 1", "unset")]
    assert answers == [
        ["nil:nil string:No such environment variable"],
        ["boolean:true"],
        ["string:one", "string:4"],
        ["boolean:true"],
        ["boolean:true"],
        ["boolean:true"],
    ]
    for place in ("job_prolog@job_script", "job_epilog@job_script"):
        assert probed[place]["job_control_get kept"] == ["string:local"]
    for place in ("task_init@remote", "job_prolog@job_script"):
        assert all(row.startswith("nil:nil string:") for row in probed[place]["job_control_set"])


def test_steps_of_a_batch_job(lua: Site) -> None:
    """Special steps have negative ids, as in spank-lua; options of sbatch reach the prolog and all steps."""
    scripts(lua, PROBE)
    done = lua.shell("cd; sbatch -w n1 --probe-word=of-sbatch -o /dev/null --wrap 'srun true'")
    job = re.search(r"Submitted batch job (\d+)", done.stdout)
    assert job is not None, done.stdout
    assert lua.wait_for_job(int(job.group(1))) == "COMPLETED"
    wait_for(lua, "job_epilog@job_script")
    answers = facts(lua)
    assert "init_post_opt@allocator" in answers
    assert sorted(set(answers["task_init@remote"]["S_JOB_STEPID"])) == [
        "boolean:true number:-5",
        "boolean:true number:0",
    ]
    assert set(answers["task_init@remote"]["getopt probe-word"]) == {"string:of-sbatch"}
    assert answers["job_prolog@job_script"]["getopt probe-word"] == ["string:of-sbatch"]
