# SPDX-License-Identifier: GPL-2.0-or-later
import os
import sys
from pathlib import Path

import pytest

from slurmhooks.cli import build_record, embedded_python, plugin_files, toolchain
from slurmhooks.cli.commands import build

from .conftest import Call, Machine
from .test_embedded_python import python

pytestmark = pytest.mark.slow


MESON_BUILD = """
project('stub', 'c')
output = get_option('prefix')
add_project_arguments('-I' + get_option('slurm_include'), language: 'c')
shared_module('spank_python', 'stub.c', name_prefix: '', install: true, install_dir: output)
if get_option('lua') != 'none'
  shared_module('scrun_python', 'stub.c', name_prefix: '', install: true, install_dir: output)
endif
shared_library('core', 'stub.c', install: true, install_dir: output / 'slurmhooks')
"""
STUB = """
#include <stdint.h>
#include <slurm/slurm_version.h>
extern const uint32_t plugin_version;
const uint32_t plugin_version = SLURM_VERSION_NUMBER;
"""
LONG_AGO = 1_000_000_000
"""A time before any build, in seconds since the epoch."""


@pytest.fixture
def native(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a stand-in for the C sources, with the options of the real ones."""
    folder = tmp_path / "native"
    folder.mkdir()
    options = toolchain.native_sources() / "meson.options"
    (folder / "meson.options").write_bytes(options.read_bytes())
    (folder / "meson.build").write_text(MESON_BUILD)
    (folder / "stub.c").write_text(STUB)
    monkeypatch.setattr(toolchain, "native_sources", lambda: folder)
    return folder


@pytest.fixture
def ready(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Give a machine with Slurm 24.11.5 and a complete Python."""
    machine.headers("24.11.5")
    monkeypatch.setattr(embedded_python, "inspect", lambda executable: python(executable=executable))
    return machine


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """Give a list that gets the options of each build."""
    given: list[dict[str, str]] = []
    own = build.meson_options

    def note(plan: build.Plan, config: Path | None, sysconfdir: Path) -> dict[str, str]:
        given.append(own(plan, config, sysconfdir))
        return given[-1]

    monkeypatch.setattr(build, "meson_options", note)
    return given


def record_of(output: Path) -> build_record.BuildRecord:
    """Read the record of a build, which must exist."""
    record = build_record.BuildRecord.load(output)
    assert record is not None
    return record


@pytest.mark.native
def test_output_and_record(run: Call, ready: Machine, native: Path, tmp_path: Path) -> None:
    """A build leaves the plugins, the library and a record of what they are for, which depends on nothing else."""
    output = tmp_path / "out"
    result = run.passed("build", "--slurm-include", ready.include, "--output", output, "--python", sys.executable)
    record = record_of(output)
    assert record.files == ["slurmhooks/libcore.so", "spank_python.so"]
    assert all((output / name).is_file() for name in record.files)
    assert (record.slurm, record.lua, record.tiers.private) == ("24.11.5", None, False)
    assert record.python.libpython == "/lib/libpython3.13.so.1.0"
    assert "scrun is not installed: building without its plugin" in result.stderr
    assert result.stdout == ""


def test_a_relative_sysconfdir(run: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugins get an absolute path: daemons have other working directories."""
    folders: list[Path] = []

    def note(folder: Path) -> bool:
        folders.append(folder)
        return True

    monkeypatch.setattr(build, "_have_fitting", note)
    monkeypatch.chdir(tmp_path)
    assert run("build", "--if-needed", "--output", "out", "--sysconfdir", "etc/slurm").exit_code == 0
    assert folders == [tmp_path / "etc" / "slurm"]


@pytest.mark.moved
@pytest.mark.native
def test_the_same_build_twice(run: Call, ready: Machine, native: Path, tmp_path: Path) -> None:
    """A second build without changes gives the same files, so that an installation of them changes nothing."""
    output = tmp_path / "out"
    arguments = ["build", "--slurm-include", ready.include, "--output", output]
    run(*arguments)
    before = {path: path.read_bytes() for path in output.glob("**/*.so")}
    assert len(before) >= 2
    run(*arguments)
    assert {path: path.read_bytes() for path in output.glob("**/*.so")} == before


@pytest.mark.moved
@pytest.mark.native
@pytest.mark.parametrize("changed", ["headers", "C sources", "plugins in the output folder"])
def test_what_is_compiled_does_not_depend_on_times(
    run: Call, ready: Machine, native: Path, tmp_path: Path, changed: str
) -> None:
    """Files of an upgrade, or of a downgrade, that are older than the last build are compiled like newer ones."""
    output = tmp_path / "out"
    arguments = ["build", "--slurm-include", ready.include, "--output", output]
    run(*arguments)
    if changed == "headers":
        ready.headers("24.11.6")
        for path in ready.include.rglob("*.h"):
            os.utime(path, (LONG_AGO, LONG_AGO))
    elif changed == "C sources":
        (native / "stub.c").write_text(STUB.replace("SLURM_VERSION_NUMBER", "0x180b05 /* changed */ + 0"))
        with (native / "stub.c").open("a") as file:
            file.write("int more(void);\nint more(void) { return 3; }\n")
        os.utime(native / "stub.c", (LONG_AGO, LONG_AGO))
    else:
        (output / "spank_python.so").write_bytes(b"of something else")
        os.utime(output / "spank_python.so", (2 * LONG_AGO, 2 * LONG_AGO))
    run.passed(*arguments)
    wanted = "24.11.6" if changed == "headers" else "24.11.5"
    assert str(plugin_files.release_of(output / "spank_python.so")) == record_of(output).slurm == wanted
    assert (b"more" in (output / "spank_python.so").read_bytes()) == (changed == "C sources")


@pytest.mark.moved
@pytest.mark.native
def test_plugins_for_another_release_are_no_build(run: Call, ready: Machine, native: Path, tmp_path: Path) -> None:
    """If the compiler finds other headers than the command, the build fails and says so: a record would be wrong."""
    (native / "stub.c").write_text(STUB.replace("SLURM_VERSION_NUMBER", "0x160508"))
    result = run.refused("build", "--slurm-include", ready.include, "--output", tmp_path / "out")
    assert f"{tmp_path}/out/spank_python.so was compiled for Slurm 22.05.8, not for 24.11.5" in result.stderr
    assert build_record.BuildRecord.load(tmp_path / "out") is None


@pytest.mark.moved
@pytest.mark.native
def test_changed_options_take_effect(run: Call, ready: Machine, native: Path, tmp_path: Path) -> None:
    """Another Lua requires a new set-up of the build folder, and leftovers of the older build are removed."""
    output = tmp_path / "out"
    ready.program("pkg-config", "exit 0")
    arguments = ["build", "--slurm-include", ready.include, "--output", output]
    run(*arguments, "--lua", "5.4")
    assert record_of(output).lua == "5.4"
    assert (output / "scrun_python.so").exists()
    run(*arguments, "--lua", "none")
    assert record_of(output).lua is None
    assert not (output / "scrun_python.so").exists()


@pytest.mark.native
def test_failed_compilation_shows_the_compiler(run: Call, ready: Machine, native: Path, tmp_path: Path) -> None:
    """A failed compilation shows the compiler's message and the path of the log; the next build continues."""
    output = tmp_path / "out"
    arguments = ["build", "--slurm-include", ready.include, "--output", output]
    (native / "stub.c").write_text("#error told you\n")
    result = run.refused(*arguments)
    assert "told you" in result.stderr
    assert f"{output}/.work/build.log" in result.stderr
    (native / "stub.c").write_text(STUB)
    assert run(*arguments).exit_code == 0


@pytest.mark.moved
@pytest.mark.native
def test_sources_are_configured_for_each_build(
    run: Call, ready: Machine, native: Path, options: list[dict[str, str]], tmp_path: Path
) -> None:
    """Unconfigured sources are configured beside the build: those at this path may be others than last time."""
    output = tmp_path / "out"
    tree = ready.sources("24.11.5")
    arguments = ["build", "--slurm-include", ready.include, "--output", output, "--slurm-source", tree]
    folder = output / ".work" / "slurm-24.11.5"
    assert run(*arguments).exit_code == 0
    (folder / "config.h").write_text("of the first build, or half of a file")
    assert run(*arguments).exit_code == 0
    assert (folder / "config.h").read_text() == ""
    assert not (tree / "config.h").exists()
    assert (options[-1]["slurm_source"], options[-1]["slurm_build"]) == (str(tree), str(folder))
    assert record_of(output).tiers.private


@pytest.mark.native
def test_configured_sources_are_taken_as_they_are(
    run: Call, ready: Machine, native: Path, options: list[dict[str, str]], tmp_path: Path
) -> None:
    """Sources that were configured in place are used directly."""
    tree = ready.sources("24.11.5")
    (tree / "config.h").touch()
    (tree / "slurm").mkdir()
    (tree / "slurm/slurm_version.h").write_text("#define SLURM_VERSION_NUMBER 0x180b05\n")
    run("build", "--slurm-include", ready.include, "--output", tmp_path / "out", "--slurm-source", tree)
    assert options[-1]["slurm_build"] == str(tree)


def refused(run: Call, *arguments: object) -> str:
    """Run a build that must be refused, and return its output."""
    output = Path("/no/such/output")
    result = run.refused("build", "--output", output, *arguments)
    assert not output.exists()
    return result.stderr


def test_missing_headers(run: Call, ready: Machine) -> None:
    """On a machine without Slurm's headers, the error names the packages to install."""
    words = refused(run, "--slurm-include", ready.bin)
    assert "slurm/spank.h" in words
    assert "libslurm-dev on Debian, slurm-devel as RPM" in words


def test_headers_of_another_micro_release(run: Call, ready: Machine) -> None:
    """Headers that are not of exactly the installed Slurm are refused, in one line with both versions."""
    program = ready.program("slurmd", "echo slurm 24.11.4")
    [line] = [line for line in refused(run, "--slurm-include", ready.include).splitlines() if "error" in line]
    assert f"{program} is Slurm 24.11.4" in line
    assert "24.11.5" in line


def test_sources_of_another_micro_release(run: Call, ready: Machine) -> None:
    """Sources that are not of exactly the installed release are refused, with both versions and a way out."""
    words = refused(run, "--slurm-include", ready.include, "--slurm-source", ready.sources("24.11.4"))
    assert "is Slurm 24.11.4, installed is 24.11.5" in words
    assert "leave out --slurm-source" in words


def test_folder_that_is_no_source_tree(run: Call, ready: Machine) -> None:
    """A folder without META, or without configure, is reported."""
    assert "no META" in refused(run, "--slurm-include", ready.include, "--slurm-source", ready.bin)
    tree = ready.sources("24.11.5")
    (tree / "configure").unlink()
    assert "no configure script" in refused(run, "--slurm-include", ready.include, "--slurm-source", tree)


def test_tree_configured_as_another_release(run: Call, ready: Machine) -> None:
    """A tree whose generated headers are of another release than its META is refused."""
    tree = ready.sources("24.11.5")
    (tree / "config.h").touch()
    (tree / "slurm").mkdir()
    (tree / "slurm/slurm_version.h").write_text("#define SLURM_VERSION_NUMBER 0x180b04\n")
    words = refused(run, "--slurm-include", ready.include, "--slurm-source", tree)
    assert "configured as Slurm 24.11.4" in words
    assert "make distclean" in words


def test_lua_is_what_scrun_is_linked_to(run: Call, ready: Machine) -> None:
    """The build looks for the headers of the Lua to which the installed scrun is linked."""
    ready.program("scrun", "")
    ready.program("readelf", "echo 'Shared library: [liblua5.1.so.0]'")
    ready.program("pkg-config", "exit 1")
    words = refused(run, "--slurm-include", ready.include)
    assert "Lua 5.1" in words
    assert "liblua5.1-0-dev" in words


def test_all_findings_at_once(run: Call, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """One run names everything that is missing, one line each."""
    monkeypatch.setattr(toolchain, "missing_tools", lambda: ["no ninja"])
    machine.program("pkg-config", "exit 1")
    words = refused(run, "--slurm-include", machine.include, "--python", "/no/python", "--lua", "5.3")
    lines = [line for line in words.splitlines() if line.startswith("error: ")]
    assert [line.split()[1] for line in lines] == [str(machine.include), "/no/python", "no", "the"]


@pytest.mark.parametrize(
    "arguments", [(), ("--output", "x", "--lua", "6.0"), ("--output", "x", "--fetch-source", "--slurm-source", "x")]
)
def test_wrong_use(run: Call, arguments: tuple[str, ...]) -> None:
    """A missing or invalid option ends with exit code 2."""
    assert run("build", *arguments).exit_code == 2
