# SPDX-License-Identifier: GPL-2.0-or-later
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.fields.flag_rows import Flag, OneOf
from slurmhooks.fields.number_rows import AUTH_NOBODY, NICE_OFFSET, Number, Offset, Plain, Tagged, Time
from slurmhooks.fields.rows import Field, Gres, Text, release_of, rows
from slurmhooks.job_submit.constants import JobFlag, MailType, Shared, TaskDist, TaskDistFlag
from slurmhooks.job_submit.model import Job
from slurmhooks.testing import FakeJob, FakeRecord, fake_partitions, fake_reservations
from slurmhooks.values import INFINITE, NO_VAL, UNLIMITED, ExitStatus
from slurmhooks.workshop.testing.job_submit import RELEASE
from tests.unit.job_submit.views import raw, struct_of, view_of

MEM_PER_CPU = 1 << 63
FIELDS = {name: row for name, row in rows(Job).items() if row.member(release_of(RELEASE), row.members)}
GIVEN = {"groups": {}, "interactive": True, "origin": "user"}
"""Computed fields of a fresh request."""
WRITABLE = {name: row for name, row in FIELDS.items() if row.writable}
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


def of_kind(kind: type[Field[Any]]) -> list[str]:
    """Return the writable fields of a kind, subclasses left out."""
    return [name for name, row in WRITABLE.items() if type(row) is kind]


def applied(job: FakeJob) -> Any:
    """Return a new view of a job with the writes that its handlers have applied."""
    return view_of(job)


def round_trip(name: str, value: object) -> None:
    """Check that a value reads back as it was written, staged and applied."""
    job = FakeJob(script="#!/bin/sh")
    setattr(job, name, value)
    assert getattr(job, name) == value
    assert getattr(applied(job), name) == value


# All kinds.


def test_what_is_not_given_is_unset() -> None:
    """A fresh request has None in every field that can be unset; counters, times, sets of flags and modes cannot."""
    job = FakeJob()
    for name, row in FIELDS.items():
        value = getattr(job, name)
        if name in ("user_id", "group_id"):
            assert value == 1000
        elif name in GIVEN:
            assert value == GIVEN[name]
        else:
            assert value is None or (not value and not isinstance(row, (Text, Number, Offset, Tagged))), name


@pytest.mark.parametrize("name", [name for name, row in WRITABLE.items() if not isinstance(row, (Plain, Time))])
def test_none_unsets(name: str) -> None:
    """A field that can be unset reads as None after None was written; others say which values they accept."""
    job = FakeJob(script="#!/bin/sh")
    row = WRITABLE[name]
    if isinstance(row, (Flag, OneOf)) and not row.optional:
        with pytest.raises(TypeError, match=rf"^{name}( \(.*\))? takes {row.kind.__name__}, not None"):
            setattr(job, name, None)
    else:
        setattr(job, name, None)
        assert getattr(job, name) is None
        assert getattr(applied(job), name) is None


@pytest.mark.parametrize("name", WRITABLE)
def test_a_wrong_type_is_refused(name: str) -> None:
    """Another type raises TypeError with field and value, and nothing is written."""
    job = FakeJob()
    before = getattr(job, name)
    for value in (1.5, b"x", [], object()):
        with pytest.raises(TypeError, match=rf"^{name}( \(.*\))? takes .* not "):
            setattr(job, name, value)
    assert getattr(job, name) == before
    assert job._writes == {}


@pytest.mark.parametrize("name", [name for name in WRITABLE if not isinstance(WRITABLE[name], Text)])
def test_a_number_that_c_cannot_hold_is_refused(name: str) -> None:
    """A number out of range raises ValueError with field, value and limits, and nothing is written."""
    job = FakeJob()
    for value in (-(1 << 70), 1 << 70):
        with pytest.raises(ValueError, match=rf"^{name}( \(.*\))? takes .*{value}"):
            setattr(job, name, value)
    assert job._writes == {}


@pytest.mark.parametrize("name", [name for name in FIELDS if name not in WRITABLE])
def test_what_is_read_only_says_so(name: str) -> None:
    """Writing a read-only field raises AttributeError."""
    with pytest.raises(AttributeError, match=rf"^job\.{name} is read-only$"):
        setattr(FakeJob(), name, 1)


# Each kind.


@given(st.sampled_from(of_kind(Text)), texts)
def test_texts(name: str, text: str) -> None:
    """Every text that C can hold is read as it was written, including bytes that are not UTF-8."""
    round_trip(name, text)
    round_trip(name, text + "\udcff")


@pytest.mark.parametrize("name", [name for name in WRITABLE if isinstance(WRITABLE[name], Text)])
def test_texts_hold_no_nul(name: str) -> None:
    """A NUL byte, at which C would cut the text, is refused with the field's name."""
    with pytest.raises(ValueError, match=f"^{name} must not hold a NUL byte"):
        setattr(FakeJob(), name, "a\0b")


def test_an_empty_text_clears() -> None:
    """In a submission, "" means unset; in an update, it tells Slurm to clear the field."""
    for hook, expected in (("job_submit", None), ("job_modify", b"")):
        job = FakeJob(account="physics")
        view = view_of(job, hook)
        view.account = ""
        assert view.account == (None if hook == "job_submit" else "")
        view.commit()
        assert raw(job, "account") == expected


@given(st.sampled_from(of_kind(Number)), st.data())
def test_numbers(name: str, data: st.DataObject) -> None:
    """Numbers of each width, None and UNLIMITED are read as written; the two largest values are not numbers."""
    bits = WRITABLE[name].bits
    round_trip(name, data.draw(st.none() | st.just(UNLIMITED) | st.integers(0, NO_VAL[bits] - 1)))
    for wrong in (-1, NO_VAL[bits], INFINITE[bits], INFINITE[bits] + 1):
        with pytest.raises(
            ValueError, match=rf"^{name}( \(.*\))? takes 0 to {NO_VAL[bits] - 1}, None or UNLIMITED, not {wrong}$"
        ):
            setattr(FakeJob(), name, wrong)


@given(st.sampled_from(of_kind(Plain)), st.data())
def test_plain_numbers(name: str, data: st.DataObject) -> None:
    """In fields where every value is a number, the largest value is also a number."""
    bits = WRITABLE[name].bits
    round_trip(name, data.draw(st.sampled_from([0, INFINITE[bits], NO_VAL[bits]]) | st.integers(0, INFINITE[bits])))
    with pytest.raises(ValueError, match=rf"^{name}( \(.*\))? takes 0 to {INFINITE[bits]}, not"):
        setattr(FakeJob(), name, INFINITE[bits] + 1)


@given(st.sampled_from(of_kind(Time)), st.integers(0, (1 << 63) - 1))
def test_times(name: str, value: int) -> None:
    """A time is any value of time_t from 0 on."""
    round_trip(name, value)
    for wrong in (-1, 1 << 63):
        with pytest.raises(ValueError, match=rf"^{name}( \(.*\))? takes .*not {wrong}$"):
            setattr(FakeJob(), name, wrong)


@given(st.sampled_from(of_kind(Offset)), st.integers(3 - NICE_OFFSET, NICE_OFFSET - 3))
def test_offsets(name: str, value: int) -> None:
    """A signed number is stored with NICE_OFFSET added, and never becomes the value that means unset."""
    round_trip(name, value)
    job = FakeJob()
    setattr(job, name, value)
    job.commit()
    assert raw(job, name) == value + NICE_OFFSET < NO_VAL[32]
    for wrong in (2 - NICE_OFFSET, NICE_OFFSET - 2):
        with pytest.raises(ValueError, match=rf"^{name}( \(.*\))? takes"):
            setattr(job, name, wrong)


@given(st.sampled_from(of_kind(Tagged)), st.data())
def test_two_meanings_of_one_member(name: str, data: st.DataObject) -> None:
    """Of memory per node or per CPU, and of cores or threads, writing one makes the other read as None."""
    row = WRITABLE[name]
    assert isinstance(row, Tagged)
    limit = row.tag - 3 if row.tagged else row.tag - 1
    value = data.draw(st.sampled_from([0, limit]) | st.integers(0, limit))
    job = FakeJob()
    setattr(job, name, value)
    (other,) = (twin for twin in of_kind(Tagged) if twin != name and WRITABLE[twin].members == row.members)
    assert (getattr(job, name), getattr(job, other)) == (value, None)
    with pytest.raises(ValueError, match=rf"^{name}( \(.*\))? takes 0 to {limit}, not {limit + 1}$"):
        setattr(job, name, limit + 1)
    setattr(job, other, 1)
    assert (getattr(job, name), getattr(job, other)) == (None, 1)


def test_memory_as_one_number() -> None:
    """pn_min_memory is the member with Slurm's own encoding."""
    job = FakeJob(min_mem_per_cpu=100)
    assert job.pn_min_memory == MEM_PER_CPU | 100
    job.pn_min_memory = 200
    assert (job.min_mem_per_cpu, job.min_mem_per_node) == (None, 200)


@given(st.sets(st.sampled_from(list(MailType))))
def test_flags(flags: set[MailType]) -> None:
    """A set of flags is the union of its names; a number is also accepted."""
    value = MailType(0)
    for flag in flags:
        value |= flag
    round_trip("mail_type", value)
    job = FakeJob(mail_type=int(value))
    assert isinstance(job.mail_type, MailType)
    for flag in MailType:
        assert (flag in job.mail_type) == (flag in flags)


def test_flags_that_nobody_knows_stay() -> None:
    """A bit of a later release survives reading and writing."""
    job = FakeJob(bitflags=1 << 60)
    assert job.bitflags is not None
    job.bitflags |= JobFlag.SPREAD_JOB
    assert applied(job).bitflags == 1 << 60 | JobFlag.SPREAD_JOB


def test_one_of_several() -> None:
    """A value with a name reads as the name; one without stays a number."""
    job = FakeJob(shared=1)
    assert job.shared is Shared.JOB_SHARED_OK
    job.shared = Shared.JOB_SHARED_NONE
    assert applied(job).oversubscribe is Shared.JOB_SHARED_NONE
    unknown: Any = 77
    job.shared = unknown
    assert applied(job).shared == 77
    with pytest.raises(ValueError, match=r"^shared takes Shared or None, as a number 0 to 65535; not 65534"):
        job.shared = NO_VAL[16]  # type: ignore[assignment]


@given(st.sampled_from(list(TaskDist)), st.sampled_from(list(TaskDistFlag)), st.booleans())
def test_parts_of_a_member_leave_each_other_alone(dist: TaskDist, flag: TaskDistFlag, first: bool) -> None:
    """task_dist and its flags share a number; writing one keeps the other, in either order."""
    job = FakeJob()
    for part in (first, not first):
        if part:
            job.task_dist = dist
        else:
            job.task_dist_flags = flag
    assert (job.task_dist, job.task_dist_flags) == (dist, flag)
    assert (applied(job).task_dist, applied(job).task_dist_flags) == (dist, flag)
    with pytest.raises(ValueError, match=r"^task_dist takes"):
        job.task_dist = 1 << 20  # type: ignore[assignment]


@pytest.mark.parametrize(("release", "prefix"), [("22.05", "gres:"), ("23.02", "gres:"), ("23.11", "gres/")])
def test_gres_may_be_written_without_a_prefix(release: str, prefix: str) -> None:
    """A value that older scripts assign to gres is converted to the form of tres_per_node in that release."""
    job = FakeJob(release=release)
    job.gres = "gpu:2,gres:fpga:1,gres/nic:1"
    nic = "gres/" if prefix == "gres/" else "gres:"
    assert job.tres_per_node == f"{prefix}gpu:2,gres:fpga:1,{nic}nic:1"
    job.gres = None
    assert job.tres_per_node is None


@pytest.mark.parametrize("field", ["tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task", "mem_per_tres"])
def test_tres_are_written_as_the_release_reads_them(field: str) -> None:
    """A list of TRES that was read and written is in the notation of the release."""
    for release, notation in (("22.05", "gres:gpu:a100:2"), ("24.11", "gres/gpu:a100=2")):
        job = FakeJob(release=release)
        setattr(job, field, "gres/gpu:a100=2")
        assert getattr(job, field) == notation


def test_aliases_are_the_same_field() -> None:
    """A value that is written under one name can be read under the other."""
    aliases = [
        (name, other)
        for name, row in FIELDS.items()
        for other, twin in FIELDS.items()
        if name < other and row.members == twin.members and type(row) is type(twin) and not isinstance(row, Tagged)
        if row.members and not isinstance(row, Flag)
    ]
    assert {"pack_job_offset", "oversubscribe", "ntasks_per_tres"} <= {name for pair in aliases for name in pair}
    for name, other in aliases:
        first: dict[str, Any] = {name: 1}
        second: dict[str, Any] = {other: 1}
        assert getattr(FakeJob(**first), other) == getattr(FakeJob(**second), name) == 1
    assert isinstance(FIELDS["gres"], Gres)


def test_nobody_is_none() -> None:
    """The user of a request is unset if it names none, NO_VAL or nobody."""
    for number in (NO_VAL[32], AUTH_NOBODY):
        job = FakeJob()
        struct_of(job).put({"user_id": number})
        assert job.user_id is None
    assert FakeJob(user_id=0).user_id == 0


# Fields that only records have.


def test_exit_status() -> None:
    """The exit status of a job is Slurm's number, split into its parts."""
    status = FakeRecord(exit_code=0x0300).exit_code
    assert status == 0x0300
    assert isinstance(status, ExitStatus)
    assert (status.exit_code, status.signal, status.core_dumped) == (3, None, False)
    assert repr(status) == "<ExitStatus exit code 3>"
    killed = ExitStatus(0x8B)
    assert (killed.exit_code, killed.signal, killed.core_dumped) == (None, 11, True)


def test_bits_are_booleans() -> None:
    """One bit of a member reads as True or False, whatever the others are."""
    partition = fake_partitions({"debug": {"flags": 0x80, "flag_default": True}})["debug"]
    assert partition.flag_default is True
    assert partition.flags == 0x81
    reservation = fake_reservations({"maint": {"full_nodes": True}})["maint"]
    assert (reservation.full_nodes, reservation.flags_set_node) == (True, False)


def test_arrays_of_a_record() -> None:
    """An array reads as a list of texts, a copy."""
    record = FakeRecord(argv=["job.sh", "\udcff"])
    assert record.argv == ["job.sh", "\udcff"]
    assert record.argv is not record.argv


def test_members_of_what_is_not_there_are_unset() -> None:
    """Fields of `details`, texts and numbers, read as None if a job has no details."""
    record = FakeRecord()
    members = [name for name in struct_of(record).raws if name.startswith("details.")]
    for name in members:
        del struct_of(record).raws[name]
    struct_of(record).put({})
    assert record.std_out is None
    assert record.min_cpus is None


def test_members_behind_two_pointers() -> None:
    """Fields of `details.mc_ptr` read as None if a job has none, and as their values if it has one of them."""
    record = FakeRecord()
    assert record.threads_per_core is record.ntasks_per_core is record.sockets_per_node is None
    assert record.min_cpus is None
    record = FakeRecord(threads_per_core=1, min_cpus=4)
    assert (record.threads_per_core, record.min_cpus) == (1, 4)
    packed = struct_of(record)
    assert packed.is_set("details")
    assert packed.is_set("details.mc_ptr")


# Releases.


@pytest.mark.parametrize(
    ("field", "release", "message"),
    [
        ("container_id", "22.05", "job.container_id exists since Slurm 23.02; this is 22.05"),
        ("segment_size", "23.11", "job.segment_size exists since Slurm 24.05; this is 23.11"),
        ("power_flags", "24.05", "job.power_flags exists until Slurm 23.11; this is 24.05"),
    ],
)
def test_what_a_release_lacks_says_since_or_until_when(field: str, release: str, message: str) -> None:
    """The error for reading or writing a field that this release lacks says in which releases it exists."""
    job = FakeJob(release=release)
    for use in (lambda: getattr(job, field), lambda: setattr(job, field, None)):
        with pytest.raises(AttributeError) as caught:
            use()
        assert str(caught.value) == message
    assert not hasattr(job, field)
    assert field not in dir(job)


def test_releases_that_have_a_field_have_it() -> None:
    """since and until are the first and the last release that have the field."""
    assert FakeJob(release="23.02").container_id is None
    assert FakeJob(release="23.11").power_flags is None
