# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that a folder's mode makes writable run if no mount of this machine lets anybody write there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from slurmhooks.files import sealed
from tests.unit.files.trusted.conftest import NOBODY, root

VOLUME = """
    mount -t tmpfs tmpfs {base}/disk
    mkdir -m 1777 {base}/disk/pods {base}/disk/pods/volume {base}/disk/other
    mkdir -m 755 {base}/disk/pods/volume/..2026
    echo 'x = 1' > {base}/disk/pods/volume/..2026/hooks.py
    ln -s ..2026 {base}/disk/pods/volume/..data
    ln -s ..data/hooks.py {base}/disk/pods/volume/hooks.py
    mkdir -p {base}/conf {base}/again
"""
"""A volume as the kubelet makes it for a ConfigMap, in a file system that holds other things, too."""

SHOW = "mount --bind -o ro {base}/disk/pods/volume {base}/conf"
HIDE = "umount {base}/disk"

CASES = {
    "only read-only": (f"{SHOW}\n{HIDE}", None),
    "not mounted": ("rmdir {base}/conf && ln -s {base}/disk/pods/volume {base}/conf", ""),
    "writable": (f"{SHOW.replace(' -o ro', '')}\n{HIDE}", ""),
    "the whole file system writable": (SHOW, "writable at {base}/disk/pods/volume"),
    "a folder above writable": (
        f"{SHOW}\nmount --bind {{base}}/disk/pods {{base}}/again\n{HIDE}", "writable at {base}/again/volume"
    ),
    "the same folder writable": (
        f"{SHOW}\nmount --bind {{base}}/disk/pods/volume {{base}}/again\n{HIDE}", "writable at {base}/again"
    ),
    "the same folder twice read-only": (
        f"{SHOW}\nmount --bind -o ro {{base}}/disk/pods {{base}}/again\n{HIDE}", None
    ),
    "another folder writable": (f"{SHOW}\nmount --bind {{base}}/disk/other {{base}}/again\n{HIDE}", None),
    "a file system of layers": (
        "mount -t overlay -o ro,lowerdir={base}/disk/pods/volume:{base}/disk/other overlay {base}/conf", "as overlay"
    ),
    "a file system that is read-only itself": (f"{SHOW}\nmount -o remount,ro {{base}}/disk", None),
}  # fmt: skip

PROBE = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from slurmhooks.errors import LoadError
from slurmhooks.files import trusted
path, others = sys.argv[2] + "/conf/hooks.py", sys.argv[4:]
trusted.guard()
try:
    trusted.read(path)
    text = None
except LoadError as error:
    text = str(error)
reached = []
os.setgid(int(sys.argv[3])), os.setuid(int(sys.argv[3]))
for number, folder in enumerate(others):
    try:
        os.close(os.open(f"{folder}/planted{number}", os.O_CREAT | os.O_WRONLY))
    except OSError:
        continue
    if os.path.exists(f"{os.path.dirname(path)}/planted{number}"):
        reached.append(folder)
print(json.dumps([text, reached]))
"""


def answer(base: Path, commands: str, service: str = "") -> tuple[str | None, list[str]]:
    """Return why the hook file is refused, and through which folders an ordinary user could plant one beside it."""
    lines = (VOLUME + commands).format(base=base)
    places = [f"{base}/{place}" for place in ("conf", "disk/pods/volume", "again", "again/volume")]
    probe = [sys.executable, "-c", PROBE, str(Path(sealed.__file__).parents[2]), str(base), str(NOBODY), *places]
    inner = " ".join(f"'{word}'" if word != PROBE else '"$PROBE"' for word in probe)
    script = f"set -e\numask 022\nmkdir -p {base}/disk\n{lines}\n{service} {inner}"
    done = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", script],
        env={**os.environ, "PROBE": PROBE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    text, reached = json.loads(done.stdout)
    return text, reached


@root
@pytest.mark.parametrize("case", CASES)
def test_read_only_mounts(reachable: Path, case: str) -> None:
    """A file in a folder of mode 1777 runs only if no place shows it writable; the error names such a place."""
    commands, expected = CASES[case]
    text, reached = answer(reachable, commands)
    if expected is None:
        assert (text, reached) == (None, [])
    else:
        assert text is not None
        assert "is writable by everybody" in text
        assert expected.format(base=reachable) in text
    if reached:
        assert text is not None


@root
@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("chown 65534 {base}/disk/pods/volume/..2026/hooks.py", "belongs to"),
        ("chmod 664 {base}/disk/pods/volume/..2026/hooks.py", "is writable by group"),
        ("chmod 666 {base}/disk/pods/volume/..2026/hooks.py", "is writable by everybody"),
        ("chown 65534 {base}/disk/pods/volume", "belongs to"),
        ("chown -h 65534 {base}/disk/pods/volume/hooks.py", "belongs to"),
    ],
)
def test_what_is_in_a_volume_is_judged(tmp_path: Path, change: str, text: str) -> None:
    """A file of another user, or one that they could have changed, does not run, nor does one in their folder."""
    tmp_path.chmod(0o755)
    refusal, _ = answer(tmp_path, f"{change}\n{SHOW}\n{HIDE}")
    assert refusal is not None
    assert text in refusal


@root
@pytest.mark.parametrize("name", ["a\rb", "a b", "a\tb", "a\nb", "a\\040b", "ä", "- tmpfs"])
def test_names_of_other_mounts(tmp_path: Path, name: str) -> None:
    """Users who choose names of mount points change nothing."""
    tmp_path.chmod(0o755)
    (tmp_path / name).mkdir()
    other = f'mount -t tmpfs tmpfs "{tmp_path}/{name}"'.replace("{", "{{").replace("}", "}}")
    assert answer(tmp_path, f"{SHOW}\n{HIDE}\n{other}") == (None, [])
    text, _ = answer(tmp_path, f"{SHOW}\n{other}")
    assert text is not None
    assert "disk/pods/volume" in text


@root
@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("unshare -m --propagation private sh -c 'mount -o remount,bind,ro {base}/disk && exec \"$@\"' sh", "disk"),
        ("unshare -m --propagation private", None),
    ],
    ids=["read-only for the service", "the same"],
)
def test_mounts_of_a_service(tmp_path: Path, command: str, text: str | None) -> None:
    """What only a service sees read-only is not trusted; what all see read-only is, with own mounts as well."""
    tmp_path.chmod(0o755)
    shown = CASES["only read-only"][0] if text is None else SHOW
    refusal, _ = answer(tmp_path, shown, command.format(base=tmp_path))
    if text is None:
        assert refusal is None
    else:
        assert refusal is not None
        assert f"read-only, but writable at {tmp_path}/{text}" in refusal


@pytest.mark.parametrize(
    ("kind", "owner", "said"),
    [
        ("nfs4", 1500, ["as root of the server of this file system (nfs4)"]),
        ("nfs", NOBODY, ["as root of the server of this file system (nfs)", "root of a client has written"]),
        ("fuse.glusterfs", 0, ["as root of the server of this file system (fuse.glusterfs)"]),
        ("lustre", 1500, ["(lustre)"]),
        ("ext4", 1500, []),
        ("tmpfs", NOBODY, []),
        ("overlay", 1500, []),
    ],
)
def test_where_a_file_is_repaired(
    kind: str, owner: int, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root of a client may not be able to repair files of a network file system: the message names its server."""
    row = f"36 35 98:0 / /site rw,noatime master:1 - {kind} server:/site rw"
    content = {"/proc/self/mountinfo": row}
    monkeypatch.setattr(sealed, "_content", lambda path: content.get(path, "pos:\t0\nmnt_id:\t36\n"))
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        text = sealed.elsewhere(descriptor, owner)
    finally:
        os.close(descriptor)
    assert bool(text) == bool(said)
    assert all(part in text for part in said), text
    assert ("root of a client" in text) == (len(said) > 1)
