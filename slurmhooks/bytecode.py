# SPDX-License-Identifier: GPL-2.0-or-later
"""The byte code of what launches import, in one file: to find each module by itself takes as long as to run it.

'slurmhooks compile' writes the file beside Python's own, in ``__pycache__``. It is a cache as theirs: what does not
match its source, by size and time, is imported from there. Only processes of Slurm read it.
"""

from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER
from marshal import loads
from posix import stat
from sys import _xoptions, implementation, meta_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

FILE = f"{__file__.rpartition('/')[0]}/__pycache__/launch.{implementation.cache_tag}.bytecode"
FORMAT = (1, MAGIC_NUMBER)
END = b"end of launch"

Entry = tuple[str, int, int, bool, int, int]
"""Of a module: its source, the source's size and time, whether it is a package, first and last byte of its code."""


class Finder:
    """Finds the modules of the file, and makes them."""

    __slots__ = ("_code", "_entries")

    def __init__(self, entries: dict[str, Entry], code: memoryview) -> None:
        """Keep what was read.

        Args:
            entries: by the module's name.
            code: of all of them, marshalled one after the other.
        """
        self._entries = entries
        self._code = code

    def find_spec(self, name: str, path: object = None, target: object = None) -> "Any":
        """Return the specification of a module that is as it was; None for any other."""
        del path, target
        entry = self._entries.get(name)
        if entry is None:
            return None
        try:
            status = stat(entry[0])
        except OSError:
            return None
        if status.st_size != entry[1] or status.st_mtime_ns != entry[2]:
            return None
        spec: Any = ModuleSpec(name, self, origin=entry[0], is_package=entry[3])  # type: ignore[arg-type]
        if entry[3]:
            spec.submodule_search_locations.append(entry[0].rpartition("/")[0])
        return spec

    def create_module(self, spec: "Any") -> None:
        """Have Python make the module."""

    def exec_module(self, module: "ModuleType") -> None:
        """Run the module."""
        source, *_, start, end = self._entries[module.__name__]
        module.__file__ = source
        exec(loads(self._code[start:end]), module.__dict__)


def install(path: str = FILE) -> None:
    """Have the file serve the imports to come, in a process of Slurm's."""
    if "slurmhooks_sysconfdir" not in _xoptions:
        return
    try:
        with open(path, "rb") as file:
            content = file.read()
        # What follows the entries is no concern of loads().
        form, length, entries = loads(content) if content.endswith(END) else (None, 0, {})
    except (OSError, EOFError, ValueError, TypeError):
        return
    if form == FORMAT:
        meta_path.insert(0, Finder(entries, memoryview(content)[-length - len(END) :]))


install()
