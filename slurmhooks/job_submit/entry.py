# SPDX-License-Identifier: GPL-2.0-or-later
"""All that native/job_submit may call, in slurmctld as SlurmUser.

Every function takes addresses and numbers as ints and answers (return code for Slurm, text for the user or None, 0).
"""

from __future__ import annotations

from slurmhooks import dispatch
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.job_submit import model, native
from slurmhooks.log import log
from slurmhooks.reload import LiveSite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from slurmhooks.config import Config
    from slurmhooks.loader import Source
    from slurmhooks.outcome import Outcome
    from slurmhooks.registry import Registry

ffi = native.ffi
lib = native.lib

Answer = tuple[int, bytes | None, int]
SUCCESS: Answer = (lib.SLURM_SUCCESS, None, 0)
FAILED = int(lib.SLURM_ERROR)
ENDS = "slurmctld does not start until this is mended"

_messages: list[str] = []
"""Texts for the user of the running call; calls come one at a time."""


def _sink(level: int, text: str) -> None:
    lib.slurmhooks_log(level, text.encode("utf-8", "replace"))


log.attach(_sink, _messages.append)


def init(version: int) -> Answer:
    """Load the hooks when slurmctld loads the plugin; a failure ends slurmctld, so the log says all of it.

    Args:
        version: SLURM_VERSION_NUMBER of the build.
    """
    model._View._release = f"{version >> 16 & 0xFF}.{version >> 8 & 0xFF:02d}.{version & 0xFF}"
    return dispatch.guarded("job_submit init", _init, FAILED)[0], None, 0


def _init() -> Answer:
    try:
        _site.start()
    except (ConfigError, LoadError) as error:
        dispatch.report_findings(error.findings, ENDS)
        return FAILED, None, 0
    answer = _without_user("job_submit.init")
    if answer[0]:
        log.record(f"a job_submit.init handler failed: {ENDS}")
    return answer


def _without_user(hook: str) -> Answer:
    """Run handlers in a call that no user waits for: what they say to one goes to the log."""
    answer = _finish(dispatch.run(_site.registry.handlers(hook), {}))
    if answer[1]:
        text = answer[1].decode("utf-8", "replace")
        (log.error if answer[0] else log.info)("%s: %s", hook, text)
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


_site = LiveSite(_check, scripts=_scripts)


def fini(version: int) -> Answer:
    """Run the fini handlers when slurmctld unloads the plugin.

    Args:
        version: SLURM_VERSION_NUMBER of the build.
    """
    del version
    return dispatch.guarded("job_submit fini", lambda: _without_user("job_submit.fini"), FAILED)[0], None, 0


def job_submit(desc: int, submit_uid: int) -> Answer:
    """Run the handlers of a submission.

    Args:
        desc: address of the job_desc_msg_t.
        submit_uid: who submits.
    """
    try:
        return _event("job_submit", desc, 0, submit_uid)
    except BaseException as error:  # noqa: BLE001 - a bug of slurmhooks itself: fail closed, and say so
        return dispatch.bug("job_submit", error, FAILED)


def job_modify(desc: int, record: int, modify_uid: int) -> Answer:
    """Run the handlers of an update.

    Args:
        desc: address of the job_desc_msg_t.
        record: address of the job_record_t.
        modify_uid: who updates.
    """
    try:
        return _event("job_modify", desc, record, modify_uid)
    except BaseException as error:  # noqa: BLE001 - a bug of slurmhooks itself: fail closed, and say so
        return dispatch.bug("job_modify", error, FAILED)


def _event(hook: str, desc: int, record: int, uid: int) -> Answer:
    _messages.clear()
    _site.refresh()
    registry = _site.registry
    handlers = registry.handlers(hook)
    if not handlers:
        return SUCCESS
    modify = hook == "job_modify"
    struct = ffi.cast("job_desc_msg_t *", desc)
    owner = native.owner(struct, record, uid)
    job = native.Job(struct, desc, modify=modify, owner=owner if modify else None)
    arguments: dict[str, object] = {"job": job, "modify_uid" if modify else "submit_uid": uid}
    others: list[model._View | model.Table] = []
    wanted = registry.wanted(hook) & native.PRIVATE_ARGUMENTS
    if wanted:
        views = native.views
        assert views is not None
        makers: dict[str, Callable[[], model._View | model.Table]] = {
            "record": lambda: views.record(record),
            "partitions": lambda: views.partitions(owner, uid),
            "jobs": views.jobs,
            "reservations": views.reservations,
        }
        for name in wanted:
            arguments[name] = view = makers[name]()
            others.append(view)
    if not others:
        return _finish(dispatch.run(handlers, arguments, job))
    try:
        return _finish(dispatch.run(handlers, arguments, job))
    finally:
        for view in others:
            view.close()


def _finish(outcome: Outcome) -> Answer:
    if outcome.passed and not _messages:
        return SUCCESS
    texts = list(_messages)
    _messages.clear()
    if outcome.text:
        texts.append(outcome.text)
    message = "\n".join(texts).encode("utf-8", "surrogateescape").replace(b"\0", b"\\0") if texts else None
    return lib.SLURM_SUCCESS if outcome.passed else _number(outcome.code), message, 0


def _number(code: str | int | None) -> int:
    """Return the number of a code; the general one if this release does not know it. Never success."""
    if isinstance(code, str):
        known = getattr(lib, code, None)
        if known is None:
            log.error("Reject(code=%r): this release of Slurm has no such code", code)
        code = known
    return int(code) if code else FAILED
