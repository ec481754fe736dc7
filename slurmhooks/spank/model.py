# SPDX-License-Identifier: GPL-2.0-or-later
"""What a SPANK handler sees."""

from __future__ import annotations

from slurmhooks.errors import SpankError
from slurmhooks.hook import CONTEXTS
from slurmhooks.spank.fields import ITEMS, LAUNCH, REMOTE
from slurmhooks.values import ENCODING, ERRORS, strings_from_c, text_from_c, text_to_c
from slurmhooks.view import FunctionMapping, nearest, stale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from slurmhooks.spank.fields import ExitStatus, Item


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
        job_control_env: the job control environment, which prolog and epilog see (srun, sbatch, salloc only).
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
        slurm_restart_count: int
        job_array_id: int
        job_array_task_id: int | None
        context: str
        callback: str
        args: tuple[str, ...]
        env: FunctionMapping
        job_control_env: FunctionMapping

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
        self._alive = True
        self._prepended: list[bytes] = []
        if context == "remote":
            env = FunctionMapping(self._getenv, self._env_names, self._setenv)
        else:
            env = FunctionMapping(self._process_getenv, self._process_env_names, self._process_setenv)
        job_control_env = FunctionMapping(self._job_control_getenv, self._job_control_names, self._job_control_setenv)
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
    def job_argv(self) -> list[str]:
        """The command and its arguments, as the user gave them.

        Where: in slurmstepd and srun's local_user_init. Source: spank.h S_JOB_ARGV.
        """
        count = self._ffi.new("int *")
        argv = self._ffi.new("char ***")
        self._get("S_JOB_ARGV", LAUNCH, count, argv)
        return [text_from_c(self._ffi.string(argv[0][index])) for index in range(count[0])]

    @property
    def job_supplementary_gids(self) -> list[int]:
        """The supplementary group ids of the job's owner.

        Where: in slurmstepd. Source: spank.h S_JOB_SUPPLEMENTARY_GIDS.
        """
        gids = self._ffi.new("gid_t **")
        count = self._ffi.new("int *")
        self._get("S_JOB_SUPPLEMENTARY_GIDS", REMOTE, gids, count)
        return [int(gids[0][index]) for index in range(count[0])]

    @property
    def job_env(self) -> dict[str, str]:
        """A copy of the job's environment; :attr:`env` is the one to write to.

        Where: in slurmstepd. Source: spank.h S_JOB_ENV.
        """
        return (
            dict(self.env.items())
            if self.context == "remote"
            else self._raise("S_JOB_ENV", "ESPANK_NOT_REMOTE", REMOTE)
        )

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
        if self.callback not in ("task_init_privileged", "task_init"):
            self._raise("spank_prepend_task_argv", "ESPANK_NOT_TASK", "in task_init_privileged and task_init")
        if isinstance(argv, str):
            raise TypeError(f"prepend_task_argv takes a list of str, not {argv!r}")
        self._prepended = [text_to_c("argv", word) for word in argv] + self._prepended

    def symbol_supported(self, symbol: str) -> bool:
        """Tell whether this Slurm calls a function of that name, such as ``slurm_spank_task_init``.

        Source: spank.h spank_symbol_supported.
        """
        self._living()
        return bool(self._lib.spank_symbol_supported(text_to_c("symbol", symbol)) == 1)

    def _living(self) -> None:
        if not self._alive:
            raise stale(self)

    def _raise(self, item: str, code: str, where: str) -> Any:
        raise SpankError(code, item, f"not available in {self.callback} ({self.context}); it works {where}")

    def _code(self, number: int) -> str:
        """Return the name of an ESPANK code of this release."""
        for name in dir(self._lib):
            if name.startswith("ESPANK_") and getattr(self._lib, name) == abs(number):
                return name
        return str(number)

    def _get(self, item: str, where: str, first: Any, second: Any) -> None:
        self._living()
        code = self._lib.slurmhooks_get_item(self._handle, getattr(self._lib, item), first, second)
        if code:
            self._raise(item, self._code(code), where)

    def _item(self, item: Item) -> Any:
        result = self._ffi.new(f"{item.ctype} *")
        self._get(item.item, item.where, result, self._ffi.NULL)
        return item.convert(self._ffi, result)

    def _convert(self, item: Item, value: int) -> Any:
        self._living()
        if not isinstance(value, int):
            raise TypeError(f"{item.argument} takes an int, not {value!r}")
        if not 0 <= value < 1 << 32:
            raise ValueError(f"{item.argument} takes 0 to {(1 << 32) - 1}, not {value}")
        result = self._ffi.new(f"{item.ctype} *")
        code = self._lib.slurmhooks_convert(self._handle, getattr(self._lib, item.item), value, result)
        if code:
            name = self._code(code)
            raise SpankError(name, item.item, f"no answer for {item.argument} {value}; it works {item.where}")
        return item.convert(self._ffi, result)

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
            raise SpankError(self._code(code), what, f"cannot write {name} in {self.callback} ({self.context})")

    def _getenv(self, name: str) -> str | None:
        return self._read(self._lib.spank_getenv, name, REMOTE)

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
        return None if pointer == self._ffi.NULL else text_from_c(self._ffi.string(pointer))

    def _process_env_names(self) -> list[str]:
        return [entry.split("=", 1)[0] for entry in strings_from_c(self._ffi, self._lib.environ)]

    def _process_setenv(self, name: str, value: str | None) -> None:
        key = name.encode(ENCODING, ERRORS)
        if value is None:
            self._lib.unsetenv(key)
        else:
            self._lib.setenv(key, value.encode(ENCODING, ERRORS), 1)

    def _job_control_getenv(self, name: str) -> str | None:
        return self._read(self._lib.spank_job_control_getenv, name, "in srun, sbatch and salloc")

    def _job_control_names(self) -> list[str]:
        self._living()
        raise SpankError(
            "ESPANK_NOT_AVAIL", "spank_job_control_getenv", "Slurm does not list the job control environment"
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
        env, job_control, self._prepended = savepoint
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
        self._alive = False
        self.env.close()
        self.job_control_env.close()


def _attribute(item: Item) -> Any:
    doc = f"{item.doc}\n\nWhere: {item.where}. Source: spank.h {item.item}."
    if item.argument is None:
        return property(lambda self: self._item(item), doc=doc)

    def method(self: Spank, value: int) -> Any:
        return self._convert(item, value)

    method.__name__ = item.name
    method.__doc__ = doc
    return method


for _item in ITEMS:
    setattr(Spank, _item.name, _attribute(_item))

CONTEXT_NAMES = dict(enumerate(CONTEXTS, start=1))
"""spank_context_t by number."""
