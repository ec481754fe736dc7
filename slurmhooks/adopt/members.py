# SPDX-License-Identifier: GPL-2.0-or-later
"""Members of what Slurm gives to scripts: which exist, which may be nil, which numbers may be unset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.adopt import conditions, names
from slurmhooks.adopt.tree import Call, Constant, Expr, Index, Name
from slurmhooks.adopt.values import ANY, NIL, Level, Remark, Value
from slurmhooks.fields.secrets import BESIDES
from slurmhooks.lua import job_fields
from slurmhooks.lua.source import Use

if TYPE_CHECKING:
    from slurmhooks.adopt.context import Arguments, Following
    from slurmhooks.adopt.values import State

ROLES = ("job_desc", "job_rec", "environment", "options")
"""What keys of fields begin with: all variables with such a role are the same object."""
TABLES = {"part_list": "part", "jobs": "job_rec", "reservations": "reservation"}
OPTION_OF = {
    "account": "--account", "partition": "--partition", "qos": "--qos", "comment": "--comment", "gres": "--gres",
    "features": "--constraint", "licenses": "--licenses", "reservation": "--reservation", "time_limit": "--time",
    "min_nodes": "--nodes", "max_nodes": "--nodes", "num_tasks": "--ntasks", "cpus_per_task": "--cpus-per-task",
    "min_mem_per_node": "--mem", "min_mem_per_cpu": "--mem-per-cpu", "pn_min_memory": "--mem",
    "tres_per_node": "--gpus-per-node", "tres_per_job": "--gpus", "tres_per_task": "--gpus-per-task",
    "ntasks_per_node": "--ntasks-per-node", "req_nodes": "--nodelist", "mail_user": "--mail-user",
    "priority": "--priority", "dependency": "--dependency", "std_out": "--output", "std_err": "--error",
    "script": "a batch script",
}  # fmt: skip
INSTEAD_OF_NIL = {
    "job_desc": "job_desc: assign '' to clear a text, slurm.NO_VAL to unset a number",
    "environment": "an empty text; Lua scripts cannot delete a variable",
    "options": "an empty text, or the option's default",
}
AFTER_ERROR = "the error ends the function, and up to Slurm 25.11 the job is accepted (later releases refuse it)"


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
    return Value(kind=kinds[type(value)], constant=value)


def is_of_request(key: str) -> bool:
    """Tell whether a key is of a field."""
    return key.split(".")[0] in ROLES


def row_key(role: str, key: str) -> str:
    """Return the key of a row of a table of slurmctld; it begins with the key of the row's name, which may change."""
    return f"{key}.[{role}" if key and role in TABLES else ""


def global_value(flow: Following, name: Name) -> Value | None:
    """Return the value of a global variable that the script does not define."""
    if name.variable is not None:
        return None
    if name.name == "slurm" and flow.family != "spank":
        return Value(kind="table", role="lib:slurm")
    if name.name == "SPANK" and flow.family == "spank":
        return Value(kind="table", role="lib:SPANK")
    key = f"G.{name.name}"
    if name.name == "posix" or (name.name in names.globals_of(flow.settings.version) and not flow.script.assigns(key)):
        return Value(kind="table" if name.name in TABLES_OF_LUA else "function", role=f"lib:{name.name}")
    return None


TABLES_OF_LUA = {"string", "table", "math", "os", "io", "debug", "coroutine", "package", "posix", "bit32", "utf8"}


def read_global(flow: Following, name: Name, value: Value, state: State) -> None:
    """Note a read of a global variable: before this call has assigned it, or one that does not exist."""
    if name.name not in state.assigned and not flow.loading:
        flow.early_reads.setdefault(name.name, name.line)
    if (
        not (flow.loading or flow.in_call)
        or value.role
        or value.function is not None
        or flow.script.assigns(f"G.{name.name}")
        or name.name == "slurm"
    ):
        return
    defined = names.globals_of(flow.settings.version) | names.OF_OLD_SCRIPTS | {"posix", "arg"}
    if name.name not in defined:
        flow.undefined.setdefault(name.name, name.line)


def read(flow: Following, expression: Index, of: Value, at: Value) -> Value | None:
    """Return the value of a member of something that Slurm gives; None for other tables."""
    name = at.constant if isinstance(at.constant, str) else None
    line = expression.line
    role = of.role
    if role in TABLES or role in names.KINDS or role in ("environment", "options"):
        flow.uses[Use(role, name or "", line)] = None
    if role in TABLES:
        chosen = isinstance(expression.key, Constant)
        nil = "" if chosen else f"{role}[...]"
        return Value(kind="table", role=TABLES[role], nil=nil)
    if role in names.KINDS:
        return ANY if name is None else _field(flow, role, name, line)
    if role == "environment":
        users = f"job_desc.environment.{name or '[...]'}"
        return Value(kind="text", nil=f"environment.{name}" if name else users, users=users)
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
    kind = names.kind_of(name)
    key = f"job_desc.{names.same_as(name)}"
    if kind == "text":
        nil = "" if name in names.ALWAYS_SENT and not flow.in_modify else key
        return Value(kind="text", nil=nil, users="" if name in names.NOT_OF_USERS else key)
    if kind == "number?":
        return Value(kind="number", nil=key)
    if kind == "number":
        return Value(kind="number", unset=key if name in names.unset_numbers() else "")
    return Value(kind=kind if kind != "unknown" else "", nil="")


def _check_name(flow: Following, role: str, name: str, line: int, *, writes: bool = False) -> None:
    release = flow.settings.release
    fields = names.fields(role, release)
    if name in fields:
        return
    owner = {"part": "a partition", "reservation": "a reservation"}.get(role, role)
    known_in = {other: names.fields(role, other) for other in names.RELEASES}
    where = names.releases_with(name, known_in)
    effect = "the assignment is ignored, and logged" if writes else "it is always nil"
    if where:
        why = f"Slurm {names.shown(release)} does not have it (only {where}): {effect}"
        flow.remark(Remark(line, "release", "warning", f"uses {owner}.{name}", why))
        return
    if role == "job_desc" and name in job_fields.names(role, release) and not writes:
        return
    why = f"no release of Slurm has this field: {effect}{names.similar(name, fields)}"
    flow.remark(Remark(line, "unknown", "warning", f"uses {owner}.{name}", why, "the right name, or nothing"))


def _option(flow: Following, name: str, line: int) -> Value:
    if name == "argv":
        return Value(kind="table")
    if name == "spank":
        return Value(kind="table", role="options.spank")
    if name not in names.options():
        flow.remark(
            Remark(
                line, "unknown", "warning", f"uses options['{name}']",
                f"no command of Slurm has this option: it is always nil{names.similar(name, names.options())}",
                "the long name of the option",
            )
        )  # fmt: skip
    return Value(kind="text", nil=f"options.{name}" if name in names.texts_of_options() else "")


def _of_spank(flow: Following, name: str | None, line: int) -> Value:
    if name is None or name in names.SPANK_FIELDS | names.SPANK_METHODS:
        if name is not None:
            flow.uses[Use("spank", name, line)] = None
        return Value(kind="table") if name == "args" else ANY
    flow.remark(
        Remark(
            line, "unknown", "warning", f"uses spank.{name}",
            f"spank-lua has no such member{names.similar(name, frozenset(names.SPANK_FIELDS | names.SPANK_METHODS))}",
        )
    )  # fmt: skip
    return ANY


def spank_method(flow: Following, expression: Call, method: str, arguments: Arguments) -> Value:
    """Return the result of a method of the handle of spank-lua."""
    _of_spank(flow, method, expression.line)
    first = arguments[0][1].constant if arguments else None
    if method == "get_item" and isinstance(first, str):
        flow.uses[Use("item", first, expression.line)] = None
        if first not in names.items():
            flow.remark(
                Remark(
                    expression.line, "unknown", "warning", f"asks for the item {first}",
                    f"SPANK has no such item{names.similar(first, names.items())}",
                )
            )  # fmt: skip
    if method in ("getenv", "job_control_getenv", "getopt"):
        shown = f"spank:{method}({first!r})" if isinstance(first, str) else f"spank:{method}()"
        return Value(kind="text", nil=shown, users=shown)
    return ANY


def _of_table(flow: Following, table: str, name: str, line: int) -> Value | None:
    own = flow.script.assigns(f"G.{table}.{name}")
    if own and name not in (
        names.SPANK_TABLE if table == "SPANK" else names.slurm_table(flow.family, flow.settings.release)
    ):
        return None
    flow.uses[Use(table, name, line)] = None
    if table == "SPANK":
        members = frozenset(names.SPANK_TABLE)
        if name not in members:
            why = f"spank-lua has no such member: it is nil{names.similar(name, members)}"
            flow.remark(Remark(line, "unknown", "warning", f"uses SPANK.{name}", why))
            return NIL
        return Value(role=f"lib:SPANK.{name}") if name.startswith("log_") else Value(constant=f"SPANK.{name}")
    release = flow.settings.release
    members = names.slurm_table(flow.family, release)
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
    tables = {other: names.slurm_table(flow.family, other) for other in names.RELEASES}
    where = names.releases_with(name, tables)
    shown = names.shown(flow.settings.release)
    is_code = name.startswith(("ESLURM", "SLURM"))
    effect = "a function that returns it accepts the job" if is_code else "it is nil, and a call of it is an error"
    if where:
        why = f"Slurm {shown} does not have it (only {where}): {effect}"
        flow.remark(Remark(line, "release", "danger" if is_code else "warning", f"uses slurm.{name}", why))
        return
    why = f"{flow.family or 'slurm'} has no such member in any release: {effect}{names.similar(name, members)}"
    flow.remark(Remark(line, "unknown", "danger" if is_code else "warning", f"uses slurm.{name}", why))


def written(flow: Following, target: Index, of: Value, value: Value) -> None:
    """Note an assignment to a member of something that Slurm gives."""
    name = target.key.value if isinstance(target.key, Constant) and isinstance(target.key.value, str) else None
    role = of.role
    if role == "environment" or role == "options" or role in names.KINDS:
        flow.uses[Use(role, name or "", target.line, writes=True)] = None
    if name is None:
        return
    if value.kind == "nil" and role in INSTEAD_OF_NIL:
        why = f"Slurm raises an error for nil: {_after_error(flow)}"
        what = f"assigns nil to {role}.{name}"
        flow.remark(Remark(target.line, "nil", "warning", what, why, INSTEAD_OF_NIL[role]))
    if role == "job_desc":
        release = flow.settings.release
        if name in names.fields(role, release) and name not in job_fields.writable(release) | {"_job_desc"}:
            if name not in BESIDES:
                why = "Slurm's plugin cannot write this field: the assignment is ignored, and logged"
                flow.remark(Remark(target.line, "read-only", "warning", f"assigns job_desc.{name}", why))
        elif name not in job_fields.writable(release):
            _check_name(flow, role, name, target.line, writes=True)
    elif role == "options" and name not in names.options():
        _option(flow, name, target.line)
    elif role in ("job_rec", "part", "reservation"):
        why = "it is a copy for the script: the job, partition or reservation does not change"
        flow.remark(Remark(target.line, "read-only", "warning", f"assigns to {role}.{name}", why))


def may_be_nil(flow: Following, expression: Expr, value: Value, how: str) -> None:
    """Report a value that may be nil where nil is an error."""
    origin = flow.shown(value.nil)
    if origin.startswith("job_desc.") and isinstance(expression, Index) and isinstance(expression.key, Constant):
        origin = f"job_desc.{expression.key.value}"  # as the script calls it
    field = origin.removeprefix("job_desc.")
    option = OPTION_OF.get(field)
    reason = f"{origin} is nil without {option}" if option and origin != field else f"{origin} may be nil"
    if origin.startswith(("part_list", "jobs", "reservations")):
        reason = "the user may name one that does not exist, or several"
    if flow.in_modify and origin.startswith("job_desc."):
        reason = f"{origin} is nil unless the update changes it"
    effect = _after_error(flow)
    what = f"{origin} is {how} without a check for nil"
    instead = f"if {origin} ~= nil then ... end, or ({origin} or '')"
    level: Level = "warning" if origin.endswith("(...)") else "danger"
    flow.remark(Remark(expression.line, "nil", level, what, f"{reason}; {effect}", instead))


def _after_error(flow: Following) -> str:
    return AFTER_ERROR if flow.family == "job_submit" else "the error ends the function, and the command goes on"


def too_few(flow: Following, expression: Call, name: str, wanted: int, given: int) -> None:
    """Report a format with fewer arguments than it needs."""
    what = f"{name}() has {given} arguments for {wanted} places of its format"
    flow.remark(Remark(expression.line, "format", "danger", what, f"it raises an error: {AFTER_ERROR}"))


def unset_number(flow: Following, expression: Expr, value: Value, operator: str, state: State) -> None:
    """Report a calculation with a number that may be NO_VAL."""
    if value.unset and not flow.in_modify:
        _unset_remark(flow, expression, value, f"is calculated with ('{operator}')", "the result is huge", state)


def compared(
    flow: Following, part: Expr, value: Value, other: Value, operator: str, is_left: bool, state: State
) -> None:
    """Report a comparison by size that is wrong for an unset number, or for an option, which is a text."""
    if flow.family == "cli_filter" and value.kind == "text" and other.kind == "number":
        why = "options are texts, and Lua does not compare texts with numbers: the error ends the function"
        flow.remark(Remark(part.line, "type", "danger", "compares an option with a number", why, "tonumber(...)"))
    tells = conditions.tells_unset(operator, value, other, is_left=is_left)
    if not value.unset or tells:
        if tells:
            state.checked.add(value.unset)
        return
    is_true = (operator in (">", ">=")) == is_left
    if conditions.is_unset(other):
        is_true = conditions.with_unset(operator, value, other, is_left=is_left)
    effect = "true" if is_true else "false"
    _unset_remark(flow, part, value, f"is compared with '{operator}'", f"the comparison is {effect}", state)


def is_checked(flow: Following, expression: Expr, value: Value, state: State) -> bool:
    """Tell whether a number has been compared with NO_VAL."""
    return value.unset in state.checked or flow.key(expression, state) in state.checked


def _unset_remark(flow: Following, expression: Expr, value: Value, how: str, effect: str, state: State) -> None:
    if f"{value.unset}{conditions.GIVEN}" in state.known:
        return
    checked = is_checked(flow, expression, value, state)
    where = "after a check for NO_VAL elsewhere, which may not hold here" if checked else "without a check for NO_VAL"
    name = value.unset.removeprefix("job_desc.")
    option = OPTION_OF.get(name)
    when = f"without {option}" if option else "if it is not given"
    flow.remark(
        Remark(
            expression.line, "unset", "note" if checked else "warning", f"{value.unset} {how} {where}",
            f"{when} it is {names.number_of_unset(name)}, and {effect}",
            f"{value.unset} ~= {names.unset_name(name)} and ...",
        )
    )  # fmt: skip
