# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a job_submit.lua in Slurm's own plugin, job_submit_lua.so, in a process of its own.

A library of the build (native/own_lua) stands in for slurmctld: it has no jobs, partitions and reservations. The plugin
itself, its Lua and Slurm's library are those of this machine.
"""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any

from slurmhooks.handlers.codes import stand_ins
from slurmhooks.values import ENCODING, ERRORS
from slurmhooks.wire.message import Message, Packed, decode, number_value, text_value, texts_value
from slurmhooks.wire.protocol import Type
from slurmhooks.wire.tables import FILE_NAME, parse
from slurmhooks.workshop.adopt.answers import ERROR_PLACE, Answer, TrialRequest
from slurmhooks.workshop.adopt.under_slurmhooks import FAILURES, GUARD

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIBRARY = "slurmhooks_own_lua.so"
PLUGIN = "job_submit_lua.so"
MARK = "slurmhooks adopt stopped "
"""Begins the line in the log that names what cannot be tried out."""


class SlurmsPlugin:
    """A script in Slurm's own plugin. A process can have only one."""

    def __init__(self, content: bytes, folder: str, build: Path, plugin: Path, slurm: Path, now: int) -> None:
        """Load a script.

        ``folder`` is empty; the plugin reads the script there with each request. ``build`` is the folder with our
        library and its tables. The script sees the time ``now``.

        Raises:
            ValueError: it does not load.
        """
        self._tables = parse((build / FILE_NAME).read_text())
        numbers = stand_ins()
        self._codes = {
            number: numbers[name] for name, number in self._tables.constants["ESLURM"].items() if name in numbers
        }
        os.environ["SLURM_CONF"] = os.path.join(folder, "slurm.conf")
        script = os.path.join(folder, "script.lua")
        with open(script, "wb") as file:
            file.write(content)
        with open(os.path.join(folder, "job_submit.lua"), "wb") as file:
            file.write(_guarded(script, now))
        # In this order: the plugin finds the log functions of our library before those of Slurm's.
        self._lib = ctypes.CDLL(str(build / LIBRARY), mode=ctypes.RTLD_GLOBAL | os.RTLD_LAZY)
        ctypes.CDLL(str(slurm), mode=ctypes.RTLD_GLOBAL | os.RTLD_LAZY)
        self._libc = ctypes.CDLL(None)
        self._libc.free.argtypes = [ctypes.c_void_p]
        for name in ("load", "ask", "log"):
            getattr(self._lib, f"slurmhooks_own_lua_{name}").restype = ctypes.c_char_p
        self._lib.slurmhooks_own_lua_log.restype = ctypes.c_void_p
        wrong = self._lib.slurmhooks_own_lua_load(str(plugin).encode())
        log = self._log()
        if wrong is not None:
            raise ValueError(f"{plugin}: {wrong.decode(ENCODING, ERRORS)} {' | '.join(log)}")

    def answer(self, request: TrialRequest) -> Answer:
        """Return the answer to a submission or an update."""
        raws = request.job_raws()
        stopped = []
        items = []
        for place, member in enumerate(self._tables["job"].members):
            if not member.writable or "." in member.name:
                continue
            raw = raws.get(member.name)
            if raw is None:
                continue
            value: Any = number_value(raw) if isinstance(raw, int) else None
            if isinstance(raw, bytes):
                value = text_value(raw)
            elif isinstance(raw, list):
                value = texts_value(raw)
            items.append((place, value))
        writes = Message(Type.ANSWER, items=tuple(items)).encode(self._tables)
        messages, sizes = (ctypes.c_void_p * 2)(), (ctypes.c_uint32 * 2)()
        text, code = ctypes.c_void_p(), ctypes.c_int()
        self._lib.slurmhooks_own_lua_forget()
        wrong = self._lib.slurmhooks_own_lua_ask(
            request.hook == "job_modify", writes, ctypes.c_size_t(len(writes)), raws["user_id"], raws["group_id"],
            request.uid, messages, sizes, ctypes.byref(text), ctypes.byref(code),
        )  # fmt: skip
        if wrong is not None:
            raise ValueError(wrong.decode())
        before, after = (dict(self._members(messages[index], sizes[index])) for index in (0, 1))
        message = ctypes.string_at(text.value).decode(ENCODING, ERRORS) if text.value else ""
        for pointer in (*messages, text):
            self._libc.free(pointer)
        log, error = [], None
        for line in self._log():
            level, _, words = line.partition(": ")
            failed = ERROR_PLACE.search(words)
            if MARK in words:
                stopped.append(words.partition(MARK)[2])
            elif "non-numeric return code" in words:
                log.append("info: non-numeric return code")
            elif words.startswith(FAILURES) and failed is not None:
                error = words.partition(": ")[2]
            elif words.startswith(("lua: ", "_set_job_field: ")):
                log.append(f"{level}: {words}")
        writes_made = {name: raw for name, raw in after.items() if raw != before[name]}
        return Answer(
            code.value,
            message.split("\n") if message else [],
            writes_made,
            log,
            error,
            stopped,
            self._codes.get(code.value),
        )

    def _members(self, address: int | None, size: int) -> Iterator[tuple[str, Any]]:
        assert address is not None
        message = decode(ctypes.string_at(address, size), self._tables)
        packed = Packed(self._tables["job"], message.items[0][1])
        for member in self._tables["job"].members:
            if member.kind != "texts" and "." not in member.name:
                raw = packed.raw(member.name)
                yield member.name, raw.decode(ENCODING, ERRORS) if isinstance(raw, bytes) else raw

    def _log(self) -> list[str]:
        size = ctypes.c_size_t()
        address = self._lib.slurmhooks_own_lua_log(ctypes.byref(size))
        data = ctypes.string_at(address, size.value) if address and size.value else b""
        return [line.decode(ENCODING, ERRORS) for line in data.split(b"\0")[:-1]]


def _guarded(script: str, now: int) -> bytes:
    """Return a script that runs the guard, then another script, which never gets the job of an update."""
    return f"""\
local function note(name) slurm.log_error("%s%s", "{MARK}", name) end
assert(loadfile({GUARD!r}))(note, {now})
local error, setmetatable = error, setmetatable
local function unknown() note("job_rec") error("job_rec is not known", 2) end
local function with_modify(...)
   local modify = slurm_job_modify
   if type(modify) == "function" then
      function slurm_job_modify(job_desc, _, part_list, uid)
         return modify(job_desc, setmetatable({{}}, {{ __index = unknown, __newindex = unknown }}), part_list, uid)
      end
   end
   return ...
end
return with_modify(assert(loadfile({script!r}))())
""".encode()
