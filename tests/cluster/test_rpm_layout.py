# SPDX-License-Identifier: GPL-2.0-or-later
"""Slurm where SchedMD's RPM packages have it (/usr/lib64/slurm), and a Python that is not the system's.

The steps of Dockerfile.rpm install slurmhooks there.
"""

import json
from pathlib import Path

import pytest

from tests.cluster.carrying import CHECKOUT, HOOKS, checkout, hooked, pack
from tests.cluster.conftest import Cluster, need_rootfs
from tests.cluster.dockerfile import play, stages
from tests.cluster.lab import places

pytestmark = [pytest.mark.cluster, pytest.mark.soak]

DOCKERFILE = CHECKOUT / "contrib" / "packaging" / "images" / "Dockerfile.rpm"
OLD, NEW = "/usr/lib/x86_64-linux-gnu/slurm-wlm", "/usr/lib64/slurm"
PYTHON = "3.11"
PARTS = (
    f"usr/bin/python{PYTHON}",
    f"usr/lib/python{PYTHON}",
    f"usr/include/python{PYTHON}",
    f"usr/include/x86_64-linux-gnu/python{PYTHON}",
    *(f"usr/lib/x86_64-linux-gnu/libpython{PYTHON}.so{end}" for end in ("", ".1", ".1.0")),
)
"""A Python of Debian 12."""
RELOCATE = f"""
import pathlib, subprocess
old, new = b"{OLD}", b"{NEW}"
new = b"/" * (len(old) - len(new)) + new
listed = "dpkg -L $(dpkg-query -W -f '${{Package}} ' 'slurm*' 'libslurm*')"
owned = subprocess.run(listed, shell=True, capture_output=True, text=True).stdout
for name in sorted(set(owned.split("\\n"))):
    path = pathlib.Path(name)
    if path.is_file() and not path.is_symlink():
        content = path.read_bytes()
        if content[:4] == b"\\x7fELF" and old in content:
            # Programs that run cannot be written to.
            made = path.with_name(path.name + ".new")
            made.write_bytes(content.replace(old, new))
            made.chmod(path.stat().st_mode)
            made.replace(path)
pathlib.Path("{NEW}").parent.mkdir(exist_ok=True)
subprocess.run(["mv", "{OLD}", "{NEW}"], check=True)
for path in pathlib.Path("/usr/lib/x86_64-linux-gnu").glob("libslurm*"):
    subprocess.run(["mv", str(path), "/usr/lib64"], check=True)
pathlib.Path("/etc/ld.so.conf.d/lib64.conf").write_text("/usr/lib64\\n")
subprocess.run(["ldconfig"], check=True)
"""
"""Moves Slurm's files, and replaces the folder of plugins in its programs by one that means the new folder."""
CONFIGURE = """
    sed -i /^PluginDir/d /etc/slurm/slurm.conf
    echo JobSubmitPlugins=python > /etc/slurm/local.conf
    echo required spank_python.so > /etc/slurm/plugstack.conf
    mkdir -p /etc/slurm/hooks.d
    cat > /etc/slurm/hooks.d/site.py
    printf '[hooks]\\npaths = ["hooks.d/*.py"]\\n' > /etc/slurm/slurmhooks.toml
"""
OTHER_PYTHON = """
    rm -rf /opt/slurmhooks /usr/bin/python3
    tar -C / -xf /root/python.tar
    ldconfig
    printf '#!/bin/sh\\necho Python 3.9.18\\nexit 1\\n' > /usr/bin/python3
    chmod 755 /usr/bin/python3
    for name in tree wheels; do mkdir /root/$name; tar -C /root/$name -xf /root/$name.tar; done
"""


@pytest.fixture(scope="module")
def redhat(bare_machine: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """A cluster with the layout of the RPM packages; its system's python3 says that it is 3.9, and does not run."""
    need_rootfs("22.05")
    root = Path(places.rootfs("22.05"))
    folder = tmp_path_factory.mktemp("carried")
    python = b"\0".join(
        str(path.relative_to(root)).encode() for part in PARTS for path in [root / part, *(root / part).rglob("*")]
    )
    bare_machine.put(pack(python, root, folder / "python.tar"), "/root/python.tar")
    wheels = Path(places.cache(), "wheels", "22.05")
    names = b"\0".join(path.name.encode() for path in wheels.glob("*.whl"))
    bare_machine.put(pack(names, wheels, folder / "wheels.tar"), "/root/wheels.tar")
    bare_machine.put(checkout(folder), "/root/tree.tar")
    bare_machine.root("python3", "-", input=RELOCATE, check=True)
    bare_machine.root("sh", "-ec", CONFIGURE, input=HOOKS, check=True)
    bare_machine.root("sh", "-ec", OTHER_PYTHON, check=True)
    built, image = stages(DOCKERFILE)
    arguments = {"PYTHON": f"python{PYTHON}", "PIP_OPTIONS": "--no-index --find-links=/root/wheels"}
    play(bare_machine, built[1], "/root/tree", arguments)
    bare_machine.root("sh", "-c", "rm -f /usr/bin/*gcc* /usr/bin/cc /usr/bin/*-ld", check=True)
    play(bare_machine, image[1], "/root/tree", arguments)
    bare_machine.restart()
    return bare_machine


def test_the_folder_is_found(redhat: Cluster) -> None:
    """Without PluginDir the plugins are in Slurm's own folder, for its release and the chosen Python, and fit."""
    shown = redhat.root("scontrol", "show", "config", check=True).stdout
    (folder,) = {line.split("=")[1].strip() for line in shown.splitlines() if line.startswith("PluginDir")}
    assert folder.lstrip("/") == NEW.lstrip("/")
    done = redhat.root("/opt/slurmhooks/bin/slurmhooks", "info", "--json", check=True)
    report = json.loads(done.stdout)
    assert report["plugin_dir"] == NEW
    assert report["findings"] == []
    assert report["build"]["python"]["version"].startswith(f"{PYTHON}.")


def test_hooks_run(redhat: Cluster) -> None:
    """Handlers run in slurmctld's workers and in tasks, also with the manifest."""
    for _ in range(2):
        assert hooked(redhat) == ["hooked", "hooked"]
        redhat.root("/opt/slurmhooks/bin/slurmhooks", "deploy", check=True)
