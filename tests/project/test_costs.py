# SPDX-License-Identifier: GPL-2.0-or-later
"""Each reader of users' texts takes time and memory in proportion to the length of the text."""

import contextlib
import json
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import slurmhooks
from slurmhooks.burst_buffer.model import BurstBuffer
from slurmhooks.cli import decisions
from slurmhooks.cli_filter import words
from slurmhooks.errors import Reject, SlurmhooksError
from slurmhooks.job_submit import times
from slurmhooks.job_submit.strings import (
    ArraySpec,
    Dependencies,
    NotationError,
    Tres,
    expand_nodes,
    mem_str_to_mib,
    time_str2mins,
)
from slurmhooks.log import visible
from slurmhooks.lua import conversions, finding, slurm_table
from slurmhooks.lua.runtime import LuaState
from slurmhooks.recording.request import decode_recorded
from slurmhooks.rules.ready.checked import Forbid, Require
from slurmhooks.rules.ready.details import MailAddress, WorkDirectory
from slurmhooks.rules.ready.licenses import Licenses
from slurmhooks.rules.request import Request, Site
from slurmhooks.scrun import oci
from slurmhooks.scrun.configs import merge_environment, rootless
from slurmhooks.scrun.mount_points import inside
from slurmhooks.testing import FakeJob, FakeSpank
from slurmhooks.wire.message import Message, Packed, decode, pack
from slurmhooks.wire.protocol import Type
from slurmhooks.workshop.accounting.assumed import ASSUMABLE
from slurmhooks.workshop.accounting.export import SCRIPTS
from slurmhooks.workshop.accounting.saved import Saved
from slurmhooks.workshop.accounting.submission import Computing, kept
from slurmhooks.workshop.cli.tally import Tally
from slurmhooks.workshop.testing import sbatch
from slurmhooks.workshop.testing.answers import read_answer
from slurmhooks.workshop.testing.tables import tables_of
from tests.cluster.turns import moved_from
from tests.costs import cost, processor_time
from tests.unit.workshop.accounting.outputs import output

pytestmark = pytest.mark.slow
STAY = {"test_no_reader_is_forgotten", "test_texts_of_users_cost_no_more_than_their_length"}

Read = Callable[[str], object]
TABLES = tables_of("24.11")
OUTPUT = {"JobID": "1"}


def script(text: str) -> None:
    """Read a batch script."""
    sbatch.submission("job.sh", f"#!/bin/sh\n{text}\n", [], [])


def directives(text: str) -> None:
    """Read the directives of a batch script for a burst buffer."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(f"#!/bin/sh\n{text}")
        file.flush()
        assert BurstBuffer(script_path=file.name).directives() is not None


def options(text: str) -> None:
    """Read options of a command line."""
    sbatch.apply(text.split("\0"), {}, [])


def config(text: str) -> None:
    """Read a config.json with a list of texts, change it, and write it."""
    raw = f'{{"ociVersion":"1","process":{{"cwd":"/","env":[{text}""]}},"mounts":[]}}'
    content = oci.parse(raw.encode("utf-8", "surrogateescape"), "config.json")
    rootless(content, user_id=1, group_id=1)
    merge_environment(content, {f"N{index}": "x" for index in range(len(text) // 16)})
    oci.encoded(content, "config.json")


def mounts(text: str) -> None:
    """Read the mounts of a config.json."""
    rootless(oci.parse(f'{{"ociVersion":"1","mounts":[{text[:-1]}]}}'.encode(), "config.json"), user_id=1, group_id=1)


@cache
def lua() -> tuple[LuaState, Any]:
    """Return a state, and a function that converts a text in each way that scripts have."""
    state = LuaState(next(version for version in ("5.4", "5.3", "5.1") if finding.is_installed(version)))
    state.globals[b"slurm"] = table = state.table()
    slurm_table.install_conversions(state, table)
    source = "return function(s) pcall(slurm.from_json, s) end"
    return state, state.call(state.compile(source, "=costs"))


def json_in_lua(text: str) -> None:
    """Read JSON in a Lua script."""
    state, convert = lua()
    state.call(convert, text.encode())


def numbers_of_lua(text: str) -> None:
    """Convert a text to a number and a time, as Lua scripts do."""
    conversions.as_number(lua()[0], text.encode())
    slurm_table.time_str2mins(text.encode())


def environment(text: str) -> None:
    """Go through the environment of a request, change it, and write it."""
    names = text.split(",")
    job = FakeJob(script="#!/bin/sh\n", environment=dict.fromkeys(filter(None, names), "x"))
    for name in job.environment:
        job.environment[name] += "y"
    assert dict(job.environment)


def argv(text: str) -> None:
    """Go through the arguments of a batch script."""
    job = FakeJob(argv=text.split(","))
    assert list(job.argv)
    assert job.argv.index("x") == 0


def spank_environment(text: str) -> None:
    """Go through the environment of a job in slurmstepd."""
    spank = FakeSpank("remote", env={f"N{index}": "x" for index in range(len(text) // 2)})
    assert dict(spank.env)


def features(text: str) -> None:
    """Apply rules to --constraint and --licenses."""
    job = FakeJob(features=text, licenses=text)
    for rule in (Require(field="features", allowed=("no",)), Licenses(allowed=("a*",), most={"a": 1 << 30})):
        with contextlib.suppress(Reject):
            rule.check(Request(job, 1000, Site()))


def details(text: str) -> None:
    """Apply rules to the name, the reservation, the folder and the address of a job."""
    job = FakeJob(name=text, reservation=text, work_dir=text, mail_user=text)
    rules = (
        Forbid(field=("name",), forbidden=("no", "*a*b*c*")),
        Forbid(field=("reservation",), allowed=("*",)),
        WorkDirectory(outside=("/home",)),
        MailAddress(domains=("*.a.*.org",)),
    )
    for rule in rules:
        with contextlib.suppress(Reject):
            rule.check(Request(job, 1000, Site()))


def command_line(text: str) -> None:
    """Split a command line into words, where Slurm has joined them."""
    line = text.split("\0")
    words.split(" " + " ".join(line[1:]), line)
    words.split(" y" + " ".join(line[1:]), line)


def message(text: str) -> None:
    """Read a request, its structs, and an answer."""
    raw = text.encode()
    request = Message(
        Type.REQUEST, 0, 1, 1, ((0, pack(TABLES.tables[0], {"environment": raw.split(b","), "name": raw})),)
    )
    found = decode(request.encode(TABLES), TABLES)
    packed = Packed(TABLES.tables[0], found.items[0][1])
    assert packed.raw("environment")
    assert packed.raw("name")
    items = tuple((TABLES.tables[0].places["name"], b"x\0") for _ in range(len(raw) // 16))
    read_answer(TABLES.tables[0], decode(Message(Type.ANSWER, items=items).encode(TABLES), TABLES))


def recorded(text: str) -> None:
    """Read a recorded request."""
    decode_recorded(text.encode("latin-1"))


def said_by_slurm(text: str) -> None:
    """Read the output of Slurm's commands and the decision log about a job."""
    decisions.described(text)
    decisions.accounted(text)
    decisions._parse(json.dumps({"text": text}).encode())


def from_accounting(text: str) -> None:
    """Read the record of a job whose command line, name and script are a text, and compute its request."""
    columns = {"SubmitLine": f"sbatch {text}x", "JobName": text, "Comment": text, "Account": text, "Submit": "1"}
    record = {**OUTPUT, **{name: value.replace("\0", "") for name, value in columns.items()}}
    with tempfile.TemporaryFile() as file:
        file.write(output([record], scripts={"1": text.replace("\0", "") + "\n"}))
        file.flush()
        saved = Saved(file.fileno())
    computing = Computing(saved.release, frozenset({"options", *ASSUMABLE}))
    for job in saved.part(range(saved.jobs)):
        computing.request(job, kept(saved.kept(SCRIPTS, job["JobID"]), None))


def letters(text: str) -> None:
    """Read the record of a job whose command line has many short options in one word."""
    from_accounting(f"-{text} ")


def log(text: str) -> None:
    """Search, list and count a decision log in which a user has written a text."""
    line = json.dumps({"time": "2027-05-01T12:00:00+00:00", "event": "decision", "hook": "job_submit", "name": text})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "job_submit.jsonl")
        path.write_bytes(line.encode() + b"\n" + text.encode("utf-8", "surrogateescape") + b"\n")
        found = decisions.Log(path.parent)
        found.find(lambda _: True, "0123456789ab")
        tally = Tally()
        for content in found.contents(None, datetime(2027, 5, 1, tzinfo=UTC)):
            tally.add(content)
        assert list(found.find(lambda _: True)) or not text


READERS: list[tuple[Read, list[str]]] = [
    (expand_nodes, ["n[0-65535]", "n[0-65535],", "n[0-65535,0-65535]", "n[1-2]", "n[1]", "n", "[", "[[", "n[1],"]),
    (expand_nodes, ["n[0-9],n[", "9"]),
    (Tres.parse, ["(", "(a", "(a)", "gpu:1,", ":", "=", "9"]),
    (lambda text: len(ArraySpec.parse(text[:-1])), ["0-4000000,", "0-9,5-20:3,"]),
    (ArraySpec.parse, ["[", "1%", "9"]),
    (Dependencies.parse, ["afterok:1,", "afterok:1:", "_[1]", "9"]),
    (time_str2mins, ["1:", "1-", "9"]),
    (times.seconds, ["1:", "1-", "9"]),
    (mem_str_to_mib, ["G", "9"]),
    (lambda text: visible(text, "\n\t", 4096), ["\x1b[2J", "\udcff", "\n"]),
    (lambda text: visible(text), ["\x1b[2J", "é"]),
    (script, ["#SBATCH -n1\n", "#SBATCH --gpus=1\n", "#SBATCH\n", "#SBATCH 'a", "#SBATCH --no", "\\", "#", "\n", "x "]),
    (script, ["#SBATCH --nodes=1,2,\n", "#SBATCH --mail-type=END,\n", "#SBATCH --signal=RB:1\n", "\u2028", "\r"]),
    (directives, ["#BB_LUA x \\\n", "#BB_LUA x\n", "#BB_LUA ", "\\", "#\n", "\n"]),
    (options, ["-HHHHkv\0", "--signal=R\0", "--nodes=1,2,3-4:2\0", "x", "--gpus=1\0", "--gres=a,b\0"]),
    (config, ['"A=1",', '"x","é",', "[", '"\\ud800",', "1,", '{"a":']),
    (mounts, ['{"destination":"/a","options":["uid=1"]},']),
    (lambda text: inside("/nowhere", text), ["../", "a/../", "./", "/", "a/"]),
    (json_in_lua, ["[", '{"a":', '"x",', "1", '"', "\\u0041", " ", "-", "true"]),
    (numbers_of_lua, ["9", "0x", "1e", " ", "-", "1:"]),
    (environment, ["A{},"]),
    (argv, ["x,"]),
    (spank_environment, ["x"]),
    (features, ["a&", "a*1|", "a:1,", "[", ":", "a", " ", "a:"]),
    (details, ["a/../", "../", "/", "a/", ",", "a,", "x@b.a.org,", "@", "a.", "ab", " ", "\u2800", "\ufdfa", "é"]),
    (command_line, ["x\0", "x x\0", ":\0", "/x\0", "\0"]),
    (message, ["A=1,", ",", "x"]),
    (recorded, ["\4\0\0\0abcd", "\0\0\0\0", "\xff"]),
    (
        from_accounting,
        ["-N 1 ", "--comment=a ", "a ", "\n", "--wrap=a ", "Batch Script for 1", "1", "-", "--gpus=", "?"],
    ),
    (log, ["a", "\n", '"time":"2027', "{", "0123456789ab", "\\"]),
    (said_by_slurm, ["JobName=a ", "a=", " a", "(1)", "UserId=x(1", "x"]),
]


def repeated(unit: str, count: int) -> str:
    """Repeat a unit; "{}" in it is the number of the repetition."""
    return "".join(unit.format(index) for index in range(count)) if "{}" in unit else unit * count


@pytest.mark.parametrize(
    ("read", "units"), moved_from(8, READERS), ids=[getattr(read, "__name__", "") for read, _ in READERS]
)
def test_texts_of_users_cost_no_more_than_their_length(read: Read, units: list[str]) -> None:
    """Ten times as much text costs at most ten times as much, and raises at most the reader's own error."""
    for unit in units:
        is_linear(read, unit)


def is_linear(read: Read, unit: str) -> None:
    """Let a reader read short and long texts of one unit."""

    def reading(length: int, times: int = 1) -> Callable[[], None]:
        text = repeated(unit, length // len(unit) * times)

        def run() -> None:
            with contextlib.suppress(SlurmhooksError, NotationError, sbatch.SbatchError):
                read(text)

        return run

    reading(300)()  # do imports and other one-time work first
    steps, peak = cost(reading(300))
    more_steps, more_peak = cost(reading(300, 10))
    assert more_steps <= 10 * steps + 100, unit
    assert more_peak <= 11 * peak + 400_000, unit
    # More than ten, because short texts fit into the processor's caches; quadratic work would take a hundred times as
    # long.
    assert any(
        processor_time(reading(4000, 10)) <= 30 * max(processor_time(reading(4000)), 0.0005) for _attempt in range(3)
    ), unit


GREAT = [(from_accounting, unit, 160_000) for unit in ("-N 1 ", "--comment=a ", "--wrap=a ", "\n", "1")]
GREAT += [(letters, "H", 1_000_000)]
GREAT += [(directives, f"#BB_LUA {'x' * 90}{end}\n", 1_000_000) for end in ("", "\\")]
"""Readers whose work is done in C, where no lines can be counted, with units and long texts of them."""


@pytest.mark.parametrize(
    ("read", "unit", "most"), GREAT, ids=[f"{read.__name__}-{unit[-14:]!a}" for read, unit, _ in GREAT]
)
def test_long_texts_cost_no_more_than_their_length(read: Read, unit: str, most: int) -> None:
    """Eight times as much text takes at most about eight times as long: squared, it would be 64."""

    def reading(length: int) -> Callable[[], object]:
        text = unit * (length // len(unit))
        return lambda: read(text)

    reading(1000)()
    assert any(
        processor_time(reading(most)) <= 20 * max(processor_time(reading(most // 8)), 0.002) for _attempt in range(3)
    )


READ_BY: dict[str, str] = {
    "accounting.assumed": "from_accounting",
    "accounting.saved": "from_accounting",
    "accounting.script_options": "from_accounting",
    "accounting.words": "from_accounting",
    "accounting.submission": "from_accounting",
    "accounting.export": "",
    "accounting.known": "",
    "accounting.recording": "",
    "cli.decisions": "log",
    "cli.log_lines": "log",
    "cli.tally": "log",
    "recording.request": "recorded",
    "recording.file": "recorded",
    "workshop.recorded": "recorded",
    "recording.page": "",
    "recording.recorder": "",
    "wire.message": "message",
    "testing.answers": "message",
    "wire.tables": "",
    "wire.protocol": "",
}
"""The modules that read what others have written, each with its reader above; empty: it reads only our own."""


def test_no_reader_is_forgotten() -> None:
    """A new module of the packages that read others' texts joins the list, with a reader whose cost is tested."""
    root = Path(slurmhooks.__file__).parent
    present = {
        f"{name}.{path.stem}" for name in ("accounting", "recording", "wire") for path in root.rglob(f"{name}/*.py")
    }
    assert {name for name in present if not name.endswith("__init__")} <= READ_BY.keys()
    names = {getattr(read, "__name__", "") for read, _ in READERS}
    assert set(READ_BY.values()) - {""} <= names
