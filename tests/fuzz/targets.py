# SPDX-License-Identifier: GPL-2.0-or-later
"""The targets that are written in Python: each takes bytes, and raises only for a finding."""

import contextlib
import itertools
import os
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from slurmhooks.cli import decisions
from slurmhooks.config import model as config
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.fields.rows import Gres, Text
from slurmhooks.files import plugstack, slurm_conf, trusted
from slurmhooks.job_submit import strings, times
from slurmhooks.job_submit.strings import arrays, nodes
from slurmhooks.jobcomp import frames
from slurmhooks.jobcomp.segment import Record, Segment
from slurmhooks.log import visible
from slurmhooks.lua import finding, job_fields, slurm_table
from slurmhooks.lua.runtime import LuaState, ScriptError
from slurmhooks.recording.file import FIRST_LINE, Kind, RecordingError, compressed, encoded, split
from slurmhooks.rules import catalogue
from slurmhooks.rules.lines import LINES
from slurmhooks.scrun import oci
from slurmhooks.scrun.configs import merge_environment, rootless
from slurmhooks.scrun.errors import BundleError
from slurmhooks.site import manifest
from slurmhooks.wire.message import MessageError, Packed, decode
from slurmhooks.wire.tables import Member, Table, Tables
from slurmhooks.workshop.recorded import Contents
from slurmhooks.workshop.testing import sbatch
from slurmhooks.workshop.testing.answers import read_answer
from slurmhooks.workshop.testing.sbatch.options import OPTIONS
from slurmhooks.workshop.testing.tables import tables_of

Target = Callable[[bytes], object]
RELEASES = ((22, 5), (24, 11), (26, 5))


def text_of(data: bytes) -> str:
    """Return bytes as the text that handlers get."""
    return data.decode("utf-8", "surrogateescape")


@cache
def _memory() -> int:
    return os.memfd_create("fuzz")


def file_of(data: bytes) -> int:
    """Return a descriptor of a file with this content: always the same file, since to make one takes long."""
    os.ftruncate(_memory(), 0)
    os.pwrite(_memory(), data, 0)
    return _memory()


@contextlib.contextmanager
def _replaced(owner: object, name: str, value: object) -> Iterator[None]:
    """Replace an attribute, as mock.patch.object(), which takes as long as many a target."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


# What users submit.


# Long lists take milliseconds, and reach no other code than short ones.
@_replaced(nodes, "MOST_NODES", 1000)
@_replaced(arrays, "LAST_TASK", 1000)
def notations(data: bytes) -> None:
    """Read a notation of Slurm; the result can be written, and reading it again gives the same value."""
    choice, text = data[:1] or b"\0", text_of(data[1:])
    readers: list[Callable[[str], Any]] = [
        strings.Tres.parse,
        strings.ArraySpec.parse,
        strings.Dependencies.parse,
        strings.expand_nodes,
        strings.time_str2mins,
        strings.mem_str_to_mib,
        times.seconds,
    ]
    read = readers[choice[0] % len(readers)]
    try:
        value = read(text)
    except strings.NotationError:
        return
    if isinstance(value, strings.Tres | strings.Dependencies):
        assert type(value).parse(str(value)) == value
    elif isinstance(value, strings.ArraySpec):
        assert strings.ArraySpec.parse(str(value)) == value
        assert len(value.tasks) == len(value)
    elif isinstance(value, list):
        assert strings.expand_nodes(strings.collapse_nodes(value)) == value


def log_lines(data: bytes) -> None:
    """Escape a text; the result has no characters that control a terminal, and does not exceed its limit."""
    first = data[0] if data else 0
    limit, kept = 64 + first, "\n\t" if first & 1 else ""
    shown = visible(text_of(data), kept, limit)
    assert len(shown.encode()) <= limit
    assert shown.translate(dict.fromkeys(map(ord, f"{kept}\u00a0\u202f\u3000"))).isprintable()
    assert visible(shown, kept) == shown


def sbatch_script(data: bytes) -> None:
    """Read a script and options as sbatch does."""
    script, _, options = text_of(data).partition("\0")
    words = options.split("\0") if options else []
    # This option would read files of this machine.
    files, OPTIONS["bbf"] = OPTIONS["bbf"], OPTIONS["comment"]
    try:
        sbatch.submission("job.sh", script, words, [], work_dir="/home/alice", environment={"USER": "alice"})
    except sbatch.SbatchError:
        pass
    finally:
        OPTIONS["bbf"] = files


def oci_config(data: bytes) -> None:
    """Read config.json, change it as handlers do, write it, and read the result again."""
    try:
        content = oci.parse(data, "config.json")
    except BundleError:
        return
    rootless(content, user_id=1000, group_id=1000)
    merge_environment(content, {"A": "1", "caf\udce9": "\udcff"})
    with contextlib.suppress(BundleError):
        again = oci.parse(oci.encoded(content, "config.json"), "config.json")
        assert again.to_json() == content.to_json()


@cache
def _lua() -> tuple[LuaState, Any]:
    """Return a state, and its function that decodes and encodes JSON."""
    state = LuaState(next(version for version in ("5.4", "5.3", "5.1") if finding.is_installed(version)))
    state.globals[b"slurm"] = table = state.table()
    slurm_table.install_conversions(state, table)
    source = """
        return function(text)
            local fine, value = pcall(slurm.from_json, text)
            if fine then
                local written, again = pcall(slurm.to_json, value)
                if written and type(again) ~= 'string' then error('not a text: ' .. tostring(again)) end
            end
        end
    """
    return state, state.call(state.compile(source, "=fuzz"))


@cache
def _encoders() -> list[tuple[int | None, Callable[[Any], Any]]]:
    found = []
    for release in RELEASES:
        fields = job_fields.names("job_desc", release)
        for name in sorted(job_fields.writable(release)):
            bits = None if isinstance(fields[name], Text | Gres) else getattr(fields[name], "bits", 64)
            found.append((bits, job_fields.encoder(fields[name], release)))
    return found


def lua_bridge(data: bytes) -> None:
    """Take a value from Lua into a field of a job, and JSON from Python into Lua and back."""
    state, both_ways = _lua()
    bits, encode = _encoders()[sum(data[:2]) % len(_encoders())]
    number = struct.unpack("<d", data[2:10].ljust(8, b"\0"))[0]
    for value in (number, float(int.from_bytes(data[2:10], "little")), -number):
        if bits is not None:
            assert 0 <= encode(value) < 1 << bits
    raw = encode(data.partition(b"\0")[0]) if bits is None else None
    assert raw is None or isinstance(raw, bytes)
    with contextlib.suppress(ScriptError):
        state.call(both_ways, data)


# Messages of workers and slurmctld, and files.

TABLES = tables_of("24.11")
HEADER = struct.Struct("=4sIQIIII")


def wire_message(data: bytes) -> None:
    """Read a message of slurmctld or of a worker, with each member of its structs."""
    as_it_is, data = bool(data[:1] and data[0] & 1), data[1:]
    if not as_it_is:
        _, kind, _, _, first, second, third = HEADER.unpack(data[: HEADER.size].ljust(HEADER.size, b"\0"))
        head = HEADER.pack(b"SHW1", kind % 4 + 1, TABLES.identity, max(len(data), HEADER.size), first, second, third)
        data = head + data[HEADER.size :]
    with contextlib.suppress(MessageError):
        message = decode(data, TABLES)
        again = decode(message.encode(TABLES), TABLES)
        assert again == message
        for tag, value in message.items:
            with contextlib.suppress(MessageError):
                _read_struct(tag, value)
        read_answer(TABLES.tables[0], message)


def _read_struct(tag: int, value: bytes) -> None:
    packed = Packed(TABLES.tables[tag % len(TABLES.tables)], value)
    packed.deferred()
    for member in packed.table.members:
        with contextlib.suppress(MessageError):
            packed.raw(member.name)


RECORDED = Tables("24.11.5", "testing", (Table("job", (Member("account", "text", True), Member("argv", "texts"))),))
RECORDING = FIRST_LINE + encoded(Kind.TABLES, RECORDED.text.encode())


def recording(data: bytes) -> None:
    """Read a recording of whole frames, whose content is the input."""
    parts = data.split(b"\xfe\xfe")
    frames = [RECORDING]
    for part in parts:
        kind = part[0] % 7 + 1 if part else 1
        items = kind in (Kind.REQUESTS, Kind.ROWS, Kind.FACTS)
        with contextlib.suppress(RecordingError):
            frames.append(encoded(Kind(kind), compressed(split(part[1:])) if items else part[1:]))
    raw = b"".join(frames) if not data.startswith(b"slurmhooks") else data
    with contextlib.suppress(RecordingError, MessageError):
        contents = Contents(file_of(raw))
        assert isinstance(contents.remarks, list)
        for offset in contents.offsets:
            for request in contents.requests(offset):
                decode(request.request, contents.of(request.request))


def spool_segment(data: bytes) -> None:
    """Read a segment of the spool of jobs that have ended, and lines of its state file."""
    segment, _, state = data.partition(b"\xfe\xfe")
    found = list(frames.frames(segment, frames.key_of(segment) or b"key"))
    assert all(one.end <= other.position for one, other in itertools.pairwise(found))
    record = Record(None, frames.Frame("job_end", 1, 1, 0, 48, 0))  # type: ignore[arg-type]
    reader = Segment.__new__(Segment)
    reader.records, reader._file, reader._state = {0: record}, -1, -1
    for line in state.split(b"\n"):
        reader._apply(line)


def decision_lines(data: bytes) -> None:
    """Read lines of the decision log, and the output of Slurm's commands about a job."""
    text = text_of(data)
    for line in data.split(b"\n"):
        decisions._parse(line)
    decisions.described(text)
    decisions.accounted(text)


# What administrators write.


def _file(data: bytes) -> contextlib.AbstractContextManager[None]:
    """Make every file that is read contain the input."""
    return _replaced(trusted, "read", lambda path: data)


def configuration(data: bytes) -> None:
    """Read slurmhooks.toml, with the ready-made rules in it."""
    path = Path("/slurmhooks.toml")
    with contextlib.suppress(ConfigError), _file(data):
        catalogue.of_config(path, config.read(path))


def slurm_files(data: bytes) -> None:
    """Read slurm.conf, a line of plugstack.conf, and a manifest."""
    # An Include in the input would read files of this machine.
    path = f"/proc/self/fd/{file_of(re.sub(rb'(?i)include', b'', data))}"
    for key in ("SlurmUser", "PlugStackConfig"):
        slurm_conf.value(path, key)
    words = text_of(data).split()
    with contextlib.suppress(LoadError):
        plugstack.split(words)
        plugstack.fails_on_error(words)


def python_manifest(data: bytes) -> None:
    """Read a manifest in the format that C and Python share."""
    manifest.records(data, ["a b"])


ALL: list[Target] = [
    configuration,
    decision_lines,
    log_lines,
    lua_bridge,
    notations,
    oci_config,
    python_manifest,
    recording,
    sbatch_script,
    slurm_files,
    spool_segment,
    wire_message,
]

LONGEST: dict[str, int] = {
    "decision_lines": 512,
    "log_lines": 512,
    "notations": 128,
    "recording": 512,
    "sbatch_script": 512,
    "wire_message": 4096,
}
"""The most bytes of an input, if not those of the others."""

TOKENS: dict[str, Sequence[bytes]] = {
    "configuration": b'[hooks]|paths|= [|"x"|]|[[rule]]|true|1979-05-27|1e999|[rules.modes."a:b"]|mode'.split(b"|")
    + [f'rule = "{name}"'.encode() for name in (*catalogue.RULES, *LINES)],
    "decision_lines": b' JobName=| UserId=a(| SubmitTime=|2026-11-22T10:00:00|{"|null|":|[|]|}|1e999'.split(b"|"),
    "lua_bridge": b'{"|"}|[|]|null|true|1e999|NaN|Infinity|\\ud800|\\u0000|":|99999999999999999999'.split(b"|"),
    "notations": b"gres/|gpu|:|=|(|)|[|]|-|,|%|?|+|_|afterok|singleton|mem|UNLIMITED|G|*|0-9".split(b"|"),
    "oci_config": b'{"|":|[|]|}|null|"process"|"mounts"|1e999|NaN|\\ud800|"linux"|"annotations"|true'.split(b"|"),
    "python_manifest": (b"line", b"%41", b"%", b"\n", b"end\n", b"log info 4096\n", b"source "),
    "recording": (b"\xfe\xfe", b'{"id":', b"}", b"[", b"\x08\0\0\0"),
    "sbatch_script": b"\n#SBATCH |--|--nodes=|--begin=|--signal=|--uid=|--mail-type=|now+|@|hetjob|\"|'|\\\\|\0".split(
        b"|"
    ),
    "slurm_files": b"\n|SlurmUser=|=|#|\\\\\n|config=|failonerror|init_failure_mode=|missing_options=".split(b"|"),
    "spool_segment": (b"SHS2", b"k" * 20, b"\xfe\xfe", b'[0,"', b'"]\n', b'"begun"', b"null", b"[" * 40),
    "wire_message": (b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x01\0\0\0\0\0\0\0"),
}
"""What the inputs of a target are made of."""
