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

#define FILE_NAME "slurmhooks.set/.manifest"
#define LARGEST (16L << 20)

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

/*
 * RET all lines of the manifest, which is read at the first call; NULL if there are none. OUT why: the reason why a
 * line is missing.
 */
static struct manifest_line *lines_of_machine(const char **why)
{
    static int tried;
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

int manifest_is_option(const char *word)
{
    static const char *const options[] = {"config=", "init_failure_mode=", "missing_options="};

    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
        if (!strncmp(word, options[i], strlen(options[i])))
            return 1;
    return !strcmp(word, "failonerror");
}

/* Find what a line names. OUT config, the last word config=FILE, and pattern, the GLOB; "" if there is none. */
static void named_by(int argc, char *argv[], const char **config, const char **pattern)
{
    *config = *pattern = "";
    for (int i = 0; i < argc; i++) {
        if (!manifest_is_option(argv[i])) {
            *pattern = strcmp(argv[i], "--") ? argv[i] : "";
            return;
        }
        if (!strncmp(argv[i], "config=", strlen("config=")))
            *config = argv[i];
    }
}

static int equal_arguments(const struct manifest_line *line, int argc, char *argv[])
{
    int equal = line->argc == argc;

    for (int i = 0; equal && i < argc; i++)
        equal = !strcmp(line->argv[i], argv[i]);
    return equal;
}

const struct manifest_line *manifest_find(int argc, char *argv[], const char **why)
{
    const char *config, *pattern, *other_config, *other_pattern;

    named_by(argc, argv, &config, &pattern);
    for (struct manifest_line *line = lines_of_machine(why); line; line = line->next) {
        if (line->argc < 0)
            continue;
        named_by(line->argc, line->argv, &other_config, &other_pattern);
        if (!strcmp(config, other_config) && !strcmp(pattern, other_pattern) &&
            (!line->is_exact || equal_arguments(line, argc, argv)))
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
