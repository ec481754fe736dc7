# SPDX-License-Identifier: GPL-2.0-or-later
"""Imports a site's hook files: all or nothing, every error at once."""

from __future__ import annotations

import posix
import sys

from slurmhooks import trusted
from slurmhooks.decorator import MARKS, Collection, collecting
from slurmhooks.dispatch import format_traceback
from slurmhooks.errors import LoadError
from slurmhooks.log import visible
from slurmhooks.option import Option
from slurmhooks.paths import below, identity, matches, real
from slurmhooks.registry import Registry, layers, missing, verify, verify_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import ModuleType

    from slurmhooks.decorator import Mark
    from slurmhooks.registry import Handler

PACKAGE = "slurmhooks_site"
"""Hook files are modules of this name, a dot and their stem, so that a site's files never shadow anything."""

LUA = ".lua"


class Source:
    """One thing to load: a hook file or an installed module.

    Attributes:
        path: of a file, without links.
        name: the name that the file was found by; it stays the same when a link is set to another file.
        module: of an installed module.
        read: for a file in another language, returns its handlers or raises LoadError.
    """

    __slots__ = ("module", "name", "path", "read")

    def __init__(
        self,
        *,
        path: str | None = None,
        module: str | None = None,
        read: Callable[[str], list[Handler]] | None = None,
        name: str | None = None,
    ) -> None:
        """Give a path or a module; the name is that of either unless it is given."""
        self.path = path
        self.module = module
        self.read = read
        self.name = name or path or module or "?"

    @property
    def scripted(self) -> bool:
        """Whether it is a Lua script, for slurmhooks.lua."""
        return self.path is not None and self.path.endswith(LUA)


def expand(patterns: Iterable[str], base: str) -> list[Source]:
    """Return the hook files that patterns name, sorted within each pattern, each file once.

    Args:
        patterns: file names and globs; a plain name that does not exist is returned too, for :func:`load` to find.
        base: the folder that relative ones start from.

    Raises:
        LoadError: a folder exists but cannot be listed, or a pattern cannot be used; with a finding for each.
    """
    found: dict[str, str] = {}
    findings: list[str] = []
    for pattern in patterns:
        try:
            names = matches(below(base, pattern))
        except LoadError as error:
            findings += error.findings
            continue
        for name in names:
            # A Lua script by the name that it is called in its messages.
            found.setdefault(name if name.endswith(LUA) else real(name), name)
    if findings:
        raise LoadError(findings)
    return [Source(path=path, name=name) for path, name in found.items()]


def names(sources: Iterable[Source]) -> list[str]:
    """Return the files among some sources."""
    return [source.path for source in sources if source.path is not None]


def load(
    sources: Sequence[Source],
    require: Iterable[str] = (),
) -> Registry:
    """Import hook files and modules, verify every handler and option, and put them in order.

    Args:
        sources: what to load.
        require: labels of handlers that must be among them: ``[hooks] require`` of the configuration.

    Raises:
        LoadError: with every finding of every file; nothing is registered then.
    """
    # A hook file sees no other one while it is loaded, neither of this load nor of an earlier one: whether it can
    # import another must not depend on their order.
    others = {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith(f"{PACKAGE}.")}
    modules: dict[str, ModuleType] = {}
    try:
        registry = _load(sources, require, modules)
    finally:
        sys.modules.update(others)
    sys.modules.update(modules)
    return registry


def _load(sources: Sequence[Source], require: Iterable[str], modules: dict[str, ModuleType]) -> Registry:
    """Do as :func:`load`; the modules of hook files are put into ``modules``."""
    handlers: list[Handler] = []
    options: list[Option] = []
    findings: list[str] = []
    notes: list[str] = []
    contents: dict[str, list[Handler]] = {}
    seen: set[int] = set()
    made = Collection()
    for source in sources:
        reason = unfit(source.path) if source.path is not None else None
        if reason is not None:
            findings.append(reason)
            continue
        own = contents.setdefault(source.name, [])
        if source.path is not None and source.read is not None:
            try:
                own += source.read(source.path)
            except LoadError as error:
                findings += error.findings
            handlers += own
            continue
        collection = Collection()
        collecting(collection)
        try:
            if source.path is not None:
                module = _run_file(source.path)
                modules[module.__name__] = sys.modules.pop(module.__name__, module)
                label = _stem(source.path)
            else:
                assert source.module is not None
                module = _import(source.module)
                label = source.module
        except BaseException as error:  # noqa: BLE001 - a site's file may raise anything, SystemExit too
            findings.append(_describe(source, error))
            continue
        finally:
            collecting(None)
        made.marks += collection.marks
        made.options += collection.options
        marks = _marks(made, module)
        for mark, function in marks:
            if mark.sequence in seen:
                continue
            seen.add(mark.sequence)
            handler, wrong = verify(mark, function, label)
            findings += wrong or _replaced(mark, function, module)
            if handler is not None:
                own.append(handler)
        handlers += own
        new_options = _options(made, module, options)
        options += new_options
        if not marks and not new_options:
            notes.append(f"{source.name}: no handler and no option in it; handlers need a decorator: @hook.job_submit")
    if "structlog" in sys.modules or "logging" in sys.modules:
        from slurmhooks import structured

        structured.attach()
    findings += verify_options(options)
    if not findings:
        findings += missing(require, handlers)
    if findings:
        raise LoadError(findings)
    return Registry(handlers, options, contents, notes, modules)


def unfit(path: str) -> str | None:
    """Return why a hook file must not be run, or None."""
    try:
        posix.close(trusted.open_file(path))
    except LoadError as error:
        return error.findings[0]
    except FileNotFoundError:
        return f"{visible(path)}: no such hook file"
    except IsADirectoryError:
        return f"{visible(path)}: a folder, not a file; the hook files in it are {visible(path)}/*.py"
    except OSError as error:
        return f"{visible(path)}: {error.strerror}"
    return None


def _stem(path: str) -> str:
    """Return the name of a hook file, without folder and ending."""
    return path.rpartition("/")[2].removesuffix(".py")


def _run_file(path: str) -> ModuleType:
    """Run a hook file as a module.

    It is compiled each time, in less than a millisecond: byte code in __pycache__ could be somebody else's.
    """
    # importlib.machinery, without the imports of the package importlib.
    from _frozen_importlib import ModuleSpec
    from _frozen_importlib_external import SourceFileLoader

    stem = _stem(path)
    if PACKAGE not in sys.modules:
        sys.modules[PACKAGE] = type(sys)(PACKAGE)
    name = f"{PACKAGE}.{stem}"
    loader = SourceFileLoader(name, path)
    code = loader.source_to_code(trusted.read(path), path)
    module = type(sys)(name)
    module.__file__ = path
    module.__loader__ = loader
    module.__spec__ = ModuleSpec(name, loader, origin=path)
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        exec(code, module.__dict__)
    except BaseException:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        raise
    return module


def _import(name: str) -> ModuleType:
    """Import an installed module of a site.

    Raises:
        LoadError: somebody else could have written it, or a package that it is in.
    """
    from _frozen_importlib import _find_spec  # type: ignore[attr-defined]

    package, _, _ = name.rpartition(".")
    if name not in sys.modules and trusted.guarded():
        # What a package imports from its own folders is as safe as they are; docs/security.md says so.
        spec = _find_spec(name, _import(package).__path__ if package else None)
        for file in (spec.origin, spec.cached) if spec is not None and spec.has_location else ():
            trusted.check(file)
    __import__(name)
    return sys.modules[name]


def _marks(made: Collection, module: ModuleType) -> list[tuple[Mark, Callable[..., object]]]:
    """Return the marks of a module, each with what to call, in the order of definition.

    Those that it made are all taken: of two functions of one name the first would be lost otherwise. What stands in its
    namespace wins: it may be a wrapper around the marked function, or a handler imported from elsewhere. What other
    modules made on being imported is not taken: it would be gone when hook files are loaded again.

    Args:
        made: all that was made in this load.
        module: the module.
    """
    found: dict[int, tuple[Mark, Callable[..., object]]] = {
        mark.sequence: (mark, mark.function) for mark in made.marks if _belongs(mark.owner, module)
    }
    for value in list(vars(module).values()):
        marks = getattr(value, MARKS, None) if callable(value) and not isinstance(value, type) else None
        if isinstance(marks, list):
            for mark in marks:
                # Marks that a hook file made in an earlier load are over.
                if mark in made.marks or not mark.owner.startswith(f"{PACKAGE}."):
                    found[mark.sequence] = (mark, value)
    return [found[sequence] for sequence in sorted(found)]


def _replaced(mark: Mark, function: Callable[..., object], module: ModuleType) -> list[str]:
    """Return a finding if the module calls something else by the name of a marked function, such as a plain wrapper.

    The marked function alone would run, without what a decorator above the mark adds.
    """
    code = layers(mark.function)[-1]
    name = getattr(mark.function, "__qualname__", "")
    if function is not mark.function or code is None or mark.function.__module__ != mark.owner:
        return []
    # A module inside a package defines its own names.
    bound = vars(sys.modules.get(mark.owner, module)).get(name, function)
    marks = getattr(bound, MARKS, None)
    twice = isinstance(marks, list) and any(other.function is bound for other in marks)
    # Of two marked functions of one name both run.
    if bound is function or (twice and getattr(bound, "__qualname__", None) == name):
        return []
    return [
        f"{code.co_filename}:{code.co_firstlineno}: hook.{mark.hook} marks the function {name}, but the name stands for"
        f" {object.__repr__(bound)}, which would not run: put @hook.{mark.hook} above all other decorators, or use"
        " functools.wraps in them"
    ]


def _belongs(owner: str, module: ModuleType) -> bool:
    """Tell whether what a module made is of this one: it is itself or, for a package, inside."""
    name = module.__name__
    return owner == name or (not name.startswith(f"{PACKAGE}.") and owner.startswith(f"{name}."))


def _options(made: Collection, module: ModuleType, known: list[Option]) -> list[Option]:
    found = {option.sequence: option for option in made.options if _belongs(option.owner, module)}
    for value in list(vars(module).values()):
        if isinstance(value, Option):
            found[value.sequence] = value
    return [found[sequence] for sequence in sorted(found) if found[sequence] not in known]


def _describe(source: Source, error: BaseException) -> str:
    """Return a finding: where it is wrong, what, and the traceback below."""
    if isinstance(error, LoadError):
        return "\n".join(error.findings)
    name = source.path or source.module or "?"
    line = None
    if isinstance(error, SyntaxError) and error.filename == source.path:
        line = error.lineno
    else:
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == source.path:
                line = trace.tb_lineno
            trace = trace.tb_next
    where = name if line is None else f"{name}:{line}"
    lines = format_traceback(error, source.path)
    return "\n".join(
        [f"{where}: {type(error).__name__}: {error}{_hint(source, error)}", *("    " + text for text in lines)]
    )


def _hint(source: Source, error: BaseException) -> str:
    """Return what to do about an import of another hook file, or nothing."""
    if not isinstance(error, ImportError) or source.path is None:
        return ""
    name = (error.name or "").partition(".")[0]
    folder = source.path.rpartition("/")[0]
    if name != PACKAGE and not any(identity(f"{folder}/{name}{end}") for end in (".py", "/__init__.py")):
        return ""
    return "; hook files cannot import each other: put what they share into an installed package"
