# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the tasks of a step in a container: a folder with another root file system becomes their root.

All that users may choose is done with their rights, in a user namespace. Batch scripts run outside; each srun in them
makes a container of its own.
"""

import os

from slurmhooks import Reject, hook, namespaces  # here, because there is no Python in the container
from slurmhooks.types import Spank

OF_THE_NODE = ("/proc", "/dev", "/sys")


Mount = tuple[str, str, bool]
"""A folder of the node, its place in the container, and whether it is read-only there."""


def folder(text: str) -> str:
    """Refuse what could mean another folder on the node."""
    if not text.startswith("/"):
        raise ValueError(f"{text} is no absolute path")
    return text


def triples(text: str) -> list[Mount]:
    """Split SRC:DST and SRC:DST:ro."""
    words = [word.split(":") for word in text.split(",")]
    if any(len(word) not in (2, 3) or word[2:] not in ([], ["ro"]) for word in words):
        raise ValueError("give SRC:DST or SRC:DST:ro, separated by commas")
    return [(word[0], word[1], len(word) == 3) for word in words]


option = hook.spank.option
image = option("container-image", "FOLDER", usage="[containers] root file system for the tasks", type=folder)
mounts = option("container-mounts", "SRC:DST[:ro],...", usage="[containers] folders of the node in it", type=triples)
workdir = option("container-workdir", "FOLDER", usage="[containers] working folder in it, by default /", type=folder)

made: list[int] = []
"""The user and the mount namespace of the container, open in slurmstepd: its tasks have copies of the descriptors."""
problem = ""


@hook.spank.init_post_opt(contexts=["local", "allocator"])
def complete(spank: Spank) -> None:
    """Tell the user at once, before anything is submitted."""
    if not image.given and (mounts.given or workdir.given):
        raise Reject("--container-mounts and --container-workdir need --container-image")


@hook.spank.init_post_opt(contexts="remote")
def make(spank: Spank) -> None:
    """Runs as root in slurmstepd. A failure here could drain the node, so the tasks report it."""
    global problem
    if image.value is None or spank.step_name == "batch":
        return
    answers, answer = os.pipe()
    waits, go = os.pipe()
    child = os.fork()  # a process with one thread, as a user namespace needs
    if not child:
        os.close(go)
        be_first(spank, image.value, answer, waits)
    os.close(answer)
    os.close(waits)
    text = os.read(answers, 4096).decode(errors="replace")
    os.close(answers)
    if text == "made":
        for name, number in (("uid", spank.job_uid), ("gid", spank.job_gid)):
            with open(f"/proc/{child}/{name}_map", "w", encoding="ascii") as file:
                file.write(f"{number} {number} 1")
        made.extend(os.open(f"/proc/{child}/ns/{kind}", os.O_RDONLY) for kind in ("user", "mnt"))
    else:
        problem = text or "no memory"
    os.close(go)
    os.waitpid(child, 0)


def be_first(spank: Spank, root: str, answer: int, waits: int) -> None:
    """Become the user and make the container; end when slurmstepd has opened its namespaces."""
    try:
        os.setgroups(spank.job_supplementary_gids)
        os.setresgid(*[spank.job_gid] * 3)
        os.setresuid(*[spank.job_uid] * 3)
        namespaces.unshare("user", "mnt")
        namespaces.bind(root, root, recursive=True, follow_links=True)
        for name in OF_THE_NODE:
            namespaces.bind(name, f"{root}{name}", recursive=True, follow_links=True)
        for source, target, readonly in mounts.value or []:
            place = f"{root}/{target}"
            namespaces.bind(source, place, recursive=not readonly, readonly=readonly, follow_links=True)
        namespaces.pivot_root(root, follow_links=True)
        os.write(answer, b"made")
        os.read(waits, 1)
    except (OSError, ValueError) as error:
        os.write(answer, str(error).encode()[:4096])
    finally:
        os._exit(0)


@hook.spank.task_init
def enter(spank: Spank) -> None:
    """Runs in each task, as the user, just before its program."""
    if problem:
        raise Reject(f"no container: {problem}")
    if made:
        namespaces.enter(made[0], "user")
        namespaces.enter(made[1], "mnt")
        try:
            os.chdir(workdir.value or "/")
        except OSError as error:
            raise Reject(f"--container-workdir: {error}") from None
