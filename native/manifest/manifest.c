/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/manifest.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build_config.h"
#include "manifest/parse.h"
#include "manifest/trusted.h"

#define FILE_NAME "slurmhooks.manifest"
#define LARGEST (1024 * 1024)

/*
 * Beside slurm.conf, as Slurm itself finds its other files: a name without a folder starts from the current one.
 * RET a path, or NULL if it is too long.
 */
static const char *manifest_path(char *buffer, size_t size)
{
    const char *conf = getenv("SLURM_CONF");

    if (!conf || !*conf)
        return SLURMHOOKS_SYSCONFDIR "/" FILE_NAME;
    buffer[0] = '\0';
    if (*conf != '/' && !getcwd(buffer, size))
        return NULL;
    size_t start = strlen(buffer);
    const char *slash = strrchr(conf, '/');
    int folder = slash ? (int)(slash - conf) : 0;
    int length =
        snprintf(buffer + start, size - start, "%s%.*s/%s", start && folder ? "/" : "", folder, conf, FILE_NAME);
    return length < 0 || (size_t)length >= size - start ? NULL : buffer;
}

/* The content, malloc'ed, with room for a NUL; NULL if there is none to be had. */
static char *read_whole(const char *path, size_t *size, const char **why)
{
    static char exposed[PATH_MAX + 128];
    struct stat status;
    char *text = NULL;
    int fd = trusted_open(path, exposed, sizeof(exposed));

    *why = exposed[0] ? exposed : fd < 0 && errno == ENOENT ? "there is none" : "it cannot be read";
    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) || status.st_size <= 0 || status.st_size > LARGEST)
        goto done;
    *size = (size_t)status.st_size;
    text = calloc(1, *size + 1);
    for (size_t have = 0; text && have < *size;) {
        ssize_t got = read(fd, text + have, *size - have);
        if (got <= 0) {
            if (got < 0 && errno == EINTR)
                continue;
            free(text);
            text = NULL;
            break;
        }
        have += (size_t)got;
    }
done:
    close(fd);
    return text;
}

/* All lines of the manifest of this machine, read at the first call. OUT why there is none. */
static struct manifest_line *lines_of_machine(const char **why)
{
    static int read_before;
    static char *text; /* what the lines point into */
    static struct manifest_line *lines;
    static const char *reason;

    if (!read_before) {
        char buffer[4096];
        const char *path = manifest_path(buffer, sizeof(buffer));
        size_t size = 0;
        read_before = 1;
        reason = "its path is too long";
        text = path ? read_whole(path, &size, &reason) : NULL;
        lines = text ? manifest_parse(text, size, &reason) : NULL;
        if (!lines) {
            free(text);
            text = NULL;
        }
    }
    *why = reason;
    return lines;
}

const struct manifest_line *manifest_find(int argc, char *argv[], const char **why)
{
    for (struct manifest_line *line = lines_of_machine(why); line; line = line->next) {
        int same = line->argc == argc;
        for (int i = 0; same && i < argc; i++)
            same = !strcmp(line->argv[i], argv[i]);
        if (same)
            return line;
    }
    return NULL;
}

const struct manifest_line *manifest_find_point(enum manifest_point point, const char **why)
{
    struct manifest_line *line = lines_of_machine(why);

    while (line && line->argc != point)
        line = line->next;
    return line;
}
