/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/lost.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define NAME "lost.jsonl"
/* The largest size in bytes: 150,000 lines. */
#define MOST ((off_t)16 << 20)
/* The fraction of the spool, or of the free space if that is less, that is reserved. */
#define SHARE 16

/* RET the open file with room for a line, or -1. OUT size: its size. */
static int open_lost(int folder, off_t *size)
{
    int fd = openat(folder, NAME, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct stat status;

    if (fd >= 0 && !fstat(fd, &status) && status.st_size < MOST) {
        *size = status.st_size;
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

void slurmhooks_lost_reserve(int folder, uint64_t limit)
{
    struct statvfs disk;
    off_t size;
    int fd = open_lost(folder, &size);

    if (fd < 0)
        return;
    if (!fstatvfs(fd, &disk)) {
        uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
        off_t share = (off_t)((room < limit ? room : limit) / SHARE);
        if (share > MOST - size)
            share = MOST - size;
        if (share > 0)
            fallocate(fd, FALLOC_FL_KEEP_SIZE, size, share);
    }
    close(fd);
}

bool slurmhooks_lost_add(int folder, const char *hook, uint32_t job_id, const char *reason)
{
    char line[256];
    int length =
        snprintf(line, sizeof(line), "{\"job_id\": %u, \"hook\": \"%s\", \"time\": %lld, \"reason\": \"%s\"}\n", job_id,
                 hook, (long long)time(NULL), reason);
    off_t size;
    int fd = open_lost(folder, &size);

    if (fd < 0)
        return false;
    ssize_t written = write(fd, line, (size_t)length);
    /* What a full disk has left of a line would make the next one unreadable. */
    if (written > 0 && written < length && ftruncate(fd, size))
        written = -1;
    close(fd);
    return written == length;
}

void slurmhooks_state_reserve(int folder, unsigned segment)
{
    char name[32];

    snprintf(name, sizeof(name), "%010u.state", segment);
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (write(fd, "\n", 1) != 1)
        unlinkat(folder, name, 0);
    close(fd);
}
