# SPDX-License-Identifier: GPL-2.0-or-later
"""native/wire and slurmhooks.wire read each other's messages, and C refuses damaged answers as a whole."""

from pathlib import Path
from typing import Any

import pytest

from slurmhooks.wire.message import Message, Packed, answer, decode, read_text, read_texts
from slurmhooks.wire.protocol import Type
from slurmhooks.wire.tables import FILE_NAME, Tables, parse
from tests.native.building import Build
from tests.native.hosting import Host

NO_VAL = {bits: (1 << bits) - 2 for bits in (8, 16, 32, 64)}
INLINE = 16 << 10
"""The longest text that is part of a packed struct; SLURMHOOKS_INLINE of native/wire/wire.h."""


def tables_of(build: Build) -> Tables:
    """Return the tables that a build has written."""
    return parse((build.plugins / "slurmhooks" / FILE_NAME).read_text())


def job_in(path: Path, tables: Tables) -> dict[str, Any]:
    """Return the raw members of the packed job in a message; those that are left out are ``left out``."""
    ((tag, value),) = decode(path.read_bytes(), tables).items
    packed = Packed(tables.tables[tag], value, lambda place: b"left out\0")
    return {member.name: packed.raw(member.name) for member in packed.table.members}


def test_c_packs_what_python_reads(each_host: Host, tmp_path: Path) -> None:
    """Python reads each kind of member as it was set; long texts are left out, and sent when asked for.

    Where nobody can ask, a struct has all of them.
    """
    tables = tables_of(each_host.build)
    long = "x" * INLINE
    script = tables["job"].places["script"]
    each_host.run(
        f"""
        pack $dir/request account=physics comment="" overcommit=1 cpus_per_task=4 time_limit=30 pn_min_memory=2048 \
begin_time=1700000000 work_dir=\\xff argv=run argv=a\\x20b environment=A=1 environment=B= script={long[1:]}
        pack $dir/long script={long} environment=A={long}
        pack_whole $dir/whole script={long} environment=A={long} environment=B=
        pack_member $dir/script {script} script={long}
        balance
        """.replace("\\\n", "")
    )
    message = decode((tmp_path / "request").read_bytes(), tables)
    assert (message.type, message.first, message.second, message.third) == (Type.REQUEST, 0, 2001, NO_VAL[32])
    job = job_in(tmp_path / "request", tables)
    expected = {
        "account": b"physics",
        "comment": b"",
        "name": None,
        "overcommit": 1,
        "cpus_per_task": 4,
        "requeue": NO_VAL[16],
        "time_limit": 30,
        "priority": NO_VAL[32],
        "pn_min_memory": 2048,
        "begin_time": 1700000000,
        "work_dir": b"\xff",
        "argv": [b"run", b"a b"],
        "argc": 2,
        "environment": [b"A=1", b"B="],
        "spank_job_env": [],
        "script": long[1:].encode(),
    }
    assert {name: job[name] for name in expected} == expected
    left_out = job_in(tmp_path / "long", tables)
    assert (left_out["script"], left_out["environment"]) == (b"left out", [b"left out"])
    whole = job_in(tmp_path / "whole", tables)
    assert (whole["script"], whole["environment"]) == (long.encode(), [f"A={long}".encode(), b"B="])
    ((place, value),) = decode((tmp_path / "script").read_bytes(), tables).items
    assert (place, read_text(value)) == (script, long.encode())


def test_python_writes_what_c_applies(each_host: Host, tmp_path: Path) -> None:
    """C applies numbers, texts and arrays of an answer, updates the counters of arrays, and leaks nothing."""
    tables = tables_of(each_host.build)
    writes: dict[str, Any] = {
        "account": b"chemistry",
        "comment": None,
        "name": b"",
        "overcommit": 0,
        "cpus_per_task": NO_VAL[16],
        "time_limit": 60,
        "pn_min_memory": (1 << 64) - 1,
        "begin_time": 5,
        "argv": [b"only"],
        "environment": [],
        "spank_job_env": [b"S=1", b"T="],
    }
    (tmp_path / "answer").write_bytes(answer(tables, 0, b"fine\nby me", writes))
    run = each_host.run(
        """
        apply $dir/answer account=physics comment=old overcommit=1 argv=run argv=x environment=A=1 partition=p
        balance
        """
    )
    result = run.one("apply")
    assert (result["wrong"], result["code"], result["text"]) == (None, 0, "fine\nby me")
    assert (result["account"], result["comment"], result["name"], result["partition"]) == ("chemistry", None, "", "p")
    assert (result["overcommit"], result["cpus_per_task"], result["time_limit"]) == (0, "NO_VAL", 60)
    assert (result["pn_min_memory"], result["begin_time"], result["argc"]) == ("INFINITE", 5, 1)
    assert (result.lists["argv"], result.lists["environment"]) == (["only"], [])
    assert (result.lists["spank_job_env"], result["spank_job_env_size"]) == (["S=1", "T="], 2)
    assert run.one("balance")["alive"] == 0


def test_damaged_answers_change_nothing(each_host: Host, tmp_path: Path) -> None:
    """C refuses answers that are cut off, reads none beyond its end, and applies nothing of a refused answer."""
    tables = tables_of(each_host.build)
    writes: dict[str, Any] = {"account": b"chemistry", "time_limit": 60, "overcommit": 1, "argv": [b"a", b"b"]}
    (tmp_path / "answer").write_bytes(answer(tables, 0, b"text", writes))
    run = each_host.run("damage_answer $dir/answer account=physics argv=x argv=y argv=z\nbalance")
    result = run.one("damage_answer")
    assert result["cut_refused"] == result["size"]
    header = 32 - 12  # without the code for Slurm, and two numbers that answers do not use
    flipped = result["flipped_refused"]
    assert isinstance(flipped, int)
    assert flipped >= header * 3
    assert result["refused_and_changed"] == 0
    assert run.one("balance")["alive"] == 0


WRONG_WRITES = {
    "a member that does not exist": ("", b""),
    "a member that is read-only": ("user_id", bytes(8)),
    "a number that does not fit into the member": ("overcommit", (256).to_bytes(8, "little")),
    "a number that does not fit into the member ": ("overcommit", bytes(4)),
    "a text without a NUL at its end": ("account", b"no end"),
    "a text without a NUL at its end ": ("account", b"two\0texts\0"),
    "texts without a NUL at their end": ("argv", b"a\0b"),
    "more than a request may hold": ("argv", bytes(2 << 20)),
}


@pytest.mark.parametrize("wrong", WRONG_WRITES)
def test_an_answer_is_refused_as_a_whole(host: Host, tmp_path: Path, wrong: str) -> None:
    """An answer with a wrong write is refused with the reason, and the writes before it are not applied."""
    tables = tables_of(host.build)
    table = tables["job"]
    member, value = WRONG_WRITES[wrong]
    place = table.places.get(member, len(table.members))
    items = ((table.places["name"], b"written\0"), (place, value))
    (tmp_path / "answer").write_bytes(Message(Type.ANSWER, items=items).encode(tables))
    result = host.run("apply $dir/answer name=old").one("apply")
    assert result["wrong"] == f"it writes {wrong.strip()}"
    assert result["name"] == "old"


def test_other_tables_are_refused(host: Host, tmp_path: Path) -> None:
    """An answer with the tables of another build is refused, and so is an answer that both refuses and writes."""
    tables = tables_of(host.build)
    other = Tables(tables.release, "testing", tables.tables)
    (tmp_path / "other").write_bytes(answer(other, 0))
    (tmp_path / "both").write_bytes(answer(tables, 1, None, {"name": b"x"}))
    other_build, both = host.run("apply $dir/other\napply $dir/both name=old").of("apply")
    assert other_build["wrong"] == "it is not an answer of this build of slurmhooks"
    assert (both["wrong"], both["name"]) == ("it both refuses the request and writes to it", "old")


def test_the_table_has_every_field(host: Host) -> None:
    """The table has a member for each field of a job that this release has."""
    from slurmhooks.fields import JobFields
    from slurmhooks.fields.rows import Computed, rows

    tables = tables_of(host.build)
    release = tuple(map(int, tables.release.split(".")[:2]))
    places = tables["job"].places
    for row in rows(JobFields).values():
        since, until = (tuple(map(int, end.split("."))) if end else None for end in (row.since, row.until))
        if isinstance(row, Computed) or (since and release < since) or (until and release > until):
            continue
        assert any(path in places for path in row.members), row.name
    assert read_texts(b"") == []
