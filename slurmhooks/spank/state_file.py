# SPDX-License-Identifier: GPL-2.0-or-later
"""The file in which a node keeps the state of a job, for one line of plugstack.conf: JSON that only root can read.

A module of its own, which only processes that use the state import. It avoids the package json: that imports re, and
both take longer than the rest of a launch.
"""

from __future__ import annotations

import errno
import posix
from _json import encode_basestring_ascii, make_scanner
from types import MappingProxyType
from zlib import crc32

from slurmhooks.files import trusted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

FOLDER = "/run/slurmhooks-state"
"""Gone after a reboot, as the jobs are."""
LONGEST = 65536
"""Characters of a value in JSON."""
DEEPEST = 20
"""Lists and mappings in each other."""
NO_PROLOG = (
    "the prolog of the job, which begins its state, has not run here with this line of plugstack.conf:"
    " without PrologFlags=Alloc, Slurm runs none on a node where no step starts, and with RunInJob none of SPANK"
)
_LOCK = "lock"


def frozen(value: object, name: str) -> Any:
    """Return a copy of a JSON value that cannot be changed: lists become tuples, dicts read-only mappings.

    Raises:
        TypeError: JSON has no such value.
        ValueError: it is too long or too deep.
    """
    size = len(encoded(value, name))
    if size > LONGEST:
        raise ValueError(f"spank.state[{name!r}]: {size} characters in JSON; the limit is {LONGEST}")
    return _frozen(value)


def _frozen(value: Any) -> Any:
    if isinstance(value, dict | MappingProxyType):
        return MappingProxyType({key: _frozen(each) for key, each in value.items()})
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def encoded(value: object, name: str, depth: int = 0) -> str:
    """Return a value as JSON; see :func:`frozen`."""
    if depth > DEEPEST:
        raise ValueError(f"spank.state[{name!r}]: more than {DEEPEST} lists and mappings in each other")
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if type(value) is str:
        return encode_basestring_ascii(value)
    if type(value) is int or (type(value) is float and value - value == 0):  # neither infinite nor NaN
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join([encoded(each, name, depth + 1) for each in value])}]"
    if isinstance(value, dict | MappingProxyType) and all(type(key) is str for key in value):
        members = [f"{encode_basestring_ascii(key)}: {encoded(each, name, depth + 1)}" for key, each in value.items()]
        return f"{{{', '.join(members)}}}"
    raise TypeError(
        f"spank.state[{name!r}]: {type(value).__name__} is no JSON value: None, bool, int, finite float, str, lists of"
        " them, and dicts from str to them"
    )


class _Rules:
    """What the scanner of JSON asks for."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = None
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner clears it


def decoded(data: bytes) -> dict[str, Any]:
    """Return the values of a file; see :func:`frozen`.

    Raises:
        ValueError: it is damaged.
    """
    try:
        values, end = make_scanner(_Rules)(data.decode(), 0)  # type: ignore[arg-type] # typeshed knows no rules
    except (StopIteration, TypeError, SystemError) as error:  # without json, the scanner finds no class to raise
        raise ValueError("not JSON") from error
    if not isinstance(values, dict) or data[end:].strip():
        raise ValueError("not a JSON object")
    return {name: _frozen(value) for name, value in values.items()}


def key_of(words: Sequence[str]) -> str:
    """Return the end of a name: the files that a line names, and all its arguments."""
    from slurmhooks.files.plugstack import split

    config, pattern, _ = split(words)
    return ".".join(f"{crc32(os_encoded(each)):08x}" for each in ((config or "", pattern or ""), words))


def os_encoded(words: Sequence[str]) -> bytes:
    """Return words as bytes."""
    return "\0".join(words).encode(errors="surrogateescape")


def key_before(words: Sequence[str], lines: Sequence[Sequence[str]], keys: Sequence[str]) -> str | None:
    """Return the key of the file that a line has from before an edit of plugstack.conf; None if that is not certain.

    Lines and files that fit exactly belong together, then those of which only the arguments for handlers differ, then
    a line and a file that alone are left.
    """
    wanted = [key for key in dict.fromkeys(key_of(each) for each in lines) if key not in keys]
    unclaimed = [key for key in keys if key not in map(key_of, lines)]
    mine = key_of(words)

    def place(key: str) -> str:
        return key.partition(".")[0]

    for place_of in (place, lambda _: ""):
        pairs = []
        for key in wanted:
            rivals = [each for each in wanted if place_of(each) == place_of(key)]
            matches = [each for each in unclaimed if place_of(each) == place_of(key)]
            if len(rivals) == len(matches) == 1:
                pairs.append((key, matches[0]))
        for key, found_key in pairs:
            if key == mine:
                return found_key
            wanted.remove(key)
            unclaimed.remove(found_key)
    return None


class StateFile:
    """The file of one job, on one node, for one line of plugstack.conf."""

    __slots__ = ("_fd", "_folder", "_name", "_owner", "_prefix", "_words")

    def __init__(self, node: str, job: int, words: Sequence[str], folder: str = FOLDER, owner: int = 0) -> None:
        """Touch nothing yet.

        A machine may have several nodes. ``words`` are the arguments of the line, which identify it. ``owner`` must own
        ``folder``, where the files are.
        """
        self._prefix = f"{node}.{job}."
        self._words = words
        self._name = self._prefix + key_of(words)
        self._folder = folder
        self._owner = owner
        self._fd: int | None = None

    def __str__(self) -> str:
        """Return its path."""
        return f"{self._folder}/{self._name}"

    def hold(self) -> None:
        """Keep the folder open: handlers may hide it by mounts. No effect if it does not exist yet."""
        if self._fd is None:
            self._fd = self._open(create=False)

    def find(self, lines: Callable[[], Sequence[Sequence[str]]]) -> None:
        """Use the file from before an edit of plugstack.conf, if the line has no file of its own."""
        folder = self._open(create=False)
        if folder is None:
            return
        try:
            names = posix.listdir(folder)
        finally:
            self._close(folder)
        keys = [name.removeprefix(self._prefix) for name in names if name.startswith(self._prefix)]
        keys = [key for key in keys if not key.endswith(".new")]
        if keys and key_of(self._words) not in keys:
            self._name = self._prefix + (key_before(self._words, lines(), keys) or key_of(self._words))

    def read(self) -> dict[str, Any] | None:
        """Return the values; None if no prolog has begun the state.

        Raises:
            OSError: the folder is not root's alone, or cannot be read.
            ValueError: the file is damaged.
        """
        folder = self._open(create=False)
        if folder is None:
            return None
        try:
            return self._read(folder)
        finally:
            self._close(folder)

    def begin(self) -> None:
        """Create the file, without values; see :meth:`write`."""
        self._name = self._prefix + key_of(self._words)
        self.write({}, (), begin=True)

    def write(self, values: Mapping[str, Any], removed: Sequence[str], begin: bool = False) -> None:
        """Change some values; the others are those of the file, which other processes may have changed meanwhile.

        ``begin``: create the file if it does not exist.

        Raises:
            OSError: the file does not exist, the folder is not root's alone, or it cannot be written; nothing has
                changed then.
            ValueError: the file is damaged.
        """
        folder = self._open(create=begin)
        if folder is None:
            raise FileNotFoundError(errno.ENOENT, NO_PROLOG, str(self))
        flags = posix.O_WRONLY | posix.O_CREAT | posix.O_CLOEXEC
        new = f"{self._name}.new"
        try:
            lock = posix.open(_LOCK, flags, 0o600, dir_fd=folder)
            try:
                posix.lockf(lock, posix.F_LOCK, 0)  # until it is closed
                result = self._read(folder)
                if result is None and not begin:
                    raise FileNotFoundError(errno.ENOENT, NO_PROLOG, str(self))
                result = result or {}
                for name in removed:
                    result.pop(name, None)
                result |= values
                members = [f"{encode_basestring_ascii(name)}: {encoded(each, name)}" for name, each in result.items()]
                data = "{{\n{}\n}}\n".format(",\n".join(members)).encode()
                fd = posix.open(new, flags | posix.O_TRUNC, 0o600, dir_fd=folder)
                try:
                    while data:
                        data = data[posix.write(fd, data) :]
                finally:
                    posix.close(fd)
                posix.rename(new, self._name, src_dir_fd=folder, dst_dir_fd=folder)
            finally:
                posix.close(lock)
        finally:
            self._close(folder)

    def remove(self) -> None:
        """Remove the file, if there is one.

        Raises:
            OSError: that is not possible.
        """
        folder = self._open(create=False)
        if folder is None:
            return
        try:
            for name in (self._name, f"{self._name}.new"):
                if name in posix.listdir(folder):
                    posix.unlink(name, dir_fd=folder)
        finally:
            self._close(folder)

    def _read(self, folder: int) -> dict[str, Any] | None:
        try:
            fd = posix.open(self._name, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NOFOLLOW, dir_fd=folder)
        except FileNotFoundError:
            return None
        return decoded(trusted.rest_of(fd))

    def _open(self, create: bool) -> int | None:
        """Return a descriptor of the folder; None if it does not exist and must not be created."""
        if self._fd is not None:
            return self._fd
        if create:
            self._create()
        try:
            fd = posix.open(self._folder, posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_CLOEXEC)
        except FileNotFoundError:
            if create:
                raise
            return None
        status = posix.fstat(fd)
        if status.st_uid != self._owner or status.st_mode & 0o077:
            posix.close(fd)
            raise PermissionError(errno.EPERM, "others than root could have written it; remove it", self._folder)
        return fd

    def _create(self) -> None:
        try:
            posix.mkdir(self._folder, 0o700)
        except FileExistsError:
            return

    def _close(self, folder: int) -> None:
        if folder != self._fd:
            posix.close(folder)
