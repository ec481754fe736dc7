# SPDX-License-Identifier: GPL-2.0-or-later
"""The requests that a script is tried with: made from what it reads and compares, or recorded ones."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from slurmhooks.values import UNLIMITED
from slurmhooks.wire.message import MessageError, Packed, decode
from slurmhooks.workshop.adopt import lua_names
from slurmhooks.workshop.adopt.answers import TrialRequest
from slurmhooks.workshop.testing.job_submit import missing_fields

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmhooks.workshop.recorded import Contents
    from slurmhooks.workshop.testing.job_submit import FakeStruct

TEXTS: dict[str, tuple[str, ...]] = {
    "partition": ("debug", "long", "debug,long", "nowhere"),
    "account": ("physics", "Physics"),
    "qos": ("normal", "long"),
    "tres_per_node": ("gres/gpu:1", "gres/gpu:tesla:2", "gres/shard:1"),
    "tres_per_job": ("gres/gpu:4",),
    "tres_per_task": ("gres/gpu:1",),
    "tres_per_socket": ("gres/gpu:1",),
    "features": ("intel", "intel&ib", "a|b"),
    "licenses": ("matlab:1", "lscratch:2"),
    "script": ("#!/bin/sh\n#SBATCH -n 1\nsrun hostname\n",),
    "mail_user": ("alice@example.org",),
    "dependency": ("afterok:1",),
    "reservation": ("maint",),
    "work_dir": ("/home/alice", "/scratch/alice"),
    "std_out": ("/home/alice/out",),
    "array_inx": ("1-10%2",),
    "user_name": (),
}
"""Texts for fields that have a form; all others get ``x``."""
NUMBERS = (0, 1, 2, 7, 60, 1440, 30_000)
MOST = 400
SEED = 20


def generated(
    script_uses: set[str], constants: list[Any], release: str, hook: str, count: int = MOST
) -> list[TrialRequest]:
    """Return ``count`` requests at most for a script, with fields of the request, texts and numbers that it uses."""
    lacks = missing_fields(release)
    fields = sorted({lua_names.same_as(name) for name in script_uses if lua_names.takes_values(name)} - lacks - NOT_SET)
    chosen = {name: list(_values(name, constants)) for name in fields}
    base: dict[str, Any] = {} if hook == "job_modify" else {"name": "job", "work_dir": "/home/alice", "min_cpus": 1}
    requests: list[TrialRequest] = [TrialRequest(hook, "nothing given", release=release, fields=base)]
    requests.append(TrialRequest(hook, "by root", uid=0, release=release, fields=base))
    for name, values in chosen.items():
        requests += [
            TrialRequest(hook, f"{name}={_shown(value)}", release=release, fields=_fit({**base, name: value}))
            for value in values
        ]
    chance = random.Random(SEED)
    while fields and len(requests) < count:
        some = chance.sample(fields, chance.randint(min(2, len(fields)), min(len(fields), 8)))
        given = {name: chance.choice(chosen[name]) for name in some if chosen[name]}
        label = ", ".join(f"{name}={_shown(value)}" for name, value in given.items())
        requests.append(TrialRequest(hook, label, release=release, fields=_fit({**base, **given})))
    return requests[:count]


NOT_SET = {
    *("user_id", "group_id", "argc", "spank_job_env_size", "pn_min_memory", "user_name", "bitflags", "mail_type"),
    *("site_factor", "alloc_node", "default_account", "default_qos", "assoc_comment", "assoc_qos", "begin_time"),
    *("end_time", "req_context", "cpu_freq_min", "cpu_freq_max", "cpu_freq_gov", "het_job_offset", "shared"),
    *("oversubscribe", "nice", "reboot", "requeue", "immediate", "contiguous", "delay_boot"),
}
"""Fields that are not varied."""


def _values(name: str, constants: list[Any]) -> Iterator[Any]:
    if lua_names.kind_of(name) == "text":
        texts = [text for text in constants if isinstance(text, str) and 0 < len(text) < 40 and text.isprintable()]
        plain = [text for text in texts if not set(text) & set("%^$\n")]
        yield from TEXTS.get(name, ("x",))
        yield from plain[:30]
        return
    numbers = {int(number) for number in constants if isinstance(number, float) and 0 <= number < 30_000}
    around = {number + more for number in numbers for more in (-1, 0, 1) if number + more >= 0}
    yield from sorted(around | set(NUMBERS))[:40]
    if name in ("time_limit", "time_min"):
        yield UNLIMITED


def _fit(fields: dict[str, Any]) -> dict[str, Any]:
    """Leave out what cannot be together."""
    if "min_mem_per_cpu" in fields and "min_mem_per_node" in fields:
        fields = {name: value for name, value in fields.items() if name != "min_mem_per_node"}
    return fields


def _shown(value: object) -> str:
    text = str(value)
    return repr(text) if " " in text or "\n" in text or len(text) > 30 else text


def recorded(contents: Contents, release: str, count: int) -> Iterator[TrialRequest]:
    """Yield requests of a recording, at most a number of them, evenly spread."""
    from slurmhooks.workshop.testing.job_submit import FakeJob, struct_of

    current: FakeStruct = struct_of(FakeJob(release=release))
    total = 0
    for offset in contents.offsets:
        for item in contents.requests(offset):
            if total >= count:
                return
            try:
                tables = contents.of(item.request)
                message = decode(item.request, tables)
                packed = Packed(tables["job"], message.items[0][1])
            except (MessageError, IndexError, KeyError):
                continue
            total += 1
            absent = {tables["job"].members[place].name for place in packed.deferred()}
            members = {
                member.name: packed.raw(member.name)
                for member in tables["job"].members
                if member.name in current.raws and member.name not in absent
            }
            yield TrialRequest(item.hook, item.id, message.sender, release, members=members, unknown=frozenset(absent))
