#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""squash.py SOURCE MOUNT: show a folder as an NFS client with root squash sees it.

Owners and modes are those of the source. Root has the rights of nobody, and nobody can write. A cluster runs it, with
the Python of its release.
"""

import ctypes
import errno
import os
import stat
import struct
import sys

NOBODY = 65534
READ, ENTER = 4, 1
HEADER = struct.Struct("<IIQQIIIHH")
ATTRIBUTES = struct.Struct("<6Q10I")
LOOKUP, FORGET, GETATTR, READLINK, OPEN, READ_FILE, STATFS, RELEASE = 1, 2, 3, 5, 14, 15, 17, 18
FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, ACCESS, INTERRUPT, DESTROY, BATCH_FORGET = 25, 26, 27, 28, 29, 34, 36, 38, 42
NO_REPLY = {FORGET, INTERRUPT, BATCH_FORGET}
WRITES = {4, 6, 8, 9, 10, 11, 12, 13, 16, 35, 45}
"""SETATTR, SYMLINK, MKNOD, MKDIR, UNLINK, RMDIR, RENAME, LINK, WRITE, CREATE, RENAME2."""
BUFFER = 1 << 20


class Server:
    """Answers requests of the kernel; ``paths`` are those of the nodes that it knows, of which node 1 is the root."""

    def __init__(self, source: str) -> None:
        self.paths = {1: source}
        self.nodes = {source: 1}

    def answer(self, opcode: int, node: int, uid: int, gid: int, body: bytes) -> bytes:
        """Return the body of an answer.

        Raises:
            OSError: the request fails.
        """
        path = self.paths.get(node, "")  # INIT is for no node
        if opcode in WRITES:
            raise OSError(errno.EACCES, "")
        if opcode == INIT:
            _, minor, readahead, _ = struct.unpack_from("<4I", body)
            return struct.pack("<4IHHIIHHI7I", 7, min(minor, 31), readahead, 0, 16, 12, 4096, 1, 0, 0, 0, *[0] * 7)
        if opcode == LOOKUP:
            self.require(path, uid, gid, ENTER)
            below = os.path.join(path, os.fsdecode(body.rstrip(b"\0")))
            attributes = self.attributes(below)
            number = self.nodes.setdefault(below, len(self.nodes) + 1)
            self.paths[number] = below
            return struct.pack("<4QII", number, 0, 0, 0, 0, 0) + attributes
        if opcode == GETATTR:
            return struct.pack("<QII", 0, 0, 0) + self.attributes(path)
        if opcode == READLINK:
            return os.fsencode(os.readlink(path))
        if opcode in (OPEN, OPENDIR):
            if struct.unpack_from("<I", body)[0] & os.O_ACCMODE != os.O_RDONLY:
                raise OSError(errno.EACCES, "")
            self.require(path, uid, gid, READ)
            return struct.pack("<QII", 0, 0, 0)
        if opcode == READ_FILE:
            _, offset, size = struct.unpack_from("<QQI", body)
            with open(path, "rb") as file:
                return os.pread(file.fileno(), size, offset)
        if opcode == READDIR:
            _, offset, size = struct.unpack_from("<QQI", body)
            return listing(path, offset, size)
        if opcode == ACCESS:
            mask = struct.unpack_from("<I", body)[0]
            if mask & 2:
                raise OSError(errno.EACCES, "")
            self.require(path, uid, gid, mask)
            return b""
        if opcode == STATFS:
            return struct.pack("<5Q10I", 1, 0, 0, 1, 0, 4096, 255, 4096, *[0] * 7)
        if opcode in (RELEASE, RELEASEDIR, FLUSH, DESTROY):
            return b""
        raise OSError(errno.ENOSYS, "")

    def require(self, path: str, uid: int, gid: int, bits: int) -> None:
        """Refuse what the mode does not permit; root is nobody.

        Raises:
            OSError: it is not permitted.
        """
        status = os.lstat(path)
        uid, gid = uid or NOBODY, gid or NOBODY
        shift = 6 if status.st_uid == uid else 3 if status.st_gid == gid else 0
        if (status.st_mode >> shift) & bits != bits:
            raise OSError(errno.EACCES, "")

    def attributes(self, path: str) -> bytes:
        """Return the attributes of a file."""
        status = os.lstat(path)
        times = [divmod(time, 10**9) for time in (status.st_atime_ns, status.st_mtime_ns, status.st_ctime_ns)]
        return ATTRIBUTES.pack(
            *(status.st_ino, status.st_size, status.st_blocks, *(seconds for seconds, _ in times)),
            *(*(rest for _, rest in times), status.st_mode, status.st_nlink, status.st_uid, status.st_gid, 0, 4096, 0),
        )


def listing(path: str, offset: int, size: int) -> bytes:
    """Return entries of a folder, from a position on, as far as they fit."""
    data = b""
    for number, name in enumerate(sorted(os.listdir(path))[offset:], offset + 1):
        status, raw = os.lstat(os.path.join(path, name)), os.fsencode(name)
        entry = struct.pack("<QQII", status.st_ino, number, len(raw), stat.S_IFMT(status.st_mode) >> 12) + raw
        entry += bytes(-len(entry) % 8)
        if len(data) + len(entry) > size:
            break
        data += entry
    return data


def serve(source: str, mount: str, ready: int) -> None:
    """Mount, write to a descriptor, and answer until it is unmounted."""
    device = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    if libc.mount(b"squash", os.fsencode(mount), b"fuse.squash", 0, options.encode()):
        raise OSError(ctypes.get_errno(), "mount")
    os.write(ready, b".")
    os.close(ready)
    server = Server(source)
    while True:
        try:
            request = os.read(device, BUFFER)
        except OSError as error:
            if error.errno == errno.ENODEV:
                return
            continue
        _, opcode, unique, node, uid, gid, *_ = HEADER.unpack_from(request)
        if opcode in NO_REPLY:
            continue
        body, code = b"", 0
        try:
            body = server.answer(opcode, node, uid, gid, request[HEADER.size :])
        except OSError as error:
            code = -(error.errno or errno.EIO)
        os.write(device, struct.pack("<IiQ", 16 + len(body), code, unique) + body)


def main() -> None:
    """Return once it is mounted; a child answers."""
    done, ready = os.pipe()
    if os.fork():
        os.close(ready)
        sys.exit(0 if os.read(done, 1) else "the file system could not be mounted")
    os.setsid()
    os.close(done)
    for stream in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDWR), stream)
    serve(sys.argv[1], sys.argv[2], ready)


if __name__ == "__main__":
    main()
