/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <slurm/slurm_version.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build_config.h"
#include "trusted.h"

#define FILE_NAME "slurmhooks.manifest"
#define LARGEST (1024 * 1024)
#define MOST_WORDS 64
#define SCRUN (-1) /* in the place of a number of arguments */

/* The words of one record: blanks apart, with blanks and the like inside them as %XX. */
struct record {
    int count;
    char *words[MOST_WORDS];
};

static int hex(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    return -1;
}

/*
 * Take the next row apart, in place: blanks between words, %XX undone. One pass, and none of libc's functions: each
 * would cost its look-up by the dynamic linker in every sbatch and srun.
 *
 * IN/OUT rest  the start of the row, then of the one behind it, or the NUL that ends the text
 * RET 0, or -1 if there are too many words, or a % is followed by something else than the digits of a byte but NUL
 */
static int next_row(char **rest, struct record *record)
{
    const char *from = *rest;
    char *to = *rest;

    record->count = 1;
    record->words[0] = to;
    for (; *from && *from != '\n'; from++) {
        if (*from == ' ') {
            if (record->count == MOST_WORDS)
                return -1;
            *to++ = '\0';
            record->words[record->count++] = to;
        } else if (*from == '%') {
            int high = hex(from[1]), low = high < 0 ? -1 : hex(from[2]);
            if (low < 0 || !(high * 16 + low))
                return -1;
            *to++ = (char)(high * 16 + low);
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *rest = (char *)from + (*from != '\0');
    *to = '\0';
    return 0;
}

/* RET 0, or -1 if the word is not a plain number that fits. */
static int number(const char *word, uint64_t most, uint64_t *value)
{
    uint64_t sum = 0;

    if (!*word)
        return -1;
    for (; *word; word++) {
        if (*word < '0' || *word > '9')
            return -1;
        uint64_t digit = (uint64_t)(*word - '0');
        if (digit > most || sum > (most - digit) / 10)
            return -1;
        sum = sum * 10 + digit;
    }
    *value = sum;
    return 0;
}

static int callback_of(const char *name)
{
#define NAME(name) #name,
    static const char *const names[] = {SLURMHOOKS_CALLBACKS(NAME)};

    for (int i = 0; i < CALLBACK_COUNT; i++)
        if (!strcmp(name, names[i]))
            return i;
    return -1;
}

/* file INODE SIZE MTIME_NS PATH: it must be that very file. */
static int check_file(const struct record *record)
{
    uint64_t inode, size, mtime;
    struct stat status;

    if (record->count != 5 || number(record->words[1], UINT64_MAX, &inode) ||
        number(record->words[2], UINT64_MAX, &size) || number(record->words[3], UINT64_MAX, &mtime))
        return -1;
    if (stat(record->words[4], &status))
        return 1;
    uint64_t found = (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
    return status.st_ino != inode || (uint64_t)status.st_size != size || found != mtime;
}

/* absent PATH: there must still be no such file. */
static int check_absent(const struct record *record)
{
    struct stat status;

    if (record->count != 2)
        return -1;
    return stat(record->words[1], &status) == 0;
}

/* Count the entries of a folder as slurmhooks/loader.py does: START*END, hidden ones left out. RET -1 if it cannot. */
static int64_t count_entries(const char *folder, const char *start, const char *end)
{
    DIR *directory = opendir(folder);
    size_t head = strlen(start), tail = strlen(end);
    int64_t count = 0;

    if (!directory)
        return -1;
    for (struct dirent *entry; (entry = readdir(directory));) {
        size_t length = strlen(entry->d_name);
        if (entry->d_name[0] != '.' && length >= head + tail && !strncmp(entry->d_name, start, head) &&
            !strcmp(entry->d_name + length - tail, end))
            count++;
    }
    closedir(directory);
    return count;
}

/*
 * glob INODE SIZE MTIME_NS COUNT FOLDER START END: the folder must be as it was, or at least be the same one
 * with as many entries that fit. Each of those it had is a file of the manifest by itself, so there is no other among
 * them.
 */
static int check_glob(const struct record *record)
{
    uint64_t inode, size, mtime, count;
    struct stat status;

    if (record->count != 8 || number(record->words[1], UINT64_MAX, &inode) ||
        number(record->words[2], UINT64_MAX, &size) || number(record->words[3], UINT64_MAX, &mtime) ||
        number(record->words[4], INT32_MAX, &count))
        return -1;
    if (stat(record->words[5], &status) || status.st_ino != inode)
        return 1;
    uint64_t found = (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
    if ((uint64_t)status.st_size == size && found == mtime)
        return 0;
    return count_entries(record->words[5], record->words[6], record->words[7]) != (int64_t)count;
}

/* scrun: what follows is scrun's. RET NULL if it is damaged, or memory is short. */
static struct manifest_line *add_scrun(const struct record *record, struct manifest_line *before)
{
    struct manifest_line *line = record->count == 1 ? calloc(1, sizeof(*line)) : NULL;

    if (!line)
        return NULL;
    line->argc = SCRUN;
    line->next = before;
    return line;
}

/* script PATH */
static int set_script(const struct record *record, struct manifest_line *line)
{
    if (record->count != 2 || line->script)
        return -1;
    line->script = record->words[1];
    return 0;
}

static struct manifest_line *add_line(const struct record *record, struct manifest_line *before)
{
    struct manifest_line *line = calloc(1, sizeof(*line) + (size_t)record->count * sizeof(*line->argv));

    if (!line)
        return NULL;
    line->argc = record->count - 1;
    for (int i = 0; i < line->argc; i++)
        line->argv[i] = record->words[i + 1];
    line->next = before;
    return line;
}

/* call CALLBACK CONTEXTS */
static int add_call(const struct record *record, struct manifest_line *line)
{
    uint64_t contexts;

    if (record->count != 3 || number(record->words[2], 63, &contexts))
        return -1;
    int callback = callback_of(record->words[1]);
    if (callback < 0)
        return -1;
    line->calls[callback] |= (unsigned)contexts;
    return 0;
}

/* option HAS_ARG CONTEXTS CHECKED NAME ARGINFO USAGE; ARGINFO is empty where there is none */
static int add_option(const struct record *record, struct manifest_line *line)
{
    uint64_t has_arg, contexts, checked;

    if (record->count != 7 || number(record->words[1], 2, &has_arg) || number(record->words[2], 63, &contexts) ||
        number(record->words[3], 1, &checked) || !*record->words[4] || line->option_count == MOST_OPTIONS)
        return -1;
    struct manifest_option *grown = realloc(line->options, ((size_t)line->option_count + 1) * sizeof(*line->options));
    if (!grown)
        return -1;
    line->options = grown;
    grown[line->option_count++] = (struct manifest_option){
        .name = record->words[4],
        .arginfo = *record->words[5] ? record->words[5] : NULL,
        .usage = record->words[6],
        .has_arg = (int)has_arg,
        .contexts = (unsigned)contexts,
        .checked = (int)checked,
    };
    return 0;
}

static void free_lines(struct manifest_line *lines)
{
    while (lines) {
        struct manifest_line *next = lines->next;
        free(lines->options);
        free(lines);
        lines = next;
    }
}

/* Take one record. RET 0; 1 if it says that the manifest does not match; -1 if it is damaged. */
static int take(const struct record *record, struct manifest_line **lines)
{
    const char *what = record->words[0];

    if (!strcmp(what, "file"))
        return check_file(record);
    if (!strcmp(what, "absent"))
        return check_absent(record);
    if (!strcmp(what, "glob"))
        return check_glob(record);
    if (!strcmp(what, "line") || !strcmp(what, "scrun")) {
        struct manifest_line *added = *what == 'l' ? add_line(record, *lines) : add_scrun(record, *lines);
        if (!added)
            return -1;
        *lines = added;
        return 0;
    }
    if (!*lines)
        return -1;
    int scrun = (*lines)->argc == SCRUN;
    if (!scrun && !strcmp(what, "call"))
        return add_call(record, *lines);
    if (!scrun && !strcmp(what, "option"))
        return add_option(record, *lines);
    if (scrun && !strcmp(what, "script"))
        return set_script(record, *lines);
    /* What Python needs to load the line; see slurmhooks/manifest.py. */
    return !strcmp(what, "source") || !strcmp(what, "module") || !strcmp(what, "log") ||
                   (!scrun && !strcmp(what, "lua"))
               ? 0
               : -1;
}

/* slurmhooks-manifest 2 0xVERSION, of this very Slurm */
static int check_header(const struct record *record)
{
    unsigned version = 0;

    if (record->count != 3 || strcmp(record->words[0], "slurmhooks-manifest") || strcmp(record->words[1], "2") ||
        record->words[2][0] != '0' || record->words[2][1] != 'x')
        return -1;
    for (const char *digits = record->words[2] + 2; *digits; digits++) {
        int value = *digits >= 'a' && *digits <= 'f' ? *digits - 'a' + 10 : hex(*digits);
        if (value < 0 || version > (UINT32_MAX >> 4))
            return -1;
        version = version * 16 + (unsigned)value;
    }
    return version == SLURM_VERSION_NUMBER ? 0 : -1;
}

struct manifest_line *manifest_parse(char *text, size_t size, const char **why)
{
    struct manifest_line *lines = NULL;
    struct record record;
    char *rest = text;
    int ended = 0, rc = 0;

    *why = "it is damaged";
    text[size] = '\0';
    if (next_row(&rest, &record) || !*rest)
        return NULL;
    if (check_header(&record)) {
        *why = "it is of another version of slurmhooks or Slurm";
        return NULL;
    }
    while (*rest && !ended && !rc) {
        if (*rest == '#') {
            while (*rest && *rest != '\n')
                rest++;
            rest += *rest != '\0';
            continue;
        }
        rc = next_row(&rest, &record);
        if (rc || (record.count == 1 && !*record.words[0]))
            continue;
        if (record.count == 1 && !strcmp(record.words[0], "end"))
            ended = 1;
        else
            rc = take(&record, &lines);
    }
    if (rc > 0)
        *why = "a file that it was made from has changed";
    /* Nothing may follow the end, and a NUL within ends the text too early. */
    if (rc || !ended || rest != text + size) {
        free_lines(lines);
        return NULL;
    }
    *why = "it has no such line of plugstack.conf";
    return lines;
}

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

const struct manifest_line *manifest_find_scrun(const char **why)
{
    struct manifest_line *line = lines_of_machine(why);

    while (line && line->argc != SCRUN)
        line = line->next;
    return line;
}
