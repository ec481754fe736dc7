# SPDX-License-Identifier: GPL-2.0-or-later
"""All that native/job_submit may call, in slurmctld as SlurmUser.

Every function takes addresses and numbers as ints and answers (return code for Slurm, text for the user or None, 0).
The two that run for every request are compiled (native/job_submit/event.c) and armed here with what they run.
"""

from __future__ import annotations

from _thread import get_ident

from slurmhooks import dispatch, trusted
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.job_submit import model, native
from slurmhooks.job_submit.bases import native_view
from slurmhooks.log import log
from slurmhooks.reload import LiveSite, settle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from slurmhooks.config import Config
    from slurmhooks.loader import Source
    from slurmhooks.outcome import Outcome
    from slurmhooks.registry import Registry

lib = native.lib

Answer = tuple[int, bytes | None, int]
SUCCESS: Answer = (lib.SLURM_SUCCESS, None, 0)
FAILED = int(lib.SLURM_ERROR)
ENDS = "slurmctld does not start until this is fixed"

TELLS_OF_UPDATES = lib.SLURM_VERSION_NUMBER >= 23 << 16 | 2 << 8
"""Whether job_modify has an ``err_msg``: 22.05's has none."""

_messages: list[str] = []
"""Texts for the user of the running call; calls come one at a time."""
_without_event = 0
"""The thread that runs init or fini handlers; 0 while none does."""


def _sink(level: int, text: str) -> None:
    lib.slurmhooks_log(level, text.encode())


def _user(text: str) -> None:
    """Keep a message for the user of the running call.

    A thread that a handler started may outlive its call, and the user of the next call must not read what it says.
    """
    if get_ident() in (job_submit.thread, job_modify.thread, _without_event):
        _messages.append(text)
    else:
        _log_each(log.info, "no user waits for this", text)


def _log_each(write: Callable[..., None], what: str, text: str) -> None:
    for line in text.split("\n"):
        write("%s: %s", what, line)


log.attach(_sink, _user)


def init(version: int) -> Answer:
    """Load the hooks when slurmctld loads the plugin; a failure ends slurmctld, so the log says all of it.

    Args:
        version: SLURM_VERSION_NUMBER of the build.
    """
    model._View._release = f"{version >> 16 & 0xFF}.{version >> 8 & 0xFF:02d}.{version & 0xFF}"
    return dispatch.guarded("job_submit init", _init, FAILED)[0], None, 0


def _init() -> Answer:
    trusted.guard()
    try:
        _site.start()
    except (ConfigError, LoadError) as error:
        dispatch.report_findings(error.findings, ENDS)
        return FAILED, None, 0
    _arm()
    answer = _without_user("job_submit.init")
    if answer[0]:
        log.record(f"a job_submit.init handler failed: {ENDS}")
    return answer


def _without_user(hook: str) -> Answer:
    """Run handlers in a call that no user waits for: what they say to one goes to the log."""
    global _without_event
    _without_event = get_ident()
    try:
        answer = _finish(dispatch.run(_site.registry.handlers(hook), {}))
    finally:
        _without_event = 0
        _messages.clear()
    if answer[1]:
        _log_each(log.error if answer[0] else log.info, hook, answer[1].decode())
    return answer


def _check(registry: Registry) -> list[str]:
    """Return the handlers that this build cannot serve, each with the way to mend it."""
    findings = []
    for handler in (*registry.handlers("job_submit"), *registry.handlers("job_modify")):
        missing = sorted(native.PRIVATE_ARGUMENTS.intersection(handler.names)) if native.views is None else []
        if missing:
            findings.append(
                f"{handler.where}: handler {handler.label} takes {', '.join(missing)}: {native.NEEDS_SOURCES}"
            )
    return findings


def _scripts(read: Config, path: Path) -> list[Source]:
    if read.job_submit.lua is None:
        return []
    from slurmhooks.lua import job_submit

    return job_submit.sources(read, path)


_site = LiveSite(_check, scripts=_scripts, hooks=("job_submit", "job_modify", "job_submit.init", "job_submit.fini"))


def fini(version: int) -> Answer:
    """Run the fini handlers when slurmctld unloads the plugin.

    Args:
        version: SLURM_VERSION_NUMBER of the build.
    """
    del version
    return dispatch.guarded("job_submit fini", lambda: _without_user("job_submit.fini"), FAILED)[0], None, 0


def _refresh() -> None:
    """Take up what changed since the last event, and tell the events."""
    _site.refresh()
    if _site.registry is not _armed:
        _arm()


_armed: Registry | None = None
"""What the events run."""


def _arm() -> None:
    """Tell the events what to run."""
    global _armed
    registry = _site.registry
    for hook, event in EVENTS.items():
        others = sorted(registry.wanted(hook) & native.PRIVATE_ARGUMENTS)
        names = ["job", f"{hook.removeprefix('job_')}_uid", *others]
        handlers = tuple(handler.bound(names) for handler in registry.handlers(hook))
        event.arm(handlers, _preparation(hook, others))
    _armed = registry
    settle()


def _preparation(hook: str, others: list[str]) -> Callable[..., tuple[object, ...]] | None:
    """Return what makes the owner and the arguments that are not in the request itself; None: none are needed.

    Args:
        hook: that they are of.
        others: their names.
    """
    makers = [native.MAKERS[name] for name in others]
    if hook == "job_modify":

        def prepare_update(desc: int, record: int, uid: int) -> tuple[object, ...]:
            owner = native.owner(record, uid)
            return (owner, *[make(record, owner, uid) for make in makers])

        return prepare_update

    def prepare(desc: int, uid: int) -> tuple[object, ...]:
        owner = native.submitter(desc)
        return (None, *[make(0, owner, uid) for make in makers])

    return prepare if makers else None


def _finish(outcome: Outcome) -> Answer:
    if outcome.passed and not _messages:
        return SUCCESS
    texts = list(_messages)
    _messages.clear()
    if outcome.text:
        texts.append(outcome.text)
    message = "\n".join(texts).encode() if texts else None
    return lib.SLURM_SUCCESS if outcome.passed else _number(outcome.code), message, 0


def _number(code: str | int | None) -> int:
    """Return the number of a code; the general one if this release does not know it. Never success."""
    if isinstance(code, str):
        known = getattr(lib, code, None)
        if known is None:
            log.error("Reject(code=%r): this release of Slurm has no such code", code)
        code = known
    return int(code) if code else FAILED


def _told(answer: Answer) -> Answer:
    """Return the answer to an update; log what this release of Slurm cannot show to the user."""
    code, message, detail = answer
    if message is None or TELLS_OF_UPDATES:
        return answer
    _log_each(log.error, "not shown to the user by this release of Slurm", message.decode())
    return code, None, detail


def _event(hook: str) -> Any:
    """Return the compiled function of a hook, which runs nothing yet."""
    told: Callable[[Answer], Answer] = _told if hook == "job_modify" else lambda answer: answer
    return native_view.Event(
        job_type=native.Job,
        modify=hook == "job_modify",
        stored=native.STORED,
        messages=_messages,
        refresh=_refresh,
        judge=dispatch.judging(lambda outcome: told(_finish(outcome))),
        answer=lambda: told(_finish(dispatch.PASSED)),
        bug=lambda error: told(dispatch.bug(hook, error, FAILED)),
        success=SUCCESS,
    )


job_submit = _event("job_submit")
"""Run the handlers of a submission; takes the address of the job_desc_msg_t, and who submits."""
job_modify = _event("job_modify")
"""Run the handlers of an update; takes the addresses of job_desc_msg_t and job_record_t, and who updates."""
EVENTS = {"job_submit": job_submit, "job_modify": job_modify}
