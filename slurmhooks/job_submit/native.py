# SPDX-License-Identifier: GPL-2.0-or-later
"""The compiled side of the views: which members this release has, and Slurm's allocator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import _slurmhooks_job_submit as public

from slurmhooks.job_submit import model
from slurmhooks.job_submit.bases import native_view
from slurmhooks.job_submit.rows import Field, Gres, Identity, Number, Plain, Text, Time, bind, rows
from slurmhooks.job_submit.users import Users, owner_of
from slurmhooks.values import NO_VAL, UNLIMITED, text_from_c, text_to_c

try:
    import _slurmhooks_slurmctld as private
except ModuleNotFoundError:
    private = None

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PRIVATE_ARGUMENTS = frozenset({"record", "jobs", "partitions", "reservations"})
"""What needs slurmctld's private structs, and so a build with Slurm's sources."""
NEEDS_SOURCES = model.NEEDS_SOURCES

ARRAYS = {"argv": "argc", "environment": "env_size", "spank_job_env": "spank_job_env_size"}
"""The arrays of strings of a request, each with the counter that must follow it."""

KINDS: dict[type, str] = {
    Gres: "text",
    Identity: "identity",
    Number: "number",
    Plain: "plain",
    Text: "text",
    Time: "time",
}
"""The rows that native/job_submit/field.c knows how to read."""
ENCODED_IN_PYTHON = (Gres,)
"""Those of them that it does not know how to write."""

ffi = public.ffi
lib = public.lib


class CffiBackend:
    """Reads a struct through cffi, and writes it with Slurm's allocator."""

    release = (lib.SLURM_VERSION_NUMBER >> 16 & 0xFF, lib.SLURM_VERSION_NUMBER >> 8 & 0xFF)

    def __init__(self, module: Any, struct: str, computed: Mapping[str, Callable[[Any], Any]] | None = None) -> None:
        """View a struct.

        Args:
            module: the compiled one that knows the struct's members.
            struct: its name.
            computed: the functions of fields that are not members.
        """
        self._ffi = module.ffi
        self._null = module.ffi.NULL
        self._type = module.ffi.typeof(struct)
        self._computed = computed or {}
        self.string = module.ffi.string
        self._members = dict(self._type.fields)

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
        """See rows.Backend; native/job_submit/field.c writes all texts, see stored()."""
        raise NotImplementedError(member)

    def strings(self, struct: Any, member: str, count: str) -> list[bytes]:
        """See rows.Backend."""
        null = self._null
        array, number = _follow(struct, member), _follow(struct, count)
        if not array:
            return []
        return [self.string(array[index]) for index in range(number) if array[index] != null]

    def computed(self, name: str) -> Callable[[Any], Any] | None:
        """See rows.Backend."""
        return self._computed.get(name)

    def compiled(self, row: Field[Any], member: str) -> Any:
        """See rows.Backend: text and numbers that are members of the struct itself."""
        kind = KINDS.get(type(row))
        writable = row.writable and not isinstance(row, ENCODED_IN_PYTHON)
        return None if kind is None else self._field(kind, member, writable, row.doc)

    def stored(self, view: type) -> dict[str, Any]:
        """Return, for the members that handlers can write, what writes them; those in Python are left out."""
        found = {}
        for row in rows(view).values():
            member = next((path for path in row.members if self.has(path)), None)
            if not row.writable or member is None:
                continue
            field = self._field("text" if isinstance(row, Text) else "plain", member, True, row.doc)
            if field is not None:
                found[member] = field
            elif isinstance(row, Text):
                raise TypeError(f"{member}: no char * of the struct itself")
        return found

    def _field(self, kind: str, member: str, writable: bool, doc: str) -> Any:
        """Return the compiled field of a member, or None if it is of a type that native/job_submit does not know."""
        found = self._members.get(member)
        if found is None:
            return None
        size = self._ffi.sizeof(found.type)
        known = {"text": ("char *",), "time": ("time_t",), "identity": ("uid_t", "gid_t", f"uint{size * 8}_t")}
        if found.type.cname not in known.get(kind, (f"uint{size * 8}_t", "time_t")):
            return None
        return native_view.Field(kind, member, found.offset, size, writable, UNLIMITED, doc)

    def mapping(self, type_: type, name: str, script: Any, doc: str | None) -> Any:
        """Return the field that hands an environment array out.

        Args:
            type_: as what; a class below native_view.Variables.
            name: of the member.
            script: the field that tells batch jobs, or None if srun and salloc have this array, too.
            doc: what it is.
        """
        array, count = (self._members[member].offset for member in (name, ARRAYS[name]))
        return native_view.Mapping(type_, name, array, count, script, doc)

    def read(self, struct: Any, name: str) -> list[bytes]:
        """See model.Arrays."""
        return self.strings(struct, name, ARRAYS[name])

    def find(self, struct: Any, name: str, start: bytes) -> bytes | None:
        """See model.Arrays."""
        return next((item[len(start) :] for item in self.read(struct, name) if item.startswith(start)), None)

    def write(self, struct: Any, name: str, items: list[bytes]) -> None:
        """See model.Arrays: all strings are copied before the old ones are freed."""
        old, count = getattr(struct, name), getattr(struct, ARRAYS[name])
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


def _follow(struct: Any, path: str) -> Any:
    """Return a member, also of a struct that another points to; None if that is NULL."""
    for name in path.split("."):
        if not struct:
            return None
        struct = getattr(struct, name)
    return struct


class Associations(Users):
    """What slurmctld knows of users, as job_submit/lua asks for it."""

    def __init__(self, module: Any) -> None:
        """Take the functions of the compiled module."""
        self._ffi = module.ffi
        self._lib = module.lib

    def _text(self, found: Any) -> str | None:
        """Return a text that the C side allocated, and free it."""
        if not found:
            return None
        text = text_from_c(self._ffi.string(found))
        self._lib.free(found)
        return text

    def _association(self, function: Any, job: Any) -> str | None:
        user_id = owner_of(job)
        if user_id is None:
            return None
        account, partition = (
            self._ffi.NULL if text is None else self._ffi.new("char[]", text_to_c("text", text))
            for text in (job.account, job.partition)
        )
        return self._text(function(user_id, account, partition))

    def user_name(self, job: Any) -> str | None:
        """Return the user's name, which recent releases of Slurm send along."""
        user_id = owner_of(job)
        if user_id is None:
            return None
        # An update is sent by who changes the job, so only a submission's identity is its owner's.
        identity = getattr(job._struct, "id", self._ffi.NULL) if job._owner is None else self._ffi.NULL
        return self._text(self._lib.slurmhooks_user_name(identity, user_id))

    def default_account(self, job: Any) -> str | None:
        """Return the account that the user is charged to when none is named."""
        user_id = owner_of(job)
        return None if user_id is None else self._text(self._lib.slurmhooks_default_account(user_id))

    def default_qos(self, job: Any) -> str | None:
        """Return the default QOS of the association of user, account and partition."""
        return self._association(self._lib.slurmhooks_default_qos, job)

    def assoc_comment(self, job: Any) -> str | None:
        """Return the comment of that association."""
        return self._association(self._lib.slurmhooks_assoc_comment, job)

    def assoc_qos(self, job: Any) -> str | None:
        """Return the names of the QOS of that association, sorted, as job_submit/lua does."""
        names = self._association(self._lib.slurmhooks_assoc_qos, job)
        return None if names is None else ",".join(sorted(names.split(",")))


def _functions(users: Users) -> dict[str, Callable[[Any], Any]]:
    return {name: getattr(users, name) for name in dir(users) if not name.startswith("_")}


_desc = CffiBackend(public, "job_desc_msg_t", _functions(Users() if private is None else Associations(private)))


class Environment(native_view.Variables, model.Variables):  # type: ignore[misc]
    """An environment array of a request: looked up in C, changed in Python."""

    __slots__ = ()


def _job() -> type[model.Job]:
    """Return the class of requests."""
    made: Any = bind(model.Job, _desc)
    made._arrays = _desc
    made._cast = staticmethod(lambda address: ffi.cast("job_desc_msg_t *", address))
    # Only a batch job's environment is of use: that of the others does not come from the request.
    for name, script in (("environment", vars(made)["script"]), ("spank_job_env", None)):
        type.__setattr__(made, name, _desc.mapping(Environment, name, script, vars(model.Job)[name].__doc__))
    job: type[model.Job] = made
    return job


Job = _job()
STORED = _desc.stored(model.Job)
"""What native/job_submit writes by itself: the compiled field of each such member."""


class PrivateViews:
    """``record`` and the three tables; only where the build had Slurm's sources."""

    def __init__(self, module: Any) -> None:
        """Bind the classes to the private structs."""
        self._module = module
        self._ffi = module.ffi
        self._lib = module.lib
        functions = {"script": self._script, "user_name": self._user_name}
        self.record_class = self._bind(model.Record, "job_record_t", functions)
        self.partition_class = self._bind(model.Partition, "part_record_t")
        self.reservation_class = self._bind(model.Reservation, "slurmctld_resv_t")

    def _bind(self, view: type, struct: str, computed: Mapping[str, Callable[[Any], Any]] | None = None) -> Any:
        """Return the class of a struct's views."""
        ffi = self._ffi
        made: Any = bind(view, CffiBackend(module=self._module, struct=struct, computed=computed))
        made._cast = staticmethod(lambda address: ffi.cast(f"{struct} *", address))
        return made

    def _text(self, found: Any) -> str | None:
        if not found:
            return None
        text = text_from_c(self._ffi.string(found))
        self._lib.free(found)
        return text

    def _script(self, record: Any) -> str | None:
        return self._text(self._lib.slurmhooks_job_script(record._struct))

    def _user_name(self, record: Any) -> str | None:
        struct = record._struct
        if struct.user_name:
            return text_from_c(self._ffi.string(struct.user_name))
        return self._text(self._lib.slurmhooks_user_name(self._ffi.NULL, struct.user_id))

    def owner(self, record: int) -> int:
        """Return the user of a ``job_record_t``."""
        user_id: int = self._ffi.cast("job_record_t *", record).user_id
        return user_id

    def _view(self, made: Any, pointer: Any) -> Any:
        """Return the view of a struct, of which there is a pointer of any type."""
        return made(None, int(self._ffi.cast("uintptr_t", pointer)))

    def record(self, address: int) -> model.Record:
        """Return the view of a ``job_record_t``."""
        view: model.Record = self.record_class(None, address)
        return view

    def partitions(self, user_id: int, submit_uid: int) -> model.Table:
        """Return the partitions that a user may use."""
        lib = self._lib

        def find(name: Any) -> Any:
            if not isinstance(name, str) or "\0" in name:
                return None
            found = lib.slurmhooks_find_partition(text_to_c("name", name), user_id, submit_uid)
            return self._view(self.partition_class, found) if found else None

        def everything() -> dict[Any, Any]:
            items = self._fill(lambda array, size: lib.slurmhooks_partitions(array, size, user_id, submit_uid))
            views = [self._view(self.partition_class, item) for item in items]
            return {view.name: view for view in views}

        return model.Table(find, everything)

    def jobs(self) -> model.Table:
        """Return the jobs that slurmctld knows, by job id: ``jobs[123]``, or ``jobs["123"]`` as in Lua."""
        lib = self._lib

        def find(job_id: Any) -> Any:
            if isinstance(job_id, str) and job_id.isdecimal():  # as job_submit/lua spells it
                job_id = int(job_id)
            if not isinstance(job_id, int) or not 0 < job_id < NO_VAL[32]:
                return None
            found = lib.slurmhooks_find_job(job_id)
            return self._view(self.record_class, found) if found else None

        def everything() -> dict[Any, Any]:
            items = self._fill(lib.slurmhooks_jobs)
            views = [self._view(self.record_class, item) for item in items]
            return {view.job_id: view for view in views}

        return model.Table(find, everything)

    def reservations(self) -> model.Table:
        """Return the reservations, by name."""
        lib = self._lib

        def everything() -> dict[Any, Any]:
            items = self._fill(lib.slurmhooks_reservations)
            views = [self._view(self.reservation_class, item) for item in items]
            return {view.name: view for view in views}

        def find(name: Any) -> Any:
            if not isinstance(name, str) or "\0" in name:
                return None
            found = lib.slurmhooks_find_reservation(text_to_c("name", name))
            return self._view(self.reservation_class, found) if found else None

        return model.Table(find, everything)

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
slurmctld: Any = private
"""The compiled module of slurmctld's private structs; None in a build without Slurm's sources."""


def _makers() -> dict[str, Callable[[int, int, int], model._View | model.Table]]:
    """Return, by their names, what makes the private arguments from the record's address, the owner and the sender."""
    if views is None:
        return {}
    record, partitions, jobs, reservations = views.record, views.partitions, views.jobs, views.reservations
    return {
        "record": lambda address, owner, uid: record(address),
        "partitions": lambda address, owner, uid: partitions(owner, uid),
        "jobs": lambda address, owner, uid: jobs(),
        "reservations": lambda address, owner, uid: reservations(),
    }


MAKERS = _makers()


def submitter(desc: int) -> int:
    """Return the user whose job a ``job_desc_msg_t`` asks for."""
    user_id: int = ffi.cast("job_desc_msg_t *", desc).user_id
    return user_id


def owner(record: int, uid: int) -> int:
    """Return whose job a ``job_record_t`` is; a build without Slurm's sources takes it for the sender's."""
    return uid if views is None else views.owner(record)
