# SPDX-License-Identifier: GPL-2.0-or-later
"""The trial of a write of an option in a child process (native/cli_filter/rehearsal.c)."""

import subprocess
from pathlib import Path

import pytest

from tests.native.building import PLAIN, embeddable_python, preloaded
from tests.native.conftest import built

BEGIN = """
import errno, os, resource, signal, sys
sys.path.append(sys.argv[1])
import _slurmhooks_cli_filter as native

def attempt(*writes):
    files = os.listdir("/proc/self/fd")
    try:
        return native.rehearse(1, [(name.encode(), value and value.encode()) for name, value in writes], False)
    finally:
        assert os.listdir("/proc/self/fd") == files, "a descriptor is left open"
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            pass
        else:
            raise AssertionError("a child is left")

native.assign(1, b"mem", b"2G", False)
"""


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the library that stands in for Slurm's options."""
    return preloaded("options", tmp_path_factory.mktemp("options"))


def run(options: Path, script: str, **env: str) -> str:
    """Run Python code with the module, and return what it writes to standard error."""
    modules = built(PLAIN).plugins / "slurmhooks"
    command = [embeddable_python(), "-I", "-S", "-c", BEGIN + script, str(modules)]
    done = subprocess.run(
        command, env={"LD_PRELOAD": str(options), **env}, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return done.stderr


def test_what_slurm_makes_of_writes(options: Path) -> None:
    """The answer has Slurm's result and the options after all writes; those of the process stay as they are."""
    run(
        options,
        """
assert attempt(("mem", "1G"), ("time", "5")) == (True, "", [("mem", "1G"), ("time", "5")])
assert attempt(("mem", "none")) == (True, "", [("mem", None)])
assert attempt(("mem", None)) == (True, "", [])
assert attempt(("mem", "refuse")) == (False, "sbatch: error: refused\\n", [("mem", "refuse")])
assert native.rehearse(1, [(b"x", b"\\xff")], False) == (True, "", [("mem", "2G"), ("x", "\\udcff")])
assert native.given(1) == [("mem", "2G")]
""",
    )


def test_a_write_that_ends_the_command(options: Path) -> None:
    """A text with which Slurm exits or crashes is told; nothing of that happens to the command, or is printed."""
    said = run(
        options,
        """
assert attempt(("mem", "exit")) == (False, "sbatch: error: ends\\n", None)
assert attempt(("mem", "crash")) == (False, "", None)
signal.signal(signal.SIGSEGV, signal.SIG_IGN)  # as a handler of the command might catch it
assert attempt(("mem", "crash")) == (False, "", None)
assert attempt(("mem", "noise"), ("time", "late crash")) == (False, "", None)
assert native.given(1) == [("mem", "2G")]
""",
        AT_EXIT="1",
    )
    assert said == "at exit of the command\n"


def test_many_messages(options: Path) -> None:
    """All messages of Slurm are returned, and none is printed, whatever it writes them to; zero bytes are left out."""
    assert not run(
        options,
        """
assert attempt(("mem", "noise"))[1] == "noise\\n" * 100000
assert attempt(("mem", "prints"), ("time", "5")) == (True, "a list\\n", [("mem", "prints"), ("time", "5")])
assert attempt(("mem", "zero"), ("time", "5")) == (True, "zero\\n", [("mem", "zero"), ("time", "5")])
""",
    )


def test_the_time_limit(options: Path) -> None:
    """The signal of a time limit ends a write in which Slurm hangs, with its child."""
    run(
        options,
        """
def late(*_):
    raise TimeoutError

signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    attempt(("mem", "hang"))
except TimeoutError:
    pass
else:
    raise AssertionError
assert native.given(1) == [("mem", "2G")]
""",
    )


def test_no_process_and_no_descriptor(options: Path) -> None:
    """If no child or pipe can be created, OSError says why."""
    run(
        options,
        """
def fails(limit, code):
    soft, hard = resource.getrlimit(limit)
    resource.setrlimit(limit, (0, hard))
    try:
        native.rehearse(1, [(b"mem", b"1G")], False)
    except OSError as error:
        assert error.errno == code, error
    else:
        raise AssertionError
    finally:
        resource.setrlimit(limit, (soft, hard))

fails(resource.RLIMIT_NOFILE, errno.EMFILE)
if os.getuid() == 0:
    os.setuid(65534)
fails(resource.RLIMIT_NPROC, errno.EAGAIN)
""",
    )


@pytest.mark.parametrize(
    "arguments", ["0, [], False", "1, (), False", '1, [(b"a\\0b", b"")], False', '1, [(b"a", b"b\\0")], False',
                  '1, [(b"a", "b")], False', "1, [(b'a',)], False", '"1", [], False'],
)  # fmt: skip
def test_wrong_arguments(options: Path, arguments: str) -> None:
    """Arguments of a wrong kind raise an exception."""
    run(
        options,
        f"""
try:
    native.rehearse({arguments})
except (TypeError, ValueError):
    pass
else:
    raise AssertionError
""",
    )
