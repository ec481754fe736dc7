/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/manifest.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "manifest/home.h"
#include "manifest/parse.h"
#include "trusted.h"

#define FILE_NAME "slurmhooks.manifest"
#define LARGEST (1024L * 1024)

/* RET the content, from malloc(), with room for a NUL, or NULL. OUT size; why, if NULL is returned. */
static char *read_whole(const char *path, size_t *size, const char **why)
{
    static char untrusted[PATH_MAX + 128];
    struct stat status;
    char *text = NULL;
    int fd = trusted_open(path, untrusted, sizeof(untrusted));

    *why = untrusted[0] ? untrusted : fd < 0 && errno == ENOENT ? "the file does not exist" : "it cannot be read";
    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) || status.st_size <= 0 || status.st_size > LARGEST)
        goto done;
    *size = (size_t)status.st_size;
    text = calloc(1, *size + 1);
    for (size_t size_read = 0; text && size_read < *size;) {
        ssize_t count = read(fd, text + size_read, *size - size_read);
        if (count <= 0) {
            if (count < 0 && errno == EINTR)
                continue;
            free(text);
            text = NULL;
            break;
        }
        size_read += (size_t)count;
    }
done:
    close(fd);
    return text;
}

static int tried; /* the manifest has been read */

/*
 * RET all lines of the manifest, which is read at the first call; NULL if there are none. OUT why: the reason why a
 * line is missing.
 */
static struct manifest_line *lines_of_machine(const char **why)
{
    static char *text; /* never freed: the lines point into it */
    static struct manifest_line *lines;
    static const char *reason;

    if (!tried) {
        char path[PATH_MAX];
        size_t size = 0;
        tried = 1;
        text = home_path(FILE_NAME, path, sizeof(path), &reason) ? NULL : read_whole(path, &size, &reason);
        char *copy = text ? strdup(text) : NULL; /* the parser writes into the text */
        lines = copy ? manifest_parse(text, size, &reason) : NULL;
        for (struct manifest_line *line = lines; line; line = line->next)
            line->text = copy;
        if (!lines) {
            free(text);
            free(copy);
            text = NULL;
        }
    }
    *why = reason;
    return lines;
}

void manifest_forget(void)
{
    tried = 0;
}

const struct manifest_line *manifest_find(int argc, char *argv[], const char **why)
{
    for (struct manifest_line *line = lines_of_machine(why); line; line = line->next) {
        int equal = line->argc == argc;
        for (int i = 0; equal && i < argc; i++)
            equal = !strcmp(line->argv[i], argv[i]);
        if (equal)
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
