# SPDX-License-Identifier: GPL-2.0-or-later
"""The compiled side of the views: which members this release has, and Slurm's allocator."""

from __future__ import annotations

from typing import Any

import _slurmhooks_job_submit as public

from slurmhooks.job_submit import model
from slurmhooks.job_submit.rows import bind

try:
    import _slurmhooks_slurmctld as private
except ModuleNotFoundError:
    private = None

PRIVATE_ARGUMENTS = frozenset({"record", "jobs", "partitions", "reservations"})
"""What needs slurmctld's private structs, and so a build with Slurm's sources."""

NEEDS_SOURCES = (
    "this build has only Slurm's public headers; to have them, run 'slurmhooks build --slurm-source DIR' with the sources"
    " of exactly the installed release, and install the result"
)

ARRAYS = {"argv": "argc", "environment": "env_size", "spank_job_env": "spank_job_env_size"}
"""The arrays of strings, each with the counter that must follow it."""


class CffiBackend:
    """Reads and writes a struct through cffi."""

    def __init__(self, module: Any, struct: str) -> None:
        """Take the struct's members from the compiled module."""
        self._ffi = module.ffi
        self._lib = module.lib
        self._type = self._ffi.typeof(struct)
        self.string = self._ffi.string

    def has(self, path: str) -> bool:
        """See rows.Backend."""
        kind = self._type
        for name in path.split("."):
            if kind.kind == "pointer":
                kind = kind.item
            fields = dict(kind.fields or ()) if kind.kind == "struct" else {}
            if name not in fields:
                return False
            kind = fields[name].type
        return True

    def write_text(self, struct: Any, member: str, raw: bytes | None) -> None:
        """See rows.Backend: frees the old string and copies the new one, with Slurm's allocator."""
        slot = self._ffi.addressof(struct[0], member)
        self._lib.slurm_xfree(self._ffi.cast("void **", slot))
        if raw is not None:
            setattr(struct, member, self._lib.slurm_xstrdup(raw))

    def read(self, struct: Any, name: str) -> list[bytes]:
        """See model.Arrays."""
        array = getattr(struct, name)
        count = getattr(struct, ARRAYS[name])
        if array == self._ffi.NULL:
            return []
        return [self._ffi.string(array[index]) for index in range(count) if array[index] != self._ffi.NULL]

    def write(self, struct: Any, name: str, items: list[bytes]) -> None:
        """See model.Arrays."""
        ffi, lib = self._ffi, self._lib
        old = getattr(struct, name)
        count = getattr(struct, ARRAYS[name])
        new = ffi.NULL
        if items:
            # One more than counted, NULL at the end, as Slurm's own arrays are.
            size = ffi.sizeof("char *")
            new = ffi.cast("char **", lib.slurm_xcalloc(len(items) + 1, size, True, False, b"slurmhooks", 0, b"write"))
            for index, item in enumerate(items):
                new[index] = lib.slurm_xstrdup(item)
        if old != ffi.NULL:
            for index in range(count):
                lib.slurm_xfree(ffi.cast("void **", old + index))
            lib.slurm_xfree(ffi.cast("void **", ffi.addressof(struct[0], name)))
        setattr(struct, name, new)
        setattr(struct, ARRAYS[name], len(items))


ffi = public.ffi
lib = public.lib
_desc = CffiBackend(public, "job_desc_msg_t")
Job = bind(model.Job, _desc)
Job._arrays = _desc


class PrivateViews:
    """``record`` and the three tables; only where the build had Slurm's sources."""

    def __init__(self, module: Any) -> None:
        """Bind the classes to the private structs."""
        self._ffi = module.ffi
        self._lib = module.lib
        self.record_class = bind(model.Record, CffiBackend(module, "job_record_t"))
        self.partition_class = bind(model.Partition, CffiBackend(module, "part_record_t"))
        self.reservation_class = bind(model.Reservation, CffiBackend(module, "slurmctld_resv_t"))

    def record(self, address: int) -> model.Record:
        """Return the view of a ``job_record_t``."""
        view: model.Record = self.record_class(self._ffi.cast("job_record_t *", address))
        return view

    def partitions(self, user_id: int, submit_uid: int) -> model.Table:
        """Return the partitions that a user may use."""
        ffi, lib = self._ffi, self._lib

        def find(name: Any) -> Any:
            if not isinstance(name, str):
                return None
            found = lib.slurmhooks_find_partition(name.encode("utf-8", "surrogateescape"), user_id, submit_uid)
            return self.partition_class(ffi.cast("part_record_t *", found)) if found else None

        def everything() -> dict[Any, Any]:
            items = self._fill(lambda array, size: lib.slurmhooks_partitions(array, size, user_id, submit_uid))
            views = [self.partition_class(ffi.cast("part_record_t *", item)) for item in items]
            return {view.name: view for view in views}

        return model.Table(find, everything)

    def jobs(self) -> model.Table:
        """Return the jobs that slurmctld knows, by job id."""
        ffi, lib = self._ffi, self._lib

        def find(job_id: Any) -> Any:
            if not isinstance(job_id, int) or not 0 < job_id < 1 << 32:
                return None
            found = lib.slurmhooks_find_job(job_id)
            return self.record_class(ffi.cast("job_record_t *", found)) if found else None

        def everything() -> dict[Any, Any]:
            items = self._fill(lib.slurmhooks_jobs)
            views = [self.record_class(ffi.cast("job_record_t *", item)) for item in items]
            return {view.job_id: view for view in views}

        return model.Table(find, everything)

    def reservations(self) -> model.Table:
        """Return the reservations, by name."""
        ffi, lib = self._ffi, self._lib

        def everything() -> dict[Any, Any]:
            items = self._fill(lib.slurmhooks_reservations)
            views = [self.reservation_class(ffi.cast("slurmctld_resv_t *", item)) for item in items]
            return {view.name: view for view in views}

        return model.Table(lambda name: everything().get(name), everything)

    def _fill(self, function: Any) -> list[Any]:
        """Call a function that fills an array, with one that is large enough."""
        size = 64
        while True:
            array = self._ffi.new("void *[]", size)
            count = function(array, size)
            if count <= size:
                return [array[index] for index in range(count)]
            size = count


views = PrivateViews(private) if private is not None else None
