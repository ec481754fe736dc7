# SPDX-License-Identifier: GPL-2.0-or-later
"""The functions that native/spank calls.

Addresses and numbers are ints. Each function returns (code for Slurm, None, 0).
"""

from __future__ import annotations

import posix

import _slurmhooks_spank as native

from slurmhooks.errors import LoadError
from slurmhooks.files import plugstack, trusted
from slurmhooks.handlers import deadline, dispatch
from slurmhooks.handlers.registry import Registry
from slurmhooks.hooks.points import CONTEXTS, IN_TASKS, JOB_CALLBACKS, ORIGINS, POINTS
from slurmhooks.log import CONTINUED, ERROR, INFO, USER, VERBOSE, coloured, log
from slurmhooks.site import loading
from slurmhooks.spank.line import Line
from slurmhooks.values import text_from_c

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from slurmhooks.handlers.dispatch import Outcome
    from slurmhooks.handlers.registry import Handler
    from slurmhooks.hooks.option import Option
    from slurmhooks.spank.options import Options

ffi = native.ffi
lib = native.lib

Answer = tuple[int, bytes | None, int]
SUCCESS: Answer = (0, None, 0)
SIGN = 1 if hasattr(lib, "ESPANK_JOB_FAILURE") else -1
"""Sign of failure codes: before 25.05, Slurm treats only negative codes as failures; later it needs the code itself."""
FAILED: Answer = (SIGN * lib.ESPANK_ERROR, None, 0)
SPECIAL_STEPS = 0xFFFFFFF0
"""slurm.h: SLURM_MAX_NORMAL_STEP_ID."""
CALLBACKS = POINTS["spank"].functions
WITH_STATE = (*JOB_CALLBACKS, "init", "init_post_opt")
"""The callbacks before or after which the state of a job begins, ends, or is read for later ones."""

_prepared: dict[tuple[int, int], Callable[[int], Answer]] = {}
"""Functions for the next call of a callback, by its number and the address of the arguments of the line."""
_lines: dict[tuple[str, ...], Line | None] = {}
_options: Options | None = None
_context = "local"
_control_lost = False
"""Whether Slurm itself has lost the job control environment, and must not be asked for it."""


_log = lib.slurmhooks_log  # cffi creates each function at its first use, which may be in a process without memory
_syslog = lib.slurmhooks_syslog


def _sink(level: int, text: str) -> None:
    _log(level, text.encode())


def _user(text: str) -> None:
    """Show a text to the user. On nodes, its lines are also in the log of slurmd."""
    command = _context in ("local", "allocator")
    for line in text.replace("\n", "\n" if command else f"\n{CONTINUED}").split("\n"):
        _sink(USER, coloured(line) if command else line)


def _record(text: str) -> None:
    """Log a line for administrators only.

    slurmstepd copies errors to the standard error of the job, but not lower levels. The log of srun, sbatch and salloc
    is the terminal of the user, so they write to syslog, too.
    """
    if _context == "remote":
        _sink(INFO, text)
    elif _context in ("local", "allocator"):
        _sink(VERBOSE, text)
        _syslog(text.encode())
    else:
        _sink(ERROR, text)


log.attach(_sink, _user, _record)


def options() -> Options:
    """Return the options of this process. Most launches with a manifest do not need them."""
    global _options
    if _options is None:
        from slurmhooks.spank.options import Options

        _options = Options(native)
    return _options


def step(job: int, number: int) -> Answer:
    """Store the step of this slurmstepd, before anything else is called.

    Special steps such as batch scripts have large numbers, and scancel can cancel only their job.
    """
    deadline.of_step(f"{job}.{number}" if number < SPECIAL_STEPS else str(job))
    return SUCCESS


def callback(
    which: int,
    handle: int,
    context: int,
    argc: int,
    argv: int,
    known: int,
    option_callback: int,
    base: int,
    missing: int,
    components: int,
) -> Answer:
    """Run the handlers of one callback of a line of plugstack.conf. Load the line at its first use.

    Tasks are forks of slurmstepd. The kernel copies each page that a task writes to, and CPython writes to every object
    that it uses. Therefore the calls in tasks are prepared before the fork, see :func:`_before_tasks`.

    Args:
        which: index into CALLBACKS.
        handle: the ``spank_t``.
        context: the ``spank_context_t``.
        argc: number of arguments of the line.
        argv: address of the arguments.
        known: address of the manifest as C has read it, if it has the line, so that C has registered its options; or 0.
        option_callback: address of the C function that Slurm calls for each option.
        base: number of the first option of the line.
        missing: address of the names of callbacks that this variant of the plugin does not export; or 0.
        components: number of components of this srun, whose options have been read.

    Returns:
        the code for Slurm, and at init the names of the options of the line, each followed by a blank.
    """
    prepared = _prepared.pop((which, argv), None)
    if prepared is not None:
        return prepared(handle)
    name = CALLBACKS[which]
    names = []
    not_exported = text_from_c(ffi.string(ffi.cast("char *", missing))).split() if missing else []

    def body() -> tuple[int, bytes | None, int]:
        global _context, _control_lost
        # srun moves the job control environment of each component away when it has read its options
        # (src/srun/opt.c:_opt_copy).
        _control_lost = components > 1 and name != "init_post_opt"
        _context = CONTEXTS[context - 1] if 0 < context <= len(CONTEXTS) else "error"
        if _context == "slurmd":
            from slurmhooks.files import home  # steps do not need it

            home.is_slurmd = True
        pointer = ffi.cast("struct spank_handle *", handle)
        line = _line(argc, argv, known)
        # slurmd starts all the same: this must not stop a node, and launches are refused.
        if line is None or (_never_called(line.registry, not_exported) and _context != "slurmd"):
            return FAILED
        if (
            name == "init"
            and not known
            and not options().register(line.registry, pointer, _context, option_callback, base)
        ):
            return FAILED

        def register(option: Option) -> int:
            return options().add(option, pointer, base + line.add(option), option_callback)

        answer = _callback(name, pointer, line, register)
        if name == "init":
            names.extend(line.names())
        if name == "init_post_opt" and _options is not None:
            _options.next_component()
        if name == "init_post_opt" and _context == "remote" and answer == SUCCESS:
            _before_tasks(line, argv)
        return answer

    code = dispatch.answer(f"spank {name}", body, FAILED[0])[0]
    return code, "".join(f"{option} " for option in names).encode() or None, 0


def option(argc: int, argv: int, known: int, index: int, name: int, argument: int, origin: int) -> Answer:
    """Store the value of an option that the user gave.

    Args:
        argc: see :func:`callback`.
        argv: see :func:`callback`.
        known: see :func:`callback`.
        index: number of the option in the line.
        name: address of its name in the manifest, or 0.
        argument: address of the argument, or 0.
        origin: index into ORIGINS.
    """

    def body() -> tuple[int, bytes | None, int]:
        line = _line(argc, argv, known)
        if line is None:
            return FAILED
        text = text_from_c(ffi.string(ffi.cast("char *", argument))) if argument else None
        name_text = text_from_c(ffi.string(ffi.cast("char *", name))) if name else None
        option = line.option(index, name_text)
        if option is None:
            log.error("unknown option --%s: no hook file that is loaded here defines it", name_text)
            return FAILED
        where = ORIGINS[origin]
        if option.scripted:
            from slurmhooks.lua.spank_options import LuaOption

            assert isinstance(option, LuaOption)
            with deadline.of_option(option.name, where):
                return option.take(text, where == "remote"), None, 0
        accepted = options().take(option, text, where)
        return SUCCESS if accepted else (SIGN * lib.ESPANK_BAD_ARG, None, 0)

    return dispatch.answer("spank option", body, FAILED[0])


def _line(argc: int, argv: int, known: int) -> Line | None:
    """Return the line with these arguments; load it at its first use; None if that has failed."""
    words = ffi.cast("char **", argv)
    args = tuple(text_from_c(ffi.string(words[index])) for index in range(argc))
    if args not in _lines:
        with deadline.loading(_ends("")):
            line = _lines[args] = _load(args, ffi.string(ffi.cast("char *", known)) if known else None)
            if line is not None:
                line.words = args
    return _lines[args]


def _load(args: tuple[str, ...], known: bytes | None) -> Line | None:
    if posix.getuid() == 0:
        trusted.guard()
    try:
        named = loading.of_line(args, known=known)
        rest, rows, scripts = named.rest, named.rows, named.scripts
        registry = named.load()
        if not scripts:
            return Line(rest, registry, [])
        from slurmhooks.lua import spank as lua
        from slurmhooks.lua.library import WORDS, Lua

        fatal = plugstack.fails_on_error(args)
        words: Sequence[str] = ()
        names: list[str] = []
        if rows is not None:
            from slurmhooks.site import manifest

            words, names = manifest.of_scripts(rows)
        if len(words) == WORDS:
            library: Lua | str | None = Lua(*words)
        else:
            from slurmhooks.site import sources as site

            library = site.lua_version()
        if known is None:
            return Line(rest, lua.extend(registry, scripts, fatal, library), [])
        registry, complete = lua.extend_known(registry, scripts, fatal, library)
        return Line(rest, registry, names, complete)
    except LoadError as error:
        log.user(dispatch.report_findings(error.findings))
        return None


def _never_called(registry: Registry, missing: list[str]) -> bool:
    """Log and return True if a hook has handlers, but this variant of the plugin does not export its callback."""
    if not any(registry.handlers(f"spank.{name}") for name in missing):
        return False
    from slurmhooks.site import variants

    what = "the installed plugin leaves out what the hooks need"
    log.user(dispatch.report_findings(variants.never_called(registry, missing), what=what))
    return True


def _callback(name: str, handle: Any, line: Line, register: Callable[[Option], int]) -> Answer:
    if _context == "job_script" and line.registry.options:
        options().of_script(line.registry, handle)
    if _options is not None and (name == "init_post_opt" or _context == "remote"):
        from slurmhooks.spank.calls import Calls

        pass_on = _options.receive if _context == "remote" else _options.send
        pass_on(line.registry, Calls(native, handle, _context, name))
    if name == "task_init_privileged":
        # This is the first callback whose failure ends the step in all releases, shows our text and keeps the node in
        # service.
        refused = None if _options is None else _options.refused(line.registry)
        if refused is not None:
            return _finish(refused)
    handlers = [handler for handler in line.registry.handlers(f"spank.{name}") if _context in handler.contexts]
    own = [handler for handler in handlers if not handler.scripted]
    if _context in ("remote", "job_script") and name in WITH_STATE and line.keeps_state():
        from slurmhooks.spank.calls import Calls

        calls = Calls(native, handle, _context, name)
        line.state().enter(calls)
        try:
            answer = _run(own, name, handle, line)
        finally:
            line.state().leave(calls)
    else:
        answer = _run(own, name, handle, line)
    if answer != SUCCESS or len(own) == len(handlers):
        return answer
    from slurmhooks.lua import spank as lua
    from slurmhooks.lua.spank_handle import View

    scripts = [handler for handler in handlers if handler.scripted]
    return (
        lua.run(scripts, View(native, handle, _context, name, line.args, _control_lost), register, _ends(name)),
        None,
        0,
    )


def _run(handlers: list[Handler], name: str, handle: Any, line: Line) -> Answer:
    if not handlers:
        return SUCCESS
    from slurmhooks.spank.model import Spank

    view = Spank(native, handle, _context, name, line.args, line.state_of, _control_lost)
    outcome = deadline.run(handlers, {"spank": view}, view, _ends(name))
    if not outcome.passed and outcome.error_id is None and name in JOB_CALLBACKS:
        from slurmhooks.entry import draining

        draining.drain(outcome.text or "")
    return _finish(outcome)


def _before_tasks(line: Line, argv: int) -> None:
    """Prepare, in slurmstepd, the calls of the tasks that it will fork."""
    for name in ("slurmhooks_get_item", "spank_getenv", "spank_setenv", "spank_unsetenv", "ESPANK_ENV_NOEXIST"):
        getattr(lib, name)  # cffi creates each function at its first use
    ffi.typeof("char[]")
    ffi.typeof("char **")
    if _options is None or _options.refused(line.registry) is None:
        for callback_name in IN_TASKS:
            prepared = _prepare(line, callback_name)
            if prepared is not None:
                _prepared[CALLBACKS.index(callback_name), argv] = prepared
    import gc

    gc.freeze()  # garbage collection in a task would write to all objects of slurmstepd


def _prepare(line: Line, name: str) -> Callable[[int], Answer] | None:
    """Return a function of the ``spank_t`` that runs the handlers of a callback in a task; None without handlers."""
    handlers = [handler for handler in line.registry.handlers(f"spank.{name}") if "remote" in handler.contexts]
    if not handlers or any(handler.scripted for handler in handlers):
        return None
    from slurmhooks.spank.model import Spank

    view = Spank(native, ffi.NULL, "remote", name, line.args, line.state_of)
    arguments: dict[str, object] = {"spank": view}
    what = f"spank {name}"

    def body() -> Answer:
        return _finish(deadline.run(handlers, arguments, view, deadline.TASK))

    def run(handle: int) -> Answer:
        view.bind(ffi.cast("struct spank_handle *", handle))
        return dispatch.answer(what, body, FAILED[0])

    return run


def _ends(name: str) -> int:
    """Return what ends with a handler that cannot be interrupted; see slurmhooks.handlers.deadline."""
    if _context == "slurmd":
        return deadline.NOTHING
    if _context != "remote":
        return deadline.PROCESS
    return deadline.TASK if name in IN_TASKS else deadline.STEP


def _finish(outcome: Outcome) -> Answer:
    if outcome.passed:
        return SUCCESS
    if outcome.text:
        log.user(outcome.text)
    return SIGN * _number(outcome.code), None, 0


def _number(code: str | int | None) -> int:
    """Return the positive number of a code; ESPANK_ERROR if this release does not have it."""
    if isinstance(code, str):
        number = getattr(lib, code, None)
        if number is None:
            log.error("Reject(code=%r): this release of Slurm has no such code", code)
        code = number
    return abs(int(code)) if code else int(lib.ESPANK_ERROR)
