# SPDX-License-Identifier: GPL-2.0-or-later
"""Run random containers twice, as they are and staged, and print where the two differ; runs inside a cluster.

usage: mount_lists.py RUNTIME SEED NUMBER FOLDER
"""

import difflib
import json
import os
import random
import shutil
import subprocess
import sys
from typing import Any

from slurmhooks import scrun
from slurmhooks.scrun import oci

FOLDERS = (
    "vol", "host", "host/a", "host/a/sub", "host/a/../b", "host/b", "host/b/deep", "host/b/deep/er", "host/to a",
    "host/empty",
)  # fmt: skip
FILES = ("vol/file", "host/a/file", "host/a/link", "host/b/deep/er/file", "host/single", "host/to single")
PLACES = (
    "/m", "/m/sub", "/m/new", "/m/sub/file", "/m/sub/a/b", "/m/link", "/n", "/n/file", "/n/sub", "/run", "/run/x",
    "/run/x/deep/er", "/dev/shm", "/dev/shm/x", "/link", "/link/y", "/abs", "/plain",
)  # fmt: skip
OTHER_FORMS = {"/m/new": "m/sub/../new/", "/n": "//n//", "/link/y": "/opt/./y"}
OPTIONS = (
    ("ro",), ("rw",), ("rro",), ("ro", "rro"), ("ro", "remount"), ("rrw",), ("noatime",), ("shared", "noexec"),
    ("rslave",), (), (), (), ("nosuid", "nodev"), ("rprivate",), ("rw", "ro"),
)  # fmt: skip
"""Options of a bind mount, the last ones of which runc and crun understand differently: only for crun."""
ABOUT = ("m", "n", "run", "opt", "plain")
"""What is in the image, and what containers look at."""
LIST = """
for place in {about}; do
    find /$place | sort | while read -r name; do
        if [ -h "$name" ]; then echo "$name -> $(readlink "$name")"
        elif [ -f "$name" ]; then echo "$name $(stat -c %a "$name") $(cat "$name")"
        else echo "$name $(stat -c %a "$name")/"; fi
    done
done
"""


def write(path: str, text: str) -> None:
    """Write a file, and make its folder."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def make(place: str) -> None:
    """Make a bundle without a configuration, with a volume in it and folders of the host beside it."""
    for name in ("vol", "host/a", "host/a/sub", "host/b", "host/b/deep/er", "host/b/sub"):
        for file in ("file", "other"):
            write(f"{place}/{name}/{file}", f"{file} in {name}")
    write(f"{place}/host/single", "single")
    os.mkdir(f"{place}/host/empty")
    os.symlink("a", f"{place}/host/to a")
    os.symlink("single", f"{place}/host/to single")
    os.symlink("file", f"{place}/host/a/link")
    os.chmod(f"{place}/host/a/sub", 0o711)
    rootfs = f"{place}/rootfs"
    for name in ("bin", "proc", "dev", "m/sub", "n", "run/x", "opt"):
        os.makedirs(f"{rootfs}/{name}")
    for name in ("m/sub/file", "n/file", "run/of the image", "opt/y", "plain"):
        write(f"{rootfs}/{name}", f"{name} of the image")
    os.symlink("/opt", f"{rootfs}/link")
    os.symlink("../n", f"{rootfs}/m/link")
    os.symlink("/../../../n/sub", f"{rootfs}/abs")
    shutil.copy("/bin/busybox", f"{rootfs}/bin/busybox")
    for name in ("sh", "find", "sort", "stat", "cat", "readlink", "mkdir", "ln", "chmod", "mv"):
        os.symlink("busybox", f"{rootfs}/bin/{name}")


def mount(chance: random.Random, runtime: str) -> dict[str, Any]:
    """Return a random mount; sources begin with the folder of the bundle, or with "vol", which is relative to it."""
    destination = chance.choice(PLACES)
    if chance.random() < 0.25:
        options = chance.choice([[], ["mode=755"], ["nosuid", "size=1m"], ["ro"], ["tmpcopyup", "mode=700"]])
        return {"destination": destination, "type": "tmpfs", "source": "tmpfs", "options": options}
    is_file = os.path.basename(destination) in ("file", "plain") or chance.random() < 0.1
    source = chance.choice(FILES if is_file else FOLDERS)
    if source.startswith("host") or chance.random() < 0.5:
        source = f"@/{source}"
    options = [*chance.choice(OPTIONS if runtime == "crun" else OPTIONS[:-1]), chance.choice(["bind", "rbind"])]
    chance.shuffle(options)
    destination = OTHER_FORMS.get(destination, destination) if chance.random() < 0.3 else destination
    kind = chance.choice([{"type": "bind"}, {"type": "none"}, {}])
    return {"destination": destination, **kind, "source": source, "options": options}


def actions(chance: random.Random) -> str:
    """Return commands of a container. Nothing is removed, because no removal is carried out on the host."""
    lines = []
    for number in range(chance.randint(2, 8)):
        place = chance.choice(PLACES)
        lines.append(
            chance.choice(
                [
                    f"echo {number} > {place}/file",
                    f"echo {number} >> {place}/other",
                    f"echo {number} > {place}/made{number}",
                    f"mkdir {place}/folder{number} && echo {number} > {place}/folder{number}/x",
                    f"mkdir -p {place}/sub && echo {number} > {place}/sub/file",
                    f"cat {place}/file > {place}/new && mv {place}/new {place}/file",
                    f"ln {place}/file {place}/hard{number}",
                    f"ln -s file {place}/to{number}",
                    f"echo {number} > {place}",
                    f"chmod 700 {place}/sub",
                    f"chmod 640 {place}/file",
                ]
            )
        )
    return "".join(f"({line}) 2>/dev/null; echo {number} $?\n" for number, line in enumerate(lines))


def configure(place: str, mounts: list[dict[str, Any]], script: str, root: dict[str, Any]) -> None:
    """Write the configuration of a bundle."""
    looks = LIST.format(about=" ".join(ABOUT))
    first = [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["mode=755"]},
    ]
    content = {
        "ociVersion": "1.0.0",
        "process": {
            "user": {"uid": 0, "gid": 0}, "cwd": "/", "env": ["PATH=/bin"],
            "args": ["/bin/sh", "-c", f"{looks}{script}{looks}"],
            "capabilities": {kind: ["CAP_DAC_OVERRIDE"] for kind in ("bounding", "effective", "permitted")},
        },
        "root": {"path": "rootfs", **root},
        "mounts": [
            *first, *({**each, "source": str(each["source"]).replace("@", os.path.abspath(place))} for each in mounts)
        ],
        "linux": {"namespaces": [{"type": kind} for kind in ("mount", "pid", "ipc", "uts")]},
    }  # fmt: skip
    write(f"{place}/config.json", json.dumps(content))


def run(runtime: str, bundle: str) -> tuple[int, str]:
    """Run a container; return its exit code and output."""
    more = ["--cgroup-manager=disabled"] if runtime.endswith("crun") else []
    done = subprocess.run(
        [runtime, *more, "run", "--bundle", bundle, f"c{os.getpid()}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60,
    )  # fmt: skip
    return done.returncode, done.stdout.decode(errors="replace")


def run_staged(runtime: str, bundle: str) -> tuple[int, str]:
    """Run a container as contrib/scrun/staging.py stages it."""
    config = oci.read(f"{bundle}/config.json")
    place = f"{bundle} staged"
    rootfs = f"{place}/rootfs"
    scrun.copy_tree(f"{bundle}/rootfs", rootfs)
    binds = scrun.copy_binds(config, rootfs)
    oci.write(config, f"{place}/config.json")
    seen = run(runtime, place)
    scrun.return_binds(binds, rootfs)
    scrun.copy_tree(rootfs, f"{bundle}/rootfs", update=True, delete=True)
    return seen


def files(place: str) -> dict[str, str]:
    """Return everything in the folders of the host, in the volume and in the image."""
    found = {}
    for top in ("host", "vol", *(f"rootfs/{name}" for name in ABOUT)):
        for folder, names, inside in os.walk(f"{place}/{top}"):
            for name in [*names, *inside, "."]:
                path = os.path.normpath(os.path.join(folder, name))
                shown = os.path.relpath(path, place)
                if os.path.islink(path):
                    found[shown] = f"-> {os.readlink(path)}"
                elif os.path.isdir(path):
                    found[shown] = f"{os.stat(path).st_mode & 0o7777:o}/"
                else:
                    with open(path) as file:
                        found[shown] = f"{os.stat(path).st_mode & 0o7777:o} {file.read()}"
    return found


def _even_mount_points(found: dict[str, str], staged: dict[str, str], mounts: list[dict[str, Any]], top: str) -> None:
    """Leave out mount points: those in the image, those in read-only sources, and the modes of all others."""
    make(f"{top}/before")
    before = files(f"{top}/before")
    fixed = [
        os.path.relpath(os.path.realpath(f"{top}/before/{each['source'].removeprefix('@/')}"), f"{top}/before")
        for each in mounts
        if {"ro", "rro"}.intersection(each["options"])
    ]
    for name, what in [*found.items(), *staged.items()]:
        if name in before:
            continue
        if name.startswith("rootfs/") and what.endswith(("/", " ")):
            found.pop(name, None)
            staged.pop(name, None)
            continue
        if what.endswith(("/", " ")) and name in staged and staged[name][-1] == what[-1]:
            staged[name] = what  # runtimes give them modes of their own
        if name in found and name not in staged and any(name.startswith(f"{folder}/") for folder in fixed):
            assert what.endswith(("/", " ")), f"{name} was written in a read-only source: {what}"
            del found[name]


def differences(runtime: str, chance: random.Random, top: str) -> list[str] | None:
    """Run one container both ways; return what differs. None: the runtime refuses it."""
    mounts, script = [mount(chance, runtime) for _ in range(chance.randint(1, 5))], actions(chance)
    root = {"readonly": True} if chance.random() < 0.2 else {}
    places = [f"{top}/plain", f"{top}/other"]
    seen: list[tuple[int, list[str], dict[str, str]]] = []
    for place, how in zip(places, (run, run_staged), strict=True):
        make(place)
        configure(place, mounts, script, root)
        try:
            code, output = how(runtime, place)
        except scrun.StagingError as error:
            code, output = -1, str(error)
        if code and not seen:
            return None
        # Runtimes give mount points that are missing modes of their own.
        seen.append((code, output.replace(" 1755/", " 755/").splitlines(), files(place)))
    _even_mount_points(seen[0][2], seen[1][2], mounts, top)
    (code, lines, found), (staged_code, staged_lines, staged_found) = seen
    wrong = [f"code {code}, staged {staged_code}: {staged_lines[-1:]}"] if code != staged_code else []
    wrong += difflib.unified_diff(lines, staged_lines, "as it is", "staged", n=0, lineterm="")
    for name in sorted({*found, *staged_found}):
        if found.get(name) != staged_found.get(name):
            wrong.append(f"host: {name}: {found.get(name)}, staged {staged_found.get(name)}")
    return wrong and [json.dumps([root, *mounts]), script, *wrong]


def main(runtime: str, seed: str, number: str, folder: str) -> None:
    """Print the number of containers that ran, then all differences."""
    ran, wrong = 0, []
    for index in range(int(number)):
        top = f"{folder}/{index}"
        found = differences(runtime, random.Random(f"{seed} {index}"), top)
        shutil.rmtree(top)
        ran += found is not None
        wrong += [f"{index}: {line}" for line in found or ()]
    sys.stdout.write("\n".join([str(ran), *wrong]))


if __name__ == "__main__":
    os.umask(0o022)
    main(*sys.argv[1:])
