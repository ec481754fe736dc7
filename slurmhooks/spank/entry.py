# SPDX-License-Identifier: GPL-2.0-or-later
"""All that native/spank may call.

Every function takes addresses and numbers as ints and answers (return code for Slurm, None, 0).
"""

from __future__ import annotations

import posix

import _slurmhooks_spank as native

from slurmhooks import dispatch
from slurmhooks.errors import LoadError
from slurmhooks.hook_specs import CONTEXTS
from slurmhooks.log import ERROR, INFO, USER, VERBOSE, log
from slurmhooks.registry import Registry
from slurmhooks.spank import CALLBACKS
from slurmhooks.values import text_from_c

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from slurmhooks.option import Option
    from slurmhooks.outcome import Outcome
    from slurmhooks.spank.options import Options

ffi = native.ffi
lib = native.lib

Answer = tuple[int, None, int]
SUCCESS: Answer = (0, None, 0)
SIGN = 1 if hasattr(lib, "ESPANK_JOB_FAILURE") else -1
"""Of a failure's code: before 25.05 Slurm takes only negative ones for failures, since then it looks ours up."""
FAILED: Answer = (SIGN * lib.ESPANK_ERROR, None, 0)


class Line:
    """One line of plugstack.conf: the same library serves several, told apart by their arguments.

    Attributes:
        args: for handlers.
        registry: the handlers.
    """

    __slots__ = ("_complete", "_names", "_registered", "args", "registry")

    def __init__(
        self, args: list[str], registry: Registry, names: list[str], complete: Callable[[], Registry] | None = None
    ) -> None:
        """Keep what was loaded.

        Args:
            args: see the class.
            registry: see the class.
            names: of its options as the manifest has them, for a line with Lua scripts; else empty.
            complete: returns the registry with the options of its scripts, where it lacks them.
        """
        self.args = args
        self.registry = registry
        self._complete = complete
        self._names = names or [option.name for option in registry.options]
        self._registered: list[Option] = []

    def option(self, index: int, name: str | None) -> Option | None:
        """Return an option; None if what has it could not be loaded in this process, or is gone.

        Args:
            index: its number in the stub.
            name: as the stub has registered it from the manifest; None if it has not.
        """
        if self._complete is not None:
            self.registry = self._complete()
            self._complete = None
        if name is None and index >= len(self._names):
            return self._registered[index - len(self._names)]
        if name is None:
            name = self._names[index]
        same = self.registry.options[index : index + 1]
        return next((option for option in (*same, *self.registry.options) if option.name == name), None)

    def add(self, option: Option) -> int:
        """Remember an option that a running script registers; return its number in the stub."""
        self._registered.append(option)
        return len(self._names) + len(self._registered) - 1


IN_TASKS = ("task_init_privileged", "task_init")
"""The callbacks that run in the process of each task, which slurmstepd forks, once each."""

_prepared: dict[tuple[int, int], Callable[[int], Answer]] = {}
"""What the next call of a callback runs, by its number and the address of the line's arguments."""
_lines: dict[tuple[str, ...], Line | None] = {}
_options: Options | None = None
_context = "local"


def _sink(level: int, text: str) -> None:
    lib.slurmhooks_log(level, text.encode())


def _user(text: str) -> None:
    for line in text.split("\n"):
        _sink(USER, line)


def _record(text: str) -> None:
    """Keep tracebacks from users' terminals.

    slurmstepd copies its errors to the job's standard error, but not what is below; srun, sbatch and salloc have no log
    but the terminal, so they also tell syslog.
    """
    if _context == "remote":
        _sink(INFO, text)
    elif _context in ("local", "allocator"):
        _sink(VERBOSE, text)
        lib.slurmhooks_syslog(text.encode())
    else:
        _sink(ERROR, text)


log.attach(_sink, _user, _record)


def options() -> Options:
    """Return the options of this process; most launches with a manifest have nothing to ask of them."""
    global _options
    if _options is None:
        from slurmhooks.spank.options import Options

        _options = Options(native)
    return _options


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
) -> Answer:
    """Run the handlers of one callback of a line of plugstack.conf, which is loaded at first use.

    A task is a fork of slurmstepd, and each page that it is the first to write to is copied for it; CPython writes to
    every object that it looks at. So what tasks call is prepared before they are forked, see :func:`_before_tasks`.

    Args:
        which: of :data:`slurmhooks.spank.CALLBACKS`.
        handle: the ``spank_t``.
        context: the ``spank_context_t``.
        argc: number of arguments on the line of plugstack.conf.
        argv: their address.
        known: the manifest knows the line, and the stub has registered its options.
        option_callback: address of the stub's function for options.
        base: number of the line's first option.
        missing: address of the names of callbacks that Slurm cannot find in this variant of the plugin, or 0.
    """
    prepared = _prepared.pop((which, argv), None)
    if prepared is not None:
        return prepared(handle)
    name = CALLBACKS[which]
    unseen = text_from_c(ffi.string(ffi.cast("char *", missing))).split() if missing else []

    def body() -> tuple[int, bytes | None, int]:
        global _context
        _context = CONTEXTS[context - 1] if 0 < context <= len(CONTEXTS) else "error"
        pointer = ffi.cast("struct spank_handle *", handle)
        line = _line(argc, argv, bool(known))
        if line is None or _never_called(line.registry, unseen):
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
        if name == "init_post_opt" and _context == "remote" and answer == SUCCESS:
            _before_tasks(pointer, line, argv)
        return answer

    return _answer(f"spank {name}", body)


def option(argc: int, argv: int, known: int, index: int, name: int, argument: int, remote: int) -> Answer:
    """Take an option that the user gave.

    Args:
        argc: see :func:`callback`.
        argv: see :func:`callback`.
        known: see :func:`callback`.
        index: which of the line's options.
        name: address of its name in the manifest, or 0.
        argument: address of the text, or 0.
        remote: whether this is slurmstepd.
    """

    def body() -> tuple[int, bytes | None, int]:
        line = _line(argc, argv, bool(known))
        if line is None:
            return FAILED
        text = text_from_c(ffi.string(ffi.cast("char *", argument))) if argument else None
        name_text = text_from_c(ffi.string(ffi.cast("char *", name))) if name else None
        given = line.option(index, name_text)
        if given is None:
            log.error("the option --%s is not taken: nothing that could be loaded here has it", name_text)
            return FAILED
        if given.scripted:
            from slurmhooks.lua.spank_options import LuaOption

            assert isinstance(given, LuaOption)
            return given.take(text, bool(remote)), None, 0
        accepted = options().take(given, text, "remote" if remote else "local")
        return SUCCESS if accepted else (SIGN * lib.ESPANK_BAD_ARG, None, 0)

    return _answer("spank option", body)


def _answer(what: str, body: Callable[[], tuple[int, bytes | None, int]]) -> Answer:
    return _told(*dispatch.guarded(what, body, FAILED[0]))


def _told(code: int, text: bytes | None, detail: int) -> Answer:
    """Tell the user what there is to tell; Slurm does not."""
    del detail
    if text is not None:
        log.user(text.decode())
    return code, None, 0


def _line(argc: int, argv: int, known: bool) -> Line | None:
    """Return the line with these arguments, loaded at first use; None if that failed."""
    words = ffi.cast("char **", argv)
    args = tuple(text_from_c(ffi.string(words[index])) for index in range(argc))
    if args not in _lines:
        _lines[args] = _load(args, known)
    return _lines[args]


def _load(args: tuple[str, ...], known: bool) -> Line | None:
    """Load what one line of plugstack.conf names; see :func:`_line`."""
    from slurmhooks import loader, site, trusted

    if posix.getuid() == 0:
        trusted.guard()
    try:
        rows = None
        if known:
            from slurmhooks import manifest

            rows = manifest.read(args)
        require: Sequence[str] = ()
        if rows is None:
            sources, rest, require = site.of_plugstack(args)
        else:  # 'slurmhooks compile' writes no manifest that lacks a required handler
            sources, rest = manifest.sources(rows), site.split_plugstack(args)[2]
        own = [source for source in sources if not source.scripted]
        registry = loader.load(own, require)
        scripts = [source for source in sources if source.scripted]
        if not scripts:
            return Line(rest, registry, [])
        from slurmhooks.lua import spank as lua
        from slurmhooks.lua.library import WORDS, Lua

        fatal = site.fails_on_error(args)
        if not known:
            return Line(rest, lua.extend(registry, scripts, fatal, site.lua_version()), [])
        words, names = manifest.of_scripts(rows or [])
        which = Lua(*words) if len(words) == WORDS else site.lua_version()
        registry, complete = lua.extend_known(registry, scripts, fatal, which)
        return Line(rest, registry, names, complete)
    except LoadError as error:
        log.user(dispatch.report_findings(error.findings))
        return None


def _never_called(registry: Registry, missing: list[str]) -> bool:
    """Tell, and log, whether a handler waits for a callback that this variant of the plugin does not offer to Slurm."""
    if not any(registry.handlers(f"spank.{name}") for name in missing):
        return False
    from slurmhooks import manifest

    log.user(dispatch.report_findings(manifest.never_called(registry, missing)))
    return True


def _callback(name: str, handle: Any, line: Line, register: Callable[[Option], int]) -> Answer:
    if _context == "job_script" and line.registry.options:
        options().of_script(line.registry, handle)
    if name == "task_init_privileged":
        # The first call whose failure fails the step in every release, with our words, and leaves the node in service.
        refused = None if _options is None else _options.refused(line.registry)
        if refused is not None:
            return _finish(refused)
    handlers = [handler for handler in line.registry.handlers(f"spank.{name}") if _context in handler.contexts]
    own = [handler for handler in handlers if not handler.scripted]
    answer = SUCCESS
    if own:
        from slurmhooks.spank.model import Spank

        view = Spank(native, handle, _context, name, line.args)
        answer = _finish(dispatch.run(own, {"spank": view}, view))
    if answer != SUCCESS or len(own) == len(handlers):
        return answer
    from slurmhooks.lua import spank as lua
    from slurmhooks.lua.spank_handle import View

    scripts = [handler for handler in handlers if handler.scripted]
    return lua.run(scripts, View(native, handle, _context, name, line.args), register), None, 0


def _before_tasks(handle: Any, line: Line, argv: int) -> None:
    """Prepare, in slurmstepd, what the tasks call."""
    del handle
    for name in ("slurmhooks_get_item", "spank_getenv", "spank_setenv", "spank_unsetenv", "ESPANK_ENV_NOEXIST"):
        getattr(lib, name)  # cffi makes each function at its first use
    ffi.typeof("char[]")
    ffi.typeof("char **")
    if _options is None or _options.refused(line.registry) is None:
        for callback_name in IN_TASKS:
            prepared = _prepare(line, callback_name)
            if prepared is not None:
                _prepared[CALLBACKS.index(callback_name), argv] = prepared
    import gc

    gc.freeze()  # no task looks for garbage among what slurmstepd has made


def _prepare(line: Line, name: str) -> Callable[[int], Answer] | None:
    """Return what runs the handlers of a callback in a task, given the ``spank_t``; None if there is none for it.

    Args:
        line: of plugstack.conf.
        name: of the callback.
    """
    handlers = [handler for handler in line.registry.handlers(f"spank.{name}") if "remote" in handler.contexts]
    if not handlers or any(handler.scripted for handler in handlers):
        return None
    from slurmhooks.spank.model import Spank

    view = Spank(native, ffi.NULL, "remote", name, line.args)
    arguments: dict[str, object] = {"spank": view}
    what = f"spank {name}"

    def body() -> Answer:
        return _finish(dispatch.run(handlers, arguments, view))

    def run(handle: int) -> Answer:
        view.bind(ffi.cast("struct spank_handle *", handle))
        return _answer(what, body)

    return run


def _finish(outcome: Outcome) -> Answer:
    if outcome.passed:
        return SUCCESS
    if outcome.text:
        log.user(outcome.text)
    return SIGN * _number(outcome.code), None, 0


def _number(code: str | int | None) -> int:
    """Return the positive number of a code; the general one if this release does not know it."""
    if isinstance(code, str):
        known = getattr(lib, code, None)
        if known is None:
            log.error("Reject(code=%r): this release of Slurm has no such code", code)
        code = known
    return abs(int(code)) if code else int(lib.ESPANK_ERROR)
