# SPDX-License-Identifier: GPL-2.0-or-later
"""What a SPANK handler sees."""

from __future__ import annotations

from slurmhooks.errors import SpankError
from slurmhooks.spank.fields import ANYWHERE, CONTROL_WRITE, ITEMS, PREPEND, REMOTE, STEP_NAMES
from slurmhooks.values import ENCODING, ERRORS, strings_from_c, text_from_c, text_to_c, variable_size
from slurmhooks.view import FunctionMapping, nearest, stale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from slurmhooks.spank.fields import Item, Where
    from slurmhooks.values import ExitStatus


CONTROL = "in srun, sbatch and salloc, and for reading in prolog and epilog"
CONTROL_PREFIX = "SPANK_"
"""Slurm puts it before the names of the job control environment, for prolog and epilog."""
LONGEST_VARIABLE = 131071
"""Bytes of NAME=VALUE and NUL: Linux starts no process with more; Slurm would drop it and answer that all is well."""


class Environment(FunctionMapping):
    """An environment that a process can have."""

    __slots__ = ()

    def _check(self, name: object, value: object = "") -> None:
        self._living()
        size = variable_size(name, value)
        if size > LONGEST_VARIABLE:
            raise ValueError(
                f"environment variable {name}: NAME=VALUE and a NUL take {size} bytes; the limit is {LONGEST_VARIABLE}"
            )


class ControlEnvironment(Environment):
    """The job control environment; it refuses at once what would have no effect."""

    __slots__ = ("_writable",)

    def __init__(
        self,
        load: Callable[[str], str | None],
        names: Callable[[], Iterable[str]],
        apply: Callable[[str, str | None], None],
        writable: Callable[[], None],
    ) -> None:
        """Take the functions; see FunctionMapping.

        Args:
            load: see there.
            names: see there.
            apply: see there.
            writable: raises SpankError if nothing can be written.
        """
        super().__init__(load, names, apply)
        self._writable = writable

    def _check(self, name: object, value: object = "") -> None:
        super()._check(name, value)
        self._writable()

    def __delitem__(self, name: str) -> None:
        """Delete a name; KeyError if it is not set."""
        self._living()
        self._writable()
        super().__delitem__(name)


_FOR_DISPATCH = frozenset({"savepoint", "rollback", "commit", "close"})


class Spank:
    """The handle of one SPANK callback.

    Items of ``spank_item_t`` are attributes, named as in spank.h without ``S_``, in lower case; those that take an
    argument are methods. Where Slurm does not offer an item, reading it raises SpankError.

    Attributes:
        context: "local" (srun), "remote" (slurmstepd), "allocator" (sbatch, salloc), "slurmd" or "job_script".
        args: the arguments on the line of plugstack.conf, without those that slurmhooks takes itself.
        callback: Slurm's name of the running callback, without ``slurm_spank_``.
        env: the environment: of the job in slurmstepd, of the process elsewhere.
        job_control_env: what srun, sbatch and salloc hand to prolog and epilog, and can read there. Whoever submits the
            job can write it too: prolog and epilog, which run as root, must not trust it.
    """

    if TYPE_CHECKING:
        job_uid: int
        job_gid: int
        job_id: int
        job_stepid: int
        job_nnodes: int
        job_nodeid: int
        job_local_task_count: int
        job_total_task_count: int
        job_ncpus: int
        job_argv: list[str]
        job_env: dict[str, str]
        job_supplementary_gids: list[int]
        task_id: int
        task_global_id: int
        task_exit_status: ExitStatus
        task_pid: int
        job_pid_to_global_id: Callable[[int], int]
        job_pid_to_local_id: Callable[[int], int]
        job_local_to_global_id: Callable[[int], int]
        job_global_to_local_id: Callable[[int], int]
        slurm_version: str
        slurm_version_major: str
        slurm_version_minor: str
        slurm_version_micro: str
        step_cpus_per_task: int
        job_alloc_cores: str | None
        job_alloc_mem: int
        step_alloc_cores: str | None
        step_alloc_mem: int
        slurm_restart_count: int | None
        job_array_id: int | None
        job_array_task_id: int | None
        context: str
        callback: str
        args: tuple[str, ...]
        env: Environment
        job_control_env: ControlEnvironment

    def __init__(self, native: Any, handle: Any, context: str, callback: str, args: Sequence[str]) -> None:
        """Wrap a handle; for the entry point.

        Args:
            native: the module that holds ffi and lib.
            handle: the ``spank_t``.
            context: its name.
            callback: its name.
            args: see the class.
        """
        self._ffi = native.ffi
        self._lib = native.lib
        self._handle = handle
        self._prepended: list[bytes] = []
        if context == "remote":
            env = Environment(self._getenv, self._env_names, self._setenv)
        else:
            env = Environment(self._process_getenv, self._process_env_names, self._process_setenv)
        job_control_env = ControlEnvironment(
            self._job_control_getenv, self._job_control_names, self._job_control_setenv, self._job_control_writable
        )
        self.__dict__.update(
            context=context, callback=callback, args=tuple(args), env=env, job_control_env=job_control_env
        )

    def __getattr__(self, name: str) -> Any:
        """Explain an attribute that does not exist."""
        names = (known for known in dir(self) if not known.startswith("_") and known not in _FOR_DISPATCH)
        raise AttributeError(f"spank has no {name!r}{nearest(name, names)}")

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse what a handler assigns: only the environments can be written to, by name."""
        if not name.startswith("_"):
            if name not in dir(self):
                self.__getattr__(name)
            raise AttributeError(f"spank.{name} is read-only")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        """Return callback and context."""
        return f"<Spank {self.callback} in {self.context}>"

    @property
    def step_name(self) -> str:
        """The step as Slurm's tools name it: "0" and so on, "batch", "extern" or "interactive".

        Where: as job_stepid.
        """
        return STEP_NAMES.get(self.job_stepid, str(self.job_stepid))

    def prepend_task_argv(self, argv: Iterable[str]) -> None:
        """Put words before the command that the task will execute, once all handlers have passed.

        Args:
            argv: the words; a later call puts its words before those of an earlier one.

        Raises:
            SpankError: outside task_init_privileged and task_init, or before Slurm 23.11.

        Source: spank.h spank_prepend_task_argv, since 23.11.
        """
        self._living()
        if not hasattr(self._lib, "spank_prepend_task_argv"):
            self._raise("spank_prepend_task_argv", "ESPANK_NOT_AVAIL", "in Slurm 23.11 and later")
        if not PREPEND.includes(self.context, self.callback):
            self._raise("spank_prepend_task_argv", "ESPANK_NOT_TASK", PREPEND.text)
        if isinstance(argv, str):
            raise TypeError(f"prepend_task_argv takes a list of str, not {argv!r}")
        self._prepended[:0] = [text_to_c("argv", word) for word in argv]

    def symbol_supported(self, symbol: str) -> bool:
        """Tell whether this Slurm calls a function of that name, such as ``slurm_spank_task_init``.

        Source: spank.h spank_symbol_supported.
        """
        self._living()
        return bool(self._lib.spank_symbol_supported(text_to_c("symbol", symbol)) == 1)

    def _living(self) -> None:
        if not self.env._alive:
            raise stale(self)

    def _raise(self, item: str, code: str, where: str) -> Any:
        raise SpankError(code, item, f"not available in {self.callback} ({self.context}); it works {where}")

    def _code(self, number: int) -> str:
        """Return the name of an ESPANK code of this release."""
        for name in dir(self._lib):
            if name.startswith("ESPANK_") and getattr(self._lib, name) == abs(number):
                return name
        return str(number)

    def _get(self, item: str, where: Where, first: Any, second: Any) -> None:
        self._living()
        if self.context == "allocator" and where is not ANYWHERE:
            # Slurm has nothing to tell there, but in exit its answer depends on what lies in a register.
            self._raise(item, "ESPANK_NOT_AVAIL", where.text)
        code = self._lib.slurmhooks_get_item(self._handle, getattr(self._lib, item), first, second)
        if code:
            self._raise(item, self._code(code), where.text)

    def _item(self, item: Item) -> Any:
        if not item.ctype:
            return _READERS[item.item](self, item)
        result = self._ffi.new(f"{item.ctype} *")
        self._get(item.item, item.where, result, self._ffi.NULL)
        return item.convert(self, self._text(result[0]) if item.ctype == "char *" else result[0])

    def _text(self, pointer: Any) -> str | None:
        return None if pointer == self._ffi.NULL else text_from_c(self._ffi.string(pointer))

    def _argv(self, item: Item) -> list[str]:
        count = self._ffi.new("int *")
        argv = self._ffi.new("char ***")
        self._get(item.item, item.where, count, argv)
        return [text_from_c(self._ffi.string(argv[0][index])) for index in range(count[0])]

    def _gids(self, item: Item) -> list[int]:
        gids = self._ffi.new("gid_t **")
        count = self._ffi.new("int *")
        self._get(item.item, item.where, gids, count)
        return [int(gids[0][index]) for index in range(count[0])]

    def _environment(self, item: Item) -> dict[str, str]:
        if self.context != "remote":
            # srun's local_user_init says that it worked, and gives a null pointer.
            self._raise(item.item, "ESPANK_NOT_REMOTE", item.where.text)
        return dict(self.env)

    def _convert(self, item: Item, value: int) -> Any:
        self._living()
        if not isinstance(value, int):
            raise TypeError(f"{item.argument} takes an int, not {value!r}")
        if not 0 <= value < 1 << 32:
            raise ValueError(f"{item.argument} takes 0 to {(1 << 32) - 1}, not {value}")
        result = self._ffi.new(f"{item.ctype} *")
        if item.argument == "local_id" and self.context == "remote" and value >= self.job_local_task_count:
            # Slurm would look one place behind the end of its tasks.
            code = self._lib.ESPANK_NOEXIST
        else:
            code = self._lib.slurmhooks_convert(self._handle, getattr(self._lib, item.item), value, result)
        if code and item.where.includes(self.context, self.callback):
            raise SpankError(self._code(code), item.item, f"no answer for {item.argument} {value}")
        if code:
            self._raise(item.item, self._code(code), item.where.text)
        return item.convert(self, result[0])

    def _read(self, function: Any, name: str, missing: str) -> str | None:
        """Read a variable of any length."""
        size = 4096
        while True:
            buffer = self._ffi.new("char[]", size)
            code = function(self._handle, name.encode(ENCODING, ERRORS), buffer, size)
            if not code:
                return text_from_c(self._ffi.string(buffer))
            if code == self._lib.ESPANK_ENV_NOEXIST:
                return None
            if code != self._lib.ESPANK_NOSPACE or size > 1 << 26:
                self._raise(function.__name__ if hasattr(function, "__name__") else missing, self._code(code), missing)
            size *= 4

    def _write(self, name: str, value: str | None, set_function: Any, unset_function: Any, what: str) -> None:
        key = name.encode(ENCODING, ERRORS)
        if value is None:
            code = unset_function(self._handle, key)
        else:
            code = set_function(self._handle, key, value.encode(ENCODING, ERRORS), 1)
        if code:
            text = f"cannot write {name} in {self.callback} ({self.context})"
            raise SpankError(self._code(code), what, text)

    def _getenv(self, name: str) -> str | None:
        return self._read(self._lib.spank_getenv, name, REMOTE.text)

    def _env_names(self) -> list[str]:
        return [entry.split("=", 1)[0] for entry in self._strings_of_item()]

    def _strings_of_item(self) -> list[str]:
        environment = self._ffi.new("char ***")
        self._get("S_JOB_ENV", REMOTE, environment, self._ffi.NULL)
        return strings_from_c(self._ffi, environment[0])

    def _setenv(self, name: str, value: str | None) -> None:
        self._write(name, value, self._lib.spank_setenv, self._lib.spank_unsetenv, "spank_setenv")

    def _process_getenv(self, name: str) -> str | None:
        pointer = self._lib.getenv(name.encode(ENCODING, ERRORS))
        return self._text(pointer)

    def _process_env_names(self) -> list[str]:
        return [entry.split("=", 1)[0] for entry in strings_from_c(self._ffi, self._lib.environ)]

    def _process_setenv(self, name: str, value: str | None) -> None:
        key = name.encode(ENCODING, ERRORS)
        if value is None:
            self._lib.unsetenv(key)
        else:
            self._lib.setenv(key, value.encode(ENCODING, ERRORS), 1)

    def _job_control_writable(self) -> None:
        if not CONTROL_WRITE.includes(self.context, self.callback):
            code = "ESPANK_NOT_LOCAL" if self.context == "remote" else "ESPANK_NOT_AVAIL"
            self._raise("spank_job_control_setenv", code, CONTROL_WRITE.text)

    def _job_control_getenv(self, name: str) -> str | None:
        if self.context == "job_script":
            return self._process_getenv(CONTROL_PREFIX + name)
        return self._read(self._lib.spank_job_control_getenv, name, CONTROL)

    def _job_control_names(self) -> list[str]:
        if self.context == "job_script":
            return [
                name.removeprefix(CONTROL_PREFIX)
                for name in self._process_env_names()
                if name.startswith(CONTROL_PREFIX)
            ]
        raise SpankError(
            "ESPANK_NOT_AVAIL",
            "spank_job_control_getenv",
            "Slurm lists the job control environment only in prolog and epilog",
        )

    def _job_control_setenv(self, name: str, value: str | None) -> None:
        self._write(
            name,
            value,
            self._lib.spank_job_control_setenv,
            self._lib.spank_job_control_unsetenv,
            "spank_job_control_setenv",
        )

    def savepoint(self) -> object:
        """Return the writes so far; for dispatch."""
        return self.env.savepoint(), self.job_control_env.savepoint(), list(self._prepended)

    def rollback(self, savepoint: object) -> None:
        """Forget the writes since a savepoint; for dispatch."""
        assert isinstance(savepoint, tuple)
        env, job_control, self._prepended[:] = savepoint
        self.env.rollback(env)
        self.job_control_env.rollback(job_control)

    def commit(self) -> None:
        """Apply the writes; for dispatch."""
        self.env.commit()
        self.job_control_env.commit()
        if self._prepended:
            words = [self._ffi.new("char[]", word) for word in self._prepended]
            argv = self._ffi.new("const char *[]", [*words, self._ffi.NULL])
            code = self._lib.spank_prepend_task_argv(self._handle, len(words), argv)
            if code:
                raise SpankError(self._code(code), "spank_prepend_task_argv", "cannot prepend to the task's command")

    def close(self) -> None:
        """Refuse every later use; for dispatch."""
        self.env.close()
        self.job_control_env.close()


def _attribute(item: Item) -> Any:
    doc = f"{item.doc}\n\nWhere: {item.where.text}. Source: spank.h {item.item}."
    if item.argument is None:
        return property(lambda self: self._item(item), doc=doc)

    def method(self: Spank, value: int) -> Any:
        return self._convert(item, value)

    method.__name__ = item.name
    method.__doc__ = doc
    return method


_READERS: dict[str, Callable[[Spank, Item], Any]] = {
    "S_JOB_ARGV": Spank._argv,
    "S_JOB_ENV": Spank._environment,
    "S_JOB_SUPPLEMENTARY_GIDS": Spank._gids,
}

for _item in ITEMS:
    setattr(Spank, _item.name, _attribute(_item))
