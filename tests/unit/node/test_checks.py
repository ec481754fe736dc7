# SPDX-License-Identifier: GPL-2.0-or-later
"""The ready-made checks, on this machine and with files of the kernel that a test writes."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.errors import Reject
from slurmhooks.node import checks

MOUNTS = r"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
30 22 0:30 / /home rw,nosuid shared:2 - nfs4 server:/home rw,vers=4.2,hard
31 22 0:31 / /scratch\040one rw - lustre mds@tcp:/s rw,flock
32 22 8:2 / /data rw,relatime - xfs /dev/sdb ro,attr2
33 22 8:3 / /twice rw - ext4 /dev/sdc rw
34 33 0:40 / /twice ro - tmpfs tmpfs ro
"""
MEMORY = "MemTotal: 1048576 kB\nMemFree: 1 kB\nMemAvailable: 524288 kB\nSwapTotal: 2048 kB\nSwapFree: 1024 kB\n"
GPUS = "0, 0, No\n1, {errors}, {pending}\n2, [N/A], [N/A]\n"


def reason(check: Callable[..., None], *arguments: Any, **named: Any) -> str | None:
    """Return the reason with which a check refuses; None if it passes."""
    try:
        check(*arguments, **named)
    except Reject as error:
        return error.text
    return None


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Files of the kernel in place of the real ones; those that are not given do not exist."""
    files = {"/proc/self/mountinfo": MOUNTS, "/proc/meminfo": MEMORY}

    def read(path: str) -> bytes:
        if path not in files:
            raise FileNotFoundError(2, "No such file or directory", path)
        return files[path].encode()

    monkeypatch.setattr(checks, "_read", read)
    return files


@pytest.mark.parametrize(
    ("path", "named", "expected"),
    [
        ("/", {}, None),
        ("/home", {"type": "nfs4", "options": ("rw", "hard", "nosuid")}, None),
        ("/scratch one", {"type": "lustre"}, None),
        ("/scratch", {}, "/scratch is not mounted"),
        ("/scratch one/", {"type": "lustre"}, None),
        ("/home", {"type": "lustre"}, "/home is of type nfs4, not lustre"),
        ("/home", {"options": ("noatime",)}, "/home is mounted without noatime"),
        ("/data", {"options": ("rw",)}, "/data is mounted without rw"),
        ("/twice", {"type": "tmpfs"}, None),
        ("/twice", {"options": ("rw",)}, "/twice is mounted without rw"),
    ],
)
def test_mount(kernel: dict[str, str], path: str, named: dict[str, Any], expected: str | None) -> None:
    """What is mounted last counts; a file system that the kernel has made read-only is not rw."""
    assert reason(checks.mount, path, **named) == expected


def test_space(tmp_path: Path) -> None:
    """Sizes and shares, of blocks and inodes."""
    found = os.statvfs(tmp_path)
    free = found.f_bavail * found.f_frsize
    assert reason(checks.space, str(tmp_path), str(free // 2)) is None
    assert reason(checks.space, str(tmp_path), "0%", "0") is None
    assert "free, less than 900000TiB" in str(reason(checks.space, str(tmp_path), "900000TiB"))
    if found.f_files:
        assert "free inodes, less than 101%" in str(reason(checks.space, str(tmp_path), "0", "101%"))
    assert reason(checks.space, str(tmp_path / "absent")) == f"{tmp_path}/absent: No such file or directory"


def test_memory_and_swap(kernel: dict[str, str]) -> None:
    """Sizes are those of the kernel, which are somewhat smaller than those of the modules."""
    assert reason(checks.memory, "1GiB", "50%") is None
    assert reason(checks.memory, "2GiB") == "memory is 1 GiB, less than 2GiB"
    assert reason(checks.memory, available="60%") == "available memory is 512 MiB, less than 60%"
    assert reason(checks.swap, "2MiB", "50%", "2MiB") is None
    assert reason(checks.swap, free="51%") == "free swap is 1 MiB, less than 51%"
    assert reason(checks.swap, most="0") == "swap is 2 MiB, more than 0"
    assert reason(checks.swap, "3MiB") == "swap is 2 MiB, less than 3MiB"


@pytest.mark.parametrize(("text", "count"), [("0", 1), ("0-7", 8), ("0-1,4,6-7", 5)])
def test_cpus(kernel: dict[str, str], text: str, count: int) -> None:
    """The kernel writes ranges of numbers."""
    kernel["/sys/devices/system/cpu/online"] = text + "\n"
    assert reason(checks.cpus, count) is None
    assert reason(checks.cpus, count + 1) == f"{count} processors are online, less than {count + 1}"


def awaited(process: subprocess.Popen[bytes], is_there: Callable[[], object]) -> None:
    """Wait until a process has executed its program."""
    end = time.monotonic() + 60
    while not is_there() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)


@contextmanager
def started(words: Sequence[object], **keywords: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program that ends with the block."""
    with subprocess.Popen([str(word) for word in words], **keywords) as running:
        try:
            yield running
        finally:
            running.kill()


def file_of(process: subprocess.Popen[bytes]) -> str:
    """Return the file of a process, as the kernel knows it."""
    return os.readlink(f"/proc/{process.pid}/exe")


@pytest.fixture
def sleeper(tmp_path: Path) -> Path:
    """A program with a name of its own, which the kernel cuts, that waits."""
    program = tmp_path / f"{os.getpid()}-sleeper-of-a-test"
    shutil.copy("/bin/sleep", program)
    return program


def test_process(sleeper: Path) -> None:
    """Processes are found by the file of their program, by its path or its name, and by their real user."""
    name, path = sleeper.name, str(sleeper)
    assert reason(checks.process, name, runs=False) is None
    with started([sleeper, "600"]) as running:
        awaited(running, lambda: reason(checks.process, name) is None)
        for program in (name, path):
            assert reason(checks.process, program) is None
            assert reason(checks.process, program, user=os.getuid()) is None
            assert reason(checks.process, program, user=os.getuid() + 1) == f"{program} does not run"
            assert reason(checks.process, program, runs=False) == f"{program} runs"
        assert reason(checks.process, f"/elsewhere/{name}") == f"/elsewhere/{name} does not run"
        running.kill()
        os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)
        assert reason(checks.process, name) == f"{name} does not run"  # a zombie does not


def test_a_process_whose_file_was_replaced(sleeper: Path) -> None:
    """A daemon whose package was upgraded still runs."""
    with started([sleeper, "600"]) as running:
        awaited(running, lambda: reason(checks.process, sleeper.name) is None)
        new = sleeper.with_name("new")
        shutil.copy("/bin/cat", new)
        new.rename(sleeper)
        assert file_of(running) == f"{sleeper} (deleted)"
        assert reason(checks.process, sleeper.name) is None
        assert reason(checks.process, str(sleeper)) is None


@pytest.mark.parametrize("words", [("{script}",), ("/bin/sh", "{script}"), ("/bin/sh", "-e", "{script}", "more")])
def test_a_process_in_an_interpreter(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A script counts by its name and by its path, however its interpreter was started."""
    script = tmp_path / f"{os.getpid()}-script-of-a-test"
    script.write_text("#!/bin/sh\nread line\n")
    script.chmod(0o755)
    with started([word.format(script=script) for word in words], stdin=subprocess.PIPE) as running:
        for program in (script.name, str(script)):
            awaited(running, lambda program=program: reason(checks.process, program) is None)  # type: ignore[misc]
            assert reason(checks.process, program, user=os.getuid()) is None


def test_a_name_that_a_user_has_chosen(sleeper: Path, tmp_path: Path) -> None:
    """Neither a link to another program, nor a name or words that a process gives itself, make it the program."""
    link = tmp_path / "links" / sleeper.name
    link.parent.mkdir()
    link.symlink_to("/bin/sleep")
    named = f"import sys; open('/proc/self/comm', 'w').write({sleeper.name!r}); print(flush=True); sys.stdin.read()"
    for words in ([str(link), "600"], [sys.executable, "-c", named]):
        with started(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            name = sleeper.name.encode()[:15] + b"\n"
            comm = Path(f"/proc/{running.pid}/comm")
            awaited(running, lambda comm=comm, name=name: comm.read_bytes() == name)  # type: ignore[misc]
            assert comm.read_bytes() == name
            assert reason(checks.process, str(sleeper)) == f"{sleeper} does not run"
            if words[0] == str(link):
                assert reason(checks.process, sleeper.name) == f"{sleeper.name} does not run"


@pytest.mark.skipif(os.getuid() != 0, reason="makes a setuid program")
def test_a_setuid_program_of_a_user(sleeper: Path) -> None:
    """The process has the effective user root, as the owner of its folder in /proc shows, but counts as its user's."""
    open_to_all = Path(tempfile.mkdtemp(dir="/tmp"))  # others cannot enter folders of pytest
    open_to_all.chmod(0o755)
    sleeper = sleeper.rename(open_to_all / sleeper.name)
    sleeper.chmod(0o4755)
    with started([sleeper, "600"], user=65534) as running:
        awaited(running, lambda: reason(checks.process, sleeper.name) is None)
        assert os.stat(f"/proc/{running.pid}").st_uid == 0
        assert reason(checks.process, sleeper.name, user=0) == f"{sleeper.name} does not run"
        assert reason(checks.process, sleeper.name, user=65534) is None
    shutil.rmtree(open_to_all)


def test_a_thread_of_the_kernel() -> None:
    """Threads of the kernel, such as those of an NFS server, have no file and count by their name."""
    names = {path.read_text().strip() for path in Path("/proc").glob("[0-9]*/comm") if not kernel_file(path.parent)}
    for name in [name for name in names if "kworker" not in name][:3]:  # the kernel renames those
        assert reason(checks.process, name, user=0) is None
        assert reason(checks.process, f"/sbin/{name}") == f"/sbin/{name} does not run"


def kernel_file(folder: Path) -> bool:
    """Tell whether a process has a file; one that is not a thread of the kernel has."""
    try:
        return bool(os.readlink(folder / "exe"))
    except OSError:
        pass
    try:
        return int((folder / "stat").read_text().rpartition(")")[2].split()[6]) & 0x00200000 == 0
    except OSError:  # it has ended
        return True


def test_file(tmp_path: Path) -> None:
    """Existence, age and content."""
    path = tmp_path / "file"
    assert reason(checks.file, str(path), exists=False) is None
    assert reason(checks.file, str(path)) == f"{path} does not exist"
    path.write_text("ready\n")
    assert reason(checks.file, str(path), newer="1h", text="ready") is None
    assert reason(checks.file, str(path), exists=False) == f"{path} exists"
    assert reason(checks.file, str(path), older="1h") == f"{path} was changed within 1h"
    assert reason(checks.file, str(path), text="go") == f"{path} does not contain 'go'"
    os.utime(path, (0, 0))
    assert reason(checks.file, str(path), newer="1d") == f"{path} was not changed within 1d"


def test_a_file_that_a_user_has_made(tmp_path: Path) -> None:
    """A FIFO and a device are no files, and a huge file is read up to a limit."""
    path = tmp_path / "file"
    os.mkfifo(path)
    assert reason(checks.file, str(path), text="ready") == f"{path}: not a regular file"
    path.unlink()
    path.symlink_to("/dev/zero")
    assert reason(checks.file, str(path), text="ready") == f"{path}: not a regular file"
    path.unlink()
    with path.open("wb") as stream:
        stream.truncate(1 << 40)
    assert reason(checks.file, str(path), text="ready") == f"{path} does not contain 'ready'"


def test_command() -> None:
    """Exit codes, signals, and what a program writes; no shell is in between."""
    shell = "/bin/sh"
    assert reason(checks.command, ("true",)) is None
    assert reason(checks.command, ("echo", "a;b $HOME"), contains="a;b $HOME") is None
    assert reason(checks.command, (shell, "-c", "echo bad >&2; exit 3")) == f"{shell} ended with exit code 3: bad"
    assert reason(checks.command, (shell, "-c", "exit 3"), status=3) is None
    assert reason(checks.command, (shell, "-c", "kill -9 $$")) == f"{shell} ended with signal 9"
    assert reason(checks.command, ("echo", "no"), contains="yes") == "echo did not write 'yes' but: no"
    assert reason(checks.command, ("printf", "x\\nan error here\\ny"), lacks="error") == "printf wrote: an error here"
    assert reason(checks.command, ("absent-program",)) == "absent-program: No such file or directory"


@pytest.mark.parametrize(
    ("count", "errors", "pending", "expected"),
    [
        (3, "0", "No", None),
        (4, "0", "No", "3 GPUs, not 4"),
        (3, "2", "No", "GPU 1 has 2 uncorrected memory errors"),
        (3, "0", "Yes", "GPU 1 waits for a reset, which retires pages of its memory"),
    ],
)
def test_gpus(tmp_path: Path, count: int, errors: str, pending: str, expected: str | None) -> None:
    """What nvidia-smi writes decides; GPUs without ECC have no errors."""
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\ncat <<E\n{GPUS.format(errors=errors, pending=pending)}E\n")
    program.chmod(0o755)
    assert reason(checks.gpus, count, program=str(program)) == expected
    program.write_text("#!/bin/sh\necho 'No devices were found'; exit 6\n")
    assert (
        reason(checks.gpus, count, program=str(program)) == f"{program} ended with exit code 6: No devices were found"
    )


def test_links(kernel: dict[str, str]) -> None:
    """State and speed of interfaces, and of ports of InfiniBand."""
    kernel.update({
        "/sys/class/net/eth0/operstate": "up\n", "/sys/class/net/eth0/speed": "25000\n",
        "/sys/class/net/eth1/operstate": "down\n",
        "/sys/class/net/lo/operstate": "unknown\n", "/sys/class/net/lo/flags": "0x9\n",
        "/sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n",
        "/sys/class/infiniband/mlx5_0/ports/1/rate": "200 Gb/sec (4X HDR)\n",
        "/sys/class/infiniband/mlx5_0/ports/2/state": "1: DOWN\n",
        "/sys/class/infiniband/mlx5_0/ports/2/rate": "10 Gb/sec (4X SDR)\n",
    })  # fmt: skip
    assert [reason(checks.link, name) for name in ("eth0", "eth1", "lo", "eth2")] == [
        None, "eth1 is down", None, "eth2 does not exist",
    ]  # fmt: skip
    assert reason(checks.link, "eth0", 25000) is None
    assert reason(checks.link, "eth0", 100000) == "eth0 has 25000 Mbit/s, less than 100000"
    assert reason(checks.link, "lo", 10) == "lo does not know its speed, which must be 10 Mbit/s"
    kernel["/sys/class/net/eth0/speed"] = "-1\n"
    assert reason(checks.link, "eth0", 10) == "eth0 does not know its speed, which must be 10 Mbit/s"
    assert reason(checks.infiniband, "mlx5_0", rate=200) is None
    assert reason(checks.infiniband, "mlx5_0", rate=400) == "port 1 of mlx5_0 has 200 Gbit/s, less than 400"
    assert reason(checks.infiniband, "mlx5_0", 2) == "port 2 of mlx5_0 is DOWN"
    assert reason(checks.infiniband, "mlx5_1") == "mlx5_1 has no port 1"


def test_clock() -> None:
    """The kernel's opinion is a reason or none."""
    assert reason(checks.clock, 1e9) in (None, "the clock is not synchronized")


def test_checks_import_nearly_nothing() -> None:
    """The program that runs the checks imports neither pydantic nor rich, nor modules as slow as they are."""
    code = (
        "import sys; from slurmhooks.node import checks, children, draining, ready, run, state;"
        " print(*sorted(sys.modules.keys() & {'pydantic', 'rich', 'subprocess', 're', 'json', 'logging', 'typing',"
        " 'dataclasses', 'pathlib', 'asyncio', 'enum'}))"
    )
    code = f"import sys; sys.path[:0] = {sys.path!r}\n{code}"
    assert subprocess.check_output([sys.executable, "-I", "-S", "-c", code], text=True).split() == []
