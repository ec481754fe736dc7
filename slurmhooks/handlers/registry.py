# SPDX-License-Identifier: GPL-2.0-or-later
"""The handlers of a site: verified when they are loaded, and in the order in which they run."""

from __future__ import annotations

from slurmhooks.hooks.points import CONTEXTS, HOOKS
from slurmhooks.log import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import CodeType, ModuleType
    from typing import Any

    from slurmhooks.hooks.decorator import Mark
    from slurmhooks.hooks.option import Option
    from slurmhooks.hooks.points import HookSpec
    from slurmhooks.hooks.rollout import Rollout
    from slurmhooks.hooks.schedule import Schedule
    from slurmhooks.hooks.terms import Terms

_VAR_POSITIONAL = 0x04
_VAR_KEYWORDS = 0x08
_GENERATOR_LIKE = 0x20 | 0x80 | 0x100 | 0x200  # generator, coroutine, iterable coroutine, asynchronous generator
OPTION_NAME_LIMIT = 75
"""SPANK_OPTION_MAXLEN of spank.h, in bytes."""
MOST_LAYERS = 100
"""Wrappers of a function that are looked into."""
MAX_TIMEOUT = 30 * 86400
"""Seconds that a handler may have. Timers and messages have no room for infinity or very large numbers."""

STOP, SKIP, TRY = range(3)
"""What happens to a handler if an earlier one has refused the request and ``[rules] refusals`` is "all".

STOP: it may have effects, and it may change the request, so neither it nor any later handler is tried. SKIP: it has
effects, but does not change the request. TRY: it only reads and writes the request, and its writes are discarded.
"""


class Handler:
    """A verified function of one hook.

    Attributes:
        function: the function to call.
        names: the arguments that it takes, in order; they are passed by position.
        spec: its hook.
        order: handlers with a lower order run first.
        lenient: a bug in the handler lets the request pass.
        timeout: seconds that it may take; None for the default of its hook, see HookSpec.timeout.
        contexts: the contexts in which it runs, of SPANK, cli_filter or health checks; empty for other hooks.
        label: ``module:qualname``, for messages.
        source: the hook file, script or module that was loaded and has it; the loader sets it.
        path: the file that defines it.
        line: the line that defines it.
        logged_code: the log already has a message on its invalid refusal code.
        rollout: mode and share; None: the handler is enforced for all requests.
        terms: of a health check; None for other hooks.
        schedule: when it runs; None if Slurm calls it.
        after_refusal: whether it is tried on a request that is refused already, one of STOP, SKIP and TRY.
        informs: what it tells users of accepted requests are notices; see slurmhooks.slurmctld.notices.
        looks_ahead: of an update, its share depends only on what the job will have, not on what it has now.
        scope: shared by handlers that are for the same requests, see slurmhooks.slurmctld.around; None: for all.
        admins: a handler of hook.job that is also for administrators.
        of_site: its code is the site's, and may leave processes and timers.
        scripted: the handler represents a function of a Lua script, which dispatch does not run; see slurmhooks.lua.
    """

    scripted = False

    def __init__(
        self,
        function: Callable[..., object],
        names: tuple[str, ...],
        spec: HookSpec,
        *,
        label: str,
        path: str,
        line: int,
        order: int = 50,
        lenient: bool = False,
        contexts: tuple[str, ...] = (),
        timeout: float | None = None,
        rollout: Rollout | None = None,
        terms: Terms | None = None,
        schedule: Schedule | None = None,
        after_refusal: int = STOP,
        informs: bool = False,
        looks_ahead: bool = False,
        admins: bool = False,
        of_site: bool = True,
    ) -> None:
        self.function = function
        self.names = names
        self._several: Callable[[dict[str, object]], tuple[object, ...]] | None = None
        if len(names) > 1:  # of one name, the function would return no tuple
            from _operator import itemgetter  # launches do not need it: their handlers have one argument

            self._several = itemgetter(*names)
        self.spec = spec
        self.label, self.path, self.line = label, path, line
        self.order = order
        self.lenient = lenient
        self.contexts = contexts
        self.timeout = timeout
        self.rollout = rollout
        self.terms, self.schedule = terms, schedule
        self.after_refusal = after_refusal
        self.informs = informs
        self.looks_ahead = looks_ahead
        self.admins = admins
        self.of_site = of_site
        self.source = ""
        self.scope: object = None
        self.logged_code = False

    @property
    def where(self) -> str:
        """File and line, for messages."""
        return f"{self.path}:{self.line}"

    def call(self, arguments: dict[str, object]) -> object:
        """Call the function with the arguments that it takes."""
        if self._several is not None:
            return self.function(*self._several(arguments))
        return self.function(*map(arguments.__getitem__, self.names))


class Registry:
    """All handlers and options of one set of hook files. It does not change after its creation.

    Attributes:
        options: the options, in the order of definition.
        contents: the handlers of each source, by the name of the source.
        notes: remarks on what may be a mistake.
        modules: the modules of the hook files, by their names in sys.modules.
        with_options: the names of the sources that define or import options, or define checks of some.
    """

    __slots__ = ("_handlers", "_wanted", "contents", "modules", "notes", "options", "with_options")

    def __init__(
        self,
        handlers: Iterable[Handler],
        options: Iterable[Option],
        contents: Mapping[str, Sequence[Handler]] | None = None,
        notes: Sequence[str] = (),
        modules: Mapping[str, ModuleType] | None = None,
        with_options: Iterable[str] = (),
    ) -> None:
        """Sort the handlers, which are given in file order and, within a file, in definition order."""
        self._handlers: dict[str, tuple[Handler, ...]] = dict.fromkeys(HOOKS, ())
        for handler in sorted(handlers, key=lambda handler: handler.order):
            self._handlers[handler.spec.name] += (handler,)
        self._wanted = {
            name: frozenset(argument for handler in own for argument in handler.names)
            for name, own in self._handlers.items()
            if own
        }
        self.options = tuple(options)
        self.contents = {name: tuple(own) for name, own in (contents or {}).items()}
        self.notes = tuple(notes)
        self.modules = dict(modules or {})
        self.with_options = frozenset(with_options)

    def is_needed(self, source: str, point: str) -> bool:
        """Tell whether a plugin point needs a source: it has a handler for it, or something of an option."""
        own = self.contents.get(source, ())
        return any(each.spec.point == point for each in own) or (point == "spank" and source in self.with_options)

    def handlers(self, hook: str) -> tuple[Handler, ...]:
        """Return the handlers of a hook, in the order in which they run."""
        return self._handlers[hook]

    def wanted(self, hook: str) -> frozenset[str]:
        """Return the names of all arguments that the handlers of a hook take."""
        return self._wanted.get(hook, frozenset())

    def all_handlers(self) -> list[Handler]:
        """Return all handlers, hook by hook in the order of ``HOOKS``."""
        return [handler for handlers in self._handlers.values() for handler in handlers]


def verify(
    mark: Mark, function: Callable[..., object], module: str, file: str, kind: type[Handler] = Handler
) -> tuple[list[Handler], list[str]]:
    """Check a mark against the description of its hook; return handlers, and findings with file and line.

    ``function`` is the marked one, or the wrapper that replaced it in its module. An invalid mark has no handlers; that
    of a hook whose handlers run in others has several.
    """
    spec = HOOKS[mark.hook]
    code = layers(mark.function)[-1]
    path, line = (code.co_filename, code.co_firstlineno) if code else (file, 0)
    label = visible(f"{module}:{getattr(mark.function, '__qualname__', repr(mark.function))}")
    where = f"{path}{f':{line}' if code else ''}: handler {label} of hook.{spec.name}"
    findings = [f"{where}: {fault}" for fault in _faults(mark, spec)]
    names: tuple[str, ...] = ()
    try:
        names = parameters(function, spec)
    except TypeError as error:
        findings.insert(0, f"{where} {error}")
    if findings:
        return [], findings
    contexts = spec.contexts if mark.contexts is None else mark.contexts
    handlers = [
        kind(
            function,
            names,
            each,
            label=label,
            path=path,
            line=line,
            order=mark.order,
            lenient=mark.on_error == spec.on_error[1],
            contexts=contexts,
            timeout=mark.timeout,
            rollout=mark.rollout,
            terms=mark.terms,
            schedule=mark.schedule,
            after_refusal=STOP if mark.effects else TRY,
            admins=mark.admins,
        )
        for each in map(HOOKS.__getitem__, spec.runs_in or (spec.name,))
    ]
    return handlers, []


def _faults(mark: Mark, spec: HookSpec) -> list[str]:
    """Return what is wrong with the arguments of a decorator."""
    faults = []
    if mark.on_error is not None and mark.on_error not in spec.on_error:
        faults.append(f'on_error takes "{spec.on_error[0]}" or "{spec.on_error[1]}", not {mark.on_error!r}')
    allowed = ", ".join(spec.contexts) or "nothing: this hook has none"
    for context in mark.contexts or ():
        if context not in spec.contexts:
            faults.append(f"contexts may name {allowed}; not {context!r}")
    if mark.contexts == ():
        faults.append("contexts is empty, so it would never run")
    if mark.timeout is not None and not spec.has_timeout:
        faults.append("timeout does not apply to this hook")
    elif mark.timeout is not None and not 0 < mark.timeout <= MAX_TIMEOUT:
        faults.append(f"timeout takes more than 0 and at most {MAX_TIMEOUT} seconds, not {mark.timeout!r}")
    if not mark.effects and not spec.has_requests:
        faults.append(f"effects is for handlers of {_hooks('has_requests')}")
    if mark.rollout is not None and not spec.has_modes:
        faults.append(f"mode and share are for handlers of {_hooks('has_modes')}")
    elif mark.rollout is not None:
        faults += mark.rollout.faults()
    for values in (mark.terms, mark.schedule):
        if values is not None:
            faults += values.faults()
    return faults


def _hooks(what: str) -> str:
    """Return the names of the hooks that have a property of HookSpec."""
    *names, last = (spec.name for spec in HOOKS.values() if getattr(spec, what))
    return f"{', '.join(names)} and {last}"


def ambiguous(label: str, handlers: Iterable[Handler]) -> str | None:
    """Return why a label does not name one handler, or None: files of the same name in two folders share it."""
    sources = sorted({handler.source for handler in handlers if handler.label == label})
    if len(sources) < 2:
        return None
    return f"{' and '.join(sources)} both have this handler: rename one of the files, or one of the functions"


def missing(require: Iterable[str], handlers: Iterable[Handler]) -> list[str]:
    """Return a finding for each required handler that was not loaded, or whose label is ambiguous."""
    from slurmhooks.handlers.similar import renamed  # launches seldom need it

    require, handlers = tuple(require), tuple(handlers)
    labels = sorted({handler.label for handler in handlers})
    reasons = [(label, ambiguous(label, handlers)) for label in require]
    findings = [f"{label}: [hooks] require of slurmhooks.toml: {reason}" for label, reason in reasons if reason]
    return findings + [
        f"{label}: [hooks] require of slurmhooks.toml names this handler, and no hook file or package has it"
        f"{renamed(label)}; they have: {', '.join(labels) or 'none'}"
        for label in require
        if label not in labels
    ]


def layers(function: Callable[..., object]) -> list[CodeType | None]:
    """Return the code of a function and of the functions that it wraps by functools.wraps; None if not Python."""
    codes: list[CodeType | None] = []
    seen: list[object] = []
    layer: Any = function
    # A function may wrap itself, and a stand-in for any object has every attribute.
    while layer is not None and not any(layer is each for each in seen) and len(seen) < MOST_LAYERS:
        seen.append(layer)
        codes.append(getattr(layer, "__code__", None))
        layer = getattr(layer, "__wrapped__", None)
    return codes


def parameters(function: Callable[..., object], spec: HookSpec) -> tuple[str, ...]:
    """Return the names of the arguments that a function takes, in order.

    Raises:
        TypeError: it takes an argument that its hook does not have, or cannot be called by position. The message is
            written to follow a description of the handler.
    """
    allowed = ", ".join(spec.arguments) or "none"
    codes = layers(function)
    code = codes[-1]
    if code is None:
        raise TypeError(f"must be a function written in Python, not {function!r}")
    if any(layer is not None and layer.co_flags & _GENERATOR_LIKE for layer in codes):
        raise TypeError("must be a plain function: a generator or an async function would never run its body")
    names = code.co_varnames[: code.co_argcount]
    if names[:1] in (("self",), ("cls",)):
        raise TypeError(f"is a method, because it takes {names[0]!r}: move it out of the class")
    if code.co_flags & (_VAR_POSITIONAL | _VAR_KEYWORDS):
        raise TypeError(f"must name its arguments; it may take: {allowed}")
    if code.co_kwonlyargcount:
        raise TypeError(f"must not have keyword-only arguments; it may take: {allowed}")
    unknown = [name for name in names if name not in spec.arguments]
    if unknown:
        raise TypeError(f"takes {', '.join(map(repr, unknown))}, which the hook does not have; it may take: {allowed}")
    return names


def verify_options(options: Iterable[Option]) -> list[str]:
    """Return findings for a set of options, with file and line."""
    findings = []
    seen: dict[str, Option] = {}
    for option in options:
        what = f"{option.where}: {option!r}" if option.where else repr(option)
        errors = [*_errors_in_texts(option), *_errors_in_use(option)]
        if (other := seen.setdefault(option.name, option)) is not option:
            errors.append(f"this name is given to two options, also at {other.where}; rename one of them")
        findings += [f"{what}: {text}" for text in errors]
    return findings


def _errors_in_texts(option: Option) -> list[str]:
    """Return the errors in the texts of an option, which are passed to C."""
    texts = {"name": option.name, "usage": option.usage, "arginfo": option.arginfo}
    errors = [
        f"{key} takes a str, not {text!r}"
        for key, text in texts.items()
        if not isinstance(text, str) and (key != "arginfo" or text is not None)
    ]
    if errors:
        return errors
    name = option.name
    if not 1 <= len(name.encode("utf-8", "replace")) <= OPTION_NAME_LIMIT or not set("\0= \t\n").isdisjoint(name):
        errors.append(f"the name must have 1 to {OPTION_NAME_LIMIT} bytes and neither '=', a blank nor a NUL byte")
    elif name.startswith("-"):
        errors.append("the name comes without the dashes that users put before it")
    errors += [
        f"{key} must hold neither a NUL byte nor half of a surrogate pair: {text!r}"
        for key, text in texts.items()
        if text is not None and ("\0" in text or not _encodable(text))
        if key != "name" or "\0" not in text
    ]
    return errors


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _errors_in_use(option: Option) -> list[str]:
    """Return the errors in the other properties of an option."""
    errors = [
        f"contexts may name {', '.join(CONTEXTS)}; not {context!r}"
        for context in option.contexts
        if context not in CONTEXTS
    ]
    if option.optional and option.arginfo is None:
        errors.append("optional=True needs an arginfo, the word that stands for the argument")
    if not callable(option.type):
        errors.append(f"type takes a function, not {option.type!r}")
    return errors
