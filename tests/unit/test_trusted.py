# SPDX-License-Identifier: GPL-2.0-or-later
"""Privileged processes run only files that no other user could have written."""

import _imp
import ctypes
import importlib.util
import marshal
import multiprocessing
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slurmhooks import loader, manifest, site, slurm_conf, trusted
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.loader import Source

Write = Callable[..., Path]

NOBODY = 65534
SLURM_USER = 64030
HANDLER = "from slurmhooks import hook\n\n@hook.job_submit\ndef handler(job): ...\n"
EVIL = "raise AssertionError('it ran')\n"
ROUNDS = 300
RENAME_EXCHANGE = 2
AT_FDCWD = -100

root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away, and is attacked by ordinary users")


@pytest.fixture(autouse=True)
def privileged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process trust only root and its own user, as Slurm's daemons do."""
    monkeypatch.setattr(trusted, "_owners", None)
    trusted.guard()


@pytest.fixture
def path(write: Write) -> Path:
    """A hook file, three folders below tmp_path."""
    return write("site/slurm/hooks.d/a.py", HANDLER)


def load(path: Path | str) -> int:
    """Load a hook file; return the number of its handlers."""
    return len(loader.load([Source(path=str(path))]).all_handlers())


def finding(path: Path | str) -> str:
    """Return the finding for a hook file."""
    with pytest.raises(LoadError) as caught:
        load(path)
    (text,) = caught.value.findings
    return text


def make_group_writable(path: Path) -> None:
    """Make a file or folder writable by a group."""
    path.chmod(path.stat().st_mode | 0o020)


def make_world_writable(path: Path) -> None:
    """Make a file or folder writable by everybody."""
    path.chmod(path.stat().st_mode | 0o002)


def give_away(path: Path) -> None:
    """Make an ordinary user the owner of a file or folder."""
    os.chown(path, NOBODY, -1)


def allow_by_list(path: Path) -> None:
    """Allow a user to write to a file or folder, by an access control list."""
    tags = ((1, 6, -1), (2, 6, NOBODY), (4, 5, -1), (16, 7, -1), (32, 5, -1))  # user, named user, group, mask, other
    content = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, may, who & 0xFFFFFFFF) for tag, may, who in tags)
    try:
        os.setxattr(path, "system.posix_acl_access", content)
    except OSError as error:
        pytest.skip(f"this file system has no access control lists: {error}")


EXPOSURES = {
    "world": (make_world_writable, "is writable by everybody", "chmod o-w"),
    "group": (make_group_writable, "is writable by group", "chmod g-w"),
    "list": (allow_by_list, "is writable by group", "chmod g-w"),
    "owner": (give_away, "belongs to", "chown root"),
}


@root
@pytest.mark.parametrize("exposure", EXPOSURES)
@pytest.mark.parametrize("component", ["site", "site/slurm", "site/slurm/hooks.d", "site/slurm/hooks.d/a.py"])
def test_every_component_is_judged(path: Path, tmp_path: Path, component: str, exposure: str) -> None:
    """A file is refused if others can write to it or a folder above; the command in the finding repairs it.

    This holds for any group, even root's: if a file has an access control list, the group's bit stands for all its
    entries.
    """
    expose, what, command = EXPOSURES[exposure]
    place = tmp_path / component
    expose(place)
    text = finding(path)
    assert text.startswith(f"{path}: {'it' if place == path else place} {what}")
    assert text.endswith(f": {command} {place}")
    subprocess.run(text.rpartition(": ")[2].split(), check=True)
    assert load(path) == 1


def test_a_sticky_folder_is_no_safe_place(path: Path, tmp_path: Path) -> None:
    """A file directly below /tmp is refused; the remedy is not to change /tmp."""
    (tmp_path / "site").chmod(0o1777)
    assert finding(path).endswith(f": move {path} to a folder that only root can write")


@pytest.mark.parametrize(
    ("owner", "uid", "others", "runs"),
    [
        (0, 0, (), True),
        (0, SLURM_USER, (), True),
        (SLURM_USER, SLURM_USER, (), True),
        (SLURM_USER, 0, (), False),
        (SLURM_USER, 0, (SLURM_USER,), True),
        (NOBODY, SLURM_USER, (), False),
        (NOBODY, 0, (SLURM_USER,), False),
    ],
)
@root
def test_whose_files_run(
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: int,
    uid: int,
    others: tuple[int, ...],
    runs: bool,
) -> None:
    """Files of root and of this process's user are accepted, and for `slurmhooks check` those of further users."""
    monkeypatch.setattr(os, "getuid", lambda: uid)
    monkeypatch.setattr("posix.getuid", lambda: uid)
    trusted.guard(*others)
    os.chown(path, owner, -1)
    if runs:
        assert load(path) == 1
    else:
        assert f" belongs to {trusted._user_name(owner)}" in finding(path)


@root
@pytest.mark.parametrize(
    ("map_of_users", "owner", "runs"),
    [
        ("         0       2001          1\n", NOBODY, True),
        ("         0       2001          1\n", 4711, False),
        ("         0       2001          1\n         1     100000      65536\n", NOBODY, False),
        ("         0          0 4294967295\n", NOBODY, False),
    ],
    ids=["hidden", "shown", "a container's own nobody", "no namespace"],
)
def test_owners_in_a_user_namespace(
    path: Path, write: Write, monkeypatch: pytest.MonkeyPatch, map_of_users: str, owner: int, runs: bool
) -> None:
    """A user namespace shows root's files as nobody's; files of a user nobody whom it maps are refused."""
    monkeypatch.setattr(trusted, "UID_MAP", str(write("uid_map", map_of_users)))
    os.chown(path, owner, -1)
    if runs:
        assert load(path) == 1
    else:
        assert "belongs to" in finding(path)


def load_in_namespace(path: Path, *maps: str) -> int:
    """Load a hook file as root of a user namespace with a map of user ids; return 0, or 1 if it is refused."""
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        code = 2
        try:
            os.setgroups([])
            ctypes.CDLL(None).unshare(0x10000000)  # CLONE_NEWUSER
            os.write(ready[1], b".")
            os.read(go[0], 1)
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)
            trusted.guard()
            trusted.read(str(path))
            code = 0
        except LoadError:
            code = 1
        finally:
            os._exit(code)
    os.read(ready[0], 1)
    for name in ("uid_map", "gid_map"):
        Path(f"/proc/{child}/{name}").write_text("".join(f"{row}\n" for row in maps))
    os.write(go[1], b".")
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for descriptor in (*ready, *go):
        os.close(descriptor)
    return code


@root
def test_owners_in_a_real_user_namespace(reachable: Path) -> None:
    """The same in a real namespace like those of podman, which hides root and maps a user nobody."""
    maps = ("0 2001 1", "1 100000 65536")
    (reachable / "site" / "hooks.d").mkdir(parents=True)
    path = reachable / "site" / "hooks.d" / "a.py"
    path.write_text(HANDLER)
    (reachable / "link").symlink_to("site")
    for name in (path, reachable / "link" / "hooks.d" / "a.py"):
        assert load_in_namespace(name, *maps) == 0
        assert load_in_namespace(name, maps[0]) == 0
    for place in (path, path.parent, path.parents[1]):
        for owner, runs in ((2001, 0), (100000 + NOBODY - 1, 1), (100000, 1), (0, 0)):
            os.chown(place, owner, owner)
            assert load_in_namespace(path, *maps) == runs, (place, owner)


# Links.


@root
def test_a_link_counts_with_its_folder(path: Path, tmp_path: Path) -> None:
    """A link is refused if others own it or can write to its folder, even if it leads to a file of root."""
    for name, target in (("relative", "site/slurm/hooks.d"), ("absolute", str(path.parent)), ("back", "site/../site")):
        (tmp_path / "links" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "links" / name).symlink_to(target if target.startswith("/") else f"../{target}")
    by_link = tmp_path / "links" / "relative" / "a.py"
    for name, below in (("relative", "a.py"), ("absolute", "a.py"), ("back", "slurm/hooks.d/a.py")):
        assert load(tmp_path / "links" / name / below) == 1
    os.chown(tmp_path / "links" / "relative", NOBODY, -1, follow_symlinks=False)
    assert finding(by_link).endswith(f": chown -h root {tmp_path}/links/relative")
    os.chown(tmp_path / "links" / "relative", 0, -1, follow_symlinks=False)
    make_world_writable(tmp_path / "links")
    for name, below in (("relative", "a.py"), ("absolute", "a.py"), ("back", "slurm/hooks.d/a.py")):
        assert finding(tmp_path / "links" / name / below).endswith(f": chmod o-w {tmp_path}/links")


def test_a_glob_over_a_link_in_an_exposed_folder(path: Path, tmp_path: Path) -> None:
    """A glob over a link in an exposed folder is refused; over a trusted link, it has names without links."""
    (tmp_path / "link.py").symlink_to(path)
    assert [source.path for source in loader.expand(["*.py"], str(tmp_path))] == [str(path)]
    make_world_writable(tmp_path)
    (source,) = loader.expand(["*.py"], str(tmp_path))
    with pytest.raises(LoadError, match=f"chmod o-w {tmp_path}$"):
        loader.load([source])


@pytest.mark.parametrize("name", ["d/a.py", "linked/a.py", "d/../d/a.py", "d//./a.py", "linked/../d/a.py", "up/d/a.py"])
def test_names_without_links_and_detours(write: Write, tmp_path: Path, name: str) -> None:
    """The resolved path and the file that is read are the same as those of the operating system."""
    write("d/a.py", "content")
    (tmp_path / "linked").symlink_to("d/.")
    (tmp_path / "up").symlink_to(f"../../{tmp_path.parent.name}/{tmp_path.name}")
    full = str(tmp_path / name.split("/", 1)[0]) + "/" + name.split("/", 1)[1]
    assert trusted.real(full) == os.path.realpath(full)
    assert trusted.read(full) == b"content"


def test_relative_names_start_from_the_current_folder(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path is resolved from the current folder, and checked as a whole."""
    monkeypatch.chdir(path.parent)
    assert trusted.real("../hooks.d/a.py") == trusted.real("/proc/self/cwd/a.py") == str(path)
    make_world_writable(path.parents[1])
    for name in ("a.py", "/proc/self/cwd/a.py", "/proc/thread-self/cwd/a.py"):
        with pytest.raises(LoadError, match=f"chmod o-w {path.parents[1]}$"):
            trusted.read(name)


def test_links_without_end(tmp_path: Path) -> None:
    """The same number of links as in the kernel is followed."""
    for number in range(41):
        (tmp_path / f"{number}").symlink_to(f"{number + 1}")
    (tmp_path / "41").write_text("end")
    assert trusted.read(str(tmp_path / "1")) == b"end"
    assert finding(tmp_path / "0") == f"{tmp_path / '0'}: Too many levels of symbolic links"


def test_folders_are_asked_for_as_folders(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders are opened in a way that makes an automounter mount them."""
    real = os.open
    asked: dict[str, int] = {}

    def ask(name: str, flags: int, *, dir_fd: int | None = None) -> int:
        asked.setdefault(name, flags)
        return real(name, flags, dir_fd=dir_fd)

    monkeypatch.setattr("posix.open", ask)
    trusted.read(str(path))
    assert {name for name, flags in asked.items() if flags & os.O_DIRECTORY} >= set(path.parent.parts) - {"/"}


# The file that is read is the one that was checked.


def test_what_is_no_file(tmp_path: Path) -> None:
    """Folders, FIFOs and devices are refused without waiting; a large file is read completely."""
    os.mkfifo(tmp_path / "fifo.py")
    assert finding(tmp_path / "fifo.py") == f"{tmp_path / 'fifo.py'}: not a file"
    assert finding("/dev/null").startswith("/dev/null: it is writable by everybody")
    assert finding(tmp_path / "gone" / "a.py") == f"{tmp_path / 'gone' / 'a.py'}: no such hook file"
    (tmp_path / "file").write_bytes(b"x" * (5 << 20))
    assert len(trusted.read(str(tmp_path / "file"))) == 5 << 20
    assert finding(tmp_path / "file" / "a.py").endswith(": Not a directory")
    assert finding(f"{tmp_path}/a\0.py").endswith(": Invalid argument")


@root
def test_the_descriptor_that_is_read_is_judged(path: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a file is replaced between check and open, the new one is also checked."""
    evil = write("evil.py", EVIL)
    os.chown(evil, NOBODY, -1)
    real = os.open

    def swap(name: str, flags: int, *, dir_fd: int | None = None) -> int:
        if flags == trusted.TO_READ:
            evil.rename(path)
        return real(name, flags, dir_fd=dir_fd)

    monkeypatch.setattr("posix.open", swap)
    with pytest.raises(LoadError, match=f": chown root {path}$"):
        trusted.read(str(path))


def test_the_root_folder_is_judged(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The root folder is checked, too: in a container, any user may own it."""
    real = os.fstat
    top = os.stat("/")

    def fstat(descriptor: int) -> os.stat_result:
        status = real(descriptor)
        if not os.path.samestat(status, top):
            return status
        return os.stat_result((status.st_mode | 0o002, *status[1:]))

    monkeypatch.setattr("posix.fstat", fstat)
    assert finding(path).endswith(": chmod o-w /")


@root
def test_a_hard_link_to_a_file_of_root(path: Path, tmp_path: Path) -> None:
    """A hard link to a file of root, in a folder of another user, is refused."""
    folder = tmp_path / "of the user"
    folder.mkdir()
    give_away(folder)
    os.link(path, folder / "a.py")
    assert f"{folder} belongs to " in finding(folder / "a.py")
    assert load(path) == 1


@root
def test_names_that_others_have_chosen(tmp_path: Path) -> None:
    """File names are escaped in messages, and quoted in the command."""
    for name in ("$(touch pwned)", "a; touch pwned #", "'`touch pwned`", "line\nslurmhooks: forged"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "a.py").write_text(HANDLER)
        give_away(folder)
        text = finding(folder / "a.py")
        assert "\n" not in text
        command = text.rpartition(": chown root ")[2]
        done = subprocess.run(["sh", "-c", f"printf %s {command}"], cwd=tmp_path, capture_output=True, text=True)
        assert done.stdout == str(folder).replace("\n", "\\n")
    assert not (tmp_path / "pwned").exists()
    os.symlink("loop", tmp_path / "line\nloop")
    os.symlink("line\nloop", tmp_path / "loop")
    assert finding(tmp_path / "line\nloop") == f"{tmp_path}/line\\nloop: Too many levels of symbolic links"
    for pattern in ("line\nloop/*.py", "line?loop/*.py"):
        with pytest.raises(LoadError) as caught:
            loader.expand([pattern], str(tmp_path))
        (text,) = caught.value.findings
        assert text.startswith(f"{tmp_path}/line\\nloop: Too many levels of symbolic links")


@pytest.mark.parametrize("kind", [0b00, 0b01, 0b11], ids=["by time", "unchecked hash", "checked hash"])
def test_byte_code_beside_a_hook_file_does_not_run(path: Path, kind: int) -> None:
    """Byte code beside a hook file is never used: the code is compiled from the content that was read."""
    os.utime(path, (1000, 1000))
    status = path.stat()
    cached = Path(importlib.util.cache_from_source(str(path)))
    cached.parent.mkdir()
    header = importlib.util.MAGIC_NUMBER + struct.pack("<I", kind)
    source_hash = _imp.source_hash(importlib._bootstrap_external._RAW_MAGIC_NUMBER, path.read_bytes())  # type: ignore[attr-defined]
    rest = source_hash if kind else struct.pack("<II", int(status.st_mtime), status.st_size)
    cached.write_bytes(header + rest + marshal.dumps(compile(EVIL, str(path), "exec")))
    assert load(path) == 1


@contextmanager
def attacker(attack: Callable[[], object]) -> Iterator[None]:
    """Repeat an attack in another process, as an ordinary user."""

    def run() -> None:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        while True:
            attack()

    process = multiprocessing.get_context("fork").Process(target=run, daemon=True)
    process.start()
    try:
        yield
        assert process.is_alive()
    finally:
        process.kill()
        process.join()


def exchange(one: Path, other: Path) -> None:
    """Exchange two names atomically."""
    result = ctypes.CDLL(None, use_errno=True).renameat2(
        AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE
    )
    if result:
        raise OSError(ctypes.get_errno(), "renameat2")


@pytest.fixture
def reachable(tmp_path: Path) -> Iterator[Path]:
    """A folder that ordinary users can enter, below folders of root."""
    folder = Path("/var/lib", f"slurmhooks-test-{os.getpid()}")
    folder.mkdir(mode=0o755)
    try:
        yield folder
    finally:
        subprocess.run(["rm", "-r", str(folder)], check=True)


@root
@pytest.mark.parametrize("attack", ["exchange", "link"])
def test_folders_that_are_swapped(reachable: Path, attack: str) -> None:
    """A user who can write to a folder above, and constantly exchanges folders, cannot make root run other code."""
    theirs = reachable / "theirs"
    good, evil = theirs / "hooks.d", theirs / "evil.d"
    for folder, source in ((good, HANDLER), (evil, EVIL)):
        folder.mkdir(parents=True)
        (folder / "a.py").write_text(source)
    os.chown(theirs, NOBODY, NOBODY)
    os.chown(evil, NOBODY, NOBODY)
    os.chown(evil / "a.py", NOBODY, NOBODY)
    path = good / "a.py"
    if attack == "link":
        (theirs / "one").symlink_to("hooks.d")
        (theirs / "two").symlink_to("evil.d")
        good, evil, path = theirs / "one", theirs / "two", theirs / "one" / "a.py"
    with attacker(lambda: exchange(good, evil)):
        for _ in range(ROUNDS):
            assert finding(path).endswith(f": chown root {theirs}")


@root
def test_a_file_that_is_swapped_in_a_sticky_folder(reachable: Path) -> None:
    """The same in a sticky folder, where users can only add and remove their own files."""
    (reachable / "a.py").write_text(EVIL)
    reachable.chmod(0o1777)

    def attack() -> None:
        (reachable / "a.py").unlink(missing_ok=True)
        (reachable / "a.py").symlink_to("/etc/hostname")

    os.chown(reachable / "a.py", NOBODY, NOBODY)
    with attacker(attack):
        for _ in range(ROUNDS):
            assert "move " in finding(reachable / "a.py")


# The files and folders that name the hook files.


@root
@pytest.mark.parametrize("exposure", EXPOSURES)
def test_a_configuration_in_an_exposed_folder(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exposure: str
) -> None:
    """A configuration below a folder that others can write to is refused."""
    path = write("site/slurm/slurmhooks.toml", "")
    monkeypatch.setenv("SLURM_CONF", str(path.with_name("slurm.conf")))
    assert site.of_config()[1] == []
    EXPOSURES[exposure][0](tmp_path / "site")
    for read in (site.sources, site.of_config, site.lua_version):
        with pytest.raises((ConfigError, LoadError), match=f"{EXPOSURES[exposure][2]} {tmp_path}/site$"):
            read()
    path.unlink()
    with pytest.raises(ConfigError):
        site.sources()


def test_hook_files_that_others_could_take_away(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A glob is refused if others could remove the files that it matches."""
    monkeypatch.setenv("SLURM_CONF", str(write("slurm.conf", "")))
    write("slurmhooks.toml", '[hooks]\npaths = ["site/hooks.d/*.py"]\n')
    (tmp_path / "site").mkdir()
    assert site.of_config()[1] == []
    make_world_writable(tmp_path / "site")
    for read in (site.sources, site.of_config, lambda: site.of_plugstack(["site/hooks.d/*.lua"])):
        with pytest.raises(LoadError, match=f"chmod o-w {tmp_path}/site$"):
            read()


def test_a_manifest_in_an_exposed_folder(write: Write, tmp_path: Path) -> None:
    """Python also refuses a manifest below a folder that others can write to."""
    path = write("site/slurmhooks.manifest", "slurmhooks-manifest 2 0x1\nline a\nsource /etc/b.py\nend\n")
    assert manifest.read(["a"], str(path)) == [["source", "/etc/b.py"], ["end"], [""]]
    make_world_writable(tmp_path / "site")
    with pytest.raises(LoadError, match=f"chmod o-w {tmp_path}/site$"):
        manifest.read(["a"], str(path))


def test_a_relative_slurm_conf(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative SLURM_CONF is relative to the current folder."""
    write("site/slurmhooks.toml", "")
    for folder, conf in ((tmp_path, "site/slurm.conf"), (tmp_path / "site", "slurm.conf")):
        monkeypatch.chdir(folder)
        monkeypatch.setenv("SLURM_CONF", conf)
        assert slurm_conf.directory() == str(tmp_path / "site")
        assert site.config_path() == tmp_path / "site" / "slurmhooks.toml"


@root
@pytest.mark.parametrize("what", ["source", "package", "byte code", "folder of byte code"])
def test_an_installed_module_that_others_can_write(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """A module of the configuration and its byte code are checked before the import."""
    name = f"trusted_site_{what.replace(' ', '_')}"
    source = write(f"lib/{name}/inner/__init__.py", EVIL)
    write(f"lib/{name}/__init__.py", "")
    cached = Path(importlib.util.cache_from_source(str(source)))
    cached.parent.mkdir()
    if what == "byte code":
        cached.touch()
    places = {"source": source, "package": source.parents[1], "byte code": cached, "folder of byte code": cached.parent}
    monkeypatch.syspath_prepend(tmp_path / "lib")
    give_away(places[what])
    with pytest.raises(LoadError) as caught:
        loader.load([Source(module=f"{name}.inner")])
    assert caught.value.findings[0].endswith(f": chown root {places[what]}")
    assert f"{name}.inner" not in sys.modules


# Processes of users.


def test_a_process_of_a_user(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of a user runs files of any owner, but none that everybody can write to."""
    monkeypatch.setattr(trusted, "_owners", None)
    (tmp_path / "site").chmod(0o1777)
    make_group_writable(path)
    assert load(path) == 1
    for place, mode in ((path, 0o646), (path.parent, 0o1777), (path.parent, 0o777), (tmp_path / "site", 0o777)):
        before = place.stat().st_mode
        place.chmod(mode)
        assert "is writable by everybody" in finding(path)
        place.chmod(before)
    (tmp_path / "site" / "link.py").symlink_to(path)
    assert finding(tmp_path / "site" / "link.py").startswith(f"{tmp_path}/site/link.py: {tmp_path}/site is writable")
