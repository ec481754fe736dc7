# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that compare any field of a job: it must or must not have a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, NoReturn

from slurmhooks.rules import resources
from slurmhooks.rules.base import Rule
from slurmhooks.rules.conditions import compared
from slurmhooks.rules.kinds import listed
from slurmhooks.rules.options import option_name, option_of, option_shown
from slurmhooks.rules.placeholders import named
from slurmhooks.rules.table import key
from slurmhooks.rules.typed import (
    Pattern,
    has_value,
    is_named,
    set_by,
    shown,
)
from slurmhooks.values import UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmhooks.job_submit.bounds import Bounds
    from slurmhooks.rules.request import Request
    from slurmhooks.rules.value_types import Fields, Required, Values


class Words(NamedTuple):
    """What a rule says about a field, and the code of its refusals."""

    text: str
    effect: str
    code: str | None = "ESLURM_ACCESS_DENIED"


ACCOUNT = "ESLURM_INVALID_ACCOUNT"
QOS = "ESLURM_INVALID_QOS"
GRES = "ESLURM_INVALID_GRES"
NODES = "ESLURM_INVALID_NODE_NAME"
RESERVATION = "ESLURM_RESERVATION_INVALID"
RESERVE = "name a reservation with {option}: {allowed}"
ANY = "any that you may use"
REQUIRED = {
    "account": Words("name a project with {option}", "Name an account with `--account`{which}.", ACCOUNT),
    "qos": Words("name a QOS with {option}: {allowed}", "Name a QOS with `--qos`{which}.", QOS),
    "time_limit": Words(
        "name a time limit with {option}", "Give a time limit with `--time`{which}.", "ESLURM_MISSING_TIME_LIMIT"
    ),
    "features": Words(
        "name a kind of node with {option}: {allowed}",
        "Name a kind of node with `--constraint`{which}.",
        "ESLURM_INVALID_FEATURE",
    ),
    "reservation": Words(RESERVE, "Name a reservation with `--reservation`{which}.", RESERVATION),
    "gpus": Words(
        "jobs in {where} must ask for GPUs: add {option}",
        "Ask for GPUs, with `--gpus` for example; jobs without are refused.",
        GRES,
    ),
    "memory": Words(
        "say how much memory the job needs: {option}",
        "Say how much memory the job needs, with `--mem`, `--mem-per-cpu` or `--mem-per-gpu`.",
        "ESLURM_INVALID_TASK_MEMORY",
    ),
}
"""What `require` says about some fields."""
NODE_LIST = Words("do not name nodes with {option}", "Do not use {options}.", NODES)
FORBIDDEN = {
    ("name", "forbidden"): Words(
        "the job name {job} is reserved: choose another one with {option}",
        "These job names are reserved: {refused}.",
    ),
    ("reservation", "allowed"): Words(RESERVE, "Use no reservations but {allowed}.", RESERVATION),
    ("req_nodes", ""): NODE_LIST,
    ("exc_nodes", ""): NODE_LIST,
}
"""What `forbid` says about some fields, by the key that decides; without one, any value is refused."""
NODE_LISTS = frozenset({"req_nodes", "exc_nodes"})
REFUSED = "{option} {asked} is not allowed"
ANY_FIELD = {
    "allowed": Words(f"{REFUSED}: {{allowed}}", "Use {options} only with {allowed}."),
    "forbidden": Words(REFUSED, "Do not use {options} with {refused}."),
    "": Words("do not use {option}", "Do not use {options}."),
}
"""The same about others."""


NO_LIMIT = (UNLIMITED, 0)
"""Time limits that `require` takes for none; slurmctld ends a job with a limit of 0 at once."""


class _Checked(Rule):
    """A rule that compares fields with values."""

    allowed: Values = key((), "the only values that are accepted; texts are shell patterns")
    forbidden: Values = key((), "values that are refused; texts are shell patterns")

    private: ClassVar[tuple[str, ...]] = ("forbidden",)
    placeholders: ClassVar[dict[str, str]] = {
        "allowed": "the values that are allowed",
        "asked": "the value that the job would have",
    }
    code: ClassVar[str | None] = "ESLURM_ACCESS_DENIED"

    def settle(self) -> None:
        """Read the values of its fields."""
        super().settle()
        self._allowed: dict[str, Pattern] = {}
        self._forbidden: dict[str, Pattern] = {}
        for name in self.checked:
            self._allowed[name] = Pattern(name, self.allowed)
            self._forbidden[name] = Pattern(name, self.forbidden)

    @property
    def checked(self) -> tuple[str, ...]:
        """The fields that are compared."""
        raise NotImplementedError

    @property
    def named_fields(self) -> tuple[str, ...]:
        """The fields of ``job`` that its keys name."""
        return (*self.checked, *super().named_fields)

    def deny(
        self, request: Request, name: str, value: Any, text: str | None = None, code: str | None = None
    ) -> NoReturn:
        """Refuse a request because of the value of a field; see :meth:`refuse`."""
        allowed = listed(self._allowed[name].words()) if self.allowed else ANY
        asked = "none" if value is None else shown(name, value)
        self.refuse(request, text, code, allowed=allowed, asked=asked, option=option_of(request, option_name(name)))


class Require(_Checked):
    """Jobs must have a value in a field, or one of certain values.

    The field is one of ``job``, or ``gpus`` or ``memory``: any option counts by which a job asks for them (--gpus,
    --gpus-per-node, --gpus-per-task, --gpus-per-socket, --gres, and --ntasks-per-gpu, from which Slurm computes a
    number of GPUs; --mem, --mem-per-cpu, --mem-per-gpu). If a field has several values, such as several QOS, all of
    them must be allowed; of features one is enough. If a job also prefers features (--prefer), it must name one there,
    too: Slurm tries them first, without those of --constraint. A time limit of 0 or UNLIMITED is none.
    """

    rule: Literal["require"] = key("require")
    left_to_slurm: ClassVar[str] = (
        "refuses a job that names none, whatever the default is; with default_counts, the account or QOS that Slurm"
        " chooses counts; GPUs of whole nodes do not count"
    )
    field: Required = key(..., "a field of job, or gpus or memory")
    default_counts: bool = key(
        False, "also accept the account or QOS that Slurm chooses; needs a build with Slurm's sources"
    )

    text: ClassVar[str] = "give a value with {option}"
    refusing: ClassVar[str] = "account {account} is not allowed: name another one with {option}"
    example: ClassVar[str] = 'field = "qos"\npartitions = ["long"]\nallowed = ["long", "long-*"]'

    def settle(self) -> None:
        """Check that its other keys are about its field."""
        super().settle()
        if self.default_counts and self.field not in ("account", "qos"):
            raise ValueError("default_counts is about the fields account and qos")
        if not self.checked and (self.allowed or self.forbidden):
            raise ValueError(f"allowed and forbidden are about fields, and {self.field} is an amount")

    @property
    def checked(self) -> tuple[str, ...]:
        """The fields that are compared."""
        several: dict[str, tuple[str, ...]] = {"gpus": (), "memory": (), "features": ("features", "prefer")}
        return several.get(self.field, (self.field,))

    @property
    def words(self) -> Words | None:
        """What the rule says about its field, if that is something of its own."""
        return REQUIRED.get(self.field)

    def own_code(self) -> str | None:
        """Return the code of its refusals."""
        return self.words.code if self.words is not None else self.code

    def own_text(self) -> str:
        """Return the message if the site has none."""
        text = self.text if self.words is None else self.words.text
        return f"{text}: {{allowed}}" if self.allowed and "{allowed}" not in text else text

    def own_option(self) -> str:
        """Return the name in OPTIONS of what the rule is about."""
        return "gpu" if self.field == "gpus" else option_name(self.field)

    def deciding(self) -> tuple[str, ...]:
        """Return the fields that are compared, or that decide the amount."""
        return by_updates(self.checked) if self.checked else resources.FIELDS

    def check(self, request: Request) -> None:
        """Refuse a job without a value, or with one that is not allowed."""
        if not self._allowed:
            bounds = resources.bounds(request)
            if not (bounds.names_memory if self.field == "memory" else has_gpus(bounds)):
                self.refuse(request)
        for name in self._allowed:
            value = getattr(request, name) if self.default_counts else compared(request, name)
            if self._lacks(name, value):
                if name == self.field:
                    self.deny(request, name, value)
            elif self.allowed and not self._allowed[name].allows(value):
                self.deny(request, name, value)
            elif self.forbidden and self._forbidden[name].meets(value):
                self.deny(request, name, value, self.refusing if name == "account" else REFUSED)

    def _lacks(self, name: str, value: Any) -> bool:
        """Tell whether a field has no value, or one that commands send anyway and that is not among those allowed."""
        if name == "time_limit" and value in NO_LIMIT:
            return True
        return not is_named(name, value) and not (
            self.allowed and has_value(name, value) and self._allowed[name].allows(value)
        )

    def effect(self) -> str:
        """Describe the rule."""
        which = f": {listed(self._allowed[self.field].words())}" if self.allowed else ""
        text = f"Name a value with {option_shown(self.field)}{{which}}." if self.words is None else self.words.effect
        never = f" Jobs for {listed(self._forbidden[self.field].words())} are refused." if self.forbidden else ""
        return text.replace("{which}", which) + never


class Forbid(_Checked):
    """Jobs that the rule applies to are refused: it closes partitions, QOS or accounts, with exceptions.

    With a field, only jobs that have a value in it are refused, or one that is not allowed: it closes an option. An
    update is refused only if it sets the field, or moves the job to where the rule counts. Names of jobs are compared
    without regard to case, blanks around them, and characters that cannot be seen.
    With updates = "refuse", users who may not change the nodes that a job names (req_nodes) may not change those that
    it excludes (exc_nodes), either, and the reverse.
    """

    rule: Literal["forbid"] = key("forbid")
    left_to_slurm: ClassVar[str] = "what Slurm chooses for partition, account and QOS; accepts a field that is unset"
    field: Fields = key((), "a field of job, or a list of fields")

    text: ClassVar[str] = "you may not use {what}"
    placeholders: ClassVar[dict[str, str]] = {
        "what": "what the rule closes, such as partition gpu with QOS urgent",
        **_Checked.placeholders,
    }
    example: ClassVar[str] = 'partitions = ["gpu"]\nexcept_groups = ["gpu-users"]'

    def settle(self) -> None:
        """Check that it chooses jobs."""
        super().settle()
        if not self.field and (self.allowed or self.forbidden):
            raise ValueError("allowed and forbidden need a field")
        if not (self.field or self.selects):
            raise ValueError("needs field, partitions, qos, accounts, users or groups: it would refuse all jobs")

    @property
    def checked(self) -> tuple[str, ...]:
        """The fields that are compared; a job may name features by --prefer, too."""
        prefers = "features" in self.field and (self.allowed or self.forbidden) and "prefer" not in self.field
        return (*self.field, "prefer") if prefers else self.field

    def words(self, key: str) -> list[Words]:
        """Return what the rule says about each of its fields because of a key: allowed, forbidden, or none of them."""
        return [FORBIDDEN.get((name, key), ANY_FIELD[key]) for name in self.checked]

    def own_code(self) -> str | None:
        """Return the code of its refusals; if they have several, that of most rules."""
        codes = {words.code for key in self._keys() for words in self.words(key)}
        return codes.pop() if len(codes) == 1 else self.code

    def _keys(self) -> list[str]:
        """Return the keys that refuse values."""
        return [key for key in ("forbidden", "allowed") if getattr(self, key)] or [""]

    def own_option(self) -> str:
        """Return the name in OPTIONS of what the rule is about."""
        return option_name(self.field[0]) if len(self.field) == 1 else ""

    def deciding(self) -> tuple[str, ...]:
        """Return the fields; whoever may not change the nodes that a job names may not exclude others, either."""
        both = self.updates == "refuse" and not NODE_LISTS.isdisjoint(self.field)
        return by_updates((*self.checked, *NODE_LISTS.difference(self.field)) if both else self.checked)

    def check(self, request: Request) -> None:
        """Refuse the job."""
        if not self.field:
            closed = [named("partition", self.limiting(request))] if self.needs_partitions else []
            closed += [f"QOS {request.qos}"] if self.qos or self.except_qos else []
            closed += [f"account {request.account}"] if self.accounts or self.except_accounts else []
            self.refuse(request, what=" with ".join(filter(None, closed)) or "this cluster")
        moves = not request.modify or request.sets(set(self.fields).difference(by_updates(self.checked)))
        for place, name in enumerate(self._allowed):
            value = compared(request, name) if moves or request.sets(set_by(name)) else None
            if self.forbidden and has_value(name, value) and self._forbidden[name].meets(value):
                key = "forbidden"
            elif (
                (self.allowed or not self.forbidden)
                and is_named(name, value)
                and not (self.allowed and self._allowed[name].allows(value))
            ):
                key = "allowed" if self.allowed else ""
            else:
                continue
            words = self.words(key)[place]
            self.deny(request, name, value, words.text, words.code)

    def effect(self) -> str:
        """Describe the rule."""
        if not self.field:
            return "Jobs are refused."
        said = {
            "options": listed([option_shown(name) for name in self.field]),
            "allowed": listed(self._allowed[self.field[0]].words()),
            "refused": listed([f"`{word}`" for word in self._forbidden[self.field[0]].words()], "and"),
        }
        effects = []
        for way in self._keys():
            (first, *others) = self.words(way)
            words = first if all(each is first for each in others) else ANY_FIELD[way]
            effects.append(words.effect.format_map(said))
        return " ".join(effects)


def by_updates(names: Iterable[str]) -> tuple[str, ...]:
    """Return the fields by which an update changes some fields."""
    return tuple(dict.fromkeys(each for name in names for each in set_by(name)))


def has_gpus(bounds: Bounds) -> bool:
    """Tell whether the request itself asks for GPUs."""
    return any(gpus.least for gpus in bounds.gpu_types.values())
