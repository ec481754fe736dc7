/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The path of a file that controls root's processes, in a file system that the input describes and in which names
 * change their meaning while the path is walked: a file is opened only if everything on the way can be trusted, and no
 * descriptor is lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

#define NODES 16
#define DESCRIPTORS 64
/* The number of names that can be looked up in a folder; the input may exchange them at each look-up. */
#define OF_FOLDER 4

struct node {
    uint8_t type, rights;
    uint8_t target; /* for a link: where its target begins in the input */
};

static struct {
    const uint8_t *input;
    size_t size;
    struct node nodes[NODES];
    int opened[DESCRIPTORS]; /* the node of each descriptor; -1: closed */
    unsigned looks;
    bool untrusted, readable; /* an untrusted node was opened; the last descriptor can be read */
    uid_t uid;
} fs;

static mode_t type_of(int node)
{
    static const mode_t types[] = {S_IFDIR, S_IFREG, S_IFLNK, S_IFDIR, S_IFREG, S_IFLNK, S_IFIFO, S_IFDIR};

    return node == 0 ? S_IFDIR : types[fs.nodes[node].type % 8];
}

static void stat_of(int node, struct stat *status)
{
    uint8_t rights = fs.nodes[node].rights;

    *status = (struct stat){.st_uid = rights & 8 ? 1000 : rights & 16 ? 65534 : 0};
    status->st_mode = type_of(node) | 0755 | (rights & 1 ? S_IWGRP : 0) | (rights & 2 ? S_IWOTH : 0);
    status->st_mode |= rights & 4 ? S_ISVTX : 0;
}

/* Whether no other user could have written the node: the rule, implemented independently of the code. */
static bool is_trusted(int node)
{
    struct stat status;

    stat_of(node, &status);
    bool own = status.st_uid == 0 || status.st_uid == fs.uid;
    return own && (S_ISLNK(status.st_mode) || !(status.st_mode & (S_IWGRP | S_IWOTH)));
}

static int descriptor(int node, bool readable)
{
    for (int fd = 3; fd < DESCRIPTORS; fd++)
        if (fs.opened[fd] < 0) {
            fs.opened[fd] = node;
            fs.readable = readable;
            fs.untrusted |= !is_trusted(node);
            return fd;
        }
    FUZZ_EXPECT(!"descriptors are lost");
    return -1;
}

static int node_of(int fd)
{
    FUZZ_EXPECT(fd >= 3 && fd < DESCRIPTORS && fs.opened[fd] >= 0);
    return fs.opened[fd];
}

static int fail(int error)
{
    errno = error;
    return -1;
}

/* RET the node of a name, which the input may change at each look-up; -1 if there is none. */
static int look_up(int folder, const char *name)
{
    unsigned hash = (unsigned)folder;

    for (const char *byte = name; *byte; byte++)
        hash = hash * 31 + (unsigned char)*byte;
    if (fs.looks++ < fs.size)
        hash += fs.input[fs.looks - 1] % OF_FOLDER;
    return hash % (NODES + 1) == NODES ? -1 : (int)(hash % (NODES + 1));
}

static int fake_openat(int folder, const char *name, int flags)
{
    int node = folder == AT_FDCWD                  ? look_up(0, name)
               : S_ISDIR(type_of(node_of(folder))) ? look_up(node_of(folder), name)
                                                   : -2;

    if (node < 0)
        return fail(node == -1 ? ENOENT : ENOTDIR);
    if (!(flags & O_NOFOLLOW))
        for (int links = 0; S_ISLNK(type_of(node)); links++) {
            node = (node + 1 + links) % NODES;
            if (links == 8)
                return fail(ELOOP);
        }
    if (flags & O_DIRECTORY && !S_ISDIR(type_of(node)))
        return fail(ENOTDIR);
    if (!(flags & O_PATH) && S_ISLNK(type_of(node)))
        return fail(ELOOP);
    return descriptor(node, !(flags & O_PATH));
}

static int fake_open(const char *path, int flags)
{
    if (strcmp(path, "/"))
        return fake_openat(AT_FDCWD, path, flags);
    FUZZ_EXPECT(flags & O_PATH);
    return descriptor(0, false);
}

static int fake_fstat(int fd, struct stat *status)
{
    stat_of(node_of(fd), status);
    return 0;
}

static int fake_close(int fd)
{
    node_of(fd);
    fs.opened[fd] = -1;
    return 0;
}

static int fake_dup(int fd)
{
    return descriptor(node_of(fd), false);
}

static ssize_t fake_readlinkat(int fd, const char *name, char *target, size_t size)
{
    int node = node_of(fd);
    size_t start = fs.nodes[node].target % (fs.size + 1), length = 0;

    FUZZ_EXPECT(!*name && S_ISLNK(type_of(node)));
    /* Targets may be long: a path with several links may become longer than PATH_MAX. */
    size_t repeat = fs.nodes[node].rights & 32 ? 100 : 1;
    for (size_t round = 0; round < repeat; round++)
        for (size_t at = start; at < fs.size && fs.input[at] && length < size; at++)
            target[length++] = (char)fs.input[at];
    return length ? (ssize_t)length : fail(ENOENT);
}

static uid_t fake_getuid(void)
{
    return fs.uid;
}

#define openat fake_openat
#define open fake_open
#define fstat fake_fstat
#define close fake_close
#define dup fake_dup
#define readlinkat fake_readlinkat
#define getuid fake_getuid
#include "trusted.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[2 * PATH_MAX] = "/", why[256] = "";
    size_t need = 1 + sizeof(fs.nodes);
    int left_open = 0;

    if (size < need)
        return 0;
    memset(&fs, 0, sizeof(fs));
    memset(fs.opened, 0xff, sizeof(fs.opened));
    fs.uid = data[0] & 1 ? 1000 : 0;
    memcpy(fs.nodes, data + 1, sizeof(fs.nodes));
    fs.input = data + need;
    fs.size = size - need;
    for (size_t i = 0; i < fs.size && i < sizeof(path) - 2 && fs.input[i]; i++)
        path[i + 1] = (char)fs.input[i];
    int fd = trusted_open(path, why, sizeof(why));
    int error = errno;
    if (fd >= 0) {
        struct stat status;
        FUZZ_EXPECT(fs.readable && is_trusted(node_of(fd)));
        stat_of(node_of(fd), &status);
        FUZZ_EXPECT(S_ISREG(status.st_mode));
        FUZZ_EXPECT(fs.uid || !fs.untrusted);
    } else {
        FUZZ_EXPECT((error == EPERM) == (*why != '\0'));
    }
    FUZZ_EXPECT(memchr(why, 0, sizeof(why)));
    for (int i = 0; i < DESCRIPTORS; i++)
        left_open += fs.opened[i] >= 0;
    FUZZ_EXPECT(left_open == (fd >= 0));
    return 0;
}
