# SPDX-License-Identifier: GPL-2.0-or-later
"""The common base of all rules: which jobs they apply to, what they tell users, and when they check an update."""

from __future__ import annotations

from functools import partial
from string import Formatter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn

from slurmhooks.errors import Reject
from slurmhooks.handlers.registry import TRY
from slurmhooks.job_submit.users import split_names
from slurmhooks.log import log
from slurmhooks.rules.conditions import Condition, in_groups
from slurmhooks.rules.kinds import listed, matches, matches_any_case, may_be, must_be
from slurmhooks.rules.options import filled_in, option_of
from slurmhooks.rules.placeholders import COMMON, Values
from slurmhooks.rules.table import Table, key
from slurmhooks.rules.typed import NOT_IN_RECORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from slurmhooks.rules.conditions import Place
    from slurmhooks.rules.exemptions import Exemption
    from slurmhooks.rules.request import Request
    from slurmhooks.rules.value_types import Label, Url, Words

_NAMES = (
    ("partitions", "jobs in {}"),
    ("qos", "jobs with QOS {}"),
    ("accounts", "jobs of account {}"),
    ("users", "jobs of {}"),
    ("groups", "jobs of members of {}"),
)
"""The keys that select jobs, in words."""


ADMINISTRATOR = "administrator"
"""The exception that a request of root or SlurmUser is."""


class NotConcerned(Exception):  # noqa: N818 - no error
    """A rule is not for a request."""


def known_placeholders(kind: type[Rule], value: str | None) -> None:
    """Raise ValueError for a message with placeholders that a rule does not have."""
    known = {**COMMON, **kind.placeholders}
    try:
        parts = list(Formatter().parse(value or ""))
    except ValueError as error:
        raise ValueError(f"is not a message: {error}; write {{{{ and }}}} for braces") from None
    for _, name, form, conversion in parts:
        if name is not None and (name not in known or form or conversion):
            raise ValueError(f"takes {', '.join(f'{{{known_name}}}' for known_name in known)}")


class Rule(Condition):
    """A rule that is switched on.

    The docstring of a rule and the descriptions of its keys are its page in the reference.

    Attributes:
        hooks: the hooks that it has handlers for.
        option: the field in OPTIONS that messages name as {option}; empty: they name the command's options themselves.
        own_fields: the fields of a job that it decides about. It checks an update that sets one of them.
        needs: its keys of which the site must set at least one; empty: it works without any.
        text: its default message.
        placeholders: the placeholders that only its messages have, with their meanings.
        code: the error code of its refusals.
        example: its keys in an example, as TOML.
        after_refusal: whether it is tried on a request that is refused already, see slurmhooks.handlers.registry.
        private: keys whose values are not published; see slurmhooks.rules.published.
        inner: the classes of the tables in its keys, by the keys.
        fills: whether it gives values to jobs: conditions on sizes must be met whatever Slurm chooses; otherwise it is
            enough that a job may meet them, so that nobody evades the rule.
        left_to_slurm: what counts for it if the job leaves to Slurm what it looks at, for its page.
    """

    hooks: ClassVar[tuple[str, ...]] = ("job_submit", "job_modify")
    option: ClassVar[str] = ""
    own_fields: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ()
    fills: ClassVar[bool] = False
    text: ClassVar[str]
    left_to_slurm: ClassVar[str]
    placeholders: ClassVar[dict[str, str]] = {}
    code: ClassVar[str | None] = None
    example: ClassVar[str] = ""
    inner: ClassVar[dict[str, type[Table]]] = {}
    private: ClassVar[tuple[str, ...]] = ()
    after_refusal: ClassVar[int] = TRY

    name: Label | None = key(
        None, "its name, which must be unique, by default that of the rule; its handlers are rule:NAME"
    )
    order: int = key(50, "its position among all handlers: lower orders run first")
    mode: Literal["enforce", "warn", "observe", "off"] = key(
        "enforce",
        "whether it decides, only warns, is only observed, or does not run;"
        ' [rules.modes."rule:NAME"] replaces it, for a share of the users, for example',
    )
    message: str | None = key(None, "what the user reads instead of the rule's own text", check=known_placeholders)
    help_url: Url | None = key(None, "address of a page, shown below the message")

    partitions: Words = key((), "only jobs that may run in one of these; shell patterns")
    qos: Words = key((), "only jobs that may have one of these QOS; shell patterns")
    accounts: Words = key((), "only jobs that are charged to one of these; shell patterns")
    users: Words = key((), "only jobs of these users")
    groups: Words = key((), "only jobs of members of these Unix groups")
    except_partitions: Words = key((), "not jobs that can run nowhere but in these")
    except_qos: Words = key((), "not jobs that can have no QOS but these")
    except_accounts: Words = key((), "not jobs that are charged to these accounts")
    except_users: Words = key((), "not jobs of these users, nor updates by them")
    except_groups: Words = key((), "not jobs of members of these Unix groups, nor updates by them")
    any: tuple[Place, ...] = key((), "only jobs that meet one of these conditions", strict=False)
    unless: tuple[Place, ...] = key((), "not jobs that certainly meet one of these conditions", strict=False)
    except_admins: bool = key(True, "not what root and SlurmUser submit and change")
    updates: Literal["check", "refuse", "ignore", "only"] = key(
        "check",
        "what happens to scontrol update: the rule checks the job as it would be, refuses users all"
        " changes of what it is about, ignores them, or checks only them; check and only need a build with Slurm's"
        " sources",
    )
    _exemptions: tuple[Exemption, ...] = ()
    _share: frozenset[str] = frozenset()
    _conditional = False

    def settle(self) -> None:
        """Check what all rules have in common."""
        super().settle()
        self._conditional = bool(self.given or self.any)
        if self.updates == "only" and not self.sees_jobs_of_updates:
            raise ValueError('updates = "only": the rule does not look at updates')
        unseen = [name for name in self.compared if name in NOT_IN_RECORDS]
        if unseen and self.sees_jobs_of_updates:
            raise ValueError(
                f"slurmctld does not send {listed(unseen, 'and')} of the job of an update: add updates = "
                + (
                    '"ignore"'
                    if self.fills or self.kind == "require"
                    else '"refuse", or "ignore" if users may change it'
                )
            )
        if self.needs and all(getattr(self, name) == self.keys[name].default for name in self.needs):
            raise ValueError(f"needs {listed(self.needs)}")

    # Properties

    @property
    def sees_jobs_of_updates(self) -> bool:
        """Whether it looks at the job as it would be after an update."""
        return self.updates in ("check", "only") and "job_modify" in self.hooks

    @property
    def kind(self) -> str:
        """The name of its kind of rule."""
        return str(self.keys["rule"].default)

    @property
    def title(self) -> str:
        """Its name."""
        return self.name or self.default_title

    @property
    def default_title(self) -> str:
        """Its name if the site gives none: that of the rule, and of the fields that it is about, if it names some."""
        field = getattr(self, "field", ())
        return "_".join((self.kind, *((field,) if isinstance(field, str) else field)))

    @property
    def label(self) -> str:
        """The label of its handlers."""
        return f"rule:{self.title}"

    @classmethod
    def documentation(cls) -> str:
        """Return a general description of the rule, as Markdown."""
        from inspect import cleandoc  # takes long to import, and only pages need it

        return cleandoc(cls.__doc__ or "").replace("``", "`")

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that decide whether and how the rule applies to a job."""
        return self.with_selecting(self.deciding())

    def with_selecting(self, own: tuple[str, ...]) -> tuple[str, ...]:
        """Return fields, and those that decide for which jobs the rule is."""
        conditions = (self, *self.any, *self.unless)
        own = with_end_time(
            (*own, *(name for each in conditions for name in each.conditions_fields if name not in own))
        )
        own = tuple(dict.fromkeys(own))
        keys = {"partition": "partitions", "qos": "qos", "account": "accounts"}
        chosen = {
            field: getattr(self, key)
            or getattr(self, f"except_{key}")
            or any(getattr(exemption, key) for exemption in self._exemptions)
            or key in self._share
            for field, key in keys.items()
        }
        chosen["name"] = any(exemption.names for exemption in self._exemptions)
        chosen["reservation"] = chosen["partition"]  # of several reservations, Slurm tries the partitions
        return (*own, *(name for name, names in chosen.items() if names and name not in own))

    def deciding(self) -> tuple[str, ...]:
        """Return those of its fields that matter as it is configured."""
        return self.own_fields

    @property
    def named_fields(self) -> tuple[str, ...]:
        """The fields of ``job`` that its keys name."""
        return tuple(name for each in (self, *self.any, *self.unless) for name in each.where)

    @property
    def compared(self) -> tuple[str, ...]:
        """Those of its named fields whose values decide."""
        return self.named_fields

    def active_hooks(self) -> tuple[str, ...]:
        """Return the hooks that the rule has handlers for, as configured; none for updates if it looks at no field."""
        updates = self.updates != "ignore" and bool(self.fields)
        wanted = {"job_modify": updates, "job_submit": self.updates != "only"}
        return tuple(name for name in self.hooks if wanted[name])

    def tables(self, hook: str) -> tuple[str, ...]:
        """Return the tables of slurmctld that the rule needs in a hook, besides the partitions for the default one."""
        return ()

    @property
    def longest(self) -> float:
        """The maximum number of seconds that the rule may wait for something."""
        return 0.0

    def programs(self) -> tuple[str, ...]:
        """Return the paths of programs that the rule runs."""
        return ()

    @property
    def informs(self) -> bool:
        """Whether it only informs users, who read the same notice once a day."""
        return False

    @property
    def selects(self) -> bool:
        """Whether it is only for some jobs, besides exceptions."""
        return bool(self.partitions or self.qos or self.accounts or self.users or self.groups or self.any or self.given)

    @property
    def needs_partitions(self) -> bool:
        """Whether the rule decides by the partitions in which a job may run."""
        others = [*(each.partitions for each in self._exemptions), *(it.partitions for it in (*self.any, *self.unless))]
        return bool(self.partitions or self.except_partitions or any(others))

    def limiting(self, request: Request) -> tuple[str, ...]:
        """Return the partitions of a job that the rule is for."""
        return tuple(
            name
            for name in request.partitions
            if (not self.partitions or matches(name, self.partitions)) and not matches(name, self.except_partitions)
        )

    # Decisions

    @property
    def exemptions(self) -> tuple[Exemption, ...]:
        """The exemptions from this rule."""
        return self._exemptions

    def exempt(self, exemptions: Iterable[Exemption]) -> None:
        """Take the exemptions of the configuration that are from this rule."""
        self._exemptions = tuple(each for each in exemptions if each.is_for(self.title))

    def __getstate__(self) -> dict[str, Any]:
        """Return the values that were given, and the exemptions."""
        return {**super().__getstate__(), "_exemptions": self._exemptions}

    def limit_to(self, share: Iterable[str]) -> None:
        """Take the keys of ``[rules.modes."LABEL"]`` that say for which jobs the rule has its mode."""
        self._share = frozenset(share)

    def selection(self, hook: str) -> Hashable:
        """Return what decides for whom the rule is, besides exceptions: equal for rules that are for the same requests.

        None: the rule is for all requests.
        """
        conditions = repr((self.given, self.any, self.fills)) if self.given or self.any else ""
        selected = self.partitions, self.qos, self.accounts, self.users, self.groups, conditions
        if hook == "job_modify":
            return type(self).is_for, self.updates == "refuse", self.fields, selected
        return (type(self).is_for, selected) if any(selected) else None

    def applied(self) -> Callable[[Request], str | None]:
        """Return the function that decides about requests, for the rule as it is now.

        It returns why the rule does not decide although it is for the job: an exception from it.

        Raises:
            NotConcerned: by the function: the rule is not for this request, nor is any rule with the same selection.
            Reject: by the function: the request is refused.
        """
        # Rules without these keys, which are the most, are spared the questions.
        selects = self.selects
        excepts = bool(self.unless) or any(getattr(self, f"except_{key}") for key, _ in _NAMES)
        is_timed = self.is_timed
        fields, exemptions, except_admins = self.fields, self._exemptions, self.except_admins
        check, refuses = self.check, self.updates == "refuse"

        def apply(request: Request) -> str | None:
            modify = request.modify
            if modify and not request.sets(fields):
                raise NotConcerned
            if is_timed and not self.is_now():
                raise NotConcerned
            if except_admins and request.is_admin:
                return ADMINISTRATOR
            blind = modify and refuses  # slurmctld does not send the job
            if selects and not (self._is_for_user(request) if blind else self.is_for(request)):
                raise NotConcerned
            if excepts:
                reason = self._user_exception(request) if blind else self.exception(request)
                if reason is not None:
                    return reason
            for exemption in exemptions:
                if (exemption.only_users or not blind) and self.is_exempt(exemption, request):
                    return exemption.shown
            if blind:
                self._refuse_update(request)
            check(request)
            return None

        return apply

    def check(self, request: Request) -> None:
        """Decide about a request that the rule applies to.

        Raises:
            Reject: the request is refused.
        """
        raise NotImplementedError

    def is_exempt(self, exemption: Exemption, request: Request) -> bool:
        """Tell whether an exemption from the rule covers a request."""
        return exemption.covers(request)

    def is_for(self, request: Request) -> bool:
        """Tell whether the rule is for a job; it may have exceptions."""
        # First, because for partition, QOS and account slurmctld may have to be asked.
        if self.users and request.known_user() not in self.users:
            return False
        return (
            may_be(lambda: request.partitions, self.partitions, matches)
            and may_be(lambda: split_names(request.qos), self.qos, matches_any_case)
            and may_be(lambda: (request.account,), self.accounts, matches_any_case)
            and self._is_for_user(request)
            and (not self._conditional or self._is_met(request))
        )

    def _is_met(self, request: Request) -> bool:
        return self.meets(request, sure=self.fills) and (
            not self.any or self._unless_exempt(request, lambda: any(self._is_one(each, request) for each in self.any))
        )

    def _is_one(self, place: Place, request: Request) -> bool:
        return place.is_there(request, sure=False) and place.meets(request, sure=self.fills)

    def exception(self, request: Request) -> str | None:
        """Return the exception from the rule that a job is, among those that the rule itself names."""
        if must_be(lambda: request.partitions, self.except_partitions, matches):
            return "except_partitions"
        if must_be(lambda: split_names(request.qos), self.except_qos, matches_any_case):
            return "except_qos"
        if must_be(lambda: (request.account,), self.except_accounts, matches_any_case):
            return "except_accounts"
        reason = self._user_exception(request)
        if reason is None and any(
            each.is_there(request, sure=True) and each.meets(request, sure=True, any_nodes=True) for each in self.unless
        ):
            return "unless"
        return reason

    def _is_for_user(self, request: Request) -> bool:
        if self.users and request.known_user() not in self.users:
            return False
        return not self.groups or self._unless_exempt(request, lambda: in_groups(request.groups, self.groups))

    def _unless_exempt(self, request: Request, asks_groups: Callable[[], bool]) -> bool:
        """Tell whether the rule is for a job, by groups that may not be known.

        Raises:
            Reject: they are not, and the job has no exception.
        """
        try:
            return asks_groups()
        except Reject as error:
            if self._user_exception(request) is not None:
                return True  # whatever the groups: it has an exception
            raise Reject(self.with_help(error.text), code=error.code or self.own_code()) from error

    def _user_exception(self, request: Request) -> str | None:
        if self.except_users and not {request.user, *request.others[0]}.isdisjoint(self.except_users):
            return "except_users"
        if self.except_groups and not (request.groups | request.others[1]).isdisjoint(self.except_groups):
            return "except_groups"
        return None

    def _refuse_update(self, request: Request) -> NoReturn:
        """Refuse an update without looking at the job, so that slurmctld need not send it."""
        changed = [option_of(request, name) for name in self.fields if request.sets((name,))]
        raise Reject(
            self.with_help(f"only administrators may change {listed(changed, 'and')} of a job"),
            code="ESLURM_ACCESS_DENIED",
        )

    # Texts

    def own_text(self) -> str:
        """Return the rule's message if the site has none."""
        return self.text

    def own_code(self) -> str | None:
        """Return the error code of its refusals, as it is configured."""
        return self.code

    def own_option(self) -> str:
        """Return the name in OPTIONS of what it is about, as it is configured; see the class."""
        return self.option

    def hidden(self) -> tuple[str, ...]:
        """Return the keys whose values are not published, as it is configured."""
        return self.private

    def say(self, request: Request, text: str | None = None, **values: object) -> str:
        """Return the message with its placeholders filled in; ``text`` replaces the rule's own."""
        template = text or self.own_text() if self.message is None else self.message
        return template.format_map(Values(request, self.own_option(), partial(self.limiting, request), values))

    def refuse(self, request: Request, text: str | None = None, code: str | None = None, **values: object) -> NoReturn:
        """Refuse a request; ``values`` are those of the placeholders, ``text`` and ``code`` replace the rule's own.

        Raises:
            Reject: always.
        """
        said = "\n".join((self.say(request, text, **values), *filled_in(request, self.fields)))
        raise Reject(self.with_help(said), code=code or self.own_code())

    def tell(self, request: Request, text: str | None = None, **values: object) -> None:
        """Tell the user what the rule has changed, unless its message is empty."""
        said = self.say(request, text, **values)
        if said:
            (log.user if self.informs else log.of_accepted)(self.with_help(said))

    def with_help(self, text: str) -> str:
        """Return a text for users with the address of the page about the rule."""
        return text if self.help_url is None else f"{text}\nSee {self.help_url}"

    def effect(self) -> str:
        """Describe what the rule does, with the values of the site, in one or more sentences."""
        raise NotImplementedError

    def scope(self, known: Mapping[str, Sequence[str]]) -> str:
        """Describe in a sentence which jobs the rule applies to; empty for all.

        Args:
            known: exemptions that the reader knows already, by the keys that name them.
        """
        only = [_named(what, names) for key, what in _NAMES if (names := getattr(self, key))]
        never = []
        for kind, what in _NAMES:
            given = getattr(self, f"except_{kind}")
            names = tuple(name for name in given if name not in known.get(f"except_{kind}", ()))
            never += [_named(what, names)] if names else []
        words = [f"Only for {' with '.join(only)}." if only else "", f"Not for {listed(never)}." if never else ""]
        return " ".join(word for word in (*words, self.conditions()) if word)

    def conditions(self, *, names: bool = True) -> str:
        """Describe in sentences its conditions besides the names of places and people; empty without any."""
        own = self.described(names=names)
        words = [f"Only for jobs with this: {own}." if own else ""]
        for places, start in ((self.any, "Only for jobs with one of these"), (self.unless, "Not for jobs with")):
            parts = [each.described(names=names) or "anything" for each in places]
            words.append(f"{start}: {'; '.join(parts)}." if parts else "")
        return " ".join(word for word in words if word)


def with_end_time(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return fields, and with the time limit also the end, by which operators change the limit of running jobs."""
    return (*fields, "end_time") if "time_limit" in fields and "end_time" not in fields else fields


def _named(what: str, names: Sequence[str]) -> str:
    return what.format(listed([f"`{name}`" for name in names]))
