/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded into a process: after each call that forces data onto the disk, or removes or renames a file, writes a line
 * "WHAT PATH" to descriptor 98, and waits for a byte from descriptor 99.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define EVENTS 98
#define GO 99

static void stop(const char *what, const char *path)
{
    char byte;

    if (dprintf(EVENTS, "%s %s\n", what, path) < 0 || read(GO, &byte, 1) != 1)
        abort();
}

static void stop_fd(const char *what, int fd)
{
    char link[64], path[4096];

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof(path) - 1);
    path[size > 0 ? size : 0] = '\0';
    stop(what, path);
}

int fsync(int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync"), rc = real(fd);
    stop_fd("forced", fd);
    return rc;
}

int fdatasync(int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync"), rc = real(fd);
    stop_fd("forced", fd);
    return rc;
}

int unlink(const char *path)
{
    int (*real)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink"), rc = real(path);
    stop("removed", path);
    return rc;
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    int rc = real(from, to);
    stop("renamed", from);
    return rc;
}
