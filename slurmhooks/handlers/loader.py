# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads hook files: all of them or none, and reports all errors at once."""

from __future__ import annotations

import posix
import sys

from slurmhooks.errors import LoadError
from slurmhooks.files import trusted
from slurmhooks.handlers import definitions, trace
from slurmhooks.handlers.definitions import PACKAGE
from slurmhooks.handlers.registry import Handler, Registry, missing, verify, verify_options
from slurmhooks.hooks.decorator import Collection
from slurmhooks.hooks.points import HOOKS
from slurmhooks.log import log, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import CodeType, ModuleType
    from typing import TypeVar

    from slurmhooks.hooks.decorator import Mark
    from slurmhooks.hooks.option import Option

    Result = TypeVar("Result")

try:
    from _slurmhooks_compile import compile_file
except ImportError:  # in processes that do not embed Python

    def compile_file(source: bytes, path: str, /) -> CodeType:
        """Compile the content of a file."""
        return compile(source, path, "exec", dont_inherit=True)


LUA = ".lua"
OWN = ("slurmhooks", "pydantic", "pydantic_core")
"""Modules that slurmhooks imports also after it has loaded hook files, in some processes."""

begun: Callable[[str], None] | None = None
"""Called with the name of each source whose code is about to run, because a source may end the process."""


class Source:
    """A hook file, an installed module, or a folder of packages that hook files and modules may import.

    Attributes:
        path: of a file, with symbolic links resolved.
        name: the path of the file before links were resolved; it stays the same when a link is changed.
        module: name of an installed module.
        packages: path of the folder of packages.
        read: for a file in another language, the function that returns its handlers or raises LoadError.
        text: the content of the file, if it need not be opened.
    """

    __slots__ = ("module", "name", "packages", "path", "read", "text")

    def __init__(
        self,
        *,
        path: str | None = None,
        module: str | None = None,
        packages: str | None = None,
        read: Callable[[str], list[Handler]] | None = None,
        name: str | None = None,
        text: bytes | None = None,
    ) -> None:
        """Store a path, a module or a folder; by default, that is the name."""
        self.path = path
        self.module = module
        self.packages = packages
        self.read = read
        self.text = text
        self.name = name or path or module or packages or "?"

    @property
    def scripted(self) -> bool:
        """Whether it is a Lua script."""
        return self.path is not None and self.path.endswith(LUA)


def expand(patterns: Iterable[str], base: str) -> list[Source]:
    """Return the files that patterns match, sorted within each pattern, and each file once.

    Args:
        patterns: file names and globs. A file name is returned even if the file does not exist, and :func:`load` then
            reports it.
        base: the folder of relative patterns.

    Raises:
        LoadError: folders exist but cannot be listed, or patterns are invalid.
    """
    # Imported only here: launches with a manifest expand no patterns.
    from slurmhooks.files.paths import below, matches, real

    files: dict[str, str] = {}
    findings: list[str] = []
    for pattern in patterns:
        try:
            names = matches(below(base, pattern))
        except LoadError as error:
            findings += error.findings
            continue
        for name in names:
            # Lua shows the path of a script in messages, where users expect the configured one.
            files.setdefault(name if name.endswith(LUA) else real(name), name)
    if findings:
        raise LoadError(findings)
    return [Source(path=path, name=name) for path, name in files.items()]


def files_of(sources: Iterable[Source]) -> list[str]:
    """Return the paths of those sources that are files."""
    return [source.path for source in sources if source.path is not None]


def load(sources: Iterable[Source], require: Iterable[str] = ()) -> Registry:
    """Load hook files and modules, and verify all handlers and options.

    Handlers with the labels of ``require`` must be among them.

    Raises:
        LoadError: with all findings of all files; nothing is registered then.
    """
    # No hook file can import another one, of this load or of an earlier one: it would depend on the order of loading.
    others = {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith(f"{PACKAGE}.")}
    loading = _Loading()
    try:
        for source in sources:
            loading.add(source)
    finally:
        sys.modules.update(others)
    if "structlog" in sys.modules or "logging" in sys.modules:
        from slurmhooks.handlers import structured

        structured.attach()
    registry = loading.registry(require)
    sys.modules.update(registry.modules)
    return registry


class _Loading:
    """The handlers and options that have been loaded so far, and the findings."""

    def __init__(self) -> None:
        self._handlers: list[Handler] = []
        self._options: list[Option] = []
        self._findings: list[str] = []
        self._notes: list[str] = []
        self._contents: dict[str, list[Handler]] = {}
        self._modules: dict[str, ModuleType] = {}
        self._defined = definitions.of_imported()
        self._sequences: set[int] = set()
        self._with_options: set[str] = set()
        self._collections: list[Collection] = []

    def registry(self, require: Iterable[str]) -> Registry:
        """Return the result; raise as :func:`load`."""
        wrong = self._run_code(Source(name="options of hook files"), lambda: verify_options(self._options))
        lost, notes = definitions.left_over(self._collections, self._sequences, self._options)
        findings = [*self._findings, *(wrong or ())] or lost or missing(require, self._handlers)
        if findings:
            raise LoadError(findings)
        self._notes += notes
        return Registry(self._handlers, self._options, self._contents, self._notes, self._modules, self._with_options)

    def add(self, source: Source) -> None:
        """Load a source; add findings about it."""
        if source.packages is not None:
            self._findings += _add_packages(source.packages)
            return
        content = b""
        if source.path is not None:
            try:
                content = read(source.path) if source.text is None else source.text
            except LoadError as error:
                self._findings += error.findings
                return
        if begun is not None:
            begun(source.name)
        handlers = self._contents.setdefault(source.name, [])
        if source.path is not None and source.read is not None:
            try:
                handlers += source.read(source.path)
            except LoadError as error:
                self._findings += error.findings
        else:
            self._run_code(source, lambda: self._add_python(source, content, handlers))
        for handler in handlers:
            handler.source = source.name
        self._handlers += handlers

    def _run_code(self, source: Source, step: Callable[[], Result]) -> Result | None:
        """Do something that may run code of the site; if it raises, add a finding and return None."""
        try:
            return step()
        except BaseException as error:  # noqa: BLE001 - code of the site may raise anything, even SystemExit
            self._findings.append(_describe(source, error))
            return None

    def _add_python(self, source: Source, content: bytes, handlers: list[Handler]) -> None:
        collection = Collection(source.name)
        self._collections.append(collection)
        process = posix.getpid()
        try:
            with collection:
                module, label = self._run(source, content)
        finally:
            if posix.getpid() != process:
                log.error(
                    "%s has forked and its child came back, which ends here: have it call os._exit()", source.name
                )
                posix._exit(1)
            definitions.remember(collection)
        self._defined.marks += collection.marks
        self._defined.options += collection.options
        marks = definitions.marks_of(self._defined, module)
        for mark, function in marks:
            if mark.sequence in self._sequences:
                continue
            self._sequences.add(mark.sequence)
            verified, findings = verify(mark, function, label, source.name, _kind(mark))
            self._findings += findings or definitions.replaced(mark, function, module)
            handlers += verified
        known = definitions.options_of(self._defined, module)
        options = [option for option in known if option not in self._options]
        self._options += options
        if known or collection.has_checks:
            self._with_options.add(source.name)
        if not marks and not options:
            self._notes.append(f"{source.name}: no handler and no option in it; handlers need a decorator: @hook.job")

    def _run(self, source: Source, content: bytes) -> tuple[ModuleType, str]:
        """Run a hook file or import a module; return it and its name in labels."""
        if source.path is None:
            assert source.module is not None
            return _import(source.module), source.module
        module = _run_file(source.path, content)
        self._modules[module.__name__] = module
        return module, _stem(source.path)


def _kind(mark: Mark) -> type[Handler]:
    """Return the class of the handler of a mark."""
    if not HOOKS[mark.hook].runs_in:
        return Handler
    from slurmhooks.handlers.job_rule import JobRule  # launches do not need it

    return JobRule


def read(path: str) -> bytes:
    """Return the content of a hook file.

    Raises:
        LoadError: it cannot be read, or another user could have written it.
    """
    try:
        return trusted.read(path)
    except FileNotFoundError:
        reason = "no such hook file"
    except IsADirectoryError:
        reason = f"a folder, not a file; the hook files in it are {visible(path)}/*.py"
    except OSError as error:
        reason = str(error.strerror)
    raise LoadError([f"{visible(path)}: {reason}"])


def _stem(path: str) -> str:
    """Return the name of a hook file without its folder and suffix."""
    return path.rpartition("/")[2].removesuffix(".py")


def _run_file(path: str, content: bytes) -> ModuleType:
    """Run a hook file as a module, which is not in sys.modules afterwards.

    The file is compiled each time: another user could have written the byte code in __pycache__.
    """
    # importlib.machinery has these, too, but imports the whole package importlib.
    from _frozen_importlib import ModuleSpec
    from _frozen_importlib_external import SourceFileLoader

    if PACKAGE not in sys.modules:
        sys.modules[PACKAGE] = type(sys)(PACKAGE)
    name = f"{PACKAGE}.{_stem(path)}"
    loader = SourceFileLoader(name, path)
    trace.remember(path, content)
    code = compile_file(content, path)
    module = type(sys)(name)
    module.__file__ = path
    module.__loader__ = loader
    module.__spec__ = ModuleSpec(name, loader, origin=path)
    sys.modules[name] = module
    try:
        exec(code, module.__dict__)
    finally:
        # A module may have put another object in its place.
        module = sys.modules.pop(name, module)
    return module


def _add_packages(folder: str) -> list[str]:
    """Let hook files import the packages of a folder, which precede installed ones; return findings."""
    from slurmhooks.files import trusted_trees

    if folder in sys.path:  # added by an earlier load; it may have become unsafe
        sys.path.remove(folder)
    try:
        # Python's import system, which runs what is in the folder, does not check who could have written it.
        findings = trusted_trees.check(folder)
        # These packages must not shadow modules that other code needs.
        names = {name.partition(".")[0] for name in posix.listdir(folder)}
    except LoadError as error:
        return error.findings
    except OSError as error:
        return [f"{visible(folder)}: {error.strerror}; [hooks] packages names this folder"]
    if findings:
        return findings
    taken = names & {*sys.stdlib_module_names, *OWN}
    if taken:
        return [f"{visible(folder)}/{name}: Python or slurmhooks needs a module of this name" for name in sorted(taken)]
    sys.path.insert(0, folder)
    return []


def _import(name: str) -> ModuleType:
    """Import an installed module.

    Raises:
        LoadError: another user could have written it, or a package that contains it.
    """
    from _frozen_importlib import _find_spec  # type: ignore[attr-defined]

    package, _, _ = name.rpartition(".")
    if name not in sys.modules and trusted.guarded():
        # Further imports of a package are as safe as its folders; see docs/security.md.
        spec = _find_spec(name, _import(package).__path__ if package else None)
        for file in (spec.origin, spec.cached) if spec is not None and spec.has_location else ():
            trusted.check(file)
    __import__(name)
    return sys.modules[name]


def _describe(source: Source, error: BaseException) -> str:
    """Return a finding for an exception: file, line and message, and the traceback in further lines.

    The attributes of the exception may be anything, also of one that Python or slurmhooks raises, too.
    """
    findings: str = trace.tried(lambda: "\n".join(error.findings) if isinstance(error, LoadError) else "", lambda _: "")
    if findings:
        return findings
    line = trace.tried(lambda: _line(source, error), lambda _: None)
    where = source.name if type(line) is not int else f"{source.name}:{line}"
    hint = trace.tried(lambda: _hint(source, error), lambda _: "")
    text = f"{where}: {trace.type_name(error)}: {trace.tried(lambda: _text(source, error), lambda _: '')}{hint}"
    rows = [] if _is_misuse(source, error) else trace.lines(error, source.path)
    return "\n".join([text, *("    " + row for row in rows)])


def _text(source: Source, error: BaseException) -> str:
    """Return the text of an exception; that of a SyntaxError without the place, if that is in the source."""
    placed = isinstance(error, SyntaxError) and error.filename == source.path and error.lineno is not None
    return str(error.msg) if placed else trace.text_of(error)  # type: ignore[attr-defined]


def _is_misuse(source: Source, error: BaseException) -> bool:
    """Whether the top level of a source misused slurmhooks.hooks: then a traceback says no more than file and line."""
    frame = trace.own(error, "__traceback__")
    while frame is not None and frame.tb_frame.f_code.co_filename != source.path:
        frame = frame.tb_next
    if frame is None or frame.tb_next is None or frame.tb_frame.f_code.co_name != "<module>":
        return False
    while (frame := frame.tb_next) is not None:
        if not str(frame.tb_frame.f_globals.get("__name__")).startswith("slurmhooks.hooks."):
            return False
    return True


def _line(source: Source, error: BaseException) -> object:
    """Return the last line of a source that was running, or that is no Python; None if there is none."""
    if isinstance(error, SyntaxError) and error.filename == source.path:
        return error.lineno
    line = None
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == source.path:
            line = frame.tb_lineno
        frame = frame.tb_next
    return line


def _hint(source: Source, error: BaseException) -> str:
    """Return the remedy. The file that failed may have made this import impossible, such as by another root folder."""
    from slurmhooks.handlers.remedies import remedy  # launches need it only here

    return remedy(source.path, error)
