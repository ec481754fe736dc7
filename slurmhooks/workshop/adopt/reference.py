# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a job_submit.lua in plain Lua, on a thin table of what Slurm's C source gives to scripts.

This is what a machine without Slurm can compare with. It shares no code with slurmhooks.lua but the library Lua itself
and the constants, and it was written from job_submit_lua.c of 24.11; it is not that plugin. What it does not know ends
a comparison without a result.
"""

from __future__ import annotations

import codecs
import os
from typing import TYPE_CHECKING, Any

from slurmhooks.fields.number_rows import MEM_PER_CPU
from slurmhooks.lua import job_fields, library
from slurmhooks.lua.job_constants import table_constants
from slurmhooks.lua.slurm_table import time_str2mins
from slurmhooks.values import ENCODING, ERRORS, NO_VAL
from slurmhooks.workshop.adopt.answers import Answer, TrialRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from slurmhooks.fields.rows import Release
    from slurmhooks.lua.library import Lua

TEXTS = (
    "account acctg_freq admin_comment array_inx batch_features burst_buffer clusters comment container cpus_per_tres"
    " dependency exc_nodes extra features gres=tres_per_node licenses mail_user mcs_label mem_per_tres name partition"
    " prefer qos req_nodes reservation script selinux_context std_err std_in std_out tres_bind tres_freq tres_per_job"
    " tres_per_node tres_per_socket tres_per_task wckey work_dir"
)
"""Fields that are texts and that scripts can write; ``=``: the member, if it has another name."""
NUMBERS = {
    16: "contiguous cores_per_socket cpus_per_task immediate mail_type ntasks_per_gpu=ntasks_per_tres ntasks_per_node"
    " ntasks_per_socket ntasks_per_tres pn_min_cpus reboot requeue shared oversubscribe=shared sockets_per_node"
    " threads_per_core",
    32: "cpu_freq_min cpu_freq_max cpu_freq_gov delay_boot max_cpus max_nodes min_cpus min_nodes nice num_tasks"
    " pn_min_tmp_disk priority req_switch time_limit time_min wait4switch",
    64: "begin_time bitflags end_time min_mem_per_cpu min_mem_per_node pn_min_memory",
}
"""Numbers that scripts can write, by their width in bits."""
READ_ONLY = (
    "alloc_node boards_per_node het_job_offset pack_job_offset=het_job_offset network ntasks_per_board ntasks_per_core"
    " req_context sockets_per_board user_id group_id user_name argc default_account default_qos assoc_comment assoc_qos"
    " spank_job_env_size"
)
NOT_KNOWN = "argv cron_job site_factor spank_job_env"
"""Fields that need more than the request."""


RESULTS = {"SUCCESS": 0.0, "ERROR": -1.0, "FAILURE": -1.0}


TEXT = "slurmhooks_text"
"""The encoding of texts in Lua: UTF-8, in which any other byte is kept, because scripts and users may write Latin-1."""
BOM = b"\xef\xbb\xbf"


def _codec(name: str) -> codecs.CodecInfo | None:
    if name != TEXT:
        return None

    def encode(text: str, errors: str = ERRORS) -> tuple[bytes, int]:
        return text.encode(ENCODING, ERRORS), len(text)

    def decode(raw: bytes, errors: str = ERRORS) -> tuple[str, int]:
        return bytes(raw).decode(ENCODING, ERRORS), len(raw)

    return codecs.CodecInfo(encode, decode, name=TEXT)  # type: ignore[arg-type]


codecs.register(_codec)


def _pairs(text: str) -> dict[str, str]:
    return {name: member or name for name, _, member in (word.partition("=") for word in text.split())}


class Plain:
    """A Lua without Slurm, with the guard.

    Attributes:
        failure: the exception for an error of Lua.
        convert: makes a Lua table of a dict or a list.
        scope: the global variables.
    """

    def __init__(self, lua: Lua, stopped: Callable[[str], None], now: int) -> None:
        """Start it.

        Args:
            lua: the library.
            stopped: called with what cannot be tried out, when the script uses it.
            now: the time that the script sees.
        """
        module: Any = library.load(lua)
        self.failure: type[Exception] = module.LuaError
        self._version = lua.version
        self._lua = module.LuaRuntime(
            encoding=TEXT, source_encoding=TEXT, unpack_returned_tuples=True, register_eval=False,
            register_builtins=False,
        )  # fmt: skip
        self.convert: Callable[[Any], Any] = self._lua.table_from
        self.scope = self._lua.globals()
        path_of, cpath_of = library.search_paths(lua)
        self._tonumber = self.scope.tonumber
        self.scope.python = self.scope.package.loaded.python = None
        self.scope.package.path, self.scope.package.cpath = path_of, cpath_of
        self.part("guard.lua")(stopped, float(now))

    def number(self, result: Any) -> float | None:
        """Return the number that a function returned, which may be a text; None if it is none."""
        first = result[0] if isinstance(result, tuple) else result
        if isinstance(first, str):
            first = self._tonumber(first)
        return float(first) if isinstance(first, (int, float)) and not isinstance(first, bool) else None

    def part(self, name: str) -> Any:
        """Return a file of this package as a function of Lua."""
        return self._lua.compile(_read(os.path.join(os.path.dirname(__file__), name)))

    def load(self, path: str, content: bytes) -> None:
        """Run the top level of a script.

        Raises:
            ValueError: it does not load.
        """
        if self._version != "5.1":
            content = content.removeprefix(BOM)
        if content.startswith(b"#"):
            content = b"\n" + content.partition(b"\n")[2]
        try:
            self._lua.compile(content.decode(ENCODING, ERRORS), name=f"@{path}")()
        except self.failure as error:
            raise ValueError(text_of(error)) from None


def text_of(failure: Exception) -> str:
    """Return the message of an error of Lua."""
    return str(failure).partition("\nstack traceback")[0]


def minutes_of(text: str | None) -> int:
    """Return what slurm.time_str2mins() returns."""
    return time_str2mins(text.encode() if text else None)


class Reference:
    """A script in plain Lua."""

    def __init__(self, path: str, content: bytes, lua: Lua, release: Release, partitions: Any, now: int) -> None:
        """Load a script.

        Args:
            path: of the script.
            content: of the script.
            lua: the Lua to run it.
            release: of Slurm.
            partitions: the fields of each partition, by its name, as Slurm gives them to Lua.
            now: the time that the script sees.

        Raises:
            ValueError: it does not load.
        """
        self._unknown: list[str] = []
        self._lua = plain = Plain(lua, self._stopped, now)
        self._failure = plain.failure
        self._convert = plain.convert
        self._keeps_messages = release < (26, 5)
        constants = table_constants(release)
        fields = {**_pairs(TEXTS), **_pairs(READ_ONLY)}
        writable: dict[str, object] = dict.fromkeys(_pairs(TEXTS), "text")
        for bits, text in NUMBERS.items():
            fields.update(_pairs(text))
            writable.update(dict.fromkeys(_pairs(text), float(bits)))
        others = (*NOT_KNOWN.split(), *job_fields.names("job_desc", release))
        readable = {**dict.fromkeys(others, True), **fields}
        glue = plain.part("reference.lua")
        rows = (
            None if partitions is None else self._convert({key: self._convert(row) for key, row in partitions.items()})
        )
        numbers = {name: value for name, value in {**constants, **RESULTS}.items() if value is not None}
        self._submit, self._modify, self._seen, self._begin = glue(
            self._convert(readable), self._convert(writable), self._convert({}), self._convert({}),
            self._convert(numbers), rows, minutes_of, self._stopped, plain.part("reference_slurm.lua")(),
        )  # fmt: skip
        plain.load(path, content)
        self._early: list[str] = list(self._seen.messages.values()) if self._seen.messages else []
        """What the top level of the script said to the user, who is that of the first request."""

    def _stopped(self, what: str) -> None:
        self._unknown.append(str(what))

    def answer(self, request: TrialRequest) -> Answer:
        """Return the answer to a request."""
        self._unknown.clear()
        raws = request.raws()
        numbers = {name: float(raw) if isinstance(raw, int) else raw for name, raw in raws.items()}
        numbers.update(_memory(raws["pn_min_memory"]))
        values = self._convert({name: raw for name, raw in numbers.items() if raw is not None})
        self._begin(values, self._convert(request.environment()))
        error = number = None
        try:
            number = self._lua.number(
                (self._submit if request.hook == "job_submit" else self._modify)(float(request.uid))
            )
        except self._failure as failure:
            error = text_of(failure)
        seen = self._seen
        log = list(seen.log.values())
        messages = [*self._early, *seen.messages.values()] if error is None or self._keeps_messages else []
        self._early.clear()
        if error is None and number is None:
            log.append("info: non-numeric return code")
        writes = dict(_written(seen.writes, values))
        writes = {name: raw for name, raw in writes.items() if raw != raws[name]}
        return Answer(code_of(number), messages, writes, log, error, self._unknown[:])


def _memory(raw: int) -> dict[str, float | None]:
    """Return what scripts read of the memory of a request."""
    if raw == NO_VAL[64]:
        return {}
    name = "min_mem_per_cpu" if raw & MEM_PER_CPU else "min_mem_per_node"
    return {name: float(raw & ~MEM_PER_CPU)}


def _written(names: Any, values: Any) -> Iterator[tuple[str, Any]]:
    """Yield the members that a script has assigned, with their raw values."""
    for name in names:
        if name == "min_mem_per_cpu":
            yield "pn_min_memory", int(values[name] or 0) | MEM_PER_CPU
        elif name == "min_mem_per_node":
            yield "pn_min_memory", int(values[name] or 0)
        else:
            yield str(name), _raw(values[name])


def code_of(number: float | None) -> int:
    """Return a number of a script as the int that Slurm's C source takes it for; 0 for none."""
    return 0 if number is None else int(number) if abs(number) < 1 << 31 else -1 << 31


def _raw(value: Any) -> Any:
    return int(value) if isinstance(value, float) else value


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()
