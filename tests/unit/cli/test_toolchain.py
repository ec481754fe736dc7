# SPDX-License-Identifier: GPL-2.0-or-later
import sys
from pathlib import Path

import pytest

from slurmhooks.cli import toolchain
from slurmhooks.cli.findings import Finding

from .conftest import Machine


def test_sources_are_in_the_package_or_the_checkout() -> None:
    """The C sources are found wherever this package is."""
    assert (toolchain.native_sources() / "meson.build").is_file()


def test_missing_sources_are_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package without C sources says what to do."""
    monkeypatch.setattr(toolchain, "__file__", str(tmp_path / "slurmhooks" / "cli" / "build_record.py"))
    with pytest.raises(Finding, match="reinstall"):
        toolchain.native_sources()


def test_bare_machine_names_every_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without compiler, meson and ninja all three are named at once, each with a package."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(toolchain, "meson_command", lambda: None)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    found = toolchain.missing_tools()
    assert [line.partition(":")[0] for line in found] == ["no C compiler (cc)", "no meson", "no ninja"]
    assert all("install" in line and "Debian" in line for line in found)
    assert all(f"{tmp_path}/python -m pip install meson ninja" in line for line in found[1:])


def test_compiler_without_c_library(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that does not find <stdio.h> is distinguished from a missing compiler, and CC is used."""
    machine.program("mycc", "exit 1")
    monkeypatch.setenv("CC", "mycc -m64")
    assert any("stdio.h" in line for line in toolchain.missing_tools())


def test_old_meson_is_told(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A meson that is too old is reported with its version and the required one."""
    old = machine.program("oldmeson", "echo 0.64.1")
    monkeypatch.setattr(toolchain, "meson_command", lambda: [str(old)])
    [line] = [line for line in toolchain.missing_tools() if "meson" in line]
    assert line.startswith("meson is 0.64.1, 1.")


def test_lua_headers_under_any_of_their_names(machine: Machine) -> None:
    """pkg-config is asked for all names that distributions give to a version of Lua."""
    machine.program("pkg-config", '[ "$2" = lua-5.4 ]')
    assert toolchain.has_lua_headers("5.4")
    assert not toolchain.has_lua_headers("5.1")


def test_lua_remedy_names_pkgconf_only_if_missing(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line names Debian's package with the headers of that Lua, or pkgconf if that is missing."""
    machine.program("pkg-config", "exit 1")
    assert "install liblua5.1-0-dev (Debian)" in toolchain.lua_remedy("5.1")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "install liblua5.4-dev and pkgconf (Debian)" in toolchain.lua_remedy("5.4")
    assert not toolchain.has_lua_headers("5.4")
