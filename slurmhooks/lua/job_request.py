# SPDX-License-Identifier: GPL-2.0-or-later
"""The request of a job_submit call, as a Lua script reads and writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.errors import StaleHandleError
from slurmhooks.job_submit.rows import Computed, Text, release_of
from slurmhooks.log import ERROR, INFO, log
from slurmhooks.lua import conversions, job_fields
from slurmhooks.lua.runtime import to_bytes, to_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from slurmhooks.job_submit.rows import Release
    from slurmhooks.lua.runtime import State

PLUGIN = "job_submit/lua"
NEWINDEX = {"5.2": "__newindex", "5.3": "__newindex", "5.4": "newindex", "5.5": "newindex"}
"""What luaL_argerror calls the function that assigns, in each version."""


class Lookup:
    """What Lua reads by index."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[Any], Any]) -> None:
        """Take the function that returns what Lua gets for a key."""
        self._read = read

    def __getitem__(self, name: Any) -> Any:
        """Return what Lua gets."""
        return self._read(name)


class Request:
    """What a script sees of the running request.

    Attributes:
        environment: Lua's table of its variables.
    """

    def __init__(self, state: State, release: Release) -> None:
        """Serve a state, with the ways of a release of Slurm."""
        self.environment: Any = None
        self._state = state
        self._release = release
        self._bound: Any = None
        self._job: Any = None
        self._readers: dict[bytes, Any] = {}
        self._encoders: dict[bytes, Any] = {}
        self._computed: frozenset[str] = frozenset()

    def begin(self, job: Any) -> None:
        """Serve a request from now on."""
        if type(job) is not self._bound:
            self._bind(type(job), job._struct.table)
        self._job = job

    def end(self) -> None:
        """Serve none."""
        self._job = None

    def _bind(self, kind: Any, table: Any) -> None:
        """Learn how the fields of a class of requests are read and written; in a worker there is one."""
        release = release_of(kind._release)
        known = job_fields.names("job_desc", self._release)
        members = {name: row.member(release, table.places) for name, row in known.items()}
        self._readers = job_fields.readers(members, self._release)
        self._encoders = {
            name.encode(): (members[name], isinstance(known[name], Text), job_fields.encoder(known[name], release))
            for name in job_fields.writable(self._release)
            if members[name] is not None
        }
        self._bound = kind
        self._computed = frozenset(name for name, row in known.items() if isinstance(row, Computed))

    def current(self, what: str) -> Any:
        """Return the request of the running call.

        Args:
            what: the script has used, for the message after a call.
        """
        if self._job is None:
            raise StaleHandleError(f"{what} was used outside of a call")
        return self._job

    def read(self, name: Any) -> Any:
        """Return a field."""
        job = self.current("job_desc")
        read = self._readers.get(name)
        if read is not None:
            return read(job._struct, job._writes)
        if name == b"environment":
            return self.environment
        if not isinstance(name, bytes):
            return None
        text = to_text(name)
        if text in job_fields.ARRAYS:
            items = job._words() if text == "argv" else job._struct.array(text)
            return self._state.value({float(index): item for index, item in enumerate(items)}) if items else None
        if text not in self._computed:
            return None
        found = getattr(job, text)
        return None if found is None else to_bytes(found)

    def write(self, name: Any, value: Any) -> bytes | None:
        """Stage a field; return the error for Lua if the value is none that fits."""
        job = self.current("job_desc")
        encoder = self._encoders.get(name)
        if encoder is None:
            key = conversions.as_string(self._state, name)
            if key is None:
                return self._misfit(2, "string", name)
            log.plain(ERROR, f"_set_job_field: unrecognized field: {to_text(key)}")
            return None
        member, is_text, encode = encoder
        taken = conversions.as_string(self._state, value) if is_text else conversions.as_number(value)
        if taken is None:
            return self._misfit(3, "string" if is_text else "number", value)
        job._writes[member] = encode(taken)
        return None

    def _misfit(self, position: int, wanted: str, value: Any) -> bytes:
        """Return what luaL_argerror says in this version."""
        kind, callee = self._state.type_of(value), NEWINDEX.get(self._state.version, "?")
        return f"bad argument #{position} to '{callee}' ({wanted} expected, got {kind})".encode()

    def _has_environment(self, job: Any, function: str, end: str) -> bool:
        """Tell whether the request carries an environment; log what Slurm logs if not."""
        if job._struct.is_set("environment"):
            return True
        if job._is_set("script"):
            log.plain(ERROR, f"{PLUGIN}: {function}: job_desc->environment is NULL.")
        else:
            # info() of a plugin names it and the function, error() does not.
            log.plain(INFO, f"{PLUGIN}: {function}: job_desc->environment only accessible for batch jobs.{end}")
        return False

    def read_variable(self, name: Any) -> bytes | None:
        """Return a variable of the request's environment."""
        job = self.current("job_desc.environment")
        key = conversions.as_string(self._state, name)
        if key is None:
            return None
        found = job.environment.get(to_text(key))
        if found is None:
            self._has_environment(job, "_job_env_field", "")
        return None if found is None else to_bytes(found)

    def write_variable(self, name: Any, value: Any) -> bytes | None:
        """Stage a variable; return the error for Lua if that is not possible."""
        job = self.current("job_desc.environment")
        key = conversions.as_string(self._state, name)
        if key is None:
            return self._misfit(2, "string", name)
        if not self._has_environment(job, "_set_job_env_field", " "):
            return None
        raw = conversions.as_string(self._state, value)
        if raw is None:
            return self._misfit(3, "string", value)
        try:
            job.environment[to_text(key)] = to_text(raw)
        except ValueError as error:
            return to_bytes(str(error))
        return None
