/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobcomp/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "checksum.h"
#include "jobcomp/lost.h"

/* A segment of at least this size in bytes is closed. Readers remove whole segments. */
#define SEGMENT_MAX (UINT64_C(4) << 20)
/* The size limit of the spool is at least this many segments. */
#define SEGMENTS 8
/* The part of the size limit from which on a spool is filling. */
#define FILLING 4
/* Seconds between two log lines about lost records, and between two measurements of the folder. */
#define QUIET 60
#define LOOK 1
#define SUFFIX ".spool"

struct slurmhooks_spool {
    pthread_mutex_t lock;
    struct slurmhooks_spool_config config;
    int folder;
    int segment; /* -1: could not be created; each record tries again */
    int former;  /* the previous one, which must still be forced onto the disk; or -1 */
    unsigned number;
    struct slurmhooks_segment head;
    uint64_t size; /* of the segment; 0: its header is not written either */
    uint64_t used; /* size of the folder at the last measurement, and of the data appended since */
    uint64_t last; /* the time of the last frame */
    int64_t looked;
    bool dirty, filling;

    /* How many records were lost since the start, and how many of these losses were logged. */
    uint64_t lost, told;
    int64_t told_at;
};

static int64_t seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

__attribute__((format(printf, 3, 4))) static void say(struct slurmhooks_spool *spool, bool error, const char *format,
                                                      ...)
{
    char line[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    spool->config.log(error, line);
}

/* RET whether an error says that the disk, or the part of it that SlurmUser may use, is full. */
static bool is_full(int error)
{
    return error == ENOSPC || error == EDQUOT;
}

/* RET the number in the name of a segment; 0 if it is another file. */
static unsigned number_of(const char *name)
{
    char *end;
    unsigned long number = strtoul(name, &end, 10);

    return strcmp(end, SUFFIX) || number > UINT_MAX ? 0 : (unsigned)number;
}

/* RET the sum of the sizes of all files in a folder. OUT highest: the highest number of a segment; may be NULL. */
static uint64_t measure(int parent, const char *path, unsigned *highest)
{
    int fd = openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    struct stat status;
    uint64_t sum = 0;

    if (!folder) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    while ((entry = readdir(folder))) {
        if (!fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) && S_ISREG(status.st_mode))
            sum += (uint64_t)status.st_size;
        if (highest && number_of(entry->d_name) > *highest)
            *highest = number_of(entry->d_name);
    }
    closedir(folder);
    return sum;
}

/* Measure the folder: readers remove records that were delivered. */
static void look(struct slurmhooks_spool *spool)
{
    spool->used = measure(spool->folder, ".", NULL) + measure(spool->folder, "dead", NULL);
    spool->looked = seconds();
}

/* Write the tables into the folder, atomically. RET false with errno. */
static bool keep_table(struct slurmhooks_spool *spool)
{
    size_t size = strlen(spool->config.table);
    char name[32], new[48];

    snprintf(name, sizeof(name), "%016" PRIx64 ".table", spool->config.identity);
    if (!faccessat(spool->folder, name, F_OK, 0))
        return true;
    /* Another slurmctld may do the same, while 'scontrol reconfigure' replaces the old one. */
    snprintf(new, sizeof(new), "%s.%d", name, (int)getpid());
    int fd = openat(spool->folder, new, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    errno = ENOSPC;
    bool kept = write(fd, spool->config.table, size) == (ssize_t)size && !fsync(fd) &&
                !renameat(spool->folder, new, spool->folder, name) && !fsync(spool->folder);
    int error = errno;
    close(fd);
    if (!kept)
        unlinkat(spool->folder, new, 0);
    errno = error;
    return kept;
}

/* Append no more to the segment; slurmhooks_spool_sync() may still have to force it onto the disk. */
static void leave_segment(struct slurmhooks_spool *spool)
{
    if (spool->former < 0 && spool->dirty && spool->config.fsync == SLURMHOOKS_FSYNC_INTERVAL)
        spool->former = spool->segment;
    else if (spool->segment >= 0)
        close(spool->segment);
    spool->segment = -1;
}

/* Create a segment, and lock it. RET false with errno. */
static bool begin_segment(struct slurmhooks_spool *spool)
{
    unsigned highest = spool->number;
    struct stat status;
    char name[32];

    leave_segment(spool);
    if (!keep_table(spool) || getrandom(spool->head.key, sizeof(spool->head.key), 0) != sizeof(spool->head.key))
        return false;
    memcpy(spool->head.magic, SLURMHOOKS_SEGMENT_MAGIC, sizeof(spool->head.magic));
    measure(spool->folder, ".", &highest);
    for (;;) {
        snprintf(name, sizeof(name), "%010u" SUFFIX, ++highest);
        int fd = openat(spool->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
        if (fd < 0 && errno == EEXIST)
            continue;
        if (fd < 0)
            return false;
        bool locked = !flock(fd, LOCK_EX | LOCK_NB);
        if ((!locked && errno != EWOULDBLOCK) || fstat(fd, &status)) {
            /* The file system has no locks, or does not answer. */
            int error = errno;
            unlinkat(spool->folder, name, 0);
            close(fd);
            errno = error;
            return false;
        }
        /* A reader locks or removes a segment that is not locked yet, since it looks like that of an ended process. */
        if (!locked || !status.st_nlink) {
            close(fd);
            continue;
        }
        slurmhooks_state_reserve(spool->folder, highest);
        spool->segment = fd;
        spool->number = highest;
        spool->size = 0;
        if (spool->config.fsync == SLURMHOOKS_FSYNC_NEVER || !fsync(spool->folder))
            return true;
        if (spool->config.fsync == SLURMHOOKS_FSYNC_INTERVAL)
            return true; /* mark it as having records that are not forced onto the disk yet */
        int error = errno;
        close(spool->segment);
        spool->segment = -1;
        errno = error;
        return false;
    }
}

/* Force the name of the folder itself onto the disk: it may be new. RET false with errno. */
static bool keep_folder(struct slurmhooks_spool *spool)
{
    if (spool->config.fsync == SLURMHOOKS_FSYNC_NEVER)
        return true;
    int parent = openat(spool->folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool kept = parent >= 0 && !fsync(parent);
    if (parent >= 0)
        close(parent);
    return kept;
}

/* RET why the folder is not used; NULL if only root and the user of this process can put files or links into it. */
static const char *exposed(int folder)
{
    struct stat status;

    if (fstat(folder, &status))
        return strerror(errno);
    if (status.st_uid && status.st_uid != geteuid())
        return "another user owns it: chown it to SlurmUser";
    return status.st_mode & (S_IWGRP | S_IWOTH) ? "other users can write to it: chmod go-w" : NULL;
}

struct slurmhooks_spool *slurmhooks_spool_open(const struct slurmhooks_spool_config *config, char *why, size_t size)
{
    struct slurmhooks_spool *spool = calloc(1, sizeof(*spool));

    if (!spool) {
        snprintf(why, size, "memory is short");
        return NULL;
    }
    pthread_mutex_init(&spool->lock, NULL);
    spool->config = *config;
    spool->segment = spool->former = -1;
    spool->told_at = INT64_MIN / 2;
    if (mkdir(config->folder, 0700) && errno != EEXIST)
        spool->folder = -1;
    else
        spool->folder = open(config->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *fault = spool->folder < 0 ? NULL : exposed(spool->folder);
    if (fault) {
        snprintf(why, size, "%s: %s", config->folder, fault);
        slurmhooks_spool_close(spool);
        return NULL;
    }
    bool opened = spool->folder >= 0 && keep_folder(spool);
    if (opened)
        slurmhooks_lost_reserve(spool->folder, config->limit);
    /* If the disk is full, the delivery of records makes room; each new record tries again. */
    if (!opened || (!begin_segment(spool) && !is_full(errno))) {
        snprintf(why, size, "%s: %s", config->folder, strerror(errno));
        slurmhooks_spool_close(spool);
        return NULL;
    }
    look(spool);
    return spool;
}

/* Count a lost record, and add its job to lost.jsonl, which may be written even if the spool is full. */
static void lose(struct slurmhooks_spool *spool, uint32_t hook, uint32_t job_id, const char *reason)
{
    bool named = slurmhooks_lost_add(spool->folder, hook == HOOK_job_end ? "job_end" : "job_start", job_id, reason);

    spool->lost++;
    if (seconds() - spool->told_at < QUIET)
        return;
    say(spool, true, "%" PRIu64 " records were not kept, the last of them for JobId=%u: %s; %s/lost.jsonl %s",
        spool->lost - spool->told, job_id, reason, spool->config.folder,
        named ? "names the jobs" : "does not name them all");
    spool->told = spool->lost;
    spool->told_at = seconds();
}

/* Make room for a frame. RET NULL, or why that is not possible. */
static const char *make_room(struct slurmhooks_spool *spool, uint64_t size)
{
    uint64_t most = spool->config.limit / SEGMENTS;

    if (spool->used + size > spool->config.limit && seconds() - spool->looked >= LOOK)
        look(spool);
    if (spool->used + size > spool->config.limit)
        return "the spool is full ([jobcomp] spool_size)";
    if (spool->segment >= 0 && (!spool->size || spool->size + size <= (most < SEGMENT_MAX ? most : SEGMENT_MAX)))
        return NULL;
    return begin_segment(spool) ? NULL : strerror(errno);
}

/* Append a frame, completely or not at all. RET NULL, or what went wrong. */
static const char *write_frame(struct slurmhooks_spool *spool, const struct slurmhooks_frame *frame,
                               const void *message, size_t padding)
{
    static const char zeros[8];
    const size_t head = spool->size ? 0 : sizeof(spool->head);
    struct iovec parts[] = {{&spool->head, head},
                            {(void *)frame, sizeof(*frame)},
                            {(void *)message, frame->size},
                            {(void *)zeros, padding}};
    ssize_t size = (ssize_t)(head + sizeof(*frame) + frame->size + padding), written;

    do
        written = writev(spool->segment, parts, 4);
    while (written < 0 && errno == EINTR);
    if (written == size && spool->config.fsync == SLURMHOOKS_FSYNC_ALWAYS && fdatasync(spool->segment)) {
        /* Whether the frame is on the disk is unknown: it is not removed, and counts as lost. */
        spool->size += (uint64_t)size;
        return strerror(errno);
    }
    if (written == size) {
        spool->size += (uint64_t)size;
        spool->used += (uint64_t)size;
        spool->dirty = true;
        return NULL;
    }
    int error = written < 0 ? errno : ENOSPC;
    bool torn = written > 0 && ftruncate(spool->segment, (off_t)spool->size);
    /* Readers can remove a segment, and so make room, only if no process has it any more. */
    if (torn || (is_full(error) && spool->size))
        leave_segment(spool);
    return strerror(error);
}

bool slurmhooks_spool_append(struct slurmhooks_spool *spool, uint32_t hook, uint32_t job_id, const void *message,
                             size_t size)
{
    struct slurmhooks_frame frame = {.size = (uint32_t)size, .hook = hook, .job_id = job_id};
    const size_t after = offsetof(struct slurmhooks_frame, hook), padding = -size % 8;
    struct timespec now;

    pthread_mutex_lock(&spool->lock);
    clock_gettime(CLOCK_REALTIME, &now);
    frame.time = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    if (frame.time <= spool->last)
        frame.time = spool->last + 1;
    spool->last = frame.time;
    frame.checksum = slurmhooks_checksum(0, (const char *)&frame + after, sizeof(frame) - after);
    frame.checksum = slurmhooks_checksum(frame.checksum, message, size);

    const char *reason = make_room(spool, sizeof(spool->head) + sizeof(frame) + size + padding);
    memcpy(frame.key, spool->head.key, sizeof(frame.key)); /* make_room() may have begun another segment */
    if (!reason)
        reason = write_frame(spool, &frame, message, padding);
    if (reason)
        lose(spool, hook, job_id, reason);
    pthread_mutex_unlock(&spool->lock);
    return !reason;
}

bool slurmhooks_spool_is_filling(struct slurmhooks_spool *spool)
{
    uint64_t most = spool->config.limit / FILLING;

    pthread_mutex_lock(&spool->lock);
    if (spool->used > most && seconds() - spool->looked >= LOOK)
        look(spool);
    bool filling = spool->used > most;
    if (filling && !spool->filling)
        say(spool, true, "%s has reached a quarter of [jobcomp] spool_size: longer texts of records are cut",
            spool->config.folder);
    spool->filling = filling;
    pthread_mutex_unlock(&spool->lock);
    return filling;
}

void slurmhooks_spool_sync(struct slurmhooks_spool *spool)
{
    int fds[2];

    pthread_mutex_lock(&spool->lock);
    bool wanted = spool->dirty && spool->segment >= 0 && spool->config.fsync == SLURMHOOKS_FSYNC_INTERVAL;
    fds[0] = wanted ? fcntl(spool->segment, F_DUPFD_CLOEXEC, 0) : -1;
    fds[1] = spool->former;
    spool->former = -1;
    spool->dirty = false;
    pthread_mutex_unlock(&spool->lock);
    /* Without holding the lock, for which slurmctld would wait as long as the disk takes. */
    for (int i = 0; i < 2; i++) {
        if (fds[i] < 0)
            continue;
        if (fdatasync(fds[i]))
            say(spool, true, "cannot force records onto the disk: %s: %s", spool->config.folder, strerror(errno));
        close(fds[i]);
    }
}

void slurmhooks_spool_close(struct slurmhooks_spool *spool)
{
    if (spool->segment >= 0)
        close(spool->segment);
    if (spool->former >= 0)
        close(spool->former);
    if (spool->folder >= 0)
        close(spool->folder);
    pthread_mutex_destroy(&spool->lock);
    free(spool);
}
