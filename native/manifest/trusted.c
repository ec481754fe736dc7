/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_LINKS 40 /* on one path, as in the kernel */
#define BY_PATH (O_PATH | O_NOFOLLOW | O_CLOEXEC)
/* A FIFO in the place of the file must not be waited for. */
#define TO_READ (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* Judge what is open. RET 0, or -1 with errno. OUT why, if others can write it. */
static int judge(int fd, const char *component, struct stat *status, char *why, size_t size)
{
    const char *what = NULL, *repair = "chown -h root ";

    if (fstat(fd, status))
        return -1;
    mode_t mode = S_ISLNK(status->st_mode) ? 0 : status->st_mode;
    if (status->st_uid != 0 && status->st_uid != getuid())
        what = "belongs to a user who is not root";
    if (mode & S_IWGRP) {
        what = "is writable by its group";
        repair = "chmod g-w ";
    }
    if (mode & S_IWOTH) {
        what = "is writable by everybody";
        repair = "chmod o-w ";
    }
    if (!what)
        return 0;
    if (mode & S_IWOTH && mode & S_ISVTX && S_ISDIR(mode))
        snprintf(why, size, "it cannot be trusted: %s %s: keep it elsewhere", component, what);
    else
        snprintf(why, size, "it cannot be trusted: %s %s: %s%s", component, what, repair, component);
    errno = EPERM;
    return -1;
}

/* Open what is to be read, and judge that once more: its name may have come to another file. RET as trusted_open(). */
static int open_file(int folder, const char *name, int flags, const char *component, char *why, size_t size)
{
    struct stat status;
    int fd = openat(folder, name, TO_READ | flags);

    if (fd < 0 || !judge(fd, component, &status, why, size)) {
        if (fd < 0 || S_ISREG(status.st_mode))
            return fd;
        snprintf(why, size, "it cannot be trusted: %s is not a regular file", component);
        errno = EPERM;
    }
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* RET a descriptor of what a name in a folder is, a link perhaps; or -1 with errno. */
static int open_below(int folder, const char *name)
{
    /* An automounter mounts for whoever asks for a folder, and for no other O_PATH. */
    int fd = openat(folder, name, BY_PATH | O_DIRECTORY);

    return fd < 0 && errno == ENOTDIR ? openat(folder, name, BY_PATH) : fd;
}

/* Put the target of a link before the rest of the path. RET 0, or -1 with errno. */
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

/* Open one component after the other. IN left  of the path; written to. RET as trusted_open(). */
static int walk(int *here, char *left, char *why, size_t size)
{
    char done[PATH_MAX] = "/";
    struct stat status;

    if (*here < 0 || judge(*here, done, &status, why, size))
        return -1;
    for (int links = 0;;) {
        char *name = left + strspn(left, "/");
        size_t length = strcspn(name, "/"), before = strlen(done);
        char *rest = name + length + (name[length] != '\0');
        name[length] = '\0';
        if (!length) {
            errno = EISDIR;
            return -1;
        }
        if (before + length + 2 > sizeof(done)) {
            errno = ENAMETOOLONG;
            return -1;
        }
        snprintf(done + before, sizeof(done) - before, "%s%s", before > 1 ? "/" : "", name);
        int below = open_below(*here, name);
        int failed = below < 0 || judge(below, done, &status, why, size);
        if (!failed && !*rest && S_ISREG(status.st_mode)) {
            close(below);
            return open_file(*here, name, O_NOFOLLOW, done, why, size);
        }
        if (!failed && S_ISLNK(status.st_mode)) {
            failed = ++links > MOST_LINKS ? (errno = ELOOP, -1) : follow(below, left, rest);
            close(below);
            below = *left == '/' ? open("/", BY_PATH) : dup(*here);
            done[*left == '/' ? 1 : before] = '\0';
        } else if (!failed) {
            memmove(left, rest, strlen(rest) + 1);
        }
        if (below >= 0) {
            close(*here);
            *here = below;
        }
        if (failed || below < 0)
            return -1;
    }
}

int trusted_open(const char *path, char *why, size_t size)
{
    char left[PATH_MAX];

    if (getuid() != 0)
        return open_file(AT_FDCWD, path, 0, path, why, size);
    if (strlen(path) >= sizeof(left)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(left, path);
    int here = open("/", BY_PATH);
    int fd = walk(&here, left, why, size);
    int error = errno;
    if (here >= 0)
        close(here);
    errno = error;
    return fd;
}
