# SPDX-License-Identifier: GPL-2.0-or-later
"""The handlers of a site: collected, verified when they are loaded, and put in order."""

from __future__ import annotations

from slurmhooks.hook_specs import CONTEXTS, HOOKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import CodeType, ModuleType

    from slurmhooks.decorator import Mark
    from slurmhooks.hook_specs import HookSpec
    from slurmhooks.option import Option

_VAR_POSITIONAL = 0x04
_VAR_KEYWORDS = 0x08
_GENERATOR_LIKE = 0x20 | 0x80 | 0x100 | 0x200  # generator, coroutine, iterable coroutine, asynchronous generator
OPTION_NAME_LIMIT = 75
"""SPANK_OPTION_MAXLEN of spank.h."""


class Handler:
    """A verified function that one hook calls.

    Attributes:
        function: what to call.
        names: the arguments it takes, in the order in which it takes them; passed by position.
        spec: its hook.
        order: low runs first.
        lenient: a bug in it lets the request pass.
        timeout: seconds that it may take, or None; for job_submit and job_modify.
        contexts: the SPANK contexts in which it runs; empty for the other points.
        label: ``module:qualname``, for messages.
        path: the file that defines it.
        line: the line that defines it.
        told: the log has its wrong code of a refusal already.
        scripted: it stands for a Lua script's, see slurmhooks.lua, and dispatch does not run it.
    """

    scripted = False

    __slots__ = (
        "contexts",
        "function",
        "label",
        "lenient",
        "line",
        "names",
        "order",
        "path",
        "spec",
        "timeout",
        "told",
    )

    def __init__(
        self,
        function: Callable[..., object],
        names: tuple[str, ...],
        spec: HookSpec,
        order: int,
        lenient: bool,
        contexts: tuple[str, ...],
        label: str,
        path: str,
        line: int,
        timeout: float | None = None,
    ) -> None:
        """Keep the description; see the class."""
        self.function = function
        self.timeout = timeout
        self.names = names
        self.spec = spec
        self.order = order
        self.lenient = lenient
        self.contexts = contexts
        self.label = label
        self.path = path
        self.line = line
        self.told = False

    @property
    def where(self) -> str:
        """File and line, for messages."""
        return f"{self.path}:{self.line}"

    def call(self, arguments: dict[str, object]) -> object:
        """Call the function with those of the arguments that it takes."""
        names = self.names
        if len(names) == 1:  # as most: without a list, for which CPython 3.11 makes a function
            return self.function(arguments[names[0]])
        return self.function(*[arguments[name] for name in names])


class Registry:
    """All handlers and options of one set of hook files; never changed once made.

    Attributes:
        options: in the order of definition.
        contents: the handlers of each source, by the source's name.
        notes: what may be meant as it is, and may not.
        modules: the hook files as they stand in sys.modules, by name.
    """

    __slots__ = ("_handlers", "_wanted", "contents", "modules", "notes", "options")

    def __init__(
        self,
        handlers: Iterable[Handler],
        options: Iterable[Option],
        contents: Mapping[str, Sequence[Handler]] | None = None,
        notes: Sequence[str] = (),
        modules: Mapping[str, ModuleType] | None = None,
    ) -> None:
        """Sort the handlers, which come in file order and, within a file, in definition order."""
        handlers = tuple(handlers)
        self._handlers: dict[str, tuple[Handler, ...]] = {}
        for name in HOOKS:
            chosen = [handler for handler in handlers if handler.spec.name == name]
            chosen.sort(key=lambda handler: handler.order)
            self._handlers[name] = tuple(chosen)
        self._wanted = {
            name: frozenset(argument for handler in chosen for argument in handler.names)
            for name, chosen in self._handlers.items()
        }
        self.options = tuple(options)
        self.contents = {name: tuple(own) for name, own in (contents or {}).items()}
        self.notes = tuple(notes)
        self.modules = dict(modules or {})

    def handlers(self, hook: str) -> tuple[Handler, ...]:
        """Return the handlers of a hook, in the order in which they run."""
        return self._handlers[hook]

    def wanted(self, hook: str) -> frozenset[str]:
        """Return the names of all arguments that handlers of a hook take."""
        return self._wanted[hook]

    def all_handlers(self) -> list[Handler]:
        """Return all handlers, hook by hook in the order of ``HOOKS``."""
        return [handler for handlers in self._handlers.values() for handler in handlers]


def verify(mark: Mark, function: Callable[..., object], module: str) -> tuple[Handler | None, list[str]]:
    """Check a mark against its hook.

    Args:
        mark: what the decorator wrote.
        function: what to call: the marked function, or the wrapper that replaced it in its module.
        module: name of the hook file for messages, without its folder.

    Returns:
        the handler (None if it must be refused) and what is wrong, each finding with file and line.
    """
    spec = HOOKS[mark.hook]
    code = layers(mark.function)[-1]
    path = code.co_filename if code else "?"
    line = code.co_firstlineno if code else 0
    label = f"{module}:{getattr(mark.function, '__qualname__', repr(mark.function))}"
    where = f"{path}:{line}: handler {label} of hook.{spec.name}"
    findings = []
    names: tuple[str, ...] = ()
    try:
        names = parameters(function, spec)
    except TypeError as error:
        findings.append(f"{where} {error}")
    if mark.on_error is not None and mark.on_error not in spec.on_error:
        findings.append(f'{where}: on_error takes "{spec.on_error[0]}" or "{spec.on_error[1]}", not {mark.on_error!r}')
    if mark.contexts is not None:
        findings += [
            f"{where}: contexts may name {', '.join(spec.contexts) or 'nothing: this hook has none'}; not {context!r}"
            for context in mark.contexts
            if context not in spec.contexts
        ]
        if not mark.contexts:
            findings.append(f"{where}: contexts is empty, so it would never run")
    if mark.timeout is not None and not (spec.has_timeout and mark.timeout > 0):
        wrong = "takes more than 0 seconds" if spec.has_timeout else "is for handlers of job_submit and job_modify"
        findings.append(f"{where}: timeout {wrong}, not {mark.timeout!r}")
    if findings:
        return None, findings
    contexts = spec.contexts if mark.contexts is None else mark.contexts
    lenient = mark.on_error == spec.on_error[1]
    return Handler(function, names, spec, mark.order, lenient, contexts, label, path, line, mark.timeout), []


def missing(require: Iterable[str], handlers: Iterable[Handler]) -> list[str]:
    """Return a finding for each required handler that is not there.

    Args:
        require: labels, ``module:qualname``.
        handlers: those that were loaded.
    """
    labels = sorted({handler.label for handler in handlers})
    return [
        f"{label}: [hooks] require of slurmhooks.toml names this handler, and no hook file or package has it;"
        f" they have: {', '.join(labels) or 'none'}"
        for label in require
        if label not in labels
    ]


def layers(function: Callable[..., object]) -> list[CodeType | None]:
    """Return the code of a function and of all that it wraps, by functools.wraps; None for what is not Python."""
    found: list[CodeType | None] = []
    while function is not None:
        found.append(getattr(function, "__code__", None))
        function = getattr(function, "__wrapped__", None)  # type: ignore[assignment]
    return found


def parameters(function: Callable[..., object], spec: HookSpec) -> tuple[str, ...]:
    """Return the names that a function takes, in order.

    Raises:
        TypeError: it takes something that its hook does not have, or cannot be called by position; the message follows
            a description of the handler.
    """
    allowed = ", ".join(spec.arguments) or "none"
    codes = layers(function)
    code = codes[-1]
    if code is None:
        raise TypeError(f"must be a function written in Python, not {function!r}")
    if any(layer is not None and layer.co_flags & _GENERATOR_LIKE for layer in codes):
        raise TypeError("must be a plain function: a generator or an async function would never run its body")
    names = code.co_varnames[: code.co_argcount]
    if code.co_flags & (_VAR_POSITIONAL | _VAR_KEYWORDS):
        raise TypeError(f"must name its arguments; it may take: {allowed}")
    if code.co_kwonlyargcount:
        raise TypeError(f"must not have keyword-only arguments; it may take: {allowed}")
    unknown = [name for name in names if name not in spec.arguments]
    if unknown:
        raise TypeError(f"takes {', '.join(map(repr, unknown))}, which the hook does not have; it may take: {allowed}")
    return names


def verify_options(options: Iterable[Option]) -> list[str]:
    """Return what is wrong with a set of options, each finding with file and line."""
    findings = []
    seen: set[str] = set()
    for option in options:
        what = f"{option.where}: {option!r}" if option.where else repr(option)
        wrong = [*_wrong_texts(option), *_wrong_use(option)]
        if option.name in seen:
            wrong.append("this name is given to two options; rename one of them")
        seen.add(option.name)
        findings += [f"{what}: {text}" for text in wrong]
    return findings


def _wrong_texts(option: Option) -> list[str]:
    """Return what is wrong with the texts of an option, which C gets."""
    texts = {"name": option.name, "usage": option.usage, "arginfo": option.arginfo}
    wrong = [
        f"{key} takes a str, not {text!r}"
        for key, text in texts.items()
        if not isinstance(text, str) and (key != "arginfo" or text is not None)
    ]
    if wrong:
        return wrong
    name = option.name
    if not 1 <= len(name.encode("utf-8", "replace")) <= OPTION_NAME_LIMIT or any(sign in name for sign in "\0= \t\n"):
        wrong.append(f"the name must have 1 to {OPTION_NAME_LIMIT} bytes and neither '=', a blank nor a NUL byte")
    elif name.startswith("-"):
        wrong.append("the name comes without the dashes that users put before it")
    wrong += [
        f"{key} must hold neither a NUL byte nor half of a surrogate pair: {text!r}"
        for key, text in texts.items()
        if text is not None and ("\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text))
        if key != "name" or "\0" not in text
    ]
    return wrong


def _wrong_use(option: Option) -> list[str]:
    """Return what is wrong with what an option is to do."""
    wrong = [
        f"contexts may name {', '.join(CONTEXTS)}; not {context!r}"
        for context in option.contexts
        if context not in CONTEXTS
    ]
    if option.optional and option.arginfo is None:
        wrong.append("optional=True needs an arginfo, the word that stands for the argument")
    if not callable(option.type):
        wrong.append(f"type takes a function, not {option.type!r}")
    return wrong
