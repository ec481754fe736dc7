# SPDX-License-Identifier: GPL-2.0-or-later
"""The Python of a machine is replaced by one of another minor version, and back, as docs/upgrade.md says.

The other one is Debian 12's, beside that of Debian 13; its packages come from the environment of that release.
"""

import io
import re
import tarfile
from pathlib import Path

import pytest

from tests.cluster.conftest import Cluster, need_rootfs
from tests.cluster.lab import places
from tests.cluster.test_upgrade import LONG, hooked, name_of

pytestmark = [pytest.mark.one_release("24.11"), pytest.mark.moved]

OTHER = "22.05"
PACKAGES = r"(lib)?python3\.11.*"
HOME = "/opt/slurmhooks"
HOOKS = """
import sys
from slurmhooks import hook

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"

@hook.job_submit
def comment(job):
    job.comment = VERSION

@hook.spank.task_init
def greet(spank):
    spank.env["GREETING"] = VERSION
"""
MAKE = f"""
mv {HOME} {HOME}.before
python3.11 -m venv --without-pip {HOME}
cp -a /opt/packages/lib/python3.11/site-packages {HOME}/lib/python3.11
cp -an /opt/packages/bin {HOME}
cp -a {HOME}.before/lib/python3.*/site-packages/slurmhooks* {HOME}/lib/python3.11/site-packages
cp -a {HOME}.before/bin/slurmhooks {HOME}/bin
"""
"""Create the environment again."""


def archive() -> bytes:
    """Return the files of the other Python, and below /opt/packages, of its environment."""
    need_rootfs(OTHER)
    root = Path(places.rootfs(OTHER))
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for path in root.glob("var/lib/dpkg/info/*.list"):
            if re.fullmatch(PACKAGES, name_of(path)):
                for name in path.read_text().split():
                    if not name.startswith(("/etc", "/usr/share")) and (root / name.lstrip("/")).is_file():
                        tar.add(root / name.lstrip("/"), name.lstrip("/"), recursive=False)
        for name in ("bin", "lib/python3.11/site-packages"):
            tar.add(root / HOME.lstrip("/") / name, f"opt/packages/{name}")
    return file.getvalue()


def test_another_python(cluster: Cluster, tmp_path: Path) -> None:
    """Until the plugins are built, slurmctld goes on and `info` says what to do; then both run the other Python."""
    if cluster.release != "24.11":
        pytest.skip("the other Python needs the libraries of this release's Debian")

    def shell(script: str, check: bool = True) -> tuple[int, str]:
        done = cluster.root("sh", "-ec", f"PATH={HOME}/bin:$PATH; {script}", check=check, timeout=LONG)
        return done.returncode, f"{done.stdout}{done.stderr}"

    def comment() -> str:
        job = cluster.user("alice", "sbatch", "-H", "--parsable", "--wrap", "true", check=True).stdout.strip()
        shown = cluster.root("scontrol", "show", "job", job, check=True).stdout
        cluster.root("scancel", job)
        return shown.partition("Comment=")[2].split()[0]

    cluster.put(HOOKS, "/etc/slurm/hooks.d/hooks.py")
    cluster.restart()
    own = shell(f"{HOME}/bin/python3 -c 'import sys; print(*sys.version_info[:2], sep=\".\")'")[1].strip()
    assert hooked(cluster) == [own, own]
    (tmp_path / "python.tar").write_bytes(archive())
    cluster.put(tmp_path / "python.tar", "/opt/python.tar")
    shell("tar -C / -xf /opt/python.tar; ldconfig")
    for make, version in ((MAKE, "3.11"), (f"rm -rf {HOME}; mv {HOME}.before {HOME}", own)):
        before = comment()
        shell(make)
        code, said = shell("slurmhooks info", check=False)
        assert code == 1, said
        assert f"it is now {version}" in said, said
        assert comment() == before
        shell(f"slurmhooks build --slurm-source /usr/src/slurm --output {HOME}/build")
        shell(f"slurmhooks install --from {HOME}/build")
        cluster.restart()
        assert hooked(cluster) == [version, version]
        assert shell("slurmhooks info")[0] == 0
