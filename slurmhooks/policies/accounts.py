# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules on accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from slurmhooks.policies.base import Rule
from slurmhooks.policies.kinds import Word, Words, listed, matches_any_case

if TYPE_CHECKING:
    from slurmhooks.policies.request import Request

ACCOUNT = "ESLURM_INVALID_ACCOUNT"


class RequireAccount(Rule):
    """Jobs must name an account (--account).

    Without it Slurm charges the user's default account, which users with several projects often forget.
    """

    private: ClassVar[tuple[str, ...]] = ("forbidden",)
    rule: Literal["require_account"] = "require_account"
    left_to_slurm: ClassVar[str] = "refuses a job that names none, whatever the user's default is"
    forbidden: Words = Field(default=(), description="accounts that are refused; shell patterns")

    own_fields: ClassVar[tuple[str, ...]] = ("account",)
    option: ClassVar[str] = "account"
    text: ClassVar[str] = "name a project with {option}"
    refusing: ClassVar[str] = "account {account} is not allowed: name another one with {option}"
    code: ClassVar[str | None] = ACCOUNT
    example: ClassVar[str] = 'forbidden = ["guest"]'

    def check(self, request: Request) -> None:
        """Refuse a job without an account, or with a forbidden one."""
        account = request.get("account")
        if account is None:
            self.refuse(request)
        if matches_any_case(account, self.forbidden):
            self.refuse(request, text=self.refusing)

    def effect(self) -> str:
        """Describe the rule."""
        never = f" Jobs for {listed(self.forbidden)} are refused." if self.forbidden else ""
        return f"Name an account with `--account`.{never}"


class DefaultAccount(Rule):
    """Jobs without an account get one: that of the user's first Unix group in the list, or a common one."""

    private: ClassVar[tuple[str, ...]] = ("by_group", "value")
    rule: Literal["default_account"] = "default_account"
    left_to_slurm: ClassVar[str] = "fills it in if the request names none"
    by_group: dict[str, Word] = Field(default={}, description="accounts by Unix group; the first match decides")
    value: Word | None = Field(default=None, description="the account for all others; unset: none")

    hooks: ClassVar[tuple[str, ...]] = ("job_submit",)
    needs: ClassVar[tuple[str, ...]] = ("by_group", "value")
    text: ClassVar[str] = "no --account given: charged to {chosen}"
    placeholders: ClassVar[dict[str, str]] = {"chosen": "the account"}
    example: ClassVar[str] = 'by_group = { physics = "phys", chemistry = "chem" }'

    def check(self, request: Request) -> None:
        """Set a missing account."""
        if request.job.account is not None:
            return
        groups = request.groups if self.by_group else frozenset()
        account = next((name for group, name in self.by_group.items() if group in groups), self.value)
        if account is not None:
            request.job.account = account
            self.tell(request, chosen=account)

    def effect(self) -> str:
        """Describe the rule."""
        parts = [f"`{account}` for members of `{group}`" for group, account in self.by_group.items()]
        if self.value is not None:
            parts.append(f"`{self.value}`{' for others' if parts else ''}")
        return f"A job without `--account` is charged to {', '.join(parts)}."
