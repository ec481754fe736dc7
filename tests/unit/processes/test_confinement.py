# SPDX-License-Identifier: GPL-2.0-or-later
import errno
import os
import pwd
import signal
from collections.abc import Callable

import pytest

from slurmhooks.config.sections import JobSubmit
from slurmhooks.errors import LoadError
from slurmhooks.processes import confinement, process

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def in_child(body: Callable[[], str]) -> str:
    """Return the result of a function that runs in a forked child, whose state it may change."""
    reads, writes = os.pipe()
    pid = os.fork()
    if not pid:
        process.end_after(lambda: os.write(writes, body().encode()))
    os.close(writes)
    with open(reads) as file:
        text = file.read()
    assert os.waitpid(pid, 0)[1] == 0
    return text


@needs_root
def test_only_root_changes_users() -> None:
    """A process that does not belong to root cannot become another user: the error names the key and both users."""

    def body() -> str:
        process.become(NOBODY)
        try:
            confinement.drop_rights(JobSubmit(user="root"), "job_submit")
        except LoadError as error:
            return error.findings[0]
        return "it has become root"

    text = in_child(body)
    assert text.startswith("job_submit.user: slurmctld runs as nobody, and only root can have workers run as 'root'")


@needs_root
def test_root_is_out_of_reach() -> None:
    """After the change, no user id of the process is root's, and it cannot become root again."""

    def body() -> str:
        process.become(NOBODY)
        for function in (os.setuid, os.seteuid, os.setgid):
            try:
                function(0)
            except PermissionError:
                continue
            return f"{function.__name__} has worked"
        return f"{os.getresuid()} {os.getgroups()}"

    assert in_child(body) == f"{(NOBODY,) * 3} [{NOBODY}]"


@needs_root
def test_a_parent_still_takes_its_child_with_it() -> None:
    """A child that is to die with its parent still does so after it has become another user."""
    reads, writes = os.pipe()
    middle = os.fork()
    if not middle:

        def child() -> None:
            process.die_with(os.getppid())
            process.become(NOBODY)
            os.write(writes, b"ready")
            signal.pause()

        def parent() -> None:
            if not os.fork():
                process.end_after(child)
            os.close(writes)
            signal.pause()

        process.end_after(parent)
    os.close(writes)
    with open(reads, "rb") as file:
        assert file.read(5) == b"ready"
        os.kill(middle, signal.SIGKILL)
        os.waitpid(middle, 0)
        assert file.read() == b"", "the end of the child closes the pipe"


def test_the_present_user() -> None:
    """If the process already runs as the user, no rights are needed and nothing changes."""
    name = pwd.getpwuid(os.getuid()).pw_name
    confinement.drop_rights(JobSubmit(user=name, no_new_privs=False), "job_submit")


def test_a_kernel_without_no_new_privs(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the kernel or a container refuses the switch, there is one finding, which names the key."""

    def refuse() -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(process, "no_new_privileges", refuse)
    with pytest.raises(LoadError) as caught:
        confinement.drop_rights(JobSubmit(), "job_submit")
    assert caught.value.findings == [
        "job_submit.no_new_privs: Operation not permitted; false in slurmhooks.toml does without"
    ]
