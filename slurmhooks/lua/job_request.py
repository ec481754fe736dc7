# SPDX-License-Identifier: GPL-2.0-or-later
"""``job_desc`` of a Lua script: reads and writes the request of the running call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.errors import StaleHandleError
from slurmhooks.fields.rows import Computed, Text
from slurmhooks.job_submit.users import fact_of_lua
from slurmhooks.log import ERROR, INFO, log
from slurmhooks.lua import conversions, job_fields
from slurmhooks.lua.runtime import to_bytes, to_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.fields.rows import Release
    from slurmhooks.job_submit.model import RequestMembers
    from slurmhooks.lua.runtime import LuaState

PLUGIN = "job_submit/lua"
OF_ASSOCIATIONS = ("default_qos", "assoc_comment", "assoc_qos")
"""Computed fields that differ from those of Python."""
NEWINDEX = {"5.2": "__newindex", "5.3": "__newindex", "5.4": "newindex", "5.5": "newindex"}
"""The name of the assigning function in messages of luaL_argerror, by version."""


class Lookup:
    """An object that Lua can index."""

    __slots__ = ("_note", "_read")

    def __init__(self, read: Callable[[Any], Any], note: Callable[[Exception], None]) -> None:
        """Store a function that returns the Lua value for a key, and one that gets its errors, see LuaState.note()."""
        self._read = read
        self._note = note

    def __getitem__(self, name: Any) -> Any:
        """Return the Lua value for a key."""
        try:
            return self._read(name)
        except Exception as error:
            self._note(error)
            raise


class LuaRequest:
    """The running request, with the Lua table of its variables."""

    def __init__(self, state: LuaState, release: Release) -> None:
        self.environment: Any = None
        self._state = state
        self._release = release
        self._bound: Any = None
        self._job: Any = None
        self._members: RequestMembers | None = None
        self._readers: dict[bytes, Any] = {}
        self._encoders: dict[bytes, Any] = {}
        self._computed: frozenset[str] = frozenset()

    def begin(self, job: Any) -> None:
        """Set the running request."""
        self._members = members = job.members()
        if type(job) is not self._bound:
            self._bind(type(job), members)
        self._job = job

    def end(self) -> None:
        """Forget the running request."""
        self._job = self._members = None

    def _bind(self, kind: Any, of_request: RequestMembers) -> None:
        """Prepare the readers and encoders for a class of requests; a worker has only one."""
        fields = job_fields.names("job_desc", self._release)
        members = {name: of_request.of(row) for name, row in fields.items()}
        self._readers = job_fields.readers(members, self._release)
        self._encoders = {
            name.encode(): (
                members[name],
                isinstance(fields[name], Text),
                job_fields.encoder(fields[name], of_request.release),
            )
            for name in job_fields.writable(self._release)
            if members[name] is not None
        }
        self._bound = kind
        self._computed = frozenset(name for name, row in fields.items() if isinstance(row, Computed))

    def current(self, what: str) -> Any:
        """Return the request of the running call.

        ``what`` the script uses is in the message if no call is running.
        """
        if self._job is None:
            raise StaleHandleError(f"{what} was used outside of a call")
        return self._job

    def _running(self, what: str) -> RequestMembers:
        """Return the members of the request of the running call; see :meth:`current`."""
        self.current(what)
        assert self._members is not None
        return self._members

    def read(self, name: Any) -> Any:
        """Return a field."""
        members = self._running("job_desc")
        read = self._readers.get(name)
        if read is not None:
            return read(members)
        if name == b"environment":
            return self.environment
        if not isinstance(name, bytes):
            return None
        if b"\0" in name:  # C reads a name up to a NUL byte
            return self.read(name.partition(b"\0")[0])
        text = to_text(name)
        if text in job_fields.ARRAYS:
            items = members.array(text)
            return self._state.value({float(index): item for index, item in enumerate(items)}) if items else None
        if text not in self._computed:
            return None
        exists = text not in self._job._missing  # otherwise the attribute explains what is missing
        computed = fact_of_lua(self._job, text) if exists and text in OF_ASSOCIATIONS else getattr(self._job, text)
        return None if computed is None else to_bytes(computed)

    def write(self, name: Any, value: Any) -> bytes | None:
        """Stage a write to a field; return the error for Lua if the value has the wrong type."""
        members = self._running("job_desc")
        encoder = self._encoders.get(name)
        if encoder is None:
            key = conversions.as_string(self._state, name)
            if key is None:
                return self._misfit(2, "string", name)
            if key in self._encoders:
                return self.write(key, value)
            log.plain(ERROR, f"_set_job_field: unrecognized field: {to_text(key)}")
            return None
        member, is_text, encode = encoder
        converted = conversions.as_string(self._state, value) if is_text else conversions.as_number(self._state, value)
        if converted is None:
            return self._misfit(3, "string" if is_text else "number", value)
        members.put(member, encode(converted))
        return None

    def _misfit(self, position: int, wanted: str, value: Any) -> bytes:
        """Return the message of luaL_argerror in this version."""
        kind, callee = self._state.type_of(value), NEWINDEX.get(self._state.version, "?")
        return f"bad argument #{position} to '{callee}' ({wanted} expected, got {kind})".encode()

    def _has_environment(self, function: str, end: str) -> bool:
        """Tell whether the request has an environment; if not, log the same as Slurm."""
        members = self._running("job_desc.environment")
        if members.is_set("environment"):
            return True
        if members.is_set("script"):
            log.plain(ERROR, f"{PLUGIN}: {function}: job_desc->environment is NULL.")
        else:
            # Slurm adds the names of plugin and function to info messages only.
            log.plain(INFO, f"{PLUGIN}: {function}: job_desc->environment only accessible for batch jobs.{end}")
        return False

    def read_variable(self, name: Any) -> bytes | None:
        """Return a variable of the environment of the request."""
        job = self.current("job_desc.environment")
        key = conversions.as_string(self._state, name)
        if key is None:
            return None
        value = job.environment.get(to_text(key))
        if value is None:
            self._has_environment("_job_env_field", "")
        return None if value is None else to_bytes(value)

    def write_variable(self, name: Any, value: Any) -> bytes | None:
        """Stage a write to a variable; return the error for Lua if that is not possible."""
        job = self.current("job_desc.environment")
        key = conversions.as_string(self._state, name)
        if key is None:
            return self._misfit(2, "string", name)
        if not self._has_environment("_set_job_env_field", " "):
            return None
        raw = conversions.as_string(self._state, value)
        if raw is None:
            return self._misfit(3, "string", value)
        try:
            job.environment[to_text(key)] = to_text(raw)
        except ValueError as error:
            return to_bytes(str(error))
        return None
