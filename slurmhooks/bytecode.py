# SPDX-License-Identifier: GPL-2.0-or-later
"""The byte code of what launches import, in one file: to find each module by itself takes as long as to run it.

'slurmhooks compile' writes the file beside Python's own, in ``__pycache__``. It is a cache as theirs: what does not
match its source, by size and time, is imported from there.

This module is also in the library that starts Python (native/frozen.py), under another name and without a file: so not
even this package is looked for in the folders of the search path, which takes a launch half a millisecond.
"""

from _frozen_importlib import ModuleSpec, module_from_spec
from _frozen_importlib_external import MAGIC_NUMBER, ExtensionFileLoader, SourceFileLoader
from _imp import extension_suffixes
from marshal import loads
from posix import O_CLOEXEC, O_RDONLY, close, fstat, pread, stat
from posix import open as open_file
from sys import _xoptions, implementation, meta_path, modules, path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import stat_result
    from types import CodeType, ModuleType
    from typing import Any

FORMAT = (5, MAGIC_NUMBER)
HEADER = 8192
"""Bytes at the beginning of the file, in which its entries are; the byte code follows."""
EXTENSIONS = ("_cffi_backend", "_slurmhooks_spank", "_slurmhooks_scrun")
"""Of those that are libraries: they lie beside this package, or beside the one that has started Python."""

Entry = tuple[int, int, bool, tuple[str, ...], int, int]
"""Of a module: size and time of its source, whether it is a package, the modules that it imports and those that they
import, in the order in which they can be made, first and last byte of its code. Where its source is follows from its
name: so the header is as long wherever the package is."""


def file_of(package: str) -> str:
    """Return where the byte code is for this package in a folder."""
    return f"{package}/__pycache__/launch.{implementation.cache_tag}.bytecode"


class Finder:
    """Finds the modules of the file, and makes them."""

    __slots__ = ("_entries", "_file", "_folders", "_identity")

    def __init__(
        self, file: str, identity: tuple[int, int, int], entries: dict[str, Entry], folders: tuple[str, str]
    ) -> None:
        """Keep what was read.

        Args:
            file: where the byte code is.
            identity: of the file that the entries come from.
            entries: by the module's name.
            folders: the one that this package is in, and that of the library which has started Python.
        """
        self._file = file
        self._identity = identity
        self._entries = entries
        self._folders = folders

    def find_spec(self, name: str, path: object = None, target: object = None) -> "Any":
        """Return the specification of a module that is as it was; None for any other."""
        del path, target
        entry = self._entries.get(name)
        if entry is None:
            return self._extension(name) if name in EXTENSIONS else None
        source = self._source(name)
        try:
            status = stat(source)
        except OSError:
            return None
        if status.st_size != entry[0] or status.st_mtime_ns != entry[1]:
            return None
        spec: Any = ModuleSpec(name, self, origin=source, is_package=entry[2])  # type: ignore[arg-type]
        if entry[2]:
            spec.submodule_search_locations.append(source.rpartition("/")[0])
        return spec

    def _source(self, name: str) -> str:
        path = f"{self._folders[0]}/{name.replace('.', '/')}"
        return f"{path}/__init__.py" if self._entries[name][2] else f"{path}.py"

    def _extension(self, name: str) -> "Any":
        for folder in self._folders:
            file = f"{folder}/{name}{extension_suffixes()[0]}"
            try:
                stat(file)
            except OSError:
                continue
            return ModuleSpec(name, ExtensionFileLoader(name, file), origin=file)
        return None

    def create_module(self, spec: "Any") -> None:
        """Have Python make the module."""

    def exec_module(self, module: "ModuleType") -> None:
        """Run the module, after those that it imports: here that takes half of what an import does."""
        descriptor = self._open()
        try:
            for name in self._entries[module.__name__][3]:
                if name not in modules:
                    self._make(name, descriptor)
            self._run(module, descriptor)
        finally:
            if descriptor >= 0:
                close(descriptor)

    def _make(self, name: str, descriptor: int) -> None:
        spec = self.find_spec(name)
        if spec is None:
            return
        modules[name] = module = module_from_spec(spec)
        try:
            self._run(module, descriptor)
        except BaseException:
            del modules[name]
            raise
        parent, _, leaf = name.rpartition(".")
        setattr(modules[parent], leaf, module)

    def _run(self, module: "ModuleType", descriptor: int) -> None:
        module.__file__ = self._source(module.__name__)
        exec(self._code(module.__name__, descriptor), module.__dict__)

    def _code(self, name: str, descriptor: int) -> "CodeType":
        if descriptor < 0:
            source = self._source(name)
            loader = SourceFileLoader(name, source)
            return loader.source_to_code(loader.get_data(source), source)
        *_, start, end = self._entries[name]
        code: CodeType = loads(pread(descriptor, end - start, HEADER + start))
        return code

    def _open(self) -> int:
        """Open the file, not all of which a process needs; return -1 if it is no more the one that was read."""
        try:
            descriptor = open_file(self._file, O_RDONLY | O_CLOEXEC)
        except OSError:
            return -1
        if _identity(fstat(descriptor)) == self._identity:
            return descriptor
        close(descriptor)
        return -1


def _identity(status: "stat_result") -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def install(package: str) -> None:
    """Have the file serve the imports to come.

    Args:
        package: the folder of slurmhooks.
    """
    file = file_of(package)
    try:
        descriptor = open_file(file, O_RDONLY | O_CLOEXEC)
    except OSError:
        return
    try:
        form, size, entries = loads(pread(descriptor, HEADER, 0))
        identity = _identity(fstat(descriptor))
    except (OSError, EOFError, ValueError, TypeError):
        return
    finally:
        close(descriptor)
    if form == FORMAT and size == identity[1]:
        meta_path.insert(0, Finder(file, identity, entries, (package.rpartition("/")[0], path[-1])))


if "slurmhooks_package" in _xoptions:
    install(_xoptions["slurmhooks_package"])
