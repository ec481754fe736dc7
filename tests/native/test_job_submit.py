# SPDX-License-Identifier: GPL-2.0-or-later
"""Handlers of job_submit and job_modify read and write Slurm's structs."""

import pytest

from tests.native.hosting import Host, Result

pytestmark = pytest.mark.slow

NICE_OFFSET = 0x80000000
"""Slurm adds it to a nice value, which is unsigned."""

FIELDS = {
    "account": ("physics", "chemistry"),
    "comment": (None, "set"),
    "work_dir": ("/old", ""),
    "script": ("#!/bin/sh\n", None),
    "time_limit": (30, 60),
    "priority": ("NO_VAL", 7),
    "min_nodes": (4, "NO_VAL"),
    "min_cpus": ("NO_VAL", "INFINITE"),
    "cpus_per_task": (2, 4),
    "nice": (NICE_OFFSET + 5, NICE_OFFSET - 5),
    "pn_min_memory": ("NO_VAL", 2048),
    "begin_time": (0, 1700000000),
}
"""Members of each C type, with the values before and after the handler."""

LUA_NAMES = {"pn_min_memory": "min_mem_per_node"}


def literal(member: str, value: object) -> str:
    """Return a value as Python code for handlers."""
    if member == "nice":
        assert isinstance(value, int)
        return str(value - NICE_OFFSET)
    return {"NO_VAL": "None", "INFINITE": "UNLIMITED"}.get(str(value), repr(value))


def word(value: object) -> str:
    """Return a value as scripts write it."""
    return str(value).replace("\n", "\\x0a").replace(" ", "\\x20")


def test_every_type_of_field(each_host: Host) -> None:
    """Members of each type are read and written, and all texts belong to Slurm's allocator."""
    body = ""
    for member, (before, after) in FIELDS.items():
        name = LUA_NAMES.get(member, member)
        body += f"    assert job.{name} == {literal(member, before)}, ('{name}', job.{name})\n"
        body += f"    job.{name} = {literal(member, after)}\n"
    each_host.site("from slurmhooks import UNLIMITED\n\n@hook.job_submit\ndef submit(job):\n" + body)
    fields = [f"{member}={word(before)}" for member, (before, _) in FIELDS.items() if before is not None]
    run = each_host.run(f"open js $job_submit\njob_submit js {' '.join(fields)}\nbalance")
    result = run.one("job_submit")
    assert result.rc == 0, run.log
    # In a submission "" means that the user has not given it.
    expected = {member: None if after == "" else after for member, (_, after) in FIELDS.items()}
    assert {member: result[member] for member in FIELDS} == expected
    assert run.one("balance")["alive"] == 0


def arrays(result: Result) -> dict[str, tuple[list[object], object]]:
    """Return the arrays of a request, each with its counter; assert that each ends with NULL."""
    assert "broken" not in result.values
    counters = {"argv": "argc", "environment": "env_size", "spank_job_env": "spank_job_env_size"}
    return {name: (list(result.lists[name]), result.values.get(counter, 0)) for name, counter in counters.items()}


def test_arrays_keep_their_counters(each_host: Host) -> None:
    """An array that becomes longer, shorter, empty or new has the right counter, and nothing leaks."""
    each_host.site(
        """
        @hook.job_submit
        def submit(job):
            if job.name == "longer":
                job.environment["B"] = "2"
                job.spank_job_env["C"] = "3"
                job.argv = [*job.argv, "more", "words"]
            elif job.name == "shorter":
                del job.environment["A"]
                job.argv = job.argv[:1]
            elif job.name == "empty":
                job.environment = {}
                job.argv = []
            elif job.name == "read":
                log.info("read", env=dict(job.environment), argv=job.argv)
        """
    )
    fields = "script=x argv=run argv=x environment=A=1 environment=Z=a=b"
    run = each_host.run(
        f"""
        open js $job_submit
        job_submit js name=longer {fields}
        job_submit js name=shorter {fields}
        job_submit js name=empty {fields}
        job_submit js name=read {fields}
        job_submit js script=x name=longer
        balance
        """
    )
    longer, shorter, empty, read, from_nothing = map(arrays, run.of("job_submit"))
    assert longer == {
        "argv": (["run", "x", "more", "words"], 4),
        "environment": (["A=1", "Z=a=b", "B=2"], 3),
        "spank_job_env": (["C=3"], 1),
    }
    assert shorter["argv"] == (["run"], 1)
    assert shorter["environment"] == (["Z=a=b"], 1)
    assert empty == {"argv": ([], 0), "environment": ([], 0), "spank_job_env": ([], 0)}
    assert read["environment"] == (["A=1", "Z=a=b"], 2)
    assert run.said("read") == ["env={'A': '1', 'Z': 'a=b'} argv=['run', 'x']"]
    assert from_nothing["environment"] == (["B=2"], 1)
    assert run.one("balance")["alive"] == 0


def test_job_modify(host: Host) -> None:
    """An update is read and written like a submission; "" clears a field."""
    host.site(
        """
        @hook.job_modify
        def modify(job, modify_uid):
            log.info("by", uid=modify_uid)
            if job.time_limit == 100:
                raise Reject("too long", code="ESLURM_INVALID_TIME_LIMIT")
            job.comment = ""
            job.time_limit = 10
        """
    )
    run = host.run(
        """
        open js $job_submit
        job_modify js modify_uid=77 time_limit=20 comment=old
        job_modify js time_limit=100 comment=old
        balance
        """
    )
    accepted, refused = run.of("job_modify")
    assert (accepted.rc, accepted["time_limit"], accepted["comment"]) == (0, 10, "")
    assert run.said("by")[0] == "uid=77"
    assert refused.rc > 0
    assert (refused["time_limit"], refused["comment"]) == (100, "old")
    # 22.05 has no messages for the user of an update: they are logged.
    assert refused["err_msg"] == "too long" or "too long" in run
    assert run.one("balance")["alive"] == 0


def test_nothing_is_applied_when_a_later_handler_refuses(each_host: Host) -> None:
    """A handler reads the writes of earlier handlers; if it refuses, Slurm's struct is unchanged."""
    each_host.site(
        """
        @hook.job_submit
        def first(job):
            job.account = "changed"
            job.time_limit = 60
            job.environment["NEW"] = "1"
            job.argv = ["other"]

        @hook.job_submit
        def second(job):
            log.info("second", account=job.account, env=dict(job.environment), argv=job.argv)
            if job.name == "raise":
                raise RuntimeError
            raise Reject("no")
        """
    )
    fields = "script=x account=mine time_limit=5 argv=run environment=A=1"
    run = each_host.run(
        f"""
        open js $job_submit
        job_submit js {fields}
        job_submit js name=raise {fields}
        balance
        """
    )
    for result in run.of("job_submit"):
        assert result.rc != 0
        assert (result["account"], result["time_limit"]) == ("mine", 5)
        assert arrays(result)["environment"] == (["A=1"], 1)
        assert arrays(result)["argv"] == (["run"], 1)
    assert run.said("second") == ["account='changed' env={'A': '1', 'NEW': '1'} argv=['other']"] * 2
    assert run.one("balance")["alive"] == 0


def test_a_lenient_handlers_writes_are_undone(host: Host) -> None:
    """With on_error="accept" a bug lets the job pass, with the writes of the other handlers only."""
    host.site(
        """
        @hook.job_submit
        def first(job):
            job.comment = "first"

        @hook.job_submit(on_error="accept")
        def buggy(job):
            job.comment = "buggy"
            job.account = "buggy"
            raise RuntimeError

        @hook.job_submit
        def last(job):
            job.time_limit = 5
        """
    )
    result = host.run("open js $job_submit\njob_submit js account=mine").one("job_submit")
    assert (result.rc, result["comment"], result["account"], result["time_limit"]) == (0, "first", "mine", 5)


def test_messages_for_the_user(host: Host) -> None:
    """The user gets all texts of a call in order, after those of earlier plugins; the next call begins with none."""
    host.site(
        """
        @hook.job_submit
        def submit(job):
            log.user("one")
            log.user("two %s", "words")
            if job.name == "refuse":
                raise Reject("three")
        """
    )
    run = host.run(
        """
        open js $job_submit
        job_submit js err_msg=lua
        job_submit js name=refuse
        balance
        """
    )
    accepted, refused = run.of("job_submit")
    assert (accepted.rc, accepted["err_msg"]) == (0, "lua\none\ntwo words")
    assert (refused.rc != 0, refused["err_msg"]) == (True, "one\ntwo words\nthree (hooks:submit)")
    assert run.one("balance")["alive"] == 0


@pytest.mark.parametrize(
    ("code", "number"),
    [("None", 2002), ("'ESLURM_INVALID_ACCOUNT'", 2045), ("2045", 2045), ("0", -1), ("'NO_SUCH'", 2002)],
)
def test_codes_of_a_refusal(host: Host, code: str, number: int) -> None:
    """A refusal has the code that the handler names, or else ESLURM_ACCESS_DENIED; 0 never means success."""
    host.site(
        f"""
        @hook.job_submit
        def submit(job):
            raise Reject("no", code={code})
        """
    )
    assert host.run("open js $job_submit\njob_submit js").one("job_submit").rc == number


def test_on_unavailable_does_not_accept_what_a_worker_has_begun(host: Host) -> None:
    """A request whose worker ends is refused: only those that no worker could take are accepted."""
    host.site("@hook.job_submit\ndef submit(job):\n    import os\n    os._exit(0)\n")
    host.config("[hooks]\npaths = ['hooks.py']\n[job_submit]\non_unavailable = 'accept'\n")
    run = host.run("open js $job_submit\njob_submit js")
    assert "ended before it answered" in run
    assert run.one("job_submit").rc != 0


def test_views_end_with_the_call(each_host: Host) -> None:
    """A view of an earlier call raises StaleHandleError, and reads no memory that Slurm has freed."""
    each_host.site(
        """
        from slurmhooks import StaleHandleError
        kept = {}

        def attempt(name, function):
            try:
                log.info("stale", name=name, value=function())
            except StaleHandleError:
                log.info("stale", name=name)

        @hook.job_submit
        def submit(job):
            if kept:
                attempt("account", lambda: kept["job"].account)
                attempt("write", lambda: setattr(kept["job"], "account", "x"))
                attempt("argv", lambda: kept["job"].argv)
                attempt("environment", lambda: kept["job"].environment)
                attempt("kept environment", lambda: dict(kept["env"]))
                attempt("kept environment's write", lambda: kept["env"].__setitem__("A", "1"))
            kept["job"] = job
            kept["env"] = job.environment
            kept["env"]["X"] = "1"
        """
    )
    run = each_host.run(
        """
        open js $job_submit
        job_submit js account=a environment=A=1
        job_submit js account=b environment=A=1
        """
    )
    names = ["account", "write", "argv", "environment", "kept environment", "kept environment's write"]
    assert run.said("stale") == [f"name={name!r}" for name in names]


@pytest.mark.parametrize("damage", ["data[:-1]", "data + bytes(8)", "bytes(len(data))", "b''"])
def test_damaged_answers(each_host: Host, damage: str) -> None:
    """A request whose answer is damaged is refused, and the worker is asked no more: others get a sound one."""
    each_host.site(
        f"""
        from slurmhooks.worker import channel

        def damage(self, kind, data, send=channel.Channel.send):
            send(self, kind, {damage} if kind in (channel.ChannelKind.ANSWER, channel.ChannelKind.LAST) else data)

        @hook.job_submit
        def submit(job):
            if job.name == "damages":
                channel.Channel.send = damage
        """
    )
    lines = ["open js $job_submit", *["job_submit js name=damages", "job_submit js name=sound"] * 2]
    run = each_host.run("\n".join(lines), quiet=False)
    refused, accepted = run.of("job_submit")[::2], run.of("job_submit")[1::2]
    assert all(result.rc != 0 for result in refused), run.log
    assert [result.rc for result in accepted] == [0, 0], run.log
    assert "is damaged, and it was killed" in run
