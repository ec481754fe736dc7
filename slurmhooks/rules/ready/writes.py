# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that give a value to any field of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from slurmhooks.errors import Reject
from slurmhooks.fields.flag_rows import Flag
from slurmhooks.fields.rows import release_of
from slurmhooks.job_submit.updates import cannot_write, late
from slurmhooks.rules import resources
from slurmhooks.rules.base import Rule
from slurmhooks.rules.choices import Choice, choose, effects
from slurmhooks.rules.conditions import first_group
from slurmhooks.rules.kinds import listed
from slurmhooks.rules.options import option_name, option_of, option_shown
from slurmhooks.rules.table import key
from slurmhooks.rules.typed import (
    FEATURES,
    ROWS,
    SEPARATED,
    has_value,
    is_named,
    is_never_unset,
    is_text,
    is_unset,
    items,
    same_member,
    set_by,
    shown,
    spelled,
    typed,
)

if TYPE_CHECKING:
    from slurmhooks.rules.request import Request
    from slurmhooks.rules.table import Table
    from slurmhooks.rules.value_types import Map, Readable, Value, Writable


DEFAULTED = {
    "account": "no --account given: charged to {chosen}",
    "partition": "no --partition given: the job goes to {chosen}",
    "time_limit": "no --time given: limited to {chosen}",
}
"""What `default` says about some fields; about others, nothing."""
CHOSEN = {"partition": "the job goes to partition {chosen}"}
"""What rules with cases say about some fields."""
MEMBERS = {"user": "user", "group": "members of", "account": "account"}
"""Who has a value, in words."""


MOST_SHOWN = 10
"""The most values by group or account that the page for users has; those of users are not their business."""


class _Writes(Rule):
    """A rule that gives a value to a field."""

    fills: ClassVar[bool] = True
    field: Writable = key(..., "a field of job")
    value: Value | None = key(None, "the value, for jobs for which nothing else has one")
    cases: tuple[Choice, ...] = key((), "values by conditions, in order; to is the value", strict=False)
    by: Literal["user", "group", "account"] = key("user", "whose values map has")
    map: Map = key(
        {},
        "values by user, group or account, or the name of a file .csv or .toml that has them, beside"
        " slurmhooks.toml; of several groups, the first one in it decides",
    )

    private: ClassVar[tuple[str, ...]] = ("map", "by")
    needs: ClassVar[tuple[str, ...]] = ("value", "cases", "map")
    placeholders: ClassVar[dict[str, str]] = {"chosen": "the value", "limit": "the same"}
    inner: ClassVar[dict[str, type[Table]]] = {"cases": Choice}

    def settle(self) -> None:
        """Work out the values of its field."""
        super().settle()
        # Slurm does not distinguish the case of accounts.
        folded = str.lower if self.by == "account" else str
        self._map: dict[str, Any] = {folded(name): typed(self.field, value) for name, value in self.map.items()}
        if len(self._map) < len(self.map):
            raise ValueError("map has an account twice, because Slurm does not distinguish their case")
        cases = tuple(typed(self.field, case.to) for case in self.cases)
        self._values: tuple[Any, ...] = (*cases, None if self.value is None else typed(self.field, self.value))

    @property
    def needs_partitions(self) -> bool:
        """Whether a case has a condition on the partition."""
        return super().needs_partitions or any(case.partitions for case in self.cases)

    def hidden(self) -> tuple[str, ...]:
        """Return the keys whose values are not published: accounts are names of projects."""
        return (*self.private, *(("value", "cases") if self.field in ("account", "wckey") else ()))

    @property
    def named_fields(self) -> tuple[str, ...]:
        """The fields of ``job`` that its keys name."""
        return (self.field, *self.compared)

    @property
    def compared(self) -> tuple[str, ...]:
        """Those that decide: not the field that it sets."""
        return (*(name for case in self.cases for name in case.where), *super().named_fields)

    def own_option(self) -> str:
        """Return the name in OPTIONS of what the rule is about."""
        return option_name(self.field)

    def deciding(self) -> tuple[str, ...]:
        """Return the field, and what its cases depend on."""
        reserved = ("reservation",) if self.field == "partition" else ()
        account = ("account",) if self._map and self.by == "account" else ()
        names = (
            self.field,
            *same_member(self.field),
            *reserved,
            *account,
            *(name for case in self.cases for name in case.conditions_fields),
        )
        return tuple(dict.fromkeys(names))

    def chosen(self, request: Request) -> Any:
        """Return the value for a job; None if there is none."""
        if self._map:
            if self.by == "group":
                group = first_group(request.groups, self._map)
                value = None if group is None else self._map[group]
            else:
                name = (request.account or "").lower() if self.by == "account" else request.known_user()
                value = self._map.get(name)
            if value is not None:
                return value
        return self._values[choose(self.cases, request, partition=self.field == "partition")]

    def gets(self) -> str:
        """Describe the values."""
        few = len(self.map) <= MOST_SHOWN and self.by != "user"
        parts = [f"`{value}` for {MEMBERS[self.by]} `{name}`" for name, value in self.map.items() if few]
        parts += [f"what a list of the site has for the {self.by}"] if self.map and not few else []
        parts += [f"the first that fits: {effects(self.cases)}"] if self.cases else []
        if self.value is not None:
            parts.append(f"`{shown(self.field, self._values[-1])}`{' for others' if parts else ''}")
        return f"{option_shown(self.field)} {', '.join(parts)}"


OF_OPERATORS = ("admin_comment", "site_factor")
"""Fields that slurmctld lets only operators change in an update, also if a plugin has set them."""


def of_submissions(rule: Rule, field: str) -> None:
    """Check whether a rule may set a field in updates.

    Raises:
        ValueError: slurmctld would refuse each update of a user in which it is set.
    """
    if field in OF_OPERATORS and rule.sees_jobs_of_updates:
        raise ValueError(f'only operators may change {field} in an update: add updates = "ignore"')


class Default(_Writes):
    """Jobs without a value in a field get one.

    The value is that of map for the user, a group of the user, or the account, else that of the first case that fits,
    else value; without any, the job is not changed. What a case asks for and a job leaves to Slurm, such as its time
    limit, is what it would get; in cases of the partition, in the partition of the case. Jobs in a reservation get no
    partition, because Slurm chooses that of the reservation. A time limit is at least that of --time-min, and at most
    MaxTime of the partition; jobs whose --deadline is earlier get none. With updates = "only", not submissions but
    updates that do not name the field set it, whatever they change.
    """

    rule: Literal["default"] = key("default")
    left_to_slurm: ClassVar[str] = (
        "fills it in if the request names none; cases look at what the job would get: its DefaultTime (or else"
        " MaxTime), whole nodes; a job that names no memory meets no condition on it"
    )
    hooks: ClassVar[tuple[str, ...]] = ("job_submit",)
    text: ClassVar[str] = ""
    example: ClassVar[str] = 'field = "qos"\npartitions = ["gpu"]\nvalue = "gpu"'

    def settle(self) -> None:
        """Check that its field can be unset, and that users may set it in updates if it does."""
        super().settle()
        of_submissions(self, self.field)
        if is_never_unset(self.field):
            raise ValueError(f"{self.field} of job always has a value: write set instead of default")

    @property
    def sees_jobs_of_updates(self) -> bool:
        """Whether it is for updates."""
        return self.updates == "only"

    def active_hooks(self) -> tuple[str, ...]:
        """Return the hook of submissions, or that of updates."""
        return ("job_modify",) if self.updates == "only" else ("job_submit",)

    def deciding(self) -> tuple[str, ...]:
        """Return the field, and what its cases depend on; for updates any field."""
        return tuple(ROWS) if self.updates == "only" else super().deciding()

    def own_text(self) -> str:
        """Return the message if the site has none."""
        chosen = CHOSEN if self.cases else DEFAULTED
        return chosen.get(self.field, "")

    def check(self, request: Request) -> None:
        """Set a missing value."""
        job = request.job
        values = ((name, getattr(job, name)) for name in (self.field, *same_member(self.field)))
        if any(is_named(name, value) and not is_unset(name, value) for name, value in values):
            return
        if self.field == "partition" and job.reservation is not None:
            return
        chosen = self.chosen(request)
        if request.modify:
            assign(self, request, chosen)
            return
        if chosen is not None and self.field == "time_limit" and isinstance(chosen, int):
            chosen = resources.limit_time(request, max(chosen, request.number("time_min")))
        elif chosen is not None:
            setattr(job, self.field, chosen)
        if chosen is not None:
            self.tell(request, chosen=shown(self.field, chosen), limit=shown(self.field, chosen))

    def effect(self) -> str:
        """Describe the rule."""
        besides = " and `--reservation`" if self.field == "partition" else ""
        what = "An update" if self.updates == "only" else "A job"
        return f"{what} without {option_shown(self.field)}{besides} gets {self.gets()}."


ALTERNATIVES = {"dependency": "?", "licenses": "|"}
"""What separates values of which one is enough, whatever else is in the list."""


class Set(_Writes):
    """Jobs get a value in a field, whatever they ask for; flags are added to those that they have.

    The value is chosen as by ``default``. An update that sets the field, or moves the job to where the rule counts,
    gets the value as well. Jobs in a reservation get no partition. With a separator, the value is added to what the job
    has, once. Features are added to those of --prefer, too.
    """

    rule: Literal["set"] = key("set")
    separator: str | None = key(None, "the text between what the job has and the value, which is added to it")
    left_to_slurm: ClassVar[str] = "what a job leaves to Slurm is set as well; cases look at what the job would get"
    code: ClassVar[str | None] = "ESLURM_ACCESS_DENIED"
    text: ClassVar[str] = "{option} {asked} was changed to {chosen}"
    placeholders: ClassVar[dict[str, str]] = {**_Writes.placeholders, "asked": "the value that the user gave"}
    example: ClassVar[str] = 'field = "requeue"\npartitions = ["preempt"]\nvalue = true'

    def settle(self) -> None:
        """Check that users may set its field in updates."""
        super().settle()
        of_submissions(self, self.field)
        if self.separator is not None and not is_text(ROWS[self.field]):
            raise ValueError(f"separator is for texts, and {self.field} is none")

    def check(self, request: Request) -> None:
        """Set the value, or add it."""
        if self.field == "partition" and request.get("reservation") is not None:
            return
        chosen = value = self.chosen(request)
        asked = request.value(self.field)
        if value is not None and self.separator is not None and has_value(self.field, asked):
            sign = ALTERNATIVES.get(self.field)
            if sign is not None and sign in asked:
                option = option_of(request, option_name(self.field))
                text = f"{value} cannot be added to {option} {asked}, of which Slurm takes one"
                raise Reject(self.with_help(text), code=self.code)
            has = _has_part(self.field, asked, value, self.separator)
            value = asked if has else f"{asked}{self.separator}{value}"
        assign(self, request, value)
        _keep_preferred(self, request, chosen)

    def deciding(self) -> tuple[str, ...]:
        """Return the field, and what its cases depend on."""
        return _with_preferred(self.field, super().deciding())

    def own_text(self) -> str:
        """Return the message if the site has none."""
        return CHOSEN.get(self.field, self.text) if self.cases else self.text

    def effect(self) -> str:
        """Describe the rule."""
        return f"A job gets {self.gets()}{'' if self.separator is None else ', added to what it has'}."


class Copy(Rule):
    """A field of a job gets the value of another field, if that has one.

    An update that sets one of the two, or moves the job to where the rule counts, is treated likewise.
    """

    rule: Literal["copy"] = key("copy")
    left_to_slurm: ClassVar[str] = "a job without a value in the source is not changed"
    code: ClassVar[str | None] = "ESLURM_ACCESS_DENIED"
    fills: ClassVar[bool] = True
    field: Writable = key(..., "the field of job that gets the value")
    source: Readable = key(..., "the field of job whose value it gets; of the same kind")

    text: ClassVar[str] = "{option} {asked} was changed to {chosen}"
    placeholders: ClassVar[dict[str, str]] = {"chosen": "the value", "asked": "the value that the user gave"}
    example: ClassVar[str] = 'field = "qos"\nsource = "account"'

    def settle(self) -> None:
        """Check that the two fields have values of one kind."""
        super().settle()
        of_submissions(self, self.field)
        field, source = ROWS[self.field], ROWS[self.source]
        kinds = [str if is_text(row) else getattr(row, "kind", int) for row in (field, source)]
        if kinds[0] is not kinds[1] or field.unit != source.unit or self.field == self.source:
            raise ValueError(f"{self.field} cannot have the values of {self.source}")

    @property
    def named_fields(self) -> tuple[str, ...]:
        """The fields of ``job`` that its keys name."""
        return self.field, *self.compared

    @property
    def compared(self) -> tuple[str, ...]:
        """Those that decide: not the field that it sets."""
        return self.source, *super().named_fields

    def own_option(self) -> str:
        """Return the name in OPTIONS of what the rule is about."""
        return option_name(self.field)

    def deciding(self) -> tuple[str, ...]:
        """Return both fields."""
        return _with_preferred(self.field, tuple(dict.fromkeys((*set_by(self.field), *set_by(self.source)))))

    def check(self, request: Request) -> None:
        """Set the value."""
        value = request.value(self.source)
        assign(self, request, value)
        _keep_preferred(self, request, value)

    def effect(self) -> str:
        """Describe the rule."""
        return f"{option_shown(self.field)} gets the value of {option_shown(self.source)}."


def assign(rule: Default | Set | Copy, request: Request, value: Any) -> None:
    """Set the field of a job, and tell the user if that changes what the user gave."""
    field, asked = rule.field, request.value(rule.field)
    if isinstance(ROWS[field], Flag) and asked is not None and value is not None:
        value |= asked
    if value is None or value == asked or (asked is None and request.modify and value == request.get(field)):
        return
    release, job_id = release_of(request.job._release), max(request.ids, default=0)
    if request.modify and cannot_write(field, value, release, job_id=job_id, of_user=not request.is_admin):
        text = f"no update changes {option_of(request, option_name(field))} to {shown(field, value)}: submit a new job"
        raise Reject(rule.with_help(text), code="ESLURM_ACCESS_DENIED")
    if request.modify and not isinstance(rule, Default):
        _refuse_empty_range(rule, request, value)
        refuse_half_moves(rule, request, field)
    given = is_named(field, asked) and not isinstance(ROWS[field], Flag) and request.sets((field,))
    setattr(request.job, field, value)
    if given or (isinstance(rule, Set) and rule.cases and field in CHOSEN):
        shown_value = shown(field, value)
        rule.tell(
            request, chosen=shown_value, limit=shown_value, asked="none" if asked is None else shown(field, asked)
        )


RANGES = (("min_nodes", "max_nodes"), ("min_cpus", "max_cpus"), ("time_min", "time_limit"))
"""Numbers that slurmctld refuses, after it has moved the job, if the second one is less than the first one."""


def _refuse_empty_range(rule: Set | Copy, request: Request, value: Any) -> None:
    """Refuse an update if the value and another number of the job would be no range."""
    field = rule.field
    for pair in RANGES:
        if field in pair and isinstance(value, int):
            least, most = (value if name == field else request.number(name) for name in pair)
            if 0 < most < least:
                (other,) = set(pair) - {field}
                names = [option_of(request, option_name(name)) for name in (field, other)]
                text = f"{names[0]} cannot be {shown(field, value)} beside this {names[1]}: submit a new job"
                raise Reject(rule.with_help(text), code=rule.code)


def refuse_half_moves(rule: Rule, request: Request, field: str) -> None:
    """Refuse an update of which slurmctld might apply only a part: a move, and not what the rule sets in a field."""
    if request.modify and request.sets(set(rule.fields).difference((*set_by(field), "prefer"))):
        names = [name for name in late(request.job) if name not in rule.fields]
        if names:
            options = listed([option_of(request, option_name(name)) for name in names], "and")
            text = f"change {options} in another update: this one moves the job"
            raise Reject(rule.with_help(text), code="ESLURM_ACCESS_DENIED")


def _has_part(field: str, text: str, value: str, separator: str) -> bool:
    """Tell whether a text has a value. Slurm reads features from left to right, so others may take the place of one."""
    if not separator or (field in FEATURES and "|" in text):
        return text.endswith(f"{separator}{value}")
    if field in SEPARATED and any(value in spelled(field, each, loosely=True) for each in items(field, text)):
        return True
    return value in text.split(separator)


def _keep_preferred(rule: Set | Copy, request: Request, value: Any) -> None:
    """Ask for features also where a job prefers some (--prefer): Slurm tries those first, without --constraint."""
    prefer = request.value("prefer") if rule.field == "features" and value else None
    if prefer and not _has_part("prefer", prefer, value, "&"):
        request.job.prefer = f"{prefer}&{value}"


def _with_preferred(field: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return (*names, "prefer") if field == "features" and "prefer" not in names else names
