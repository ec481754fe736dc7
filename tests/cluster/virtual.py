# SPDX-License-Identifier: GPL-2.0-or-later
"""A cluster in a virtual machine, for what the kernel of this machine may lack: its kernel is that of a package."""

import base64
import contextlib
import json
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

import pytest

from tests.cluster import downloads, reporting
from tests.cluster.conftest import CALL_SECONDS, UP_SECONDS, WAIT_SECONDS, Cluster
from tests.cluster.lab.errors import UnreachableError
from tests.cluster.virtual_agent import SLOWER

QEMU = "qemu-system-x86_64"
KERNEL = "linux-image-cloud-amd64"
MEMORY = "6G"
PATIENT = "[job_submit]\ntimeout = 60.0\n"
"""What slurmhooks.toml needs in a machine whose processor is emulated."""
TREE = "/opt/trial"
"""Where the machine has the parts of the tests that run in it."""
PATH = "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
FIRST = f"""#!/bin/sh
# The file system that the kernel has unpacked can neither be exported nor have labels.
{PATH}
mkdir /new
mount -t tmpfs -o mode=755,size=80% none /new
find . -xdev -path ./new -prune -o -print0 | cpio --null --quiet --pass-through --make-directories /new
exec busybox switch_root /new /sbin/second
"""
SECOND = """#!/bin/sh
{path}
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts none /dev/pts
mount -t tmpfs none /dev/shm
mount -t tmpfs none /tmp
chmod 1777 /tmp /dev/shm
hostname ctl
echo 127.0.0.1 localhost ctl > /etc/hosts
ip link set lo up
# With loopback addresses alone, getaddrinfo() finds none for slurmctld.
ip address add 10.98.1.1/32 dev lo
{prepare}
# Not exec: the shell also waits for processes whose parent has ended.
PYTHONPATH={tree} {enter} /usr/bin/python3 -m tests.cluster.virtual_agent
echo the agent has ended
"""
PACK = """
cd /
for package in /root/kernel-*.deb
do
    # Debian 12's has a folder /lib, which is a link here.
    dpkg-deb --fsys-tarfile "$package" | tar --extract --keep-directory-symlink
    rm "$package"
done
cd /usr/lib/modules/*
for driver in $DRIVERS
do
    mv kernel/drivers/$driver.ko* kernel
done
cd /
depmod "$(ls /lib/modules)"
without=
for path in usr/src usr/include usr/lib/gcc usr/libexec/gcc usr/share/doc usr/share/locale usr/share/man var/cache \\
    var/lib/apt opt/downloads root/initrd 'boot/*' 'usr/lib/modules/*/kernel/drivers'
do
    without="$without -path './$path' -prune -o"
done
eval find . -xdev "$without" -print0 | cpio --null --quiet --format=newc --create > /root/initrd
mv "$(find /boot /lib/modules/ -type f -name 'vmlinuz*')" /root/kernel
rm /init
"""


class Virtual(Cluster):
    """A cluster that a virtual machine runs."""

    def __init__(self, release: str, name: str, channel: socket.socket, answers: TextIO) -> None:
        super().__init__(release, name)
        self._channel = channel
        self._answers = answers

    def ask(self, timeout: float, **request: object) -> subprocess.CompletedProcess[str]:
        """Send a request to the agent; return what it did.

        Raises:
            TimeoutError: it took longer than `timeout` seconds, times SLOWER.
        """
        self._channel.settimeout(timeout * SLOWER)
        self._channel.sendall(json.dumps(request).encode() + b"\n")
        answer = self._answer()
        return subprocess.CompletedProcess(str(request), answer["code"], answer["out"], answer["err"])

    def begin(self) -> None:
        """Wait until the agent reads requests."""
        self._channel.settimeout(UP_SECONDS * SLOWER)
        self._answer()

    def _answer(self) -> Any:
        line = self._answers.readline()
        assert line, "the machine has ended"
        return json.loads(line)

    def _run(
        self,
        verb: list[str],
        names: list[str],
        command: tuple[str, ...],
        stdin: str | None,
        timeout: float,
        env: Mapping[str, str],
    ) -> subprocess.CompletedProcess[str]:
        user = names[1] if names[1:] else "root"
        return self.ask(timeout, command=command, user=user, stdin=stdin or "", env=dict(env))

    def put(self, content: str | Path, path: str, mode: int | None = None) -> None:
        """Write a text, or copy a host file, to `path`, owned by root."""
        data = content.read_bytes() if isinstance(content, Path) else content.encode()
        done = self.ask(CALL_SECONDS, put=path, data=base64.b64encode(data).decode(), mode=mode or 0o644)
        assert done.returncode == 0, done.stderr

    def wait(self, predicate: Callable[[], object], timeout: float = WAIT_SECONDS, what: str = "the condition") -> None:
        """Call `predicate` until it returns true, as long as an emulated processor may need."""
        super().wait(predicate, timeout * SLOWER, what)

    def log(self, name: str = "slurmctld") -> str:
        """Return the log of slurmctld or of one node (n1)."""
        file = name if name == "slurmctld" else f"slurmd-{name}"
        return self.root("cat", f"/var/log/slurm/{file}.log").stdout

    def restart(self, *names: str) -> None:
        """Stop and start all daemons, or only those named, and wait until slurmctld's workers have loaded all hooks."""
        done = self.ask(UP_SECONDS, restart=self.release, names=names)
        assert done.returncode == 0, done.stderr
        test = ("sbatch", "--test-only", "--wrap=true")
        self.wait(lambda: self.user("alice", *test).returncode == 0, what="answers of slurmctld")


@contextlib.contextmanager
def virtual(
    cluster: Cluster,
    folder: Path,
    packages: tuple[str, ...] = (),
    prepare: str = "",
    *,
    enter: str = "",
    kernel: str = "",
    drivers: str = "",
) -> Iterator[Virtual]:
    """Run the files of a cluster in a virtual machine, or skip the test if that is not possible.

    ``enter`` is the beginning of a command, such as runcon, in which all others run; ``prepare`` a shell script, run by
    the machine's first process; ``kernel`` are parameters of the kernel, ``drivers`` those that it has, such as
    net/veth.
    """
    if shutil.which(QEMU) is None:
        pytest.skip(f"{reporting.SKIPPED} THIS WAS TESTED: {QEMU} is missing: install qemu-system-x86")
    try:
        packed = downloads.download(cluster.release, (KERNEL,))
    except UnreachableError as error:
        pytest.skip(f"{reporting.SKIPPED} THIS WAS TESTED: {error}")
    # It is not installed, which would make an initial file system of its own.
    # Of some releases of Debian it consists of several packages.
    for number, package in enumerate(packed.glob("linux-*-[0-9]*-cloud-*.deb")):
        cluster.put(package, f"/root/kernel-{number}.deb")
    cluster.tool("add", "cpio", "kmod", *packages, timeout=UP_SECONDS)
    cluster.put(FIRST, "/init", 0o755)
    cluster.put(SECOND.format(path=PATH, prepare=prepare, tree=TREE, enter=enter), "/sbin/second", 0o755)
    here = Path(__file__).parent
    for path in (*sorted((here / "lab").glob("*.py")), here / "virtual_agent.py"):
        cluster.put(path, f"{TREE}/tests/cluster/{path.relative_to(here)}", 0o644)
    cluster.root("sh", "-ec", PACK, check=True, timeout=UP_SECONDS, env={"DRIVERS": drivers})
    for name in ("initrd", "kernel"):
        cluster.tool("get", f"/root/{name}", str(folder / name))
        cluster.root("rm", f"/root/{name}", check=True)
    console, path = folder / "console", folder / "channel"
    # One processor: while one changes the code of the kernel, another one that is emulated may stop on it.
    command = [QEMU, "-nodefaults", "-display", "none", "-no-reboot", "-m", MEMORY, "-smp", "1"]
    # Not KVM: inside of a virtual machine, it is often there, but does not work.
    command += ["-accel", "tcg", "-cpu", "max", "-kernel", str(folder / "kernel"), "-initrd", str(folder / "initrd")]
    command += ["-append", f"console=ttyS0 panic=-1 quiet {kernel}", "-serial", f"file:{console}"]
    command += ["-serial", f"unix:{path},server=on,wait=on"]
    with subprocess.Popen(command) as process:
        try:
            with socket.socket(socket.AF_UNIX) as channel:
                while channel.connect_ex(str(path)):
                    assert process.poll() is None, console.read_text()
                with channel.makefile("r", encoding="ascii") as answers:
                    machine = Virtual(cluster.release, cluster.name, channel, answers)
                    try:
                        machine.begin()
                        yield machine
                    except (AssertionError, OSError) as error:
                        error.add_note(f"console of the virtual machine:\n{console.read_text()[-4000:]}")
                        raise
        finally:
            process.kill()
            (folder / "initrd").unlink()
