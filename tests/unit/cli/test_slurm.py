# SPDX-License-Identifier: GPL-2.0-or-later
import shutil
import subprocess
from pathlib import Path

import pytest

from slurmhooks.cli import slurm
from slurmhooks.cli.slurm import Version

from .conftest import Machine


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("slurm-wlm 22.05.8", Version(22, 5, 8)),
        ("slurm 24.11.5\n", Version(24, 11, 5)),
        ("26.05.0-0rc1", Version(26, 5, 0)),
        ("command not found", None),
    ],
)
def test_version_is_found_in_what_programs_print(text: str, version: Version | None) -> None:
    """The first full version in a text counts, whatever text surrounds it."""
    assert Version.find(text) == version


def test_version_is_written_as_slurm_does() -> None:
    """The middle part of a version has two digits."""
    assert str(Version(22, 5, 8)) == "22.05.8"


def test_header_version_is_hexadecimal(machine: Machine) -> None:
    """0x160508 is 22.05.8."""
    machine.headers("22.5.8")
    assert "0x160508" in (machine.include / "slurm/slurm_version.h").read_text()
    assert slurm.header_version(machine.include) == Version(22, 5, 8)


def test_no_headers_is_no_version(machine: Machine) -> None:
    """An empty include folder has no version, and lacks every public header."""
    assert slurm.header_version(machine.include) is None
    assert slurm.missing_headers(machine.include) == list(slurm.PUBLIC_HEADERS)


def test_source_version_is_read_from_meta(machine: Machine) -> None:
    """META's Version counts, and a folder without one has none."""
    assert slurm.source_version(machine.sources("24.11.5")) == Version(24, 11, 5)
    assert slurm.source_version(machine.bin) is None


def test_programs_that_say_nothing_are_left_out(machine: Machine) -> None:
    """A program that fails, such as scontrol without a slurm.conf, counts as missing."""
    ctld = machine.program("slurmctld", '[ "$1" = -V ] && echo slurm-wlm 24.11.5')
    machine.program("slurmd", "exit 0")
    machine.program("scontrol", "echo slurm 1.2.3; exit 1")
    assert list(slurm.installed_versions()) == [(ctld, Version(24, 11, 5))]


def test_srun_is_not_asked(machine: Machine) -> None:
    """srun calls handlers of the set in force before it prints its version; scontrol, which comes with it, does not."""
    machine.program("srun", f"touch {machine.root}/called; echo slurm-wlm 24.11.5")
    control = machine.program("scontrol", "echo slurm-wlm 24.11.5")
    assert list(slurm.installed_versions()) == [(control, Version(24, 11, 5))]
    assert not (machine.root / "called").exists()


@pytest.mark.parametrize(
    ("needed", "version"),
    [
        ("liblua5.1.so.0", "5.1"),
        ("liblua-5.4.so", "5.4"),
        ("liblua.so.5.3", "5.3"),
        ("libluajit-5.1.so.2", None),
        ("libslurmfull.so", None),
    ],
)
def test_lua_of_scrun_by_its_library(machine: Machine, needed: str, version: str | None) -> None:
    """The library's name, in the form of each distribution, tells which Lua scrun is linked to."""
    machine.program("readelf", f"echo ' 0x1 (NEEDED)  Shared library: [{needed}]'")
    assert slurm.scrun_lua(Path("/scrun")) == version


@pytest.mark.native
@pytest.mark.skipif(not shutil.which("readelf"), reason="needs binutils")
def test_lua_of_a_real_program(tmp_path: Path) -> None:
    """A real ELF file that is not linked to Lua is recognized as such."""
    source = tmp_path / "lib.c"
    source.write_text("int main(void) { return 0; }\n")
    link = ["-Wl,--no-as-needed", f"-L{tmp_path}", "-l:liblua5.1.so.0"]
    subprocess.run(
        ["cc", "-shared", "-Wl,-soname,liblua5.1.so.0", "-o", tmp_path / "liblua5.1.so.0", source], check=True
    )
    subprocess.run(["cc", "-o", tmp_path / "with", source, *link], check=True)
    subprocess.run(["cc", "-o", tmp_path / "without", source], check=True)
    assert slurm.scrun_lua(tmp_path / "with") == "5.1"
    assert slurm.scrun_lua(tmp_path / "without") is None


def test_usual_plugin_folder_has_slurms_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A usual folder in which Slurm has no plugin of its own does not count."""
    monkeypatch.setattr(slurm, "DEFAULT_PLUGIN_DIRS", ("/usr/lib/*/slurm-wlm", "/usr/local/lib/slurm"))
    own = tmp_path / "usr/lib/x-linux-gnu/slurm-wlm"
    for folder in (own, tmp_path / "usr/local/lib/slurm"):
        folder.mkdir(parents=True)
    (own / "auth_munge.so").touch()
    assert slurm.usual_plugin_dirs(tmp_path) == [Path("/usr/lib/x-linux-gnu/slurm-wlm")]
