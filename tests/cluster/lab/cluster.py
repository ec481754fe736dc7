# SPDX-License-Identifier: GPL-2.0-or-later
"""Bring clusters up and down, and copy files in and out."""

import contextlib
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

from . import commands, daemons, namespace, places, rootfs
from .errors import LabError, UsageError
from .releases import Release

CONF = os.path.join(places.HERE, "conf")
ARCHES = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}


def up(
    release: Release,
    nodes: int | None,
    fresh: bool,
    below: Callable[[Release], bool] | None = None,
    prepare: Callable[[Release, namespace.Keeper, bool], None] | None = None,
    start: bool = True,
) -> None:
    """Bring the cluster up, and wait until every node is idle.

    Without ``nodes``, their number is unchanged if the cluster runs, otherwise one. ``below`` is called if the cluster
    has no files yet, to give it a layer; returns False if the layer must be prepared. ``prepare`` is called before the
    daemons start, unless they run already, with whether the cluster had no files yet. Without ``start``, `restart`
    starts Slurm's daemons.
    """
    rootfs.make(release)
    directory = places.cluster(release.name)
    with places.locked(directory, f"up {release.name}"):
        keeper = places.read_keeper(directory)
        running = read_nodes(directory)
        if keeper and not fresh and nodes in (None, running):
            if not _answers(keeper, running):
                places.say(f"cluster {release.name}: up, but some daemons do not answer: starting them")
                namespace.call(keeper, lambda: _start(release, running))
            return
        if keeper:
            end(directory, keeper)
        if fresh:
            shutil.rmtree(directory, ignore_errors=True)
            os.makedirs(directory)
        is_new = not os.path.isdir(os.path.join(directory, "upper"))
        if below is not None and is_new and not below(release):
            _up(release, directory, nodes or 1, is_new, prepare, start=False)
            if keeper := places.read_keeper(directory):
                end(directory, keeper)
            shutil.rmtree(directory)
            os.makedirs(directory)
            below(release)
        _up(release, directory, nodes or 1, is_new, prepare, start)


def cluster_name(release: str) -> str:
    """Return the ClusterName in slurm.conf."""
    return "cluster" + "".join(filter(str.isalnum, release))


def down(release: Release) -> None:
    """End every process of the cluster; its files remain."""
    directory = places.cluster(release.name)
    if not os.path.isdir(directory):
        return
    with places.locked(directory, f"down {release.name}"):
        if keeper := places.read_keeper(directory):
            end(directory, keeper)


def restart(release: Release, names: Sequence[str] = ()) -> None:
    """Stop and start slurmctld and every slurmd, or only those named, keeping jobs and logs."""
    directory = places.cluster(release.name)
    with places.locked(directory, f"restart {release.name}"):
        restart_daemons(release, places.need_keeper(release.name), names)


def restart_daemons(release: Release, keeper: namespace.Keeper, names: Sequence[str] = ()) -> None:
    """Do what `restart` does, for a caller that holds the cluster's lock."""
    nodes = read_nodes(places.cluster(release.name))

    def body() -> str:
        daemons.stop(names)
        return _start(release, nodes)

    namespace.call(keeper, body)


@contextlib.contextmanager
def entered(release: Release) -> Iterator[tuple[namespace.Keeper, bool]]:
    """Yield a keeper to work in, and whether the cluster is up.

    A cluster that is down gets namespaces until this ends. The caller holds the cluster's lock.
    """
    directory = places.cluster(release.name)
    keeper = places.read_keeper(directory)
    if keeper:
        yield keeper, True
        return
    rootfs.make(release)
    keeper = _keeper(release, directory, lasting=False)
    try:
        yield keeper, False
    finally:
        namespace.end(keeper)


def put(release: Release, source: str, target: str, mode: int | None) -> None:
    """Copy a host file (or stdin, for `-`) into the cluster, owned by root."""
    if not target.startswith("/"):
        raise UsageError(f"put: {target!r} must be an absolute path inside the cluster")
    with _reading(source) as file, places.locked(places.cluster(release.name), f"put {release.name}"):
        if mode is None:
            mode = 0o644 if source == "-" else os.fstat(file.fileno()).st_mode & 0o7777
        final = mode
        content = file.read()
        with entered(release) as (keeper, _):
            namespace.call(keeper, lambda: write(target, content, final, (0, 0)))


def get(release: Release, source: str, target: str) -> None:
    """Copy a file of the cluster to the host (or stdout, for `-`)."""
    if not source.startswith("/"):
        raise UsageError(f"get: {source!r} must be an absolute path inside the cluster")

    def body(descriptor: int) -> str:
        with open(source, "rb") as stream, open(descriptor, "wb", closefd=False) as out:
            shutil.copyfileobj(stream, out)
        return str(os.stat(source).st_mode & 0o7777)

    with places.locked(places.cluster(release.name), f"get {release.name}"), entered(release) as (keeper, _):
        if target == "-":
            namespace.call(keeper, lambda: body(1))
            return
        part = target + ".part"
        try:
            with open(part, "wb") as file:
                mode = namespace.call(keeper, lambda: body(file.fileno()))
            os.chmod(part, int(mode))
            os.rename(part, target)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part)


def log(release: Release, name: str) -> bytes:
    """Return a log file: `slurmctld`, `slurmd` (of all nodes) or a node's name."""
    return daemons.read_log(places.cluster(release.name) + "/upper" + daemons.LOGS, release, name)


def status(release: Release) -> str:
    """Return one line about the cluster, and sinfo's table if it is up."""
    directory = places.cluster(release.name)
    subject = f"{places.cluster_name()}/{release.name}"
    keeper = places.read_keeper(directory)
    if keeper:
        count = read_nodes(directory)
        states = " ".join(namespace.call(keeper, lambda: " ".join(daemons.node_states())).split())
        return f"{subject}: up, {count} node(s): {states or 'slurmctld does not answer'}"
    if not rootfs.ready(release):
        return f"{subject}: down, no root file system yet"
    return f"{subject}: down" + ("" if os.path.isdir(directory + "/upper") else ", never used")


def end(directory: str, keeper: namespace.Keeper) -> None:
    """End every process in the keeper's namespaces."""
    namespace.end(keeper)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(directory, "keeper"))


def read_nodes(directory: str) -> int:
    """Return how many nodes the cluster was brought up with."""
    try:
        with open(os.path.join(directory, "nodes"), encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 1


def layer_file(name: str, release: str) -> str:
    """Return the file that says which folder is between the root file system and the own files of a set of clusters."""
    return os.path.join(places.clusters(), name, release, "layer")


def read_layer(directory: str) -> str:
    """Return that folder; an empty text if there is none."""
    try:
        with open(os.path.join(directory, "layer"), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def write_layer(directory: str, layer: str) -> None:
    """Choose that folder, before the cluster has files of its own."""
    _write_host(directory, "layer", layer)


def write(path: str, content: bytes, mode: int, owner: tuple[int, int]) -> str:
    """Write a file atomically, and create the directories above it. Runs inside."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.isdir(path):
        raise LabError(f"{path} is a directory: name the file")
    part = path + ".part"
    with open(part, "wb") as file:
        os.fchown(file.fileno(), *owner)
        os.fchmod(file.fileno(), mode)
        file.write(content)
    os.rename(part, path)
    return ""


def _up(
    release: Release,
    directory: str,
    nodes: int,
    is_new: bool,
    prepare: Callable[[Release, namespace.Keeper, bool], None] | None,
    start: bool,
) -> None:
    files = _configuration(release, nodes)
    keeper = _keeper(release, directory, lasting=True)
    try:
        _write_host(directory, "nodes", str(nodes))
        places.write_keeper(directory, keeper)

        def body() -> str:
            daemons.clear()
            daemons.prepare(release, nodes)
            _write_configuration(files)
            daemons.authenticate(release)
            return ""

        namespace.call(keeper, body)
        if prepare is not None:
            prepare(release, keeper, is_new)
        if start:
            namespace.call(keeper, lambda: _start(release, nodes))
    except BaseException:
        end(directory, keeper)
        raise


def _start(release: Release, nodes: int) -> str:
    daemons.prepare(release, nodes)
    daemons.start(release, nodes)
    return ""


def _answers(keeper: namespace.Keeper, nodes: int) -> bool:
    states = namespace.call(keeper, lambda: " ".join(daemons.node_states(1))).split()
    return len(states) == nodes and daemons.READY_STATES.issuperset(states)


def _keeper(release: Release, directory: str, *, lasting: bool) -> namespace.Keeper:
    upper, work, merged = (os.path.join(directory, name) for name in ("upper", "work", "merged"))
    lower = places.rootfs(release.name)
    base = os.path.join(directory, "base")
    if os.path.isdir(upper) and os.path.exists(base):
        with open(base, encoding="ascii") as file:
            if file.read() != rootfs.ident(release):
                raise LabError(
                    f"the root file system of {release.name} has been replaced since this cluster was first up: "
                    f"run 'tests/cluster/run up {release.name} --fresh', which discards the cluster's own files"
                )
    layer = read_layer(directory)
    if layer and not os.path.isdir(layer):
        raise LabError(
            f"{layer}, which the cluster uses, has been removed: run 'tests/cluster/run up {release.name} --fresh'"
        )
    shutil.rmtree(work, ignore_errors=True)  # says that an earlier mount was volatile, so that the next one is refused
    for path in (upper, work, merged):
        os.makedirs(path, exist_ok=True)
    _write_host(directory, "base", rootfs.ident(release))

    def attach() -> str:
        os.chdir(directory)  # short, relative names: a comma or colon in a folder above would break the options
        lowers = ":".join(os.path.relpath(path, directory) for path in (layer, lower) if path)
        # volatile: nothing waits for the disk. A deployment alone calls fsync twenty times.
        options = f"lowerdir={lowers},upperdir=upper,workdir=work,userxattr,volatile"
        namespace.mount("overlay", "merged", "overlay", 0, options)
        return merged

    title = f"slurmhooks cluster {places.cluster_name()}/{release.name}"
    return namespace.start(title, attach, isolated=True, lasting=lasting)


def _configuration(release: Release, nodes: int) -> dict[str, tuple[str, int, str]]:
    """Return the files of /etc/slurm: text, mode and owner by name; slurm.conf is the first."""
    with open(os.path.join(CONF, "slurm.conf.in"), encoding="utf-8") as file:
        text = file.read()
    node_lines = [
        f"NodeName=n{node} NodeHostname=ctl NodeAddr=127.0.0.1 Port={release.slurmd_port(node)} "
        "CPUs=8 RealMemory=4000 State=UNKNOWN"
        for node in range(1, nodes + 1)
    ]
    values = {
        "NAME": cluster_name(release.name),
        "CTLD_PORT": str(release.ctld_port),
        "AUTH": release.auth,
        "ARCH": ARCHES.get(os.uname().machine, f"{os.uname().machine}-linux-gnu"),
        "PLUGINS": release.plugins,
        "NODES": "\n".join(node_lines),
    }
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    files = {
        "slurm.conf": (text, 0o644, "root"),
        "cgroup.conf": (f"CgroupPlugin={release.cgroup_plugin}\n", 0o644, "root"),
        "plugstack.conf": ("", 0o644, "root"),
        "local.conf": ("# Yours: slurm.conf includes this, and nothing overwrites it.\n", 0o644, "root"),
    }
    if release.auth == "slurm":
        files["slurm.key"] = (secrets.token_hex(512), 0o600, "slurm")
    if release.has_scrun:
        with open(os.path.join(CONF, "oci.conf"), encoding="utf-8") as file:
            files["oci.conf"] = (file.read(), 0o644, "root")
    return files


def _write_configuration(files: dict[str, tuple[str, int, str]]) -> None:
    for name, (text, mode, owner) in files.items():
        path = f"/etc/slurm/{name}"
        if name == "slurm.conf" or not os.path.exists(path):
            uid, gid = commands.account(owner)[:2]
            write(path, text.encode(), mode, (uid, gid))


def _write_host(directory: str, name: str, text: str) -> None:
    path = os.path.join(directory, name)
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(path + ".new", path)


@contextlib.contextmanager
def _reading(source: str) -> Iterator[BinaryIO]:
    if source == "-":
        yield sys.stdin.buffer
        return
    try:
        with open(source, "rb") as file:
            yield file
    except FileNotFoundError:
        raise UsageError(f"put: no file {source}") from None
