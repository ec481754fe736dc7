# SPDX-License-Identifier: GPL-2.0-or-later
"""If hook files or configuration cannot be loaded, calls fail, and users and administrators are told."""

import os
from collections.abc import Callable

import pytest

from tests.native.hosting import ERROR_ID, Host

pytestmark = pytest.mark.slow


def missing_file(host: Host) -> None:
    """Configure a hook file that does not exist."""
    host.site("").unlink()


def unreadable_config(host: Host) -> None:
    """Replace the configuration by a folder, which not even root can read."""
    host.site("").chmod(0o644)
    (host.folder / "slurmhooks.toml").unlink()
    (host.folder / "slurmhooks.toml").mkdir()


def writable_by_all(host: Host) -> None:
    """Make the hook file writable for everybody."""
    host.site("").chmod(0o666)


def binary_config(host: Host) -> None:
    """Write a configuration that is not UTF-8."""
    (host.folder / "slurmhooks.toml").write_bytes(b"[hooks]\npaths = ['\xff']\n")


def module(host: Host) -> None:
    """Configure a module that is not installed."""
    host.config('[hooks]\nmodules = ["no_such_site_package"]\n')


def code(text: str) -> Callable[[Host], None]:
    """Return a function that writes a hook file with that content."""

    def write(host: Host) -> None:
        host.site(text)

    return write


def config(text: str) -> Callable[[Host], None]:
    """Return a function that writes a configuration with that content."""

    def write(host: Host) -> None:
        host.site("")
        host.config(text)

    return write


FAULTS: dict[str, tuple[Callable[[Host], None], str]] = {
    "import": (code("import no_such_module"), "No module named 'no_such_module'; install it where slurmhooks is ("),
    "syntax": (code("def broken(:\n    pass"), "SyntaxError"),
    "nul": (code("x = '\0'"), "null byte"),
    "raises": (code("raise SystemExit('bye')"), "SystemExit: bye; a hook file must not exit"),
    "argument": (code("@hook.job_submit\ndef submit(jop): ..."), "'jop'"),
    "file": (missing_file, "hooks.py: no such hook file"),
    "mode": (writable_by_all, "writable by everybody"),
    "config": (unreadable_config, "slurmhooks.toml"),
    "binary": (binary_config, "slurmhooks.toml"),
    "toml": (config("[hooks\n"), "not TOML"),
    "key": (config("[hooks]\npath = []\n"), "hooks.path: unknown key; nearest: paths"),
    "module": (module, "no_such_site_package"),
    "folder": (config('[hooks]\npaths = ["late.d/*.py"]\n'), "late.d: does not exist; hook files are expected in it"),
}
"""What is wrong with a site: a function that does it, and what the log says."""

SCRIPT = """
    open js $job_submit
    job_submit js account=a
    open sp $spank
    context remote
    call sp init
    call sp user_init
    lua $lua
    stage_in bundle=/b
    stage_out
    """


@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_runs(host: Host, fault: str) -> None:
    """Requests, SPANK's callbacks and staging fail; the user gets a line with an id, and the log has the cause.

    slurmctld still starts: its plugin's init() succeeds.
    """
    arrange, cause = FAULTS[fault]
    arrange(host)
    run = host.run(SCRIPT)
    assert run.of("open")[0].rc == 0
    refused = run.one("job_submit")
    assert refused.rc == -1
    (error_id,) = ERROR_ID.findall(str(refused["err_msg"]))
    assert "slurmhooks: the hooks could not be loaded" in str(refused["err_msg"])
    assert any(cause in line and f"error {error_id}: " in line for line in run.lines("ERROR"))
    assert [result.failed for result in run.of("call")] == [True, True]
    assert [run.one("stage_in").rc, run.one("stage_out").rc] == [-1, -1]
    assert cause in run
    for line in run.lines("SPANK"):
        (error_id,) = ERROR_ID.findall(line)
        assert any(error_id in record for record in run.lines("INFO"))
        assert cause not in line
    assert run.lines("SPANK")


def test_every_finding_is_told(host: Host) -> None:
    """The log has the errors of all hook files, not only of the first one."""
    host.site("import first_wrong", "a.py")
    host.site("import second_wrong", "b.py")
    host.config('[hooks]\npaths = ["*.py"]\n')
    run = host.run("open js $job_submit")
    assert run.one("open").rc == 0
    assert "first_wrong" in run
    assert "second_wrong" in run


def test_no_configuration_is_an_empty_one(host: Host) -> None:
    """Without slurmhooks.toml there are no hooks, and all calls pass."""
    run = host.run("open js $job_submit\njob_submit js account=a\nopen sp $spank\ncontext remote\ncall sp init")
    assert [run.of("open")[0].rc, run.one("job_submit").rc, run.one("call").rc] == [0, 0, 0]


def test_an_unreadable_hook_file(host: Host) -> None:
    """If the user of srun cannot read a hook file, SPANK's init fails with the reason."""
    path = host.site("hook.spank.init(lambda spank: None)")
    path.chmod(0o000)
    # Root must lose the capabilities with which it reads everything.
    wrapper = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    run = host.run("open sp $spank hooks.py\ncontext local\ncall sp init", wrapper=wrapper)
    assert run.one("call").failed
    assert f"{path}: Permission denied" in run
