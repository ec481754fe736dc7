# SPDX-License-Identifier: GPL-2.0-or-later
"""All that native/spank may call.

Every function takes addresses and numbers as ints and answers (return code for Slurm, None, 0). Return codes of
failures are negative: before 25.05 slurmstepd takes only those for failures.
"""

from __future__ import annotations

import _slurmhooks_spank as native

from slurmhooks import dispatch
from slurmhooks.errors import LoadError, Reject
from slurmhooks.log import ERROR, INFO, USER, VERBOSE, log
from slurmhooks.registry import Registry
from slurmhooks.spank.model import CONTEXT_NAMES, Spank
from slurmhooks.values import text_from_c

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from slurmhooks.hook import Option
    from slurmhooks.outcome import Outcome

ffi = native.ffi
lib = native.lib

Answer = tuple[int, None, int]
SUCCESS: Answer = (0, None, 0)
FAILED: Answer = (-lib.ESPANK_ERROR, None, 0)

TEXT = text_from_c


class Line:
    """One line of plugstack.conf: the same library serves several, told apart by their arguments."""

    __slots__ = ("args", "registry")

    def __init__(self, args: list[str], registry: Registry) -> None:
        """Keep the arguments for handlers and the handlers."""
        self.args = args
        self.registry = registry


_lines: dict[tuple[str, ...], Line | None] = {}
_options: list[Option] = []
"""Options by the ``val`` under which Slurm knows them."""
_keep: list[Any] = []
"""C strings of registered options; Slurm copies them, but says so nowhere."""
_pending: Outcome | None = None
"""A failed option in slurmstepd, which Slurm only logs: the next callback carries it."""


_context = "local"


def _sink(level: int, text: str) -> None:
    lib.slurmhooks_log(level, text.encode("utf-8", "replace"))


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
        lib.slurmhooks_syslog(text.encode("utf-8", "replace"))
    else:
        _sink(ERROR, text)


log.attach(_sink, _user, _record)


def callback(name: int, handle: int, context: int, argc: int, argv: int, option_callback: int) -> Answer:
    """Run the handlers of one callback.

    Args:
        name: address of its name without ``slurm_spank_``.
        handle: the ``spank_t``.
        context: the ``spank_context_t``.
        argc: number of arguments on the line of plugstack.conf.
        argv: their address.
        option_callback: address of the stub's function for options.
    """
    callback_name = TEXT(ffi.string(ffi.cast("char *", name)))
    where = CONTEXT_NAMES.get(context, "error")
    words = ffi.cast("char **", argv)
    args = tuple(TEXT(ffi.string(words[index])) for index in range(argc))

    def body() -> tuple[int, bytes | None, int]:
        return _callback(callback_name, ffi.cast("struct spank_handle *", handle), where, args, option_callback)

    answer = dispatch.guarded(f"spank {callback_name}", body, FAILED[0])
    if answer[1] is not None:
        log.user(answer[1].decode("utf-8"))
    return answer[0], None, 0


def _callback(name: str, handle: Any, context: str, args: tuple[str, ...], option_callback: int) -> Answer:
    global _context, _pending
    _context = context
    if args not in _lines:
        _lines[args] = _load(args)
    line = _lines[args]
    if line is None:
        return FAILED
    if name == "init":
        failed = _register_options(line.registry, handle, context, option_callback)
        if failed:
            return FAILED
    if context == "job_script":
        _options_of_script(line.registry, handle)
    if _pending is not None and name != "exit":
        outcome, _pending = _pending, None
        return _finish(outcome)
    handlers = [handler for handler in line.registry.handlers(f"spank.{name}") if context in handler.contexts]
    if not handlers:
        return SUCCESS
    view = Spank(native, handle, context, name, line.args)
    return _finish(dispatch.run(handlers, {"spank": view}, view))


def _finish(outcome: Outcome) -> Answer:
    if outcome.passed:
        return SUCCESS
    if outcome.text:
        log.user(outcome.text)
    return -_number(outcome.code), None, 0


def _number(code: str | int | None) -> int:
    """Return the positive number of a code; the general one if this release does not know it."""
    if isinstance(code, str):
        known = getattr(lib, code, None)
        if known is None:
            log.error("Reject(code=%r): this release of Slurm has no such code", code)
        code = known
    return abs(int(code)) if code else int(lib.ESPANK_ERROR)


def _load(args: tuple[str, ...]) -> Line | None:
    """Load what one line of plugstack.conf names."""
    from slurmhooks import loader, site

    try:
        sources, rest = site.of_plugstack(args)
        return Line(rest, loader.load(sources))
    except LoadError as error:
        log.user(dispatch.report_findings(error.findings))
        return None


def _register_options(registry: Registry, handle: Any, context: str, option_callback: int) -> bool:
    """Register the options of a line with Slurm; tell whether one failed."""
    if context not in ("local", "remote", "allocator"):
        return False
    for option in registry.options:
        if context not in option.contexts:
            continue
        code = lib.spank_option_register(handle, _struct(option, len(_options), option_callback))
        if code:
            log.error("%r: spank_option_register: %s", option, TEXT(ffi.string(lib.spank_strerror(code))))
            return True
        _options.append(option)
    return False


def _struct(option: Option, value: int, option_callback: int) -> Any:
    """Return the ``struct spank_option``."""
    struct = ffi.new("struct spank_option *")
    texts = {"name": option.name, "arginfo": option.arginfo, "usage": option.usage}
    for member, text in texts.items():
        if text is not None:
            string = ffi.new("char[]", text.encode())
            _keep.append(string)
            setattr(struct, member, string)
    struct.has_arg = 0 if option.arginfo is None else 2 if option.optional else 1
    struct.val = value
    struct.cb = ffi.cast("int (*)(int, const char *, int)", option_callback)
    _keep.append(struct)
    return struct


def option(value: int, argument: int, remote: int) -> Answer:
    """Take an option that the user gave.

    Args:
        value: the ``val`` under which it was registered.
        argument: address of the text, or 0.
        remote: whether this is slurmstepd.
    """

    def body() -> tuple[int, bytes | None, int]:
        chosen = _options[value]
        text = TEXT(ffi.string(ffi.cast("char *", argument))) if argument else None
        return _take(chosen, text, bool(remote))

    answer = dispatch.guarded("spank option", body, FAILED[0])
    if answer[1] is not None:
        log.user(answer[1].decode("utf-8"))
    return answer[0], None, 0


def _take(option: Option, text: str | None, remote: bool) -> Answer:
    global _pending
    if option.arginfo is None or (option.optional and (text is None or text in ("", "(null)"))):
        text = None
    outcome = _convert(option, text)
    if outcome is None:
        return SUCCESS
    if remote:
        _pending = outcome
        return -lib.ESPANK_BAD_ARG, None, 0
    if outcome.text:
        log.error("%s", outcome.text) if outcome.error_id is None else log.user(outcome.text)
    return -lib.ESPANK_BAD_ARG, None, 0


def _convert(option: Option, text: str | None) -> Outcome | None:
    """Convert and keep a value; the outcome if that fails."""
    from slurmhooks.outcome import Outcome

    try:
        option.accept(option.convert(text))
    except Reject as reject:
        return Outcome(passed=False, code=reject.code, text=f"--{option.name}: {reject.text}")
    except ValueError as error:
        return Outcome(passed=False, code="ESPANK_BAD_ARG", text=f"--{option.name}: {error}")
    except BaseException as error:  # a bug in a site's check must not end srun without a word
        message, error_id = dispatch.report_bug(f"check of {option!r}", error)
        return Outcome(passed=False, text=message, error_id=error_id)
    return None


def _options_of_script(registry: Registry, handle: Any) -> None:
    """Fetch the options in prolog and epilog, where Slurm makes no callback for them."""
    for chosen in registry.options:
        if chosen.given or "job_script" not in chosen.contexts:
            continue
        argument = ffi.new("char **")
        if lib.spank_option_getopt(handle, _struct(chosen, 0, 0), argument):
            continue
        text = None if argument[0] == ffi.NULL else TEXT(ffi.string(argument[0]))
        _take(chosen, text, True)

