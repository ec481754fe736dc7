# SPDX-License-Identifier: GPL-2.0-or-later
"""Members of what Slurm gives to scripts: which exist, which a user chooses, which numbers may be unset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.fields.secrets import BESIDES
from slurmhooks.lua import job_fields
from slurmhooks.workshop.adopt import lua_names
from slurmhooks.workshop.adopt.tree import Call, Constant, Index, Name
from slurmhooks.workshop.adopt.values import ANY, NIL, Remark, Use, Value

if TYPE_CHECKING:
    from slurmhooks.workshop.adopt.context import Arguments, Following

TABLES = {"part_list": "part", "jobs": "job_rec", "reservations": "reservation"}


def argument(role: str) -> Value:
    """Return the value of an argument of a function that Slurm calls."""
    if role in ("job_desc", "job_rec", "part_list", "options", "spank"):
        return Value(kind="table", role=role)
    return Value(kind="number") if role in ("uid", "offset", "job_id", "step_id") else ANY


def constant(value: object) -> Value:
    """Return the value of a constant."""
    if value is None:
        return NIL
    kinds = {bool: "boolean", float: "number", str: "text"}
    return Value(kind=kinds[type(value)], constant=value, start=value if isinstance(value, str) else "")


def global_value(flow: Following, name: Name) -> Value | None:
    """Return the value of a global variable that the script does not define."""
    if name.variable is not None:
        return None
    if name.name == "slurm" and flow.family != "spank":
        return Value(kind="table", role="lib:slurm")
    if name.name == "SPANK" and flow.family == "spank":
        return Value(kind="table", role="lib:SPANK")
    key = f"G.{name.name}"
    if name.name == "posix" or (name.name in lua_names.BASE and not flow.script.assigns(key)):
        return Value(kind="table" if name.name in TABLES_OF_LUA else "function", role=f"lib:{name.name}")
    return None


TABLES_OF_LUA = {"string", "table", "math", "os", "io", "debug", "coroutine", "package", "posix", "bit32", "utf8"}


def read(flow: Following, expression: Index, of: Value, at: Value) -> Value | None:
    """Return the value of a member of something that Slurm gives; None for other tables."""
    name = at.constant if isinstance(at.constant, str) else None
    line = expression.line
    role = of.role
    if role in TABLES or role in lua_names.KINDS or role in ("environment", "options"):
        flow.uses[Use(role, name or "", line)] = None
    if role in TABLES:
        return Value(kind="table", role=TABLES[role])
    if role in lua_names.KINDS:
        return ANY if name is None else _field(flow, role, name, line)
    if role == "environment":
        users = f"job_desc.environment.{name or '[...]'}"
        return Value(kind="text", users=users)
    if role == "options":
        return ANY if name is None else _option(flow, name, line)
    if role == "spank":
        return _of_spank(flow, name, line)
    if role in ("lib:slurm", "lib:SPANK"):
        return ANY if name is None else _of_table(flow, role.removeprefix("lib:"), name, line)
    if role.startswith("lib:") and name is not None:
        return Value(role=f"{role}.{name}")
    return None


def _field(flow: Following, role: str, name: str, line: int) -> Value:
    _check_name(flow, role, name, line)
    if role != "job_desc":
        return ANY
    if name == "environment":
        return Value(kind="table", role="environment")
    kind = lua_names.kind_of(name)
    if kind == "text":
        return Value(kind="text", users="" if name in lua_names.NOT_OF_USERS else f"job_desc.{name}")
    unset = frozenset({name}) if name in lua_names.unset_numbers() else frozenset()
    return Value(kind="" if kind == "unknown" else kind.removesuffix("?"), unset=unset)


def _check_name(flow: Following, role: str, name: str, line: int, *, writes: bool = False) -> None:
    release = flow.settings.release
    fields = lua_names.fields(role, release)
    if name in fields:
        return
    owner = {"part": "a partition", "reservation": "a reservation"}.get(role, role)
    known_in = {other: lua_names.fields(role, other) for other in lua_names.RELEASES}
    where = lua_names.releases_with(name, known_in)
    effect = "the assignment is ignored, and logged" if writes else "it is always nil"
    if where:
        why = f"Slurm {lua_names.shown(release)} does not have it (only {where}): {effect}"
        flow.remark(Remark(line, "release", "warning", f"uses {owner}.{name}", why))
        return
    if role == "job_desc" and name in job_fields.names(role, release) and not writes:
        return
    why = f"no release of Slurm has this field: {effect}{lua_names.similar(name, fields)}"
    flow.remark(Remark(line, "unknown", "warning", f"uses {owner}.{name}", why, "the right name, or nothing"))


def _option(flow: Following, name: str, line: int) -> Value:
    if name == "argv":
        return Value(kind="table")
    if name == "spank":
        return Value(kind="table", role="options.spank")
    if name not in lua_names.options():
        flow.remark(
            Remark(
                line, "unknown", "warning", f"uses options['{name}']",
                f"no command of Slurm has this option: it is always nil{lua_names.similar(name, lua_names.options())}",
                "the long name of the option",
            )
        )  # fmt: skip
    return Value(kind="text")


def _of_spank(flow: Following, name: str | None, line: int) -> Value:
    known = frozenset(lua_names.SPANK_FIELDS | lua_names.SPANK_METHODS)
    if name is None or name in known:
        if name is not None:
            flow.uses[Use("spank", name, line)] = None
        return Value(kind="table") if name == "args" else ANY
    flow.remark(
        Remark(
            line, "unknown", "warning", f"uses spank.{name}",
            f"spank-lua has no such member{lua_names.similar(name, known)}",
        )
    )  # fmt: skip
    return ANY


def spank_method(flow: Following, expression: Call, method: str, arguments: Arguments) -> Value:
    """Return the result of a method of the handle of spank-lua."""
    _of_spank(flow, method, expression.line)
    first = arguments[0][1].constant if arguments else None
    if method == "get_item" and isinstance(first, str):
        flow.uses[Use("item", first, expression.line)] = None
        if first not in lua_names.items():
            flow.remark(
                Remark(
                    expression.line, "unknown", "warning", f"asks for the item {first}",
                    f"SPANK has no such item{lua_names.similar(first, lua_names.items())}",
                )
            )  # fmt: skip
    if method in ("getenv", "job_control_getenv", "getopt"):
        shown = f"spank:{method}({first!r})" if isinstance(first, str) else f"spank:{method}()"
        return Value(kind="text", users=shown)
    return ANY


def _of_table(flow: Following, table: str, name: str, line: int) -> Value | None:
    own = flow.script.assigns(f"G.{table}.{name}")
    if own and name not in (
        lua_names.SPANK_TABLE if table == "SPANK" else lua_names.slurm_table(flow.family, flow.settings.release)
    ):
        return None
    flow.uses[Use(table, name, line)] = None
    if table == "SPANK":
        members = frozenset(lua_names.SPANK_TABLE)
        if name not in members:
            why = f"spank-lua has no such member: it is nil{lua_names.similar(name, members)}"
            flow.remark(Remark(line, "unknown", "warning", f"uses SPANK.{name}", why))
            return NIL
        return Value(role=f"lib:SPANK.{name}") if name.startswith("log_") else Value(constant=f"SPANK.{name}")
    release = flow.settings.release
    members = lua_names.slurm_table(flow.family, release)
    if name not in members:
        _lacks(flow, name, line, members)
        return ANY
    if name in ("jobs", "reservations"):
        return Value(kind="table", role=name)
    if name.startswith("log_") or name in ("time_str2mins", "get_qos_priority", "user_msg", "log", "error"):
        return Value(kind="function", role=f"lib:slurm.{name}")
    return Value(kind="number", constant=f"slurm.{name}")


def _lacks(flow: Following, name: str, line: int, members: frozenset[str]) -> None:
    """Report a member of the table slurm that does not exist."""
    tables = {other: lua_names.slurm_table(flow.family, other) for other in lua_names.RELEASES}
    where = lua_names.releases_with(name, tables)
    shown = lua_names.shown(flow.settings.release)
    is_code = name.startswith(("ESLURM", "SLURM"))
    effect = "a function that returns it accepts the job" if is_code else "it is nil, and a call of it is an error"
    if where:
        why = f"Slurm {shown} does not have it (only {where}): {effect}"
        flow.remark(Remark(line, "release", "danger" if is_code else "warning", f"uses slurm.{name}", why))
        return
    why = f"{flow.family or 'slurm'} has no such member in any release: {effect}{lua_names.similar(name, members)}"
    flow.remark(Remark(line, "unknown", "danger" if is_code else "warning", f"uses slurm.{name}", why))


def written(flow: Following, target: Index, of: Value) -> None:
    """Note an assignment to a member of something that Slurm gives."""
    name = target.key.value if isinstance(target.key, Constant) and isinstance(target.key.value, str) else None
    role = of.role
    if role == "environment" or role == "options" or role in lua_names.KINDS:
        flow.uses[Use(role, name or "", target.line, writes=True)] = None
    if name is None:
        return
    if role == "job_desc":
        release = flow.settings.release
        if name in lua_names.fields(role, release) and name not in job_fields.writable(release) | {"_job_desc"}:
            if name not in BESIDES:
                why = "Slurm's plugin cannot write this field: the assignment is ignored, and logged"
                flow.remark(Remark(target.line, "read-only", "warning", f"assigns job_desc.{name}", why))
        elif name not in job_fields.writable(release):
            _check_name(flow, role, name, target.line, writes=True)
    elif role == "options" and name not in lua_names.options():
        _option(flow, name, target.line)
    elif role in ("job_rec", "part", "reservation"):
        why = "it is a copy for the script: the job, partition or reservation does not change"
        flow.remark(Remark(target.line, "read-only", "warning", f"assigns to {role}.{name}", why))
