/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_LINKS 40 /* the most links in one path, as in the kernel */
#define BY_PATH (O_PATH | O_NOFOLLOW | O_CLOEXEC)
/* O_NONBLOCK: somebody may have replaced the file with a FIFO. */
#define TO_READ (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* Check owner and mode of an open component. OUT status; why, with EPERM. RET 0, or -1 with errno. */
static int check(int fd, const char *component, struct stat *status, char *why, size_t size)
{
    const char *problem = NULL, *repair = "chown -h root ";

    if (fstat(fd, status))
        return -1;
    mode_t mode = S_ISLNK(status->st_mode) ? 0 : status->st_mode;
    if (status->st_uid != 0 && status->st_uid != getuid())
        problem = "belongs to a user who is not root";
    if (mode & S_IWGRP) {
        problem = "is writable by its group";
        repair = "chmod g-w ";
    }
    if (mode & S_IWOTH) {
        problem = "is writable by everybody";
        repair = "chmod o-w ";
    }
    if (!problem)
        return 0;
    if (mode & S_IWOTH && mode & S_ISVTX && S_ISDIR(mode))
        snprintf(why, size, "it cannot be trusted: %s %s: keep it elsewhere", component, problem);
    else
        snprintf(why, size, "it cannot be trusted: %s %s: %s%s", component, problem, repair, component);
    errno = EPERM;
    return -1;
}

/* Open a file, and check only itself. RET as trusted_open(). */
static int open_file(const char *path, char *why, size_t size)
{
    struct stat status;
    int fd = open(path, TO_READ);

    if (fd < 0 || !check(fd, path, &status, why, size)) {
        if (fd < 0 || S_ISREG(status.st_mode))
            return fd;
        snprintf(why, size, "it cannot be trusted: %s is not a regular file", path);
        errno = EPERM;
    }
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/*
 * Open an entry of a folder, the link itself if it is one. IN last: it should be a file, or a link to one: open it for
 * reading. RET a descriptor, or -1 with errno.
 */
static int open_entry(int folder, const char *name, bool last)
{
    /* An automounter mounts a folder for O_PATH only together with O_DIRECTORY. */
    int fd = openat(folder, name, last ? TO_READ | O_NOFOLLOW : BY_PATH | O_DIRECTORY);

    return fd < 0 && errno == (last ? ELOOP : ENOTDIR) ? openat(folder, name, BY_PATH) : fd;
}

/*
 * Replace the remaining path by the target of a link and the part of the path after the link. RET 0, or -1 with errno.
 */
static int follow(int link, char *left, const char *rest)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(link, "", target, sizeof(target));

    if (length < 0)
        return -1;
    if ((size_t)length + 1 + strlen(rest) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memmove(left + length + 1, rest, strlen(rest) + 1);
    memcpy(left, target, (size_t)length);
    left[length] = '/';
    return 0;
}

/*
 * Open the components of a path one after the other, as the kernel does, and check each.
 *
 * IN/OUT here  the folder where the path starts; then the last folder that was opened
 * IN/OUT left  the path; PATH_MAX bytes, which are written to
 * RET as trusted_open()
 */
static int open_by_component(int *here, char *left, char *why, size_t size)
{
    char walked[PATH_MAX] = "/";
    struct stat status;

    if (*here < 0 || check(*here, walked, &status, why, size))
        return -1;
    for (int links = 0;;) {
        char *name = left + strspn(left, "/");
        size_t length = strcspn(name, "/"), walked_length = strlen(walked);
        char *rest = name + length + (name[length] != '\0');
        name[length] = '\0';
        if (!length) {
            errno = EISDIR;
            return -1;
        }
        if (walked_length + length + 2 > sizeof(walked)) {
            errno = ENAMETOOLONG;
            return -1;
        }
        snprintf(walked + walked_length, sizeof(walked) - walked_length, "%s%s", walked_length > 1 ? "/" : "", name);
        int entry = open_entry(*here, name, !*rest);
        int failed = entry < 0 || check(entry, walked, &status, why, size);
        if (!failed && !*rest && S_ISREG(status.st_mode))
            return entry;
        if (!failed && S_ISLNK(status.st_mode)) {
            failed = ++links > MOST_LINKS ? (errno = ELOOP, -1) : follow(entry, left, rest);
            close(entry);
            entry = *left == '/' ? open("/", BY_PATH) : dup(*here);
            walked[*left == '/' ? 1 : walked_length] = '\0';
        } else if (!failed) {
            memmove(left, rest, strlen(rest) + 1);
        }
        if (entry >= 0) {
            close(*here);
            *here = entry;
        }
        if (failed || entry < 0)
            return -1;
    }
}

int trusted_open(const char *path, char *why, size_t size)
{
    char left[PATH_MAX];

    if (getuid() != 0)
        return open_file(path, why, size);
    if (strlen(path) >= sizeof(left)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(left, path);
    int here = open("/", BY_PATH);
    int fd = open_by_component(&here, left, why, size);
    int error = errno;
    if (here >= 0)
        close(here);
    errno = error;
    return fd;
}
