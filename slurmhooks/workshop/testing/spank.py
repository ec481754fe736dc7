# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for Slurm's side of SPANK: items, environments and errors as in spank.c."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cffi

from slurmhooks.handlers.similar import nearest
from slurmhooks.hooks.points import CONTEXTS, CONTROL_PREFIX, HOOKS, POINTS
from slurmhooks.spank.calls import LAUNCH, USER
from slurmhooks.spank.fields import ITEMS
from slurmhooks.spank.model import Spank
from slurmhooks.spank.state import State
from slurmhooks.spank.state_file import frozen
from slurmhooks.values import NO_VAL, ExitStatus, text_from_c, text_to_c
from slurmhooks.workshop.testing import environments
from slurmhooks.workshop.testing.jobs import JOB_ID

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from slurmhooks.hooks.points import Context
    from slurmhooks.spank.calls import Calls

_ffi = cffi.FFI()
_ffi.cdef("typedef uint32_t uid_t; typedef uint32_t gid_t; typedef int32_t pid_t;")

_ERRORS = (
    "ESPANK_ERROR",
    "ESPANK_BAD_ARG",
    "ESPANK_NOT_TASK",
    "ESPANK_ENV_EXISTS",
    "ESPANK_ENV_NOEXIST",
    "ESPANK_NOSPACE",
    "ESPANK_NOT_REMOTE",
    "ESPANK_NOEXIST",
    "ESPANK_NOT_EXECD",
    "ESPANK_NOT_AVAIL",
    "ESPANK_NOT_LOCAL",
)
_FIRST_ERROR = 3000
"""ESPANK_ERROR of slurm_errno.h; the other numbers follow in the order of :data:`_ERRORS`."""

_ITEMS = {item.item: item for item in ITEMS}

DEFAULTS: dict[str, Any] = {
    "job_uid": 1000,
    "job_gid": 1000,
    "job_id": JOB_ID,
    "job_stepid": 0,
    "job_nnodes": 1,
    "job_nodeid": 0,
    "job_local_task_count": 1,
    "job_total_task_count": 1,
    "job_ncpus": 1,
    "job_argv": ["true"],
    "job_supplementary_gids": [1000],
    "task_id": 0,
    "task_global_id": 0,
    "task_exit_status": 0,
    "task_pid": 4242,
    "job_pid_to_global_id": {4242: 0},
    "job_pid_to_local_id": {4242: 0},
    "job_local_to_global_id": {0: 0},
    "job_global_to_local_id": {0: 0},
    "slurm_version": "24.11.5",
    "slurm_version_major": "24",
    "slurm_version_minor": "11",
    "slurm_version_micro": "5",
    "step_cpus_per_task": 1,
    "job_alloc_cores": "0",
    "job_alloc_mem": 1024,
    "step_alloc_cores": "0",
    "step_alloc_mem": 1024,
    "slurm_restart_count": 0,
    "job_array_id": 0,
    "job_array_task_id": None,
}
"""The default items: a job with one task."""


class FakeSpank(Spank):
    """A ``spank`` without Slurm, which returns values and errors as Slurm does in the same context and callback.

    Args:
        context: "local" (srun), "remote" (slurmstepd), "allocator" (sbatch, salloc), "slurmd" or "job_script"; by
            default the first context in which Slurm makes the call.
        callback: a callback of spank(7), without ``slurm_spank_``; :func:`run` takes it from the hook.
        args: the arguments on the line of plugstack.conf.
        env: the environment ``spank.env``; by default the variables that slurmd gives to prolog and epilog, and none
            elsewhere.
        job_control_env: the environment ``spank.job_control_env``.
        items: items by attribute, such as ``{"job_id": 7, "job_argv": ["hostname"]}``; for items that take an argument,
            a dict of results, such as ``{"job_pid_to_global_id": {4242: 0}}``. The defaults are a job with one task.
        state: what earlier handlers of the job have left in ``spank.state``.

    Pass it to a handler (``say_hello(FakeSpank(...))``) or to :func:`run`; afterwards it has the values that the
    handlers wrote.

    Raises:
        ValueError: the context, the callback or an item does not exist.
    """

    def __init__(
        self,
        context: Context | None = None,
        *,
        callback: str | None = None,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        job_control_env: Mapping[str, str] | None = None,
        items: Mapping[str, Any] | None = None,
        state: Mapping[str, Any] | None = None,
    ) -> None:
        if context is not None and context not in CONTEXTS:
            raise ValueError(f"no context {context!r}; there are {', '.join(CONTEXTS)}")
        for name in items or {}:
            if name not in DEFAULTS:
                raise ValueError(f"no item {name!r}{nearest(name, DEFAULTS)}")
        self._given_context = context
        self._given_env = env
        self._slurm = FakeSpankModule({**DEFAULTS, **(items or {})}, env or {}, job_control_env or {})
        self._memory = Memory(state or {})
        self._reads_options_in: str | None = None  # the folder; None: where the handlers run
        self._passes_on: dict[str, str] | None = None  # what srun passes on; None: nobody asks
        callback = callback or ("task_init" if context in (None, "remote") else "init")
        place = context or _contexts(callback)[0]
        self._slurm.context = place
        super().__init__(self._slurm, (place, callback), place, callback, args, self._memory.state)

    @property
    def prepended_task_argv(self) -> list[str]:
        """The words that handlers put before the task's command."""
        return list(self._slurm.prepended)


def view_for(spank: FakeSpank, callback: str, missing: Sequence[str] = ()) -> Spank:
    """Return the view for the handlers of a callback; commits pending writes of the stand-in.

    ``missing`` are the callbacks without a handler that ``spank.state`` needs.
    """
    contexts = _contexts(callback)
    context = spank._given_context or contexts[0]
    if context not in contexts:
        raise ValueError(f"Slurm calls {callback} in {', '.join(contexts)}, not in {context}")
    spank.commit()
    spank._slurm.context = context
    if context == "job_script" and spank._given_env is None and not spank._slurm.env:
        spank._slurm.env.update(environments.of_script(spank._slurm.items, callback))
    memory = spank._memory
    return Spank(
        spank._slurm, (context, callback), context, callback, spank.args, lambda calls: memory.state(calls, missing)
    )


def state_of(spank: FakeSpank) -> dict[str, Any]:
    """Return the values that handlers can change."""
    return {
        "env": dict(spank._slurm.env),
        "job_control_env": dict(spank._slurm.job_control_env),
        "prepended_task_argv": spank.prepended_task_argv,
        "state": spank._memory.read(),
    }


class Memory:
    """The values of ``spank.state``, without a file."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        """Copy the values.

        Raises:
            TypeError, ValueError: one is no JSON value.
        """
        self._values = {name: frozen(value, name) for name, value in values.items()}

    def state(self, calls: Calls, missing: Sequence[str] = ()) -> State:
        """Return the state for one callback."""
        return State(calls, lambda: self, missing)

    def read(self) -> dict[str, Any]:
        """Return the values."""
        return dict(self._values)

    def write(self, values: Mapping[str, Any], removed: Sequence[str]) -> None:
        """Change some values, and remove others."""
        kept = {name: value for name, value in self._values.items() if name not in removed}
        self._values = {**kept, **values}


class FakeSpankModule:
    """The functions and constants of the compiled module of a SPANK plugin, implemented with dicts.

    A handle is a pair of context and callback.
    """

    def __init__(self, items: dict[str, Any], env: Mapping[str, str], job_control_env: Mapping[str, str]) -> None:
        self.context = ""
        self.items = items
        self.env: dict[str, str] = dict(env)
        self.job_control_env: dict[str, str] = dict(job_control_env)
        self.prepended: list[str] = []
        self.ffi = _ffi
        self._keep: list[Any] = []
        for number, name in enumerate(_ERRORS, start=_FIRST_ERROR):
            setattr(self, name, number)
        for name in _ITEMS:
            setattr(self, name, name)

    @property
    def lib(self) -> Any:
        """This object itself, which has the functions and constants."""
        return self

    def _error(self, name: str) -> int:
        number: int = getattr(self, name)
        return number

    # Items, as _check_spank_item_validity() and spank_get_item() of spank.c.

    def _refusal(self, handle: tuple[str, str], name: str) -> str | None:
        context, callback = handle
        where = _ITEMS[name].where
        if where.includes(context, callback) or (name == "S_JOB_ENV" and LAUNCH.includes(context, callback)):
            return None
        if context in ("slurmd", "job_script"):
            return "ESPANK_NOT_AVAIL"
        if context in ("local", "allocator"):
            if where not in (USER, LAUNCH) and name != "S_JOB_ENV":
                return "ESPANK_NOT_REMOTE"
            return "ESPANK_NOT_AVAIL" if context == "local" or where is USER else "ESPANK_BAD_ARG"
        return "ESPANK_NOT_EXECD" if "_PID_TO_" in name else "ESPANK_NOT_TASK"

    def slurmhooks_get_item(self, handle: tuple[str, str], name: str, first: Any, second: Any) -> int:
        """Implement the function of native/spank/items.h."""
        refusal = self._refusal(handle, name)
        if refusal is not None:
            return self._error(refusal)
        if name == "S_JOB_ENV":
            first[0] = self._strings(_entries(self.env)) if handle[0] == "remote" else _ffi.NULL
        elif name == "S_JOB_ARGV":
            words = self.items["job_argv"]
            first[0], second[0] = len(words), self._strings(words)
        elif name == "S_JOB_SUPPLEMENTARY_GIDS":
            gids = self.items["job_supplementary_gids"]
            first[0], second[0] = self._kept(_ffi.new("gid_t[]", gids)), len(gids)
        else:
            item = _ITEMS[name]
            value = self.items[item.name]
            if item.ctype == "char *":
                first[0] = _ffi.NULL if value is None else self._string(value)
            elif isinstance(value, ExitStatus):
                first[0] = value.raw
            else:
                first[0] = NO_VAL[32] if value is None else value
        return 0

    def slurmhooks_convert(self, handle: tuple[str, str], name: str, value: int, result: Any) -> int:
        """Implement the function of native/spank/items.h."""
        refusal = self._refusal(handle, name)
        answers = self.items[_ITEMS[name].name]
        if refusal is None and value not in answers:
            refusal = "ESPANK_NOEXIST"
        if refusal is not None:
            return self._error(refusal)
        result[0] = answers[value]
        return 0

    # Environments.

    def _read(self, value: str | None, buffer: Any, size: int) -> int:
        if value is None:
            return self._error("ESPANK_ENV_NOEXIST")
        raw = text_to_c("value", value) + b"\0"
        _ffi.memmove(buffer, raw[: size - 1] + b"\0", min(size, len(raw)))
        return 0 if len(raw) <= size else self._error("ESPANK_NOSPACE")

    def spank_getenv(self, handle: tuple[str, str], name: bytes, buffer: Any, size: int) -> int:
        """Implement the function of spank.h."""
        if handle[0] != "remote":
            return self._error("ESPANK_NOT_REMOTE")
        return self._read(self.env.get(text_from_c(name)), buffer, size)

    def spank_setenv(self, handle: tuple[str, str], name: bytes, value: bytes, overwrite: int) -> int:
        """Implement the function of spank.h."""
        return self._remote_write(handle, name, value)

    def spank_unsetenv(self, handle: tuple[str, str], name: bytes) -> int:
        """Implement the function of spank.h."""
        return self._remote_write(handle, name, None)

    def _remote_write(self, handle: tuple[str, str], name: bytes, value: bytes | None) -> int:
        if handle[0] != "remote":
            return self._error("ESPANK_NOT_REMOTE")
        _write(self.env, name, value)
        return 0

    def spank_job_control_getenv(self, handle: tuple[str, str], name: bytes, buffer: Any, size: int) -> int:
        """Implement the function of spank.h."""
        if handle[0] in ("remote", "slurmd"):
            return self._error("ESPANK_NOT_LOCAL" if handle[0] == "remote" else "ESPANK_NOT_AVAIL")
        return self._read(self.job_control_env.get(text_from_c(name)), buffer, size)

    def spank_job_control_setenv(self, handle: tuple[str, str], name: bytes, value: bytes, overwrite: int) -> int:
        """Implement the function of spank.h."""
        return self._job_control_write(handle, name, value)

    def spank_job_control_unsetenv(self, handle: tuple[str, str], name: bytes) -> int:
        """Implement the function of spank.h."""
        return self._job_control_write(handle, name, None)

    def _job_control_write(self, handle: tuple[str, str], name: bytes, value: bytes | None) -> int:
        context, _ = handle
        if context not in ("local", "allocator"):
            refusals = {"remote": "ESPANK_NOT_LOCAL", "slurmd": "ESPANK_NOT_AVAIL"}
            return self._error(refusals.get(context, "ESPANK_BAD_ARG"))
        _write(self.job_control_env, name, value)
        return 0

    def getenv(self, name: bytes) -> Any:
        """Implement the function of the C library."""
        value = self._process_env().get(text_from_c(name))
        return _ffi.NULL if value is None else self._string(value)

    def setenv(self, name: bytes, value: bytes, overwrite: int) -> int:
        """Implement the function of the C library."""
        _write(self.env, name, value)
        return 0

    def unsetenv(self, name: bytes) -> int:
        """Implement the function of the C library."""
        _write(self.env, name, None)
        return 0

    @property
    def environ(self) -> Any:
        """The environment of the process, as the C library has it."""
        return self._strings(_entries(self._process_env()))

    # The rest of spank.h.

    def spank_prepend_task_argv(self, handle: tuple[str, str], count: int, words: Any) -> int:
        """Implement the function of spank.h."""
        self.prepended[:0] = [text_at(words[index]) for index in range(count)]
        return 0

    def spank_symbol_supported(self, symbol: bytes) -> int:
        """Implement the function of spank.h."""
        name = text_from_c(symbol).removeprefix("slurm_spank_")
        return int(f"spank.{name}" in HOOKS)

    def _process_env(self) -> dict[str, str]:
        """Return the environment of the process; in prolog and epilog it includes the job control environment."""
        control = self.job_control_env if self.context == "job_script" else {}
        return self.env | {f"{CONTROL_PREFIX}{name}": value for name, value in control.items()}

    def _strings(self, words: Iterable[str]) -> Any:
        return self._kept(_ffi.new("char *[]", [*map(self._string, words), _ffi.NULL]))

    def _string(self, text: str) -> Any:
        return self._kept(_ffi.new("char[]", text_to_c("text", text)))

    def _kept(self, memory: Any) -> Any:
        """Keep memory alive as long as this object, as Slurm would."""
        self._keep.append(memory)
        return memory


def _contexts(callback: str) -> tuple[str, ...]:
    """Return the contexts in which Slurm calls a callback, the most usual first."""
    spec = HOOKS.get(f"spank.{callback}")
    if spec is None:
        raise ValueError(f"no callback {callback!r}{nearest(callback, POINTS['spank'].functions)}")
    return spec.contexts


def text_at(pointer: Any) -> str:
    """Return the text at a pointer of cffi."""
    raw = _ffi.string(pointer)
    assert isinstance(raw, bytes)
    return text_from_c(raw)


def _entries(env: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in env.items()]


def _write(env: dict[str, str], name: bytes, value: bytes | None) -> None:
    if value is None:
        env.pop(text_from_c(name), None)
    else:
        env[text_from_c(name)] = text_from_c(value)
