# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripts of spank-lua with a stand-in for Slurm; tests/cluster runs scripts on real clusters."""

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cffi
import pytest

from slurmhooks.handlers import loader
from slurmhooks.handlers.registry import Registry
from slurmhooks.hooks.points import HOOKS
from slurmhooks.log import LEVELS, log
from slurmhooks.lua import spank
from slurmhooks.lua.spank_handle import View
from slurmhooks.lua.spank_options import LuaOption
from slurmhooks.workshop.testing.spank import DEFAULTS, FakeSpankModule

Lines = list[tuple[str, str]]


class Native(FakeSpankModule):
    """A stand-in with the functions that only scripts use."""

    def __init__(self, items: dict[str, Any] | None = None) -> None:
        super().__init__({**DEFAULTS, **(items or {})}, {"HOME": "/home/alice"}, {})
        self.ffi = cffi.FFI()
        self.ffi.cdef(
            "typedef uint32_t uid_t; typedef uint32_t gid_t; typedef int32_t pid_t;"
            "struct spank_option { char *name; char *arginfo; char *usage; int has_arg; int val; void *cb; };"
        )
        self.given: dict[bytes, bytes | None] = {}

    def spank_strerror(self, code: int) -> Any:
        """Name the code."""
        names = [name for name in dir(self) if name.startswith("ESPANK_") and getattr(self, name) == code]
        return self._string(f"text of {names[0]}")

    def spank_setenv(self, handle: tuple[str, str], name: bytes, value: bytes, overwrite: int) -> int:
        """Honour ``overwrite``, as Slurm does."""
        if not overwrite and name.decode() in self.env and handle[0] == "remote":
            return int(self.ESPANK_ENV_EXISTS)  # type: ignore[attr-defined]
        return super().spank_setenv(handle, name, value, overwrite)

    def spank_option_getopt(self, handle: tuple[str, str], option: Any, argument: Any) -> int:
        """Answer from a dict."""
        name = self.ffi.string(option.name)
        if name not in self.given:
            return int(self.ESPANK_ERROR)  # type: ignore[attr-defined]
        value = self.given[name]
        if value is not None and option.has_arg:
            argument[0] = self._kept(self.ffi.new("char[]", value))
        return 0


class Site:
    """A folder with scripts, and the calls of a process; ``registered`` are options of scripts while they ran."""

    def __init__(self, folder: Path, lines: Lines) -> None:
        self.folder = folder
        self.lines = lines
        self.native = Native()
        self.registered: list[LuaOption] = []
        self.registry = Registry((), ())

    def write(self, text: str, name: str = "script.lua") -> Path:
        """Write a script."""
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def load(self, fatal: bool = False, version: str | None = None, pattern: str = "*.lua") -> Registry:
        """Load the scripts of a GLOB."""
        self.registry = spank.extend(Registry((), ()), loader.expand([pattern], str(self.folder)), fatal, version)
        return self.registry

    def call(self, name: str, context: str | None = None, args: tuple[str, ...] = ()) -> int:
        """Make one callback."""
        context = context or HOOKS[f"spank.{name}"].contexts[0]
        view = View(self.native, (context, name), context, name, args)
        handlers = [one for one in self.registry.handlers(f"spank.{name}") if context in one.contexts]
        return spank.run(handlers, view, self._register)

    def _register(self, option: LuaOption) -> int:
        self.registered.append(option)
        return 0

    def said(self, level: str = "info") -> list[str]:
        """Return the lines at a level, except those of spank-lua itself."""
        return [text for given, text in self.lines if given == level and not text.startswith("spank/lua: Loaded")]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A folder for scripts, and the log."""
    lines: Lines = []
    before = log.attach(
        lambda level, text: lines.append((LEVELS[level], text)), lambda text: lines.append(("user", text))
    )
    yield Site(tmp_path, lines)
    log.attach(*before)
