# SPDX-License-Identifier: GPL-2.0-or-later
"""Find out whether this machine allows clusters."""

import os
import shutil
import tempfile

from . import namespace, places, rootfs
from .errors import NotUpError
from .releases import RELEASES

NEEDED = ("lower", "upper", "work", "merged", "sys")


def need() -> None:
    """Try what every cluster needs: namespaces, an overlay file system, devices, a network.

    Raises:
        NotUpError: something is not possible here; the text says in one line why.
    """
    if not any(rootfs.ready(release) for release in RELEASES.values()) and not shutil.which("apt-get"):
        raise NotUpError("needs Debian's apt-get to make root file systems, because the cache has none")
    os.makedirs(places.cache(), exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="possible-", dir=places.cache()) as folder:
        for name in NEEDED:
            os.mkdir(os.path.join(folder, name))
        reader, writer = os.pipe()

        def body() -> int:
            namespace.private_mounts()
            namespace.unshare(sum(namespace.KINDS.values()))
            os.chdir(folder)
            namespace.mount(
                "overlay", "merged", "overlay", 0, "lowerdir=lower,upperdir=upper,workdir=work,userxattr,volatile"
            )
            namespace.mount("tmpfs", "lower", "tmpfs")
            namespace.device("/dev/null", "lower/null")
            namespace.mount("sysfs", "sys", "sysfs")
            namespace.mount("cgroup2", "sys/fs/cgroup", "cgroup2")
            return 0

        child = namespace.fork(body, lambda text: os.write(writer, text.encode(errors="replace")))
        os.close(writer)
        with os.fdopen(reader, encoding="utf-8", errors="replace") as pipe:
            problem = pipe.read()
        if os.waitpid(child, 0)[1] != 0:
            raise NotUpError(f"this machine does not allow clusters: {problem or 'the trial process was killed'}")
