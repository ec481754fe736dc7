# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules on working directories and mail."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, ClassVar, Literal

from slurmhooks.job_submit.bounds import defaults
from slurmhooks.rules.base import Rule
from slurmhooks.rules.kinds import listed, matches
from slurmhooks.rules.table import key

if TYPE_CHECKING:
    from slurmhooks.rules.request import Request
    from slurmhooks.rules.value_types import AbsolutePaths, Word, Words


class WorkDirectory(Rule):
    """Jobs must start in certain folders (--chdir), or outside others, such as home directories.

    The path is compared as the user gives it: symbolic links are not resolved, because slurmctld does not see the
    users' file systems; paths in /proc and other places whose links depend on the process are refused. Where a folder
    does not exist, Slurm starts the job in /tmp. Jobs of old clients may have no path; they pass. For salloc, the
    folder in which it was started counts, because it does not send that of --chdir.
    """

    rule: Literal["work_directory"] = key("work_directory")
    left_to_slurm: ClassVar[str] = "the path as the request has it"
    inside: AbsolutePaths = key((), "the folders in or below which it must be")
    outside: AbsolutePaths = key((), "the folders in or below which it must not be")

    own_fields: ClassVar[tuple[str, ...]] = ("work_dir",)
    option: ClassVar[str] = "work_dir"
    needs: ClassVar[tuple[str, ...]] = ("inside", "outside")
    text: ClassVar[str] = "jobs may not run in {asked}: change directory, or use {option}"
    placeholders: ClassVar[dict[str, str]] = {"asked": "the working directory"}
    code: ClassVar[str | None] = "ESLURM_ACCESS_DENIED"
    example: ClassVar[str] = 'outside = ["/home"]'

    def settle(self) -> None:
        """Prepare to compare its folders."""
        super().settle()
        self._inside, self._outside = _starts(self.inside), _starts(self.outside)

    def check(self, request: Request) -> None:
        """Refuse a job that starts in the wrong place."""
        given = request.get("work_dir")
        if given is None:
            if not request.sets(("work_dir",)):
                return
            given = FALLBACK  # an update has removed it
        path, has_links = request.job._asked_once(("folder", given), lambda: _folder(given))
        if (
            # Slurm follows a relative path from a folder of slurmd.
            (self.inside and not (given.startswith("/") and _below(path, self._inside)))
            or _below(path, self._outside)
            or has_links
        ):
            self.refuse(request, asked=given)

    def effect(self) -> str:
        """Describe the rule."""
        parts = [f"in {listed([f'`{path}`' for path in self.inside])}"] if self.inside else []
        parts += [f"not in {listed([f'`{path}`' for path in self.outside])}"] if self.outside else []
        return f"Jobs start {' and '.join(parts)}."


def is_replaced(_: type[Rule], value: str | None) -> None:
    """Raise ValueError for a text that does not become an address by the name of a user."""
    if value is not None and not ADDRESS.fullmatch(value.replace("{user}", "user")):
        raise ValueError("is not an address; {user} stands for the name of the user")


class MailAddress(Rule):
    """Mail of jobs (--mail-user) goes only to addresses of some domains; a default address replaces a missing one.

    Addresses are separated by commas; empty ones are ignored, as mail programs do. Characters with a meaning to mail
    programs, such as blanks and ``;|<>``, names that begin with a dash, and ``%``, which Slurm does not replace there,
    are refused. An update that asks for mail of a job without an address gets the default address, too. A job that is
    moved to where the rule counts may have the address that Slurm itself gives to jobs that name none: the user, at
    MailDomain if slurm.conf sets it.
    """

    private: ClassVar[tuple[str, ...]] = ("value",)
    rule: Literal["mail_address"] = key("mail_address")
    left_to_slurm: ClassVar[str] = "without an address, Slurm writes to the user of the job"
    domains: Words = key((), "the domains; shell patterns, as in *.example.org; empty: all")
    value: Word | None = key(
        None,
        "the address for jobs that want mail and name none; {user} is replaced by the user's name",
        check=is_replaced,
    )

    own_fields: ClassVar[tuple[str, ...]] = ("mail_user", "mail_type")
    option: ClassVar[str] = "mail_user"
    needs: ClassVar[tuple[str, ...]] = ("domains", "value")
    text: ClassVar[str] = "{option} must be an address of {domains}, not {asked}"
    invalid: ClassVar[str] = "{option} must be a valid address, not {asked}"
    placeholders: ClassVar[dict[str, str]] = {
        "domains": "the domains",
        "asked": "the address of the job",
    }
    code: ClassVar[str | None] = "ESLURM_ACCESS_DENIED"
    example: ClassVar[str] = 'domains = ["example.org"]\nvalue = "{user}@example.org"'

    def check(self, request: Request) -> None:
        """Refuse an address of another domain; set a missing address."""
        asked = self._asked(request)
        addresses = [each.strip(" ") for each in asked.split(",") if each.strip(" ")]
        if addresses:
            if not all(_is_of(each, self.domains) for each in addresses):
                text = None if self.domains else self.invalid
                self.refuse(request, text, domains=listed(self.domains), asked=asked)
        elif self.value is not None and request.job.mail_type and request.user is not None:
            request.job.mail_user = self.value.replace("{user}", request.user)

    def _asked(self, request: Request) -> str:
        """Return the address that the request names, or that the job of an update has, other than Slurm's default."""
        address: str = request.get("mail_user") or ""
        if not address or request.sets(("mail_user",)):
            return address
        return "" if address == defaults.mail_user(request.user) else address

    def effect(self) -> str:
        """Describe the rule."""
        parts = [f"`--mail-user` takes addresses of {listed(self.domains)}."] if self.domains else []
        parts += [f"Without it, mail goes to `{self.value}`."] if self.value is not None else []
        return " ".join(parts)


ADDRESS = re.compile(r"(?!-)[^\s;|<>()\[\]:\"'`\\%@]+(?:@(?!-)[^\s;|<>()\[\]:\"'`\\%@]+)?")
"""An address without characters that mean something to a mail program or a shell."""
FALLBACK = "/tmp"
"""The folder of jobs whose own one does not exist, as in _fork_all_tasks() of slurmstepd."""
LINKS = ("/proc/", "/dev/fd/", "/sys/")
"""Folders whose links lead elsewhere, on every node."""


def _is_of(address: str, domains: tuple[str, ...]) -> bool:
    """Tell whether an address is one, and of one of some domains; without domains, of any."""
    if not ADDRESS.fullmatch(address) or not address.isprintable():
        return False
    name, _, domain = address.rpartition("@")
    return not domains or (bool(name) and matches(domain.lower(), tuple(each.lower() for each in domains)))


def _folder(path: str) -> tuple[str, bool]:
    """Return a folder in its shortest form, and whether it leads through one of LINKS."""
    return posixpath.normpath(f"/{path}").replace("//", "/"), _has_links(path)


def _has_links(path: str) -> bool:
    """Tell whether a path leads through one of LINKS; a link is followed before the ".." behind it."""
    parts: list[str] = []
    for part in [*path.split("/"), ".."]:
        if part == "..":
            if _below("/" + "/".join(parts[:2]), LINKS):  # as long as the longest of them
                return True
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return False


def _starts(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return how the paths of folders and of all below them start."""
    return tuple(f"{folder.rstrip('/')}/" for folder in folders)


def _below(path: str, starts: tuple[str, ...]) -> bool:
    """Tell whether a path starts so; see :func:`_starts`."""
    return f"{path}/".startswith(starts)
